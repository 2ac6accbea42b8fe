/* SPDX-License-Identifier: BSD-3-Clause */
/* See process.h. The handlers are registered with the first use of a device; a child of a process that had not used one
 * starts afresh. In a child of a used process every entry that touches a device answers with the official sentence; no
 * lock is taken there (its holder may be gone), and device memory is not mapped. */
#include "process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "acl/acl_rt.h"
#include "device.h"
#include "error.h"
#include "local.h"
#include "log.h"
#include "pool.h"
#include "stream.h"
#include "trace.h"
#include "usage.h"

static _Atomic bool used, orphan;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int entry_check(void)
{
    if (__builtin_expect(atomic_load_explicit(&orphan, memory_order_relaxed), 0))
        return fail(ACL_ERROR_RT_DEV_SETUP_ERROR, "Cannot re-initialize NPU in forked subprocess. To use NPU with "
                                                  "multiprocessing, you must use the 'spawn' start method");
    return ACL_SUCCESS;
}

static void child(void)
{
    log_after_fork();
    pool_after_fork();
    streams_after_fork();
    usage_after_fork();
    trace_after_fork();
    if (atomic_load(&used)) {
        atomic_store(&orphan, true);
        local()->context = NULL; /* so that every entry that needs one comes to entry_check() */
        local()->limits = NULL;
    }
}

static void at_end(void)
{
    if (!atomic_load(&orphan))
        streams_stop();
}

static void watch(void)
{
    atexit(at_end);
}

static void __attribute__((constructor)) watch_forks(void)
{
    pthread_atfork(NULL, NULL, child);
}

bool process_used(void)
{
    return atomic_load(&used);
}

int device_use(void)
{
    TRY(entry_check());
    if (!atomic_load_explicit(&used, memory_order_relaxed)) {
        pthread_once(&once, watch);
        atomic_store(&used, true);
    }
    return ACL_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks that the runtime's tests push. */
#ifndef ANYNPU_TESTS_RUNTIME_TASK_H
#define ANYNPU_TESTS_RUNTIME_TASK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "acl/acl.h"
#include "runtime/door.h"

enum { SMALL = 100 };
#define LARGE (UINT64_C(1) << 50)

static _Atomic int task_runs, task_releases;

static inline void sleep_us(int64_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (us > 0 && nanosleep(&t, &t))
        ;
}

static inline int task_sleep(void *us)
{
    sleep_us((intptr_t)us);
    atomic_fetch_add(&task_runs, 1);
    return 0;
}

/* Tasks that are still running when a test looks, however slow the machine: task_gate ends when `gate` is its argument
 * or more. */
static _Atomic int gate;

static inline int task_gate(void *number)
{
    while (atomic_load(&gate) < (int)(intptr_t)number)
        sleep_us(200);
    atomic_fetch_add(&task_runs, 1);
    return 0;
}

/* Waits until a condition of another thread holds, for at most 20 s. */
#define WAIT_UNTIL(condition)                                                                                          \
    do {                                                                                                               \
        for (int i_ = 0; i_ < 20000 && !(condition); i_++)                                                             \
            sleep_us(1000);                                                                                            \
        CHECK(condition);                                                                                              \
    } while (0)

static inline int task_fail(void *unused)
{
    (void)unused;
    return fail(ACL_ERROR_RT_AICORE_EXCEPTION, "index 7 is out of range [0, 3)");
}

static inline void task_release(void *unused)
{
    (void)unused;
    atomic_fetch_add(&task_releases, 1);
}

static inline int push(aclrtStream stream, int (*run)(void *), intptr_t arg, uint64_t work)
{
    return stream_enqueue(stream, &(struct task){run, task_release, (void *)arg, work, {"test", NULL}});
}

#endif

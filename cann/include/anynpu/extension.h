/* SPDX-License-Identifier: BSD-3-Clause */
/* What this CANN offers beyond the published interface: one table, looked up with dlsym("anynpu_extension") in
 * libascendcl.so. A client must work without it (a real CANN has none). */
#ifndef ANYNPU_EXTENSION_H
#define ANYNPU_EXTENSION_H

#include "acl/acl_base.h"
#include "anynpu/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct anynpu_extension {
    uint32_t version; /* of this table; fields are only added at the end */
    /* Host address of device memory, NULL if [device, device+bytes) is not device memory of this process (or guard mode
     * forbids it). Valid until it is freed; the caller makes sure that no task is writing it. */
    void *(*host_view)(const void *device, size_t bytes);
    /* Name and place (Python line) of the next task of this thread, for logs, profiler and error texts. Copied. */
    void (*note)(const char *name, const char *where);
    /* True when every task pushed to the stream so far has finished. Cheap. */
    bool (*stream_idle)(aclrtStream stream);
    /* The pending error of the stream, cleared: 0 if none. Does not wait. */
    aclError (*stream_error)(aclrtStream stream);
    /* Version 2. Waits at most ms milliseconds for what was pushed so far: 0, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT (no
     * text, no log line), or the status of a bad handle. Leaves a pending error where it is. For clients that look at
     * signals between short waits. */
    aclError (*stream_wait)(aclrtStream stream, int32_t ms);
    /* Version 3. The recorder (anynpu/trace.h). */
    const struct anynpu_trace_api_table *trace;
    /* Version 4. Is a log line of this level (ACL_DEBUG …) wanted by any module? One load. */
    bool (*log_wanted)(int level);
    /* Version 5. Who can say where in the user's program the calling thread is: "train.py:12 in forward", a text that
     * stays for ever, or NULL. Asked for operators that are queued, and for all at log level 1, so that a failure that
     * is reported later names the line that asked for it. Called without a lock. NULL: nobody. */
    void (*set_place)(const char *(*ask)(void));
};

/* NULL under ANYNPU_EXTENSION=0. */
typedef const struct anynpu_extension *(*anynpu_extension_fn)(void);

#ifdef __cplusplus
}
#endif
#endif

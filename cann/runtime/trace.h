/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder: writes what tasks, calls and clients do into a file of the form anynpu/trace.h. One session at a time.
 * What libraries above the runtime use of it stands in door.h (trace_wanted, trace_string, …). */
#ifndef ANYNPU_RUNTIME_TRACE_H
#define ANYNPU_RUNTIME_TRACE_H

#include "base/futex.h"
#include "door.h"

/* Where a task was launched. */
struct launched {
    int64_t when;
    uint64_t correlation;
    uint32_t thread;
};

struct launched trace_launch(void);

/* One task that has run. stream and task UINT32_MAX: a copy outside streams. */
struct trace_done {
    const struct task_note *note;
    struct launched launch;
    uint32_t stream, task, blocks;
    int device, status;
    int64_t begin, end;
};
void trace_task(const struct trace_done *done);

/* Begins and ends a session; 0, ACL_ERROR_PROF_ALREADY_RUN, ACL_ERROR_PROF_NOT_RUN or ACL_ERROR_INVALID_FILE with text.
 */
int trace_start(const char *file, uint32_t kinds);
int trace_start_devices(const char *file, uint32_t kinds, uint64_t devices); /* bit of each whose tasks are recorded */
void trace_limit(size_t bytes);                                              /* of a file; SIZE_MAX: the disk's */
int trace_stop(void);
/* Device memory that a client took (change > 0) or gave back. */
void trace_memory(int device, const void *address, int64_t change);
uint32_t trace_thread(void); /* this thread's system id */
void trace_after_fork(void);
extern const struct anynpu_trace_api_table trace_table; /* for clients */

/* First in a public entry: its call is recorded when it returns. */
struct trace_call {
    const char *name;
    int64_t begin; /* 0: calls are not recorded */
};
static inline void trace_call_end(const struct trace_call *call)
{
    if (__builtin_expect(call->begin != 0, 0))
        trace_api(call->name, call->begin, TRACE_LEVEL_ACL);
}
#define TRACE_CALL()                                                                                                   \
    const struct trace_call call_                                                                                      \
        __attribute__((cleanup(trace_call_end))) = {__func__, trace_wanted(ANYNPU_TRACE_API) ? clock_ns() : 0}

#endif

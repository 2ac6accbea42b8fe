/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: tasks in order. A stream is idle, or one caller runs (or tries) a small task at once, or its device thread
 * works off the queue; `state` says which, and who moves it out of IDLE owns the stream:
 *
 *   IDLE → AT_ONCE              a caller runs one task; no lock
 *   AT_ONCE → IDLE              it has finished and nobody queued meanwhile
 *   AT_ONCE → AT_ONCE_QUEUED    somebody queued behind it (under `lock`); at its end it hands over to the device thread
 *   IDLE, AT_ONCE_QUEUED → DEVICE   (under `lock`) the device thread has work
 *   DEVICE → IDLE               (under `lock`) the queue is empty
 *   IDLE ↔ DIVERTED             (under `lock`) tasks go to a capture instead of the queue (capture.h)
 *   DEVICE → DIVERTED           (under `lock`) the queue is empty, and `diverted` was set meanwhile
 *
 * `pushed` and `finished` count queued tasks; what runs at once is finished when its call returns and is not counted.
 * A task that waits (task.attempt) is counted also when a caller tries it: it may go on in the device thread.
 */
#ifndef ANYNPU_RUNTIME_STREAM_H
#define ANYNPU_RUNTIME_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "context.h"
#include "device.h"
#include "door.h"
#include "handle.h"
#include "trace.h"

enum stream_state { STREAM_IDLE, STREAM_AT_ONCE, STREAM_AT_ONCE_QUEUED, STREAM_DEVICE, STREAM_DIVERTED };

struct lane;
struct update;

struct slot {
    struct task task;
    char *note;             /* owned copy of the caller's note, or NULL */
    struct launched launch; /* when traced */
};

struct stream {
    struct handle handle;
    struct context *context;
    struct device *device;
    uint32_t priority, flags, tag, cache_info;
    _Atomic uint32_t overflow;              /* the device's flag is set for overflows in its tasks */
    _Atomic uint32_t failure_mode, stopped; /* ACL_STOP_ON_FAILURE; a task failed in that mode */
    _Atomic uint32_t cores[2];              /* limits, 0: the device's */
    _Atomic uint32_t subscribers;           /* threads that process this stream's callbacks: see callback.c */

    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint64_t at_once; /* tasks run at once; owner of AT_ONCE */

    _Alignas(64) pthread_mutex_t lock; /* producers; transitions named above */
    struct slot *ring;
    _Atomic uint64_t pushed;
    bool threaded;               /* the device thread exists */
    bool diverted;               /* tasks are not queued, but go to a capture or an update */
    _Atomic(struct lane *) lane; /* of the capture; changed under the capture lock */
    struct update *update;       /* of a task group; under the capture lock */
    _Atomic bool failed;         /* error and error_text are set */
    int error;
    char *error_text;
    uint32_t failed_task;

    _Alignas(64) _Atomic uint64_t finished;
    _Atomic uint64_t drop_until;  /* tasks before this one were aborted */
    _Atomic uint64_t awaited;     /* the lowest `finished` that a sleeping waiter waits for */
    _Atomic uint32_t finish_word; /* changes when `finished` gets there: waiters sleep on it */

    _Alignas(64) _Atomic uint32_t wake; /* the device thread sleeps on it */
    _Atomic uint32_t asleep;
    int64_t spin;            /* the device thread's: see pool.h */
    _Atomic bool resting;    /* the running task waits for something else */
    _Atomic uint32_t aborts; /* changes when waiting tasks must give up */
    _Atomic int64_t overdue; /* when the running task exceeds its limit (clock_ns), 0: never, or it was told */
    uint32_t aborts_seen;    /* before the running task was looked at; device thread */
    _Atomic uint32_t end;    /* the device thread ends when the queue is empty */
};

extern struct handle_table stream_table;

/* The stream behind a handle (NULL: the default stream of the current context), checked: 0, 107002, 107003 or 107017.
 */
int stream_get(aclrtStream handle, struct stream **stream);

struct stream *stream_new(struct context *context, uint32_t priority, uint32_t flags);
void stream_free(struct stream *stream, bool force);

/* Of so many threads, how many the stream's tasks may use (limit.c). */
int stream_threads(const struct stream *stream, int threads);

/* Queues behind everything, also when the stream is idle: for tasks that wait. */
int stream_push(struct stream *stream, const struct task *task);

/* From now on tasks go to capture_task(). 0, or 107000 on the stream's own task. Under the capture lock. */
int stream_divert(struct stream *stream);
void stream_undivert(struct stream *stream);

/* Runs a task at once on this thread, as part of the one that runs, with what logs and faults ask for; no release.
 * note: "name\0where" or NULL; launch: where it was launched, NULL: here and now. */
struct local;
int stream_run(struct local *me, struct stream *stream, const struct task *task, const char *note,
               const struct launched *launch);

/* Nothing queued and nothing running on the device thread. */
static inline bool stream_is_idle(struct stream *stream)
{
    return atomic_load_explicit(&stream->finished, memory_order_acquire) ==
           atomic_load_explicit(&stream->pushed, memory_order_acquire);
}

/* Waits for what was pushed so far; ms < 0: no limit. 0 or ACL_ERROR_RT_STREAM_SYNC_TIMEOUT (no text). */
int stream_wait(struct stream *stream, int64_t ms);

/* Pending error: returned with its text, and cleared. */
int stream_take_error(struct stream *stream);
void stream_drop_error(struct stream *stream);
bool stream_has_error(struct stream *stream);

/* Drops queued tasks and makes waiting ones give up; code becomes the pending error when something was dropped. */
void stream_abort(struct stream *stream, int code);

/* From a task that waits: must it give up? And: sleeps on word while it is `seen`, at most a slice; false when it must.
 */
bool stream_aborted(struct stream *stream);
bool stream_pause(struct stream *stream, _Atomic uint32_t *word, uint32_t seen, bool shared);

/* Who says where the calling thread is in the user's program (anynpu/extension.h). */
void place_set(const char *(*ask)(void));

/* The stream whose task this thread runs (NULL: none). */
struct stream *stream_running(void);

/* Stops all device threads before the process ends. */
void streams_stop(void);
void streams_after_fork(void);

#endif

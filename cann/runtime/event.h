/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: each record makes a new generation; `done` is the newest finished one. Who waits, waits for the generation
 * that was newest when it asked, so recording again disturbs nobody. Freed with the last reference: pending tasks hold
 * one. */
#ifndef ANYNPU_RUNTIME_EVENT_H
#define ANYNPU_RUNTIME_EVENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "handle.h"
#include "stream.h"

/* What waiting looks at: in the event itself, or in a record that other processes map. */
struct event {
    struct handle handle;
    uint32_t flags;
    bool foreign; /* opened from another process */
    int fd;       /* of the record; -1: none, or another process's */
    struct record *record;
    _Atomic uint32_t references;
    _Atomic uint32_t waits;          /* wait tasks not yet finished */
    _Atomic(struct stream *) stream; /* of the last record */
    _Atomic uint32_t *recorded, *done,
        *waiters;          /* newest generation, newest finished one, threads that sleep on done */
    _Atomic int64_t *time; /* ns, of the newest finished generation */
    _Atomic uint32_t own[3];
    _Atomic int64_t own_time;
    /* Recorded in a capture: which, on which lane, after how many of its nodes. Under the capture lock; 0: in none. An
     * event made with ACL_EVENT_EXTERNAL has no generations: `done` is 1 from a record to the next reset. */
    _Atomic uint64_t capture;
    uint32_t capture_lane, capture_count;
};

void event_ref(struct event *event);
void event_unref(struct event *event);

/* A new generation that counts as recorded on the stream; the newest one; that generation has happened. */
uint32_t event_next(struct event *event, struct stream *stream);
uint32_t event_newest(const struct event *event);
void event_set_done(struct event *event, uint32_t generation);

/* On a stream's task: waits until the generation has happened, at most limit ns (0: no limit), or the stream is
 * aborted.
 */
int event_await(struct event *event, uint32_t generation, int64_t limit);

#endif

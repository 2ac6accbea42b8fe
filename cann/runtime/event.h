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

/* The part that other processes may map (ACL_EVENT_IPC). */
struct event_state {
    _Atomic uint32_t recorded, done;
    _Atomic uint32_t waiters;
    _Atomic int64_t time; /* ns, of the newest finished generation */
};

struct event {
    struct handle handle;
    uint32_t flags;
    bool foreign; /* opened from another process */
    int fd;       /* of the shared state, -1 */
    int32_t device;
    _Atomic uint32_t references;
    _Atomic uint32_t waits;          /* wait tasks not yet finished */
    _Atomic(struct stream *) stream; /* of the last record */
    struct event_state *state, own;
};

int event_new(uint32_t flags, struct event **out);

/* Puts the state into shared memory, before the first record; and undoes it (ipc.c). */
int event_share(struct event *event);
void event_unshare(struct event *event);

#endif

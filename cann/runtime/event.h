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
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures under way, as the rest of the runtime sees them. Lock: capture (outside stream, inside vmm); asking whether
 * there is any capture costs one load. */
#ifndef ANYNPU_RUNTIME_CAPTURE_H
#define ANYNPU_RUNTIME_CAPTURE_H

#include "graph.h"

/* Captures under way in the process. */
extern _Atomic uint32_t captures_active;

static inline bool capture_any(void)
{
    return atomic_load_explicit(&captures_active, memory_order_relaxed) != 0;
}

/* The stream captures (and does not merely update a task group). */
static inline bool capture_has(struct stream *stream)
{
    return capture_any() && atomic_load_explicit(&stream->lane, memory_order_acquire) != NULL;
}

/* A call that waits for or asks about a stream: 0, or 107027 when the stream captures. what: "Synchronizing a stream".
 */
int capture_check_stream(struct stream *stream, const char *what);

/* The same for all streams of a device, and for an event recorded in a capture (107028). */
int capture_check_device(struct device *device, const char *what);
int capture_check_event(struct event *event, const char *what);

/* A call that a capture cannot see (copying or filling at once): 0, or 107030 where the capture's mode forbids it. */
int capture_check_unsafe(const char *what);

/* A task for a diverted stream: takes it over, with its note, in every case. */
int capture_task(struct stream *stream, const struct task *task, char *note, bool waits);

/* Events. *taken: the capture has seen to it; else the event is none of a capture's and the caller goes on. */
int capture_record(struct stream *stream, struct event *event, bool *taken);
int capture_wait(struct stream *stream, struct event *event, bool *taken);
int capture_external(struct stream *stream, struct event *event, enum node_kind kind);

/* The stream ends while it captures: its capture becomes invalid. */
void capture_forget(struct stream *stream);

#endif

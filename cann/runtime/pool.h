/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's one compute pool; parallel() in door.h is its interface. */
#ifndef ANYNPU_RUNTIME_POOL_H
#define ANYNPU_RUNTIME_POOL_H

#include <stdint.h>

/* Spinning before sleep. A thread that is idle for work (worker, device thread) spins as long as pays: after a sleep
 * that was shorter than the longest spin it spins that long, after longer ones half as long as before. Waking costs the
 * waker 2 to 8 µs and the work 10 to 50. A thread that waits for a result spins for a fixed short time. */
enum { SPIN_SHORT_NS = 10000, SPIN_LONG_NS = 50000 };
int64_t spin_longest(void);
int64_t spin_limit(int64_t *state, int64_t longest); /* state: 0 at first, the thread's own */
void spin_adapt(int64_t *state, int64_t longest, int64_t idle_ns);

/* Workers inside the open job, and the device (as the process counts; -1: none) that it computes for. For statistics.
 */
uint32_t pool_joined(int32_t *device);

/* Child after fork: the workers do not exist here. */
void pool_after_fork(void);

/* A detached thread with all signals blocked, named for ps and gdb; 0 or an errno. */
int thread_start(void *(*run)(void *), void *arg, const char *name);

#endif

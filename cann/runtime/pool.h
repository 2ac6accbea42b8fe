/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's one compute pool; parallel() in door.h is its interface. */
#ifndef ANYNPU_RUNTIME_POOL_H
#define ANYNPU_RUNTIME_POOL_H

#include <stdint.h>

/* How long an idle thread (pool, device, synchronise) spins before it sleeps, in nanoseconds. */
int64_t spin_ns(void);

/* Child after fork: the workers do not exist here. */
void pool_after_fork(void);

/* A detached thread with all signals blocked, named for ps and gdb; 0 or an errno. */
int thread_start(void *(*run)(void *), void *arg, const char *name);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting on a 32-bit word: spin briefly elsewhere, then sleep here. The word is the state; the kernel only parks
 * threads. shared: the word lies in memory that other processes map. */
#ifndef ANYNPU_BASE_FUTEX_H
#define ANYNPU_BASE_FUTEX_H

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word == seen, at most ns nanoseconds (negative: no limit). 0 when woken or changed, else ETIMEDOUT or
 * EINTR. May return early; callers loop. */
static inline int futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns, bool shared)
{
    struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    long got = syscall(SYS_futex, (void *)word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, seen, ns < 0 ? NULL : &limit,
                       NULL, 0);
    return got == -1 && (errno == ETIMEDOUT || errno == EINTR) ? errno : 0;
}

static inline void futex_wake(_Atomic uint32_t *word, int threads, bool shared)
{
    syscall(SYS_futex, (void *)word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Nanoseconds of a clock that only goes forward. */
static inline int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif

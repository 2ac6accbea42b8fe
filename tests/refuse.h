/* SPDX-License-Identifier: BSD-3-Clause */
/* A host allocator that refuses one call: malloc, calloc and realloc of the whole test program, its libraries included.
 * Included by one file of a program. Under sanitizers, which have allocators of their own, nothing is refused. */
#ifndef ANYNPU_TESTS_REFUSE_H
#define ANYNPU_TESTS_REFUSE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static _Atomic long countdown = -1; /* the call that fails when it reaches 0; negative: none */
static _Atomic bool fired;          /* it came to that call */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static bool refused(void)
{
    if (atomic_load(&countdown) < 0 || atomic_fetch_sub(&countdown, 1) != 0)
        return false;
    atomic_store(&fired, true);
    errno = ENOMEM;
    return true;
}

#pragma GCC visibility push(default)
void *malloc(size_t size)
{
    return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return refused() ? NULL : __libc_realloc(p, size);
}
#pragma GCC visibility pop
#endif

/* The call number `turn` from now on (0: the next) is refused. */
static void refuse_after(long turn)
{
    atomic_store(&fired, false);
    atomic_store(&countdown, turn);
}

static void refuse_no_more(void)
{
    atomic_store(&countdown, -1);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks for the C tests: a failed CHECK prints the place and the values, and the program ends with 1 at check_done().
 */
#ifndef ANYNPU_TESTS_CHECK_H
#define ANYNPU_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One pair a program, also when several of its files include this. */
__attribute__((weak)) int check_failures, check_count;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);                                                         \
        if (!(condition)) {                                                                                            \
            __atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED);                                                  \
            fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition);                              \
        }                                                                                                              \
    } while (0)

#define CHECK_EQ(a, b)                                                                                                 \
    do {                                                                                                               \
        long long a_ = (long long)(a), b_ = (long long)(b);                                                            \
        __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);                                                         \
        if (a_ != b_) {                                                                                                \
            __atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED);                                                  \
            fprintf(stderr, "%s:%d: %s is %lld, expected %s = %lld\n", __FILE__, __LINE__, #a, a_, #b, b_);            \
        }                                                                                                              \
    } while (0)

/* text contains part */
#define CHECK_TEXT(text, part)                                                                                         \
    do {                                                                                                               \
        const char *t_ = (text);                                                                                       \
        __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);                                                         \
        if (!t_ || !strstr(t_, part)) {                                                                                \
            __atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED);                                                  \
            fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", __FILE__, __LINE__, t_ ? t_ : "(null)", part);             \
        }                                                                                                              \
    } while (0)

static inline int check_done(void)
{
    if (check_failures)
        fprintf(stderr, "%d of %d checks failed\n", check_failures, check_count);
    else
        printf("%d checks passed\n", check_count);
    return check_failures || check_count == 0;
}

#endif

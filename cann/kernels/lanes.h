/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, scalar products and maxima of dense arrays in float and double.
 *
 * Lane k takes elements k, k + 64, …; lanes are folded in halves (k with k + 32, k + 16, …). Fewer than 64 elements use
 * 16 lanes, the last 15 or fewer 4, the last 3 one. Vectors are as wide as the CPU level has them, but which element
 * goes to which lane does not depend on that, so the bits do not either. Callers add up blocks in double. */
#ifndef ANYNPU_KERNELS_LANES_H
#define ANYNPU_KERNELS_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX2__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#if VECTOR_BYTES >= 32
#include <immintrin.h>
#endif

#define LANES_INLINE static inline __attribute__((always_inline, unused))

enum lanes_what {
    LANES_SUM,           /* Σ x */
    LANES_DOT,           /* Σ x y */
    LANES_SQUARES_ABOUT, /* Σ (x − c)² */
    LANES_ABOUT,         /* Σ (x − c) */
    LANES_DOT_ABOUT,     /* Σ (x − c) y */
};

typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4)));
typedef int32_t mask_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef float quad_f32 __attribute__((vector_size(16), aligned(4)));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8)));
typedef int64_t mask_f64 __attribute__((vector_size(VECTOR_BYTES)));

/* The sum of a vector's elements, folded in halves. */
LANES_INLINE float quad_sum_f32(const quad_f32 *v)
{
    return ((*v)[0] + (*v)[2]) + ((*v)[1] + (*v)[3]);
}

LANES_INLINE float vector_sum_f32(const vector_f32 *v)
{
#if VECTOR_BYTES == 64
    typedef float oct __attribute__((vector_size(32)));
    oct a = __builtin_shufflevector(*v, *v, 0, 1, 2, 3, 4, 5, 6, 7) +
            __builtin_shufflevector(*v, *v, 8, 9, 10, 11, 12, 13, 14, 15);
    quad_f32 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
#elif VECTOR_BYTES == 32
    quad_f32 b = __builtin_shufflevector(*v, *v, 0, 1, 2, 3) + __builtin_shufflevector(*v, *v, 4, 5, 6, 7);
#else
    quad_f32 b = *v;
#endif
    return quad_sum_f32(&b);
}

LANES_INLINE double vector_sum_f64(const vector_f64 *v)
{
#if VECTOR_BYTES == 64
    typedef double four __attribute__((vector_size(32)));
    four a = __builtin_shufflevector(*v, *v, 0, 1, 2, 3) + __builtin_shufflevector(*v, *v, 4, 5, 6, 7);
    return (a[0] + a[2]) + (a[1] + a[3]);
#elif VECTOR_BYTES == 32
    return ((*v)[0] + (*v)[2]) + ((*v)[1] + (*v)[3]);
#else
    return (*v)[0] + (*v)[1];
#endif
}

/* The greatest lane of a vector without NaN (order does not matter). */
LANES_INLINE float greatest_f32(const vector_f32 *v)
{
#if VECTOR_BYTES == 64
    return _mm512_reduce_max_ps((__m512)*v);
#else
    float most = (*v)[0];
    for (int k = 1; k < VECTOR_BYTES / 4; k++)
        most = (*v)[k] > most ? (*v)[k] : most;
    return most;
#endif
}

LANES_INLINE double greatest_f64(const vector_f64 *v)
{
#if VECTOR_BYTES == 64
    return _mm512_reduce_max_pd((__m512d)*v);
#else
    double most = (*v)[0];
    for (int k = 1; k < VECTOR_BYTES / 8; k++)
        most = (*v)[k] > most ? (*v)[k] : most;
    return most;
#endif
}

#define T       float
#define NAME(x) x##_f32
#include "kernels/lanes_typed.h"

#define T       double
#define NAME(x) x##_f64
#include "kernels/lanes_typed.h"

#endif

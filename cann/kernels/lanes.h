/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, scalar products and maxima of dense arrays in float and double, of 16-bit floats in float.
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

#include "base/dtype.h"

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

#if VECTOR_BYTES == 64
/* x where it is beyond a, else a; NaN never is. And: is there a NaN in either? */
LANES_INLINE vector_f32 number_extreme_f32(bool least, vector_f32 a, vector_f32 x)
{
    return least ? (vector_f32)_mm512_min_ps((__m512)x, (__m512)a) : (vector_f32)_mm512_max_ps((__m512)x, (__m512)a);
}

LANES_INLINE int either_nan_f32(vector_f32 a, vector_f32 b)
{
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
}

LANES_INLINE vector_f64 number_extreme_f64(bool least, vector_f64 a, vector_f64 x)
{
    return least ? (vector_f64)_mm512_min_pd((__m512d)x, (__m512d)a)
                 : (vector_f64)_mm512_max_pd((__m512d)x, (__m512d)a);
}

LANES_INLINE int either_nan_f64(vector_f64 a, vector_f64 b)
{
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
}
#endif

/* 16-bit floats are computed as floats. */
LANES_INLINE vector_f32 bf16_vector(const uint16_t *p)
{
    typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2)));
    typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES)));
    return (vector_f32)(__builtin_convertvector(*(const halves *)p, words) << 16);
}

LANES_INLINE vector_f32 f16_vector(const uint16_t *p)
{
#if VECTOR_BYTES == 64
    return (vector_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif VECTOR_BYTES == 32
    return (vector_f32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#else
    return (vector_f32){f16_to_float(p[0]), f16_to_float(p[1]), f16_to_float(p[2]), f16_to_float(p[3])};
#endif
}

#define number_extreme_f16  number_extreme_f32
#define number_extreme_bf16 number_extreme_f32
#define either_nan_f16      either_nan_f32
#define either_nan_bf16     either_nan_f32
#define ITSELF(x)           (x)
#define vector_f16          vector_f32
#define vector_bf16         vector_f32
#define mask_f16            mask_f32
#define mask_bf16           mask_f32
#define greatest_f16        greatest_f32
#define greatest_bf16       greatest_f32
#define vector_sum_f16      vector_sum_f32
#define vector_sum_bf16     vector_sum_f32

#define T            float
#define S            float
#define NAME(x)      x##_f32
#define VECTOR_AT(p) (*(const vector_f32 *)(p))
#define ONE          ITSELF
#include "kernels/lanes_typed.h"

#define T            double
#define S            double
#define NAME(x)      x##_f64
#define VECTOR_AT(p) (*(const vector_f64 *)(p))
#define ONE          ITSELF
#include "kernels/lanes_typed.h"

#define T         float
#define S         uint16_t
#define NAME(x)   x##_f16
#define VECTOR_AT f16_vector
#define ONE       f16_to_float
#include "kernels/lanes_typed.h"

#define T         float
#define S         uint16_t
#define NAME(x)   x##_bf16
#define VECTOR_AT bf16_vector
#define ONE       bf16_to_float
#include "kernels/lanes_typed.h"

#endif

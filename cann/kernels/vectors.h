/* SPDX-License-Identifier: BSD-3-Clause */
/* The widest vectors of float and double that a level has, and fused multiplication; for kernels in which the
 * compiler's own vectors are not enough. The types are the intrinsics' own: with others of the same size gcc keeps two
 * copies of every sum in a loop. */
#ifndef ANYNPU_KERNELS_VECTORS_H
#define ANYNPU_KERNELS_VECTORS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined __AVX512F__
typedef __m512 vec_f32;
typedef __m512d vec_f64;
#define SET_F32 _mm512_set1_ps
#define SET_F64 _mm512_set1_pd
#define FMA_F32 _mm512_fmadd_ps
#define FMA_F64 _mm512_fmadd_pd
#elif defined __AVX2__
typedef __m256 vec_f32;
typedef __m256d vec_f64;
#define SET_F32 _mm256_set1_ps
#define SET_F64 _mm256_set1_pd
#define FMA_F32 _mm256_fmadd_ps
#define FMA_F64 _mm256_fmadd_pd
#else
typedef float vec_f32 __attribute__((vector_size(16)));
typedef double vec_f64 __attribute__((vector_size(16)));
static inline vec_f32 set_f32(float x)
{
    return (vec_f32){x, x, x, x};
}
static inline vec_f64 set_f64(double x)
{
    return (vec_f64){x, x};
}
#ifdef __aarch64__
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    for (int i = 0; i < 4; i++)
        c[i] = fmaf(a[i], b[i], c[i]);
    return c;
}
#else
/* Without the instruction: the product is exact in double; the sum is rounded to odd there, so that rounding it to
 * float rounds once. Its error e is exact too. */
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    typedef double four __attribute__((vector_size(32)));
    typedef int64_t bits __attribute__((vector_size(32)));
    typedef uint64_t whole __attribute__((vector_size(32)));
    four p = __builtin_convertvector(a, four) * __builtin_convertvector(b, four), x = __builtin_convertvector(c, four);
    four s = p + x, t = s - p, e = (p - (s - t)) + (x - t);
    bits inexact = (e > 0) | (e < 0); /* not where it is NaN: s is infinite or NaN */
    whole v = (whole)s, even = (v & 1) - 1, other = ((whole)e ^ v) >> 63;
    v += (1 - 2 * other) & (whole)inexact & even;
    return __builtin_convertvector((four)v, vec_f32);
}
#endif
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    for (int i = 0; i < 2; i++)
        c[i] = fma(a[i], b[i], c[i]);
    return c;
}
#define SET_F32 set_f32
#define SET_F64 set_f64
#define FMA_F32 fma_f32
#define FMA_F64 fma_f64
#endif

/* Vectors of a tile in a row; a tile's rows are as many as registers allow. */
enum { NV = 2 };
#if defined __AVX512F__ || defined __aarch64__
#define MR 12
#elif defined __AVX2__
#define MR 6
#else
#define MR 4
#endif

static inline vec_f32 load_f32(const float *p)
{
    vec_f32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline vec_f64 load_f64(const double *p)
{
    vec_f64 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_f32(float *p, vec_f32 v)
{
    memcpy(p, &v, sizeof v);
}

static inline void store_f64(double *p, vec_f64 v)
{
    memcpy(p, &v, sizeof v);
}

/* Eight rows of eight floats (or of anything of their size, at even addresses) to their transpose, `to` elements apart.
 */
typedef float oct __attribute__((vector_size(32), aligned(2), may_alias));

static inline __attribute__((always_inline)) void turn_8x8(float *to, int64_t to_pitch, const float *const *from,
                                                           int64_t at)
{
    oct r[8], s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = *(const oct *)(from[i] + at);
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4)
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            r[i + 2 * h] = __builtin_shufflevector(s[i + h], s[i + h + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            r[i + 2 * h + 1] = __builtin_shufflevector(s[i + h], s[i + h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        *(oct *)(to + i * to_pitch) = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(oct *)(to + (i + 4) * to_pitch) = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#endif

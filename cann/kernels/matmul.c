/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products; see matmul.h. */
#include "kernels/matmul.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/dtype.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Registers: MR × NV sums, NV of b, one of a. The vector types are the intrinsics' own: with others of the same size
 * gcc keeps two copies of every sum. */
enum { NV = 2 };
#if defined __AVX512F__
#define MR 12
typedef __m512 vec_f32;
typedef __m512d vec_f64;
#define SET_F32 _mm512_set1_ps
#define SET_F64 _mm512_set1_pd
#define FMA_F32 _mm512_fmadd_ps
#define FMA_F64 _mm512_fmadd_pd
#elif defined __AVX2__
#define MR      6
typedef __m256 vec_f32;
typedef __m256d vec_f64;
#define SET_F32 _mm256_set1_ps
#define SET_F64 _mm256_set1_pd
#define FMA_F32 _mm256_fmadd_ps
#define FMA_F64 _mm256_fmadd_pd
#else
#define MR      4
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
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    for (int i = 0; i < 4; i++)
        c[i] = fmaf(a[i], b[i], c[i]);
    return c;
}
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

enum { GEMV_ROWS = 256 };

/* n lines of k adjacent elements, ls apart, to [k][width]: 8 × 8 turned in registers. */
typedef float oct __attribute__((vector_size(32), aligned(4), may_alias));

static inline __attribute__((always_inline)) void turn_f32(float *to, const float *m, int64_t ls, int n, int64_t k,
                                                           const int width)
{
    int j = 0;
    for (; j + 8 <= n; j += 8) {
        const float *line = m + j * ls;
        int64_t p = 0;
        for (; p + 8 <= k; p += 8) {
            oct r[8], s[8];
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++)
                r[i] = *(const oct *)(line + i * ls + p);
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
                *(oct *)(to + (p + i) * width + j) = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
                *(oct *)(to + (p + i + 4) * width + j) =
                    __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
            }
        }
        for (; p < k; p++)
            for (int i = 0; i < 8; i++)
                to[p * width + j + i] = line[i * ls + p];
    }
    for (; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            to[p * width + j] = m[j * ls + p];
}

static inline __attribute__((always_inline)) void turn_f64(double *to, const double *m, int64_t ls, int n, int64_t k,
                                                           const int width)
{
    for (int j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            to[p * width + j] = m[j * ls + p];
}

#define T       float
#define V       vec_f32
#define v_load  load_f32
#define v_store store_f32
#define v_set1  SET_F32
#define v_fma   FMA_F32
#define LANES   ((int)(sizeof(V) / sizeof(T)))
#define NAME(x) x##_f32
#include "kernels/matmul_tile.h"
#undef T
#undef V
#undef v_load
#undef v_store
#undef v_set1
#undef v_fma
#undef NAME

#define T       double
#define V       vec_f64
#define v_load  load_f64
#define v_store store_f64
#define v_set1  SET_F64
#define v_fma   FMA_F64
#define NAME(x) x##_f64
#include "kernels/matmul_tile.h"
#undef T
#undef V
#undef v_load
#undef v_store
#undef v_set1
#undef v_fma
#undef NAME

static inline vec_f32 load_bf16(const uint16_t *p)
{
#if defined __AVX512F__
    return (vec_f32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
#elif defined __AVX2__
    return (vec_f32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
#else
    return (vec_f32){bf16_to_float(p[0]), bf16_to_float(p[1]), bf16_to_float(p[2]), bf16_to_float(p[3])};
#endif
}

static inline vec_f32 load_f16(const uint16_t *p)
{
#if defined __AVX512F__
    return (vec_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif defined __AVX2__
    return (vec_f32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#else
    return (vec_f32){f16_to_float(p[0]), f16_to_float(p[1]), f16_to_float(p[2]), f16_to_float(p[3])};
#endif
}

static inline float one_f32(const float *p)
{
    return *p;
}

static inline double one_f64(const double *p)
{
    return *p;
}

static inline float one_bf16(const uint16_t *p)
{
    return bf16_to_float(*p);
}

static inline float one_f16(const uint16_t *p)
{
    return f16_to_float(*p);
}

#define E       float
#define T       float
#define V       vec_f32
#define v_load  load_f32
#define v_store store_f32
#define v_set1  SET_F32
#define v_fma   FMA_F32
#define NAME(x) x##_f32
#define s_fma   fmaf
#include "kernels/matmul_vector.h"
#undef E
#undef NAME

#define E       uint16_t
#define NAME(x) x##_bf16
#include "kernels/matmul_vector.h"
#undef NAME

#define NAME(x) x##_f16
#include "kernels/matmul_vector.h"
#undef NAME
#undef E
#undef T
#undef V
#undef v_load
#undef v_store
#undef v_set1
#undef v_fma
#undef s_fma

#define E       double
#define T       double
#define V       vec_f64
#define v_load  load_f64
#define v_store store_f64
#define v_set1  SET_F64
#define v_fma   FMA_F64
#define NAME(x) x##_f64
#define s_fma   fma
#include "kernels/matmul_vector.h"

static void gemv(const struct gemv *v, aclDataType dtype)
{
    if (dtype == ACL_FLOAT)
        gemv_f32(v);
    else if (dtype == ACL_DOUBLE)
        gemv_f64(v);
    else if (dtype == ACL_BF16)
        gemv_bf16(v);
    else
        gemv_f16(v);
}

static inline uint64_t integer(const char *p, int64_t i, int size)
{
    if (size == 1)
        return ((const uint8_t *)p)[i];
    if (size == 2)
        return ((const uint16_t *)p)[i];
    if (size == 4)
        return ((const uint32_t *)p)[i];
    return ((const uint64_t *)p)[i];
}

static inline __attribute__((always_inline)) void integers_of(const struct gemm_integers *g, const int size)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            uint64_t sum = 0;
            for (int64_t p = 0; p < g->k; p++)
                sum += integer(g->a, i * g->a_rs + p * g->a_cs, size) * integer(g->b, p * g->b_rs + j * g->b_cs, size);
            sum *= (uint64_t)g->alpha;
            if (g->beta != 0)
                sum += (uint64_t)g->beta * integer(g->cin, i * g->cin_rs + j * g->cin_cs, size);
            memcpy((char *)g->c + (i * g->c_rs + j * g->c_cs) * size, &sum, (size_t)size);
        }
}

/* Signed and unsigned products agree modulo 2^bits. */
static void integers(const struct gemm_integers *g, aclDataType dtype)
{
    switch (dtype_size(dtype)) {
    case 1:
        integers_of(g, 1);
        break;
    case 2:
        integers_of(g, 2);
        break;
    case 4:
        integers_of(g, 4);
        break;
    default:
        integers_of(g, 8);
    }
}

const struct matmul_kernels ISA(matmul_kernels) = {
    .f32 = {MR, NV *(int)(sizeof(vec_f32) / sizeof(float)), pack_f32, block_f32},
    .f64 = {MR, NV *(int)(sizeof(vec_f64) / sizeof(double)), pack_f64, block_f64},
    .gemv = gemv,
    .integers = integers,
};

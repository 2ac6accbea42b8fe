/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products; see matmul.h. */
#include "kernels/matmul.h"

#include <stddef.h>

#include "base/dtype.h"
#include "kernels/vectors.h"

enum { GEMV_ROWS = 256 };

/* n lines of k adjacent elements, ls apart, to [k][width]. */
static inline __attribute__((always_inline)) void turn_f32(float *to, const float *m, int64_t ls, int n, int64_t k,
                                                           const int width)
{
    int j = 0;
    for (; j + 8 <= n; j += 8) {
        const float *line[8];
        int64_t p = 0;
        for (int i = 0; i < 8; i++)
            line[i] = m + (j + i) * ls;
        for (; p + 8 <= k; p += 8)
            turn_8x8(to + p * width + j, width, line, p);
        for (; p < k; p++)
            for (int i = 0; i < 8; i++)
                to[p * width + j + i] = line[i][p];
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products; see matmul.h. */
#include "kernels/matmul.h"

#include <stddef.h>

#include "base/dtype.h"
#include "kernels/flush.h"
#include "kernels/half.h"
#include "kernels/vectors.h"

enum { GEMV_ROWS = 1024, COLUMNS_AT_ONCE = 4 };

/* n lines of k adjacent units of four bytes, ls bytes apart, to [k][width]. */
static inline __attribute__((always_inline)) void turn_f32(float *to, const void *m, int64_t ls, int n, int64_t k,
                                                           const int width)
{
    const char *from = m;
    int j = 0;
    for (; j + 8 <= n; j += 8) {
        const float *line[8];
        int64_t p = 0;
        for (int i = 0; i < 8; i++)
            line[i] = (const float *)(const void *)(from + (j + i) * ls);
        for (; p + 8 <= k; p += 8)
            turn_8x8(to + p * width + j, width, line, p);
        for (; p < k; p++)
            for (int i = 0; i < 8; i++)
                memcpy(&to[p * width + j + i], (const char *)line[i] + p * 4, 4);
    }
    for (; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            memcpy(&to[p * width + j], from + j * ls + p * 4, 4);
}

static inline __attribute__((always_inline)) void turn_f64(double *to, const void *m, int64_t ls, int n, int64_t k,
                                                           const int width)
{
    for (int j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            memcpy(&to[p * width + j], (const char *)m + j * ls + p * 8, 8);
}

static inline vec_f32 splat_f32(const float *p)
{
    return SET_F32(*p);
}

static inline vec_f64 splat_f64(const double *p)
{
    return SET_F64(*p);
}

/* What a tile's sums are for: c = sum, c += sum, the same rounded to bf16, or with factors and another matrix. */
enum tile_way { ANY_WAY, KEEP, ADD, HALF };

#ifdef __AVX512BW__
static inline void half_f32(uint16_t *to, __m512 v)
{
    _mm256_storeu_si256((__m256i *)(void *)to, bf16_rounded(v));
}
#define v_half half_f32
#endif

#define TILE  static
#define UNIT  1
#define LANES ((int)(sizeof(V) / sizeof(T)))

#define T       float
#define E       float
#define V       vec_f32
#define VE      vec_f32
#define v_load  load_f32
#define v_store store_f32
#define v_set1  SET_F32
#define v_fma   FMA_F32
#define e_load  load_f32
#define e_set1  splat_f32
#define NAME(x) x##_f32
#include "kernels/matmul_tile.h"
#include "kernels/matmul_pack.h"
#undef T
#undef E
#undef V
#undef VE
#undef v_load
#undef v_store
#undef v_set1
#undef v_fma
#undef e_load
#undef e_set1
#undef NAME

#undef v_half
#define T       double
#define E       double
#define V       vec_f64
#define VE      vec_f64
#define v_load  load_f64
#define v_store store_f64
#define v_set1  SET_F64
#define v_fma   FMA_F64
#define e_load  load_f64
#define e_set1  splat_f64
#define NAME(x) x##_f64
#include "kernels/matmul_tile.h"
#include "kernels/matmul_pack.h"
#undef TILE
#undef UNIT
#undef T
#undef E
#undef V
#undef VE
#undef v_load
#undef v_store
#undef v_set1
#undef v_fma
#undef e_load
#undef e_set1
#undef NAME

enum { NR = NV * (int)(sizeof(vec_f32) / sizeof(float)) };

static void block_f32(const struct gemm_block *g)
{
    panels_f32(g, false);
}

static void block_f64(const struct gemm_block *g)
{
    panels_f64(g, false);
}

/* 16-bit floats to panels of float, to_k ≥ k rows long. */
static inline __attribute__((always_inline)) void pack_half(float *to, const uint16_t *b, int64_t rs, int64_t cs,
                                                            int64_t k, int64_t n, int64_t to_k, const aclDataType dtype)
{
    enum { RUN = 64 };
    for (int64_t j = 0; j < n; j += NR, b += NR * cs, to += NR * to_k) {
        int columns = (int)(n - j < NR ? n - j : NR), i = 0;
        if (columns < NR || to_k > k)
            memset(to, 0, (size_t)(NR * to_k) * sizeof(float));
        if (cs == 1) {
            for (int64_t p = 0; p < k; p++)
                half_load(dtype, columns, to + p * NR, b + p * rs);
            continue;
        }
        for (; rs == 1 && i + 8 <= columns; i += 8)
            for (int64_t p = 0; p < k; p += RUN) {
                float line[8][RUN];
                int64_t run = k - p < RUN ? k - p : RUN;
                for (int l = 0; l < 8; l++)
                    half_load(dtype, run, line[l], b + (i + l) * cs + p);
                turn_f32(to + p * NR + i, line, sizeof line[0], 8, run, NR);
            }
        for (; i < columns; i++)
            for (int64_t p = 0; p < k; p++)
                half_load(dtype, 1, to + p * NR + i, b + i * cs + p * rs);
    }
}

static void pack_f16(void *to, const void *b, int64_t rs, int64_t cs, int64_t k, int64_t n)
{
    pack_half(to, b, rs, cs, k, n, k, ACL_FLOAT16);
}

static void pack_bf16(void *to, const void *b, int64_t rs, int64_t cs, int64_t k, int64_t n)
{
    pack_half(to, b, rs, cs, k, n, k + k % 2, ACL_BF16);
}

static void block_bf16(const struct gemm_block *g)
{
    uint64_t mode = flush_begin();
    panels_f32(g, true);
    flush_end(mode);
}

#if defined __AVX512BW__

/* Pairs of bf16 along k. */
static inline __m512i load_pairs(const uint16_t *p)
{
    return _mm512_loadu_si512(p);
}

static inline __m512i splat_pair(const uint16_t *p)
{
    int pair;
    memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
}

#define TILE static __attribute__((target("avx512bf16")))

TILE inline __attribute__((always_inline)) __m512 fma_pairs(__m512i a, __m512i b, __m512 c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

#define UNIT    2
#define T       float
#define E       uint16_t
#define V       vec_f32
#define VE      __m512i
#define v_load  load_f32
#define v_store store_f32
#define v_set1  SET_F32
#define v_fma   fma_pairs
#define v_half  half_f32
#define e_load  load_pairs
#define e_set1  splat_pair
#define NAME(x) x##_pairs
#include "kernels/matmul_tile.h"
#undef TILE
#undef UNIT
#undef T
#undef E
#undef V
#undef VE
#undef v_load
#undef v_store
#undef v_set1
#undef v_fma
#undef v_half
#undef e_load
#undef e_set1
#undef NAME

/* Two adjacent rows of 32 columns as pairs. */
static inline void pair_rows(uint16_t *to, const uint16_t *upper, const uint16_t *lower)
{
    static const uint16_t order[2][32] = {{0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                           8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
                                          {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                           24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
    __m512i a = _mm512_loadu_si512(upper), b = _mm512_loadu_si512(lower);
    for (int i = 0; i < 2; i++)
        _mm512_storeu_si512(to + 32 * i, _mm512_permutex2var_epi16(a, _mm512_loadu_si512(order[i]), b));
}

/* Panels of [k / 2][nr][2]. */
static void pack_pairs(void *panels, const void *from, int64_t rs, int64_t cs, int64_t k, int64_t n)
{
    static const uint16_t zeros[NR];
    const uint16_t *b = from;
    uint16_t *to = panels;
    int64_t even = k + k % 2;
    for (int64_t j = 0; j < n; j += NR, b += NR * cs, to += NR * even) {
        int columns = (int)(n - j < NR ? n - j : NR);
        int64_t p = 0;
        if (cs == 1 && columns == NR) {
            for (; p + 2 <= k; p += 2)
                pair_rows(to + p * NR, b + p * rs, b + (p + 1) * rs);
            if (p < k)
                pair_rows(to + p * NR, b + p * rs, zeros);
            continue;
        }
        if (columns < NR || even > k)
            memset(to, 0, (size_t)(NR * even) * sizeof *to);
        if (rs == 1) {
            turn_f32((float *)(void *)to, b, cs * 2, columns, k / 2, NR);
            p = k / 2 * 2;
        }
        for (; p < k; p++)
            for (int i = 0; i < columns; i++)
                to[(p - p % 2) * NR + i * 2 + p % 2] = b[p * rs + i * cs];
    }
}

static void block_pairs(const struct gemm_block *g)
{
    uint64_t mode = flush_begin();
    panels_pairs(g, false);
    flush_end(mode);
}

#endif

#define T       float
#define V       vec_f32
#define v_load  load_f32
#define v_store store_f32
#define v_set1  SET_F32
#define v_fma   FMA_F32
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
    .f32 = {MR, NR, GEMM_KC, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, false, pack_f32, block_f32},
    .f64 = {MR, NR / 2, GEMM_KC, ACL_DOUBLE, ACL_DOUBLE, ACL_DOUBLE, false, pack_f64, block_f64},
    .f16 = {MR, NR, GEMM_KC_F16, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT, false, pack_f16, block_f32},
    .bf16 = {MR, NR, GEMM_KC_BF16, ACL_FLOAT, ACL_BF16, ACL_FLOAT, true, pack_bf16, block_bf16},
#if defined __AVX512BW__
    .bf16_native = {MR, NR, GEMM_KC_BF16, ACL_BF16, ACL_BF16, ACL_FLOAT, true, pack_pairs, block_pairs},
#endif
    .gemv = gemv,
    .integers = integers,
};

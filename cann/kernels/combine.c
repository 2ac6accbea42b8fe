/* SPDX-License-Identifier: BSD-3-Clause */
/* Combining arrays; see combine.h. */
#include "kernels/combine.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kernels/half.h"

enum { COMBINE_BLOCK = 1024 };

#define T       float
#define W       float
#define NAME(x) x##_f32
#include "kernels/combine_typed.h"
#define T       double
#define W       double
#define NAME(x) x##_f64
#include "kernels/combine_typed.h"
#define T       int8_t
#define W       uint32_t
#define NAME(x) x##_i8
#include "kernels/combine_typed.h"
#define T       uint8_t
#define W       uint32_t
#define NAME(x) x##_u8
#include "kernels/combine_typed.h"
#define T       int16_t
#define W       uint32_t
#define NAME(x) x##_i16
#include "kernels/combine_typed.h"
#define T       uint16_t
#define W       uint32_t
#define NAME(x) x##_u16
#include "kernels/combine_typed.h"
#define T       int32_t
#define W       uint32_t
#define NAME(x) x##_i32
#include "kernels/combine_typed.h"
#define T       uint32_t
#define W       uint32_t
#define NAME(x) x##_u32
#include "kernels/combine_typed.h"
#define T       int64_t
#define W       uint64_t
#define NAME(x) x##_i64
#include "kernels/combine_typed.h"
#define T       uint64_t
#define W       uint64_t
#define NAME(x) x##_u64
#include "kernels/combine_typed.h"

/* 16-bit floats: each input becomes float, a block at a time. */
static inline __attribute__((always_inline)) void fold_half(aclDataType dtype, enum combine_op op, bool wide, int64_t n,
                                                            void *out, const void *const *in, int count)
{
    float sum[COMBINE_BLOCK], next[COMBINE_BLOCK];
    for (int64_t at = 0; at < n; at += COMBINE_BLOCK) {
        int64_t m = n - at < COMBINE_BLOCK ? n - at : COMBINE_BLOCK;
        half_load(dtype, m, sum, (const uint16_t *)in[0] + at);
        for (int k = 1; k < count; k++) {
            half_load(dtype, m, next, (const uint16_t *)in[k] + at);
            for (int64_t i = 0; i < m; i++) {
                float x = sum[i], y = next[i];
                sum[i] = op == COMBINE_SUM    ? x + y
                         : op == COMBINE_PROD ? x * y
                         : op == COMBINE_MAX  ? (x != x || x > y ? x : y)
                                              : (x != x || x < y ? x : y);
            }
        }
        if (wide)
            memcpy((float *)out + at, sum, (size_t)m * sizeof *sum);
        else
            half_store(dtype, m, (uint16_t *)out + at, sum);
    }
}

#define HALF(name, dtype, op)                                                                                          \
    static void name(int64_t n, void *out, const void *const *in, int count)                                           \
    {                                                                                                                  \
        fold_half(dtype, op, false, n, out, in, count);                                                                \
    }                                                                                                                  \
    static void name##_wide(int64_t n, void *out, const void *const *in, int count)                                    \
    {                                                                                                                  \
        fold_half(dtype, op, true, n, out, in, count);                                                                 \
    }
HALF(sum_f16, ACL_FLOAT16, COMBINE_SUM)
HALF(prod_f16, ACL_FLOAT16, COMBINE_PROD)
HALF(max_f16, ACL_FLOAT16, COMBINE_MAX)
HALF(min_f16, ACL_FLOAT16, COMBINE_MIN)
HALF(sum_bf16, ACL_BF16, COMBINE_SUM)
HALF(prod_bf16, ACL_BF16, COMBINE_PROD)
HALF(max_bf16, ACL_BF16, COMBINE_MAX)
HALF(min_bf16, ACL_BF16, COMBINE_MIN)

static void narrow_f16(int64_t n, void *out, const float *in)
{
    f16_store(n, out, in);
}

static void narrow_bf16(int64_t n, void *out, const float *in)
{
    bf16_store(n, out, in);
}

#define FOLDS(name)                                                                                                    \
    {                                                                                                                  \
        [ACL_FLOAT] = name##_f32, [ACL_DOUBLE] = name##_f64, [ACL_FLOAT16] = name##_f16, [ACL_BF16] = name##_bf16,     \
        [ACL_INT8] = name##_i8, [ACL_UINT8] = name##_u8, [ACL_INT16] = name##_i16, [ACL_UINT16] = name##_u16,          \
        [ACL_INT32] = name##_i32, [ACL_UINT32] = name##_u32, [ACL_INT64] = name##_i64, [ACL_UINT64] = name##_u64,      \
    }
#define WIDE(name)                                                                                                     \
    {                                                                                                                  \
        [ACL_FLOAT16] = name##_f16_wide, [ACL_BF16] = name##_bf16_wide                                                 \
    }

const struct combine_table ISA(combine_kernels) = {
    .fold = {[COMBINE_SUM] = FOLDS(sum),
             [COMBINE_PROD] = FOLDS(prod),
             [COMBINE_MAX] = FOLDS(max),
             [COMBINE_MIN] = FOLDS(min)},
    .wide =
        {[COMBINE_SUM] = WIDE(sum), [COMBINE_PROD] = WIDE(prod), [COMBINE_MAX] = WIDE(max), [COMBINE_MIN] = WIDE(min)},
    .narrow = {[ACL_FLOAT16] = narrow_f16, [ACL_BF16] = narrow_bf16},
};

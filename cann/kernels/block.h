/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks: how kernels that compute in few types read and write many. A load turns n elements, `step` bytes apart, of
 * any element type into a dense array of float, double or int64_t; a store is the mirror. block_x() hands out the data
 * itself when it already is such an array. Sums over float blocks run in LANES lanes that are folded in halves, so that
 * the bits are the same whatever the vector width. Included by kernels only; everything is static. */
#ifndef ANYNPU_KERNELS_BLOCK_H
#define ANYNPU_KERNELS_BLOCK_H

#include <stdint.h>

#include "kernels/half.h"

enum {
    BLOCK = 512, /* elements that fit into a buffer on the stack */
    LANES = 32,  /* partial results of a sum, maximum, … */
};

#define BLOCK_INLINE static inline __attribute__((always_inline, unused))
#define BLOCK_STATIC static __attribute__((noinline, unused))

/* One element type of a load: dense and strided loop. */
#define BLOCK_READ(code, type, expression)                                                                             \
    case code:                                                                                                         \
        if (step == (int64_t)sizeof(type)) {                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                type v = ((const type *)in)[i];                                                                        \
                out[i] = expression;                                                                                   \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                type v = *(const type *)(in + i * step);                                                               \
                out[i] = expression;                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        break

#define BLOCK_WRITE(code, type, expression)                                                                            \
    case code:                                                                                                         \
        if (step == (int64_t)sizeof(type)) {                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                ((type *)out)[i] = expression;                                                                         \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(type *)(out + i * step) = expression;                                                                \
        }                                                                                                              \
        break

BLOCK_STATIC void load_f32(aclDataType dtype, int64_t n, const char *restrict in, int64_t step, float *restrict out)
{
    if (dtype == ACL_FLOAT16 && step == 2) {
        f16_load(n, out, (const uint16_t *)in);
        return;
    }
    switch (dtype) {
        BLOCK_READ(ACL_FLOAT, float, v);
        BLOCK_READ(ACL_BF16, uint16_t, bf16_to_float(v));
        BLOCK_READ(ACL_FLOAT16, uint16_t, f16_to_float(v));
        BLOCK_READ(ACL_DOUBLE, double, (float)v);
        BLOCK_READ(ACL_INT8, int8_t, v);
        BLOCK_READ(ACL_UINT8, uint8_t, v);
        BLOCK_READ(ACL_BOOL, uint8_t, v != 0);
        BLOCK_READ(ACL_INT16, int16_t, v);
        BLOCK_READ(ACL_UINT16, uint16_t, v);
        BLOCK_READ(ACL_INT32, int32_t, (float)v);
        BLOCK_READ(ACL_UINT32, uint32_t, (float)v);
        BLOCK_READ(ACL_INT64, int64_t, (float)v);
        BLOCK_READ(ACL_UINT64, uint64_t, (float)v);
    default:
        break;
    }
}

BLOCK_STATIC void load_f64(aclDataType dtype, int64_t n, const char *restrict in, int64_t step, double *restrict out)
{
    if (dtype == ACL_FLOAT16 && step == 2) {
        float x[BLOCK];
        for (int64_t m; n > 0; n -= m, in += 2 * m, out += m) {
            m = n < BLOCK ? n : BLOCK;
            f16_load(m, x, (const uint16_t *)in);
            for (int64_t i = 0; i < m; i++)
                out[i] = x[i];
        }
        return;
    }
    switch (dtype) {
        BLOCK_READ(ACL_FLOAT, float, v);
        BLOCK_READ(ACL_BF16, uint16_t, bf16_to_float(v));
        BLOCK_READ(ACL_FLOAT16, uint16_t, f16_to_float(v));
        BLOCK_READ(ACL_DOUBLE, double, v);
        BLOCK_READ(ACL_INT8, int8_t, v);
        BLOCK_READ(ACL_UINT8, uint8_t, v);
        BLOCK_READ(ACL_BOOL, uint8_t, v != 0);
        BLOCK_READ(ACL_INT16, int16_t, v);
        BLOCK_READ(ACL_UINT16, uint16_t, v);
        BLOCK_READ(ACL_INT32, int32_t, v);
        BLOCK_READ(ACL_UINT32, uint32_t, v);
        BLOCK_READ(ACL_INT64, int64_t, (double)v);
        BLOCK_READ(ACL_UINT64, uint64_t, (double)v);
    default:
        break;
    }
}

/* Integers and bool; uint64_t keeps its bits. */
BLOCK_STATIC void load_i64(aclDataType dtype, int64_t n, const char *restrict in, int64_t step, int64_t *restrict out)
{
    switch (dtype) {
        BLOCK_READ(ACL_INT8, int8_t, v);
        BLOCK_READ(ACL_UINT8, uint8_t, v);
        BLOCK_READ(ACL_BOOL, uint8_t, v != 0);
        BLOCK_READ(ACL_INT16, int16_t, v);
        BLOCK_READ(ACL_UINT16, uint16_t, v);
        BLOCK_READ(ACL_INT32, int32_t, v);
        BLOCK_READ(ACL_UINT32, uint32_t, v);
        BLOCK_READ(ACL_INT64, int64_t, v);
        BLOCK_READ(ACL_UINT64, uint64_t, (int64_t)v);
    default:
        break;
    }
}

/* Float types. */
BLOCK_STATIC void store_f32(aclDataType dtype, int64_t n, const float *restrict x, char *restrict out, int64_t step)
{
    if (step == 2 && (dtype == ACL_FLOAT16 || dtype == ACL_BF16)) {
        half_store(dtype, n, (uint16_t *)out, x);
        return;
    }
    switch (dtype) {
        BLOCK_WRITE(ACL_FLOAT, float, x[i]);
        BLOCK_WRITE(ACL_DOUBLE, double, x[i]);
        BLOCK_WRITE(ACL_FLOAT16, uint16_t, f16_from_float(x[i]));
        BLOCK_WRITE(ACL_BF16, uint16_t, bf16_from_float(x[i]));
    default:
        break;
    }
}

/* Float types; integers and bool by truncation. */
BLOCK_STATIC void store_f64(aclDataType dtype, int64_t n, const double *restrict x, char *restrict out, int64_t step)
{
    if (step == 2 && (dtype == ACL_FLOAT16 || dtype == ACL_BF16)) {
        float y[BLOCK];
        for (int64_t m; n > 0; n -= m, x += m, out += 2 * m) {
            m = n < BLOCK ? n : BLOCK;
            for (int64_t i = 0; i < m; i++)
                y[i] = (float)x[i];
            half_store(dtype, m, (uint16_t *)out, y);
        }
        return;
    }
    switch (dtype) {
        BLOCK_WRITE(ACL_FLOAT, float, (float)x[i]);
        BLOCK_WRITE(ACL_DOUBLE, double, x[i]);
        BLOCK_WRITE(ACL_FLOAT16, uint16_t, f16_from_float((float)x[i]));
        BLOCK_WRITE(ACL_BF16, uint16_t, bf16_from_float((float)x[i]));
        BLOCK_WRITE(ACL_INT8, int8_t, (int8_t)(int64_t)x[i]);
        BLOCK_WRITE(ACL_UINT8, uint8_t, (uint8_t)(int64_t)x[i]);
        BLOCK_WRITE(ACL_BOOL, uint8_t, x[i] != 0);
        BLOCK_WRITE(ACL_INT16, int16_t, (int16_t)(int64_t)x[i]);
        BLOCK_WRITE(ACL_INT32, int32_t, (int32_t)(int64_t)x[i]);
        BLOCK_WRITE(ACL_INT64, int64_t, (int64_t)x[i]);
    default:
        break;
    }
}

/* Every real type; integers wrap. */
BLOCK_STATIC void store_i64(aclDataType dtype, int64_t n, const int64_t *restrict x, char *restrict out, int64_t step)
{
    switch (dtype) {
        BLOCK_WRITE(ACL_INT8, int8_t, (int8_t)x[i]);
        BLOCK_WRITE(ACL_UINT8, uint8_t, (uint8_t)x[i]);
        BLOCK_WRITE(ACL_BOOL, uint8_t, x[i] != 0);
        BLOCK_WRITE(ACL_INT16, int16_t, (int16_t)x[i]);
        BLOCK_WRITE(ACL_UINT16, uint16_t, (uint16_t)x[i]);
        BLOCK_WRITE(ACL_INT32, int32_t, (int32_t)x[i]);
        BLOCK_WRITE(ACL_UINT32, uint32_t, (uint32_t)x[i]);
        BLOCK_WRITE(ACL_INT64, int64_t, x[i]);
        BLOCK_WRITE(ACL_UINT64, uint64_t, (uint64_t)x[i]);
        BLOCK_WRITE(ACL_FLOAT, float, (float)x[i]);
        BLOCK_WRITE(ACL_DOUBLE, double, (double)x[i]);
        BLOCK_WRITE(ACL_FLOAT16, uint16_t, f16_from_float((float)x[i]));
        BLOCK_WRITE(ACL_BF16, uint16_t, bf16_from_float((float)x[i]));
    default:
        break;
    }
}

/* n ≤ BLOCK elements as a dense array: the data itself when it is one, else loaded into buffer. */
BLOCK_INLINE const float *block_f32(aclDataType dtype, int64_t n, const char *in, int64_t step, float *buffer)
{
    if (dtype == ACL_FLOAT && step == 4)
        return (const float *)in;
    load_f32(dtype, n, in, step, buffer);
    return buffer;
}

BLOCK_INLINE const double *block_f64(aclDataType dtype, int64_t n, const char *in, int64_t step, double *buffer)
{
    if (dtype == ACL_DOUBLE && step == 8)
        return (const double *)in;
    load_f64(dtype, n, in, step, buffer);
    return buffer;
}

BLOCK_INLINE const int64_t *block_i64(aclDataType dtype, int64_t n, const char *in, int64_t step, int64_t *buffer)
{
    if ((dtype == ACL_INT64 || dtype == ACL_UINT64) && step == 8)
        return (const int64_t *)in;
    load_i64(dtype, n, in, step, buffer);
    return buffer;
}

#endif

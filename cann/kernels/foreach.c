/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/foreach.h"

#include <float.h>
#include <math.h>

#include "base/dtype.h"
#include "kernels/half.h"

typedef void (*loop_fn)(int64_t n, void *out, const void *a, const void *b, const void *c, struct foreach_scalar s);

/* Inputs may be the output itself, but element i never reads what element j wrote. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Integer power by squaring, wrapping; a negative exponent gives 1/a as integers do. */
static int64_t power_i64(int64_t a, int64_t e)
{
    if (e < 0)
        return a == 1 ? 1 : a == -1 ? (e & 1 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)a, out = 1;
    for (; e; e >>= 1, base *= base)
        if (e & 1)
            out *= base;
    return (int64_t)out;
}
#define power_i8  power_i64
#define power_u8  power_i64
#define power_i16 power_i64
#define power_i32 power_i64
#define power_f32 powf
#define power_f64 pow

#define T             float
#define W             float
#define TYPED(name)   name##_f32
#define MATH(name)    name##f
#define MAX_FINITE    FLT_MAX
#define SCALAR(s)     ((float)(s).d)
#define TYPE_IS_FLOAT 1
#include "kernels/foreach_loops.h"

#define T             double
#define W             double
#define TYPED(name)   name##_f64
#define MATH(name)    name
#define MAX_FINITE    DBL_MAX
#define SCALAR(s)     ((s).d)
#define TYPE_IS_FLOAT 1
#include "kernels/foreach_loops.h"

#define T             int8_t
#define W             uint32_t
#define TYPED(name)   name##_i8
#define SCALAR(s)     ((int8_t)(s).i)
#define TYPE_IS_FLOAT 0
#include "kernels/foreach_loops.h"

#define T             uint8_t
#define W             uint32_t
#define TYPED(name)   name##_u8
#define SCALAR(s)     ((uint8_t)(s).i)
#define TYPE_IS_FLOAT 0
#include "kernels/foreach_loops.h"

#define T             int16_t
#define W             uint32_t
#define TYPED(name)   name##_i16
#define SCALAR(s)     ((int16_t)(s).i)
#define TYPE_IS_FLOAT 0
#include "kernels/foreach_loops.h"

#define T             int32_t
#define W             uint32_t
#define TYPED(name)   name##_i32
#define SCALAR(s)     ((int32_t)(s).i)
#define TYPE_IS_FLOAT 0
#include "kernels/foreach_loops.h"

#define T             int64_t
#define W             uint64_t
#define TYPED(name)   name##_i64
#define SCALAR(s)     ((s).i)
#define TYPE_IS_FLOAT 0
#include "kernels/foreach_loops.h"

static loop_fn find(enum foreach_op op, aclDataType dtype)
{
    switch ((int)dtype) {
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_BF16:
        return loops_f32[op];
    case ACL_DOUBLE:
        return loops_f64[op];
    case ACL_INT8:
        return loops_i8[op];
    case ACL_UINT8:
        return loops_u8[op];
    case ACL_INT16:
        return loops_i16[op];
    case ACL_INT32:
        return loops_i32[op];
    case ACL_INT64:
        return loops_i64[op];
    }
    return NULL;
}

static bool has(enum foreach_op op, aclDataType dtype)
{
    return find(op, dtype) != NULL;
}

static bool is_half(aclDataType dtype)
{
    return dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

static const float *load(aclDataType dtype, int64_t n, float *buffer, const uint16_t *in, int64_t at)
{
    if (in)
        half_load(dtype, n, buffer, in + at);
    return in ? buffer : NULL;
}

static void run(enum foreach_op op, aclDataType dtype, int64_t n, void *out, const void *a, const void *b,
                const void *c, struct foreach_scalar s)
{
    loop_fn loop = find(op, dtype);
    if (!is_half(dtype)) {
        loop(n, out, a, b, c, s);
        return;
    }
    float x[HALF_BLOCK], y[HALF_BLOCK], z[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        const float *fa = load(dtype, m, x, a, i), *fb = load(dtype, m, y, b, i), *fc = load(dtype, m, z, c, i);
        loop(m, x, fa, fb, fc, s);
        half_store(dtype, m, (uint16_t *)out + i, x);
    }
}

static void adam(aclDataType dtype, int64_t n, void *param, void *grad, void *avg, void *square, void *max,
                 const struct foreach_adam *k)
{
    if (dtype == ACL_FLOAT) {
        adam_f32(n, param, grad, avg, square, max, k);
        return;
    }
    if (dtype == ACL_DOUBLE) {
        adam_f64(n, param, grad, avg, square, max, k);
        return;
    }
    float buffer[5][HALF_BLOCK];
    uint16_t *half[5] = {param, grad, avg, square, max};
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        for (int j = 0; j < 5; j++)
            load(dtype, m, buffer[j], half[j], i);
        adam_f32(m, buffer[0], buffer[1], buffer[2], buffer[3], max ? buffer[4] : NULL, k);
        for (int j = 0; j < 5; j++)
            if (half[j] && (j != 1 || k->grad_scale != 0))
                half_store(dtype, m, half[j] + i, buffer[j]);
    }
}

static void sgd(aclDataType dtype, int64_t n, void *param, void *grad, void *momentum, const struct foreach_sgd *k)
{
    if (dtype == ACL_FLOAT) {
        sgd_f32(n, param, grad, momentum, k);
        return;
    }
    if (dtype == ACL_DOUBLE) {
        sgd_f64(n, param, grad, momentum, k);
        return;
    }
    float buffer[3][HALF_BLOCK];
    uint16_t *half[3] = {param, grad, momentum};
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        for (int j = 0; j < 3; j++)
            load(dtype, m, buffer[j], half[j], i);
        sgd_f32(m, buffer[0], buffer[1], momentum ? buffer[2] : NULL, k);
        for (int j = 0; j < 3; j++)
            if (half[j] && (j != 1 || k->grad_scale != 0))
                half_store(dtype, m, half[j] + i, buffer[j]);
    }
}

static bool unscale(aclDataType dtype, int64_t n, void *out, const void *a, double scale)
{
    if (dtype == ACL_FLOAT)
        return unscale_f32(n, out, a, scale);
    if (dtype == ACL_DOUBLE)
        return unscale_f64(n, out, a, scale);
    float x[HALF_BLOCK];
    bool bad = false;
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        half_load(dtype, m, x, (const uint16_t *)a + i);
        bad |= unscale_f32(m, x, x, scale);
        half_store(dtype, m, (uint16_t *)out + i, x);
    }
    return bad;
}

static double norm(enum foreach_norm kind, aclDataType dtype, int64_t n, const void *a, double p)
{
    if (dtype == ACL_FLOAT)
        return norm_f32(kind, n, a, p);
    if (dtype == ACL_DOUBLE)
        return norm_f64(kind, n, a, p);
    double total = 0;
    float x[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        half_load(dtype, m, x, (const uint16_t *)a + i);
        double part = norm_f32(kind, m, x, p);
        if (kind != FOREACH_NORM_MAX)
            total += part;
        else
            total = total != total || total > part ? total : part;
    }
    return total;
}

const struct foreach_kernels ISA(foreach_kernels) = {has, run, adam, sgd, unscale, norm};

/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/foreach.h"

#include <float.h>
#include <math.h>

#include "base/dtype.h"
#include "kernels/half.h"

/* Inputs may be the output itself, but element i never reads what element j wrote. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define T           float
#define TYPED(name) name##_f32
#define MATH(name)  name##f
#define MAX_FINITE  FLT_MAX
#include "kernels/foreach_loops.h"

#define T           double
#define TYPED(name) name##_f64
#define MATH(name)  name
#define MAX_FINITE  DBL_MAX
#include "kernels/foreach_loops.h"

static bool is_half(aclDataType dtype)
{
    return dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

static void load(aclDataType dtype, int64_t n, float *buffer, const void *in, int64_t at)
{
    if (in)
        half_load(dtype, n, buffer, (const uint16_t *)in + at);
}

static void run(const struct foreach_loop *l, int64_t n, char *const *data)
{
    int64_t step[4];
    bool half = is_half(l->dtype);
    int64_t size = half ? 4 : (int64_t)dtype_size(l->dtype);
    for (int k = 0; k < l->operands; k++)
        step[k] = l->repeat >> k & 1 ? 0 : size;
    if (!half) {
        l->loop(n, data, step, l->param);
        return;
    }
    float buffer[4][HALF_BLOCK];
    char *block[4];
    for (int k = 0; k < l->operands; k++)
        block[k] = l->repeat >> k & 1 ? data[k] : (char *)buffer[k];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        for (int k = 1; k < l->operands; k++)
            if (!(l->repeat >> k & 1))
                half_load(l->dtype, m, buffer[k], (const uint16_t *)data[k] + i);
        l->loop(m, block, step, l->param);
        half_store(l->dtype, m, (uint16_t *)data[0] + i, buffer[0]);
    }
}

static void lerp(aclDataType dtype, int64_t n, void *out, const void *a, const void *b, double weight)
{
    if (dtype == ACL_FLOAT) {
        lerp_f32(n, out, a, b, weight);
        return;
    }
    if (dtype == ACL_DOUBLE) {
        lerp_f64(n, out, a, b, weight);
        return;
    }
    float x[HALF_BLOCK], y[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        load(dtype, m, x, a, i);
        load(dtype, m, y, b, i);
        lerp_f32(m, x, x, y, weight);
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

const struct foreach_kernels ISA(foreach_kernels) = {run, lerp, adam, sgd, unscale, norm};

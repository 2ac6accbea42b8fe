/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses; see loss.h. 16-bit floats pass through blocks of float on the stack. */
#include "kernels/loss.h"

#include <math.h>

#include "kernels/half.h"
#include "kernels/vmath.h"

#define T        float
#define NAME(x)  x##_f32
#define ABS      fabsf
#define LOG      log_f32
#define LOG1P(v) ((float)log1p_wide_f64(v))
#define EXP      exp_f32
#include "kernels/loss_typed.h"
#undef T
#undef NAME
#undef ABS
#undef LOG
#undef LOG1P
#undef EXP
#define T       double
#define NAME(x) x##_f64
#define ABS     fabs
#define LOG     log
#define LOG1P   log1p
#define EXP     exp
#include "kernels/loss_typed.h"

/* Element i of an array of 16-bit floats, NULL staying NULL. */
static const uint16_t *at(const void *p, int64_t i)
{
    return p ? (const uint16_t *)p + i : NULL;
}

static const float *widen(aclDataType dtype, int64_t n, float *block, const void *p, int64_t i)
{
    if (!p)
        return NULL;
    half_load(dtype, n, block, at(p, i));
    return block;
}

static void map(enum loss_mode mode, aclDataType dtype, int64_t n, const struct loss_arrays *a, void *out)
{
    if (dtype == ACL_DOUBLE) {
        map_f64(mode, n, a->x, a->y, a->weight, a->parameter, out);
        return;
    }
    if (dtype == ACL_FLOAT) {
        map_f32(mode, n, a->x, a->y, a->weight, (float)a->parameter, out);
        return;
    }
    float x[HALF_BLOCK], y[HALF_BLOCK], w[HALF_BLOCK], o[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t k = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        const float *weight = widen(dtype, k, w, a->weight, i);
        map_f32(mode, k, widen(dtype, k, x, a->x, i), widen(dtype, k, y, a->y, i), weight, (float)a->parameter, o);
        half_store(dtype, k, (uint16_t *)out + i, o);
    }
}

static void gradient(enum loss_mode mode, aclDataType dtype, int64_t n, const struct loss_arrays *a, void *out)
{
    if (dtype == ACL_DOUBLE) {
        gradient_f64(mode, n, a->x, a->y, a->weight, a->grad, a->grad_step, a->parameter, a->scale, out);
        return;
    }
    float parameter = (float)a->parameter, scale = (float)a->scale;
    if (dtype == ACL_FLOAT) {
        gradient_f32(mode, n, a->x, a->y, a->weight, a->grad, a->grad_step, parameter, scale, out);
        return;
    }
    float x[HALF_BLOCK], y[HALF_BLOCK], w[HALF_BLOCK], g[HALF_BLOCK], o[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t k = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;
        const float *weight = widen(dtype, k, w, a->weight, i);
        const float *grad = widen(dtype, a->grad_step ? k : 1, g, a->grad, i * a->grad_step);
        gradient_f32(mode, k, widen(dtype, k, x, a->x, i), widen(dtype, k, y, a->y, i), weight, grad, a->grad_step,
                     parameter, scale, o);
        half_store(dtype, k, (uint16_t *)out + i, o);
    }
}

static double load(aclDataType dtype, const void *p, int64_t i)
{
    switch (dtype) {
    case ACL_DOUBLE:
        return ((const double *)p)[i];
    case ACL_FLOAT:
        return ((const float *)p)[i];
    case ACL_BF16:
        return bf16_to_float(*at(p, i));
    default:
        return f16_to_float(*at(p, i));
    }
}

static void store(aclDataType dtype, void *p, int64_t i, double value)
{
    switch (dtype) {
    case ACL_DOUBLE:
        ((double *)p)[i] = value;
        break;
    case ACL_FLOAT:
        ((float *)p)[i] = (float)value;
        break;
    case ACL_BF16:
        ((uint16_t *)p)[i] = bf16_from_float((float)value);
        break;
    default:
        ((uint16_t *)p)[i] = f16_from_float((float)value);
    }
}

static int64_t target_at(const struct loss_classes *c, int64_t i)
{
    switch (c->target_dtype) {
    case ACL_INT64:
        return ((const int64_t *)c->target)[i];
    case ACL_INT32:
        return ((const int32_t *)c->target)[i];
    default:
        return ((const uint8_t *)c->target)[i];
    }
}

/* Where the score of target i's class stands. */
static int64_t place(const struct loss_classes *c, int64_t i, int64_t class)
{
    return (i / c->inner * c->classes + class) * c->inner + i % c->inner;
}

static int64_t likelihood(const struct loss_classes *c, int64_t begin, int64_t end, double sum[2], void *out)
{
    for (int64_t i = begin; i < end; i++) {
        int64_t class = target_at(c, i);
        double loss = 0.0;
        if (class != c->ignore) {
            if (class < 0 || class >= c->classes)
                return i;
            double weight = c->weight ? load(c->dtype, c->weight, class) : 1.0;
            loss = -load(c->dtype, c->x, place(c, i, class)) * weight;
            sum[0] += loss;
            sum[1] += weight;
        }
        if (out)
            store(c->dtype, out, i, loss);
    }
    return -1;
}

static void likelihood_gradient(const struct loss_classes *c, int64_t begin, int64_t end, const void *grad,
                                int64_t grad_step, double scale, void *out)
{
    for (int64_t i = begin; i < end; i++) {
        int64_t class = target_at(c, i);
        if (class == c->ignore || class < 0 || class >= c->classes)
            continue;
        double weight = c->weight ? load(c->dtype, c->weight, class) : 1.0;
        store(c->dtype, out, place(c, i, class), -weight * scale * load(c->dtype, grad, i * grad_step));
    }
}

const struct loss_kernels ISA(loss_kernels) = {
    .map = map,
    .gradient = gradient,
    .likelihood = likelihood,
    .likelihood_gradient = likelihood_gradient,
    .target = target_at,
    .load = load,
    .store = store,
};

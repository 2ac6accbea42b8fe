/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels over the tensors of a list, one dense run at a time: arithmetic of the foreach operators, the fused optimizer
 * steps, and the checks of mixed precision training. Runs may be cut anywhere: an element's result depends on that
 * element alone. out may be the same memory as an input, never partly overlap it. f16 and bf16 compute in float and
 * round once. */
#ifndef ANYNPU_KERNELS_FOREACH_H
#define ANYNPU_KERNELS_FOREACH_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

/* s is the scalar; a, b, c the inputs in the operator's order. */
enum foreach_op {
    FOREACH_ADD_SCALAR, /* a + s */
    FOREACH_SUB_SCALAR,
    FOREACH_MUL_SCALAR,
    FOREACH_DIV_SCALAR,
    FOREACH_MAX_SCALAR, /* NaN wins */
    FOREACH_MIN_SCALAR,
    FOREACH_POW_SCALAR, /* a ** s */
    FOREACH_SCALAR_POW, /* s ** a */
    FOREACH_ADD,        /* a + s b */
    FOREACH_SUB,        /* a - s b */
    FOREACH_MUL,
    FOREACH_DIV,
    FOREACH_MAX,
    FOREACH_MIN,
    FOREACH_POW,
    FOREACH_ADDCMUL, /* a + s b c */
    FOREACH_ADDCDIV, /* a + s b / c */
    FOREACH_LERP,    /* a + c (b - a) */
    FOREACH_LERP_SCALAR,
    FOREACH_SQRT,
    FOREACH_RSQRT,
    FOREACH_NEG,
    FOREACH_ABS,
    FOREACH_RECIPROCAL,
    FOREACH_SIGN,
    FOREACH_RINT, /* half to even */
    FOREACH_FLOOR,
    FOREACH_CEIL,
    FOREACH_ROUND, /* half away from zero */
    FOREACH_TRUNC,
    FOREACH_FRAC,
    FOREACH_OPS
};

struct foreach_scalar {
    double d;  /* for floating types */
    int64_t i; /* for integers */
};

/* One step of Adam; adamw: the decay multiplies the parameter instead of joining the gradient. */
struct foreach_adam {
    double lr, beta1, beta2, weight_decay, eps;
    double step;       /* the number of this step, from 1 */
    double grad_scale; /* the gradient is divided by it and written back; 0: unscaled */
    bool adamw, maximize;
};

struct foreach_sgd {
    double lr, momentum, dampening, weight_decay, grad_scale;
    bool nesterov, maximize, first;
};

enum foreach_norm { FOREACH_NORM_ONE, FOREACH_NORM_TWO, FOREACH_NORM_MAX, FOREACH_NORM_ZERO, FOREACH_NORM_P };

struct foreach_kernels {
    /* Is there a kernel? f32 f64 f16 bf16 and i8 u8 i16 i32 i64 as far as the operator makes sense. */
    bool (*has)(enum foreach_op op, aclDataType dtype);
    void (*run)(enum foreach_op op, aclDataType dtype, int64_t n, void *out, const void *a, const void *b,
                const void *c, struct foreach_scalar s);
    /* f32 f64 f16 bf16; max is NULL without amsgrad, momentum NULL without momentum. */
    void (*adam)(aclDataType dtype, int64_t n, void *param, void *grad, void *avg, void *square, void *max,
                 const struct foreach_adam *k);
    void (*sgd)(aclDataType dtype, int64_t n, void *param, void *grad, void *momentum, const struct foreach_sgd *k);
    /* out = a * scale; true when an input is infinite or NaN. */
    bool (*unscale)(aclDataType dtype, int64_t n, void *out, const void *a, double scale);
    /* A run's share of a norm: sum of |a|, a², |a|^p, count of a ≠ 0, or the largest |a| (NaN wins). Fixed order of
     * addition. */
    double (*norm)(enum foreach_norm kind, aclDataType dtype, int64_t n, const void *a, double p);
};

ISA_DECLARE(const struct foreach_kernels, foreach_kernels);

#endif

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
#include "kernels/loop.h"

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

/* What a loop (kernels/elementwise.h) needs beside its data. */
struct foreach_loop {
    walk_loop loop; /* of the type, of f32 for f16 and bf16 */
    const void *param;
    aclDataType dtype;
    int operands;    /* the output included, ≤ 4 */
    unsigned repeat; /* bit k: operand k is one element, of the loop's type; one operand at most */
};

struct foreach_kernels {
    void (*run)(const struct foreach_loop *l, int64_t n, char *const *data);
    /* f32 f64 f16 bf16: a + weight (b - a) */
    void (*lerp)(aclDataType dtype, int64_t n, void *out, const void *a, const void *b, double weight);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses of dense arrays, element by element, and the negative log likelihood of classes. 16-bit floats compute in
 * float; sums of the likelihood in double, in order. */
#ifndef ANYNPU_KERNELS_LOSS_H
#define ANYNPU_KERNELS_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum loss_mode {
    LOSS_SQUARE,    /* (x − y)² */
    LOSS_ABS,       /* |x − y| */
    LOSS_SMOOTH_L1, /* d²/2β where d = |x − y| < β, else d − β/2; parameter β */
    LOSS_HUBER,     /* d²/2 where d ≤ δ, else δ(d − δ/2); parameter δ */
    LOSS_BCE,       /* −w (y log x + (1 − y) log(1 − x)), logarithms at least −100 */
    LOSS_MARGIN,    /* log(1 + e^(−xy)) */
    LOSS_MODES
};

/* n elements; weight and grad may be NULL, grad_step is 0 for one gradient for all, else 1. */
struct loss_arrays {
    const void *x, *y, *weight, *grad;
    int64_t grad_step;
    double parameter, scale; /* scale: of the gradient (1/count for a mean) */
};

/* Class scores [rows, classes, inner] (log-probabilities), targets [rows, inner]. */
struct loss_classes {
    int64_t classes, inner, ignore;
    aclDataType dtype, target_dtype; /* targets: int64, int32 or uint8 */
    const void *x, *target, *weight; /* weight: [classes] of dtype, or NULL */
};

struct loss_kernels {
    void (*map)(enum loss_mode mode, aclDataType dtype, int64_t n, const struct loss_arrays *a, void *out);
    void (*gradient)(enum loss_mode mode, aclDataType dtype, int64_t n, const struct loss_arrays *a, void *out);
    /* Adds targets [begin, end) (of rows × inner) to sum[0] (loss) and sum[1] (weight); each loss goes to out (may be
     * NULL). Returns the first target that is no class, or -1. */
    int64_t (*likelihood)(const struct loss_classes *c, int64_t begin, int64_t end, double sum[2], void *out);
    /* out [rows, classes, inner] is zeroed; writes the gradients of targets [begin, end). grad: one value, or one a
     * target (step 1), scale multiplies it. */
    void (*likelihood_gradient)(const struct loss_classes *c, int64_t begin, int64_t end, const void *grad,
                                int64_t grad_step, double scale, void *out);
    int64_t (*target)(const struct loss_classes *c, int64_t i);
    double (*load)(aclDataType dtype, const void *p, int64_t i);
    void (*store)(aclDataType dtype, void *p, int64_t i, double value);
};

ISA_DECLARE(const struct loss_kernels, loss_kernels);

#endif

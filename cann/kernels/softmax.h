/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax, log-softmax and log-sum-exp of dense tensors seen as [outer, n, inner], over the middle dimension, and the
 * gradients of the first two. Computed in float for f16, bf16 and f32, in double for f64; sums of blocks in double.
 * Types of input and output may differ among the floats. A row of minus infinities gives NaN, as in PyTorch. */
#ifndef ANYNPU_KERNELS_SOFTMAX_H
#define ANYNPU_KERNELS_SOFTMAX_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum softmax_mode { SOFTMAX, SOFTMAX_LOG, SOFTMAX_SUM_LOG }; /* the last: one result a row, log Σ e^x */

struct softmax_shape {
    int64_t n, inner;
    aclDataType dtype, grad_dtype, out_dtype; /* of x (backward: y), of the incoming gradient, of the result */
};

struct softmax_kernels {
    /* rows × n elements, inner = 1. */
    void (*rows)(enum softmax_mode mode, const struct softmax_shape *s, int64_t rows, const char *x, char *out);
    /* cols neighbouring columns, ≤ 512, of one outer index; x and out at the first one. */
    void (*columns)(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *x, char *out);
    /* Gradients: y is the softmax (log-softmax), grad the gradient that came in. */
    void (*grad_rows)(enum softmax_mode mode, const struct softmax_shape *s, int64_t rows, const char *grad,
                      const char *y, char *out);
    void (*grad_columns)(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *grad,
                         const char *y, char *out);
};

ISA_DECLARE(const struct softmax_kernels, softmax_kernels);

#endif

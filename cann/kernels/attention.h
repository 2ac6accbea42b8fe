/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of attention scores, in float: the softmax that grows block by block, and its gradient. The products around them
 * are matrix products (matmul.h); ops/attention.c puts the two together. Sums run in 16 lanes, added pairwise. */
#ifndef ANYNPU_KERNELS_ATTENTION_H
#define ANYNPU_KERNELS_ATTENTION_H

#include <stdint.h>

#include "kernels/isa.h"

/* What stands between one row's products and its weights, for the n columns (keys) of a block. */
struct attention_row {
    int64_t n;
    int64_t from, to;      /* columns seen: [from, to), within [0, n) */
    const uint8_t *hidden; /* a byte that is not 0 hides its column too; NULL: none */
    int64_t hidden_step;
    const float *bias; /* bias_scale times this is added; NULL: nothing */
    int64_t bias_step;
    float bias_scale;
    const uint8_t *keep; /* bits, the lowest first: 0 drops the weight; NULL: all are kept */
    int64_t keep_bit;    /* of column 0 */
    float keep_scale;    /* 1 / probability */
};

struct attention_kernels {
    /* score: scaled products in, exp(score - max) out, 0 where hidden, then dropped. max and sum of the row so far are
     * brought up to date (start: -INFINITY and 0); returns what the row's former results must be multiplied with. */
    float (*softmax)(const struct attention_row *row, float *score, float *max, float *sum);
    /* score: scaled products in, weights exp(score - max) / sum out; kept (may be score): the same after dropping. */
    void (*weights)(const struct attention_row *row, float *score, float *kept, float max, float sum);
    /* grad: gradients of the kept weights in, of the scores out: weight (drop(grad) - dot). */
    void (*gradient)(const struct attention_row *row, float *grad, const float *weight, float dot);
    /* sum of a b, steps in elements */
    float (*dot)(int64_t n, const float *a, int64_t a_step, const float *b, int64_t b_step);
    void (*scale)(int64_t n, float *x, float by);
};

ISA_DECLARE(const struct attention_kernels, attention_kernels);

#endif

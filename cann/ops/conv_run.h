/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of convolutions, as steps of a plan. Two sides: x, the images that taps move over, and y, the pixels that
 * taps lead to; a convolution computes y from x, its input's gradient and a transposed convolution compute x from y,
 * and the weight's gradient comes from both.
 *
 * All of it is the blocked product of gemm.h with patches packed straight from padded planes (kernels/conv.h), or, for
 * 3×3 kernels, Winograd's transforms around such products (conv_winograd.c); so the bits depend neither on threads nor
 * on the ISA, and an image's result not on the others of its batch (on their number where that settles the way). Images
 * are taken a few at a time, so that their planes stay in the cache; only the weight's gradient depends on how many. */
#ifndef ANYNPU_OPS_CONV_RUN_H
#define ANYNPU_OPS_CONV_RUN_H

#include "ops/plan.h"

/* Sizes; the dimensions are depth, height, width. All products have been checked against overflow. */
struct conv_shape {
    int64_t images, groups;
    int64_t channels_x, channels_y; /* of all groups */
    int64_t x[3], y[3], kernel[3], stride[3], dilation[3], before[3];
};

/* Contiguous views [images][channels][…]; w [channels_y][channels_x / groups][kernel]. All of one type, float or
 * double, except that x may be of a 16-bit type and of any strides where it is read (conv_y, conv_w). */
struct conv_views {
    struct view *x, *y, *w;
    bool fixed; /* w is the same in every run of the plan */
};

/* y = w * x + bias [channels_y] (or NULL). */
void plan_conv_y(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias);
/* x = the transpose of w on y, + bias [channels_x] (or NULL). */
void plan_conv_x(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias);
/* Either of the two for int64, modulo 2^64: everything dense. */
void plan_conv_whole(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias,
                     bool transposed);
/* w = the sum over images of y ⊗ x. */
void plan_conv_w(struct plan *plan, const struct conv_shape *shape, struct conv_views v);
/* sum [channels] of v [images][channels][pixels], contiguous. */
void plan_channel_sums(struct plan *plan, struct view *sum, struct view *v, int64_t images, int64_t channels,
                       int64_t pixels);

#endif

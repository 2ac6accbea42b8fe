/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows that slide over the dimensions after batch and channels: what convolutions and pooling have in common. */
#ifndef ANYNPU_GRAPH_OPERATORS_WINDOW_H
#define ANYNPU_GRAPH_OPERATORS_WINDOW_H

#include "graph/operators/op.h"

enum { WINDOW_DIMS = 3 };

struct window {
    int n; /* spatial dimensions, 1 to 3 */
    int64_t in[WINDOW_DIMS], out[WINDOW_DIMS], kernel[WINDOW_DIMS], stride[WINDOW_DIMS], dilation[WINDOW_DIMS];
    int64_t before[WINDOW_DIMS], after[WINDOW_DIMS]; /* padding */
    bool ceil;
};

/* Of the node's attributes (kernel_shape, strides, dilations, pads, auto_pad, ceil_mode) for x [batch, channels, …];
 * kernel: sizes where kernel_shape is not given, or NULL. False after a failure. */
bool window_read(struct op *op, const struct operand *x, const int64_t *kernel, struct window *w);

/* The same for a transposed convolution (output_padding, output_shape). */
bool window_read_transposed(struct op *op, const struct operand *x, const int64_t *kernel, struct window *w);

/* One dimension seen as two, the first of size 1. */
struct operand *window_flat(struct op *op, struct operand *t);

/* Elements that a window spans along a dimension. */
static inline int64_t window_reach(const struct window *w, int d)
{
    return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* Padding is the same before and after, and nothing is rounded up. */
static inline bool window_is_plain(const struct window *w)
{
    for (int d = 0; d < w->n; d++)
        if (w->before[d] != w->after[d] || w->ceil)
            return false;
    return true;
}

#endif

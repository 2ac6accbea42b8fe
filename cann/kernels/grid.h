/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an image at points between its pixels (grid_sampler). An axis gives a point up to four taps, pixels with
 * weights; a point's value is the sum over the product of its axes' taps. One image is
 * x[channels][depth][height][width] (depth 1 in two dimensions), its points are grid[points][dims], x first, from -1 to
 * 1; values are y[channels][points]. All dense, float or double. */
#ifndef ANYNPU_KERNELS_GRID_H
#define ANYNPU_KERNELS_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum grid_mode { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

struct grid {
    enum grid_mode mode;
    enum grid_padding padding;
    bool align;
    int dims;
    int64_t size[3]; /* depth, height, width */
    int64_t channels, points;
};

struct grid_kernels {
    /* Values of points [begin, end). */
    void (*sample)(const struct grid *g, aclDataType type, const void *x, const void *grid, void *y, int64_t begin,
                   int64_t end);
    /* Adds to channels [begin, end) of gx. */
    void (*image_gradient)(const struct grid *g, aclDataType type, const void *grid, const void *gy, void *gx,
                           int64_t begin, int64_t end);
    /* Gradients of points [begin, end), [points][dims]. */
    void (*grid_gradient)(const struct grid *g, aclDataType type, const void *x, const void *grid, const void *gy,
                          void *ggrid, int64_t begin, int64_t end);
};

ISA_DECLARE(const struct grid_kernels, grid_kernels);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an image at points between its pixels; see grid.h. Coordinates follow PyTorch's (ATen/native/GridSampler.h),
 * computed in the type's own precision: a rounding decides between pixels. */
#include "kernels/grid.h"

#include <math.h>

enum { TAPS = 4, COMBINATIONS = 64 };

#define T        float
#define FN(name) name##f
#define NAME(x)  x##_f32
#include "kernels/grid_typed.h"

#define T        double
#define FN(name) name
#define NAME(x)  x##_f64
#include "kernels/grid_typed.h"

static void sample(const struct grid *g, aclDataType type, const void *x, const void *grid, void *y, int64_t begin,
                   int64_t end)
{
    if (type == ACL_DOUBLE)
        sample_f64(g, x, grid, y, begin, end);
    else
        sample_f32(g, x, grid, y, begin, end);
}

static void image_gradient(const struct grid *g, aclDataType type, const void *grid, const void *gy, void *gx,
                           int64_t begin, int64_t end)
{
    if (type == ACL_DOUBLE)
        image_gradient_f64(g, grid, gy, gx, begin, end);
    else
        image_gradient_f32(g, grid, gy, gx, begin, end);
}

static void grid_gradient(const struct grid *g, aclDataType type, const void *x, const void *grid, const void *gy,
                          void *ggrid, int64_t begin, int64_t end)
{
    if (type == ACL_DOUBLE)
        grid_gradient_f64(g, x, grid, gy, ggrid, begin, end);
    else
        grid_gradient_f32(g, x, grid, gy, ggrid, begin, end);
}

const struct grid_kernels ISA(grid_kernels) = {sample, image_gradient, grid_gradient};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation: see norm.h; the loops are in norm_typed.h, compiled for float and double. */
#include "kernels/norm.h"

#include <math.h>

#include "kernels/block.h"
#include "kernels/lanes.h"

#define T         float
#define NAME(x)   x##_f32
#define BLOCK_OF  block_f32
#define LOAD      load_f32
#define STORE     store_f32
#define DIRECT(t) ((t) == ACL_FLOAT)
#include "kernels/norm_typed.h"

#define T         double
#define NAME(x)   x##_f64
#define BLOCK_OF  block_f64
#define LOAD      load_f64
#define STORE     store_f64
#define DIRECT(t) ((t) == ACL_DOUBLE)
#include "kernels/norm_typed.h"

static bool wide(const struct norm_types *t)
{
    return t->x == ACL_DOUBLE;
}

static void moments(const struct norm_types *t, const struct norm_planes *p, const char *x, double *m)
{
    wide(t) ? moments_f64(t, p, x, m) : moments_f32(t, p, x, m);
}

static void sums(const struct norm_types *t, const struct norm_planes *p, const char *g, const char *x, double mean,
                 double *sum)
{
    wide(t) ? sums_f64(t, p, g, x, mean, sum) : sums_f32(t, p, g, x, mean, sum);
}

static void scale(const struct norm_types *t, const struct norm_planes *p, const char *x, const struct norm_channel *c,
                  char *out)
{
    wide(t) ? scale_f64(t, p, x, c, out) : scale_f32(t, p, x, c, out);
}

static void gradient(const struct norm_types *t, const struct norm_planes *p, const char *g, const char *x,
                     const struct norm_channel *c, char *out)
{
    wide(t) ? gradient_f64(t, p, g, x, c, out) : gradient_f32(t, p, g, x, c, out);
}

static void sums_columns(const struct norm_types *t, int64_t rows, int64_t cols, const char *g, const char *x,
                         const void *mean, double *sum_g, double *sum_gx)
{
    wide(t) ? sums_columns_f64(t, rows, cols, g, x, mean, sum_g, sum_gx)
            : sums_columns_f32(t, rows, cols, g, x, mean, sum_g, sum_gx);
}

static void scale_columns(const struct norm_types *t, int64_t rows, int64_t cols, const char *x, const void *mean,
                          const void *factor, const void *shift, char *out)
{
    wide(t) ? scale_columns_f64(t, rows, cols, x, mean, factor, shift, out)
            : scale_columns_f32(t, rows, cols, x, mean, factor, shift, out);
}

static void gradient_columns(const struct norm_types *t, int64_t rows, int64_t cols, const char *g, const char *x,
                             const void *mean, const void *factor, const void *shift, const void *slope, char *out)
{
    wide(t) ? gradient_columns_f64(t, rows, cols, g, x, mean, factor, shift, slope, out)
            : gradient_columns_f32(t, rows, cols, g, x, mean, factor, shift, slope, out);
}

static void layer(const struct norm_layer *l, int64_t rows, const char *x, char *out, void *mean, void *rstd)
{
    wide(&l->type) ? layer_f64(l, rows, x, out, mean, rstd) : layer_f32(l, rows, x, out, mean, rstd);
}

static void layer_gradient(const struct norm_layer *l, int64_t rows, const char *g, const char *x, const void *mean,
                           const void *rstd, char *dx, void *dweight, void *dbias)
{
    wide(&l->type) ? layer_gradient_f64(l, rows, g, x, mean, rstd, dx, dweight, dbias)
                   : layer_gradient_f32(l, rows, g, x, mean, rstd, dx, dweight, dbias);
}

const struct norm_kernels ISA(norm_kernels) = {
    moments, sums, scale, gradient, sums_columns, scale_columns, gradient_columns, layer, layer_gradient,
};

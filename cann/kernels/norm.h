/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation: the loops of batch, group, layer and RMS norm and of their gradients, over dense data.
 *
 * Data may be f16, bf16, f32 (computed in float) or f64 (in double); statistics and per-channel parameters are arrays
 * of the compute type, `float` in these comments. Sums of blocks are added up in double. */
#ifndef ANYNPU_KERNELS_NORM_H
#define ANYNPU_KERNELS_NORM_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

/* Types of the incoming gradient, the data, and the result. */
struct norm_types {
    aclDataType grad, x, out;
};

/* One channel's constants. Forward: (x − mean) factor + shift. Backward: g factor − shift − (x − mean) slope. */
struct norm_channel {
    double mean, factor, shift, slope;
};

/* Layer norm (or RMS norm: no mean) over rows of n. weight and bias may be NULL. */
struct norm_layer {
    struct norm_types type;
    int64_t n;
    double eps;
    bool rms;
    const void *weight, *bias; /* float[n] */
};

/* Where a channel's elements lie: planes of n neighbours, the first elements of two `step` elements apart. */
struct norm_planes {
    int64_t planes, n, step;
};

struct norm_kernels {
    /* The elements join moments {mean, Σ (x − mean)², count}. */
    void (*moments)(const struct norm_types *t, const struct norm_planes *p, const char *x, double *moments);
    /* sum[0] += Σ g, sum[1] += Σ g (x − mean). */
    void (*sums)(const struct norm_types *t, const struct norm_planes *p, const char *g, const char *x, double mean,
                 double *sum);
    void (*scale)(const struct norm_types *t, const struct norm_planes *p, const char *x, const struct norm_channel *c,
                  char *out);
    void (*gradient)(const struct norm_types *t, const struct norm_planes *p, const char *g, const char *x,
                     const struct norm_channel *c, char *out);
    /* The same for rows of cols channels each, which lie side by side; constants by channel: float[cols]. */
    void (*sums_columns)(const struct norm_types *t, int64_t rows, int64_t cols, const char *g, const char *x,
                         const void *mean, double *sum_g, double *sum_gx);
    void (*scale_columns)(const struct norm_types *t, int64_t rows, int64_t cols, const char *x, const void *mean,
                          const void *factor, const void *shift, char *out);
    void (*gradient_columns)(const struct norm_types *t, int64_t rows, int64_t cols, const char *g, const char *x,
                             const void *mean, const void *factor, const void *shift, const void *slope, char *out);
    /* mean and rstd: float[rows], written. */
    void (*layer)(const struct norm_layer *l, int64_t rows, const char *x, char *out, void *mean, void *rstd);
    /* dx may be NULL; dweight and dbias (float[n], may be NULL) are added to. */
    void (*layer_gradient)(const struct norm_layer *l, int64_t rows, const char *g, const char *x, const void *mean,
                           const void *rstd, char *dx, void *dweight, void *dbias);
};

ISA_DECLARE(const struct norm_kernels, norm_kernels);

#endif

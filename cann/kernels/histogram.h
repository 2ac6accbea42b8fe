/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting: how many elements fall into each bin, or have each value. Counts are added to; callers add up pieces. */
#ifndef ANYNPU_KERNELS_HISTOGRAM_H
#define ANYNPU_KERNELS_HISTOGRAM_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

struct histogram_kernels {
    /* Dense elements in [low, high] into bins of equal width (computed in the type itself, as PyTorch does); high
     * itself belongs to the last. */
    void (*bins)(aclDataType dtype, int64_t n, const char *x, double low, double high, int64_t bins, int64_t *count);
    /* Least and greatest of dense elements, n > 0; NaN if there is one. */
    void (*range)(aclDataType dtype, int64_t n, const char *x, double *low, double *high);
    /* Dense integers in [0, values): how many of each, or the sum of their weights (dense, any real type). The first
     * element outside comes back, else −1. */
    int64_t (*values)(aclDataType dtype, int64_t n, const char *x, int64_t values, int64_t *count);
    int64_t (*weights)(aclDataType dtype, int64_t n, const char *x, aclDataType weight_dtype, const char *weight,
                       int64_t values, double *sum);
};

ISA_DECLARE(const struct histogram_kernels, histogram_kernels);

#endif

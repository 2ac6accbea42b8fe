/* SPDX-License-Identifier: BSD-3-Clause */
/* Resampling along one axis: every output position is a weighted sum of input positions. Interpolation in several
 * dimensions is one axis after the other; a gradient is the same with the lists turned round. Tensors are dense
 * [outer, axis, inner]. */
#ifndef ANYNPU_KERNELS_UPSAMPLE_H
#define ANYNPU_KERNELS_UPSAMPLE_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

struct upsample_axis {
    int64_t in, out;
    const int64_t *first; /* out + 1: position o sums the taps first[o] … first[o + 1] - 1, in that order */
    const int64_t *at;    /* of each tap: the input position */
    const void *weight;   /* of each tap: the type's own; uint8: int16_t, in units of 2^-precision */
    int precision;
};

struct upsample_kernels {
    /* float, double or uint8 (rounded and clamped). Output rows [begin, end) of outer × out, `inner` elements each. */
    void (*axis)(const struct upsample_axis *a, aclDataType type, const void *x, void *y, int64_t inner, int64_t begin,
                 int64_t end);
};

ISA_DECLARE(const struct upsample_kernels, upsample_kernels);

#endif

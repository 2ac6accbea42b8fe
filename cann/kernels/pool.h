/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling of one channel in up to three dimensions (depth, height, width; those that lack have size 1). The windows are
 * given per dimension and output position, so that sliding, dilated, ragged and adaptive ones are the same to the
 * kernels; rows of evenly sliding windows take a fast path. Everything is dense. */
#ifndef ANYNPU_KERNELS_POOL_H
#define ANYNPU_KERNELS_POOL_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

/* The taps of one output position that lie inside: from, from + dilation, …, `count` of them. `size` is the position's
 * share in the divisor of an average. */
struct pool_window {
    int32_t from, count, size;
};

struct pool {
    int64_t in[3], out[3];
    const struct pool_window *window[3];
    int64_t dilation[3];
    double divisor; /* of averages; 0: the product of the windows' sizes */
    /* Along the width, when windows slide evenly (else even is 0): position o begins at o * stride - before. */
    int even;
    int64_t kernel, stride, before;
};

struct pool_kernels {
    /* The type's own; 16-bit floats are for the caller to widen. index may be NULL: position of the maximum in the
     * channel, the first of equal ones, the last of NaNs. Output rows [begin, end) of out[0] × out[1]. */
    void (*max)(const struct pool *p, aclDataType type, const void *x, void *y, int32_t *index, int64_t begin,
                int64_t end);
    void (*average)(const struct pool *p, aclDataType type, const void *x, void *y, int64_t begin, int64_t end);
    /* Add to gx, float or double, which begins as zeros. Indices outside of the channel are ignored. */
    void (*max_backward)(const struct pool *p, aclDataType type, const void *gy, const int32_t *index, void *gx);
    void (*average_backward)(const struct pool *p, aclDataType type, const void *gy, void *gx);
};

ISA_DECLARE(const struct pool_kernels, pool_kernels);

#endif

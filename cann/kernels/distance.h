/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances between rows of numbers, of any norm p ≥ 0, and their gradients. Rows have d elements; everything is dense,
 * float or double. p = 0 counts the places that differ, infinity takes the largest difference. */
#ifndef ANYNPU_KERNELS_DISTANCE_H
#define ANYNPU_KERNELS_DISTANCE_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

struct distance_kernels {
    /* out[j] = |x - y[j]| for n rows y. */
    void (*row)(aclDataType type, const void *x, const void *y, int64_t n, int64_t d, double p, void *out);
    /* gx += sum over j of g[j] times the gradient of |x - y[j]| = distance[j] by x. */
    void (*gradient)(aclDataType type, const void *x, const void *y, const void *g, const void *distance, int64_t n,
                     int64_t d, double p, void *gx);
};

ISA_DECLARE(const struct distance_kernels, distance_kernels);

#endif

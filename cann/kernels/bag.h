/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of rows: sums, means or largest elements of chosen rows of a table (embedding_bag). Everything is dense, float
 * or double. */
#ifndef ANYNPU_KERNELS_BAG_H
#define ANYNPU_KERNELS_BAG_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum bag_mode { BAG_SUM, BAG_MEAN, BAG_MAX };

struct bag {
    enum bag_mode mode;
    int64_t width;   /* elements of a row */
    int64_t padding; /* the row that counts for nothing; -1: none */
};

struct bag_kernels {
    /* One bag of n rows table[index[i]], times factor[i] unless factor is NULL (sums only). Returns how many counted.
     * largest (of the maximum; may be NULL): the row that each element comes from, 0 in an empty bag. */
    int64_t (*reduce)(const struct bag *b, aclDataType type, const void *table, const int64_t *index,
                      const void *factor, int64_t n, void *out, int64_t *largest);
};

ISA_DECLARE(const struct bag_kernels, bag_kernels);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Where elements belong in an ordered sequence. */
#ifndef ANYNPU_KERNELS_SEARCH_H
#define ANYNPU_KERNELS_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

struct search {
    aclDataType type; /* of the sequence and the values */
    int64_t n;        /* length of the sequence, dense */
    const char *sequence;
    const int64_t *sorter; /* the sequence in order is sequence[sorter[i]]; NULL: it is in order itself */
    bool right;            /* after equal elements, not before */
    int64_t m;             /* values, dense */
    const char *values;
    int64_t *places; /* results: 0..n */
};

struct search_kernels {
    /* As PyTorch compares: NaN values belong at the end. */
    void (*run)(const struct search *s);
};

ISA_DECLARE(const struct search_kernels, search_kernels);

#endif

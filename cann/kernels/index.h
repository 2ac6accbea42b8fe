/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing at places given by an int64 index. A run is a line of elements that all index the same dimension:
 * element i of a gather is in[i * in_step + index[i] * dim_step]. Indices outside [0, limit) are not followed; one of
 * them is left in the error. Within a run, writes happen in order, so that repeated indices have one meaning. */
#ifndef ANYNPU_KERNELS_INDEX_H
#define ANYNPU_KERNELS_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"
#include "kernels/loop.h"

/* An index that a scatter leaves out without an error. */
#define INDEX_SKIP INT64_MIN

struct index_error {
    int found; /* set atomically, read after the work is done */
    int64_t value;
};

/* The param of gather loops: operands out, index (int64), in. */
struct gather_param {
    int64_t dim_step; /* bytes */
    int64_t limit;
    struct index_error *error;
};

enum scatter_op { SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN, SCATTER_OPS };

struct scatter_param {
    int64_t dim_step; /* elements */
    int64_t limit;
    double alpha[2]; /* SCATTER_ADD adds alpha * src; real and imaginary */
    int64_t alpha_int;
    struct index_error *error;
};

struct scatter_run {
    int64_t n;
    char *out;
    const char *src;
    const int64_t *index;
    int64_t out_step, src_step, index_step; /* elements */
};

typedef void (*scatter_loop)(const struct scatter_run *run, const struct scatter_param *p);

struct index_kernels {
    /* By bytes of an element: 1 2 4 8 16. */
    walk_loop (*gather)(size_t size);
    /* NULL where the type has no such operation; SET exists for every size. */
    scatter_loop (*scatter)(enum scatter_op op, aclDataType dtype);
};

ISA_DECLARE(const struct index_kernels, index_kernels);

#endif

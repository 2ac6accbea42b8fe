/* SPDX-License-Identifier: BSD-3-Clause */
/* How reductions and copies go through the computers: among rail `me` of all of them, for this rail's part of the data.
 * All return 0, or -1 after the communicator failed. */
#ifndef ANYNPU_HCCL_ALGORITHM_H
#define ANYNPU_HCCL_ALGORITHM_H

#include "call.h"

/* How partial results are kept: 16-bit floats as float. */
struct partial {
    combine_fold local, between; /* elements → partial, partials → partial */
    void (*narrow)(int64_t n, void *out, const float *in);
    size_t size;
    uint64_t begin; /* of this rail's part of the data */
};

struct partial partial_of(const struct op *op);

/* This computer's partial of elements [from, from + n) of the data: computed into `room`, or where it lies already,
 * when the computer has one rank and partials are kept as the elements are. NULL after the communicator failed. */
char *partial_here(struct op *op, const struct partial *p, uint64_t from, uint64_t n, char *room);

/* Partials to results; in may be out. */
void partial_round(const struct op *op, const struct partial *p, char *out, const char *in, uint64_t n);

/* An all-reduce of n elements. mine, other: memory for this computer's partial and for one of others, or all others'.
 */
struct algorithm {
    const char *name;
    uint32_t hosts; /* at least */
    uint64_t bytes; /* at least */
    bool all;       /* `other` holds everybody's partial, else one */
    int (*run)(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out);
    const char *what;
};
const struct algorithm *algorithm_choose(const struct comm *c, uint64_t bytes);

/* Partials go up a binomial tree to the computer `root`; there `out` (may be NULL elsewhere) gets the result. */
int algorithm_up(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, uint32_t root, char *out);

/* Data goes down a binomial tree from the computer `root`. */
int algorithm_down(struct op *op, char *data, size_t bytes, uint32_t root);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving elements by position alone, for every type by its size: each dimension says where its i-th element lies in the
 * output and in the input, by a step or by a table. Concatenation, flips, padding, repetition and selection by index
 * are such maps; fold is their gradient: every output element is the sum of the inputs that its dimensions list. */
#ifndef ANYNPU_KERNELS_REMAP_H
#define ANYNPU_KERNELS_REMAP_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum { REMAP_RANK_MAX = 20 };

/* Offsets count elements. A table overrides the step; an input offset of REMAP_FILL means the fill value. */
#define REMAP_FILL INT64_MIN

/* A run of the innermost dimension: length output elements from `start` come from consecutive inputs from `in`. */
struct remap_run {
    int64_t start, length, in;
};

struct remap_dim {
    int64_t count;
    int64_t out_step, in_step;
    const int64_t *out_at, *in_at;
};

struct remap {
    int32_t rank; /* ≥ 1; dim[rank - 1] is the innermost */
    int32_t size; /* bytes of an element: 1, 2, 4, 8, 16 */
    char *out;
    const char *in;
    unsigned char fill[16];
    const struct remap_run *run; /* the innermost input table as runs, or NULL; its output step is 1 then */
    int64_t runs;
    struct remap_dim dim[REMAP_RANK_MAX];
};

/* dim[d] lists the input offsets of its i-th output element: at[first[i]] … at[first[i + 1] - 1]; first NULL: one, i *
 * in_step. */
struct fold_dim {
    int64_t count;
    int64_t out_step, in_step;
    const int64_t *first, *at;
};

struct fold {
    int32_t rank;
    aclDataType dtype; /* f32 f64 f16 bf16 i8 u8 i16 i32 i64; f16 and bf16 are added up in float */
    char *out;
    const char *in;
    struct fold_dim dim[REMAP_RANK_MAX];
};

struct remap_kernels {
    /* Elements [begin, end) in row-major order of the dimensions. */
    void (*remap)(const struct remap *r, int64_t begin, int64_t end);
    /* Rows [begin, end): all dimensions but the innermost. */
    void (*fold)(const struct fold *f, int64_t begin, int64_t end);
};

ISA_DECLARE(const struct remap_kernels, remap_kernels);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps made of kernels/remap.h maps: shape and index operators describe where elements go, dimension by dimension, and
 * add the map to their plan. Prepare functions call these. */
#ifndef ANYNPU_OPS_REMAP_H
#define ANYNPU_OPS_REMAP_H

#include "kernels/remap.h"
#include "ops/plan.h"

struct remap_job {
    const struct remap_kernels *kernels;
    struct remap map;
    struct view *out, *in;     /* in may be NULL when every element is the fill value */
    int64_t out_base, in_base; /* elements from the views' data */
    int64_t total;
};

/* An empty map between the memory of two views of one element size. Both stay valid through the plan. */
struct remap_job *remap_new(struct plan *plan, struct view *out, struct view *in);

/* Appends a dimension, outermost first; returns it (tables may be set). */
struct remap_dim *remap_dim(struct remap_job *job, int64_t count, int64_t out_step, int64_t in_step);

/* Says of the last dimension, appended before, that it is made of runs (in order, without gaps; output step 1). */
void remap_runs(struct remap_job *job, const struct remap_run *run, int64_t runs);

/* Sets the value of elements whose table says REMAP_FILL. */
void remap_fill(struct remap_job *job, const aclScalar *value);

/* Merges dimensions and adds the step; nothing when there are no elements. Tables filled in by an earlier step of the
 * plan must be marked by tables_later (they are not looked into here). */
void remap_finish(struct plan *plan, struct remap_job *job, bool tables_later);

/* Sums by position: kernels/remap.h's fold. out and in have the fold's type. */
struct fold_job {
    const struct remap_kernels *kernels;
    struct fold fold;
    struct view *out, *in;
    int64_t rows;
};

struct fold_job *fold_new(struct plan *plan, struct view *out, struct view *in);
struct fold_dim *fold_dim(struct fold_job *job, int64_t count, int64_t out_step, int64_t in_step);
void fold_finish(struct plan *plan, struct fold_job *job);

#endif

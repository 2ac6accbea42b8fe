/* SPDX-License-Identifier: BSD-3-Clause */
/* A view: an address, an element type, a shape and strides. What kernels' callers and plans speak in.
 * Strides count elements and may be 0 (broadcast); a view owns nothing. */
#ifndef ANYNPU_BASE_VIEW_H
#define ANYNPU_BASE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"

enum { VIEW_RANK_MAX = 16 };

struct view {
    char *data; /* first element of the view */
    aclDataType dtype;
    int32_t rank;
    int64_t dim[VIEW_RANK_MAX];
    int64_t stride[VIEW_RANK_MAX];
};

/* Number of elements; 1 for rank 0. */
int64_t view_count(const struct view *v);

/* Row-major and dense (dimensions of size 1 and empty views count as such). */
bool view_is_contiguous(const struct view *v);

/* Same rank and dims. */
bool view_same_shape(const struct view *a, const struct view *b);

/* A contiguous view of the given shape; data is left NULL. rank ≤ VIEW_RANK_MAX. */
struct view view_make(aclDataType dtype, int32_t rank, const int64_t *dim);

/* Expands v to the given shape by stride 0; false when it does not broadcast. out may be v. */
bool view_broadcast(struct view *out, const struct view *v, int32_t rank, const int64_t *dim);

/* Drops dimensions of size 1 and merges neighbours that are laid out as one, the same in all n views (which share
 * a shape). Afterwards every view has the same rank, ≥ 1. */
void view_coalesce(struct view **views, int n);

#endif

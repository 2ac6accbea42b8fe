/* SPDX-License-Identifier: BSD-3-Clause */
/* Views: see view.h. */
#include "view.h"

int64_t view_count(const struct view *v)
{
    int64_t n = 1;
    for (int32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

bool view_is_contiguous(const struct view *v)
{
    int64_t expected = 1;
    for (int32_t i = v->rank; i-- > 0;) {
        if (v->dim[i] == 0)
            return true;
        if (v->dim[i] != 1 && v->stride[i] != expected)
            return view_count(v) == 0;
        expected *= v->dim[i];
    }
    return true;
}

bool view_same_shape(const struct view *a, const struct view *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

struct view view_make(aclDataType dtype, int32_t rank, const int64_t *dim)
{
    struct view v = {.dtype = dtype, .rank = rank};
    int64_t step = 1;
    for (int32_t i = rank; i-- > 0;) {
        v.dim[i] = dim[i];
        v.stride[i] = step;
        step *= dim[i] ? dim[i] : 1;
    }
    return v;
}

bool view_broadcast(struct view *out, const struct view *v, int32_t rank, const int64_t *dim)
{
    int32_t shift = rank - v->rank;
    if (shift < 0)
        return false;
    for (int32_t i = 0; i < v->rank; i++)
        if (v->dim[i] != dim[i + shift] && v->dim[i] != 1)
            return false;
    for (int32_t i = rank; i-- > 0;) { /* downwards: out may be v */
        out->stride[i] = i >= shift && v->dim[i - shift] == dim[i] ? v->stride[i - shift] : 0;
        out->dim[i] = dim[i];
    }
    out->data = v->data;
    out->dtype = v->dtype;
    out->rank = rank;
    return true;
}

static bool mergeable(struct view *const *views, int n, int32_t outer, int32_t inner)
{
    for (int k = 0; k < n; k++)
        if (views[k]->stride[outer] != views[k]->stride[inner] * views[k]->dim[inner])
            return false;
    return true;
}

void view_coalesce(struct view **views, int n)
{
    int32_t rank = views[0]->rank, kept = 0;
    for (int32_t i = 0; i < rank; i++) {
        if (views[0]->dim[i] == 1)
            continue;
        bool merge = kept > 0 && mergeable(views, n, kept - 1, i);
        for (int k = 0; k < n; k++) {
            struct view *v = views[k];
            int32_t to = merge ? kept - 1 : kept;
            v->dim[to] = merge ? v->dim[to] * v->dim[i] : v->dim[i];
            v->stride[to] = v->stride[i];
        }
        kept += !merge;
    }
    for (int k = 0; k < n; k++) {
        if (kept == 0) {
            views[k]->dim[0] = 1;
            views[k]->stride[0] = 1;
        }
        views[k]->rank = kept ? kept : 1;
    }
}

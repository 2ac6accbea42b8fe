/* SPDX-License-Identifier: BSD-3-Clause */
/* See ops/walk.h. A walk sees its elements as one long row of rows; pieces are ranges of that order and may begin and
 * end inside a row. */
#include "ops/walk.h"

#include "base/dtype.h"

enum { PIECE_NS = 16384, PIECE_MIN = 1024 };

struct rows {
    int n;
    int32_t rank; /* of the dimensions outside the row */
    int64_t row;  /* elements of a row */
    int64_t dim[VIEW_RANK_MAX];
    int64_t stride[WALK_VIEWS_MAX][VIEW_RANK_MAX]; /* bytes */
    int64_t step[WALK_VIEWS_MAX];                  /* bytes, along the row */
    char *data[WALK_VIEWS_MAX];
    walk_loop loop;
    const void *param;
};

/* Does dimension a belong outside b? By the output's strides, then the inputs'. */
static bool outside(struct view *const *views, int n, int32_t a, int32_t b)
{
    for (int k = 0; k < n; k++)
        if (views[k]->stride[a] != views[k]->stride[b])
            return views[k]->stride[a] > views[k]->stride[b];
    return views[0]->dim[a] > views[0]->dim[b];
}

static void swap(struct view **views, int n, int32_t a, int32_t b)
{
    for (int k = 0; k < n; k++) {
        int64_t dim = views[k]->dim[a], stride = views[k]->stride[a];
        views[k]->dim[a] = views[k]->dim[b];
        views[k]->stride[a] = views[k]->stride[b];
        views[k]->dim[b] = dim;
        views[k]->stride[b] = stride;
    }
}

void walk_order(struct view **views, int n)
{
    int32_t rank = views[0]->rank;
    view_coalesce(views, n);
    for (int32_t i = 1; i < views[0]->rank; i++)
        for (int32_t j = i; j > 0 && outside(views, n, j, j - 1); j--)
            swap(views, n, j, j - 1);
    if (rank > 1)
        view_coalesce(views, n);
}

/* Short rows cost a call each: take a longer dimension for the row when there is one. */
static void lengthen(struct view **views, int n)
{
    int32_t last = views[0]->rank - 1, best = last;
    int64_t row = views[0]->dim[last];
    if (row >= 16)
        return;
    for (int32_t i = 0; i < last; i++)
        if (views[0]->dim[i] > views[0]->dim[best])
            best = i;
    if (views[0]->dim[best] >= 8 * row)
        swap(views, n, best, last);
}

static void run(void *arg, int64_t begin, int64_t end)
{
    const struct rows *w = arg;
    int64_t at[VIEW_RANK_MAX];
    char *data[WALK_VIEWS_MAX];
    int64_t skip = begin % w->row, rest = begin / w->row;
    for (int k = 0; k < w->n; k++)
        data[k] = w->data[k];
    for (int32_t i = w->rank; i-- > 0;) {
        at[i] = rest % w->dim[i];
        rest /= w->dim[i];
        for (int k = 0; k < w->n; k++)
            data[k] += at[i] * w->stride[k][i];
    }
    for (int64_t left = end - begin; left > 0;) {
        int64_t m = w->row - skip < left ? w->row - skip : left;
        if (skip) {
            char *inside[WALK_VIEWS_MAX];
            for (int k = 0; k < w->n; k++)
                inside[k] = data[k] + skip * w->step[k];
            w->loop(m, inside, w->step, w->param);
            skip = 0;
        } else {
            w->loop(m, data, w->step, w->param);
        }
        left -= m;
        for (int32_t i = w->rank; left > 0 && i-- > 0;) {
            bool wrap = ++at[i] == w->dim[i];
            for (int k = 0; k < w->n; k++)
                data[k] += wrap ? -(w->dim[i] - 1) * w->stride[k][i] : w->stride[k][i];
            if (!wrap)
                break;
            at[i] = 0;
        }
    }
}

/* All n views dense in the same order: the common case, without any sorting. */
static bool all_dense(const struct view *const *views, int n)
{
    for (int k = 0; k < n; k++)
        if (!view_is_contiguous(views[k]))
            return false;
    return true;
}

static void prepare(struct rows *w, const struct view *const *views, int n, int64_t count)
{
    w->n = n;
    if (all_dense(views, n)) {
        w->rank = 0;
        w->row = count;
        for (int k = 0; k < n; k++) {
            w->data[k] = views[k]->data;
            w->step[k] = (int64_t)dtype_size(views[k]->dtype);
        }
        return;
    }
    struct view copy[WALK_VIEWS_MAX], *order[WALK_VIEWS_MAX];
    for (int k = 0; k < n; k++) {
        copy[k] = *views[k];
        order[k] = &copy[k];
    }
    walk_order(order, n);
    lengthen(order, n);
    w->rank = copy[0].rank - 1;
    w->row = copy[0].dim[w->rank];
    for (int32_t i = 0; i < w->rank; i++)
        w->dim[i] = copy[0].dim[i];
    for (int k = 0; k < n; k++) {
        int64_t element = (int64_t)dtype_size(copy[k].dtype);
        w->data[k] = copy[k].data;
        w->step[k] = copy[k].stride[w->rank] * element;
        for (int32_t i = 0; i < w->rank; i++)
            w->stride[k][i] = copy[k].stride[i] * element;
    }
}

static void walk_any(const struct view *const *views, int n, walk_loop loop, const void *param, int64_t grain)
{
    int64_t count = view_count(views[0]);
    if (count == 0)
        return;
    struct rows w;
    w.loop = loop;
    w.param = param;
    prepare(&w, views, n, count);
    if (count <= grain)
        run(&w, 0, count);
    else
        parallel(count, grain, run, &w);
}

void walk(const struct view *const *views, int n, walk_loop loop, const void *param, int cost)
{
    int64_t grain = PIECE_NS / (cost > 0 ? cost : 1);
    walk_any(views, n, loop, param, grain < PIECE_MIN ? PIECE_MIN : grain);
}

void walk_here(const struct view *const *views, int n, walk_loop loop, const void *param)
{
    walk_any(views, n, loop, param, INT64_MAX);
}

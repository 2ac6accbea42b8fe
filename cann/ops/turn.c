/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of attention's caches and layouts: a permutation together with a new shape, and rows of a tensor written at
 * tuples of indices. */
#include "ops/turn.h"

#include <string.h>

/* ---- permute and reshape ---- */

static int permute(struct plan *plan, struct view *v, const aclIntArray *perm)
{
    struct view from = *v;
    uint32_t seen = 0;
    for (uint64_t d = 0; d < perm->size; d++) {
        int64_t at = perm->value[d];
        at += at < 0 ? from.rank : 0;
        if (perm->size != (uint64_t)from.rank || at < 0 || at >= from.rank || seen >> at & 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "perm must name each of %d dimensions once.", from.rank);
        seen |= 1u << at;
        v->dim[d] = from.dim[at];
        v->stride[d] = from.stride[at];
    }
    return perm->size == (uint64_t)from.rank
               ? ACLNN_SUCCESS
               : plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "perm must name each of %d dimensions once.", from.rank);
}

/* A dense view of the same elements in another shape. */
static int reshape(struct plan *plan, struct view **v, const aclIntArray *shape)
{
    int64_t count = 1;
    char have[256];
    for (uint64_t d = 0; d < shape->size && shape->size <= VIEW_RANK_MAX; d++)
        if (shape->value[d] < 0 || __builtin_mul_overflow(count, shape->value[d], &count))
            count = -1;
    if (shape->size > VIEW_RANK_MAX || count != view_count(*v))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "A tensor of size %s cannot get the given shape.",
                         shape_text(have, sizeof have, (*v)->rank, (*v)->dim));
    struct view *flat = plan_alias(plan, plan_contiguous(plan, *v, (*v)->dtype), 0);
    flat->rank = (int32_t)shape->size;
    for (int32_t d = flat->rank - 1; d >= 0; d--) {
        flat->dim[d] = shape->value[d];
        flat->stride[d] = d == flat->rank - 1 ? 1 : flat->stride[d + 1] * flat->dim[d + 1];
    }
    *v = flat;
    return ACLNN_SUCCESS;
}

/* x perm shape transposeFirst out */
int prepare_confusion_transpose(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *x = plan_view(plan, arg[0].tensor);
    (void)row;
    if (arg[3].i) {
        TRY(permute(plan, x, arg[1].ints));
        TRY(reshape(plan, &x, arg[2].ints));
    } else {
        TRY(reshape(plan, &x, arg[2].ints));
        TRY(permute(plan, x, arg[1].ints));
    }
    TRY(plan_check_shape(plan, 4, x->rank, x->dim));
    TRY(plan_check_dtype(plan, 4, &x->dtype, 1));
    plan_copy(plan, plan_view(plan, arg[4].tensor), x);
    return ACLNN_SUCCESS;
}

/* ---- rows at tuples of indices ---- */

struct nd_job {
    struct view *data;
    const struct view *index, *updates;
    int64_t tuples, depth, bytes; /* bytes of a row */
};

static int run_nd(void *arg)
{
    const struct nd_job *job = arg;
    const int64_t *index = (const int64_t *)job->index->data;
    for (int64_t i = 0; i < job->tuples; i++) {
        int64_t row = 0;
        for (int64_t d = 0; d < job->depth; d++) {
            int64_t at = index[i * job->depth + d];
            if (at < 0 || at >= job->data->dim[d])
                return fail(ACL_ERROR_INVALID_PARAM,
                            "ScatterNdUpdate: index %ld is out of range for dimension %ld of size %ld", (long)at,
                            (long)d, (long)job->data->dim[d]);
            row = row * job->data->dim[d] + at;
        }
        memcpy(job->data->data + row * job->bytes, job->updates->data + i * job->bytes, (size_t)job->bytes);
    }
    return ACLNN_SUCCESS;
}

/* varRef indices updates: varRef[indices[i]] = updates[i]; later tuples win */
int prepare_scatter_nd_update(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType whole[] = {ACL_INT64, ACL_INT32};
    struct view *data = plan_view(plan, arg[0].tensor), *index = plan_view(plan, arg[1].tensor),
                *updates = plan_view(plan, arg[2].tensor);
    struct nd_job *job = plan_alloc(plan, sizeof *job);
    int64_t shape[2 * VIEW_RANK_MAX];
    TRY(plan_check_dtype(plan, 1, whole, 2));
    TRY(plan_check_dtype(plan, 2, &data->dtype, 1));
    int32_t lead = index->rank - 1, depth = lead < 0 ? -1 : (int32_t)index->dim[lead];
    if (lead < 0 || index->dim[lead] > data->rank || lead + data->rank - depth > VIEW_RANK_MAX)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: indices of %d dimensions do not lead into %d.", row->name,
                         index->rank, data->rank);
    memcpy(shape, index->dim, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, data->dim + depth, (size_t)(data->rank - depth) * sizeof *shape);
    TRY(plan_check_shape(plan, 2, lead + data->rank - depth, shape));
    *job = (struct nd_job){.tuples = 1, .depth = depth, .bytes = (int64_t)dtype_size(data->dtype)};
    for (int32_t d = 0; d < lead; d++)
        job->tuples *= index->dim[d];
    for (int32_t d = depth; d < data->rank; d++)
        job->bytes *= data->dim[d];
    if (!job->tuples || !job->bytes)
        return ACLNN_SUCCESS;
    job->data = plan_contiguous(plan, data, data->dtype);
    job->index = plan_contiguous(plan, index, ACL_INT64);
    job->updates = plan_contiguous(plan, updates, data->dtype);
    plan_step(plan, run_nd, job, (uint64_t)(job->tuples * (job->bytes / 8 + 10)));
    if (job->data != data)
        plan_copy(plan, data, job->data);
    return ACLNN_SUCCESS;
}

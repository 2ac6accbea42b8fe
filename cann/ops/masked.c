/* SPDX-License-Identifier: BSD-3-Clause */
/* Masked selection: pieces of the mask are counted in parallel, then every piece knows where its elements go. */
#include "ops/masked.h"

#include "kernels/masked.h"

enum { PIECE = 65536 };

struct select {
    struct view *self, *mask, *out;
    struct result_shape *shape;
    int64_t n, room;
    int64_t *before; /* elements selected before each piece */
};

static void count_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct select *s = arg;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t at = piece * PIECE, n = s->n - at < PIECE ? s->n - at : PIECE;
        s->before[piece + 1] = ISA_PICK(masked_kernels)->count(n, (const uint8_t *)s->mask->data + at);
    }
}

static void select_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct select *s = arg;
    int64_t element = (int64_t)dtype_size(s->self->dtype), step = s->out->rank ? s->out->stride[0] * element : element;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t at = piece * PIECE, n = s->n - at < PIECE ? s->n - at : PIECE, before = s->before[piece];
        ISA_PICK(masked_kernels)
            ->select((size_t)element, n, s->out->data + before * step, step, s->before[piece + 1] - before,
                     s->self->data + at * element, (const uint8_t *)s->mask->data + at);
    }
}

static int run_select(void *arg)
{
    struct select *s = arg;
    int64_t pieces = (s->n + PIECE - 1) / PIECE;
    s->before[0] = 0;
    parallel(pieces, 1, count_pieces, s);
    for (int64_t i = 0; i < pieces; i++)
        s->before[i + 1] += s->before[i];
    if (s->before[pieces] > s->room)
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnMaskedSelect selects %ld elements, but out has room for %ld.",
                    (long)s->before[pieces], (long)s->room);
    parallel(pieces, 1, select_pieces, s);
    result_shape_set(s->shape, 1, &s->before[pieces]);
    return 0;
}

/* The shape that both broadcast to; false when there is none. */
static bool common_shape(const struct view *a, const struct view *b, int32_t *rank, int64_t *dim)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 0; i < *rank; i++) {
        int32_t ia = i - (*rank - a->rank), ib = i - (*rank - b->rank);
        int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1)
            return false;
        dim[i] = da == 1 ? db : da;
    }
    return true;
}

static struct view *dense(struct plan *plan, const aclTensor *tensor, int32_t rank, const int64_t *dim)
{
    struct view *v = plan_alias(plan, plan_view(plan, tensor), 0);
    view_broadcast(v, v, rank, dim);
    return plan_contiguous(plan, v, v->dtype);
}

int prepare_masked_select(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    static const aclDataType masks[] = {ACL_BOOL, ACL_UINT8};
    const struct view *self = &arg[0].tensor->view, *mask = &arg[1].tensor->view, *out = &arg[2].tensor->view;
    char a[256], b[256];
    int32_t rank;
    int64_t dim[VIEW_RANK_MAX];
    TRY(plan_check_dtype(plan, 1, masks, 2));
    TRY(plan_check_dtype(plan, 2, &self->dtype, 1));
    if (!common_shape(self, mask, &rank, dim))
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID, "The shapes of self %s and mask %s cannot be broadcast together.",
            shape_text(a, sizeof a, self->rank, self->dim), shape_text(b, sizeof b, mask->rank, mask->dim));
    if (out->rank != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor out to have 1 dimension, but its size is %s.",
                         shape_text(a, sizeof a, out->rank, out->dim));
    struct select *s = plan_alloc(plan, sizeof *s);
    s->self = dense(plan, arg[0].tensor, rank, dim);
    s->mask = dense(plan, arg[1].tensor, rank, dim);
    s->out = plan_view(plan, arg[2].tensor);
    s->shape = plan_result_shape(plan, 2);
    s->n = view_count(s->self);
    s->room = view_count(s->out);
    s->before = plan_alloc(plan, sizeof(int64_t) * (size_t)((s->n + PIECE - 1) / PIECE + 1));
    plan_step(plan, run_select, s, (uint64_t)s->n * (1 + dtype_size(self->dtype)) / 4);
    return ACLNN_SUCCESS;
}

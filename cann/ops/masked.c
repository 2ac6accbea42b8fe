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

/* ---- places of what is not zero ---- */

struct nonzero {
    struct view *mask, *out; /* mask: dense, bool */
    struct result_shape *shape;
    int64_t dim[VIEW_RANK_MAX];
    int32_t rank;
    bool columns;
    int64_t n, room, found;
    int64_t *before;
};

static void count_marks(void *arg, int64_t begin, int64_t end)
{
    const struct nonzero *z = arg;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t at = piece * PIECE, n = z->n - at < PIECE ? z->n - at : PIECE;
        z->before[piece + 1] = ISA_PICK(masked_kernels)->count(n, (const uint8_t *)z->mask->data + at);
    }
}

static void write_places(void *arg, int64_t begin, int64_t end)
{
    const struct nonzero *z = arg;
    const uint8_t *mask = (const uint8_t *)z->mask->data;
    int64_t *out = (int64_t *)z->out->data, along = z->columns ? 1 : z->rank, across = z->columns ? z->found : 1;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t at = z->before[piece], last = (piece + 1) * PIECE < z->n ? (piece + 1) * PIECE : z->n;
        for (int64_t i = piece * PIECE; i < last; i++) {
            if (!mask[i])
                continue;
            int64_t rest = i;
            for (int32_t d = z->rank; d-- > 0; rest /= z->dim[d])
                out[at * along + d * across] = rest % z->dim[d];
            at++;
        }
    }
}

static int run_nonzero(void *arg)
{
    struct nonzero *z = arg;
    int64_t pieces = (z->n + PIECE - 1) / PIECE;
    z->before[0] = 0;
    parallel(pieces, 1, count_marks, z);
    for (int64_t i = 0; i < pieces; i++)
        z->before[i + 1] += z->before[i];
    z->found = z->before[pieces];
    if (z->found > z->room)
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnNonzero finds %ld elements, but out has room for %ld.",
                    (long)z->found, (long)z->room);
    parallel(pieces, 1, write_places, z);
    const int64_t rows[] = {z->found, z->rank}, columns[] = {z->rank, z->found};
    result_shape_set(z->shape, 2, z->columns ? columns : rows);
    return 0;
}

int prepare_nonzero(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType index[] = {ACL_INT64};
    const struct view *out = &arg[1].tensor->view;
    struct view *self = plan_view(plan, arg[0].tensor);
    struct nonzero *z = plan_alloc(plan, sizeof *z);
    char text[256];
    TRY(plan_check_dtype(plan, 1, index, 1));
    z->columns = row->code == NONZERO_COLUMNS;
    if (!copy_converts(ACL_BOOL, self->dtype))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor self not implemented for %s.", dtype_name(self->dtype));
    if (out->rank != 2 || !view_is_contiguous(out) || out->dim[!z->columns] != self->rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected tensor out to be contiguous with %d %s, but its size is %s.", self->rank,
                         z->columns ? "rows" : "columns", shape_text(text, sizeof text, out->rank, out->dim));
    z->rank = self->rank;
    memcpy(z->dim, self->dim, sizeof self->dim[0] * (size_t)self->rank);
    z->room = out->dim[z->columns];
    z->out = plan_view(plan, arg[1].tensor);
    z->mask = plan_contiguous(plan, self, ACL_BOOL);
    z->shape = plan_result_shape(plan, 1);
    z->n = view_count(self);
    z->before = plan_alloc(plan, sizeof(int64_t) * (size_t)((z->n + PIECE - 1) / PIECE + 1));
    plan_step(plan, run_nonzero, z, (uint64_t)z->n * 4);
    return ACLNN_SUCCESS;
}

/* ---- selection ---- */

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

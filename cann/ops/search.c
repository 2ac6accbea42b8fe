/* SPDX-License-Identifier: BSD-3-Clause */
/* Searching ordered sequences: all operands made dense and of one type, rows dealt out over the pool. */
#include "ops/search.h"

#include "kernels/search.h"

enum { PIECE = 4096 };

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,   ACL_INT8,   ACL_INT16,  ACL_INT32, ACL_INT64,
                                    ACL_UINT8, ACL_UINT16,  ACL_UINT32, ACL_UINT64, ACL_DOUBLE, ACL_BOOL};
enum { TYPES = sizeof types / sizeof types[0] };

struct job {
    struct view *sequence, *values, *sorter, *places; /* dense; sorter may be NULL */
    int64_t n, m;                                     /* of one row */
    bool shared;                                      /* one sequence for all rows */
    bool right;
    int64_t pieces; /* of one row */
};

static void search_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    int64_t element = (int64_t)dtype_size(j->values->dtype);
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t row = piece / j->pieces, first = piece % j->pieces * PIECE, at = row * j->m + first,
                from = j->shared ? 0 : row * j->n;
        struct search s = {.type = j->values->dtype,
                           .n = j->n,
                           .sequence = j->sequence->data + from * element,
                           .sorter = j->sorter ? (const int64_t *)j->sorter->data + from : NULL,
                           .right = j->right,
                           .m = j->m - first < PIECE ? j->m - first : PIECE,
                           .values = j->values->data + at * element,
                           .places = (int64_t *)j->places->data + at};
        ISA_PICK(search_kernels)->run(&s);
    }
}

static int run_search(void *arg)
{
    struct job *j = arg;
    for (int64_t i = 0; j->sorter && i < view_count(j->sorter); i++) {
        int64_t at = ((const int64_t *)j->sorter->data)[i];
        if (at < 0 || at >= j->n)
            return fail(ACLNN_ERR_PARAM_INVALID,
                        "aclnnSearchSorted: sorter has the index %ld, but a sequence has %ld elements.", (long)at,
                        (long)j->n);
    }
    int64_t rows = view_count(j->values) / j->m;
    parallel(rows * j->pieces, 1, search_pieces, j);
    return 0;
}

/* values: dense and of sequence's type. Results go to parameter out. */
static int plan_search(struct plan *plan, struct view *sequence, struct view *values, const aclTensor *sorter,
                       bool right, const union op_value *arg, int out)
{
    static const aclDataType index[] = {ACL_INT64, ACL_INT32};
    struct job *j = plan_alloc(plan, sizeof *j);
    TRY(plan_check_dtype(plan, out, index, 2));
    TRY(plan_check_shape(plan, out, values->rank, values->dim));
    bool rows = sequence->rank > 1 && sequence->rank == values->rank;
    for (int32_t i = 0; rows && i < sequence->rank - 1; i++)
        rows = sequence->dim[i] == values->dim[i];
    if (sequence->rank != 1 && !rows)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "sortedSequence must have one dimension, or those of self but for the last.");
    if (sorter && !view_same_shape(&sorter->view, sequence))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "sorter must have the shape of sortedSequence.");
    struct view *result = plan_view(plan, arg[out].tensor);
    j->right = right;
    j->shared = !rows;
    j->n = sequence->dim[sequence->rank - 1];
    j->m = values->rank && rows ? values->dim[values->rank - 1] : view_count(values);
    if (!view_count(values))
        return ACLNN_SUCCESS;
    j->pieces = (j->m + PIECE - 1) / PIECE;
    j->sequence = sequence;
    j->values = values;
    j->sorter = sorter ? plan_contiguous(plan, plan_view(plan, sorter), ACL_INT64) : NULL;
    j->places = plan_output(plan, result, ACL_INT64);
    plan_step(plan, run_search, j, (uint64_t)view_count(values) * 40);
    plan_finish(plan, j->places, result);
    return ACLNN_SUCCESS;
}

int prepare_search(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    TRY(plan_check_dtype(plan, 1, types, TYPES));
    aclDataType type = arg[0].tensor->view.dtype;
    struct view *sequence = plan_contiguous(plan, plan_view(plan, arg[0].tensor), type);
    struct view *values = plan_contiguous(plan, plan_view(plan, arg[1].tensor), type);
    return plan_search(plan, sequence, values, arg[4].tensor, arg[3].i, arg, 5);
}

int prepare_search_scalar(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    aclDataType type = arg[0].tensor->view.dtype;
    struct view *sequence = plan_contiguous(plan, plan_view(plan, arg[0].tensor), type),
                *value = plan_temp(plan, type, 0, NULL);
    char element[16];
    scalar_store(arg[1].scalar, type, element);
    plan_fill(plan, value, element);
    return plan_search(plan, sequence, value, arg[4].tensor, arg[3].i, arg, 5);
}

int prepare_bucketize(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    TRY(plan_check_dtype(plan, 1, types, TYPES));
    aclDataType type = arg[1].tensor->view.dtype;
    if (arg[1].tensor->view.rank != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "boundaries must have one dimension, but has %d.",
                         arg[1].tensor->view.rank);
    struct view *sequence = plan_contiguous(plan, plan_view(plan, arg[1].tensor), type);
    struct view *values = plan_contiguous(plan, plan_view(plan, arg[0].tensor), type);
    return plan_search(plan, sequence, values, NULL, arg[3].i, arg, 4);
}

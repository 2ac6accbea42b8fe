/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of the domain "anynpu": what fusions of a conversion make (passes/). */
#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_flash_attention_score_v2.h"
#include "graph/operators/row.h"

/* x[…, k] weights[k, n] + bias[n]. */
static void define_matmul_bias(struct op *op)
{
    struct operand *x = op_contiguous(op, op_in(op, 0)), *weight = op_in(op, 1), *bias = op_in(op, 2);
    if (x->rank < 2 || weight->rank != 2 || bias->rank != 1 || x->dim[x->rank - 1] != weight->dim[0] ||
        bias->dim[0] != weight->dim[1]) {
        op_fail(op, GRAPH_INVALID, "a product of tensors that do not fit, with its bias");
        return;
    }
    int64_t dim[OP_RANK], rows = op_span(x, 0, x->rank - 1);
    for (int i = 0; i < x->rank - 1; i++)
        dim[i] = x->dim[i];
    dim[x->rank - 1] = weight->dim[1];
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    if (op_count(y) == 0)
        return;
    const int64_t from[] = {rows, weight->dim[0]}, to[] = {rows, weight->dim[1]};
    OP_CALL(op, aclnnAddmm, op_acl(op, op_expand(op, bias, 2, to)), op_acl(op, op_reshape(op, x, 2, from)),
            op_acl(op, weight), op_number(op, 1), op_number(op, 1), op_out(op, op_reshape(op, y, 2, to)), 0);
}

/* softmax(scale q k + mask) v; q[b, h, s, d], k[b, h, d, t], v[b, h, t, e], mask to be broadcast to [b, h, s, t]. */
static void define_attention(struct op *op)
{
    struct operand *q = op_in(op, 0), *k = op_in(op, 1), *v = op_in(op, 2), *mask = op_in(op, 3);
    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->dim[3] != k->dim[2] || k->dim[3] != v->dim[2]) {
        op_fail(op, GRAPH_INVALID, "attention of tensors that do not fit");
        return;
    }
    const int64_t turn[] = {0, 1, 3, 2}, dim[] = {q->dim[0], q->dim[1], q->dim[2], v->dim[3]};
    const int64_t statistics[] = {q->dim[0], q->dim[1], q->dim[2], 8};
    struct operand *y = op_result(op, 0, q->dtype, 4, dim);
    struct operand *largest = op_temp(op, ACL_FLOAT, 4, statistics), *sum = op_temp(op, ACL_FLOAT, 4, statistics);
    char layout[] = "BNSD";
    const int64_t all = INT32_MAX;
    if (op_count(y) == 0)
        return;
    OP_CALL(op, aclnnFlashAttentionScoreV2, op_acl(op, q), op_acl(op, op_transpose(op, k, turn)), op_acl(op, v),
            op_acl(op, mask), NULL, NULL, NULL, NULL, NULL, NULL, op_float(op, "scale", 1), 1, all, all, q->dim[1],
            layout, 0, 0, 0, op_out(op, largest), op_out(op, sum), NULL, op_out(op, y));
}

#define FUSED_ROW(name, in_min, in_max, define)                                                                        \
    {                                                                                                                  \
        "anynpu", name, 1, 0, 0, in_min, in_max, 1, 1, op_infer, op_run, define, NULL, 0                               \
    }

const struct operator_row operators_fused[] = {
    FUSED_ROW("MatMulBias", 3, 3, define_matmul_bias),
    FUSED_ROW("Attention", 3, 4, define_attention),
    {.name = NULL},
};

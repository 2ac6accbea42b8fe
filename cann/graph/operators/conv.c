/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of floats and of integers, forward and transposed. */
#include <string.h>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_mul.h"
#include "anynpu/operators.h"
#include "graph/operators/quant.h"
#include "graph/operators/row.h"
#include "graph/operators/window.h"

static bool check_weight(struct op *op, const struct operand *x, const struct operand *weight)
{
    if (x->rank < 3 || weight->rank != x->rank)
        op_fail(op, GRAPH_INVALID, "an input of %d and a weight of %d dimensions", x->rank, weight->rank);
    return x->rank >= 3 && weight->rank == x->rank;
}

static void call_conv(struct op *op, const struct window *w, struct operand *x, struct operand *weight,
                      struct operand *bias, bool transposed, struct operand *y)
{
    int64_t pads[2 * WINDOW_DIMS], stride[WINDOW_DIMS] = {1}, dilation[WINDOW_DIMS] = {1}, none[WINDOW_DIMS] = {0};
    int n = w->n == 1 ? 2 : w->n, lead = n - w->n;
    memset(pads, 0, sizeof pads);
    for (int d = 0; d < w->n; d++) {
        stride[lead + d] = w->stride[d];
        dilation[lead + d] = w->dilation[d];
        pads[2 * (lead + d)] = w->before[d];
        pads[2 * (lead + d) + 1] = w->after[d];
    }
    const aclTensor *from = op_acl(op, window_flat(op, x)), *kernel = op_acl(op, window_flat(op, weight)),
                    *plus = op_acl(op, bias);
    const aclIntArray *steps = op_array(op, (size_t)n, stride), *padding = op_array(op, 2 * (size_t)n, pads),
                      *reach = op_array(op, (size_t)n, dilation), *more = op_array(op, (size_t)n, none);
    int64_t groups = op_int(op, "group", 1);
    aclTensor *to = op_out(op, window_flat(op, y));
    if (weight->host) /* a constant */
        OP_CALL(op, anynpu_ConvolutionFixed, from, kernel, plus, steps, padding, reach, transposed, more, groups, to,
                0);
    else
        OP_CALL(op, aclnnConvolution, from, kernel, plus, steps, padding, reach, transposed, more, groups, to, 0);
}

/* The result's shape for m channels. */
static int64_t *result_dims(const struct window *w, const struct operand *x, int64_t channels, int64_t *dim)
{
    dim[0] = x->dim[0];
    dim[1] = channels;
    memcpy(dim + 2, w->out, sizeof *dim * (size_t)w->n);
    return dim;
}

static void define_conv(struct op *op)
{
    struct operand *x = op_in(op, 0), *weight = op_in(op, 1);
    struct window w;
    int64_t dim[OP_RANK];
    if (!check_weight(op, x, weight) || !window_read(op, x, weight->dim + 2, &w))
        return;
    int64_t group = op_int(op, "group", 1);
    if (group < 1 || x->dim[1] != weight->dim[1] * group || weight->dim[0] % group) {
        op_fail(op, GRAPH_INVALID, "%lld channels, a weight for %lld in each of %lld groups", (long long)x->dim[1],
                (long long)weight->dim[1], (long long)group);
        return;
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, result_dims(&w, x, weight->dim[0], dim));
    if (op_count(y))
        call_conv(op, &w, x, weight, op_in(op, 2), false, y);
}

static void define_conv_transpose(struct op *op)
{
    struct operand *x = op_in(op, 0), *weight = op_in(op, 1);
    struct window w;
    int64_t dim[OP_RANK];
    if (!check_weight(op, x, weight) || !window_read_transposed(op, x, weight->dim + 2, &w))
        return;
    int64_t group = op_int(op, "group", 1);
    if (group < 1 || x->dim[1] != weight->dim[0] || weight->dim[0] % group) {
        op_fail(op, GRAPH_INVALID, "%lld channels, a weight for %lld in %lld groups", (long long)x->dim[1],
                (long long)weight->dim[0], (long long)group);
        return;
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, result_dims(&w, x, weight->dim[1] * group, dim));
    if (op_count(y))
        call_conv(op, &w, x, weight, op_in(op, 2), true, y);
}

/* Integers less their zero points, in double, which holds every sum that int32 does. */
static void integer_conv(struct op *op, int x_at, int x_zero, int w_at, int w_zero, struct operand *y)
{
    struct operand *x = op_in(op, x_at), *weight = op_in(op, w_at);
    struct window w;
    int64_t dim[OP_RANK];
    if (!check_weight(op, x, weight) || !window_read(op, x, weight->dim + 2, &w))
        return;
    x = quant_shifted(op, x, op_in(op, x_zero), -1, ACL_DOUBLE);
    weight = quant_shifted(op, weight, op_in(op, w_zero), 0, ACL_DOUBLE);
    struct operand *sum = op_temp(op, ACL_DOUBLE, x->rank, result_dims(&w, x, weight->dim[0], dim));
    call_conv(op, &w, x, weight, NULL, false, sum);
    op_copy(op, y, sum);
}

static struct operand *integer_result(struct op *op, int x_at, int w_at, aclDataType dtype)
{
    struct operand *x = op_in(op, x_at), *weight = op_in(op, w_at);
    struct window w;
    int64_t dim[OP_RANK];
    if (!check_weight(op, x, weight) || !window_read(op, x, weight->dim + 2, &w))
        return NULL;
    result_dims(&w, x, weight->dim[0], dim);
    return dtype == ACL_INT32 ? op_result(op, 0, dtype, x->rank, dim) : op_temp(op, dtype, x->rank, dim);
}

static void define_conv_integer(struct op *op)
{
    struct operand *y = integer_result(op, 0, 1, ACL_INT32);
    if (y && op_count(y))
        integer_conv(op, 0, 2, 1, 3, y);
}

/* x, scale, zero; w, scale (one or one a channel), zero; y's scale, zero; bias in int32 */
static void define_qlinear_conv(struct op *op)
{
    struct operand *sum = integer_result(op, 0, 3, ACL_DOUBLE), *bias = op_in(op, 8);
    if (!sum)
        return;
    struct operand *y = op_result(op, 0, op_in(op, 7)->dtype, sum->rank, sum->dim);
    if (op_count(y) == 0)
        return;
    integer_conv(op, 0, 2, 3, 5, sum);
    int64_t channels[OP_RANK] = {1, sum->dim[1]};
    for (int32_t i = 2; i < sum->rank; i++)
        channels[i] = 1;
    if (bias)
        OP_CALL(op, aclnnInplaceAdd, op_out(op, sum), op_acl(op, op_reshape(op, bias, sum->rank, channels)),
                op_integer(op, 1));
    OP_CALL(op, aclnnInplaceMul, op_out(op, sum), op_acl(op, quant_scale(op, op_in(op, 1), sum, -1)));
    OP_CALL(op, aclnnInplaceMul, op_out(op, sum), op_acl(op, quant_scale(op, op_in(op, 4), sum, 1)));
    quant_round(op, sum, op_in(op, 6), op_in(op, 7), -1, y);
}

const struct operator_row operators_conv[] = {
    ROW("Conv", 1, 0, 0, 2, 3, 1, 1, define_conv, NULL, 0),
    ROW("ConvTranspose", 1, 0, 0, 2, 3, 1, 1, define_conv_transpose, NULL, 0),
    ROW("ConvInteger", 10, 0, 0, 2, 4, 1, 1, define_conv_integer, NULL, 0),
    ROW("QLinearConv", 10, 0, 0, 8, 9, 1, 1, define_qlinear_conv, NULL, 0),
    {0},
};

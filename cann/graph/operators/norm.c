/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation: softmax, and by mean and variance, root mean square, norm, or neighbours. */
#include <string.h>

#include "aclnnop/aclnn_batch_norm.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_eq_scalar.h"
#include "aclnnop/aclnn_group_norm.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_adds.h"
#include "aclnnop/aclnn_inplace_div.h"
#include "aclnnop/aclnn_inplace_masked_fill_scalar.h"
#include "aclnnop/aclnn_inplace_muls.h"
#include "aclnnop/aclnn_inplace_pow_tensor_scalar.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_linalg_vector_norm.h"
#include "aclnnop/aclnn_log_softmax.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_muls.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_std_mean_correction.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_var_mean.h"
#include "graph/operators/row.h"

enum softmax { SOFTMAX, LOG_SOFTMAX };

static void define_softmax(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    int axis = op_softmax_axis(op, &x, &y);
    if (op_count(x) == 0)
        return;
    if (op_code(op) == SOFTMAX)
        OP_CALL(op, aclnnSoftmax, op_acl(op, x), axis, op_out(op, y));
    else
        OP_CALL(op, aclnnLogSoftmax, op_acl(op, x), axis, op_out(op, y));
}

/* Weight or bias for the dims from axis on, in full. */
static struct operand *for_dims(struct op *op, struct operand *w, const struct operand *x, int axis)
{
    return w ? op_contiguous(op, op_expand(op, w, x->rank - axis, x->dim + axis)) : NULL;
}

static void define_layer(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    int axis = op_axis_of(op, -1, x->rank);
    aclDataType stash = op_int(op, "stash_type", 1) == 1 ? ACL_FLOAT : x->dtype;
    int64_t dim[OP_RANK];
    for (int32_t i = 0; i < x->rank; i++)
        dim[i] = i < axis ? x->dim[i] : 1;
    struct operand *weight = for_dims(op, op_in(op, 1), x, axis), *bias = for_dims(op, op_in(op, 2), x, axis);
    struct operand *mean = op_result(op, 1, stash, x->rank, dim), *rstd = op_result(op, 2, stash, x->rank, dim);
    if (op_count(x))
        OP_CALL(op, aclnnLayerNorm, op_acl(op, x), op_array(op, (size_t)(x->rank - axis), x->dim + axis),
                op_acl(op, weight), op_acl(op, bias), op_float(op, "epsilon", (double)1e-5f), op_out(op, y),
                op_out(op, mean), op_out(op, rstd));
}

static void define_rms(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_result(op, 0, op_in(op, 1)->dtype, x->rank, x->dim), *to = y;
    int axis = op_axis_of(op, -1, x->rank);
    int64_t dim[OP_RANK];
    for (int32_t i = 0; i < x->rank; i++)
        dim[i] = i < axis ? x->dim[i] : 1;
    struct operand *gamma = op_cast(op, for_dims(op, op_in(op, 1), x, axis), x->dtype);
    struct operand *rstd = op_temp(op, ACL_FLOAT, x->rank, dim);
    if (y->dtype != x->dtype)
        to = op_temp(op, x->dtype, x->rank, x->dim);
    if (op_count(x))
        OP_CALL(op, aclnnRmsNorm, op_acl(op, x), op_acl(op, gamma), op_float(op, "epsilon", (double)1e-5f),
                op_out(op, to), op_out(op, rstd));
    if (to != y)
        op_copy(op, y, to);
}

/* Weight and bias of groups count for each of their channels (before version 21). */
static struct operand *for_channels(struct op *op, struct operand *w, int64_t channels)
{
    int64_t n = op_count(w);
    if (n == channels || n == 0 || channels % n)
        return w;
    struct operand *full = op_temp(op, w->dtype, 1, &channels);
    op_copy(op, op_reshape(op, full, 2, (int64_t[]){n, channels / n}), op_reshape(op, w, 2, (int64_t[]){n, 1}));
    return full;
}

static void define_group(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    if (x->rank < 2) {
        op_fail(op, GRAPH_INVALID, "takes 2 dimensions or more, not %d", x->rank);
        return;
    }
    int64_t n = x->dim[0], c = x->dim[1], rest = op_span(x, 2, x->rank);
    int64_t groups = op_code(op) ? c : op_int(op, "num_groups", 1);
    if (groups < 1 || c % groups) {
        op_fail(op, GRAPH_INVALID, "%lld channels in %lld groups", (long long)c, (long long)groups);
        return;
    }
    struct operand *weight = for_channels(op, op_in(op, 1), c), *bias = for_channels(op, op_in(op, 2), c);
    struct operand *mean = op_temp(op, x->dtype, 2, (int64_t[]){n, groups});
    struct operand *rstd = op_temp(op, x->dtype, 2, (int64_t[]){n, groups});
    if (op_count(x))
        OP_CALL(op, aclnnGroupNorm, op_acl(op, x), op_acl(op, weight), op_acl(op, bias), n, c, rest, groups,
                op_float(op, "epsilon", (double)1e-5f), op_out(op, y), op_out(op, mean), op_out(op, rstd));
}

/* New running statistics: momentum of the old ones, the rest of the batch's (variance without correction). */
static void running(struct op *op, int k, struct operand *old, struct operand *batch, double momentum)
{
    struct operand *to = op_like(op, k, old);
    OP_CALL(op, aclnnMuls, op_acl(op, old), op_number(op, momentum), op_out(op, to));
    OP_CALL(op, aclnnInplaceAdd, op_out(op, to), op_acl(op, op_reshape(op, batch, 1, to->dim)),
            op_number(op, 1 - momentum));
}

static void define_batch(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x), *mean = op_in(op, 3), *var = op_in(op, 4);
    double epsilon = op_float(op, "epsilon", (double)1e-5f), momentum = op_float(op, "momentum", (double)0.9f);
    int64_t c = x->rank > 1 ? x->dim[1] : 1;
    for (int i = 1; i < 5; i++)
        if (op_in(op, i)->rank != 1 || op_in(op, i)->dim[0] != c) {
            op_fail(op, GRAPH_INVALID, "input %d must have one element for each of %lld channels", i, (long long)c);
            return;
        }
    if (op_int(op, "training_mode", 0)) {
        int64_t axes[OP_RANK], kept[OP_RANK];
        size_t n = 0;
        for (int32_t i = 0; i < x->rank; i++) {
            kept[i] = i == 1 ? c : 1;
            if (i != 1)
                axes[n++] = i;
        }
        struct operand *batch_var = op_temp(op, x->dtype, x->rank, kept),
                       *batch_mean = op_temp(op, x->dtype, x->rank, kept);
        OP_CALL(op, aclnnVarMean, op_acl(op, x), op_array(op, n, axes), 0, true, op_out(op, batch_var),
                op_out(op, batch_mean));
        running(op, 1, mean, batch_mean, momentum);
        running(op, 2, var, batch_var, momentum);
        mean = op_reshape(op, batch_mean, 1, &c);
        var = op_reshape(op, batch_var, 1, &c);
    }
    if (x->rank < 2) { /* a batch of single numbers */
        int64_t dim[] = {op_count(x), 1};
        x = op_reshape(op, x, 2, dim);
        y = op_reshape(op, y, 2, dim);
    }
    if (op_count(x))
        OP_CALL(op, aclnnBatchNorm, op_acl(op, x), op_acl(op, op_in(op, 1)), op_acl(op, op_in(op, 2)), op_out(op, mean),
                op_out(op, var), false, momentum, epsilon, op_out(op, y), NULL, NULL);
}

static void define_lp(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    int axis = op_axis_of(op, -1, x->rank);
    int64_t dim[OP_RANK];
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = 1;
    struct operand *norm = op_temp(op, x->dtype, x->rank, dim), *zero = op_temp(op, ACL_BOOL, x->rank, dim);
    OP_CALL(op, aclnnLinalgVectorNorm, op_acl(op, x), op_number(op, (double)op_int(op, "p", 2)),
            op_array(op, 1, (int64_t[]){axis}), true, x->dtype, op_out(op, norm));
    OP_CALL(op, aclnnEqScalar, op_acl(op, norm), op_integer(op, 0), op_out(op, zero));
    OP_CALL(op, aclnnInplaceMaskedFillScalar, op_out(op, norm), op_acl(op, zero), op_integer(op, 1));
    OP_CALL(op, aclnnDiv, op_acl(op, x), op_acl(op, norm), op_out(op, y));
}

static void define_mean_variance(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    size_t n;
    const int64_t usual[] = {0, 2, 3}, *axes = op_ints(op, "axes", &n);
    int64_t dim[OP_RANK];
    if (!axes) {
        axes = usual;
        n = 3;
    }
    memcpy(dim, x->dim, sizeof dim);
    for (size_t i = 0; i < n; i++)
        dim[op_axis(op, axes[i], x->rank)] = 1;
    struct operand *mean = op_temp(op, x->dtype, x->rank, dim), *deviation = op_temp(op, x->dtype, x->rank, dim);
    OP_CALL(op, aclnnStdMeanCorrection, op_acl(op, x), op_array(op, n, axes), 0, true, op_out(op, deviation),
            op_out(op, mean));
    OP_CALL(op, aclnnInplaceAdds, op_out(op, deviation), op_number(op, 1e-9), op_integer(op, 1));
    OP_CALL(op, aclnnSub, op_acl(op, x), op_acl(op, mean), op_integer(op, 1), op_out(op, y));
    OP_CALL(op, aclnnInplaceDiv, op_out(op, y), op_acl(op, deviation));
}

/* x / (bias + alpha / size * sum of squares of the neighbouring channels) ^ beta */
static void define_lrn(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    int64_t size = op_int(op, "size", 1), c = x->rank > 1 ? x->dim[1] : 0;
    if (x->rank < 2 || size < 1 || size > INT32_MAX) {
        op_fail(op, GRAPH_INVALID, "takes 2 dimensions or more and a size of 1 or more");
        return;
    }
    struct operand *square = op_temp(op, x->dtype, x->rank, x->dim), *near = op_temp(op, x->dtype, x->rank, x->dim);
    OP_CALL(op, aclnnMul, op_acl(op, x), op_acl(op, x), op_out(op, square));
    OP_CALL(op, aclnnInplaceZero, op_out(op, near));
    int64_t before = (size - 1) / 2, first = before < c ? -before : -c, last = size - before < c ? size - before : c;
    for (int64_t shift = first; shift < last; shift++) {
        int64_t to = shift < 0 ? -shift : 0, from = shift > 0 ? shift : 0, count = c - to - from;
        if (count > 0)
            OP_CALL(op, aclnnInplaceAdd, op_out(op, op_slice(op, near, 1, to, count, 1)),
                    op_acl(op, op_slice(op, square, 1, from, count, 1)), op_integer(op, 1));
    }
    OP_CALL(op, aclnnInplaceMuls, op_out(op, near), op_number(op, op_float(op, "alpha", (double)1e-4f) / (double)size));
    OP_CALL(op, aclnnInplaceAdds, op_out(op, near), op_number(op, op_float(op, "bias", 1)), op_integer(op, 1));
    OP_CALL(op, aclnnInplacePowTensorScalar, op_out(op, near), op_number(op, op_float(op, "beta", 0.75)));
    OP_CALL(op, aclnnDiv, op_acl(op, x), op_acl(op, near), op_out(op, y));
}

const struct operator_row operators_norm[] = {
    ROW("Softmax", 1, 0, 0, 1, 1, 1, 1, define_softmax, NULL, SOFTMAX),
    ROW("LogSoftmax", 1, 0, 0, 1, 1, 1, 1, define_softmax, NULL, LOG_SOFTMAX),
    ROW("LayerNormalization", 17, 0, 0, 2, 3, 1, 3, define_layer, NULL, 0),
    ROW("RMSNormalization", 23, 0, 0, 2, 2, 1, 1, define_rms, NULL, 0),
    ROW("GroupNormalization", 18, 0, 0, 3, 3, 1, 1, define_group, NULL, 0),
    ROW("InstanceNormalization", 6, 0, 0, 3, 3, 1, 1, define_group, NULL, 1),
    ROW("BatchNormalization", 7, 0, 0, 5, 5, 1, 5, define_batch, NULL, 0),
    ROW("LpNormalization", 1, 0, 0, 1, 1, 1, 1, define_lp, NULL, 0),
    ROW("MeanVarianceNormalization", 9, 0, 0, 1, 1, 1, 1, define_mean_variance, NULL, 0),
    ROW("LRN", 1, 0, 0, 1, 1, 1, 1, define_lrn, NULL, 0),
    {0},
};

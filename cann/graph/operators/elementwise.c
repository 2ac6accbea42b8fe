/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that treat each element alone: one and two operands, sums and extremes of several, choices. */
#include "graph/operators/op.h"

#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_acos.h"
#include "aclnnop/aclnn_acosh.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_adds.h"
#include "aclnnop/aclnn_asin.h"
#include "aclnnop/aclnn_asinh.h"
#include "aclnnop/aclnn_atan.h"
#include "aclnnop/aclnn_atanh.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_bitwise_not.h"
#include "aclnnop/aclnn_bitwise_or_tensor.h"
#include "aclnnop/aclnn_bitwise_xor_tensor.h"
#include "aclnnop/aclnn_ceil.h"
#include "aclnnop/aclnn_clamp.h"
#include "aclnnop/aclnn_clamp_max_tensor.h"
#include "aclnnop/aclnn_clamp_min_tensor.h"
#include "aclnnop/aclnn_clamp_tensor.h"
#include "aclnnop/aclnn_cos.h"
#include "aclnnop/aclnn_cosh.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_div_mod.h"
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_eq_tensor.h"
#include "aclnnop/aclnn_erf.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_floor.h"
#include "aclnnop/aclnn_fmod_tensor.h"
#include "aclnnop/aclnn_ge_scalar.h"
#include "aclnnop/aclnn_ge_tensor.h"
#include "aclnnop/aclnn_gelu_v2.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_gt_tensor.h"
#include "aclnnop/aclnn_hardswish.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_adds.h"
#include "aclnnop/aclnn_inplace_bernoulli.h"
#include "aclnnop/aclnn_inplace_divs.h"
#include "aclnnop/aclnn_inplace_hardtanh.h"
#include "aclnnop/aclnn_inplace_logical_or.h"
#include "aclnnop/aclnn_inplace_masked_fill_scalar.h"
#include "aclnnop/aclnn_inplace_mul.h"
#include "aclnnop/aclnn_inplace_muls.h"
#include "aclnnop/aclnn_inplace_one.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_is_inf.h"
#include "aclnnop/aclnn_is_neg_inf.h"
#include "aclnnop/aclnn_is_pos_inf.h"
#include "aclnnop/aclnn_le_tensor.h"
#include "aclnnop/aclnn_leaky_relu.h"
#include "aclnnop/aclnn_left_shift.h"
#include "aclnnop/aclnn_log.h"
#include "aclnnop/aclnn_logical_and.h"
#include "aclnnop/aclnn_logical_not.h"
#include "aclnnop/aclnn_logical_or.h"
#include "aclnnop/aclnn_logical_xor.h"
#include "aclnnop/aclnn_lt_scalar.h"
#include "aclnnop/aclnn_lt_tensor.h"
#include "aclnnop/aclnn_maximum.h"
#include "aclnnop/aclnn_minimum.h"
#include "aclnnop/aclnn_mish.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_muls.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_pow_tensor_tensor.h"
#include "aclnnop/aclnn_reciprocal.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_remainder_tensor_tensor.h"
#include "aclnnop/aclnn_right_shift.h"
#include "aclnnop/aclnn_round.h"
#include "aclnnop/aclnn_s_where.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_sign.h"
#include "aclnnop/aclnn_sin.h"
#include "aclnnop/aclnn_sinh.h"
#include "aclnnop/aclnn_softplus.h"
#include "aclnnop/aclnn_softsign.h"
#include "aclnnop/aclnn_sqrt.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_swish.h"
#include "aclnnop/aclnn_tan.h"
#include "aclnnop/aclnn_tanh.h"
#include "aclnnop/aclnn_threshold.h"
#include "graph/operators/row.h"
#include "graph/operators/unsigned.h"

/* ---- one operand ---- */

struct unary {
    const char *name;
    aclnnStatus (*size)(const aclTensor *x, aclTensor *y, uint64_t *workspace, aclOpExecutor **executor);
    aclnnStatus (*run)(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);
};
#define UNARY(fn) (&(const struct unary){#fn, fn##GetWorkspaceSize, fn})

static void call_unary(struct op *op, const struct unary *u, const struct operand *x, const struct operand *y)
{
    if (op_runs(op))
        op_launch(op, u->name, u->run, u->size(op_acl(op, x), op_out(op, y), op_workspace(op), op_executor(op)));
}

static void define_unary(struct op *op)
{
    struct operand *x = op_in(op, 0);
    call_unary(op, op_detail(op), x, op_like(op, 0, x));
}

/* All ones less the number, where aclnn has no unsigned kernel. */
static void define_bitwise_not(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    const double ones = -1;
    struct operand *all = op_constant(op, x->dtype, 0, NULL, &ones);
    if (!unsigned_binary(op, UNSIGNED_XOR, x, all, y))
        OP_CALL(op, aclnnBitwiseNot, op_acl(op, x), op_out(op, y));
}

static void define_identity(struct op *op)
{
    struct operand *x = op_in(op, 0);
    op_copy(op, op_like(op, 0, x), x);
}

static void define_is_nan(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_result(op, 0, ACL_BOOL, x->rank, x->dim);
    OP_CALL(op, aclnnNeTensor, op_acl(op, x), op_acl(op, x), op_out(op, y));
}

static void define_is_inf(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_result(op, 0, ACL_BOOL, x->rank, x->dim);
    bool negative = op_int(op, "detect_negative", 1), positive = op_int(op, "detect_positive", 1);
    if (negative && positive)
        OP_CALL(op, aclnnIsInf, op_acl(op, x), op_out(op, y));
    else if (negative)
        OP_CALL(op, aclnnIsNegInf, op_acl(op, x), op_out(op, y));
    else if (positive)
        OP_CALL(op, aclnnIsPosInf, op_acl(op, x), op_out(op, y));
    else
        OP_CALL(op, aclnnInplaceZero, op_out(op, y));
}

/* Activations with numbers of their own. */
enum activation {
    ELU,
    CELU,
    SELU,
    LEAKY_RELU,
    HARD_SIGMOID,
    THRESHOLDED_RELU,
    SHRINK,
    SOFTPLUS,
    GELU,
    SWISH,
    HARD_SWISH
};

/* 0 where |x| ≤ lambd, else x moved towards 0 by bias. */
static void shrink(struct op *op, struct operand *x, struct operand *y)
{
    double lambd = op_float(op, "lambd", 0.5), bias = op_float(op, "bias", 0);
    struct operand *mask = op_temp(op, ACL_BOOL, x->rank, x->dim), *rest = op_temp(op, ACL_BOOL, x->rank, x->dim);
    OP_CALL(op, aclnnLtScalar, op_acl(op, x), op_number(op, -lambd), op_out(op, mask));
    OP_CALL(op, aclnnAdds, op_acl(op, x), op_scalar_for(op, x->dtype, bias), op_integer(op, 1), op_out(op, y));
    struct operand *moved = op_temp(op, x->dtype, x->rank, x->dim);
    OP_CALL(op, aclnnAdds, op_acl(op, x), op_scalar_for(op, x->dtype, -bias), op_integer(op, 1), op_out(op, moved));
    OP_CALL(op, aclnnGtScalar, op_acl(op, x), op_number(op, lambd), op_out(op, rest));
    OP_CALL(op, aclnnSWhere, op_acl(op, mask), op_acl(op, y), op_acl(op, moved), op_out(op, y));
    OP_CALL(op, aclnnInplaceLogicalOr, op_out(op, mask), op_acl(op, rest));
    OP_CALL(op, aclnnLogicalNot, op_acl(op, mask), op_out(op, rest));
    OP_CALL(op, aclnnInplaceMaskedFillScalar, op_out(op, y), op_acl(op, rest), op_integer(op, 0));
}

static void hard_sigmoid(struct op *op, struct operand *x, struct operand *y)
{
    OP_CALL(op, aclnnMuls, op_acl(op, x), op_number(op, op_float(op, "alpha", (double)0.2f)), op_out(op, y));
    OP_CALL(op, aclnnInplaceAdds, op_out(op, y), op_number(op, op_float(op, "beta", 0.5)), op_integer(op, 1));
    OP_CALL(op, aclnnInplaceHardtanh, op_out(op, y), op_integer(op, 0), op_integer(op, 1));
}

static void define_activation(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    double alpha = op_float(op, "alpha", 1);
    switch (op_code(op)) {
    case ELU:
        OP_CALL(op, aclnnElu, op_acl(op, x), op_number(op, alpha), op_number(op, 1), op_number(op, 1), op_out(op, y));
        break;
    case CELU:
        OP_CALL(op, aclnnElu, op_acl(op, x), op_number(op, alpha), op_number(op, 1), op_number(op, 1 / alpha),
                op_out(op, y));
        break;
    case SELU:
        OP_CALL(op, aclnnElu, op_acl(op, x), op_number(op, op_float(op, "alpha", 1.6732631921768188)),
                op_number(op, op_float(op, "gamma", 1.0507010221481323)), op_number(op, 1), op_out(op, y));
        break;
    case LEAKY_RELU:
        OP_CALL(op, aclnnLeakyRelu, op_acl(op, x), op_number(op, op_float(op, "alpha", (double)0.01f)), op_out(op, y));
        break;
    case HARD_SIGMOID:
        hard_sigmoid(op, x, y);
        break;
    case THRESHOLDED_RELU:
        OP_CALL(op, aclnnThreshold, op_acl(op, x), op_number(op, alpha), op_number(op, 0), op_out(op, y));
        break;
    case SHRINK:
        shrink(op, x, y);
        break;
    case SOFTPLUS:
        OP_CALL(op, aclnnSoftplus, op_acl(op, x), op_number(op, 1), op_number(op, 20), op_out(op, y));
        break;
    case GELU:
        OP_CALL(op, aclnnGeluV2, op_acl(op, x), op_string_is(op, "approximate", "none", "tanh"), op_out(op, y));
        break;
    case SWISH:
        OP_CALL(op, aclnnSwish, op_acl(op, x), op_number(op, alpha), op_out(op, y));
        break;
    default:
        OP_CALL(op, aclnnHardswish, op_acl(op, x), op_out(op, y));
    }
}

static void define_swiglu(struct op *op)
{
    struct operand *gate = op_in(op, 0), *value = op_in(op, 1), *y = op_like(op, 0, gate);
    if (!op_same_shape(gate, value))
        op_fail(op, GRAPH_INVALID, "the gate and the value differ in shape");
    OP_CALL(op, aclnnSwish, op_acl(op, gate), op_number(op, op_float(op, "alpha", 1)), op_out(op, y));
    OP_CALL(op, aclnnInplaceMul, op_out(op, y), op_acl(op, value));
}

/* Limits: attributes up to version 10, then inputs of one element. */
static void define_clip(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x), *low = op_in(op, 1), *high = op_in(op, 2);
    if (op_version(op) < 11)
        OP_CALL(op, aclnnClamp, op_acl(op, x), op_number(op, op_float(op, "min", (double)-3.402823466e+38f)),
                op_number(op, op_float(op, "max", (double)3.402823466e+38f)), op_out(op, y));
    else if (low && high)
        OP_CALL(op, aclnnClampTensor, op_acl(op, x), op_acl(op, low), op_acl(op, high), op_out(op, y));
    else if (low)
        OP_CALL(op, aclnnClampMinTensor, op_acl(op, x), op_acl(op, low), op_out(op, y));
    else if (high)
        OP_CALL(op, aclnnClampMaxTensor, op_acl(op, x), op_acl(op, high), op_out(op, y));
    else
        op_copy(op, y, x);
}

/* ---- two operands ---- */

struct binary {
    const char *name;
    aclnnStatus (*size)(const aclTensor *x, const aclTensor *y, aclTensor *out, uint64_t *workspace,
                        aclOpExecutor **executor);
    aclnnStatus (*run)(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);
    enum unsigned_op code;
};
#define BINARY(fn, code) (&(const struct binary){#fn, fn##GetWorkspaceSize, fn, code})

static void call_binary(struct op *op, const struct binary *b, struct operand *x, struct operand *y,
                        struct operand *out)
{
    if (op_runs(op) && !unsigned_binary(op, b->code, x, y, out))
        op_launch(op, b->name, b->run,
                  b->size(op_acl(op, x), op_acl(op, y), op_out(op, out), op_workspace(op), op_executor(op)));
}

/* Before version 7 the second operand broadcasts only when asked, from a given axis on. */
static struct operand *second(struct op *op, struct operand *x)
{
    struct operand *y = op_in(op, 1);
    if (op_version(op) >= 7 || !op_int(op, "broadcast", 0))
        return y;
    int axis = op_axis_of(op, x->rank - y->rank, x->rank + 1);
    int64_t dim[OP_RANK];
    for (int32_t i = 0; i < x->rank; i++)
        dim[i] = i >= axis && i < axis + y->rank ? y->dim[i - axis] : 1;
    return op_reshape(op, y, x->rank, dim);
}

static struct operand *broadcast_result(struct op *op, aclDataType dtype, struct operand *x, struct operand *y)
{
    int64_t dim[OP_RANK];
    int32_t rank = op_broadcast(op, (struct operand *[]){x, y}, 2, dim);
    return op_result(op, 0, dtype, rank, dim);
}

static void define_binary(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = second(op, x);
    call_binary(op, op_detail(op), x, y, broadcast_result(op, x->dtype, x, y));
}

static void define_comparison(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = second(op, x);
    call_binary(op, op_detail(op), x, y, broadcast_result(op, ACL_BOOL, x, y));
}

enum sum { ADD, SUB };

static void define_add(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = second(op, x), *out = broadcast_result(op, x->dtype, x, y);
    if (unsigned_binary(op, op_code(op) == ADD ? UNSIGNED_ADD : UNSIGNED_SUB, x, y, out))
        return;
    if (op_code(op) == ADD)
        OP_CALL(op, aclnnAdd, op_acl(op, x), op_acl(op, y), op_integer(op, 1), op_out(op, out));
    else
        OP_CALL(op, aclnnSub, op_acl(op, x), op_acl(op, y), op_integer(op, 1), op_out(op, out));
}

static void define_div(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = second(op, x), *out = broadcast_result(op, x->dtype, x, y);
    if (unsigned_binary(op, UNSIGNED_DIV, x, y, out))
        return;
    if (dtype_is_int(x->dtype)) /* towards zero */
        OP_CALL(op, aclnnDivMod, op_acl(op, x), op_acl(op, y), 1, op_out(op, out));
    else
        OP_CALL(op, aclnnDiv, op_acl(op, x), op_acl(op, y), op_out(op, out));
}

static void define_mod(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_in(op, 1), *out = broadcast_result(op, x->dtype, x, y);
    call_binary(op,
                op_int(op, "fmod", 0) ? BINARY(aclnnFmodTensor, UNSIGNED_MOD)
                                      : BINARY(aclnnRemainderTensorTensor, UNSIGNED_MOD),
                x, y, out);
}

/* The result has the base's type, whatever the exponent's. */
static void define_pow(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = second(op, x), *out = broadcast_result(op, x->dtype, x, y);
    bool wide = dtype_is_float(y->dtype) && !dtype_is_float(x->dtype);
    struct operand *to = wide ? op_temp(op, y->dtype, out->rank, out->dim) : out;
    x = wide ? op_cast(op, x, y->dtype) : x;
    call_binary(op, BINARY(aclnnPowTensorTensor, UNSIGNED_NONE), x, op_cast(op, y, x->dtype), to);
    if (wide)
        op_copy(op, out, to);
}

/* Shifts by a negative count, or by all bits and more, leave what the sign alone gives. */
static void define_bit_shift(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_in(op, 1), *out = broadcast_result(op, x->dtype, x, y);
    bool right = op_string_is(op, "direction", "", "RIGHT"),
         is_signed = x->dtype == ACL_INT8 || x->dtype == ACL_INT16 || x->dtype == ACL_INT32 || x->dtype == ACL_INT64;
    int64_t bits = 8 * (int64_t)dtype_size(x->dtype);
    if (unsigned_binary(op, right ? UNSIGNED_RIGHT : UNSIGNED_LEFT, x, y, out))
        return;
    struct operand *mask = op_temp(op, ACL_BOOL, y->rank, y->dim), *negative = op_temp(op, ACL_BOOL, y->rank, y->dim);
    struct operand *count = op_temp(op, y->dtype, y->rank, y->dim);
    OP_CALL(op, aclnnGeScalar, op_acl(op, y), op_integer(op, bits), op_out(op, mask));
    OP_CALL(op, aclnnLtScalar, op_acl(op, y), op_integer(op, 0), op_out(op, negative));
    OP_CALL(op, aclnnInplaceLogicalOr, op_out(op, mask), op_acl(op, negative));
    op_copy(op, count, y);
    OP_CALL(op, aclnnInplaceMaskedFillScalar, op_out(op, count), op_acl(op, mask),
            op_integer(op, right && is_signed ? bits - 1 : 0));
    if (right)
        OP_CALL(op, aclnnRightShift, op_acl(op, x), op_acl(op, count), op_out(op, out));
    else
        OP_CALL(op, aclnnLeftShift, op_acl(op, x), op_acl(op, count), op_out(op, out));
    if (!right || !is_signed)
        OP_CALL(op, aclnnInplaceMaskedFillScalar, op_out(op, out), op_acl(op, op_expand(op, mask, out->rank, out->dim)),
                op_integer(op, 0));
}

static void define_prelu(struct op *op)
{
    struct operand *x = op_in(op, 0), *slope = op_in(op, 1), *y = op_like(op, 0, x);
    if (op_version(op) < 7 && slope->rank == 1 && x->rank > 2) { /* a slope a channel */
        int64_t dim[OP_RANK];
        for (int32_t i = 1; i < x->rank; i++)
            dim[i - 1] = i == 1 ? slope->dim[0] : 1;
        slope = op_reshape(op, slope, x->rank - 1, dim);
    }
    slope = op_expand(op, slope, x->rank, x->dim);
    struct operand *scaled = op_temp(op, x->dtype, x->rank, x->dim), *mask = op_temp(op, ACL_BOOL, x->rank, x->dim);
    OP_CALL(op, aclnnMul, op_acl(op, x), op_acl(op, slope), op_out(op, scaled));
    OP_CALL(op, aclnnLtScalar, op_acl(op, x), op_integer(op, 0), op_out(op, mask));
    OP_CALL(op, aclnnSWhere, op_acl(op, mask), op_acl(op, scaled), op_acl(op, x), op_out(op, y));
}

/* ---- several operands ---- */

enum several { SEVERAL_SUM, SEVERAL_MEAN, SEVERAL_MAX, SEVERAL_MIN };

static void define_several(struct op *op)
{
    int n = op_inputs(op);
    int64_t dim[OP_RANK];
    struct operand *x = op_in(op, 0), *all[256];
    if (n > 256) {
        op_fail(op, GRAPH_UNSUPPORTED, "%d inputs, 256 at most", n);
        return;
    }
    for (int i = 0; i < n; i++)
        all[i] = op_need(op, i);
    int32_t rank = op_broadcast(op, all, n, dim);
    struct operand *y = op_result(op, 0, x->dtype, rank, dim);
    op_copy(op, y, x);
    for (int i = 1; i < n; i++) {
        if (unsigned_binary(op, op_code(op) == SEVERAL_MAX ? UNSIGNED_MAX : UNSIGNED_MIN, y, all[i], y))
            continue;
        if (op_code(op) == SEVERAL_MAX)
            OP_CALL(op, aclnnMaximum, op_acl(op, y), op_acl(op, all[i]), op_out(op, y));
        else if (op_code(op) == SEVERAL_MIN)
            OP_CALL(op, aclnnMinimum, op_acl(op, y), op_acl(op, all[i]), op_out(op, y));
        else
            OP_CALL(op, aclnnInplaceAdd, op_out(op, y), op_acl(op, all[i]), op_integer(op, 1));
    }
    if (op_code(op) == SEVERAL_MEAN && n > 1)
        OP_CALL(op, aclnnInplaceDivs, op_out(op, y), op_number(op, n));
}

static void define_where(struct op *op)
{
    struct operand *all[] = {op_in(op, 0), op_in(op, 1), op_in(op, 2)};
    int64_t dim[OP_RANK];
    int32_t rank = op_broadcast(op, all, 3, dim);
    struct operand *y = op_result(op, 0, all[1]->dtype, rank, dim);
    OP_CALL(op, aclnnSWhere, op_acl(op, all[0]), op_acl(op, all[1]), op_acl(op, all[2]), op_out(op, y));
}

/* Inference copies; training mode draws a mask. */
static void define_dropout(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    size_t n;
    const int64_t *training = op_version(op) >= 12 ? op_whole(op, 2, &n) : NULL;
    if (op_version(op) >= 12 && op_in(op, 2) && !training && !op_runs(op)) {
        op_result(op, 1, ACL_BOOL, x->rank, x->dim);
        return;
    }
    bool trains = training && n && training[0];
    const double *given = trains ? op_numbers(op, 1, &n) : NULL;
    double ratio = given && n ? given[0] : 0.5;
    aclDataType mask_type = op_version(op) >= 10 ? ACL_BOOL : x->dtype;
    struct operand *mask = op_result(op, 1, mask_type, x->rank, x->dim);
    if (!trains || ratio == 0) {
        op_copy(op, y, x);
        if (op_wants(op, 1))
            OP_CALL(op, aclnnInplaceOne, op_out(op, mask));
        return;
    }
    int64_t seed = op_int(op, "seed", 0);
    OP_CALL(op, aclnnInplaceBernoulli, op_out(op, mask), op_number(op, 1 - ratio), seed, 0);
    OP_CALL(op, aclnnMul, op_acl(op, x), op_acl(op, op_cast(op, mask, x->dtype)), op_out(op, y));
    OP_CALL(op, aclnnInplaceMuls, op_out(op, y), op_number(op, 1 / (1 - ratio)));
}

#define UNARY_ROW(name, since, fn)            ROW(name, since, 0, 0, 1, 1, 1, 1, define_unary, UNARY(fn), 0)
#define BINARY_ROW(name, since, fn, code)     ROW(name, since, 0, 0, 2, 2, 1, 1, define_binary, BINARY(fn, code), 0)
#define COMPARISON_ROW(name, since, fn, code) ROW(name, since, 0, 0, 2, 2, 1, 1, define_comparison, BINARY(fn, code), 0)
#define ACTIVATION_ROW(name, since, code)     ROW(name, since, 0, 0, 1, 1, 1, 1, define_activation, NULL, code)
#define SEVERAL_ROW(name, since, code)        ROW(name, since, 0, 0, 1, -1, 1, 1, define_several, NULL, code)

const struct operator_row operators_elementwise[] = {
    UNARY_ROW("Abs", 1, aclnnAbs),
    UNARY_ROW("Acos", 7, aclnnAcos),
    UNARY_ROW("Acosh", 9, aclnnAcosh),
    UNARY_ROW("Asin", 7, aclnnAsin),
    UNARY_ROW("Asinh", 9, aclnnAsinh),
    UNARY_ROW("Atan", 7, aclnnAtan),
    UNARY_ROW("Atanh", 9, aclnnAtanh),
    ROW("BitwiseNot", 18, 0, 0, 1, 1, 1, 1, define_bitwise_not, NULL, 0),
    UNARY_ROW("Ceil", 1, aclnnCeil),
    UNARY_ROW("Cos", 7, aclnnCos),
    UNARY_ROW("Cosh", 9, aclnnCosh),
    UNARY_ROW("Erf", 9, aclnnErf),
    UNARY_ROW("Exp", 1, aclnnExp),
    UNARY_ROW("Floor", 1, aclnnFloor),
    UNARY_ROW("Log", 1, aclnnLog),
    UNARY_ROW("Mish", 18, aclnnMish),
    UNARY_ROW("Neg", 1, aclnnNeg),
    UNARY_ROW("Not", 1, aclnnLogicalNot),
    UNARY_ROW("Reciprocal", 1, aclnnReciprocal),
    UNARY_ROW("Relu", 1, aclnnRelu),
    UNARY_ROW("Round", 11, aclnnRound),
    UNARY_ROW("Sigmoid", 1, aclnnSigmoid),
    UNARY_ROW("Sign", 9, aclnnSign),
    UNARY_ROW("Sin", 7, aclnnSin),
    UNARY_ROW("Sinh", 9, aclnnSinh),
    UNARY_ROW("Softsign", 1, aclnnSoftsign),
    UNARY_ROW("Sqrt", 1, aclnnSqrt),
    UNARY_ROW("Tan", 7, aclnnTan),
    UNARY_ROW("Tanh", 1, aclnnTanh),
    ROW("IsNaN", 9, 0, 0, 1, 1, 1, 1, define_is_nan, NULL, 0),
    ROW("IsInf", 10, 0, 0, 1, 1, 1, 1, define_is_inf, NULL, 0),

    ACTIVATION_ROW("Elu", 1, ELU),
    ACTIVATION_ROW("Celu", 12, CELU),
    ACTIVATION_ROW("Selu", 1, SELU),
    ACTIVATION_ROW("LeakyRelu", 1, LEAKY_RELU),
    ACTIVATION_ROW("HardSigmoid", 1, HARD_SIGMOID),
    ACTIVATION_ROW("ThresholdedRelu", 10, THRESHOLDED_RELU),
    ACTIVATION_ROW("Shrink", 9, SHRINK),
    ACTIVATION_ROW("Softplus", 1, SOFTPLUS),
    ACTIVATION_ROW("Gelu", 20, GELU),
    ACTIVATION_ROW("Swish", 24, SWISH),
    ACTIVATION_ROW("HardSwish", 14, HARD_SWISH),
    ROW("SwiGLU", 28, 0, 0, 2, 2, 1, 1, define_swiglu, NULL, 0),
    ROW("Clip", 1, 0, 0, 1, 3, 1, 1, define_clip, NULL, 0),

    ROW("Add", 1, 0, 0, 2, 2, 1, 1, define_add, NULL, ADD),
    ROW("Sub", 1, 0, 0, 2, 2, 1, 1, define_add, NULL, SUB),
    ROW("Div", 1, 0, 0, 2, 2, 1, 1, define_div, NULL, 0),
    ROW("Mod", 10, 0, 0, 2, 2, 1, 1, define_mod, NULL, 0),
    ROW("Pow", 1, 0, 0, 2, 2, 1, 1, define_pow, NULL, 0),
    ROW("BitShift", 11, 0, 0, 2, 2, 1, 1, define_bit_shift, NULL, 0),
    ROW("PRelu", 1, 0, 0, 2, 2, 1, 1, define_prelu, NULL, 0),
    BINARY_ROW("Mul", 1, aclnnMul, UNSIGNED_MUL),
    BINARY_ROW("BitwiseAnd", 18, aclnnBitwiseAndTensor, UNSIGNED_AND),
    BINARY_ROW("BitwiseOr", 18, aclnnBitwiseOrTensor, UNSIGNED_OR),
    BINARY_ROW("BitwiseXor", 18, aclnnBitwiseXorTensor, UNSIGNED_XOR),
    COMPARISON_ROW("And", 1, aclnnLogicalAnd, UNSIGNED_NONE),
    COMPARISON_ROW("Or", 1, aclnnLogicalOr, UNSIGNED_NONE),
    COMPARISON_ROW("Xor", 1, aclnnLogicalXor, UNSIGNED_NONE),
    COMPARISON_ROW("Equal", 1, aclnnEqTensor, UNSIGNED_EQ),
    COMPARISON_ROW("Greater", 1, aclnnGtTensor, UNSIGNED_GT),
    COMPARISON_ROW("GreaterOrEqual", 12, aclnnGeTensor, UNSIGNED_GE),
    COMPARISON_ROW("Less", 1, aclnnLtTensor, UNSIGNED_LT),
    COMPARISON_ROW("LessOrEqual", 12, aclnnLeTensor, UNSIGNED_LE),

    SEVERAL_ROW("Sum", 1, SEVERAL_SUM),
    SEVERAL_ROW("Mean", 1, SEVERAL_MEAN),
    SEVERAL_ROW("Max", 1, SEVERAL_MAX),
    SEVERAL_ROW("Min", 1, SEVERAL_MIN),
    ROW("Where", 9, 0, 0, 3, 3, 1, 1, define_where, NULL, 0),
    ROW("Dropout", 7, 0, 0, 1, 3, 1, 2, define_dropout, NULL, 0),
    VIEW_ROW("Identity", 1, 1, define_identity),
    {0},
};

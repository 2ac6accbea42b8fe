/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation, its inverse, and products of quantised matrices; see quant.h. */
#include "graph/operators/quant.h"

#include <string.h>

#include "aclnnop/aclnn_clamp_min.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_clamp_max.h"
#include "aclnnop/aclnn_inplace_div.h"
#include "aclnnop/aclnn_inplace_divs.h"
#include "aclnnop/aclnn_inplace_hardtanh.h"
#include "aclnnop/aclnn_inplace_mul.h"
#include "aclnnop/aclnn_inplace_neg.h"
#include "aclnnop/aclnn_inplace_round.h"
#include "aclnnop/aclnn_inplace_sub.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_max.h"
#include "aclnnop/aclnn_min.h"
#include "graph/operators/narrow.h"
#include "graph/operators/onnx.h"
#include "graph/operators/row.h"

struct operand *quant_scale(struct op *op, struct operand *scale, const struct operand *like, int axis)
{
    int64_t dim[OP_RANK], n = op_count(scale);
    if (n == 1)
        return op_reshape(op, scale, 0, NULL);
    if (scale->rank != 1 && scale->rank == like->rank) /* one a row or column of each matrix */
        return scale;
    for (int32_t i = 0; i < like->rank; i++)
        dim[i] = i == axis ? n : 1;
    if (axis < 0 || axis >= like->rank || like->dim[axis] != n)
        op_fail(op, GRAPH_INVALID, "%lld scales or zero points do not fit the tensor", (long long)n);
    return op_reshape(op, scale, like->rank, dim);
}

/* The same for blocks along the axis: each scale repeated for its block. */
static struct operand *for_blocks(struct op *op, struct operand *scale, const struct operand *x, int axis,
                                  int64_t block)
{
    if (block > INT32_MAX)
        op_fail(op, GRAPH_INVALID, "blocks of %lld", (long long)block);
    if (block <= 0 || block > INT32_MAX || scale->rank != x->rank)
        return quant_scale(op, scale, x, axis);
    int64_t dim[OP_RANK], full[OP_RANK];
    struct operand *v = op_unsqueeze(op, scale, axis + 1);
    memcpy(dim, v->dim, sizeof dim);
    dim[axis + 1] = block;
    memcpy(full, scale->dim, sizeof full);
    full[axis] *= block;
    struct operand *repeated = op_temp(op, scale->dtype, v->rank, dim);
    op_copy(op, repeated, v);
    return op_slice(op, op_reshape(op, repeated, x->rank, full), axis, 0, x->dim[axis], 1);
}

struct operand *quant_shifted(struct op *op, struct operand *x, struct operand *zero, int axis, aclDataType dtype)
{
    struct operand *to = op_temp(op, dtype, x->rank, x->dim);
    op_copy(op, to, x);
    if (zero)
        OP_CALL(op, aclnnInplaceSub, op_out(op, to), op_acl(op, op_cast(op, quant_scale(op, zero, x, axis), dtype)),
                op_integer(op, 1));
    return to;
}

static bool range_of(aclDataType dtype, double *low, double *high)
{
    switch ((int)dtype) {
    case ACL_INT4:
        *low = -8, *high = 7;
        return true;
    case ACL_INT8:
        *low = -128, *high = 127;
        return true;
    case ACL_UINT8:
        *low = 0, *high = 255;
        return true;
    case ACL_INT16:
        *low = -32768, *high = 32767;
        return true;
    case ACL_UINT16:
        *low = 0, *high = 65535;
        return true;
    default:
        return false;
    }
}

/* x, already divided by the scale. */
static void round_into(struct op *op, struct operand *x, struct operand *zero, struct operand *y)
{
    double low = 0, high = 0;
    if (narrow_float(y->dtype)) { /* whose zero point is 0 */
        narrow_convert(op, y, x);
        return;
    }
    if (!range_of(y->dtype, &low, &high))
        op_fail(op, GRAPH_UNSUPPORTED, "quantised numbers of %s are not supported", dtype_name(y->dtype));
    OP_CALL(op, aclnnInplaceRound, op_out(op, x));
    if (zero)
        OP_CALL(op, aclnnInplaceAdd, op_out(op, x), op_acl(op, op_cast(op, zero, x->dtype)), op_integer(op, 1));
    OP_CALL(op, aclnnInplaceHardtanh, op_out(op, x), op_number(op, low), op_number(op, high));
    if (narrow_is(y->dtype))
        narrow_convert(op, y, x);
    else
        op_copy(op, y, x);
}

void quant_round(struct op *op, struct operand *x, struct operand *scale, struct operand *zero, int axis,
                 struct operand *y)
{
    OP_CALL(op, aclnnInplaceDiv, op_out(op, x), op_acl(op, op_cast(op, quant_scale(op, scale, x, axis), x->dtype)));
    round_into(op, x, zero ? quant_scale(op, zero, x, axis) : NULL, y);
}

static void define_quantize(struct op *op)
{
    struct operand *x = op_in(op, 0), *scale = op_in(op, 1), *zero = op_in(op, 2);
    int axis = scale->rank == 0 || op_count(scale) == 1 ? 0 : op_axis_of(op, 1, x->rank);
    int64_t block = op_int(op, "block_size", 0);
    aclDataType dtype = zero ? zero->dtype : onnx_attribute_dtype(op, "output_dtype", ACL_UINT8);
    aclDataType precision = onnx_attribute_dtype(op, "precision", dtype_is_float(x->dtype) ? x->dtype : ACL_FLOAT);
    struct operand *y = op_result(op, 0, dtype, x->rank, x->dim);
    if (dtype == ACL_UINT16 && precision == ACL_FLOAT16) /* 65535 is no f16 */
        precision = ACL_FLOAT;
    struct operand *to = op_temp(op, precision, x->rank, x->dim);
    op_copy(op, to, x);
    OP_CALL(op, aclnnInplaceDiv, op_out(op, to),
            op_acl(op, op_cast(op, for_blocks(op, scale, x, axis, block), precision)));
    if (to->dtype == ACL_FLOAT16 || to->dtype == ACL_BF16)
        to = op_cast(op, to, ACL_FLOAT);
    round_into(op, to, zero ? for_blocks(op, narrow_widened(op, zero), x, axis, block) : NULL, y);
}

static void define_dequantize(struct op *op)
{
    struct operand *x = op_in(op, 0), *scale = op_in(op, 1), *zero = op_in(op, 2);
    int axis = scale->rank == 0 || op_count(scale) == 1 ? 0 : op_axis_of(op, 1, x->rank);
    int64_t block = op_int(op, "block_size", 0);
    struct operand *y = op_result(op, 0, onnx_attribute_dtype(op, "output_dtype", scale->dtype), x->rank, x->dim);
    struct operand *to = y->dtype == ACL_FLOAT ? y : op_temp(op, ACL_FLOAT, x->rank, x->dim);
    if (narrow_is(x->dtype))
        narrow_convert(op, to, x);
    else
        op_copy(op, to, x);
    if (zero && !narrow_float(x->dtype))
        OP_CALL(op, aclnnInplaceSub, op_out(op, to),
                op_acl(op, op_cast(op, for_blocks(op, narrow_widened(op, zero), x, axis, block), ACL_FLOAT)),
                op_integer(op, 1));
    OP_CALL(op, aclnnInplaceMul, op_out(op, to),
            op_acl(op, op_cast(op, for_blocks(op, scale, x, axis, block), ACL_FLOAT)));
    if (to != y)
        op_copy(op, y, to);
}

/* The range of x with 0 in it, in 255 steps. */
static void define_dynamic_quantize(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_result(op, 0, ACL_UINT8, x->rank, x->dim);
    struct operand *scale = op_result(op, 1, ACL_FLOAT, 0, NULL), *zero = op_result(op, 2, ACL_UINT8, 0, NULL);
    struct operand *low = op_temp(op, ACL_FLOAT, 0, NULL), *to = op_temp(op, ACL_FLOAT, x->rank, x->dim);
    if (op_count(x) == 0)
        return;
    OP_CALL(op, aclnnMin, op_acl(op, x), op_out(op, low));
    OP_CALL(op, aclnnInplaceClampMax, op_out(op, low), op_integer(op, 0));
    OP_CALL(op, aclnnMax, op_acl(op, x), op_out(op, scale));
    OP_CALL(op, aclnnClampMin, op_acl(op, scale), op_integer(op, 0), op_out(op, scale));
    OP_CALL(op, aclnnInplaceSub, op_out(op, scale), op_acl(op, low), op_integer(op, 1));
    OP_CALL(op, aclnnInplaceDivs, op_out(op, scale), op_number(op, 255));
    OP_CALL(op, aclnnInplaceNeg, op_out(op, low));
    OP_CALL(op, aclnnInplaceDiv, op_out(op, low), op_acl(op, scale));
    OP_CALL(op, aclnnInplaceRound, op_out(op, low));
    OP_CALL(op, aclnnInplaceHardtanh, op_out(op, low), op_integer(op, 0), op_integer(op, 255));
    op_copy(op, zero, low);
    OP_CALL(op, aclnnDiv, op_acl(op, x), op_acl(op, scale), op_out(op, to));
    round_into(op, to, zero, y);
}

/* ---- matrices ---- */

/* a (zero and scale by row) times b (by column), both shifted, in double, which holds every sum that int32 does. */
static struct operand *integer_product(struct op *op, struct operand *a, struct operand *a_zero, struct operand *b,
                                       struct operand *b_zero)
{
    int64_t dim[OP_RANK];
    int32_t rank = onnx_matmul_shape(op, a, b, dim);
    struct operand *y = op_temp(op, ACL_DOUBLE, rank, dim);
    a = quant_shifted(op, a, a_zero, a->rank - 2, ACL_DOUBLE);
    b = quant_shifted(op, b, b_zero, b->rank - 1, ACL_DOUBLE);
    if (op_count(y))
        OP_CALL(op, aclnnMatmul, op_acl(op, a), op_acl(op, b), op_out(op, y), 0);
    return y;
}

static void define_matmul_integer(struct op *op)
{
    struct operand *product = integer_product(op, op_in(op, 0), op_in(op, 2), op_in(op, 1), op_in(op, 3));
    op_copy(op, op_result(op, 0, ACL_INT32, product->rank, product->dim), product);
}

/* a, scale, zero; b, scale, zero; y's scale, zero */
static void define_qlinear_matmul(struct op *op)
{
    struct operand *sum = integer_product(op, op_in(op, 0), op_in(op, 2), op_in(op, 3), op_in(op, 5));
    struct operand *y = op_result(op, 0, op_in(op, 7)->dtype, sum->rank, sum->dim);
    OP_CALL(op, aclnnInplaceMul, op_out(op, sum),
            op_acl(op, op_cast(op, quant_scale(op, op_in(op, 1), sum, sum->rank - 2), ACL_DOUBLE)));
    OP_CALL(op, aclnnInplaceMul, op_out(op, sum),
            op_acl(op, op_cast(op, quant_scale(op, op_in(op, 4), sum, sum->rank - 1), ACL_DOUBLE)));
    quant_round(op, sum, op_in(op, 6), op_in(op, 7), sum->rank - 2, y);
}

const struct operator_row operators_quant[] = {
    ROW("QuantizeLinear", 10, 0, OPERATOR_NARROW, 2, 3, 1, 1, define_quantize, NULL, 0),
    ROW("DequantizeLinear", 10, 0, OPERATOR_NARROW, 2, 3, 1, 1, define_dequantize, NULL, 0),
    ROW("DynamicQuantizeLinear", 11, 0, 0, 1, 1, 3, 3, define_dynamic_quantize, NULL, 0),
    ROW("MatMulInteger", 10, 0, 0, 2, 4, 1, 1, define_matmul_integer, NULL, 0),
    ROW("QLinearMatMul", 10, 0, 0, 8, 8, 1, 1, define_qlinear_matmul, NULL, 0),
    {0},
};

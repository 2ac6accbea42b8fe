/* SPDX-License-Identifier: BSD-3-Clause */
/* Other types for the same numbers, or for the same bits. */
#include "graph/operators/narrow.h"
#include "graph/operators/onnx.h"
#include "graph/operators/row.h"

static void convert(struct op *op, aclDataType dtype)
{
    struct operand *x = op_in(op, 0);
    if (dtype_bits(dtype) == 0 || dtype_bits(x->dtype) == 0)
        op_fail(op, GRAPH_UNSUPPORTED, "from %s to %s", dtype_name(x->dtype), dtype_name(dtype));
    struct operand *y = op_result(op, 0, dtype, x->rank, x->dim);
    if (narrow_is(dtype) || narrow_is(x->dtype))
        narrow_convert(op, y, x);
    else
        op_copy(op, y, x);
}

static void define_cast(struct op *op)
{
    convert(op, onnx_attribute_dtype(op, "to", ACL_DT_UNDEFINED));
}

static void define_cast_like(struct op *op)
{
    convert(op, op_in(op, 1)->dtype);
}

static void define_bit_cast(struct op *op)
{
    struct operand *x = op_in(op, 0);
    aclDataType dtype = onnx_attribute_dtype(op, "to", ACL_DT_UNDEFINED);
    if (dtype_size(dtype) != dtype_size(x->dtype) || dtype_size(dtype) == 0)
        op_fail(op, GRAPH_INVALID, "%s and %s differ in size", dtype_name(x->dtype), dtype_name(dtype));
    op_result(op, 0, dtype, x->rank, x->dim);
}

const struct operator_row operators_cast[] = {
    ROW("Cast", 1, 0, OPERATOR_NARROW, 1, 1, 1, 1, define_cast, NULL, 0),
    ROW("CastLike", 15, 0, OPERATOR_NARROW, 2, 2, 1, 1, define_cast_like, NULL, 0),
    VIEW_ROW("BitCast", 26, 1, define_bit_cast),
    {0},
};

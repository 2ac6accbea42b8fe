/* SPDX-License-Identifier: BSD-3-Clause */
/* What several families share of ONNX's own rules. */
#ifndef ANYNPU_GRAPH_OPERATORS_ONNX_H
#define ANYNPU_GRAPH_OPERATORS_ONNX_H

#include "graph/operators/op.h"

/* The type that TensorProto.DataType numbers so; ACL_DT_UNDEFINED for those that have no counterpart. */
aclDataType onnx_dtype(int64_t number);

/* The attribute's type, `otherwise` when it is absent (or 0); fails where there is no counterpart. */
aclDataType onnx_attribute_dtype(struct op *op, const char *name, aclDataType otherwise);

/* Indices as int64, negative ones counted from the end of `limit` elements. */
struct operand *onnx_index(struct op *op, struct operand *index, int64_t limit);

/* The shape of a times b as numpy's matmul has it; returns the rank. */
int32_t onnx_matmul_shape(struct op *op, const struct operand *a, const struct operand *b, int64_t *dim);

#endif

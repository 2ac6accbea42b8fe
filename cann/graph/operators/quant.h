/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantised numbers: scales and zero points that count for all elements, for an axis, or for blocks along one. */
#ifndef ANYNPU_GRAPH_OPERATORS_QUANT_H
#define ANYNPU_GRAPH_OPERATORS_QUANT_H

#include "graph/operators/op.h"

/* A scale or zero point (one element, or one for each position of the axis) so that it broadcasts with `like`. */
struct operand *quant_scale(struct op *op, struct operand *scale, const struct operand *like, int axis);

/* x - zero in dtype; zero may be NULL. */
struct operand *quant_shifted(struct op *op, struct operand *x, struct operand *zero, int axis, aclDataType dtype);

/* y = x / scale, rounded to even, plus zero, cut to y's type; x is used up. scale and zero as quant_scale takes them.
 */
void quant_round(struct op *op, struct operand *x, struct operand *scale, struct operand *zero, int axis,
                 struct operand *y);

#endif

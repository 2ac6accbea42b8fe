/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of eight bits (E4M3FN, E5M2, and E8M0, which is a power of two alone) and of four (E2M1 and integers; two a
 * byte, the first in the low half). They are stored and converted, not computed with. */
#ifndef ANYNPU_GRAPH_OPERATORS_NARROW_H
#define ANYNPU_GRAPH_OPERATORS_NARROW_H

#include "graph/operators/op.h"

static inline bool narrow_float(aclDataType dtype)
{
    return dtype == ACL_FLOAT8_E4M3FN || dtype == ACL_FLOAT8_E5M2 || dtype == ACL_FLOAT8_E8M0 ||
           dtype == ACL_FLOAT4_E2M1;
}

static inline bool narrow_is(aclDataType dtype)
{
    return narrow_float(dtype) || dtype == ACL_INT4;
}

/* to = from, of which one at least has such a type. How: the node's attributes saturate and round_mode. Both have the
 * same shape and are contiguous. */
void narrow_convert(struct op *op, struct operand *to, struct operand *from);

/* t, or its numbers as float32 when it has such a type; NULL for NULL. */
struct operand *narrow_widened(struct op *op, struct operand *t);

#endif

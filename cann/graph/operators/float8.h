/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of eight bits: E4M3FN, E5M2, and E8M0, which is a power of two alone. They are stored and converted, not
 * computed with. */
#ifndef ANYNPU_GRAPH_OPERATORS_FLOAT8_H
#define ANYNPU_GRAPH_OPERATORS_FLOAT8_H

#include "graph/operators/op.h"

static inline bool float8_is(aclDataType dtype)
{
    return dtype == ACL_FLOAT8_E4M3FN || dtype == ACL_FLOAT8_E5M2 || dtype == ACL_FLOAT8_E8M0;
}

/* to = from, of which one at least has such a type. How: the node's attributes saturate and round_mode. Both have the
 * same shape and are contiguous. */
void float8_convert(struct op *op, struct operand *to, struct operand *from);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Unsigned integers of 16 bits and more, for which aclnn operators of two operands have no kernels. */
#ifndef ANYNPU_GRAPH_OPERATORS_UNSIGNED_H
#define ANYNPU_GRAPH_OPERATORS_UNSIGNED_H

#include "graph/operators/op.h"

enum unsigned_op {
    UNSIGNED_NONE,
    UNSIGNED_ADD,
    UNSIGNED_SUB,
    UNSIGNED_MUL,
    UNSIGNED_DIV,
    UNSIGNED_MOD,
    UNSIGNED_MAX,
    UNSIGNED_MIN,
    UNSIGNED_AND,
    UNSIGNED_OR,
    UNSIGNED_XOR,
    UNSIGNED_LEFT,
    UNSIGNED_RIGHT,
    UNSIGNED_EQ, /* from here on results are bool */
    UNSIGNED_GT,
    UNSIGNED_GE,
    UNSIGNED_LT,
    UNSIGNED_LE,
};

/* out = x op y, broadcasting, when x has such a type; false: it has another. Division by 0 gives 0. */
bool unsigned_binary(struct op *op, enum unsigned_op code, struct operand *x, struct operand *y, struct operand *out);

#endif

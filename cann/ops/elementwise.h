/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators: arithmetic, comparison, logic, mathematical functions, activations and their gradients.
 *
 * A row's code is a kernel operation (kernels/elementwise.h), with modifiers. Tensors among the arguments are operands
 * in order; if the operation has more operands than that, the first scalars are operands too, and the remaining numbers
 * are its parameters. In an in-place row the first tensor is the first operand and the result. */
#ifndef ANYNPU_OPS_ELEMENTWISE_H
#define ANYNPU_OPS_ELEMENTWISE_H

#include "kernels/elementwise.h"
#include "ops/plan.h"

enum {
    ELEMENTWISE_SWAP = 0x10000,   /* the first two operands change places (rsub) */
    ELEMENTWISE_MODE = 0x20000,   /* the integer parameter is a rounding mode: 0 none, 1 trunc, 2 floor */
    ELEMENTWISE_TANH = 0x40000,   /* the integer or string parameter says "tanh" or none */
    ELEMENTWISE_RESULT = 0x80000, /* the integer parameter: the second operand is the result */
};

int prepare_elementwise(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_abs(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_pow_scalar(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_clamp(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_round_decimals(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_where(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_masked_fill(struct plan *plan, const struct op_row *row, const union op_value *arg);

/* The type that values of types a and b meet in (torch.promote_types); ACL_DT_UNDEFINED when there is none. */
aclDataType dtype_promote(aclDataType a, aclDataType b);

/* Adds the step out ← op(in…): inputs broadcast to out's shape, everything is computed in type `compute` (f16 and bf16:
 * rounded to it) and converted to out's. n inputs. Fails the plan when shapes or types do not fit. */
int plan_elementwise(struct plan *plan, int op, aclDataType compute, struct view *out, struct view *const *in, int n,
                     const struct elementwise_param *param);

/* A view of one value of the type, in the plan's memory; 0-dimensional. */
struct view *plan_scalar(struct plan *plan, const aclScalar *s, aclDataType dtype);

/* The number as the type holds it: PyTorch rounds alpha of a 16-bit sum. */
double alpha_rounded(aclDataType type, double alpha);

/* Is there a kernel of the operation for the type? */
bool elementwise_has(int op, aclDataType dtype);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the foreach family (foreach.rows). */
#ifndef ANYNPU_OPS_FOREACH_H
#define ANYNPU_OPS_FOREACH_H

#include "kernels/elementwise.h"
#include "kernels/foreach.h"
#include "ops/plan.h"

/* code: enum elementwise_op. The row's parameters say the rest: lists are inputs in the operator's order, the list
 * "out" is the output (without it the first input is updated); a scalar, a scalar list or a tensor of scalars is the
 * missing operand of a binary operation, else its parameter. */
int prepare_foreach(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_foreach_lerp(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_foreach_round(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_foreach_move(struct plan *plan, const struct op_row *row, const union op_value *arg); /* copy, zero */
int prepare_foreach_norm(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_foreach_unscale(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_fused_adam(struct plan *plan, const struct op_row *row, const union op_value *arg); /* code: 1 for AdamW */
int prepare_fused_sgd(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_amp_update_scale(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

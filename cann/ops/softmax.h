/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax, log-softmax, log-sum-exp and gradients; the rows' code is the mode. */
#ifndef ANYNPU_OPS_SOFTMAX_H
#define ANYNPU_OPS_SOFTMAX_H

#include "kernels/softmax.h"
#include "ops/plan.h"

int softmax_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg); /* self dim out */
int softmax_prepare_backward(struct plan *plan, const struct op_row *row,
                             const union op_value *arg); /* grad y dim out */
int softmax_prepare_sum_log(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

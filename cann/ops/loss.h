/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses; the rows' code is the mode. */
#ifndef ANYNPU_OPS_LOSS_H
#define ANYNPU_OPS_LOSS_H

#include "kernels/loss.h"
#include "ops/plan.h"

enum { LOSS_NONE, LOSS_MEAN, LOSS_SUM };

/* self target reduction [parameter] out */
int loss_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg);
/* gradOutput self target reduction [parameter] out */
int loss_prepare_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
/* predictions targets delta loss: a mean */
int loss_prepare_huber(struct plan *plan, const struct op_row *row, const union op_value *arg);
int loss_prepare_bce(struct plan *plan, const struct op_row *row, const union op_value *arg);
int loss_prepare_bce_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_kl_div(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_kl_div_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int likelihood_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg);
int likelihood_prepare_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of CTC rows. */
#ifndef ANYNPU_OPS_CTC_H
#define ANYNPU_OPS_CTC_H

#include "ops/plan.h"

int prepare_ctc_loss(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_ctc_loss_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

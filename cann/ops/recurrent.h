/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of recurrent layers: rows of recurrent.rows. */
#ifndef ANYNPU_OPS_RECURRENT_H
#define ANYNPU_OPS_RECURRENT_H

#include "ops/plan.h"

int prepare_lstm_cell(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_lstm_cell_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

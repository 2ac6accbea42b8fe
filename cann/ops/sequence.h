/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent networks over whole sequences: rows of sequence.rows. */
#ifndef ANYNPU_OPS_SEQUENCE_H
#define ANYNPU_OPS_SEQUENCE_H

#include "ops/plan.h"

enum { SEQUENCE_LSTM, SEQUENCE_GRU };

int prepare_sequence(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_sequence_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

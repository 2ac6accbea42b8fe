/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the range family (range.rows). */
#ifndef ANYNPU_OPS_RANGE_H
#define ANYNPU_OPS_RANGE_H

#include "ops/plan.h"

int prepare_arange(struct plan *plan, const struct op_row *row, const union op_value *arg); /* code 1: end included */
int prepare_linspace(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_eye(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_one_hot(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

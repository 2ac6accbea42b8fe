/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators whose result is as long as a mask says. */
#ifndef ANYNPU_OPS_MASKED_H
#define ANYNPU_OPS_MASKED_H

#include "ops/plan.h"

enum { NONZERO_ROWS, NONZERO_COLUMNS };

int prepare_nonzero(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_masked_select(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy, cast and fill operators. */
#ifndef ANYNPU_OPS_COPY_H
#define ANYNPU_OPS_COPY_H

#include "ops/plan.h"

int prepare_copy(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_cast(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_fill_scalar(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_fill_tensor(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_fill_constant(struct plan *plan, const struct op_row *row, const union op_value *arg); /* code: the value */

#endif

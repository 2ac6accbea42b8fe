/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators between complex and real tensors. */
#ifndef ANYNPU_OPS_COMPLEX_H
#define ANYNPU_OPS_COMPLEX_H

#include "ops/plan.h"

int prepare_complex(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_polar(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_angle(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

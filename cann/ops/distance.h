/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of distance rows. */
#ifndef ANYNPU_OPS_DISTANCE_H
#define ANYNPU_OPS_DISTANCE_H

#include "ops/plan.h"

int prepare_cdist(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_cdist_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_pdist(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_pdist_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

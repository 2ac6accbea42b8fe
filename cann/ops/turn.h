/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of permutations with a new shape, and of rows written at tuples of indices. */
#ifndef ANYNPU_OPS_TURN_H
#define ANYNPU_OPS_TURN_H

#include "ops/plan.h"

int prepare_confusion_transpose(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_scatter_nd_update(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

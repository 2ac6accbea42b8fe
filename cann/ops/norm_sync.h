/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm in steps, for statistics over several devices (norm_sync.c). */
#ifndef ANYNPU_OPS_NORM_SYNC_H
#define ANYNPU_OPS_NORM_SYNC_H

#include "ops/norm.h"

int norm_prepare_stats(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_gather(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_elemt(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_reduce_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_elemt_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

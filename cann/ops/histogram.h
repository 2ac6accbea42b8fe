/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms and counts of integers. */
#ifndef ANYNPU_OPS_HISTOGRAM_H
#define ANYNPU_OPS_HISTOGRAM_H

#include "ops/plan.h"

int histogram_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg);
int histogram_prepare_count(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

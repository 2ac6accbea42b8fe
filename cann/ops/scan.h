/* SPDX-License-Identifier: BSD-3-Clause */
/* Running sums, products and extremes; the rows' code is the operator. */
#ifndef ANYNPU_OPS_SCAN_H
#define ANYNPU_OPS_SCAN_H

#include "kernels/scan.h"
#include "ops/plan.h"

int scan_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg);    /* self dim dtype out */
int scan_prepare_v2(struct plan *plan, const struct op_row *row, const union op_value *arg); /* exclusive, reverse */
int scan_prepare_scalar_dim(struct plan *plan, const struct op_row *row,
                            const union op_value *arg); /* dim as a scalar */
int scan_prepare_inplace(struct plan *plan, const struct op_row *row, const union op_value *arg);
int scan_prepare_extreme(struct plan *plan, const struct op_row *row, const union op_value *arg); /* values, indices */

#endif

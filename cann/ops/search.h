/* SPDX-License-Identifier: BSD-3-Clause */
/* Where elements belong in ordered sequences. */
#ifndef ANYNPU_OPS_SEARCH_H
#define ANYNPU_OPS_SEARCH_H

#include "ops/plan.h"

int prepare_search(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_search_scalar(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_bucketize(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

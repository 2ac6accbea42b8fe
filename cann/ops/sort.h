/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting, the largest and smallest, medians, distinct elements. */
#ifndef ANYNPU_OPS_SORT_H
#define ANYNPU_OPS_SORT_H

#include "ops/plan.h"

enum { MEDIAN_NAN_WINS, MEDIAN_WITHOUT_NAN };

int prepare_sort(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_argsort(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_topk(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_topk_policy(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_kthvalue(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_median(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_median_dim(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_unique(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_unique2(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

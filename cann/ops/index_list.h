/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the index_list family (index_list.rows). */
#ifndef ANYNPU_OPS_INDEX_LIST_H
#define ANYNPU_OPS_INDEX_LIST_H

#include "ops/plan.h"

int prepare_index(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_index_put(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

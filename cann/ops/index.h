/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the index family (index.rows). */
#ifndef ANYNPU_OPS_INDEX_H
#define ANYNPU_OPS_INDEX_H

#include "ops/plan.h"

int prepare_gather(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_index_select(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_embedding(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_take(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_put(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_masked_scatter(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_scatter(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_scatter_add(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_scatter_reduce(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_index_add(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_index_copy(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_index_fill(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_embedding_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

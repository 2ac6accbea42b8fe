/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the random family (random.rows). */
#ifndef ANYNPU_OPS_RANDOM_H
#define ANYNPU_OPS_RANDOM_H

#include "kernels/random.h"
#include "ops/plan.h"

enum { DROPOUT_BY_PROBABILITY, DROPOUT_BY_SCALE };

int prepare_random_fill(struct plan *plan, const struct op_row *row,
                        const union op_value *arg); /* code: enum random_kind */
int prepare_random_any(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_bernoulli(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_normal(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_multinomial(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_randperm(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_dropout_mask(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_dropout_apply(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_dropout(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the shape family (shape.rows). */
#ifndef ANYNPU_OPS_SHAPE_H
#define ANYNPU_OPS_SHAPE_H

#include "ops/plan.h"

enum { TRI_LOWER, TRI_UPPER };
enum { DIAG, DIAG_FLAT };
enum { INTERLEAVE_FLAT, INTERLEAVE_DIM };

int prepare_cat(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_stack(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_repeat(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_expand(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_permute(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_roll(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_flip(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_tri(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_diag(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_fill_diagonal(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_slice(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_split(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_channel_shuffle(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_repeat_interleave(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_repeat_interleave_index(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of the pad family (pad.rows). */
#ifndef ANYNPU_OPS_PAD_H
#define ANYNPU_OPS_PAD_H

#include "ops/plan.h"

enum { PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

int prepare_constant_pad(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_pad(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_pad_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_im2col(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_im2col_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_unfold_grad(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of grid sampling rows; code: the image's dimensions. */
#ifndef ANYNPU_OPS_GRID_H
#define ANYNPU_OPS_GRID_H

#include "ops/plan.h"

int prepare_grid_sampler(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_grid_sampler_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_affine_grid(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions in one to three dimensions: the rows of conv.rows. */
#ifndef ANYNPU_OPS_CONV_H
#define ANYNPU_OPS_CONV_H

#include "ops/plan.h"

int prepare_convolution(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_convolution_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_conv_depthwise(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

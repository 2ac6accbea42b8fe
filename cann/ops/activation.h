/* SPDX-License-Identifier: BSD-3-Clause */
/* Activation functions and their gradients: rows of the elementwise kind (elementwise.h), and a few of their own. */
#ifndef ANYNPU_OPS_ACTIVATION_H
#define ANYNPU_OPS_ACTIVATION_H

#include "ops/elementwise.h"

int prepare_glu(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_glu_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_geglu(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_geglu_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_celu(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_selu(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_add_relu(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_prelu(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_prelu_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

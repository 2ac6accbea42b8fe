/* SPDX-License-Identifier: BSD-3-Clause */
/* The operators' tables, one a family of this folder: each `const struct operator_row operators_<family>[]`, ended by a
 * row without a name. */
#include "graph/operator.h"

#include <stddef.h>

#include "graph/operators/row.h"

const struct operator_row *const operator_families[] = {
    operators_elementwise, operators_shape,   operators_reduce, operators_norm,      operators_matmul,
    operators_conv,        operators_pool,    operators_index,  operators_quant,     operators_make,
    operators_cast,        operators_rnn,     operators_resize, operators_attention, operators_signal,
    operators_loss,        operators_control, operators_vision, operators_fused,     NULL,
};

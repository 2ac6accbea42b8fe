/* SPDX-License-Identifier: BSD-3-Clause */
/* How rows are written: ROW(name, since, until, flags, in_min, in_max, out_min, out_max, define, detail, code). */
#ifndef ANYNPU_GRAPH_OPERATORS_ROW_H
#define ANYNPU_GRAPH_OPERATORS_ROW_H

#include "graph/operators/op.h"

#define ROW(name, since, until, flags, in_min, in_max, out_min, out_max, define, detail, code)                         \
    {                                                                                                                  \
        "", name, since, until, flags, in_min, in_max, out_min, out_max, op_infer, op_run, define, detail, code        \
    }

/* Output 0 is input 0 in another shape: nothing runs. */
#define VIEW_ROW(name, since, in_max, define)                                                                          \
    {                                                                                                                  \
        "", name, since, 0, OPERATOR_VIEW, 1, in_max, 1, 1, op_infer, NULL, define, NULL, 0                            \
    }

extern const struct operator_row operators_elementwise[], operators_shape[], operators_reduce[], operators_norm[],
    operators_matmul[], operators_conv[], operators_pool[], operators_index[], operators_quant[], operators_make[],
    operators_cast[], operators_rnn[], operators_resize[], operators_attention[], operators_signal[], operators_loss[],
    operators_control[], operators_vision[], operators_fused[];

#endif

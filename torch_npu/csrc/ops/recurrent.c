/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of recurrent layers, which torch.nn.LSTM calls once a step. What does not fit goes to the CPU, which says why.
 */
#include "op.h"

enum { GATES = 4 };

static bool fits(const struct npu_tensor *t, const struct npu_tensor *like, int32_t rank, int64_t last)
{
    return t->rank == rank && t->dtype == like->dtype && t->size[rank - 1] == last &&
           (rank == 1 || t->size[0] == like->size[0]);
}

/* input_gates, hidden_gates, cx, input_bias, hidden_bias → hy, cy, workspace */
static int run_cell(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in = arg_tensor(c, 0), *state = arg_tensor(c, 1), *cx = arg_tensor(c, 2);
    const struct npu_tensor *in_bias = arg_tensor(c, 3), *state_bias = arg_tensor(c, 4);
    if (cx->rank != 2 || !is_floating(cx->dtype) || in_bias->defined != state_bias->defined)
        return CALL_FALLBACK;
    int64_t gates[] = {cx->size[0], GATES * cx->size[1]};
    if (!fits(in, cx, 2, gates[1]) || !fits(state, cx, 2, gates[1]) ||
        (in_bias->defined && !(fits(in_bias, cx, 1, gates[1]) && fits(state_bias, cx, 1, gates[1]))))
        return CALL_FALLBACK;
    const struct npu_tensor *hy = result(c, 0, cx->dtype, 2, cx->size), *cy = result(c, 1, cx->dtype, 2, cx->size);
    const struct npu_tensor *workspace = result(c, 2, cx->dtype, 2, gates);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = in},
                                        {.t = state},
                                        {.t = cx},
                                        {.t = in_bias},
                                        {.t = state_bias},
                                        {.t = hy},
                                        {.t = cy},
                                        {.t = workspace}});
}

/* grad_hy, grad_cy, cx, cy, workspace, has_bias → grad of gates, of cx, of biases */
static int run_cell_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad_hy = arg_tensor(c, 0), *grad_cy = arg_tensor(c, 1), *cx = arg_tensor(c, 2);
    const struct npu_tensor *cy = arg_tensor(c, 3), *workspace = arg_tensor(c, 4), *bias = NULL;
    bool has_bias = arg_bool(c, 5, false);
    if (!grad_hy->defined && !grad_cy->defined) {
        for (int k = 0; k < 3; k++)
            result_undefined(c, k);
        return 0;
    }
    if (cx->rank != 2 || !is_floating(cx->dtype) || !fits(cy, cx, 2, cx->size[1]) ||
        !fits(workspace, cx, 2, GATES * cx->size[1]) || (grad_hy->defined && !fits(grad_hy, cx, 2, cx->size[1])) ||
        (grad_cy->defined && !fits(grad_cy, cx, 2, cx->size[1])))
        return CALL_FALLBACK;
    int64_t gates[] = {cx->size[0], GATES * cx->size[1]};
    const struct npu_tensor *grad_gates = result(c, 0, cx->dtype, 2, gates),
                            *grad_cx = result(c, 1, cx->dtype, 2, cx->size);
    if (has_bias)
        bias = result(c, 2, cx->dtype, 1, gates + 1);
    else
        result_undefined(c, 2);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad_hy},
                                        {.t = grad_cy},
                                        {.t = cx},
                                        {.t = cy},
                                        {.t = workspace},
                                        {.i = has_bias},
                                        {.t = grad_gates},
                                        {.t = grad_cx},
                                        {.t = bias}});
}

static struct aclnn cell = ACLNN("aclnnThnnFusedLstmCell", "TTTTTTTT");
static struct aclnn cell_backward = ACLNN("aclnnThnnFusedLstmCellBackward", "TTTTTbTTT");

static const struct aten_row rows[] = {
    {"_thnn_fused_lstm_cell", run_cell, &cell},
    {"_thnn_fused_lstm_cell_backward_impl", run_cell_backward, &cell_backward},
};
ATEN_FAMILY(recurrent_family, rows);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent networks over whole sequences, and the cell of an LSTM by itself. A network is PyTorch's operator for
 * accelerators, which is named after cuDNN and has a derivative; bridge/recurrent.cpp calls it. What the gradient needs
 * is one tensor, "reserve": [which, layer and direction, step, batch, hidden].
 *
 * Sequences of different lengths come padded, [steps, batch, …], with the size of the batch at each step as a tensor on
 * the device in the place of dropout_state: there is no dropout. */
#include "op.h"

#include <string.h>

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

/* ---- whole sequences ---- */

enum { MODE_LSTM = 2, MODE_GRU = 3, KEPT_LSTM = 7, KEPT_GRU = 5 };

struct net {
    const struct npu_tensor *input, *hx, *cx, *sizes; /* sizes: of the batch by step; undefined: the same in all */
    struct npu_tensor states[2];
    const struct npu_tensor *weights;
    size_t n;
    bool gru, bias, batch_first, both;
    int64_t hidden, layers, steps, batch, shape[3]; /* of the output */
    int kept;
};

/* The arguments that both directions have: from the mode on they lie together, at `mode`. */
static void read_net(struct call *c, struct net *n, int mode)
{
    n->input = arg_tensor(c, 0);
    n->n = arg_tensors(c, 1, &n->weights);
    n->bias = arg_int(c, 2, 4) == 4;
    n->hx = arg_tensor(c, 4);
    n->cx = arg_tensor(c, 5);
    n->gru = arg_int(c, mode, 0) == MODE_GRU;
    n->hidden = arg_int(c, mode + 1, 0);
    n->layers = arg_int(c, mode + 3, 1);
    n->batch_first = arg_bool(c, mode + 4, false);
    n->both = arg_bool(c, mode + 7, false);
    n->sizes = arg_tensor(c, mode + 9);
    n->kept = n->gru ? KEPT_GRU : KEPT_LSTM;
    n->steps = n->input->size[n->batch_first ? 1 : 0];
    n->batch = n->input->size[n->batch_first ? 0 : 1];
    n->shape[0] = n->input->size[0];
    n->shape[1] = n->input->size[1];
    n->shape[2] = n->hidden * (n->both ? 2 : 1);
    n->states[0] = *n->hx;
    if (n->cx->defined)
        n->states[1] = *n->cx;
}

static bool known(struct call *c, int mode)
{
    const struct npu_tensor *input = arg_tensor(c, 0), *hx = arg_tensor(c, 4), *cx = arg_tensor(c, 5);
    int64_t kind = arg_int(c, mode, 0);
    return (kind == MODE_LSTM || kind == MODE_GRU) && arg_int(c, mode + 2, 0) == 0 && input->rank == 3 &&
           is_floating(input->dtype) && hx->defined && hx->rank == 3 && cx->defined == (kind == MODE_LSTM);
}

/* Of different lengths: rows of all steps in one dimension, as the interface wants them. */
static const struct npu_tensor *rows_of(struct call *c, const struct net *n, const struct npu_tensor *t)
{
    if (!n->sizes->defined || !t->defined)
        return t;
    t = contiguous(c, t);
    int64_t size[] = {t->size[0] * t->size[1], t->size[2]}, stride[] = {t->size[2], 1};
    return view_of(c, t, 2, size, stride, t->offset);
}

/* The lists that are kept, as parts of the reserve; without one empty lists. */
static void kept_lists(struct call *c, const struct net *n, const struct npu_tensor *reserve, union aclnn_value *value)
{
    int64_t size[] = {n->steps, n->batch, n->hidden}, stride[] = {n->batch * n->hidden, n->hidden, 1};
    int64_t each = size[0] * stride[0], count = n->layers * (n->both ? 2 : 1);
    for (int k = 0; k < n->kept; k++) {
        struct npu_tensor *list = call_alloc(c, (size_t)count * sizeof *list);
        for (int64_t i = 0; i < count && reserve; i++)
            list[i] = *view_of(c, reserve, 3, size, stride, reserve->offset + (k * count + i) * each);
        value[k] = (union aclnn_value){.l = {list, reserve ? (size_t)count : 0}};
    }
}

static struct aclnn lstm = ACLNN("aclnnLSTM", "TLLTbidbbbTTTLLLLLLL"), gru = ACLNN("aclnnGRU", "TLTTbidbbbTTLLLLL");

/* input, weight, weight_stride0, weight_buf, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first, dropout,
 * train, bidirectional, batch_sizes, dropout_state → output, hy, cy, reserve, weight_buf */
static int run_network(struct call *c, const struct aten_row *row)
{
    enum { MODE = 6, TRAIN = 12 };
    (void)row;
    if (!known(c, MODE))
        return CALL_FALLBACK;
    struct net n;
    read_net(c, &n, MODE);
    bool train = arg_bool(c, TRAIN, false);
    int64_t none = 0, reserved[] = {n.kept, n.layers * (n.both ? 2 : 1), n.steps, n.batch, n.hidden};
    const struct npu_tensor *y = result(c, 0, n.input->dtype, 3, n.shape),
                            *hy = result(c, 1, n.input->dtype, 3, n.hx->size);
    const struct npu_tensor *cy =
        n.gru ? result(c, 2, n.input->dtype, 1, &none) : result(c, 2, n.input->dtype, 3, n.cx->size);
    const struct npu_tensor *reserve = train ? result(c, 3, n.input->dtype, 5, reserved) : NULL;
    if (!train)
        result(c, 3, n.input->dtype, 1, &none);
    result(c, 4, n.input->dtype, 1, &none);
    union aclnn_value value[20] = {{.t = rows_of(c, &n, n.input)},
                                   {.l = {n.weights, n.n}},
                                   {.l = {n.states, 2}},
                                   {.t = n.sizes},
                                   {.i = n.bias},
                                   {.i = n.layers},
                                   {.d = 0},
                                   {.i = train},
                                   {.i = n.both},
                                   {.i = n.batch_first},
                                   {.t = y},
                                   {.t = hy},
                                   {.t = cy}};
    if (n.gru)
        value[2] = (union aclnn_value){.t = n.hx};
    kept_lists(c, &n, reserve, value + (n.gru ? 12 : 13));
    return launch(c, n.gru ? &gru : &lstm, value);
}

static struct aclnn zero = ACLNN("aclnnInplaceZero", "T");

/* A gradient that is not there: the software NPU takes none for zeros. */
static const struct npu_tensor *gradient(struct call *c, const struct npu_tensor *t, const int64_t *size,
                                         aclDataType dtype)
{
    if (t->defined || software_npu())
        return t;
    t = temp(c, dtype, 3, size);
    return launch(c, &zero, (union aclnn_value[]){{.t = t}}) ? NULL : t;
}

static struct aclnn lstm_backward = ACLNN("aclnnLstmBackward", "TLLTTTLLLLLLLTbidbbbBTTTL");
static struct aclnn gru_backward = ACLNN("aclnnGRUBackward", "TLTTTLLLLLTbibbTTL");

/* input, weight, weight_stride0, weight_buf, hx, cx, output, grad_output, grad_hy, grad_cy, then as above from the mode
 * on, reserve, output_mask → gradients of input, hx, cx, weights */
static int run_network_backward(struct call *c, const struct aten_row *row)
{
    enum { MODE = 10, RESERVE = 20, MASK = 21 };
    static const bool all[4] = {true, true, true, true};
    (void)row;
    if (!known(c, MODE))
        return CALL_FALLBACK;
    struct net n;
    read_net(c, &n, MODE);
    const bool *mask = all;
    const struct npu_tensor *reserve = arg_tensor(c, RESERVE), *in = n.input, *dx = NULL, *dcx = NULL;
    arg_bools(c, MASK, &mask);
    if (reserve->rank != 5)
        return call_error(c, CALL_RUNTIME_ERROR, "the gradient of a recurrent network needs what its training keeps");
    if (mask[0])
        dx = result(c, 0, in->dtype, 3, in->size);
    else
        result_undefined(c, 0);
    const struct npu_tensor *dhx = result(c, 1, in->dtype, 3, n.hx->size);
    if (n.gru)
        result_undefined(c, 2);
    else
        dcx = result(c, 2, in->dtype, 3, n.cx->size);
    struct npu_tensor *weights = call_alloc(c, n.n * sizeof *weights);
    result_list(c, 3, n.n);
    for (size_t i = 0; i < n.n; i++)
        weights[i] = *result_list_at(c, 3, i, in->dtype, n.weights[i].rank, n.weights[i].size, NULL);
    if (!dx && !software_npu())
        dx = temp(c, in->dtype, 3, in->size);
    const struct npu_tensor *dy = gradient(c, arg_tensor(c, 7), n.shape, in->dtype);
    const struct npu_tensor *dh = gradient(c, arg_tensor(c, 8), n.hx->size, in->dtype);
    const struct npu_tensor *dc = n.gru ? NULL : gradient(c, arg_tensor(c, 9), n.hx->size, in->dtype);
    if (call_failed(c))
        return CALL_ERROR;
    union aclnn_value input = {.t = rows_of(c, &n, in)}, params = {.l = {n.weights, n.n}},
                      grads = {.l = {weights, n.n}};
    union aclnn_value out = {.t = dx ? rows_of(c, &n, dx) : NULL};
    if (n.gru) {
        union aclnn_value value[18] = {input, params, {.t = n.hx}, {.t = dy}, {.t = dh}};
        kept_lists(c, &n, reserve, value + 5);
        const union aclnn_value rest[] = {{.t = n.sizes},       {.i = n.bias}, {.i = n.layers}, {.i = n.both},
                                          {.i = n.batch_first}, out,           {.t = dhx},      grads};
        memcpy(value + 10, rest, sizeof rest);
        return launch(c, &gru_backward, value);
    }
    union aclnn_value value[25] = {input, {.l = {n.states, 2}}, params, {.t = dy}, {.t = dh}, {.t = dc}};
    kept_lists(c, &n, reserve, value + 6);
    const union aclnn_value rest[] = {{.t = n.sizes},
                                      {.i = n.bias},
                                      {.i = n.layers},
                                      {.d = 0},
                                      {.i = true},
                                      {.i = n.both},
                                      {.i = n.batch_first},
                                      {.bools = {all, 4}},
                                      out,
                                      {.t = dhx},
                                      {.t = dcx},
                                      grads};
    memcpy(value + 13, rest, sizeof rest);
    return launch(c, &lstm_backward, value);
}

static struct aclnn cell = ACLNN("aclnnThnnFusedLstmCell", "TTTTTTTT");
static struct aclnn cell_backward = ACLNN("aclnnThnnFusedLstmCellBackward", "TTTTTbTTT");

static const struct aten_row rows[] = {
    {"_cudnn_rnn", run_network},
    {"_cudnn_rnn_backward", run_network_backward},
    {"_thnn_fused_lstm_cell", run_cell, &cell},
    {"_thnn_fused_lstm_cell_backward_impl", run_cell_backward, &cell_backward},
};
ATEN_FAMILY(recurrent_family, rows);

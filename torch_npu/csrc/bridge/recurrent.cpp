// SPDX-License-Identifier: BSD-3-Clause
// Which way torch.nn.LSTM and GRU go: all steps, layers and directions in one operator (csrc/ops/recurrent.c), layer by
// layer where dropout lies between, or PyTorch's own step by step for what that does not do: projections, mixed types,
// autocast, and where torch.backends.cudnn.flags(enabled=False) asks for it (gradients of gradients).
#include <ATen/Context.h>
#include <ATen/ops/_cudnn_rnn.h>
#include <ATen/ops/_pack_padded_sequence.h>
#include <ATen/ops/_pad_packed_sequence.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "cann.h"

namespace npu
{

using at::Tensor;
using at::TensorList;

struct Net {
    bool bias;
    int64_t layers;
    double dropout;
    bool train, both, batch_first;
};

static bool whole(const char *name, const Tensor &input, int64_t rank, TensorList states, TensorList params,
                  const Net &net)
{
    auto type = input.scalar_type();
    auto fits = [&](const Tensor &t) { return t.defined() && t.scalar_type() == type && t.device() == input.device(); };
    if (input.dim() != rank || !input.numel() || !c10::isFloatingType(type) || net.layers < 1 ||
        params.size() != (size_t)net.layers * (net.both ? 2 : 1) * (net.bias ? 4 : 2))
        return false;
    for (const Tensor &state : states)
        if (!fits(state) || state.dim() != 3 || state.sizes() != states[0].sizes())
            return false;
    for (const Tensor &parameter : params)
        if (!fits(parameter))
            return false;
    bool autocast = !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastPrivateUse1);
    return !autocast && at::globalContext().userEnabledCuDNN() && cann_symbol(name);
}

static bool needs_gradient(const Tensor &input, TensorList states, TensorList params)
{
    auto needs = [](const Tensor &t) { return t.requires_grad(); };
    return c10::GradMode::is_enabled() && (needs(input) || std::any_of(states.begin(), states.end(), needs) ||
                                           std::any_of(params.begin(), params.end(), needs));
}

// `sizes`: of the batch by step, on the device, where sequences differ in length.
static std::vector<Tensor> run(const Tensor &input, TensorList states, TensorList params, const Net &net,
                               const std::optional<Tensor> &sizes)
{
    enum { LSTM = 2, GRU = 3 };
    int64_t directions = net.both ? 2 : 1, each = net.bias ? 4 : 2, hidden = states[0].size(2);
    int64_t once = net.train && net.dropout > 0 ? 1 : net.layers;
    bool lstm = states.size() == 2, keeps = needs_gradient(input, states, params);
    Tensor x = input;
    std::vector<Tensor> h, c;
    for (int64_t layer = 0; layer < net.layers; layer += once) {
        auto part = [&](const Tensor &t) {
            return once == net.layers ? t : t.narrow(0, layer * directions, once * directions);
        };
        auto [y, hy, cy, reserve, buffer] =
            at::_cudnn_rnn(x, params.slice(layer * directions * each, once * directions * each), each, {},
                           part(states[0]), lstm ? std::optional<Tensor>(part(states[1])) : std::nullopt,
                           lstm ? LSTM : GRU, hidden, 0, once, net.batch_first, 0, keeps, net.both, {}, sizes);
        h.push_back(hy);
        c.push_back(cy);
        x = layer + once < net.layers ? at::dropout(y, net.dropout, true) : y;
    }
    std::vector<Tensor> out = {x, h.size() == 1 ? h[0] : at::cat(h, 0)};
    if (lstm)
        out.push_back(c.size() == 1 ? c[0] : at::cat(c, 0));
    return out;
}

// Packed sequences: padded, run, packed.
static std::vector<Tensor> run_packed(const Tensor &data, const Tensor &batch_sizes, TensorList states,
                                      TensorList params, const Net &net)
{
    auto [padded, lengths] = at::_pad_packed_sequence(data, batch_sizes, false, 0, batch_sizes.size(0));
    auto out = run(padded, states, params, net, batch_sizes.to(data.device()));
    out[0] = std::get<0>(at::_pack_padded_sequence(out[0], lengths, false));
    return out;
}

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

static Three lstm(const Tensor &input, TensorList hx, TensorList params, bool bias, int64_t layers, double dropout,
                  bool train, bool both, bool batch_first)
{
    Net net{bias, layers, dropout, train, both, batch_first};
    if (hx.size() != 2 || !whole("aclnnLSTM", input, 3, hx, params, net))
        return at::native::lstm(input, hx, params, bias, layers, dropout, train, both, batch_first);
    auto out = run(input, hx, params, net, {});
    return {out[0], out[1], out[2]};
}

static Three lstm_packed(const Tensor &data, const Tensor &batch_sizes, TensorList hx, TensorList params, bool bias,
                         int64_t layers, double dropout, bool train, bool both)
{
    Net net{bias, layers, dropout, train, both, false};
    if (hx.size() != 2 || !whole("aclnnLSTM", data, 2, hx, params, net))
        return at::native::lstm(data, batch_sizes, hx, params, bias, layers, dropout, train, both);
    auto out = run_packed(data, batch_sizes, hx, params, net);
    return {out[0], out[1], out[2]};
}

static Two gru(const Tensor &input, const Tensor &hx, TensorList params, bool bias, int64_t layers, double dropout,
               bool train, bool both, bool batch_first)
{
    Net net{bias, layers, dropout, train, both, batch_first};
    if (!whole("aclnnGRU", input, 3, hx, params, net))
        return at::native::gru(input, hx, params, bias, layers, dropout, train, both, batch_first);
    auto out = run(input, hx, params, net, {});
    return {out[0], out[1]};
}

static Two gru_packed(const Tensor &data, const Tensor &batch_sizes, const Tensor &hx, TensorList params, bool bias,
                      int64_t layers, double dropout, bool train, bool both)
{
    Net net{bias, layers, dropout, train, both, false};
    if (!whole("aclnnGRU", data, 2, hx, params, net))
        return at::native::gru(data, batch_sizes, hx, params, bias, layers, dropout, train, both);
    auto out = run_packed(data, batch_sizes, hx, params, net);
    return {out[0], out[1]};
}

// Also above autograd: what is called below has the derivative.
static void implement(torch::Library &m)
{
    m.impl("lstm.input", TORCH_FN(lstm));
    m.impl("lstm.data", TORCH_FN(lstm_packed));
    m.impl("gru.input", TORCH_FN(gru));
    m.impl("gru.data", TORCH_FN(gru_packed));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    implement(m);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m)
{
    implement(m);
}

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// Operators that only accelerators have. PyTorch calls them for a device of our kind where it would use others on the
// CPU: convolution (the CPU's kernel has another name), the cell of GRU (made of other operators here).
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <torch/library.h>

#include "boxed.h"
#include "fallback.h"

namespace npu
{

using at::Tensor;
using torch::jit::Stack;

static c10::OperatorHandle handle(const char *name)
{
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

// PyTorch registers these as composites, but they call kernels of the CPU directly.
static const char *const only_cpu[] = {"conj_physical_", "mode.values"};

bool special_kernel(const std::string &name, Stack *stack, c10::OperatorHandle *kernel)
{
    if (name == "aten::convolution_overrideable") {
        *kernel = handle("aten::convolution");
        return true;
    }
    if (name == "aten::convolution_backward_overrideable") {
        // convolution_backward has one more argument, bias_sizes, after the weight.
        size_t first = stack->size() - kernel->schema().arguments().size();
        const Tensor &weight = (*stack)[first + 2].toTensor();
        int64_t out = (*stack)[first + 6].toBool() ? weight.size(1) * (*stack)[first + 8].toInt() : weight.size(0);
        stack->insert(stack->begin() + (int64_t)first + 3, c10::IValue(c10::List<int64_t>({out})));
        *kernel = handle("aten::convolution_backward");
        return true;
    }
    for (const char *known : only_cpu)
        if (name.compare(6, std::string::npos, known) == 0)
            return true;
    return false;
}

// ---- GRU ----
static Tensor with_bias(const Tensor &gates, const std::optional<Tensor> &bias)
{
    return bias && bias->defined() ? gates.add(*bias) : gates;
}

// Gates in the order reset, update, new; the workspace keeps r, z, n, hx and the hidden part of n.
static std::tuple<Tensor, Tensor> gru_cell(const Tensor &input_gates, const Tensor &hidden_gates, const Tensor &hx,
                                           const std::optional<Tensor> &input_bias,
                                           const std::optional<Tensor> &hidden_bias)
{
    auto in = with_bias(input_gates, input_bias).chunk(3, 1), hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
    Tensor r = at::sigmoid(in[0].add(hidden[0])), z = at::sigmoid(in[1].add(hidden[1]));
    Tensor n = at::tanh(in[2].add(r.mul(hidden[2])));
    Tensor hy = hx.sub(n).mul(z).add(n);
    return {hy, at::cat({r, z, n, hx, hidden[2]}, 1)};
}

static std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor &grad_hy,
                                                                            const Tensor &workspace, bool has_bias)
{
    auto part = workspace.chunk(5, 1);
    const Tensor &r = part[0], &z = part[1], &n = part[2], &hx = part[3], &hidden = part[4];
    auto slope = [](const Tensor &y) { return y.mul(y.neg().add(1)); };
    Tensor grad_n = grad_hy.mul(z.neg().add(1)).mul(n.mul(n).neg().add(1));
    Tensor grad_z = grad_hy.mul(hx.sub(n)).mul(slope(z));
    Tensor grad_r = grad_n.mul(hidden).mul(slope(r));
    Tensor in = at::cat({grad_r, grad_z, grad_n}, 1), hid = at::cat({grad_r, grad_z, grad_n.mul(r)}, 1);
    return {in, hid, grad_hy.mul(z), has_bias ? in.sum(0) : Tensor(), has_bias ? hid.sum(0) : Tensor()};
}

template <class F> static void implement(torch::Library &library, const char *name, F kernel)
{
    if (!find_row(name))
        library.impl(name, std::move(kernel));
}

// After the rows (boxed.cpp calls it): a row of the same name comes first.
void register_special(torch::Library &library)
{
    implement(library, "convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&fallback>());
    implement(library, "convolution_backward_overrideable", torch::CppFunction::makeFromBoxedFunction<&fallback>());
    for (const char *name : only_cpu)
        implement(library, name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
    implement(library, "_thnn_fused_gru_cell", TORCH_FN(gru_cell));
    implement(library, "_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

} // namespace npu

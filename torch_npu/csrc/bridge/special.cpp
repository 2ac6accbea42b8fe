// SPDX-License-Identifier: BSD-3-Clause
// Operators that only accelerators have (so there is no CPU kernel to fall back to): made of others.
#include <ATen/core/Tensor.h>

#include "fallback.h"

namespace npu {

using torch::jit::Stack;

static c10::OperatorHandle handle(const char* name) {
  auto found = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  return found;
}

bool special_fallback(const c10::OperatorHandle& op, Stack* stack, const std::string& name) {
  if (name == "aten::convolution_overrideable") {
    count_fallback(name);
    run_on_cpu(op, stack, name, handle("aten::convolution"));
    return true;
  }
  if (name == "aten::convolution_backward_overrideable") {
    // convolution_backward has one more argument, bias_sizes, after the weight.
    static const c10::OperatorHandle kernel = handle("aten::convolution_backward");
    count_fallback(name);
    size_t first = stack->size() - op.schema().arguments().size();
    const auto& weight = (*stack)[first + 2].toTensor();
    int64_t out = (*stack)[first + 6].toBool() ? weight.size(1) * (*stack)[first + 8].toInt() : weight.size(0);
    stack->insert(stack->begin() + (int64_t)first + 3, c10::IValue(c10::List<int64_t>({out})));
    run_on_cpu(kernel, stack, name, kernel);
    return true;
  }
  return false;
}

} // namespace npu

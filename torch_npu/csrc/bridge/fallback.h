// SPDX-License-Identifier: BSD-3-Clause
// Running operators on the CPU (fallback.cpp), and the few whose CPU kernel has another name (special.cpp).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <string>

namespace npu
{

// What an operator that ran on the CPU came to since the last reset.
struct FallbackUse {
    int64_t times = 0, bytes = 0, ns = 0; // bytes: of the tensors it was given and returned; ns: in its CPU kernel
};

std::map<std::string, FallbackUse> fallback_uses(); // by "aten::name.overload"; those used alone
int64_t fallback_since();                           // ns since the last reset (since the package was loaded)
void fallback_reset();

// The fallback for sparse (SparseCPU), compressed sparse (SparseCsrCPU) and nested tensors (NestedTensorCPU).
template <c10::DispatchKey cpu>
void fallback_compound(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

// For an operator that only accelerators have: sets *kernel to the CPU's, makes the arguments on the stack fit it;
// true.
bool special_kernel(const std::string &name, torch::jit::Stack *stack, c10::OperatorHandle *kernel);

} // namespace npu

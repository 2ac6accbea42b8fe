// SPDX-License-Identifier: BSD-3-Clause
// Running operators on the CPU (fallback.cpp), and the few that need a detour there (special.cpp).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <string>

#include "call.h"

namespace npu {

std::map<std::string, int64_t> fallback_counts(); // "aten::name.overload" → times since the last reset
void fallback_reset();
void count_fallback(const std::string& name);     // counts and warns once

const schema_fact* fallback_facts(const c10::OperatorHandle& op);
// Runs `kernel` (same arguments as op) on the CPU with op's arguments from the stack.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& name, const c10::OperatorHandle& kernel);

// Operators whose CPU kernel has another name or does not exist. True if it has done the operator.
bool special_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& name);

} // namespace npu

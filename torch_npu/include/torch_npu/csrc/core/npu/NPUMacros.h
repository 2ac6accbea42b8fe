// SPDX-License-Identifier: BSD-3-Clause
// What marks the functions that libtorch_npu.so offers to extensions.
#pragma once

#define C10_NPU_API   __attribute__((visibility("default")))
#define TORCH_NPU_API C10_NPU_API

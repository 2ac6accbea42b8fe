// SPDX-License-Identifier: BSD-3-Clause
// What differs between PyTorch versions, and the one check that we build against a version we know.
#pragma once

#include <torch/version.h>

#if TORCH_VERSION_MAJOR != 2 || TORCH_VERSION_MINOR != 13
#error "torch_npu 2.13 needs the headers of torch 2.13"
#endif

#define TORCH_NPU_TORCH_SERIES "2.13"

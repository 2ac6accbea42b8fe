// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's ReduceOp in HCCL's terms: which reduction HCCL does, and what is computed before and after it.
#pragma once

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "hccl.h"

namespace npu
{

struct Reduction {
    HcclReduceOp op;
    HcclDataType type;
    bool average = false, scaled = false;
    c10d::ReduceOp given;

    // Throws for what HCCL cannot do with elements of this type. `size`: ranks of the group.
    Reduction(const c10d::ReduceOp &op, c10::ScalarType type, int size);
    // The input as HCCL shall read it; the tensor itself unless something must be done to it.
    at::Tensor before(const at::Tensor &input) const;
    void after(const at::Tensor &output) const; // in place

  private:
    int size;
};

} // namespace npu

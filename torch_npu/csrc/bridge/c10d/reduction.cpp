// SPDX-License-Identifier: BSD-3-Clause
// Reductions (reduction.h). Bool reduces as bytes that are 0 or 1: sum, max and "or" are the maximum; product, min and
// "and" the minimum. An average is the sum, divided after it; of integers, truncated.
#include "reduction.h"

#include "group.h"

namespace npu
{

using c10d::ReduceOp;

static const char *name_of(ReduceOp::RedOpType op)
{
    static const char *const names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"};
    return op < std::size(names) ? names[op] : "UNUSED";
}

[[noreturn]] static void refuse(const ReduceOp &op, const char *with)
{
    TORCH_CHECK_VALUE(false, "Cannot use ReduceOp.", name_of(op), " with ", with,
                      error_suffix(Module::DIST, Kind::NOT_SUPPORT));
}

static HcclReduceOp of_bool(const ReduceOp &op)
{
    switch (op.op_) {
    case ReduceOp::SUM:
    case ReduceOp::MAX:
    case ReduceOp::BOR:
        return HCCL_REDUCE_MAX;
    case ReduceOp::PRODUCT:
    case ReduceOp::MIN:
    case ReduceOp::BAND:
        return HCCL_REDUCE_MIN;
    default:
        refuse(op, "Boolean inputs");
    }
}

static HcclReduceOp of_number(const ReduceOp &op)
{
    switch (op.op_) {
    case ReduceOp::SUM:
    case ReduceOp::AVG:
    case ReduceOp::PREMUL_SUM:
        return HCCL_REDUCE_SUM;
    case ReduceOp::PRODUCT:
        return HCCL_REDUCE_PROD;
    case ReduceOp::MIN:
        return HCCL_REDUCE_MIN;
    case ReduceOp::MAX:
        return HCCL_REDUCE_MAX;
    default:
        refuse(op, "HCCL");
    }
}

Reduction::Reduction(const ReduceOp &op, c10::ScalarType element, int size)
    : op(element == c10::ScalarType::Bool ? of_bool(op) : of_number(op)), type(element_to_reduce(element)),
      average(op.op_ == ReduceOp::AVG), scaled(op.op_ == ReduceOp::PREMUL_SUM), given(op), size(size)
{
}

at::Tensor Reduction::before(const at::Tensor &input) const
{
    if (!scaled)
        return input;
    auto *factor = static_cast<const c10d::PreMulSumSupplement *>(given.supplement_.get());
    return factor->tensor_factor.defined() ? input.mul(factor->tensor_factor.to(input.options()))
                                           : input.mul(factor->double_factor);
}

void Reduction::after(const at::Tensor &output) const
{
    if (!average || size == 1)
        return;
    at::Tensor t = output;
    if (c10::isIntegralType(t.scalar_type(), false))
        t.div_(size, "trunc");
    else
        t.div_(size);
}

} // namespace npu

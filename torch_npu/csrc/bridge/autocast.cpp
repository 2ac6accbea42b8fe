// SPDX-License-Identifier: BSD-3-Clause
// Mixed precision: which operators torch.autocast("npu") runs in the low precision, in float32, or in the widest type
// of their inputs. PyTorch's own lists for accelerators; everything else runs as it is. (The one file that includes
// ATen/ATen.h, because autocast_mode.h does.)
#include <ATen/autocast_mode.h>

#include "error.h"
#include "version.h"

namespace npu
{

using at::IntArrayRef; // the macros of the lists use these names bare
using at::Scalar;
using at::ScalarType;
using at::Tensor;

static at::Tensor refuse_binary_cross_entropy(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &,
                                              int64_t)
{
    TORCH_CHECK(false,
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
                "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
                "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
                "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
                "safe to autocast.",
                error_suffix(Module::OPS, Kind::NOT_SUPPORT));
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m)
{
#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
    AT_FORALL_LOWER_PRECISION_FP(LOWER)
#undef LOWER
#define FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
    AT_FORALL_FP32(FLOAT32)
#undef FLOAT32
#define WITH_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
    AT_FORALL_FP32_SET_OPT_DTYPE(WITH_DTYPE)
#undef WITH_DTYPE
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_PROMOTE(PROMOTE)
#undef PROMOTE
    KERNEL_PRIVATEUSEONE(stack, promote)
    KERNEL_PRIVATEUSEONE(cat, promote)
    m.impl("binary_cross_entropy", TORCH_FN(refuse_binary_cross_entropy));
}

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// Which way scaled_dot_product_attention goes: fused (csrc/ops/attention.c) or, for what that does not do, composed of
// products and a softmax.
#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/GradMode.h>

#include "cann.h"

namespace npu
{

using at::Tensor;

static bool fits(const std::optional<Tensor> &mask, const Tensor &query, const Tensor &key)
{
    if (!mask || !mask->defined())
        return true;
    if (mask->dim() < 2 || mask->dim() > 4 || (mask->requires_grad() && c10::GradMode::is_enabled()))
        return false;
    const int64_t want[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
    for (int64_t i = 0; i < mask->dim(); i++)
        if (mask->size(i) != 1 && mask->size(i) != want[4 - mask->dim() + i])
            return false;
    return true;
}

static bool fused(const Tensor &q, const Tensor &k, const Tensor &v, const std::optional<Tensor> &mask, double dropout,
                  bool grouped)
{
    auto type = q.scalar_type();
    if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || k.scalar_type() != type || v.scalar_type() != type ||
        dropout != 0)
        return false;
    if (type != at::kFloat && type != at::kHalf && type != at::kBFloat16)
        return false;
    if (k.size(0) != q.size(0) || v.size(0) != q.size(0) || v.size(1) != k.size(1) || v.size(2) != k.size(2) ||
        k.size(3) != q.size(3))
        return false;
    if (grouped ? k.size(1) == 0 || q.size(1) % k.size(1) != 0 : k.size(1) != q.size(1))
        return false;
    return q.numel() && k.numel() && v.numel() && fits(mask, q, k) && at::globalContext().userEnabledOverrideableSDP();
}

static int64_t choose(const Tensor &query, const Tensor &key, const Tensor &value, const std::optional<Tensor> &mask,
                      double dropout, bool is_causal, std::optional<double> scale, bool enable_gqa)
{
    return (int64_t)(fused(query, key, value, mask, dropout, enable_gqa) ? at::SDPBackend::overrideable
                                                                         : at::SDPBackend::math);
}

} // namespace npu

namespace at::native
{
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &npu::choose)
}

extern "C" bool software_npu(void)
{
    return cann.extension != nullptr;
}

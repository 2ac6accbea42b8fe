// SPDX-License-Identifier: BSD-3-Clause
// Element types and memory layouts of what is sent and received (group.h).
#include "group.h"

namespace npu
{

static bool known(c10::ScalarType type, HcclDataType *out)
{
    switch (type) {
    case c10::ScalarType::Char:
        return *out = HCCL_DATA_TYPE_INT8, true;
    case c10::ScalarType::Short:
        return *out = HCCL_DATA_TYPE_INT16, true;
    case c10::ScalarType::Int:
        return *out = HCCL_DATA_TYPE_INT32, true;
    case c10::ScalarType::Long:
        return *out = HCCL_DATA_TYPE_INT64, true;
    case c10::ScalarType::Byte:
    case c10::ScalarType::Bool:
        return *out = HCCL_DATA_TYPE_UINT8, true;
    case c10::ScalarType::UInt16:
        return *out = HCCL_DATA_TYPE_UINT16, true;
    case c10::ScalarType::UInt32:
        return *out = HCCL_DATA_TYPE_UINT32, true;
    case c10::ScalarType::UInt64:
        return *out = HCCL_DATA_TYPE_UINT64, true;
    case c10::ScalarType::Half:
        return *out = HCCL_DATA_TYPE_FP16, true;
    case c10::ScalarType::BFloat16:
        return *out = HCCL_DATA_TYPE_BFP16, true;
    case c10::ScalarType::Float:
        return *out = HCCL_DATA_TYPE_FP32, true;
    case c10::ScalarType::Double:
        return *out = HCCL_DATA_TYPE_FP64, true;
    default:
        return false;
    }
}

Elements elements_to_move(c10::ScalarType type)
{
    HcclDataType own;
    if (known(type, &own))
        return {own, 1};
    return {HCCL_DATA_TYPE_UINT8, (int64_t)c10::elementSize(type)};
}

HcclDataType element_to_reduce(c10::ScalarType type)
{
    HcclDataType own;
    TORCH_CHECK_TYPE(known(type, &own), "HCCL cannot reduce tensors of type ", c10::toString(type), ".",
                     error_suffix(Module::DIST, Kind::TYPE));
    return own;
}

at::Tensor landing(const at::Tensor &t)
{
    return plain(t) ? t : at::empty(t.sizes(), raw(t).options());
}

static bool consecutive(const std::vector<at::Tensor> &tensors)
{
    const at::Tensor &first = tensors[0];
    int64_t offset = first.storage_offset();
    for (auto &t : tensors) {
        if (!plain(t) || !t.is_alias_of(first) || t.storage_offset() != offset)
            return false;
        offset += t.numel();
    }
    return true;
}

at::Tensor one_piece(const std::vector<at::Tensor> &tensors, bool fill)
{
    int64_t total = 0;
    for (auto &t : tensors)
        total += t.numel();
    const at::Tensor &first = tensors[0];
    if (consecutive(tensors))
        return first.as_strided({total}, {1}, first.storage_offset());
    at::Tensor piece = at::empty({total}, raw(first).options());
    int64_t at = 0;
    for (auto &t : tensors) {
        if (fill && t.numel())
            piece.narrow(0, at, t.numel()).view(t.sizes()).copy_(raw(t));
        at += t.numel();
    }
    return piece;
}

void spread(const at::Tensor &piece, const std::vector<at::Tensor> &tensors)
{
    if (piece.is_alias_of(tensors[0]))
        return;
    int64_t at = 0;
    for (auto &t : tensors) {
        if (t.numel())
            raw(t).copy_(piece.narrow(0, at, t.numel()).view(t.sizes()));
        at += t.numel();
    }
}

static std::string sizes_text(const at::Tensor &t)
{
    return c10::str(t.sizes(), " of ", c10::toString(t.scalar_type()));
}

int ProcessGroupHCCL::check_tensors(const Tensors &inputs, const Tensors &outputs, const char *what)
{
    const at::Tensor *first = nullptr;
    for (const Tensors *side : {&inputs, &outputs})
        for (const at::Tensor &t : *side) {
            TORCH_CHECK(t.defined() && t.device().type() == device_type && t.layout() == c10::Layout::Strided, what,
                        ": Tensors must be NPU and dense, but got ",
                        t.defined() ? c10::str("one of ", sizes_text(t), " on ", t.device(), ", ", t.layout())
                                    : std::string("an undefined one"),
                        ".", error_suffix(Module::DIST, Kind::TYPE));
            if (!first)
                first = &t;
            TORCH_CHECK(t.device() == first->device(), what, ": tensors are on ", first->device(), " and on ",
                        t.device(), "; one process uses one device in an operation.",
                        error_suffix(Module::DIST, Kind::PARAM));
            TORCH_CHECK_TYPE(t.scalar_type() == first->scalar_type(), what,
                             ": input and output tensors must have the same type, but got ",
                             c10::toString(first->scalar_type()), " and ", c10::toString(t.scalar_type()), ".",
                             error_suffix(Module::DIST, Kind::TYPE));
        }
    TORCH_CHECK(first, what, " got no tensors.", error_suffix(Module::DIST, Kind::PARAM));
    return first->device().index();
}

} // namespace npu

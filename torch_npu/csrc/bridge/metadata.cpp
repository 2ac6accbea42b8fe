// SPDX-License-Identifier: BSD-3-Clause
// Tensor creation and views: operators that compute nothing. Views reuse PyTorch's own device-neutral functions.
#include "metadata.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_efficientzerotensor_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "error.h"

namespace npu
{

using at::Tensor;
using c10::IntArrayRef;

int device_of(std::optional<c10::Device> device)
{
    if (!device || !device->has_index())
        return current_device();
    TORCH_CHECK(device->type() == device_type, "Expected an npu device, got ", *device,
                error_suffix(Module::PTA, Kind::TYPE));
    check_device(device->index());
    return device->index();
}

Tensor wrap_storage(c10::Storage storage, c10::DispatchKeySet keys, IntArrayRef size, IntArrayRef strides,
                    int64_t offset, caffe2::TypeMeta dtype)
{
    auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, dtype);
    auto *impl = tensor.unsafeGetTensorImpl();
    if (strides.empty() && !size.empty())
        impl->set_sizes_contiguous(size);
    else if (size.size() != 1 || size[0] != 0 || strides.size())
        impl->set_sizes_and_strides(size, strides);
    if (offset)
        impl->set_storage_offset(offset);
    return tensor;
}

Tensor make_tensor(int device, IntArrayRef size, IntArrayRef strides, caffe2::TypeMeta dtype)
{
    size_t bytes = strides.empty() ? at::detail::computeStorageNbytesContiguous(size, dtype.itemsize())
                                   : at::detail::computeStorageNbytes(size, strides, dtype.itemsize());
    auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), (int64_t)bytes,
                                                         memory_data(device, bytes), memory_allocator(), true);
    return wrap_storage(c10::Storage(std::move(storage)), npu_keys, size, strides, 0, dtype);
}

static void check_factory(std::optional<c10::Layout> layout, std::optional<bool> pinned)
{
    TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == c10::Layout::Strided, "CAUTION: a tensor of layout ",
                                c10::layout_or_default(layout),
                                " is not currently supported on the NPU backend (not implemented for NPU).",
                                error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "Only dense CPU tensors can be pinned",
                error_suffix(Module::PTA, Kind::PARAM));
}

static void fill_if_deterministic(Tensor &tensor)
{
    if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
                     at::globalContext().deterministicFillUninitializedMemory()))
        at::native::fill_empty_deterministic_(tensor);
}

static Tensor empty(IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
                    std::optional<c10::Device> device, std::optional<bool> pinned,
                    std::optional<c10::MemoryFormat> format)
{
    check_factory(layout, pinned);
    at::detail::check_size_nonnegative(size);
    Tensor tensor = make_tensor(device_of(device), size, {}, c10::scalarTypeToTypeMeta(c10::dtype_or_default(dtype)));
    if (format && *format != c10::MemoryFormat::Contiguous && *format != c10::MemoryFormat::Preserve)
        tensor.unsafeGetTensorImpl()->empty_tensor_restride(*format);
    fill_if_deterministic(tensor);
    return tensor;
}

static Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<c10::ScalarType> dtype,
                            std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                            std::optional<bool> pinned)
{
    check_factory(layout, pinned);
    at::detail::check_size_nonnegative(size);
    TORCH_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(),
                ") must match dimensionality of strides (", stride.size(), ")");
    for (int64_t s : stride)
        TORCH_CHECK(s >= 0, "Stride at index must be non-negative, got ", s);
    Tensor tensor =
        make_tensor(device_of(device), size, stride, c10::scalarTypeToTypeMeta(c10::dtype_or_default(dtype)));
    fill_if_deterministic(tensor);
    return tensor;
}

// A tensor of zeros without memory, made by forward-mode AD.
static Tensor efficientzerotensor(IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                                  std::optional<c10::Device> device, std::optional<bool>)
{
    c10::Device where(device_type, (c10::DeviceIndex)device_of(device));
    caffe2::TypeMeta type = c10::scalarTypeToTypeMeta(c10::dtype_or_default(dtype));
    auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                         c10::DataPtr(nullptr, where), memory_allocator(), true);
    return wrap_storage(c10::Storage(std::move(storage)), npu_keys.add(c10::DispatchKey::ZeroTensor), size, {}, 0,
                        type);
}

void resize_storage(c10::StorageImpl *storage, size_t bytes)
{
    TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
    int device = storage->device().index();
    c10::DataPtr fresh = memory_data(device, bytes);
    if (size_t keep = std::min(bytes, storage->nbytes()))
        ACL(aclrtMemcpyAsync, fresh.get(), bytes, storage->data(), keep, MEMCPY_D2D, current_stream(device));
    storage->set_data_ptr_noswap(std::move(fresh));
    storage->set_nbytes(bytes);
}

static void fit_storage(c10::TensorImpl *impl, size_t bytes)
{
    if (impl->numel() == 0)
        return;
    c10::StorageImpl *storage = impl->unsafe_storage().unsafeGetStorageImpl();
    if (bytes > storage->nbytes())
        resize_storage(storage, bytes);
}

static void resize_impl(c10::TensorImpl *impl, IntArrayRef size, std::optional<IntArrayRef> stride)
{
    if (impl->sizes() == size && (!stride || impl->strides() == *stride))
        return;
    size_t item = impl->dtype().itemsize(), bytes;
    if (stride) {
        impl->set_sizes_and_strides(size, *stride);
        bytes = at::detail::computeStorageNbytes(size, *stride, item, (size_t)impl->storage_offset());
    } else {
        impl->generic_set_sizes_contiguous(size);
        bytes = at::detail::computeStorageNbytesContiguous(size, item, (size_t)impl->storage_offset());
    }
    fit_storage(impl, bytes);
}

static const Tensor &resize_(const Tensor &self, IntArrayRef size, std::optional<c10::MemoryFormat> format)
{
    at::detail::check_size_nonnegative(size);
    size_t before = self.storage().nbytes();
    auto *impl = self.unsafeGetTensorImpl();
    resize_impl(impl, size, std::nullopt);
    if (format) {
        TORCH_CHECK(*format != c10::MemoryFormat::Preserve, "Unsupported memory format", *format);
        impl->empty_tensor_restride(*format);
    }
    if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
                     at::globalContext().deterministicFillUninitializedMemory()))
        at::native::fill_resize_deterministic_(self, (int64_t)before);
    return self;
}

static Tensor &set_storage_offset(Tensor &self, c10::Storage source, int64_t offset, IntArrayRef size,
                                  IntArrayRef stride)
{
    at::native::checkSetStorage(self, source, offset, size, stride);
    self.unsafeGetTensorImpl()->set_storage_offset(offset);
    resize_impl(self.unsafeGetTensorImpl(), size, stride.data() ? std::optional<IntArrayRef>(stride) : std::nullopt);
    return self;
}

static Tensor &set_storage(Tensor &self, c10::Storage source)
{
    int64_t count = (int64_t)(source.nbytes() / self.dtype().itemsize());
    return set_storage_offset(self, std::move(source), 0, count, {});
}

static Tensor &set_tensor(Tensor &self, const Tensor &source)
{
    if (self.is_same(source))
        return self;
    return set_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

static Tensor &set_empty(Tensor &self)
{
    auto storage = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), 0, memory_data(self.device().index(), 0), memory_allocator(), true);
    return set_storage_offset(self, c10::Storage(std::move(storage)), 0, {0}, {});
}

static void record_stream(Tensor &self, c10::Stream stream)
{
    memory_record_stream(self.storage().data_ptr(), stream);
}

// Whether `self.data = from` may change self's device: dense tensors of the CPU and the NPU take each other's place, as
// those of the CPU and CUDA do. So a module moved by .npu() keeps its Parameter objects, which an optimizer may know
// already.
static bool same_kind_of_tensor(const Tensor &self, const Tensor &from)
{
    constexpr c10::DispatchKeySet places({c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit});
    auto dense = [](c10::DispatchKeySet keys) {
        return keys.has_any(c10::DispatchKeySet(c10::DispatchKey::Dense)) && keys.has_any(places);
    };
    c10::DispatchKeySet target = self.key_set(), source = from.key_set();
    return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(source) || (dense(target) && dense(source));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_has_compatible_shallow_copy_type", TORCH_FN(same_kind_of_tensor));
    m.impl("empty.memory_format", TORCH_FN(empty));
    m.impl("empty_strided", TORCH_FN(empty_strided));
    m.impl("_efficientzerotensor", TORCH_FN(efficientzerotensor));
    m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
    m.impl("view", TORCH_FN(at::native::view));
    m.impl("view.dtype", TORCH_FN(at::native::view_dtype));
    m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
    m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
    m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
    m.impl("unfold", TORCH_FN(at::native::unfold));
    m.impl("alias", TORCH_FN(at::native::alias));
    m.impl("is_set_to", TORCH_FN(at::native::is_set_to));
    m.impl("resize_", TORCH_FN(resize_));
    m.impl("set_", TORCH_FN(set_empty));
    m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
    m.impl("set_.source_Storage", TORCH_FN(set_storage));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_offset));
    m.impl("record_stream", TORCH_FN(record_stream));
}

} // namespace npu

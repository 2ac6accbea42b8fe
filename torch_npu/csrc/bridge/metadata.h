// SPDX-License-Identifier: BSD-3-Clause
// Making tensors on the NPU and changing what they say about their memory.
#pragma once

#include <ATen/core/Tensor.h>

#include "memory.h"

namespace npu
{

constexpr c10::DispatchKeySet npu_keys(c10::DispatchKey::PrivateUse1);

// Uninitialised, on the device. Sizes are not negative. strides empty: contiguous.
at::Tensor make_tensor(int device, c10::IntArrayRef size, c10::IntArrayRef strides, caffe2::TypeMeta dtype);

// A tensor of the given storage.
at::Tensor wrap_storage(c10::Storage storage, c10::DispatchKeySet keys, c10::IntArrayRef size, c10::IntArrayRef strides,
                        int64_t offset, caffe2::TypeMeta dtype);

// Keeps the first min(old, new) bytes.
void resize_storage(c10::StorageImpl *storage, size_t bytes);

// The device named by a factory's argument, which must be an NPU; none means the current one.
int device_of(std::optional<c10::Device> device);

// copy_ between any two of NPU and CPU; see copy.cpp.
at::Tensor &copy_(at::Tensor &self, const at::Tensor &source, bool non_blocking);

} // namespace npu

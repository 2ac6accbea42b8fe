// SPDX-License-Identifier: BSD-3-Clause
// Device memory seen from the CPU without a copy: CPU tensors on the memory of NPU tensors, and CPU allocations that
// are device memory so that a CPU kernel's results need no copy either. Only where CANN offers a host view.
#pragma once

#include <ATen/core/Tensor.h>

#include "memory.h"

namespace npu
{

// A CPU storage on the device storage's memory, which it keeps alive; null without a host view. The stream must be
// idle.
c10::intrusive_ptr<c10::StorageImpl> host_storage(c10::StorageImpl *device);
bool is_host_storage(const c10::StorageImpl *storage); // still on that memory (not resized)

// A CPU tensor on that storage with the NPU tensor's geometry and without its neg and conj bits.
at::Tensor host_tensor(c10::intrusive_ptr<c10::StorageImpl> storage, const c10::TensorImpl *like);
at::Tensor host_alias(const at::Tensor &npu); // both at once; undefined without a host view

// While it lives, this thread's CPU allocations come from the device's memory.
struct DeviceAllocations {
    explicit DeviceAllocations(int device);
    ~DeviceAllocations();
    int before;
};
// The memory of a CPU storage allocated so, as device memory; empty if it is not such memory.
c10::DataPtr take_device_data(c10::StorageImpl *cpu);

} // namespace npu

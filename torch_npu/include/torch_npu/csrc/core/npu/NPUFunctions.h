// SPDX-License-Identifier: BSD-3-Clause
// Devices, for C++ extensions. Errors are c10::Error with the official suffix.
#pragma once

#include <c10/core/Device.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUMacros.h"

namespace c10_npu
{

C10_NPU_API c10::DeviceIndex device_count() noexcept;        // 0 without a CANN or a device
C10_NPU_API c10::DeviceIndex device_count_ensure_non_zero(); // throws where there is none
C10_NPU_API c10::DeviceIndex current_device();
C10_NPU_API void set_device(c10::DeviceIndex device);
C10_NPU_API void device_synchronize(); // the current device's streams

// In AscendCL's form: a status instead of an exception.
C10_NPU_API aclError GetDevice(int32_t *device);
C10_NPU_API aclError SetDevice(c10::DeviceIndex device);

} // namespace c10_npu

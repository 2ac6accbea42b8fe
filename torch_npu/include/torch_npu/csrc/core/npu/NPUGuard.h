// SPDX-License-Identifier: BSD-3-Clause
// Guards, for C++ extensions: a device or a stream is current while one lives.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace c10_npu
{

// The device of that index, or of a tensor.
struct NPUGuard : c10::DeviceGuard {
    explicit NPUGuard(c10::DeviceIndex index) : c10::DeviceGuard(c10::Device(c10::DeviceType::PrivateUse1, index))
    {
    }
    explicit NPUGuard(c10::Device device) : c10::DeviceGuard(device)
    {
        TORCH_CHECK(device.type() == c10::DeviceType::PrivateUse1, "expected a device of the NPU, got ", device);
    }
};

struct NPUStreamGuard : c10::StreamGuard {
    explicit NPUStreamGuard(c10::Stream stream) : c10::StreamGuard(NPUStream(stream))
    {
    }
    NPUStream current_stream() const
    {
        return NPUStream(c10::StreamGuard::current_stream());
    }
};

using OptionalNPUGuard = c10::OptionalDeviceGuard;
using OptionalNPUStreamGuard = c10::OptionalStreamGuard;

} // namespace c10_npu

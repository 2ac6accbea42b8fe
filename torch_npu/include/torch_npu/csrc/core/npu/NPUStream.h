// SPDX-License-Identifier: BSD-3-Clause
// Streams, for C++ extensions: a c10::Stream of the NPU together with its AscendCL handle. A value; the stream itself
// lives as long as the process. A task put on stream() runs after the tensors' own tasks on it.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>

#include <ostream>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUMacros.h"

namespace c10_npu
{

class C10_NPU_API NPUStream
{
  public:
    enum Unchecked { UNCHECKED };
    explicit NPUStream(c10::Stream stream) : value(stream)
    {
        TORCH_CHECK(value.device_type() == c10::DeviceType::PrivateUse1, "expected a stream of the NPU, got one of ",
                    value.device());
    }
    NPUStream(Unchecked, c10::Stream stream) : value(stream)
    {
    }
    bool operator==(const NPUStream &other) const noexcept
    {
        return value == other.value;
    }
    bool operator!=(const NPUStream &other) const noexcept
    {
        return !(*this == other);
    }
    operator c10::Stream() const
    {
        return value;
    }
    operator aclrtStream() const
    {
        return stream();
    }
    c10::DeviceIndex device_index() const
    {
        return value.device_index();
    }
    c10::DeviceType device_type() const
    {
        return value.device_type();
    }
    c10::Device device() const
    {
        return value.device();
    }
    c10::StreamId id() const
    {
        return value.id();
    }
    c10::Stream unwrap() const
    {
        return value;
    }
    c10::StreamData3 pack3() const
    {
        return value.pack3();
    }
    static NPUStream unpack3(c10::StreamId id, c10::DeviceIndex device, c10::DeviceType type)
    {
        return NPUStream(c10::Stream::unpack3(id, device, type));
    }
    bool query() const
    {
        return value.query();
    }
    void synchronize() const
    {
        value.synchronize();
    }
    int priority() const;          // 0, or -1 for high
    aclrtStream stream() const;    // the handle; tasks of PyTorch are on it already
    aclrtStream stream(bool) const // the official flag "need_empty": here a stream has no queue before it
    {
        return stream();
    }

  private:
    c10::Stream value;
};

// Device -1 is the current one.
C10_NPU_API NPUStream getCurrentNPUStream(c10::DeviceIndex device = -1);
C10_NPU_API NPUStream getDefaultNPUStream(c10::DeviceIndex device = -1);
C10_NPU_API NPUStream getStreamFromPool(bool high_priority = false, c10::DeviceIndex device = -1);
C10_NPU_API NPUStream getNPUStreamFromPool(c10::DeviceIndex device = -1);
C10_NPU_API NPUStream getStreamFromExternal(aclrtStream stream, c10::DeviceIndex device);
C10_NPU_API void setCurrentNPUStream(NPUStream stream); // of this thread, on the stream's device
C10_NPU_API std::ostream &operator<<(std::ostream &out, const NPUStream &stream);

} // namespace c10_npu

template <> struct std::hash<c10_npu::NPUStream> {
    size_t operator()(const c10_npu::NPUStream &stream) const noexcept
    {
        return std::hash<c10::Stream>{}(stream.unwrap());
    }
};

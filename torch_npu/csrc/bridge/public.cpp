// SPDX-License-Identifier: BSD-3-Clause
// What libtorch_npu.so offers to C++ extensions under the official names (torch_npu/include): streams and devices.
#include <c10/core/impl/VirtualGuardImpl.h>

#include "device.h"
#include "error.h"
#include "torch_npu/csrc/core/npu/NPUFunctions.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace c10_npu
{

static c10::Device device_of(c10::DeviceIndex index)
{
    return {npu::device_type, index < 0 ? (c10::DeviceIndex)npu::current_device() : index};
}

static c10::impl::VirtualGuardImpl guard()
{
    return c10::impl::VirtualGuardImpl(npu::device_type);
}

c10::DeviceIndex device_count() noexcept
{
    return (c10::DeviceIndex)npu::device_count();
}

c10::DeviceIndex device_count_ensure_non_zero()
{
    std::string why;
    int count = npu::count_devices(&why);
    TORCH_CHECK(count > 0, "No NPUs are available: ", why);
    return (c10::DeviceIndex)count;
}

c10::DeviceIndex current_device()
{
    return (c10::DeviceIndex)npu::current_device();
}

void set_device(c10::DeviceIndex device)
{
    npu::set_device(device);
}

void device_synchronize()
{
    npu::wait_device(npu::current_device());
}

aclError GetDevice(int32_t *device)
{
    *device = npu::current_device();
    return ACL_SUCCESS;
}

aclError SetDevice(c10::DeviceIndex device)
{
    if (device < 0 || device >= npu::device_count())
        return ACL_ERROR_RT_INVALID_DEVICEID;
    npu::set_device(device);
    return ACL_SUCCESS;
}

int NPUStream::priority() const
{
    return npu::stream_priority((int)value.id());
}

aclrtStream NPUStream::stream() const
{
    int device = value.device_index();
    npu::use_device(device);
    return npu::stream_handle(device, (int)value.id());
}

NPUStream getCurrentNPUStream(c10::DeviceIndex device)
{
    return NPUStream(guard().getStream(device_of(device)));
}

NPUStream getDefaultNPUStream(c10::DeviceIndex device)
{
    return NPUStream(guard().getDefaultStream(device_of(device)));
}

NPUStream getStreamFromPool(bool high_priority, c10::DeviceIndex device)
{
    return NPUStream(guard().getStreamFromGlobalPool(device_of(device), high_priority));
}

NPUStream getNPUStreamFromPool(c10::DeviceIndex device)
{
    return getStreamFromPool(false, device);
}

NPUStream getStreamFromExternal(aclrtStream stream, c10::DeviceIndex device)
{
    int index = npu::foreign_stream(device_of(device).index(), stream);
    return NPUStream(c10::Stream(c10::Stream::UNSAFE, device_of(device), index));
}

void setCurrentNPUStream(NPUStream stream)
{
    guard().exchangeStream(stream.unwrap());
}

std::ostream &operator<<(std::ostream &out, const NPUStream &stream)
{
    return out << stream.unwrap();
}

} // namespace c10_npu

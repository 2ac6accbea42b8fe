// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's view of devices, streams and events: torch.Stream, torch.Event, device guards and torch.accelerator end
// here.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "device.h"
#include "error.h"
#include "memory.h"

namespace npu
{

static c10::Stream wrap(int device, int stream)
{
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, (c10::DeviceIndex)device), stream);
}

static int index_of(c10::Device device)
{
    return device.has_index() ? device.index() : current_device();
}

static aclrtStream handle_of(const c10::Stream &stream)
{
    use_device(stream.device_index());
    return stream_handle(stream.device_index(), (int)stream.id());
}

struct GuardImpl final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override
    {
        return device_type;
    }

    c10::Device exchangeDevice(c10::Device device) const override
    {
        c10::Device old(device_type, (c10::DeviceIndex)current_device());
        if (device.has_index())
            set_device(device.index());
        return old;
    }
    c10::Device getDevice() const override
    {
        return c10::Device(device_type, (c10::DeviceIndex)current_device());
    }
    void setDevice(c10::Device device) const override
    {
        if (device.has_index())
            set_device(device.index());
    }
    void uncheckedSetDevice(c10::Device device) const noexcept override
    {
        if (device.has_index() && device.index() < max_devices)
            thread_state.device = device.index();
    }
    c10::DeviceIndex deviceCount() const noexcept override
    {
        return (c10::DeviceIndex)device_count();
    }
    c10::DeviceCapability getDeviceCapability(c10::Device) const OVERRIDE_2_12
    {
        return {};
    }

    c10::Stream getStream(c10::Device device) const override
    {
        int index = index_of(device);
        return wrap(index, current_stream_index(index));
    }
    c10::Stream getDefaultStream(c10::Device device) const override
    {
        return wrap(index_of(device), 0);
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override
    {
        int index = index_of(device);
        return wrap(index, next_stream(index, high ? -1 : 0));
    }
    c10::Stream getNewStream(c10::Device device, int priority) const override
    {
        int index = index_of(device);
        return wrap(index, next_stream(index, priority));
    }
    c10::Stream exchangeStream(c10::Stream stream) const override
    {
        int index = stream.device_index();
        TORCH_CHECK(index >= 0 && index < max_devices && stream.id() >= 0 && stream.id() < max_streams,
                    "Unknown NPU stream ", stream.id(), error_suffix(Module::PTA, Kind::PARAM));
        c10::Stream old = wrap(index, current_stream_index(index));
        thread_state.stream[index] = (uint8_t)stream.id();
        return old;
    }
    void *getStreamNativeHandle(const c10::Stream stream) const OVERRIDE_2_12
    {
        return handle_of(stream);
    }
    bool queryStream(const c10::Stream &stream) const override
    {
        return stream_done(stream.device_index(), (int)stream.id());
    }
    void synchronizeStream(const c10::Stream &stream) const override
    {
        wait_stream(stream.device_index(), (int)stream.id());
    }
    void synchronizeDevice(const c10::DeviceIndex index) const override
    {
        wait_device(index < 0 ? current_device() : index);
    }

    // PYTORCH_DEFAULT asks for no timing, BACKEND_DEFAULT for timing.
    void record(void **event, const c10::Stream &stream, const c10::DeviceIndex index,
                const c10::EventFlag flag) const override
    {
        TORCH_CHECK(index == -1 || index == stream.device_index(), "Event device index ", (int)index,
                    " does not match recording stream's device index ", (int)stream.device_index(), ".",
                    error_suffix(Module::PTA, Kind::PARAM));
        aclrtStream handle = handle_of(stream);
        if (!*event) {
            aclrtEvent made;
            uint32_t flags = EVENT_SYNC | (flag == c10::EventFlag::BACKEND_DEFAULT ? EVENT_TIME_LINE : 0);
            if (cann.aclrtCreateEventExWithFlag) // events that graphs can capture
                ACL(aclrtCreateEventExWithFlag, &made, flags);
            else
                ACL(aclrtCreateEventWithFlag, &made, flags | EVENT_CAPTURE);
            *event = made;
        }
        ACL(aclrtRecordEvent, *event, handle);
    }
    void block(void *event, const c10::Stream &stream) const override
    {
        if (event)
            ACL(aclrtStreamWaitEvent, handle_of(stream), event);
    }
    bool queryEvent(void *event) const override
    {
        int done = 1;
        if (event)
            ACL(aclrtQueryEventStatus, event, &done);
        return done != 0;
    }
    void synchronizeEvent(void *event) const override
    {
        wait_event(event);
    }
    void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override
    {
        if (event && !forked())
            cann.aclrtDestroyEvent(event);
    }
    double elapsedTime(void *begin, void *end, const c10::DeviceIndex) const override
    {
        TORCH_CHECK(begin && end, "Both events must be recorded before calculating elapsed time.",
                    error_suffix(Module::PTA, Kind::INTERNAL));
        float ms = 0;
        ACL(aclrtEventElapsedTime, &ms, begin, end);
        return ms;
    }
    void recordDataPtrOnStream(const c10::DataPtr &ptr, const c10::Stream &stream) const override
    {
        memory_record_stream(ptr, stream);
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImpl)

} // namespace npu

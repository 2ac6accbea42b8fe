// SPDX-License-Identifier: BSD-3-Clause
// What PyTorch's device-neutral code asks of an accelerator.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "error.h"
#include "generator.h"
#include "memory.h"
#include "metadata.h"

namespace npu
{

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override
    {
        return true;
    }
    bool isAvailable() const override
    {
        return device_count() > 0;
    }
    bool hasPrimaryContext(c10::DeviceIndex device) const override
    {
        return device_used(device < 0 ? current_device() : device);
    }
    void init() const override
    {
        if (!any_device_used())
            use_device(current_device());
    }
    c10::DeviceIndex deviceCount() const override
    {
        return (c10::DeviceIndex)device_count();
    }
    void setCurrentDevice(c10::DeviceIndex device) const override
    {
        set_device(device);
    }
    c10::DeviceIndex getCurrentDevice() const override
    {
        return (c10::DeviceIndex)current_device();
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override
    {
        int old = current_device();
        set_device(device);
        return (c10::DeviceIndex)old;
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override
    {
        int old = current_device();
        if (device >= 0)
            set_device(device);
        return (c10::DeviceIndex)old;
    }
    bool isPinnedPtr(const void *data) const override
    {
        return pinned_contains(data);
    }
    c10::Allocator *getPinnedMemoryAllocator() const override
    {
        return pinned_allocator();
    }
    c10::Device getDeviceFromPtr(void *data) const override
    {
        for (int device = 0; device < max_devices; device++)
            if (device_used(device) && memory_find(device, data))
                return c10::Device(device_type, (c10::DeviceIndex)device);
        TORCH_CHECK(false, "The pointer is not NPU memory of this process.", error_suffix(Module::PTA, Kind::PTR));
    }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex device) const override
    {
        return default_generator(device);
    }
    at::Generator getNewGenerator(c10::DeviceIndex device) const override
    {
        return at::make_generator<Generator>(device < 0 ? current_device() : device);
    }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override
    {
        resize_storage(storage.unsafeGetStorageImpl(), bytes);
    }
};

static const bool registered = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    return true;
}();

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// Device memory seen from the CPU (host.h).
#include "host.h"

#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace npu
{

static void drop_storage(void *storage)
{
    c10::intrusive_ptr<c10::StorageImpl>::reclaim(static_cast<c10::StorageImpl *>(storage));
}

c10::intrusive_ptr<c10::StorageImpl> host_storage(c10::StorageImpl *device)
{
    size_t bytes = device->nbytes();
    void *host = nullptr;
    if (bytes && !(host = host_view(device->data(), bytes)))
        return {};
    auto owner = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(device);
    c10::DataPtr data(host, owner.release(), &drop_storage, c10::Device(c10::DeviceType::CPU));
    return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), (int64_t)bytes, std::move(data),
                                                 c10::GetCPUAllocator(), true);
}

bool is_host_storage(const c10::StorageImpl *storage)
{
    return storage->data_ptr().get_deleter() == &drop_storage;
}

at::Tensor host_tensor(c10::intrusive_ptr<c10::StorageImpl> storage, const c10::TensorImpl *like)
{
    auto tensor = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                           c10::DispatchKeySet(c10::DispatchKey::CPU), like->dtype());
    auto *impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(like->sizes(), like->strides());
    impl->set_storage_offset(like->storage_offset());
    if (like->is_wrapped_number())
        impl->set_wrapped_number(true);
    return tensor;
}

at::Tensor host_alias(const at::Tensor &npu)
{
    auto storage = host_storage(npu.storage().unsafeGetStorageImpl());
    return storage ? host_tensor(std::move(storage), npu.unsafeGetTensorImpl()) : at::Tensor();
}

// ---- CPU allocations from device memory ----
static thread_local int allocating_for __attribute__((tls_model("initial-exec"))) = -1;

// Blocks handed out so, by host address: the allocator's contract wants the context of an allocation to be its address.
static std::mutex lent_lock;
static std::atomic<size_t> lent_count{0};
static std::unordered_map<void *, Block *> &lent()
{
    static auto *const table = new std::unordered_map<void *, Block *>;
    return *table;
}

static c10::Allocator *usual; // PyTorch's own CPU allocator

static Block *take_lent(void *host)
{
    if (!lent_count.load(std::memory_order_acquire))
        return nullptr;
    std::lock_guard<std::mutex> lock(lent_lock);
    auto found = lent().find(host);
    if (found == lent().end())
        return nullptr;
    Block *block = found->second;
    lent().erase(found);
    lent_count--;
    return block;
}

static void drop(void *host)
{
    if (Block *block = take_lent(host))
        memory_give(block);
    else
        usual->raw_deleter()(host);
}

// Stands before PyTorch's CPU allocator: one thread-local test where nothing is switched on.
struct SwitchedAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        if (__builtin_expect(allocating_for < 0, 1) || !bytes)
            return usual->allocate(bytes);
        Block *block = memory_take(allocating_for, bytes);
        void *host = host_view(block->ptr, bytes);
        if (!host) {
            memory_give(block);
            return usual->allocate(bytes);
        }
        std::lock_guard<std::mutex> lock(lent_lock);
        lent()[host] = block;
        lent_count++;
        return {host, host, &drop, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return &drop;
    }
    void copy_data(void *dest, const void *src, std::size_t count) const override
    {
        default_copy_data(dest, src, count);
    }
};

static const bool registered = [] {
    usual = c10::GetCPUAllocator();
    c10::SetCPUAllocator(new SwitchedAllocator, 1);
    return true;
}();

DeviceAllocations::DeviceAllocations(int device) : before(allocating_for)
{
    allocating_for = device;
}
DeviceAllocations::~DeviceAllocations()
{
    allocating_for = before;
}

c10::DataPtr take_device_data(c10::StorageImpl *cpu)
{
    const c10::DataPtr &data = cpu->data_ptr();
    if (data.get_deleter() != &drop)
        return {};
    Block *block = take_lent(data.get());
    if (!block)
        return {};
    cpu->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU))).release_context();
    return {block->ptr, block, &memory_delete, c10::Device(device_type, block->device)};
}

} // namespace npu

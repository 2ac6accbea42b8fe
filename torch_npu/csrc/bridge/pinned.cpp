// SPDX-License-Identifier: BSD-3-Clause
// Pinned host memory (memory.h): blocks from aclrtMallocHost in power-of-two sizes, kept for reuse. A block that a
// stream may still be reading or writing waits for an event first; one that a graph reads or writes waits until the
// graph is gone. Lock: one.
#include "version.h"

#if TORCH_VERSION_MINOR >= 12
#include <ATen/core/CachingHostAllocator.h>
#endif

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "error.h"
#include "graph.h"
#include "memory.h"

namespace npu
{

struct HostBlock {
    char *ptr;
    size_t size;
    bool used;
    std::vector<aclrtEvent> events;
    std::vector<aclmdlRI> graphs;
};

struct HostMemory {
    std::mutex lock;
    HostStats stats;
    std::map<const char *, HostBlock *> all;
    std::vector<HostBlock *> free[64], waiting;
};

static HostMemory &host_memory()
{
    static HostMemory *const memory = new HostMemory; // leaked: tensors may outlive static destructors
    return *memory;
}

constexpr size_t page = 4096;

static int class_of(size_t size)
{
    return size <= 1 ? 0 : 64 - __builtin_clzl(size - 1);
}

static bool finished(HostBlock *block)
{
    if (!block->graphs.empty())
        return false;
    while (!block->events.empty()) {
        int done = 0;
        if (!cann.aclrtQueryEventStatus(block->events.back(), &done) && !done)
            return false;
        cann.aclrtDestroyEvent(block->events.back());
        block->events.pop_back();
    }
    return true;
}

static void release(HostMemory &memory, HostBlock *block)
{
    cann.aclrtFreeHost(block->ptr);
    memory.stats.segments.decrease(1);
    memory.stats.reserved_bytes.decrease(block->size);
    memory.all.erase(block->ptr);
    delete block;
}

// Keeps an unused block, unless it is larger than pinned_max_cached_size_mb.
static void shelve(HostMemory &memory, HostBlock *block)
{
    if (block->size > alloc_conf().pinned_cached)
        release(memory, block);
    else
        memory.free[class_of(block->size)].push_back(block);
}

static void poll(HostMemory &memory)
{
    for (size_t i = 0; i < memory.waiting.size();) {
        HostBlock *block = memory.waiting[i];
        if (!finished(block)) {
            i++;
            continue;
        }
        shelve(memory, block);
        memory.waiting[i] = memory.waiting.back();
        memory.waiting.pop_back();
    }
}

static void give(void *context)
{
    HostMemory &memory = host_memory();
    HostBlock *block = static_cast<HostBlock *>(context);
    std::lock_guard<std::mutex> lock(memory.lock);
    block->used = false;
    memory.stats.allocations.decrease(1);
    memory.stats.allocated_bytes.decrease(block->size);
    if (forked())
        return;
    if (finished(block))
        shelve(memory, block);
    else
        memory.waiting.push_back(block);
}

static HostBlock *take(size_t bytes)
{
    HostMemory &memory = host_memory();
    int size_class = std::max(9, class_of(bytes));
    std::lock_guard<std::mutex> lock(memory.lock);
    poll(memory);
    auto &list = memory.free[size_class];
    const AllocConf &conf = alloc_conf();
    bool exact = bytes > std::min(conf.pinned_round, conf.pinned_cached);
    size_t size = exact ? (bytes + page - 1) / page * page : (size_t)1 << size_class;
    auto fits = std::find_if(list.begin(), list.end(), [&](HostBlock *b) { return b->size >= size; });
    HostBlock *block;
    if (fits == list.end()) {
        use_device(current_device());
        void *ptr = nullptr;
        ACL(aclrtMallocHost, &ptr, size);
        block = new HostBlock{static_cast<char *>(ptr), size, true, {}, {}};
        memory.all[block->ptr] = block;
        memory.stats.segments.increase(1);
        memory.stats.reserved_bytes.increase(block->size);
    } else {
        block = *fits;
        *fits = list.back();
        list.pop_back();
    }
    block->used = true;
    memory.stats.allocations.increase(1);
    memory.stats.allocated_bytes.increase(block->size);
    return block;
}

static HostBlock *find(HostMemory &memory, const void *ptr)
{
    auto at = memory.all.upper_bound(static_cast<const char *>(ptr));
    if (at == memory.all.begin())
        return nullptr;
    HostBlock *block = std::prev(at)->second;
    return static_cast<const char *>(ptr) < block->ptr + block->size ? block : nullptr;
}

bool pinned_contains(const void *ptr)
{
    if (!ptr)
        return false;
    HostMemory &memory = host_memory();
    std::lock_guard<std::mutex> lock(memory.lock);
    HostBlock *block = find(memory, ptr);
    return block && block->used;
}

void pinned_record(const void *ptr, int device, int stream)
{
    HostMemory &memory = host_memory();
    std::lock_guard<std::mutex> lock(memory.lock);
    HostBlock *block = find(memory, ptr);
    if (!block)
        return;
    if (aclmdlRI graph = captures_active() ? stream_capture(stream_handle(device, stream)) : nullptr) {
        if (std::find(block->graphs.begin(), block->graphs.end(), graph) == block->graphs.end())
            block->graphs.push_back(graph);
        return;
    }
    aclrtEvent event;
    use_device(device);
    ACL(aclrtCreateEventWithFlag, &event, EVENT_SYNC);
    block->events.push_back(event);
    ACL(aclrtRecordEvent, event, stream_handle(device, stream));
}

void pinned_release(aclmdlRI graph)
{
    HostMemory &memory = host_memory();
    std::lock_guard<std::mutex> lock(memory.lock);
    for (auto &[ptr, block] : memory.all)
        block->graphs.erase(std::remove(block->graphs.begin(), block->graphs.end(), graph), block->graphs.end());
}

void pinned_empty_cache()
{
    HostMemory &memory = host_memory();
    std::lock_guard<std::mutex> lock(memory.lock);
    poll(memory);
    for (auto &list : memory.free) {
        for (HostBlock *block : list)
            release(memory, block);
        list.clear();
    }
}

HostStats pinned_stats(bool reset_peak, bool reset_accumulated)
{
    HostMemory &memory = host_memory();
    std::lock_guard<std::mutex> lock(memory.lock);
    for (auto *stat : {&memory.stats.allocations, &memory.stats.segments, &memory.stats.allocated_bytes,
                       &memory.stats.reserved_bytes}) {
        if (reset_peak)
            stat->reset_peak();
        if (reset_accumulated)
            stat->reset_accumulated();
    }
    return memory.stats;
}

static c10::DataPtr pinned_data(size_t bytes)
{
    if (!bytes)
        return {nullptr, c10::DeviceType::CPU};
    HostBlock *block = take(bytes);
    return {block->ptr, block, &give, c10::DeviceType::CPU};
}

#if TORCH_VERSION_MINOR >= 12
struct PinnedAllocator final : at::HostAllocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        return pinned_data(bytes);
    }
    void copy_data(void *dest, const void *src, std::size_t count) const override
    {
        default_copy_data(dest, src, count);
    }
    bool record_event(void *ptr, void *, c10::Stream stream) override
    {
        pinned_record(ptr, stream.device_index(), (int)stream.id());
        return true;
    }
    void empty_cache() override
    {
        pinned_empty_cache();
    }
    at::HostStats get_stats() override
    {
        HostStats own = pinned_stats();
        at::HostStats stats;
        stats.active_requests = own.allocations;
        stats.active_bytes = own.allocated_bytes;
        stats.allocations = own.segments;
        stats.allocated_bytes = own.reserved_bytes;
        return stats;
    }
    void reset_accumulated_stats() override
    {
        pinned_stats(false, true);
    }
    void reset_peak_stats() override
    {
        pinned_stats(true, false);
    }
};
#else
struct PinnedAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        return pinned_data(bytes);
    }
    void copy_data(void *dest, const void *src, std::size_t count) const override
    {
        default_copy_data(dest, src, count);
    }
};
#endif

static PinnedAllocator *allocator()
{
    static PinnedAllocator *const made = new PinnedAllocator;
    return made;
}

c10::Allocator *pinned_allocator()
{
    return allocator();
}

#if TORCH_VERSION_MINOR >= 12
// torch.accelerator's functions for host memory ask it.
static const bool registered = [] {
    at::setHostAllocator(device_type, allocator());
    return true;
}();
#endif

} // namespace npu

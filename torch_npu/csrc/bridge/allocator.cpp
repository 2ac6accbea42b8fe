// SPDX-License-Identifier: BSD-3-Clause
// The caching allocator of device memory (memory.h): blocks taken and given back, and PyTorch's view of it. The inside
// and its lock: allocator.h.
#include "allocator.h"

#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <mutex>

#include "error.h"
#include "graph.h"
#include "history.h"
#include "profile.h"

namespace npu
{

constexpr size_t lazy_limit = 512; // events that wait before they are looked at, with multi_stream_lazy_reclaim

constinit thread_local Block *spare_headers = nullptr;

static size_t rounded(size_t bytes, const AllocConf &conf)
{
    size_t megabytes_log = bytes > small_limit ? 63 - __builtin_clzl(bytes) - 20 : 0;
    size_t parts = conf.divisions[std::min<size_t>(megabytes_log, 15)];
    if (parts > 1 && bytes > grain * parts) {
        size_t step = (1ull << (63 - __builtin_clzl(bytes))) / parts;
        return (bytes + step - 1) / step * step;
    }
    size_t unit = conf.expandable && bytes > small_limit ? std::max(grain, conf.alignment) : grain;
    return std::max(grain, (bytes + unit - 1) / unit * unit);
}

static bool acceptable(const Block *block, size_t size, const AllocConf &conf)
{
    if (block->size < size)
        return false;
    if (conf.max_split == SIZE_MAX || block->pool->small)
        return true;
    if (size < conf.max_split)
        return block->size < conf.max_split;
    return block->size < size + conf.max_non_split_rounding;
}

Block *find_free(Pool *pool, size_t size, const AllocConf &conf)
{
    int bin = bin_of(size);
    Block *best = nullptr;
    int tries = 32;
    for (Block *b = pool->bin[bin]; b && tries; b = b->free_next, tries--)
        if (acceptable(b, size, conf) && (!best || b->size < best->size)) {
            best = b;
            if (best->size == size)
                break;
        }
    if (best)
        return best;
    for (int word = (bin + 1) / 64; word < words; word++) {
        uint64_t map = pool->map[word];
        if (word == (bin + 1) / 64)
            map &= ~0ull << ((bin + 1) % 64);
        for (; map; map &= map - 1)
            for (Block *b = pool->bin[word * 64 + __builtin_ctzl(map)]; b; b = b->free_next)
                if (acceptable(b, size, conf))
                    return b;
    }
    return nullptr;
}

static Pool *pool_of(Device &d, PrivatePool *own, int stream, bool small)
{
    Pool *&pool = own ? own->pool[stream][small] : d.pool[stream][small];
    if (!pool) {
        pool = new Pool();
        pool->small = small;
        pool->owner = own;
    }
    return pool;
}

// Joins a free block with its free neighbours and lists the result.
static void settle(Device &d, Block *block)
{
    bool small = block->pool->small;
    auto free_block = [](Block *b) { return b && !b->allocated && !b->events; };
    if (is_split(block)) {
        count_up(d.stats.inactive_split, small, 1);
        count_up(d.stats.inactive_split_bytes, small, block->size);
    }
    if (__builtin_expect(history_on.load(std::memory_order_relaxed), 0))
        history_add(Action::FREE_COMPLETED, block->device, block->stream, block->ptr, block->size);
    Block *gone[2] = {nullptr, nullptr};
    if (free_block(block->before)) {
        Block *before = block->before;
        unlist_free(before);
        count_down(d.stats.inactive_split, small, 1);
        block->ptr = before->ptr;
        block->size += before->size;
        block->before = before->before;
        if (block->before)
            block->before->after = block;
        else
            d.segment[block->ptr] = block;
        gone[0] = before;
    }
    if (free_block(block->after)) {
        Block *after = block->after;
        unlist_free(after);
        count_down(d.stats.inactive_split, small, 1);
        block->size += after->size;
        block->after = after->after;
        if (block->after)
            block->after->before = block;
        gone[1] = after;
    }
    if ((gone[0] || gone[1]) && !is_split(block)) { // the segment is whole again
        count_down(d.stats.inactive_split, small, 1);
        count_down(d.stats.inactive_split_bytes, small, block->size);
    }
    for (Block *b : gone)
        if (b)
            drop_header(b);
    block->age = ++d.frees;
    list_free(block);
}

static void retire(Device &d, Block *block)
{ // free and no longer used by any stream
    count_down(d.stats.active, block->pool->small, 1);
    count_down(d.stats.active_bytes, block->pool->small, block->size);
    settle(d, block);
}

void poll_pending(Device &d, bool wait)
{
    while (!d.pending.empty()) {
        Pending &first = d.pending.front();
        int done = 1;
        if (wait)
            cann.aclrtSynchronizeEvent(first.event);
        else
            cann.aclrtQueryEventStatus(first.event, &done);
        if (!done)
            return;
        cann.aclrtDestroyEvent(first.event);
        Block *block = first.block;
        d.pending.pop_front();
        if (--block->events == 0)
            retire(d, block);
    }
}

// Memory of its own for each request: PYTORCH_NO_NPU_MEMORY_CACHING, and allocators that users brought.
static Block *take_uncached(Device &d, int device, int stream, size_t bytes, size_t size, const AllocConf &conf)
{
    void *ptr = nullptr;
    const Pluggable *changed = changed_allocator();
    if (changed)
        ptr = changed->take((ssize_t)bytes, device, stream_handle(device, stream));
    else if (cann.aclrtMalloc(&ptr, size, MALLOC_HUGE_FIRST))
        ptr = nullptr;
    if (!ptr)
        out_of_memory(d, device, bytes, conf);
    if (changed) {
        count_up(d.stats.allocation, false, 1);
        count_up(d.stats.allocated_bytes, false, bytes);
        count_up(d.stats.reserved_bytes, false, bytes);
    }
    Block *block = fill(new Block, static_cast<char *>(ptr), size, nullptr, device, stream, 0);
    block->requested = bytes;
    block->allocated = true;
    return block;
}

static void watch(const Device &d, const Block *block, bool taken) noexcept
{
    memory_report(block, taken, (size_t)d.stats.allocated_bytes[0].current, (size_t)d.stats.reserved_bytes[0].current,
                  (size_t)d.stats.active_bytes[0].current);
}

static void give_with_uses(Device &d, Block *block);

void take_up_deferred(Device &d)
{
    std::vector<Block *> blocks;
    blocks.swap(d.deferred);
    for (Block *block : blocks) {
        block->events--;
        give_with_uses(d, block);
        if (!block->events)
            retire(d, block);
    }
}

// The last resort of a request: pools whose makers allow it.
static Block *from_private(Device &d, int stream, bool small, size_t size, const AllocConf &conf)
{
    for (PrivatePool *own : d.own.all)
        if (own->use_on_oom && own->pool[stream][small])
            if (Block *block = find_free(own->pool[stream][small], size, conf))
                return block;
    return nullptr;
}

static Block *take(int device, size_t bytes)
{
    const AllocConf &conf = alloc_conf();
    use_device(device);
    int stream = current_stream_index(device);
    Device &d = device_memory(device);
    std::shared_ptr<c10::GatheredContext> context;
    if (__builtin_expect(history_on.load(std::memory_order_relaxed), 0))
        context = history_context();
    std::lock_guard<Latch> lock(d.lock);
    if (__builtin_expect(bytes > (size_t)1 << 56, 0))
        out_of_memory(d, device, bytes, conf);
    size_t size = rounded(bytes, conf);
    if (__builtin_expect(!conf.caching || changed_allocator(), 0))
        return take_uncached(d, device, stream, bytes, size, conf);
    if (__builtin_expect(!d.deferred.empty(), 0) && !captures_active())
        take_up_deferred(d);
    if (__builtin_expect(!d.pending.empty(), 0) && (!conf.lazy || d.pending.size() > lazy_limit))
        poll_pending(d, false);
    bool small = size <= small_limit;
    PrivatePool *own = __builtin_expect(d.own.routes.empty(), 1) ? nullptr : d.own.route(stream_handle(device, stream));
    Pool *pool = pool_of(d, own, stream, small);
    Block *block = find_free(pool, size, conf);
    if (__builtin_expect(!block && conf.lazy && !d.pending.empty(), 0)) {
        poll_pending(d, false);
        block = find_free(pool, size, conf);
    }
    if (__builtin_expect(!block, 0)) {
        if (conf.fraction > 0 && d.limit == SIZE_MAX) {
            size_t free, total;
            ACL(aclrtGetMemInfo, HBM_MEM, &free, &total);
            d.limit = (size_t)(conf.fraction * (double)total);
        }
        if (conf.refuse_early && d.limit == SIZE_MAX)
            refuse_early(d, device, bytes, size, conf);
        block = grow(d, pool, device, stream, size, conf);
        if (!block && !(block = from_private(d, stream, small, size, conf)))
            out_of_memory(d, device, bytes, conf);
        pool = block->pool;
    }
    unlist_free(block);
    bool was_split = is_split(block);
    if (was_split) {
        count_down(d.stats.inactive_split, small, 1);
        count_down(d.stats.inactive_split_bytes, small, block->size);
    }
    size_t rest = block->size - size;
    if ((small ? rest >= grain : rest > small_limit && size < conf.max_split) &&
        !(pool->owner && pool->owner->no_split)) {
        Block *tail = fill(new_header(), block->ptr + size, rest, pool, block->device, block->stream, block->age);
        tail->before = block;
        tail->after = block->after;
        if (tail->after)
            tail->after->before = tail;
        block->after = tail;
        block->size = size;
        count_up(d.stats.inactive_split, small, 1);
        count_up(d.stats.inactive_split_bytes, small, rest);
        list_free(tail);
    }
    block->allocated = true;
    block->requested = bytes;
    count_up(d.stats.allocation, small, 1);
    count_up(d.stats.allocated_bytes, small, block->size);
    count_up(d.stats.active, small, 1);
    count_up(d.stats.active_bytes, small, block->size);
    count_up(d.stats.requested_bytes, small, bytes);
    if (block->size >= conf.max_split)
        d.stats.oversize_allocations.increase(1);
    if (__builtin_expect(history_on.load(std::memory_order_relaxed), 0))
        history_add(Action::ALLOC, device, stream, block->ptr, block->size, std::move(context));
    if (__builtin_expect(memory_watched.load(std::memory_order_relaxed), 0))
        watch(d, block, true);
    return block;
}

Block *memory_take(int device, size_t bytes)
{
    try {
        return take(device, bytes);
    } catch (const c10::OutOfMemoryError &) {
        if (out_of_memory_observer) {
            size_t free = 0, total = 0;
            cann.aclrtGetMemInfo(HBM_MEM, &free, &total);
            out_of_memory_observer(device, bytes, total, free);
        }
        throw;
    }
}

static void give_with_uses(Device &d, Block *block)
{
    if (__builtin_expect(captures_active() > 0, 0)) { // an event recorded now would be the capture's
        block->events++;
        d.deferred.push_back(block);
        return;
    }
    for (uint8_t stream : *block->uses) {
        aclrtEvent event;
        if (cann.aclrtCreateEventWithFlag(&event, EVENT_SYNC) ||
            cann.aclrtRecordEvent(event, stream_handle(block->device, stream)))
            continue;
        block->events++;
        d.pending.push_back({block, event});
    }
    delete block->uses;
    block->uses = nullptr;
}

void memory_give(Block *block) noexcept
{
    if (__builtin_expect(forked(), 0))
        return; // a forked child inherits the tensors but must not touch the device
    Device &d = device_memory(block->device);
    if (__builtin_expect(!block->pool, 0)) {
        if (const Pluggable *changed = changed_allocator()) {
            {
                std::lock_guard<Latch> lock(d.lock);
                count_down(d.stats.allocation, false, 1);
                count_down(d.stats.allocated_bytes, false, block->requested);
                count_down(d.stats.reserved_bytes, false, block->requested);
            }
            changed->give(block->ptr, (ssize_t)block->requested, block->device,
                          stream_handle(block->device, block->stream));
            delete block->uses;
            delete block;
            return;
        }
        try {
            wait_device(block->device);
        } catch (...) { // the error stays with the stream
        }
        cann.aclrtFree(block->ptr);
        delete block->uses;
        delete block;
        return;
    }
    std::lock_guard<Latch> lock(d.lock);
    bool small = block->pool->small;
    block->allocated = false;
    if (__builtin_expect(history_on.load(std::memory_order_relaxed), 0))
        history_add(Action::FREE_REQUESTED, block->device, block->stream, block->ptr, block->size);
    count_down(d.stats.allocation, small, 1);
    count_down(d.stats.allocated_bytes, small, block->size);
    count_down(d.stats.requested_bytes, small, block->requested);
    if (block->size >= alloc_conf().max_split)
        d.stats.oversize_allocations.decrease(1);
    if (__builtin_expect(memory_watched.load(std::memory_order_relaxed), 0))
        watch(d, block, false);
    if (__builtin_expect(block->uses != nullptr, 0)) {
        use_device(block->device);
        give_with_uses(d, block);
    }
    if (!block->events)
        retire(d, block);
}

void memory_delete(void *block)
{
    memory_give(static_cast<Block *>(block));
}

c10::DataPtr memory_data(int device, size_t bytes)
{
    c10::Device where(device_type, (c10::DeviceIndex)device);
    if (!bytes) {
        check_device(device);
        return {nullptr, where};
    }
    Block *block = memory_take(device, bytes);
    return {block->ptr, block, &memory_delete, where};
}

bool memory_segment(const c10::DataPtr &ptr, char **base, size_t *bytes)
{
    if (!ptr.get() || ptr.get_deleter() != &memory_delete)
        return false;
    Block *block = static_cast<Block *>(ptr.get_context());
    std::lock_guard lock(device_memory(block->device).lock);
    if (block->pool && block->pool->range)
        return false;
    while (block->before)
        block = block->before;
    *base = block->ptr;
    *bytes = 0;
    for (; block; block = block->after)
        *bytes += block->size;
    return true;
}

void memory_record_stream(const c10::DataPtr &ptr, const c10::Stream &stream)
{
    if (!ptr.get() || ptr.get_deleter() != &memory_delete)
        return; // not ours: another process's or a view made from foreign memory
    Block *block = static_cast<Block *>(ptr.get_context());
    uint8_t index = (uint8_t)stream.id();
    if (block->stream == index)
        return;
    std::lock_guard<Latch> lock(device_memory(block->device).lock);
    if (!block->uses)
        block->uses = new std::vector<uint8_t>;
    if (std::find(block->uses->begin(), block->uses->end(), index) == block->uses->end())
        block->uses->push_back(index);
}

void memory_erase_stream(const c10::DataPtr &ptr, int stream)
{
    if (!ptr.get() || ptr.get_deleter() != &memory_delete)
        return;
    Block *block = static_cast<Block *>(ptr.get_context());
    std::lock_guard<Latch> lock(device_memory(block->device).lock);
    if (block->uses)
        block->uses->erase(std::remove(block->uses->begin(), block->uses->end(), (uint8_t)stream), block->uses->end());
}

std::vector<MemorySegment> memory_snapshot()
{
    std::vector<MemorySegment> all;
    for (int device = 0; device < max_devices; device++) {
        Device &d = device_memory(device);
        std::lock_guard<Latch> lock(d.lock);
        for (auto &[ptr, first] : d.segment) {
            const PrivatePool *own = first->pool->owner;
            MemorySegment segment{device,
                                  first->stream,
                                  (size_t)ptr,
                                  0,
                                  !first->pool->small,
                                  first->pool->range != nullptr,
                                  own ? own->id : c10::MempoolId_t{0, 0},
                                  {}};
            for (Block *b = first; b; b = b->after) {
                segment.total += b->size;
                segment.piece.push_back(
                    {(size_t)b->ptr, b->size, b->requested, b->allocated, b->allocated || b->events > 0});
            }
            all.push_back(std::move(segment));
        }
    }
    return all;
}

Block *memory_find(int device, void *ptr)
{
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    auto at = d.segment.upper_bound(static_cast<char *>(ptr));
    if (at == d.segment.begin())
        return nullptr;
    for (Block *b = std::prev(at)->second; b; b = b->after)
        if (b->ptr == ptr)
            return b->allocated ? b : nullptr;
    return nullptr;
}

void memory_set_fraction(int device, double fraction)
{
    size_t free, total;
    use_device(device);
    ACL(aclrtGetMemInfo, HBM_MEM, &free, &total);
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    d.limit = fraction >= 1 ? SIZE_MAX : (size_t)(fraction * (double)total);
}

int64_t memory_rejections(int device)
{
    return device_memory(device).rejections;
}

double memory_fraction(int device)
{
    Device &d = device_memory(device);
    if (d.limit == SIZE_MAX)
        return 1;
    size_t free, total;
    use_device(device);
    ACL(aclrtGetMemInfo, HBM_MEM, &free, &total);
    return (double)d.limit / (double)total;
}

struct Allocator final : c10::DeviceAllocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        return memory_data(current_device(), bytes);
    }
    // Copies on the device itself, in the order of the current stream.
    void copy_data(void *dest, const void *src, std::size_t count) const override
    {
        ACL(aclrtMemcpyAsync, dest, count, src, count, MEMCPY_D2D, current_stream(current_device()));
    }
    bool initialized() override
    {
        return any_device_used();
    }
    void emptyCache(c10::MempoolId_t pool) override
    {
        if (captures_active())
            return; // a capture can wait for nothing
        for (int device = 0; device < max_devices; device++) {
            if (!device_used(device))
                continue;
            if (pool.first || pool.second) {
                pool_empty(device, pool);
                continue;
            }
            wait_device(device);
            Device &d = device_memory(device);
            std::lock_guard<Latch> lock(d.lock);
            take_up_deferred(d);
            poll_pending(d, true);
            release_cached(d, SIZE_MAX);
        }
        if (device_used(current_device()))
            use_device(current_device());
    }
    void recordStream(const c10::DataPtr &ptr, c10::Stream stream) override
    {
        memory_record_stream(ptr, stream);
    }
    DeviceStats getDeviceStats(c10::DeviceIndex device) override
    {
        Device &d = device_memory(device < 0 ? current_device() : device);
        std::lock_guard<Latch> lock(d.lock);
        DeviceStats stats = d.stats;
        stats.max_split_size = alloc_conf().max_split == SIZE_MAX ? -1 : (int64_t)alloc_conf().max_split;
        return stats;
    }
    template <class Change> static void each_stat(DeviceStats &s, Change change)
    {
        for (StatArray *array : {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes,
                                 &s.reserved_bytes, &s.active_bytes, &s.inactive_split_bytes, &s.requested_bytes})
            for (auto &stat : *array)
                change(stat);
        change(s.oversize_allocations);
        change(s.oversize_segments);
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override
    {
        Device &d = device_memory(device < 0 ? current_device() : device);
        std::lock_guard<Latch> lock(d.lock);
        each_stat(d.stats, [](auto &stat) { stat.reset_accumulated(); });
        d.stats.num_alloc_retries = d.stats.num_ooms = d.stats.num_sync_all_streams = d.stats.num_device_alloc =
            d.stats.num_device_free = 0;
        d.rejections = 0;
    }
    void resetPeakStats(c10::DeviceIndex device) override
    {
        Device &d = device_memory(device < 0 ? current_device() : device);
        std::lock_guard<Latch> lock(d.lock);
        each_stat(d.stats, [](auto &stat) { stat.reset_peak(); });
    }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override
    {
        size_t free = 0, total = 0;
        use_device(device < 0 ? current_device() : device);
        ACL(aclrtGetMemInfo, HBM_MEM, &free, &total);
        return {free, total};
    }
};

c10::DeviceAllocator *memory_allocator()
{
    static Allocator *const allocator = new Allocator;
    return allocator;
}

static const bool registered = [] {
    c10::SetAllocator(device_type, memory_allocator());
    return true;
}();

} // namespace npu

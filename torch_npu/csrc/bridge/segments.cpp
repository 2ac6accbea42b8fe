// SPDX-License-Identifier: BSD-3-Clause
// Segments of the caching allocator (allocator.h): what is taken from the device, what goes back to it and when, and
// what is said when nothing is left. Under the device's lock.
#include <algorithm>

#include "allocator.h"
#include "error.h"
#include "graph.h"
#include "history.h"
#include "logs.h"

namespace npu
{

using c10::CachingAllocator::format_size;

constexpr size_t own_segment = 10u << 20; // requests from this size on get a segment of their own
constexpr size_t segment_round = 2u << 20;

static void release_segment(Device &d, Block *block)
{
    bool small = block->pool->small;
    unlist_free(block);
    if (history_on)
        history_add(Action::SEGMENT_FREE, block->device, block->stream, block->ptr, block->size);
    if (logs(Log::MEMORY, LogLevel::INFO))
        log_write(Log::MEMORY, LogLevel::INFO, "aclrtFree %p, %zu bytes", block->ptr, (size_t)block->size);
    PrivatePool *own = block->pool->owner;
    if (own && own->source)
        own->source->give(block->ptr, (ssize_t)block->size, block->device, stream_handle(block->device, block->stream));
    else
        cann.aclrtFree(block->ptr);
    if (own)
        own->segments--;
    d.stats.num_device_free++;
    count_down(d.stats.segment, small, 1);
    count_down(d.stats.reserved_bytes, small, block->size);
    if (block->size >= alloc_conf().max_split)
        d.stats.oversize_segments.decrease(1);
    d.segment.erase(block->ptr);
    drop_header(block);
}

// Gives the end of a range back as far as the block, which is free and the last one, reaches; returns the bytes.
static size_t shrink_range(Device &d, Block *block)
{
    Range *range = block->pool->range;
    bool small = block->pool->small, split = is_split(block);
    size_t bytes = range->spare(block->ptr);
    if (!bytes)
        return 0;
    unlist_free(block);
    range->shrink(bytes);
    d.stats.num_device_free++;
    count_down(d.stats.reserved_bytes, small, bytes);
    if (history_on)
        history_add(Action::SEGMENT_FREE, block->device, block->stream, range->base + range->mapped, bytes);
    if (split)
        count_down(d.stats.inactive_split_bytes, small, bytes);
    block->size -= bytes;
    if (block->size) {
        list_free(block);
        return bytes;
    }
    if (split)
        count_down(d.stats.inactive_split, small, 1);
    if (block->before) {
        block->before->after = nullptr;
    } else {
        d.segment.erase(block->ptr);
        count_down(d.stats.segment, small, 1);
    }
    drop_header(block);
    return bytes;
}

void drop_pools(Device &d)
{
    auto gone = [](PrivatePool *own) {
        if (own->holders || own->segments)
            return false;
        for (auto &by_size : own->pool)
            for (Pool *pool : by_size)
                delete pool;
        delete own;
        return true;
    };
    d.own.all.erase(std::remove_if(d.own.all.begin(), d.own.all.end(), gone), d.own.all.end());
}

size_t release_cached(Device &d, size_t enough, const PrivatePool *only)
{
    std::vector<Block *> whole;
    for (auto &[ptr, block] : d.segment) {
        const PrivatePool *own = block->pool->owner;
        if (!block->allocated && !block->events && !is_split(block) && !block->pool->range &&
            (only ? own == only : !own || !own->holders))
            whole.push_back(block);
    }
    std::sort(whole.begin(), whole.end(), [&](Block *a, Block *b) { return d.frees - a->age > d.frees - b->age; });
    size_t freed = 0;
    for (Block *block : whole) {
        if (freed >= enough)
            break;
        freed += block->size;
        release_segment(d, block);
    }
    if (!d.own.all.empty())
        drop_pools(d);
    if (only)
        return freed;
    std::vector<Block *> ends;
    for (auto &[ptr, first] : d.segment)
        if (first->pool->range) {
            Block *last = first;
            while (last->after)
                last = last->after;
            if (!last->allocated && !last->events)
                ends.push_back(last);
        }
    for (Block *last : ends)
        if (freed < enough)
            freed += shrink_range(d, last);
    return freed;
}

// A free block of at least `size` bytes at the end of the pool's range.
static Block *grow_range(Device &d, Pool *pool, int device, int stream, size_t size, const AllocConf &conf)
{
    if (!pool->range)
        pool->range = new Range(device);
    Range *range = pool->range;
    auto first = d.segment.find(range->base);
    Block *last = range->base && first != d.segment.end() ? first->second : nullptr;
    while (last && last->after)
        last = last->after;
    bool joins = last && !last->allocated && !last->events;
    size_t chunk = pool->small       ? small_segment
                   : conf.huge_pages ? (size_t)1 << 30
                                     : (conf.segment + segment_round - 1) / segment_round * segment_round;
    size_t bytes = (size - (joins ? last->size : 0) + chunk - 1) / chunk * chunk;
    size_t reserved = (size_t)d.stats.reserved_bytes[0].current;
    if (bytes > d.limit || reserved > d.limit - bytes || !range->grow(bytes, chunk))
        return nullptr;
    char *begin = range->base + range->mapped - bytes;
    d.stats.num_device_alloc++;
    count_up(d.stats.reserved_bytes, pool->small, bytes);
    if (history_on)
        history_add(Action::SEGMENT_ALLOC, device, stream, begin, bytes);
    if (joins) {
        unlist_free(last);
        if (is_split(last))
            count_up(d.stats.inactive_split_bytes, pool->small, bytes);
        last->size += bytes;
        list_free(last);
        return last;
    }
    Block *block = fill(new_header(), begin, bytes, pool, device, stream, d.frees);
    block->before = last;
    if (last) {
        last->after = block;
        count_up(d.stats.inactive_split, pool->small, 1);
        count_up(d.stats.inactive_split_bytes, pool->small, bytes);
    } else {
        d.segment[begin] = block;
        count_up(d.stats.segment, pool->small, 1);
    }
    list_free(block);
    return block;
}

static Block *new_segment(Device &d, Pool *pool, int device, int stream, size_t size, const AllocConf &conf)
{
    if (conf.expandable && !pool->owner)
        return grow_range(d, pool, device, stream, size, conf);
    size_t round = conf.huge_pages && !pool->small ? (size_t)1 << 30 : segment_round;
    size_t bytes = pool->small ? small_segment : size < own_segment && size < conf.segment ? conf.segment : size;
    bytes = (bytes + round - 1) / round * round;
    size_t reserved = (size_t)d.stats.reserved_bytes[0].current;
    if (bytes < size || bytes > d.limit || reserved > d.limit - bytes)
        return nullptr;
    void *ptr = nullptr;
    if (pool->owner && pool->owner->source)
        ptr = pool->owner->source->take((ssize_t)bytes, device, stream_handle(device, stream));
    else if (cann.aclrtMalloc(&ptr, bytes, MALLOC_HUGE_FIRST))
        return nullptr;
    if (!ptr)
        return nullptr;
    if (pool->owner)
        pool->owner->segments++;
    if (logs(Log::MEMORY, LogLevel::INFO))
        log_write(Log::MEMORY, LogLevel::INFO, "aclrtMalloc %p, %zu bytes for a block of %zu", ptr, bytes, size);
    d.stats.num_device_alloc++;
    Block *block = fill(new_header(), static_cast<char *>(ptr), bytes, pool, device, stream, d.frees);
    d.segment[block->ptr] = block;
    count_up(d.stats.segment, pool->small, 1);
    count_up(d.stats.reserved_bytes, pool->small, bytes);
    if (bytes >= conf.max_split)
        d.stats.oversize_segments.increase(1);
    list_free(block);
    if (history_on)
        history_add(Action::SEGMENT_ALLOC, device, stream, ptr, bytes);
    return block;
}

void out_of_memory(Device &d, int device, size_t bytes, const AllocConf &conf)
{
    size_t free = 0, total = 0;
    cann.aclrtGetMemInfo(HBM_MEM, &free, &total);
    d.stats.num_ooms++;
    if (history_on)
        history_add(Action::OOM, device, current_stream_index(device), (void *)free, bytes, {});
    if (logs(Log::MEMORY, LogLevel::ERROR))
        log_write(Log::MEMORY, LogLevel::ERROR, "out of memory: %zu bytes wanted", (size_t)bytes);
    std::string text = "NPU out of memory. Tried to allocate " + format_size(bytes) + " (NPU " +
                       std::to_string(device) + "; " + format_size(total) + " total capacity; " +
                       format_size((size_t)d.stats.allocated_bytes[0].current) + " already allocated; " +
                       format_size((size_t)d.stats.active_bytes[0].current) + " current active; " + format_size(free) +
                       " free; " + format_size((size_t)d.stats.reserved_bytes[0].current) +
                       " reserved in total by PyTorch)";
    if (d.limit != SIZE_MAX)
        text += " " + format_size(d.limit) + " allowed;";
    text += conf.max_split == SIZE_MAX && !conf.expandable
                ? "If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation."
                : "";
    text += error_suffix(Module::PTA, Kind::MEMORY);
    c10::reportOutOfMemoryToProfiler((int64_t)bytes, (size_t)d.stats.allocated_bytes[0].current,
                                     (size_t)d.stats.reserved_bytes[0].current,
                                     c10::Device(device_type, (c10::DeviceIndex)device));
    throw c10::OutOfMemoryError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text);
}

void refuse_early(Device &d, int device, size_t bytes, size_t size, const AllocConf &conf)
{
    size_t free = 0, total = 0, held = (size_t)d.stats.allocated_bytes[0].current;
    cann.aclrtGetMemInfo(HBM_MEM, &free, &total);
    if (size <= total && held <= total - size)
        return;
    d.rejections++;
    out_of_memory(d, device, bytes, conf);
}

Block *grow(Device &d, Pool *pool, int device, int stream, size_t size, const AllocConf &conf)
{
    if (__builtin_expect(captures_active() > 0, 0))
        return new_segment(d, pool, device, stream, size, conf);
    if (conf.gc_threshold > 0 && d.limit != SIZE_MAX) {
        size_t wanted = (size_t)(conf.gc_threshold * (double)d.limit),
               reserved = (size_t)d.stats.reserved_bytes[0].current;
        if (reserved > wanted) {
            wait_device(device);
            poll_pending(d, true);
            release_cached(d, reserved - wanted);
        }
    }
    if (Block *block = new_segment(d, pool, device, stream, size, conf))
        return block;
    wait_device(device);
    d.stats.num_alloc_retries++;
    poll_pending(d, true);
    release_cached(d, SIZE_MAX);
    if (Block *block = find_free(pool, size, conf)) // freed by the events just now
        return block;
    return new_segment(d, pool, device, stream, size, conf);
}

} // namespace npu

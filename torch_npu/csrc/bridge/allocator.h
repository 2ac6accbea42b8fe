// SPDX-License-Identifier: BSD-3-Clause
// The inside of the caching allocator (memory.h): what a device knows of its memory. allocator.cpp cuts segments into
// blocks, segments.cpp takes them from the device and gives them back, mempool.cpp has private pools.
//
// Segments come from aclrtMalloc and are cut into blocks; neighbours that are free are joined at once, so two free
// blocks never touch. Each (device, stream, small or large) has a pool whose free blocks hang in bins by size: exact up
// to 16 KiB, then 16 per power of two, with a bitmap to find the next bin that has one. Lock: one per device, held
// during everything but waits for the whole device; every function here wants it. All of it is leaked at exit on
// purpose: tensors may die after static destructors. Private pools have pools of the same kind; captures wait for
// nothing, so while one is under way nothing is given back, and blocks that other streams used are looked at
// afterwards.
#pragma once

#include <deque>
#include <map>

#include "latch.h"
#include "pool.h"

namespace npu
{

using c10::CachingAllocator::StatArray;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr size_t small_limit = 1u << 20; // requests up to this come from the small pool
constexpr size_t small_segment = 2u << 20;

struct Pending {
    Block *block;
    aclrtEvent event;
};

struct Device {
    Latch lock;
    Pool *pool[max_streams][2] = {};
    std::map<char *, Block *> segment; // first block of each
    std::deque<Pending> pending;
    PrivatePools own;
    std::vector<Block *> deferred; // given back during a capture, after use by other streams
    DeviceStats stats;
    int64_t rejections = 0;  // by throw_on_npumalloc_oom
    size_t limit = SIZE_MAX; // bytes reserved at most (set_per_process_memory_fraction)
    uint32_t frees = 0;
};

inline Device &device_memory(int device)
{
    static Device *const all = new Device[max_devices];
    return all[device];
}

// Block headers are recycled; the caller holds any device's lock, so the list is per thread.
extern constinit thread_local Block *spare_headers __attribute__((tls_model("initial-exec")));

inline Block *new_header()
{
    Block *block = spare_headers;
    if (block)
        spare_headers = block->free_next;
    else
        block = new Block;
    return block;
}

inline void drop_header(Block *block)
{
    block->free_next = spare_headers;
    spare_headers = block;
}

inline Block *fill(Block *block, char *ptr, size_t size, Pool *pool, int device, int stream, uint32_t age)
{
    *block = Block{ptr, size, 0, nullptr, nullptr, nullptr, nullptr, pool};
    block->age = age;
    block->device = (int8_t)device;
    block->stream = (uint8_t)stream;
    return block;
}

inline void count_up(StatArray &stat, bool small, size_t amount)
{
    stat[0].increase(amount);
    stat[small ? 1 : 2].increase(amount);
}

inline void count_down(StatArray &stat, bool small, size_t amount)
{
    stat[0].decrease(amount);
    stat[small ? 1 : 2].decrease(amount);
}

inline bool is_split(const Block *block)
{
    return block->before || block->after;
}

// The best block of the request's own bin, else the first acceptable one of a larger bin; nullptr: none.
Block *find_free(Pool *pool, size_t size, const AllocConf &conf);
// Takes back the blocks whose other streams are done with them; wait: all of them are, the device is idle.
void poll_pending(Device &d, bool wait);
// Takes up the blocks given back while a capture was under way, now that none is.
void take_up_deferred(Device &d);

// A new segment's block, after giving back what the threshold asks for, then everything; nullptr: memory is out.
Block *grow(Device &d, Pool *pool, int device, int stream, size_t size, const AllocConf &conf);
// Gives whole free segments back, oldest first, until `enough` bytes are free: common ones and those of private pools
// that nobody holds, or (only) those of one private pool. The device is idle.
size_t release_cached(Device &d, size_t enough, const PrivatePool *only = nullptr);
// Forgets private pools that nobody holds and that have no memory.
void drop_pools(Device &d);
// throw_on_npumalloc_oom: throws when what tensors hold and this request together exceed the device.
void refuse_early(Device &d, int device, size_t bytes, size_t size, const AllocConf &conf);
[[noreturn]] void out_of_memory(Device &d, int device, size_t bytes, const AllocConf &conf);

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// Device memory: the caching allocator, and the pinned host allocator.
//
// Memory belongs to the stream that was current when it was taken; given back, it may be handed out again on that
// stream at once, because the stream runs in order. Use on another stream must be recorded. Any thread; one lock per
// device.
#pragma once

#include <string>
#include <vector>

#include "device.h"
#include "version.h"

namespace npu
{

struct Pool;

// A piece of device memory: part of a segment, in use or in its pool's free lists.
struct Block {
    char *ptr;
    size_t size;                  // bytes of the piece
    size_t requested;             // bytes asked for
    Block *before, *after;        // neighbours in the segment, by address
    Block *free_prev, *free_next; // in a bin of the pool while free
    Pool *pool;                   // nullptr: not cached
    std::vector<uint8_t> *uses;   // other streams that used it
    int events;                   // not yet finished, of those streams
    uint32_t age;                 // value of the device's free counter when it was freed
    int8_t device;
    uint8_t stream;
    bool allocated;
};

Block *memory_take(int device, size_t bytes); // on the current stream; throws OutOfMemoryError; bytes > 0
void memory_give(Block *block) noexcept;
c10::DataPtr memory_data(int device, size_t bytes); // for a storage
void memory_delete(void *block);                    // its deleter: a DataPtr with it has a Block* context
// The segment that the memory is part of, as aclrtMalloc gave it; false for memory of others and of growing ranges.
bool memory_segment(const c10::DataPtr &ptr, char **base, size_t *bytes);
void memory_record_stream(const c10::DataPtr &ptr, const c10::Stream &stream);
void memory_erase_stream(const c10::DataPtr &ptr, int stream); // takes memory_record_stream back
c10::DeviceAllocator *memory_allocator();

struct MemoryPiece {
    size_t address, size, requested;
    bool allocated, active;
};
struct MemorySegment {
    int device, stream;
    size_t address, total;
    bool large, expandable;
    c10::MempoolId_t pool; // (0, 0): common
    std::vector<MemoryPiece> piece;
};
std::vector<MemorySegment> memory_snapshot();
void memory_set_fraction(int device, double fraction);
int64_t memory_rejections(int device);     // requests that throw_on_npumalloc_oom refused
double memory_fraction(int device);        // 1: no limit
Block *memory_find(int device, void *ptr); // the allocated block that begins there; slow
std::string memory_settings();             // the allocator's configuration as text

c10::Allocator *pinned_allocator();
bool pinned_contains(const void *ptr);
void pinned_record(const void *ptr, int device, int stream); // the host block is read or written by that stream
void pinned_release(aclmdlRI graph);                         // the graph that read or wrote host blocks is gone
void pinned_empty_cache();
struct HostStats {
    c10::CachingAllocator::Stat allocations, segments, allocated_bytes, reserved_bytes;
};
HostStats pinned_stats(bool reset_peak = false, bool reset_accumulated = false);

// PYTORCH_NPU_ALLOC_CONF, parsed at first use (alloc_conf.cpp).
struct AllocConf {
    size_t max_split = SIZE_MAX; // bytes
    size_t max_non_split_rounding = 20u << 20;
    size_t segment = 20u << 20; // size of shared segments of large blocks
    double gc_threshold = 0;
    double fraction = 0; // per_process_memory_fraction, 0: none
    bool expandable = false;
    bool huge_pages = false;         // page_size:1g
    bool refuse_early = false;       // throw_on_npumalloc_oom
    bool lazy = false;               // multi_stream_lazy_reclaim
    size_t pinned_round = SIZE_MAX;  // bytes; pinned memory above it is not rounded up
    size_t pinned_cached = SIZE_MAX; // and above this not kept when freed
    size_t alignment = 16u << 10;    // base_addr_aligned_kb
    bool caching = true;             // PYTORCH_NO_NPU_MEMORY_CACHING
    size_t divisions[16] = {};       // roundup_power2_divisions for 2^(20+i) bytes, 0: none
    std::string text;
};
const AllocConf &alloc_conf();                // throws a ValueError naming the bad key or value, each time
void alloc_conf_change(const char *settings); // takes effect for later allocations

} // namespace npu

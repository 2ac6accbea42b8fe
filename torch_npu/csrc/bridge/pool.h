// SPDX-License-Identifier: BSD-3-Clause
// A pool of the caching allocator: its free blocks in bins by size, exact up to 16 KiB, then 16 per power of two, with
// a bitmap of the bins that have one. Part of allocator.cpp; under the device's lock.
#pragma once

#include "expandable.h"
#include "memory.h"
#include "mempool.h"

namespace npu
{

constexpr size_t grain = 512;
constexpr int exact_bins = 32, bins = exact_bins + 40 * 16, words = (bins + 63) / 64;

struct Pool {
    uint64_t map[words];
    Block *bin[bins];
    bool small;
    PrivatePool *owner; // nullptr: common
    Range *range;       // with expandable_segments
};

inline int bin_of(size_t size)
{
    size_t units = size / grain;
    if (units < exact_bins)
        return (int)units;
    int high = 63 - __builtin_clzl(units);
    return exact_bins + (high - 5) * 16 + (int)((units >> (high - 4)) & 15);
}

inline void list_free(Block *block)
{
    Pool *pool = block->pool;
    int bin = bin_of(block->size);
    block->free_prev = nullptr;
    block->free_next = pool->bin[bin];
    if (block->free_next)
        block->free_next->free_prev = block;
    pool->bin[bin] = block;
    pool->map[bin / 64] |= 1ull << (bin % 64);
}

inline void unlist_free(Block *block)
{
    Pool *pool = block->pool;
    int bin = bin_of(block->size);
    if (block->free_prev)
        block->free_prev->free_next = block->free_next;
    else if (!(pool->bin[bin] = block->free_next))
        pool->map[bin / 64] &= ~(1ull << (bin % 64));
    if (block->free_next)
        block->free_next->free_prev = block->free_prev;
}

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// A range of device addresses whose front part has memory and which grows and shrinks at its end: what a pool of the
// allocator uses with expandable_segments. Under the device's lock; the device is bound.
#pragma once

#include <cstddef>
#include <vector>

namespace npu
{

struct Range {
    char *base = nullptr;
    size_t mapped = 0; // bytes from base that have memory
    int device;

    explicit Range(int device) : device(device)
    {
    }
    // Memory for `bytes` more at the end, in pieces of `chunk` bytes (of which it is a multiple); nothing and false
    // where the device has not so much, or this CANN cannot do it. The first call reserves the addresses.
    bool grow(size_t bytes, size_t chunk);
    // Bytes at the end that can go when everything from `from` on is unused: whole pieces.
    size_t spare(const char *from) const;
    void shrink(size_t bytes); // as spare() said

  private:
    struct Piece {
        void *handle;
        size_t bytes;
    };
    std::vector<Piece> pieces;
    bool reserve();
};

} // namespace npu

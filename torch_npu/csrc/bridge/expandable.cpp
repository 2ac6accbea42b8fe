// SPDX-License-Identifier: BSD-3-Clause
// Growing ranges of device memory (expandable.h), with the virtual memory functions of the published interface.
#include "expandable.h"

#include "cann.h"

namespace npu
{

// aclrtPhysicalMemProp of the published interface: ordinary memory of one device, in huge pages.
struct Property {
    int handle_type = 0, allocation_type = 0, attribute = 1;
    struct {
        unsigned id;
        int type;
    } location = {0, 1};
    unsigned long reserve = 0;
};

constexpr size_t addresses = (size_t)1 << 40; // of a range; costs nothing

bool Range::reserve()
{
    return cann.aclrtReserveMemAddress && cann.aclrtMallocPhysical && cann.aclrtMapMem && cann.aclrtUnmapMem &&
           cann.aclrtFreePhysical &&
           !cann.aclrtReserveMemAddress(reinterpret_cast<void **>(&base), addresses, 0, nullptr, 1);
}

bool Range::grow(size_t bytes, size_t chunk)
{
    if ((!base && !reserve()) || bytes > addresses - mapped)
        return false;
    size_t before = mapped;
    for (; mapped - before < bytes; mapped += chunk) {
        Property property;
        property.location.id = (unsigned)device;
        void *handle = nullptr;
        bool made = !cann.aclrtMallocPhysical(&handle, chunk, &property, 0);
        if (made && !cann.aclrtMapMem(base + mapped, chunk, 0, handle, 0)) {
            pieces.push_back({handle, chunk});
            continue;
        }
        if (made)
            cann.aclrtFreePhysical(handle);
        shrink(mapped - before);
        return false;
    }
    return true;
}

size_t Range::spare(const char *from) const
{
    size_t used = (size_t)(from - base), bytes = 0;
    for (auto piece = pieces.rbegin(); piece != pieces.rend() && mapped - bytes - piece->bytes >= used; ++piece)
        bytes += piece->bytes;
    return bytes;
}

void Range::shrink(size_t bytes)
{
    for (; bytes; bytes -= pieces.back().bytes, pieces.pop_back()) {
        mapped -= pieces.back().bytes;
        cann.aclrtUnmapMem(base + mapped);
        cann.aclrtFreePhysical(pieces.back().handle);
    }
}

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// Private pools (mempool.h): their names, and which one an allocation belongs to.
#include "mempool.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "graph.h"

namespace npu
{

uint64_t this_thread() noexcept
{
    static thread_local const uint64_t id = (uint64_t)syscall(SYS_gettid);
    return id;
}

c10::MempoolId_t new_pool_id(bool by_user)
{
    static std::atomic<uint64_t> by_capture{1}, by_users{1};
    return by_user ? c10::MempoolId_t{0, by_users++} : c10::MempoolId_t{by_capture++, 0};
}

PrivatePool *PrivatePools::find(c10::MempoolId_t id) const
{
    for (PrivatePool *pool : all)
        if (pool->id == id)
            return pool;
    return nullptr;
}

PrivatePool *PrivatePools::route(aclrtStream stream) const
{
    for (size_t i = routes.size(); i-- > 0;) {
        const Route &r = routes[i];
        if (r.thread ? r.thread == this_thread() : stream_capture(stream) == r.capture)
            return find(r.id);
    }
    return nullptr;
}

} // namespace npu

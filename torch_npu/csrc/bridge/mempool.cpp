// SPDX-License-Identifier: BSD-3-Clause
// Private pools (mempool.h): their names, which one an allocation belongs to, who holds them; and allocators of users.
#include "mempool.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "allocator.h"
#include "error.h"
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

void pool_hold(int device, c10::MempoolId_t id, const Pluggable *source, bool use_on_oom, bool no_split)
{
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    PrivatePool *own = d.own.find(id);
    if (!own) {
        own = new PrivatePool;
        own->id = id;
        own->source = source;
        own->use_on_oom = use_on_oom;
        own->no_split = no_split;
        d.own.all.push_back(own);
    }
    own->holders++;
}

void pool_release(int device, c10::MempoolId_t id)
{
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    if (PrivatePool *own = d.own.find(id)) {
        own->holders--;
        drop_pools(d);
    }
}

int pool_holders(int device, c10::MempoolId_t id)
{
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    PrivatePool *own = d.own.find(id);
    return own ? own->holders : 0;
}

void pool_route(int device, const Route &route)
{
    pool_hold(device, route.id);
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    d.own.routes.push_back(route);
}

void pool_unroute(int device, c10::MempoolId_t id)
{
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    for (size_t i = d.own.routes.size(); i-- > 0;)
        if (d.own.routes[i].id == id && (!d.own.routes[i].thread || d.own.routes[i].thread == this_thread())) {
            d.own.routes.erase(d.own.routes.begin() + (ptrdiff_t)i);
            return;
        }
}

void pool_empty(int device, c10::MempoolId_t id)
{
    if (captures_active())
        return;
    wait_device(device);
    Device &d = device_memory(device);
    std::lock_guard<Latch> lock(d.lock);
    take_up_deferred(d);
    poll_pending(d, true);
    if (PrivatePool *own = d.own.find(id))
        release_cached(d, SIZE_MAX, own);
}

static std::atomic<const Pluggable *> changed{nullptr};

const Pluggable *changed_allocator() noexcept
{
    return changed.load(std::memory_order_relaxed);
}

void change_allocator(const Pluggable *allocator)
{
    for (int device = 0; device < max_devices; device++)
        TORCH_CHECK(!device_memory(device).stats.num_device_alloc && !changed_allocator(),
                    "Can't swap an already initialized allocator", error_suffix(Module::PTA, Kind::PTR));
    changed = allocator;
}

} // namespace npu

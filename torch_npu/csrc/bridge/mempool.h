// SPDX-License-Identifier: BSD-3-Clause
// Private pools of the caching allocator: memory set aside for graphs (what a graph's tasks use must stay theirs
// between executions) and for torch.npu.MemPool, and allocators that users bring as functions of a library.
//
// A pool is named by a pair: (n, 0) made by a capture, (0, n) made by a user. It lives while somebody holds it;
// segments of a pool that nobody holds any more go back with the cache. Which pool an allocation comes from is decided
// by the device's routes: those of captures ask the stream, those of users the thread. Under the device's lock, except
// where said.
#pragma once

#include <string>
#include <vector>

#include "device.h"
#include "version.h"

namespace npu
{

struct Pool;

// Functions of a user's library: void *(ssize_t size, int device, aclrtStream), void (void *, ssize_t, int,
// aclrtStream). Never deleted: memory may outlive every name of it.
struct Pluggable {
    void *(*take)(ssize_t size, int device, aclrtStream stream);
    void (*give)(void *ptr, ssize_t size, int device, aclrtStream stream);
};

struct PrivatePool {
    c10::MempoolId_t id;
    int holders = 0;
    int segments = 0;
    bool use_on_oom = false, no_split = false;
    const Pluggable *source = nullptr; // nullptr: aclrtMalloc
    Pool *pool[max_streams][2] = {};   // by stream and small
};

struct Route {
    c10::MempoolId_t id;
    uint64_t thread;  // allocations of this thread; 0: of streams that
    aclmdlRI capture; // capture this graph
};

// What a device knows of private pools.
struct PrivatePools {
    std::vector<PrivatePool *> all;
    std::vector<Route> routes; // newest last
    PrivatePool *find(c10::MempoolId_t id) const;
    PrivatePool *route(aclrtStream stream) const; // nullptr: the common pools
};

uint64_t this_thread() noexcept;
c10::MempoolId_t new_pool_id(bool by_user); // any thread, no lock

// From outside the allocator; they take the device's lock (allocator.cpp).
void pool_hold(int device, c10::MempoolId_t id, const Pluggable *source = nullptr, bool use_on_oom = false,
               bool no_split = false); // makes it when there is none
void pool_release(int device, c10::MempoolId_t id);
int pool_holders(int device, c10::MempoolId_t id);
void pool_route(int device, const Route &route); // from now on; also holds the pool
void pool_unroute(int device, c10::MempoolId_t id);
void pool_empty(int device, c10::MempoolId_t id); // gives back its free segments

// The allocator in the place of the caching one; nullptr: none. Throws once the caching one has been used.
void change_allocator(const Pluggable *allocator);
const Pluggable *changed_allocator() noexcept;

} // namespace npu

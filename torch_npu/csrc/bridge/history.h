// SPDX-License-Identifier: BSD-3-Clause
// The memory history: what the allocator did, with Python stacks, for torch.npu.memory._record_memory_history; and who
// is told when memory is out.
#pragma once

#include <c10/core/Allocator.h>

#include <atomic>
#include <memory>
#include <vector>

namespace npu
{

enum class Action { ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, OOM };
const char *action_name(Action action);

struct Event {
    Action action;
    int device, stream;
    size_t address, size;
    int64_t time_us;
    std::shared_ptr<c10::GatheredContext> context; // of whoever asked; may be null
};

extern std::atomic<bool> history_on;

// Stacks of blocks in use (`stacks`), and the last `entries` events; 0: no events.
void history_start(bool stacks, size_t entries);
void history_stop();
// Python's stack, if wanted. Takes the GIL: call without holding the device's lock.
std::shared_ptr<c10::GatheredContext> history_context();
// Under the device's lock.
void history_add(Action action, int device, int stream, const void *address, size_t size,
                 std::shared_ptr<c10::GatheredContext> context = {});
std::vector<Event> history_events(int device);
// Who asked for the block at that address; null where that was not recorded.
std::shared_ptr<c10::GatheredContext> history_owner(int device, size_t address);

// Called, without locks, before out-of-memory is thrown; nullptr: nobody asked. Set by _C.
extern void (*out_of_memory_observer)(int device, size_t wanted, size_t total, size_t free);

} // namespace npu

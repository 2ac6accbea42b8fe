// SPDX-License-Identifier: BSD-3-Clause
// The memory history (history.h): a ring of the last events. Lock: one, taken inside the device's.
#include "history.h"

#include <torch/csrc/profiler/combined_traceback.h>

#include <chrono>
#include <deque>
#include <map>
#include <mutex>

namespace npu
{

std::atomic<bool> history_on{false};
void (*out_of_memory_observer)(int device, size_t wanted, size_t total, size_t free) = nullptr;

static std::mutex lock;
static std::deque<Event> events;
static std::map<std::pair<int, size_t>, std::shared_ptr<c10::GatheredContext>> owners;
static thread_local std::shared_ptr<c10::GatheredContext> latest; // for what follows from the request
static size_t most;
static bool with_stacks;

const char *action_name(Action action)
{
    static const char *const name[] = {"alloc",         "free_requested", "free_completed",
                                       "segment_alloc", "segment_free",   "oom"};
    return name[static_cast<int>(action)];
}

void history_start(bool stacks, size_t entries)
{
    std::lock_guard<std::mutex> hold(lock);
    events.clear();
    owners.clear();
    most = entries;
    with_stacks = stacks;
    history_on = true;
}

void history_stop()
{
    std::lock_guard<std::mutex> hold(lock);
    history_on = false;
    events.clear();
    owners.clear();
}

std::shared_ptr<c10::GatheredContext> history_context()
{
    latest = with_stacks ? torch::CapturedTraceback::gather(true, false, false) : nullptr;
    return latest;
}

void history_add(Action action, int device, int stream, const void *address, size_t size,
                 std::shared_ptr<c10::GatheredContext> context)
{
    auto now = std::chrono::system_clock::now().time_since_epoch();
    std::lock_guard<std::mutex> hold(lock);
    if (action == Action::ALLOC && context)
        owners[{device, (size_t)address}] = context;
    else if (action == Action::FREE_REQUESTED)
        owners.erase({device, (size_t)address});
    else if (action == Action::SEGMENT_ALLOC || action == Action::OOM)
        context = latest;
    if (events.size() >= most && !events.empty())
        events.pop_front();
    if (most)
        events.push_back({action, device, stream, (size_t)address, size,
                          std::chrono::duration_cast<std::chrono::microseconds>(now).count(), std::move(context)});
}

std::shared_ptr<c10::GatheredContext> history_owner(int device, size_t address)
{
    std::lock_guard<std::mutex> hold(lock);
    auto found = owners.find({device, address});
    return found == owners.end() ? nullptr : found->second;
}

std::vector<Event> history_events(int device)
{
    std::lock_guard<std::mutex> hold(lock);
    std::vector<Event> own;
    for (const Event &event : events)
        if (event.device == device)
            own.push_back(event);
    return own;
}

} // namespace npu

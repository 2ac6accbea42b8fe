// SPDX-License-Identifier: BSD-3-Clause
// Communicators and events (comm.h). Streams and events of communicators that are gone serve the next ones. Whoever
// waits for a stream or a device is told of communicators that failed there: their operations run on streams of their
// own, so that the error would otherwise stay unseen.
#include "comm.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "../group_support.h"
#include "meeting.h"
#include "recorder.h"
#include "watchdog.h"

namespace npu
{

// ---- events ----
static std::mutex pool_lock;
static std::vector<aclrtEvent> free_events[max_devices][2];
static std::vector<int> free_streams[max_devices][2];

DeviceEvent::DeviceEvent(int device, bool timed) : device(device), timed(timed)
{
    {
        std::lock_guard<std::mutex> lock(pool_lock);
        auto &free = free_events[device][timed];
        if (!free.empty()) {
            event = free.back();
            free.pop_back();
            return;
        }
    }
    use_device(device);
    ACL(aclrtCreateEventWithFlag, &event, EVENT_SYNC | EVENT_CAPTURE | (timed ? EVENT_TIME_LINE : 0));
}

DeviceEvent::~DeviceEvent()
{
    if (forked())
        return;
    std::lock_guard<std::mutex> lock(pool_lock);
    free_events[device][timed].push_back(event);
}

void DeviceEvent::record(int stream)
{
    use_device(device);
    ACL(aclrtRecordEvent, event, stream_handle(device, stream));
}

void DeviceEvent::make_wait(int stream) const
{
    use_device(device);
    ACL(aclrtStreamWaitEvent, stream_handle(device, stream), event);
}

bool DeviceEvent::done() const
{
    int status = 0;
    use_device(device);
    ACL(aclrtQueryEventStatus, event, &status);
    return status != 0;
}

bool DeviceEvent::wait_host(int ms) const
{
    use_device(device);
    if (!cann.aclrtSynchronizeEventWithTimeout) {
        ACL(aclrtSynchronizeEvent, event);
        return true;
    }
    return cann.aclrtSynchronizeEventWithTimeout(event, ms) == 0 || done();
}

float DeviceEvent::elapsed(const DeviceEvent &end) const
{
    float ms = 0;
    use_device(device);
    ACL(aclrtEventElapsedTime, &ms, event, end.event);
    return ms;
}

static int take_stream(int device, bool high)
{
    {
        std::lock_guard<std::mutex> lock(pool_lock);
        auto &free = free_streams[device][high];
        if (!free.empty()) {
            int stream = free.back();
            free.pop_back();
            return stream;
        }
    }
    use_device(device);
    aclrtStream handle;
    ACL(aclrtCreateStreamWithConfig, &handle, high ? 0 : 1, STREAM_FAST_LAUNCH | STREAM_FAST_SYNC);
    return foreign_stream(device, handle);
}

static void give_stream(int device, bool high, int stream)
{
    std::lock_guard<std::mutex> lock(pool_lock);
    free_streams[device][high].push_back(stream);
}

// ---- the communicators of the process ----
static std::mutex registry_lock;
static std::vector<std::weak_ptr<Communicator>> &registry()
{
    static auto *const all = new std::vector<std::weak_ptr<Communicator>>; // outlives static destructors
    return *all;
}

std::vector<std::shared_ptr<Communicator>> Communicator::all()
{
    std::vector<std::shared_ptr<Communicator>> alive;
    std::lock_guard<std::mutex> lock(registry_lock);
    auto &list = registry();
    for (auto &weak : list)
        if (auto one = weak.lock())
            alive.push_back(std::move(one));
    return alive;
}

static void waited(int device, bool failed)
{
    std::string text;
    bool news = false;
    {
        auto alive = Communicator::all();
        for (auto &one : alive) {
            if (one->device != device)
                continue;
            if (failed)
                one->mark_reported();
            else if (!news)
                news = one->take_unreported(&text);
        }
    }
    if (news)
        throw c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text);
}

static void enlist(const std::shared_ptr<Communicator> &one)
{
    std::lock_guard<std::mutex> lock(registry_lock);
    auto &list = registry();
    list.erase(std::remove_if(list.begin(), list.end(), [](auto &weak) { return weak.expired(); }), list.end());
    list.push_back(one);
    after_wait = waited;
}

// ---- making one ----
static HcclRootInfo meet_for_root(c10d::Store &store, const std::string &key, int rank, int size,
                                  std::chrono::milliseconds timeout)
{
    Meeting meeting(store, key, rank, size, timeout);
    HcclRootInfo root;
    if (rank) {
        std::string text = meeting.answer();
        TORCH_CHECK_WITH(DistBackendError, text.size() == 1 + sizeof root && text[0] == 'R',
                         "rank 0 could not open the communicator: ", text.substr(std::min<size_t>(1, text.size())));
        memcpy(&root, text.data() + 1, sizeof root);
        return root;
    }
    std::vector<int> missing = meeting.gather(true);
    if (!missing.empty())
        meeting.give_up(missing, "no answer");
    try {
        HCCL(HcclGetRootInfo, &root);
        meeting.tell("R" + std::string(reinterpret_cast<const char *>(&root), sizeof root));
    } catch (const std::exception &error) { // the others must not wait for what will not come
        meeting.tell(c10::str("E", error.what()));
        throw;
    }
    return root;
}

std::shared_ptr<Communicator> Communicator::make(c10d::Store &store, const std::string &key, int device, int rank,
                                                 int size, int world_rank, const GroupOptions &options, bool p2p)
{
    use_device(device);
    std::shared_ptr<Communicator> made(new Communicator(device, rank, size, world_rank));
    HcclComm opened = nullptr;
    HcclRootInfo root = meet_for_root(store, key, rank, size, options.timeout);
    if (hccl().HcclCommInitRootInfoConfig) {
        HcclCommConfig config;
        make_config(&config, options, world_rank, p2p);
        HCCL(HcclCommInitRootInfoConfig, (uint32_t)size, &root, (uint32_t)rank, &config, &opened);
    } else {
        HCCL(HcclCommInitRootInfo, (uint32_t)size, &root, (uint32_t)rank, &opened);
    }
    made->comm = opened;
    made->stream = take_stream(device, options.is_high_priority_stream);
    made->high = options.is_high_priority_stream;
    enlist(made);
    watchdog_start();
    return made;
}

static std::mutex unseen_lock;
static std::string unseen; // of a communicator that was closed

std::string Communicator::unseen_failure()
{
    for (auto &one : all()) {
        std::string text = one->failure();
        std::lock_guard<std::mutex> lock(one->state);
        if (one->hurt && !one->reported)
            return text;
    }
    std::lock_guard<std::mutex> lock(unseen_lock);
    return unseen;
}

void Communicator::close(std::chrono::milliseconds patience)
{
    if (!comm || forked())
        return;
    try {
        if (failure().empty())
            wait_all(patience);
        use_device(device);
        HcclComm handle;
        failure();
        {
            std::lock_guard<std::mutex> lock(state);
            handle = comm.exchange(nullptr);
            under_way.clear();
            if (hurt && !reported) {
                std::lock_guard<std::mutex> keep(unseen_lock);
                unseen = failed;
            }
        }
        if (!handle)
            return;
        hccl().HcclCommDestroy(handle);
        give_stream(device, high, stream);
    } catch (const std::exception &error) {
        TORCH_WARN("closing a communicator of device npu:", device, " failed: ", error.what());
    }
}

Communicator::~Communicator()
{
    close(std::chrono::seconds(10));
}

std::string Communicator::name() const
{
    char text[256] = "";
    HCCL(HcclGetCommName, comm.load(), text);
    return text;
}

// ---- what is under way ----
// The operation's event has come; that of a failed one too, which the flight recorder keeps as not completed.
static void note_end(const Operation &operation, HcclComm comm)
{
    HcclResult result = HCCL_SUCCESS;
    if (operation.record && comm && hccl().HcclGetCommAsyncError)
        hccl().HcclGetCommAsyncError(comm, &result);
    if (!result)
        recorder_finish(operation);
}

void Communicator::add(std::shared_ptr<Operation> operation)
{
    std::vector<std::shared_ptr<Operation>> finished; // dropped without the lock
    std::lock_guard<std::mutex> lock(state);
    while (!under_way.empty() && under_way.front()->done()) {
        finished.push_back(std::move(under_way.front()));
        under_way.pop_front();
        note_end(*finished.back(), comm);
    }
    under_way.push_back(std::move(operation));
}

std::shared_ptr<Operation> Communicator::oldest()
{
    std::lock_guard<std::mutex> lock(state);
    while (!under_way.empty() && under_way.front()->done()) {
        note_end(*under_way.front(), comm);
        under_way.pop_front();
    }
    return under_way.empty() ? nullptr : under_way.front();
}

bool Communicator::wait_all(std::chrono::milliseconds timeout)
{
    auto until = std::chrono::steady_clock::now() + timeout;
    while (auto operation = oldest()) {
        if (operation->end->wait_host(50))
            continue;
        if (std::chrono::steady_clock::now() > until || !failure().empty())
            return false;
    }
    return true;
}

// ---- what went wrong ----
std::string Communicator::failure()
{
    std::lock_guard<std::mutex> lock(state);
    HcclResult result = HCCL_SUCCESS;
    if (comm && failed.empty() && hccl().HcclGetCommAsyncError && !hccl().HcclGetCommAsyncError(comm, &result) &&
        result) {
        use_device(device);
        // The failed task's error is still with its stream, which may be the caller's: told once, it must not come
        // again.
        int newest = __atomic_load_n(&last_stream, __ATOMIC_RELAXED);
        for (int s : {newest, stream})
            if (s >= 0 && cann.extension && cann.extension->stream_error)
                if (cann.extension->stream_error(stream_handle(device, s))) {
                    hurt = true;
                    break;
                }
        failed = hccl_text(result, "HcclGetCommAsyncError", "Communicator", __FILE__, __LINE__);
    }
    return failed;
}

void Communicator::check()
{
    std::string text = failure();
    if (text.empty())
        return;
    mark_reported();
    throw c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                                "This communicator failed and cannot be used any more (destroy_process_group and "
                                "init_process_group, or torch_npu.distributed.reinit_process_group, make a new one): " +
                                    text);
}

void Communicator::abort(const std::string &why)
{
    use_device(device);
    std::lock_guard<std::mutex> lock(state);
    if (failed.empty())
        failed = why;
    if (comm && hccl().HcclCommSuspend)
        hccl().HcclCommSuspend(comm);
}

bool Communicator::take_unreported(std::string *text)
{
    std::string now = failure();
    std::lock_guard<std::mutex> lock(state);
    if (now.empty() || reported)
        return false;
    reported = true;
    *text = now;
    return true;
}

void Communicator::mark_reported()
{
    if (failure().empty())
        return;
    std::lock_guard<std::mutex> lock(state);
    reported = true;
}

} // namespace npu

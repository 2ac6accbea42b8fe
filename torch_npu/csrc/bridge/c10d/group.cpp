// SPDX-License-Identifier: BSD-3-Clause
// ProcessGroupHCCL (group.h): communicators, launching, life and death. What each operation does is in collectives.cpp,
// exchange.cpp and p2p.cpp.
#include "group.h"

#include "../graph.h"
#include "../memory.h"
#include "p2p.h"

namespace npu
{

using std::chrono::milliseconds;

static std::atomic<size_t> next_group{0};

ProcessGroupHCCL::ProcessGroupHCCL(c10::intrusive_ptr<c10d::Store> given_store, int rank, int size,
                                   c10::intrusive_ptr<Options> given_options)
    : Backend(rank, size), store(std::move(given_store)),
      options(c10::make_intrusive<Options>(*given_options)), // later changes of the caller's do not matter
      id(next_group++)
{
    TORCH_CHECK(rank >= 0 && rank < size, "rank ", rank, " is not in a group of ", size, " ranks.",
                error_suffix(Module::DIST, Kind::PARAM));
    check_config(*options);
    if (options->timeout.count() <= 0)
        options->timeout = kBackendDefaultTimeout;
    init();
}

ProcessGroupHCCL::~ProcessGroupHCCL()
{
    for (auto &comm : communicators())
        comm->close(std::chrono::seconds(10));
}

milliseconds ProcessGroupHCCL::timeout_of(milliseconds given) const
{
    return given.count() > 0 ? given : options->timeout;
}

int ProcessGroupHCCL::world_rank() const
{
    auto &ranks = options->global_ranks_in_group;
    return (size_t)rank_ < ranks.size() ? (int)ranks[rank_] : rank_;
}

GroupName ProcessGroupHCCL::group_name() const
{
    return {id, options->group_name.empty() ? getGroupUid() : options->group_name, getGroupDesc()};
}

void ProcessGroupHCCL::setGroupUid(const std::string &uid)
{
    Backend::setGroupUid(uid);
    std::vector<uint64_t> ranks = options->global_ranks_in_group;
    for (int i = 0; ranks.size() < (size_t)size_ && i < size_; i++)
        ranks.push_back(i);
    recorder_group(group_name(), ranks);
}

void ProcessGroupHCCL::setTimeout(milliseconds timeout)
{
    options->timeout = timeout;
}

// ---- communicators ----
std::shared_ptr<Communicator> ProcessGroupHCCL::communicator(int device)
{
    std::lock_guard<std::mutex> hold(lock);
    TORCH_CHECK_WITH(DistBackendError, !closed, "This process group was shut down.",
                     error_suffix(Module::DIST, Kind::UNAVAIL));
    auto &place = by_device[device];
    if (!place) {
        std::string key = c10::str("hccl/", generation, "/", made);
        place = Communicator::make(*store, key, device, rank_, size_, world_rank(), *options, false);
        made++;
    }
    return place;
}

std::vector<std::shared_ptr<Communicator>> ProcessGroupHCCL::communicators()
{
    std::lock_guard<std::mutex> hold(lock);
    std::vector<std::shared_ptr<Communicator>> all;
    for (auto &[device, comm] : by_device)
        if (comm)
            all.push_back(comm);
    for (auto &[key, peer] : peers)
        peer->add_to(all);
    return all;
}

void ProcessGroupHCCL::eagerConnectSingleDevice(at::Device device)
{
    communicator(device.index());
}

bool ProcessGroupHCCL::is_bound_or_used(int *device)
{
    if (getBoundDeviceId() && getBoundDeviceId()->type() == device_type) {
        *device = getBoundDeviceId()->index();
        return true;
    }
    std::lock_guard<std::mutex> hold(lock);
    if (by_device.empty())
        return false;
    *device = by_device.begin()->first;
    return true;
}

std::string ProcessGroupHCCL::comm_name(int device, bool make)
{
    if (make)
        return communicator(device)->name();
    std::lock_guard<std::mutex> hold(lock);
    auto found = by_device.find(device);
    return found == by_device.end() || !found->second ? "" : found->second->name();
}

int ProcessGroupHCCL::stream_id(int device)
{
    return communicator(device)->stream;
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupHCCL::split(const c10::intrusive_ptr<c10d::Store> &part,
                                                          const std::vector<int> &ranks,
                                                          const c10::intrusive_ptr<c10d::Backend::Options> &opts)
{
    auto at = std::find(ranks.begin(), ranks.end(), rank_);
    if (at == ranks.end())
        return nullptr;
    auto own = c10::dynamic_intrusive_pointer_cast<Options>(opts);
    TORCH_CHECK(own, "ProcessGroupHCCL is split with ProcessGroupHCCL.Options.",
                error_suffix(Module::DIST, Kind::TYPE));
    own->global_ranks_in_group.clear();
    for (int rank : ranks) {
        auto &world = options->global_ranks_in_group;
        own->global_ranks_in_group.push_back((size_t)rank < world.size() ? world[rank] : rank);
    }
    return c10::make_intrusive<ProcessGroupHCCL>(clone_of(part), (int)(at - ranks.begin()), (int)ranks.size(), own);
}

// ---- launching ----
c10::intrusive_ptr<HcclWork> ProcessGroupHCCL::new_work(const Call &call, const Tensors &outputs)
{
    return c10::make_intrusive<HcclWork>(rank_, call.type, call.title, outputs, call.blocking || blocking_wait());
}

static int64_t numel(const std::vector<at::Tensor> &tensors)
{
    int64_t n = 0;
    for (auto &t : tensors)
        n += t.numel();
    return n;
}

static void keep_until_done(const std::vector<at::Tensor> &tensors, const c10::Stream &stream)
{
    for (auto &t : tensors)
        if (t.has_storage())
            memory_record_stream(t.storage().data_ptr(), stream);
}

ProcessGroupHCCL::Before ProcessGroupHCCL::before_now(int device, bool async)
{
    Before before{current_stream_index(device), nullptr};
    if (!async)
        return before;
    use_device(device);
    aclrtStream callers = stream_handle(device, before.stream);
    if (!cann.extension || !cann.extension->stream_idle || !cann.extension->stream_idle(callers)) {
        before.gate = std::make_shared<DeviceEvent>(device, false);
        before.gate->record(before.stream);
    }
    return before;
}

void ProcessGroupHCCL::launch_on(const std::shared_ptr<Communicator> &comm, const Call &call, uint64_t number,
                                 const Before &before, const Tensors &inputs, const Tensors &outputs,
                                 const Launch &launch, HcclWork &work)
{
    int device = comm->device;
    std::lock_guard<std::mutex> hold(comm->launch);
    use_device(device);
    bool captured = captures_active() && stream_capture(stream_handle(device, before.stream));
    int stream = call.async && !captured ? comm->stream : before.stream;

    auto operation = std::make_shared<Operation>();
    operation->seq = number;
    operation->type = call.type;
    operation->p2p = c10d::isP2POp(call.type);
    operation->numel_in = numel(inputs);
    operation->numel_out = numel(outputs);
    operation->stream = stream;
    operation->timeout = call.timeout;
    operation->began = std::chrono::steady_clock::now();
    operation->captured = captured;
    operation->end = std::make_shared<DeviceEvent>(device, timing_on() && !captured);
    if (timing_on() && !captured)
        operation->start = std::make_shared<DeviceEvent>(device, true);
    if (!captured)
        recorder_add(operation, group_name(), call.title, inputs, outputs);

    aclrtStream handle = stream_handle(device, stream);
    operation->gate = before.gate;
    if (before.gate && stream != before.stream)
        before.gate->make_wait(stream);
    if (!captured && comm->last && comm->last_stream != stream && !comm->last->done())
        comm->last->make_wait(stream);
    {
        StreamScope scope(device, stream);
        if (operation->start)
            operation->start->record(stream);
        launch({comm->handle(), handle});
        operation->end->record(stream);
    }
    if (stream != before.stream) {
        c10::Stream wrapped(c10::Stream::UNSAFE, c10::Device(device_type, (c10::DeviceIndex)device), stream);
        keep_until_done(inputs, wrapped);
        keep_until_done(outputs, wrapped);
    }
    if (!captured) {
        comm->last = operation->end;
        __atomic_store_n(&comm->last_stream, stream, __ATOMIC_RELAXED); // also read without the lock
        comm->add(operation);
    }
    work.launched(comm, std::move(operation));
    work.end_profile();
}

ProcessGroupHCCL::WorkPtr ProcessGroupHCCL::run(const Call &call, int device, const Tensors &inputs,
                                                const Tensors &outputs, const Launch &launch)
{
    auto comm = communicator(device);
    comm->check();
    auto work = new_work(call, outputs);
    launch_on(comm, call, ++seq, before_now(device, call.async), inputs, outputs, launch, *work);
    if (coalescing)
        coalesced.push_back(work);
    return work;
}

// ---- several operations as one ----
namespace
{
// The Work of several: done when all are.
class Together : public c10d::Work
{
  public:
    Together(int rank, std::vector<c10::intrusive_ptr<c10d::Work>> works)
        : Work(rank, c10d::OpType::COALESCED), works(std::move(works))
    {
    }
    bool isCompleted() override
    {
        return std::all_of(works.begin(), works.end(), [](auto &w) { return w->isCompleted(); });
    }
    bool isSuccess() const override
    {
        return std::all_of(works.begin(), works.end(), [](auto &w) { return w->isSuccess(); });
    }
    void synchronize() override
    {
        for (auto &w : works)
            w->synchronize();
    }
    bool wait(milliseconds timeout) override
    {
        for (auto &w : works)
            w->wait(timeout);
        return true;
    }
    std::vector<at::Tensor> result() override
    {
        std::vector<at::Tensor> all;
        for (auto &w : works)
            for (auto &t : w->result())
                all.push_back(t);
        return all;
    }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
    {
        synchronize();
        return works.back()->getFuture();
    }

  private:
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
};
} // namespace

void ProcessGroupHCCL::startCoalescing()
{
    TORCH_CHECK(!coalescing, "startCoalescing was called twice.", error_suffix(Module::DIST, Kind::INTERNAL));
    coalescing = true;
    coalesced.clear();
    group_start();
}

ProcessGroupHCCL::WorkPtr ProcessGroupHCCL::endCoalescing()
{
    coalescing = false;
    group_end();
    if (coalesced.empty())
        return nullptr;
    auto works = std::move(coalesced);
    coalesced.clear();
    if (works.size() == 1)
        return works[0];
    return c10::make_intrusive<Together>(rank_, std::move(works));
}

// ---- the end ----
c10d::ErrorType ProcessGroupHCCL::getError()
{
    for (auto &comm : communicators())
        if (!comm->failure().empty())
            return c10d::ErrorType::COMM_ERROR;
    return c10d::ErrorType::SUCCESS;
}

void ProcessGroupHCCL::wait_pending()
{
    for (auto &comm : communicators())
        if (!comm->wait_all(options->timeout))
            comm->check();
}

void ProcessGroupHCCL::abort()
{
    auto all = communicators();
    for (auto &comm : all) {
        comm->abort(c10::str("The process group was aborted on rank ", world_rank(), ".",
                             error_suffix(Module::DIST, Kind::UNAVAIL)));
        comm->mark_reported();
    }
    std::lock_guard<std::mutex> hold(lock);
    closed = true;
    by_device.clear();
    for (auto &[key, peer] : peers)
        peer->cancel();
    peers.clear();
}

void ProcessGroupHCCL::shutdown()
{
    auto all = communicators();
    {
        std::lock_guard<std::mutex> hold(lock);
        closed = true;
        by_device.clear();
        for (auto &[key, peer] : peers)
            peer->cancel();
        peers.clear();
    }
    for (auto &comm : all)
        comm->close(options->timeout);
}

void ProcessGroupHCCL::reopen()
{
    for (auto &comm : communicators()) {
        comm->abort("The process group was opened anew.");
        comm->mark_reported();
        comm->close(milliseconds(0));
    }
    std::lock_guard<std::mutex> hold(lock);
    by_device.clear();
    peers.clear();
    coalesced.clear();
    to_self[0].clear();
    to_self[1].clear();
    groups = 0;
    coalescing = closed = false;
    generation++;
    made = 0;
}

} // namespace npu

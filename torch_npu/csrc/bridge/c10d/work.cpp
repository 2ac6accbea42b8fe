// SPDX-License-Identifier: BSD-3-Clause
// c10d's Work of an HCCL operation (work.h).
#include "work.h"

#include "../graph.h"
#include "../variables.h"

namespace npu
{

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

bool blocking_wait()
{
    static const bool on = variable_on(VARIABLE_TORCH_HCCL_BLOCKING_WAIT) || variable_on(VARIABLE_HCCL_BLOCKING_WAIT);
    return on;
}

HcclWork::HcclWork(int rank, c10d::OpType type, const char *title, std::vector<at::Tensor> outputs, bool blocking)
    : Work(rank, type, title), outputs(std::move(outputs)), blocking(blocking)
{
}

void HcclWork::end_profile()
{
    if (recordFunctionEndCallback_) {
        recordFunctionEndCallback_();
        recordFunctionEndCallback_ = nullptr;
    }
}

void HcclWork::launched(std::shared_ptr<Communicator> on, std::shared_ptr<Operation> what)
{
    std::lock_guard<std::mutex> hold(lock);
    comm = std::move(on);
    operation = std::move(what);
    ready.store(true, std::memory_order_release);
    launch_done.notify_all();
}

void HcclWork::not_launched(std::exception_ptr why)
{
    std::lock_guard<std::mutex> hold(lock);
    error = why;
    ready.store(true, std::memory_order_release);
    launch_done.notify_all();
}

// Throws what kept the operation from its stream.
void HcclWork::wait_launch(milliseconds timeout)
{
    auto until = Clock::now() + timeout;
    while (!ready.load(std::memory_order_acquire)) {
        {
            std::unique_lock<std::mutex> hold(lock);
            launch_done.wait_for(hold, milliseconds(100), [this] { return ready.load(); });
        }
        if (interrupt_check)
            interrupt_check();
        TORCH_CHECK_WITH(DistBackendError, timeout == kNoTimeout || ready || Clock::now() < until,
                         "The peer did not connect within ", timeout.count(), " ms.",
                         error_suffix(Module::DIST, Kind::TIMEOUT));
    }
    if (error)
        std::rethrow_exception(error);
}

bool HcclWork::broken() const
{
    return comm && !comm->failure().empty();
}

bool HcclWork::isCompleted()
{
    if (!ready.load(std::memory_order_acquire))
        return false;
    return error || operation->done() || broken();
}

bool HcclWork::isSuccess() const
{
    return ready && !error && !broken();
}

void HcclWork::synchronize()
{
    wait_launch(kNoTimeout);
    int stream = current_stream_index(operation->end->device);
    if (stream == operation->stream)
        return;
    if (operation->captured ? captures_active() > 0 : !operation->done())
        operation->end->make_wait(stream);
}

void HcclWork::wait_host(milliseconds timeout)
{
    auto until = Clock::now() + timeout;
    while (!operation->end->wait_host(50)) {
        if (broken()) {
            operation->end->wait_host(2000); // its task is about to give up
            break;
        }
        if (interrupt_check)
            interrupt_check();
        if (comm && timeout != kNoTimeout && Clock::now() > until) {
            std::string text = c10::str("[Rank ", comm->world_rank, "] ", operation->text(comm->rank),
                                        " timed out in blocking wait after ", timeout.count(), " ms.",
                                        error_suffix(Module::DIST, Kind::TIMEOUT));
            comm->abort(text);
            comm->mark_reported();
            throw c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text);
        }
    }
    if (broken() && cann.extension && cann.extension->stream_error)
        cann.extension->stream_error(stream_handle(comm->device, operation->stream)); // told here, not again
    if (comm)
        comm->check();
}

bool HcclWork::wait(milliseconds timeout)
{
    wait_launch(timeout);
    if (comm)
        comm->check();
    synchronize();
    if (operation->captured)
        return true; // there is nothing to wait for yet
    if (timeout != kNoTimeout)
        wait_host(timeout);
    else if (blocking)
        wait_host(kNoTimeout);
    return true;
}

void HcclWork::abort()
{
    wait_launch(kNoTimeout);
    if (!comm)
        return;
    comm->abort(
        c10::str(operation->text(comm->rank), " was aborted by its owner.", error_suffix(Module::DIST, Kind::UNAVAIL)));
}

std::vector<at::Tensor> HcclWork::result()
{
    return outputs;
}

// Complete from the start, as seen by a stream: whoever waits for it makes his stream wait for the operation.
c10::intrusive_ptr<c10::ivalue::Future> HcclWork::getFuture()
{
    wait_launch(kNoTimeout);
    std::lock_guard<std::mutex> hold(lock);
    if (!future) {
        c10::Device device(device_type, (c10::DeviceIndex)operation->end->device);
        future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                          std::vector<c10::Device>{device});
        StreamScope scope(operation->end->device, operation->stream);
        future->markCompleted(c10::IValue(outputs));
    }
    return future;
}

c10::intrusive_ptr<c10::ivalue::Future> HcclWork::getFutureResult()
{
    auto answer = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
    std::chrono::milliseconds timeout = kNoTimeout;
    c10d::WorkResult result = c10d::WorkResult::SUCCESS;
    try {
        wait_launch(timeout);
        wait_host(timeout);
    } catch (const c10::DistBackendError &) {
        result = c10d::WorkResult::COMM_ERROR;
    }
    answer->markCompleted(c10::IValue(static_cast<int64_t>(result)));
    return answer;
}

float HcclWork::getDuration() const
{
    TORCH_CHECK(ready && operation && operation->start,
                "getDuration only works if timing was enabled (TORCH_HCCL_ENABLE_TIMING=1, or the flight recorder).",
                error_suffix(Module::DIST, Kind::UNAVAIL));
    TORCH_CHECK(operation->done(), "getDuration can only be called after the operation is completed.",
                error_suffix(Module::DIST, Kind::UNAVAIL));
    return operation->start->elapsed(*operation->end);
}

uint64_t HcclWork::getSequencenumber() const
{
    return operation ? operation->seq : 0;
}

} // namespace npu

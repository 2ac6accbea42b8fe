// SPDX-License-Identifier: BSD-3-Clause
// What an operation of a process group gives back: c10d's Work.
//
// wait() makes the caller's current stream wait for the operation and returns at once. It waits itself when it is given
// a timeout, for a barrier, and under TORCH_HCCL_BLOCKING_WAIT=1. Tensors live until the operation has finished: their
// memory is recorded on the communicator's stream.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <condition_variable>

#include "../version.h"
#include "comm.h"

namespace npu
{

class HcclWork : public c10d::Work
{
  public:
    HcclWork(int rank, c10d::OpType type, const char *title, std::vector<at::Tensor> outputs, bool blocking);
    ~HcclWork() override = default;

    bool isCompleted() override;
    bool isSuccess() const override;
    void synchronize() override;
    void blockCurrentStream() OVERRIDE_2_12
    {
        synchronize();
    }
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
    void abort() override;
    std::vector<at::Tensor> result() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
    float getDuration() const override;
    uint64_t getSequencenumber() const override;

    // The operation is on its stream (or never will be: error). Until then wait() waits: a first message to a peer is
    // launched by another thread once both are connected. A message of a rank to itself is on no communicator
    // (nullptr).
    void launched(std::shared_ptr<Communicator> on, std::shared_ptr<Operation> what);
    void not_launched(std::exception_ptr error);
    void end_profile(); // of the record that the profiler was given

  private:
    bool broken() const; // its communicator failed
    void wait_launch(std::chrono::milliseconds timeout);
    void wait_host(std::chrono::milliseconds timeout);
    std::shared_ptr<Communicator> comm;
    std::shared_ptr<Operation> operation;
    std::vector<at::Tensor> outputs;
    c10::intrusive_ptr<c10::ivalue::Future> future;
    mutable std::mutex lock;
    std::condition_variable launch_done;
    std::atomic<bool> ready{false};
    std::exception_ptr error;
    const bool blocking;
};

bool blocking_wait(); // TORCH_HCCL_BLOCKING_WAIT, read once

// The stream is current on its device for the life of this object.
struct StreamScope {
    int device, before;
    int8_t device_before;
    StreamScope(int device, int stream)
        : device(device), before(thread_state.stream[device]), device_before(thread_state.device)
    {
        thread_state.device = (int8_t)device;
        thread_state.stream[device] = (uint8_t)stream;
    }
    ~StreamScope()
    {
        thread_state.stream[device] = (uint8_t)before;
        thread_state.device = device_before;
    }
};

} // namespace npu

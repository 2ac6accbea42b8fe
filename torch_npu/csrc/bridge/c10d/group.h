// SPDX-License-Identifier: BSD-3-Clause
// ProcessGroupHCCL: torch.distributed's backend "hccl".
//
// A group opens a communicator for a device at the first operation with a tensor of that device (or at once, when it is
// bound to a device). A synchronous operation goes to the caller's stream; an asynchronous one goes to the
// communicator's stream, after what the caller's stream holds. In a graph that is captured everything stays on the
// caller's stream: it runs at each replay, where the graph has it. Messages between two ranks go over a communicator of
// their own for each direction, so that two ranks may send to each other at the same time and no third rank has to take
// part. Lock: `lock` for the tables; launching takes the communicator's.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <functional>

#include "../version.h"
#include "recorder.h"
#include "work.h"

namespace npu
{

class Peer; // the connection to another rank (p2p.cpp)

class ProcessGroupHCCL : public c10d::Backend
{
  public:
    using Options = GroupOptions;
    using Tensors = std::vector<at::Tensor>;
    using TensorLists = std::vector<std::vector<at::Tensor>>;
    using WorkPtr = c10::intrusive_ptr<c10d::Work>;

    ProcessGroupHCCL(c10::intrusive_ptr<c10d::Store> store, int rank, int size, c10::intrusive_ptr<Options> options);
    ~ProcessGroupHCCL() override;

    const std::string getBackendName() const override
    {
        return "hccl";
    }
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() OVERRIDE_2_12
    {
        return options;
    }
    bool supportsSplitting() const override
    {
        return true;
    }
    bool supportsCoalescing() const override
    {
        return true;
    }
    bool supportsTimeEstimation() const OVERRIDE_2_12
    {
        return false;
    }
    void setTimeout(std::chrono::milliseconds timeout) OVERRIDE_2_12;
    void startCoalescing() override;
    WorkPtr endCoalescing() override;

    // collectives.cpp
    WorkPtr broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override;
    WorkPtr allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override;
    WorkPtr allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &opts) override;
    WorkPtr reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override;
    WorkPtr reduce_scatter(Tensors &outputs, TensorLists &inputs, const c10d::ReduceScatterOptions &opts) override;
    WorkPtr _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                 const c10d::ReduceScatterOptions &opts) override;
    WorkPtr reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                            const c10d::ReduceScatterOptions &opts) override;
    WorkPtr reduce_scatter_uneven(at::Tensor &output, at::Tensor &input, std::vector<int64_t> splits,
                                  const c10d::ReduceScatterOptions &opts);
    WorkPtr barrier(const c10d::BarrierOptions &opts) override;
    void monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all_ranks) override;

    // exchange.cpp
    WorkPtr allgather(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts) override;
    WorkPtr _allgather_base(at::Tensor &output, at::Tensor &input, const c10d::AllgatherOptions &opts) override;
    WorkPtr allgather_coalesced(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts) override;
    WorkPtr allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                            const c10d::AllgatherOptions &opts) override;
    WorkPtr allgather_uneven(at::Tensor &output, at::Tensor &input, std::vector<int64_t> splits,
                             const c10d::AllgatherOptions &opts);
    WorkPtr gather(TensorLists &outputs, Tensors &inputs, const c10d::GatherOptions &opts) override;
    WorkPtr scatter(Tensors &outputs, TensorLists &inputs, const c10d::ScatterOptions &opts) override;
    WorkPtr alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
                          std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &opts) override;
    WorkPtr alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts) override;
    WorkPtr alltoallvc(at::Tensor &output, at::Tensor &input, const std::vector<std::vector<int64_t>> &matrix,
                       const c10d::AllToAllOptions &opts);

    // p2p.cpp
    WorkPtr send(Tensors &tensors, int peer, int tag) override;
    WorkPtr recv(Tensors &tensors, int peer, int tag) override;
    WorkPtr recvAnysource(Tensors &tensors, int tag) override;
    // Between the two a rank may send to itself; the coalesced forms call them.
    void group_start();
    void group_end();

    void setSequenceNumberForGroup() override
    {
    }
    uint64_t getSequenceNumberForGroup() override
    {
        return seq;
    }
    c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store> &store, const std::vector<int> &ranks,
                                            const c10::intrusive_ptr<c10d::Backend::Options> &opts) OVERRIDE_2_12;
    void eagerConnectSingleDevice(at::Device device) override;
    c10d::ErrorType getError() override;
    void abort() override;    // at once; peers find out by themselves
    void shutdown() override; // after what is under way
    void setGroupUid(const std::string &uid) OVERRIDE_2_12;

    std::string comm_name(int device, bool make); // HCCL's name of the group's communicator, "" when there is none
    void reopen();                                // forgets failed communicators; the next operation opens new ones
    void wait_pending();                          // until what was launched so far has finished
    bool is_bound_or_used(int *device);           // device this group works on, if known
    int stream_id(int device);                    // of the group's communicator on the device

  private:
    friend class Peer;
    struct Call {
        c10d::OpType type;
        const char *title; // "hccl:all_reduce"
        bool async;
        std::chrono::milliseconds timeout;
        bool blocking = false; // wait() of its work waits on the host
    };
    struct Ready { // what a launch function gets
        HcclComm comm;
        aclrtStream stream;
    };
    using Launch = std::function<void(const Ready &)>;
    struct Before { // the caller's stream, and an event on it if it holds work that must come first
        int stream;
        std::shared_ptr<DeviceEvent> gate;
    };
    static Before before_now(int device, bool async);

    // Puts one operation on its stream. `launch` runs with that stream current: what it computes before and after
    // HCCL's call is in order.
    WorkPtr run(const Call &call, int device, const Tensors &inputs, const Tensors &outputs, const Launch &launch);
    c10::intrusive_ptr<HcclWork> new_work(const Call &call, const Tensors &outputs);
    void launch_on(const std::shared_ptr<Communicator> &comm, const Call &call, uint64_t number, const Before &before,
                   const Tensors &inputs, const Tensors &outputs, const Launch &launch, HcclWork &work);
    std::shared_ptr<Communicator> communicator(int device);
    std::shared_ptr<Peer> peer(int rank, int device);
    WorkPtr message(bool sends, at::Tensor &tensor, int peer_rank);
    WorkPtr message_to_self(const Call &call, bool sends, at::Tensor &tensor);
    int check_tensors(const Tensors &inputs, const Tensors &outputs, const char *what); // returns the device
    std::chrono::milliseconds timeout_of(std::chrono::milliseconds given) const;
    GroupName group_name() const;
    int world_rank() const;
    std::vector<std::shared_ptr<Communicator>> communicators();

    c10::intrusive_ptr<c10d::Store> store;
    c10::intrusive_ptr<Options> options;
    const size_t id;
    std::mutex lock;
    std::map<int, std::shared_ptr<Communicator>> by_device;
    std::map<std::pair<int, int>, std::shared_ptr<Peer>> peers; // by (rank, device)
    std::atomic<uint64_t> seq{0}, p2p_seq{0}, barriers{0};
    int made = 0, generation = 0; // communicators so far, times it was reopened
    bool coalescing = false, closed = false;
    std::vector<WorkPtr> coalesced;
    int groups = 0;                                                             // started and not ended
    std::deque<std::pair<at::Tensor, c10::intrusive_ptr<HcclWork>>> to_self[2]; // received, sent: not yet matched
};

// Whether the caller will wait for the work itself; options that do not say so yet (older PyTorch) mean yes.
template <class Given> bool async_of(const Given &given)
{
    if constexpr (requires { given.asyncOp; })
        return given.asyncOp;
    else
        return true;
}

// The store over a connection of its own, where stores can do that.
template <class Store> c10::intrusive_ptr<Store> clone_of(const c10::intrusive_ptr<Store> &store)
{
    if constexpr (requires { store->clone(); })
        return store->clone();
    else
        return store;
}

// HCCL's type of the elements, and how many of them one element of the tensor is. For moving data every type has one;
// for reductions of types that HCCL does not have this throws.
struct Elements {
    HcclDataType type;
    int64_t each;
};
Elements elements_to_move(c10::ScalarType type);
HcclDataType element_to_reduce(c10::ScalarType type);

inline bool plain(const at::Tensor &t)
{
    return t.is_contiguous() && !t.is_conj() && !t.is_neg();
}
inline at::Tensor raw(const at::Tensor &t) // as bytes, where only its bits count and copies know no such type
{
    return c10::isFloat8Type(t.scalar_type()) ? t.view(at::kByte) : t;
}
inline at::Tensor packed(const at::Tensor &t) // t itself when it is contiguous
{
    return plain(t) ? t : raw(t).resolve_conj().resolve_neg().contiguous();
}
// Where an operation can write what belongs into t: t itself, or a temporary that write_back() copies over.
at::Tensor landing(const at::Tensor &t);
inline void write_back(const at::Tensor &t, const at::Tensor &landed)
{
    if (!t.is_same(landed))
        raw(t).copy_(landed);
}
// Tensors one behind the other as one piece of memory: theirs when it is so, else a temporary (filled if asked for).
at::Tensor one_piece(const std::vector<at::Tensor> &tensors, bool fill);
void spread(const at::Tensor &piece, const std::vector<at::Tensor> &tensors); // the reverse, if it was a temporary

} // namespace npu

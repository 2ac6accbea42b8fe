// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks (p2p.h, group.h). Tags do not part messages: those of one pair and direction arrive in the
// order they were sent, as with NCCL.
#include "p2p.h"

#include <thread>

#include "group.h"

namespace npu
{

using c10d::OpType;
using WorkPtr = ProcessGroupHCCL::WorkPtr;

void Peer::connect()
{
    std::thread([self = shared_from_this()] {
        pthread_setname_np(pthread_self(), "npu_connect");
        at::NoGradGuard no_grad;
        self->open();
    }).detach();
}

void Peer::open()
{
    std::shared_ptr<Communicator> made[2];
    std::exception_ptr failed;
    try {
        int low = std::min(setup.rank, setup.peer);
        auto &store = *setup.store;
        for (int i = 0; i < 2; i++)
            made[i] = Communicator::make(store, setup.key + "/" + std::to_string(i), setup.device, setup.rank != low, 2,
                                         setup.world_rank, *setup.options, true);
    } catch (const std::exception &e) {
        failed = std::make_exception_ptr(c10::DistBackendError(
            {__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
            c10::str("rank ", setup.rank, " and rank ", setup.peer, " could not connect for send and recv: ", e.what(),
                     error_suffix(Module::DIST, Kind::TIMEOUT))));
    }
    std::lock_guard<std::mutex> hold(lock);
    if (cancelled && !failed)
        failed = std::make_exception_ptr(c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                                                               "The process group was closed before rank " +
                                                                   std::to_string(setup.peer) + " connected."));
    error = failed;
    opened = true;
    for (int i = 0; i < 2 && !failed; i++)
        direction[i] = made[i];
    for (auto &[way, post] : waiting)
        post(direction[way], error);
    waiting.clear();
}

void Peer::post(bool sends, Post post)
{
    int way = (setup.rank < setup.peer) == sends ? 0 : 1;
    std::lock_guard<std::mutex> hold(lock);
    if (opened)
        post(direction[way], error);
    else
        waiting.emplace_back(way, std::move(post));
}

void Peer::add_to(std::vector<std::shared_ptr<Communicator>> &all)
{
    std::lock_guard<std::mutex> hold(lock);
    for (auto &comm : direction)
        if (comm)
            all.push_back(comm);
}

void Peer::cancel()
{
    std::lock_guard<std::mutex> hold(lock);
    cancelled = true;
}

std::shared_ptr<Peer> ProcessGroupHCCL::peer(int rank, int device)
{
    std::lock_guard<std::mutex> hold(lock);
    TORCH_CHECK_WITH(DistBackendError, !closed, "This process group was shut down.",
                     error_suffix(Module::DIST, Kind::UNAVAIL));
    auto &place = peers[{rank, device}];
    if (!place) {
        std::string key = c10::str("hccl/", generation, "/pair/", std::min(rank, rank_), "-", std::max(rank, rank_));
        place = std::make_shared<Peer>(Peer::Setup{clone_of(store), key, device, rank_, rank, world_rank(), options});
        place->connect();
    }
    return place;
}

WorkPtr ProcessGroupHCCL::message(bool sends, at::Tensor &tensor, int peer_rank)
{
    const char *what = sends ? "send" : "recv";
    int device = check_tensors({tensor}, {}, what);
    TORCH_CHECK(peer_rank >= 0 && peer_rank < size_, what, ": rank ", peer_rank, " is not a rank of this group of ",
                size_, " ranks.", error_suffix(Module::DIST, Kind::PARAM));
    Call call{sends ? OpType::SEND : OpType::RECV, sends ? "hccl:send" : "hccl:recv", true,
              timeout_of(c10d::kUnsetTimeout)};
    if (peer_rank == rank_)
        return message_to_self(call, sends, tensor);
    Tensors inputs = sends ? Tensors{tensor} : Tensors{}, outputs = sends ? Tensors{} : Tensors{tensor};
    auto work = new_work(call, outputs);
    Launch launch = [sends, tensor, peer_rank, me = rank_](const Ready &r) {
        Elements e = elements_to_move(tensor.scalar_type());
        at::Tensor buffer = sends ? packed(tensor) : landing(tensor);
        uint64_t count = (uint64_t)(tensor.numel() * e.each);
        uint32_t other = peer_rank > me; // the pair's ranks are 0 and 1
        if (count && sends)
            HCCL(HcclSend, buffer.mutable_data_ptr(), count, e.type, other, r.comm, r.stream);
        else if (count)
            HCCL(HcclRecv, buffer.mutable_data_ptr(), count, e.type, other, r.comm, r.stream);
        if (!sends)
            write_back(tensor, buffer);
    };
    Before before = before_now(device, true);
    uint64_t number = ++p2p_seq;
    auto self = c10::intrusive_ptr<ProcessGroupHCCL>::unsafe_reclaim_from_nonowning(this);
    peer(peer_rank, device)->post(sends, [=](const std::shared_ptr<Communicator> &comm, std::exception_ptr error) {
        try {
            if (error)
                std::rethrow_exception(error);
            comm->check();
            self->launch_on(comm, call, number, before, inputs, outputs, launch, *work);
        } catch (...) {
            work->not_launched(std::current_exception());
        }
    });
    if (coalescing)
        coalesced.push_back(work);
    return work;
}

// A send and a receive of the same rank meet in a group of calls; neither can be done without the other.
WorkPtr ProcessGroupHCCL::message_to_self(const Call &call, bool sends, at::Tensor &tensor)
{
    TORCH_CHECK(groups > 0, sends ? "send" : "recv", ": rank ", rank_,
                " is this rank itself, which works only in batch_isend_irecv, with both sides in the batch.",
                error_suffix(Module::DIST, Kind::PARAM));
    auto work = new_work(call, sends ? Tensors{} : Tensors{tensor});
    to_self[sends].emplace_back(tensor, work);
    if (coalescing)
        coalesced.push_back(work);
    return work;
}

void ProcessGroupHCCL::group_start()
{
    groups++;
}

void ProcessGroupHCCL::group_end()
{
    TORCH_CHECK(groups > 0, "A group of calls ends that was not started.", error_suffix(Module::DIST, Kind::INTERNAL));
    if (--groups > 0)
        return;
    auto received = std::move(to_self[0]), sent = std::move(to_self[1]);
    to_self[0].clear();
    to_self[1].clear();
    TORCH_CHECK(received.size() == sent.size(), "rank ", rank_, " sends ", sent.size(),
                " messages to itself and receives ", received.size(), " in one batch.",
                error_suffix(Module::DIST, Kind::PARAM));
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < sent.size(); i++) {
        auto &[to, to_work] = received[i];
        auto &[from, from_work] = sent[i];
        TORCH_CHECK(to.numel() == from.numel() && to.scalar_type() == from.scalar_type(), "rank ", rank_,
                    " sends itself ", from.numel(), " x ", from.scalar_type(), " and receives ", to.numel(), " x ",
                    to.scalar_type(), ".", error_suffix(Module::DIST, Kind::PARAM));
        auto operation = std::make_shared<Operation>(); // on the caller's stream; no communicator has a part in it
        operation->stream = current_stream_index(to.device().index());
        operation->end = std::make_shared<DeviceEvent>(to.device().index(), false);
        to.copy_(from.reshape(to.sizes()));
        operation->end->record(operation->stream);
        to_work->launched(nullptr, operation);
        from_work->launched(nullptr, operation);
    }
}

static at::Tensor &the_tensor(std::vector<at::Tensor> &tensors, const char *what)
{
    TORCH_CHECK(tensors.size() == 1, what, ": Expecting one tensor only but got ", tensors.size(), ".",
                error_suffix(Module::DIST, Kind::PARAM));
    return tensors[0];
}

WorkPtr ProcessGroupHCCL::send(Tensors &tensors, int peer, int)
{
    return message(true, the_tensor(tensors, "send"), peer);
}

WorkPtr ProcessGroupHCCL::recv(Tensors &tensors, int peer, int)
{
    return message(false, the_tensor(tensors, "recv"), peer);
}

WorkPtr ProcessGroupHCCL::recvAnysource(Tensors &, int)
{
    TORCH_CHECK_NOT_IMPLEMENTED(false,
                                "ProcessGroupHCCL does not support recv from any source: HCCL matches a message "
                                "with its sender. Name the source rank (src=…).",
                                error_suffix(Module::DIST, Kind::NOT_SUPPORT));
}

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// Collectives that reduce, broadcast and barriers (group.h).
//
// Tensors need not be contiguous: what is not goes through a temporary on the operation's stream. An operation that
// moves nothing on any rank is not passed to HCCL.
#include "group.h"
#include "meeting.h"
#include "reduction.h"

namespace npu
{

using c10d::OpType;
using WorkPtr = ProcessGroupHCCL::WorkPtr;

static at::Tensor as_real(const at::Tensor &t)
{
    return t.is_complex() ? at::view_as_real(t.resolve_conj()) : t;
}

static at::Tensor only(const std::vector<at::Tensor> &tensors, const char *what)
{
    TORCH_CHECK(tensors.size() == 1, what, ": Expecting one tensor only but got ", tensors.size(), ".",
                error_suffix(Module::DIST, Kind::PARAM));
    return tensors[0];
}

static int root_of(int64_t root, int size, const char *what)
{
    TORCH_CHECK(root >= 0 && root < size, what, ": invalid root rank ", root, " in a group of ", size, " ranks.",
                error_suffix(Module::DIST, Kind::PARAM));
    return (int)root;
}

static void all_reduce_one(const at::Tensor &given, const c10d::ReduceOp &op, int size, HcclComm comm,
                           aclrtStream stream)
{
    at::Tensor t = as_real(given);
    Reduction how(op, t.scalar_type(), size);
    at::Tensor target = landing(t), source = how.before(packed(t));
    if (t.numel())
        HCCL(HcclAllReduce, source.mutable_data_ptr(), target.mutable_data_ptr(), (uint64_t)t.numel(), how.type, how.op,
             comm, stream);
    how.after(target);
    write_back(t, target);
}

WorkPtr ProcessGroupHCCL::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
    at::Tensor t = only(tensors, "all_reduce");
    int device = check_tensors(tensors, {}, "all_reduce");
    Reduction(opts.reduceOp, as_real(t).scalar_type(), size_);
    return run({OpType::ALLREDUCE, "hccl:all_reduce", async_of(opts), timeout_of(opts.timeout)}, device, tensors,
               tensors, [&](const Ready &r) { all_reduce_one(t, opts.reduceOp, size_, r.comm, r.stream); });
}

WorkPtr ProcessGroupHCCL::allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &opts)
{
    int device = -1;
    for (auto &t : tensors) { // of different types, maybe
        device = check_tensors({t}, {}, "all_reduce_coalesced");
        Reduction(opts.reduceOp, as_real(t).scalar_type(), size_);
    }
    TORCH_CHECK(device >= 0, "all_reduce_coalesced got no tensors.", error_suffix(Module::DIST, Kind::PARAM));
    return run({OpType::ALLREDUCE_COALESCED, "hccl:all_reduce_coalesced", async_of(opts), timeout_of(opts.timeout)},
               device, tensors, tensors, [&](const Ready &r) {
                   for (auto &t : tensors)
                       all_reduce_one(t, opts.reduceOp, size_, r.comm, r.stream);
               });
}

WorkPtr ProcessGroupHCCL::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
    at::Tensor t = only(tensors, "broadcast");
    int device = check_tensors(tensors, {}, "broadcast"), root = root_of(opts.rootRank, size_, "broadcast");
    return run({OpType::BROADCAST, "hccl:broadcast", async_of(opts), timeout_of(opts.timeout)}, device, tensors,
               tensors, [&](const Ready &r) {
                   Elements e = elements_to_move(t.scalar_type());
                   at::Tensor target = rank_ == root ? packed(t) : landing(t);
                   if (t.numel())
                       HCCL(HcclBroadcast, target.mutable_data_ptr(), (uint64_t)(t.numel() * e.each), e.type,
                            (uint32_t)root, r.comm, r.stream);
                   if (rank_ != root)
                       write_back(t, target);
               });
}

WorkPtr ProcessGroupHCCL::reduce(Tensors &tensors, const c10d::ReduceOptions &opts)
{
    at::Tensor given = only(tensors, "reduce");
    int device = check_tensors(tensors, {}, "reduce"), root = root_of(opts.rootRank, size_, "reduce");
    Reduction(opts.reduceOp, as_real(given).scalar_type(), size_);
    return run({OpType::REDUCE, "hccl:reduce", async_of(opts), timeout_of(opts.timeout)}, device, tensors, tensors,
               [&](const Ready &r) {
                   at::Tensor t = as_real(given);
                   Reduction how(opts.reduceOp, t.scalar_type(), size_);
                   at::Tensor source = how.before(packed(t)), target = rank_ == root ? landing(t) : source;
                   if (t.numel())
                       HCCL(HcclReduce, source.mutable_data_ptr(), target.mutable_data_ptr(), (uint64_t)t.numel(),
                            how.type, how.op, (uint32_t)root, r.comm, r.stream);
                   if (rank_ != root)
                       return;
                   how.after(target);
                   write_back(t, target);
               });
}

static void reduce_scatter_one(const at::Tensor &given_output, const at::Tensor &given_input, const c10d::ReduceOp &op,
                               int size, HcclComm comm, aclrtStream stream)
{
    at::Tensor output = as_real(given_output), input = as_real(given_input);
    Reduction how(op, input.scalar_type(), size);
    at::Tensor target = landing(output), source = how.before(packed(input));
    if (output.numel())
        HCCL(HcclReduceScatter, source.mutable_data_ptr(), target.mutable_data_ptr(), (uint64_t)output.numel(),
             how.type, how.op, comm, stream);
    how.after(target);
    write_back(output, target);
}

static void check_scatter_sizes(const at::Tensor &output, const at::Tensor &input, int size)
{
    TORCH_CHECK_VALUE(input.numel() == output.numel() * size,
                      "input tensor must be the same size as output size times world size: input ", input.sizes(),
                      ", output ", output.sizes(), ", world size ", size, error_suffix(Module::DIST, Kind::VALUE));
}

WorkPtr ProcessGroupHCCL::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                               const c10d::ReduceScatterOptions &opts)
{
    int device = check_tensors({input}, {output}, "reduce_scatter_tensor");
    check_scatter_sizes(output, input, size_);
    Reduction(opts.reduceOp, as_real(input).scalar_type(), size_);
    return run({OpType::_REDUCE_SCATTER_BASE, "hccl:_reduce_scatter_base", async_of(opts), timeout_of(opts.timeout)},
               device, {input}, {output},
               [&](const Ready &r) { reduce_scatter_one(output, input, opts.reduceOp, size_, r.comm, r.stream); });
}

WorkPtr ProcessGroupHCCL::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                          const c10d::ReduceScatterOptions &opts)
{
    TORCH_CHECK(inputs.size() == outputs.size() && !inputs.empty(), "reduce_scatter_tensor_coalesced got ",
                inputs.size(), " inputs for ", outputs.size(), " outputs.", error_suffix(Module::DIST, Kind::PARAM));
    int device = 0;
    for (size_t i = 0; i < inputs.size(); i++) {
        device = check_tensors({inputs[i]}, {outputs[i]}, "reduce_scatter_tensor_coalesced");
        check_scatter_sizes(outputs[i], inputs[i], size_);
        Reduction(opts.reduceOp, as_real(inputs[i]).scalar_type(), size_);
    }
    return run(
        {REDUCE_SCATTER_TENSORS, "hccl:reduce_scatter_tensor_coalesced", async_of(opts), timeout_of(opts.timeout)},
        device, inputs, outputs, [&](const Ready &r) {
            for (size_t i = 0; i < inputs.size(); i++)
                reduce_scatter_one(outputs[i], inputs[i], opts.reduceOp, size_, r.comm, r.stream);
        });
}

static void reduce_scatter_v(const at::Tensor &given_output, const at::Tensor &flat_input,
                             const std::vector<int64_t> &counts, const c10d::ReduceOp &op, int size, HcclComm comm,
                             aclrtStream stream)
{
    std::vector<uint64_t> send(counts.begin(), counts.end()), offset;
    uint64_t total = 0;
    for (uint64_t n : send) {
        offset.push_back(total);
        total += n;
    }
    Reduction how(op, flat_input.scalar_type(), size);
    at::Tensor target = landing(given_output), source = how.before(flat_input);
    if (total)
        HCCL(HcclReduceScatterV, source.mutable_data_ptr(), send.data(), offset.data(), target.mutable_data_ptr(),
             (uint64_t)target.numel(), how.type, how.op, comm, stream);
    how.after(target);
    write_back(given_output, target);
}

WorkPtr ProcessGroupHCCL::reduce_scatter(Tensors &outputs, TensorLists &inputs, const c10d::ReduceScatterOptions &opts)
{
    at::Tensor given_output = only(outputs, "reduce_scatter");
    TORCH_CHECK(inputs.size() == 1 && inputs[0].size() == (size_t)size_,
                "reduce_scatter: the input list must hold as many tensors as the group has ranks (", size_, ").",
                error_suffix(Module::DIST, Kind::PARAM));
    int device = check_tensors(inputs[0], outputs, "reduce_scatter");
    Tensors parts;
    std::vector<int64_t> counts;
    bool even = true;
    for (auto &t : inputs[0]) {
        parts.push_back(as_real(t));
        counts.push_back(parts.back().numel());
        even = even && counts.back() == counts[0];
    }
    TORCH_CHECK_VALUE(counts[rank_] == as_real(given_output).numel(), "reduce_scatter: the output has ",
                      given_output.sizes(), ", but number ", rank_, " of the input list has ", inputs[0][rank_].sizes(),
                      ".", error_suffix(Module::DIST, Kind::VALUE));
    Reduction(opts.reduceOp, parts[0].scalar_type(), size_);
    return run({OpType::REDUCE_SCATTER, "hccl:reduce_scatter", async_of(opts), timeout_of(opts.timeout)}, device,
               inputs[0], outputs, [&](const Ready &r) {
                   at::Tensor output = as_real(given_output), flat = one_piece(parts, true);
                   if (even)
                       reduce_scatter_one(output, flat, opts.reduceOp, size_, r.comm, r.stream);
                   else
                       reduce_scatter_v(output, flat, counts, opts.reduceOp, size_, r.comm, r.stream);
               });
}

WorkPtr ProcessGroupHCCL::reduce_scatter_uneven(at::Tensor &output, at::Tensor &input, std::vector<int64_t> splits,
                                                const c10d::ReduceScatterOptions &opts)
{
    int device = check_tensors({input}, {output}, "reduce_scatter_tensor_uneven");
    int64_t row = input.dim() && input.size(0) ? input.numel() / input.size(0) : 1, sum = 0;
    if (splits.empty())
        splits.assign(size_, input.dim() ? input.size(0) / size_ : 0);
    for (int64_t n : splits)
        sum += n;
    TORCH_CHECK_VALUE(
        splits.size() == (size_t)size_ && input.dim() && sum == input.size(0) && splits[rank_] * row == output.numel(),
        "reduce_scatter_tensor_uneven: input ", input.sizes(), ", splits ", splits, ", output ", output.sizes(),
        ": the splits must be one for each rank and add up to the input's first "
        "dimension, and this rank's must fit the output.",
        error_suffix(Module::DIST, Kind::VALUE));
    for (int64_t &n : splits)
        n *= row;
    Reduction(opts.reduceOp, input.scalar_type(), size_);
    return run({OpType::REDUCE_SCATTER, "hccl:_reduce_scatter_base_uneven", async_of(opts), timeout_of(opts.timeout)},
               device, {input}, {output}, [&](const Ready &r) {
                   reduce_scatter_v(output, packed(input), splits, opts.reduceOp, size_, r.comm, r.stream);
               });
}

WorkPtr ProcessGroupHCCL::barrier(const c10d::BarrierOptions &opts)
{
    int device = current_device();
    if (opts.device && opts.device->type() == device_type)
        device = opts.device->has_index() ? opts.device->index() : device;
    else if (!opts.device_ids.empty())
        device = (int)opts.device_ids[0];
    else
        is_bound_or_used(&device);
    check_device(device);
    return run({OpType::BARRIER, "hccl:barrier", async_of(opts), timeout_of(opts.timeout), true}, device, {}, {},
               [&](const Ready &r) { HCCL(HcclBarrier, r.comm, r.stream); });
}

// On the host, through the store: rank 0 hears from every rank and then lets them go, so it can name who is missing.
void ProcessGroupHCCL::monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all_ranks)
{
    std::chrono::milliseconds timeout = timeout_of(opts.timeout);
    Meeting meeting(*store, c10::str("monitored_barrier/", generation, "/", barriers++), rank_, size_, timeout);
    if (rank_) {
        std::string answer;
        try {
            answer = meeting.answer();
        } catch (const std::exception &error) {
            TORCH_CHECK(false, "Rank ", rank_,
                        " successfully reached monitoredBarrier, but received errors while "
                        "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank. Original error: ",
                        error.what(), error_suffix(Module::DIST, Kind::TIMEOUT));
        }
        TORCH_CHECK(answer == "go", "Rank ", rank_, " successfully reached monitoredBarrier, but: ", answer);
        return;
    }
    std::vector<int> missing = meeting.gather(wait_all_ranks);
    if (missing.empty())
        return meeting.tell("go");
    std::string text = c10::str("[Rank 0]: Rank", missing.size() > 1 ? "s " : " ", c10::Join(", ", missing),
                                " failed to pass monitoredBarrier in ", timeout.count(), " ms");
    meeting.tell(text);
    TORCH_CHECK(false, text, error_suffix(Module::DIST, Kind::TIMEOUT));
}

} // namespace npu

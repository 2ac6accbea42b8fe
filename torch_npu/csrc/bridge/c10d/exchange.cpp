// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data between ranks without computing (group.h): gathers, scatter, all-to-all. Any element type;
// what HCCL has no type for goes as bytes.
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "group.h"

namespace npu
{

using c10d::OpType;
using WorkPtr = ProcessGroupHCCL::WorkPtr;
using Counts = std::vector<uint64_t>;

static Counts offsets_of(const Counts &counts)
{
    Counts offsets;
    uint64_t sum = 0;
    for (uint64_t n : counts) {
        offsets.push_back(sum);
        sum += n;
    }
    return offsets;
}

static Counts counts_of(const std::vector<at::Tensor> &tensors, int64_t each)
{
    Counts counts;
    for (auto &t : tensors)
        counts.push_back((uint64_t)(t.numel() * each));
    return counts;
}

static bool even(const std::vector<at::Tensor> &tensors)
{
    return std::all_of(tensors.begin(), tensors.end(), [&](auto &t) { return t.numel() == tensors[0].numel(); });
}

static uint64_t sum_of(const Counts &counts)
{
    uint64_t sum = 0;
    for (uint64_t n : counts)
        sum += n;
    return sum;
}

static void all_to_all_v(const at::Tensor &source, const Counts &send, const at::Tensor &target, const Counts &receive,
                         HcclDataType type, HcclComm comm, aclrtStream stream)
{
    Counts send_offsets = offsets_of(send), receive_offsets = offsets_of(receive);
    HCCL(HcclAlltoAllV, source.mutable_data_ptr(), send.data(), send_offsets.data(), type, target.mutable_data_ptr(),
         receive.data(), receive_offsets.data(), type, comm, stream);
}

// ---- all_gather ----
static void all_gather_one(const at::Tensor &output, const at::Tensor &input, HcclComm comm, aclrtStream stream)
{
    Elements e = elements_to_move(input.scalar_type());
    at::Tensor source = packed(input), target = landing(output);
    if (input.numel())
        HCCL(HcclAllGather, source.mutable_data_ptr(), target.mutable_data_ptr(), (uint64_t)(input.numel() * e.each),
             e.type, comm, stream);
    write_back(output, target);
}

static void all_gather_v(const at::Tensor &target, const Counts &counts, const at::Tensor &input, HcclComm comm,
                         aclrtStream stream)
{
    Elements e = elements_to_move(input.scalar_type());
    Counts offsets = offsets_of(counts);
    at::Tensor source = packed(input);
    if (sum_of(counts))
        HCCL(HcclAllGatherV, source.mutable_data_ptr(), (uint64_t)(input.numel() * e.each), target.mutable_data_ptr(),
             counts.data(), offsets.data(), e.type, comm, stream);
}

static void all_gather_list(const std::vector<at::Tensor> &outputs, const at::Tensor &input, HcclComm comm,
                            aclrtStream stream)
{
    at::Tensor piece = one_piece(outputs, false);
    if (even(outputs))
        all_gather_one(piece, input, comm, stream);
    else
        all_gather_v(piece, counts_of(outputs, elements_to_move(input.scalar_type()).each), input, comm, stream);
    spread(piece, outputs);
}

static void check_gather_list(const std::vector<at::Tensor> &outputs, const at::Tensor &input, int size, int rank,
                              const char *what)
{
    TORCH_CHECK(outputs.size() == (size_t)size, what,
                ": the output list must hold as many tensors as the group has ranks (", size, "), but it holds ",
                outputs.size(), ".", error_suffix(Module::DIST, Kind::PARAM));
    TORCH_CHECK_VALUE(outputs[rank].numel() == input.numel(), what, ": this rank sends ", input.sizes(),
                      ", but number ", rank, " of the output list has ", outputs[rank].sizes(), ".",
                      error_suffix(Module::DIST, Kind::VALUE));
}

WorkPtr ProcessGroupHCCL::allgather(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts)
{
    TORCH_CHECK(inputs.size() == 1 && outputs.size() == 1, "all_gather: Expecting one tensor only but got ",
                inputs.size(), ".", error_suffix(Module::DIST, Kind::PARAM));
    at::Tensor input = inputs[0];
    Tensors &list = outputs[0];
    int device = check_tensors(inputs, list, "all_gather");
    check_gather_list(list, input, size_, rank_, "all_gather");
    return run({OpType::ALLGATHER, "hccl:all_gather", async_of(opts), timeout_of(opts.timeout)}, device, inputs, list,
               [&](const Ready &r) { all_gather_list(list, input, r.comm, r.stream); });
}

static void check_gather_sizes(const at::Tensor &output, const at::Tensor &input, int size)
{
    TORCH_CHECK_VALUE(output.numel() == input.numel() * size,
                      "output tensor size must be equal to world_size times input tensor size: output ", output.sizes(),
                      ", input ", input.sizes(), ", world size ", size, error_suffix(Module::DIST, Kind::VALUE));
}

WorkPtr ProcessGroupHCCL::_allgather_base(at::Tensor &output, at::Tensor &input, const c10d::AllgatherOptions &opts)
{
    int device = check_tensors({input}, {output}, "all_gather_into_tensor");
    check_gather_sizes(output, input, size_);
    return run({OpType::_ALLGATHER_BASE, "hccl:_all_gather_base", async_of(opts), timeout_of(opts.timeout)}, device,
               {input}, {output}, [&](const Ready &r) { all_gather_one(output, input, r.comm, r.stream); });
}

WorkPtr ProcessGroupHCCL::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                          const c10d::AllgatherOptions &opts)
{
    TORCH_CHECK(inputs.size() == outputs.size() && !inputs.empty(), "all_gather_into_tensor_coalesced got ",
                inputs.size(), " inputs for ", outputs.size(), " outputs.", error_suffix(Module::DIST, Kind::PARAM));
    int device = 0;
    for (size_t i = 0; i < inputs.size(); i++) {
        device = check_tensors({inputs[i]}, {outputs[i]}, "all_gather_into_tensor_coalesced");
        check_gather_sizes(outputs[i], inputs[i], size_);
    }
    return run({OpType::COALESCED, "hccl:all_gather_into_tensor_coalesced", async_of(opts), timeout_of(opts.timeout)},
               device, inputs, outputs, [&](const Ready &r) {
                   for (size_t i = 0; i < inputs.size(); i++)
                       all_gather_one(outputs[i], inputs[i], r.comm, r.stream);
               });
}

// outputs[rank][i] is what rank's inputs[i] was.
WorkPtr ProcessGroupHCCL::allgather_coalesced(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts)
{
    TORCH_CHECK(outputs.size() == (size_t)size_ && !inputs.empty(), "all_gather_coalesced got ", outputs.size(),
                " output lists and ", inputs.size(), " inputs in a group of ", size_, " ranks.",
                error_suffix(Module::DIST, Kind::PARAM));
    TensorLists by_input(inputs.size());
    Tensors all;
    int device = 0;
    for (size_t i = 0; i < inputs.size(); i++) {
        for (auto &list : outputs) {
            TORCH_CHECK(list.size() == inputs.size(), "all_gather_coalesced: an output list holds ", list.size(),
                        " tensors for ", inputs.size(), " inputs.", error_suffix(Module::DIST, Kind::PARAM));
            by_input[i].push_back(list[i]);
            all.push_back(list[i]);
        }
        device = check_tensors({inputs[i]}, by_input[i], "all_gather_coalesced");
        check_gather_list(by_input[i], inputs[i], size_, rank_, "all_gather_coalesced");
    }
    return run({OpType::ALLGATHER_COALESCED, "hccl:all_gather_coalesced", async_of(opts), timeout_of(opts.timeout)},
               device, inputs, all, [&](const Ready &r) {
                   for (size_t i = 0; i < inputs.size(); i++)
                       all_gather_list(by_input[i], inputs[i], r.comm, r.stream);
               });
}

WorkPtr ProcessGroupHCCL::allgather_uneven(at::Tensor &output, at::Tensor &input, std::vector<int64_t> splits,
                                           const c10d::AllgatherOptions &opts)
{
    int device = check_tensors({input}, {output}, "all_gather_into_tensor_uneven");
    int64_t row = output.dim() && output.size(0) ? output.numel() / output.size(0) : 1, sum = 0;
    if (splits.empty())
        splits.assign(size_, output.dim() ? output.size(0) / size_ : 0);
    for (int64_t n : splits)
        sum += n;
    TORCH_CHECK_VALUE(
        splits.size() == (size_t)size_ && output.dim() && sum == output.size(0) && splits[rank_] * row == input.numel(),
        "all_gather_into_tensor_uneven: output ", output.sizes(), ", splits ", splits, ", input ", input.sizes(),
        ": the splits must be one for each rank and add up to the output's first "
        "dimension, and this rank's must fit the input.",
        error_suffix(Module::DIST, Kind::VALUE));
    Counts counts;
    for (int64_t n : splits)
        counts.push_back((uint64_t)(n * row * elements_to_move(input.scalar_type()).each));
    return run({OpType::_ALLGATHER_BASE, "hccl:_allgather_base_uneven", async_of(opts), timeout_of(opts.timeout)},
               device, {input}, {output}, [&](const Ready &r) {
                   at::Tensor target = landing(output);
                   all_gather_v(target, counts, input, r.comm, r.stream);
                   write_back(output, target);
               });
}

// ---- to and from one rank ----
WorkPtr ProcessGroupHCCL::gather(TensorLists &outputs, Tensors &inputs, const c10d::GatherOptions &opts)
{
    TORCH_CHECK(inputs.size() == 1, "gather: Expecting one tensor only but got ", inputs.size(), ".",
                error_suffix(Module::DIST, Kind::PARAM));
    TORCH_CHECK(opts.rootRank >= 0 && opts.rootRank < size_, "gather: invalid root rank ", opts.rootRank,
                error_suffix(Module::DIST, Kind::PARAM));
    bool root = rank_ == opts.rootRank;
    at::Tensor input = inputs[0];
    TORCH_CHECK(root ? outputs.size() == 1 : outputs.empty(),
                "gather: ", root ? "the root needs one list of outputs." : "requires empty output on non-root.",
                error_suffix(Module::DIST, Kind::PARAM));
    Tensors list = root ? outputs[0] : Tensors{};
    int device = check_tensors(inputs, list, "gather");
    if (root)
        check_gather_list(list, input, size_, rank_, "gather");
    return run({OpType::GATHER, "hccl:gather", async_of(opts), timeout_of(opts.timeout)}, device, inputs, list,
               [&](const Ready &r) {
                   Elements e = elements_to_move(input.scalar_type());
                   at::Tensor source = packed(input), piece = root ? one_piece(list, false) : source;
                   Counts send(size_), receive = root ? counts_of(list, e.each) : Counts(size_);
                   send[opts.rootRank] = (uint64_t)(input.numel() * e.each);
                   all_to_all_v(source, send, piece, receive, e.type, r.comm, r.stream);
                   if (root)
                       spread(piece, list);
               });
}

WorkPtr ProcessGroupHCCL::scatter(Tensors &outputs, TensorLists &inputs, const c10d::ScatterOptions &opts)
{
    TORCH_CHECK(outputs.size() == 1, "scatter: Expecting one tensor only but got ", outputs.size(), ".",
                error_suffix(Module::DIST, Kind::PARAM));
    TORCH_CHECK(opts.rootRank >= 0 && opts.rootRank < size_, "scatter: invalid root rank ", opts.rootRank,
                error_suffix(Module::DIST, Kind::PARAM));
    bool root = rank_ == opts.rootRank;
    at::Tensor output = outputs[0];
    TORCH_CHECK(root ? inputs.size() == 1 : inputs.empty(),
                "scatter: ", root ? "the root needs one list of inputs." : "requires empty input on non-root.",
                error_suffix(Module::DIST, Kind::PARAM));
    Tensors list = root ? inputs[0] : Tensors{};
    int device = check_tensors(list, outputs, "scatter");
    if (root) {
        check_gather_list(list, output, size_, rank_, "scatter");
        TORCH_CHECK_VALUE(even(list), "scatter: the tensors of the list have different sizes.",
                          error_suffix(Module::DIST, Kind::VALUE));
    }
    return run({OpType::SCATTER, "hccl:scatter", async_of(opts), timeout_of(opts.timeout)}, device, list, outputs,
               [&](const Ready &r) {
                   Elements e = elements_to_move(output.scalar_type());
                   at::Tensor target = landing(output), piece = root ? one_piece(list, true) : target;
                   if (output.numel())
                       HCCL(HcclScatter, root ? piece.mutable_data_ptr() : nullptr, target.mutable_data_ptr(),
                            (uint64_t)(output.numel() * e.each), e.type, (uint32_t)opts.rootRank, r.comm, r.stream);
                   write_back(output, target);
               });
}

// ---- all to all ----
static Counts split_counts(const std::vector<int64_t> &splits, const at::Tensor &t, int size, int64_t each)
{
    c10d::checkSplitSizes(splits, t, size);
    int64_t row = t.size(0) ? t.numel() / t.size(0) : 1;
    Counts counts;
    for (int i = 0; i < size; i++)
        counts.push_back((uint64_t)((splits.empty() ? t.size(0) / size : splits[i]) * row * each));
    return counts;
}

WorkPtr ProcessGroupHCCL::alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
                                        std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &opts)
{
    int device = check_tensors({input}, {output}, "all_to_all_single");
    Elements e = elements_to_move(input.scalar_type());
    bool equal = output_splits.empty() && input_splits.empty();
    Counts send = split_counts(input_splits, input, size_, e.each);
    Counts receive = split_counts(output_splits, output, size_, e.each);
    TORCH_CHECK_VALUE(send[rank_] == receive[rank_], "all_to_all_single: rank ", rank_, " sends itself ", send[rank_],
                      " elements and expects ", receive[rank_], ".", error_suffix(Module::DIST, Kind::VALUE));
    return run({OpType::ALLTOALL_BASE, "hccl:all_to_all", async_of(opts), timeout_of(opts.timeout)}, device, {input},
               {output}, [&](const Ready &r) {
                   at::Tensor source = packed(input), target = landing(output);
                   if (!equal)
                       all_to_all_v(source, send, target, receive, e.type, r.comm, r.stream);
                   else if (input.numel())
                       HCCL(HcclAlltoAll, source.mutable_data_ptr(), send[0], e.type, target.mutable_data_ptr(),
                            receive[0], e.type, r.comm, r.stream);
                   write_back(output, target);
               });
}

WorkPtr ProcessGroupHCCL::alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts)
{
    TORCH_CHECK(inputs.size() == (size_t)size_ && outputs.size() == (size_t)size_, "all_to_all got ", inputs.size(),
                " inputs and ", outputs.size(), " outputs in a group of ", size_, " ranks.",
                error_suffix(Module::DIST, Kind::PARAM));
    int device = check_tensors(inputs, outputs, "all_to_all");
    TORCH_CHECK_VALUE(inputs[rank_].numel() == outputs[rank_].numel(), "all_to_all: rank ", rank_, " sends itself ",
                      inputs[rank_].sizes(), " and expects ", outputs[rank_].sizes(), ".",
                      error_suffix(Module::DIST, Kind::VALUE));
    return run({OpType::ALLTOALL, "hccl:all_to_all", async_of(opts), timeout_of(opts.timeout)}, device, inputs, outputs,
               [&](const Ready &r) {
                   Elements e = elements_to_move(inputs[0].scalar_type());
                   at::Tensor source = one_piece(inputs, true), target = one_piece(outputs, false);
                   all_to_all_v(source, counts_of(inputs, e.each), target, counts_of(outputs, e.each), e.type, r.comm,
                                r.stream);
                   spread(target, outputs);
               });
}

// matrix[i][j]: elements that rank i sends to rank j.
WorkPtr ProcessGroupHCCL::alltoallvc(at::Tensor &output, at::Tensor &input,
                                     const std::vector<std::vector<int64_t>> &matrix, const c10d::AllToAllOptions &opts)
{
    int device = check_tensors({input}, {output}, "all_to_all_vc");
    Elements e = elements_to_move(input.scalar_type());
    Counts flat;
    int64_t send = 0, receive = 0;
    bool square = matrix.size() == (size_t)size_;
    for (size_t i = 0; square && i < matrix.size(); i++) {
        square = matrix[i].size() == (size_t)size_;
        for (size_t j = 0; square && j < matrix[i].size(); j++) {
            flat.push_back((uint64_t)(matrix[i][j] * e.each));
            send += (int)i == rank_ ? matrix[i][j] : 0;
            receive += (int)j == rank_ ? matrix[i][j] : 0;
        }
    }
    TORCH_CHECK_VALUE(square && send == input.numel() && receive == output.numel(),
                      "all_to_all_vc: the matrix must have ", size_,
                      " rows and columns, and this rank's row must add up "
                      "to the input's elements (",
                      send, " and ", input.numel(), "), its column to the output's (", receive, " and ", output.numel(),
                      ").", error_suffix(Module::DIST, Kind::VALUE));
    return run({OpType::ALLTOALL_BASE, "hccl:all_to_all_vc", async_of(opts), timeout_of(opts.timeout)}, device, {input},
               {output}, [&](const Ready &r) {
                   at::Tensor source = packed(input), target = landing(output);
                   HCCL(HcclAlltoAllVC, source.mutable_data_ptr(), flat.data(), e.type, target.mutable_data_ptr(),
                        e.type, r.comm, r.stream);
                   write_back(output, target);
               });
}

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// The flight recorder: the newest operations of all process groups of this process, in the form that PyTorch's own
// tools read (torch.distributed.flight_recorder). Off unless TORCH_HCCL_TRACE_BUFFER_SIZE (or TORCH_FR_BUFFER_SIZE) is
// a number above 0. Any thread; one lock, a leaf.
#pragma once

#include <string>
#include <tuple>

#include "comm.h"

namespace npu
{

bool recorder_on();
bool timing_on(); // operations are timed: for the recorder, or TORCH_HCCL_ENABLE_TIMING=1

struct GroupName {
    size_t id;
    std::string name, description;
};
void recorder_group(const GroupName &group, const std::vector<uint64_t> &ranks);
// Notes an operation that is about to be launched; sets operation->record.
void recorder_add(const std::shared_ptr<Operation> &operation, const GroupName &group, const char *title,
                  const std::vector<at::Tensor> &inputs, const std::vector<at::Tensor> &outputs);
void recorder_finish(const Operation &operation); // it has finished; asks for its time
void recorder_reset();

// Pickled, or as JSON (without stacks).
std::string recorder_dump(bool collectives, bool stacks, bool only_active);
std::string recorder_dump_json(bool collectives, bool only_active);
// Writes the pickled form to TORCH_HCCL_DEBUG_INFO_TEMP_FILE + rank (default /tmp/hccl_trace_rank_), once a process, if
// TORCH_HCCL_DUMP_ON_TIMEOUT=1. Called by the watchdog.
void recorder_dump_on_failure(int rank);

} // namespace npu

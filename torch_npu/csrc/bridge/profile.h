// SPDX-License-Identifier: BSD-3-Clause
// Profiling: what the bridge adds to the CANN's trace (anynpu/trace.h), and PyTorch's own profiler (kineto.cpp).
//
// Nothing here costs anything while nothing is recorded: one relaxed load for memory, no callback of operators. A CANN
// of another maker has no recorder; trace() is then null and torch.profiler knows no NPU activity.
#pragma once

#include <atomic>
#include <string>

#include "device.h"

namespace npu
{

struct Block;

inline const anynpu_trace_api_table *trace()
{
    return cann.extension && cann.extension->version >= 3 ? cann.extension->trace : nullptr;
}

inline bool traced(int kind)
{
    const anynpu_trace_api_table *table = trace();
    return table && *table->kinds >> kind & 1;
}

// Operators of PyTorch, on all threads, into the running trace.
struct Observe {
    bool shapes, stack, flops, memory;
};
void observe_start(const Observe &what);
void observe_stop();

// Allocations and frees: whoever sets it wants them. Under the device's lock.
extern std::atomic<bool> memory_watched;
void memory_report(const Block *block, bool taken, size_t allocated, size_t reserved, size_t active) noexcept;

// One range of the host (a fallback, Python's garbage collector) in the running trace; scope as enum anynpu_host_scope.
void trace_range(const std::string &name, int64_t begin, int64_t end, uint32_t scope);

// A copy that the bridge did itself, through the host's view of device memory; it ends now.
void trace_copy(const char *name, int device, size_t bytes, int64_t begin);

// Tells PyTorch of our activities, when there is a recorder. After cann_open.
void kineto_register();

} // namespace npu

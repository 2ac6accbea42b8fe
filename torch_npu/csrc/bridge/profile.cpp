// SPDX-License-Identifier: BSD-3-Clause
// The observer of operators and of memory (profile.h). An operator's number travels to its tasks: the trace's
// correlation of this thread, set while the operator runs.
#include "profile.h"

#include <ATen/record_function.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/profiler/util.h>

#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"

namespace npu
{

std::atomic<bool> memory_watched{false};

static Observe wanted;
static at::CallbackHandle handle;
static bool active;
static std::atomic<uint64_t> numbers{0};
static thread_local uint64_t running = 0; // number of the operator that this thread is in

static uint32_t thread_number()
{
    static thread_local const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
    return id;
}

static uint64_t string_id(const std::string &text)
{
    return text.empty() ? 0 : trace()->string(text.data(), text.size());
}

struct Range final : at::ObserverContext {
    anynpu_trace_host record{};
    uint64_t outer = 0;
};

static std::string joined(const std::vector<std::string> &parts, const char *between)
{
    std::string whole;
    for (size_t i = 0; i < parts.size(); i++)
        whole.append(i ? between : "").append(parts[i]);
    return whole;
}

// "2,3;3,4;" as the official tables have it.
static std::string shapes_of(const at::RecordFunction &fn)
{
    std::string whole;
    const auto sizes = torch::profiler::impl::inputSizes(fn, true);
    for (size_t i = 0; i < sizes.size(); i++) {
        whole += i ? ";" : "";
        for (size_t d = 0; d < sizes[i].size(); d++)
            whole.append(d ? "," : "").append(std::to_string(sizes[i][d]));
    }
    return whole;
}

static uint32_t scope_of(at::RecordScope scope)
{
    return scope == at::RecordScope::BACKWARD_FUNCTION ? ANYNPU_HOST_BACKWARD
           : scope == at::RecordScope::USER_SCOPE      ? ANYNPU_HOST_USER
                                                       : ANYNPU_HOST_OPERATOR;
}

static std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction &fn)
{
    if (!traced(ANYNPU_TRACE_HOST))
        return nullptr;
    auto range = std::make_unique<Range>();
    anynpu_trace_host &r = range->record;
    r.head = {ANYNPU_TRACE_HOST, sizeof r / 8, thread_number()};
    r.scope = scope_of(fn.scope());
    const char *name = fn.name();
    r.name = trace()->string(name, strlen(name));
    if (r.scope == ANYNPU_HOST_USER && !strncmp(name, "ProfilerStep#", 13))
        r.scope = ANYNPU_HOST_STEP;
    r.sequence = fn.seqNr();
    r.forward_thread = fn.forwardThreadId();
    r.framework_thread = (uint32_t)fn.threadId();
    if (wanted.shapes && r.scope == ANYNPU_HOST_OPERATOR) {
        r.shapes = string_id(shapes_of(fn));
        r.dtypes = string_id(joined(torch::profiler::impl::inputTypes(fn), ";"));
    }
    if (wanted.flops && r.scope == ANYNPU_HOST_OPERATOR)
        r.flops = torch::profiler::impl::computeFlops(name, torch::profiler::impl::saveExtraArgs(fn));
    if (wanted.stack && r.scope != ANYNPU_HOST_BACKWARD) {
        namespace impl = torch::profiler::impl;
        r.stack =
            string_id(joined(impl::callstackStr(impl::prepareCallstack(torch::jit::tracer::pythonCallstack())), ";\n"));
    }
    range->outer = running;
    r.correlation = running = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
    trace()->correlate(running);
    r.begin = trace()->now();
    return range;
}

static void leave(const at::RecordFunction &fn, at::ObserverContext *context)
{
    auto *range = static_cast<Range *>(context);
    if (!range)
        return;
    range->record.end = trace()->now();
    if (range->record.head.thread == thread_number()) { // else it was ended elsewhere
        running = range->outer;
        trace()->correlate(running);
    }
    trace()->write(&range->record);
}

void observe_start(const Observe &what)
{
    if (active)
        observe_stop();
    wanted = what;
    handle = at::addGlobalCallback(
        at::RecordFunctionCallback(enter, leave)
            .needsInputs(what.shapes || what.flops)
            .needsIds(false)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
    active = true;
    memory_watched = what.memory;
}

void observe_stop()
{
    if (!active)
        return;
    at::removeCallback(handle);
    active = false;
    memory_watched = false;
}

void memory_report(const Block *block, bool taken, size_t allocated, size_t reserved, size_t alive) noexcept
{
    int64_t change = taken ? (int64_t)block->size : -(int64_t)block->size;
    try {
        c10::reportMemoryUsageToProfiler(block->ptr, change, allocated, reserved,
                                         c10::Device(device_type, (c10::DeviceIndex)block->device));
    } catch (...) { // of somebody's reporter; a free must not fail
    }
    if (!traced(ANYNPU_TRACE_MEMORY))
        return;
    anynpu_trace_memory r{};
    r.head = {ANYNPU_TRACE_MEMORY, sizeof r / 8, thread_number()};
    r.time = trace()->now();
    r.address = (uint64_t)block->ptr;
    r.change = change;
    r.allocated = allocated;
    r.reserved = reserved;
    r.active = alive;
    r.stream = block->stream;
    r.device = (uint16_t)block->device;
    r.memory_kind = ANYNPU_MEMORY_FRAMEWORK;
    trace()->write(&r);
}

void trace_range(const std::string &name, int64_t begin, int64_t end, uint32_t scope)
{
    if (!traced(ANYNPU_TRACE_HOST))
        return;
    anynpu_trace_host r{};
    r.head = {ANYNPU_TRACE_HOST, sizeof r / 8, thread_number()};
    r.name = string_id(name);
    r.begin = begin;
    r.end = end;
    r.correlation = running;
    r.sequence = -1;
    r.scope = scope;
    trace()->write(&r);
}

void trace_copy(const char *name, int device, size_t bytes, int64_t begin)
{
    anynpu_trace_task r{};
    r.head = {ANYNPU_TRACE_TASK, sizeof r / 8, thread_number()};
    r.stream = r.task = UINT32_MAX; // outside streams: it was waited for
    r.device = (uint16_t)device;
    r.task_class = ANYNPU_TASK_COPY;
    r.blocks = 1;
    r.name = trace()->string(name, strlen(name));
    r.correlation = trace()->correlation();
    r.launch = r.begin = begin;
    r.end = trace()->now();
    r.bytes = bytes;
    trace()->write(&r);
}

} // namespace npu

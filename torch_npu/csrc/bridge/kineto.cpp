// SPDX-License-Identifier: BSD-3-Clause
// torch.profiler's ProfilerActivity.PrivateUse1: an activity profiler for Kineto. A session records the CANN's tasks
// and calls into a file that is read and removed at its end; tasks come out as kernels and copies, linked to the
// operator of PyTorch that launched them, the calls as runtime activities with an arrow to their tasks.
#if __has_include(<torch/csrc/profiler/standalone/privateuse1_profiler.h>) && __has_include(<fmt/format.h>)
#define FMT_HEADER_ONLY // PyTorch keeps its copy of fmt to itself
#define USE_KINETO      // PyTorch's builds have it; the headers hide behind it
#include "profile.h"

#include <c10/util/Exception.h>
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "memory.h"

namespace npu
{

using libkineto::ActivityLogger;
using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

namespace
{

// A mapped trace file, as far as it is whole.
class File
{
  public:
    explicit File(const std::string &path)
    {
        int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat st {
        };
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= ANYNPU_TRACE_UNIT) {
            void *p = mmap(nullptr, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
            if (p != MAP_FAILED) {
                begin = static_cast<const char *>(p);
                bytes = (size_t)st.st_size;
            }
        }
        if (fd >= 0)
            close(fd);
    }
    ~File()
    {
        if (begin)
            munmap(const_cast<char *>(begin), bytes);
    }
    File(const File &) = delete;

    const anynpu_trace_file *header() const
    {
        return reinterpret_cast<const anynpu_trace_file *>(begin);
    }

    template <class F> void each(F &&take) const
    {
        for (size_t at = ANYNPU_TRACE_UNIT; begin && at + sizeof(anynpu_trace_chunk) < bytes;) {
            auto *chunk = reinterpret_cast<const anynpu_trace_chunk *>(begin + at);
            if (chunk->magic != ANYNPU_TRACE_CHUNK_MAGIC || chunk->bytes < ANYNPU_TRACE_UNIT ||
                chunk->bytes > bytes - at)
                break;
            for (size_t r = sizeof *chunk; r + 8 <= chunk->bytes;) {
                auto *head = reinterpret_cast<const anynpu_trace_head *>(begin + at + r);
                if (!head->words || r + head->words * (size_t)8 > chunk->bytes)
                    break;
                take(head, chunk->thread);
                r += head->words * (size_t)8;
            }
            at += chunk->bytes;
        }
    }

  private:
    const char *begin = nullptr;
    size_t bytes = 0;
};

ActivityType type_of(const anynpu_trace_task *task)
{
    return task->task_class == ANYNPU_TASK_COPY   ? ActivityType::GPU_MEMCPY
           : task->task_class == ANYNPU_TASK_FILL ? ActivityType::GPU_MEMSET
                                                  : ActivityType::CONCURRENT_KERNEL;
}

std::string shape_text(const anynpu_trace_task *task)
{
    std::string text = "[";
    const char *at = reinterpret_cast<const char *>(task + 1), *end = at + task->tensor_bytes;
    while (at + sizeof(anynpu_trace_tensor) <= end) {
        auto *tensor = reinterpret_cast<const anynpu_trace_tensor *>(at);
        const char *next = at + sizeof *tensor + tensor->rank * sizeof(uint32_t);
        if (next > end)
            break;
        if (!(tensor->flags & ANYNPU_TENSOR_OUTPUT)) {
            auto *size = reinterpret_cast<const uint32_t *>(tensor + 1);
            text += text.size() > 1 ? ", [" : "[";
            for (int d = 0; d < tensor->rank; d++)
                text.append(d ? ", " : "").append(std::to_string(size[d]));
            text += "]";
        }
        at = next;
    }
    return text + "]";
}

class Session final : public libkineto::IActivityProfilerSession
{
  public:
    explicit Session(std::set<ActivityType> types) : types(std::move(types))
    {
    }

    ~Session() override
    {
        if (recording)
            trace()->stop();
        if (!path.empty())
            unlink(path.c_str());
    }

    void start() override
    {
        const char *folder = getenv("TMPDIR");
        path = std::string(folder && *folder ? folder : "/tmp") + "/anynpu_trace_XXXXXX";
        int fd = mkstemp(path.data());
        if (fd >= 0)
            close(fd);
        int status = fd < 0 ? -1 : trace()->start(path.c_str(), 1u << ANYNPU_TRACE_TASK | 1u << ANYNPU_TRACE_API);
        if (status) {
            const char *why = cann.aclGetRecentErrMsg();
            problems.push_back(std::string("no NPU activities: ") + (fd < 0 ? "cannot write " + path : why ? why : ""));
            TORCH_WARN("torch.profiler records ", problems.back());
            status_ = libkineto::TraceStatus::ERROR;
            return;
        }
        recording = true;
        memory_watched = true;
        status_ = libkineto::TraceStatus::RECORDING;
    }

    void stop() override
    {
        if (!recording)
            return;
        for (int device = 0; device < device_count(); device++)
            if (device_used(device))
                try {
                    wait_device(device);
                } catch (const std::exception &error) { // it stays with whoever launched it
                    problems.emplace_back(error.what());
                }
        trace()->stop();
        trace()->correlate(0);
        memory_watched = false;
        recording = false;
        status_ = libkineto::TraceStatus::PROCESSING;
    }

    std::vector<std::string> errors() override
    {
        return problems;
    }

    void processTrace(ActivityLogger &logger) override
    {
        processTrace(
            logger, [](int32_t) { return nullptr; }, INT64_MIN, INT64_MAX);
    }

    void processTrace(ActivityLogger &logger, libkineto::getLinkedActivityCallback linked, int64_t first,
                      int64_t last) override
    {
        File file(path);
        if (!file.header())
            return;
        offset = file.header()->real_ns - file.header()->mono_ns;
        buffer = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer->span = libkineto::TraceSpan(first, last, "__npu_profiler__");
        buffer->gpuOpCount = 0;
        collect(file);
        for (const anynpu_trace_task *task : tasks)
            if (task->end + offset >= first && task->begin + offset <= last)
                add_task(task, linked);
        for (auto &activity : buffer->activities)
            activity->log(logger);
        int64_t now = last;
        for (int device : devices)
            logger.handleDeviceInfo({device, device + libkineto::kExceedMaxPid, "NPU", "NPU " + std::to_string(device)},
                                    now);
        unlink(path.c_str());
        path.clear();
        tasks.clear();
        calls.clear();
    }

    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override
    {
        return nullptr;
    }

    std::vector<libkineto::ResourceInfo> getResourceInfos() override
    {
        std::vector<libkineto::ResourceInfo> all;
        for (auto [device, stream] : streams)
            all.push_back({stream, stream, device,
                           stream == no_stream ? "Copies outside streams" : "Stream " + std::to_string(stream)});
        return all;
    }

    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override
    {
        return std::move(buffer);
    }

    void pushCorrelationId(uint64_t id) override
    {
        stack().push_back(id);
        trace()->correlate(id);
    }

    void popCorrelationId() override
    {
        auto &ids = stack();
        if (!ids.empty())
            ids.pop_back();
        trace()->correlate(ids.empty() ? 0 : ids.back());
    }

  private:
    static constexpr int no_stream = 0xffff; // the largest that Kineto's tables show well

    static std::vector<uint64_t> &stack()
    {
        static thread_local std::vector<uint64_t> ids;
        return ids;
    }

    void collect(const File &file)
    {
        file.each([&](const anynpu_trace_head *head, uint32_t thread) {
            if (head->kind == ANYNPU_TRACE_STRING) {
                auto *s = reinterpret_cast<const anynpu_trace_string *>(head);
                names[s->id].assign(reinterpret_cast<const char *>(s + 1), s->bytes);
            } else if (head->kind == ANYNPU_TRACE_TASK) {
                auto *task = reinterpret_cast<const anynpu_trace_task *>(head);
                if (task->task_class <= ANYNPU_TASK_COLLECTIVE)
                    tasks.push_back(task);
            } else if (head->kind == ANYNPU_TRACE_API) {
                calls[head->thread ? head->thread : thread].push_back(reinterpret_cast<const anynpu_trace_api *>(head));
            }
        });
        auto earlier = [](auto *a, auto *b) { return a->begin < b->begin; };
        std::sort(tasks.begin(), tasks.end(), earlier);
        for (auto &[thread, list] : calls)
            std::sort(list.begin(), list.end(), earlier);
    }

    const std::string &name_of(uint64_t id)
    {
        return names[id];
    }

    // The call on the launching thread during which the task was launched.
    const anynpu_trace_api *call_of(const anynpu_trace_task *task)
    {
        auto found = calls.find(task->head.thread);
        if (found == calls.end())
            return nullptr;
        auto &list = found->second;
        auto after = std::upper_bound(list.begin(), list.end(), task->launch,
                                      [](int64_t time, const anynpu_trace_api *call) { return time < call->begin; });
        if (after == list.begin())
            return nullptr;
        const anynpu_trace_api *call = *(after - 1);
        return call->end >= task->launch ? call : nullptr;
    }

    GenericTraceActivity &add(ActivityType type, const std::string &name)
    {
        buffer->emplace_activity(buffer->span, type, name);
        return *buffer->activities.back();
    }

    void add_task(const anynpu_trace_task *task, const libkineto::getLinkedActivityCallback &linked)
    {
        ActivityType type = type_of(task);
        if (!types.count(type))
            return;
        int stream = task->stream > no_stream ? no_stream : (int)task->stream;
        const libkineto::ITraceActivity *op = task->correlation ? linked((int32_t)task->correlation) : nullptr;
        uint32_t number = ++flows;
        auto &activity = add(type, name_of(task->name));
        activity.startTime = task->begin + offset;
        activity.endTime = task->end + offset;
        activity.id = (int32_t)task->correlation;
        activity.device = task->device;
        activity.resource = stream;
        activity.threadId = (int32_t)task->head.thread;
        activity.flow.id = number;
        activity.flow.type = libkineto::kLinkAsyncCpuGpu;
        activity.flow.start = 0;
        activity.linked = op;
        activity.addMetadata("device", task->device);
        activity.addMetadata("stream", stream);
        activity.addMetadata("task id", task->task);
        if (task->bytes)
            activity.addMetadata("bytes", task->bytes);
        if (task->bytes && task->end > task->begin)
            activity.addMetadata("memory bandwidth (GB/s)", (double)task->bytes / (double)(task->end - task->begin));
        if (task->tensors)
            activity.addMetadata("input dims", shape_text(task));
        if (type == ActivityType::CONCURRENT_KERNEL)
            activity.addMetadata("blocks", task->blocks);
        devices.insert(task->device);
        streams.insert({task->device, stream});
        if (types.count(ActivityType::PRIVATEUSE1_RUNTIME))
            add_call(task, op, number);
    }

    void add_call(const anynpu_trace_task *task, const libkineto::ITraceActivity *op, uint32_t number)
    {
        const anynpu_trace_api *call = call_of(task);
        auto &activity = add(ActivityType::PRIVATEUSE1_RUNTIME, call ? name_of(call->name) : "launch");
        activity.startTime = (call ? call->begin : task->launch) + offset;
        activity.endTime = (call ? call->end : task->launch) + offset;
        activity.id = (int32_t)task->correlation;
        activity.device = (int32_t)getpid();
        activity.resource = (int32_t)task->head.thread;
        activity.threadId = (int32_t)task->head.thread;
        activity.flow.id = number;
        activity.flow.type = libkineto::kLinkAsyncCpuGpu;
        activity.flow.start = 1;
        activity.linked = op;
    }

    std::set<ActivityType> types;
    std::string path;
    bool recording = false;
    int64_t offset = 0;
    uint32_t flows = 0;
    std::vector<std::string> problems;
    std::unordered_map<uint64_t, std::string> names;
    std::vector<const anynpu_trace_task *> tasks; // in the mapped file
    std::unordered_map<uint32_t, std::vector<const anynpu_trace_api *>> calls;
    std::set<int> devices;
    std::set<std::pair<int, int>> streams;
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer;
};

class Profiler final : public libkineto::IActivityProfiler
{
  public:
    const std::string &name() const override
    {
        static const std::string own = "NPU";
        return own;
    }

    const std::set<ActivityType> &availableActivities() const override
    {
        static const std::set<ActivityType> all = {ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                                                   ActivityType::GPU_MEMSET, ActivityType::PRIVATEUSE1_RUNTIME};
        return all;
    }

    std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType> &types,
                                                                   const libkineto::Config &) override
    {
        // without a type of the device itself it is not us who are asked for
        bool ours = types.count(ActivityType::CONCURRENT_KERNEL) || types.count(ActivityType::GPU_MEMCPY) ||
                    types.count(ActivityType::GPU_MEMSET);
        return ours && trace() ? std::make_unique<Session>(types) : nullptr;
    }

    std::unique_ptr<libkineto::IActivityProfilerSession>
    configure(int64_t, int64_t, const std::set<ActivityType> &types, const libkineto::Config &config) override
    {
        return configure(types, config);
    }
};

} // namespace

void kineto_register()
{
    static bool done = false;
    if (done || !trace())
        return;
    done = true;
    torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().registerFactory(
        [] { return std::make_unique<Profiler>(); });
}

} // namespace npu

#else // a PyTorch that takes no activity profiler of others: torch_npu.profiler alone records
#include "profile.h"
void npu::kineto_register()
{
}
#endif

// SPDX-License-Identifier: BSD-3-Clause
// Capture and replay (graph.h). Lock: graphs_lock, over the list of captures under way; taken inside a device's lock.
#include "graph.h"

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#endif
#include <ATen/ops/fill.h>

#include <mutex>

#include "error.h"
#include "generator.h"
#include "memory.h"
#include "mempool.h"
#include "metadata.h"

namespace npu
{

std::atomic<int> captures_under_way{0};

static std::mutex graphs_lock;
static std::map<aclmdlRI, Graph *> under_way;

void require_graphs(const char *name)
{
    TORCH_CHECK_NOT_IMPLEMENTED(cann.aclmdlRICaptureBegin && cann.aclmdlRICaptureEnd && cann.aclmdlRICaptureGetInfo &&
                                    cann.aclmdlRIExecuteAsync && cann.aclmdlRIDestroy,
                                name, ": this CANN has no functions for graphs (aclmdlRICaptureBegin and others)",
                                error_suffix(Module::GRAPH, Kind::NOT_SUPPORT));
}

aclmdlRI stream_capture(aclrtStream stream)
{
    int status = 0;
    aclmdlRI model = nullptr;
    if (!cann.aclmdlRICaptureGetInfo || cann.aclmdlRICaptureGetInfo(stream, &status, &model) || status == 0)
        return nullptr;
    return model;
}

bool current_stream_capturing()
{
    int device = current_device(), stream = current_stream_index(device);
    if (!device_used(device) || !stream_table[device][stream])
        return false;
    use_device(device);
    return stream_capture(stream_table[device][stream]) != nullptr;
}

void Graph::capture_begin(c10::MempoolId_t pool, int mode)
{
    require_graphs("NPUGraph::capture_begin");
    TORCH_CHECK(!ready && !capturing,
                "This NPUGraph instance already owns a captured graph. To capture a new graph, create a new instance.",
                error_suffix(Module::GRAPH, Kind::PARAM));
    device = current_device();
    stream = current_stream_index(device);
    TORCH_CHECK(
        stream != 0,
        "NPU graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on "
        "the default stream.)",
        error_suffix(Module::GRAPH, Kind::PARAM));
    TORCH_CHECK(!(pool.first && pool.second), "(", pool.first, ", ", pool.second, ") is no memory pool of torch.npu",
                error_suffix(Module::GRAPH, Kind::VALUE));
    use_device(device);
    aclrtStream handle = stream_handle(device, stream);
    pool_id = pool.first || pool.second ? pool : new_pool_id(false);
    ACL(aclmdlRICaptureBegin, handle, mode);
    model = stream_capture(handle);
    capturing = true;
    {
        std::lock_guard<std::mutex> lock(graphs_lock);
        under_way[model] = this;
    }
    captures_under_way++;
    pool_route(device, {pool_id, 0, model});
}

void Graph::forget()
{
    {
        std::lock_guard<std::mutex> lock(graphs_lock);
        under_way.erase(model);
    }
    capturing = false;
    captures_under_way--;
    pool_unroute(device, pool_id);
}

void Graph::capture_end()
{
    TORCH_CHECK(capturing, "capture_end() called before capture_begin().", error_suffix(Module::GRAPH, Kind::PARAM));
    int now = current_stream_index(device);
    TORCH_CHECK(now == stream && current_device() == device, "Capture must end on the same stream it began on.",
                error_suffix(Module::GRAPH, Kind::PARAM));
    use_device(device);
    aclmdlRI ended = nullptr;
    aclError status = cann.aclmdlRICaptureEnd(stream_handle(device, stream), &ended);
    forget();
    if (status) {
        std::string text = acl_text(status, "aclmdlRICaptureEnd", __func__, __FILE__, __LINE__);
        pinned_release(model);
        model = nullptr;
        randoms.clear();
        kept.clear();
        pool_release(device, pool_id);
        TORCH_CHECK(false, text);
    }
    model = ended;
    ready = true;
}

void Graph::replay()
{
    TORCH_CHECK(ready, "Called NPUGraph::replay without a preceding successful capture.",
                error_suffix(Module::GRAPH, Kind::PARAM));
    int before = current_device();
    if (before != device)
        set_device(device);
    struct Restore {
        int before;
        ~Restore()
        {
            thread_state.device = (int8_t)before;
        }
    } restore{before};
    for (auto &[generator, random] : randoms) {
        std::lock_guard<std::mutex> lock(generator->mutex_);
        at::fill_(random.seed, (int64_t)generator->current_seed());
        at::fill_(random.offset, (int64_t)generator->get_offset());
        generator->move_on((uint64_t)random.drawn);
    }
    ACL(aclmdlRIExecuteAsync, model, current_stream(device));
}

void Graph::reset()
{
    if (capturing) {
        aclmdlRI ended = nullptr;
        use_device(device);
        if (!cann.aclmdlRICaptureEnd(stream_handle(device, stream), &ended))
            cann.aclmdlRIDestroy(ended);
        forget();
        pool_release(device, pool_id);
        pinned_release(model);
    } else if (ready && !forked()) {
        use_device(device);
        aclError status = cann.aclmdlRIDestroy(model);
        if (status)
            TORCH_WARN(acl_text(status, "aclmdlRIDestroy", __func__, __FILE__, __LINE__));
        pinned_release(model);
        randoms.clear();
        pool_release(device, pool_id);
    }
    ready = false;
    model = nullptr;
    randoms.clear();
    kept.clear();
}

Graph::~Graph()
{
    try {
        reset();
    } catch (const std::exception &error) {
        TORCH_WARN(error.what());
    }
}

c10::MempoolId_t Graph::pool() const
{
    TORCH_CHECK(ready, "Called NPUGraph::pool() without a preceding successful capture.",
                error_suffix(Module::GRAPH, Kind::PARAM));
    return pool_id;
}

void Graph::debug_dump(const std::string &path)
{
    if (!ready) {
        TORCH_WARN("Called NPUGraph::debug_dump without a preceding successful capture.");
        return;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(cann.aclmdlRIDebugJsonPrint, "this CANN has no aclmdlRIDebugJsonPrint",
                                error_suffix(Module::GRAPH, Kind::NOT_SUPPORT));
    ACL(aclmdlRIDebugJsonPrint, model, path.c_str(), 1);
}

Graph::Random *Graph::random(Generator *generator, int device)
{
    if (!captures_active())
        return nullptr;
    aclmdlRI model = stream_capture(current_stream(device));
    if (!model)
        return nullptr;
    Graph *graph;
    {
        std::lock_guard<std::mutex> lock(graphs_lock);
        auto at = under_way.find(model);
        TORCH_CHECK(at != under_way.end(), "random numbers on a stream that captures need torch.npu.NPUGraph",
                    error_suffix(Module::GRAPH, Kind::NOT_SUPPORT));
        graph = at->second;
    }
    Random &random = graph->randoms[generator];
    if (!random.seed.defined()) {
        random.seed = make_tensor(device, {1}, {}, caffe2::TypeMeta::Make<int64_t>());
        random.offset = make_tensor(device, {1}, {}, caffe2::TypeMeta::Make<int64_t>());
        random.base = generator->get_offset();
        graph->kept.push_back(at::Generator(
            c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(static_cast<c10::GeneratorImpl *>(generator))));
    }
    return &random;
}

// ---- task groups ----

static aclrtStream group_stream(int device, int stream, const void *function, const char *name)
{
    TORCH_CHECK_NOT_IMPLEMENTED(function, "this CANN has no ", name, error_suffix(Module::GRAPH, Kind::NOT_SUPPORT));
    use_device(device);
    return stream_handle(device, stream);
}
#define GROUP_STREAM(name) group_stream(device, stream, (const void *)cann.name, #name)

void task_group_begin(int device, int stream)
{
    ACL(aclmdlRICaptureTaskGrpBegin, GROUP_STREAM(aclmdlRICaptureTaskGrpBegin));
}

void *task_group_end(int device, int stream)
{
    void *group = nullptr;
    ACL(aclmdlRICaptureTaskGrpEnd, GROUP_STREAM(aclmdlRICaptureTaskGrpEnd), &group);
    return group;
}

void task_update_begin(int device, int stream, void *group)
{
    ACL(aclmdlRICaptureTaskUpdateBegin, GROUP_STREAM(aclmdlRICaptureTaskUpdateBegin), group);
}

void task_update_end(int device, int stream)
{
    ACL(aclmdlRICaptureTaskUpdateEnd, GROUP_STREAM(aclmdlRICaptureTaskUpdateEnd));
}

// ---- torch.accelerator.Graph, where PyTorch has it ----
#if __has_include(<ATen/core/GraphImplInterface.h>)

struct AcceleratorGraph final : at::GraphImplInterface {
    explicit AcceleratorGraph(const at::GraphImplArgs &)
    {
    }
    void capture_begin(c10::MempoolId_t pool, at::GraphCaptureMode mode) override
    {
        graph.capture_begin(pool, mode == at::GraphCaptureMode::ThreadLocal ? 1
                                  : mode == at::GraphCaptureMode::Relaxed   ? 2
                                                                            : 0);
    }
    void capture_end() override
    {
        graph.capture_end();
    }
    void instantiate() override
    {
    } // CANN's graphs are ready when their capture ends
    void replay() override
    {
        graph.replay();
    }
    void reset() override
    {
        graph.reset();
    }
    c10::MempoolId_t pool() const override
    {
        return graph.pool();
    }
    void enable_debug_mode() override
    {
    } // a graph can be dumped without
    void debug_dump(const std::string &path) override
    {
        graph.debug_dump(path);
    }
    Graph graph;
};

// "NPU" is what the device type is called once the package is imported.
using at::GraphImplArgs;
using at::GraphImplInterface;
static const bool registered = [] {
    at::GraphImplRegistry()->Register(
        "NPU",
        [](const GraphImplArgs &args) -> std::unique_ptr<GraphImplInterface> {
            return std::make_unique<AcceleratorGraph>(args);
        },
        c10::REGISTRY_DEFAULT);
    return true;
}();
#endif

} // namespace npu

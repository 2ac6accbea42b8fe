// SPDX-License-Identifier: BSD-3-Clause
// torch_npu._C: the bridge's functions for the package's Python files; documented in torch_npu/_C.pyi. Everything that
// may wait gives the GIL back meanwhile.
#include <torch/csrc/Generator.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <dirent.h>
#include <unistd.h>

#include <cstring>

#include "c10d/python.h"
#include "error.h"
#include "fallback.h"
#include "generator.h"
#include "history.h"
#include "logs.h"
#include "host.h"
#include "memory.h"
#include "mempool.h"
#include "module.h"
#include "options.h"
#include "share.h"
#include "version.h"

using namespace npu;

namespace npu
{
void place_install(); // module_place.cpp
}

namespace
{

// ---- the CANN ----
PyObject *cann_open_(PyObject *args)
{
    const char *folder;
    parse(args, "s", &folder);
    char message[2048] = "";
    if (cann_open(folder, message, sizeof message)) {
        PyErr_SetString(PyExc_OSError, message);
        throw python_error();
    }
    npu::place_install();
    npu::logs_install();
    return PyUnicode_FromString(cann.path);
}

PyObject *cann_version_(PyObject *args)
{
    const char *module = "CANN";
    parse(args, "|s", &module);
    std::string version;
    if (!strcmp(module, "CANN")) {
        cann_version answer = {};
        if (cann.aclsysGetCANNVersion && !cann.aclsysGetCANNVersion(0, &answer))
            version = answer.text;
    } else if (cann.aclsysGetVersionStr) {
        char name[128], answer[256] = "";
        snprintf(name, sizeof name, "%s", module);
        if (!cann.aclsysGetVersionStr(name, answer))
            version = answer;
    }
    return text(version);
}

// ---- devices ----
PyObject *init(PyObject *)
{
    NoGil no_gil;
    use_device(current_device());
    return nullptr;
}
PyObject *is_initialized(PyObject *)
{
    return PyBool_FromLong(any_device_used());
}
PyObject *is_bad_fork(PyObject *)
{
    return PyBool_FromLong(forked());
}
PyObject *get_device_count(PyObject *)
{
    std::string why;
    int n = count_devices(&why);
    TORCH_CHECK(n > 0 || why.empty(), why);
    return PyLong_FromLong(n);
}
PyObject *get_device(PyObject *)
{
    return PyLong_FromLong(current_device());
}
PyObject *set_device_(PyObject *args)
{
    int device;
    parse(args, "i", &device);
    check_device(device);
    NoGil no_gil;
    set_device(device);
    use_device(device);
    return nullptr;
}
PyObject *exchange_device(PyObject *args)
{
    int device, old = current_device();
    parse(args, "i", &device);
    if (device >= 0) {
        set_device(device);
        NoGil no_gil;
        use_device(device);
    }
    return PyLong_FromLong(old);
}
PyObject *maybe_exchange_device(PyObject *args)
{
    int device, old = current_device();
    parse(args, "i", &device);
    if (device >= 0)
        set_device(device);
    return PyLong_FromLong(old);
}
PyObject *get_device_name(PyObject *args)
{
    device_argument(args);
    const char *name = cann.aclrtGetSocName();
    return PyUnicode_FromString(name ? name : "");
}

int64_t capability(int device, aclDeviceInfo what)
{
    int64_t value = 0;
    return cann.aclGetDeviceCapability && !cann.aclGetDeviceCapability((uint32_t)device, what, &value) ? value : 0;
}

PyObject *get_device_properties(PyObject *args)
{
    int device = device_argument(args);
    auto [free, total] = memory_allocator()->getMemoryInfo((c10::DeviceIndex)device);
    const char *name = cann.aclrtGetSocName();
    return Py_BuildValue(
        "{s:s,s:K,s:L,s:L,s:L,s:i,s:i,s:L,s:i,s:i,s:i,s:i,s:i,s:s,s:s}", "name", name ? name : "", "total_memory",
        (unsigned long long)total, "cube_core_num", (long long)capability(device, ACL_DEVICE_INFO_AI_CORE_NUM),
        "vector_core_num", (long long)capability(device, ACL_DEVICE_INFO_VECTOR_CORE_NUM), "L2_cache_size",
        (long long)capability(device, ACL_DEVICE_INFO_L2_SIZE), "major", 0, "minor", 0, "multi_processor_count",
        (long long)capability(device, ACL_DEVICE_INFO_AI_CORE_NUM), "warp_size", 0, "max_threads_per_multi_processor",
        0, "regs_per_multiprocessor", 0, "is_integrated", 0, "is_multi_gpu_board", 0, "gcnArchName", "", "uuid", "");
}

PyObject *can_access_peer(PyObject *args)
{
    int device, peer;
    parse(args, "ii", &device, &peer);
    check_device(device);
    check_device(peer);
    int32_t can = 0;
    if (cann.aclrtDeviceCanAccessPeer)
        ACL(aclrtDeviceCanAccessPeer, &can, device, peer);
    return PyBool_FromLong(can);
}

PyObject *utilization(PyObject *args)
{
    int device = device_argument(args);
    int32_t rate[8] = {}; // cube, vector, AI CPU, memory, then reserved
    TORCH_CHECK_NOT_IMPLEMENTED(cann.aclrtGetDeviceUtilizationRate, "this CANN has no aclrtGetDeviceUtilizationRate",
                                error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    ACL(aclrtGetDeviceUtilizationRate, device, rate);
    return PyLong_FromLong(rate[0]);
}

PyObject *synchronize(PyObject *args)
{
    int device = device_argument(args);
    NoGil no_gil;
    if (device_used(device))
        wait_device(device);
    return nullptr;
}

// ---- streams ----
PyObject *stream_tuple(int device, int stream)
{
    return Py_BuildValue("(iii)", stream, device, (int)device_type);
}
PyObject *get_current_stream(PyObject *args)
{
    int device = device_argument(args);
    return stream_tuple(device, current_stream_index(device));
}
PyObject *get_default_stream(PyObject *args)
{
    return stream_tuple(device_argument(args), 0);
}
PyObject *set_stream(PyObject *args)
{
    int stream, device, type;
    parse(args, "iii", &stream, &device, &type);
    check_device(device);
    TORCH_CHECK(stream >= 0 && stream < max_streams, "Unknown NPU stream ", stream,
                error_suffix(Module::PTA, Kind::PARAM));
    set_device(device);
    thread_state.stream[device] = (uint8_t)stream;
    return nullptr;
}
PyObject *get_current_raw_stream(PyObject *args)
{
    int device = device_argument(args);
    return PyLong_FromVoidPtr(current_stream(device));
}
PyObject *get_raw_stream(PyObject *args)
{
    int stream, device;
    parse(args, "ii", &stream, &device);
    check_device(device);
    use_device(device);
    return PyLong_FromVoidPtr(stream_handle(device, stream));
}
PyObject *get_stream_from_external(PyObject *args)
{
    unsigned long long pointer;
    int device;
    parse(args, "Ki", &pointer, &device);
    check_device(device);
    return stream_tuple(device, foreign_stream(device, reinterpret_cast<aclrtStream>(pointer)));
}
PyObject *get_stream_priority(PyObject *args)
{
    int stream, device;
    parse(args, "ii", &stream, &device);
    return PyLong_FromLong(stream_priority(stream));
}

// ---- memory ----
void set_item(PyObject *dict, const char *key, PyObject *value)
{
    if (!value || PyDict_SetItemString(dict, key, value))
        throw python_error();
    Py_DECREF(value);
}

PyObject *stat_dict(const c10::CachingAllocator::Stat &stat)
{
    return Py_BuildValue("{s:L,s:L,s:L,s:L}", "current", (long long)stat.current, "peak", (long long)stat.peak,
                         "allocated", (long long)stat.allocated, "freed", (long long)stat.freed);
}

PyObject *stats_dict(const c10::CachingAllocator::StatArray &stats)
{
    PyObject *dict = PyDict_New();
    set_item(dict, "all", stat_dict(stats[0]));
    set_item(dict, "small_pool", stat_dict(stats[1]));
    set_item(dict, "large_pool", stat_dict(stats[2]));
    return dict;
}

PyObject *memory_stats(PyObject *args)
{
    int device = device_argument(args);
    auto s = memory_allocator()->getDeviceStats((c10::DeviceIndex)device);
    PyObject *dict = PyDict_New();
    set_item(dict, "allocation", stats_dict(s.allocation));
    set_item(dict, "segment", stats_dict(s.segment));
    set_item(dict, "active", stats_dict(s.active));
    set_item(dict, "inactive_split", stats_dict(s.inactive_split));
    set_item(dict, "allocated_bytes", stats_dict(s.allocated_bytes));
    set_item(dict, "reserved_bytes", stats_dict(s.reserved_bytes));
    set_item(dict, "active_bytes", stats_dict(s.active_bytes));
    set_item(dict, "inactive_split_bytes", stats_dict(s.inactive_split_bytes));
    set_item(dict, "requested_bytes", stats_dict(s.requested_bytes));
    set_item(dict, "oversize_allocations", stat_dict(s.oversize_allocations));
    set_item(dict, "oversize_segments", stat_dict(s.oversize_segments));
    const std::pair<const char *, int64_t> numbers[] = {{"num_alloc_retries", s.num_alloc_retries},
                                                        {"num_ooms", s.num_ooms},
                                                        {"num_sync_all_streams", s.num_sync_all_streams},
                                                        {"num_device_alloc", s.num_device_alloc},
                                                        {"num_device_free", s.num_device_free},
                                                        {"num_oom_rejections", memory_rejections(device)},
                                                        {"max_split_size", s.max_split_size}};
    for (auto &[key, number] : numbers)
        set_item(dict, key, PyLong_FromLongLong(number));
    return dict;
}

PyObject *reset_peak(PyObject *args)
{
    memory_allocator()->resetPeakStats((c10::DeviceIndex)device_argument(args));
    return nullptr;
}
PyObject *reset_accumulated(PyObject *args)
{
    memory_allocator()->resetAccumulatedStats((c10::DeviceIndex)device_argument(args));
    return nullptr;
}
PyObject *get_memories(PyObject *args)
{
    auto [free, total] = memory_allocator()->getMemoryInfo((c10::DeviceIndex)device_argument(args));
    return Py_BuildValue("(KK)", (unsigned long long)free, (unsigned long long)total);
}
PyObject *empty_cache(PyObject *)
{
    NoGil no_gil;
    memory_allocator()->emptyCache();
    return nullptr;
}
PyObject *host_empty_cache(PyObject *)
{
    NoGil no_gil;
    pinned_empty_cache();
    return nullptr;
}

PyObject *set_fraction(PyObject *args)
{
    double fraction;
    int device;
    parse(args, "di", &fraction, &device);
    check_device(device);
    memory_set_fraction(device, fraction);
    return nullptr;
}
PyObject *get_fraction(PyObject *args)
{
    return PyFloat_FromDouble(memory_fraction(device_argument(args)));
}

// Python stacks as lists of {"filename", "line", "name"}, all symbolised at once.
struct Frames {
    std::vector<std::shared_ptr<c10::GatheredContext>> contexts;
    torch::SymbolizedTracebacks symbols;
    size_t next = 0;

    void add(std::shared_ptr<c10::GatheredContext> context)
    {
        if (context)
            contexts.push_back(std::move(context));
    }
    void symbolise()
    {
        std::vector<torch::CapturedTraceback *> stacks;
        for (auto &context : contexts)
            stacks.push_back(static_cast<torch::CapturedTraceback *>(context.get()));
        symbols = torch::symbolize(stacks);
    }
    // Of the next one that was added; an empty list for none.
    PyObject *list(const std::shared_ptr<c10::GatheredContext> &context)
    {
        PyObject *frames = PyList_New(0);
        if (context)
            for (uint64_t index : symbols.tracebacks[next++]) {
                const auto &frame = symbols.all_frames[index];
                PyObject *made = Py_BuildValue("{s:s,s:K,s:s}", "filename", frame.filename.c_str(), "line",
                                               (unsigned long long)frame.lineno, "name", frame.funcname.c_str());
                PyList_Append(frames, made);
                Py_XDECREF(made);
            }
        return frames;
    }
};

// Device traces in torch.cuda's form: a list for each device.
PyObject *traces()
{
    PyObject *all = PyList_New(0);
    for (int device = 0, n = device_count(); device < n; device++) {
        std::vector<Event> events = history_events(device);
        Frames frames;
        for (const Event &event : events)
            frames.add(event.context);
        frames.symbolise();
        PyObject *list = PyList_New(0);
        for (const Event &event : events) {
            PyObject *dict =
                Py_BuildValue("{s:s,s:K,s:K,s:i,s:L,s:N}", "action", action_name(event.action),
                              event.action == Action::OOM ? "device_free" : "addr", (unsigned long long)event.address,
                              "size", (unsigned long long)event.size, "stream", event.stream, "time_us",
                              (long long)event.time_us, "frames", frames.list(event.context));
            PyList_Append(list, dict);
            Py_XDECREF(dict);
        }
        PyList_Append(all, list);
        Py_DECREF(list);
    }
    return all;
}

PyObject *snapshot(PyObject *)
{
    PyObject *segments = PyList_New(0);
    std::vector<MemorySegment> found = memory_snapshot();
    Frames frames;
    std::vector<std::shared_ptr<c10::GatheredContext>> owners;
    for (const MemorySegment &segment : found)
        for (const MemoryPiece &piece : segment.piece) {
            owners.push_back(piece.allocated ? history_owner(segment.device, piece.address) : nullptr);
            frames.add(owners.back());
        }
    frames.symbolise();
    size_t at = 0;
    for (const MemorySegment &segment : found) {
        PyObject *blocks = PyList_New(0);
        unsigned long long allocated = 0, active = 0, requested = 0;
        for (const MemoryPiece &piece : segment.piece) {
            allocated += piece.allocated ? piece.size : 0;
            active += piece.active ? piece.size : 0;
            requested += piece.allocated ? piece.requested : 0;
            PyObject *block = Py_BuildValue("{s:K,s:K,s:K,s:s,s:N}", "address", (unsigned long long)piece.address,
                                            "size", (unsigned long long)piece.size, "requested_size",
                                            (unsigned long long)piece.requested, "state",
                                            piece.allocated ? "active_allocated"
                                            : piece.active  ? "active_pending_free"
                                                            : "inactive",
                                            "frames", frames.list(owners[at]));
            at++;
            PyList_Append(blocks, block);
            Py_XDECREF(block);
        }
        PyObject *dict = Py_BuildValue(
            "{s:i,s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:(KK),s:O,s:[],s:N}", "device", segment.device, "address",
            (unsigned long long)segment.address, "total_size", (unsigned long long)segment.total, "allocated_size",
            allocated, "active_size", active, "requested_size", requested, "stream", (unsigned long long)segment.stream,
            "segment_type", segment.large ? "large" : "small", "segment_pool_id", segment.pool.first,
            segment.pool.second, "is_expandable", segment.expandable ? Py_True : Py_False, "frames", "blocks", blocks);
        PyList_Append(segments, dict);
        Py_XDECREF(dict);
    }
    return Py_BuildValue("{s:N,s:N,s:{s:s}}", "segments", segments, "device_traces", traces(), "allocator_settings",
                         "PYTORCH_NPU_ALLOC_CONF", memory_settings().c_str());
}

PyObject *raw_alloc(PyObject *args)
{
    unsigned long long bytes, stream;
    parse(args, "KK", &bytes, &stream);
    int device = current_device(), before = current_stream_index(device);
    if (stream)
        thread_state.stream[device] = (uint8_t)foreign_stream(device, reinterpret_cast<aclrtStream>(stream));
    struct Restore {
        int device, stream;
        ~Restore()
        {
            thread_state.stream[device] = (uint8_t)stream;
        }
    } restore{device, before};
    return PyLong_FromVoidPtr(bytes ? memory_take(device, bytes)->ptr : nullptr);
}

PyObject *raw_delete(PyObject *args)
{
    unsigned long long pointer;
    parse(args, "K", &pointer);
    if (!pointer)
        return Py_NewRef(Py_None);
    for (int device = 0; device < max_devices; device++)
        if (Block *block = device_used(device) ? memory_find(device, reinterpret_cast<void *>(pointer)) : nullptr) {
            memory_give(block);
            return Py_NewRef(Py_None);
        }
    TORCH_CHECK_VALUE(false, "invalid device pointer: ", pointer, error_suffix(Module::PTA, Kind::PTR));
}

PyObject *allocator_settings(PyObject *args)
{
    const char *settings;
    parse(args, "s", &settings);
    alloc_conf_change(settings);
    return nullptr;
}

PyObject *allocator_backend(PyObject *)
{
    return PyUnicode_FromString(changed_allocator() ? "pluggable" : "native");
}

PyObject *host_stats_dict(const HostStats &s)
{
    PyObject *dict = PyDict_New();
    set_item(dict, "allocations", stat_dict(s.allocations));
    set_item(dict, "segments", stat_dict(s.segments));
    set_item(dict, "allocated_bytes", stat_dict(s.allocated_bytes));
    set_item(dict, "reserved_bytes", stat_dict(s.reserved_bytes));
    return dict;
}
PyObject *host_stats(PyObject *)
{
    return host_stats_dict(pinned_stats());
}
PyObject *reset_host_peak(PyObject *)
{
    pinned_stats(true, false);
    return nullptr;
}
PyObject *reset_host_accumulated(PyObject *)
{
    pinned_stats(false, true);
    return nullptr;
}

PyObject *record_history(PyObject *args)
{
    const char *enabled, *context, *stacks; // stacks are Python's in every case: reading C++ names takes minutes
    unsigned long long entries;
    parse(args, "zzsK", &enabled, &context, &stacks, &entries);
    if (enabled)
        history_start(context != nullptr, strcmp(enabled, "all") ? 0 : entries);
    else
        history_stop();
    return nullptr;
}

PyObject *set_op_timeout(PyObject *args)
{
    unsigned int ms;
    parse(args, "I", &ms);
    if (cann.aclrtSetOpExecuteTimeOutWithMs)
        ACL(aclrtSetOpExecuteTimeOutWithMs, ms);
    else if (cann.aclrtSetOpExecuteTimeOut)
        ACL(aclrtSetOpExecuteTimeOut, (ms + 999) / 1000);
    else
        TORCH_CHECK_NOT_IMPLEMENTED(false, "this CANN has no aclrtSetOpExecuteTimeOut",
                                    error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    return nullptr;
}

// ---- sharing storages between processes ----
c10::intrusive_ptr<c10::StorageImpl> storage_of(PyObject *object)
{
    TORCH_CHECK_TYPE(THPStorage_Check(object), "expected a torch.UntypedStorage");
    return c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(THPStorage_Unpack(object).unsafeGetStorageImpl());
}

PyObject *share_storage(PyObject *args)
{
    PyObject *object;
    parse(args, "O", &object);
    auto storage = storage_of(object);
    SharedMemory shared;
    {
        NoGil no_gil;
        shared = share_memory(*storage);
    }
    return Py_BuildValue("(iNnn)", shared.device,
                         PyBytes_FromStringAndSize(shared.key.data(), (Py_ssize_t)shared.key.size()),
                         (Py_ssize_t)shared.bytes, (Py_ssize_t)shared.offset);
}

std::string bytes_of(PyObject *object)
{
    return {PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object)};
}

PyObject *unshare_storage(PyObject *args)
{
    PyObject *key;
    parse(args, "S", &key);
    unshare_memory(bytes_of(key));
    return nullptr;
}

PyObject *open_shared_storage(PyObject *args)
{
    int device;
    Py_ssize_t bytes, offset, slot;
    PyObject *key, *counters;
    parse(args, "iSnnOn", &device, &key, &bytes, &offset, &counters, &slot);
    return THPStorage_Wrap(c10::Storage(open_shared_memory({device, bytes_of(key), (size_t)bytes, (size_t)offset},
                                                           storage_of(counters), (size_t)slot)));
}

// ---- random numbers, options, fallbacks ----
PyObject *get_default_generator(PyObject *args)
{
    int device;
    parse(args, "i", &device);
    return THPGenerator_Wrap(default_generator(device));
}

PyObject *set_option(PyObject *args)
{
    PyObject *dict;
    parse(args, "O!", &PyDict_Type, &dict);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key), *content = PyUnicode_AsUTF8(value);
        if (!name || !content)
            throw python_error();
        option_set(name, content);
    }
    return nullptr;
}

PyObject *get_option(PyObject *args)
{
    const char *name;
    parse(args, "s", &name);
    std::string value;
    return option_get(name, &value) ? text(value) : Py_NewRef(Py_None);
}

PyObject *fallback_count(PyObject *)
{
    PyObject *dict = PyDict_New();
    for (auto &[name, use] : fallback_uses())
        set_item(dict, name.c_str(), PyLong_FromLongLong(use.times));
    return dict;
}

// A CPU tensor on the memory of an NPU tensor, whose current stream has been waited for.
PyObject *host_alias_(PyObject *args)
{
    PyObject *object;
    parse(args, "O", &object);
    TORCH_CHECK(THPVariable_Check(object), "expected a tensor, got ", Py_TYPE(object)->tp_name);
    const at::Tensor &tensor = THPVariable_Unpack(object);
    TORCH_CHECK(tensor.is_privateuseone() && tensor.layout() == at::kStrided && tensor.has_storage(),
                "expected a strided NPU tensor");
    at::Tensor alias;
    {
        NoGil no_gil;
        int device = tensor.device().index();
        wait_stream(device, current_stream_index(device));
        alias = host_alias(tensor);
    }
    return alias.defined() ? THPVariable_Wrap(alias) : nullptr;
}

// ({name: (times, bytes, ns)}, ns since the last reset)
PyObject *fallback_report(PyObject *)
{
    PyObject *dict = PyDict_New();
    for (auto &[name, use] : fallback_uses())
        set_item(dict, name.c_str(),
                 Py_BuildValue("(LLL)", (long long)use.times, (long long)use.bytes, (long long)use.ns));
    return Py_BuildValue("(NL)", dict, (long long)fallback_since());
}

PyObject *fallback_reset_(PyObject *)
{
    fallback_reset();
    return nullptr;
}

// Runs at exit, before Python is taken down. PyTorch's autograd threads drop Python objects a moment after the backward
// pass that the program has already left; doing so while Python is being taken down would abort the process.
PyObject *at_exit(PyObject *)
{
    NoGil no_gil;
    bool autograd = false;
    if (DIR *tasks = opendir("/proc/self/task")) {
        while (dirent *task = readdir(tasks)) {
            char path[300], name[32] = "";
            snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
            if (FILE *comm = fopen(path, "r")) {
                autograd |= fgets(name, sizeof name, comm) && !strncmp(name, "pt_autograd", 11);
                fclose(comm);
            }
        }
        closedir(tasks);
    }
    if (autograd)
        usleep(10000);
    return nullptr;
}

PyMethodDef methods[] = {
    {"_cann_open", entry<cann_open_>, METH_VARARGS, nullptr},
    {"_cann_version", entry<cann_version_>, METH_VARARGS, nullptr},
    {"_npu_init", entry<init>, METH_VARARGS, nullptr},
    {"_npu_isInitialized", entry<is_initialized>, METH_VARARGS, nullptr},
    {"_npu_isInBadFork", entry<is_bad_fork>, METH_VARARGS, nullptr},
    {"_npu_getDeviceCount", entry<get_device_count>, METH_VARARGS, nullptr},
    {"_npu_getDevice", entry<get_device>, METH_VARARGS, nullptr},
    {"_npu_setDevice", entry<set_device_>, METH_VARARGS, nullptr},
    {"_npu_exchangeDevice", entry<exchange_device>, METH_VARARGS, nullptr},
    {"_npu_maybeExchangeDevice", entry<maybe_exchange_device>, METH_VARARGS, nullptr},
    {"_npu_getDeviceName", entry<get_device_name>, METH_VARARGS, nullptr},
    {"_npu_getDeviceProperties", entry<get_device_properties>, METH_VARARGS, nullptr},
    {"_npu_canDeviceAccessPeer", entry<can_access_peer>, METH_VARARGS, nullptr},
    {"_npu_getDeviceUtilizationRate", entry<utilization>, METH_VARARGS, nullptr},
    {"_npu_synchronize", entry<synchronize>, METH_VARARGS, nullptr},
    {"_npu_getCurrentStream", entry<get_current_stream>, METH_VARARGS, nullptr},
    {"_npu_getDefaultStream", entry<get_default_stream>, METH_VARARGS, nullptr},
    {"_npu_setStream", entry<set_stream>, METH_VARARGS, nullptr},
    {"_npu_getCurrentRawStream", entry<get_current_raw_stream>, METH_VARARGS, nullptr},
    {"_npu_getRawStream", entry<get_raw_stream>, METH_VARARGS, nullptr},
    {"_npu_getStreamFromExternal", entry<get_stream_from_external>, METH_VARARGS, nullptr},
    {"_npu_getStreamPriority", entry<get_stream_priority>, METH_VARARGS, nullptr},
    {"_npu_memoryStats", entry<memory_stats>, METH_VARARGS, nullptr},
    {"_npu_resetPeakMemoryStats", entry<reset_peak>, METH_VARARGS, nullptr},
    {"_npu_resetAccumulatedMemoryStats", entry<reset_accumulated>, METH_VARARGS, nullptr},
    {"_npu_memorySnapshot", entry<snapshot>, METH_VARARGS, nullptr},
    {"_npu_getDeviceMemories", entry<get_memories>, METH_VARARGS, nullptr},
    {"_npu_emptyCache", entry<empty_cache>, METH_VARARGS, nullptr},
    {"_npu_hostEmptyCache", entry<host_empty_cache>, METH_VARARGS, nullptr},
    {"_npu_hostMemoryStats", entry<host_stats>, METH_VARARGS, nullptr},
    {"_npu_resetPeakHostMemoryStats", entry<reset_host_peak>, METH_VARARGS, nullptr},
    {"_npu_resetAccumulatedHostMemoryStats", entry<reset_host_accumulated>, METH_VARARGS, nullptr},
    {"_npu_record_memory_history", entry<record_history>, METH_VARARGS, nullptr},
    {"_npu_set_op_timeout_ms", entry<set_op_timeout>, METH_VARARGS, nullptr},
    {"_npu_setMemoryFraction", entry<set_fraction>, METH_VARARGS, nullptr},
    {"_npu_getMemoryFraction", entry<get_fraction>, METH_VARARGS, nullptr},
    {"_npu_npuCachingAllocator_raw_alloc", entry<raw_alloc>, METH_VARARGS, nullptr},
    {"_npu_npuCachingAllocator_raw_delete", entry<raw_delete>, METH_VARARGS, nullptr},
    {"_npu_npuCachingAllocator_set_allocator_settings", entry<allocator_settings>, METH_VARARGS, nullptr},
    {"_npu_getAllocatorBackend", entry<allocator_backend>, METH_VARARGS, nullptr},
    {"_npu_share_storage", entry<share_storage>, METH_VARARGS, nullptr},
    {"_npu_unshare_storage", entry<unshare_storage>, METH_VARARGS, nullptr},
    {"_npu_open_shared_storage", entry<open_shared_storage>, METH_VARARGS, nullptr},
    {"_npu_getDefaultGenerator", entry<get_default_generator>, METH_VARARGS, nullptr},
    {"_npu_setOption", entry<set_option>, METH_VARARGS, nullptr},
    {"_npu_getOption", entry<get_option>, METH_VARARGS, nullptr},
    {"_npu_hostAlias", entry<host_alias_>, METH_VARARGS, nullptr},
    {"_npu_fallback_count", entry<fallback_count>, METH_VARARGS, nullptr},
    {"_npu_fallback_report", entry<fallback_report>, METH_VARARGS, nullptr},
    {"_npu_fallback_reset", entry<fallback_reset_>, METH_VARARGS, nullptr},
    {"_npu_at_exit", entry<at_exit>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "torch_npu._C", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

// Called while waiting without the GIL; signals are delivered on the main thread only.
void check_signals()
{
    if (!Py_IsInitialized() || PyGILState_Check())
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    bool interrupted = PyErr_CheckSignals() != 0;
    if (interrupted) {
        python_error error;
        error.persist();
        PyGILState_Release(state);
        throw error;
    }
    PyGILState_Release(state);
}

} // namespace

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__C()
{
    interrupt_check = check_signals;
    python_place = place_in_python;
    PyObject *made = PyModule_Create(&module);
    if (made && (PyModule_AddFunctions(made, device_methods) || PyModule_AddFunctions(made, profile_methods) ||
                 PyModule_AddFunctions(made, graph_methods))) {
        Py_DECREF(made);
        return nullptr;
    }
    PyObject *handler = made ? PyObject_GetAttrString(made, "_npu_at_exit") : nullptr;
    PyObject *atexit = handler ? PyImport_ImportModule("atexit") : nullptr;
    PyObject *done = atexit ? PyObject_CallMethod(atexit, "register", "O", handler) : nullptr;
    Py_XDECREF(handler);
    Py_XDECREF(atexit);
    if (!done)
        return nullptr;
    Py_DECREF(done);
    return add_distributed(made) ? made : nullptr;
}

// SPDX-License-Identifier: BSD-3-Clause
// The part of torch_npu._C for memory: figures, history, what is told when it is out, and sharing between processes;
// documented in torch_npu/_C.pyi. Everything that may wait gives the GIL back meanwhile.
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <cstring>

#include "error.h"
#include "history.h"
#include "memory.h"
#include "mempool.h"
#include "module.h"
#include "share.h"
#include "version.h"

using namespace npu;

namespace
{

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

// ---- who is told that memory is out ----
PyObject *observer; // a Python function of (device, bytes wanted, total, free)

// A failing observer is shown and changes nothing: the error under way is the one that counts.
void tell_observer(int device, size_t wanted, size_t total, size_t free)
{
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *done = PyObject_CallFunction(observer, "iKKK", device, (unsigned long long)wanted,
                                           (unsigned long long)total, (unsigned long long)free);
    if (!done)
        PyErr_WriteUnraisable(observer);
    Py_XDECREF(done);
    PyGILState_Release(state);
}

PyObject *attach_observer(PyObject *args)
{
    PyObject *function;
    parse(args, "O", &function);
    TORCH_CHECK_TYPE(PyCallable_Check(function), "the observer of out-of-memory must be callable",
                     error_suffix(Module::PTA, Kind::TYPE));
    Py_XSETREF(observer, Py_NewRef(function));
    out_of_memory_observer = tell_observer;
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

// dst's storage becomes the part of src's that begins at element `index`; src's memory lives as long as dst's storage.
PyObject *change_data_ptr(PyObject *args)
{
    PyObject *dst_object, *src_object;
    Py_ssize_t index;
    parse(args, "OOn", &dst_object, &src_object, &index);
    TORCH_CHECK_TYPE(THPVariable_Check(dst_object) && THPVariable_Check(src_object), "expected two tensors");
    c10::Storage dst = THPVariable_Unpack(dst_object).storage(), src = THPVariable_Unpack(src_object).storage();
    size_t element = THPVariable_Unpack(src_object).element_size();
    TORCH_CHECK(index >= 0 && (size_t)index <= src.nbytes() / element &&
                    dst.nbytes() <= src.nbytes() - (size_t)index * element,
                "Offsets overflow, got: offset(index) ", index, ", dst storage size ", dst.nbytes(),
                " bytes, src storage size ", src.nbytes(), " bytes", error_suffix(Module::PTA, Kind::PARAM));
    if (dst.is_alias_of(src))
        return PyLong_FromLong(0);
    void *data = static_cast<char *>(src.mutable_data()) + (size_t)index * element;
    c10::Device device = src.device();
    auto drop = [](void *kept) { delete static_cast<c10::Storage *>(kept); };
    dst.set_data_ptr(c10::DataPtr(data, new c10::Storage(std::move(src)), drop, device));
    return PyLong_FromLong(0);
}

} // namespace

PyMethodDef npu::memory_methods[] = {
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
    {"_npu_setMemoryFraction", entry<set_fraction>, METH_VARARGS, nullptr},
    {"_npu_getMemoryFraction", entry<get_fraction>, METH_VARARGS, nullptr},
    {"_npu_npuCachingAllocator_raw_alloc", entry<raw_alloc>, METH_VARARGS, nullptr},
    {"_npu_npuCachingAllocator_raw_delete", entry<raw_delete>, METH_VARARGS, nullptr},
    {"_npu_npuCachingAllocator_set_allocator_settings", entry<allocator_settings>, METH_VARARGS, nullptr},
    {"_npu_getAllocatorBackend", entry<allocator_backend>, METH_VARARGS, nullptr},
    {"_npu_change_data_ptr", entry<change_data_ptr>, METH_VARARGS, nullptr},
    {"_npu_share_storage", entry<share_storage>, METH_VARARGS, nullptr},
    {"_npu_unshare_storage", entry<unshare_storage>, METH_VARARGS, nullptr},
    {"_npu_open_shared_storage", entry<open_shared_storage>, METH_VARARGS, nullptr},
    {"_npu_attach_out_of_memory_observer", entry<attach_observer>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// SPDX-License-Identifier: BSD-3-Clause
// The part of torch_npu._C for graphs, memory pools, users' allocators and external events. Objects are capsules that
// Python classes hold; documented in torch_npu/_C.pyi.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/python_headers.h>

#include <frameobject.h>

#include <cstring>

#include "error.h"
#include "generator.h"
#include "graph.h"
#include "memory.h"
#include "mempool.h"
#include "metadata.h"
#include "module.h"

using namespace npu;

namespace
{

// ---- capsules ----
template <class T> struct Name;
template <class T> void free_capsule(PyObject *capsule)
{
    T *object = static_cast<T *>(PyCapsule_GetPointer(capsule, Name<T>::text));
    PyThreadState *state = PyEval_SaveThread(); // may wait
    delete object;
    PyEval_RestoreThread(state);
}
template <class T> PyObject *new_capsule(T *object)
{
    return PyCapsule_New(object, Name<T>::text, &free_capsule<T>);
}
template <class T> T *from_capsule(PyObject *capsule)
{
    void *object = PyCapsule_GetPointer(capsule, Name<T>::text);
    if (!object)
        throw python_error();
    return static_cast<T *>(object);
}
template <class T> T *only(PyObject *args)
{
    PyObject *capsule;
    parse(args, "O", &capsule);
    return from_capsule<T>(capsule);
}

// What torch.npu.MemPool holds: a pool of one device.
struct PoolHandle {
    int device;
    c10::MempoolId_t id;
    ~PoolHandle()
    {
        if (forked())
            return;
        try {
            pool_empty(device, id);
            pool_release(device, id);
        } catch (const std::exception &error) {
            TORCH_WARN(error.what());
        }
    }
};

struct ExternalEvent {
    aclrtEvent event = nullptr;
    ~ExternalEvent()
    {
        if (event && !forked())
            cann.aclrtDestroyEvent(event);
    }
};

template <> struct Name<Graph> {
    static constexpr const char *text = "torch_npu.Graph";
};
template <> struct Name<PoolHandle> {
    static constexpr const char *text = "torch_npu.MemPool";
};
template <> struct Name<Pluggable> {
    static constexpr const char *text = "torch_npu.NPUAllocator";
};
template <> struct Name<ExternalEvent> {
    static constexpr const char *text = "torch_npu.ExternalEvent";
};

PyObject *pool_tuple(c10::MempoolId_t id)
{
    return Py_BuildValue("(KK)", (unsigned long long)id.first, (unsigned long long)id.second);
}

// ---- graphs ----
PyObject *graph_new(PyObject *)
{
    return new_capsule(new Graph);
}

PyObject *graph_capture_begin(PyObject *args)
{
    PyObject *capsule;
    unsigned long long first, second;
    int mode;
    parse(args, "O(KK)i", &capsule, &first, &second, &mode);
    Graph *graph = from_capsule<Graph>(capsule);
    NoGil no_gil;
    graph->capture_begin({first, second}, mode);
    return nullptr;
}
PyObject *graph_capture_end(PyObject *args)
{
    Graph *graph = only<Graph>(args);
    NoGil no_gil;
    graph->capture_end();
    return nullptr;
}
PyObject *graph_replay(PyObject *args)
{
    Graph *graph = only<Graph>(args);
    NoGil no_gil;
    graph->replay();
    return nullptr;
}
PyObject *graph_reset(PyObject *args)
{
    Graph *graph = only<Graph>(args);
    NoGil no_gil;
    graph->reset();
    return nullptr;
}
PyObject *graph_pool(PyObject *args)
{
    return pool_tuple(only<Graph>(args)->pool());
}
PyObject *graph_debug_dump(PyObject *args)
{
    PyObject *capsule;
    const char *path;
    parse(args, "Os", &capsule, &path);
    from_capsule<Graph>(capsule)->debug_dump(path);
    return nullptr;
}
PyObject *graph_pool_handle(PyObject *)
{
    return pool_tuple(new_pool_id(true));
}
PyObject *is_capturing(PyObject *)
{
    return PyBool_FromLong(current_stream_capturing());
}

void stream_arguments(PyObject *args, int *stream, int *device)
{
    parse(args, "ii", stream, device);
    check_device(*device);
    TORCH_CHECK(*stream >= 0 && *stream < max_streams, "Unknown NPU stream ", *stream,
                error_suffix(Module::PTA, Kind::PARAM));
}

PyObject *group_begin(PyObject *args)
{
    int stream, device;
    stream_arguments(args, &stream, &device);
    task_group_begin(device, stream);
    return nullptr;
}
PyObject *group_end(PyObject *args)
{
    int stream, device;
    stream_arguments(args, &stream, &device);
    return PyLong_FromVoidPtr(task_group_end(device, stream));
}
PyObject *update_begin(PyObject *args)
{
    int stream, device;
    unsigned long long group;
    parse(args, "iiK", &stream, &device, &group);
    check_device(device);
    task_update_begin(device, stream, reinterpret_cast<void *>(group));
    return nullptr;
}
PyObject *update_end(PyObject *args)
{
    int stream, device;
    stream_arguments(args, &stream, &device);
    task_update_end(device, stream);
    return nullptr;
}

// A tensor on the same memory that does not keep it.
PyObject *weak_ref_tensor(PyObject *args)
{
    PyObject *object;
    parse(args, "O", &object);
    TORCH_CHECK_TYPE(THPVariable_Check(object) && THPVariable_Unpack(object).is_privateuseone(),
                     "expected an NPU tensor", error_suffix(Module::PTA, Kind::TYPE));
    const at::Tensor &t = THPVariable_Unpack(object);
    c10::DataPtr borrowed(const_cast<void *>(t.storage().data()), t.device());
    c10::Storage storage(c10::Storage::use_byte_size_t(), t.storage().nbytes(), std::move(borrowed), memory_allocator(),
                         false);
    return THPVariable_Wrap(
        wrap_storage(std::move(storage), npu_keys, t.sizes(), t.strides(), t.storage_offset(), t.dtype()));
}

// ---- memory pools, allocators ----
PyObject *mempool_new(PyObject *args)
{
    PyObject *allocator;
    int use_on_oom, no_split;
    parse(args, "Opp", &allocator, &use_on_oom, &no_split);
    const Pluggable *source = allocator == Py_None ? nullptr : from_capsule<Pluggable>(allocator);
    auto *handle = new PoolHandle{current_device(), new_pool_id(true)};
    pool_hold(handle->device, handle->id, source, use_on_oom, no_split);
    return new_capsule(handle);
}
PyObject *mempool_id(PyObject *args)
{
    return pool_tuple(only<PoolHandle>(args)->id);
}
PyObject *mempool_use_count(PyObject *args)
{
    PoolHandle *handle = only<PoolHandle>(args);
    return PyLong_FromLong(pool_holders(handle->device, handle->id));
}

std::pair<int, c10::MempoolId_t> pool_arguments(PyObject *args)
{
    int device;
    unsigned long long first, second;
    parse(args, "i(KK)", &device, &first, &second);
    check_device(device);
    return {device, {first, second}};
}
PyObject *pool_begin(PyObject *args)
{
    auto [device, id] = pool_arguments(args);
    pool_route(device, {id, this_thread(), nullptr});
    return nullptr;
}
PyObject *pool_end(PyObject *args)
{
    auto [device, id] = pool_arguments(args);
    pool_unroute(device, id);
    return nullptr;
}
PyObject *pool_release_(PyObject *args)
{
    auto [device, id] = pool_arguments(args);
    pool_release(device, id);
    return nullptr;
}

void keep_pluggable(PyObject *)
{
} // memory may outlive the name

PyObject *custom_allocator(PyObject *args)
{
    unsigned long long take, give;
    parse(args, "KK", &take, &give);
    auto *allocator = new Pluggable;
    memcpy(&allocator->take, &take, sizeof take);
    memcpy(&allocator->give, &give, sizeof give);
    return PyCapsule_New(allocator, Name<Pluggable>::text, keep_pluggable);
}
PyObject *change_current_allocator(PyObject *args)
{
    change_allocator(only<Pluggable>(args));
    return nullptr;
}
PyObject *get_allocator(PyObject *)
{
    const Pluggable *current = changed_allocator();
    return current ? PyCapsule_New(const_cast<Pluggable *>(current), Name<Pluggable>::text, keep_pluggable)
                   : Py_NewRef(Py_None);
}

// ---- external events ----
PyObject *external_event_new(PyObject *)
{
    auto event = std::make_unique<ExternalEvent>();
    use_device(current_device());
    ACL(aclrtCreateEventWithFlag, &event->event, EVENT_EXTERNAL);
    return new_capsule(event.release());
}

template <class Call> PyObject *external_event(PyObject *args, Call call)
{
    PyObject *capsule;
    int stream, device;
    parse(args, "Oii", &capsule, &stream, &device);
    check_device(device);
    use_device(device);
    call(from_capsule<ExternalEvent>(capsule)->event, stream_handle(device, stream));
    return nullptr;
}
PyObject *external_event_record(PyObject *args)
{
    return external_event(args, [](aclrtEvent event, aclrtStream stream) { ACL(aclrtRecordEvent, event, stream); });
}
PyObject *external_event_wait(PyObject *args)
{
    return external_event(args, [](aclrtEvent event, aclrtStream stream) { ACL(aclrtStreamWaitEvent, stream, event); });
}
PyObject *external_event_reset(PyObject *args)
{
    TORCH_CHECK_NOT_IMPLEMENTED(cann.aclrtResetEvent, "this CANN has no aclrtResetEvent",
                                error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    return external_event(args, [](aclrtEvent event, aclrtStream stream) { ACL(aclrtResetEvent, event, stream); });
}
PyObject *external_event_handle(PyObject *args)
{
    return PyLong_FromVoidPtr(only<ExternalEvent>(args)->event);
}

} // namespace

PyMethodDef npu::graph_methods[] = {
    {"_graph_new", entry<graph_new>, METH_VARARGS, nullptr},
    {"_graph_capture_begin", entry<graph_capture_begin>, METH_VARARGS, nullptr},
    {"_graph_capture_end", entry<graph_capture_end>, METH_VARARGS, nullptr},
    {"_graph_replay", entry<graph_replay>, METH_VARARGS, nullptr},
    {"_graph_reset", entry<graph_reset>, METH_VARARGS, nullptr},
    {"_graph_pool", entry<graph_pool>, METH_VARARGS, nullptr},
    {"_graph_debug_dump", entry<graph_debug_dump>, METH_VARARGS, nullptr},
    {"_graph_pool_handle", entry<graph_pool_handle>, METH_VARARGS, nullptr},
    {"_npu_isCurrentStreamCapturing", entry<is_capturing>, METH_VARARGS, nullptr},
    {"_graph_task_group_begin", entry<group_begin>, METH_VARARGS, nullptr},
    {"_graph_task_group_end", entry<group_end>, METH_VARARGS, nullptr},
    {"_graph_task_update_begin", entry<update_begin>, METH_VARARGS, nullptr},
    {"_graph_task_update_end", entry<update_end>, METH_VARARGS, nullptr},
    {"_weak_ref_tensor", entry<weak_ref_tensor>, METH_VARARGS, nullptr},
    {"_mempool_new", entry<mempool_new>, METH_VARARGS, nullptr},
    {"_mempool_id", entry<mempool_id>, METH_VARARGS, nullptr},
    {"_mempool_use_count", entry<mempool_use_count>, METH_VARARGS, nullptr},
    {"_npu_beginAllocateCurrentThreadToPool", entry<pool_begin>, METH_VARARGS, nullptr},
    {"_npu_endAllocateToPool", entry<pool_end>, METH_VARARGS, nullptr},
    {"_npu_releasePool", entry<pool_release_>, METH_VARARGS, nullptr},
    {"_npu_customAllocator", entry<custom_allocator>, METH_VARARGS, nullptr},
    {"_npu_changeCurrentAllocator", entry<change_current_allocator>, METH_VARARGS, nullptr},
    {"_npu_getAllocator", entry<get_allocator>, METH_VARARGS, nullptr},
    {"_external_event_new", entry<external_event_new>, METH_VARARGS, nullptr},
    {"_external_event_record", entry<external_event_record>, METH_VARARGS, nullptr},
    {"_external_event_wait", entry<external_event_wait>, METH_VARARGS, nullptr},
    {"_external_event_reset", entry<external_event_reset>, METH_VARARGS, nullptr},
    {"_external_event_handle", entry<external_event_handle>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// The folder of an imported module, with a slash; "" when it is not imported.
static std::string folder_of(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict(), *module = modules ? PyDict_GetItemString(modules, name) : nullptr;
    PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : nullptr;
    const char *path = file ? PyUnicode_AsUTF8(file) : nullptr;
    std::string folder =
        path ? std::string(path, (size_t)(strrchr(path, '/') ? strrchr(path, '/') + 1 - path : 0)) : "";
    Py_XDECREF(file);
    PyErr_Clear();
    return folder;
}

// The innermost frame of this thread that is in neither PyTorch's nor this package's files.
std::string npu::place_in_python()
{
    if (!Py_IsInitialized())
        return "";
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *error, *traceback; // of an error under way
    PyErr_Fetch(&type, &error, &traceback);
    static const std::string own[] = {folder_of("torch"), folder_of("torch_npu._C")};
    std::string place;
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame && place.empty()) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        const char *file = PyUnicode_AsUTF8(code->co_filename), *name = PyUnicode_AsUTF8(code->co_name);
        bool library = !file || *file == '<';
        for (const std::string &folder : own)
            library = library || (!folder.empty() && !strncmp(file, folder.c_str(), folder.size()));
        if (!library)
            place =
                std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame)) + " in " + (name ? name : "?");
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = outer;
    }
    Py_XDECREF(frame);
    PyErr_Restore(type, error, traceback);
    PyGILState_Release(state);
    return place;
}

// SPDX-License-Identifier: BSD-3-Clause
// The part of torch_npu._C for graphs, memory pools and users' allocators. Objects are capsules that Python classes
// hold; documented in torch_npu/_C.pyi.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/python_headers.h>

#include <cstring>

#include "capsule.h"
#include "error.h"
#include "generator.h"
#include "graph.h"
#include "memory.h"
#include "mempool.h"
#include "metadata.h"

using namespace npu;

namespace
{

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
    return PyCapsule_New(allocator, capsule_name<Pluggable>(), keep_pluggable);
}
PyObject *change_current_allocator(PyObject *args)
{
    change_allocator(only<Pluggable>(args));
    return nullptr;
}
PyObject *get_allocator(PyObject *)
{
    const Pluggable *current = changed_allocator();
    return current ? PyCapsule_New(const_cast<Pluggable *>(current), capsule_name<Pluggable>(), keep_pluggable)
                   : Py_NewRef(Py_None);
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
    {nullptr, nullptr, 0, nullptr},
};

// SPDX-License-Identifier: BSD-3-Clause
// torch_npu._C, devices beyond every day's use: limits of cores, dump, broken memory, stopping a device, pinned memory
// of others, sleeping streams, time stamps of events, and who waits for results. What a CANN does not have is named.
#include <torch/csrc/Storage.h>

#include <chrono>
#include <memory>
#include <thread>

#include "error.h"
#include "memory.h"
#include "module.h"

namespace npu
{
namespace
{

void need(bool present, const char *name)
{
    TORCH_CHECK_NOT_IMPLEMENTED(present, "this CANN has no ", name, error_suffix(Module::PTA, Kind::NOT_SUPPORT));
}
#define NEED(name) need(cann.name != nullptr, #name)

// ---- limits of cores: type 0 cube, 1 vector ----
PyObject *set_device_limit(PyObject *args)
{
    int device, type;
    unsigned int cores;
    parse(args, "iiI", &device, &type, &cores);
    check_device(device);
    NEED(aclrtSetDeviceResLimit);
    use_device(device);
    ACL(aclrtSetDeviceResLimit, device, type, cores);
    return nullptr;
}

PyObject *get_device_limit(PyObject *args)
{
    int device, type;
    parse(args, "ii", &device, &type);
    check_device(device);
    NEED(aclrtGetDeviceResLimit);
    use_device(device);
    uint32_t cores = 0;
    ACL(aclrtGetDeviceResLimit, device, type, &cores);
    return PyLong_FromUnsignedLong(cores);
}

aclrtStream stream_argument(int stream, int device)
{
    check_device(device);
    TORCH_CHECK(stream >= 0 && stream < max_streams, "Unknown NPU stream ", stream,
                error_suffix(Module::PTA, Kind::PARAM));
    use_device(device);
    return stream_handle(device, stream);
}

PyObject *set_stream_limit(PyObject *args)
{
    int stream, device, type;
    unsigned int cores;
    parse(args, "iiiI", &stream, &device, &type, &cores);
    NEED(aclrtSetStreamResLimit);
    ACL(aclrtSetStreamResLimit, stream_argument(stream, device), type, cores);
    return nullptr;
}

PyObject *get_stream_limit(PyObject *args)
{
    int stream, device, type;
    parse(args, "iii", &stream, &device, &type);
    NEED(aclrtGetStreamResLimit);
    uint32_t cores = 0;
    ACL(aclrtGetStreamResLimit, stream_argument(stream, device), type, &cores);
    return PyLong_FromUnsignedLong(cores);
}

PyObject *reset_stream_limit(PyObject *args)
{
    int stream, device;
    parse(args, "ii", &stream, &device);
    NEED(aclrtResetStreamResLimit);
    ACL(aclrtResetStreamResLimit, stream_argument(stream, device));
    return nullptr;
}

// ---- saturation ----
template <class Function> Function symbol(const char *name)
{
    auto found = reinterpret_cast<Function>(cann_symbol(name));
    need(found != nullptr, name);
    return found;
}

// Whether a task of the device has overflowed since the flag was cleared; after what the current stream has to do.
PyObject *overflow_status(PyObject *args)
{
    int device = device_argument(args);
    auto get = symbol<aclError (*)(void *, size_t, aclrtStream)>("aclrtGetOverflowStatus");
    constexpr size_t bytes = 64;
    uint64_t found[bytes / sizeof(uint64_t)] = {};
    {
        NoGil no_gil;
        at::DataPtr status = memory_data(device, bytes);
        check_acl(get(status.get(), bytes, current_stream(device)), "aclrtGetOverflowStatus", __func__, __FILE__,
                  __LINE__);
        await_result(device, current_stream_index(device));
        ACL(aclrtMemcpy, found, bytes, status.get(), bytes, MEMCPY_D2H);
    }
    return PyBool_FromLong(found[0] != 0);
}

PyObject *overflow_reset(PyObject *args)
{
    int device = device_argument(args);
    auto reset = symbol<aclError (*)(aclrtStream)>("aclrtResetOverflowStatus");
    check_acl(reset(current_stream(device)), "aclrtResetOverflowStatus", __func__, __FILE__, __LINE__);
    return nullptr;
}

// ---- dump ----
PyObject *init_dump(PyObject *)
{
    NEED(aclmdlInitDump);
    ACL(aclmdlInitDump);
    return nullptr;
}

PyObject *set_dump(PyObject *args)
{
    const char *path;
    parse(args, "s", &path);
    NEED(aclmdlSetDump);
    ACL(aclmdlSetDump, path);
    return nullptr;
}

PyObject *finalize_dump(PyObject *)
{
    NEED(aclmdlFinalizeDump);
    ACL(aclmdlFinalizeDump);
    return nullptr;
}

// ---- a device in trouble ----
PyObject *check_uce(PyObject *args)
{
    int device = device_argument(args);
    NEED(aclrtGetMemUceInfo);
    use_device(device);
    enum { MOST = 128 };
    struct { // aclrtMemUceInfo
        void *address;
        size_t bytes, reserved[14];
    } found[MOST] = {};
    size_t count = 0;
    ACL(aclrtGetMemUceInfo, device, found, MOST, &count);
    return PyLong_FromSize_t(count);
}

PyObject *stop_device(PyObject *args)
{
    int device = device_argument(args);
    NEED(aclrtDeviceTaskAbort);
    use_device(device);
    NoGil no_gil;
    ACL(aclrtDeviceTaskAbort, device, 0);
    return nullptr;
}

// ---- memory ----
PyObject *erase_stream(PyObject *args)
{
    PyObject *storage;
    int stream, device;
    parse(args, "Oii", &storage, &stream, &device);
    TORCH_CHECK_TYPE(THPStorage_Check(storage), "expected a torch.UntypedStorage");
    memory_erase_stream(THPStorage_Unpack(storage).data_ptr(), stream);
    return nullptr;
}

PyObject *host_register(PyObject *args)
{
    unsigned long long pointer, bytes;
    int flags;
    parse(args, "KKi", &pointer, &bytes, &flags);
    NEED(aclrtHostRegister);
    void *device_pointer = nullptr;
    use_device(current_device());
    return PyLong_FromLong(cann.aclrtHostRegister(reinterpret_cast<void *>(pointer), bytes, flags, &device_pointer));
}

PyObject *host_unregister(PyObject *args)
{
    unsigned long long pointer;
    parse(args, "K", &pointer);
    NEED(aclrtHostUnregister);
    use_device(current_device());
    return PyLong_FromLong(cann.aclrtHostUnregister(reinterpret_cast<void *>(pointer)));
}

// ---- streams and events ----
PyObject *stream_create(PyObject *)
{
    use_device(current_device());
    aclrtStream stream = nullptr;
    ACL(aclrtCreateStreamWithConfig, &stream, 0, STREAM_FAST_LAUNCH | STREAM_FAST_SYNC);
    return PyLong_FromVoidPtr(stream);
}

PyObject *stream_destroy(PyObject *args)
{
    unsigned long long stream;
    parse(args, "K", &stream);
    NEED(aclrtDestroyStream);
    return PyLong_FromLong(cann.aclrtDestroyStream(reinterpret_cast<aclrtStream>(stream)));
}

void sleep_on_stream(void *argument)
{
    std::unique_ptr<int64_t> ns(static_cast<int64_t *>(argument));
    std::this_thread::sleep_for(std::chrono::nanoseconds(*ns));
}

PyObject *sleep_(PyObject *args)
{
    long long ns;
    parse(args, "L", &ns);
    NEED(aclrtLaunchHostFunc);
    auto argument = std::make_unique<int64_t>(ns);
    ACL(aclrtLaunchHostFunc, current_stream(current_device()), sleep_on_stream, argument.get());
    argument.release();
    return nullptr;
}

PyObject *event_time(PyObject *args)
{
    unsigned long long event;
    parse(args, "K", &event);
    NEED(aclrtEventGetTimestamp);
    TORCH_CHECK(event, "Event must be recorded before getting recorded timestamp.",
                error_suffix(Module::PTA, Kind::INTERNAL));
    uint64_t us = 0;
    {
        NoGil no_gil;
        wait_event(reinterpret_cast<aclrtEvent>(event));
    }
    ACL(aclrtEventGetTimestamp, reinterpret_cast<aclrtEvent>(event), &us);
    return PyLong_FromUnsignedLongLong(us);
}

PyObject *set_sync_debug_mode(PyObject *args)
{
    int mode;
    parse(args, "i", &mode);
    sync_debug_mode = mode;
    return nullptr;
}

PyObject *get_sync_debug_mode(PyObject *)
{
    return PyLong_FromLong(sync_debug_mode);
}

} // namespace

PyMethodDef device_methods[] = {
    {"_npu_set_device_res_limit", entry<set_device_limit>, METH_VARARGS, nullptr},
    {"_npu_get_device_res_limit", entry<get_device_limit>, METH_VARARGS, nullptr},
    {"_npu_set_stream_res_limit", entry<set_stream_limit>, METH_VARARGS, nullptr},
    {"_npu_get_stream_res_limit", entry<get_stream_limit>, METH_VARARGS, nullptr},
    {"_npu_reset_stream_res_limit", entry<reset_stream_limit>, METH_VARARGS, nullptr},
    {"_npu_overflow_status", entry<overflow_status>, METH_VARARGS, nullptr},
    {"_npu_overflow_reset", entry<overflow_reset>, METH_VARARGS, nullptr},
    {"_npu_initDump", entry<init_dump>, METH_VARARGS, nullptr},
    {"_npu_setDump", entry<set_dump>, METH_VARARGS, nullptr},
    {"_npu_finalizeDump", entry<finalize_dump>, METH_VARARGS, nullptr},
    {"_npu_check_uce_in_memory", entry<check_uce>, METH_VARARGS, nullptr},
    {"_npu_stopDevice", entry<stop_device>, METH_VARARGS, nullptr},
    {"_npu_eraseStream", entry<erase_stream>, METH_VARARGS, nullptr},
    {"_npu_hostRegister", entry<host_register>, METH_VARARGS, nullptr},
    {"_npu_hostUnregister", entry<host_unregister>, METH_VARARGS, nullptr},
    {"_npu_streamCreate", entry<stream_create>, METH_VARARGS, nullptr},
    {"_npu_streamDestroy", entry<stream_destroy>, METH_VARARGS, nullptr},
    {"_npu_sleep", entry<sleep_>, METH_VARARGS, nullptr},
    {"_npu_eventTimestamp", entry<event_time>, METH_VARARGS, nullptr},
    {"_npu_set_sync_debug_mode", entry<set_sync_debug_mode>, METH_VARARGS, nullptr},
    {"_npu_get_sync_debug_mode", entry<get_sync_debug_mode>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace npu

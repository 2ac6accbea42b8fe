// SPDX-License-Identifier: BSD-3-Clause
// torch_npu._C: the bridge's functions for the package's Python files; documented in torch_npu/_C.pyi. Everything that
// may wait gives the GIL back meanwhile.
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>

#include <dirent.h>
#include <unistd.h>

#include <cstring>

#include "c10d/python.h"
#include "error.h"
#include "fallback.h"
#include "generator.h"
#include "logs.h"
#include "host.h"
#include "memory.h"
#include "module.h"
#include "options.h"
#include "version.h"

using namespace npu;

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
    place_install();
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
    {"_npu_set_op_timeout_ms", entry<set_op_timeout>, METH_VARARGS, nullptr},
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
                 PyModule_AddFunctions(made, graph_methods) || PyModule_AddFunctions(made, memory_methods) ||
                 PyModule_AddFunctions(made, event_methods))) {
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

// SPDX-License-Identifier: BSD-3-Clause
// The part of torch_npu._C that profiles: aclprof… sessions, the observer of operators, ranges of the host.
#include "module.h"

#include <c10/util/Exception.h>

#include <cstring>

#include "error.h"
#include "profile.h"

namespace npu
{

namespace
{

PyObject *available(PyObject *)
{
    return PyBool_FromLong(trace() != nullptr);
}

PyObject *observing(PyObject *)
{
    return PyBool_FromLong(traced(ANYNPU_TRACE_HOST));
}

PyObject *now(PyObject *)
{
    return trace() ? PyLong_FromLongLong(trace()->now()) : nullptr;
}

bool profiles()
{
    return cann.aclprofInit && cann.aclprofCreateConfig && cann.aclprofStart && cann.aclprofStop &&
           cann.aclprofDestroyConfig && cann.aclprofFinalize;
}

// Records below the folder: the current device's tasks and what `types` (ACL_PROF_…) says.
aclprofConfig *session = nullptr;

PyObject *session_start(PyObject *args)
{
    const char *folder;
    unsigned long long types;
    int device;
    parse(args, "siK", &folder, &device, &types);
    NoGil no_gil;
    TORCH_CHECK(profiles(), "this CANN has no aclprofInit: it cannot profile",
                error_suffix(Module::PROF, Kind::NOT_FOUND));
    TORCH_CHECK(!session, "a profiler of torch_npu is recording already", error_suffix(Module::PROF, Kind::INTERNAL));
    uint32_t id = (uint32_t)device;
    ACL(aclprofInit, folder, strlen(folder));
    session = cann.aclprofCreateConfig(&id, device >= 0, 0xff, nullptr, types);
    int status = session ? cann.aclprofStart(session) : -1;
    if (status) {
        std::string why = cann.aclGetRecentErrMsg() ? cann.aclGetRecentErrMsg() : "";
        if (session)
            cann.aclprofDestroyConfig(session);
        session = nullptr;
        cann.aclprofFinalize();
        TORCH_CHECK(false, "profiling did not start: ", why, error_suffix(Module::PROF, Kind::ACL));
    }
    return nullptr;
}

PyObject *session_stop(PyObject *)
{
    NoGil no_gil;
    if (!session)
        return nullptr;
    aclprofConfig *was = session;
    session = nullptr;
    aclError status = cann.aclprofStop(was);
    cann.aclprofDestroyConfig(was);
    cann.aclprofFinalize();
    TORCH_CHECK(status == 0, "aclprofStop failed with ", status, error_suffix(Module::PROF, Kind::ACL));
    return nullptr;
}

PyObject *observe_start_(PyObject *args)
{
    int shapes, stack, flops, memory;
    parse(args, "pppp", &shapes, &stack, &flops, &memory);
    TORCH_CHECK(trace(), "this CANN has no recorder for operators of PyTorch",
                error_suffix(Module::PROF, Kind::NOT_FOUND));
    observe_start({shapes != 0, stack != 0, flops != 0, memory != 0});
    return nullptr;
}

PyObject *observe_stop_(PyObject *)
{
    observe_stop();
    return nullptr;
}

PyObject *range(PyObject *args)
{
    const char *name;
    long long begin, end;
    int scope;
    parse(args, "sLLi", &name, &begin, &end, &scope);
    trace_range(name, begin, end, (uint32_t)scope);
    return nullptr;
}

PyObject *register_kineto(PyObject *)
{
    kineto_register();
    return nullptr;
}

} // namespace

PyMethodDef profile_methods[] = {
    {"_npu_trace_available", entry<available>, METH_VARARGS, nullptr},
    {"_npu_trace_observing", entry<observing>, METH_VARARGS, nullptr},
    {"_npu_trace_now", entry<now>, METH_VARARGS, nullptr},
    {"_npu_trace_range", entry<range>, METH_VARARGS, nullptr},
    {"_npu_prof_start", entry<session_start>, METH_VARARGS, nullptr},
    {"_npu_prof_stop", entry<session_stop>, METH_VARARGS, nullptr},
    {"_npu_observe_start", entry<observe_start_>, METH_VARARGS, nullptr},
    {"_npu_observe_stop", entry<observe_stop_>, METH_VARARGS, nullptr},
    {"_npu_register_kineto", entry<register_kineto>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace npu

// SPDX-License-Identifier: BSD-3-Clause
// The part of torch_npu._C for events that torch.Event does not make: flags that streams set and await (external
// events), and events that other processes see. Capsules that Python classes hold; documented in torch_npu/_C.pyi.
#include <cstring>
#include <memory>

#include "capsule.h"
#include "error.h"
#include "share.h"

using namespace npu;

namespace
{

struct OwnEvent {
    aclrtEvent event = nullptr;
    ~OwnEvent()
    {
        if (event && !forked())
            cann.aclrtDestroyEvent(event);
    }
};

PyObject *make(uint32_t flags)
{
    auto made = std::make_unique<OwnEvent>();
    use_device(current_device());
    ACL(aclrtCreateEventWithFlag, &made->event, flags);
    return new_capsule(made.release());
}
PyObject *external_event_new(PyObject *)
{
    return make(EVENT_EXTERNAL);
}
PyObject *shared_event_new(PyObject *args)
{
    int timing;
    parse(args, "p", &timing);
    return make(EVENT_SYNC | event_interprocess | (timing ? EVENT_TIME_LINE : 0));
}

PyObject *event_export(PyObject *args)
{
    std::string handle = share_event(only<OwnEvent>(args)->event);
    return PyBytes_FromStringAndSize(handle.data(), (Py_ssize_t)handle.size());
}

PyObject *event_import(PyObject *args)
{
    int device;
    PyObject *handle;
    parse(args, "iS", &device, &handle);
    check_device(device);
    use_device(device);
    auto made = std::make_unique<OwnEvent>();
    made->event =
        open_shared_event(std::string(PyBytes_AS_STRING(handle), static_cast<size_t>(PyBytes_GET_SIZE(handle))));
    return new_capsule(made.release());
}

template <class Call> PyObject *on_stream(PyObject *args, Call call)
{
    PyObject *capsule;
    int stream, device;
    parse(args, "Oii", &capsule, &stream, &device);
    check_device(device);
    use_device(device);
    call(from_capsule<OwnEvent>(capsule)->event, stream_handle(device, stream));
    return nullptr;
}
PyObject *event_record(PyObject *args)
{
    return on_stream(args, [](aclrtEvent event, aclrtStream stream) { ACL(aclrtRecordEvent, event, stream); });
}
PyObject *event_wait(PyObject *args)
{
    return on_stream(args, [](aclrtEvent event, aclrtStream stream) { ACL(aclrtStreamWaitEvent, stream, event); });
}
PyObject *event_reset(PyObject *args)
{
    TORCH_CHECK_NOT_IMPLEMENTED(cann.aclrtResetEvent, "this CANN has no aclrtResetEvent",
                                error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    return on_stream(args, [](aclrtEvent event, aclrtStream stream) { ACL(aclrtResetEvent, event, stream); });
}

PyObject *event_query(PyObject *args)
{
    int done = 1;
    use_device(current_device());
    ACL(aclrtQueryEventStatus, only<OwnEvent>(args)->event, &done);
    return PyBool_FromLong(done);
}
PyObject *event_synchronize(PyObject *args)
{
    OwnEvent *event = only<OwnEvent>(args);
    NoGil no_gil;
    use_device(current_device());
    wait_event(event->event);
    return nullptr;
}
PyObject *event_elapsed(PyObject *args) // aclrtEvents as integers
{
    unsigned long long begin, end;
    parse(args, "KK", &begin, &end);
    float ms = 0;
    ACL(aclrtEventElapsedTime, &ms, reinterpret_cast<aclrtEvent>(begin), reinterpret_cast<aclrtEvent>(end));
    return PyFloat_FromDouble(ms);
}
PyObject *event_handle(PyObject *args)
{
    return PyLong_FromVoidPtr(only<OwnEvent>(args)->event);
}

} // namespace

PyMethodDef npu::event_methods[] = {
    {"_external_event_new", entry<external_event_new>, METH_VARARGS, nullptr},
    {"_shared_event_new", entry<shared_event_new>, METH_VARARGS, nullptr},
    {"_event_export", entry<event_export>, METH_VARARGS, nullptr},
    {"_event_import", entry<event_import>, METH_VARARGS, nullptr},
    {"_event_record", entry<event_record>, METH_VARARGS, nullptr},
    {"_event_wait", entry<event_wait>, METH_VARARGS, nullptr},
    {"_event_reset", entry<event_reset>, METH_VARARGS, nullptr},
    {"_event_query", entry<event_query>, METH_VARARGS, nullptr},
    {"_event_synchronize", entry<event_synchronize>, METH_VARARGS, nullptr},
    {"_event_elapsed", entry<event_elapsed>, METH_VARARGS, nullptr},
    {"_event_handle", entry<event_handle>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// SPDX-License-Identifier: BSD-3-Clause
// Where the calling thread is in the user's program: what CANN is told of operators that are queued, so that a failure
// that is reported later names the line that asked for it (anynpu/extension.h). Frames of PyTorch and of this package
// are passed over. Takes the GIL, so only threads that Python knows are looked at, and never while Python is being
// taken down.
#include <Python.h>

#include <cstdio>
#include <cstring>

#include "cann.h"

namespace npu
{

static bool of_a_library(const char *file)
{
    return strstr(file, "/torch/") || strstr(file, "/torch_npu/") || !strncmp(file, "<frozen", 7);
}

// "train.py:12 in forward", with the end of a long path. Under the GIL; no exception is left behind.
static size_t describe_frame(char *out, size_t size)
{
    enum { DEEPEST = 64 };
    size_t length = 0;
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (int depth = 0; frame && depth < DEEPEST && !length; depth++) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        const char *file = PyUnicode_AsUTF8(code->co_filename), *name = PyUnicode_AsUTF8(code->co_name);
        if (file && name && !of_a_library(file)) {
            size_t n = strlen(file);
            const char *tail = n > 90 ? file + n - 90 : file;
            int written =
                snprintf(out, size, "%s%s:%d in %.50s", n > 90 ? "…" : "", tail, PyFrame_GetLineNumber(frame), name);
            length = written > 0 && (size_t)written < size ? (size_t)written : 0;
        }
        Py_DECREF(code);
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    Py_XDECREF(frame);
    return length;
}

static size_t place(char *out, size_t size)
{
    if (!Py_IsInitialized() || _Py_IsFinalizing() || !PyGILState_GetThisThreadState())
        return 0;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    size_t length = describe_frame(out, size);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
    return length;
}

// After cann_open().
void place_install()
{
    if (cann.extension && cann.extension->version >= 4)
        cann.extension->set_place(place);
}

} // namespace npu

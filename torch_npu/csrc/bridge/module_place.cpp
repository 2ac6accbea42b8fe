// SPDX-License-Identifier: BSD-3-Clause
// Where the calling thread is in the user's program: what CANN is told of operators that are queued, so that a failure
// that is reported later names the line that asked for it (anynpu/extension.h). Frames of PyTorch and of this package
// are passed over. Takes the GIL, so only threads that Python knows are looked at, and never while Python is being
// taken down.
#include "module.h"

#include <cstdio>
#include <cstring>

namespace npu
{

static std::string library[2]; // folders of torch and of this package, with a slash

static std::string folder_of(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict(), *module = modules ? PyDict_GetItemString(modules, name) : nullptr;
    PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : nullptr;
    const char *path = file ? PyUnicode_AsUTF8(file) : nullptr, *slash = path ? strrchr(path, '/') : nullptr;
    std::string folder = slash ? std::string(path, slash + 1) : "";
    Py_XDECREF(file);
    PyErr_Clear();
    return folder;
}

static bool of_a_library(const char *file)
{
    for (const std::string &folder : library)
        if (!folder.empty() && !strncmp(file, folder.c_str(), folder.size()))
            return true;
    return !strncmp(file, "<frozen", 7) || !strncmp(file, "<eval_with_key>", 15);
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

std::string place_in_python()
{
    char text[256];
    return {text, place(text, sizeof text)};
}

void place_install()
{
    library[0] = folder_of("torch");
    library[1] = folder_of("torch_npu._C");
    if (cann.extension && cann.extension->version >= 4)
        cann.extension->set_place(place);
}

} // namespace npu

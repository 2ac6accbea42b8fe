// SPDX-License-Identifier: BSD-3-Clause
// Where the calling thread is in the user's program: what CANN is told of operators that are queued, so that a failure
// that is reported later names the line that asked for it (anynpu/extension.h). Frames of PyTorch and of this package
// are passed over. Takes the GIL, so only threads that Python knows are looked at, and never while Python is being
// taken down.
#include "module.h"

#include <cstdio>
#include <cstring>
#include <unordered_set>

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

// An instruction of a function, and the text of its line. Programs run the same lines again and again, so the text is
// made once, and asking costs little more than the GIL. The code is held, so that its address stays its own.
struct Line {
    PyCodeObject *code = nullptr;
    int instruction = 0;
    const char *text = nullptr; // "train.py:12 in forward"; nullptr: of a library
};

static int instruction_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame);
#else
    return PyFrame_GetLineNumber(frame);
#endif
}

// The text, kept for ever: there are as many as the program has lines that queue operators.
static const char *lasting(const std::string &text)
{
    static auto *const all = new std::unordered_set<std::string>;
    return all->insert(text).first->c_str();
}

static const char *describe(PyFrameObject *frame, PyCodeObject *code)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const char *file = PyUnicode_AsUTF8(code->co_filename), *name = PyUnicode_AsUTF8(code->co_name), *text = nullptr;
    if (file && name && !of_a_library(file)) {
        size_t n = strlen(file);
        char line[256];
        snprintf(line, sizeof line, "%s%s:%d in %.50s", n > 90 ? "…" : "", n > 90 ? file + n - 90 : file,
                 PyFrame_GetLineNumber(frame), name);
        text = lasting(line);
    }
    PyErr_Restore(type, value, trace);
    return text;
}

// Under the GIL.
static const char *line_of(PyFrameObject *frame, PyCodeObject *code)
{
    constexpr size_t slots = 1024;
    static Line *const known = new Line[slots];
    int instruction = instruction_of(frame);
    Line &line = known[(reinterpret_cast<size_t>(code) / 64 + (size_t)instruction) % slots];
    if (line.code != code || line.instruction != instruction) {
        const char *text = describe(frame, code);
        Py_XSETREF(line.code, (PyCodeObject *)Py_NewRef((PyObject *)code));
        line.instruction = instruction;
        line.text = text;
    }
    return line.text;
}

static const char *innermost()
{
    enum { DEEPEST = 64 };
    const char *text = nullptr;
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (int depth = 0; frame && depth < DEEPEST && !text; depth++) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        text = line_of(frame, code);
        Py_DECREF(code);
        PyFrameObject *outer = text ? nullptr : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    Py_XDECREF(frame);
    return text;
}

static const char *place()
{
    if (!Py_IsInitialized() || _Py_IsFinalizing() || !PyGILState_GetThisThreadState())
        return nullptr;
    PyGILState_STATE state = PyGILState_Ensure();
    const char *text = innermost();
    PyGILState_Release(state);
    return text;
}

std::string place_in_python()
{
    const char *text = place();
    return text ? text : "";
}

void place_install()
{
    library[0] = folder_of("torch");
    library[1] = folder_of("torch_npu._C");
    if (cann.extension && cann.extension->version >= 5)
        cann.extension->set_place(place);
}

} // namespace npu

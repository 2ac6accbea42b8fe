// SPDX-License-Identifier: BSD-3-Clause
// What the files of torch_npu._C share: module*.cpp, each with a table of functions that module.cpp adds to the module.
// The GIL is held except within NoGil.
#pragma once

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/python_headers.h>

#include <string>

#include "device.h"

namespace npu
{

extern PyMethodDef device_methods[];  // module_device.cpp
extern PyMethodDef profile_methods[]; // module_profile.cpp
extern PyMethodDef graph_methods[];   // module_graph.cpp
extern PyMethodDef memory_methods[];  // module_memory.cpp
extern PyMethodDef event_methods[];   // module_event.cpp

void place_install();          // module_place.cpp: after cann_open()
std::string place_in_python(); // for python_place (device.h)

// A METH_VARARGS function from one that may throw. nullptr without an error stands for None, so that a function that
// has given the GIL back need not touch None's count.
template <PyObject *(*function)(PyObject *)> PyObject *entry(PyObject *, PyObject *args)
{
    HANDLE_TH_ERRORS
    PyObject *result = function(args);
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_None);
    END_HANDLE_TH_ERRORS
}

struct NoGil {
    PyThreadState *state = PyEval_SaveThread();
    ~NoGil()
    {
        PyEval_RestoreThread(state);
    }
};

template <class... T> void parse(PyObject *args, const char *format, T *...out)
{
    if (!PyArg_ParseTuple(args, format, out...))
        throw python_error();
}

inline PyObject *text(const std::string &s)
{
    return PyUnicode_FromStringAndSize(s.data(), (Py_ssize_t)s.size());
}

// Takes over the value.
inline void set_item(PyObject *dict, const char *key, PyObject *value)
{
    if (!value || PyDict_SetItemString(dict, key, value))
        throw python_error();
    Py_DECREF(value);
}

inline int device_argument(PyObject *args)
{
    int device;
    parse(args, "i", &device);
    check_device(device);
    return device;
}

} // namespace npu

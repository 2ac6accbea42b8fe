// SPDX-License-Identifier: BSD-3-Clause
// C++ objects that Python classes hold, as capsules: their type is known by typeid(T).name(), and they are deleted
// without the GIL, since that may wait.
#pragma once

#include <typeinfo>

#include "module.h"

namespace npu
{

template <class T> const char *capsule_name()
{
    return typeid(T).name();
}
template <class T> void free_capsule(PyObject *capsule)
{
    T *object = static_cast<T *>(PyCapsule_GetPointer(capsule, capsule_name<T>()));
    PyThreadState *state = PyEval_SaveThread(); // may wait
    delete object;
    PyEval_RestoreThread(state);
}
template <class T> PyObject *new_capsule(T *object)
{
    return PyCapsule_New(object, capsule_name<T>(), &free_capsule<T>);
}
template <class T> T *from_capsule(PyObject *capsule)
{
    void *object = PyCapsule_GetPointer(capsule, capsule_name<T>());
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

} // namespace npu

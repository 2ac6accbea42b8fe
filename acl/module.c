/* SPDX-License-Identifier: BSD-3-Clause */
/* The module: its parts are made from the rows. libascendcl.so is opened at the first call, from ASCEND_HOME_PATH or
 * the toolkit of the package anynpu, so that the same module serves any CANN. */
#include "module.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 8 };

/* ---- the library ---- */
static void *library;

/* The toolkit's folder, a new reference. */
static PyObject *home(void)
{
    const char *variable = getenv("ASCEND_HOME_PATH");
    if (variable && *variable)
        return PyUnicode_DecodeFSDefault(variable);
    PyObject *package = PyImport_ImportModule("anynpu");
    PyObject *path = package ? PyObject_CallMethod(package, "toolkit_path", NULL) : NULL;
    PyObject *text = path ? PyObject_Str(path) : NULL;
    Py_XDECREF(path);
    Py_XDECREF(package);
    return text;
}

static bool open_library(void)
{
    PyObject *folder = home();
    PyObject *path = folder ? PyUnicode_FromFormat("%U/lib64/libascendcl.so", folder) : NULL;
    PyObject *bytes = path ? PyUnicode_EncodeFSDefault(path) : NULL;
    const char *file = bytes ? PyBytes_AsString(bytes) : NULL;
    if (file && !(library = dlopen(file, RTLD_NOW | RTLD_GLOBAL)))
        PyErr_Format(PyExc_OSError, "%s", dlerror());
    Py_XDECREF(bytes);
    Py_XDECREF(path);
    Py_XDECREF(folder);
    return library != NULL;
}

void *library_function(const char *symbol)
{
    if (!library && !open_library())
        return NULL;
    void *function = dlsym(library, symbol);
    if (!function)
        PyErr_Format(PyExc_AttributeError, "libascendcl.so has no function %s", symbol);
    return function;
}

/* ---- the call of a row ---- */
union out {
    void *address;
    uint32_t u32;
    int32_t i32;
    size_t size;
    int64_t i64;
    float f32;
};

static PyObject *from_out(char letter, const union out *out)
{
    switch (letter) {
    case 'P':
        return PyLong_FromUnsignedLongLong((uintptr_t)out->address);
    case 'U':
        return PyLong_FromUnsignedLong(out->u32);
    case 'I':
        return PyLong_FromLong(out->i32);
    case 'Z':
        return PyLong_FromSize_t(out->size);
    case 'L':
        return PyLong_FromLongLong(out->i64);
    default:
        return PyFloat_FromDouble((double)out->f32);
    }
}

static bool is_out(char letter)
{
    return strchr("PUIZLF", letter) != NULL;
}

static PyObject *from_return(const struct row *row, uintptr_t value, const union out *out)
{
    if (row->gives == 't')
        return PyUnicode_DecodeUTF8(value ? (const char *)value : "",
                                    value ? (Py_ssize_t)strlen((const char *)value) : 0, "replace");
    if (row->gives == 'k')
        return PyLong_FromUnsignedLongLong(value);
    if (row->gives == '-')
        Py_RETURN_NONE;
    PyObject *status = PyLong_FromLong((int)value);
    Py_ssize_t outs = 0;
    for (const char *f = row->form; *f; f++)
        outs += is_out(*f);
    if (!outs)
        return status;
    PyObject *all = PyTuple_New(outs + 1);
    Py_ssize_t at = 0;
    for (const char *f = row->form; all && *f; f++)
        if (is_out(*f))
            PyTuple_SetItem(all, at++, from_out(*f, &out[f - row->form]));
    if (all)
        PyTuple_SetItem(all, at, status);
    return all;
}

/* Every parameter is an integer or a pointer, so each takes a register of the same kind, whatever its width; what a
 * function has no parameter for is ignored. */
typedef uintptr_t (*function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static PyObject *call(PyObject *self, PyObject *arguments)
{
    const struct row *row = PyCapsule_GetPointer(self, NULL);
    uintptr_t value[PARAMETERS_MAX] = {0};
    union out out[PARAMETERS_MAX] = {{0}};
    Py_ssize_t given = PyTuple_Size(arguments), wanted = 0;
    for (const char *f = row->form; *f; f++)
        wanted += !is_out(*f);
    bool optional = !strcmp(row->form, "S");
    if (given != wanted && !(optional && given == 0))
        return PyErr_Format(PyExc_TypeError, "acl.%s%s%s takes %zd arguments, but got %zd", row->part,
                            *row->part ? "." : "", row->name, wanted, given);
    Py_ssize_t next = 0;
    for (const char *f = row->form; *f; f++) {
        uintptr_t *to = &value[f - row->form];
        if (is_out(*f)) {
            *to = (uintptr_t)&out[f - row->form];
            continue;
        }
        if (next == given)
            break;
        PyObject *argument = PyTuple_GetItem(arguments, next++);
        if (*f == 'k')
            *to = (uintptr_t)PyLong_AsUnsignedLongLongMask(argument);
        else if (!(*f == 'S' && argument == Py_None))
            *to = (uintptr_t)PyUnicode_AsUTF8AndSize(argument, NULL);
        if (PyErr_Occurred())
            return NULL;
    }
    union {
        void *address;
        function call;
    } symbol = {library_function(row->symbol)};
    if (!symbol.address)
        return NULL;
    uintptr_t result;
    Py_BEGIN_ALLOW_THREADS;
    result = symbol.call(value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7]);
    Py_END_ALLOW_THREADS;
    return from_return(row, result, out);
}

/* ---- the parts ---- */
/* A function with its own definition, which must live as long as it: rows are never freed. */
static PyObject *row_function(const struct row *row)
{
    PyMethodDef *definition = malloc(sizeof *definition);
    PyObject *self = PyCapsule_New((void *)(uintptr_t)row, NULL, NULL);
    if (!definition || !self)
        return PyErr_NoMemory();
    *definition = (PyMethodDef){row->name, call, METH_VARARGS, row->symbol};
    PyObject *made = PyCFunction_New(definition, self);
    Py_DECREF(self);
    return made;
}

static PyObject *part_of(PyObject *module, const char *part)
{
    if (!*part)
        return Py_NewRef(module);
    if (PyObject_HasAttrString(module, part))
        return PyObject_GetAttrString(module, part);
    char name[32];
    snprintf(name, sizeof name, "acl.%s", part);
    PyObject *made = PyImport_AddModule(name); /* also known to `import acl.rt`; borrowed */
    if (!made || PyObject_SetAttrString(module, part, made))
        return NULL;
    return Py_NewRef(made);
}

static bool add(PyObject *module, const char *part, const char *name, PyObject *function_)
{
    PyObject *to = function_ ? part_of(module, part) : NULL;
    bool added = to && !PyObject_SetAttrString(to, name, function_);
    Py_XDECREF(to);
    Py_XDECREF(function_);
    return added;
}

PyMODINIT_FUNC PyInit_acl(void)
{
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "acl",
                                            "AscendCL for Python programs, in the form of pyACL.", -1, NULL};
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    PyObject *path = PyList_New(0); /* so that `import acl.rt` looks for a part */
    if (!path || PyModule_AddObject(module, "__path__", path))
        goto fail;
    for (const struct row *row = rows; row->name; row++)
        if (!add(module, row->part, row->name, row_function(row)))
            goto fail;
    for (int table = 0; table < 2; table++)
        for (const struct extra *extra = table ? memory : records; extra->part; extra++)
            if (!add(module, extra->part, extra->method.ml_name, PyCFunction_New((PyMethodDef *)&extra->method, NULL)))
                goto fail;
    return module;
fail:
    Py_DECREF(module);
    return NULL;
}

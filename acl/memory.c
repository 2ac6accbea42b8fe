/* SPDX-License-Identifier: BSD-3-Clause */
/* acl.util: between Python objects and addresses, threads that wait for callbacks; acl.rt.launch_callback. An address
 * taken from an object is valid while the object lives. NumPy is asked for only where an array is made. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "module.h"

static PyObject *bytes_to_ptr(PyObject *self, PyObject *bytes)
{
    (void)self;
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size))
        return NULL;
    return PyLong_FromUnsignedLongLong((uintptr_t)data);
}

static PyObject *ptr_to_bytes(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long address;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "Kn", &address, &size))
        return NULL;
    if (size < 0 || (!address && size))
        return PyErr_Format(PyExc_ValueError, "ptr_to_bytes: %zd bytes at address %llu", size, address);
    return PyBytes_FromStringAndSize((const char *)(uintptr_t)address, size);
}

/* ---- NumPy ---- */
static PyObject *numpy_to_ptr(PyObject *self, PyObject *array)
{
    (void)self;
    PyObject *part = PyObject_GetAttrString(array, "ctypes");
    PyObject *address = part ? PyObject_GetAttrString(part, "data") : NULL;
    Py_XDECREF(part);
    return address;
}

/* The same, of an array that must be contiguous. */
static PyObject *numpy_contiguous_to_ptr(PyObject *self, PyObject *array)
{
    PyObject *flags = PyObject_GetAttrString(array, "flags");
    PyObject *contiguous = flags ? PyObject_GetAttrString(flags, "c_contiguous") : NULL;
    int holds = contiguous ? PyObject_IsTrue(contiguous) : -1;
    Py_XDECREF(flags);
    Py_XDECREF(contiguous);
    if (holds < 0)
        return NULL;
    if (!holds)
        return PyErr_Format(PyExc_ValueError, "numpy_contiguous_to_ptr: the array is not contiguous");
    return numpy_to_ptr(self, array);
}

/* NumPy's type numbers, as pyACL takes them. */
static const char *const kinds[24] = {"bool",    "int8",       "uint8",     "int16",      "uint16", "int32",
                                      "uint32",  "int64",      "uint64",    "int64",      "uint64", "float32",
                                      "float64", "longdouble", "complex64", "complex128", NULL,     NULL,
                                      NULL,      NULL,         NULL,        NULL,         NULL,     "float16"};

static PyObject *dtype_of(PyObject *numpy, PyObject *given)
{
    if (!PyLong_Check(given))
        return PyObject_CallMethod(numpy, "dtype", "O", given);
    long number = PyLong_AsLong(given);
    if (number < 0 || number > 23 || !kinds[number])
        return PyErr_Format(PyExc_ValueError, "%ld is no type number of NumPy that acl knows", number);
    return PyObject_CallMethod(numpy, "dtype", "s", kinds[number]);
}

/* ptr_to_numpy(address, shape, type): an array on the memory, without a copy. */
static PyObject *ptr_to_numpy(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long address;
    PyObject *shape, *given, *array = NULL;
    if (!PyArg_ParseTuple(arguments, "KOO", &address, &shape, &given))
        return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *dtype = numpy ? dtype_of(numpy, given) : NULL;
    PyObject *item = dtype ? PyObject_GetAttrString(dtype, "itemsize") : NULL;
    Py_ssize_t bytes = item ? PyLong_AsSsize_t(item) : -1;
    Py_ssize_t rank = PySequence_Size(shape);
    for (Py_ssize_t i = 0; bytes >= 0 && i < rank; i++) {
        PyObject *size = PySequence_GetItem(shape, i);
        Py_ssize_t n = size ? PyLong_AsSsize_t(size) : -1;
        Py_XDECREF(size);
        bytes = n < 0 || (n && bytes > PY_SSIZE_T_MAX / n) ? -1 : bytes * n;
    }
    if (bytes < 0 || rank < 0 || (!address && bytes)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "ptr_to_numpy: the shape is not one, or the address is 0");
    } else {
        PyObject *view = PyMemoryView_FromMemory((char *)(uintptr_t)address, bytes, 0x200 /* PyBUF_WRITE */);
        PyObject *flat = view ? PyObject_CallMethod(numpy, "frombuffer", "OO", view, dtype) : NULL;
        array = flat ? PyObject_CallMethod(flat, "reshape", "O", shape) : NULL;
        Py_XDECREF(flat);
        Py_XDECREF(view);
    }
    Py_XDECREF(item);
    Py_XDECREF(dtype);
    Py_XDECREF(numpy);
    return array;
}

/* ---- threads and callbacks ---- */
struct job {
    PyObject *function, *argument;
};

static void run_job(struct job *job)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunctionObjArgs(job->function, job->argument, NULL);
    if (!result)
        PyErr_WriteUnraisable(job->function);
    Py_XDECREF(result);
    Py_DECREF(job->function);
    Py_DECREF(job->argument);
    PyGILState_Release(state);
    free(job);
}

static struct job *make_job(PyObject *function, PyObject *argument)
{
    if (!PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "the first argument must be a function");
        return NULL;
    }
    struct job *job = malloc(sizeof *job);
    if (!job) {
        PyErr_NoMemory();
        return NULL;
    }
    *job = (struct job){Py_NewRef(function), Py_NewRef(argument)};
    return job;
}

static void *run_thread(void *arg)
{
    run_job(arg);
    return NULL;
}

/* start_thread(function, arguments) → (thread, status): function(arguments) runs in a thread of its own. */
static PyObject *start_thread(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *function, *argument;
    if (!PyArg_ParseTuple(arguments, "OO", &function, &argument))
        return NULL;
    struct job *job = make_job(function, argument);
    if (!job)
        return NULL;
    pthread_t thread = 0;
    int error = pthread_create(&thread, NULL, run_thread, job);
    if (error) {
        Py_DECREF(job->function);
        Py_DECREF(job->argument);
        free(job);
    }
    return Py_BuildValue("Ki", (unsigned long long)thread, error);
}

/* stop_thread(thread) → status: waits for its end. */
static PyObject *stop_thread(PyObject *self, PyObject *given)
{
    (void)self;
    pthread_t thread = (pthread_t)PyLong_AsUnsignedLongLongMask(given);
    if (PyErr_Occurred())
        return NULL;
    int error;
    Py_BEGIN_ALLOW_THREADS;
    error = pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLong(error);
}

static void run_callback(void *arg)
{
    run_job(arg);
}

/* launch_callback(function, argument, block_type, stream) → status */
static PyObject *launch_callback(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *function, *argument;
    int block;
    unsigned long long stream;
    if (!PyArg_ParseTuple(arguments, "OOiK", &function, &argument, &block, &stream))
        return NULL;
    union {
        void *address;
        aclError (*call)(aclrtCallback, void *, aclrtCallbackBlockType, aclrtStream);
    } fn = {library_function("aclrtLaunchCallback")};
    struct job *job = fn.address ? make_job(function, argument) : NULL;
    if (!job)
        return NULL;
    aclError status;
    Py_BEGIN_ALLOW_THREADS;
    status = fn.call(run_callback, job, (aclrtCallbackBlockType)block, (aclrtStream)(uintptr_t)stream);
    Py_END_ALLOW_THREADS;
    if (status) {
        Py_DECREF(job->function);
        Py_DECREF(job->argument);
        free(job);
    }
    return PyLong_FromLong(status);
}

const struct extra memory[] = {
    {"util", {"bytes_to_ptr", bytes_to_ptr, METH_O, "bytes_to_ptr(bytes) -> address, valid while the bytes live"}},
    {"util", {"ptr_to_bytes", ptr_to_bytes, METH_VARARGS, "ptr_to_bytes(address, size) -> a copy of host memory"}},
    {"util", {"numpy_to_ptr", numpy_to_ptr, METH_O, "numpy_to_ptr(array) -> address, valid while the array lives"}},
    {"util",
     {"numpy_contiguous_to_ptr", numpy_contiguous_to_ptr, METH_O, "numpy_to_ptr of an array that must be contiguous"}},
    {"util",
     {"ptr_to_numpy", ptr_to_numpy, METH_VARARGS, "ptr_to_numpy(address, shape, type) -> an array on host memory"}},
    {"util", {"start_thread", start_thread, METH_VARARGS, "start_thread(function, arguments) -> (thread, status)"}},
    {"util", {"stop_thread", stop_thread, METH_O, "stop_thread(thread) -> status, when it has ended"}},
    {"rt",
     {"launch_callback", launch_callback, METH_VARARGS,
      "launch_callback(function, argument, block, stream) -> status"}},
    {NULL, {NULL, NULL, 0, NULL}},
};

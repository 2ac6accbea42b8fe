/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of acl whose values are dictionaries and lists, or whose numbers are fractions: sizes of tensors, choices
 * of sizes, descriptions made from lists, colour matrices. */
#include <stdbool.h>
#include <string.h>

#include "acl/acl.h"
#include "module.h"

/* Declares `fn`, the library's function of that name, or returns NULL with an exception. */
#define LIBRARY(symbol)                                                                                                \
    union {                                                                                                            \
        void *address;                                                                                                 \
        __typeof__(&symbol) call;                                                                                      \
    } fn = {library_function(#symbol)};                                                                                \
    if (!fn.address)                                                                                                   \
    return NULL

static PyObject *sizes_list(const int64_t *size, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = PyLong_FromLongLong(size[i]);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* {"name", "dimCount", "dims"} */
static PyObject *dims_record(const aclmdlIODims *d)
{
    PyObject *sizes = sizes_list(d->dims, d->dimCount);
    return sizes ? Py_BuildValue("{s:s,s:n,s:N}", "name", d->name, "dimCount", (Py_ssize_t)d->dimCount, "dims", sizes)
                 : NULL;
}

static PyObject *with_status(PyObject *value, aclError status)
{
    return value ? Py_BuildValue("Ni", value, status) : NULL;
}

/* get_…_dims(desc, index) → ({"name", "dimCount", "dims"}, status) */
static PyObject *tensor_dims(PyObject *arguments, const char *symbol)
{
    unsigned long long desc, index;
    if (!PyArg_ParseTuple(arguments, "KK", &desc, &index))
        return NULL;
    union {
        void *address;
        aclError (*call)(const aclmdlDesc *, size_t, aclmdlIODims *);
    } fn = {library_function(symbol)};
    if (!fn.address)
        return NULL;
    aclmdlIODims dims = {.dimCount = 0};
    aclError status = fn.call((const aclmdlDesc *)(uintptr_t)desc, (size_t)index, &dims);
    return with_status(status ? PyDict_New() : dims_record(&dims), status);
}

static PyObject *get_input_dims(PyObject *self, PyObject *arguments)
{
    (void)self;
    return tensor_dims(arguments, "aclmdlGetInputDims");
}

static PyObject *get_input_dims_v2(PyObject *self, PyObject *arguments)
{
    (void)self;
    return tensor_dims(arguments, "aclmdlGetInputDimsV2");
}

static PyObject *get_output_dims(PyObject *self, PyObject *arguments)
{
    (void)self;
    return tensor_dims(arguments, "aclmdlGetOutputDims");
}

static PyObject *get_cur_output_dims(PyObject *self, PyObject *arguments)
{
    (void)self;
    return tensor_dims(arguments, "aclmdlGetCurOutputDims");
}

static PyObject *pairs_list(size_t count, int64_t (*pair)(const void *from, size_t i, int which), const void *from)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = Py_BuildValue("[LL]", (long long)pair(from, i, 0), (long long)pair(from, i, 1));
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static int64_t range_pair(const void *from, size_t i, int which)
{
    return ((const aclmdlIODimsRange *)from)->range[i][which];
}

static int64_t hw_pair(const void *from, size_t i, int which)
{
    return (int64_t)((const aclmdlHW *)from)->hw[i][which];
}

static PyObject *get_input_dims_range(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long desc, index;
    if (!PyArg_ParseTuple(arguments, "KK", &desc, &index))
        return NULL;
    LIBRARY(aclmdlGetInputDimsRange);
    aclmdlIODimsRange range = {.rangeCount = 0};
    aclError status = fn.call((const aclmdlDesc *)(uintptr_t)desc, (size_t)index, &range);
    PyObject *pairs = pairs_list(range.rangeCount, range_pair, &range);
    return pairs ? with_status(Py_BuildValue("{s:n,s:N}", "rangeCount", (Py_ssize_t)range.rangeCount, "range", pairs),
                               status)
                 : NULL;
}

static PyObject *get_dynamic_batch(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long desc;
    if (!PyArg_ParseTuple(arguments, "K", &desc))
        return NULL;
    LIBRARY(aclmdlGetDynamicBatch);
    aclmdlBatch batch = {.batchCount = 0};
    aclError status = fn.call((const aclmdlDesc *)(uintptr_t)desc, &batch);
    PyObject *sizes = sizes_list((const int64_t *)batch.batch, batch.batchCount);
    return sizes ? with_status(Py_BuildValue("{s:n,s:N}", "batchCount", (Py_ssize_t)batch.batchCount, "batch", sizes),
                               status)
                 : NULL;
}

static PyObject *get_dynamic_hw(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long desc;
    long long index;
    if (!PyArg_ParseTuple(arguments, "KL", &desc, &index))
        return NULL;
    LIBRARY(aclmdlGetDynamicHW);
    aclmdlHW hw = {.hwCount = 0};
    aclError status = fn.call((const aclmdlDesc *)(uintptr_t)desc, (size_t)index, &hw);
    PyObject *pairs = pairs_list(hw.hwCount, hw_pair, &hw);
    return pairs ? with_status(Py_BuildValue("{s:n,s:N}", "hwCount", (Py_ssize_t)hw.hwCount, "hw", pairs), status)
                 : NULL;
}

static PyObject *get_input_dynamic_dims(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long desc;
    long long index;
    Py_ssize_t gears;
    if (!PyArg_ParseTuple(arguments, "KLn", &desc, &index, &gears))
        return NULL;
    if (gears < 0 || gears > 4096)
        return PyErr_Format(PyExc_ValueError, "gear_count must be 0 to 4096, but is %zd", gears);
    LIBRARY(aclmdlGetInputDynamicDims);
    aclmdlIODims *dims = PyMem_Calloc((size_t)gears + 1, sizeof *dims);
    if (!dims)
        return PyErr_NoMemory();
    aclError status = fn.call((const aclmdlDesc *)(uintptr_t)desc, (size_t)index, dims, (size_t)gears);
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && !status && i < gears; i++) {
        PyObject *record = dims_record(&dims[i]);
        if (!record || PyList_Append(list, record))
            Py_CLEAR(list);
        Py_XDECREF(record);
    }
    PyMem_Free(dims);
    return with_status(list, status);
}

/* Whole numbers from a sequence; their count, -1 with an exception. */
static Py_ssize_t read_sizes(PyObject *sequence, int64_t *to, Py_ssize_t room)
{
    Py_ssize_t count = PySequence_Size(sequence);
    if (count > room) {
        PyErr_Format(PyExc_ValueError, "%zd sizes, at most %zd are possible", count, room);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        to[i] = item ? PyLong_AsLongLong(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return -1;
    }
    return count;
}

/* set_input_dynamic_dims(model, dataset, index, {"name", "dimCount", "dims"}) → status */
static PyObject *set_input_dynamic_dims(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long dataset, index;
    unsigned model;
    PyObject *record;
    if (!PyArg_ParseTuple(arguments, "IKKO", &model, &dataset, &index, &record))
        return NULL;
    LIBRARY(aclmdlSetInputDynamicDims);
    PyObject *list = PyMapping_GetItemString(record, "dims");
    aclmdlIODims dims = {.dimCount = 0};
    Py_ssize_t count = list ? read_sizes(list, dims.dims, ACL_MAX_DIM_CNT) : -1;
    Py_XDECREF(list);
    if (count < 0)
        return NULL;
    dims.dimCount = (size_t)count;
    return PyLong_FromLong(fn.call(model, (aclmdlDataset *)(uintptr_t)dataset, (size_t)index, &dims));
}

/* add_dataset_buffer(dataset, buffer) → (dataset, status) */
static PyObject *add_dataset_buffer(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long dataset, buffer;
    if (!PyArg_ParseTuple(arguments, "KK", &dataset, &buffer))
        return NULL;
    LIBRARY(aclmdlAddDatasetBuffer);
    return Py_BuildValue("Ki", dataset,
                         fn.call((aclmdlDataset *)(uintptr_t)dataset, (aclDataBuffer *)(uintptr_t)buffer));
}

/* set_dataset_tensor_desc(dataset, desc, index) → (dataset, status) */
static PyObject *set_dataset_tensor_desc(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long dataset, desc, index;
    if (!PyArg_ParseTuple(arguments, "KKK", &dataset, &desc, &index))
        return NULL;
    LIBRARY(aclmdlSetDatasetTensorDesc);
    return Py_BuildValue("Ki", dataset,
                         fn.call((aclmdlDataset *)(uintptr_t)dataset, (aclTensorDesc *)(uintptr_t)desc, (size_t)index));
}

/* create_tensor_desc(dtype, dims, format) → address */
static PyObject *create_tensor_desc(PyObject *self, PyObject *arguments)
{
    (void)self;
    int dtype, format;
    PyObject *list;
    if (!PyArg_ParseTuple(arguments, "iOi", &dtype, &list, &format))
        return NULL;
    LIBRARY(aclCreateTensorDesc);
    int64_t dims[ACL_MAX_DIM_CNT];
    Py_ssize_t count = read_sizes(list, dims, ACL_MAX_DIM_CNT);
    if (count < 0)
        return NULL;
    return PyLong_FromUnsignedLongLong((uintptr_t)fn.call((aclDataType)dtype, (int)count, dims, (aclFormat)format));
}

/* set_config_opt(handle, attribute, value) → status; a path is text, everything else a number. */
static PyObject *set_config_opt(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long handle;
    int attribute;
    PyObject *value;
    if (!PyArg_ParseTuple(arguments, "KiO", &handle, &attribute, &value))
        return NULL;
    LIBRARY(aclmdlSetConfigOpt);
    aclmdlConfigHandle *h = (aclmdlConfigHandle *)(uintptr_t)handle;
    if (attribute == ACL_MDL_PATH_PTR) {
        const char *path = PyUnicode_AsUTF8AndSize(value, NULL);
        return path ? PyLong_FromLong(fn.call(h, ACL_MDL_PATH_PTR, &path, sizeof path)) : NULL;
    }
    uint64_t number = PyLong_AsUnsignedLongLongMask(value);
    if (PyErr_Occurred())
        return NULL;
    size_t bytes = attribute == ACL_MDL_PRIORITY_INT32 ? sizeof(int32_t) : sizeof number;
    return PyLong_FromLong(fn.call(h, (aclmdlConfigAttr)attribute, &number, bytes));
}

static PyObject *set_exec_config_opt(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long handle;
    int attribute, value;
    if (!PyArg_ParseTuple(arguments, "Kii", &handle, &attribute, &value))
        return NULL;
    LIBRARY(aclmdlSetExecConfigOpt);
    return PyLong_FromLong(
        fn.call((aclmdlExecConfigHandle *)(uintptr_t)handle, (aclmdlExecConfigAttr)attribute, &value, sizeof value));
}

/* ---- AIPP ---- */
static PyObject *set_aipp_csc_params(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long aipp;
    int on, m[9], b[6];
    if (!PyArg_ParseTuple(arguments, "Kiiiiiiiiiiiiiiii", &aipp, &on, &m[0], &m[1], &m[2], &m[3], &m[4], &m[5], &m[6],
                          &m[7], &m[8], &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]))
        return NULL;
    LIBRARY(aclmdlSetAIPPCscParams);
    return PyLong_FromLong(fn.call((aclmdlAIPP *)(uintptr_t)aipp, (int8_t)on, (int16_t)m[0], (int16_t)m[1],
                                   (int16_t)m[2], (int16_t)m[3], (int16_t)m[4], (int16_t)m[5], (int16_t)m[6],
                                   (int16_t)m[7], (int16_t)m[8], (uint8_t)b[0], (uint8_t)b[1], (uint8_t)b[2],
                                   (uint8_t)b[3], (uint8_t)b[4], (uint8_t)b[5]));
}

static PyObject *set_channels(PyObject *arguments, const char *symbol)
{
    unsigned long long aipp, picture;
    float c[4];
    if (!PyArg_ParseTuple(arguments, "KffffK", &aipp, &c[0], &c[1], &c[2], &c[3], &picture))
        return NULL;
    union {
        void *address;
        aclError (*call)(aclmdlAIPP *, float, float, float, float, uint64_t);
    } fn = {library_function(symbol)};
    if (!fn.address)
        return NULL;
    return PyLong_FromLong(fn.call((aclmdlAIPP *)(uintptr_t)aipp, c[0], c[1], c[2], c[3], picture));
}

static PyObject *set_aipp_dtc_pixel_min(PyObject *self, PyObject *arguments)
{
    (void)self;
    return set_channels(arguments, "aclmdlSetAIPPDtcPixelMin");
}

static PyObject *set_aipp_pixel_var_reci(PyObject *self, PyObject *arguments)
{
    (void)self;
    return set_channels(arguments, "aclmdlSetAIPPPixelVarReci");
}

#define METHOD(part, name, doc)                                                                                        \
    {                                                                                                                  \
        part,                                                                                                          \
        {                                                                                                              \
#name, name, METH_VARARGS, doc                                                                             \
        }                                                                                                              \
    }

const struct extra records[] = {
    METHOD("", create_tensor_desc, "aclCreateTensorDesc(dtype, dims, format) -> address"),
    METHOD("mdl", get_input_dims, "aclmdlGetInputDims(desc, index) -> ({name, dimCount, dims}, status)"),
    METHOD("mdl", get_input_dims_v2, "aclmdlGetInputDimsV2(desc, index) -> ({name, dimCount, dims}, status)"),
    METHOD("mdl", get_output_dims, "aclmdlGetOutputDims(desc, index) -> ({name, dimCount, dims}, status)"),
    METHOD("mdl", get_cur_output_dims, "aclmdlGetCurOutputDims(desc, index) -> ({name, dimCount, dims}, status)"),
    METHOD("mdl", get_input_dims_range, "aclmdlGetInputDimsRange(desc, index) -> ({rangeCount, range}, status)"),
    METHOD("mdl", get_dynamic_batch, "aclmdlGetDynamicBatch(desc) -> ({batchCount, batch}, status)"),
    METHOD("mdl", get_dynamic_hw, "aclmdlGetDynamicHW(desc, -1) -> ({hwCount, hw}, status)"),
    METHOD("mdl", get_input_dynamic_dims, "aclmdlGetInputDynamicDims(desc, -1, gear_count) -> ([dims], status)"),
    METHOD("mdl", set_input_dynamic_dims, "aclmdlSetInputDynamicDims(model, dataset, index, dims) -> status"),
    METHOD("mdl", add_dataset_buffer, "aclmdlAddDatasetBuffer(dataset, buffer) -> (dataset, status)"),
    METHOD("mdl", set_dataset_tensor_desc, "aclmdlSetDatasetTensorDesc(dataset, desc, index) -> (dataset, status)"),
    METHOD("mdl", set_config_opt, "aclmdlSetConfigOpt(handle, attribute, value) -> status"),
    METHOD("mdl", set_exec_config_opt, "aclmdlSetExecConfigOpt(handle, attribute, value) -> status"),
    METHOD("mdl", set_aipp_csc_params, "aclmdlSetAIPPCscParams(aipp, switch, 9 of the matrix, 6 biases) -> status"),
    METHOD("mdl", set_aipp_dtc_pixel_min, "aclmdlSetAIPPDtcPixelMin(aipp, 4 channels, picture) -> status"),
    METHOD("mdl", set_aipp_pixel_var_reci, "aclmdlSetAIPPPixelVarReci(aipp, 4 channels, picture) -> status"),
    {NULL, {NULL, NULL, 0, NULL}},
};

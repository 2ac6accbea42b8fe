/* SPDX-License-Identifier: BSD-3-Clause */
/* aclTensor: a described view of device memory that the caller owns. Immutable but for its address
 * (aclSetRawTensorAddr) and, for operators whose result size depends on data, its shape. Everything is checked at
 * creation, so that operators may trust ranks, products and bounds. No locks: a handle is used by one thread at a time,
 * as the interface demands. */
#include "object.h"

#include <stdlib.h>

#define BAD(...) (fail(ACLNN_ERR_PARAM_INVALID, __VA_ARGS__), false)

/* dim and stride hold rank values each; the elements that the view spans from its first, overflow checked. */
static bool span_of(int32_t rank, const int64_t *dim, const int64_t *stride, int64_t *span)
{
    int64_t last = 0, reach;
    for (int32_t i = 0; i < rank; i++) {
        if (dim[i] == 0) {
            *span = 0;
            return true;
        }
        if (__builtin_mul_overflow(dim[i] - 1, stride[i], &reach) || __builtin_add_overflow(last, reach, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, span);
}

static bool product_of(const char *what, uint64_t rank, const int64_t *dim, size_t element, int64_t *count)
{
    if (rank > VIEW_RANK_MAX)
        return BAD("The %s has %lu dimensions, at most %d are supported.", what, (unsigned long)rank, VIEW_RANK_MAX);
    if (rank && !dim)
        return BAD("The %s has %lu dimensions, but the pointer to them is null.", what, (unsigned long)rank);
    int64_t bytes = element ? (int64_t)element : 1;
    bool empty = false, fits = true;
    for (uint64_t i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return BAD("Dimension %lu of the %s is negative: %ld.", (unsigned long)i, what, (long)dim[i]);
        empty |= dim[i] == 0;
        fits &= !__builtin_mul_overflow(bytes, dim[i] ? dim[i] : 1, &bytes);
    }
    if (!fits)
        return BAD("The %s has more than 2^63 bytes.", what);
    *count = empty ? 0 : element > 1 ? bytes / (int64_t)element : bytes;
    return true;
}

/* Strides: given, or dense. Leaves the span in elements. */
static bool strides_of(struct view *v, const int64_t *stride, int64_t *span)
{
    int64_t step = 1;
    for (int32_t i = v->rank; i-- > 0;) {
        if (stride && stride[i] < 0)
            return BAD("Stride %d is negative: %ld.", i, (long)stride[i]);
        v->stride[i] = stride ? stride[i] : step;
        step *= v->dim[i] ? v->dim[i] : 1;
    }
    char text[256];
    if (!span_of(v->rank, v->dim, v->stride, span))
        return BAD("The strides of the view %s span more than 2^63 elements.",
                   shape_text(text, sizeof text, v->rank, v->dim));
    return true;
}

/* Shape and bounds of an ordinary view in one pass: no dimension empty, one dense storage, everything far from 2^63.
 * False: measure() decides, and says what is wrong. */
static inline bool plain(aclTensor *t, const int64_t *dims, uint64_t rank, const int64_t *stride, int64_t offset,
                         const int64_t *storage_dims, uint64_t storage_rank)
{
    int64_t step = 1, last = offset, reach;
    if (rank > VIEW_RANK_MAX || (rank && !dims) || storage_rank != 1 || !storage_dims)
        return false;
    bool odd = offset < 0;
    for (int32_t i = (int32_t)rank; i-- > 0;) {
        int64_t d = dims[i], s = stride ? stride[i] : step;
        if (d <= 0 || s < 0)
            return false;
        t->view.dim[i] = d;
        t->view.stride[i] = s;
        odd |= __builtin_mul_overflow(step, d, &step);
        odd |= __builtin_mul_overflow(d - 1, s, &reach);
        odd |= __builtin_add_overflow(last, reach, &last);
    }
    return !odd && last < storage_dims[0] && step <= INT64_MAX / 16 && storage_dims[0] <= INT64_MAX / 16; /* bytes */
}

/* The same for every view, checked step by step. */
static bool measure(aclTensor *t, const int64_t *dims, uint64_t rank, size_t element, const int64_t *stride,
                    int64_t offset, const int64_t *storage_dims, uint64_t storage_rank)
{
    int64_t count, storage_count, span, end;
    if (!product_of("view shape", rank, dims, element, &count) ||
        !product_of("storage shape", storage_rank, storage_dims, element, &storage_count))
        return false;
    for (uint64_t i = 0; i < rank; i++)
        t->view.dim[i] = dims[i];
    if (!strides_of(&t->view, stride, &span))
        return false;
    if (offset < 0)
        return BAD("The offset of a view is negative: %ld.", (long)offset);
    if (__builtin_add_overflow(offset, span, &end) || (element && end > INT64_MAX / (int64_t)element))
        return BAD("Offset %ld and %ld elements of a view are more than 2^63 bytes.", (long)offset, (long)span);
    char text[256];
    if (storage_rank && count && end > storage_count)
        return BAD("The view %s with offset %ld needs %ld elements of storage, but the storage has %ld.",
                   shape_text(text, sizeof text, t->view.rank, t->view.dim), (long)offset, (long)end,
                   (long)storage_count);
    return true;
}

static bool describe(aclTensor *t, const int64_t *dims, uint64_t rank, aclDataType dtype, const int64_t *stride,
                     int64_t offset, aclFormat format, const int64_t *storage_dims, uint64_t storage_rank, void *data)
{
    size_t element = dtype_size(dtype);
    if (!element && strcmp(dtype_name(dtype), "DT_UNDEFINED") == 0)
        return BAD("The data type %d of a tensor is unknown.", (int)dtype);
    t->view.dtype = dtype;
    t->view.rank = (int32_t)rank;
    if (!plain(t, dims, rank, stride, offset, storage_dims, storage_rank) &&
        !measure(t, dims, rank, element, stride, offset, storage_dims, storage_rank))
        return false;
    t->storage = data;
    t->offset = offset;
    t->view.data = data ? (char *)data + offset * (int64_t)element : NULL;
    t->format = format;
    t->storage_rank = (int32_t)storage_rank;
    for (uint64_t i = 0; i < storage_rank; i++)
        t->storage_dim[i] = storage_dims[i];
    t->origin = NULL;
    return true;
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData)
{
    aclTensor *t = pool_get(POOL_TENSOR, MAGIC_TENSOR);
    if (!t) {
        fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short: no aclTensor.");
        return NULL;
    }
    if (describe(t, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorData))
        return t;
    pool_put(POOL_TENSOR, t);
    return NULL;
}

aclTensor *tensor_copy(const aclTensor *tensor)
{
    aclTensor *t = pool_get(POOL_TENSOR, MAGIC_TENSOR);
    if (!t)
        return NULL;
    struct object own = t->object;
    *t = *tensor;
    t->object = own;
    t->origin = (aclTensor *)tensor;
    t->origin_generation = tensor->object.generation;
    return t;
}

int tensor_check(const aclTensor *tensor, const char *call)
{
    if (!tensor)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper Tensor but got null in %s.", call);
    if (!object_is(tensor, MAGIC_TENSOR))
        return fail(ACLNN_ERR_PARAM_INVALID, "%s was given a tensor that was destroyed or never created.", call);
    return ACLNN_SUCCESS;
}

aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                          uint64_t storageDimsNum, void *tensorDataAddr)
{
    TRY(tensor_check(tensor, "aclInitTensor"));
    aclTensor fresh;
    fresh.object = tensor->object;
    if (!describe(&fresh, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum,
                  tensorDataAddr))
        return ACLNN_ERR_PARAM_INVALID;
    *tensor = fresh;
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor)
{
    if (!tensor)
        return ACLNN_SUCCESS;
    TRY(tensor_check(tensor, "aclDestroyTensor"));
    pool_put(POOL_TENSOR, (aclTensor *)tensor);
    return ACLNN_SUCCESS;
}

/* The getters hand out memory that the caller frees (delete[] in C++, free in C). */
static aclnnStatus hand_out(int32_t rank, const int64_t *value, int64_t **values, uint64_t *count, const char *call)
{
    if (!values || !count)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper pointer for the result but got null in %s.", call);
    int64_t *copy = malloc(sizeof(int64_t) * (size_t)(rank ? rank : 1));
    if (!copy)
        return fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short in %s.", call);
    memcpy(copy, value, sizeof(int64_t) * (size_t)rank);
    *values = copy;
    *count = (uint64_t)rank;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum)
{
    TRY(tensor_check(tensor, "aclGetViewShape"));
    return hand_out(tensor->view.rank, tensor->view.dim, viewDims, viewDimsNum, "aclGetViewShape");
}

aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum)
{
    TRY(tensor_check(tensor, "aclGetStorageShape"));
    return hand_out(tensor->storage_rank, tensor->storage_dim, storageDims, storageDimsNum, "aclGetStorageShape");
}

aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum)
{
    TRY(tensor_check(tensor, "aclGetViewStrides"));
    return hand_out(tensor->view.rank, tensor->view.stride, stridesValue, stridesNum, "aclGetViewStrides");
}

static aclnnStatus getter_check(const aclTensor *tensor, const void *result, const char *call)
{
    TRY(tensor_check(tensor, call));
    return result ? ACLNN_SUCCESS
                  : fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper pointer for the result but got null in %s.", call);
}

aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset)
{
    TRY(getter_check(tensor, offset, "aclGetViewOffset"));
    *offset = tensor->offset;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format)
{
    TRY(getter_check(tensor, format, "aclGetFormat"));
    *format = tensor->format;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType)
{
    TRY(getter_check(tensor, dataType, "aclGetDataType"));
    *dataType = tensor->view.dtype;
    return ACLNN_SUCCESS;
}

void tensor_set_address(aclTensor *t, void *address)
{
    t->storage = address;
    t->view.data = address ? (char *)address + t->offset * (int64_t)dtype_size(t->view.dtype) : NULL;
}

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr)
{
    TRY(tensor_check(tensor, "aclSetRawTensorAddr"));
    tensor_set_address(tensor, addr);
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr)
{
    TRY(getter_check(tensor, addr, "aclGetRawTensorAddr"));
    *addr = tensor->storage;
    return ACLNN_SUCCESS;
}

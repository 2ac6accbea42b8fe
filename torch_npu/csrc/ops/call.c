/* SPDX-License-Identifier: BSD-3-Clause */
/* What adapters get from a call without PyTorch: memory, errors, views, temporaries, values (op.h, bridge/call.h). */
#include "../bridge/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *call_take(struct call *c, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes <= CALL_ARENA - c->used) {
        void *memory = c->arena + c->used;
        c->used += bytes;
        return memory;
    }
    struct chunk *chunk = malloc(sizeof *chunk + 16 + bytes);
    if (!chunk)
        abort(); /* a few KiB: the process is beyond help */
    chunk->next = c->chunks;
    c->chunks = chunk;
    return (char *)chunk + 16;
}

void *call_alloc(struct call *c, size_t bytes)
{
    return memset(call_take(c, bytes), 0, bytes);
}

void call_drop(struct call *c)
{
    while (c->chunks) {
        struct chunk *chunk = c->chunks;
        c->chunks = chunk->next;
        free(chunk);
    }
    free(c->message);
}

/* ---- errors ---- */
int call_error(struct call *c, enum call_error_kind kind, const char *fmt, ...)
{
    if (c->status != CALL_OK)
        return CALL_ERROR; /* the first one tells the cause */
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&c->message, fmt, args) < 0)
        c->message = NULL;
    va_end(args);
    c->kind = kind;
    return c->status = CALL_ERROR;
}

int call_acl_error(struct call *c, aclError code, const char *what, const char *function, const char *file, int line)
{
    if (c->status != CALL_OK)
        return CALL_ERROR;
    c->message = call_text(code, what, function, file, line);
    c->kind = (enum call_error_kind) - 1; /* the text is complete */
    return c->status = CALL_ERROR;
}

const char *call_error_text(struct call *c)
{
    return c->status == CALL_OK ? NULL : c->exception ? call_exception_text(c) : c->message;
}

int call_reword(struct call *c, enum call_error_kind kind, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return CALL_ERROR;
    if (c->exception)
        call_exception_drop(c);
    free(c->message);
    c->message = copy;
    c->kind = kind;
    return c->status = CALL_ERROR;
}

bool call_failed(struct call *c)
{
    return c->status != CALL_OK;
}

const struct aten_row *call_row(struct call *c)
{
    return c->row;
}

int arg_count(struct call *c)
{
    return c->schema->args;
}

/* ---- tensors in C memory ---- */
struct npu_tensor *view_of(struct call *c, const struct npu_tensor *t, int32_t rank, const int64_t *size,
                           const int64_t *stride, int64_t offset)
{
    struct npu_tensor *view = call_take(c, sizeof *view);
    int64_t *dims = call_take(c, sizeof(int64_t) * 2 * (size_t)(rank ? rank : 1));
    *view = *t;
    if (rank) {
        memcpy(dims, size, sizeof(int64_t) * (size_t)rank);
        memcpy(dims + rank, stride, sizeof(int64_t) * (size_t)rank);
    }
    view->impl = NULL;
    view->rank = rank;
    view->size = dims;
    view->stride = dims + rank;
    view->offset = offset;
    return view;
}

struct npu_tensor *temp(struct call *c, aclDataType dtype, int32_t rank, const int64_t *size)
{
    struct npu_tensor *t = call_alloc(c, sizeof *t);
    int64_t *dims = call_take(c, sizeof(int64_t) * 2 * (size_t)(rank ? rank : 1));
    int64_t count = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        dims[d] = size[d];
        dims[rank + d] = count;
        count *= size[d] > 1 ? size[d] : 1;
    }
    for (int32_t d = 0; d < rank; d++)
        count = size[d] ? count : 0;
    t->rank = rank;
    t->size = dims;
    t->stride = dims + rank;
    t->dtype = dtype;
    t->device = c->device;
    t->defined = true;
    t->storage_bytes = (int64_t)((size_t)count * dtype_bytes(dtype));
    if (t->storage_bytes)
        call_take_device(c, (size_t)t->storage_bytes, &t->data);
    return t;
}

const struct npu_tensor *cast(struct call *c, const struct npu_tensor *t, aclDataType dtype)
{
    if (!t->defined || (t->dtype == dtype && t->device >= 0))
        return t;
    struct npu_tensor *fresh = temp(c, dtype, t->rank, t->size);
    copy_tensor(c, fresh, t);
    return fresh;
}

const struct npu_tensor *contiguous(struct call *c, const struct npu_tensor *t)
{
    if (!t->defined || (t->device >= 0 && tensor_contiguous(t)))
        return t;
    struct npu_tensor *fresh = temp(c, t->dtype, t->rank, t->size);
    copy_tensor(c, fresh, t);
    return fresh;
}

int64_t tensor_numel(const struct npu_tensor *t)
{
    int64_t count = 1;
    for (int32_t d = 0; d < t->rank; d++)
        count *= t->size[d];
    return count;
}

bool tensor_contiguous(const struct npu_tensor *t)
{
    int64_t expected = 1;
    for (int32_t d = t->rank - 1; d >= 0; d--) {
        if (t->size[d] == 0)
            return true;
        if (t->size[d] != 1 && t->stride[d] != expected)
            return false;
        expected *= t->size[d];
    }
    return true;
}

/* ---- values ---- */
static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double value = exponent == 31 ? (mantissa ? __builtin_nan("") : __builtin_inf())
                   : exponent     ? __builtin_ldexp(1024 + mantissa, exponent - 25)
                                  : __builtin_ldexp(mantissa, -24);
    return h >> 15 ? -value : value;
}

static double float_value(const void *data)
{
    float f;
    memcpy(&f, data, sizeof f);
    return f;
}

bool scalar_from_memory(aclDataType t, const void *data, struct npu_scalar *value)
{
    struct npu_scalar v = {.kind = SCALAR_INT};
    uint16_t bits;
    switch (t) {
    case ACL_BOOL:
        v.kind = SCALAR_BOOL, v.i = *(const uint8_t *)data != 0;
        break;
    case ACL_UINT8:
        v.i = *(const uint8_t *)data;
        break;
    case ACL_INT8:
        v.i = *(const int8_t *)data;
        break;
    case ACL_INT16:
        v.i = *(const int16_t *)data;
        break;
    case ACL_UINT16:
        v.i = *(const uint16_t *)data;
        break;
    case ACL_INT32:
        v.i = *(const int32_t *)data;
        break;
    case ACL_UINT32:
        v.i = *(const uint32_t *)data;
        break;
    case ACL_INT64:
    case ACL_UINT64:
        v.i = *(const int64_t *)data;
        break;
    case ACL_FLOAT:
        v.kind = SCALAR_FLOAT, v.d[0] = float_value(data);
        break;
    case ACL_DOUBLE:
        v.kind = SCALAR_FLOAT, memcpy(v.d, data, 8);
        break;
    case ACL_FLOAT16:
        v.kind = SCALAR_FLOAT, memcpy(&bits, data, 2), v.d[0] = half_value(bits);
        break;
    case ACL_BF16: {
        uint32_t wide = 0;
        memcpy(&bits, data, 2);
        wide = (uint32_t)bits << 16;
        v.kind = SCALAR_FLOAT, v.d[0] = float_value(&wide);
        break;
    }
    case ACL_COMPLEX64:
        v.kind = SCALAR_COMPLEX, v.d[0] = float_value(data), v.d[1] = float_value((const char *)data + 4);
        break;
    case ACL_COMPLEX128:
        v.kind = SCALAR_COMPLEX, memcpy(v.d, data, 16);
        break;
    default:
        return false;
    }
    if (v.kind == SCALAR_BOOL || v.kind == SCALAR_INT)
        v.d[0] = (double)v.i;
    else if (v.d[0] >= -9.2e18 && v.d[0] <= 9.2e18)
        v.i = (int64_t)v.d[0];
    *value = v;
    return true;
}

int tensor_item(struct call *c, const struct npu_tensor *t, struct npu_scalar *value)
{
    char data[16];
    size_t bytes = dtype_bytes(t->dtype);
    memset(value, 0, sizeof *value);
    if (tensor_numel(t) != 1)
        return call_error(c, CALL_RUNTIME_ERROR, "a Tensor with %ld elements cannot be converted to Scalar",
                          (long)tensor_numel(t));
    if (bytes > sizeof data)
        return call_error(c, CALL_TYPE_ERROR, "a value of this type cannot be read");
    const char *at = (const char *)t->data + (size_t)t->offset * bytes;
    if (t->device < 0)
        memcpy(data, at, bytes);
    else if (call_read(c, at, bytes, data))
        return CALL_ERROR;
    if (!scalar_from_memory(t->dtype, data, value))
        return call_error(c, CALL_TYPE_ERROR, "a value of type %s cannot be read", dtype_name(t->dtype));
    return CALL_OK;
}

int call_sync(struct call *c)
{
    return c->status != CALL_OK ? CALL_ERROR : call_captured(c) ? CALL_OK : call_wait(c);
}

int tensor_read(struct call *c, const struct npu_tensor *t, void *host)
{
    if (t->device < 0)
        return memcpy(host, (const char *)t->data + (size_t)t->offset * dtype_bytes(t->dtype),
                      (size_t)tensor_numel(t) * dtype_bytes(t->dtype)),
               CALL_OK;
    t = contiguous(c, t);
    if (call_failed(c))
        return CALL_ERROR;
    size_t bytes = (size_t)tensor_numel(t) * dtype_bytes(t->dtype);
    return call_read(c, (const char *)t->data + (size_t)t->offset * dtype_bytes(t->dtype), bytes, host);
}

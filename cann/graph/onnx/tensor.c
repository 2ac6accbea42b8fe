/* SPDX-License-Identifier: BSD-3-Clause */
/* ONNX tensors: element types, and bytes from the file's raw or typed fields or from files beside it. */
#define _GNU_SOURCE
#include "graph/onnx/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/dtype.h"

const char *onnx_dtype_name(int32_t type)
{
    static const char *const names[] = {
        "undefined",      "float",      "uint8",          "int8",       "uint16",     "int16",
        "int32",          "int64",      "string",         "bool",       "float16",    "double",
        "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",   "float8e4m3fn",
        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",       "float4e2m1",
        "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2",
    };
    return type >= 0 && type < (int32_t)(sizeof names / sizeof *names) ? names[type] : "unknown";
}

/* ---- files beside the model ---- */
/* Mapped once a model. NULL with text when it can't be. */
static const struct mapping *map_file(struct reading *r, const char *location)
{
    for (const struct mapping *m = r->model->files; m; m = m->next)
        if (strcmp(m->name, location) == 0)
            return m;
    char *path = NULL;
    size_t size;
    if (asprintf(&path, "%s/%s", r->folder, location) < 0) {
        graph_fail(GRAPH_NO_MEMORY, "no memory");
        return NULL;
    }
    void *bytes = file_map(path, MAP_SHARED, &size);
    int error = errno;
    struct mapping *made = bytes ? model_alloc(r->model, sizeof *made) : NULL;
    if (made) {
        *made = (struct mapping){r->model->files, location, bytes, size};
        r->model->files = made;
    } else {
        if (bytes)
            munmap(bytes, size);
        graph_fail(GRAPH_FAILED, "the file %s with data of the model cannot be read: %s", path, strerror(error));
    }
    free(path);
    return made;
}

/* No way out of the model's folder. */
static bool stays_inside(const char *location)
{
    if (*location == '/' || *location == 0)
        return false;
    for (const char *part = location; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0))
            return false;
    }
    return true;
}

static int external(struct reading *r, const Onnx__TensorProto *tensor, const char *name, size_t bytes,
                    const void **data)
{
    const char *location = "";
    unsigned long long offset = 0, length = bytes;
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
        if (!entry->key || !entry->value)
            continue;
        if (strcmp(entry->key, "location") == 0)
            location = entry->value;
        else if (strcmp(entry->key, "offset") == 0)
            offset = strtoull(entry->value, NULL, 10);
        else if (strcmp(entry->key, "length") == 0)
            length = strtoull(entry->value, NULL, 10);
    }
    if (!r->folder || !stays_inside(location))
        return graph_fail(GRAPH_INVALID, "the data of tensor [%s] would lie in \"%s\", outside of the model's folder",
                          name, location);
    if (length != bytes)
        return graph_fail(GRAPH_INVALID, "tensor [%s] has %zu bytes, %s gives it %llu", name, bytes, location, length);
    if (bytes == 0) {
        *data = "";
        return GRAPH_OK;
    }
    const struct mapping *file = map_file(r, location);
    if (!file)
        return GRAPH_FAILED;
    if (offset > file->size || bytes > file->size - offset)
        return graph_fail(GRAPH_INVALID, "tensor [%s] lies at %llu … %llu of %s, which has %zu bytes", name, offset,
                          offset + bytes, location, file->size);
    *data = (const char *)file->bytes + offset;
    if ((uintptr_t)*data % 16) { /* kernels want elements aligned */
        void *copy = model_alloc(r->model, bytes);
        if (!copy)
            return graph_fail(GRAPH_NO_MEMORY, "no memory for tensor [%s]", name);
        *data = memcpy(copy, *data, bytes);
    }
    return GRAPH_OK;
}

/* ---- data in typed fields ---- */
/* Each field holds numbers of one width; those of narrower types stand one in each. */
static int typed(struct reading *r, const Onnx__TensorProto *t, const char *name, const struct type *type, size_t bytes,
                 const void **data)
{
    bool packed = dtype_bits(type->dtype) < 8; /* then each of the field's numbers is a byte of them */
    size_t size = packed ? 1 : dtype_size(type->dtype), count = bytes / size, given;
    const void *field;
    size_t width; /* of the field's numbers */
    switch (type->dtype) {
    case ACL_FLOAT:
    case ACL_COMPLEX64:
        field = t->float_data, given = t->n_float_data, width = 4;
        break;
    case ACL_DOUBLE:
    case ACL_COMPLEX128:
        field = t->double_data, given = t->n_double_data, width = 8;
        break;
    case ACL_INT64:
        field = t->int64_data, given = t->n_int64_data, width = 8;
        break;
    case ACL_UINT32:
    case ACL_UINT64:
        field = t->uint64_data, given = t->n_uint64_data, width = 8;
        break;
    default:
        field = t->int32_data, given = t->n_int32_data, width = 4;
    }
    size_t parts = dtype_is_complex(type->dtype) ? 2 : 1;
    if (given != count * parts)
        return graph_fail(GRAPH_INVALID, "tensor [%s] has %zu %s, its shape asks for %zu", name, given / parts,
                          packed ? "bytes" : "elements", count);
    if (size / parts == width) {
        *data = count ? field : "";
        return GRAPH_OK;
    }
    char *narrow = model_alloc(r->model, bytes + 1);
    if (!narrow)
        return graph_fail(GRAPH_NO_MEMORY, "no memory for tensor [%s]", name);
    for (size_t i = 0; i < count; i++) /* little-endian: the low bytes come first */
        memcpy(narrow + i * size, (const char *)field + i * width, size);
    *data = narrow;
    return GRAPH_OK;
}

int onnx_tensor(struct reading *r, const Onnx__TensorProto *t, struct tensor *out)
{
    const char *name = t->name ? t->name : "";
    aclDataType dtype = onnx_dtype(t->data_type);
    if (dtype_bits(dtype) == 0)
        return graph_fail(GRAPH_UNSUPPORTED, "tensor [%s] has elements of type %s, which is not supported", name,
                          onnx_dtype_name(t->data_type));
    if (t->segment)
        return graph_fail(GRAPH_UNSUPPORTED, "tensor [%s] is stored in segments, which is not supported", name);
    if (t->n_dims > TYPE_RANK_MAX)
        return graph_fail(GRAPH_UNSUPPORTED, "tensor [%s] has %zu dimensions, at most %d are possible", name, t->n_dims,
                          TYPE_RANK_MAX);
    out->type = type_make(dtype, (int32_t)t->n_dims, t->dims);
    int64_t bytes = type_bytes(&out->type);
    if (bytes < 0)
        return graph_fail(GRAPH_INVALID, "tensor [%s] has an impossible shape", name);
    if (t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return external(r, t, name, (size_t)bytes, &out->host);
    if (!t->has_raw_data)
        return typed(r, t, name, &out->type, (size_t)bytes, &out->host);
    if (t->raw_data.len != (size_t)bytes)
        return graph_fail(GRAPH_INVALID, "tensor [%s] has %zu bytes of data, its shape asks for %lld", name,
                          t->raw_data.len, (long long)bytes);
    out->host = bytes ? (const void *)t->raw_data.data : "";
    return GRAPH_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* aclScalar, the three value arrays and the two lists. All copy what they are given; a list takes over its elements,
 * and destroying it destroys them. Values of small arrays stand behind the header in the same pooled block. */
#include "object.h"

#include <stdlib.h>

struct array { /* how every array and list begins */
    struct object object;
    uint64_t size;
    void *value;
    char inside[];
};
_Static_assert(offsetof(struct array, size) == offsetof(struct aclIntArray, size) &&
                   offsetof(struct array, value) == offsetof(struct aclTensorList, value),
               "arrays share their layout");
enum { INSIDE_BYTES = POOL_ARRAY_BYTES - (int)sizeof(struct array) };

static void *make(enum object_magic magic, const void *value, uint64_t size, size_t element, const char *call)
{
    if (size && !value) {
        fail(ACLNN_ERR_PARAM_NULLPTR, "%s was given %lu values, but the pointer to them is null.", call,
             (unsigned long)size);
        return NULL;
    }
    if (size > SIZE_MAX / 2 / element) {
        fail(ACLNN_ERR_PARAM_INVALID, "%s cannot take %lu values.", call, (unsigned long)size);
        return NULL;
    }
    struct array *a = pool_get(POOL_ARRAY, magic);
    if (a) {
        size_t bytes = (size_t)size * element;
        a->size = size;
        a->value = bytes <= INSIDE_BYTES ? a->inside : malloc(bytes);
        if (a->value && bytes)
            memcpy(a->value, value, bytes);
        if (a->value)
            return a;
        pool_put(POOL_ARRAY, a);
    }
    fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short in %s: %lu values.", call, (unsigned long)size);
    return NULL;
}

static int check(const void *array, enum object_magic magic, const char *call)
{
    if (!array)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper handle but got null in %s.", call);
    if (!object_is(array, magic))
        return fail(ACLNN_ERR_PARAM_INVALID, "%s was given a handle that was destroyed or never created.", call);
    return ACLNN_SUCCESS;
}

static void drop(const void *array)
{
    struct array *a = (struct array *)array;
    if (a->value != a->inside)
        free(a->value);
    pool_put(POOL_ARRAY, a);
}

static aclnnStatus destroy(const void *array, enum object_magic magic, const char *call)
{
    if (!array)
        return ACLNN_SUCCESS;
    TRY(check(array, magic, call));
    drop(array);
    return ACLNN_SUCCESS;
}

static aclnnStatus size_of(const void *array, enum object_magic magic, uint64_t *size, const char *call)
{
    TRY(check(array, magic, call));
    if (!size)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper pointer for the size but got null in %s.", call);
    *size = ((const struct array *)array)->size;
    return ACLNN_SUCCESS;
}

/* ---- arrays of values ---- */

aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size)
{
    return make(MAGIC_INTS, value, size, sizeof *value, "aclCreateIntArray");
}

aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size)
{
    return make(MAGIC_FLOATS, value, size, sizeof *value, "aclCreateFloatArray");
}

aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size)
{
    return make(MAGIC_BOOLS, value, size, sizeof *value, "aclCreateBoolArray");
}

aclnnStatus aclDestroyIntArray(const aclIntArray *array)
{
    return destroy(array, MAGIC_INTS, "aclDestroyIntArray");
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray *array)
{
    return destroy(array, MAGIC_FLOATS, "aclDestroyFloatArray");
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray *array)
{
    return destroy(array, MAGIC_BOOLS, "aclDestroyBoolArray");
}

aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size)
{
    return size_of(array, MAGIC_INTS, size, "aclGetIntArraySize");
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size)
{
    return size_of(array, MAGIC_FLOATS, size, "aclGetFloatArraySize");
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size)
{
    return size_of(array, MAGIC_BOOLS, size, "aclGetBoolArraySize");
}

/* ---- lists ---- */

static bool elements_live(const void *const *element, uint64_t size, enum object_magic magic, const char *call)
{
    for (uint64_t i = 0; element && i < size; i++)
        if (element[i] && !object_is(element[i], magic)) {
            fail(ACLNN_ERR_PARAM_INVALID, "Element %lu given to %s was destroyed or never created.", (unsigned long)i,
                 call);
            return false;
        }
    return true;
}

aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size)
{
    if (!elements_live((const void *const *)value, size, MAGIC_TENSOR, "aclCreateTensorList"))
        return NULL;
    return make(MAGIC_TENSORS, value, size, sizeof *value, "aclCreateTensorList");
}

aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size)
{
    if (!elements_live((const void *const *)value, size, MAGIC_SCALAR, "aclCreateScalarList"))
        return NULL;
    return make(MAGIC_SCALARS, value, size, sizeof *value, "aclCreateScalarList");
}

aclnnStatus aclDestroyTensorList(const aclTensorList *array)
{
    if (!array)
        return ACLNN_SUCCESS;
    TRY(check(array, MAGIC_TENSORS, "aclDestroyTensorList"));
    for (uint64_t i = 0; i < array->size; i++)
        if (array->value[i] && object_is(array->value[i], MAGIC_TENSOR))
            pool_put(POOL_TENSOR, array->value[i]);
    drop(array);
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyScalarList(const aclScalarList *array)
{
    if (!array)
        return ACLNN_SUCCESS;
    TRY(check(array, MAGIC_SCALARS, "aclDestroyScalarList"));
    for (uint64_t i = 0; i < array->size; i++)
        if (array->value[i] && object_is(array->value[i], MAGIC_SCALAR))
            pool_put(POOL_SCALAR, array->value[i]);
    drop(array);
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size)
{
    return size_of(tensorList, MAGIC_TENSORS, size, "aclGetTensorListSize");
}

aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size)
{
    return size_of(scalarList, MAGIC_SCALARS, size, "aclGetScalarListSize");
}

aclTensorList *tensor_list_copy(const aclTensorList *list)
{
    aclTensorList *copy =
        make(MAGIC_TENSORS, list->value, list->size, sizeof *list->value, "aclSetAclOpExecutorRepeatable");
    for (uint64_t i = 0; copy && i < copy->size; i++) {
        if (!list->value[i])
            continue;
        copy->value[i] = object_is(list->value[i], MAGIC_TENSOR) ? tensor_copy(list->value[i]) : NULL;
        if (!copy->value[i]) {
            copy->size = i;
            aclDestroyTensorList(copy);
            return NULL;
        }
    }
    return copy;
}

aclScalarList *scalar_list_copy(const aclScalarList *list)
{
    aclScalarList *copy =
        make(MAGIC_SCALARS, list->value, list->size, sizeof *list->value, "aclSetAclOpExecutorRepeatable");
    for (uint64_t i = 0; copy && i < copy->size; i++) {
        if (!list->value[i])
            continue;
        copy->value[i] = object_is(list->value[i], MAGIC_SCALAR) ? scalar_copy(list->value[i]) : NULL;
        if (!copy->value[i]) {
            copy->size = i;
            aclDestroyScalarList(copy);
            return NULL;
        }
    }
    return copy;
}

/* ---- scalars ---- */

/* Reads one element of the type into the scalar's widened form; false for types that a scalar cannot have. */
static bool widen(aclScalar *s, const void *value)
{
    union {
        bool b;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f;
        double d;
        uint16_t half[2];
        float c64[2];
        double c128[2];
    } v;
    memcpy(&v, value, dtype_size(s->dtype));
    s->c[1] = 0;
    switch (s->dtype) {
    case ACL_BOOL:
        s->i = v.u8 != 0;
        break;
    case ACL_INT8:
        s->i = v.i8;
        break;
    case ACL_UINT8:
        s->i = v.u8;
        break;
    case ACL_INT16:
        s->i = v.i16;
        break;
    case ACL_UINT16:
        s->i = v.u16;
        break;
    case ACL_INT32:
        s->i = v.i32;
        break;
    case ACL_UINT32:
        s->i = v.u32;
        break;
    case ACL_INT64:
    case ACL_UINT64:
        s->i = v.i64;
        break;
    case ACL_FLOAT:
        s->d = v.f;
        break;
    case ACL_DOUBLE:
        s->d = v.d;
        break;
    case ACL_FLOAT16:
        s->d = f16_to_float(v.half[0]);
        break;
    case ACL_BF16:
        s->d = bf16_to_float(v.half[0]);
        break;
    case ACL_COMPLEX32:
        s->c[0] = f16_to_float(v.half[0]), s->c[1] = f16_to_float(v.half[1]);
        break;
    case ACL_COMPLEX64:
        s->c[0] = v.c64[0], s->c[1] = v.c64[1];
        break;
    case ACL_COMPLEX128:
        s->c[0] = v.c128[0], s->c[1] = v.c128[1];
        break;
    default:
        return false;
    }
    return true;
}

aclScalar *aclCreateScalar(void *value, aclDataType dataType)
{
    if (!value) {
        fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateScalar was given no value (null).");
        return NULL;
    }
    aclScalar *s = pool_get(POOL_SCALAR, MAGIC_SCALAR);
    if (!s) {
        fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short: no aclScalar.");
        return NULL;
    }
    s->dtype = dataType;
    if (dtype_size(dataType) && widen(s, value))
        return s;
    pool_put(POOL_SCALAR, s);
    fail(ACLNN_ERR_PARAM_INVALID, "A scalar cannot have the data type %s (%d).", dtype_name(dataType), (int)dataType);
    return NULL;
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar)
{
    if (!scalar)
        return ACLNN_SUCCESS;
    TRY(check(scalar, MAGIC_SCALAR, "aclDestroyScalar"));
    pool_put(POOL_SCALAR, (aclScalar *)scalar);
    return ACLNN_SUCCESS;
}

aclScalar *scalar_copy(const aclScalar *scalar)
{
    aclScalar *s = pool_get(POOL_SCALAR, MAGIC_SCALAR);
    if (s) {
        struct object own = s->object;
        *s = *scalar;
        s->object = own;
    }
    return s;
}

double scalar_double(const aclScalar *s)
{
    if (dtype_is_float(s->dtype) || dtype_is_complex(s->dtype))
        return s->d;
    return s->dtype == ACL_UINT64 ? (double)s->u : (double)s->i;
}

int64_t scalar_int(const aclScalar *s)
{
    if (!dtype_is_float(s->dtype) && !dtype_is_complex(s->dtype))
        return s->i;
    return whole_number(s->d);
}

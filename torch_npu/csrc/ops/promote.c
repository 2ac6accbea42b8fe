/* SPDX-License-Identifier: BSD-3-Clause */
/* PyTorch's rules of types and shapes in C (op.h): type promotion, casts, broadcasting, layouts of new results. */
#include "../bridge/call.h"

#include <stdio.h>
#include <string.h>

/* ---- types ---- */
static const struct {
    aclDataType dtype;
    const char *name;
    uint8_t bytes;
} types[] = {
    {ACL_UINT8, "Byte", 1},
    {ACL_INT8, "Char", 1},
    {ACL_INT16, "Short", 2},
    {ACL_INT32, "Int", 4},
    {ACL_INT64, "Long", 8},
    {ACL_FLOAT16, "Half", 2},
    {ACL_FLOAT, "Float", 4},
    {ACL_DOUBLE, "Double", 8},
    {ACL_COMPLEX32, "ComplexHalf", 4},
    {ACL_COMPLEX64, "ComplexFloat", 8},
    {ACL_COMPLEX128, "ComplexDouble", 16},
    {ACL_BOOL, "Bool", 1},
    {ACL_BF16, "BFloat16", 2},
    {ACL_UINT16, "UInt16", 2},
    {ACL_UINT32, "UInt32", 4},
    {ACL_UINT64, "UInt64", 8},
    {ACL_FLOAT8_E5M2, "Float8_e5m2", 1},
    {ACL_FLOAT8_E4M3FN, "Float8_e4m3fn", 1},
    {ACL_FLOAT8_E8M0, "Float8_e8m0fnu", 1},
};

const char *dtype_name(aclDataType t)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype == t)
            return types[i].name;
    return "Undefined";
}

size_t dtype_bytes(aclDataType t)
{
    switch (t) {
    case ACL_FLOAT:
        return 4;
    case ACL_INT64:
    case ACL_DOUBLE:
        return 8;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype == t)
            return types[i].bytes;
    return 1;
}

bool is_complex(aclDataType t)
{
    return t == ACL_COMPLEX64 || t == ACL_COMPLEX128 || t == ACL_COMPLEX32;
}

bool is_floating(aclDataType t)
{
    return t == ACL_FLOAT || t == ACL_FLOAT16 || t == ACL_BF16 || t == ACL_DOUBLE || t == ACL_FLOAT8_E5M2 ||
           t == ACL_FLOAT8_E4M3FN || t == ACL_FLOAT8_E8M0;
}

bool is_integral(aclDataType t, bool with_bool)
{
    switch (t) {
    case ACL_BOOL:
        return with_bool;
    case ACL_UINT8:
    case ACL_INT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_INT64:
    case ACL_UINT16:
    case ACL_UINT32:
    case ACL_UINT64:
        return true;
    default:
        return false;
    }
}

static bool is_unsigned_wide(aclDataType t)
{
    return t == ACL_UINT16 || t == ACL_UINT32 || t == ACL_UINT64;
}

/* 0 bool, 1 integer, 2 floating, 3 complex */
static int category(aclDataType t)
{
    return is_complex(t) ? 3 : is_floating(t) ? 2 : t == ACL_BOOL ? 0 : 1;
}

static aclDataType complex_of(aclDataType t)
{
    return t == ACL_DOUBLE ? ACL_COMPLEX128 : t == ACL_FLOAT16 ? ACL_COMPLEX32 : ACL_COMPLEX64;
}

static aclDataType real_of(aclDataType t)
{
    return t == ACL_COMPLEX128 ? ACL_DOUBLE : t == ACL_COMPLEX32 ? ACL_FLOAT16 : t == ACL_COMPLEX64 ? ACL_FLOAT : t;
}

static aclDataType promote_floats(aclDataType a, aclDataType b)
{
    if (a == b)
        return a;
    if (a == ACL_DOUBLE || b == ACL_DOUBLE)
        return ACL_DOUBLE;
    if (a == ACL_FLOAT || b == ACL_FLOAT)
        return ACL_FLOAT;
    return ACL_FLOAT; /* half with bfloat16 */
}

static aclDataType promote_integers(aclDataType a, aclDataType b)
{
    static const aclDataType wide[] = {ACL_INT64, ACL_INT32, ACL_INT16};
    if (a == b)
        return a;
    if (is_unsigned_wide(a) || is_unsigned_wide(b))
        return ACL_DT_UNDEFINED; /* PyTorch refuses; result() says so */
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (a == wide[i] || b == wide[i])
            return wide[i];
    return ACL_INT16; /* uint8 with int8 */
}

aclDataType promote_types(aclDataType a, aclDataType b)
{
    if (a == b || b == ACL_DT_UNDEFINED)
        return a;
    if (a == ACL_DT_UNDEFINED)
        return b;
    int high = category(a), low = category(b);
    if (high < low) {
        aclDataType t = a;
        a = b, b = t;
        int n = high;
        high = low, low = n;
    }
    if (high == 3 && low >= 2) {
        if (b == ACL_BF16 && a == ACL_COMPLEX32)
            return ACL_COMPLEX64;
        return complex_of(promote_floats(real_of(a), real_of(b)));
    }
    if (high == 2 && low == 2)
        return promote_floats(a, b);
    if (high == 1 && low == 1)
        return promote_integers(a, b);
    return high == 1 && is_unsigned_wide(a) ? ACL_DT_UNDEFINED : a; /* with bool */
}

/* The stronger class decides, unless the weaker is of a higher category. */
static aclDataType combine(aclDataType strong, aclDataType weak)
{
    if (strong == ACL_DT_UNDEFINED || weak == ACL_DT_UNDEFINED)
        return strong == ACL_DT_UNDEFINED ? weak : strong;
    if (is_complex(strong))
        return strong;
    if (is_floating(strong))
        return is_complex(weak) ? complex_of(strong) : strong;
    if (strong == ACL_BOOL || is_floating(weak) || is_complex(weak))
        return promote_types(strong, weak);
    return strong;
}

aclDataType promote(const struct npu_tensor *const *tensors, int n, const struct npu_scalar *scalars, int m)
{
    aclDataType dim = ACL_DT_UNDEFINED, zero = ACL_DT_UNDEFINED, wrapped = ACL_DT_UNDEFINED;
    for (int i = 0; i < n; i++) {
        const struct npu_tensor *t = tensors[i];
        if (!t || !t->defined)
            continue;
        aclDataType own = t->dtype;
        if (t->wrapped && category(own) >= 2)
            own = is_complex(own) ? complex_of(default_float()) : default_float();
        aclDataType *class = t->rank ? &dim : t->wrapped ? &wrapped : &zero;
        *class = promote_types(*class, own);
    }
    for (int i = 0; i < m; i++) {
        aclDataType weak = scalars[i].kind == SCALAR_BOOL    ? ACL_BOOL
                           : scalars[i].kind == SCALAR_INT   ? ACL_INT64
                           : scalars[i].kind == SCALAR_FLOAT ? default_float()
                                                             : complex_of(default_float());
        wrapped = promote_types(wrapped, weak);
    }
    return combine(dim, combine(zero, wrapped));
}

bool can_cast(aclDataType from, aclDataType to)
{
    if (is_complex(from) && !is_complex(to))
        return false;
    if (is_floating(from) && is_integral(to, true))
        return false;
    return to != ACL_BOOL || from == ACL_BOOL;
}

/* ---- shapes ---- */

int32_t broadcast_shape(struct call *c, const struct npu_tensor *const *tensors, int n, int64_t *size)
{
    int32_t rank = 0;
    for (int i = 0; i < n; i++)
        if (tensors[i] && tensors[i]->defined && tensors[i]->rank > rank)
            rank = tensors[i]->rank;
    if (rank > 16) {
        call_error(c, CALL_RUNTIME_ERROR, "tensors of more than 16 dimensions are not supported on the NPU, got %d",
                   rank);
        return -1;
    }
    for (int32_t d = 0; d < rank; d++)
        size[d] = 1;
    for (int i = 0; i < n; i++) {
        const struct npu_tensor *t = tensors[i];
        if (!t || !t->defined)
            continue;
        for (int32_t d = 0; d < t->rank; d++) {
            int32_t at = rank - t->rank + d;
            if (t->size[d] == size[at] || t->size[d] == 1)
                continue;
            if (size[at] != 1) {
                call_error(
                    c, CALL_RUNTIME_ERROR,
                    "The size of tensor a (%ld) must match the size of tensor b (%ld) at non-singleton dimension %d",
                    (long)size[at], (long)t->size[d], at);
                return -1;
            }
            size[at] = t->size[d];
        }
    }
    return rank;
}

int32_t wrap_dim(struct call *c, int64_t dim, int32_t rank)
{
    int64_t range = rank ? rank : 1;
    if (dim >= -range && dim < range)
        return (int32_t)(dim < 0 ? dim + range : dim);
    call_error(c, CALL_INDEX_ERROR, "Dimension out of range (expected to be in range of [%ld, %ld], but got %ld)",
               (long)-range, (long)(range - 1), (long)dim);
    return -1;
}

/* ---- layouts ---- */
static int64_t operand_stride(const struct npu_tensor *t, int32_t rank, const int64_t *size, int32_t d)
{
    int32_t own = d - (rank - t->rank);
    if (own < 0 || (t->size[own] == 1 && size[d] != 1))
        return 0;
    return t->stride[own];
}

/* 1: dimension a must be outside b; -1: inside; 0: cannot tell. As TensorIterator orders dimensions. */
static int compare(const struct npu_tensor *const *inputs, int n, int32_t rank, const int64_t *size, int32_t a,
                   int32_t b)
{
    for (int i = 0; i < n; i++) {
        if (!inputs[i] || !inputs[i]->defined || inputs[i]->device < 0)
            continue;
        int64_t sa = operand_stride(inputs[i], rank, size, a), sb = operand_stride(inputs[i], rank, size, b);
        if (sa == 0 || sb == 0)
            continue;
        if (sa != sb)
            return sa < sb ? -1 : 1;
        if (size[a] > size[b])
            return 1;
    }
    return 0;
}

bool pointwise_strides(const struct npu_tensor *const *inputs, int n, int32_t rank, const int64_t *size,
                       int64_t *stride)
{
    bool plain = true;
    for (int i = 0; i < n; i++)
        if (inputs[i] && inputs[i]->defined && inputs[i]->device >= 0 && !tensor_contiguous(inputs[i]))
            plain = false;
    if (plain || rank < 2)
        return false;
    int32_t perm[64]; /* innermost first */
    if (rank > 64)
        return false;
    for (int32_t d = 0; d < rank; d++)
        perm[d] = rank - 1 - d;
    for (int32_t i = 1; i < rank; i++) {
        int32_t at = i;
        for (int32_t j = i - 1; j >= 0; j--) {
            int order = compare(inputs, n, rank, size, perm[j], perm[at]);
            if (order > 0) {
                int32_t t = perm[at];
                perm[at] = perm[j], perm[j] = t;
                at = j;
            } else if (order < 0) {
                break;
            }
        }
    }
    int64_t step = 1;
    for (int32_t i = 0; i < rank; i++) {
        stride[perm[i]] = step;
        step *= size[perm[i]] > 1 ? size[perm[i]] : 1;
    }
    bool same = true; /* is it what a contiguous tensor has? */
    step = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        same = same && stride[d] == step;
        step *= size[d] > 1 ? size[d] : 1;
    }
    return !same;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Filling tensors. (Copies between tensors and devices are the bridge's own: csrc/bridge.) */
#include "op.h"

#include <math.h>

static struct aclnn fill_scalar = ACLNN("aclnnInplaceFillScalar", "TS");
static struct aclnn fill_tensor = ACLNN("aclnnInplaceFillTensor", "TT");
static struct aclnn zero = ACLNN("aclnnInplaceZero", "T");

/* The values that PyTorch lets a number of the type take (Scalar::to), under the names that its error uses. The 16-bit
 * floats take every real number. */
static const struct limit {
    aclDataType dtype;
    const char *name;
    double low, high;
} limits[] = {
    {ACL_UINT8, "uint8_t", -255.0, 255.0},
    {ACL_INT8, "int8_t", -128.0, 127.0},
    {ACL_INT16, "int16_t", -32768.0, 32767.0},
    {ACL_UINT16, "uint16_t", -65535.0, 65535.0},
    {ACL_INT32, "int", -2147483648.0, 2147483647.0},
    {ACL_UINT32, "uint32_t", -4294967295.0, 4294967295.0},
    {ACL_INT64, "int64_t", -0x1p63, 0x1p63},
    {ACL_FLOAT, "float", -0x1.fffffep127, 0x1.fffffep127},
    {ACL_FLOAT16, "double", -INFINITY, INFINITY},
    {ACL_BF16, "double", -INFINITY, INFINITY},
    {ACL_DOUBLE, "double", -INFINITY, INFINITY},
    {ACL_UINT64, "uint64_t", -0x1p63, 0x1p64},
    {ACL_COMPLEX64, "c10::complex<float>", -0x1.fffffep127, 0x1.fffffep127},
};

static bool takes(const struct limit *l, const struct npu_scalar *s)
{
    double d = s->kind == SCALAR_INT || s->kind == SCALAR_BOOL ? (double)s->i : s->d[0];
    if (isnan(d) || isinf(d))
        return is_floating(l->dtype) || is_complex(l->dtype);
    if (s->kind == SCALAR_FLOAT && d < 0 &&
        l->name[0] == 'u') /* an unsigned type wraps negative integers, not floats */
        return false;
    return d >= l->low && d <= l->high;
}

/* 0, or PyTorch's error for a number that the tensor's type cannot hold. */
static int check_value(struct call *c, aclDataType dtype, const struct npu_scalar *s)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].dtype != dtype)
            continue;
        if ((s->kind == SCALAR_COMPLEX && s->d[1] != 0 && !is_complex(dtype)) || !takes(&limits[i], s))
            return call_error(c, CALL_RUNTIME_ERROR, "value cannot be converted to type %s without overflow",
                              limits[i].name);
    }
    return CALL_OK;
}

static int run_fill_scalar(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct npu_scalar value = arg_scalar(c, 1);
    if (check_value(c, self->dtype, &value))
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = out}, {.s = &value}});
}

static int run_fill_tensor(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *value = arg_tensor(c, 1);
    if (value->rank)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                          value->rank);
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = out}, {.t = value}});
}

static int run_zero(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = out}});
}

static const struct aten_row rows[] = {
    {"fill_.Scalar", run_fill_scalar, &fill_scalar, 0, true},
    {"fill_.Tensor", run_fill_tensor, &fill_tensor, 0, true},
    {"zero_", run_zero, &zero, 0, true},
};
ATEN_FAMILY(copy_family, rows);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators through the C interface: which arguments are operands, which types meet where, in-place forms,
 * operators of several steps, and what is refused with which text. (What the kernels compute: tests/kernel.) */
#include "acl/acl.h"
#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_adds.h"
#include "aclnnop/aclnn_celu.h"
#include "aclnnop/aclnn_clamp.h"
#include "aclnnop/aclnn_clamp_max.h"
#include "aclnnop/aclnn_div_mod.h"
#include "aclnnop/aclnn_div_mods.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "aclnnop/aclnn_floor_divide.h"
#include "aclnnop/aclnn_ge_glu_v3.h"
#include "aclnnop/aclnn_ge_glu_v3_backward.h"
#include "aclnnop/aclnn_gelu.h"
#include "aclnnop/aclnn_gelu_v2.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_masked_fill_scalar.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_pow_scalar_tensor.h"
#include "aclnnop/aclnn_pow_tensor_scalar.h"
#include "aclnnop/aclnn_prelu_backward.h"
#include "aclnnop/aclnn_rsubs.h"
#include "aclnnop/aclnn_s_where.h"
#include "aclnnop/aclnn_sqrt.h"
#include "aclnnop/aclnn_swi_glu.h"
#include "check.h"

#include <math.h>
#include <stdarg.h>

static aclrtStream stream;
static char *device, *workspace;
static size_t used;
enum { DEVICE_BYTES = 1 << 16, WORKSPACE_BYTES = 1 << 20, MADE = 128 };
static aclTensor *tensors[MADE];
static aclScalar *scalars[MADE];
static int made_tensors, made_scalars;

static void forget_all(void)
{
    while (made_tensors)
        CHECK_EQ(aclDestroyTensor(tensors[--made_tensors]), 0);
    while (made_scalars)
        CHECK_EQ(aclDestroyScalar(scalars[--made_scalars]), 0);
    used = 0;
}

/* A tensor on the device with the values; rank 0: one value. It lives until the test's end. */
static aclTensor *tensor(aclDataType dtype, const void *values, uint64_t rank, ...)
{
    int64_t dim[4], count = 1;
    va_list args;
    va_start(args, rank);
    for (uint64_t i = 0; i < rank; i++)
        count *= dim[i] = va_arg(args, int);
    va_end(args);
    size_t bytes = (size_t)count * aclDataTypeSize(dtype);
    char *at = device + used;
    used += (bytes + 63) / 64 * 64;
    CHECK(used <= DEVICE_BYTES);
    if (values && bytes)
        CHECK_EQ(aclrtMemcpy(at, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK(made_tensors < MADE);
    return tensors[made_tensors++] = aclCreateTensor(dim, rank, dtype, NULL, 0, ACL_FORMAT_ND, NULL, 0, at);
}

static void read(const aclTensor *t, void *host, size_t bytes)
{
    void *address;
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    CHECK_EQ(aclGetRawTensorAddr(t, &address), 0);
    CHECK_EQ(aclrtMemcpy(host, bytes, address, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
}

static void floats_are(const aclTensor *t, int n, ...)
{
    float got[64];
    va_list args;
    read(t, got, (size_t)n * 4);
    va_start(args, n);
    for (int i = 0; i < n; i++) {
        double want = va_arg(args, double);
        CHECK(fabs(got[i] - want) <= 1e-5 * fmax(1, fabs(want)));
        if (fabs(got[i] - want) > 1e-5 * fmax(1, fabs(want)))
            fprintf(stderr, "  element %d is %g, expected %g\n", i, (double)got[i], want);
    }
    va_end(args);
}

static void integers_are(const aclTensor *t, int n, ...)
{
    int32_t got[64];
    va_list args;
    read(t, got, (size_t)n * 4);
    va_start(args, n);
    for (int i = 0; i < n; i++)
        CHECK_EQ(got[i], va_arg(args, int));
    va_end(args);
}

static aclScalar *number(double v)
{
    CHECK(made_scalars < MADE);
    return scalars[made_scalars++] = aclCreateScalar(&v, ACL_DOUBLE);
}

static aclScalar *whole(int64_t v)
{
    CHECK(made_scalars < MADE);
    return scalars[made_scalars++] = aclCreateScalar(&v, ACL_INT64);
}

/* Both phases; the status of the first that fails. */
#define RUN(name, ...) run(name##GetWorkspaceSize(__VA_ARGS__, &size, &executor), name)

static uint64_t size;
static aclOpExecutor *executor;

static aclnnStatus run(aclnnStatus first, aclnnStatus (*second)(void *, uint64_t, aclOpExecutor *, aclrtStream))
{
    if (first)
        return first;
    CHECK(size <= WORKSPACE_BYTES);
    return second(workspace, size, executor, stream);
}

static const float four[] = {1, -2, 3, -4}, halves[] = {0.5f, 0.5f, 2, 2};

static void test_arithmetic(void)
{
    const int32_t k[] = {7, -7, 5, -5};
    aclTensor *a = tensor(ACL_FLOAT, four, 1, 4), *b = tensor(ACL_FLOAT, halves, 1, 4);
    aclTensor *i = tensor(ACL_INT32, k, 1, 4), *o = tensor(ACL_FLOAT, NULL, 1, 4), *io = tensor(ACL_INT32, NULL, 1, 4);
    CHECK_EQ(RUN(aclnnAdd, a, b, number(2), o), 0);
    floats_are(o, 4, 2.0, -1.0, 7.0, 0.0);
    CHECK_EQ(RUN(aclnnAdd, a, i, whole(1), o), 0); /* int32 next to float is float */
    floats_are(o, 4, 8.0, -9.0, 8.0, -9.0);
    CHECK_EQ(RUN(aclnnAdds, i, number(0.5), whole(1), o), 0);
    floats_are(o, 4, 7.5, -6.5, 5.5, -4.5);
    CHECK_EQ(RUN(aclnnAdds, i, number(0.5), whole(1), io), 0); /* computed as float, then cast */
    integers_are(io, 4, 7, -6, 5, -4);
    CHECK_EQ(RUN(aclnnRsubs, a, number(10), number(2), o), 0); /* 10 - 2 a */
    floats_are(o, 4, 8.0, 14.0, 4.0, 18.0);
    CHECK_EQ(RUN(aclnnInplaceAdd, a, b, number(1)), 0);
    floats_are(a, 4, 1.5, -1.5, 5.0, -2.0);
    for (int mode = 0; mode < 3; mode++) {
        CHECK_EQ(RUN(aclnnDivMods, i, whole(2), mode, o), 0);
        floats_are(o, 4, mode ? 3.0 : 3.5,
                   mode == 2 ? -4.0
                   : mode    ? -3.0
                             : -3.5,
                   mode ? 2.0 : 2.5,
                   mode == 2 ? -3.0
                   : mode    ? -2.0
                             : -2.5);
    }
    CHECK(RUN(aclnnDivMod, a, b, 3, o) != 0);
    CHECK_TEXT(aclGetRecentErrMsg(), "mode should be 0, 1 or 2, but got 3");
    CHECK_EQ(RUN(aclnnPowTensorScalar, i, whole(2), io), 0);
    integers_are(io, 4, 49, 49, 25, 25);
    CHECK_EQ(RUN(aclnnPowScalarTensor, number(2), b, o), 0);
    floats_are(o, 4, sqrt(2), sqrt(2), 4.0, 4.0);
    CHECK(RUN(aclnnPowTensorScalar, i, whole(-1), io) != 0);
    CHECK_TEXT(aclGetRecentErrMsg(), "Integers to negative integer powers are not allowed.");
    CHECK_EQ(RUN(aclnnSqrt, i, o), 0); /* integers become floats */
    float got[4];
    read(o, got, sizeof got);
    CHECK(got[0] == sqrtf(7) && isnan(got[1]));
}

static void test_selection(void)
{
    const uint8_t mask[] = {1, 0, 0, 1};
    aclTensor *a = tensor(ACL_FLOAT, four, 2, 2, 2), *b = tensor(ACL_FLOAT, halves, 1, 2);
    aclTensor *m = tensor(ACL_BOOL, mask, 2, 2, 2), *o = tensor(ACL_FLOAT, NULL, 2, 2, 2);
    aclTensor *flags = tensor(ACL_BOOL, NULL, 2, 2, 2);
    CHECK_EQ(RUN(aclnnSWhere, m, a, b, o), 0);
    floats_are(o, 4, 1.0, 0.5, 0.5, -4.0);
    CHECK_EQ(RUN(aclnnClamp, a, number(-1), NULL, o), 0);
    floats_are(o, 4, 1.0, -1.0, 3.0, -1.0);
    CHECK_EQ(RUN(aclnnClamp, a, NULL, number(2), o), 0);
    floats_are(o, 4, 1.0, -2.0, 2.0, -4.0);
    CHECK_EQ(RUN(aclnnClampMax, a, number(0.5), o), 0);
    floats_are(o, 4, 0.5, -2.0, 0.5, -4.0);
    CHECK(RUN(aclnnClamp, a, NULL, NULL, o) != 0);
    CHECK_TEXT(aclGetRecentErrMsg(), "at least one of clipValueMin and clipValueMax");
    CHECK_EQ(RUN(aclnnInplaceMaskedFillScalar, a, m, number(9)), 0);
    floats_are(a, 4, 9.0, -2.0, 3.0, 9.0);
    CHECK_EQ(RUN(aclnnGtScalar, a, number(3), flags), 0);
    uint8_t got[4];
    read(flags, got, 4);
    CHECK(got[0] == 1 && got[1] == 0 && got[2] == 0 && got[3] == 1);
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-x / sqrt(2));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static void test_activations(void)
{
    aclTensor *x = tensor(ACL_FLOAT, four, 2, 2, 2), *g = tensor(ACL_FLOAT, halves, 2, 2, 1);
    aclTensor *o = tensor(ACL_FLOAT, NULL, 2, 2, 2), *h = tensor(ACL_FLOAT, NULL, 2, 2, 1);
    aclTensor *kept = tensor(ACL_FLOAT, NULL, 2, 2, 1), *w = tensor(ACL_FLOAT, (const float[]){0.25f, 0.5f}, 1, 2);
    aclTensor *to_w = tensor(ACL_FLOAT, NULL, 1, 2);
    CHECK_EQ(RUN(aclnnGelu, x, o), 0);
    floats_are(o, 4, gelu(1), gelu(-2), gelu(3), gelu(-4));
    CHECK_EQ(RUN(aclnnGeluV2, x, 1, o), 0);
    double u = sqrt(2 / acos(-1)) * (1 + 0.044715);
    float got[4];
    read(o, got, 16);
    CHECK(fabs(got[0] - 0.5 * (1 + tanh(u))) < 1e-6);
    CHECK_EQ(RUN(aclnnCelu, x, number(2), o), 0);
    floats_are(o, 4, 1.0, 2 * expm1(-1), 3.0, 2 * expm1(-2));
    aclTensor *all = tensor(ACL_FLOAT, four, 2, 2, 2);
    CHECK_EQ(RUN(aclnnEluBackward, all, number(1), number(1), number(1), false, x, o), 0);
    floats_are(o, 4, 1.0, -2 * exp(-2), 3.0, -4 * exp(-4));
    CHECK_EQ(RUN(aclnnEluBackward, all, number(1), number(1), number(1), true, x, o), 0);
    floats_are(o, 4, 1.0, -2 * (-2.0 + 1), 3.0, -4 * (-4.0 + 1));
    CHECK_EQ(RUN(aclnnSwiGlu, x, -1, h), 0);
    floats_are(h, 2, silu(1) * -2, silu(3) * -4);
    CHECK_EQ(RUN(aclnnGeGluV3, x, 1, 0, false, h, kept), 0);
    floats_are(h, 2, 1 * gelu(-2), 3 * gelu(-4));
    floats_are(kept, 2, gelu(-2), gelu(-4));
    CHECK_EQ(RUN(aclnnGeGluV3Backward, g, x, kept, 1, 0, false, o), 0);
    double slope = 0.5 * erfc(2 / sqrt(2)) - 2 * exp(-2) / sqrt(2 * acos(-1));
    read(o, got, 16);
    CHECK(fabs(got[0] - 0.5 * gelu(-2)) < 1e-6 && fabs(got[1] - 0.5 * 1 * slope) < 1e-6);
    CHECK_EQ(RUN(aclnnPreluBackward, all, x, w, o, to_w), 0);
    floats_are(o, 4, 1.0, -2 * 0.5, 3.0, -4 * 0.5);
    floats_are(to_w, 2, 0.0, 4.0 + 16.0);
    CHECK(RUN(aclnnSwiGlu, g, -1, h) != 0);
    CHECK_TEXT(aclGetRecentErrMsg(), "the halved dimension of x must be even, but dimension 1 is size 1");
}

static void test_complex(void)
{
    const float z[] = {3, 4, 0, -2}, w[] = {1, 1, 0, 1};
    aclTensor *a = tensor(ACL_COMPLEX64, z, 1, 2), *b = tensor(ACL_COMPLEX64, w, 1, 2);
    aclTensor *o = tensor(ACL_COMPLEX64, NULL, 1, 2), *size_of = tensor(ACL_FLOAT, NULL, 1, 2);
    CHECK_EQ(RUN(aclnnMul, a, b, o), 0);
    floats_are(o, 4, -1.0, 7.0, 2.0, 0.0);
    CHECK_EQ(RUN(aclnnAbs, a, size_of), 0);
    floats_are(size_of, 2, 5.0, 2.0);
}

static void test_refusals(void)
{
    const int32_t zero[] = {1, 0, 2, 3};
    aclTensor *a = tensor(ACL_FLOAT, four, 2, 2, 2), *three = tensor(ACL_FLOAT, four, 1, 3);
    aclTensor *i = tensor(ACL_INT32, zero, 2, 2, 2), *c = tensor(ACL_COMPLEX64, NULL, 2, 2, 2);
    aclTensor *o = tensor(ACL_FLOAT, NULL, 2, 2, 2), *io = tensor(ACL_INT32, NULL, 2, 2, 2);
    aclTensor *wide = tensor(ACL_FLOAT, NULL, 2, 3, 2);
    CHECK_EQ(RUN(aclnnMul, a, three, o), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "aclnnMul: the shape [3] cannot be broadcast to [2,2].");
    CHECK_EQ(RUN(aclnnMul, a, a, wide), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "the shape [2,2] cannot be broadcast to [3,2].");
    CHECK_EQ(RUN(aclnnGelu, i, o), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "Tensor self not implemented for DT_INT32, should be in dtype support list");
    CHECK_EQ(RUN(aclnnGelu, c, c), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "DT_COMPLEX64");
    int status = RUN(aclnnFloorDivide, i, i, io);
    if (!status)
        status = aclrtSynchronizeStream(stream);
    CHECK(status != 0);
    CHECK_TEXT(aclGetRecentErrMsg(), "ZeroDivisionError");
    CHECK_EQ(RUN(aclnnMul, a, a, o), 0); /* and the stream works on */
    floats_are(o, 4, 1.0, 4.0, 9.0, 16.0);
}

int main(void)
{
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    CHECK_EQ(aclrtMalloc((void **)&device, DEVICE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc((void **)&workspace, WORKSPACE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    void (*const tests[])(void) = {test_arithmetic, test_selection, test_activations, test_complex, test_refusals};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tests[i]();
        CHECK_EQ(aclrtSynchronizeStream(stream), 0);
        forget_all();
    }
    return check_done();
}

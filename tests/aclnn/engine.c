/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine that all operators share: meta objects, plans, executors used again, workspaces, views of every kind. */
#include "acl/acl.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_inplace_copy.h"
#include "aclnnop/aclnn_inplace_fill_scalar.h"
#include "aclnnop/aclnn_inplace_fill_tensor.h"
#include "aclnnop/aclnn_inplace_one.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "check.h"

#include <pthread.h>
#include <stdint.h>

static aclrtStream stream;
static char *device; /* memory of the device, reached through aclrtMemcpy only */
enum { DEVICE_BYTES = 1 << 20 };

static void put(size_t at, const void *host, size_t bytes)
{
    CHECK_EQ(aclrtMemcpy(device + at, DEVICE_BYTES - at, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
}

static void get(void *host, size_t at, size_t bytes)
{
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    CHECK_EQ(aclrtMemcpy(host, bytes, device + at, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
}

static aclTensor *tensor(size_t at, aclDataType dtype, uint64_t rank, const int64_t *dim, const int64_t *stride,
                         int64_t offset)
{
    return aclCreateTensor(dim, rank, dtype, stride, offset, ACL_FORMAT_ND, NULL, 0, device + at);
}

static aclTensor *vector(size_t at, aclDataType dtype, int64_t n)
{
    return tensor(at, dtype, 1, &n, NULL, 0);
}

static void copy(aclTensor *dst, const aclTensor *src)
{
    uint64_t size;
    aclOpExecutor *executor;
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor), 0);
    CHECK_EQ(size, 0);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), 0);
    aclDestroyTensor(dst);
    aclDestroyTensor(src);
}

static void refused(const int64_t *dim, uint64_t rank, aclDataType dtype, const int64_t *stride, int64_t offset,
                    const int64_t *storage, uint64_t storage_rank, const char *text)
{
    CHECK(!aclCreateTensor(dim, rank, dtype, stride, offset, ACL_FORMAT_ND, storage, storage_rank, device));
    CHECK_TEXT(aclGetRecentErrMsg(), text);
}

static void test_tensor_checks(void)
{
    const int64_t d[17] = {2, 3}, negative[] = {2, -3}, huge[] = {INT64_MAX, 2}, wide[] = {INT64_MAX / 4, 2},
                  one[] = {6}, five[] = {5};
    const int64_t stride[] = {3, 1}, far[] = {INT64_MAX, 1}, back[] = {-3, 1};
    refused(d, 17, ACL_FLOAT, NULL, 0, NULL, 0, "17 dimensions");
    refused(NULL, 2, ACL_FLOAT, NULL, 0, NULL, 0, "null");
    refused(negative, 2, ACL_FLOAT, NULL, 0, NULL, 0, "negative: -3");
    refused(huge, 2, ACL_FLOAT, NULL, 0, NULL, 0, "2^63");
    refused(wide, 2, ACL_FLOAT, NULL, 0, NULL, 0, "2^63");
    refused(d, 2, (aclDataType)99, NULL, 0, NULL, 0, "99");
    refused(d, 2, ACL_FLOAT, far, 0, NULL, 0, "span more than 2^63");
    refused(d, 2, ACL_FLOAT, back, 0, NULL, 0, "negative: -3");
    refused(d, 2, ACL_FLOAT, stride, -1, NULL, 0, "negative: -1");
    refused(d, 2, ACL_FLOAT, stride, 0, five, 1, "needs 6 elements of storage, but the storage has 5");
    refused(d, 2, ACL_FLOAT, stride, 1, one, 1, "needs 7 elements");
    refused(d, 2, ACL_FLOAT, stride, INT64_MAX - 2, NULL, 0, "2^63");
    CHECK(!aclCreateScalar(NULL, ACL_FLOAT));
    CHECK(!aclCreateScalar(&(int){1}, ACL_STRING));
    CHECK(!aclCreateIntArray(NULL, 3));
    CHECK(!aclCreateIntArray(d, UINT64_MAX / 4));
    CHECK(!aclCreateFloatArray((const float *)d, UINT64_MAX));
}

static void test_getters(void)
{
    int64_t dim[] = {2, 3}, stride[] = {4, 1}, storage[] = {3, 4}, *values = NULL, offset;
    uint64_t count;
    aclFormat format;
    aclDataType dtype;
    void *address;
    aclTensor *t = aclCreateTensor(dim, 2, ACL_INT16, stride, 1, ACL_FORMAT_NCHW, storage, 2, device);
    CHECK_EQ(aclGetViewShape(t, &values, &count), 0);
    CHECK(count == 2 && values[0] == 2 && values[1] == 3);
    free(values);
    CHECK_EQ(aclGetViewStrides(t, &values, &count), 0);
    CHECK(count == 2 && values[0] == 4 && values[1] == 1);
    free(values);
    CHECK_EQ(aclGetStorageShape(t, &values, &count), 0);
    CHECK(count == 2 && values[0] == 3 && values[1] == 4);
    free(values);
    CHECK(!aclGetViewOffset(t, &offset) && offset == 1);
    CHECK(!aclGetFormat(t, &format) && format == ACL_FORMAT_NCHW);
    CHECK(!aclGetDataType(t, &dtype) && dtype == ACL_INT16);
    CHECK(!aclGetRawTensorAddr(t, &address) && address == device);
    CHECK(!aclSetRawTensorAddr(t, device + 8) && !aclGetRawTensorAddr(t, &address) && address == device + 8);
    CHECK_EQ(aclGetDataType(t, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_EQ(aclGetViewShape(NULL, &values, &count), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_EQ(aclInitTensor(t, dim, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dim, 1, device), 0);
    CHECK(!aclGetDataType(t, &dtype) && dtype == ACL_FLOAT);
    CHECK_EQ(aclInitTensor(t, dim, 99, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dim, 1, device), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclDestroyTensor(t), 0);
    CHECK_EQ(aclDestroyTensor(t), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclGetDataType(t, &dtype), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclDestroyTensor(NULL), 0);
    CHECK_EQ(aclDestroyTensor((aclTensor *)16), ACLNN_ERR_PARAM_INVALID); /* nothing that a handle could be */
    CHECK_EQ(aclDestroyTensor((aclTensor *)(uintptr_t)-64), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclDestroyTensor((aclTensor *)dim), ACLNN_ERR_PARAM_INVALID);
}

static void test_arrays(void)
{
    int64_t many[100] = {[99] = 7};
    uint64_t n;
    for (uint64_t size = 0; size <= 100; size += 20) {
        aclIntArray *ints = aclCreateIntArray(many, size);
        CHECK(!aclGetIntArraySize(ints, &n) && n == size);
        CHECK_EQ(aclDestroyIntArray(ints), 0);
        CHECK_EQ(aclGetIntArraySize(ints, &n), ACLNN_ERR_PARAM_INVALID);
        CHECK_EQ(aclDestroyIntArray(ints), ACLNN_ERR_PARAM_INVALID);
    }
    aclBoolArray *bools = aclCreateBoolArray((const bool[]){true, false}, 2);
    aclFloatArray *floats = aclCreateFloatArray((const float[]){1, 2, 3}, 3);
    CHECK(!aclGetBoolArraySize(bools, &n) && n == 2);
    CHECK(!aclGetFloatArraySize(floats, &n) && n == 3);
    CHECK_EQ(aclDestroyFloatArray((aclFloatArray *)bools), ACLNN_ERR_PARAM_INVALID); /* the wrong kind */
    CHECK(!aclDestroyBoolArray(bools) && !aclDestroyFloatArray(floats));
    const aclTensor *elements[] = {vector(0, ACL_FLOAT, 2), vector(0, ACL_FLOAT, 3)};
    aclTensorList *list = aclCreateTensorList(elements, 2);
    CHECK(!aclGetTensorListSize(list, &n) && n == 2);
    CHECK_EQ(aclDestroyTensorList(list), 0); /* with its elements */
    CHECK_EQ(aclDestroyTensor(elements[0]), ACLNN_ERR_PARAM_INVALID);
    CHECK(!aclCreateTensorList(elements, 2));
    CHECK_TEXT(aclGetRecentErrMsg(), "Element 0");
}

static void test_views(void)
{
    float a[12], b[12];
    for (int i = 0; i < 12; i++)
        a[i] = (float)i;
    put(0, a, sizeof a);
    /* transposed */
    copy(tensor(4096, ACL_FLOAT, 2, (int64_t[]){3, 4}, (int64_t[]){1, 3}, 0),
         tensor(0, ACL_FLOAT, 2, (int64_t[]){3, 4}, NULL, 0));
    get(b, 4096, sizeof b);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(b[i], i % 3 * 4 + i / 3);
    /* an offset and holes: only the elements of the view change */
    memset(b, 0, sizeof b);
    put(4096, b, sizeof b);
    copy(tensor(4096, ACL_FLOAT, 2, (int64_t[]){2, 2}, (int64_t[]){4, 2}, 1),
         tensor(0, ACL_FLOAT, 2, (int64_t[]){2, 2}, (int64_t[]){1, 1}, 3));
    get(b, 4096, sizeof b);
    const float holes[12] = {0, 3, 0, 4, 0, 4, 0, 5};
    CHECK(!memcmp(b, holes, sizeof b));
    /* expanded, broadcast, a scalar, and conversion on the way */
    copy(tensor(4096, ACL_INT32, 2, (int64_t[]){2, 3}, NULL, 0),
         tensor(0, ACL_FLOAT, 2, (int64_t[]){2, 3}, (int64_t[]){0, 2}, 1));
    int32_t whole[6];
    get(whole, 4096, sizeof whole);
    CHECK(!memcmp(whole, (int32_t[]){1, 3, 5, 1, 3, 5}, sizeof whole));
    copy(tensor(4096, ACL_INT32, 2, (int64_t[]){2, 3}, NULL, 0), tensor(0, ACL_FLOAT, 2, (int64_t[]){2, 1}, NULL, 4));
    get(whole, 4096, sizeof whole);
    CHECK(!memcmp(whole, (int32_t[]){4, 4, 4, 5, 5, 5}, sizeof whole));
    copy(tensor(4096, ACL_INT32, 2, (int64_t[]){2, 3}, NULL, 0), tensor(0, ACL_FLOAT, 0, NULL, NULL, 9));
    get(whole, 4096, sizeof whole);
    CHECK(!memcmp(whole, (int32_t[]){9, 9, 9, 9, 9, 9}, sizeof whole));
    /* 0-d to 0-d, and nothing at all */
    copy(tensor(4096, ACL_INT32, 0, NULL, NULL, 1), tensor(0, ACL_FLOAT, 0, NULL, NULL, 2));
    copy(tensor(4096, ACL_INT32, 2, (int64_t[]){0, 3}, NULL, 0), tensor(0, ACL_FLOAT, 2, (int64_t[]){0, 1}, NULL, 0));
    get(whole, 4096, sizeof whole);
    CHECK(!memcmp(whole, (int32_t[]){9, 2, 9, 9, 9, 9}, sizeof whole));
}

/* Every order of three dimensions on both sides, sizes that leave rests of tiles, against indexing by hand. */
static void test_permutations(void)
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int64_t dim[3] = {5, 66, 71};
    enum { COUNT = 5 * 66 * 71 };
    static int32_t source[COUNT], result[COUNT];
    static int64_t wide[COUNT];
    for (int i = 0; i < COUNT; i++)
        source[i] = i;
    put(0, source, sizeof source);
    for (int to = 0; to < 6; to++)
        for (int from = 0; from < 6; from++) {
            int64_t dst[3], src[3], step = 1;
            for (int i = 2; i >= 0; step *= dim[order[to][i]], i--)
                dst[order[to][i]] = step;
            step = 1;
            for (int i = 2; i >= 0; step *= dim[order[from][i]], i--)
                src[order[from][i]] = step;
            copy(tensor(1 << 18, ACL_INT32, 3, dim, dst, 0), tensor(0, ACL_INT32, 3, dim, src, 0));
            get(result, 1 << 18, sizeof result);
            copy(tensor(1 << 18, ACL_INT64, 3, dim, dst, 0), tensor(0, ACL_INT32, 3, dim, src, 0));
            get(wide, 1 << 18, sizeof wide);
            int wrong = 0;
            for (int64_t x = 0; x < dim[0]; x++)
                for (int64_t y = 0; y < dim[1]; y++)
                    for (int64_t z = 0; z < dim[2]; z++) {
                        int64_t at = x * dst[0] + y * dst[1] + z * dst[2], want = x * src[0] + y * src[1] + z * src[2];
                        wrong += result[at] != want || wide[at] != want;
                    }
            CHECK_EQ(wrong, 0);
        }
}

static void test_executors(void)
{
    uint64_t size;
    aclOpExecutor *executor;
    float one[4] = {1, 2, 3, 4}, two[4] = {5, 6, 7, 8}, r[4];
    put(0, one, sizeof one);
    put(1024, two, sizeof two);
    aclTensor *src = vector(0, ACL_FLOAT, 4), *dst = vector(2048, ACL_FLOAT, 4);
    /* once only, and not by another operator */
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor), 0);
    CHECK_EQ(aclnnCast(NULL, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "aclnnCast was given an executor of aclnnInplaceCopy");
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), 0);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "already launched");
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, NULL, stream), ACLNN_ERR_PARAM_NULLPTR);
    /* never launched */
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor), 0);
    CHECK_EQ(aclDestroyAclOpExecutor(executor), 0);
    CHECK_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_PARAM_INVALID);
    /* many times, other addresses between, the tensors gone */
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor), 0);
    CHECK_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), 0);
    CHECK_EQ(aclSetInputTensorAddr(executor, 0, src, device + 1024), 0);
    CHECK_EQ(aclSetOutputTensorAddr(executor, 0, NULL, device + 3072), 0);
    aclDestroyTensor(src);
    aclDestroyTensor(dst);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), 0);
    get(r, 2048, sizeof r);
    CHECK(!memcmp(r, one, sizeof r));
    get(r, 3072, sizeof r);
    CHECK(!memcmp(r, two, sizeof r));
    CHECK_EQ(aclSetInputTensorAddr(executor, 1, NULL, device), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclSetDynamicInputTensorAddr(executor, 0, 0, NULL, device), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclSetTensorAddr(executor, 1, NULL, device), 0);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), 0);
    get(r, 3072, sizeof r);
    CHECK(!memcmp(r, one, sizeof r));
    CHECK_EQ(aclDestroyAclOpExecutor(executor), 0);
    /* no address */
    int64_t four = 4;
    dst = vector(0, ACL_FLOAT, 4);
    src = aclCreateTensor(&four, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, NULL);
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor), 0);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_TEXT(aclGetRecentErrMsg(), "Tensor src of aclnnInplaceCopy has elements, but its address is null");
    CHECK_EQ(aclSetInputTensorAddr(executor, 0, src, device + 1024), 0); /* given one, it runs, once */
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), 0);
    CHECK_EQ(aclnnInplaceCopy(NULL, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
    get(r, 0, sizeof r);
    CHECK(!memcmp(r, two, sizeof r));
    aclDestroyTensor(src);
    aclDestroyTensor(dst);
}

static void test_fills(void)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE,    ACL_FLOAT16,   ACL_BF16,  ACL_INT8,
                                        ACL_UINT8, ACL_INT16,     ACL_INT32,     ACL_INT64, ACL_UINT64,
                                        ACL_BOOL,  ACL_COMPLEX64, ACL_COMPLEX128};
    uint64_t size;
    aclOpExecutor *executor;
    double wide[5];
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        aclTensor *t = tensor(0, types[i], 1, (int64_t[]){5}, NULL, 0);
        float two = 2.5f;
        aclScalar *value = aclCreateScalar(&two, ACL_FLOAT);
        CHECK_EQ(aclnnInplaceFillScalarGetWorkspaceSize(t, value, &size, &executor), 0);
        CHECK_EQ(aclnnInplaceFillScalar(NULL, 0, executor, stream), 0);
        CHECK_EQ(aclDestroyScalar(value), 0);
        copy(vector(4096, ACL_DOUBLE, 5), vector(0, types[i], 5));
        get(wide, 4096, sizeof wide);
        bool fraction = i < 4 || i > 10;
        CHECK(wide[4] == (types[i] == ACL_BOOL ? 1 : fraction ? 2.5 : 2));
        CHECK_EQ(aclnnInplaceOneGetWorkspaceSize(t, &size, &executor), 0);
        CHECK_EQ(aclnnInplaceOne(NULL, 0, executor, stream), 0);
        copy(vector(4096, ACL_DOUBLE, 5), vector(0, types[i], 5));
        get(wide, 4096, sizeof wide);
        CHECK(wide[4] == 1);
        CHECK_EQ(aclnnInplaceZeroGetWorkspaceSize(t, &size, &executor), 0);
        CHECK_EQ(aclnnInplaceZero(NULL, 0, executor, stream), 0);
        copy(vector(4096, ACL_DOUBLE, 5), vector(0, types[i], 5));
        get(wide, 4096, sizeof wide);
        CHECK(wide[4] == 0);
        aclDestroyTensor(t);
    }
    aclTensor *t = vector(0, ACL_FLOAT, 5), *pair = vector(4096, ACL_FLOAT, 2);
    CHECK_EQ(aclnnInplaceFillTensorGetWorkspaceSize(t, pair, &size, &executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "[2]");
    aclDestroyTensor(t);
    aclDestroyTensor(pair);
}

static void test_errors(void)
{
    uint64_t size;
    aclOpExecutor *executor = (aclOpExecutor *)1;
    aclTensor *a = tensor(0, ACL_FLOAT, 2, (int64_t[]){2, 3}, NULL, 0),
              *b = tensor(0, ACL_FLOAT, 2, (int64_t[]){3, 2}, NULL, 0);
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(a, b, &size, &executor), ACLNN_ERR_PARAM_INVALID);
    CHECK(executor == NULL);
    CHECK_TEXT(aclGetRecentErrMsg(), "[3,2] cannot be broadcast to [2,3]");
    CHECK_EQ(aclnnCastGetWorkspaceSize(a, ACL_FLOAT, b, &size, &executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(),
               "AclNN_Parameter_Error(EZ1001): Expected tensor for out to have size [2,3], but got [3,2].");
    CHECK_EQ(aclnnCastGetWorkspaceSize(a, ACL_INT32, a, &size, &executor), ACLNN_ERR_PARAM_INVALID);
    aclTensor *odd = tensor(0, ACL_HIFLOAT8, 2, (int64_t[]){2, 3}, NULL, 0);
    CHECK_EQ(aclnnInplaceCopyGetWorkspaceSize(a, odd, &size, &executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(),
               "Tensor src not implemented for DT_HIFLOAT8, should be in dtype support list [DT_FLOAT,DT_FLOAT16,");
    aclDestroyTensor(a);
    aclDestroyTensor(b);
    aclDestroyTensor(odd);
}

/* Objects made here and destroyed there, many more than a thread keeps. */
static void *destroy_all(void *arg)
{
    aclTensor **t = arg;
    for (int i = 0; i < 1000; i++)
        if (aclDestroyTensor(t[i]))
            return arg;
    return NULL;
}

static void test_threads(void)
{
    static aclTensor *t[1000];
    for (int round = 0; round < 5; round++) {
        pthread_t other;
        void *failed;
        for (int i = 0; i < 1000; i++)
            CHECK((t[i] = vector(0, ACL_FLOAT, i)) != NULL);
        CHECK_EQ(pthread_create(&other, NULL, destroy_all, t), 0);
        pthread_join(other, &failed);
        CHECK(!failed);
    }
}

int main(void)
{
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream) ||
        aclrtMalloc((void **)&device, DEVICE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST)) {
        fprintf(stderr, "no device: %s\n", aclGetRecentErrMsg());
        return 1;
    }
    test_tensor_checks();
    test_getters();
    test_arrays();
    test_views();
    test_permutations();
    test_executors();
    test_fills();
    test_errors();
    test_threads();
    aclrtFree(device);
    aclrtDestroyStream(stream);
    aclFinalize();
    return check_done();
}

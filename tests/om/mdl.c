/* SPDX-License-Identifier: BSD-3-Clause */
/* The aclmdl calls on models made here: descriptions, data, executions, choices of sizes, memory of the caller,
 * threads, AIPP, and the codes of wrong use. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#include "acl/acl.h"
#include "graph/om.h"
#include "graph/operator.h"

static const float weight[6] = {1, -2, 3, -4, 5, -6};

enum kind { FIXED, BATCH, RANGE };

/* y = relu(x + w), z = x + w; x is [n, 6]. */
static void write_model(enum kind kind, const char *path)
{
    struct model *m = model_new();
    m->opset = 21;
    m->name = "sum";
    int s = kind == FIXED ? 0 : model_symbol(m, "batch", 1, kind == BATCH ? 4 : 100);
    struct type type = type_make(ACL_FLOAT, 2, (int64_t[]){kind == FIXED ? 2 : dim_symbol(s), 6});
    struct type row = type_make(ACL_FLOAT, 1, (int64_t[]){6});
    int32_t x = model_value(m, "x", &type), w = model_value(m, "w", &row), z = model_value(m, "z", &type),
            y = model_value(m, "y", &type);
    m->values[w].data = weight;
    m->values[w].bytes = sizeof weight;
    int32_t *ids = model_alloc(m, 8 * sizeof *ids);
    memcpy(ids, (int32_t[]){x, w, z, y, y, z}, 6 * sizeof *ids);
    struct node *nodes = model_alloc(m, 2 * sizeof *nodes);
    nodes[0] = (struct node){"add", "", "Add", 21, 2, 1, 0, ids, ids + 2, NULL, NULL};
    nodes[1] = (struct node){"relu", "", "Relu", 21, 1, 1, 0, ids + 2, ids + 3, NULL, NULL};
    m->main = (struct graph){m, "sum", 2, 1, 2, nodes, ids, ids + 4};
    static const int64_t sizes[] = {1, 2, 4};
    if (kind == BATCH)
        m->gears = (struct gears){GEARS_BATCH, 3, 1, sizes};
    CHECK_EQ(om_write(m, path), 0);
    model_free(m);
}

static float input_value(size_t i)
{
    return (float)(i % 11) - 5;
}

struct run {
    aclmdlDataset *in, *out;
    void *x, *y, *z;
};

static aclmdlDataset *dataset(size_t n, void *const *address, const size_t *bytes)
{
    aclmdlDataset *d = aclmdlCreateDataset();
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(aclmdlAddDatasetBuffer(d, aclCreateDataBuffer(address[i], bytes[i])), 0);
    return d;
}

static void drop(aclmdlDataset *d)
{
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(d); i++)
        aclDestroyDataBuffer(aclmdlGetDatasetBuffer(d, i));
    CHECK_EQ(aclmdlDestroyDataset(d), 0);
}

static struct run make_run(size_t rows, size_t extra)
{
    struct run r;
    size_t bytes = rows * 24;
    float host[64 * 6];
    for (size_t i = 0; i < rows * 6; i++)
        host[i] = input_value(i);
    void **all[] = {&r.x, &r.y, &r.z};
    for (int i = 0; i < 3; i++)
        CHECK_EQ(aclrtMalloc(all[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy(r.x, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    void *sizes = NULL;
    if (extra)
        CHECK_EQ(aclrtMalloc(&sizes, extra, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    r.in = dataset(extra ? 2 : 1, (void *[]){r.x, sizes}, (size_t[]){bytes, extra});
    r.out = dataset(2, (void *[]){r.y, r.z}, (size_t[]){bytes, bytes});
    return r;
}

static void check_run(const struct run *r, size_t rows)
{
    float y[64 * 6], z[64 * 6];
    CHECK_EQ(aclrtMemcpy(y, sizeof y, r->y, rows * 24, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(aclrtMemcpy(z, sizeof z, r->z, rows * 24, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    for (size_t i = 0; i < rows * 6; i++) {
        float sum = input_value(i) + weight[i % 6];
        CHECK(z[i] == sum && y[i] == (sum > 0 ? sum : 0));
    }
    CHECK_EQ(aclrtMemset(r->y, rows * 24, 0xee, rows * 24), 0);
    CHECK_EQ(aclrtMemset(r->z, rows * 24, 0xee, rows * 24), 0);
}

static void free_run(struct run *r)
{
    drop(r->in);
    drop(r->out);
    aclrtFree(r->x);
    aclrtFree(r->y);
    aclrtFree(r->z);
}

static void check_fixed(const char *path)
{
    uint32_t id;
    CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
    aclmdlDesc *desc = aclmdlCreateDesc();
    CHECK_EQ(aclmdlGetDesc(desc, id), 0);
    CHECK_EQ(aclmdlGetNumInputs(desc), 1);
    CHECK_EQ(aclmdlGetNumOutputs(desc), 2);
    CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), 48);
    CHECK_EQ(aclmdlGetOutputSizeByIndex(desc, 1), 48);
    CHECK_EQ(aclmdlGetOutputSizeByIndex(desc, 2), 0);
    CHECK_TEXT(aclGetRecentErrMsg(), "index 2, but the model has 2 outputs");
    CHECK_TEXT(aclmdlGetInputNameByIndex(desc, 0), "x");
    CHECK_EQ(aclmdlGetInputDataType(desc, 0), ACL_FLOAT);
    CHECK_EQ(aclmdlGetInputFormat(desc, 0), ACL_FORMAT_ND);
    size_t index = 9;
    CHECK_EQ(aclmdlGetOutputIndexByName(desc, "z", &index), 0);
    CHECK_EQ(index, 1);
    CHECK_EQ(aclmdlGetInputIndexByName(desc, "q", &index), ACL_ERROR_INVALID_PARAM);
    aclmdlIODims dims;
    CHECK_EQ(aclmdlGetInputDims(desc, 0, &dims), 0);
    CHECK(dims.dimCount == 2 && dims.dims[0] == 2 && dims.dims[1] == 6 && !strcmp(dims.name, "x"));
    CHECK_EQ(aclmdlGetCurOutputDims(desc, 0, &dims), 0);
    CHECK(dims.dimCount == 2 && dims.dims[0] == 2);
    aclmdlIODimsRange range;
    CHECK_EQ(aclmdlGetInputDimsRange(desc, 0, &range), 0);
    CHECK(range.rangeCount == 2 && range.range[0][0] == 2 && range.range[0][1] == 2);

    struct run r = make_run(2, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
        check_run(&r, 2);
    }
    aclrtStream a, b;
    CHECK_EQ(aclrtCreateStream(&a), 0);
    CHECK_EQ(aclrtCreateStream(&b), 0);
    struct run other = make_run(2, 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(aclmdlExecuteAsync(id, i % 2 ? r.in : other.in, i % 2 ? r.out : other.out, i % 2 ? a : b), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    check_run(&r, 2);
    check_run(&other, 2);
    CHECK_EQ(aclrtDestroyStream(a), 0);
    CHECK_EQ(aclrtDestroyStream(b), 0);

    /* more addresses than recordings are kept for */
    for (int i = 0; i < 20; i++) {
        struct run one = make_run(2, 0);
        CHECK_EQ(aclmdlExecute(id, one.in, one.out), 0);
        check_run(&one, 2);
        free_run(&one);
    }

    /* an output without an address gets one */
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.out, 0), NULL, 0);
    CHECK_EQ(aclmdlExecuteAsync(id, r.in, r.out, NULL), ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
    void *made = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(r.out, 0));
    CHECK(made && made != r.y);
    CHECK_EQ(aclGetDataBufferSizeV2(aclmdlGetDatasetBuffer(r.out, 0)), 48);
    CHECK_EQ(aclrtFree(made), 0);
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.out, 0), r.y, 48);

    /* wrong use */
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.in, 0), r.x, 47);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "input 0 (x) has 47 bytes, but the model takes 48");
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.in, 0), NULL, 48);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID);
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.in, 0), r.x, 48);
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.out, 1), r.z, 40);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_PARAM_INVALID);
    aclUpdateDataBuffer(aclmdlGetDatasetBuffer(r.out, 1), r.z, 48);
    aclmdlDataset *empty = aclmdlCreateDataset();
    CHECK_EQ(aclmdlExecute(id, empty, r.out), ACL_ERROR_GE_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "has 1 inputs, but the dataset holds 0");
    CHECK_EQ(aclmdlExecute(id, NULL, r.out), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlExecute(id + 100, r.in, r.out), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    CHECK_EQ(aclmdlSetDynamicBatchSize(id, r.in, 0, 2), ACL_ERROR_GE_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "has fixed sizes, not a choice of batch sizes");
    CHECK_EQ(aclmdlDestroyDataset(empty), 0);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
    check_run(&r, 2);

    aclmdlAttrValue_t value = {.mdlPriority = 3};
    CHECK_EQ(aclmdlSetAttribute(id, ACL_MDL_ATTR_PRIORITY_INT32, &value), 0);
    value.mdlPriority = 0;
    CHECK_EQ(aclmdlGetAttribute(id, ACL_MDL_ATTR_PRIORITY_INT32, &value), 0);
    CHECK_EQ(value.mdlPriority, 3);

    CHECK_EQ(aclmdlUnload(id), 0);
    CHECK_EQ(aclmdlUnload(id), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    CHECK_EQ(aclmdlGetDesc(desc, id), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    CHECK_EQ(aclmdlGetNumInputs(desc), 1); /* what was told stays */
    CHECK_EQ(aclmdlDestroyDesc(desc), 0);
    free_run(&r);
    free_run(&other);
}

static void check_memory(const char *path)
{
    size_t work, weights;
    CHECK_EQ(aclmdlQuerySize(path, &work, &weights), 0);
    CHECK(weights >= sizeof weight && work >= 48);
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    size_t work2, weights2;
    CHECK_EQ(aclmdlQuerySizeFromMem(bytes, size, &work2, &weights2), 0);
    CHECK(work == work2 && weights == weights2);
    void *w, *p;
    CHECK_EQ(aclrtMalloc(&w, work, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&p, weights, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    uint32_t id[5];
    struct run r = make_run(2, 0);
    CHECK_EQ(aclmdlLoadFromFileWithMem(path, &id[0], w, work, p, weights - 1),
             ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID);
    CHECK_EQ(aclmdlLoadFromFileWithMem(path, &id[0], w, work - 1, p, weights),
             ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID);
    CHECK_EQ(aclmdlLoadFromFileWithMem(path, &id[0], w, work, p, weights), 0);
    CHECK_EQ(aclmdlLoadFromMem(bytes, size, &id[1]), 0);
    CHECK_EQ(aclmdlLoadFromMemWithMem(bytes, size, &id[2], NULL, 0, NULL, 0), 0);
    memset(bytes, 0, sizeof bytes);
    aclmdlConfigHandle *h = aclmdlCreateConfigHandle();
    size_t type = ACL_MDL_LOAD_FROM_FILE;
    CHECK_EQ(aclmdlLoadWithConfig(h, &id[3]), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetConfigOpt(h, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type), 0);
    CHECK_EQ(aclmdlLoadWithConfig(h, &id[3]), ACL_ERROR_INVALID_PARAM);
    CHECK_TEXT(aclGetRecentErrMsg(), "lacks ACL_MDL_PATH_PTR");
    CHECK_EQ(aclmdlSetConfigOpt(h, ACL_MDL_PATH_PTR, &path, 3), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetConfigOpt(h, ACL_MDL_PATH_PTR, &path, sizeof path), 0);
    CHECK_EQ(aclmdlLoadWithConfig(h, &id[3]), 0);
    CHECK_EQ(aclmdlDestroyConfigHandle(h), 0);
    aclmdlExecConfigHandle *e = aclmdlCreateExecConfigHandle();
    int32_t limit = 5000;
    CHECK_EQ(aclmdlSetExecConfigOpt(e, ACL_MDL_STREAM_SYNC_TIMEOUT, &limit, sizeof limit), 0);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(i == 3 ? aclmdlExecuteV2(id[i], r.in, r.out, NULL, e) : aclmdlExecute(id[i], r.in, r.out), 0);
        check_run(&r, 2);
    }
    CHECK_EQ(aclmdlDestroyExecConfigHandle(e), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(aclmdlUnload(id[i]), 0);
    CHECK_EQ(aclmdlLoadFromMem(bytes, size, &id[4]), ACL_ERROR_GE_PARAM_INVALID); /* zeros */
    CHECK_EQ(aclmdlLoadFromFile("/nowhere/m.om", &id[4]), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    CHECK_EQ(aclmdlLoadFromFile(NULL, &id[4]), ACL_ERROR_INVALID_PARAM);
    free_run(&r);
    aclrtFree(w);
    aclrtFree(p);
}

static void check_batch(const char *path)
{
    uint32_t id;
    CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
    aclmdlDesc *desc = aclmdlCreateDesc();
    CHECK_EQ(aclmdlGetDesc(desc, id), 0);
    CHECK_EQ(aclmdlGetNumInputs(desc), 2);
    size_t index;
    CHECK_EQ(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index), 0);
    CHECK_EQ(index, 1);
    CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), 4 * 24);
    aclmdlBatch batch;
    CHECK_EQ(aclmdlGetDynamicBatch(desc, &batch), 0);
    CHECK(batch.batchCount == 3 && batch.batch[0] == 1 && batch.batch[2] == 4);
    aclmdlHW hw;
    CHECK_EQ(aclmdlGetDynamicHW(desc, (size_t)-1, &hw), 0);
    CHECK_EQ(hw.hwCount, 0);
    aclmdlIODims dims;
    CHECK_EQ(aclmdlGetInputDims(desc, 0, &dims), 0);
    CHECK_EQ(dims.dims[0], -1);
    struct run r = make_run(4, aclmdlGetInputSizeByIndex(desc, 1));
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    CHECK_EQ(aclmdlSetDynamicBatchSize(id, r.in, index, 3), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "1; 2; 4");
    CHECK_EQ(aclmdlSetDynamicBatchSize(id, r.in, 0, 2), ACL_ERROR_GE_PARAM_INVALID);
    CHECK_EQ(aclmdlSetDynamicBatchSize(id, r.in, index, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetDynamicHWSize(id, r.in, index, 1, 1), ACL_ERROR_GE_PARAM_INVALID);
    for (size_t n = 1; n <= 4; n *= 2) {
        CHECK_EQ(aclmdlSetDynamicBatchSize(id, r.in, index, n), 0);
        CHECK_EQ(aclmdlGetCurOutputDims(desc, 1, &dims), 0);
        CHECK(dims.dimCount == 2 && dims.dims[0] == (int64_t)n && dims.dims[1] == 6);
        CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
        check_run(&r, n);
    }
    aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(r.in, 1)));
    free_run(&r);
    CHECK_EQ(aclmdlDestroyDesc(desc), 0);
    CHECK_EQ(aclmdlUnload(id), 0);
}

static void check_range(const char *path)
{
    uint32_t id;
    CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
    aclmdlDesc *desc = aclmdlCreateDesc();
    CHECK_EQ(aclmdlGetDesc(desc, id), 0);
    aclmdlIODimsRange range;
    CHECK_EQ(aclmdlGetInputDimsRange(desc, 0, &range), 0);
    CHECK(range.range[0][0] == 1 && range.range[0][1] == 100 && range.range[1][1] == 6);
    CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), 2400);
    aclmdlIODims dims;
    CHECK_EQ(aclmdlGetCurOutputDims(desc, 0, &dims), ACL_ERROR_API_NOT_SUPPORT);
    for (size_t n = 1; n < 40; n += 7) {
        struct run r = make_run(n, 0);
        aclTensorDesc *t = aclCreateTensorDesc(ACL_FLOAT, 2, (int64_t[]){(int64_t)n, 6}, ACL_FORMAT_ND);
        if (n % 2)
            CHECK_EQ(aclmdlSetDatasetTensorDesc(r.in, t, 0), 0);
        CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
        aclTensorDesc *told = aclmdlGetDatasetTensorDesc(r.out, 1);
        CHECK(told && aclGetTensorDescNumDims(told) == 2 && aclGetTensorDescDim(told, 0) == (int64_t)n);
        check_run(&r, n);
        CHECK_EQ(aclmdlSetDatasetTensorDesc(r.in, NULL, 0), 0);
        aclDestroyTensorDesc(t);
        free_run(&r);
    }
    struct run r = make_run(2, 0);
    aclTensorDesc *wrong = aclCreateTensorDesc(ACL_FLOAT, 2, (int64_t[]){2, 5}, ACL_FORMAT_ND);
    CHECK_EQ(aclmdlSetDatasetTensorDesc(r.in, wrong, 0), 0);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "size 1 of input 0 (x) is 5, but the model takes 6");
    aclTensorDesc *many = aclCreateTensorDesc(ACL_FLOAT, 2, (int64_t[]){101, 6}, ACL_FORMAT_ND);
    CHECK_EQ(aclmdlSetDatasetTensorDesc(r.in, many, 0), 0);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "converted for 1 to 100");
    aclDestroyTensorDesc(wrong);
    aclDestroyTensorDesc(many);
    free_run(&r);
    CHECK_EQ(aclmdlDestroyDesc(desc), 0);
    CHECK_EQ(aclmdlUnload(id), 0);
}

/* ---- threads ---- */
static uint32_t shared;

static void *work(void *arg)
{
    (void)arg;
    aclrtStream stream;
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    struct run r = make_run(2, 0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(aclmdlExecuteAsync(shared, r.in, r.out, stream), 0);
        CHECK_EQ(aclrtSynchronizeStream(stream), 0);
        if (i % 10 == 0)
            check_run(&r, 2);
    }
    free_run(&r);
    CHECK_EQ(aclrtDestroyStream(stream), 0);
    return NULL;
}

static void check_threads(const char *path)
{
    pthread_t thread[4];
    CHECK_EQ(aclmdlLoadFromFile(path, &shared), 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    CHECK_EQ(aclmdlUnload(shared), 0);
}

/* Executions that are queued while the model is unloaded end first. */
static void check_unload(const char *path)
{
    struct run r = make_run(2, 0);
    aclrtStream stream;
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    for (int i = 0; i < 20; i++) {
        uint32_t id;
        CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
        CHECK_EQ(aclmdlExecuteAsync(id, r.in, r.out, stream), 0);
        CHECK_EQ(aclmdlUnload(id), 0);
    }
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    check_run(&r, 2);
    free_run(&r);
    CHECK_EQ(aclrtDestroyStream(stream), 0);
}

/* A device that was reset takes the model's memory with it: an error, and the model can be loaded again. */
static void check_reset(const char *path)
{
    uint32_t id;
    CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
    struct run r = make_run(2, 0);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
    CHECK_EQ(aclrtResetDeviceForce(0), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "was reset since the model was loaded");
    CHECK_EQ(aclmdlUnload(id), 0);
    drop(r.in);
    drop(r.out);
    CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
    r = make_run(2, 0);
    CHECK_EQ(aclmdlExecute(id, r.in, r.out), 0);
    check_run(&r, 2);
    CHECK_EQ(aclmdlUnload(id), 0);
    free_run(&r);
}

int main(void)
{
    char path[3][64];
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    for (int k = FIXED; k <= RANGE; k++) {
        snprintf(path[k], sizeof path[k], "/tmp/test_om_mdl_%d_%d.om", (int)getpid(), k);
        write_model((enum kind)k, path[k]);
    }
    check_fixed(path[FIXED]);
    check_memory(path[FIXED]);
    check_batch(path[BATCH]);
    check_range(path[RANGE]);
    check_threads(path[FIXED]);
    check_unload(path[FIXED]);
    check_reset(path[FIXED]);
    for (int k = FIXED; k <= RANGE; k++)
        unlink(path[k]);
    CHECK_EQ(aclrtResetDevice(0), 0);
    CHECK_EQ(aclFinalize(), 0);
    return check_done();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators in graphs: arguments and workspaces as captured, new contents at each execution, groups whose operators are
 * replaced; `graph bench` measures an execution beside enqueuing the same operators. */
#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "check.h"

#include <time.h>

enum { CHAIN = 50, FLOATS = 4 };

static aclrtStream stream;
static float *device;

static aclTensor *tensor(float *at, uint64_t rank, const int64_t *dim)
{
    return aclCreateTensor(dim, rank, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dim, rank, at);
}

static void add(float *x, float *y, float *out, float alpha_value)
{
    int64_t n = FLOATS;
    aclTensor *a = tensor(x, 1, &n), *b = tensor(y, 1, &n), *c = tensor(out, 1, &n);
    aclScalar *alpha = aclCreateScalar(&alpha_value, ACL_FLOAT);
    uint64_t size;
    aclOpExecutor *executor;
    CHECK_EQ(aclnnAddGetWorkspaceSize(a, b, alpha, c, &size, &executor), 0);
    CHECK_EQ(aclnnAdd(NULL, 0, executor, stream), 0);
    aclDestroyTensor(a);
    aclDestroyTensor(b);
    aclDestroyTensor(c);
    aclDestroyScalar(alpha);
}

static void put(float *at, float value)
{
    float v[FLOATS] = {value, value, value, value};
    CHECK_EQ(aclrtMemcpy(at, sizeof v, v, sizeof v, ACL_MEMCPY_HOST_TO_DEVICE), 0);
}

static float get(const float *at)
{
    float v;
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    CHECK_EQ(aclrtMemcpy(&v, sizeof v, at, sizeof v, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return v;
}

static aclmdlRI capture(void (*work)(void))
{
    aclmdlRI graph = NULL;
    CHECK_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
    work();
    CHECK_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
    return graph;
}

/* device[0..3] += 50 * device[4..7] */
static void chain(void)
{
    for (int i = 0; i < CHAIN; i++)
        add(device, device + FLOATS, device, 1);
}

static void operators(void)
{
    put(device, 0);
    put(device + FLOATS, 1);
    aclmdlRI graph = capture(chain);
    CHECK(get(device) == 0);
    for (int i = 1; i < 4; i++) {
        put(device + FLOATS, (float)i); /* what an execution reads is what lies there then */
        put(device, 0);
        CHECK_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
        CHECK(get(device) == (float)(CHAIN * i));
    }
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

static void *workspace;

/* A sum over a transposed product: operators with temporaries. */
static void sum_of_product(void)
{
    enum { N = 64 };
    int64_t square[] = {N, N}, turned[] = {1, N}, one = 1, axes[] = {0, 1};
    aclTensor *x = tensor(device + 1024, 2, square),
              *y = aclCreateTensor(square, 2, ACL_FLOAT, turned, 0, ACL_FORMAT_ND, square, 2, device + 1024),
              *product = tensor(device + 1024 + N * N, 2, square), *sum = tensor(device + 8, 1, &one);
    aclIntArray *dims = aclCreateIntArray(axes, 2);
    uint64_t size;
    aclOpExecutor *executor;
    CHECK_EQ(aclnnMatmulGetWorkspaceSize(x, y, product, 0, &size, &executor), 0);
    CHECK(size <= 1 << 20);
    CHECK_EQ(aclnnMatmul(workspace, 1 << 20, executor, stream), 0);
    int64_t none = 1;
    aclTensor *flat = aclCreateTensor(&none, 0, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, &one, 1, device + 8);
    CHECK_EQ(aclnnReduceSumGetWorkspaceSize(product, dims, false, ACL_FLOAT, flat, &size, &executor), 0);
    CHECK(size <= 1 << 20);
    CHECK_EQ(aclnnReduceSum((char *)workspace + (1 << 20), 1 << 20, executor, stream), 0);
    aclDestroyTensor(x);
    aclDestroyTensor(y);
    aclDestroyTensor(product);
    aclDestroyTensor(sum);
    aclDestroyTensor(flat);
    aclDestroyIntArray(dims);
}

static void workspaces(void)
{
    static float ones[64 * 64];
    CHECK_EQ(aclrtMalloc(&workspace, 2 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    aclmdlRI graph = capture(sum_of_product);
    for (int turn = 1; turn < 4; turn++) {
        for (int i = 0; i < 64 * 64; i++)
            ones[i] = (float)turn;
        CHECK_EQ(aclrtMemcpy(device + 1024, sizeof ones, ones, sizeof ones, ACL_MEMCPY_HOST_TO_DEVICE), 0);
        CHECK_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
        CHECK(get(device + 8) == 64.0f * 64 * 64 * (float)(turn * turn));
    }
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(aclrtFree(workspace), 0);
}

static aclrtTaskGrp group;

static void with_group(void)
{
    add(device, device + FLOATS, device + 2 * FLOATS, 1);
    CHECK_EQ(aclmdlRICaptureTaskGrpBegin(stream), 0);
    add(device + 2 * FLOATS, device + FLOATS, device + 2 * FLOATS, 1);
    CHECK_EQ(aclmdlRICaptureTaskGrpEnd(stream, &group), 0);
}

/* The group's operator gets another alpha and another input. */
static void update(void)
{
    put(device, 1);
    put(device + FLOATS, 10);
    put(device + 3 * FLOATS, 100);
    aclmdlRI graph = capture(with_group);
    CHECK_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
    CHECK(get(device + 2 * FLOATS) == 21);
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(stream, group), 0);
    add(device + 2 * FLOATS, device + 3 * FLOATS, device + 2 * FLOATS, 2);
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(stream), 0);
    CHECK_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
    CHECK(get(device + 2 * FLOATS) == 211);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* µs of the chain, enqueued and executed as a graph: minimum of many, in turn. */
static void bench(void)
{
    enum { TURNS = 2000 };
    double eager = 1e9, graphed = 1e9;
    put(device, 0);
    put(device + FLOATS, 0);
    aclmdlRI graph = capture(chain);
    for (int i = 0; i < TURNS; i++) {
        double begin = now();
        chain();
        aclrtSynchronizeStream(stream);
        double middle = now();
        aclmdlRIExecuteAsync(graph, stream);
        aclrtSynchronizeStream(stream);
        double end = now();
        eager = middle - begin < eager ? middle - begin : eager;
        graphed = end - middle < graphed ? end - middle : graphed;
    }
    printf("%d adds of %d floats: enqueued %.2f us, as a graph %.2f us, ratio %.1f\n", CHAIN, FLOATS, eager, graphed,
           eager / graphed);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

int main(int argc, char **argv)
{
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    CHECK_EQ(aclrtMalloc((void **)&device, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    if (argc > 1 && strcmp(argv[1], "bench") == 0) {
        bench();
        return check_done();
    }
    operators();
    workspaces();
    update();
    return check_done();
}

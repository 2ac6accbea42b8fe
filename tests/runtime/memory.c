/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory: what is handed out, what is refused, reuse, out of memory and after, copies and fills of every kind.
 */
#include "child.h"

#include <pthread.h>

#include "anynpu/extension.h"
#include "task.h"

const struct anynpu_extension *anynpu_extension(void);

enum { MB = 1 << 20 };

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static size_t free_bytes(void)
{
    size_t left = 0, total = 0;
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &left, &total), 0);
    return left;
}

static void basics(void)
{
    void *a = NULL, *b = NULL, *base = NULL;
    size_t size = 0, before = free_bytes();
    aclrtPtrAttributes attributes;
    CHECK_EQ(aclrtMalloc(&a, 1000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMallocAlign32(&b, 5 * MB + 1,
                                (aclrtMemMallocPolicy)(ACL_MEM_MALLOC_HUGE_FIRST | ACL_MEM_TYPE_HIGH_BAND_WIDTH)),
             0);
    CHECK_EQ((uintptr_t)a % 512, 0);
    CHECK_EQ((uintptr_t)b % 512, 0);
    CHECK_EQ(free_bytes(), before - 1024 - (5 * MB + 512));
    CHECK_EQ(aclrtMemGetAddressRange((char *)b + 4 * MB, &base, &size), 0);
    CHECK(base == b);
    CHECK_EQ(size, 5 * MB + 512);
    CHECK_EQ(aclrtPointerGetAttributes((char *)b + 100, &attributes), 0);
    CHECK_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    CHECK_EQ(attributes.location.id, 0);
    CHECK_EQ(aclrtPointerGetAttributes(&size, &attributes), 0);
    CHECK_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    CHECK_EQ(aclrtFree((char *)b + 512), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(b), 0);
    CHECK_EQ(aclrtFree(b), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "freed twice");
    CHECK_EQ(aclrtFree(&size), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(free_bytes(), before);
    CHECK_EQ(aclrtMalloc(&a, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMalloc(NULL, 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMalloc(&a, 10, (aclrtMemMallocPolicy)77), ACL_ERROR_RT_PARAM_INVALID);
}

static void exhaustion(void)
{
    void *a = NULL;
    const size_t absurd[] = {SIZE_MAX, SIZE_MAX - 511, (size_t)1 << 63, (size_t)65 << 30};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        CHECK_EQ(aclrtMalloc(&a, absurd[i], ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
        CHECK(a == NULL);
    }
    CHECK_TEXT(aclGetRecentErrMsg(), "EL0004");
    CHECK_EQ(aclrtMalloc(&a, MB, ACL_MEM_MALLOC_HUGE_FIRST), 0); /* works on */
    CHECK_EQ(aclrtMemset(a, MB, 1, MB), 0);
    CHECK_EQ(aclrtFree(a), 0);
}

/* More than the machine has, with a device that claims to have it: refused, not killed. */
static void machine_exhausted(void)
{
    void *a[64] = {NULL};
    int n = 0, status = 0;
    aclrtSetDevice(0);
    while (n < 64 && (status = aclrtMalloc(&a[n], (size_t)32 << 30, ACL_MEM_MALLOC_HUGE_FIRST)) == 0)
        n++;
    CHECK_EQ(status, ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_TEXT(aclGetRecentErrMsg(), "the machine (or its cgroup) has only");
    while (n > 0)
        CHECK_EQ(aclrtFree(a[--n]), 0);
    CHECK_EQ(aclrtMalloc(&a[0], MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
}

static void capacity(void)
{
    void *a, *b;
    size_t left, total;
    aclrtSetDevice(0);
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &left, &total), 0);
    CHECK_EQ(total, 64 * MB);
    CHECK_EQ(aclrtMalloc(&a, 40 * MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&b, 30 * MB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_TEXT(aclGetRecentErrMsg(), "out of memory");
    CHECK_EQ(aclrtMalloc(&b, 24 * MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(free_bytes(), 0);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(aclrtFree(b), 0);
    CHECK_EQ(aclrtMalloc(&a, 64 * MB, ACL_MEM_MALLOC_HUGE_FIRST), 0); /* merged again */
}

static void injected(void)
{
    void *a, *b, *c;
    aclrtSetDevice(0);
    CHECK_EQ(aclrtMalloc(&a, MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&b, MB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(aclrtMalloc(&b, 3 * MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&c, MB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION); /* oom:4m */
    CHECK_EQ(aclrtFree(b), 0);
    CHECK_EQ(aclrtMalloc(&c, MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
}

static uint32_t random_next(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* Random sizes, random order; blocks never overlap, contents stay, all memory comes back. */
static void *stress(void *arg)
{
    enum { BLOCKS = 200, TURNS = 20000 };
    struct {
        unsigned char *p;
        size_t size;
        unsigned char mark;
    } block[BLOCKS] = {{0}};
    uint32_t state = (uint32_t)(uintptr_t)arg;
    CHECK_EQ(aclrtSetDevice(0), 0);
    int wrong = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        size_t i = random_next(&state) >> 8 & 127;
        if (block[i].p) {
            unsigned char *p = (unsigned char *)device_address(block[i].p);
            wrong += p[0] != block[i].mark || p[block[i].size - 1] != block[i].mark;
            wrong += aclrtFree(block[i].p) != 0;
            block[i].p = NULL;
        } else {
            size_t size = 1 + (random_next(&state) >> ((random_next(&state) >> 24) % 20 + 10));
            wrong += aclrtMalloc((void **)&block[i].p, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0;
            block[i].size = size;
            block[i].mark = (unsigned char)(random_next(&state) >> 16);
            unsigned char *p = (unsigned char *)device_address(block[i].p);
            p[0] = p[size - 1] = block[i].mark;
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        if (block[i].p)
            wrong += aclrtFree(block[i].p) != 0;
    CHECK_EQ(wrong, 0);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[3];
    size_t before = free_bytes();
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, stress, (void *)(i * 7919 + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    CHECK_EQ(free_bytes(), before);
}

static void copies(void)
{
    enum { N = 3 * MB + 77 };
    unsigned char *host = malloc(N), *back = malloc(N), *pinned = NULL;
    void *a = NULL, *b = NULL;
    aclrtStream s;
    for (int i = 0; i < N; i++)
        host[i] = (unsigned char)(i * 31 + i / 251);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtMalloc(&a, N, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&b, N, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMallocHost((void **)&pinned, N), 0);
    CHECK_EQ(aclrtMemcpy(a, N, host, N, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(b, N, a, N, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(back, N, b, N, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK(memcmp(host, back, N) == 0);
    memset(back, 0, N);
    CHECK_EQ(aclrtMemcpy(pinned, N, host, N, ACL_MEMCPY_HOST_TO_HOST), 0);
    CHECK_EQ(aclrtMemset(a, N, 0, N), 0);
    CHECK_EQ(aclrtMemcpy(a, N, pinned, N, ACL_MEMCPY_DEFAULT), 0);
    CHECK_EQ(aclrtMemcpy(back, N, a, N, ACL_MEMCPY_DEFAULT), 0);
    CHECK(memcmp(host, back, N) == 0);
    /* asynchronous, behind a task; a pageable source may be changed after the call */
    push(s, task_sleep, 10000, LARGE);
    char small[100] = "first";
    CHECK_EQ(aclrtMemcpyAsync(a, N, small, 100, ACL_MEMCPY_HOST_TO_DEVICE, s), 0);
    strcpy(small, "second");
    CHECK_EQ(aclrtMemcpyAsync(b, N, a, 100, ACL_MEMCPY_DEVICE_TO_DEVICE, s), 0);
    CHECK_EQ(aclrtMemcpyAsync(back, N, b, 100, ACL_MEMCPY_DEVICE_TO_HOST, s), 0); /* pageable: finished on return */
    CHECK_TEXT((char *)back, "first");
    push(s, task_gate, 1, LARGE);
    CHECK_EQ(aclrtMemsetAsync(b, N, 0x41, 10, s), 0);
    CHECK_EQ(aclrtMemcpyAsync(pinned, N, b, 10, ACL_MEMCPY_DEVICE_TO_HOST, s), 0);
    CHECK(pinned[0] != 0x41); /* pinned: later */
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(pinned[9], 0x41);
    /* overlapping */
    CHECK_EQ(aclrtMemcpy(a, N, host, N, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy((char *)a + 1000, N - 1000, a, N - 1000, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(back, N, (char *)a + 1000, N - 1000, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK(memcmp(host, back, N - 1000) == 0);
    /* words */
    CHECK_EQ(aclrtMemsetD32(a, N, 0x01020304, 1000), 0);
    CHECK_EQ(aclrtMemcpy(back, N, a, 4000, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK(back[0] == 4 && back[3999] == 1 && back[3998] == 2);
    CHECK_EQ(aclrtMemsetD32((char *)a + 2, N, 1, 1), ACL_ERROR_RT_ADDR_UNALIGNED);
    CHECK_EQ(aclrtMemsetD32(a, N, 1, SIZE_MAX / 2), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(aclrtFree(b), 0);
    CHECK_EQ(aclrtFreeHost(pinned), 0);
    CHECK_EQ(aclrtDestroyStream(s), 0);
    free(host);
    free(back);
}

static void rectangles(void)
{
    char host[10][16], back[10][8];
    void *a = NULL;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 16; x++)
            host[y][x] = (char)(y * 16 + x);
    CHECK_EQ(aclrtMalloc(&a, 10 * 12, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy2d(a, 12, host[0] + 3, 16, 7, 10, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy2dAsync(back, 8, a, 12, 7, 10, ACL_MEMCPY_DEVICE_TO_HOST, NULL), 0);
    CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
    int wrong = 0;
    for (int y = 0; y < 10; y++)
        wrong += memcmp(back[y], host[y] + 3, 7) != 0;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(aclrtMemcpy2d(a, 6, host, 16, 7, 10, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy2d(a, 12, host, 16, 7, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy2d(a, SIZE_MAX / 2, host, SIZE_MAX / 2, 7, 5, ACL_MEMCPY_HOST_TO_DEVICE),
             ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy2d(a, 12, host, 16, 0, 5, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(a), 0);
}

static void refused(void)
{
    char host[100];
    void *a = NULL;
    CHECK_EQ(aclrtMalloc(&a, 512, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy(a, 10, host, 11, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "count 11 is greater than destMax 10");
    CHECK_EQ(aclrtMemcpy((char *)a + 500, 100, host, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "exceed its block of 512 bytes by 88");
    CHECK_EQ(aclrtMemcpy(host, 100, host, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "is not device memory");
    CHECK_EQ(aclrtMemcpy(host, 100, a, 600, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy(NULL, 100, a, 100, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMemcpy(a, 100, NULL, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMemcpy(a, 100, host, 0, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy(a, 100, host, 10, (aclrtMemcpyKind)42), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemset(a, 10, 0, 11), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemset(a, 1000, 0, 1000), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(aclrtMemcpy(a, 100, host, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID); /* freed */
}

static void host_memory(void)
{
    void *p = NULL, *device = NULL;
    aclrtPtrAttributes attributes;
    aclrtMallocAttribute attr = {ACL_RT_MEM_ATTR_VA_FLAG, {.vaFlag = 1}};
    aclrtMallocConfig config = {&attr, 1};
    CHECK_EQ(aclrtMallocHost(&p, 5000), 0);
    CHECK_EQ(aclrtPointerGetAttributes((char *)p + 4999, &attributes), 0);
    CHECK_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    CHECK_EQ(aclrtFreeHost((char *)p + 8), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFreeHost(p), 0);
    CHECK_EQ(aclrtFreeHost(p), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMallocHost(&p, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMallocHost(&p, SIZE_MAX), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(aclrtMallocHostWithCfg(&p, 100, &config), 0);
    CHECK_EQ(aclrtFreeHost(p), 0);
    char *own = aligned_alloc(4096, 8192);
    CHECK_EQ(aclrtHostRegister(own, 8192, ACL_HOST_REGISTER_MAPPED, &device), 0);
    CHECK_EQ(aclrtHostRegister(own + 4096, 4096, ACL_HOST_REGISTER_MAPPED, &device),
             ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK_EQ(aclrtMemset(device, 8192, 7, 8192), 0);
    CHECK_EQ(own[8191], 7);
    CHECK_EQ(aclrtHostGetDevicePointer(own, &device, 0), 0);
    CHECK_EQ(aclrtHostUnregister(own), 0);
    CHECK_EQ(aclrtHostUnregister(own), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK_EQ(aclrtHostGetDevicePointer(own, &device, 0), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK_EQ(aclrtHostRegisterV2(own, 8192, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED), 0);
    CHECK_EQ(aclrtHostUnregister(own), 0);
    CHECK_EQ(aclrtHostRegisterV2(own, 8192, 0x40), ACL_ERROR_RT_PARAM_INVALID);
    free(own);
}

static void batches(void)
{
    char host[3][8] = {"one", "two", "three"}, back[3][8];
    void *a = NULL, *dst[3], *src[3];
    size_t max[3] = {8, 8, 8}, size[3] = {4, 4, 6}, index = 0, bad = 0;
    aclrtMemcpyBatchAttr in = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}, .srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST}},
                         out = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_HOST}, .srcLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}};
    CHECK_EQ(aclrtMalloc(&a, 512, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    for (int i = 0; i < 3; i++) {
        dst[i] = (char *)a + 8 * i;
        src[i] = host[i];
    }
    CHECK_EQ(aclrtMemcpyBatch(dst, max, src, size, 3, &in, &index, 1, &bad), 0);
    CHECK_EQ(bad, SIZE_MAX);
    for (int i = 0; i < 3; i++)
        src[i] = back[i];
    CHECK_EQ(aclrtMemcpyBatchAsync(src, max, dst, size, 3, &out, &index, 1, &bad, NULL), 0);
    CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
    CHECK_TEXT(back[2], "three");
    size[1] = 9;
    CHECK_EQ(aclrtMemcpyBatch(src, max, dst, size, 3, &out, &index, 1, &bad), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(bad, 1);
    CHECK_EQ(aclrtFree(a), 0);
}

static void reductions(void)
{
    int32_t x[4] = {1, -2, 2147483647, 4}, y[4] = {10, 20, 1, -4}, z[4];
    void *a = NULL, *b = NULL;
    CHECK_EQ(aclrtMalloc(&a, 16, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&b, 16, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy(a, 16, x, 16, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(b, 16, y, 16, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtReduceAsync(a, b, 16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, NULL, NULL), 0);
    CHECK_EQ(aclrtCmoAsync(a, 16, ACL_RT_CMO_TYPE_PREFETCH, NULL), 0);
    CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
    CHECK_EQ(aclrtMemcpy(z, 16, a, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK(z[0] == 11 && z[1] == 18 && z[2] == INT32_MIN && z[3] == 0);
    CHECK_EQ(aclrtReduceAsync(a, b, 16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_DOUBLE, NULL, NULL),
             ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(aclrtReduceAsync(a, b, 15, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_INT32, NULL, NULL),
             ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(aclrtFree(b), 0);
}

static void views(void)
{
    const struct anynpu_extension *extension = anynpu_extension();
    char *a = NULL;
    CHECK_EQ(aclrtMalloc((void **)&a, 1000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    char *view = extension->host_view(a + 10, 100);
    CHECK(view != NULL);
    view[0] = 42;
    char back = 0;
    CHECK_EQ(aclrtMemcpy(&back, 1, a + 10, 1, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(back, 42);
    CHECK(extension->host_view(a + 10, 5000) == NULL);
    CHECK(extension->host_view(&back, 1) == NULL);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK(extension->host_view(a + 10, 100) == NULL);
}

/* Guard mode: copies work, tasks reach the memory at another address, the host faults with an explanation. */
static void guarded(void)
{
    char *a = NULL, back = 0;
    aclrtSetDevice(0);
    CHECK_EQ(aclrtMalloc((void **)&a, 1000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemset(a, 1000, 9, 1000), 0);
    CHECK_EQ(aclrtMemcpy(&back, 1, a + 999, 1, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(back, 9);
    CHECK((char *)device_address(a) != a);
    CHECK_EQ(((char *)device_address(a))[5], 9);
    CHECK(anynpu_extension()->host_view(a, 10) == NULL);
    CHECK_EQ(aclrtMemcpy(a, 1, a + 1, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
    basics();
    copies();
    rectangles();
    if (check_failures)
        return;
    *(volatile char *)a = 1;
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"capacity", capacity},
                                        {"injected", injected},
                                        {"guarded", guarded},
                                        {"machine_exhausted", machine_exhausted},
                                        {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_EQ(aclrtSetDevice(0), 0);
    basics();
    exhaustion();
    copies();
    rectangles();
    refused();
    host_memory();
    batches();
    reductions();
    views();
    threads();
    CHECK_EQ(aclrtResetDevice(0), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    basics();
    CHECK_CHILD("capacity", "ANYNPU_MEMORY=64m");
    CHECK_CHILD("injected", "ANYNPU_FAULT=malloc:2,oom:4m");
#ifdef __SANITIZE_THREAD__ /* which leaves less room for addresses */
    CHECK_CHILD("machine_exhausted", "ANYNPU_MEMORY=256g");
#else
    CHECK_CHILD("machine_exhausted", "ANYNPU_MEMORY=1t");
#endif
    int ended = child_run("guarded", "ANYNPU_GUARD=1");
    CHECK(sanitized ? ended != 0 : ended == -SIGSEGV); /* sanitizers turn the signal into an exit */
    CHECK_TEXT(child_output, "the host touched memory of NPU device 0");
    return check_done();
}

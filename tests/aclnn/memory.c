/* SPDX-License-Identifier: BSD-3-Clause */
/* Every allocation of the host in turn fails: handles come back NULL or operators answer a status with a text, and
 * afterwards all works as before. Sanitizers own malloc, so the test does nothing under them. */
#define _GNU_SOURCE
#include "acl/acl.h"
#include "aclnnop/aclnn_foreach_add_scalar_list.h"
#include "aclnnop/aclnn_inplace_copy.h"
#include "aclnnop/aclnn_inplace_one.h"
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

static _Thread_local long left = -1; /* allocations of this thread until one fails; -1: none */

static int fails(void)
{
    return left >= 0 && left-- == 0;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const int possible = 0;
#else
static const int possible = 1;
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_memalign(size_t, size_t);

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

EXPORTED void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

EXPORTED void *aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : __libc_memalign(align, size);
}
#endif

static aclrtStream stream;
static char *memory;
enum { LIST = 300 };

/* Things that need memory: more objects than freelists hold, long arrays, a plan larger than its first block, an
 * executor kept. Returns the first status that is not 0, or 1 when a handle could not be made. */
static int work(void)
{
    static const int64_t long_array[400];
    aclTensor *in[LIST], *out[LIST];
    aclScalar *by[LIST];
    aclTensorList *x = NULL, *y = NULL;
    aclScalarList *s = NULL;
    aclIntArray *ints = aclCreateIntArray(long_array, 400);
    int made = 0, status = 1;
    int64_t four = 4;
    float one = 1;
    uint64_t size;
    aclOpExecutor *executor;
    for (; made < LIST; made++) {
        in[made] = aclCreateTensor(&four, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, memory + made * 16);
        out[made] = aclCreateTensor(&four, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, memory + (LIST + made) * 16);
        by[made] = aclCreateScalar(&one, ACL_FLOAT);
        if (!in[made] || !out[made] || !by[made])
            break;
    }
    if (made == LIST && ints) {
        status = aclnnInplaceOneGetWorkspaceSize(in[0], &size, &executor);
        if (!status)
            status = aclnnInplaceOne(NULL, size, executor, stream);
        if (!status)
            status = aclnnInplaceCopyGetWorkspaceSize(out[1], in[0], &size, &executor);
        if (!status) {
            status = aclSetAclOpExecutorRepeatable(executor);
            if (!status)
                status = aclnnInplaceCopy(NULL, size, executor, stream);
            aclDestroyAclOpExecutor(executor);
        }
    }
    if (!status) {
        x = aclCreateTensorList((const aclTensor *const *)in, LIST);
        y = aclCreateTensorList((const aclTensor *const *)out, LIST);
        s = aclCreateScalarList((const aclScalar *const *)by, LIST);
        status = !x || !y || !s;
        if (!status)
            status = aclnnForeachAddScalarListGetWorkspaceSize(x, s, y, &size, &executor);
        if (!status)
            status = aclnnForeachAddScalarList(memory + 65536, size, executor, stream);
    }
    for (int i = 0; i < made && i < LIST; i++) {
        if (!x)
            aclDestroyTensor(in[i]);
        if (!y)
            aclDestroyTensor(out[i]);
        if (!s)
            aclDestroyScalar(by[i]);
    }
    if (made < LIST) {
        aclDestroyTensor(in[made]);
        if (in[made])
            aclDestroyTensor(out[made]);
    }
    aclDestroyTensorList(x);
    aclDestroyTensorList(y);
    aclDestroyScalarList(s);
    aclDestroyIntArray(ints);
    return status;
}

static long failures; /* how many allocations were made to fail */

static void *thread(void *arg)
{
    (void)arg;
    aclrtSetDevice(0);
    aclGetRecentErrMsg(); /* what the runtime needs for itself in a thread is there */
    for (long nth = 0; nth < 10000; nth++) {
        left = nth;
        int status = work();
        bool failed = left < 0;
        left = -1;
        if (!failed) {
            CHECK_EQ(status, 0);
            return NULL;
        }
        failures++;
        if (status) /* an allocation that something could do without is no error */
            CHECK(aclGetRecentErrMsg() != NULL);
        CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    }
    CHECK(!"it never came through");
    return NULL;
}

int main(void)
{
    if (!possible) {
        puts("not under sanitizers");
        return 0;
    }
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream) ||
        aclrtMalloc((void **)&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST)) {
        fprintf(stderr, "no device: %s\n", aclGetRecentErrMsg());
        return 1;
    }
    for (int i = 0; i < 3; i++) { /* fresh threads have empty freelists */
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
        pthread_join(t, NULL);
    }
    CHECK(failures > 5);
    printf("%ld allocations failed\n", failures);
    CHECK_EQ(work(), 0);
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    return check_done();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The way through the runtime that every client takes: device, memory, copies, streams, events, failures. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "runtime/door.h"

static _Atomic int runs, released;

static int count_run(void *arg)
{
    usleep((useconds_t)(intptr_t)arg);
    atomic_fetch_add(&runs, 1);
    return 0;
}

static void count_release(void *arg)
{
    (void)arg;
    atomic_fetch_add(&released, 1);
}

static int failing(void *arg)
{
    (void)arg;
    return fail(ACL_ERROR_RT_AICORE_EXCEPTION, "index 7 is out of range [0, 3)");
}

static int push(aclrtStream s, int (*run)(void *), intptr_t us, uint64_t work)
{
    return stream_enqueue(s, &(struct task){run, count_release, (void *)us, work, {"test", NULL}});
}

static void memory(void)
{
    void *a = NULL, *b = NULL;
    CHECK_EQ(aclrtMalloc(&a, 1000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&b, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ((uintptr_t)a % 512, 0);
    char text[1000] = "hello", back[1000] = "";
    CHECK_EQ(aclrtMemcpy(a, 1000, text, 1000, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(b, 1 << 20, a, 1000, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(back, 1000, b, 1000, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(back, "hello");
    CHECK_EQ(aclrtMemcpy(a, 1000, text, 1001, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy(a, 2000, text, 2000, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "EE1001");
    CHECK(aclGetRecentErrMsg() == NULL);
    CHECK_EQ(aclrtMemset(b, 1 << 20, 0x5a, 1 << 20), 0);
    CHECK_EQ(aclrtMemcpy(back, 1000, (char *)b + 1000, 1000, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(back[999], 0x5a);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(aclrtFree(a), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(b), 0);
    size_t left = 0, total = 0;
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &left, &total), 0);
    CHECK_EQ(left, total);
    CHECK_EQ(total, (size_t)64 << 30);
    CHECK_EQ(aclrtMalloc(&a, (size_t)65 << 30, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_TEXT(aclGetRecentErrMsg(), "out of memory");
    CHECK_EQ(aclrtMalloc(&a, 100, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtFree(a), 0);
}

static void streams(void)
{
    aclrtStream s;
    CHECK_EQ(aclrtCreateStream(&s), 0);
    runs = released = 0;
    CHECK_EQ(push(s, count_run, 0, 100), 0);
    CHECK_EQ(runs, 1);
    CHECK_EQ(push(s, count_run, 20000, 1000000000000), 0);
    CHECK_EQ(runs, 1);
    aclrtStreamStatus status;
    CHECK_EQ(aclrtStreamQuery(s, &status), 0);
    CHECK_EQ(status, ACL_STREAM_STATUS_NOT_READY);
    CHECK_EQ(push(s, count_run, 0, 1), 0); /* small, but behind the other */
    CHECK_EQ(runs, 1);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(s, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(runs, 3);
    CHECK_EQ(released, 3);
    for (int i = 0; i < 10000; i++)
        push(s, count_run, 0, i % 3 ? 1 : 1000000000000);
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(runs, 10003);
    CHECK_EQ(push(s, failing, 0, 1), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "index 7");
    CHECK_EQ(push(s, failing, 0, 1000000000000), 0);
    CHECK_EQ(push(s, count_run, 0, 1000000000000), 0);
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "index 7");
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(runs, 10004);
    CHECK_EQ(aclrtDestroyStream(s), 0);
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtDestroyStream(s), ACL_ERROR_RT_INVALID_HANDLE);
}

static void events(void)
{
    aclrtStream a, b;
    aclrtEvent start, end;
    float ms = 0;
    CHECK_EQ(aclrtCreateStream(&a), 0);
    CHECK_EQ(aclrtCreateStream(&b), 0);
    CHECK_EQ(aclrtCreateEvent(&start), 0);
    CHECK_EQ(aclrtCreateEvent(&end), 0);
    runs = 0;
    CHECK_EQ(aclrtRecordEvent(start, a), 0);
    CHECK_EQ(push(a, count_run, 20000, 1000000000000), 0);
    CHECK_EQ(aclrtRecordEvent(end, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, end), 0);
    CHECK_EQ(push(b, count_run, 0, 1), 0);
    CHECK_EQ(runs, 0);
    CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_NOT_COMPLETE);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(runs, 2);
    CHECK_EQ(aclrtSynchronizeEvent(end), 0);
    CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), 0);
    CHECK(ms > 15 && ms < 2000);
    CHECK_EQ(aclrtDestroyEvent(start), 0);
    CHECK_EQ(aclrtRecordEvent(start, a), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtDestroyEvent(end), 0);
    CHECK_EQ(aclrtDestroyStream(a), 0);
    CHECK_EQ(aclrtDestroyStream(b), 0);
}

static void mark(void *arg, int64_t begin, int64_t end)
{
    char *seen = arg;
    for (int64_t i = begin; i < end; i++)
        seen[i]++;
}

static void pool(void)
{
    static char seen[1000003];
    for (int turn = 0; turn < 200; turn++)
        parallel(sizeof seen, 1000, mark, seen);
    int wrong = 0;
    for (size_t i = 0; i < sizeof seen; i++)
        wrong += (unsigned char)seen[i] != 200;
    CHECK_EQ(wrong, 0);
}

int main(void)
{
    aclrtStream none;
    CHECK_EQ(aclrtCreateStream(&none), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(100), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_TEXT(aclGetRecentErrMsg(), "valid device range is [0, 2)");
    CHECK_EQ(aclrtSetDevice(0), 0);
    memory();
    streams();
    events();
    pool();
    CHECK_EQ(aclrtResetDevice(0), 0);
    CHECK_EQ(aclFinalize(), 0);
    CHECK_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
    return check_done();
}

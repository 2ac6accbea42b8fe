/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: order, running at once, failures, waiting, aborting, destroying, many threads, the end of the process. */
#include "child.h"

#include <pthread.h>

#include "task.h"

static void order(void)
{
    aclrtStream s;
    aclrtStreamStatus status;
    CHECK_EQ(aclrtCreateStream(&s), 0);
    task_runs = task_releases = 0;
    CHECK_EQ(push(s, task_sleep, 0, SMALL), 0);
    CHECK_EQ(task_runs, 1); /* at once */
    CHECK_EQ(push(s, task_gate, 1, LARGE), 0);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtStreamQuery(s, &status), 0);
    CHECK_EQ(status, ACL_STREAM_STATUS_NOT_READY);
    CHECK_EQ(push(s, task_sleep, 0, SMALL), 0); /* small, but behind the other */
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(s, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_TEXT(aclGetRecentErrMsg(), "within 1 ms");
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(s, 10000), 0);
    CHECK_EQ(task_runs, 3);
    CHECK_EQ(task_releases, 3);
    CHECK_EQ(aclrtStreamQuery(s, &status), 0);
    CHECK_EQ(status, ACL_STREAM_STATUS_COMPLETE);
    for (int i = 0; i < 20000; i++) /* more than the queue holds */
        push(s, task_sleep, 0, i % 3 ? SMALL : LARGE);
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(task_runs, 20003);
    CHECK_EQ(task_releases, 20003);
    CHECK_EQ(aclrtDestroyStream(s), 0);
}

static void failures(void)
{
    aclrtStream s;
    CHECK_EQ(aclrtCreateStream(&s), 0);
    task_runs = 0;
    CHECK_EQ(push(s, task_fail, 0, SMALL), ACL_ERROR_RT_AICORE_EXCEPTION); /* at once: told at once */
    CHECK_TEXT(aclGetRecentErrMsg(), "index 7");
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(push(s, task_fail, 0, LARGE), 0);
    CHECK_EQ(push(s, task_sleep, 0, LARGE), 0); /* the device goes on */
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "index 7");
    CHECK(aclGetRecentErrMsg() == NULL);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtSynchronizeStream(s), 0); /* told once */
    CHECK_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0);
    push(s, task_fail, 0, LARGE);
    CHECK_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(aclrtSynchronizeDevice(), 0);
    /* stop on failure: later tasks are dropped until the failure was told */
    CHECK_EQ(aclrtSetStreamFailureMode(s, 2), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtSetStreamFailureMode(s, ACL_STOP_ON_FAILURE), 0);
    CHECK_EQ(aclrtSetStreamFailureMode(s, ACL_CONTINUE_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID);
    task_runs = task_releases = 0;
    push(s, task_sleep, 20000, LARGE);
    push(s, task_fail, 0, LARGE);
    push(s, task_sleep, 0, LARGE);
    sleep_us(60000);
    push(s, task_sleep, 0, SMALL);
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(task_releases, 4);
    push(s, task_sleep, 0, LARGE);
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(task_runs, 2);
    CHECK_EQ(aclrtDestroyStream(s), 0);
}

static void aborting(void)
{
    aclrtStream a, b;
    aclrtNotify never;
    CHECK_EQ(aclrtCreateStream(&a), 0);
    CHECK_EQ(aclrtCreateStream(&b), 0);
    CHECK_EQ(aclrtCreateNotify(&never, 0), 0);
    task_runs = task_releases = 0;
    CHECK_EQ(aclrtWaitAndResetNotify(never, a, 0), 0);
    push(a, task_sleep, 0, LARGE);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(a, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_EQ(aclrtStreamAbort(a), 0);
    CHECK_EQ(task_runs, 0);
    CHECK_EQ(task_releases, 1);
    push(a, task_sleep, 0, LARGE); /* usable at once */
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(a, 10000), ACL_ERROR_RT_STREAM_ABORT);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(aclrtWaitAndResetNotify(never, a, 0), 0);
    CHECK_EQ(aclrtWaitAndResetNotify(never, b, 0), 0);
    CHECK_EQ(aclrtDeviceTaskAbort(0, 10000), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), ACL_ERROR_RT_DEVICE_TASK_ABORT);
    CHECK_EQ(aclrtSynchronizeStream(b), ACL_ERROR_RT_DEVICE_TASK_ABORT);
    for (int i = 0; i < 500; i++) { /* whatever the device thread is just about to do */
        CHECK_EQ(aclrtWaitAndResetNotify(never, a, 0), 0);
        for (volatile int spin = i % 50 * 40; spin > 0; spin--)
            ;
        CHECK_EQ(aclrtStreamAbort(a), 0);
        CHECK_EQ(aclrtSynchronizeStreamWithTimeout(a, 10000), ACL_ERROR_RT_STREAM_ABORT);
    }
    CHECK_EQ(aclrtStreamAbort(a), 0); /* idle: nothing to tell */
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    /* destroying: patiently or by force */
    task_runs = 0;
    push(a, task_sleep, 20000, LARGE);
    CHECK_EQ(aclrtDestroyStream(a), 0);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtWaitAndResetNotify(never, b, 0), 0);
    push(b, task_sleep, 0, LARGE);
    CHECK_EQ(aclrtDestroyStreamForce(b), 0);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtSynchronizeStream(b), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtDestroyNotify(never), 0);
}

static void timeouts(void)
{
    aclrtStream s;
    aclrtNotify never;
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtCreateNotify(&never, 0), 0);
    CHECK_EQ(aclrtSetOpExecuteTimeOutWithMs(10), 0);
    push(s, task_sleep, 30000, LARGE);
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_AICORE_TIMEOUT);
    CHECK_TEXT(aclGetRecentErrMsg(), "the limit is 0.010 s");
    CHECK_EQ(aclrtSetOpExecuteTimeOut(0), 0);
    push(s, task_sleep, 30000, LARGE);
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_CHILD("overdue", "ASCEND_SLOG_PRINT_TO_STDOUT=1\nASCEND_GLOBAL_LOG_LEVEL=2");
    CHECK_TEXT(child_output, "an operator runs for more than 0.010 s, the limit");
    CHECK_EQ(aclrtWaitAndResetNotify(never, s, 1), 0); /* seconds */
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_TASK_TIMEOUT);
    CHECK_EQ(aclrtDestroyNotify(never), 0);
    CHECK_EQ(aclrtDestroyStream(s), 0);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(NULL, -2), ACL_ERROR_RT_PARAM_INVALID);
}

struct shared {
    aclrtContext context;
    aclrtStream stream;
    _Atomic int inside, overlaps;
};
static struct shared shared;

static int alone(void *arg)
{
    (void)arg;
    if (atomic_fetch_add(&shared.inside, 1))
        atomic_fetch_add(&shared.overlaps, 1);
    atomic_fetch_add(&task_runs, 1);
    atomic_fetch_sub(&shared.inside, 1);
    return 0;
}

static void *pusher(void *arg)
{
    CHECK_EQ(aclrtSetCurrentContext(shared.context), 0);
    for (int i = 0; i < 3000; i++) {
        push(shared.stream, alone, 0, i % 7 ? SMALL : LARGE);
        if (i % 500 == (int)(intptr_t)arg)
            CHECK_EQ(aclrtSynchronizeStream(shared.stream), 0);
    }
    return NULL;
}

/* Several threads push to one stream, now at once, now queued: never two tasks at a time, none lost. */
static void threads(void)
{
    enum { THREADS = 6 };
    pthread_t thread[THREADS];
    CHECK_EQ(aclrtGetCurrentContext(&shared.context), 0);
    CHECK_EQ(aclrtCreateStream(&shared.stream), 0);
    task_runs = task_releases = 0;
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, pusher, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_EQ(aclrtSynchronizeStream(shared.stream), 0);
    CHECK_EQ(shared.overlaps, 0);
    CHECK_EQ(task_runs, THREADS * 3000);
    CHECK_EQ(task_releases, THREADS * 3000);
    CHECK_EQ(aclrtDestroyStream(shared.stream), 0);
}

static void *churn(void *arg)
{
    (void)arg;
    CHECK_EQ(aclrtSetDevice(1), 0);
    for (int i = 0; i < 150; i++) {
        aclrtStream s;
        CHECK_EQ(aclrtCreateStream(&s), 0);
        for (int k = 0; k < 5; k++)
            push(s, task_sleep, 0, k % 2 ? SMALL : LARGE);
        CHECK_EQ(i % 2 ? aclrtDestroyStream(s) : aclrtDestroyStreamForce(s), 0);
    }
    return NULL;
}

static void come_and_go(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, churn, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

static void attributes(void)
{
    aclrtStream s;
    uint32_t v = 99, cores = 0;
    int32_t id = -1, least = -1, greatest = -1;
    aclrtStreamAttrValue value = {0};
    CHECK_EQ(aclrtCreateStreamWithConfig(&s, 3, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC), 0);
    CHECK_EQ(aclrtStreamGetPriority(s, &v), 0);
    CHECK_EQ(v, 3);
    CHECK_EQ(aclrtStreamGetFlags(s, &v), 0);
    CHECK_EQ(v, 3);
    CHECK_EQ(aclrtStreamGetId(s, &id), 0);
    CHECK(id >= 0);
    CHECK_EQ(aclrtDeviceGetStreamPriorityRange(&least, &greatest), 0);
    CHECK_EQ(aclrtCreateStreamWithConfig(&s, (uint32_t)least + 1, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtCreateStreamWithConfig(&s, 0, 0x4000), ACL_ERROR_RT_PARAM_INVALID);
    value.userCustomTag = 77;
    CHECK_EQ(aclrtSetStreamAttribute(s, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), 0);
    value.userCustomTag = 0;
    CHECK_EQ(aclrtGetStreamAttribute(s, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), 0);
    CHECK_EQ(value.userCustomTag, 77);
    CHECK_EQ(aclrtSetStreamOverflowSwitch(s, 1), 0);
    CHECK_EQ(aclrtGetStreamOverflowSwitch(s, &v), 0);
    CHECK_EQ(v, 1);
    CHECK_EQ(aclrtGetStreamResLimit(s, ACL_RT_DEV_RES_CUBE_CORE, &cores), 0);
    CHECK_EQ(cores, 20);
    CHECK_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 10), 0);
    CHECK_EQ(aclrtGetStreamResLimit(s, ACL_RT_DEV_RES_CUBE_CORE, &cores), 0);
    CHECK_EQ(cores, 10);
    CHECK_EQ(aclrtSetStreamResLimit(s, ACL_RT_DEV_RES_CUBE_CORE, 5), 0);
    CHECK_EQ(aclrtSetStreamResLimit(s, ACL_RT_DEV_RES_CUBE_CORE, 500), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores), 0);
    CHECK_EQ(cores, 10);
    CHECK_EQ(aclrtUseStreamResInCurrentThread(s), 0);
    CHECK_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores), 0);
    CHECK_EQ(cores, 5);
    CHECK_EQ(aclrtUnuseStreamResInCurrentThread(s), 0);
    CHECK_EQ(aclrtResetDeviceResLimit(0), 0);
    CHECK_EQ(aclrtDestroyStream(s), 0);
    aclrtStreamConfigHandle *config = aclrtCreateStreamConfigHandle();
    uint32_t priority = 2;
    CHECK_EQ(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority), 0);
    CHECK_EQ(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, 1), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtCreateStreamV2(&s, config), 0);
    CHECK_EQ(aclrtStreamGetPriority(s, &v), 0);
    CHECK_EQ(v, 2);
    CHECK_EQ(aclrtDestroyStreamConfigHandle(config), 0);
    CHECK_EQ(aclrtDestroyStream(s), 0);
}

/* ANYNPU_BLOCKING=1: finished when the call returns, failures included. */
static void blocking(void)
{
    aclrtSetDevice(0);
    CHECK_EQ(push(NULL, task_sleep, 10000, LARGE), 0);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(push(NULL, task_fail, 0, LARGE), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
}

/* That a task exceeds its time limit is logged while it runs. */
static void overdue(void)
{
    aclrtSetDevice(0);
    CHECK_EQ(aclrtSetOpExecuteTimeOutWithMs(10), 0);
    push(NULL, task_gate, 1, LARGE);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(NULL, 500), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_AICORE_TIMEOUT);
}

static pthread_t ran_on;

static int note_thread(void *unused)
{
    (void)unused;
    ran_on = pthread_self();
    return 0;
}

/* ANYNPU_JITTER, ANYNPU_GUARD: nothing runs on the caller's thread. */
static void jitter(void)
{
    aclrtSetDevice(0);
    for (int i = 0; i < 20; i++) {
        push(NULL, note_thread, 0, SMALL);
        CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
        CHECK(!pthread_equal(ran_on, pthread_self()));
    }
}

static void injected(void)
{
    aclrtSetDevice(0);
    CHECK_EQ(push(NULL, task_sleep, 0, SMALL), 0);
    CHECK_EQ(push(NULL, task_sleep, 0, SMALL), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "fault injected into test");
    CHECK_EQ(push(NULL, task_sleep, 0, SMALL), 0);
    CHECK_EQ(task_runs, 2);
}

/* The process ends while tasks run, wait and queue. */
static void leave(void)
{
    aclrtStream s, t;
    aclrtNotify never;
    aclrtSetDevice(0);
    aclrtCreateStream(&s);
    aclrtCreateStream(&t);
    aclrtCreateNotify(&never, 0);
    aclrtWaitAndResetNotify(never, s, 0);
    for (int i = 0; i < 1000; i++) {
        push(s, task_sleep, 0, LARGE);
        push(t, task_sleep, 1000, LARGE);
    }
    puts("leaving");
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

static void leave_from_callback_fn(void *unused)
{
    (void)unused;
    exit(0);
}

static void leave_from_callback(void)
{
    aclrtSetDevice(0);
#ifdef __SANITIZE_ADDRESS__
    __lsan_disable(); /* the callback that leaves is never released */
#endif
    aclrtLaunchHostFunc(NULL, leave_from_callback_fn, NULL);
    sleep_us(20000000);
    exit(1);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"blocking", blocking},
                                        {"overdue", overdue},
                                        {"jitter", jitter},
                                        {"injected", injected},
                                        {"leave", leave},
                                        {"leave_from_callback", leave_from_callback},
                                        {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_EQ(aclrtSetDevice(0), 0);
    order();
    failures();
    aborting();
    timeouts();
    threads();
    come_and_go();
    attributes();
    CHECK_CHILD("blocking", "ANYNPU_BLOCKING=1");
    CHECK_CHILD("blocking", "ASCEND_LAUNCH_BLOCKING=1");
    CHECK_CHILD("jitter", "ANYNPU_JITTER=2000");
    CHECK_CHILD("jitter", "ANYNPU_GUARD=1");
    CHECK_CHILD("injected", "ANYNPU_FAULT=task:2");
    CHECK_CHILD("leave", "");
    CHECK_TEXT(child_output, "leaving");
    CHECK_CHILD("leave_from_callback", "");
    return check_done();
}

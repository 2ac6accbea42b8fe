/* SPDX-License-Identifier: BSD-3-Clause */
/* Host callbacks in stream order, notifies and values as signals, callbacks for failures and changes of state. */
#include "check.h"

#include <pthread.h>

#include "task.h"

static aclrtContext context;
static aclrtStream a, b;
static _Atomic int calls, processed, stop;

static void count(void *unused)
{
    (void)unused;
    sleep_us(2000);
    atomic_fetch_add(&calls, 1);
}

static void *process(void *unused)
{
    (void)unused;
    CHECK_EQ(aclrtSetCurrentContext(context), 0);
    while (!stop)
        if (aclrtProcessReport(100) == 0)
            atomic_fetch_add(&processed, 1);
    return NULL;
}

static void reports(void)
{
    pthread_t thread;
    CHECK_EQ(aclrtLaunchCallback(count, NULL, ACL_CALLBACK_BLOCK, a), ACL_ERROR_RT_STREAM_NO_CB_REG);
    CHECK_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
    CHECK_EQ(aclrtProcessReport(0), ACL_ERROR_INVALID_PARAM);
    pthread_create(&thread, NULL, process, NULL);
    CHECK_EQ(aclrtSubscribeReport((uint64_t)thread, a), 0);
    CHECK_EQ(aclrtSubscribeReport((uint64_t)thread, a), ACL_ERROR_RT_STREAM_SUBSCRIBE);
    CHECK_EQ(aclrtSubscribeReport((uint64_t)thread, b), 0);
    task_runs = 0;
    CHECK_EQ(aclrtLaunchCallback(count, NULL, ACL_CALLBACK_BLOCK, a), 0);
    push(a, task_sleep, 0, SMALL);
    CHECK_EQ(task_runs, 0); /* behind the callback */
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(calls, 1);
    CHECK_EQ(task_runs, 1);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(aclrtLaunchCallback(count, NULL, i % 2 ? ACL_CALLBACK_BLOCK : ACL_CALLBACK_NO_BLOCK, i % 3 ? a : b),
                 0);
    CHECK_EQ(aclrtLaunchCallback(NULL, NULL, ACL_CALLBACK_BLOCK, a), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtSynchronizeDevice(), 0);
    while (calls < 21)
        sleep_us(1000);
    CHECK_EQ(aclrtUnSubscribeReport((uint64_t)thread, a), 0);
    CHECK_EQ(aclrtUnSubscribeReport((uint64_t)thread, a), ACL_ERROR_RT_STREAM_SUBSCRIBE);
    CHECK_EQ(aclrtUnSubscribeReport((uint64_t)thread, b), 0);
    stop = 1;
    pthread_join(thread, NULL);
    CHECK_EQ(processed, 21);
}

static void host_functions(void)
{
    calls = task_runs = gate = 0;
    push(a, task_gate, 1, LARGE);
    CHECK_EQ(aclrtLaunchHostFunc(a, count, NULL), 0);
    push(a, task_sleep, 0, SMALL);
    CHECK_EQ(calls, 0);
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(calls, 1);
    CHECK_EQ(task_runs, 2);
    CHECK_EQ(aclrtLaunchHostFunc(a, NULL, NULL), ACL_ERROR_INVALID_PARAM);
}

static void wrong_from_inside(void *status)
{
    int *s = status;
    s[0] = aclrtSynchronizeStream(a);
    s[1] = aclrtDestroyStream(a);
}

static void inside(void)
{
    int status[2] = {0, 0};
    CHECK_EQ(aclrtLaunchHostFunc(a, wrong_from_inside, status), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(status[0], ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(status[1], ACL_ERROR_RT_PARAM_INVALID);
}

static void notifies(void)
{
    aclrtNotify n = NULL;
    aclrtCntNotify c = NULL;
    uint32_t id = 0;
    CHECK_EQ(aclrtCreateNotify(&n, 0), 0);
    CHECK_EQ(aclrtCntNotifyCreate(&c, 0), 0);
    CHECK_EQ(aclrtGetNotifyId(n, &id), 0);
    CHECK_EQ(aclrtCntNotifyGetId(n, &id), ACL_ERROR_RT_INVALID_HANDLE); /* the other kind */
    task_runs = gate = 0;
    CHECK_EQ(aclrtWaitAndResetNotify(n, b, 0), 0);
    push(b, task_sleep, 0, SMALL);
    push(a, task_gate, 1, LARGE);
    CHECK_EQ(task_runs, 0);
    gate = 1;
    CHECK_EQ(aclrtRecordNotify(n, a), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(task_runs, 2);
    CHECK_EQ(aclrtRecordNotify(n, a), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(aclrtNotifyBatchReset(&n, 1), 0);
    CHECK_EQ(aclrtWaitAndResetNotify(n, b, 1), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), ACL_ERROR_RT_TASK_TIMEOUT); /* it was reset */
    /* counting: wait until it is at least 3, then back to 0 */
    aclrtCntNotifyRecordInfo add = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    aclrtCntNotifyWaitInfo wait = {
        .mode = ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, .value = 3, .timeout = 20, .isClear = 1};
    task_runs = 0;
    CHECK_EQ(aclrtCntNotifyWaitWithTimeout(c, b, &wait), 0);
    push(b, task_sleep, 0, SMALL);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(task_runs, 0);
        CHECK_EQ(aclrtCntNotifyRecord(c, a, &add), 0);
    }
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(task_runs, 1);
    wait.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE;
    wait.value = 0;
    CHECK_EQ(aclrtCntNotifyWaitWithTimeout(c, b, &wait), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    add.mode = (aclrtCntNotifyRecordMode)3;
    CHECK_EQ(aclrtCntNotifyRecord(c, a, &add), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtCntNotifyReset(c, a), 0);
    CHECK_EQ(aclrtDestroyNotify(n), 0);
    CHECK_EQ(aclrtDestroyNotify(n), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtCntNotifyDestroy(c), 0);
}

static void values(void)
{
    void *p = NULL;
    uint64_t got = 0;
    CHECK_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemset(p, 64, 0, 64), 0);
    task_runs = 0;
    CHECK_EQ(aclrtValueWait(p, 5, ACL_STREAM_WAIT_VALUE_GEQ, b), 0);
    push(b, task_sleep, 0, SMALL);
    sleep_us(10000);
    CHECK_EQ(task_runs, 0);
    CHECK_EQ(aclrtValueWrite(p, 4, 0, a), 0);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(b, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_EQ(aclrtValueWrite(p, 5, 0, a), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(task_runs, 1);
    CHECK_EQ(aclrtMemcpy(&got, 8, p, 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(got, 5);
    CHECK_EQ(aclrtValueWait(p, 4, ACL_STREAM_WAIT_VALUE_AND, b), 0);
    CHECK_EQ(aclrtValueWait(p, 5, ACL_STREAM_WAIT_VALUE_EQ, b), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(aclrtValueWrite((char *)p + 4, 5, 0, a), ACL_ERROR_RT_ADDR_UNALIGNED);
    CHECK_EQ(aclrtValueWrite(&got, 5, 0, a), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtValueWait(p, 4, 9, b), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(p), 0);
}

static _Atomic uint32_t seen_code, seen_stream;

static void on_exception(aclrtExceptionInfo *info)
{
    seen_code = aclrtGetErrorCodeFromExceptionInfo(info);
    seen_stream = aclrtGetStreamIdFromExceptionInfo(info);
    CHECK_EQ(aclrtGetDeviceIdFromExceptionInfo(info), 0);
    CHECK(aclrtGetThreadIdFromExceptionInfo(info) > 0);
}

static void exceptions(void)
{
    int32_t id = -1;
    aclrtErrorInfo info;
    CHECK_EQ(aclrtSetExceptionInfoCallback(on_exception), 0);
    CHECK_EQ(aclrtStreamGetId(a, &id), 0);
    push(a, task_fail, 0, LARGE);
    WAIT_UNTIL(aclrtGetErrorVerbose(0, &info) == 0 && info.errorType == ACL_RT_ERROR_AICORE);
    CHECK_EQ(aclrtRepairError(0, &info), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(aclrtSynchronizeStream(a), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(seen_code, ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(seen_stream, id);
    CHECK_EQ(aclrtGetErrorVerbose(0, &info), 0);
    CHECK_EQ(info.errorType, ACL_RT_NO_ERROR);
    CHECK_EQ(aclrtRepairError(0, &info), 0);
    CHECK_EQ(aclrtSetExceptionInfoCallback(NULL), 0);
    seen_code = 0;
    CHECK_EQ(aclrtExceptionInfoCallbackRegister(on_exception), 0);
    push(a, task_fail, 0, SMALL);
    CHECK_EQ(seen_code, ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(aclrtExceptionInfoCallbackUnregister(on_exception), 0);
    CHECK_EQ(aclrtExceptionInfoCallbackUnregister(on_exception), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtGetTaskIdFromExceptionInfo(NULL), UINT32_MAX);
}

static int made, ended, devices, aborts;

static void on_stream(aclrtStream stream, aclrtStreamState state, void *args)
{
    CHECK(stream != NULL && args == &made);
    made += state == ACL_RT_STREAM_STATE_CREATE_POST;
    ended += state == ACL_RT_STREAM_STATE_DESTROY_PRE;
}

static void on_device(uint32_t device, aclrtDeviceState state, void *args)
{
    (void)args, (void)state;
    CHECK_EQ(device, 1);
    devices++;
}

static int32_t on_abort(uint32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args)
{
    (void)device, (void)stage, (void)args;
    CHECK_EQ(timeout, 1000);
    aborts++;
    return 0;
}

static void states(void)
{
    aclrtStream s;
    CHECK_EQ(aclrtRegStreamStateCallback("test", on_stream, &made), 0);
    CHECK_EQ(aclrtRegStreamStateCallback("", on_stream, &made), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtRegDeviceStateCallback("test", on_device, NULL), 0);
    CHECK_EQ(aclrtSetDeviceTaskAbortCallback("test", on_abort, NULL), 0);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtDestroyStream(s), 0);
    CHECK_EQ(made, 1);
    CHECK_EQ(ended, 1);
    CHECK_EQ(aclrtDeviceTaskAbort(0, 1000), 0);
    CHECK_EQ(aborts, 2);
    CHECK_EQ(aclrtSetDevice(1), 0);
    CHECK_EQ(aclrtResetDevice(1), 0);
    CHECK_EQ(devices, 4);
    CHECK_EQ(aclrtRegDeviceStateCallback("test", NULL, NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtRegStreamStateCallback("test", NULL, NULL), 0);
    CHECK_EQ(aclrtSetDeviceTaskAbortCallback("test", NULL, NULL), 0);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(made, 1);
    CHECK_EQ(aclrtDestroyStream(s), 0);
}

int main(void)
{
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtGetCurrentContext(&context), 0);
    CHECK_EQ(aclrtCreateStream(&a), 0);
    CHECK_EQ(aclrtCreateStream(&b), 0);
    reports();
    host_functions();
    inside();
    notifies();
    values();
    exceptions();
    states();
    CHECK_EQ(aclrtDestroyStream(a), 0);
    CHECK_EQ(aclrtDestroyStream(b), 0);
    return check_done();
}

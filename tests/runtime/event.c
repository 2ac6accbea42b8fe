/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: times, generations, waits across streams, reset, destroying while pending. */
#include "check.h"

#include "task.h"

static aclrtStream a, b;

static aclrtEvent make(uint32_t flags)
{
    aclrtEvent e = NULL;
    CHECK_EQ(aclrtCreateEventExWithFlag(&e, flags), 0);
    return e;
}

static void times(void)
{
    aclrtEvent start, end, untimed = make(ACL_EVENT_SYNC);
    float ms = 0;
    uint64_t first = 0, second = 0;
    CHECK_EQ(aclrtCreateEvent(&start), 0);
    CHECK_EQ(aclrtCreateEvent(&end), 0);
    CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID); /* not recorded */
    CHECK_EQ(aclrtRecordEvent(start, a), 0);
    gate = 0;
    push(a, task_sleep, 20000, LARGE);
    push(a, task_gate, 1, LARGE);
    CHECK_EQ(aclrtRecordEvent(end, a), 0);
    CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_NOT_COMPLETE);
    gate = 1;
    CHECK_EQ(aclrtSynchronizeEvent(end), 0);
    CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), 0);
    CHECK(ms > 19 && ms < 20000);
    CHECK_EQ(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
    CHECK_EQ(aclrtEventGetTimestamp(start, &first), 0);
    CHECK_EQ(aclrtEventGetTimestamp(end, &second), 0);
    CHECK(second >= first + 19000);
    CHECK_EQ(aclrtRecordEvent(untimed, a), 0);
    CHECK_EQ(aclrtEventElapsedTime(&ms, start, untimed), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    CHECK_EQ(aclrtDestroyEvent(start), 0);
    CHECK_EQ(aclrtDestroyEvent(end), 0);
    CHECK_EQ(aclrtDestroyEvent(untimed), 0);
}

/* A wait holds for the record that was newest when it was asked for. */
static void generations(void)
{
    aclrtEvent e = make(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
    aclrtEventRecordedStatus status;
    aclrtEventWaitStatus waits;
    task_runs = gate = 0;
    push(a, task_gate, 1, LARGE);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    push(a, task_gate, 2, LARGE);
    CHECK_EQ(aclrtRecordEvent(e, a), 0); /* b still waits for the first record only */
    push(b, task_sleep, 0, SMALL);
    CHECK_EQ(task_runs, 0);
    CHECK_EQ(aclrtQueryEventWaitStatus(e, &waits), 0);
    CHECK_EQ(waits, ACL_EVENT_WAIT_STATUS_NOT_READY);
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(task_runs, 2);
    CHECK_EQ(aclrtQueryEventWaitStatus(e, &waits), 0);
    CHECK_EQ(waits, ACL_EVENT_WAIT_STATUS_COMPLETE);
    CHECK_EQ(aclrtQueryEventStatus(e, &status), 0);
    CHECK_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_EQ(aclrtSynchronizeEventWithTimeout(e, 1), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    gate = 2;
    CHECK_EQ(aclrtSynchronizeEvent(e), 0);
    CHECK_EQ(task_runs, 3);
    CHECK_EQ(aclrtQueryEventStatus(e, &status), 0);
    CHECK_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    for (int i = 0; i < 500; i++) { /* ping-pong between two streams, one event */
        push(a, task_sleep, 0, i % 2 ? LARGE : SMALL);
        CHECK_EQ(aclrtRecordEvent(e, a), 0);
        CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
        push(b, task_sleep, 0, i % 3 ? LARGE : SMALL);
        CHECK_EQ(aclrtRecordEvent(e, b), 0);
        CHECK_EQ(aclrtStreamWaitEvent(a, e), 0);
    }
    CHECK_EQ(aclrtSynchronizeDevice(), 0);
    CHECK_EQ(task_runs, 1003);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
}

static void pending(void)
{
    aclrtEvent e = make(ACL_EVENT_SYNC);
    aclrtEventStatus status;
    uint32_t before = 0, after = 0;
    CHECK_EQ(aclrtGetEventAvailNum(&before), 0);
    task_runs = gate = 0;
    push(a, task_gate, 1, LARGE);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    push(b, task_sleep, 0, LARGE);
    CHECK_EQ(aclrtDestroyEvent(e), 0); /* does not wait, and the wait still holds */
    CHECK_EQ(task_runs, 0);
    gate = 1;
    CHECK_EQ(aclrtQueryEvent(e, &status), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(task_runs, 2);
    CHECK_EQ(aclrtSynchronizeStream(a), 0); /* the record lets go of the event */
    CHECK_EQ(aclrtGetEventAvailNum(&after), 0);
    CHECK_EQ(after, before + 1);
}

static void reset(void)
{
    aclrtEvent e = make(ACL_EVENT_SYNC), timed = make(ACL_EVENT_TIME_LINE);
    aclrtEventRecordedStatus status;
    CHECK_EQ(aclrtQueryEventStatus(e, &status), 0);
    CHECK_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY); /* never recorded */
    CHECK_EQ(aclrtSynchronizeEvent(e), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtQueryEventStatus(e, &status), 0);
    CHECK_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_EQ(aclrtResetEvent(e, a), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(aclrtQueryEventStatus(e, &status), 0);
    CHECK_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_EQ(aclrtResetEvent(timed, a), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
    CHECK_EQ(aclrtDestroyEvent(timed), 0);
}

static void limits(void)
{
    aclrtEvent e = make(ACL_EVENT_SYNC);
    gate = 0;
    push(a, task_gate, 1, LARGE);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEventWithTimeout(b, e, 10), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), ACL_ERROR_RT_TASK_TIMEOUT);
    CHECK_TEXT(aclGetRecentErrMsg(), "waited longer than 10 ms");
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    /* what was aborted does not keep others waiting */
    aclrtNotify never = NULL;
    CHECK_EQ(aclrtCreateNotify(&never, 0), 0);
    CHECK_EQ(aclrtWaitAndResetNotify(never, a, 0), 0);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    CHECK_EQ(aclrtStreamAbort(a), 0);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(b, 20000), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), ACL_ERROR_RT_STREAM_ABORT);
    CHECK_EQ(aclrtDestroyNotify(never), 0);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
    CHECK_EQ(aclrtCreateEventWithFlag(&e, 0x8000), ACL_ERROR_RT_PARAM_INVALID);
}

int main(void)
{
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&a), 0);
    CHECK_EQ(aclrtCreateStream(&b), 0);
    times();
    generations();
    pending();
    reset();
    limits();
    CHECK_EQ(aclrtDestroyStream(a), 0);
    CHECK_EQ(aclrtDestroyStream(b), 0);
    CHECK_EQ(aclrtResetDevice(0), 0);
    return check_done();
}

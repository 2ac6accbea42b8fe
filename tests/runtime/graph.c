/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: capture in one and several streams, execution again and again, what a capture forbids, task groups, external
 * events, destroying. Operators in graphs: tests/aclnn/graph.c. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#include "task.h"

static aclrtStream a, b, c;
static int order[64];
static _Atomic int ordered;

static int append(void *number)
{
    int at = atomic_fetch_add(&ordered, 1);
    if (at < 64)
        order[at] = (int)(intptr_t)number;
    return 0;
}

static int fail_once_in_a_while(void *flag)
{
    return *(_Atomic int *)flag ? fail(ACL_ERROR_RT_AICORE_EXCEPTION, "index 7 is out of range [0, 3)") : 0;
}

static void begin(aclrtStream s)
{
    CHECK_EQ(aclmdlRICaptureBegin(s, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
}

static aclmdlRI end(aclrtStream s)
{
    aclmdlRI graph = NULL;
    CHECK_EQ(aclmdlRICaptureEnd(s, &graph), 0);
    CHECK(graph != NULL);
    return graph;
}

static void run(aclmdlRI graph, aclrtStream s)
{
    CHECK_EQ(aclmdlRIExecuteAsync(graph, s), 0);
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
}

static aclrtEvent event_new(uint32_t flags)
{
    aclrtEvent e = NULL;
    CHECK_EQ(aclrtCreateEventExWithFlag(&e, flags), 0);
    return e;
}

static void one_stream(void)
{
    aclmdlRICaptureStatus status;
    aclmdlRI graph = NULL, seen = NULL;
    ordered = task_runs = task_releases = 0;
    push(a, task_sleep, 30000, LARGE); /* the stream may be busy when the capture begins */
    begin(a);
    CHECK_EQ(aclmdlRICaptureGetInfo(a, &status, &seen), 0);
    CHECK_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(push(a, append, i, i % 2 ? LARGE : SMALL), 0);
    CHECK_EQ(ordered, 0);
    graph = end(a);
    CHECK(graph == seen);
    CHECK_EQ(aclmdlRICaptureGetInfo(a, &status, &seen), 0);
    CHECK_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    CHECK(!seen);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(ordered, 0);
    CHECK_EQ(task_runs, 1);
    run(graph, a);
    run(graph, b); /* any stream */
    CHECK_EQ(ordered, 20);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(order[i], i % 10);
    CHECK_EQ(aclmdlRIExecute(graph, -1), 0);
    CHECK_EQ(ordered, 30);
    CHECK_EQ(task_releases, 1);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(task_releases, 11);
    CHECK_EQ(aclmdlRIDestroy(graph), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclmdlRIExecuteAsync(graph, a), ACL_ERROR_RT_INVALID_HANDLE);
    task_runs = 0; /* the stream runs tasks as before */
    push(a, task_sleep, 0, SMALL);
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(task_runs, 1);
    begin(a);
    graph = end(a);
    run(graph, a); /* an empty graph */
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

/* The graph is queued with everything else of its stream; many executions in flight. */
static void in_order(void)
{
    ordered = 0;
    begin(a);
    push(a, append, 1, SMALL);
    aclmdlRI graph = end(a);
    push(a, task_sleep, 20000, LARGE);
    for (int i = 0; i < 5; i++) {
        push(a, append, 0, SMALL);
        CHECK_EQ(aclmdlRIExecuteAsync(graph, a), 0);
    }
    CHECK_EQ(aclmdlRIDestroy(graph), 0); /* waits */
    CHECK_EQ(aclrtSynchronizeStream(a), 0);
    CHECK_EQ(ordered, 10);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(order[i], i % 2);
}

static void several_streams(void)
{
    aclrtEvent fork = event_new(ACL_EVENT_SYNC), join = event_new(ACL_EVENT_SYNC);
    aclmdlRICaptureStatus status;
    ordered = 0;
    begin(a);
    push(a, append, 1, SMALL);
    CHECK_EQ(aclrtRecordEvent(fork, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, fork), 0);
    CHECK_EQ(aclmdlRICaptureGetInfo(b, &status, NULL), 0);
    CHECK_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    push(b, append, 2, SMALL);
    CHECK_EQ(aclrtRecordEvent(fork, b), 0); /* the same event again, and a third stream that comes back through b */
    CHECK_EQ(aclrtStreamWaitEvent(c, fork), 0);
    push(c, append, 3, SMALL);
    CHECK_EQ(aclrtRecordEvent(join, c), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, join), 0);
    push(b, append, 4, SMALL);
    CHECK_EQ(aclrtRecordEvent(join, b), 0);
    CHECK_EQ(aclrtStreamWaitEvent(a, join), 0);
    push(a, append, 5, SMALL);
    CHECK_EQ(aclrtSynchronizeStream(b), ACL_ERROR_RT_STREAM_CAPTURED);
    CHECK_EQ(aclrtSynchronizeEvent(join), ACL_ERROR_RT_EVENT_CAPTURED);
    CHECK_EQ(aclmdlRICaptureEnd(b, &(aclmdlRI){NULL}), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
    aclmdlRI graph = end(a);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(aclrtSynchronizeEvent(join), 0);
    CHECK_EQ(aclrtDestroyEvent(fork), 0); /* the graph needs them no more */
    CHECK_EQ(aclrtDestroyEvent(join), 0);
    for (int turn = 0; turn < 3; turn++) {
        ordered = 0;
        run(graph, c);
        CHECK_EQ(ordered, 5);
        for (int i = 0; i < 5; i++)
            CHECK_EQ(order[i], i + 1);
    }
    aclrtStream streams[3];
    uint32_t n = 3, tasks = 0;
    CHECK_EQ(aclmdlRIGetStreams(graph, NULL, &n), 0);
    CHECK_EQ(n, 3);
    CHECK_EQ(aclmdlRIGetStreams(graph, streams, &n), 0);
    CHECK_EQ(aclmdlRIGetTasksByStream(streams[0], NULL, &tasks), 0);
    CHECK_EQ(tasks, 4); /* two tasks, a record, a wait */
    CHECK_EQ(aclmdlRIGetTasksByStream(a, NULL, &tasks), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

static void *set_soon(void *word)
{
    sleep_us(20000);
    atomic_store((_Atomic uint64_t *)word, 7);
    return NULL;
}

static int store_word(void *word)
{
    atomic_store((_Atomic int *)word, 1);
    return 0;
}

static int await_word(void *word)
{
    while (!atomic_load((_Atomic int *)word))
        sleep_us(100);
    return 0;
}

static _Atomic int word;

static void hand_over(void *unused)
{
    (void)unused;
    await_word(&word);
}

/* What b waits for comes from a, later in the order of capture: the lanes must run side by side. */
static void waiting_lanes(void)
{
    aclrtEvent fork = event_new(ACL_EVENT_SYNC), join = event_new(ACL_EVENT_SYNC);
    begin(a);
    CHECK_EQ(aclrtRecordEvent(fork, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, fork), 0);
    CHECK_EQ(aclrtLaunchHostFunc(b, hand_over, NULL), 0);
    push(b, append, 2, SMALL);
    CHECK_EQ(aclrtRecordEvent(join, b), 0);
    push(a, append, 1, SMALL);
    push(a, store_word, (intptr_t)&word, SMALL);
    CHECK_EQ(aclrtStreamWaitEvent(a, join), 0);
    push(a, append, 3, SMALL);
    aclmdlRI graph = end(a);
    for (int turn = 0; turn < 3; turn++) {
        ordered = word = 0;
        run(graph, a);
        CHECK_EQ(ordered, 3);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(order[i], i + 1);
    }
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    aclrtDestroyEvent(fork);
    aclrtDestroyEvent(join);
}

static void forbidden(void)
{
    char *device = NULL, *pinned = NULL, host[64] = "";
    aclrtStreamStatus query;
    aclmdlRI graph = NULL;
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    aclrtEvent before = event_new(ACL_EVENT_SYNC);
    CHECK_EQ(aclrtMalloc((void **)&device, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMallocHost((void **)&pinned, 64), 0);
    CHECK_EQ(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    CHECK_EQ(aclmdlRICaptureBegin(NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlRICaptureBegin(a, (aclmdlRICaptureMode)3), ACL_ERROR_RT_PARAM_INVALID);
    aclrtStream default_stream = NULL;
    CHECK_EQ(aclrtCtxGetCurrentDefaultStream(&default_stream), 0);
    CHECK_EQ(aclmdlRICaptureBegin(default_stream, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(aclrtRecordEvent(before, b), 0);
    begin(a);
    CHECK_EQ(aclmdlRICaptureBegin(a, 0), ACL_ERROR_RT_STREAM_CAPTURED);
    CHECK_EQ(aclrtSynchronizeStream(a), ACL_ERROR_RT_STREAM_CAPTURED);
    CHECK_TEXT(aclGetRecentErrMsg(), "EE1016");
    CHECK_EQ(aclrtStreamQuery(a, &query), ACL_ERROR_RT_STREAM_CAPTURED);
    CHECK_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_CAPTURED);
    CHECK_EQ(aclrtDestroyStream(a), ACL_ERROR_RT_STREAM_CAPTURED);
    CHECK_EQ(aclrtSynchronizeStream(b), 0); /* not part of the capture */
    CHECK_EQ(aclrtStreamWaitEvent(a, before), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
    CHECK_EQ(aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    CHECK_TEXT(aclGetRecentErrMsg(), "is in the capture state");
    CHECK_EQ(aclrtMemset(device, 64, 0, 64), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    CHECK_EQ(aclrtMemcpyAsync(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, a), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_TEXT(aclGetRecentErrMsg(), "pageable memory copy");
    CHECK_EQ(aclmdlRICaptureThreadExchangeMode(&mode), 0);
    CHECK_EQ(mode, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    CHECK_EQ(aclrtMemset(device, 64, 0, 64), 0);
    CHECK_EQ(aclmdlRICaptureThreadExchangeMode(&mode), 0);
    void *more = NULL;
    CHECK_EQ(aclrtMalloc(&more, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0); /* allocation is no task */
    CHECK_EQ(aclrtFree(more), 0);
    /* pinned memory is copied anew by every execution */
    CHECK_EQ(aclrtMemcpyAsync(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, a), 0);
    CHECK_EQ(aclrtMemcpyAsync(pinned + 32, 32, device, 32, ACL_MEMCPY_DEVICE_TO_HOST, a), 0);
    CHECK_EQ(aclrtMemsetAsync(device, 64, 1, 1, a), 0);
    graph = end(a); /* refusals do not spoil a capture */
    for (int i = 1; i < 4; i++) {
        memset(pinned, i, 32);
        run(graph, a);
        CHECK_EQ(pinned[40], i);
    }
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(aclrtFree(device), 0);
    CHECK_EQ(aclrtFreeHost(pinned), 0);
    aclrtDestroyEvent(before);
}

struct other {
    int status;
    aclmdlRICaptureMode mode;
    void *device;
    aclmdlRI graph;
    aclrtContext context;
};

static void *other_fill(void *arg)
{
    struct other *o = arg;
    aclrtSetCurrentContext(o->context);
    aclmdlRICaptureThreadExchangeMode(&o->mode);
    o->status = aclrtMemset(o->device, 64, 0, 64);
    return NULL;
}

static void *other_end(void *arg)
{
    struct other *o = arg;
    aclrtSetCurrentContext(o->context);
    o->status = aclmdlRICaptureEnd(a, &o->graph);
    return NULL;
}

static int in_thread(void *(*what)(void *), struct other *o)
{
    pthread_t thread;
    pthread_create(&thread, NULL, what, o);
    pthread_join(thread, NULL);
    return o->status;
}

static void modes(void)
{
    static const aclmdlRICaptureMode G = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, T = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
                                     R = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    struct other o = {0};
    CHECK_EQ(aclrtGetCurrentContext(&o.context), 0);
    CHECK_EQ(aclrtMalloc(&o.device, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    const struct {
        aclmdlRICaptureMode mode;
        int own, other, other_relaxed;
    } rows[] = {{G, 107030, 107030, 0}, {T, 107030, 0, 0}, {R, 0, 0, 0}};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(aclmdlRICaptureBegin(a, rows[i].mode), 0);
        CHECK_EQ(aclrtMemset(o.device, 64, 0, 64), rows[i].own);
        o.mode = G;
        CHECK_EQ(in_thread(other_fill, &o), rows[i].other);
        o.mode = R;
        CHECK_EQ(in_thread(other_fill, &o), rows[i].other_relaxed);
        CHECK_EQ(in_thread(other_end, &o), rows[i].mode == R ? 0 : ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
        if (o.graph)
            CHECK_EQ(aclmdlRIDestroy(o.graph), 0);
        o.graph = NULL;
    }
    CHECK_EQ(aclrtMemset(o.device, 64, 0, 64), 0);
    CHECK_EQ(aclrtFree(o.device), 0);
}

static void broken(void)
{
    aclrtEvent e = event_new(ACL_EVENT_SYNC), f = event_new(ACL_EVENT_SYNC);
    aclmdlRI graph = NULL;
    task_releases = 0;
    begin(a); /* b does not come back */
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    push(b, task_sleep, 0, SMALL);
    CHECK_EQ(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_TEXT(aclGetRecentErrMsg(), "is not an event record task");
    CHECK(!graph);
    CHECK_EQ(task_releases, 1);
    begin(a); /* work after the record */
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    CHECK_EQ(aclrtRecordEvent(f, b), 0);
    push(b, task_sleep, 0, SMALL);
    CHECK_EQ(aclrtStreamWaitEvent(a, f), 0);
    CHECK_EQ(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    begin(a); /* two captures must not meet */
    begin(b);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    aclmdlRICaptureStatus status;
    CHECK_EQ(aclmdlRICaptureGetInfo(a, &status, NULL), 0);
    CHECK_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
    CHECK_EQ(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    CHECK_EQ(aclmdlRICaptureEnd(b, &graph), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    begin(c); /* the stream ends meanwhile */
    push(c, task_sleep, 0, SMALL);
    CHECK_EQ(aclmdlRICaptureGetInfo(c, NULL, &graph), 0);
    CHECK_EQ(aclmdlRIDestroy(graph), ACL_ERROR_RT_MODEL_CAPTURED);
    CHECK_EQ(aclmdlRIExecuteAsync(graph, a), ACL_ERROR_RT_MODEL_CAPTURED);
    CHECK_EQ(aclmdlRICaptureEnd(c, &graph), 0);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    aclrtDestroyEvent(e);
    aclrtDestroyEvent(f);
}

static void failing_task(void)
{
    static _Atomic int flag;
    ordered = 0;
    begin(a);
    push(a, append, 1, SMALL);
    CHECK_EQ(stream_enqueue(a, &(struct task){fail_once_in_a_while, NULL, &flag, SMALL, {"aclnnTake", NULL}}), 0);
    push(a, append, 2, SMALL);
    aclmdlRI graph = end(a);
    flag = 1;
    int status = aclmdlRIExecuteAsync(graph, a);
    if (!status)
        status = aclrtSynchronizeStream(a);
    CHECK_EQ(status, ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "index 7 is out of range");
    CHECK_EQ(ordered, 1); /* what follows in the graph is not run */
    flag = 0;
    run(graph, a);
    CHECK_EQ(ordered, 3);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

static void groups(void)
{
    aclrtTaskGrp group = NULL, other = NULL;
    aclmdlRI graph;
    task_releases = 0;
    CHECK_EQ(aclmdlRICaptureTaskGrpBegin(a), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    begin(a);
    push(a, append, 1, SMALL);
    CHECK_EQ(aclmdlRICaptureTaskGrpEnd(a, &group), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    CHECK_EQ(aclmdlRICaptureTaskGrpBegin(a), 0);
    CHECK_EQ(aclmdlRICaptureTaskGrpBegin(a), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    push(a, append, 2, SMALL);
    push(a, append, 3, SMALL);
    CHECK_EQ(aclmdlRICaptureTaskGrpEnd(a, &group), 0);
    push(a, append, 4, SMALL);
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(b, group), ACL_ERROR_RT_MODEL_CAPTURED);
    graph = end(a);
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(b, group), 0);
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(c, group), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    ordered = 0;
    push(b, append, 20, SMALL);
    push(b, append, 30, SMALL);
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(b), 0);
    CHECK_EQ(ordered, 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    run(graph, a);
    static const int expected[] = {1, 20, 30, 4};
    for (int i = 0; i < 4; i++)
        CHECK_EQ(order[i], expected[i]);
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(b, group), 0);
    push(b, append, 5, SMALL);
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(b), ACL_ERROR_RT_INTERNAL_ERROR); /* too few: nothing changes */
    CHECK_TEXT(aclGetRecentErrMsg(), "total_num=2, matched_num=1");
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(b, group), 0);
    push(b, append, 5, SMALL);
    push(b, append, 6, SMALL);
    CHECK_EQ(push(b, append, 7, SMALL), ACL_ERROR_RT_INTERNAL_ERROR);
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(b), 0);
    CHECK_EQ(aclrtSynchronizeStream(b), 0);
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(b), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    ordered = 0;
    run(graph, a);
    CHECK_EQ(order[1], 5);
    CHECK_EQ(order[2], 6);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(task_releases, 4 + 2 + 1 + 3);
    CHECK_EQ(aclmdlRICaptureTaskUpdateBegin(b, group), ACL_ERROR_RT_INVALID_HANDLE);
    begin(a); /* another stream must not come between */
    aclrtEvent e = event_new(ACL_EVENT_SYNC);
    CHECK_EQ(aclrtRecordEvent(e, a), 0);
    CHECK_EQ(aclrtStreamWaitEvent(b, e), 0);
    CHECK_EQ(aclmdlRICaptureTaskGrpBegin(a), 0);
    CHECK_EQ(push(b, append, 1, SMALL), ACL_ERROR_STREAM_TASK_GROUP_INTR);
    CHECK_EQ(aclmdlRICaptureTaskGrpEnd(a, &other), ACL_ERROR_STREAM_TASK_GROUP_INTR);
    CHECK_EQ(aclrtRecordEvent(e, b), 0);
    CHECK_EQ(aclrtStreamWaitEvent(a, e), 0);
    CHECK_EQ(aclmdlRICaptureTaskGrpBegin(a), 0);
    CHECK_EQ(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    aclrtDestroyEvent(e);
}

/* An event made as external is a flag: the graph waits for it and clears it, an update stream sets it. */
static void external_flag(void)
{
    aclrtEvent e = event_new(ACL_EVENT_EXTERNAL);
    aclrtEventRecordedStatus status;
    CHECK_EQ(aclrtQueryEventStatus(e, &status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    ordered = 0;
    begin(a);
    CHECK_EQ(aclrtStreamWaitEvent(a, e), 0);
    CHECK_EQ(aclrtResetEvent(e, a), 0);
    push(a, append, 1, SMALL);
    aclmdlRI graph = end(a);
    for (int i = 1; i < 4; i++) {
        CHECK_EQ(aclmdlRIExecuteAsync(graph, a), 0);
        sleep_us(3000);
        CHECK_EQ(ordered, i - 1);
        CHECK_EQ(aclrtRecordEvent(e, b), 0);
        CHECK_EQ(aclrtSynchronizeStream(a), 0);
        CHECK_EQ(ordered, i);
    }
    CHECK_EQ(aclmdlRIExecuteAsync(graph, a), 0); /* nobody sets it: an abort ends the wait */
    CHECK_EQ(aclrtStreamAbort(a), 0);
    CHECK_EQ(aclrtSynchronizeStream(a), ACL_ERROR_RT_STREAM_ABORT);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
}

/* Ordinary events across a graph's border. */
static void external_kinds(void)
{
    aclrtEvent in = event_new(ACL_EVENT_SYNC), out = event_new(ACL_EVENT_SYNC);
    CHECK_EQ(aclrtRecordEventWithFlag(out, a, ACL_EVENT_RECORD_EXTERNAL), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    CHECK_EQ(aclrtStreamWaitEventWithFlag(a, in, 0, ACL_EVENT_WAIT_EXTERNAL), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    begin(a);
    CHECK_EQ(aclrtStreamWaitEventWithFlag(a, in, 0, ACL_EVENT_WAIT_EXTERNAL), 0);
    push(a, append, 2, SMALL);
    CHECK_EQ(aclrtRecordEventWithFlag(out, a, ACL_EVENT_RECORD_EXTERNAL), 0);
    aclmdlRI graph = end(a);
    for (int turn = 0; turn < 3; turn++) {
        ordered = 0;
        push(b, task_sleep, 10000, LARGE);
        push(b, append, 1, SMALL);
        CHECK_EQ(aclrtRecordEvent(in, b), 0);
        CHECK_EQ(aclmdlRIExecuteAsync(graph, a), 0);
        CHECK_EQ(aclrtStreamWaitEvent(c, out), 0); /* the record of this execution, though it has not run yet */
        push(c, append, 3, SMALL);
        CHECK_EQ(aclrtSynchronizeStream(c), 0);
        CHECK_EQ(ordered, 3);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(order[i], i + 1);
    }
    CHECK_EQ(aclrtDestroyEvent(in), 0); /* the graph holds them */
    CHECK_EQ(aclrtDestroyEvent(out), 0);
    run(graph, a);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

static _Atomic int host_calls;

static void host_call(void *n)
{
    atomic_fetch_add(&host_calls, (int)(intptr_t)n);
}

static void callbacks_and_values(void)
{
    _Atomic uint64_t *device = NULL;
    pthread_t thread;
    CHECK_EQ(aclrtMalloc((void **)&device, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemset(device, 64, 0, 64), 0);
    CHECK_EQ(aclrtSubscribeReport((uint64_t)pthread_self(), b), 0);
    begin(b);
    CHECK_EQ(aclrtLaunchHostFunc(b, host_call, (void *)1), 0);
    CHECK_EQ(aclrtLaunchCallback(host_call, (void *)10, ACL_CALLBACK_BLOCK, b), 0);
    CHECK_EQ(aclrtValueWait(device, 7, ACL_STREAM_WAIT_VALUE_EQ, b), 0);
    CHECK_EQ(aclrtValueWrite(device, 8, 0, b), 0);
    aclmdlRI graph = end(b);
    aclrtStream own;
    aclmdlRITask task[4];
    aclmdlRITaskType type;
    uint32_t one = 1, four = 4;
    CHECK_EQ(aclmdlRIGetStreams(graph, &own, &one), 0);
    CHECK_EQ(aclmdlRIGetTasksByStream(own, task, &four), 0);
    CHECK_EQ(aclmdlRITaskGetType(task[2], &type), 0);
    CHECK_EQ(type, ACL_MODEL_RI_TASK_VALUE_WAIT);
    for (int i = 1; i < 4; i++) { /* a callback comes to the subscriber of its stream, wherever the graph runs */
        host_calls = 0;
        pthread_create(&thread, NULL, set_soon, (void *)(uintptr_t)device);
        CHECK_EQ(aclmdlRIExecuteAsync(graph, i == 2 ? a : b), 0);
        CHECK_EQ(aclrtProcessReport(5000), 0);
        CHECK_EQ(aclrtSynchronizeStream(i == 2 ? a : b), 0);
        pthread_join(thread, NULL);
        CHECK_EQ(host_calls, 11);
        CHECK_EQ(*device, 8);
    }
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(aclrtUnSubscribeReport((uint64_t)pthread_self(), b), 0);
    CHECK_EQ(aclrtFree((void *)(uintptr_t)device), 0);
}

static void *execute_many(void *graph)
{
    aclrtSetDevice(0);
    aclrtStream own;
    CHECK_EQ(aclrtCreateStream(&own), 0);
    for (int i = 0; i < 200; i++)
        CHECK_EQ(aclmdlRIExecuteAsync(graph, own), 0);
    CHECK_EQ(aclrtSynchronizeStream(own), 0);
    CHECK_EQ(aclrtDestroyStream(own), 0);
    return NULL;
}

static int count_alone(void *inside)
{
    CHECK_EQ(atomic_fetch_add((_Atomic int *)inside, 1), 0);
    for (volatile int i = 0; i < 1000; i++)
        ;
    atomic_fetch_sub((_Atomic int *)inside, 1);
    atomic_fetch_add(&task_runs, 1);
    return 0;
}

/* Executions of one graph never overlap. */
static void threads(void)
{
    static _Atomic int inside;
    pthread_t thread[4];
    task_runs = 0;
    begin(a);
    push(a, count_alone, (intptr_t)&inside, SMALL);
    aclmdlRI graph = end(a);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, execute_many, graph);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    CHECK_EQ(task_runs, 800);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
}

static void information(void)
{
    char path[] = "/tmp/anynpu-graph-XXXXXX", text[4096] = "", name[8];
    int fd = mkstemp(path);
    host_calls = 0;
    begin(a);
    CHECK_EQ(stream_enqueue(a, &(struct task){append, NULL, (void *)1, SMALL, {"aclnnAdd", NULL}}), 0);
    push(a, append, 2, SMALL);
    aclmdlRI graph = end(a);
    uint32_t id = 99, one = 1, two = 2, sequence = 9;
    aclmdlRITask task[2];
    aclmdlRITaskType type;
    aclrtStream own;
    CHECK_EQ(aclmdlRIGetId(graph, &id), 0);
    CHECK_EQ(aclmdlRIGetName(graph, sizeof name, name), 0);
    CHECK_EQ(strlen(name), 0);
    CHECK_EQ(aclmdlRISetName(graph, "a long name"), 0);
    CHECK_EQ(aclmdlRIGetName(graph, sizeof name, name), 0);
    CHECK(strcmp(name, "a long ") == 0);
    CHECK_EQ(aclmdlRIGetStreams(graph, &own, &one), 0);
    one = 1;
    CHECK_EQ(aclmdlRIGetTasksByStream(own, task, &one), ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY);
    CHECK_EQ(aclmdlRIGetTasksByStream(own, task, &two), 0);
    CHECK_EQ(aclmdlRITaskGetType(task[0], &type), 0);
    CHECK_EQ(type, ACL_MODEL_RI_TASK_KERNEL);
    CHECK_EQ(aclmdlRITaskGetSeqId(task[1], &sequence), 0);
    CHECK_EQ(sequence, 1);
    CHECK_EQ(aclmdlRIDebugJsonPrint(graph, path, ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE), 0);
    CHECK(read(fd, text, sizeof text - 1) > 0);
    CHECK_TEXT(text, "{\"name\":\"aclnnAdd\"");
    CHECK_TEXT(text, "\"Task Type\":\"KERNEL\"");
    CHECK_EQ(aclmdlRIDebugJsonPrint(graph, "/no/such/folder/x", 0), ACL_ERROR_RT_FILE_OPEN);
    CHECK_EQ(aclmdlRITaskDisable(task[0]), 0);
    ordered = 0;
    run(graph, a);
    CHECK_EQ(ordered, 2); /* takes effect with the update */
    CHECK_EQ(aclmdlRIUpdate(graph), 0);
    run(graph, a);
    CHECK_EQ(ordered, 3);
    CHECK_EQ(aclmdlRIDestroyRegisterCallback(graph, host_call, (void *)1), 0);
    CHECK_EQ(aclmdlRIDestroyRegisterCallback(graph, host_call, (void *)2), 0);
    CHECK_EQ(aclmdlRIDestroyUnregisterCallback(graph, host_call), 0);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(host_calls, 1);
    CHECK_EQ(aclmdlRITaskGetType(task[0], &type), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclmdlRIGetId(NULL, &id), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlRIExecuteAsync((aclmdlRI)0x1234, a), ACL_ERROR_RT_INVALID_HANDLE);
    close(fd);
    unlink(path);
}

/* Streams and contexts that go away: nothing hangs, nothing leaks, the graph says so. */
static void endings(void)
{
    aclrtContext own, old;
    aclrtStream s;
    aclmdlRI graph = NULL, other = NULL;
    CHECK_EQ(aclrtGetCurrentContext(&old), 0);
    CHECK_EQ(aclrtCreateContext(&own, 0), 0);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    task_releases = 0;
    begin(s);
    push(s, task_sleep, 0, SMALL);
    CHECK_EQ(aclrtDestroyStreamForce(s), ACL_ERROR_RT_STREAM_CAPTURED);
    graph = end(s);
    CHECK_EQ(aclmdlRIExecuteAsync(graph, s), 0);
    begin(s);
    push(s, task_sleep, 0, SMALL);
    CHECK_EQ(aclmdlRICaptureGetInfo(s, NULL, &other), 0);
    CHECK_EQ(aclrtDestroyContext(own), 0); /* in the middle of a capture */
    CHECK_EQ(task_releases, 1);
    CHECK_EQ(aclrtSetCurrentContext(old), 0);
    CHECK_EQ(aclmdlRIExecuteAsync(other, a), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclmdlRIExecuteAsync(graph, a), ACL_ERROR_RT_MODEL_CONTEXT);
    CHECK_EQ(aclmdlRIDestroy(graph), 0);
    CHECK_EQ(task_releases, 2);
    CHECK_EQ(aclrtSynchronizeDevice(), 0);
}

int main(void)
{
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&a), 0);
    CHECK_EQ(aclrtCreateStream(&b), 0);
    CHECK_EQ(aclrtCreateStream(&c), 0);
    one_stream();
    in_order();
    several_streams();
    waiting_lanes();
    forbidden();
    modes();
    broken();
    failing_task();
    groups();
    external_flag();
    external_kinds();
    callbacks_and_values();
    threads();
    information();
    endings();
    CHECK_EQ(aclrtResetDevice(0), 0);
    return check_done();
}

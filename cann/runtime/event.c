/* SPDX-License-Identifier: BSD-3-Clause */
/* Events; see event.h. A record on an idle stream completes at once; else it is a task of the stream, so that its time
 * is the device's. Generations are compared as differences, so they may wrap. Records and waits on streams that capture
 * go to the capture (capture.h). */
#include "event.h"

#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "capture.h"
#include "door.h"
#include "error.h"
#include "pool.h"
#include "settings.h"
#include "share.h"

enum { EVENTS = 1 << 20 };

static struct handle_table event_table = HANDLE_TABLE(struct event, "event", EVENTS);

static struct event *event_get(aclrtEvent handle)
{
    if (entry_check())
        return NULL;
    if (handle_valid(&event_table, handle))
        return handle;
    fail(handle ? ACL_ERROR_RT_INVALID_HANDLE : ACL_ERROR_INVALID_PARAM,
         "event %p does not exist (destroyed, or never created)", handle);
    return NULL;
}

static bool reached(uint32_t done, uint32_t generation)
{
    return (int32_t)(done - generation) >= 0;
}

static bool complete(const struct event *e)
{
    uint32_t recorded = atomic_load_explicit(e->recorded, memory_order_acquire);
    return reached(atomic_load_explicit(e->done, memory_order_acquire), recorded);
}

void event_ref(struct event *e)
{
    atomic_fetch_add(&e->references, 1);
}

void event_unref(struct event *e)
{
    if (atomic_fetch_sub(&e->references, 1) != 1)
        return;
    if (e->record)
        record_free(e->record, e->fd);
    handle_free(&event_table, e);
}

void event_set_done(struct event *e, uint32_t generation)
{
    uint32_t done = atomic_load(e->done);
    if (generation == atomic_load(e->recorded))
        atomic_store(e->time, clock_ns());
    while (!reached(done, generation) && !atomic_compare_exchange_weak(e->done, &done, generation))
        ;
    if (atomic_load(e->waiters))
        futex_wake(e->done, INT32_MAX, e->record != NULL);
}

uint32_t event_newest(const struct event *e)
{
    return atomic_load(e->recorded);
}

uint32_t event_next(struct event *e, struct stream *s)
{
    uint32_t generation = atomic_fetch_add(e->recorded, 1) + 1;
    atomic_store(&e->stream, s);
    return generation;
}

static void use_words(struct event *e, _Atomic uint32_t *words, _Atomic int64_t *time)
{
    e->recorded = &words[0];
    e->done = &words[1];
    e->waiters = &words[2];
    e->time = time;
}

static int event_new(uint32_t flags, struct event **out)
{
    struct event *e = handle_new(&event_table);
    if (!e)
        return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "no event left: %d exist", EVENTS);
    e->flags = flags;
    e->fd = -1;
    atomic_store(&e->references, 1);
    use_words(e, e->own, &e->own_time);
    *out = e;
    return ACL_SUCCESS;
}

static int create(aclrtEvent *event, uint32_t flags)
{
    struct event *e = NULL;
    if (!context_current())
        return fail_code();
    TRY(event_new(flags, &e));
    if (flags & ACL_EVENT_IPC) {
        e->record = record_new(SHARE_EVENT, &e->fd);
        if (!e->record) {
            handle_retire(e);
            event_unref(e);
            return fail_code();
        }
        atomic_store(&e->record->anyone, 1);
        use_words(e, e->record->words, &e->record->time);
    }
    *event = e;
    return ACL_SUCCESS;
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
    CHECK_ARG(event);
    return create(event, ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE);
}

static int check_flags(uint32_t flag)
{
    uint32_t known = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE |
                     ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;
    if (flag & ~known)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "event flag 0x%x is not a combination of ACL_EVENT_*", flag);
    return ACL_SUCCESS;
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    CHECK_ARG(event);
    TRY(check_flags(flag));
    return create(event, flag);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
    CHECK_ARG(event);
    TRY(check_flags(flag));
    return create(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
    CHECK_ARG(event);
    TRY(entry_check());
    struct event *e = event_get(event);
    if (!e || !handle_retire(e))
        return e ? ACL_ERROR_RT_INVALID_HANDLE : fail_code();
    event_unref(e);
    return ACL_SUCCESS;
}

/* What a record or wait task carries: the event and its generation in one word each, on the heap only when queued. */
struct mark {
    struct event *event;
    uint32_t generation;
    int64_t limit; /* ns, 0: none */
};

static const struct task_detail record_detail = {.task_class = ANYNPU_TASK_EVENT, .name = "EventRecord"},
                                wait_detail = {.task_class = ANYNPU_TASK_EVENT, .name = "EventWait"};

static struct mark *mark_new(struct event *e, uint32_t generation)
{
    struct mark *m = malloc(sizeof *m);
    if (m) {
        *m = (struct mark){e, generation, 0};
        event_ref(e);
    }
    return m;
}

static void mark_free(void *arg)
{
    struct mark *m = arg;
    event_unref(m->event);
    free(m);
}

static int run_record(void *arg)
{
    struct mark *m = arg;
    event_set_done(m->event, m->generation);
    return ACL_SUCCESS;
}

/* Also when the stream was aborted before: who waits must not wait for ever. */
static void release_record(void *arg)
{
    struct mark *m = arg;
    event_set_done(m->event, m->generation);
    mark_free(m);
}

/* ---- events made with ACL_EVENT_EXTERNAL: a flag that streams set, await and clear ---- */

static int run_set(void *arg)
{
    struct mark *m = arg;
    atomic_store(m->event->time, clock_ns());
    atomic_store(m->event->done, 1);
    futex_wake(m->event->done, INT32_MAX, m->event->record != NULL);
    return ACL_SUCCESS;
}

static int run_clear(void *arg)
{
    struct mark *m = arg;
    atomic_store(m->event->done, 0);
    return ACL_SUCCESS;
}

static int run_await_flag(void *arg)
{
    struct mark *m = arg;
    return event_await(m->event, 1, m->limit);
}

static bool is_flag(const struct event *e)
{
    return e->flags & ACL_EVENT_EXTERNAL;
}

static int push_flag(struct event *e, struct stream *s, int (*run)(void *), int64_t limit)
{
    struct mark *m = mark_new(e, 1);
    if (!m)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    m->limit = limit;
    if (run != run_await_flag)
        return stream_enqueue(
            s, &(struct task){run, mark_free, m, 0, {run == run_set ? "EventRecord" : "EventReset", NULL}});
    return stream_push(s, &(struct task){run, mark_free, m, 0, {"EventWait", NULL}});
}

static int refuse_flag(const struct event *e, const char *what)
{
    return is_flag(e) ? fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                             "The current system or device does not support %s event %u: it was created with "
                             "ACL_EVENT_EXTERNAL",
                             what, e->handle.id)
                      : ACL_SUCCESS;
}

/* ---- recording and waiting ---- */

static int record(struct event *e, aclrtStream stream)
{
    struct stream *s;
    TRY(stream_get(stream, &s));
    if (is_flag(e))
        return push_flag(e, s, run_set, 0);
    if (__builtin_expect(capture_any(), 0)) {
        bool taken = false;
        int status = capture_record(s, e, &taken);
        if (taken)
            return status;
    }
    uint32_t generation = event_next(e, s);
    if (stream_is_idle(s)) {
        event_set_done(e, generation);
        return ACL_SUCCESS;
    }
    struct mark *m = mark_new(e, generation);
    if (!m) {
        event_set_done(e, generation);
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    }
    return stream_push(s, &(struct task){run_record, release_record, m, 0, {NULL, NULL, &record_detail}});
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    struct event *e = event_get(event);
    return e ? record(e, stream) : fail_code();
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag)
{
    if (flag & ~(uint32_t)ACL_EVENT_RECORD_EXTERNAL)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "record flag 0x%x is unknown", flag);
    struct event *e = event_get(event);
    struct stream *s;
    if (!e)
        return fail_code();
    if (!flag || is_flag(e))
        return record(e, stream);
    TRY(stream_get(stream, &s));
    return capture_external(s, e, NODE_RECORD_EXTERNAL);
}

int event_await(struct event *e, uint32_t generation, int64_t limit_ns)
{
    struct stream *s = stream_running();
    uint32_t done;
    int64_t limit = limit_ns ? clock_ns() + limit_ns : INT64_MAX;
    int status = ACL_SUCCESS;
    atomic_fetch_add(e->waiters, 1);
    while (!reached(done = atomic_load(e->done), generation)) {
        if (clock_ns() >= limit) {
            status = fail(ACL_ERROR_RT_TASK_TIMEOUT, "stream %u waited longer than %lld ms for event %u", s->handle.id,
                          (long long)(limit_ns / 1000000), e->handle.id);
            break;
        }
        if (!stream_pause(s, e->done, done, e->record != NULL))
            break;
    }
    atomic_fetch_sub(e->waiters, 1);
    return status;
}

static int run_wait(void *arg)
{
    struct mark *m = arg;
    return event_await(m->event, m->generation, m->limit);
}

static void release_wait(void *arg)
{
    struct mark *m = arg;
    atomic_fetch_sub(&m->event->waits, 1);
    mark_free(m);
}

static int wait(aclrtStream stream, aclrtEvent event, int64_t limit_ns)
{
    struct event *e = event_get(event);
    struct stream *s;
    if (!e)
        return fail_code();
    TRY(stream_get(stream, &s));
    if (is_flag(e))
        return push_flag(e, s, run_await_flag, limit_ns);
    if (__builtin_expect(capture_any(), 0)) {
        bool taken = false;
        int status = capture_wait(s, e, &taken);
        if (taken)
            return status;
    }
    if (complete(e) || (!e->foreign && atomic_load(&e->stream) == s))
        return ACL_SUCCESS;
    struct mark *m = mark_new(e, atomic_load(e->recorded));
    if (!m)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    m->limit = limit_ns;
    atomic_fetch_add(&e->waits, 1);
    return stream_push(s, &(struct task){run_wait, release_wait, m, 0, {NULL, NULL, &wait_detail}});
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    return wait(stream, event, settings_wait_ns());
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag)
{
    if (flag & ~(uint32_t)ACL_EVENT_WAIT_EXTERNAL)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "wait flag 0x%x is unknown", flag);
    struct event *e = event_get(event);
    struct stream *s;
    if (!e)
        return fail_code();
    if (flag && !is_flag(e)) {
        TRY(stream_get(stream, &s));
        return capture_external(s, e, NODE_WAIT_EXTERNAL);
    }
    return wait(stream, event, timeout ? (int64_t)timeout * 1000000 : settings_wait_ns());
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    if (timeout < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is less than -1", timeout);
    return wait(stream, event, timeout > 0 ? (int64_t)timeout * 1000000 : settings_wait_ns());
}

static int run_reset(void *arg)
{
    struct mark *m = arg;
    if (atomic_load(m->event->recorded) == m->generation)
        atomic_store(&m->event->stream, NULL);
    return ACL_SUCCESS;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream)
{
    struct event *e = event_get(event);
    struct stream *s;
    if (!e)
        return fail_code();
    if (is_flag(e)) {
        TRY(stream_get(stream, &s));
        return push_flag(e, s, run_clear, 0);
    }
    if (!(e->flags & ACL_EVENT_SYNC))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "event %u was created without ACL_EVENT_SYNC and cannot be reset",
                    e->handle.id);
    TRY(stream_get(stream, &s));
    if (capture_has(s))
        return ACL_SUCCESS; /* in a graph each execution begins anew */
    struct mark *m = mark_new(e, atomic_load(e->recorded));
    if (!m)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    return stream_enqueue(stream, &(struct task){run_reset, mark_free, m, 0, {NULL, NULL}});
}

static bool recorded(const struct event *e)
{
    return e->foreign || atomic_load(&e->stream) != NULL;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status)
{
    CHECK_ARG(status);
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    TRY(refuse_flag(e, "querying"));
    TRY(capture_check_event(e, "Event query"));
    *status = complete(e) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    CHECK_ARG(status);
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    TRY(refuse_flag(e, "querying"));
    TRY(capture_check_event(e, "Event status query"));
    *status = recorded(e) && complete(e) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
    CHECK_ARG(status);
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    TRY(refuse_flag(e, "querying"));
    TRY(capture_check_event(e, "Event waiting status query"));
    *status = atomic_load(&e->waits) == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout)
{
    TRACE_CALL();
    if (timeout < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is less than -1", timeout);
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    TRY(refuse_flag(e, "synchronizing"));
    TRY(capture_check_event(e, "Event synchronization"));
    uint32_t goal = atomic_load(e->recorded), done;
    if (reached(atomic_load(e->done), goal))
        return ACL_SUCCESS;
    int64_t end = timeout < 0 ? INT64_MAX : clock_ns() + (int64_t)timeout * 1000000;
    int status = ACL_SUCCESS;
    atomic_fetch_add(&e->references, 1);
    atomic_fetch_add(e->waiters, 1);
    for (int64_t spin = clock_ns() + SPIN_SHORT_NS; !reached(done = atomic_load(e->done), goal);) {
        int64_t now = clock_ns();
        if (now < spin) {
            cpu_relax();
        } else if (now >= end) {
            status =
                fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "event %u has not happened within %d ms", e->handle.id, timeout);
            break;
        } else {
            futex_wait(e->done, done, end - now < 50000000 ? end - now : 50000000, e->record != NULL);
        }
    }
    atomic_fetch_sub(e->waiters, 1);
    event_unref(e);
    return status;
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    return aclrtSynchronizeEventWithTimeout(event, -1);
}

static int time_of(aclrtEvent event, int64_t *ns)
{
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    TRY(refuse_flag(e, "taking the time of"));
    TRY(capture_check_event(e, "Computing the elapsed time between two events"));
    if (!(e->flags & ACL_EVENT_TIME_LINE))
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "event %u was created without ACL_EVENT_TIME_LINE",
                    e->handle.id);
    if (!recorded(e))
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "event %u was not recorded", e->handle.id);
    if (!complete(e))
        return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "event %u has not happened yet: synchronize it first",
                    e->handle.id);
    *ns = atomic_load(e->time);
    return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    CHECK_ARG(ms);
    int64_t start = 0, end = 0;
    TRY(time_of(startEvent, &start));
    TRY(time_of(endEvent, &end));
    *ms = (float)((double)(end - start) / 1e6);
    if (end < start)
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end event happened %.6f ms before the start event",
                    -*ms);
    return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp)
{
    CHECK_ARG(timestamp);
    int64_t ns = 0;
    TRY(time_of(event, &ns));
    *timestamp = (uint64_t)ns / 1000;
    return ACL_SUCCESS;
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId)
{
    CHECK_ARG(eventId);
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    *eventId = e->handle.id;
    return ACL_SUCCESS;
}

aclError aclrtGetEventAvailNum(uint32_t *eventCount)
{
    CHECK_ARG(eventCount);
    *eventCount = EVENTS - event_table.live_count;
    return ACL_SUCCESS;
}

/* Handle: process and descriptor of the record. */
aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle)
{
    CHECK_ARG(handle);
    struct event *e = event_get(event);
    if (!e)
        return fail_code();
    if (e->fd < 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "event %u was not created here with ACL_EVENT_IPC", e->handle.id);
    char key[SHARE_KEY];
    record_key(key, SHARE_EVENT, e->record->pid, e->fd);
    memcpy(handle->reserved, key, sizeof handle->reserved);
    return ACL_SUCCESS;
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event)
{
    CHECK_ARG(event);
    TRY(device_use());
    char key[SHARE_KEY] = "";
    int32_t pid = 0, fd = 0;
    memcpy(key, handle.reserved, sizeof handle.reserved);
    if (!record_parse(key, SHARE_EVENT, &pid, &fd))
        return ACL_ERROR_RT_PARAM_INVALID;
    struct record *r = record_open(SHARE_EVENT, pid, fd);
    struct event *e = NULL;
    int status = r ? event_new(ACL_EVENT_IPC, &e) : fail_code();
    if (status) {
        if (r)
            record_free(r, -1);
        return status;
    }
    e->record = r;
    e->foreign = true;
    use_words(e, r->words, &r->time);
    *event = e;
    return ACL_SUCCESS;
}

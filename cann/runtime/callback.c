/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks; see callback.h.
 *
 * A thread subscribes to streams; a stream's callbacks go to its subscriber's queue, and run in aclrtProcessReport,
 * called by that thread. A blocking callback keeps the stream until it has run. One lock (callback), innermost but for
 * the log. */
#define _GNU_SOURCE
#include "callback.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/futex.h"
#include "context.h"
#include "door.h"
#include "error.h"
#include "stream.h"

enum { REGISTERED_MAX = 64 };

struct report {
    struct report *next;
    aclrtCallback fn;
    void *data;
    _Atomic uint32_t state; /* 0 waiting, 1 done */
    _Atomic uint32_t references;
};

struct subscription {
    struct subscription *next;
    uint64_t thread;
    struct stream *stream;
};

/* One thread's queue; lives for ever once made (threads that subscribe are few). */
struct queue {
    struct queue *next;
    uint64_t thread;
    struct report *first, *last;
    _Atomic uint32_t word; /* changes with each arrival */
};

struct aclrtExceptionInfo {
    uint32_t task, stream, thread, device, code;
};

/* Callbacks registered for one kind of change, by name. */
struct listener {
    char name[64];
    void (*fn)(void);
    void *args;
};

static const struct task_detail callback_detail = {.task_class = ANYNPU_TASK_CALLBACK};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct subscription *subscriptions;
static struct queue *queues;
static struct listener stream_listeners[REGISTERED_MAX], device_listeners[REGISTERED_MAX],
    abort_listeners[REGISTERED_MAX];
static aclrtExceptionInfoCallback exception_callback, exception_callbacks[REGISTERED_MAX];
static _Atomic int listening; /* any listener of streams or devices */

static void drop_report(struct report *r)
{
    if (atomic_fetch_sub(&r->references, 1) == 1)
        free(r);
}

static struct subscription **find(struct stream *stream)
{
    struct subscription **p = &subscriptions;
    while (*p && (*p)->stream != stream)
        p = &(*p)->next;
    return p;
}

static struct queue *queue_of(uint64_t thread, bool make)
{
    struct queue *q = queues;
    while (q && q->thread != thread)
        q = q->next;
    if (!q && make && (q = calloc(1, sizeof *q))) {
        q->thread = thread;
        q->next = queues;
        queues = q;
    }
    return q;
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream)
{
    struct stream *s;
    TRY(stream_get(stream, &s));
    struct subscription *new = calloc(1, sizeof *new);
    pthread_mutex_lock(&lock);
    struct subscription **p = find(s);
    int status = ACL_SUCCESS;
    if (*p) {
        status = ACL_ERROR_RT_STREAM_SUBSCRIBE;
    } else if (!new || !queue_of(threadId, true)) {
        status = ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    } else {
        *new = (struct subscription){subscriptions, threadId, s};
        subscriptions = new;
        new = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(new);
    if (status == ACL_ERROR_RT_STREAM_SUBSCRIBE)
        return fail(status, "stream %u is already subscribed", s->handle.id);
    return status ? fail(status, "the host is out of memory") : ACL_SUCCESS;
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream)
{
    struct stream *s;
    TRY(stream_get(stream, &s));
    stream_wait(s, -1);
    pthread_mutex_lock(&lock);
    struct subscription **p = find(s), *old = *p;
    bool good = old && old->thread == threadId;
    if (good)
        *p = old->next;
    pthread_mutex_unlock(&lock);
    if (!good)
        return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "thread %llu has not subscribed to stream %u",
                    (unsigned long long)threadId, s->handle.id);
    free(old);
    return ACL_SUCCESS;
}

void callback_forget(struct stream *s)
{
    pthread_mutex_lock(&lock);
    struct subscription **p = find(s), *old = *p;
    if (old)
        *p = old->next;
    pthread_mutex_unlock(&lock);
    free(old);
}

struct launch {
    struct stream *stream; /* that the callback was launched on: whose subscriber runs it */
    aclrtCallback fn;
    void *data;
    bool block;
    struct report *report; /* for the first run */
};

/* Once for each run: a captured callback comes again with every execution of its graph. */
static int run_launch(void *arg)
{
    struct launch *l = arg;
    struct stream *s = stream_running();
    struct report *r = l->report ? l->report : calloc(1, sizeof *r);
    if (!r)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    l->report = NULL;
    r->fn = l->fn;
    r->data = l->data;
    atomic_store(&r->references, 2);
    pthread_mutex_lock(&lock);
    struct subscription *sub = *find(l->stream);
    struct queue *q = sub ? queue_of(sub->thread, false) : NULL;
    if (q) {
        if (q->first)
            q->last->next = r;
        else
            q->first = r;
        q->last = r;
        atomic_fetch_add(&q->word, 1);
        futex_wake(&q->word, 1, false);
    }
    pthread_mutex_unlock(&lock);
    if (!q) {
        free(r);
        return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread processes the callbacks of stream %u", s->handle.id);
    }
    while (l->block && !atomic_load(&r->state))
        if (!stream_pause(s, &r->state, 0, false))
            break;
    drop_report(r);
    return ACL_SUCCESS;
}

static void release_launch(void *arg)
{
    struct launch *l = arg;
    free(l->report);
    free(l);
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream)
{
    CHECK_ARG(fn);
    struct stream *s;
    TRY(stream_get(stream, &s));
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "block type %d is unknown", (int)blockType);
    pthread_mutex_lock(&lock);
    bool subscribed = *find(s) != NULL;
    pthread_mutex_unlock(&lock);
    if (!subscribed)
        return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread has subscribed to stream %u", s->handle.id);
    struct launch *l = malloc(sizeof *l);
    struct report *r = calloc(1, sizeof *r);
    if (!l || !r) {
        free(l);
        free(r);
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    }
    *l = (struct launch){s, fn, userData, blockType == ACL_CALLBACK_BLOCK, r};
    return stream_push(s, &(struct task){run_launch, release_launch, l, 0, {"Callback", NULL, &callback_detail}});
}

aclError aclrtProcessReport(int32_t timeout)
{
    TRY(entry_check());
    if (timeout < -1 || timeout == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "timeout %d is neither -1 nor positive", timeout);
    uint64_t self = (uint64_t)pthread_self();
    int64_t end = timeout < 0 ? INT64_MAX : clock_ns() + (int64_t)timeout * 1000000;
    for (;;) {
        pthread_mutex_lock(&lock);
        struct queue *q = queue_of(self, false);
        struct report *r = q ? q->first : NULL;
        bool subscribed = r != NULL;
        for (struct subscription *s = subscriptions; s && !subscribed; s = s->next)
            subscribed = s->thread == self;
        uint32_t seen = q ? atomic_load(&q->word) : 0;
        if (r)
            q->first = r->next;
        pthread_mutex_unlock(&lock);
        if (!subscribed)
            return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the calling thread has not subscribed to a stream");
        if (r) {
            r->fn(r->data);
            atomic_store(&r->state, 1);
            futex_wake(&r->state, 1, false);
            drop_report(r);
            return ACL_SUCCESS;
        }
        int64_t now = clock_ns();
        if (now >= end)
            return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback came within %d ms", timeout);
        futex_wait(&q->word, seen, end - now < 50000000 ? end - now : 50000000, false);
    }
}

struct host_call {
    aclrtHostFunc fn;
    void *args;
};

static int run_host(void *arg)
{
    struct host_call *h = arg;
    h->fn(h->args);
    return ACL_SUCCESS;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args)
{
    CHECK_ARG(fn);
    struct stream *s;
    TRY(stream_get(stream, &s));
    struct host_call *h = malloc(sizeof *h);
    if (!h)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    *h = (struct host_call){fn, args};
    return stream_push(s, &(struct task){run_host, free, h, 0, {"HostFunc", NULL, &callback_detail}});
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback)
{
    pthread_mutex_lock(&lock);
    exception_callback = callback;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback)
{
    CHECK_ARG(callback);
    bool room = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < REGISTERED_MAX && !room; i++)
        if (!exception_callbacks[i] || exception_callbacks[i] == callback) {
            exception_callbacks[i] = callback;
            room = true;
        }
    pthread_mutex_unlock(&lock);
    return room ? ACL_SUCCESS : fail(ACL_ERROR_RT_OVER_LIMIT, "%d callbacks are registered already", REGISTERED_MAX);
}

aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback)
{
    CHECK_ARG(callback);
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < REGISTERED_MAX; i++)
        if (exception_callbacks[i] == callback) {
            exception_callbacks[i] = NULL;
            found = true;
        }
    pthread_mutex_unlock(&lock);
    return found ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, "the callback is not registered");
}

void callback_exception(struct stream *stream, uint32_t task, int status)
{
    aclrtExceptionInfoCallback calls[REGISTERED_MAX + 1];
    pthread_mutex_lock(&lock);
    memcpy(calls, exception_callbacks, sizeof exception_callbacks);
    calls[REGISTERED_MAX] = exception_callback;
    pthread_mutex_unlock(&lock);
    struct aclrtExceptionInfo info = {task, stream->handle.id, (uint32_t)gettid(), (uint32_t)stream->device->id,
                                      (uint32_t)status};
    for (int i = 0; i <= REGISTERED_MAX; i++)
        if (calls[i])
            calls[i](&info);
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info ? info->task : UINT32_MAX;
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info ? info->stream : UINT32_MAX;
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info ? info->thread : UINT32_MAX;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info ? info->device : UINT32_MAX;
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info ? info->code : UINT32_MAX;
}

/* fn NULL takes the name out of the list. */
static int listen_to(struct listener *list, const char *name, void (*fn)(void), void *args)
{
    CHECK_ARG(name);
    if (!*name || strlen(name) >= sizeof list->name)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "'%s' is not a name of 1 to %zu characters", name,
                    sizeof list->name - 1);
    struct listener *place = NULL;
    pthread_mutex_lock(&lock);
    for (int i = REGISTERED_MAX; i-- > 0;)
        if (strcmp(list[i].name, name) == 0) {
            place = &list[i];
            break;
        } else if (!*list[i].name) {
            place = &list[i];
        }
    if (place && fn) {
        strcpy(place->name, name);
        place->fn = fn;
        place->args = args;
        atomic_store(&listening, 1);
    } else if (place) {
        *place = (struct listener){0};
    }
    pthread_mutex_unlock(&lock);
    return place ? ACL_SUCCESS : fail(ACL_ERROR_RT_OVER_LIMIT, "%d callbacks are registered already", REGISTERED_MAX);
}

aclError aclrtRegStreamStateCallback(const char *regName, aclrtStreamStateCallback callback, void *args)
{
    return listen_to(stream_listeners, regName, (void (*)(void))callback, args);
}

aclError aclrtRegDeviceStateCallback(const char *regName, aclrtDeviceStateCallback callback, void *args)
{
    return listen_to(device_listeners, regName, (void (*)(void))callback, args);
}

aclError aclrtSetDeviceTaskAbortCallback(const char *regName, aclrtDeviceTaskAbortCallback callback, void *args)
{
    return listen_to(abort_listeners, regName, (void (*)(void))callback, args);
}

static bool listeners(const struct listener *list, struct listener copy[REGISTERED_MAX])
{
    if (!atomic_load_explicit(&listening, memory_order_acquire))
        return false;
    pthread_mutex_lock(&lock);
    memcpy(copy, list, sizeof *list * REGISTERED_MAX);
    pthread_mutex_unlock(&lock);
    return true;
}

void callback_stream(struct stream *stream, aclrtStreamState state)
{
    struct listener copy[REGISTERED_MAX];
    if (listeners(stream_listeners, copy))
        for (int i = 0; i < REGISTERED_MAX; i++)
            if (copy[i].fn)
                ((aclrtStreamStateCallback)copy[i].fn)(stream, state, copy[i].args);
}

void callback_device(int32_t device, aclrtDeviceState state)
{
    struct listener copy[REGISTERED_MAX];
    if (listeners(device_listeners, copy))
        for (int i = 0; i < REGISTERED_MAX; i++)
            if (copy[i].fn)
                ((aclrtDeviceStateCallback)copy[i].fn)((uint32_t)device, state, copy[i].args);
}

int callback_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout)
{
    struct listener copy[REGISTERED_MAX];
    int32_t status = 0;
    if (listeners(abort_listeners, copy))
        for (int i = 0; i < REGISTERED_MAX && !status; i++)
            if (copy[i].fn)
                status = ((aclrtDeviceTaskAbortCallback)copy[i].fn)((uint32_t)device, stage, timeout, copy[i].args);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams; the states and who may change them stand in stream.h.
 *
 * A device thread is started with the first task that cannot run at once. The queue is a ring of RING slots (made with
 * the thread); a full ring makes producers wait, as a device's task queue does. Failures: a task run at once returns
 * its status to the caller; a queued one leaves it in the stream, with its text, for the next synchronise; later tasks
 * run. */
#define _GNU_SOURCE
#include "stream.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/futex.h"
#include "base/options.h"
#include "callback.h"
#include "capture.h"
#include "error.h"
#include "fault.h"
#include "language.h"
#include "local.h"
#include "pool.h"
#include "settings.h"

enum { RING = 4096, SLICE_NS = 50000000, LONG_TASK_NS = 1000000 };
#define EXIT_NS INT64_C(3000000000) /* how long the end of the process waits for running tasks */

struct handle_table stream_table = HANDLE_TABLE(struct stream, "stream", 65536);

static _Atomic bool stopping;     /* the process ends */
static _Atomic int threads_alive; /* device threads */

struct stream *stream_running(void)
{
    return local()->running;
}

/* The policy, in one place: up to which estimate (ns on one core) does a task run at once on the caller's thread? A
 * hand-over costs 0.2 µs to a spinning thread, 10 to 30 µs to a sleeping one, and hides the caller's own work behind
 * the device's. With one or two CPUs the caller's thread, the device thread and the pool's worker share them, so that
 * only tasks that are long beside a hand-over gain (measured: training a small CNN 17 % faster with 300 µs than with
 * all at once; an MLP of 100 µs operators 30 % slower with none at once). */
static uint64_t at_once_limit(void)
{
    static _Atomic uint64_t known = UINT64_MAX;
    uint64_t limit = atomic_load_explicit(&known, memory_order_relaxed);
    if (limit != UINT64_MAX)
        return limit;
    int64_t us = option_number(OPTION_INLINE_US);
    if (us < 0)
        us = cpu_count() > 2 ? 30 : 300;
    limit = shaking() ? 0 : (uint64_t)us * 1000;
    if (!shaking() && (option_number(OPTION_BLOCKING) == 1 || option_number(OPTION_LAUNCH_BLOCKING) == 1))
        limit = UINT64_MAX - 1;
    atomic_store_explicit(&known, limit, memory_order_relaxed);
    return limit;
}

static bool blocking(void)
{
    static _Atomic int known = -1;
    int b = atomic_load_explicit(&known, memory_order_relaxed);
    if (b < 0) {
        b = option_number(OPTION_BLOCKING) == 1 || option_number(OPTION_LAUNCH_BLOCKING) == 1;
        atomic_store_explicit(&known, b, memory_order_relaxed);
    }
    return b;
}

static void jitter(void)
{
    int64_t us = option_number(OPTION_JITTER);
    if (us <= 0)
        return;
    static _Thread_local uint32_t seed;
    if (!seed)
        seed = (uint32_t)clock_ns() | 1;
    seed = seed * 1664525u + 1013904223u;
    int64_t ns = (int64_t)((uint64_t)seed * (uint64_t)us * 1000 >> 32);
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static uint32_t task_id(const struct stream *s)
{
    return (uint32_t)(atomic_load_explicit(&s->at_once, memory_order_relaxed) +
                      atomic_load_explicit(&s->finished, memory_order_relaxed));
}

static _Atomic(const char *(*)(void)) place_ask;

void place_set(const char *(*ask)(void))
{
    atomic_store(&place_ask, ask);
}

/* Where the calling thread is in the user's program; NULL when nobody knows. */
static const char *place_now(void)
{
    const char *(*ask)(void) = atomic_load_explicit(&place_ask, memory_order_relaxed);
    return ask ? ask() : NULL;
}

static const char *name_of(const struct task *task)
{
    return task->note.name ? task->note.name : "a task";
}

static void trace(const struct local *me, struct stream *s, const struct task *task, const struct launched *launch,
                  int64_t begin, int status)
{
    struct launched unknown = {begin, 0, 0}; /* it was queued before the session began */
    struct trace_done done = {.note = &task->note,
                              .launch = launch->when ? *launch : unknown,
                              .stream = s->handle.id,
                              .task = task_id(s),
                              .blocks = me->blocks ? me->blocks : 1,
                              .device = s->device->id,
                              .status = status,
                              .begin = begin,
                              .end = clock_ns()};
    trace_task(&done);
}

/* "(DT_FLOAT[2,3], DT_FLOAT[3] -> DT_FLOAT[2,3])", as far as it fits; "" when it is not known. */
static const char *tensors_of(const struct task *task, char *out, size_t size)
{
    const struct task_detail *detail = task->note.detail;
    const char *at = detail ? detail->tensor : NULL, *end = at ? at + detail->tensor_bytes : NULL;
    size_t n = 0;
    bool outputs = false;
    *out = 0;
    while (at && at < end && n < size) {
        const struct anynpu_trace_tensor *t = (const struct anynpu_trace_tensor *)at;
        const uint32_t *dim = (const uint32_t *)(t + 1);
        const char *between = n ? ", " : "(";
        if (t->flags & ANYNPU_TENSOR_OUTPUT && !outputs) {
            between = n ? " -> " : "(-> ";
            outputs = true;
        }
        n += (size_t)snprintf(out + n, size - n, "%s%s[", between, dtype_name((aclDataType)t->dtype));
        for (int i = 0; i < t->rank && n < size; i++)
            n += (size_t)snprintf(out + n, size - n, i ? ",%u" : "%u", dim[i]);
        if (n < size)
            n += (size_t)snprintf(out + n, size - n, "]");
        at = (const char *)(dim + t->rank);
    }
    if (n && n < size)
        snprintf(out + n, size - n, ")");
    return out;
}

static const char *label(const struct task *task, const char *note)
{
    return note && *note ? note : task->note.name;
}

static const char *place_of(const struct task *task, const char *note)
{
    const char *where = note ? note + strlen(note) + 1 : task->note.where;
    return where ? where : "";
}

/* The failure's text says which operator of which stream it was, and which line asked for it: in lines of their own, as
 * clients read the first. */
static void name_failure(struct stream *s, const struct task *task, const char *note, int status)
{
    if (!label(task, note))
        return;
    char tensors[400], here[800], reason[REASON_MAX];
    const char *where = place_of(task, note);
    int n = snprintf(here, sizeof here, in_language("\n        Operator: %s%s, stream %u, task %u"), label(task, note),
                     tensors_of(task, tensors, sizeof tensors), s->handle.id, task_id(s));
    if (*where && n > 0 && (size_t)n < sizeof here)
        snprintf(here + n, sizeof here - (size_t)n, in_language("\n        Called at: %s"), where);
    snprintf(reason, sizeof reason, "%.1200s%s", fail_reason(), here);
    fail_text(status, reason);
}

static void log_task(struct stream *s, const struct task *task, const char *note, int64_t ns)
{
    char tensors[800];
    const char *where = place_of(task, note);
    log_line(ACL_INFO, "RUNTIME", "%s%s native stream_id=%u task_id=%u %.1fus%s%s", label(task, note),
             tensors_of(task, tensors, sizeof tensors), s->handle.id, task_id(s), (double)ns / 1000,
             *where ? " at " : "", where);
}

int stream_run(struct local *me, struct stream *s, const struct task *task, const char *note,
               const struct launched *launch)
{
    struct stream *outer = me->running;
    uint64_t outer_work = me->work;
    me->running = s;
    me->work = task->work;
    int64_t limit = task->work >= LONG_TASK_NS && !task->attempt ? settings_execute_ns() : 0;
    bool logged = log_wanted(ACL_INFO) && task->note.name;
    bool traced = trace_wanted(ANYNPU_TRACE_TASK);
    struct launched now = {0};
    if (traced) {
        me->blocks = 0;
        if (!launch)
            now = trace_launch();
    }
    int64_t begin = __builtin_expect(logged || limit || traced, 0) ? clock_ns() : 0;
    if (__builtin_expect(limit != 0, 0))
        atomic_store(&s->overdue, begin + limit);
    int status;
    bool deferred = me->deferred, callback = task->note.detail && task->note.detail->task_class == ANYNPU_TASK_CALLBACK;
    me->deferred = label(task, note) && !callback;
    if (__builtin_expect(fault_task(), 0))
        status = fail(ACL_ERROR_RT_AICORE_EXCEPTION, "fault injected into %s", name_of(task));
    else
        status = task->run(task->arg);
    if (__builtin_expect(begin != 0, 0)) {
        if (traced && status != TASK_AGAIN)
            trace(me, s, task, launch ? launch : &now, begin, status);
        int64_t ns = logged || limit ? clock_ns() - begin : 0;
        if (limit)
            atomic_store(&s->overdue, 0);
        if (logged)
            log_task(s, task, note, ns);
        if (limit && ns > limit && !status)
            status = fail(ACL_ERROR_RT_AICORE_TIMEOUT, "%s ran for %.3f s, the limit is %.3f s", name_of(task),
                          (double)ns / 1e9, (double)limit / 1e9);
    }
    me->running = outer;
    me->work = outer_work;
    me->deferred = deferred;
    if (status == TASK_AGAIN && task->run == task->attempt)
        return status;
    if (__builtin_expect(status != 0, 0)) {
        name_failure(s, task, note, status);
        callback_exception(s, task_id(s), status);
    }
    return status;
}

static int run_task(struct local *me, struct stream *s, const struct task *task, const char *note,
                    const struct launched *launch)
{
    int status = stream_run(me, s, task, note, launch);
    if (task->release)
        task->release(task->arg);
    return status;
}

/* ACL_STOP_ON_FAILURE holds for all streams of the context. */
static int stop_context(void *object, void *context)
{
    struct stream *s = object;
    if (s->context == context)
        atomic_store(&s->stopped, 1);
    return 0;
}

static int resume_context(void *object, void *context)
{
    struct stream *s = object;
    if (s->context == context)
        atomic_store(&s->stopped, 0);
    return 0;
}

static void set_error(struct stream *s, int status)
{
    pthread_mutex_lock(&s->lock);
    if (!s->failed) {
        s->failed = true;
        s->error = status;
        free(s->error_text);
        s->error_text = strdup(fail_reason());
        s->failed_task = task_id(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (atomic_load(&s->failure_mode))
        handle_each(&stream_table, stop_context, s->context);
}

bool stream_has_error(struct stream *s)
{
    return atomic_load_explicit(&s->failed, memory_order_acquire);
}

int stream_take_error(struct stream *s)
{
    if (!stream_has_error(s))
        return ACL_SUCCESS;
    pthread_mutex_lock(&s->lock);
    int status = s->failed ? s->error : ACL_SUCCESS;
    char *text = s->error_text;
    s->error_text = NULL;
    atomic_store(&s->failed, false);
    atomic_store(&s->stopped, 0);
    pthread_mutex_unlock(&s->lock);
    if (atomic_load(&s->failure_mode))
        handle_each(&stream_table, resume_context, s->context);
    if (status) {
        char late[160], reason[REASON_MAX];
        snprintf(
            late, sizeof late,
            in_language(
                "\n        Reported when stream %u was waited for; its later tasks have run, and it can be used on."),
            s->handle.id);
        snprintf(reason, sizeof reason, "%.1850s%s", text ? text : in_language("a task failed"),
                 atomic_load(&s->failure_mode) ? "" : late);
        fail_again(status, reason);
    }
    free(text);
    return status;
}

void stream_drop_error(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    free(s->error_text);
    s->error_text = NULL;
    atomic_store(&s->failed, false);
    pthread_mutex_unlock(&s->lock);
}

/* Waking costs some microseconds, so tasks that nobody waits for wake nobody. `awaited` is forgotten before the word
 * changes: whoever set it too early for this and too late for the next sees the word changed, and sets it again. */
static void finish(struct stream *s)
{
    uint64_t finished = atomic_fetch_add(&s->finished, 1) + 1;
    if (finished < atomic_load(&s->awaited))
        return;
    atomic_store(&s->awaited, UINT64_MAX);
    atomic_fetch_add(&s->finish_word, 1);
    futex_wake(&s->finish_word, INT32_MAX, false);
}

/* Sleeps until `finished` has reached goal, at most ns; also returns early. */
static void sleep_until(struct stream *s, uint64_t goal, int64_t ns)
{
    uint32_t seen = atomic_load(&s->finish_word);
    uint64_t awaited = atomic_load(&s->awaited);
    while (goal < awaited && !atomic_compare_exchange_weak(&s->awaited, &awaited, goal))
        ;
    if (atomic_load(&s->finished) < goal)
        futex_wait(&s->finish_word, seen, ns, false);
}

static void free_slots(struct stream *s)
{
    if (s->ring)
        munmap(s->ring, RING * sizeof *s->ring);
    s->ring = NULL;
    free(s->error_text);
    s->error_text = NULL;
    pthread_mutex_destroy(&s->lock);
    handle_free(&stream_table, s);
}

static bool has_work(struct stream *s, uint64_t done)
{
    return atomic_load(&s->pushed) != done && atomic_load(&s->state) == STREAM_DEVICE;
}

/* Waits for work; false when the thread shall end. */
static bool await_work(struct stream *s)
{
    uint64_t done = atomic_load(&s->finished);
    /* with two CPUs a spinning device thread takes the pool's */
    int64_t longest = cpu_count() > 2 ? spin_longest() : SPIN_SHORT_NS;
    int64_t begin = clock_ns(), until = begin + spin_limit(&s->spin, longest);
    do {
        for (int i = 0; i < 32; i++) {
            if (has_work(s, done))
                return true;
            cpu_relax();
        }
    } while (clock_ns() < until);
    for (;;) {
        uint32_t seen = atomic_load(&s->wake);
        atomic_store(&s->asleep, 1);
        if (has_work(s, done)) {
            atomic_store(&s->asleep, 0);
            spin_adapt(&s->spin, longest, clock_ns() - begin);
            return true;
        }
        if (atomic_load(&s->end) || atomic_load(&stopping)) {
            atomic_store(&s->asleep, 0);
            return false;
        }
        futex_wait(&s->wake, seen, -1, false);
        atomic_store(&s->asleep, 0);
    }
}

static void *serve(void *arg)
{
    struct stream *s = arg;
    struct local *me = local();
    me->context = s->context;
    while (await_work(s)) {
        if (atomic_load(&stopping) && stream_is_idle(s))
            break;
        /* An abort sets drop_until, then changes aborts; we look the other way round, so none is missed. */
        s->aborts_seen = atomic_load(&s->aborts);
        uint64_t i = atomic_load_explicit(&s->finished, memory_order_relaxed);
        struct slot *slot = &s->ring[i % RING];
        if (atomic_load(&stopping) || atomic_load_explicit(&s->stopped, memory_order_relaxed) ||
            i < atomic_load(&s->drop_until)) {
            if (slot->task.release)
                slot->task.release(slot->task.arg);
        } else {
            jitter();
            int status = run_task(me, s, &slot->task, slot->note, &slot->launch);
            if (status)
                set_error(s, status);
        }
        free(slot->note);
        slot->note = NULL;
        if (i + 1 == atomic_load_explicit(&s->pushed, memory_order_acquire)) {
            pthread_mutex_lock(&s->lock);
            if (i + 1 == atomic_load(&s->pushed))
                atomic_store_explicit(&s->state, s->diverted ? STREAM_DIVERTED : STREAM_IDLE, memory_order_release);
            finish(s);
            pthread_mutex_unlock(&s->lock);
        } else {
            finish(s);
        }
    }
    if (atomic_load(&s->end)) {
        pthread_mutex_lock(&s->lock); /* stream_free() has let go */
        pthread_mutex_unlock(&s->lock);
        free_slots(s);
    }
    atomic_fetch_sub(&threads_alive, 1);
    return NULL;
}

static void wake_device(struct stream *s)
{
    atomic_fetch_add(&s->wake, 1);
    if (atomic_load(&s->asleep) && atomic_exchange(&s->asleep, 0))
        futex_wake(&s->wake, 1, false);
}

/* Under s->lock. */
static int start_thread(struct stream *s)
{
    if (!s->ring) { /* pages come with use */
        void *p = mmap(NULL, RING * sizeof *s->ring, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        s->ring = p == MAP_FAILED ? NULL : p;
    }
    if (!s->ring)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no memory for the queue of stream %u", s->handle.id);
    char name[16];
    snprintf(name, sizeof name, "npu-stream-%u", s->handle.id % 1000);
    atomic_fetch_add(&threads_alive, 1);
    if (thread_start(serve, s, name)) {
        atomic_fetch_sub(&threads_alive, 1);
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "cannot start the thread of stream %u", s->handle.id);
    }
    s->threaded = true;
    return ACL_SUCCESS;
}

/* The caller's note for its next task, as one string "name\0where". */
static char *take_note(struct local *me)
{
    size_t n = strlen(me->note_name) + 1, w = strlen(me->note_where) + 1;
    char *note = malloc(n + w);
    if (note) {
        memcpy(note, me->note_name, n);
        memcpy(note + n, me->note_where, w);
    }
    me->noted = false;
    return note;
}

static int drop(const struct task *task, int status)
{
    if (task->release)
        task->release(task->arg);
    return status;
}

static int push(struct stream *s, const struct task *task, bool waits)
{
    struct local *me = local();
    struct task placed = *task;
    char *note = me->noted ? take_note(me) : NULL;
    if (!note && task->note.name && !task->note.where)
        placed.note.where = place_now();
    struct launched launch = {0};
    if (trace_wanted(ANYNPU_TRACE_TASK))
        launch = trace_launch();
    pthread_mutex_lock(&s->lock);
    if (__builtin_expect(s->diverted, 0)) {
        pthread_mutex_unlock(&s->lock);
        return capture_task(s, &placed, note, waits);
    }
    while (atomic_load(&s->pushed) - atomic_load(&s->finished) >= RING) {
        uint64_t full = atomic_load(&s->finished);
        pthread_mutex_unlock(&s->lock);
        sleep_until(s, full + 1, SLICE_NS);
        pthread_mutex_lock(&s->lock);
    }
    int status = s->threaded ? ACL_SUCCESS : start_thread(s);
    if (status || atomic_load(&stopping)) {
        pthread_mutex_unlock(&s->lock);
        free(note);
        return drop(task, status ? status : ACL_ERROR_RT_STREAM_ABORT);
    }
    uint64_t i = atomic_load(&s->pushed);
    s->ring[i % RING] = (struct slot){.task = placed, .note = note, .launch = launch};
    uint32_t state = atomic_load(&s->state);
    for (;;) {
        uint32_t next = state == STREAM_IDLE ? STREAM_DEVICE : state == STREAM_AT_ONCE ? STREAM_AT_ONCE_QUEUED : state;
        if (next == state || atomic_compare_exchange_weak(&s->state, &state, next)) {
            state = next;
            break;
        }
    }
    atomic_store(&s->pushed, i + 1);
    me->task = (uint32_t)(atomic_load_explicit(&s->at_once, memory_order_relaxed) + i);
    pthread_mutex_unlock(&s->lock);
    if (state == STREAM_DEVICE)
        wake_device(s);
    return ACL_SUCCESS;
}

int stream_push(struct stream *s, const struct task *task)
{
    return push(s, task, true);
}

int stream_divert(struct stream *s)
{
    if (stream_running() == s)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u cannot be captured by its own task", s->handle.id);
    for (;; sched_yield()) { /* another thread's task that runs at once is short */
        pthread_mutex_lock(&s->lock);
        uint32_t state = STREAM_IDLE;
        bool gone = atomic_compare_exchange_strong(&s->state, &state, STREAM_DIVERTED) || state == STREAM_DEVICE;
        if (gone)
            s->diverted = true;
        pthread_mutex_unlock(&s->lock);
        if (gone)
            return ACL_SUCCESS;
    }
}

void stream_undivert(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->diverted = false;
    uint32_t state = STREAM_DIVERTED;
    atomic_compare_exchange_strong(&s->state, &state, STREAM_IDLE);
    pthread_mutex_unlock(&s->lock);
}

/* The stream is ours (AT_ONCE): runs the task, then gives the stream back or over to the device thread. */
static int run_at_once(struct local *me, struct stream *s, const struct task *task)
{
    char *note = __builtin_expect(me->noted, 0) ? take_note(me) : NULL;
    struct task placed;
    if (!note && __builtin_expect(log_wanted(ACL_INFO), 0)) {
        placed = *task;
        placed.note.where = place_now();
        task = &placed;
    }
    uint64_t n = atomic_load_explicit(&s->at_once, memory_order_relaxed);
    me->task = task_id(s);
    int status = run_task(me, s, task, note, NULL);
    free(note);
    atomic_store_explicit(&s->at_once, n + 1, memory_order_relaxed);
    uint32_t state = STREAM_AT_ONCE;
    if (!atomic_compare_exchange_strong(&s->state, &state, STREAM_IDLE)) {
        pthread_mutex_lock(&s->lock);
        atomic_store(&s->state, STREAM_DEVICE);
        pthread_mutex_unlock(&s->lock);
        wake_device(s);
    }
    return status;
}

/* The stream is ours (AT_ONCE): the task takes its place in the queue and, when it is the first there, this thread
 * tries it; the device thread does what remains. */
static int try_at_once(struct local *me, struct stream *s, const struct task *task)
{
    char *note = me->noted ? take_note(me) : NULL;
    struct launched launch = {0};
    if (trace_wanted(ANYNPU_TRACE_TASK))
        launch = trace_launch();
    pthread_mutex_lock(&s->lock);
    int status = s->threaded ? ACL_SUCCESS : start_thread(s);
    if (status) { /* nobody could queue behind us: the stream has no thread */
        atomic_store(&s->state, STREAM_IDLE);
        pthread_mutex_unlock(&s->lock);
        free(note);
        return drop(task, status);
    }
    uint64_t i = atomic_load(&s->pushed);
    bool first = i == atomic_load(&s->finished);
    struct slot *slot = &s->ring[i % RING];
    *slot = (struct slot){.task = *task, .note = note, .launch = launch};
    s->aborts_seen = atomic_load(&s->aborts);
    me->task = task_id(s);
    atomic_store(&s->pushed, i + 1);
    status = TASK_AGAIN;
    if (first) {
        pthread_mutex_unlock(&s->lock);
        struct task trial = *task;
        trial.run = task->attempt;
        status = stream_run(me, s, &trial, note, &launch);
        if (status != TASK_AGAIN && task->release)
            task->release(task->arg);
        pthread_mutex_lock(&s->lock);
    }
    if (status != TASK_AGAIN) {
        free(note);
        slot->note = NULL;
        finish(s);
    }
    uint32_t next = atomic_load(&s->pushed) != atomic_load(&s->finished) ? STREAM_DEVICE : STREAM_IDLE;
    atomic_store(&s->state, next);
    pthread_mutex_unlock(&s->lock);
    if (next == STREAM_DEVICE)
        wake_device(s);
    return status == TASK_AGAIN ? ACL_SUCCESS : status;
}

static int get_stream(const struct local *me, aclrtStream handle, struct stream **out)
{
    struct context *c = me->context;
    if (__builtin_expect(!c || !handle_valid(&context_table, c), 0) && !(c = context_current()))
        return fail_code();
    struct stream *s = handle;
    if (!s) {
        s = atomic_load_explicit(&c->stream, memory_order_acquire);
        if (!s && !(s = context_default_stream(c)))
            return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no memory for the default stream");
    } else if (!handle_valid(&stream_table, s)) {
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %p does not exist (destroyed, or never created)", handle);
    }
    if (s->context != c)
        return fail(ACL_ERROR_RT_STREAM_CONTEXT,
                    "stream %u belongs to another context (device %d) than the current one (device %d)", s->handle.id,
                    s->device->id, c->device->id);
    *out = s;
    return ACL_SUCCESS;
}

int stream_enqueue(aclrtStream handle, const struct task *task)
{
    struct local *me = local();
    struct stream *s = NULL;
    int status = get_stream(me, handle, &s);
    if (__builtin_expect(status != 0, 0))
        return drop(task, status);
    uint32_t state = STREAM_IDLE;
    if (task->work < at_once_limit() && me->running != s && !atomic_load_explicit(&s->stopped, memory_order_relaxed) &&
        !(task->attempt && blocking()) &&
        atomic_compare_exchange_strong_explicit(&s->state, &state, STREAM_AT_ONCE, memory_order_acquire,
                                                memory_order_relaxed))
        return task->attempt ? try_at_once(me, s, task) : run_at_once(me, s, task);
    status = push(s, task, task->attempt != NULL);
    if (status == 0 && blocking()) {
        stream_wait(s, -1);
        status = stream_take_error(s);
    }
    return status;
}

/* A task over its time limit can't be stopped, for it uses memory: it fails when it ends. That it is too slow is logged
 * when it happens, by who waits for it. Returns the nanoseconds until then. */
static int64_t watch(struct stream *s, int64_t now)
{
    int64_t overdue = atomic_load_explicit(&s->overdue, memory_order_relaxed);
    if (__builtin_expect(!overdue, 1))
        return SLICE_NS;
    if (now < overdue)
        return overdue - now < SLICE_NS ? overdue - now : SLICE_NS;
    if (atomic_compare_exchange_strong(&s->overdue, &overdue, 0))
        log_line(ACL_ERROR, "RUNTIME", "stream_id=%u: an operator runs for more than %.3f s, the limit", s->handle.id,
                 (double)settings_execute_ns() / 1e9);
    return SLICE_NS;
}

int stream_wait(struct stream *s, int64_t ms)
{
    uint64_t goal = atomic_load(&s->pushed);
    if (atomic_load_explicit(&s->finished, memory_order_acquire) >= goal)
        return ACL_SUCCESS;
    int64_t now = clock_ns(), spin = now + (cpu_count() > 2 ? SPIN_LONG_NS : SPIN_SHORT_NS),
            end = ms < 0 ? INT64_MAX : now + ms * 1000000;
    while (clock_ns() < spin)
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&s->finished, memory_order_acquire) >= goal)
                return ACL_SUCCESS;
            cpu_relax();
        }
    while (atomic_load(&s->finished) < goal) {
        now = clock_ns();
        if (now >= end)
            return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
        int64_t slice = watch(s, now);
        sleep_until(s, goal, end - now < slice ? end - now : slice);
    }
    return ACL_SUCCESS;
}

bool stream_aborted(struct stream *s)
{
    return atomic_load(&s->aborts) != s->aborts_seen || atomic_load(&stopping);
}

int stream_inspect(aclrtStream handle, bool *captures)
{
    struct stream *s = NULL;
    int status = get_stream(local(), handle, &s);
    *captures = !status && capture_any() && s->diverted;
    return status;
}

bool task_cancelled(void)
{
    struct stream *s = stream_running();
    return s && stream_aborted(s);
}

bool stream_pause(struct stream *s, _Atomic uint32_t *word, uint32_t seen, bool shared)
{
    if (stream_aborted(s))
        return false;
    atomic_store_explicit(&s->resting, true, memory_order_relaxed);
    futex_wait(word, seen, 5000000, shared);
    atomic_store_explicit(&s->resting, false, memory_order_relaxed);
    return !stream_aborted(s);
}

void stream_abort(struct stream *s, int code)
{
    pthread_mutex_lock(&s->lock);
    bool busy = atomic_load(&s->pushed) != atomic_load(&s->finished), told = busy && !s->failed;
    if (told) {
        s->failed = true;
        s->error = code;
        free(s->error_text);
        s->error_text = strdup("the tasks of the stream were aborted");
    }
    atomic_store(&s->drop_until, atomic_load(&s->pushed));
    atomic_fetch_add(&s->aborts, 1);
    pthread_mutex_unlock(&s->lock);
    if (told)
        log_line(ACL_WARNING, "RUNTIME", "the tasks of stream %u were aborted [error code %d]", s->handle.id, code);
}

struct stream *stream_new(struct context *context, uint32_t priority, uint32_t flags)
{
    struct stream *s = handle_new(&stream_table);
    if (!s)
        return NULL;
    s->context = context;
    s->device = context->device;
    s->priority = priority;
    s->flags = flags;
    atomic_store(&s->awaited, UINT64_MAX);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void stream_free(struct stream *s, bool force)
{
    if (!handle_retire(s))
        return;
    capture_forget(s);
    if (force)
        stream_abort(s, ACL_ERROR_RT_STREAM_ABORT);
    if (stream_running() != s)
        stream_wait(s, -1);
    callback_forget(s);
    pthread_mutex_lock(&s->lock);
    bool threaded = s->threaded;
    atomic_store(&s->end, 1);
    wake_device(s);
    pthread_mutex_unlock(&s->lock);
    if (!threaded)
        free_slots(s);
}

int stream_get(aclrtStream handle, struct stream **out)
{
    return get_stream(local(), handle, out);
}

static int stop_one(void *object, void *unused)
{
    struct stream *s = object;
    (void)unused;
    atomic_fetch_add(&s->aborts, 1);
    atomic_fetch_add(&s->wake, 1);
    futex_wake(&s->wake, 1, false);
    return 0;
}

void streams_stop(void)
{
    atomic_store(&stopping, true);
    handle_each(&stream_table, stop_one, NULL);
    int self = stream_running() && stream_running()->threaded; /* exit() from a callback */
    for (int64_t until = clock_ns() + EXIT_NS; atomic_load(&threads_alive) > self && clock_ns() < until;)
        nanosleep(&(struct timespec){0, 200000}, NULL);
}

void streams_after_fork(void)
{
    atomic_store(&threads_alive, 0);
    local()->running = NULL;
}

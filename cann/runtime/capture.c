/* SPDX-License-Identifier: BSD-3-Clause */
/* Capturing: how tasks, events and streams get into a graph; see graph.h and capture.h.
 *
 * Lock: capture, over everything a capture under way changes; outside a stream's lock. Texts follow the official ones.
 */
#define _GNU_SOURCE
#include "capture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "context.h"
#include "error.h"
#include "event.h"
#include "local.h"

/* Tasks that replace those of a group, gathered on a stream. */
struct update {
    struct group *group;
    uint32_t count;
    struct graph_task **what; /* group->count */
};

_Atomic uint32_t captures_active;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph *captures; /* under way */
static uint64_t captures_made;

static int64_t this_thread(void)
{
    return syscall(SYS_gettid);
}

static const char *mode_name(int mode)
{
    static const char *const name[] = {"GLOBAL", "THREAD_LOCAL", "RELAXED"};
    return name[mode];
}

/* ---- building ---- */

/* Room for one more pointer in a row that doubles. */
static bool make_room(void *row, uint32_t count, uint32_t *room)
{
    void **rows = row;
    if (count < *room)
        return true;
    uint32_t more = *room ? *room * 2 : 16;
    void *grown = realloc(*rows, more * sizeof(void *));
    if (!grown)
        return false;
    *rows = grown;
    *room = more;
    return true;
}

static int out_of_memory(struct graph *g)
{
    if (g) {
        g->state = GRAPH_INVALID;
        g->broken = ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    }
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
}

static void invalidate(struct graph *g, int status)
{
    if (g->state == GRAPH_CAPTURING) {
        g->state = GRAPH_INVALID;
        g->broken = status;
    }
}

static struct lane *add_lane(struct graph *g, struct stream *s)
{
    struct lane *lane = calloc(1, sizeof *lane);
    struct stream *own = lane ? stream_new(s->context, s->priority, s->flags) : NULL;
    if (!own || !make_room(&g->lane, g->lanes, &g->lane_room)) {
        if (own)
            stream_free(own, true);
        free(lane);
        return NULL;
    }
    *lane = (struct lane){.graph = g, .index = g->lanes, .origin = s, .stream = own};
    g->lane[g->lanes++] = lane;
    return lane;
}

static struct node *add_node(struct lane *lane, enum node_kind kind)
{
    struct graph *g = lane->graph;
    if (!make_room(&g->node, g->nodes, &g->node_room) || !make_room(&lane->node, lane->count, &lane->room))
        return NULL;
    struct node *n = handle_new(&node_table);
    if (!n)
        return NULL;
    n->kind = kind;
    n->graph = g;
    n->lane = lane->index;
    n->index = lane->count;
    n->sequence = g->nodes;
    g->node[g->nodes++] = n;
    lane->node[lane->count++] = n;
    if (kind != NODE_RECORD)
        lane->worked = lane->count;
    return n;
}

static void divert_end(struct stream *s)
{
    atomic_store(&s->lane, NULL);
    stream_undivert(s);
}

/* The capture of a graph is over: its streams run tasks again. */
static void detach(struct graph *g)
{
    for (uint32_t i = 0; i < g->lanes; i++)
        if (g->lane[i]->origin) {
            divert_end(g->lane[i]->origin);
            g->lane[i]->origin = NULL;
        }
    for (struct graph **p = &captures; *p; p = &(*p)->next)
        if (*p == g) {
            *p = g->next;
            atomic_fetch_sub(&captures_active, 1);
            break;
        }
}

/* ---- modes: which threads may do what a capture does not see ---- */

int capture_check_unsafe(const char *what)
{
    if (!capture_any())
        return ACL_SUCCESS;
    struct local *me = local();
    enum { NONE = 3 };
    int context_mode = NONE, thread_mode = NONE, exchange = me->capture_mode;
    pthread_mutex_lock(&lock);
    for (struct graph *g = captures; g; g = g->next) {
        if (g->context == me->context && (int)g->mode < context_mode)
            context_mode = (int)g->mode;
        if (g->thread == this_thread() && (int)g->mode < thread_mode)
            thread_mode = (int)g->mode;
    }
    pthread_mutex_unlock(&lock);
    bool mine = thread_mode <= ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
    bool forbidden = exchange == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
                         ? context_mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mine
                         : exchange == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL && mine;
    if (!forbidden)
        return ACL_SUCCESS;
    if (thread_mode >= ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        return fail(
            ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
            "%s failed. Reason: Other threads of the current context are in the capture state. As a result, the "
            "current operation cannot be performed on thread %lld. To perform this operation in the current "
            "thread, call aclmdlRICaptureThreadExchangeMode to change the capture mode of the current thread. The "
            "mode set using the aclmdlRICaptureBegin API is %s",
            what, (long long)this_thread(), mode_name(context_mode));
    return fail(
        ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
        "%s failed. Reason: The current thread %lld is in the capture state and the current operation cannot be "
        "performed. Check whether the mode set by the aclmdlRICaptureBegin API supports the current operation. "
        "This operation is supported only in the RELAXED mode. The mode set using the aclmdlRICaptureBegin API is "
        "%s",
        what, (long long)this_thread(), mode_name(thread_mode));
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode)
{
    CHECK_ARG(mode);
    TRY(entry_check());
    if ((int)*mode < 0 || *mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "capture mode %d is not in [0, 2]", (int)*mode);
    struct local *me = local();
    int old = me->capture_mode;
    me->capture_mode = (int)*mode;
    *mode = (aclmdlRICaptureMode)old;
    return ACL_SUCCESS;
}

/* ---- calls that a capture forbids ---- */

int capture_check_stream(struct stream *s, const char *what)
{
    if (!capture_has(s))
        return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_CAPTURED,
                "%s failed. Reason: Stream (stream_id=%u) during the capture stage is not supported", what,
                s->handle.id);
}

int capture_check_device(struct device *d, const char *what)
{
    if (!capture_any())
        return ACL_SUCCESS;
    int64_t id = -1;
    pthread_mutex_lock(&lock);
    for (struct graph *g = captures; g && id < 0; g = g->next)
        if (g->context && g->context->device == d)
            for (uint32_t i = 0; i < g->lanes; i++)
                if (g->lane[i]->origin)
                    id = g->lane[i]->origin->handle.id;
    pthread_mutex_unlock(&lock);
    if (id < 0)
        return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_CAPTURED,
                "%s failed. Reason: Not allow to synchronize captured-stream, device_id=%d, stream_id=%lld", what,
                d->id, (long long)id);
}

static struct graph *capture_of(const struct event *e)
{
    uint64_t id = atomic_load(&e->capture);
    struct graph *g = id ? captures : NULL;
    while (g && g->capture != id)
        g = g->next;
    return g;
}

int capture_check_event(struct event *e, const char *what)
{
    if (!capture_any())
        return ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    bool captured = capture_of(e) != NULL;
    pthread_mutex_unlock(&lock);
    if (!captured)
        return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_EVENT_CAPTURED,
                "%s failed. Reason: Event (event_id=%u) during the capture stage is not supported", what, e->handle.id);
}

/* ---- tasks ---- */

static int drop(const struct task *task, char *note, int status)
{
    free(note);
    if (task->release)
        task->release(task->arg);
    return status;
}

/* A task group is open on another lane: nothing else may come between. */
static int check_groups(struct lane *lane)
{
    struct graph *g = lane->graph;
    for (uint32_t i = 0; i < g->lanes; i++)
        if (i != lane->index && g->lane[i]->group) {
            g->broken = ACL_ERROR_STREAM_TASK_GROUP_INTR;
            return fail(
                ACL_ERROR_STREAM_TASK_GROUP_INTR,
                "Capturing a task failed. Reason: the task group of stream (stream_id=%u) is open, other streams "
                "of the capture must not deliver tasks until it ends",
                g->lane[i]->origin->handle.id);
        }
    return ACL_SUCCESS;
}

static int add_task(struct lane *lane, struct graph_task *what, bool waits)
{
    struct graph *g = lane->graph;
    int status = check_groups(lane);
    struct node *n = status ? NULL : add_node(lane, NODE_TASK);
    if (!n)
        return status ? status : out_of_memory(g);
    struct group *group = lane->group;
    if (group) {
        if (!make_room(&group->node, group->count, &group->room))
            status = out_of_memory(g);
        else
            group->node[group->count++] = n;
        n->group = group;
    }
    n->waits = waits;
    g->waits |= waits;
    g->work += what->task.work;
    atomic_store_explicit(&n->what, what, memory_order_release);
    local()->task = n->sequence;
    return status;
}

static int add_update(struct update *u, struct graph_task *what)
{
    struct group *group = u->group;
    if (u->count == group->count)
        return fail(ACL_ERROR_RT_INTERNAL_ERROR,
                    "Updating a task group failed. Reason: it has %u tasks, but more are delivered", group->count);
    const struct graph_task *old = atomic_load(&group->node[u->count]->what);
    const char *had = old->task.note.name, *got = what->task.note.name;
    if (had && got && strcmp(had, got) != 0)
        return fail(ACL_ERROR_RT_INTERNAL_ERROR,
                    "Updating a task group failed. Reason: task %u of the group is %s, but %s is delivered", u->count,
                    had, got);
    u->what[u->count++] = what;
    return ACL_SUCCESS;
}

int capture_task(struct stream *s, const struct task *task, char *note, bool waits)
{
    struct graph_task *what = malloc(sizeof *what);
    if (!what)
        return drop(task, note, out_of_memory(NULL));
    *what = (struct graph_task){*task, note, NULL};
    int status;
    pthread_mutex_lock(&lock);
    struct lane *lane = atomic_load(&s->lane);
    if (lane)
        status = add_task(lane, what, waits);
    else if (s->update)
        status = add_update(s->update, what);
    else
        status = fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the capture of stream %u ended meanwhile", s->handle.id);
    pthread_mutex_unlock(&lock);
    if (status)
        graph_task_free(what);
    return status;
}

/* ---- events ---- */

static int conflict(struct graph *a, struct graph *b, const char *what, struct stream *s)
{
    invalidate(a, ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    invalidate(b, ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    return fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT,
                "%s failed. Reason: The model (model_id=%u) of the event is inconsistent with the model (model_id=%u) "
                "where the stream (stream_id=%u) is located",
                what, a->handle.id, b->handle.id, s->handle.id);
}

static int record_locked(struct lane *lane, struct event *e, struct stream *s)
{
    if (e->record)
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "The current system or device does not support recording event %u, made for other processes, in a "
                    "capture",
                    e->handle.id);
    struct graph *other = capture_of(e);
    if (other && other != lane->graph)
        return conflict(other, lane->graph, "Event recording in capture mode", s);
    TRY(check_groups(lane));
    struct node *n = add_node(lane, NODE_RECORD);
    if (!n)
        return out_of_memory(lane->graph);
    e->capture_lane = lane->index;
    e->capture_count = lane->count;
    atomic_store(&e->capture, lane->graph->capture);
    return ACL_SUCCESS;
}

int capture_record(struct stream *s, struct event *e, bool *taken)
{
    int status = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    struct lane *lane = atomic_load(&s->lane);
    if (lane)
        status = record_locked(lane, e, s);
    else
        atomic_store(&e->capture, 0);
    *taken = lane != NULL;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Makes stream s part of the capture. */
static int join(struct graph *g, struct stream *s, struct lane **out)
{
    if (s == atomic_load(&s->context->stream))
        return fail(
            ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
            "Triggering event waiting failed. Reason: The default stream (stream_id=%u) cannot be used in the ACL "
            "Graph",
            s->handle.id);
    if (s->context != g->context)
        return fail(ACL_ERROR_RT_STREAM_CONTEXT, "stream %u belongs to another context than the capture", s->handle.id);
    if (s->update)
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS,
                    "Triggering event waiting failed. Reason: Stream (stream_id=%u) is updating a task group",
                    s->handle.id);
    TRY(stream_divert(s));
    struct lane *lane = add_lane(g, s);
    if (!lane) {
        stream_undivert(s);
        return out_of_memory(g);
    }
    atomic_store(&s->lane, lane);
    *out = lane;
    return ACL_SUCCESS;
}

static int wait_locked(struct graph *g, struct stream *s, struct event *e)
{
    struct lane *lane = atomic_load(&s->lane);
    if (lane && lane->graph != g)
        return conflict(g, lane->graph, "Triggering event waiting in capture mode", s);
    if (!lane)
        TRY(join(g, s, &lane));
    if (lane->index == e->capture_lane)
        return ACL_SUCCESS;
    TRY(check_groups(lane));
    struct node *n = add_node(lane, NODE_JOIN);
    if (!n)
        return out_of_memory(g);
    n->other = e->capture_lane;
    n->goal = e->capture_count;
    return ACL_SUCCESS;
}

int capture_wait(struct stream *s, struct event *e, bool *taken)
{
    int status = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    struct graph *g = capture_of(e);
    struct lane *lane = atomic_load(&s->lane);
    *taken = g || lane;
    if (g)
        status = wait_locked(g, s, e);
    else if (lane && (e->foreign || atomic_load(&e->stream)))
        status =
            fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                 "Triggering event waiting failed. Reason: The event wait task is not supported during model capture "
                 "because the corresponding event record task is not in the current model (event_id=%u, "
                 "stream_id=%u). To wait for an event outside the model, see the usage of ACL_EVENT_WAIT_EXTERNAL of "
                 "the aclrtStreamWaitEventWithFlag API",
                 e->handle.id, s->handle.id);
    pthread_mutex_unlock(&lock);
    return status;
}

int capture_external(struct stream *s, struct event *e, enum node_kind kind)
{
    const char *what = kind == NODE_RECORD_EXTERNAL ? "Event recording" : "Triggering event waiting";
    int status;
    pthread_mutex_lock(&lock);
    struct lane *lane = atomic_load(&s->lane);
    struct node *n = NULL;
    if (!lane)
        status = fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s failed. Reason: Stream %u is not in the capture stage",
                      what, s->handle.id);
    else if (!(status = check_groups(lane)) && !(n = add_node(lane, kind)))
        status = out_of_memory(lane->graph);
    if (n) {
        event_ref(e);
        n->event = e;
        lane->graph->externals++;
        lane->graph->waits |= kind == NODE_WAIT_EXTERNAL;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- begin and end ---- */

static int begin(struct stream *s, aclmdlRICaptureMode mode)
{
    if (atomic_load(&s->lane) || s->update)
        return fail(
            ACL_ERROR_RT_STREAM_CAPTURED,
            "Stream begin capture failed. Reason: Stream is already in capture status, device_id=%d, stream_id=%u, "
            "status=%s",
            s->device->id, s->handle.id, s->update ? "updating" : "active");
    TRY(stream_divert(s));
    struct graph *g = handle_new(&graph_table);
    struct lane *lane = g ? add_lane(g, s) : NULL;
    if (!lane) {
        if (g) {
            free(g->lane);
            handle_free(&graph_table, g);
        }
        stream_undivert(s);
        return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "no graph left: %u exist, or the host is out of memory",
                    graph_table.live_count);
    }
    pthread_mutex_init(&g->retired_lock, NULL);
    g->context = s->context;
    g->mode = mode;
    g->thread = this_thread();
    g->capture = ++captures_made;
    g->next = captures;
    captures = g;
    atomic_fetch_add(&captures_active, 1);
    atomic_store(&s->lane, lane);
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode)
{
    struct stream *s = NULL;
    CHECK_ARG(stream);
    TRY(stream_get(stream, &s));
    if ((int)mode < 0 || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "capture mode %d is not in [0, 2]", (int)mode);
    if (s == atomic_load(&s->context->stream))
        return fail(
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            "Stream begin capture failed. Parameter stream is invalid. Reason: The default stream (stream_id=%u) "
            "cannot be used in the ACL Graph",
            s->handle.id);
    pthread_mutex_lock(&lock);
    int status = begin(s, mode);
    pthread_mutex_unlock(&lock);
    return status;
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    if (!status && !modelRI)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "status and modelRI cannot both be NULL in %s", __func__);
    struct graph *g = NULL;
    aclmdlRICaptureStatus now = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (capture_has(s)) {
        pthread_mutex_lock(&lock);
        struct lane *lane = atomic_load(&s->lane);
        g = lane ? lane->graph : NULL;
        if (g)
            now = g->state == GRAPH_INVALID ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                                            : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
        pthread_mutex_unlock(&lock);
    }
    if (status)
        *status = now;
    if (modelRI)
        *modelRI = g;
    return ACL_SUCCESS;
}

/* Every other lane must have come back: its last event record is awaited by a lane that has come back itself. */
static int check_joined(const struct graph *g)
{
    bool *joined = calloc(g->lanes, sizeof *joined);
    if (!joined)
        return out_of_memory(NULL);
    joined[0] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < g->nodes; i++) {
            const struct node *n = g->node[i];
            if (n->kind != NODE_JOIN || !joined[n->lane] || joined[n->other] || n->goal < g->lane[n->other]->worked)
                continue;
            joined[n->other] = more = true;
        }
    }
    int status = ACL_SUCCESS;
    for (uint32_t i = 1; i < g->lanes && !status; i++)
        if (!joined[i])
            status =
                fail(ACL_ERROR_RT_STREAM_UNJOINED,
                     g->lane[i]->worked < g->lane[i]->count
                         ? "Capture model validity check failed. Parameter capture model is invalid. Reason: In the "
                           "cross-stream capture scenario, the last task (task_id=%u) on the sub stream (stream_id=%u) "
                           "lacks the corresponding event wait task on the origin stream"
                         : "Capture model validity check failed. Parameter capture model is invalid. Reason: In the "
                           "cross-stream capture scenario, the last task (task_id=%u) on the sub stream (stream_id=%u) "
                           "is not an event record task. Call aclrtRecordEvent on the sub stream to deliver an event "
                           "record task, and let the origin stream wait for it",
                     g->lane[i]->count, g->lane[i]->origin ? g->lane[i]->origin->handle.id : 0);
    free(joined);
    return status;
}

static int check_complete(const struct graph *g)
{
    if (g->state == GRAPH_INVALID)
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
                    "Stream end capture failed. Reason: The current model (model_id=%u) is invalid because an error "
                    "occurred during model capture (error code %d)",
                    g->handle.id, g->broken);
    for (uint32_t i = 0; i < g->lanes; i++)
        if (g->lane[i]->group)
            return fail(
                ACL_ERROR_STREAM_TASK_GROUP_STATUS,
                "Stream end capture failed. Reason: A task group is not closed in the capture model, model_id=%u",
                g->handle.id);
    return check_joined(g);
}

/* Leaves in *failed the graph to be freed without the lock. */
static int end(struct stream *s, struct graph **made, struct graph **failed)
{
    struct lane *lane = atomic_load(&s->lane);
    if (!lane)
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                    "Stream end capture failed. Reason: The stream (stream_id=%u) is not in capture status, call "
                    "aclmdlRICaptureBegin to capture stream first",
                    s->handle.id);
    struct graph *g = lane->graph;
    if (lane->index != 0)
        return fail(
            ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
            "Stream end capture failed. Reason: The capture was not initiated in this stream (stream_id=%u), but in "
            "stream_id=%u",
            s->handle.id, g->lane[0]->origin->handle.id);
    int status = check_complete(g);
    if (g->thread != this_thread() && g->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        status =
            fail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
                 "Stream end capture failed. Reason: end capture in the wrong thread: thread %lld began it, thread "
                 "%lld ends it",
                 (long long)g->thread, (long long)this_thread());
    detach(g);
    if (status) {
        *failed = g;
        return status;
    }
    g->state = GRAPH_READY;
    *made = g;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI)
{
    struct stream *s = NULL;
    struct graph *made = NULL, *failed = NULL;
    CHECK_ARG(stream);
    CHECK_ARG(modelRI);
    *modelRI = NULL;
    TRY(stream_get(stream, &s));
    pthread_mutex_lock(&lock);
    int status = end(s, &made, &failed);
    pthread_mutex_unlock(&lock);
    if (failed) {
        handle_retire(failed);
        graph_free(failed);
    }
    *modelRI = made;
    return status;
}

static void release_update(void *arg);

void capture_forget(struct stream *s)
{
    if (!atomic_load(&s->lane) && !s->update)
        return;
    pthread_mutex_lock(&lock);
    struct lane *lane = atomic_load(&s->lane);
    struct graph *g = lane ? lane->graph : NULL;
    struct update *u = s->update;
    if (u) {
        s->update = NULL;
        stream_undivert(s);
    }
    if (g) {
        invalidate(g, ACL_ERROR_RT_STREAM_CONTEXT);
        divert_end(s);
        lane->origin = NULL;
        if (lane->index == 0) /* nobody can end it any more */
            detach(g);
        else
            g = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (g) {
        handle_retire(g);
        graph_free(g);
    }
    if (u)
        release_update(u);
}

/* ---- task groups ---- */

static int group_begin(struct stream *s)
{
    struct lane *lane = atomic_load(&s->lane);
    if (!lane)
        return fail(
            ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            "Marking the start of a task group failed. Reason: Stream (stream_id=%u) is not in the capture stage",
            s->handle.id);
    if (lane->group)
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS,
                    "Task group is repeatedly started, or a task group is being updated (stream_id=%u)", s->handle.id);
    TRY(check_groups(lane));
    struct group *group = handle_new(&group_table);
    if (!group)
        return out_of_memory(lane->graph);
    group->graph = lane->graph;
    lane->group = group;
    return ACL_SUCCESS;
}

static int group_end(struct stream *s, aclrtTaskGrp *handle)
{
    struct lane *lane = atomic_load(&s->lane);
    if (!lane)
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                    "Marking the end of a task group failed. Reason: Stream (stream_id=%u) is not in the capture stage",
                    s->handle.id);
    struct group *group = lane->group;
    struct graph *g = lane->graph;
    if (!group)
        return fail(
            ACL_ERROR_STREAM_TASK_GROUP_STATUS,
            "The end operation cannot be performed on a stream that has not started a task group (stream_id=%u)",
            s->handle.id);
    lane->group = NULL;
    group->next = g->groups;
    g->groups = group;
    int broken = g->broken;
    g->broken = g->state == GRAPH_INVALID ? broken : 0;
    if (broken)
        return fail(broken,
                    "Marks the end of the task group failed. Reason: The ACL Graph associated with the stream "
                    "(stream_id=%u) has errors. The previous API may report an error. Handle the error reported by the "
                    "previous API first",
                    s->handle.id);
    *handle = group;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream)
{
    struct stream *s = NULL;
    CHECK_ARG(stream);
    TRY(stream_get(stream, &s));
    pthread_mutex_lock(&lock);
    int status = group_begin(s);
    pthread_mutex_unlock(&lock);
    return status;
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle)
{
    struct stream *s = NULL;
    CHECK_ARG(stream);
    CHECK_ARG(handle);
    *handle = NULL;
    TRY(stream_get(stream, &s));
    pthread_mutex_lock(&lock);
    int status = group_end(s, handle);
    pthread_mutex_unlock(&lock);
    return status;
}

static void update_free(struct update *u)
{
    for (uint32_t i = 0; i < u->group->count; i++)
        graph_task_free(u->what[i]);
    free(u->what);
    free(u);
}

static int update_begin(struct stream *s, struct group *group)
{
    if (atomic_load(&s->lane))
        return fail(
            ACL_ERROR_RT_STREAM_CAPTURED,
            "Marking the start of the task to be updated failed. Reason: Stream (stream_id=%u) during the capture "
            "stage is not supported",
            s->handle.id);
    if (s->update || group->updating)
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS,
                    s->update
                        ? "Marking the start of the task to be updated failed. Reason: The stream (stream_id=%u) is "
                          "already in task update or sample mode"
                        : "The handle only can be updated by one stream (stream_id=%u is another)",
                    s->handle.id);
    struct update *u = calloc(1, sizeof *u);
    if (u)
        u->what = calloc(group->count ? group->count : 1, sizeof(void *));
    int status = u && u->what ? stream_divert(s) : out_of_memory(NULL);
    if (status) {
        if (u)
            free(u->what);
        free(u);
        return status;
    }
    u->group = group;
    s->update = u;
    group->updating = true;
    atomic_fetch_add(&group->graph->in_flight, 1);
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle)
{
    struct stream *s = NULL;
    CHECK_ARG(stream);
    CHECK_ARG(handle);
    TRY(stream_get(stream, &s));
    pthread_mutex_lock(&lock);
    struct group *group = handle_valid(&group_table, handle) ? handle : NULL;
    int status;
    if (!group)
        status = fail(ACL_ERROR_RT_INVALID_HANDLE, "task group %p does not exist, or its graph was destroyed", handle);
    else if (group->graph->state != GRAPH_READY)
        status = fail(ACL_ERROR_RT_MODEL_CAPTURED, "the graph of task group %p is still being captured", handle);
    else
        status = update_begin(s, group);
    pthread_mutex_unlock(&lock);
    return status;
}

/* The new tasks take their places in the order of the updating stream. */
static int run_update(void *arg)
{
    struct update *u = arg;
    for (uint32_t i = 0; i < u->group->count; i++) {
        graph_replace(u->group->node[i], u->what[i]);
        u->what[i] = NULL;
    }
    return ACL_SUCCESS;
}

static void release_update(void *arg)
{
    struct update *u = arg;
    struct graph *g = u->group->graph;
    pthread_mutex_lock(&lock);
    u->group->updating = false;
    pthread_mutex_unlock(&lock);
    update_free(u);
    atomic_fetch_sub(&g->in_flight, 1);
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream)
{
    struct stream *s = NULL;
    CHECK_ARG(stream);
    TRY(stream_get(stream, &s));
    TRY(capture_check_stream(s, "Marking the end of the task to be updated"));
    pthread_mutex_lock(&lock);
    struct update *u = s->update;
    if (u) {
        s->update = NULL;
        stream_undivert(s);
    }
    pthread_mutex_unlock(&lock);
    if (!u)
        return fail(
            ACL_ERROR_STREAM_TASK_GROUP_STATUS,
            "Marking the end of the task to be updated failed. Reason: The stream (stream_id=%u) is not in task "
            "update mode",
            s->handle.id);
    if (u->count != u->group->count) {
        int status =
            fail(ACL_ERROR_RT_INTERNAL_ERROR,
                 "Marking the end of the task to be updated failed. Parameter stream (stream_id=%u) is invalid. "
                 "Reason: The task group under this stream contains unupdated tasks. total_num=%u, matched_num=%u",
                 s->handle.id, u->group->count, u->count);
        release_update(u);
        return status;
    }
    return stream_enqueue(s, &(struct task){run_update, release_update, u, 0, {"GraphUpdate", NULL}});
}

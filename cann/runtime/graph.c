/* SPDX-License-Identifier: BSD-3-Clause */
/* Executing and destroying graphs; see graph.h. What clients may ask about a graph stands in graph_info.c. */
#define _GNU_SOURCE
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "capture.h"
#include "context.h"
#include "error.h"
#include "event.h"
#include "local.h"

enum { DESTROY_MS = 10000 };

struct handle_table graph_table = HANDLE_TABLE(struct graph, "graph", 65536);
struct handle_table node_table = HANDLE_TABLE(struct node, "graph task", 1 << 22);
struct handle_table group_table = HANDLE_TABLE(struct group, "task group", 1 << 18);

/* One execution. generations: of the events that its NODE_RECORD_EXTERNAL nodes record, which count as recorded from
 * the call on; and of those its NODE_WAIT_EXTERNAL nodes wait for. */
struct replay {
    struct graph *graph;
    _Atomic uint32_t lanes_left;
    _Atomic int status;
    char *text;
    uint32_t aborts;
    uint32_t *generation;    /* by external node, in the order of capture */
    _Atomic uint32_t done[]; /* by lane: nodes done; only when lanes run side by side */
};

struct graph *graph_get(aclmdlRI handle)
{
    if (entry_check())
        return NULL;
    if (handle_valid(&graph_table, handle))
        return handle;
    fail(handle ? ACL_ERROR_RT_INVALID_HANDLE : ACL_ERROR_INVALID_PARAM,
         "modelRI %p does not exist (destroyed, or its capture failed)", handle);
    return NULL;
}

void graph_task_free(struct graph_task *what)
{
    if (!what)
        return;
    if (what->task.release)
        what->task.release(what->task.arg);
    free(what->note);
    free(what);
}

void graph_replace(struct node *node, struct graph_task *what)
{
    struct graph *g = node->graph;
    struct graph_task *old = atomic_exchange(&node->what, what);
    pthread_mutex_lock(&g->retired_lock);
    old->next = g->retired;
    g->retired = old;
    pthread_mutex_unlock(&g->retired_lock);
}

static void free_retired(struct graph *g)
{
    pthread_mutex_lock(&g->retired_lock);
    struct graph_task *first = g->retired;
    g->retired = NULL;
    pthread_mutex_unlock(&g->retired_lock);
    while (first) {
        struct graph_task *next = first->next;
        graph_task_free(first);
        first = next;
    }
}

void graph_free(struct graph *g)
{
    free_retired(g);
    for (uint32_t i = 0; i < g->nodes; i++) {
        graph_task_free(atomic_load(&g->node[i]->what));
        if (g->node[i]->event)
            event_unref(g->node[i]->event);
        handle_free(&node_table, g->node[i]);
    }
    for (struct group *group = g->groups, *next; group; group = next) {
        next = group->next;
        free(group->node);
        handle_free(&group_table, group);
    }
    for (uint32_t i = 0; i < g->lanes; i++) {
        if (g->lane[i]->stream)
            stream_free(g->lane[i]->stream, true);
        free(g->lane[i]->node);
        free(g->lane[i]->group ? g->lane[i]->group->node : NULL);
        if (g->lane[i]->group)
            handle_free(&group_table, g->lane[i]->group);
        free(g->lane[i]);
    }
    for (struct graph_callback *c = g->callbacks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(g->lane);
    free(g->node);
    pthread_mutex_destroy(&g->retired_lock);
    handle_free(&graph_table, g);
}

static int forget_one(void *object, void *context)
{
    struct graph *g = object;
    if (g->context != context)
        return 0;
    g->context = NULL;
    for (uint32_t i = 0; i < g->lanes; i++)
        g->lane[i]->stream = NULL; /* freed with the context's streams */
    return 0;
}

void graph_forget_context(struct context *context)
{
    handle_each(&graph_table, forget_one, context);
}

/* ---- running ---- */

static bool give_up(const struct replay *r)
{
    return atomic_load_explicit(&r->status, memory_order_relaxed) ||
           atomic_load_explicit(&r->graph->aborts, memory_order_relaxed) != r->aborts;
}

/* One execution at a time; false when the stream is aborted while another one runs. */
static bool enter(struct graph *g, struct stream *s)
{
    uint32_t state = 0, aborts = atomic_load(&s->aborts);
    if (atomic_compare_exchange_strong(&g->busy, &state, 1))
        return true;
    while (atomic_exchange(&g->busy, 2)) {
        futex_wait(&g->busy, 2, 5000000, false);
        if (atomic_load(&s->aborts) != aborts)
            return false;
    }
    return true;
}

static void leave(struct graph *g)
{
    if (atomic_exchange(&g->busy, 0) == 2)
        futex_wake(&g->busy, INT32_MAX, false);
}

/* Runs a node on stream s; external: how many external nodes came before it. */
static int run_node(struct local *me, struct stream *s, struct replay *r, struct node *n, uint32_t external)
{
    switch (n->kind) {
    case NODE_RECORD_EXTERNAL:
        event_set_done(n->event, r->generation[external]);
        return ACL_SUCCESS;
    case NODE_WAIT_EXTERNAL:
        return event_await(n->event, r->generation[external], 0);
    case NODE_TASK:
        break;
    default:
        return ACL_SUCCESS;
    }
    if (atomic_load_explicit(&n->disabled, memory_order_relaxed))
        return ACL_SUCCESS;
    const struct graph_task *what = atomic_load_explicit(&n->what, memory_order_acquire);
    return stream_run(me, s, &what->task, what->note, NULL);
}

static int run_in_order(struct replay *r)
{
    struct graph *g = r->graph;
    struct local *me = local();
    struct stream *s = me->running;
    int status = ACL_SUCCESS;
    uint32_t external = 0;
    for (uint32_t i = 0; i < g->nodes && !status && !give_up(r); i++) {
        struct node *n = g->node[i];
        status = run_node(me, s, r, n, external);
        external += n->event != NULL;
    }
    return status;
}

static void note_failure(struct replay *r, int status)
{
    int none = 0;
    char *text = strdup(fail_reason());
    if (atomic_compare_exchange_strong(&r->status, &none, status))
        r->text = text;
    else
        free(text);
}

/* The nodes of one lane, when lanes run side by side. */
static void run_lane(struct replay *r, struct lane *lane, struct stream *s)
{
    struct local *me = local();
    struct graph *g = r->graph;
    for (uint32_t i = 0; i < lane->count && !give_up(r); i++) {
        struct node *n = lane->node[i];
        int status = ACL_SUCCESS;
        if (n->kind == NODE_JOIN) {
            uint32_t seen;
            while ((seen = atomic_load(&r->done[n->other])) < n->goal && !give_up(r))
                if (!stream_pause(s, &r->done[n->other], seen, false))
                    note_failure(r, ACL_ERROR_RT_STREAM_ABORT);
        } else {
            uint32_t external = 0;
            for (uint32_t k = 0; n->event && k < n->sequence; k++)
                external += g->node[k]->event != NULL;
            status = run_node(me, s, r, n, external);
        }
        if (status)
            note_failure(r, status);
        atomic_store(&r->done[lane->index], i + 1);
        futex_wake(&r->done[lane->index], INT32_MAX, false);
    }
    if (give_up(r)) /* nobody waits for what will not come */
        for (uint32_t i = 0; i < g->lanes; i++)
            futex_wake(&r->done[i], INT32_MAX, false);
}

struct lane_run {
    struct replay *replay;
    struct lane *lane;
};

static int run_other_lane(void *arg)
{
    struct lane_run *l = arg;
    run_lane(l->replay, l->lane, l->lane->stream);
    return ACL_SUCCESS;
}

static void end_other_lane(void *arg)
{
    struct lane_run *l = arg;
    struct replay *r = l->replay;
    free(l);
    atomic_fetch_sub(&r->lanes_left, 1);
    futex_wake(&r->lanes_left, INT32_MAX, false);
}

static int run_side_by_side(struct replay *r)
{
    struct graph *g = r->graph;
    struct stream *s = stream_running();
    atomic_store(&r->lanes_left, g->lanes - 1);
    for (uint32_t i = 1; i < g->lanes; i++) {
        struct lane_run *l = malloc(sizeof *l);
        if (!l) {
            atomic_fetch_sub(&r->lanes_left, 1);
            note_failure(r, fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory"));
            continue;
        }
        *l = (struct lane_run){r, g->lane[i]};
        int status =
            stream_push(g->lane[i]->stream, &(struct task){run_other_lane, end_other_lane, l, 0, {NULL, NULL}});
        if (status)
            note_failure(r, status);
    }
    run_lane(r, g->lane[0], s);
    for (uint32_t left; (left = atomic_load(&r->lanes_left));)
        if (give_up(r) || !stream_pause(s, &r->lanes_left, left, false)) {
            note_failure(r, ACL_ERROR_RT_STREAM_ABORT);
            for (uint32_t i = 1; i < g->lanes; i++)
                stream_abort(g->lane[i]->stream, ACL_ERROR_RT_STREAM_ABORT);
            futex_wait(&r->lanes_left, left, 1000000, false);
        }
    for (uint32_t i = 1; i < g->lanes; i++) {
        stream_wait(g->lane[i]->stream, -1);
        if (atomic_load(&r->status))
            stream_drop_error(g->lane[i]->stream);
    }
    int status = atomic_load(&r->status);
    return status ? fail_text(status, r->text && *r->text ? r->text : "the execution of a graph was aborted")
                  : ACL_SUCCESS;
}

static int run_replay(void *arg)
{
    struct replay *r = arg;
    struct graph *g = r->graph;
    if (!enter(g, stream_running()))
        return ACL_SUCCESS; /* aborted: the stream knows */
    if (__builtin_expect(g->retired != NULL, 0))
        free_retired(g);
    r->aborts = atomic_load(&g->aborts);
    int status = g->waits && g->lanes > 1 ? run_side_by_side(r) : run_in_order(r);
    leave(g);
    return status;
}

static void free_replay(void *arg)
{
    struct replay *r = arg;
    struct graph *g = r->graph;
    uint32_t external = 0;
    for (uint32_t i = 0; external < g->externals; i++) {
        struct node *n = g->node[i];
        if (n->kind == NODE_RECORD_EXTERNAL) /* also when it was never run: who waits must not wait for ever */
            event_set_done(n->event, r->generation[external]);
        external += n->event != NULL;
    }
    free(r->generation);
    free(r->text);
    free(r);
    atomic_fetch_sub(&g->in_flight, 1);
}

static struct replay *replay_new(struct graph *g, struct stream *s)
{
    struct replay *r = calloc(1, sizeof *r + g->lanes * sizeof r->done[0]);
    if (r && g->externals && !(r->generation = calloc(g->externals, sizeof *r->generation))) {
        free(r);
        r = NULL;
    }
    if (!r)
        return NULL;
    r->graph = g;
    atomic_fetch_add(&g->in_flight, 1);
    for (uint32_t i = 0, external = 0; external < g->externals; i++) {
        struct node *n = g->node[i];
        if (n->event)
            r->generation[external++] =
                n->kind == NODE_RECORD_EXTERNAL ? event_next(n->event, s) : event_newest(n->event);
    }
    return r;
}

static int execute(struct graph *g, struct stream *s)
{
    if (g->state != GRAPH_READY)
        return fail(ACL_ERROR_RT_MODEL_CAPTURED, "Executing an ACL Graph failed. Reason: ModelRI (model_id=%u) is %s",
                    g->handle.id, g->state == GRAPH_INVALID ? "invalid" : "still being captured");
    if (s->context != g->context)
        return fail(ACL_ERROR_RT_MODEL_CONTEXT,
                    "model %u was captured in another context than the one of stream %u, or its context was destroyed",
                    g->handle.id, s->handle.id);
    TRY(capture_check_stream(s, "Executing an ACL Graph"));
    struct replay *r = replay_new(g, s);
    if (!r)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    /* its tasks are recorded one by one; this one holds them */
    static const struct task_detail detail = {.task_class = ANYNPU_TASK_CALLBACK};
    struct task task = {run_replay, free_replay, r, g->work, {"ModelExecute", NULL, &detail}};
    return g->waits ? stream_push(s, &task) : stream_enqueue(s, &task);
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream)
{
    CHECK_ARG(modelRI);
    struct graph *g = graph_get(modelRI);
    struct stream *s = NULL;
    if (!g)
        return fail_code();
    TRY(stream_get(stream, &s));
    return execute(g, s);
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout)
{
    CHECK_ARG(modelRI);
    if (timeout < -1 || timeout == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is neither -1 nor positive", timeout);
    struct graph *g = graph_get(modelRI);
    struct stream *s = NULL;
    if (!g)
        return fail_code();
    TRY(stream_get(NULL, &s));
    TRY(execute(g, s));
    return aclrtSynchronizeStreamWithTimeout(s, timeout);
}

aclError aclmdlRIAbort(aclmdlRI modelRI)
{
    CHECK_ARG(modelRI);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    atomic_fetch_add(&g->aborts, 1);
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroy(aclmdlRI modelRI)
{
    CHECK_ARG(modelRI);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    if (g->state == GRAPH_CAPTURING)
        return fail(ACL_ERROR_RT_MODEL_CAPTURED,
                    "Destroying an ACL Graph failed. Reason: ModelRI (model_id=%u) is being captured: end the capture "
                    "first",
                    g->handle.id);
    int64_t end = clock_ns() + (int64_t)DESTROY_MS * 1000000;
    for (uint32_t left; (left = atomic_load(&g->in_flight));) {
        if (clock_ns() >= end)
            return fail(ACL_ERROR_RT_MODEL_RUNNING,
                        "Destroying an ACL Graph failed. Reason: ModelRI (model_id=%u) is still running after %d ms",
                        g->handle.id, DESTROY_MS);
        futex_wait(&g->in_flight, left, 200000, false);
    }
    if (!handle_retire(g))
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "modelRI %p was destroyed by another thread", modelRI);
    for (struct graph_callback *c = g->callbacks; c; c = c->next)
        c->fn(c->data);
    graph_free(g);
    return ACL_SUCCESS;
}

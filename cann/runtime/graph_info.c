/* SPDX-License-Identifier: BSD-3-Clause */
/* What clients may ask about a graph, set aside in it, or write to a file: names, streams, tasks, callbacks, traces.
 * A graph's lanes and nodes do not change after its capture, so they are read without a lock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "event.h"
#include "graph.h"

aclError aclmdlRISetName(aclmdlRI modelRI, const char *name)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(name);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    snprintf(g->name, sizeof g->name, "%s", name);
    return ACL_SUCCESS;
}

aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(name);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    if (maxLen == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "maxLen must not be 0");
    snprintf(name, maxLen, "%s", g->name);
    return ACL_SUCCESS;
}

aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(modelRIId);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    *modelRIId = g->handle.id;
    return ACL_SUCCESS;
}

/* Copies as many as there is room for, or tells how many there are. */
static int give(const char *what, uint32_t have, uint32_t *count, bool wanted)
{
    if (wanted && *count < have)
        return fail(ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY, "there are %u %s, the array has room for %u", have, what,
                    *count);
    *count = have;
    return ACL_SUCCESS;
}

aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(numStreams);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    TRY(give("streams", g->lanes, numStreams, streams != NULL));
    for (uint32_t i = 0; streams && i < g->lanes; i++)
        streams[i] = g->lane[i]->stream;
    return ACL_SUCCESS;
}

struct search {
    const struct stream *stream;
    const struct lane *found;
};

static int search_one(void *object, void *arg)
{
    struct graph *g = object;
    struct search *search = arg;
    for (uint32_t i = 0; i < g->lanes && g->state == GRAPH_READY; i++)
        if (g->lane[i]->stream == search->stream)
            search->found = g->lane[i];
    return search->found != NULL;
}

aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks)
{
    CHECK_ARG(stream);
    CHECK_ARG(numTasks);
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    struct search search = {s, NULL};
    handle_each(&graph_table, search_one, &search);
    const struct lane *lane = search.found;
    if (!lane)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u is none of those that aclmdlRIGetStreams gives",
                    s->handle.id);
    TRY(give("tasks", lane->count, numTasks, tasks != NULL));
    for (uint32_t i = 0; tasks && i < lane->count; i++)
        tasks[i] = lane->node[i];
    return ACL_SUCCESS;
}

static struct node *node_get(aclmdlRITask task)
{
    if (handle_valid(&node_table, task))
        return task;
    fail(ACL_ERROR_RT_INVALID_HANDLE, "task %p does not exist, or its graph was destroyed", task);
    return NULL;
}

static const char *task_name(const struct node *n)
{
    const struct graph_task *what = atomic_load(&n->what);
    return what && what->note && *what->note ? what->note
           : what && what->task.note.name    ? what->task.note.name
                                             : "Task";
}

static aclmdlRITaskType type_of(const struct node *n)
{
    static const struct {
        const char *name;
        aclmdlRITaskType type;
    } types[] = {
        {"ValueWrite", ACL_MODEL_RI_TASK_VALUE_WRITE},   {"ValueWait", ACL_MODEL_RI_TASK_VALUE_WAIT},
        {"EventRecord", ACL_MODEL_RI_TASK_EVENT_RECORD}, {"EventWait", ACL_MODEL_RI_TASK_EVENT_WAIT},
        {"EventReset", ACL_MODEL_RI_TASK_EVENT_RESET},
    };
    if (n->kind == NODE_RECORD || n->kind == NODE_RECORD_EXTERNAL)
        return ACL_MODEL_RI_TASK_EVENT_RECORD;
    if (n->kind == NODE_JOIN || n->kind == NODE_WAIT_EXTERNAL)
        return ACL_MODEL_RI_TASK_EVENT_WAIT;
    const struct graph_task *what = atomic_load(&n->what);
    const char *name = what && what->task.note.name ? what->task.note.name : "";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0)
            return types[i].type;
    return strncmp(name, "aclnn", 5) == 0 ? ACL_MODEL_RI_TASK_KERNEL : ACL_MODEL_RI_TASK_DEFAULT;
}

aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type)
{
    CHECK_ARG(task);
    CHECK_ARG(type);
    struct node *n = node_get(task);
    if (!n)
        return fail_code();
    *type = type_of(n);
    return ACL_SUCCESS;
}

aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id)
{
    CHECK_ARG(task);
    CHECK_ARG(id);
    struct node *n = node_get(task);
    if (!n)
        return fail_code();
    *id = n->sequence;
    return ACL_SUCCESS;
}

aclError aclmdlRITaskDisable(aclmdlRITask task)
{
    CHECK_ARG(task);
    struct node *n = node_get(task);
    if (!n)
        return fail_code();
    if (n->kind != NODE_TASK)
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "The current system or device does not support disabling an event task (task %u)", n->sequence);
    atomic_store(&n->disabled_next, true);
    return ACL_SUCCESS;
}

aclError aclmdlRIUpdate(aclmdlRI modelRI)
{
    CHECK_ARG(modelRI);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    if (g->state != GRAPH_READY || atomic_load(&g->in_flight))
        return fail(
            ACL_ERROR_RT_MODEL_UPDATE_FAILED,
            "Updating an ACL Graph failed. Parameter modelRI is invalid. Reason: ModelRI (model_id=%u) is in running "
            "or capture state",
            g->handle.id);
    for (uint32_t i = 0; i < g->nodes; i++)
        atomic_store(&g->node[i]->disabled, atomic_load(&g->node[i]->disabled_next));
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void *userData)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(func);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    struct graph_callback *c = malloc(sizeof *c);
    if (!c)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    pthread_mutex_lock(&g->retired_lock);
    *c = (struct graph_callback){g->callbacks, func, userData};
    g->callbacks = c;
    pthread_mutex_unlock(&g->retired_lock);
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(func);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    pthread_mutex_lock(&g->retired_lock);
    struct graph_callback **p = &g->callbacks;
    while (*p && (*p)->fn != func)
        p = &(*p)->next;
    struct graph_callback *gone = *p;
    if (gone)
        *p = gone->next;
    pthread_mutex_unlock(&g->retired_lock);
    free(gone);
    return gone ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, "the callback is not registered with the graph");
}

/* ---- for people ---- */

/* Event tasks are named by kind and number, as the tools that read traces expect. */
static void label(const struct node *n, char *out, size_t size)
{
    switch (n->kind) {
    case NODE_RECORD:
        snprintf(out, size, "EVENT_RECORD_%u_%u", n->lane, n->index + 1);
        break;
    case NODE_JOIN:
        snprintf(out, size, "EVENT_WAIT_%u_%u", n->other, n->goal);
        break;
    case NODE_RECORD_EXTERNAL:
    case NODE_WAIT_EXTERNAL:
        snprintf(out, size, "%s_%u", n->kind == NODE_RECORD_EXTERNAL ? "MEM_WRITE_VALUE" : "MEM_WAIT_VALUE",
                 n->event->handle.id);
        break;
    default:
        snprintf(out, size, "%s", task_name(n));
    }
}

static const char *type_name(const struct node *n)
{
    static const char *const name[] = {"DEFAULT",     "KERNEL",          "EVENT_RECORD",  "EVENT_WAIT",
                                       "EVENT_RESET", "MEM_WRITE_VALUE", "MEM_WAIT_VALUE"};
    return name[type_of(n)];
}

aclError aclmdlRIDebugPrint(aclmdlRI modelRI)
{
    CHECK_ARG(modelRI);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    for (uint32_t i = 0; i < g->nodes && g->state == GRAPH_READY; i++) {
        const struct node *n = g->node[i];
        char text[160];
        label(n, text, sizeof text);
        printf("model_id=%u, stream_id=%u, task_id=%u, task_type=%s, name=%s\n", g->handle.id,
               g->lane[n->lane]->stream ? g->lane[n->lane]->stream->handle.id : n->lane, n->sequence, type_name(n),
               text);
    }
    fflush(stdout);
    return ACL_SUCCESS;
}

static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text < ' ')
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

/* One task as an event of a trace (chrome://tracing); a step of time a task. where: the Python line, when verbose. */
static void put_node(FILE *file, const struct graph *g, const struct node *n, bool verbose)
{
    char text[160];
    label(n, text, sizeof text);
    uint32_t stream = g->lane[n->lane]->stream ? g->lane[n->lane]->stream->handle.id : n->lane;
    fprintf(file, "%s{\"name\":", n->sequence ? ",\n" : "");
    put_string(file, text);
    fprintf(file,
            ",\"pid\":\"model%u\",\"tid\":\"stream%u\",\"ts\":%u,\"dur\":1,\"ph\":\"X\",\"args\":{\"Model Id\":%u,"
            "\"Stream Id\":%u,\"Task Id\":%u,\"Task Type\":\"%s\"",
            g->handle.id, stream, n->sequence, g->handle.id, stream, n->sequence, type_name(n));
    const struct graph_task *what = atomic_load(&n->what);
    const char *where = what && what->note ? what->note + strlen(what->note) + 1 : NULL;
    if (verbose && where && *where) {
        fputs(",\"ExtendInfo\":", file);
        put_string(file, where);
    }
    fputs("}}", file);
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path, uint32_t flags)
{
    CHECK_ARG(modelRI);
    CHECK_ARG(path);
    struct graph *g = graph_get(modelRI);
    if (!g)
        return fail_code();
    if (flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flags 0x%x are unknown", flags);
    if (g->state != GRAPH_READY)
        return fail(ACL_ERROR_RT_MODEL_CAPTURED, "model %u is still being captured", g->handle.id);
    FILE *file = fopen(path, "w");
    if (!file)
        return fail(ACL_ERROR_RT_FILE_OPEN, "cannot open %s: %s", path, strerror(errno));
    fputs("[", file);
    for (uint32_t i = 0; i < g->nodes; i++)
        put_node(file, g, g->node[i], flags & ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
    fputs("]\n", file);
    return fclose(file) ? fail(ACL_ERROR_RT_FILE_WRITE, "cannot write %s: %s", path, strerror(errno)) : ACL_SUCCESS;
}

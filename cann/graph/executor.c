/* SPDX-License-Identifier: BSD-3-Clause */
/* libge_executor.so: models are opened, described, loaded and unloaded; libascendcl reaches it through one table. */
#include "graph/executor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/om.h"
#include "runtime/door.h"

int executor_fail(int status, const char *what)
{
    static const int codes[] = {[GRAPH_INVALID] = ACL_ERROR_GE_PARAM_INVALID,
                                [GRAPH_UNSUPPORTED] = ACL_ERROR_GE_PARAM_INVALID,
                                [GRAPH_NO_MEMORY] = ACL_ERROR_GE_MEMORY_ALLOCATION,
                                [GRAPH_FAILED] = ACL_ERROR_GE_INTERNAL_ERROR};
    int code = status > 0 && status <= GRAPH_FAILED ? codes[status] : status;
    return status > GRAPH_FAILED ? status : fail(code, "%s failed: %s", what, graph_reason());
}

/* ---- opening ---- */
/* A copy of a model's bytes, aligned as the reader wants them. */
static void *copy_bytes(const void *from, size_t bytes)
{
    void *copy = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return copy ? memcpy(copy, from, bytes) : NULL;
}

static int open_model(const struct model_source *source, struct model **model, void **copy)
{
    *copy = NULL;
    if (source->path) {
        struct stat s;
        if (stat(source->path, &s) || !S_ISREG(s.st_mode))
            return fail(ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID, "there is no model file %s", source->path);
        int status = om_open(source->path, model);
        return status ? executor_fail(status, source->path) : 0;
    }
    if (!(*copy = copy_bytes(source->data, source->bytes)))
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a model of %zu bytes", source->bytes);
    int status = om_open_memory(*copy, source->bytes, model);
    if (!status)
        return 0;
    free(*copy);
    *copy = NULL;
    return executor_fail(status, "a model in memory");
}

static int describe(const struct model_source *source, struct model_info **info)
{
    struct model *model;
    void *copy;
    TRY_STATUS(open_model(source, &model, &copy));
    int status = info_make(model, info);
    if (status)
        status = executor_fail(status, source->path ? source->path : "a model in memory");
    model_free(model);
    free(copy);
    return status;
}

/* ---- loading ---- */
static void unload(struct executable *e)
{
    if (e->executed)
        aclrtSynchronizeEvent(e->last);
    for (struct program *p = e->programs, *next; p; p = next) {
        next = p->next;
        program_free(p);
    }
    struct block *lists[] = {e->blocks, e->pool.free, e->pool.taken};
    for (int i = 0; i < 3; i++)
        for (struct block *b = lists[i], *next; b; b = next) {
            next = b->next;
            aclrtFree(b->address);
            free(b);
        }
    if (e->last)
        aclrtDestroyEvent(e->last);
    if (e->recorder)
        aclrtDestroyStream(e->recorder);
    if (e->info && atomic_fetch_sub(&e->info->references, 1) == 1)
        info_free(e->info);
    if (e->model)
        model_free(e->model);
    pthread_mutex_destroy(&e->lock);
    dump_model_free(e->dump);
    free(e->copy);
    free(e->weight);
    free(e->aipp);
    free(e);
}

/* Constants go to the caller's memory. */
static int place_weights(struct executable *e, const struct model_memory *memory)
{
    if (memory->weight_bytes < e->info->weight)
        return fail(ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID,
                    "the memory for weights has %zu bytes, the model needs %zu", memory->weight_bytes, e->info->weight);
    e->weight = calloc((size_t)e->model->n_values + 1, sizeof *e->weight);
    if (!e->weight)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %d values", e->model->n_values);
    char *at = memory->weight;
    for (int32_t i = 0; i < e->model->n_values; i++) {
        const struct value *v = &e->model->values[i];
        if (!v->data)
            continue;
        size_t room = (v->bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
        if (v->bytes)
            TRY_STATUS(aclrtMemcpy(at, room, v->data, v->bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        e->weight[i] = at;
        at += room;
    }
    return 0;
}

static int prepare(struct executable *e, const struct model_source *source, const struct model_memory *memory)
{
    TRY_STATUS(aclrtGetCurrentContext(&e->context));
    TRY_STATUS(aclrtGetDevice(&e->device));
    TRY_STATUS(open_model(source, &e->model, &e->copy));
    int status = info_make(e->model, &e->info);
    if (status)
        return executor_fail(status, source->path ? source->path : "a model in memory");
    if (memory->weight)
        TRY_STATUS(place_weights(e, memory));
    if (memory->work && memory->work_bytes < e->info->work)
        return fail(ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID, "the working memory has %zu bytes, the model needs %zu",
                    memory->work_bytes, e->info->work);
    e->given_work = memory->work;
    e->given_bytes = memory->work ? memory->work_bytes : 0;
    if (!memory->work && e->info->work) {
        if (!(e->given_work = executable_memory(e, e->info->work)))
            return executor_fail(GRAPH_NO_MEMORY, "working memory");
        e->given_bytes = e->info->work;
    }
    e->aipp = calloc(e->info->own_inputs + 1, sizeof *e->aipp);
    if (!e->aipp)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %zu inputs", e->info->own_inputs);
    TRY_STATUS(aclrtCreateStream(&e->recorder));
    return aclrtCreateEventExWithFlag(&e->last, ACL_EVENT_SYNC);
}

static int load(const struct model_source *source, const struct model_memory *memory, uint32_t id,
                struct executable **executable)
{
    struct executable *e = calloc(1, sizeof *e);
    if (!e)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a model");
    pthread_mutex_init(&e->lock, NULL);
    int status = prepare(e, source, memory);
    if (status) {
        unload(e);
        return status;
    }
    e->dump = dump_model_choose(source->path, e->model->name ? e->model->name : "", id);
    *executable = e;
    return 0;
}

static const struct model_info *info(const struct executable *e)
{
    return e->info;
}

extern const struct model_executor anynpu_model_executor;
__attribute__((visibility("default"))) const struct model_executor anynpu_model_executor = {
    .describe = describe,
    .info_free = info_free,
    .load = load,
    .info = info,
    .execute = executable_execute,
    .unload = unload,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Models: ids, loading, execution, unloading. An id names a slot; whoever uses the model holds it, and unloading first
 * makes the id unknown, then waits until nobody holds it. One lock for the table, never held during a call of the
 * executor (model.h), which is a library of its own and opened at the first need. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "model.h"

/* ---- the executor ---- */
static const struct model_executor *executor;
static char executor_error[PATH_MAX + 512];

static void open_executor(void)
{
    Dl_info self;
    char path[PATH_MAX] = "libge_executor.so";
    if (dladdr(&executor_error, &self) && self.dli_fname) {
        const char *slash = strrchr(self.dli_fname, '/');
        snprintf(path, sizeof path, "%.*slibge_executor.so", slash ? (int)(slash + 1 - self.dli_fname) : 0,
                 self.dli_fname);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    executor = library ? dlsym(library, MODEL_EXECUTOR_SYMBOL) : NULL;
    if (!executor) {
        const char *why = dlerror();
        snprintf(executor_error, sizeof executor_error, "the library that executes models can't be opened: %s",
                 why ? why : path);
    }
}

const struct model_executor *model_executor(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_executor);
    if (!executor)
        fail(ACL_ERROR_GE_EXEC_NOT_INIT, "%s", executor_error);
    return executor;
}

/* ---- ids ---- */
struct place {
    struct executable *model; /* NULL: free */
    const struct model_info *info;
    uint32_t id, holders;
    bool leaving;
    size_t gear; /* set last */
    uint32_t priority;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct place *places;
static size_t place_count;
static uint32_t last_id;

/* Under the lock. */
static struct place *find(uint32_t id)
{
    for (size_t i = 0; i < place_count; i++)
        if (places[i].model && places[i].id == id)
            return &places[i];
    return NULL;
}

static int unknown(uint32_t id, const char *call)
{
    return fail(ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, "%s: no model is loaded under the id %u", call, id);
}

struct executable *model_hold(uint32_t id, const char *call)
{
    pthread_mutex_lock(&lock);
    struct place *p = find(id);
    struct executable *model = p && !p->leaving ? p->model : NULL;
    if (model)
        p->holders++;
    pthread_mutex_unlock(&lock);
    if (!model)
        unknown(id, call);
    return model;
}

const struct model_info *model_info_of(const struct executable *model)
{
    return model_executor()->info(model);
}

void model_release(uint32_t id)
{
    pthread_mutex_lock(&lock);
    if (--find(id)->holders == 0)
        pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

size_t model_gear_set(uint32_t id)
{
    pthread_mutex_lock(&lock);
    struct place *p = find(id);
    size_t gear = p ? p->gear : SIZE_MAX;
    pthread_mutex_unlock(&lock);
    return gear;
}

void model_set_gear(uint32_t id, size_t gear)
{
    pthread_mutex_lock(&lock);
    struct place *p = find(id);
    if (p)
        p->gear = gear;
    pthread_mutex_unlock(&lock);
}

static uint32_t next_id(void)
{
    pthread_mutex_lock(&lock);
    uint32_t id = ++last_id;
    pthread_mutex_unlock(&lock);
    return id;
}

static int place_model(struct executable *model, uint32_t id)
{
    pthread_mutex_lock(&lock);
    struct place *p = NULL;
    for (size_t i = 0; i < place_count && !p; i++)
        if (!places[i].model)
            p = &places[i];
    if (!p) {
        struct place *more = realloc(places, (place_count + 8) * sizeof *more);
        if (more) {
            memset(more + place_count, 0, 8 * sizeof *more);
            places = more;
            p = &places[place_count];
            place_count += 8;
        }
    }
    if (p)
        *p = (struct place){.model = model, .id = id, .gear = SIZE_MAX};
    pthread_mutex_unlock(&lock);
    return p ? 0 : fail(ACL_ERROR_BAD_ALLOC, "no host memory for a model");
}

/* ---- load, unload ---- */
static aclError load(const struct model_source *source, const struct model_memory *memory, uint32_t *id)
{
    TRY(entry_check());
    if (!model_executor())
        return fail_code();
    struct executable *model;
    uint32_t made = next_id();
    TRY(executor->load(source, memory, made, &model));
    int status = place_model(model, made);
    if (status)
        executor->unload(model);
    else
        *id = made;
    return status;
}

aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId)
{
    return aclmdlLoadFromFileWithMem(modelPath, modelId, NULL, 0, NULL, 0);
}

aclError aclmdlLoadFromFileWithMem(const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize,
                                   void *weightPtr, size_t weightSize)
{
    CHECK_ARG(modelPath);
    CHECK_ARG(modelId);
    return load(&(struct model_source){.path = modelPath},
                &(struct model_memory){workPtr, weightPtr, workSize, weightSize}, modelId);
}

aclError aclmdlLoadFromMem(const void *model, size_t modelSize, uint32_t *modelId)
{
    return aclmdlLoadFromMemWithMem(model, modelSize, modelId, NULL, 0, NULL, 0);
}

aclError aclmdlLoadFromMemWithMem(const void *model, size_t modelSize, uint32_t *modelId, void *workPtr,
                                  size_t workSize, void *weightPtr, size_t weightSize)
{
    CHECK_ARG(model);
    CHECK_ARG(modelId);
    if (!modelSize)
        return fail(ACL_ERROR_INVALID_PARAM, "modelSize must not be 0 in aclmdlLoadFromMem");
    return load(&(struct model_source){.data = model, .bytes = modelSize},
                &(struct model_memory){workPtr, weightPtr, workSize, weightSize}, modelId);
}

aclError aclmdlUnload(uint32_t modelId)
{
    pthread_mutex_lock(&lock);
    struct place *p = find(modelId);
    if (!p || p->leaving) {
        pthread_mutex_unlock(&lock);
        return unknown(modelId, __func__);
    }
    p->leaving = true;
    while (p->holders) {
        pthread_cond_wait(&released, &lock);
        p = find(modelId);
    }
    struct executable *model = p->model;
    p->model = NULL;
    pthread_mutex_unlock(&lock);
    executor->unload(model);
    return ACL_SUCCESS;
}

static aclError query(const struct model_source *source, size_t *work, size_t *weight)
{
    if (!model_executor())
        return fail_code();
    struct model_info *info;
    TRY(executor->describe(source, &info));
    *work = info->work;
    *weight = info->weight;
    model_info_unref(info);
    return ACL_SUCCESS;
}

aclError aclmdlQuerySize(const char *fileName, size_t *workSize, size_t *weightSize)
{
    CHECK_ARG(fileName);
    CHECK_ARG(workSize);
    CHECK_ARG(weightSize);
    return query(&(struct model_source){.path = fileName}, workSize, weightSize);
}

aclError aclmdlQuerySizeFromMem(const void *model, size_t modelSize, size_t *workSize, size_t *weightSize)
{
    CHECK_ARG(model);
    CHECK_ARG(workSize);
    CHECK_ARG(weightSize);
    return query(&(struct model_source){.data = model, .bytes = modelSize}, workSize, weightSize);
}

/* A priority is kept and told: a device whose streams share one pool has nobody to prefer. */
static aclError priority(uint32_t id, aclmdlAttr attr, aclmdlAttrValue_t *value, bool set, const char *call)
{
    if (attr != ACL_MDL_ATTR_PRIORITY_INT32)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: there is no attribute %d", call, (int)attr);
    pthread_mutex_lock(&lock);
    struct place *p = find(id);
    if (p && set)
        p->priority = value->mdlPriority;
    else if (p)
        value->mdlPriority = p->priority;
    pthread_mutex_unlock(&lock);
    return p ? ACL_SUCCESS : unknown(id, call);
}

aclError aclmdlSetAttribute(uint32_t modelId, aclmdlAttr attr, aclmdlAttrValue_t *attrValue)
{
    CHECK_ARG(attrValue);
    return priority(modelId, attr, attrValue, true, __func__);
}

aclError aclmdlGetAttribute(uint32_t modelId, aclmdlAttr attr, aclmdlAttrValue_t *attrValue)
{
    CHECK_ARG(attrValue);
    return priority(modelId, attr, attrValue, false, __func__);
}

/* ---- execution ---- */
enum { INSIDE = 16 };

/* Rows for the executor; few tensors need no allocation. */
struct call {
    struct model_buffer inside[2 * INSIDE], *buffer;
    struct model_result result_inside[INSIDE], *result;
    int64_t (*dims)[MODEL_RANK_MAX]; /* of inputs with descriptions; NULL: none has one */
};

static void call_free(struct call *call)
{
    if (call->buffer != call->inside)
        free(call->buffer);
    if (call->result != call->result_inside)
        free(call->result);
    free(call->dims);
}

/* The buffers of a dataset; `needed`: how many the model has. */
static int collect(uint32_t id, const struct aclmdlDataset *set, size_t needed, const char *what,
                   struct model_buffer *to)
{
    if (set->count < needed)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "model %u has %zu %ss, but the dataset holds %zu", id, needed, what,
                    set->count);
    for (size_t i = 0; i < needed; i++)
        to[i] = (struct model_buffer){aclGetDataBufferAddr(set->blob[i].buffer),
                                      aclGetDataBufferSizeV2(set->blob[i].buffer), SIZE_MAX, NULL};
    return 0;
}

/* Sizes that descriptions tell. */
static int read_dims(struct call *call, const struct aclmdlDataset *set, size_t inputs)
{
    for (size_t i = 0; i < inputs; i++) {
        const aclTensorDesc *desc = set->blob[i].desc;
        if (!desc)
            continue;
        size_t rank = aclGetTensorDescNumDims(desc);
        if (rank > MODEL_RANK_MAX)
            return fail(ACL_ERROR_GE_PARAM_INVALID,
                        "the description of input %zu has %zu sizes, at most %d are possible", i, rank, MODEL_RANK_MAX);
        if (!call->dims && !(call->dims = calloc(inputs, sizeof *call->dims)))
            return fail(ACL_ERROR_BAD_ALLOC, "no host memory for the sizes of %zu inputs", inputs);
        for (size_t d = 0; d < rank; d++)
            call->dims[i][d] = aclGetTensorDescDim(desc, d);
        call->buffer[i].rank = rank;
        call->buffer[i].dims = call->dims[i];
    }
    return 0;
}

static bool open_sizes(const struct model_tensor *t)
{
    bool open = t->rank == 0 && t->bytes == 0;
    for (size_t d = 0; d < t->rank; d++)
        open = open || t->dims[d] < 0;
    return open;
}

/* Sizes and addresses that the execution found, into the dataset of outputs. */
static int tell(const struct model_info *info, struct aclmdlDataset *output, const struct model_result *result)
{
    for (size_t i = 0; i < info->outputs; i++) {
        struct model_blob *b = &output->blob[i];
        if (result[i].address)
            aclUpdateDataBuffer(b->buffer, result[i].address, result[i].bytes);
        if (!b->desc && !open_sizes(&info->output[i]))
            continue;
        if (b->own || !b->desc) {
            aclTensorDesc *desc =
                aclCreateTensorDesc(result[i].dtype, (int)result[i].rank, result[i].dims, info->output[i].format);
            if (!desc)
                return fail_code();
            if (b->own)
                aclDestroyTensorDesc(b->desc);
            b->desc = desc;
            b->own = true;
        } else {
            TRY(aclSetTensorShape(b->desc, (int)result[i].rank, result[i].dims));
        }
    }
    return 0;
}

static int run(uint32_t id, struct executable *model, const aclmdlDataset *input, aclmdlDataset *output, bool allocate,
               aclrtStream stream)
{
    const struct model_info *info = executor->info(model);
    struct call call = {.buffer = call.inside, .result = call.result_inside, .dims = NULL};
    int status;
    if (info->inputs + info->outputs > 2 * INSIDE)
        call.buffer = calloc(info->inputs + info->outputs, sizeof *call.buffer);
    if (info->outputs > INSIDE)
        call.result = calloc(info->outputs, sizeof *call.result);
    if (!call.buffer || !call.result) {
        call_free(&call);
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %zu inputs and %zu outputs", info->inputs, info->outputs);
    }
    struct model_buffer *out = call.buffer + info->inputs;
    if ((status = collect(id, input, info->inputs, "input", call.buffer)) ||
        (status = collect(id, output, info->outputs, "output", out)) ||
        (status = info->dynamic == MODEL_RANGE ? read_dims(&call, input, info->inputs) : 0))
        goto out;
    size_t gear = input->gear_model == id ? input->gear : SIZE_MAX;
    status = executor->execute(model, call.buffer, out, gear, allocate, call.result, stream);
    if (!status)
        status = tell(info, output, call.result);
out:
    call_free(&call);
    return status;
}

enum { ASYNC = -2 }; /* instead of a limit for waiting, ms (-1: none) */

static aclError execute(const char *call, uint32_t id, const aclmdlDataset *input, aclmdlDataset *output,
                        aclrtStream stream, int32_t wait)
{
    TRY(entry_check());
    if (!input || !output)
        return fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL in %s", input ? "output" : "input", call);
    struct executable *model = model_hold(id, call);
    if (!model)
        return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    int status = run(id, model, input, output, wait != ASYNC, stream);
    if (!status && wait != ASYNC)
        status = aclrtSynchronizeStreamWithTimeout(stream, wait);
    model_release(id);
    return status;
}

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output)
{
    return execute(__func__, modelId, input, output, NULL, -1);
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream)
{
    return execute(__func__, modelId, input, output, stream, ASYNC);
}

aclError aclmdlExecuteV2(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream,
                         const aclmdlExecConfigHandle *handle)
{
    CHECK_ARG(handle);
    return execute(__func__, modelId, input, output, stream, model_config_timeout(handle));
}

aclError aclmdlExecuteAsyncV2(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream,
                              const aclmdlExecConfigHandle *handle)
{
    CHECK_ARG(handle);
    return execute(__func__, modelId, input, output, stream, ASYNC);
}

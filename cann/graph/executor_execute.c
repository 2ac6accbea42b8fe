/* SPDX-License-Identifier: BSD-3-Clause */
/* An execution: the sizes of the inputs, their program, checks of what was given, then a replay or a run step by step.
 */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/executor.h"
#include "runtime/door.h"

/* Rows of one execution. */
struct turn {
    struct executable *e;
    const struct model_buffer *input, *output;
    struct model_result *result;
    size_t gear;
    bool allocate;
    aclrtStream stream;
    int64_t *dims; /* of all own inputs */
    size_t dim_count;
    struct program *program;
    void **address; /* inputs, then outputs */
};

/* ---- sizes ---- */
static int bad_size(size_t input, const char *name, size_t given, size_t needed)
{
    return fail(ACL_ERROR_GE_PARAM_INVALID, "input %zu (%s) has %zu bytes, but the model takes %zu", input, name, given,
                needed);
}

/* The one size that is open follows from the buffer's bytes. */
static int size_from_bytes(const struct turn *t, size_t i, const struct type *type, int64_t *dims)
{
    int32_t open = -1;
    size_t row = dtype_size(type->dtype);
    for (int32_t d = 0; d < type->rank; d++) {
        if (type->dim[d] >= 0)
            row *= (size_t)type->dim[d];
        else if (open >= 0)
            return fail(ACL_ERROR_GE_PARAM_INVALID,
                        "input %zu (%s) has several open sizes: say them with "
                        "aclmdlSetDatasetTensorDesc",
                        i, t->e->info->input[i].name);
        else
            open = d;
    }
    if (open < 0)
        return 0;
    if (!row || t->input[i].bytes % row)
        return fail(ACL_ERROR_GE_PARAM_INVALID,
                    "input %zu (%s) has %zu bytes, which is not a multiple of the %zu of one row", i,
                    t->e->info->input[i].name, t->input[i].bytes, row);
    dims[open] = (int64_t)(t->input[i].bytes / row);
    return 0;
}

/* Sizes that a description told, against what the model says. */
static int size_from_desc(const struct turn *t, size_t i, const struct type *type, int64_t *dims)
{
    const struct model_buffer *b = &t->input[i];
    const char *name = t->e->info->input[i].name;
    if (type->rank >= 0 && b->rank != (size_t)type->rank)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "input %zu (%s) is described with %zu sizes, but the model takes %d", i,
                    name, b->rank, type->rank);
    for (size_t d = 0; d < b->rank; d++) {
        if (b->dims[d] < 0 || (type->dim[d] >= 0 && type->dim[d] != b->dims[d]))
            return fail(ACL_ERROR_GE_PARAM_INVALID, "size %zu of input %zu (%s) is %ld, but the model takes %ld", d, i,
                        name, (long)b->dims[d], (long)type->dim[d]);
        dims[d] = b->dims[d];
    }
    return 0;
}

/* A symbol has one size in all inputs, within its limits. */
static int check_symbols(const struct turn *t)
{
    const struct model *model = t->e->model;
    int64_t *size = malloc(((size_t)model->n_symbols + 1) * sizeof *size);
    if (!size)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %d sizes", model->n_symbols);
    memset(size, 0xff, ((size_t)model->n_symbols + 1) * sizeof *size);
    const int64_t *at = t->dims;
    int status = 0;
    for (int32_t i = 0; i < model->main.n_in; i++) {
        const struct type *type = &model->values[model->main.in[i]].type;
        for (int32_t d = 0; d < type->rank; d++, at++) {
            int64_t k = -2 - type->dim[d];
            if (status || type->dim[d] > dim_symbol(0) || k >= model->n_symbols)
                continue;
            const struct dim_range *range = &model->symbols[k];
            if (*at < range->low || (range->high >= 0 && *at > range->high))
                status = fail(ACL_ERROR_GE_PARAM_INVALID,
                              "size %d of input %d (%s) is %ld, the model was converted for %ld to %ld", d, i,
                              t->e->info->input[i].name, (long)*at, (long)range->low, (long)range->high);
            else if (size[k] >= 0 && size[k] != *at)
                status = fail(ACL_ERROR_GE_PARAM_INVALID,
                              "size %d of input %d (%s) is %ld, but the same size is %ld elsewhere", d, i,
                              t->e->info->input[i].name, (long)*at, (long)size[k]);
            size[k] = *at;
        }
    }
    free(size);
    return status;
}

static int find_dims(struct turn *t)
{
    const struct model_info *info = t->e->info;
    const struct model *model = t->e->model;
    bool choices = info->dynamic != MODEL_FIXED && info->dynamic != MODEL_RANGE;
    if (choices && t->gear >= info->gears)
        return fail(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID,
                    "the model was converted for a choice of sizes, and none was set for this "
                    "dataset: call aclmdlSetDynamicBatchSize, …HWSize or "
                    "aclmdlSetInputDynamicDims before the execution");
    size_t at = 0;
    for (size_t i = 0; i < info->own_inputs; i++) {
        const struct type *type = &model->values[model->main.in[i]].type;
        size_t rank = type->rank > 0 ? (size_t)type->rank : 0;
        for (size_t d = 0; d < rank; d++)
            t->dims[at + d] = choices ? info->gear_dims[t->gear * t->dim_count + at + d] : type->dim[d];
        if (info->dynamic == MODEL_RANGE && t->input[i].rank != SIZE_MAX)
            TRY_STATUS(size_from_desc(t, i, type, t->dims + at));
        else if (info->dynamic == MODEL_RANGE)
            TRY_STATUS(size_from_bytes(t, i, type, t->dims + at));
        at += rank;
    }
    return info->dynamic == MODEL_RANGE ? check_symbols(t) : 0;
}

/* ---- checks ---- */
static int check_inputs(const struct turn *t)
{
    const struct executable *e = t->e;
    for (size_t i = 0; i < e->info->inputs; i++) {
        const struct model_tensor *told = &e->info->input[i];
        size_t needed = told->bytes;
        if (i < e->info->own_inputs && !info_aipp(e->model, i))
            needed = (size_t)type_bytes(&t->program->table[e->model->main.in[i]].type);
        if (told->aipp == ACL_DATA_WITH_DYNAMIC_AIPP)
            needed = 1; /* the parameters tell */
        if (t->input[i].bytes < needed)
            return bad_size(i, told->name, t->input[i].bytes, needed);
        if (!t->input[i].address && needed)
            return fail(ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID, "the buffer of input %zu (%s) has no address", i,
                        told->name);
    }
    return 0;
}

/* An output's type is known: its room, or an address for it. */
static int settle_output(const struct turn *t, size_t i, const struct type *type)
{
    struct model_result *r = &t->result[i];
    *r = (struct model_result){.rank = (size_t)type->rank, .dtype = type->dtype, .bytes = (size_t)type_bytes(type)};
    if (type->rank > MODEL_RANK_MAX)
        return fail(ACL_ERROR_GE_SHAPE_INVALID, "output %zu has %d sizes", i, type->rank);
    memcpy(r->dims, type->dim, r->rank * sizeof *r->dims);
    if (t->output[i].address)
        return t->output[i].bytes >= r->bytes
                   ? 0
                   : fail(ACL_ERROR_GE_PARAM_INVALID, "output %zu (%s) needs %zu bytes, but its buffer has %zu", i,
                          t->e->info->output[i].name, r->bytes, t->output[i].bytes);
    if (!t->allocate && r->bytes)
        return fail(ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID, "the buffer of output %zu (%s) has no address", i,
                    t->e->info->output[i].name);
    return aclrtMalloc(&r->address, r->bytes ? r->bytes : 1, ACL_MEM_MALLOC_NORMAL_ONLY);
}

static void *output_address(const struct turn *t, size_t i)
{
    return t->output[i].address ? t->output[i].address : t->result[i].address;
}

/* ---- pictures ---- */
/* Where the network's input lies, and the conversion of pictures when it has AIPP. */
static int enter(const struct turn *t, size_t i, struct tensor *value, aclrtStream stream)
{
    struct executable *e = t->e;
    const struct aipp *a = info_aipp(e->model, i);
    const struct type *type = &value->type;
    value->device = t->input[i].address;
    if (!a)
        return 0;
    if (type->rank != 4)
        return fail(ACL_ERROR_GE_SHAPE_INVALID, "AIPP makes pictures of 4 sizes, but input %zu has %d", i, type->rank);
    value->device = e->aipp[i];
    bool nhwc = e->info->input[i].format == ACL_FORMAT_NHWC;
    struct aipp_target target = {.channels = type->dim[nhwc ? 3 : 1],
                                 .height = type->dim[nhwc ? 1 : 2],
                                 .width = type->dim[nhwc ? 2 : 3],
                                 .dtype = type->dtype,
                                 .nhwc = nhwc};
    if (a->mode == AIPP_DYNAMIC)
        return aipp_dynamic(t->input[e->info->input[i].aipp_input].address, &target, type->dim[0], t->input[i].address,
                            t->input[i].bytes, value->device, stream);
    struct aipp_rule rule = {.format = (aclAippInputFormat)a->format,
                             .width = a->src_image_size_w,
                             .height = a->src_image_size_h,
                             .csc = a->csc_switch,
                             .swap_rb = a->rbuv_swap_switch,
                             .swap_ax = a->ax_swap_switch};
    memcpy(rule.matrix, a->matrix, sizeof rule.matrix);
    memcpy(rule.input_bias, a->input_bias, sizeof rule.input_bias);
    memcpy(rule.output_bias, a->output_bias, sizeof rule.output_bias);
    struct aipp_step step = {.width = a->src_image_size_w, .height = a->src_image_size_h, .border = a->padding_value};
    if (a->crop)
        step.x = a->load_start_pos_w, step.y = a->load_start_pos_h, step.width = a->crop_size_w,
        step.height = a->crop_size_h;
    if (a->crop && !step.width)
        step.width = (int32_t)target.width, step.height = (int32_t)target.height;
    if (a->padding) {
        step.top = a->top_padding_size, step.bottom = a->bottom_padding_size;
        step.left = a->left_padding_size, step.right = a->right_padding_size;
    }
    for (int k = 0; k < 4; k++) {
        step.mean[k] = (float)a->mean[k];
        step.min[k] = a->min[k];
        step.reciprocal[k] = a->var_reci[k];
    }
    return aipp_fixed(&rule, &step, &target, type->dim[0], t->input[i].address, value->device, stream);
}

/* Memory for the largest picture tensors, once. */
static int make_aipp_memory(const struct turn *t)
{
    struct executable *e = t->e;
    for (size_t i = 0; i < e->info->own_inputs; i++) {
        if (!info_aipp(e->model, i) || e->aipp[i])
            continue;
        int64_t most = type_bytes(&t->program->table[e->model->main.in[i]].type);
        for (size_t g = 0, at = 0; g < e->info->gears; g++) {
            int64_t bytes = (int64_t)dtype_size(t->program->table[e->model->main.in[i]].type.dtype);
            at = g * t->dim_count;
            for (size_t k = 0; k < i; k++)
                at += e->info->input[k].rank;
            for (size_t d = 0; d < e->info->input[i].rank; d++)
                bytes *= e->info->gear_dims[at + d];
            most = bytes > most ? bytes : most;
        }
        if (e->info->dynamic != MODEL_RANGE)
            e->aipp[i] = executable_memory(e, (size_t)most);
        else
            return fail(ACL_ERROR_GE_AIPP_MODE_INVALID, "AIPP needs fixed sizes or a choice of them");
        if (!e->aipp[i])
            return executor_fail(GRAPH_NO_MEMORY, "the execution");
    }
    return 0;
}

/* ---- recorded ---- */
/* The places of a recording's values: inputs and outputs at the caller's addresses. */
static int bind(const struct turn *t, struct tensor *table, aclrtStream stream)
{
    const struct executable *e = t->e;
    const struct program *p = t->program;
    const struct graph *g = &e->model->main;
    for (int32_t v = 0; v < e->model->n_values; v++)
        if (p->offset[v] != SIZE_MAX)
            table[v].device = p->work + p->offset[v];
    for (size_t i = 0; i < e->info->own_inputs; i++) {
        int status = enter(t, i, &table[g->in[i]], stream);
        if (status)
            return status;
    }
    for (int32_t i = 0; i < g->n_out; i++) { /* made where the caller wants it */
        int32_t root = p->root[g->out[i]];
        if (p->offset[root] != SIZE_MAX && table[root].device == p->work + p->offset[root])
            table[root].device = output_address(t, (size_t)i);
    }
    for (int32_t v = 0; v < e->model->n_values; v++)
        if (p->root[v] != v)
            table[v].device = table[p->root[v]].device;
    return 0;
}

static int emit(const struct turn *t, struct tensor *table, aclrtStream stream)
{
    const struct graph *g = &t->e->model->main;
    int status = bind(t, table, stream);
    if (status)
        return status;
    struct emitter m;
    emitter_init(&m, t->e, stream, true);
    status = emit_turn(&m);
    for (int32_t i = 0; !status && i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        bool known = true;
        for (int32_t k = 0; k < node->n_out; k++)
            known = known && (node->out[k] == VALUE_NONE || table[node->out[k]].host);
        if (!known && !(node->row->flags & OPERATOR_VIEW))
            status = emit_node(&m, node, table);
    }
    for (int32_t i = 0; !status && i < g->n_out; i++) {
        const struct tensor *value = &table[g->out[i]];
        void *to = output_address(t, (size_t)i);
        if (value->device != to)
            status = emit_copy(stream, to, value->device, (size_t)type_bytes(&value->type));
    }
    emitter_end(&m);
    t->program->stepwise = m.wants_contents;
    return status ? executor_fail(status, "the execution") : 0;
}

static int record(const struct turn *t, struct recording *r)
{
    struct executable *e = t->e;
    struct tensor *table = malloc(((size_t)e->model->n_values + 1) * sizeof *table);
    if (!table)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %d values", e->model->n_values);
    memcpy(table, t->program->table, (size_t)e->model->n_values * sizeof *table);
    int status = aclmdlRICaptureBegin(e->recorder, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
    if (!status) {
        status = emit(t, table, e->recorder);
        aclmdlRI replay = NULL;
        if (status) {                                /* keep the text of what failed */
            const char *told = aclGetRecentErrMsg(); /* tells it once */
            char *text = strdup(told ? told : "");
            if (!aclmdlRICaptureEnd(e->recorder, &replay))
                aclmdlRIDestroy(replay);
            status = fail(status, "%s", text ? text : "the execution failed");
            free(text);
        } else if (!(status = aclmdlRICaptureEnd(e->recorder, &replay))) {
            r->replay = replay;
        }
    }
    free(table);
    return status;
}

static int replay(const struct turn *t)
{
    struct executable *e = t->e;
    size_t count = e->info->inputs + e->info->outputs;
    struct recording *oldest = &t->program->recording[0], *found = NULL;
    for (int i = 0; i < RECORDINGS_MAX && !found; i++) {
        struct recording *r = &t->program->recording[i];
        if (r->replay && !memcmp(r->address, t->address, count * sizeof *t->address))
            found = r;
        else if (r->used < oldest->used)
            oldest = r;
    }
    if (!found) {
        found = oldest;
        if (found->replay && aclmdlRIDestroy(found->replay))
            return ACL_ERROR_GE_INTERNAL_ERROR;
        found->replay = NULL;
        if (!found->address && !(found->address = malloc((count + 1) * sizeof *found->address)))
            return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a recording");
        int status = record(t, found);
        if (status)
            return status;
        memcpy(found->address, t->address, count * sizeof *t->address);
    }
    found->used = ++e->clock;
    return aclmdlRIExecuteAsync(found->replay, t->stream);
}

/* ---- stepwise ---- */
static int run_steps(const struct turn *t)
{
    struct executable *e = t->e;
    const struct graph *g = &e->model->main;
    struct tensor *table = malloc(((size_t)e->model->n_values + 1) * sizeof *table);
    if (!table)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %d values", e->model->n_values);
    memcpy(table, t->program->table, (size_t)e->model->n_values * sizeof *table);
    int status = 0;
    for (size_t i = 0; !status && i < e->info->own_inputs; i++)
        status = enter(t, i, &table[g->in[i]], t->stream);
    if (!status && (status = steps_run(e, t->program, table, t->stream)))
        status = executor_fail(status, "the execution");
    for (int32_t i = 0; !status && i < g->n_out; i++) {
        const struct tensor *value = &table[g->out[i]];
        status = settle_output(t, (size_t)i, &value->type);
        if (!status &&
            emit_copy(t->stream, output_address(t, (size_t)i), value->device, (size_t)type_bytes(&value->type)))
            status = executor_fail(GRAPH_FAILED, "the execution");
    }
    /* Everything that was taken may be used by what is queued later. */
    while (e->pool.taken)
        pool_give(e, e->pool.taken->address);
    free(table);
    return status;
}

/* ---- an execution ---- */
static int find_program(struct turn *t)
{
    struct executable *e = t->e;
    uint32_t programs = 0;
    struct program *p = e->programs, **oldest = NULL;
    for (; p && memcmp(p->dims, t->dims, t->dim_count * sizeof *t->dims); p = p->next)
        programs++;
    if (!p) {
        if (programs >= PROGRAMS_MAX) {
            for (struct program **at = &e->programs; *at; at = &(*at)->next)
                if (!oldest || (*at)->used < (*oldest)->used)
                    oldest = at;
            struct program *gone = *oldest;
            *oldest = gone->next;
            program_free(gone);
        }
        p = program_new(e->model, e->weight, t->dims, t->dim_count);
        if (!p)
            return executor_fail(GRAPH_FAILED, "sizes of the inputs");
        if (p->bytes > e->given_bytes) {
            e->given_work = executable_memory(e, p->bytes);
            e->given_bytes = e->given_work ? p->bytes : 0;
        }
        p->work = e->given_work;
        if (p->bytes && !p->work) {
            program_free(p);
            return executor_fail(GRAPH_NO_MEMORY, "working memory");
        }
        p->next = e->programs;
        e->programs = p;
    }
    p->used = ++e->clock;
    t->program = p;
    return 0;
}

/* Executions share the working memory: those of another stream come after what is queued. */
static int take_turn(struct executable *e, aclrtStream stream)
{
    return e->executed && e->last_stream != stream ? aclrtStreamWaitEvent(stream, e->last) : 0;
}

static int execute(struct turn *t)
{
    struct executable *e = t->e;
    TRY_STATUS(find_dims(t));
    TRY_STATUS(find_program(t));
    TRY_STATUS(check_inputs(t));
    TRY_STATUS(make_aipp_memory(t));
    memset(t->result, 0, e->info->outputs * sizeof *t->result);
    if (!t->program->stepwise)
        for (size_t i = 0; i < e->info->outputs; i++)
            TRY_STATUS(settle_output(t, i, &t->program->table[e->model->main.out[i]].type));
    for (size_t i = 0; i < e->info->inputs; i++)
        t->address[i] = t->input[i].address;
    for (size_t i = 0; i < e->info->outputs; i++)
        t->address[e->info->inputs + i] = output_address(t, i);
    TRY_STATUS(take_turn(e, t->stream));
    int status = t->program->stepwise ? 0 : replay(t);
    if (t->program->stepwise)
        status = run_steps(t);
    e->executed = true;
    e->last_stream = t->stream;
    int recorded = aclrtRecordEvent(e->last, t->stream);
    return status ? status : recorded;
}

int executable_execute(struct executable *e, const struct model_buffer *input, const struct model_buffer *output,
                       size_t gear, bool allocate, struct model_result *result, aclrtStream stream)
{
    int32_t device = -1;
    TRY_STATUS(aclrtGetDevice(&device));
    if (device != e->device)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "the model was loaded on device %d, but the thread's device is %d",
                    e->device, device);
    bool captures;
    if (stream_inspect(e->recorder, &captures) == ACL_ERROR_RT_INVALID_HANDLE)
        return fail(ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, "device %d was reset since the model was loaded: load it again",
                    e->device);
    struct turn t = {.e = e,
                     .input = input,
                     .output = output,
                     .result = result,
                     .gear = gear,
                     .allocate = allocate,
                     .stream = stream};
    if (!stream)
        TRY_STATUS(aclrtCtxGetCurrentDefaultStream(&t.stream));
    for (size_t i = 0; i < e->info->own_inputs; i++)
        t.dim_count += e->info->input[i].rank;
    t.dims = malloc((t.dim_count + 1) * sizeof *t.dims);
    t.address = malloc((e->info->inputs + e->info->outputs + 1) * sizeof *t.address);
    int status = t.dims && t.address ? 0 : fail(ACL_ERROR_BAD_ALLOC, "no host memory for an execution");
    if (!status) {
        pthread_mutex_lock(&e->lock);
        status = execute(&t);
        pthread_mutex_unlock(&e->lock);
    }
    for (size_t i = 0; status && i < e->info->outputs; i++)
        if (result[i].address)
            aclrtFree(result[i].address);
    free(t.dims);
    free(t.address);
    return status;
}

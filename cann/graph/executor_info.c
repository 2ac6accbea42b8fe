/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs see of a model: its inputs and outputs, with those that choices of sizes and AIPP add, and the sizes of
 * all choices. One piece of memory, which ends with the last reference. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/executor.h"
#include "runtime/aipp.h"

const struct aipp *info_aipp(const struct model *model, size_t input)
{
    for (int32_t i = 0; i < model->n_aipp; i++)
        if (model->aipp[i].input == (int32_t)input)
            return &model->aipp[i];
    return NULL;
}

bool info_sizes(const struct model *model, int32_t gear, int64_t *sizes)
{
    bool ends = true;
    for (int32_t k = 0; k < model->n_symbols; k++) {
        if (gear >= 0 && k < model->gears.symbols)
            sizes[k] = model->gears.sizes[(int64_t)gear * model->gears.symbols + k];
        else if (k < model->gears.symbols && model->gears.count) {
            sizes[k] = 0;
            for (int32_t g = 0; g < model->gears.count; g++) {
                int64_t size = model->gears.sizes[(int64_t)g * model->gears.symbols + k];
                sizes[k] = size > sizes[k] ? size : sizes[k];
            }
        } else {
            sizes[k] = model->symbols[k].high;
            ends = ends && sizes[k] >= 0;
        }
    }
    return ends;
}

/* ---- memory ---- */
/* Pieces of the info: chunks in a list that hangs on it. */
struct holder {
    struct model_info info; /* first */
    void *chunk;            /* each begins with the address of the next */
};

static void *take(struct holder *holder, size_t bytes)
{
    void **chunk = calloc(1, bytes + sizeof(void *) * 2);
    if (!chunk)
        return NULL;
    chunk[0] = holder->chunk;
    holder->chunk = chunk;
    return chunk + 2;
}

void info_free(struct model_info *info)
{
    struct holder *holder = (struct holder *)info;
    for (void *chunk = holder->chunk, *next; chunk; chunk = next) {
        next = *(void **)chunk;
        free(chunk);
    }
    free(holder);
}

static const char *text(struct holder *holder, const char *from)
{
    char *copy = take(holder, strlen(from) + 1);
    return copy ? strcpy(copy, from) : "";
}

/* ---- tensors ---- */
static int64_t image_bytes(const struct aipp *a, int64_t pictures)
{
    if (a->mode == AIPP_DYNAMIC)
        return a->max_src_image_size;
    return pictures *
           (int64_t)aipp_source_bytes((aclAippInputFormat)a->format, a->src_image_size_w, a->src_image_size_h);
}

/* What aclmdlGetFirstAippInfo tells. */
static const aclAippInfo *image_info(struct holder *holder, const struct aipp *a, const struct model_tensor *t)
{
    aclAippInfo *i = take(holder, sizeof *i);
    if (!i)
        return NULL;
    *i = (aclAippInfo){.inputFormat = (aclAippInputFormat)a->format,
                       .srcImageSizeW = a->src_image_size_w,
                       .srcImageSizeH = a->src_image_size_h,
                       .cropSwitch = a->crop,
                       .loadStartPosW = a->load_start_pos_w,
                       .loadStartPosH = a->load_start_pos_h,
                       .cropSizeW = a->crop_size_w,
                       .cropSizeH = a->crop_size_h,
                       .resizeSwitch = a->resize,
                       .resizeOutputW = a->resize_output_w,
                       .resizeOutputH = a->resize_output_h,
                       .paddingSwitch = a->padding,
                       .leftPaddingSize = a->left_padding_size,
                       .rightPaddingSize = a->right_padding_size,
                       .topPaddingSize = a->top_padding_size,
                       .bottomPaddingSize = a->bottom_padding_size,
                       .cscSwitch = a->csc_switch,
                       .rbuvSwapSwitch = a->rbuv_swap_switch,
                       .axSwapSwitch = a->ax_swap_switch,
                       .singleLineMode = a->single_line_mode,
                       .srcFormat = t->format,
                       .srcDatatype = ACL_UINT8,
                       .srcDimNum = t->rank,
                       .shapeCount = 1};
    memcpy((char *)i + offsetof(aclAippInfo, matrixR0C0), a->matrix, sizeof a->matrix);
    memcpy((char *)i + offsetof(aclAippInfo, outputBias0), a->output_bias, sizeof a->output_bias);
    memcpy((char *)i + offsetof(aclAippInfo, inputBias0), a->input_bias, sizeof a->input_bias);
    memcpy((char *)i + offsetof(aclAippInfo, meanChn0), a->mean, sizeof a->mean);
    memcpy((char *)i + offsetof(aclAippInfo, minChn0), a->min, sizeof a->min);
    memcpy((char *)i + offsetof(aclAippInfo, varReciChn0), a->var_reci, sizeof a->var_reci);
    aclAippDims *d = &i->outDims[0];
    d->aippOutdims.dimCount = t->rank;
    memcpy(d->aippOutdims.dims, t->dims, t->rank * sizeof *t->dims);
    d->aippOutSize = dtype_size(t->dtype);
    for (size_t k = 0; k < t->rank; k++)
        d->aippOutSize *= (size_t)t->dims[k];
    d->srcDims = d->aippOutdims;
    if (t->rank == 4) {
        int h = t->format == ACL_FORMAT_NHWC ? 1 : 2;
        d->srcDims.dims[h] = a->src_image_size_h;
        d->srcDims.dims[h + 1] = a->src_image_size_w;
    }
    d->srcSize = (size_t)image_bytes(a, t->dims[0]);
    return i;
}

/* What is known of a value whatever the sizes: as the model says, or what all that was measured has in common. */
static struct type common_type(const struct type *told, const struct type *measured, const struct type *largest)
{
    struct type type = *told;
    if (type.rank >= 0 || largest->rank < 0)
        return type;
    type.rank = largest->rank;
    for (int32_t d = 0; d < type.rank; d++)
        type.dim[d] =
            measured->rank == largest->rank && measured->dim[d] == largest->dim[d] ? largest->dim[d] : DIM_UNKNOWN;
    return type;
}

/* A value as programs see it: open sizes are -1. `largest`: its type for the largest sizes; `measured`: for others. */
static bool fill(struct holder *holder, const struct model *model, int32_t value, const struct type *measured,
                 const struct type *largest, struct model_tensor *t)
{
    const struct type common = common_type(&model->values[value].type, measured, largest), *type = &common;
    size_t rank = type->rank < 0 ? 0 : (size_t)type->rank;
    int64_t *dims = take(holder, rank * sizeof *dims + 1), (*range)[2] = take(holder, rank * sizeof *range + 1);
    *t = (struct model_tensor){.name = text(holder, model->values[value].name),
                               .dtype = type->dtype != ACL_DT_UNDEFINED ? type->dtype : largest->dtype,
                               .format = rank == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND,
                               .rank = rank,
                               .dims = dims,
                               .range = (const int64_t(*)[2])range,
                               .aipp_input = SIZE_MAX};
    if (!dims || !range)
        return false;
    for (size_t d = 0; d < rank; d++) {
        int64_t size = type->dim[d];
        int32_t k = (int32_t)(-2 - size);
        dims[d] = size < 0 ? -1 : size;
        range[d][0] = range[d][1] = size;
        if (size < 0) {
            bool known = size <= dim_symbol(0) && k < model->n_symbols;
            range[d][0] = known ? model->symbols[k].low : 0;
            range[d][1] = known ? model->symbols[k].high : -1;
        }
    }
    int64_t bytes = type_known(largest) ? type_bytes(largest) : 0;
    t->bytes = bytes > 0 ? (size_t)bytes : 0;
    return true;
}

/* An input that choices of sizes or AIPP add. */
static bool fill_extra(struct holder *holder, const char *name, aclDataType dtype, int64_t count,
                       struct model_tensor *t)
{
    int64_t *dims = take(holder, sizeof *dims), (*range)[2] = take(holder, sizeof *range);
    *t = (struct model_tensor){.name = name,
                               .dtype = dtype,
                               .format = ACL_FORMAT_ND,
                               .bytes = (size_t)count * dtype_size(dtype),
                               .rank = 1,
                               .dims = dims,
                               .range = (const int64_t(*)[2])range,
                               .aipp_input = SIZE_MAX};
    if (!dims || !range)
        return false;
    dims[0] = range[0][0] = range[0][1] = count;
    return true;
}

/* ---- all of it ---- */
/* Types of inputs and outputs of one choice, into rows; and the working memory that it needs. */
static int measure(const struct model *model, const int64_t *sizes, struct type *in, struct type *out, size_t *work)
{
    const struct graph *g = &model->main;
    size_t count = 0;
    for (int32_t i = 0; i < g->n_in; i++)
        count += (size_t)(model->values[g->in[i]].type.rank > 0 ? model->values[g->in[i]].type.rank : 0);
    int64_t *dims = malloc((count + 1) * sizeof *dims);
    if (!dims)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    size_t at = 0;
    for (int32_t i = 0; i < g->n_in; i++) {
        in[i] = model->values[g->in[i]].type;
        for (int32_t d = 0; d < in[i].rank; d++) {
            if (in[i].dim[d] <= dim_symbol(0))
                in[i].dim[d] = sizes[-2 - in[i].dim[d]];
            dims[at++] = in[i].dim[d];
        }
    }
    struct program *p = program_new(model, NULL, dims, at);
    free(dims);
    if (!p)
        return GRAPH_FAILED;
    for (int32_t i = 0; i < g->n_out; i++)
        out[i] = p->table[g->out[i]].type;
    *work = p->bytes > *work ? p->bytes : *work;
    program_free(p);
    return GRAPH_OK;
}

static void put_dims(int64_t **to, const struct type *type, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t d = 0; d < type[i].rank; d++)
            *(*to)++ = type[i].dim[d];
}

static int32_t ranks(const struct type *type, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += type[i].rank > 0 ? type[i].rank : 0;
    return sum;
}

struct rows {
    int64_t *sizes;               /* of the symbols */
    struct type *in, *out, *some; /* some: outputs of the first choice */
};

/* The choices' sizes. */
static int make_gears(struct holder *holder, const struct model *model, struct rows *rows)
{
    const struct graph *g = &model->main;
    struct model_info *info = &holder->info;
    const struct gears *gears = &model->gears;
    info->gears = (size_t)gears->count;
    info->gear_sizes = (size_t)gears->symbols;
    int64_t *sizes = take(holder, info->gears * info->gear_sizes * sizeof *sizes + 1), *in = NULL, *out = NULL;
    if (!sizes)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    memcpy(sizes, gears->sizes, info->gears * info->gear_sizes * sizeof *sizes);
    info->gear = sizes;
    for (int32_t k = 0; k < gears->count; k++) {
        info_sizes(model, k, rows->sizes);
        GRAPH_TRY(measure(model, rows->sizes, rows->in, rows->out, &info->work));
        if (k == 0) {
            memcpy(rows->some, rows->out, (size_t)g->n_out * sizeof *rows->some);
            in = take(holder, info->gears * (size_t)ranks(rows->in, g->n_in) * sizeof *in + 1);
            out = take(holder, info->gears * (size_t)ranks(rows->out, g->n_out) * sizeof *out + 1);
            info->gear_dims = in;
            info->gear_output = out;
        }
        if (!in || !out)
            return graph_fail(GRAPH_NO_MEMORY, "no memory");
        put_dims(&in, rows->in, g->n_in);
        put_dims(&out, rows->out, g->n_out);
    }
    return GRAPH_OK;
}

static bool fill_inputs(struct holder *holder, const struct model *model, const struct rows *rows)
{
    const struct graph *g = &model->main;
    struct model_info *info = &holder->info;
    size_t next = info->own_inputs;
    for (size_t i = 0; i < info->own_inputs; i++) {
        struct model_tensor *t = &info->input[i];
        const struct aipp *a = info_aipp(model, i);
        if (!fill(holder, model, g->in[i], &rows->in[i], &rows->in[i], t))
            return false;
        if (!a)
            continue;
        t->image = a->mode == AIPP_STATIC ? image_info(holder, a, t) : NULL;
        t->aipp = a->mode == AIPP_STATIC ? ACL_DATA_WITH_STATIC_AIPP : ACL_DATA_WITH_DYNAMIC_AIPP;
        t->dtype = ACL_UINT8;
        t->bytes = (size_t)image_bytes(a, rows->in[i].rank > 0 ? rows->in[i].dim[0] : 1);
    }
    if (info->dynamic != MODEL_FIXED && info->dynamic != MODEL_RANGE) {
        info->size_input = next;
        if (!fill_extra(holder, ACL_DYNAMIC_TENSOR_NAME, ACL_INT32, model->gears.symbols, &info->input[next++]))
            return false;
    }
    for (size_t i = 0; i < info->own_inputs; i++)
        if (info->input[i].aipp == ACL_DATA_WITH_DYNAMIC_AIPP) {
            int64_t pictures = rows->in[i].rank > 0 && rows->in[i].dim[0] > 0 ? rows->in[i].dim[0] : 1;
            info->input[i].aipp_input = next;
            if (!fill_extra(holder, ACL_DYNAMIC_AIPP_NAME, ACL_UINT8,
                            (int64_t)sizeof(struct aipp_common) + pictures * (int64_t)sizeof(struct aipp_picture),
                            &info->input[next]))
                return false;
            info->input[next++].aipp = ACL_DYNAMIC_AIPP_NODE;
        }
    return true;
}

static int make(struct holder *holder, const struct model *model, struct rows *rows)
{
    const struct graph *g = &model->main;
    struct model_info *info = &holder->info;
    static const enum model_dynamic kinds[] = {
        [GEARS_BATCH] = MODEL_BATCH, [GEARS_IMAGE] = MODEL_IMAGE, [GEARS_DIMS] = MODEL_DIMS};
    bool open = false;
    for (int32_t i = 0; i < g->n_in; i++) {
        rows->in[i] = model->values[g->in[i]].type;
        open = open || !type_known(&rows->in[i]);
    }
    for (int32_t i = 0; i < g->n_out; i++)
        rows->out[i] = model->values[g->out[i]].type;
    info->dynamic = model->gears.count ? kinds[model->gears.kind] : open ? MODEL_RANGE : MODEL_FIXED;
    info->size_input = SIZE_MAX;
    memcpy(rows->some, rows->out, (size_t)g->n_out * sizeof *rows->some);
    if (model->gears.count)
        GRAPH_TRY(make_gears(holder, model, rows));
    if (info_sizes(model, -1, rows->sizes))
        GRAPH_TRY(measure(model, rows->sizes, rows->in, rows->out, &info->work));
    size_t dynamic_aipp = 0;
    for (int32_t i = 0; i < model->n_aipp; i++)
        dynamic_aipp += model->aipp[i].mode == AIPP_DYNAMIC;
    info->own_inputs = (size_t)g->n_in;
    info->inputs = info->own_inputs + (model->gears.count ? 1 : 0) + dynamic_aipp;
    info->outputs = (size_t)g->n_out;
    info->input = take(holder, info->inputs * sizeof *info->input + 1);
    info->output = take(holder, info->outputs * sizeof *info->output + 1);
    bool filled = info->input && info->output && fill_inputs(holder, model, rows);
    for (int32_t i = 0; filled && i < g->n_out; i++)
        filled = fill(holder, model, g->out[i], &rows->some[i], &rows->out[i], &info->output[i]);
    for (int32_t i = 0; i < model->n_values; i++)
        if (model->values[i].data)
            info->weight += (model->values[i].bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    return filled ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory for the description of a model");
}

int info_make(const struct model *model, struct model_info **info)
{
    struct holder *holder = calloc(1, sizeof *holder);
    struct rows rows = {.sizes = calloc((size_t)model->n_symbols + 1, sizeof *rows.sizes),
                        .in = calloc((size_t)model->main.n_in + 1, sizeof *rows.in),
                        .out = calloc((size_t)model->main.n_out + 1, sizeof *rows.out),
                        .some = calloc((size_t)model->main.n_out + 1, sizeof *rows.some)};
    int status = holder && rows.sizes && rows.in && rows.out && rows.some ? make(holder, model, &rows)
                                                                          : graph_fail(GRAPH_NO_MEMORY, "no memory");
    free(rows.sizes);
    free(rows.in);
    free(rows.out);
    free(rows.some);
    if (status && holder)
        info_free(&holder->info);
    if (!status) {
        holder->info.references = 1;
        *info = &holder->info;
    }
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of models: a reference to what the executor tells of a model (model.h), which lives on when the model is
 * unloaded. Used by one thread at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "model.h"

struct aclmdlDesc {
    struct model_info *info; /* NULL: nothing described yet */
    uint32_t id;             /* 0: of a file that is not loaded */
};

struct model_info *model_info_ref(const struct model_info *info)
{
    struct model_info *i = (struct model_info *)(uintptr_t)info;
    atomic_fetch_add_explicit(&i->references, 1, memory_order_relaxed);
    return i;
}

void model_info_unref(struct model_info *info)
{
    if (info && atomic_fetch_sub_explicit(&info->references, 1, memory_order_acq_rel) == 1)
        model_executor()->info_free(info);
}

aclmdlDesc *aclmdlCreateDesc(void)
{
    struct aclmdlDesc *d = calloc(1, sizeof *d);
    if (!d)
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for the description of a model");
    return d;
}

aclError aclmdlDestroyDesc(aclmdlDesc *modelDesc)
{
    CHECK_ARG(modelDesc);
    model_info_unref(modelDesc->info);
    free(modelDesc);
    return ACL_SUCCESS;
}

static void take(struct aclmdlDesc *desc, struct model_info *info, uint32_t id)
{
    model_info_unref(desc->info);
    desc->info = info;
    desc->id = id;
}

aclError aclmdlGetDesc(aclmdlDesc *modelDesc, uint32_t modelId)
{
    CHECK_ARG(modelDesc);
    struct executable *model = model_hold(modelId, __func__);
    if (!model)
        return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    take(modelDesc, model_info_ref(model_info_of(model)), modelId);
    model_release(modelId);
    return ACL_SUCCESS;
}

static aclError describe(struct aclmdlDesc *desc, const struct model_source *source)
{
    const struct model_executor *executor = model_executor();
    if (!executor)
        return fail_code();
    struct model_info *info;
    TRY(executor->describe(source, &info));
    take(desc, info, 0);
    return ACL_SUCCESS;
}

aclError aclmdlGetDescFromFile(aclmdlDesc *modelDesc, const char *modelPath)
{
    CHECK_ARG(modelDesc);
    CHECK_ARG(modelPath);
    return describe(modelDesc, &(struct model_source){.path = modelPath});
}

aclError aclmdlGetDescFromMem(aclmdlDesc *modelDesc, const void *model, size_t modelSize)
{
    CHECK_ARG(modelDesc);
    CHECK_ARG(model);
    return describe(modelDesc, &(struct model_source){.data = model, .bytes = modelSize});
}

/* ---- one tensor ---- */
enum side { INPUT, OUTPUT };

static size_t count(const struct aclmdlDesc *desc, enum side side)
{
    return !desc || !desc->info ? 0 : side == INPUT ? desc->info->inputs : desc->info->outputs;
}

/* NULL after fail(). */
static const struct model_tensor *tensor(const struct aclmdlDesc *desc, enum side side, size_t index, const char *call)
{
    if (!desc)
        fail(ACL_ERROR_INVALID_PARAM, "modelDesc must not be NULL in %s", call);
    else if (!desc->info)
        fail(ACL_ERROR_INVALID_PARAM, "%s: the description describes no model yet, call aclmdlGetDesc first", call);
    else if (index >= count(desc, side))
        fail(ACL_ERROR_INVALID_PARAM, "%s: index %zu, but the model has %zu %s", call, index, count(desc, side),
             side == INPUT ? "inputs" : "outputs");
    else
        return side == INPUT ? &desc->info->input[index] : &desc->info->output[index];
    return NULL;
}

size_t aclmdlGetNumInputs(aclmdlDesc *modelDesc)
{
    return count(modelDesc, INPUT);
}

size_t aclmdlGetNumOutputs(aclmdlDesc *modelDesc)
{
    return count(modelDesc, OUTPUT);
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, INPUT, index, __func__);
    return t ? t->bytes : 0;
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, OUTPUT, index, __func__);
    return t ? t->bytes : 0;
}

const char *aclmdlGetInputNameByIndex(const aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, INPUT, index, __func__);
    return t ? t->name : "";
}

const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, OUTPUT, index, __func__);
    return t ? t->name : "";
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, INPUT, index, __func__);
    return t ? t->format : ACL_FORMAT_UNDEFINED;
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, OUTPUT, index, __func__);
    return t ? t->format : ACL_FORMAT_UNDEFINED;
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, INPUT, index, __func__);
    return t ? t->dtype : ACL_DT_UNDEFINED;
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc *modelDesc, size_t index)
{
    const struct model_tensor *t = tensor(modelDesc, OUTPUT, index, __func__);
    return t ? t->dtype : ACL_DT_UNDEFINED;
}

static aclError find(const struct aclmdlDesc *desc, enum side side, const char *name, size_t *index, const char *call)
{
    if (!name || !index)
        return fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL in %s", name ? "index" : "name", call);
    for (size_t i = 0; i < count(desc, side); i++)
        if (!strcmp(tensor(desc, side, i, call)->name, name)) {
            *index = i;
            return ACL_SUCCESS;
        }
    return fail(ACL_ERROR_INVALID_PARAM, "%s: the model has no %s named \"%s\"", call,
                side == INPUT ? "input" : "output", name);
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index)
{
    CHECK_ARG(modelDesc);
    return find(modelDesc, INPUT, name, index, __func__);
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index)
{
    CHECK_ARG(modelDesc);
    return find(modelDesc, OUTPUT, name, index, __func__);
}

/* ---- sizes ---- */
/* A name without room gets the form that aclmdlGetTensorRealName knows. */
static void put_name(char *to, const struct aclmdlDesc *desc, enum side side, size_t index, const char *name)
{
    if (strlen(name) < ACL_MAX_TENSOR_NAME_LEN)
        strcpy(to, name);
    else
        snprintf(to, ACL_MAX_TENSOR_NAME_LEN, "acl_modelId_%u_%s_%zu", desc->id, side == INPUT ? "input" : "output",
                 index);
}

static aclError put_dims(const struct aclmdlDesc *desc, enum side side, size_t index, aclmdlIODims *dims,
                         const char *call)
{
    const struct model_tensor *t = tensor(desc, side, index, call);
    if (!t)
        return ACL_ERROR_INVALID_PARAM;
    if (!dims)
        return fail(ACL_ERROR_INVALID_PARAM, "dims must not be NULL in %s", call);
    put_name(dims->name, desc, side, index, t->name);
    dims->dimCount = t->rank;
    memcpy(dims->dims, t->dims, t->rank * sizeof *t->dims);
    return ACL_SUCCESS;
}

aclError aclmdlGetInputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)
{
    return put_dims(modelDesc, INPUT, index, dims, __func__);
}

aclError aclmdlGetInputDimsV2(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)
{
    TRY(put_dims(modelDesc, INPUT, index, dims, __func__));
    const struct aclAippInfo *image = modelDesc->info->input[index].image;
    if (image && image->shapeCount) {
        const aclmdlIODims *source = &image->outDims[image->shapeCount - 1].srcDims;
        dims->dimCount = source->dimCount;
        memcpy(dims->dims, source->dims, source->dimCount * sizeof *source->dims);
    }
    return ACL_SUCCESS;
}

aclError aclmdlGetOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)
{
    return put_dims(modelDesc, OUTPUT, index, dims, __func__);
}

aclError aclmdlGetInputDimsRange(const aclmdlDesc *modelDesc, size_t index, aclmdlIODimsRange *dimsRange)
{
    const struct model_tensor *t = tensor(modelDesc, INPUT, index, __func__);
    if (!t)
        return ACL_ERROR_INVALID_PARAM;
    CHECK_ARG(dimsRange);
    dimsRange->rangeCount = modelDesc->info->gears ? 0 : t->rank; /* choices have no limits */
    memcpy(dimsRange->range, t->range, dimsRange->rangeCount * sizeof *t->range);
    return ACL_SUCCESS;
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)
{
    TRY(put_dims(modelDesc, OUTPUT, index, dims, __func__));
    const struct model_info *info = modelDesc->info;
    if (info->dynamic == MODEL_RANGE)
        return fail(ACL_ERROR_API_NOT_SUPPORT,
                    "aclmdlGetCurOutputDims: the sizes of this model's outputs follow from an "
                    "execution, see aclmdlGetDatasetTensorDesc");
    size_t gear = info->gears && modelDesc->id ? model_gear_set(modelDesc->id) : SIZE_MAX;
    if (gear >= info->gears)
        return ACL_SUCCESS;
    size_t all = 0, before = 0;
    for (size_t i = 0; i < info->outputs; i++) {
        before += i < index ? info->output[i].rank : 0;
        all += info->output[i].rank;
    }
    memcpy(dims->dims, info->gear_output + gear * all + before, dims->dimCount * sizeof *dims->dims);
    return ACL_SUCCESS;
}

const char *aclmdlGetTensorRealName(const aclmdlDesc *modelDesc, const char *name)
{
    if (!modelDesc || !name) {
        fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL in aclmdlGetTensorRealName", name ? "modelDesc" : "name");
        return NULL;
    }
    for (enum side side = INPUT; side <= OUTPUT; side++)
        for (size_t i = 0; i < count(modelDesc, side); i++) {
            const char *real = tensor(modelDesc, side, i, __func__)->name;
            char put[ACL_MAX_TENSOR_NAME_LEN];
            put_name(put, modelDesc, side, i, real);
            if (!strcmp(real, name) || !strcmp(put, name))
                return real;
        }
    fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetTensorRealName: the model has no tensor \"%s\"", name);
    return NULL;
}

/* ---- choices ---- */
aclError aclmdlGetDynamicBatch(const aclmdlDesc *modelDesc, aclmdlBatch *batch)
{
    CHECK_ARG(modelDesc);
    CHECK_ARG(batch);
    const struct model_info *info = modelDesc->info;
    batch->batchCount = 0;
    for (size_t i = 0; info && info->dynamic == MODEL_BATCH && i < info->gears && i < ACL_MAX_BATCH_NUM; i++)
        batch->batch[batch->batchCount++] = (uint64_t)info->gear[i];
    return ACL_SUCCESS;
}

aclError aclmdlGetDynamicHW(const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw)
{
    (void)index;
    CHECK_ARG(modelDesc);
    CHECK_ARG(hw);
    const struct model_info *info = modelDesc->info;
    hw->hwCount = 0;
    for (size_t i = 0; info && info->dynamic == MODEL_IMAGE && i < info->gears && i < ACL_MAX_HW_NUM; i++) {
        hw->hw[i][0] = (uint64_t)info->gear[2 * i];
        hw->hw[i][1] = (uint64_t)info->gear[2 * i + 1];
        hw->hwCount++;
    }
    return ACL_SUCCESS;
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc *modelDesc, size_t index, size_t *gearCount)
{
    CHECK_ARG(modelDesc);
    CHECK_ARG(gearCount);
    if (index != SIZE_MAX)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetInputDynamicGearCount: index must be -1, but is %zu", index);
    const struct model_info *info = modelDesc->info;
    *gearCount = info && info->dynamic == MODEL_DIMS ? info->gears : 0;
    return ACL_SUCCESS;
}

aclError aclmdlGetInputDynamicDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims, size_t gearCount)
{
    size_t gears = 0;
    CHECK_ARG(dims);
    TRY(aclmdlGetInputDynamicGearCount(modelDesc, index, &gears));
    if (gearCount < gears)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetInputDynamicDims: room for %zu rows, but the model has %zu",
                    gearCount, gears);
    size_t sizes = 0;
    for (size_t i = 0; i < modelDesc->info->own_inputs; i++)
        sizes += modelDesc->info->input[i].rank;
    if (sizes > ACL_MAX_DIM_CNT)
        return fail(ACL_ERROR_STORAGE_OVER_LIMIT, "the inputs have %zu sizes, a row holds %d", sizes, ACL_MAX_DIM_CNT);
    for (size_t g = 0; g < gears; g++) {
        dims[g].name[0] = 0;
        dims[g].dimCount = sizes;
        memcpy(dims[g].dims, modelDesc->info->gear_dims + g * sizes, sizes * sizeof *dims[g].dims);
    }
    return ACL_SUCCESS;
}

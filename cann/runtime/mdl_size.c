/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes chosen at run time: one of the choices that a model was converted with is noted in the dataset, and its numbers
 * are written to the buffer of the input ACL_DYNAMIC_TENSOR_NAME, as a chip wants them. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "model.h"

/* "1, 2, 4" for texts. */
static const char *list(const struct model_info *info, char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < info->gears * info->gear_sizes && at < size; i++) {
        bool row = i % info->gear_sizes == 0;
        at += (size_t)snprintf(text + at, size - at, "%s%ld", i == 0 ? "" : row ? "; " : ",", (long)info->gear[i]);
    }
    return text;
}

static const char *const kinds[] = {[MODEL_FIXED] = "fixed sizes",
                                    [MODEL_BATCH] = "a choice of batch sizes",
                                    [MODEL_IMAGE] = "a choice of heights and widths",
                                    [MODEL_DIMS] = "a choice of sizes",
                                    [MODEL_RANGE] = "sizes between limits"};

/* The choice with these numbers: of the choice itself, or of all sizes of all inputs. */
static size_t gear_of(const struct model_info *info, const int64_t *value, size_t count)
{
    size_t sizes = 0;
    for (size_t i = 0; i < info->own_inputs; i++)
        sizes += info->input[i].rank;
    const int64_t *row = count == info->gear_sizes ? info->gear : count == sizes ? info->gear_dims : NULL;
    for (size_t g = 0; row && g < info->gears; g++)
        if (!memcmp(row + g * count, value, count * sizeof *value))
            return g;
    return SIZE_MAX;
}

static int check(const struct model_info *info, uint32_t id, enum model_dynamic kind, const aclmdlDataset *dataset,
                 size_t index, const int64_t *value, size_t count, size_t *gear, const char *call)
{
    char text[256];
    if (info->dynamic != kind)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "%s: model %u has %s, not %s", call, id, kinds[info->dynamic],
                    kinds[kind]);
    if (index != info->size_input)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "%s: index %zu is not the input \"%s\" of model %u, which is %zu", call,
                    index, ACL_DYNAMIC_TENSOR_NAME, id, info->size_input);
    const aclDataBuffer *buffer = dataset->blob[index].buffer;
    if (!aclGetDataBufferAddr(buffer))
        return fail(ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID, "%s: the buffer of input %zu has no address", call, index);
    if (aclGetDataBufferSizeV2(buffer) < info->input[index].bytes)
        return fail(ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID,
                    "%s: the buffer of input %zu has %zu bytes, it needs %zu", call, index,
                    aclGetDataBufferSizeV2(buffer), info->input[index].bytes);
    *gear = gear_of(info, value, count);
    if (*gear == SIZE_MAX)
        return fail(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID,
                    "%s: the size that begins with %ld is not among those that model "
                    "%u was converted with: %s",
                    call, (long)value[0], id, list(info, text, sizeof text));
    return 0;
}

static aclError choose(const char *call, uint32_t id, enum model_dynamic kind, aclmdlDataset *dataset, size_t index,
                       const int64_t *value, size_t count)
{
    if (!dataset)
        return fail(ACL_ERROR_INVALID_PARAM, "dataset must not be NULL in %s", call);
    if (index >= dataset->count)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: no buffer %zu in a dataset of %zu", call, index, dataset->count);
    struct executable *model = model_hold(id, call);
    if (!model)
        return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    const struct model_info *info = model_info_of(model);
    size_t gear;
    int status = check(info, id, kind, dataset, index, value, count, &gear, call);
    int32_t number[MODEL_RANK_MAX * 8];
    size_t numbers = 0;
    for (; !status && numbers < info->gear_sizes && numbers < sizeof number / sizeof *number; numbers++)
        number[numbers] = (int32_t)info->gear[gear * info->gear_sizes + numbers];
    const aclDataBuffer *buffer = dataset->blob[index].buffer;
    if (!status)
        status = aclrtMemcpy(aclGetDataBufferAddr(buffer), aclGetDataBufferSizeV2(buffer), number,
                             numbers * sizeof *number, ACL_MEMCPY_HOST_TO_DEVICE);
    if (!status) {
        dataset->gear_model = id;
        dataset->gear = gear;
        model_set_gear(id, gear);
    }
    model_release(id);
    return status;
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize)
{
    if (!batchSize)
        return fail(ACL_ERROR_INVALID_PARAM, "batchSize must not be 0 in aclmdlSetDynamicBatchSize");
    return choose(__func__, modelId, MODEL_BATCH, dataset, index, &(int64_t){(int64_t)batchSize}, 1);
}

aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width)
{
    if (!height || !width)
        return fail(ACL_ERROR_INVALID_PARAM, "%s must not be 0 in aclmdlSetDynamicHWSize", height ? "width" : "height");
    return choose(__func__, modelId, MODEL_IMAGE, dataset, index, (int64_t[]){(int64_t)height, (int64_t)width}, 2);
}

aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims)
{
    CHECK_ARG(dims);
    if (!dims->dimCount || dims->dimCount > ACL_MAX_DIM_CNT)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetInputDynamicDims: %zu sizes, must be 1 to %d", dims->dimCount,
                    ACL_MAX_DIM_CNT);
    return choose(__func__, modelId, MODEL_DIMS, dataset, index, dims->dims, dims->dimCount);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Dynamic AIPP: how a picture becomes a tensor, told at run time. The client fills in an aclmdlAIPP; setting it for a
 * dataset checks it against the model and writes it to the buffer of the input ACL_DYNAMIC_AIPP_NAME (aipp.h). */
#include "aipp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "error.h"
#include "model.h"

struct aclmdlAIPP {
    uint64_t pictures;
    struct aipp_common common;
    struct aipp_picture picture[]; /* stands right after common: both are copied to the device in one piece */
};

aclmdlAIPP *aclmdlCreateAIPP(uint64_t batchSize)
{
    if (!batchSize || batchSize > AIPP_PICTURES_MAX) {
        fail(ACL_ERROR_INVALID_PARAM, "aclmdlCreateAIPP: batchSize must be 1 to %d, but is %lu", AIPP_PICTURES_MAX,
             (unsigned long)batchSize);
        return NULL;
    }
    struct aclmdlAIPP *a = calloc(1, sizeof *a + batchSize * sizeof *a->picture);
    if (!a) {
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for the AIPP parameters of %lu pictures", (unsigned long)batchSize);
        return NULL;
    }
    a->pictures = batchSize;
    a->common.pictures = (int8_t)batchSize;
    for (uint64_t i = 0; i < batchSize; i++)
        for (int c = 0; c < 4; c++)
            a->picture[i].reciprocal[c] = f16_from_float(1);
    return a;
}

aclError aclmdlDestroyAIPP(const aclmdlAIPP *aippParmsSet)
{
    CHECK_ARG(aippParmsSet);
    free((void *)(uintptr_t)aippParmsSet);
    return ACL_SUCCESS;
}

static size_t bytes_for(uint64_t pictures)
{
    return sizeof(struct aipp_common) + pictures * sizeof(struct aipp_picture);
}

aclError aclmdlGetAippDataSize(uint64_t batchSize, size_t *size)
{
    CHECK_ARG(size);
    if (!batchSize || batchSize > AIPP_PICTURES_MAX)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetAippDataSize: batchSize must be 1 to %d, but is %lu",
                    AIPP_PICTURES_MAX, (unsigned long)batchSize);
    *size = bytes_for(batchSize);
    return ACL_SUCCESS;
}

/* ---- setters ---- */
static int check_switch(int8_t value, const char *what)
{
    return value == 0 || value == 1 ? 0 : fail(ACL_ERROR_INVALID_PARAM, "%s must be 0 or 1, but is %d", what, value);
}

static int picture_of(aclmdlAIPP *set, uint64_t index, const char *call, struct aipp_picture **picture)
{
    if (!set)
        return fail(ACL_ERROR_INVALID_PARAM, "aippParmsSet must not be NULL in %s", call);
    if (index >= set->pictures)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: batchIndex %lu, but the parameters are for %lu pictures", call,
                    (unsigned long)index, (unsigned long)set->pictures);
    *picture = &set->picture[index];
    return 0;
}

aclError aclmdlSetAIPPInputFormat(aclmdlAIPP *aippParmsSet, aclAippInputFormat inputFormat)
{
    CHECK_ARG(aippParmsSet);
    if (inputFormat < ACL_YUV420SP_U8 || inputFormat > ACL_YUV400_U8)
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aclmdlSetAIPPInputFormat: format %d; possible are YUV420SP_U8 (1), XRGB8888_U8 "
                    "(2), RGB888_U8 (3) and YUV400_U8 (4)",
                    (int)inputFormat);
    aippParmsSet->common.format = (uint8_t)inputFormat;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPCscParams(aclmdlAIPP *aippParmsSet, int8_t cscSwitch, int16_t cscMatrixR0C0,
                                int16_t cscMatrixR0C1, int16_t cscMatrixR0C2, int16_t cscMatrixR1C0,
                                int16_t cscMatrixR1C1, int16_t cscMatrixR1C2, int16_t cscMatrixR2C0,
                                int16_t cscMatrixR2C1, int16_t cscMatrixR2C2, uint8_t cscOutputBiasR0,
                                uint8_t cscOutputBiasR1, uint8_t cscOutputBiasR2, uint8_t cscInputBiasR0,
                                uint8_t cscInputBiasR1, uint8_t cscInputBiasR2)
{
    CHECK_ARG(aippParmsSet);
    TRY(check_switch(cscSwitch, "cscSwitch"));
    struct aipp_common *c = &aippParmsSet->common;
    c->csc = cscSwitch;
    const int16_t matrix[3][3] = {{cscMatrixR0C0, cscMatrixR0C1, cscMatrixR0C2},
                                  {cscMatrixR1C0, cscMatrixR1C1, cscMatrixR1C2},
                                  {cscMatrixR2C0, cscMatrixR2C1, cscMatrixR2C2}};
    memcpy(c->matrix, matrix, sizeof matrix);
    memcpy(c->output_bias, (uint8_t[]){cscOutputBiasR0, cscOutputBiasR1, cscOutputBiasR2}, 3);
    memcpy(c->input_bias, (uint8_t[]){cscInputBiasR0, cscInputBiasR1, cscInputBiasR2}, 3);
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t rbuvSwapSwitch)
{
    CHECK_ARG(aippParmsSet);
    TRY(check_switch(rbuvSwapSwitch, "rbuvSwapSwitch"));
    aippParmsSet->common.swap_rb = rbuvSwapSwitch;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t axSwapSwitch)
{
    CHECK_ARG(aippParmsSet);
    TRY(check_switch(axSwapSwitch, "axSwapSwitch"));
    aippParmsSet->common.swap_ax = axSwapSwitch;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPSrcImageSize(aclmdlAIPP *aippParmsSet, int32_t srcImageSizeW, int32_t srcImageSizeH)
{
    CHECK_ARG(aippParmsSet);
    if (srcImageSizeW < 2 || srcImageSizeW > 4096 || srcImageSizeH < 1 || srcImageSizeH > 4096)
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aclmdlSetAIPPSrcImageSize: %d × %d; a picture is 2 to 4096 pixels wide and 1 to "
                    "4096 high",
                    srcImageSizeW, srcImageSizeH);
    aippParmsSet->common.width = srcImageSizeW;
    aippParmsSet->common.height = srcImageSizeH;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPScfParams(aclmdlAIPP *aippParmsSet, int8_t scfSwitch, int32_t scfInputSizeW,
                                int32_t scfInputSizeH, int32_t scfOutputSizeW, int32_t scfOutputSizeH,
                                uint64_t batchIndex)
{
    struct aipp_picture *p = NULL;
    TRY(picture_of(aippParmsSet, batchIndex, __func__, &p));
    TRY(check_switch(scfSwitch, "scfSwitch"));
    p->scale = scfSwitch;
    p->scale_from_width = scfInputSizeW;
    p->scale_from_height = scfInputSizeH;
    p->scale_width = scfOutputSizeW;
    p->scale_height = scfOutputSizeH;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPCropParams(aclmdlAIPP *aippParmsSet, int8_t cropSwitch, int32_t cropStartPosW,
                                 int32_t cropStartPosH, int32_t cropSizeW, int32_t cropSizeH, uint64_t batchIndex)
{
    struct aipp_picture *p = NULL;
    TRY(picture_of(aippParmsSet, batchIndex, __func__, &p));
    TRY(check_switch(cropSwitch, "cropSwitch"));
    if (cropSwitch && (cropStartPosW < 0 || cropStartPosH < 0 || cropSizeW < 1 || cropSizeH < 1 || cropSizeW > 4096 ||
                       cropSizeH > 4096 || cropStartPosW > 4095 || cropStartPosH > 4095))
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aclmdlSetAIPPCropParams: %d × %d at (%d, %d); positions are 0 to 4095, sizes 1 "
                    "to 4096",
                    cropSizeW, cropSizeH, cropStartPosW, cropStartPosH);
    p->crop = cropSwitch;
    p->crop_x = cropStartPosW;
    p->crop_y = cropStartPosH;
    p->crop_width = cropSizeW;
    p->crop_height = cropSizeH;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPPaddingParams(aclmdlAIPP *aippParmsSet, int8_t paddingSwitch, int32_t paddingSizeTop,
                                    int32_t paddingSizeBottom, int32_t paddingSizeLeft, int32_t paddingSizeRight,
                                    uint64_t batchIndex)
{
    struct aipp_picture *p = NULL;
    TRY(picture_of(aippParmsSet, batchIndex, __func__, &p));
    TRY(check_switch(paddingSwitch, "paddingSwitch"));
    const int32_t sizes[] = {paddingSizeTop, paddingSizeBottom, paddingSizeLeft, paddingSizeRight};
    for (int i = 0; paddingSwitch && i < 4; i++)
        if (sizes[i] < 0 || sizes[i] > 32)
            return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetAIPPPaddingParams: a border is 0 to 32 pixels, but got %d",
                        sizes[i]);
    p->pad = paddingSwitch;
    p->top = paddingSizeTop;
    p->bottom = paddingSizeBottom;
    p->left = paddingSizeLeft;
    p->right = paddingSizeRight;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPDtcPixelMean(aclmdlAIPP *aippParmsSet, int16_t dtcPixelMeanChn0, int16_t dtcPixelMeanChn1,
                                   int16_t dtcPixelMeanChn2, int16_t dtcPixelMeanChn3, uint64_t batchIndex)
{
    struct aipp_picture *p = NULL;
    TRY(picture_of(aippParmsSet, batchIndex, __func__, &p));
    memcpy(p->mean, (int16_t[]){dtcPixelMeanChn0, dtcPixelMeanChn1, dtcPixelMeanChn2, dtcPixelMeanChn3},
           sizeof p->mean);
    return ACL_SUCCESS;
}

static int put_floats(uint16_t to[4], const float from[4], float limit, const char *call)
{
    for (int i = 0; i < 4; i++)
        if (!(fabsf(from[i]) <= limit))
            return fail(ACL_ERROR_INVALID_PARAM, "%s: channel %d is %g, must lie between %g and %g", call, i,
                        (double)from[i], (double)-limit, (double)limit);
    for (int i = 0; i < 4; i++)
        to[i] = f16_from_float(from[i]);
    return 0;
}

aclError aclmdlSetAIPPDtcPixelMin(aclmdlAIPP *aippParmsSet, float dtcPixelMinChn0, float dtcPixelMinChn1,
                                  float dtcPixelMinChn2, float dtcPixelMinChn3, uint64_t batchIndex)
{
    struct aipp_picture *p = NULL;
    TRY(picture_of(aippParmsSet, batchIndex, __func__, &p));
    const float value[] = {dtcPixelMinChn0, dtcPixelMinChn1, dtcPixelMinChn2, dtcPixelMinChn3};
    return put_floats(p->min, value, 255, __func__);
}

aclError aclmdlSetAIPPPixelVarReci(aclmdlAIPP *aippParmsSet, float dtcPixelVarReciChn0, float dtcPixelVarReciChn1,
                                   float dtcPixelVarReciChn2, float dtcPixelVarReciChn3, uint64_t batchIndex)
{
    struct aipp_picture *p = NULL;
    TRY(picture_of(aippParmsSet, batchIndex, __func__, &p));
    const float value[] = {dtcPixelVarReciChn0, dtcPixelVarReciChn1, dtcPixelVarReciChn2, dtcPixelVarReciChn3};
    return put_floats(p->reciprocal, value, 65504, __func__);
}

/* ---- for a model ---- */
static size_t source_bytes(const struct aipp_common *c)
{
    size_t pixels = (size_t)c->width * (size_t)c->height;
    switch (c->format) {
    case ACL_YUV420SP_U8:
        return pixels * 3 / 2;
    case ACL_XRGB8888_U8:
        return pixels * 4;
    case ACL_RGB888_U8:
        return pixels * 3;
    default:
        return pixels;
    }
}

/* Width and height that a picture has after cropping and padding. */
static int after(const struct aipp_common *c, const struct aipp_picture *p, int64_t *width, int64_t *height)
{
    if (p->scale)
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: scaling (scfSwitch) is not supported; scale the picture before");
    if (p->crop && (p->crop_x + p->crop_width > c->width || p->crop_y + p->crop_height > c->height))
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: %d × %d at (%d, %d) lies outside the picture of %d × %d",
                    p->crop_width, p->crop_height, p->crop_x, p->crop_y, c->width, c->height);
    if (p->crop && c->format == ACL_YUV420SP_U8 && (p->crop_x % 2 || p->crop_y % 2))
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: of YUV420SP_U8 a crop begins at even positions, but got (%d, %d)",
                    p->crop_x, p->crop_y);
    *width = (p->crop ? p->crop_width : c->width) + (p->pad ? p->left + p->right : 0);
    *height = (p->crop ? p->crop_height : c->height) + (p->pad ? p->top + p->bottom : 0);
    return 0;
}

static int check(const struct model_info *info, size_t index, const struct aclmdlAIPP *set)
{
    const struct aipp_common *c = &set->common;
    size_t image = 0;
    while (image < info->own_inputs && info->input[image].aipp_input != index)
        image++;
    if (image == info->own_inputs || info->input[image].aipp != ACL_DATA_WITH_DYNAMIC_AIPP)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetInputAIPP: input %zu does not take AIPP parameters", index);
    if (!c->format || !c->width)
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: %s was not set",
                    c->format ? "the size of the source" : "the input format");
    if (c->format == ACL_YUV420SP_U8 && (c->width % 2 || c->height % 2))
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: YUV420SP_U8 needs an even width and height, but got %d × %d",
                    c->width, c->height);
    if (c->csc && c->format == ACL_YUV400_U8)
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: YUV400_U8 has no colours to convert");
    const struct model_tensor *t = &info->input[image];
    size_t bytes = source_bytes(c) * set->pictures;
    if (t->bytes && bytes > t->bytes)
        return fail(ACL_ERROR_INVALID_PARAM, "AIPP: %lu pictures have %zu bytes, the model was converted for %zu",
                    (unsigned long)set->pictures, bytes, t->bytes);
    int64_t first[2] = {0};
    for (uint64_t i = 0; i < set->pictures; i++) {
        int64_t size[2];
        TRY(after(c, &set->picture[i], &size[0], &size[1]));
        if (i && memcmp(size, first, sizeof size))
            return fail(ACL_ERROR_INVALID_PARAM, "AIPP: picture %lu becomes %ld × %ld, the first %ld × %ld",
                        (unsigned long)i, (long)size[0], (long)size[1], (long)first[0], (long)first[1]);
        memcpy(first, size, sizeof size);
    }
    int64_t height = t->dims[t->format == ACL_FORMAT_NHWC ? 1 : 2],
            width = t->dims[t->format == ACL_FORMAT_NHWC ? 2 : 3];
    if ((width > 0 && width != first[0]) || (height > 0 && height != first[1]))
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aipp output shape set by ACL must be equal to aipp output shape in the model! "
                    "AclAippOutputW = %ld, AclAippOutputH = %ld, ModelAippOutputW = %ld, "
                    "ModelAippOutputH = %ld.",
                    (long)first[0], (long)first[1], (long)width, (long)height);
    return 0;
}

aclError aclmdlSetInputAIPP(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlAIPP *aippParmsSet)
{
    CHECK_ARG(dataset);
    CHECK_ARG(aippParmsSet);
    if (index >= dataset->count)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetInputAIPP: no buffer %zu in a dataset of %zu", index,
                    dataset->count);
    struct executable *model = model_hold(modelId, __func__);
    if (!model)
        return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    int status = check(model_info_of(model), index, aippParmsSet);
    model_release(modelId);
    if (status)
        return status;
    aclDataBuffer *buffer = dataset->blob[index].buffer;
    size_t room = aclGetDataBufferSizeV2(buffer), bytes = bytes_for(aippParmsSet->pictures);
    if (!aclGetDataBufferAddr(buffer))
        return fail(ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID,
                    "aclmdlSetInputAIPP: the buffer of input %zu has no address", index);
    if (room < bytes)
        return fail(ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID,
                    "aclmdlSetInputAIPP: the buffer of input %zu has %zu bytes, it "
                    "needs %zu",
                    index, room, bytes);
    return aclrtMemcpy(aclGetDataBufferAddr(buffer), room, &aippParmsSet->common, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

aclError aclmdlGetAippType(uint32_t modelId, size_t index, aclmdlInputAippType *type, size_t *dynamicAttachedDataIndex)
{
    CHECK_ARG(type);
    CHECK_ARG(dynamicAttachedDataIndex);
    struct executable *model = model_hold(modelId, __func__);
    if (!model)
        return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    const struct model_info *info = model_info_of(model);
    int status = index < info->inputs ? 0
                                      : fail(ACL_ERROR_INVALID_PARAM,
                                             "aclmdlGetAippType: index %zu, but the model has %zu "
                                             "inputs",
                                             index, info->inputs);
    if (!status) {
        *type = info->input[index].aipp;
        size_t parameters = info->input[index].aipp_input;
        *dynamicAttachedDataIndex = parameters == SIZE_MAX ? ACL_INVALID_NODE_INDEX : parameters;
    }
    model_release(modelId);
    return status;
}

aclError aclmdlSetAIPPByInputIndex(uint32_t modelId, aclmdlDataset *dataset, size_t index,
                                   const aclmdlAIPP *aippParmsSet)
{
    aclmdlInputAippType type;
    size_t parameters;
    TRY(aclmdlGetAippType(modelId, index, &type, &parameters));
    if (type != ACL_DATA_WITH_DYNAMIC_AIPP)
        return fail(ACL_ERROR_FAILURE, "aclmdlSetAIPPByInputIndex: input %zu of model %u has no dynamic AIPP", index,
                    modelId);
    return aclmdlSetInputAIPP(modelId, dataset, parameters, aippParmsSet);
}

aclError aclmdlGetFirstAippInfo(uint32_t modelId, size_t index, aclAippInfo *aippInfo)
{
    CHECK_ARG(aippInfo);
    struct executable *model = model_hold(modelId, __func__);
    if (!model)
        return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    const struct model_info *info = model_info_of(model);
    int status;
    if (index >= info->inputs)
        status = fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetFirstAippInfo: index %zu, but the model has %zu inputs", index,
                      info->inputs);
    else if (info->input[index].aipp == ACL_DATA_WITH_DYNAMIC_AIPP)
        status =
            fail(ACL_ERROR_GE_AIPP_MODE_INVALID, "aclmdlGetFirstAippInfo: the AIPP of input %zu is dynamic", index);
    else if (!info->input[index].image)
        status = fail(ACL_ERROR_GE_AIPP_NOT_EXIST, "aclmdlGetFirstAippInfo: input %zu has no AIPP", index);
    else {
        *aippInfo = *info->input[index].image;
        status = ACL_SUCCESS;
    }
    model_release(modelId);
    return status;
}

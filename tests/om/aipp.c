/* SPDX-License-Identifier: BSD-3-Clause */
/* AIPP: pictures of each format through a model that adds nothing, against a slow reference; parameters from the model
 * and at run time; what is told of it; the codes of wrong use. */
#include "check.h"

#include <math.h>
#include <unistd.h>

#include "acl/acl.h"
#include "graph/om.h"

static const float nothing[1] = {0};

enum { PICTURES = 2, W = 24, H = 16, CROP_W = 12, CROP_H = 8 };

/* y = x + 0 with x [2, channels, height, width] from AIPP. */
static void write_model(const char *path, const struct aipp *a, int64_t channels, int64_t height, int64_t width)
{
    struct model *m = model_new();
    m->opset = 21;
    m->name = "pictures";
    struct type type = type_make(ACL_FLOAT, 4, (int64_t[]){PICTURES, channels, height, width});
    struct type one = type_make(ACL_FLOAT, 1, (int64_t[]){1});
    int32_t x = model_value(m, "x", &type), w = model_value(m, "w", &one), y = model_value(m, "y", &type);
    m->values[w].data = nothing;
    m->values[w].bytes = sizeof nothing;
    int32_t *ids = model_alloc(m, 4 * sizeof *ids);
    memcpy(ids, (int32_t[]){x, w, y}, 3 * sizeof *ids);
    struct node *node = model_alloc(m, sizeof *node);
    *node = (struct node){"add", "", "Add", 21, 2, 1, 0, ids, ids + 2, NULL, NULL};
    m->main = (struct graph){m, "pictures", 1, 1, 1, node, ids, ids + 2};
    m->aipp = a;
    m->n_aipp = 1;
    CHECK_EQ(om_write(m, path), 0);
    model_free(m);
}

static size_t source_bytes(int format)
{
    return (size_t)(W * H) *
           (size_t)(format == AIPP_YUV420SP_U8   ? 3
                    : format == AIPP_XRGB8888_U8 ? 8
                    : format == AIPP_RGB888_U8   ? 6
                                                 : 2) /
           2;
}

/* Channel c of the pixel as it lies in the source. */
static int source(const uint8_t *picture, int format, int c, int x, int y)
{
    if (format == AIPP_RGB888_U8)
        return picture[(y * W + x) * 3 + c];
    if (format == AIPP_XRGB8888_U8)
        return picture[(y * W + x) * 4 + c];
    if (format == AIPP_YUV400_U8 || c == 0)
        return picture[y * W + x];
    return picture[W * H + y / 2 * W + x / 2 * 2 + (c - 1)];
}

static float reference(const uint8_t *picture, const struct aipp *a, int c, int x, int y)
{
    x -= a->padding ? a->left_padding_size : 0;
    y -= a->padding ? a->top_padding_size : 0;
    if (x < 0 || y < 0 || x >= (a->crop ? CROP_W : W) || y >= (a->crop ? CROP_H : H))
        return a->padding_value;
    x += a->crop ? a->load_start_pos_w : 0;
    y += a->crop ? a->load_start_pos_h : 0;
    int in[4] = {0}, channels = a->format == AIPP_YUV400_U8 ? 1 : a->format == AIPP_XRGB8888_U8 ? 4 : 3;
    for (int k = 0; k < channels; k++)
        in[k] = source(picture, a->format, a->ax_swap_switch && channels == 4 ? (k + 1) % 4 : k, x, y);
    if (a->rbuv_swap_switch && channels > 1) {
        int first = a->format == AIPP_YUV420SP_U8 ? 1 : 0, swap = in[first];
        in[first] = in[2];
        in[2] = swap;
    }
    int value = in[c];
    if (a->csc_switch && c < 3) {
        int sum = 0;
        for (int k = 0; k < 3; k++)
            sum += a->matrix[c][k] * (in[k] - a->input_bias[k]);
        value = (int)floor(sum / 256.0) + a->output_bias[c];
        value = value < 0 ? 0 : value > 255 ? 255 : value;
    }
    return ((float)value - ((float)a->mean[c] + a->min[c])) * a->var_reci[c];
}

struct run {
    uint8_t host[PICTURES * W * H * 4];
    void *in, *parameters, *out;
    aclmdlDataset *input, *output;
};

static struct run make_run(size_t in_bytes, size_t parameter_bytes, size_t out_bytes)
{
    struct run r = {.parameters = NULL};
    for (size_t i = 0; i < sizeof r.host; i++)
        r.host[i] = (uint8_t)(i * 2654435761u >> 13);
    CHECK_EQ(aclrtMalloc(&r.in, in_bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy(r.in, in_bytes, r.host, in_bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMalloc(&r.out, out_bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    r.input = aclmdlCreateDataset();
    r.output = aclmdlCreateDataset();
    CHECK_EQ(aclmdlAddDatasetBuffer(r.input, aclCreateDataBuffer(r.in, in_bytes)), 0);
    if (parameter_bytes) {
        CHECK_EQ(aclrtMalloc(&r.parameters, parameter_bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        CHECK_EQ(aclmdlAddDatasetBuffer(r.input, aclCreateDataBuffer(r.parameters, parameter_bytes)), 0);
    }
    CHECK_EQ(aclmdlAddDatasetBuffer(r.output, aclCreateDataBuffer(r.out, out_bytes)), 0);
    return r;
}

static void free_run(struct run *r)
{
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(r->input); i++)
        aclDestroyDataBuffer(aclmdlGetDatasetBuffer(r->input, i));
    aclDestroyDataBuffer(aclmdlGetDatasetBuffer(r->output, 0));
    aclmdlDestroyDataset(r->input);
    aclmdlDestroyDataset(r->output);
    aclrtFree(r->in);
    aclrtFree(r->out);
    if (r->parameters)
        aclrtFree(r->parameters);
}

static void check_values(const struct run *r, const struct aipp *a, int channels, int height, int width,
                         float tolerance)
{
    static float got[PICTURES * 4 * (H + 8) * (W + 8)];
    size_t bytes = (size_t)(PICTURES * channels * height * width) * sizeof *got;
    CHECK_EQ(aclrtMemcpy(got, sizeof got, r->out, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    int wrong = 0;
    for (int i = 0; i < PICTURES; i++)
        for (int c = 0; c < channels; c++)
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width; x++) {
                    float want = reference(r->host + (size_t)i * source_bytes(a->format), a, c, x, y);
                    float is = got[((i * channels + c) * height + y) * width + x];
                    wrong += !(fabsf(want - is) <= tolerance * fmaxf(1, fabsf(want)));
                }
    CHECK_EQ(wrong, 0);
}

static struct aipp make_aipp(int format, bool crop, bool pad, bool csc, bool swap)
{
    struct aipp a = {.mode = AIPP_STATIC,
                     .format = format,
                     .src_image_size_w = W,
                     .src_image_size_h = H,
                     .crop = crop,
                     .load_start_pos_w = 4,
                     .load_start_pos_h = 6,
                     .crop_size_w = CROP_W,
                     .crop_size_h = CROP_H,
                     .padding = pad,
                     .left_padding_size = 1,
                     .right_padding_size = 2,
                     .top_padding_size = 3,
                     .bottom_padding_size = 0,
                     .csc_switch = csc,
                     .rbuv_swap_switch = swap,
                     .ax_swap_switch = swap,
                     .matrix = {{256, 0, 359}, {256, -88, -183}, {256, 454, 0}},
                     .input_bias = {0, 128, 128},
                     .mean = {104, 117, 123, 5},
                     .min = {0.5f, 0, 1, 0},
                     .var_reci = {0.0625f, 0.5f, 1, 2}};
    return a;
}

static void check_static(const char *path)
{
    static const int formats[] = {AIPP_YUV420SP_U8, AIPP_XRGB8888_U8, AIPP_RGB888_U8, AIPP_YUV400_U8};
    for (int k = 0; k < 16; k++) {
        int format = formats[k % 4], channels = format == AIPP_YUV400_U8              ? 1
                                                : format == AIPP_XRGB8888_U8 && k < 8 ? 4
                                                                                      : 3;
        bool crop = k / 4 % 2, pad = k / 8, swap = k / 4 == 1 || k / 4 == 2;
        struct aipp a = make_aipp(format, crop, pad, channels == 3, swap);
        int width = (crop ? CROP_W : W) + (pad ? 3 : 0), height = (crop ? CROP_H : H) + (pad ? 3 : 0);
        write_model(path, &a, channels, height, width);
        uint32_t id;
        CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
        aclmdlDesc *desc = aclmdlCreateDesc();
        CHECK_EQ(aclmdlGetDesc(desc, id), 0);
        CHECK_EQ(aclmdlGetNumInputs(desc), 1);
        CHECK_EQ(aclmdlGetInputDataType(desc, 0), ACL_UINT8);
        CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), PICTURES * source_bytes(format));
        aclmdlIODims dims;
        CHECK_EQ(aclmdlGetInputDims(desc, 0, &dims), 0);
        CHECK(dims.dims[2] == height && dims.dims[3] == width);
        CHECK_EQ(aclmdlGetInputDimsV2(desc, 0, &dims), 0);
        CHECK(dims.dims[2] == H && dims.dims[3] == W);
        aclmdlInputAippType type;
        size_t attached;
        CHECK_EQ(aclmdlGetAippType(id, 0, &type, &attached), 0);
        CHECK(type == ACL_DATA_WITH_STATIC_AIPP && attached == ACL_INVALID_NODE_INDEX);
        static aclAippInfo info;
        CHECK_EQ(aclmdlGetFirstAippInfo(id, 0, &info), 0);
        CHECK(info.inputFormat == (aclAippInputFormat)format && info.cropSwitch == crop && info.matrixR2C1 == 454 &&
              info.meanChn2 == 123 && info.varReciChn0 == 0.0625f && info.shapeCount == 1);
        struct run r = make_run(PICTURES * source_bytes(format), 0, aclmdlGetOutputSizeByIndex(desc, 0));
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(aclmdlExecute(id, r.input, r.output), 0);
            check_values(&r, &a, channels, height, width, 1e-6f);
        }
        free_run(&r);
        CHECK_EQ(aclmdlDestroyDesc(desc), 0);
        CHECK_EQ(aclmdlUnload(id), 0);
    }
}

static aclmdlAIPP *make_parameters(const struct aipp *a)
{
    aclmdlAIPP *p = aclmdlCreateAIPP(PICTURES);
    CHECK_EQ(aclmdlSetAIPPInputFormat(p, (aclAippInputFormat)a->format), 0);
    CHECK_EQ(aclmdlSetAIPPSrcImageSize(p, W, H), 0);
    const int32_t(*m)[3] = a->matrix;
    CHECK_EQ(aclmdlSetAIPPCscParams(p, a->csc_switch, (int16_t)m[0][0], (int16_t)m[0][1], (int16_t)m[0][2],
                                    (int16_t)m[1][0], (int16_t)m[1][1], (int16_t)m[1][2], (int16_t)m[2][0],
                                    (int16_t)m[2][1], (int16_t)m[2][2], 0, 0, 0, (uint8_t)a->input_bias[0],
                                    (uint8_t)a->input_bias[1], (uint8_t)a->input_bias[2]),
             0);
    CHECK_EQ(aclmdlSetAIPPRbuvSwapSwitch(p, a->rbuv_swap_switch), 0);
    CHECK_EQ(aclmdlSetAIPPAxSwapSwitch(p, a->ax_swap_switch), 0);
    for (uint64_t i = 0; i < PICTURES; i++) {
        CHECK_EQ(aclmdlSetAIPPCropParams(p, a->crop, 4, 6, CROP_W, CROP_H, i), 0);
        CHECK_EQ(aclmdlSetAIPPPaddingParams(p, a->padding, 3, 0, 1, 2, i), 0);
        CHECK_EQ(aclmdlSetAIPPDtcPixelMean(p, (int16_t)a->mean[0], (int16_t)a->mean[1], (int16_t)a->mean[2],
                                           (int16_t)a->mean[3], i),
                 0);
        CHECK_EQ(aclmdlSetAIPPDtcPixelMin(p, a->min[0], a->min[1], a->min[2], a->min[3], i), 0);
        CHECK_EQ(aclmdlSetAIPPPixelVarReci(p, a->var_reci[0], a->var_reci[1], a->var_reci[2], a->var_reci[3], i), 0);
    }
    return p;
}

static void check_dynamic(const char *path)
{
    int width = CROP_W + 3, height = CROP_H + 3;
    struct aipp a = {.mode = AIPP_DYNAMIC, .max_src_image_size = PICTURES * W * H * 3};
    write_model(path, &a, 3, height, width);
    uint32_t id;
    CHECK_EQ(aclmdlLoadFromFile(path, &id), 0);
    aclmdlDesc *desc = aclmdlCreateDesc();
    CHECK_EQ(aclmdlGetDesc(desc, id), 0);
    CHECK_EQ(aclmdlGetNumInputs(desc), 2);
    size_t index, bytes, attached;
    CHECK_EQ(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_AIPP_NAME, &index), 0);
    CHECK_EQ(aclmdlGetAippDataSize(PICTURES, &bytes), 0);
    CHECK_EQ(aclmdlGetInputSizeByIndex(desc, index), bytes);
    aclmdlInputAippType type;
    CHECK_EQ(aclmdlGetAippType(id, 0, &type, &attached), 0);
    CHECK(type == ACL_DATA_WITH_DYNAMIC_AIPP && attached == index);
    static aclAippInfo info;
    CHECK_EQ(aclmdlGetFirstAippInfo(id, 0, &info), ACL_ERROR_GE_AIPP_MODE_INVALID);
    CHECK_EQ(aclmdlGetFirstAippInfo(id, 1, &info), ACL_ERROR_GE_AIPP_NOT_EXIST);
    struct run r = make_run(PICTURES * W * H * 3, bytes, aclmdlGetOutputSizeByIndex(desc, 0));

    CHECK_EQ(aclrtMemset(r.parameters, bytes, 0, bytes), 0);
    CHECK(aclmdlExecute(id, r.input, r.output) != 0); /* no parameters: an error, and the device goes on */
    for (int k = 0; k < 2; k++) {
        struct aipp told = make_aipp(k ? AIPP_RGB888_U8 : AIPP_YUV420SP_U8, true, true, !k, k);
        aclmdlAIPP *p = make_parameters(&told);
        CHECK_EQ(k ? aclmdlSetAIPPByInputIndex(id, r.input, 0, p) : aclmdlSetInputAIPP(id, r.input, index, p), 0);
        CHECK_EQ(aclmdlExecute(id, r.input, r.output), 0);
        check_values(&r, &told, 3, height, width, 2e-3f); /* parameters have half precision */
        CHECK_EQ(aclmdlDestroyAIPP(p), 0);
    }

    struct aipp told = make_aipp(AIPP_RGB888_U8, true, true, false, false);
    aclmdlAIPP *p = make_parameters(&told);
    CHECK_EQ(aclmdlSetInputAIPP(id, r.input, 0, p), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetAIPPCropParams(p, 1, 14, 6, CROP_W, CROP_H, 1), 0);
    CHECK_EQ(aclmdlSetInputAIPP(id, r.input, index, p), ACL_ERROR_INVALID_PARAM);
    CHECK_TEXT(aclGetRecentErrMsg(), "lies outside the picture of 24 × 16");
    CHECK_EQ(aclmdlSetAIPPCropParams(p, 1, 4, 6, CROP_W - 1, CROP_H, 1), 0);
    CHECK_EQ(aclmdlSetInputAIPP(id, r.input, index, p), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetAIPPCropParams(p, 1, 4, 6, CROP_W - 1, CROP_H, 0), 0);
    CHECK_EQ(aclmdlSetInputAIPP(id, r.input, index, p), ACL_ERROR_INVALID_PARAM);
    CHECK_TEXT(aclGetRecentErrMsg(), "must be equal to aipp output shape in the model");
    CHECK_EQ(aclmdlSetAIPPScfParams(p, 1, CROP_W, CROP_H, 8, 8, 0), 0);
    CHECK_EQ(aclmdlSetInputAIPP(id, r.input, index, p), ACL_ERROR_INVALID_PARAM);
    CHECK_TEXT(aclGetRecentErrMsg(), "scaling");
    CHECK_EQ(aclmdlSetAIPPInputFormat(p, ACL_RAW10), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetAIPPRbuvSwapSwitch(p, 2), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetAIPPCropParams(p, 1, 0, 0, 1, 1, PICTURES), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetAIPPDtcPixelMin(p, NAN, 0, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
    CHECK(aclmdlCreateAIPP(0) == NULL);
    CHECK_EQ(aclmdlDestroyAIPP(p), 0);
    free_run(&r);
    CHECK_EQ(aclmdlDestroyDesc(desc), 0);
    CHECK_EQ(aclmdlUnload(id), 0);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/test_om_aipp_%d.om", (int)getpid());
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    check_static(path);
    check_dynamic(path);
    unlink(path);
    CHECK_EQ(aclrtResetDevice(0), 0);
    CHECK_EQ(aclFinalize(), 0);
    return check_done();
}

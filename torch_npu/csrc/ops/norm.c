/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch, layer, RMS and group norm and their gradients. Statistics have the input's type, or float when the parameters
 * are float and the input is half (mixed precision), as on the CPU. */
#include "elementwise.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum {
    TRAINS = 1,   /* no training argument: it is training */
    NO_STATS = 2, /* no running statistics among the arguments */
    RESERVE = 4,  /* a fourth result, unused */
};

static bool is_half(aclDataType t)
{
    return t == ACL_FLOAT16 || t == ACL_BF16;
}

/* Half input with float parameters, all present ones; false when the types do not go together. */
static bool statistics_type(const struct npu_tensor *x, const struct npu_tensor *const *parameter, int n,
                            aclDataType *type)
{
    *type = x->dtype;
    if (!takes_type(TAKES_FLOAT, x->dtype))
        return false;
    for (int i = 0; i < n; i++) {
        if (!parameter[i]->defined || parameter[i]->dtype == x->dtype)
            continue;
        if (!is_half(x->dtype) || parameter[i]->dtype != ACL_FLOAT)
            return false;
        *type = ACL_FLOAT;
    }
    return true;
}

static bool is_vector(const struct npu_tensor *t, int64_t n)
{
    return !t->defined || (t->rank == 1 && t->size[0] == n && t->device >= 0);
}

/* Strides of a channels-last tensor of t's shape, if t is one. */
static bool channels_last(const struct npu_tensor *t, int64_t *stride)
{
    int64_t expected = t->rank > 1 ? t->size[1] : 0;
    if (t->rank < 4 || t->rank > 5 || tensor_contiguous(t))
        return false;
    stride[1] = 1;
    for (int32_t d = t->rank - 1; d != 1; d = d == 2 ? 0 : d - 1) {
        stride[d] = expected;
        if (t->size[d] != 1 && t->stride[d] != expected)
            return false;
        expected *= t->size[d];
        if (d == 0)
            break;
    }
    return t->size[1] == 1 || t->stride[1] == 1;
}

/* A result like t, channels last if t is. */
static struct npu_tensor *result_like(struct call *c, int k, const struct npu_tensor *t)
{
    int64_t stride[16];
    return channels_last(t, stride) ? result_strided(c, k, t->dtype, t->rank, t->size, stride)
                                    : result(c, k, t->dtype, t->rank, t->size);
}

/* ---- batch norm ---- */

/* input, weight, bias, [running_mean, running_var,] [training,] momentum, eps → out, mean, rstd[, reserve] */
static int run_batch(struct call *c, const struct aten_row *row)
{
    static const struct npu_tensor none;
    int code = row->code, at = code & NO_STATS ? 3 : 5;
    const struct npu_tensor *x = arg_tensor(c, 0), *weight = arg_tensor(c, 1), *bias = arg_tensor(c, 2);
    const struct npu_tensor *mean = code & NO_STATS ? &none : arg_tensor(c, 3);
    const struct npu_tensor *var = code & NO_STATS ? &none : arg_tensor(c, 4);
    const struct npu_tensor *const parameter[] = {weight, bias, mean, var};
    bool training = code & TRAINS || arg_bool(c, at, true);
    aclDataType type;
    at += !(code & TRAINS);
    if (x->rank < 2 || x->rank > 16 || x->device < 0 || !statistics_type(x, parameter, 4, &type) || !tensor_numel(x))
        return CALL_FALLBACK;
    for (int i = 0; i < 4; i++)
        if (!is_vector(parameter[i], x->size[1]))
            return CALL_FALLBACK;
    if (!training && (!mean->defined || !var->defined))
        return CALL_FALLBACK;
    int64_t channels = training ? x->size[1] : 0;
    struct npu_tensor *out = result_like(c, 0, x);
    struct npu_tensor *save_mean = result(c, 1, type, 1, &channels), *save_rstd = result(c, 2, type, 1, &channels);
    if (code & RESERVE)
        result(c, 3, ACL_UINT8, 1, (int64_t[]){0});
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.t = weight},
                                        {.t = bias},
                                        {.t = mean},
                                        {.t = var},
                                        {.i = training},
                                        {.d = arg_double(c, at, 0)},
                                        {.d = arg_double(c, at + 1, 1e-5)},
                                        {.t = out},
                                        {.t = save_mean},
                                        {.t = save_rstd}});
}

/* Gradients wanted by a bool[] argument: result k or NULL. */
static struct npu_tensor *gradient_like(struct call *c, const bool *mask, int k, const struct npu_tensor *t,
                                        aclDataType type, int32_t rank, const int64_t *size)
{
    if (!mask[k]) {
        result_undefined(c, k);
        return NULL;
    }
    return result(c, k, t->defined ? t->dtype : type, rank, size);
}

/* grad, input, weight, running_mean, running_var, save_mean, save_rstd, training, eps, mask */
static int run_batch_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *t[7];
    const bool *mask;
    aclDataType type;
    size_t n = arg_bools(c, 9, &mask);
    bool training = arg_bool(c, 7, true);
    for (int i = 0; i < 7; i++)
        t[i] = arg_tensor(c, i);
    const struct npu_tensor *x = t[1];
    if (n != 3 || x->rank < 2 || x->rank > 16 || t[0]->dtype != x->dtype || !statistics_type(x, t + 2, 5, &type) ||
        t[0]->device < 0 || !tensor_numel(x))
        return CALL_FALLBACK;
    if (!t[training ? 5 : 3]->defined || !t[training ? 6 : 4]->defined)
        return CALL_FALLBACK;
    struct npu_tensor *dx = NULL;
    if (mask[0])
        dx = result_like(c, 0, x);
    else
        result_undefined(c, 0);
    struct npu_tensor *dweight = gradient_like(c, mask, 1, t[2], type, 1, &x->size[1]);
    struct npu_tensor *dbias = gradient_like(c, mask, 2, t[2], type, 1, &x->size[1]);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = t[0]},
                                        {.t = x},
                                        {.t = t[2]},
                                        {.t = t[3]},
                                        {.t = t[4]},
                                        {.t = t[5]},
                                        {.t = t[6]},
                                        {.i = training},
                                        {.d = arg_double(c, 8, 1e-5)},
                                        {.bools = {mask, 3}},
                                        {.t = dx},
                                        {.t = dweight},
                                        {.t = dbias}});
}

/* ---- layer and RMS norm ---- */

/* Is shape the end of t's, and the parameter of that shape? Then the shape of the statistics goes into size. */
static bool normalizes(const struct npu_tensor *t, const int64_t *shape, size_t n, int64_t *size)
{
    if (!n || n > (size_t)t->rank || t->rank > 16)
        return false;
    for (int32_t d = 0; d < t->rank; d++) {
        int32_t k = d - (t->rank - (int32_t)n);
        size[d] = k < 0 ? t->size[d] : 1;
        if (k >= 0 && (t->size[d] != shape[k] || !shape[k]))
            return false;
    }
    return true;
}

static bool has_shape(const struct npu_tensor *t, const int64_t *shape, size_t n)
{
    return !t->defined || (t->rank == (int32_t)n && !memcmp(t->size, shape, n * sizeof *shape));
}

/* "2, 3" */
static const char *sizes_text(struct call *c, const int64_t *size, size_t n)
{
    size_t room = n * 22 + 1, at = 0;
    char *text = call_alloc(c, room);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%lld", i ? ", " : "", (long long)size[i]);
    return text;
}

/* PyTorch's errors about the normalized shape. */
static int check_layer(struct call *c, const struct npu_tensor *x, const int64_t *shape, size_t n,
                       const struct npu_tensor *weight, const struct npu_tensor *bias)
{
    if (!n)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                          "element, but got normalized_shape = []");
    const char *want = sizes_text(c, shape, n);
    for (int i = 0; i < 2; i++) {
        const struct npu_tensor *t = i ? bias : weight;
        const char *name = i ? "bias" : "weight";
        if (!has_shape(t, shape, n))
            return call_error(c, CALL_RUNTIME_ERROR,
                              "Expected %s to be of same shape as normalized_shape, but got %s of shape [%s] and "
                              "normalized_shape = [%s]",
                              name, name, sizes_text(c, t->size, (size_t)t->rank), want);
    }
    if (n > (size_t)x->rank || memcmp(x->size + (x->rank - (int32_t)n), shape, n * sizeof *shape) != 0)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "Given normalized_shape=[%s], expected input with shape [*, %s], but got input of size[%s]",
                          want, want, sizes_text(c, x->size, (size_t)x->rank));
    return CALL_OK;
}

/* input, shape, weight, bias, eps → out, mean, rstd */
static int run_layer(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *weight = arg_tensor(c, 2), *bias = arg_tensor(c, 3);
    const int64_t *shape;
    size_t n = arg_ints(c, 1, &shape);
    int64_t size[16];
    aclDataType type;
    if (check_layer(c, x, shape, n, weight, bias))
        return CALL_ERROR;
    if (!statistics_type(x, (const struct npu_tensor *const[]){weight, bias}, 2, &type) || x->device < 0 ||
        !normalizes(x, shape, n, size))
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, x->dtype, x->rank, x->size);
    struct npu_tensor *mean = result(c, 1, type, x->rank, size), *rstd = result(c, 2, type, x->rank, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.ints = {shape, n}},
                                        {.t = weight},
                                        {.t = bias},
                                        {.d = arg_double(c, 4, 1e-5)},
                                        {.t = out},
                                        {.t = mean},
                                        {.t = rstd}});
}

/* grad, input, shape, mean, rstd, weight, bias, mask */
static int run_layer_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, 1), *mean = arg_tensor(c, 3);
    const struct npu_tensor *rstd = arg_tensor(c, 4), *weight = arg_tensor(c, 5), *bias = arg_tensor(c, 6);
    const int64_t *shape;
    const bool *mask;
    size_t n = arg_ints(c, 2, &shape), masks = arg_bools(c, 7, &mask);
    int64_t size[16];
    aclDataType type;
    if (masks != 3 || grad->dtype != x->dtype || grad->device < 0 || !normalizes(x, shape, n, size) ||
        !statistics_type(x, (const struct npu_tensor *const[]){weight, bias, mean, rstd}, 4, &type))
        return CALL_FALLBACK;
    struct npu_tensor *dx = gradient_like(c, mask, 0, x, type, x->rank, x->size);
    struct npu_tensor *dweight = gradient_like(c, mask, 1, weight, type, (int32_t)n, shape);
    struct npu_tensor *dbias = gradient_like(c, mask, 2, bias, type, (int32_t)n, shape);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad},
                                        {.t = x},
                                        {.ints = {shape, n}},
                                        {.t = mean},
                                        {.t = rstd},
                                        {.t = weight},
                                        {.t = bias},
                                        {.bools = {mask, 3}},
                                        {.t = dx},
                                        {.t = dweight},
                                        {.t = dbias}});
}

static const struct npu_tensor *ones(struct call *c, aclDataType type, size_t n, const int64_t *shape)
{
    static struct aclnn fill = ACLNN("aclnnInplaceFillScalar", "TS");
    struct npu_scalar one = {.kind = SCALAR_FLOAT, .i = 1, .d = {1}};
    struct npu_tensor *t = temp(c, type, (int32_t)n, shape);
    launch(c, &fill, (union aclnn_value[]){{.t = t}, {.s = &one}});
    return t;
}

static double epsilon_of(aclDataType t)
{
    return t == ACL_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
}

/* input, shape, weight?, eps? → out, rstd */
static int run_rms(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *weight = arg_tensor(c, 2);
    const int64_t *shape;
    size_t n = arg_ints(c, 1, &shape);
    int64_t size[16];
    aclDataType type;
    if (!statistics_type(x, &weight, 1, &type) || x->device < 0 || !normalizes(x, shape, n, size) ||
        !has_shape(weight, shape, n))
        return CALL_FALLBACK;
    aclDataType out_type = weight->defined ? promote_types(x->dtype, weight->dtype) : x->dtype;
    struct npu_tensor *out = result(c, 0, out_type, x->rank, x->size);
    struct npu_tensor *rstd = result(c, 1, is_half(x->dtype) ? ACL_FLOAT : x->dtype, x->rank, size);
    if (!weight->defined)
        weight = ones(c, x->dtype, n, shape);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){
                      {.t = x}, {.t = weight}, {.d = arg_double(c, 3, epsilon_of(x->dtype))}, {.t = out}, {.t = rstd}});
}

/* grad, input, shape, rstd, weight?, mask[2] */
static int run_rms_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, 1), *rstd = arg_tensor(c, 3);
    const struct npu_tensor *given = arg_tensor(c, 4), *weight = given;
    const int64_t *shape;
    const bool *mask;
    size_t n = arg_ints(c, 2, &shape), masks = arg_bools(c, 5, &mask);
    int64_t size[16];
    aclDataType type;
    if (masks != 2 || !takes_type(TAKES_FLOAT, grad->dtype) || !normalizes(x, shape, n, size) ||
        !statistics_type(x, &weight, 1, &type))
        return CALL_FALLBACK;
    struct npu_tensor *dx = gradient_like(c, mask, 0, x, type, x->rank, x->size);
    struct npu_tensor *dweight = gradient_like(c, mask, 1, given, type, (int32_t)n, shape);
    if (!given->defined)
        weight = ones(c, x->dtype, n, shape);
    if (!dx)
        dx = temp(c, x->dtype, x->rank, x->size);
    if (!dweight)
        dweight = temp(c, weight->dtype, (int32_t)n, shape);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad}, {.t = x}, {.t = rstd}, {.t = weight}, {.t = dx}, {.t = dweight}});
}

/* ---- group norm ---- */

static bool fits_group(const struct npu_tensor *x, int64_t n, int64_t channels, int64_t inner, int64_t groups)
{
    return x->device >= 0 && x->rank <= 16 && groups > 0 && channels % groups == 0 &&
           n * channels * inner == tensor_numel(x) && tensor_numel(x) > 0;
}

/* input, weight, bias, N, C, HxW, group, eps → out, mean, rstd */
static int run_group(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *weight = arg_tensor(c, 1), *bias = arg_tensor(c, 2);
    int64_t n = arg_int(c, 3, 0), channels = arg_int(c, 4, 0), inner = arg_int(c, 5, 0), groups = arg_int(c, 6, 1);
    int64_t size[] = {n, groups};
    aclDataType type;
    if (!statistics_type(x, (const struct npu_tensor *const[]){weight, bias}, 2, &type) ||
        !fits_group(x, n, channels, inner, groups) || !is_vector(weight, channels) || !is_vector(bias, channels))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_like(c, 0, x), *mean = result(c, 1, type, 2, size),
                      *rstd = result(c, 2, type, 2, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.t = weight},
                                        {.t = bias},
                                        {.i = n},
                                        {.i = channels},
                                        {.i = inner},
                                        {.i = groups},
                                        {.d = arg_double(c, 7, 1e-5)},
                                        {.t = out},
                                        {.t = mean},
                                        {.t = rstd}});
}

/* grad, input, mean, rstd, weight?, N, C, HxW, group, mask */
static int run_group_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, 1), *mean = arg_tensor(c, 2);
    const struct npu_tensor *rstd = arg_tensor(c, 3), *weight = arg_tensor(c, 4);
    int64_t n = arg_int(c, 5, 0), channels = arg_int(c, 6, 0), inner = arg_int(c, 7, 0), groups = arg_int(c, 8, 1);
    const bool *mask;
    size_t masks = arg_bools(c, 9, &mask);
    aclDataType type;
    if (masks != 3 || grad->dtype != x->dtype || !fits_group(x, n, channels, inner, groups) || grad->rank != x->rank ||
        !statistics_type(x, (const struct npu_tensor *const[]){weight, mean, rstd}, 3, &type))
        return CALL_FALLBACK;
    struct npu_tensor *dx = NULL;
    if (mask[0])
        dx = result_like(c, 0, x);
    else
        result_undefined(c, 0);
    struct npu_tensor *dweight = gradient_like(c, mask, 1, weight, type, 1, &channels);
    struct npu_tensor *dbias = gradient_like(c, mask, 2, weight, type, 1, &channels);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad},
                                        {.t = x},
                                        {.t = mean},
                                        {.t = rstd},
                                        {.t = weight},
                                        {.i = n},
                                        {.i = channels},
                                        {.i = inner},
                                        {.i = groups},
                                        {.bools = {mask, 3}},
                                        {.t = dx},
                                        {.t = dweight},
                                        {.t = dbias}});
}

/* ---- rows ---- */

static struct aclnn batch = ACLNN("aclnnBatchNorm", "TTTTTbddTTT");
static struct aclnn batch_backward = ACLNN("aclnnBatchNormBackward", "TTTTTTTbdBTTT");
static struct aclnn layer = ACLNN("aclnnLayerNorm", "TITTdTTT");
static struct aclnn layer_backward = ACLNN("aclnnLayerNormBackward", "TTITTTTBTTT");
static struct aclnn rms = ACLNN("aclnnRmsNorm", "TTdTT"), rms_backward = ACLNN("aclnnRmsNormGrad", "TTTTTT");
static struct aclnn group = ACLNN("aclnnGroupNorm", "TTTiiiidTTT");
static struct aclnn group_backward = ACLNN("aclnnGroupNormBackward", "TTTTTiiiiBTTT");

static const struct aten_row rows[] = {
    {"native_batch_norm", run_batch, &batch, 0},
    {"native_batch_norm.out", run_batch, &batch, 0},
    {"_native_batch_norm_legit", run_batch, &batch, 0},
    {"_native_batch_norm_legit.out", run_batch, &batch, 0},
    {"_native_batch_norm_legit.no_stats", run_batch, &batch, NO_STATS},
    {"_native_batch_norm_legit.no_stats_out", run_batch, &batch, NO_STATS},
    {"_batch_norm_with_update", run_batch, &batch, TRAINS | RESERVE},
    {"native_batch_norm_backward", run_batch_backward, &batch_backward},
    {"batch_norm_backward", run_batch_backward, &batch_backward},
    {"native_layer_norm", run_layer, &layer},
    {"native_layer_norm_backward", run_layer_backward, &layer_backward},
    {"_fused_rms_norm", run_rms, &rms},
    {"_fused_rms_norm_backward", run_rms_backward, &rms_backward},
    {"native_group_norm", run_group, &group},
    {"native_group_norm_backward", run_group_backward, &group_backward},
};
ATEN_FAMILY(norm_family, rows);

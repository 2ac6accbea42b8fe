/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling. Sizes that PyTorch refuses fall back, so that the text is PyTorch's own. */
#include "layout.h"

#include <string.h>

enum { RANK_MAX = IMAGE_RANK_MAX };

/* ---- shapes ---- */

static struct npu_tensor *result_like(struct call *c, int k, aclDataType dtype, const struct npu_tensor *like,
                                      const int64_t *size)
{
    return result_image(c, k, dtype, like->rank, size, channels_last(like));
}

static bool pooled_rank(const struct npu_tensor *t, int n)
{
    if (t->rank != n + 1 && t->rank != n + 2)
        return false;
    for (int32_t d = t->rank == n + 2; d < t->rank; d++)
        if (t->size[d] == 0)
            return false;
    return true;
}

static int64_t pick(const int64_t *list, size_t n, int d)
{
    return n == 1 ? list[0] : list[d];
}

struct numbers {
    const int64_t *kernel, *stride, *padding, *dilation;
    size_t kernels, strides, paddings, dilations;
    bool ceil;
};

static const int64_t one[] = {1};

/* kernel, stride, padding from argument i on, dilation if there is one, ceil_mode */
static struct numbers numbers_at(struct call *c, int i, bool dilated)
{
    struct numbers a = {.dilation = one, .dilations = 1};
    a.kernels = arg_ints(c, i, &a.kernel);
    a.strides = arg_ints(c, i + 1, &a.stride);
    a.paddings = arg_ints(c, i + 2, &a.padding);
    if (dilated)
        a.dilations = arg_ints(c, i + 3, &a.dilation);
    a.ceil = arg_bool(c, i + 3 + dilated, false);
    if (!a.strides) {
        a.stride = a.kernel;
        a.strides = a.kernels;
    }
    return a;
}

/* The pooled shape; false if PyTorch would complain. */
static bool pooled_size(const struct npu_tensor *x, int n, const struct numbers *a, int64_t *size)
{
    size_t lists[] = {a->kernels, a->strides, a->paddings, a->dilations};
    for (int i = 0; i < 4; i++)
        if (lists[i] != 1 && lists[i] != (size_t)n)
            return false;
    memcpy(size, x->size, sizeof *size * (size_t)x->rank);
    for (int d = 0; d < n; d++) {
        int64_t k = pick(a->kernel, a->kernels, d), s = pick(a->stride, a->strides, d),
                p = pick(a->padding, a->paddings, d), step = pick(a->dilation, a->dilations, d),
                *to = &size[x->rank - n + d], in = *to;
        if (k < 1 || s < 1 || p < 0 || step < 1 || p > ((k - 1) * step + 1) / 2)
            return false;
        int64_t room = in + 2 * p - step * (k - 1) - 1 + (a->ceil ? s - 1 : 0);
        if (room < 0)
            return false;
        *to = room / s + 1;
        if (a->ceil && (*to - 1) * s >= in + p)
            --*to;
        if (*to < 1)
            return false;
    }
    return true;
}

/* ---- maxima ---- */

static bool has_maximum(aclDataType t)
{
    return is_floating(t) || t == ACL_INT8 || t == ACL_UINT8 || t == ACL_INT16 || t == ACL_INT32 || t == ACL_INT64;
}

/* self, kernel, stride, padding, dilation, ceil_mode */
static int run_max(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    struct numbers a = numbers_at(c, 1, true);
    int64_t size[RANK_MAX];
    if (!has_maximum(x->dtype) || !pooled_rank(x, row->code) || !pooled_size(x, row->code, &a, size))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_like(c, 0, x->dtype, x, size), *index = result_like(c, 1, ACL_INT64, x, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.ints = {a.kernel, a.kernels}},
                                        {.ints = {a.stride, a.strides}},
                                        {.ints = {a.padding, a.paddings}},
                                        {.ints = {a.dilation, a.dilations}},
                                        {.i = a.ceil},
                                        {.t = out},
                                        {.t = index}});
}

/* grad_output, self, kernel, stride, padding, dilation, ceil_mode, indices */
static int run_max_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *x = arg_tensor(c, 1), *index = arg_tensor(c, 7);
    struct numbers a = numbers_at(c, 2, true);
    int64_t size[RANK_MAX];
    if (!is_floating(x->dtype) || g->dtype != x->dtype || !pooled_rank(x, row->code) ||
        !pooled_size(x, row->code, &a, size) || g->rank != x->rank || index->rank != x->rank ||
        memcmp(g->size, size, sizeof *size * (size_t)x->rank) != 0 ||
        memcmp(index->size, size, sizeof *size * (size_t)x->rank) != 0)
        return CALL_FALLBACK;
    struct npu_tensor *out = result_like(c, 0, x->dtype, x, x->size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = g},
                                        {.t = x},
                                        {.t = index},
                                        {.ints = {a.kernel, a.kernels}},
                                        {.ints = {a.stride, a.strides}},
                                        {.ints = {a.padding, a.paddings}},
                                        {.ints = {a.dilation, a.dilations}},
                                        {.i = a.ceil},
                                        {.t = out}});
}

/* ---- averages ---- */

/* self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override */
static int run_average(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    struct numbers a = numbers_at(c, 1, false);
    int64_t size[RANK_MAX], divisor = arg_int(c, 6, 0);
    if (!(is_floating(x->dtype) || x->dtype == ACL_INT64) || !pooled_rank(x, row->code) ||
        !pooled_size(x, row->code, &a, size) || (divisor == 0 && !arg_none(c, 6)))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_like(c, 0, x->dtype, x, size);
    union aclnn_value v[] = {{.t = x},
                             {.ints = {a.kernel, a.kernels}},
                             {.ints = {a.stride, a.strides}},
                             {.ints = {a.padding, a.paddings}},
                             {.i = a.ceil},
                             {.i = arg_bool(c, 5, true)},
                             {.i = divisor},
                             {.i = 0},
                             {.t = out}};
    if (row->code == 3)
        v[7] = v[8];
    return launch(c, row->aclnn, v);
}

/* grad_output, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override */
static int run_average_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *x = arg_tensor(c, 1);
    struct numbers a = numbers_at(c, 2, false);
    int64_t size[RANK_MAX], divisor = arg_int(c, 7, 0);
    if (!is_floating(x->dtype) || g->dtype != x->dtype || !pooled_rank(x, row->code) ||
        !pooled_size(x, row->code, &a, size) || (divisor == 0 && !arg_none(c, 7)) || g->rank != x->rank ||
        memcmp(g->size, size, sizeof *size * (size_t)x->rank) != 0)
        return CALL_FALLBACK;
    struct npu_tensor *out = result_like(c, 0, x->dtype, x, x->size);
    union aclnn_value v[] = {{.t = g},
                             {.t = x},
                             {.ints = {a.kernel, a.kernels}},
                             {.ints = {a.stride, a.strides}},
                             {.ints = {a.padding, a.paddings}},
                             {.i = a.ceil},
                             {.i = arg_bool(c, 6, true)},
                             {.i = divisor},
                             {.i = 0},
                             {.t = out}};
    if (row->code == 3)
        v[8] = v[9];
    return launch(c, row->aclnn, v);
}

/* ---- adaptive ---- */

enum { MAXIMUM = 16 };

/* self, output_size */
static int run_adaptive(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    const int64_t *wish;
    size_t n = arg_ints(c, 1, &wish);
    int dims = row->code & ~MAXIMUM;
    bool max = row->code & MAXIMUM;
    int64_t size[RANK_MAX];
    if (!(max ? has_maximum(x->dtype) : is_floating(x->dtype)) || !pooled_rank(x, dims) || n != (size_t)dims)
        return CALL_FALLBACK;
    memcpy(size, x->size, sizeof *size * (size_t)x->rank);
    for (int d = 0; d < dims; d++) {
        if (wish[d] < 0)
            return CALL_FALLBACK;
        size[x->rank - dims + d] = wish[d];
    }
    struct npu_tensor *out = result_like(c, 0, x->dtype, x, size);
    union aclnn_value v[] = {{.t = x}, {.ints = {wish, n}}, {.t = out}, {.t = NULL}};
    if (max)
        v[3].t = result_like(c, 1, ACL_INT64, x, size);
    return launch(c, row->aclnn, v);
}

/* grad_output, self, [indices] */
static int run_adaptive_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *x = arg_tensor(c, 1);
    int dims = row->code & ~MAXIMUM;
    bool max = row->code & MAXIMUM;
    if (!is_floating(x->dtype) || g->dtype != x->dtype || !pooled_rank(x, dims) || g->rank != x->rank)
        return CALL_FALLBACK;
    for (int32_t d = 0; d < x->rank; d++)
        if (d < x->rank - dims ? g->size[d] != x->size[d] : g->size[d] == 0)
            return CALL_FALLBACK;
    struct npu_tensor *out = result_like(c, 0, x->dtype, x, x->size);
    if (max)
        return launch(c, row->aclnn, (union aclnn_value[]){{.t = g}, {.t = x}, {.t = arg_tensor(c, 2)}, {.t = out}});
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = g}, {.t = x}, {.t = out}});
}

/* ---- the inverse of maxima ---- */

/* self, indices, output_size, [stride, padding] */
static int run_unpool(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *index = arg_tensor(c, 1);
    const int64_t *wish, *stride = NULL, *padding = NULL;
    size_t n = arg_ints(c, 2, &wish), dims = (size_t)row->code, strides = 0, paddings = 0;
    int64_t size[RANK_MAX];
    if (!has_maximum(x->dtype) || index->dtype != ACL_INT64 || !pooled_rank(x, row->code) || n != dims ||
        index->rank != x->rank || memcmp(index->size, x->size, sizeof *size * (size_t)x->rank) != 0)
        return CALL_FALLBACK;
    memcpy(size, x->size, sizeof *size * (size_t)x->rank);
    for (size_t d = 0; d < n; d++) {
        if (wish[d] < 1)
            return CALL_FALLBACK;
        size[(size_t)x->rank - n + d] = wish[d];
    }
    if (dims == 3) {
        strides = arg_ints(c, 3, &stride);
        paddings = arg_ints(c, 4, &padding);
        for (size_t d = 0; d < strides; d++)
            if (stride[d] < 1)
                return CALL_FALLBACK;
        if (strides != 3 || paddings != 3)
            return CALL_FALLBACK;
    }
    struct npu_tensor *out = result(c, 0, x->dtype, x->rank, size);
    union aclnn_value v[] = {{.t = x}, {.t = index}, {.ints = {wish, n}}, {.t = out}, {.t = NULL}, {.t = NULL}};
    if (dims == 3) {
        v[3] = (union aclnn_value){.ints = {stride, strides}};
        v[4] = (union aclnn_value){.ints = {padding, paddings}};
        v[5].t = out;
    }
    int status = launch(c, row->aclnn, v);
    return status ? status : call_sync(c);
}

static struct aclnn max_pool2d = ACLNN("aclnnMaxPool2dWithIndices", "TIIIIbTT");
static struct aclnn max_pool2d_backward = ACLNN("aclnnMaxPool2dWithIndicesBackward", "TTTIIIIbT");
static struct aclnn max_pool3d = ACLNN("aclnnMaxPool3dWithArgmax", "TIIIIbTT");
static struct aclnn max_pool3d_backward = ACLNN("aclnnMaxPool3dWithArgmaxBackward", "TTTIIIIbT");
static struct aclnn avg_pool2d = ACLNN("aclnnAvgPool2d", "TIIIbbicT");
static struct aclnn avg_pool2d_backward = ACLNN("aclnnAvgPool2dBackward", "TTIIIbbicT");
static struct aclnn avg_pool3d = ACLNN("aclnnAvgPool3d", "TIIIbbiT");
static struct aclnn avg_pool3d_backward = ACLNN("aclnnAvgPool3dBackward", "TTIIIbbiT");
static struct aclnn adaptive_avg2d = ACLNN("aclnnAdaptiveAvgPool2d", "TIT");
static struct aclnn adaptive_avg2d_backward = ACLNN("aclnnAdaptiveAvgPool2dBackward", "TTT");
static struct aclnn adaptive_avg3d = ACLNN("aclnnAdaptiveAvgPool3d", "TIT");
static struct aclnn adaptive_avg3d_backward = ACLNN("aclnnAdaptiveAvgPool3dBackward", "TTT");
static struct aclnn adaptive_max2d = ACLNN("aclnnAdaptiveMaxPool2d", "TITT");
static struct aclnn adaptive_max2d_backward = ACLNN("aclnnAdaptiveMaxPool2dBackward", "TTTT");
static struct aclnn adaptive_max3d = ACLNN("aclnnAdaptiveMaxPool3d", "TITT");
static struct aclnn adaptive_max3d_backward = ACLNN("aclnnAdaptiveMaxPool3dBackward", "TTTT");
static struct aclnn unpool2d = ACLNN("aclnnMaxUnpool2d", "TTIT");
static struct aclnn unpool3d = ACLNN("aclnnMaxUnpool3d", "TTIIIT");

static const struct aten_row rows[] = {
    {"max_pool2d_with_indices", run_max, &max_pool2d, 2},
    {"max_pool2d_with_indices.out", run_max, &max_pool2d, 2},
    {"max_pool2d_with_indices_backward", run_max_backward, &max_pool2d_backward, 2},
    {"max_pool2d_with_indices_backward.grad_input", run_max_backward, &max_pool2d_backward, 2},
    {"max_pool3d_with_indices", run_max, &max_pool3d, 3},
    {"max_pool3d_with_indices.out", run_max, &max_pool3d, 3},
    {"max_pool3d_with_indices_backward", run_max_backward, &max_pool3d_backward, 3},
    {"max_pool3d_with_indices_backward.grad_input", run_max_backward, &max_pool3d_backward, 3},
    {"avg_pool2d", run_average, &avg_pool2d, 2},
    {"avg_pool2d.out", run_average, &avg_pool2d, 2},
    {"avg_pool2d_backward", run_average_backward, &avg_pool2d_backward, 2},
    {"avg_pool2d_backward.grad_input", run_average_backward, &avg_pool2d_backward, 2},
    {"avg_pool3d", run_average, &avg_pool3d, 3},
    {"avg_pool3d.out", run_average, &avg_pool3d, 3},
    {"avg_pool3d_backward", run_average_backward, &avg_pool3d_backward, 3},
    {"avg_pool3d_backward.grad_input", run_average_backward, &avg_pool3d_backward, 3},
    {"_adaptive_avg_pool2d", run_adaptive, &adaptive_avg2d, 2},
    {"adaptive_avg_pool2d.out", run_adaptive, &adaptive_avg2d, 2},
    {"_adaptive_avg_pool2d_backward", run_adaptive_backward, &adaptive_avg2d_backward, 2},
    {"_adaptive_avg_pool3d", run_adaptive, &adaptive_avg3d, 3},
    {"adaptive_avg_pool3d.out", run_adaptive, &adaptive_avg3d, 3},
    {"_adaptive_avg_pool3d_backward", run_adaptive_backward, &adaptive_avg3d_backward, 3},
    {"adaptive_avg_pool3d_backward.grad_input", run_adaptive_backward, &adaptive_avg3d_backward, 3},
    {"adaptive_max_pool2d", run_adaptive, &adaptive_max2d, 2 + MAXIMUM},
    {"adaptive_max_pool2d.out", run_adaptive, &adaptive_max2d, 2 + MAXIMUM},
    {"adaptive_max_pool2d_backward", run_adaptive_backward, &adaptive_max2d_backward, 2 + MAXIMUM},
    {"adaptive_max_pool2d_backward.grad_input", run_adaptive_backward, &adaptive_max2d_backward, 2 + MAXIMUM},
    {"adaptive_max_pool3d", run_adaptive, &adaptive_max3d, 3 + MAXIMUM},
    {"adaptive_max_pool3d.out", run_adaptive, &adaptive_max3d, 3 + MAXIMUM},
    {"adaptive_max_pool3d_backward", run_adaptive_backward, &adaptive_max3d_backward, 3 + MAXIMUM},
    {"adaptive_max_pool3d_backward.grad_input", run_adaptive_backward, &adaptive_max3d_backward, 3 + MAXIMUM},
    {"max_unpool2d", run_unpool, &unpool2d, 2},
    {"max_unpool2d.out", run_unpool, &unpool2d, 2},
    {"max_unpool3d", run_unpool, &unpool3d, 3},
    {"max_unpool3d.out", run_unpool, &unpool3d, 3},
};
ATEN_FAMILY(pool, rows);

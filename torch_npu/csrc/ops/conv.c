/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions: the two operators that PyTorch calls for a device with no name of its own. */
#include "layout.h"

enum { RANK_MAX = IMAGE_RANK_MAX };

static int64_t number(const int64_t *list, size_t n, int32_t d)
{
    return n == 1 ? list[0] : (size_t)d < n ? list[d] : 0;
}

/* input, weight, bias, stride, padding, dilation, transposed, output_padding, groups */
static int run_convolution(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *w = arg_tensor(c, 1), *bias = arg_tensor(c, 2);
    const int64_t *stride, *padding, *dilation, *more;
    size_t ns = arg_ints(c, 3, &stride), np = arg_ints(c, 4, &padding), nd = arg_ints(c, 5, &dilation),
           nm = arg_ints(c, 7, &more);
    bool transposed = arg_bool(c, 6, false);
    int64_t groups = arg_int(c, 8, 1), size[RANK_MAX];
    if (!(is_floating(x->dtype) || x->dtype == ACL_INT64) || x->dtype != w->dtype ||
        (bias->defined && bias->dtype != x->dtype) || x->rank < 3 || x->rank > RANK_MAX || w->rank != x->rank)
        return CALL_FALLBACK;
    for (int32_t d = 2; d < w->rank; d++)
        if (w->size[d] < 1)
            return call_error(c, CALL_RUNTIME_ERROR, "kernel size should be greater than zero, but got: %ld",
                              (long)w->size[d]);
    size[0] = x->size[0];
    size[1] = transposed ? w->size[1] * groups : w->size[0];
    for (int32_t d = 2; d < x->rank; d++) {
        int64_t s = number(stride, ns, d - 2), p = number(padding, np, d - 2),
                reach = number(dilation, nd, d - 2) * (w->size[d] - 1) + 1;
        size[d] = transposed ? (x->size[d] - 1) * s - 2 * p + reach + number(more, nm, d - 2)
                             : (x->size[d] + 2 * p - reach) / s + 1;
        if (size[d] < 0 || (!transposed && x->size[d] + 2 * p < reach))
            return call_error(
                c, CALL_RUNTIME_ERROR,
                "Calculated padded input size per channel: %ld. Kernel size: %ld. Kernel size can't be greater than "
                "actual input size",
                (long)(x->size[d] + 2 * p), (long)reach);
    }
    struct npu_tensor *out = result_image(c, 0, x->dtype, x->rank, size, channels_last(x) || channels_last(w));
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.t = w},
                                        {.t = bias},
                                        {.ints = {stride, ns}},
                                        {.ints = {padding, np}},
                                        {.ints = {dilation, nd}},
                                        {.i = transposed},
                                        {.ints = {more, nm}},
                                        {.i = groups},
                                        {.t = out},
                                        {.i = 0}});
}

/* grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, output_mask */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *x = arg_tensor(c, 1), *w = arg_tensor(c, 2), *grad[3] = {NULL};
    const int64_t *stride, *padding, *dilation, *more;
    size_t ns = arg_ints(c, 3, &stride), np = arg_ints(c, 4, &padding), nd = arg_ints(c, 5, &dilation),
           nm = arg_ints(c, 7, &more);
    const bool *mask;
    size_t n = arg_bools(c, 9, &mask);
    bool last =
        channels_last(x) || channels_last(w); /* both gradients as the result was: PyTorch's meta kernel says so */
    if (!is_floating(x->dtype) || x->dtype != w->dtype || g->dtype != x->dtype || x->rank < 3 || x->rank > RANK_MAX ||
        w->rank != x->rank || g->rank != x->rank || n != 3)
        return CALL_FALLBACK;
    for (int k = 0; k < 3; k++)
        if (!mask[k])
            result_undefined(c, k);
        else if (k < 2)
            grad[k] = result_image(c, k, x->dtype, x->rank, k ? w->size : x->size, last);
        else
            grad[k] = result(c, k, x->dtype, 1, &g->size[1]);
    if (!mask[0] && !mask[1] && !mask[2])
        return CALL_OK;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = g},
                                        {.t = x},
                                        {.t = w},
                                        {.ints = {&g->size[1], 1}},
                                        {.ints = {stride, ns}},
                                        {.ints = {padding, np}},
                                        {.ints = {dilation, nd}},
                                        {.i = arg_bool(c, 6, false)},
                                        {.ints = {more, nm}},
                                        {.i = arg_int(c, 8, 1)},
                                        {.bools = {mask, 3}},
                                        {.i = 0},
                                        {.t = grad[0]},
                                        {.t = grad[1]},
                                        {.t = grad[2]}});
}

static struct aclnn convolution = ACLNN("aclnnConvolution", "TTTIIIbIiTc");
static struct aclnn backward = ACLNN("aclnnConvolutionBackward", "TTTIIIIbIjBcTTT");

static const struct aten_row rows[] = {
    {"convolution_overrideable", run_convolution, &convolution},
    {"convolution_backward_overrideable", run_backward, &backward},
};
ATEN_FAMILY(conv, rows);

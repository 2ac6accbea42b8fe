/* SPDX-License-Identifier: BSD-3-Clause */
/* Padding and sliding windows with their gradients. */
#include "index.h"

#include <string.h>

enum { RANK = 64, REFLECT = 1, BACKWARD = 2, SPATIAL_SHIFT = 4 };

static bool channels_last(const struct npu_tensor *t)
{
    if (t->rank != 4 || tensor_contiguous(t) || t->stride[1] != 1)
        return false;
    return t->stride[3] == t->size[1] && t->stride[2] == t->size[1] * t->size[3];
}

static const struct npu_tensor *image_result(struct call *c, const struct npu_tensor *like, const int64_t *size)
{
    if (!channels_last(like))
        return result(c, 0, like->dtype, like->rank, size);
    int64_t stride[4] = {size[1] * size[2] * size[3], 1, size[1] * size[3], size[1]};
    return result_strided(c, 0, like->dtype, 4, size, stride);
}

static int run_constant_pad(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const int64_t *pad;
    size_t n = arg_ints(c, 1, &pad);
    struct npu_scalar value = arg_scalar(c, 2);
    int64_t size[RANK];
    if (n % 2)
        return call_error(c, CALL_RUNTIME_ERROR, "Length of pad must be even but instead it equals %zu", n);
    if (n > 2 * (size_t)self->rank)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "Length of pad should be no more than twice the number of dimensions of the input. Pad "
                          "length is %zu while the "
                          "input has %d dimensions.",
                          n, self->rank);
    for (int32_t d = 0; d < self->rank; d++) {
        size_t at = 2 * (size_t)(self->rank - 1 - d);
        bool padded = at < n;
        size[d] = self->size[d] + (padded ? pad[at] + pad[at + 1] : 0);
        if (size[d] < 0)
            return call_error(c, CALL_RUNTIME_ERROR,
                              "The input size %lld, plus negative padding %lld and %lld resulted in a negative output "
                              "size, which is invalid. "
                              "Check dimension %d of your input.",
                              (long long)self->size[d], (long long)pad[at], (long long)pad[at + 1], d);
    }
    if (value.kind == SCALAR_COMPLEX && !is_complex(self->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *out = image_result(c, self, size);
    if (call_failed(c))
        return CALL_ERROR;
    static const int64_t none[1] = {0};
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self}, {.ints = {n ? pad : none, n}}, {.s = &value}, {.t = out}});
}

/* The shape that padding the last dimensions gives; CALL_FALLBACK for what PyTorch refuses, with its text. */
static int padded_size(struct call *c, const struct aten_row *row, const struct npu_tensor *self, const int64_t *pad,
                       size_t n, int64_t *size)
{
    int spatial = row->code >> SPATIAL_SHIFT;
    (void)c;
    if (n != 2 * (size_t)spatial || self->rank < spatial + 1 || self->rank > spatial + 2)
        return CALL_FALLBACK;
    for (int32_t d = 0; d < self->rank; d++) {
        size_t at = 2 * (size_t)(self->rank - 1 - d);
        int64_t before = at < n ? pad[at] : 0, after = at < n ? pad[at + 1] : 0;
        size[d] = self->size[d] + before + after;
        if (at < n && (size[d] < 1 || self->size[d] < 1 || before < -self->size[d] || after < -self->size[d] ||
                       (row->code & REFLECT && (before >= self->size[d] || after >= self->size[d]))))
            return CALL_FALLBACK;
        if (at >= n && !(self->size[d] || d == 0))
            return CALL_FALLBACK;
    }
    return CALL_OK;
}

static int run_pad(struct call *c, const struct aten_row *row)
{
    bool backward = row->code & BACKWARD;
    const struct npu_tensor *self = arg_tensor(c, backward ? 1 : 0), *grad = arg_tensor(c, 0);
    const int64_t *pad;
    size_t n = arg_ints(c, backward ? 2 : 1, &pad);
    int64_t size[RANK];
    int status = padded_size(c, row, self, pad, n, size);
    if (status)
        return status;
    if (backward) {
        if (grad->dtype != self->dtype || grad->rank != self->rank ||
            memcmp(grad->size, size, (size_t)self->rank * sizeof *size) ||
            !(is_floating(grad->dtype) || grad->dtype == ACL_COMPLEX64 || grad->dtype == ACL_COMPLEX128))
            return CALL_FALLBACK;
        memcpy(size, self->size, (size_t)self->rank * sizeof *size);
    }
    const struct npu_tensor *out = image_result(c, self, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    if (backward)
        return launch(c, row->aclnn, (union aclnn_value[]){{.t = grad}, {.t = self}, {.ints = {pad, n}}, {.t = out}});
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.ints = {pad, n}}, {.t = out}});
}

/* ---- sliding windows ---- */

struct window {
    const int64_t *kernel, *dilation, *padding, *stride;
    int64_t steps[2];
};

/* Arguments from `at` on; false: not two positive numbers each, or a window that does not fit. */
static bool read_window(struct call *c, int at, const int64_t *image, struct window *w)
{
    const int64_t **each[] = {&w->kernel, &w->dilation, &w->padding, &w->stride};
    for (int k = 0; k < 4; k++)
        if (arg_ints(c, at + k, each[k]) != 2)
            return false;
    for (int k = 0; k < 2; k++) {
        if (w->kernel[k] < 1 || w->dilation[k] < 1 || w->padding[k] < 0 || w->stride[k] < 1)
            return false;
        int64_t room = image[k] + 2 * w->padding[k] - w->dilation[k] * (w->kernel[k] - 1) - 1;
        if (room < 0)
            return false;
        w->steps[k] = room / w->stride[k] + 1;
    }
    return true;
}

static int run_im2col(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int32_t lead = self->rank - 3;
    struct window w;
    if ((lead != 0 && lead != 1) || !read_window(c, 1, self->size + lead + 1, &w))
        return CALL_FALLBACK;
    int64_t size[3] = {self->size[0]};
    size[lead] = self->size[lead] * w.kernel[0] * w.kernel[1];
    size[lead + 1] = w.steps[0] * w.steps[1];
    const struct npu_tensor *out = result(c, 0, self->dtype, self->rank - 1, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self},
                                        {.ints = {w.kernel, 2}},
                                        {.ints = {w.dilation, 2}},
                                        {.ints = {w.padding, 2}},
                                        {.ints = {w.stride, 2}},
                                        {.t = out}});
}

static int run_col2im(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const int64_t *image;
    int32_t lead = self->rank - 2;
    struct window w;
    if ((lead != 0 && lead != 1) || arg_ints(c, 1, &image) != 2 || !read_window(c, 2, image, &w))
        return CALL_FALLBACK;
    int64_t taps = w.kernel[0] * w.kernel[1], size[4] = {self->size[0]};
    if (self->size[lead] % taps || self->size[lead + 1] != w.steps[0] * w.steps[1] ||
        !(is_floating(self->dtype) || self->dtype == ACL_COMPLEX64 || self->dtype == ACL_COMPLEX128))
        return CALL_FALLBACK;
    size[lead] = self->size[lead] / taps;
    size[lead + 1] = image[0];
    size[lead + 2] = image[1];
    const struct npu_tensor *out = result(c, 0, self->dtype, self->rank + 1, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self},
                                        {.ints = {image, 2}},
                                        {.ints = {w.kernel, 2}},
                                        {.ints = {w.dilation, 2}},
                                        {.ints = {w.padding, 2}},
                                        {.ints = {w.stride, 2}},
                                        {.t = out}});
}

static int run_unfold_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0);
    const int64_t *size;
    int32_t rank = (int32_t)arg_ints(c, 1, &size), dim = wrap_dim(c, arg_int(c, 2, 0), rank);
    if (dim < 0)
        return CALL_ERROR;
    if (grad->rank != rank + 1 || !is_floating(grad->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *out = result(c, 0, grad->dtype, rank, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad},
                                        {.ints = {size, (size_t)rank}},
                                        {.i = dim},
                                        {.i = arg_int(c, 3, 1)},
                                        {.i = arg_int(c, 4, 1)},
                                        {.t = out}});
}

static struct aclnn constant_pad = ACLNN("aclnnConstantPadNd", "TIST");
static struct aclnn reflect1 = ACLNN("aclnnReflectionPad1d", "TIT"), reflect2 = ACLNN("aclnnReflectionPad2d", "TIT");
static struct aclnn reflect3 = ACLNN("aclnnReflectionPad3d", "TIT"), replicate1 = ACLNN("aclnnReplicationPad1d", "TIT");
static struct aclnn replicate2 = ACLNN("aclnnReplicationPad2d", "TIT"),
                    replicate3 = ACLNN("aclnnReplicationPad3d", "TIT");
static struct aclnn reflect1_back = ACLNN("aclnnReflectionPad1dBackward", "TTIT");
static struct aclnn reflect2_back = ACLNN("aclnnReflectionPad2dBackward", "TTIT");
static struct aclnn reflect3_back = ACLNN("aclnnReflectionPad3dBackward", "TTIT");
static struct aclnn replicate1_back = ACLNN("aclnnReplicationPad1dBackward", "TTIT");
static struct aclnn replicate2_back = ACLNN("aclnnReplicationPad2dBackward", "TTIT");
static struct aclnn replicate3_back = ACLNN("aclnnReplicationPad3dBackward", "TTIT");
static struct aclnn im2col = ACLNN("aclnnIm2col", "TIIIIT"), col2im = ACLNN("aclnnIm2colBackward", "TIIIIIT");
static struct aclnn unfold_grad = ACLNN("aclnnUnfoldGrad", "TIiiiT");

enum { ONE = 1 << SPATIAL_SHIFT, TWO = 2 << SPATIAL_SHIFT, THREE = 3 << SPATIAL_SHIFT };

static const struct aten_row rows[] = {
    {"constant_pad_nd", run_constant_pad, &constant_pad, 0, false},
    {"reflection_pad1d", run_pad, &reflect1, REFLECT | ONE, false},
    {"reflection_pad1d.out", run_pad, &reflect1, REFLECT | ONE, false},
    {"reflection_pad2d", run_pad, &reflect2, REFLECT | TWO, false},
    {"reflection_pad2d.out", run_pad, &reflect2, REFLECT | TWO, false},
    {"reflection_pad3d", run_pad, &reflect3, REFLECT | THREE, false},
    {"reflection_pad3d.out", run_pad, &reflect3, REFLECT | THREE, false},
    {"replication_pad1d", run_pad, &replicate1, ONE, false},
    {"replication_pad1d.out", run_pad, &replicate1, ONE, false},
    {"replication_pad2d", run_pad, &replicate2, TWO, false},
    {"replication_pad2d.out", run_pad, &replicate2, TWO, false},
    {"replication_pad3d", run_pad, &replicate3, THREE, false},
    {"replication_pad3d.out", run_pad, &replicate3, THREE, false},
    {"reflection_pad1d_backward", run_pad, &reflect1_back, REFLECT | ONE | BACKWARD, false},
    {"reflection_pad1d_backward.grad_input", run_pad, &reflect1_back, REFLECT | ONE | BACKWARD, false},
    {"reflection_pad2d_backward", run_pad, &reflect2_back, REFLECT | TWO | BACKWARD, false},
    {"reflection_pad2d_backward.grad_input", run_pad, &reflect2_back, REFLECT | TWO | BACKWARD, false},
    {"reflection_pad3d_backward", run_pad, &reflect3_back, REFLECT | THREE | BACKWARD, false},
    {"reflection_pad3d_backward.grad_input", run_pad, &reflect3_back, REFLECT | THREE | BACKWARD, false},
    {"replication_pad1d_backward", run_pad, &replicate1_back, ONE | BACKWARD, false},
    {"replication_pad1d_backward.grad_input", run_pad, &replicate1_back, ONE | BACKWARD, false},
    {"replication_pad2d_backward", run_pad, &replicate2_back, TWO | BACKWARD, false},
    {"replication_pad2d_backward.grad_input", run_pad, &replicate2_back, TWO | BACKWARD, false},
    {"replication_pad3d_backward", run_pad, &replicate3_back, THREE | BACKWARD, false},
    {"replication_pad3d_backward.grad_input", run_pad, &replicate3_back, THREE | BACKWARD, false},
    {"im2col", run_im2col, &im2col, 0, false},
    {"im2col.out", run_im2col, &im2col, 0, false},
    {"col2im", run_col2im, &col2im, 0, false},
    {"col2im.out", run_col2im, &col2im, 0, false},
    {"unfold_backward", run_unfold_backward, &unfold_grad, 0, false},
};
ATEN_FAMILY(pad_family, rows);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions: arguments checked here and seen as the two sides of conv_run.h, which does the work. A transposed
 * convolution's input is the side of pixels, its output the side of images. */
#include "ops/conv.h"

#include "ops/conv_run.h"

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
enum { TYPES = sizeof types / sizeof types[0] };

struct numbers {
    const aclIntArray *stride, *padding, *dilation, *output_padding;
    bool transposed;
    int64_t groups;
};

static aclDataType compute_type(aclDataType type)
{
    return type == ACL_DOUBLE || type == ACL_INT64 ? type : ACL_FLOAT;
}

/* One number for each of n spatial dimensions, or one for all, or (padding) two for each. */
static int spread(struct plan *plan, const char *name, const aclIntArray *list, int n, int64_t least, bool pairs,
                  int64_t otherwise, int64_t *to)
{
    for (int d = 0; d < 3; d++)
        to[d] = otherwise;
    bool paired = pairs && n > 1 && list->size == 2 * (uint64_t)n;
    if (list->size != (uint64_t)n && list->size != 1 && !paired)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to have %d elements, but got %lu.", name, n,
                         (unsigned long)list->size);
    for (int d = 0; d < n; d++) {
        int64_t value = list->value[list->size == 1 ? 0 : paired ? 2 * d : d];
        if (value < least || value > INT32_MAX)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to be %s, but got %ld.", name,
                             least ? "positive" : "non-negative", (long)value);
        to[3 - n + d] = value;
    }
    return ACLNN_SUCCESS;
}

static int shape_error(struct plan *plan, const char *what, const struct view *a, const struct view *b)
{
    char left[256], right[256];
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: %s and %s.", what,
                     shape_text(left, sizeof left, a->rank, a->dim), shape_text(right, sizeof right, b->rank, b->dim));
}

/* The convolution that leads from `in` to `out`; the shapes must fit each other and w. */
static int make_shape(struct plan *plan, const struct view *in, const struct view *out, const struct view *w,
                      const struct numbers *a, struct conv_shape *s)
{
    int n = in->rank - 2;
    const struct view *x = a->transposed ? out : in, *y = a->transposed ? in : out;
    *s = (struct conv_shape){
        .images = in->dim[0], .groups = a->groups, .channels_x = x->dim[1], .channels_y = y->dim[1]};
    if (n < 1 || n > 3 || w->rank != in->rank || out->rank != in->rank)
        return shape_error(
            plan, "Expected input, weight and output of 3, 4 or 5 dimensions alike, but got input and weight", in, w);
    TRY(spread(plan, "stride", a->stride, n, 1, false, 1, s->stride));
    TRY(spread(plan, "padding", a->padding, n, 0, true, 0, s->before));
    TRY(spread(plan, "dilation", a->dilation, n, 1, false, 1, s->dilation));
    if (a->groups < 1 || s->channels_x % a->groups || s->channels_y % a->groups)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected groups to be positive and to divide the channels %ld and %ld, but got %ld.",
                         (long)s->channels_x, (long)s->channels_y, (long)a->groups);
    if (w->dim[0] != s->channels_y || w->dim[1] != s->channels_x / a->groups || out->dim[0] != in->dim[0])
        return shape_error(plan, "Channels or batch of input and weight do not fit those of the output", in, w);
    for (int d = 0; d < 3; d++) {
        int at = d - (3 - n) + 2;
        s->kernel[d] = at < 2 ? 1 : w->dim[at];
        s->x[d] = at < 2 ? 1 : x->dim[at];
        s->y[d] = at < 2 ? 1 : y->dim[at];
        if (at < 2)
            continue;
        if (s->kernel[d] < 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected a kernel of positive sizes, but got %ld.",
                             (long)s->kernel[d]);
        int64_t reach = (s->kernel[d] - 1) * s->dilation[d] + 1;
        bool paired = a->padding->size == 2 * (uint64_t)n && n > 1;
        int64_t after = paired ? a->padding->value[2 * (at - 2) + 1] : s->before[d];
        int64_t room = s->x[d] + s->before[d] + after - reach;
        int64_t most = room >= 0 ? room / s->stride[d] + 1 : 0; /* a transposed one may be padded further */
        bool fits = most > 0 && (a->transposed ? s->y[d] <= most : s->y[d] == most);
        if (!fits && !(view_count(in) == 0 || view_count(out) == 0))
            return shape_error(plan, "The sizes of input and output do not fit the convolution's numbers", in, out);
    }
    return ACLNN_SUCCESS;
}

/* [images][channels][depth][height][width] whatever the number of dimensions. */
static struct view *five(struct plan *plan, const struct view *v)
{
    struct view *f = plan_alias(plan, v, 0);
    int n = v->rank - 2;
    f->rank = 5;
    for (int d = 2; d < 5; d++) {
        int from = d - (3 - n);
        f->dim[d] = from < 2 ? 1 : v->dim[from];
        f->stride[d] = from < 2 ? 0 : v->stride[from];
    }
    return f;
}

static struct view *ready(struct plan *plan, const struct view *v, aclDataType type)
{
    return plan_contiguous(plan, five(plan, v), type);
}

static struct view *bias_of(struct plan *plan, const aclTensor *bias, aclDataType type)
{
    return bias ? plan_contiguous(plan, plan_view(plan, bias), type) : NULL;
}

static int forward(struct plan *plan, const aclTensor *input, const aclTensor *weight, const aclTensor *bias,
                   const aclTensor *output, const struct numbers *a, bool fixed)
{
    struct conv_shape s;
    struct view *in = plan_view(plan, input), *w = plan_view(plan, weight), *out = plan_view(plan, output);
    TRY(make_shape(plan, in, out, w, a, &s));
    if (bias && (bias->view.rank != 1 || bias->view.dim[0] != out->dim[1]))
        return shape_error(plan, "Expected bias to have one element for each channel of the output, but got",
                           &bias->view, out);
    aclDataType type = compute_type(out->dtype);
    struct view *result = five(plan, out), *target = plan_output(plan, result, type);
    struct conv_views v = {.w = ready(plan, w, type), .fixed = fixed};
    if (type == ACL_INT64) {
        struct view *given = ready(plan, in, type);
        v.x = a->transposed ? target : given;
        v.y = a->transposed ? given : target;
        plan_conv_whole(plan, &s, v, bias_of(plan, bias, type), a->transposed);
    } else if (a->transposed) {
        v.y = ready(plan, in, type);
        v.x = target;
        plan_conv_x(plan, &s, v, bias_of(plan, bias, type));
    } else {
        v.x = five(plan, in);
        v.y = target;
        plan_conv_y(plan, &s, v, bias_of(plan, bias, type));
    }
    plan_finish(plan, target, result);
    return ACLNN_SUCCESS;
}

/* Tensors of one floating type. */
static int check_types(struct plan *plan, const union op_value *arg, const int *params, int n)
{
    for (int i = 0; i < n; i++) {
        if (!arg[params[i]].tensor)
            continue;
        TRY(plan_check_dtype(plan, params[i], types, TYPES));
        aclDataType a = arg[params[0]].tensor->view.dtype, b = arg[params[i]].tensor->view.dtype;
        if (a != b && (a == ACL_DOUBLE || b == ACL_DOUBLE))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensors of one data type, but got %s and %s.",
                             dtype_name(a), dtype_name(b));
    }
    return ACLNN_SUCCESS;
}

/* int64 goes with itself. */
static bool whole(const union op_value *arg)
{
    static const int params[] = {0, 1, 2, 9};
    for (int i = 0; i < 4; i++)
        if (arg[params[i]].tensor && arg[params[i]].tensor->view.dtype != ACL_INT64)
            return false;
    return true;
}

/* The row's code: the weight is fixed. */
int prepare_convolution(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    if (!whole(arg))
        TRY(check_types(plan, arg, (int[]){0, 1, 2, 9}, 4));
    struct numbers a = {arg[3].ints, arg[4].ints, arg[5].ints, arg[7].ints, arg[6].i, arg[8].i};
    return forward(plan, arg[0].tensor, arg[1].tensor, arg[2].tensor, arg[9].tensor, &a, row->code == 1);
}

int prepare_conv_depthwise(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    TRY(check_types(plan, arg, (int[]){0, 1, 3, 7}, 4));
    const struct view *self = &arg[0].tensor->view;
    struct numbers a = {arg[4].ints, arg[5].ints, arg[6].ints, NULL, false, self->rank > 1 ? self->dim[1] : 1};
    return forward(plan, arg[0].tensor, arg[1].tensor, arg[3].tensor, arg[7].tensor, &a, false);
}

/* A gradient that is asked for must be there and have that shape. */
static int check_gradient(struct plan *plan, const union op_value *arg, int p, bool wanted, const struct view *like)
{
    if (!wanted)
        return ACLNN_SUCCESS;
    if (!arg[p].tensor)
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR,
                         "Expected a proper Tensor for a gradient that outputMask asks for.");
    return plan_check_shape(plan, p, like->rank, like->dim);
}

int prepare_convolution_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclBoolArray *mask = arg[10].bools;
    struct conv_shape s;
    TRY(check_types(plan, arg, (int[]){0, 1, 2, 12, 13, 14}, 6));
    if (mask->size != 3)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputMask to have 3 elements, but got %lu.",
                         (unsigned long)mask->size);
    struct numbers a = {arg[4].ints, arg[5].ints, arg[6].ints, arg[8].ints, arg[7].i, arg[9].i};
    struct view *g = plan_view(plan, arg[0].tensor), *in = plan_view(plan, arg[1].tensor),
                *w = plan_view(plan, arg[2].tensor);
    TRY(make_shape(plan, in, g, w, &a, &s));
    struct view channels = view_make(ACL_FLOAT, 1, &g->dim[1]);
    TRY(check_gradient(plan, arg, 12, mask->value[0], in));
    TRY(check_gradient(plan, arg, 13, mask->value[1], w));
    TRY(check_gradient(plan, arg, 14, mask->value[2], &channels));
    aclDataType type = compute_type(g->dtype);
    struct view *dense = ready(plan, g, type);
    if (mask->value[0]) {
        struct view *out = five(plan, plan_view(plan, arg[12].tensor)), *target = plan_output(plan, out, type);
        struct conv_views v = {.w = ready(plan, w, type)};
        if (a.transposed) {
            v.x = dense;
            v.y = target;
            plan_conv_y(plan, &s, v, NULL);
        } else {
            v.x = target;
            v.y = dense;
            plan_conv_x(plan, &s, v, NULL);
        }
        plan_finish(plan, target, out);
    }
    if (mask->value[1]) {
        struct view *out = five(plan, plan_view(plan, arg[13].tensor)), *target = plan_output(plan, out, type);
        struct conv_views v = {.w = target};
        v.x = a.transposed ? dense : five(plan, in);
        v.y = a.transposed ? ready(plan, in, type) : dense;
        plan_conv_w(plan, &s, v);
        plan_finish(plan, target, out);
    }
    if (mask->value[2]) {
        struct view *out = plan_view(plan, arg[14].tensor), *target = plan_output(plan, out, type);
        int64_t pixels = a.transposed ? s.x[0] * s.x[1] * s.x[2] : s.y[0] * s.y[1] * s.y[2];
        plan_channel_sums(plan, target, dense, s.images, channels.dim[0], pixels);
        plan_finish(plan, target, out);
    }
    return ACLNN_SUCCESS;
}

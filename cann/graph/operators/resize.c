/* SPDX-License-Identifier: BSD-3-Clause */
/* Resize and Upsample, an axis after the other: which elements a place of the result is made of, and with which
 * weights, is worked out when the operator is planned; the nearest ones are fetched by aclnn, sums are made here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_index_select.h"
#include "graph/operators/row.h"
#include "runtime/door.h"

enum coordinates { HALF_PIXEL, HALF_PIXEL_SYMMETRIC, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, CROP, COORDINATES };
enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, ROUNDINGS };

static const char *const coordinate_names[] = {
    [HALF_PIXEL] = "half_pixel",
    [HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
    [PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
    [ALIGN_CORNERS] = "align_corners",
    [ASYMMETRIC] = "asymmetric",
    [CROP] = "tf_crop_and_resize",
};
static const char *const rounding_names[] = {
    [PREFER_FLOOR] = "round_prefer_floor", [PREFER_CEIL] = "round_prefer_ceil", [FLOOR] = "floor", [CEIL] = "ceil"};

struct resize {
    char mode; /* n, l, c */
    enum coordinates coordinates;
    enum rounding rounding;
    bool antialias, excludes;
    double cubic, outside;
    double scale[OP_RANK], begin[OP_RANK], end[OP_RANK]; /* of the region, in tf_crop_and_resize */
    int64_t size[OP_RANK];
};

/* Where place i of n_out lies among the n_in elements. */
static double source(const struct resize *r, int axis, int64_t n_in, int64_t n_out, int64_t i)
{
    double scale = r->scale[axis], x = (double)i, in = (double)n_in, out = scale * in;
    switch (r->coordinates) {
    case ALIGN_CORNERS:
        return out == 1 ? 0 : x * (in - 1) / (out - 1);
    case ASYMMETRIC:
        return x / scale;
    case CROP: {
        double width = (r->end[axis] - r->begin[axis]) * (in - 1);
        return r->begin[axis] * (in - 1) + (out == 1 ? width / 2 : x * width / (out - 1));
    }
    case PYTORCH_HALF_PIXEL:
        return out == 1 ? -0.5 : (x + 0.5) / scale - 0.5;
    case HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - (double)n_out / out) + (x + 0.5) / scale - 0.5;
    default:
        return (x + 0.5) / scale - 0.5;
    }
}

static double nearest(enum rounding rounding, double x)
{
    switch (rounding) {
    case FLOOR:
        return floor(x);
    case CEIL:
        return ceil(x);
    case PREFER_CEIL:
        return floor(x + 0.5);
    default:
        return ceil(x - 0.5);
    }
}

static double kernel(const struct resize *r, double x)
{
    double a = r->cubic;
    x = fabs(x);
    if (r->mode == 'l')
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Elements and weights of an axis: taps of each place; an index of -1 at the first: the value for outside. */
struct taps {
    int64_t n_in, n_out;
    int count;
    int32_t *index;
    float *weight;
};

static bool make_taps(const struct resize *r, int axis, int64_t n_in, struct taps *t)
{
    double shrink = r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1, reach = r->mode == 'l' ? 1 : 2;
    int first = r->mode == 'n' ? 0 : (int)floor(-reach / shrink) + 1;
    *t = (struct taps){n_in, r->size[axis], r->mode == 'n' ? 1 : 2 - 2 * first, NULL, NULL};
    t->index = malloc(sizeof *t->index * (size_t)(t->n_out * t->count + 1));
    t->weight = malloc(sizeof *t->weight * (size_t)(t->n_out * t->count + 1));
    for (int64_t i = 0; t->index && t->weight && i < t->n_out; i++) {
        int32_t *index = t->index + i * t->count;
        float *weight = t->weight + i * t->count;
        double x = source(r, axis, n_in, t->n_out, i), base = ceil(x) - 1, sum = 0;
        bool outside = r->coordinates == CROP && (x < 0 || x > (double)(n_in - 1));
        for (int k = 0; k < t->count; k++) {
            double at = r->mode == 'n' ? nearest(r->rounding, x) : base + first + k;
            double w = r->mode == 'n' ? 1 : kernel(r, (at - x) * shrink);
            if (r->excludes && (at < 0 || at >= (double)n_in))
                w = 0;
            sum += w;
            weight[k] = (float)w;
            index[k] = outside ? -1 : (int32_t)fmin(fmax(at, 0), (double)(n_in - 1));
        }
        if ((r->antialias || r->excludes) && sum != 0)
            for (int k = 0; k < t->count; k++)
                weight[k] = (float)((double)weight[k] / sum);
    }
    return t->index && t->weight;
}

struct resample {
    const float *x, *weight;
    const int32_t *index;
    float *y;
    int64_t outer, n_in, n_out, inner;
    int count;
    float outside;
};

static void resample_rows(void *arg, int64_t begin, int64_t end)
{
    const struct resample *r = arg;
    for (int64_t row = begin; row < end; row++) {
        int64_t place = row % r->n_out;
        const float *x = r->x + row / r->n_out * r->n_in * r->inner;
        float *restrict y = r->y + row * r->inner;
        const int32_t *index = r->index + place * r->count;
        const float *weight = r->weight + place * r->count;
        if (index[0] < 0) {
            for (int64_t i = 0; i < r->inner; i++)
                y[i] = r->outside;
            continue;
        }
        for (int k = 0; k < r->count; k++) {
            const float *from = x + index[k] * r->inner;
            float w = weight[k];
            for (int64_t i = 0; i < r->inner; i++)
                y[i] = (k ? y[i] : 0) + w * from[i];
        }
    }
}

static int run_resample(void *arg)
{
    struct resample r = *(const struct resample *)arg;
    r.x = device_address(r.x);
    r.y = device_address(r.y);
    r.index = device_address(r.index);
    r.weight = device_address(r.weight);
    parallel(r.outer * r.n_out, 1 + 4096 / (r.inner * r.count + 1), resample_rows, &r);
    return 0;
}

/* x with the axis resized. */
static struct operand *resize_axis(struct op *op, const struct resize *r, struct operand *x, int axis)
{
    struct taps t = {0};
    int64_t dim[OP_RANK], n;
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = r->size[axis];
    struct operand *y = op_temp(op, x->dtype, x->rank, dim);
    if (!op_runs(op))
        return y;
    if (!make_taps(r, axis, x->dim[axis], &t))
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
    n = t.n_out * t.count;
    struct operand *index = op_temp(op, ACL_INT32, 1, &n);
    if (!op_runs(op)) {
        free(t.index);
        free(t.weight);
        return y;
    }
    op_write(op, index, t.index);
    if (r->mode == 'n' && r->coordinates != CROP)
        OP_CALL(op, aclnnIndexSelect, op_acl(op, x), axis, op_acl(op, index), op_out(op, y));
    else {
        struct operand *weight = op_temp(op, ACL_FLOAT, 1, &n);
        op_write(op, weight, t.weight);
        struct resample s = {op_data(op, x),   op_data(op, weight),           op_data(op, index),
                             op_data(op, y),   op_span(x, 0, axis),           t.n_in,
                             t.n_out,          op_span(x, axis + 1, x->rank), t.count,
                             (float)r->outside};
        op_host(op, "Resize", run_resample, &s, sizeof s);
    }
    free(t.index);
    free(t.weight);
    return y;
}

static int word(struct op *op, const char *name, const char *otherwise, const char *const *words, int n)
{
    const char *given = op_string(op, name, otherwise);
    for (int i = 0; i < n; i++)
        if (strcmp(given, words[i]) == 0)
            return i;
    op_fail(op, GRAPH_UNSUPPORTED, "%s \"%s\"", name, given);
    return 0;
}

static void read_mode(struct op *op, struct resize *r)
{
    bool old = op_version(op) < 11; /* also Upsample */
    r->mode = *op_string(op, "mode", "nearest");
    if (r->mode != 'n' && r->mode != 'l' && r->mode != 'c')
        op_fail(op, GRAPH_UNSUPPORTED, "mode \"%s\"", op_string(op, "mode", "nearest"));
    r->coordinates =
        old ? ASYMMETRIC
            : (enum coordinates)word(op, "coordinate_transformation_mode", "half_pixel", coordinate_names, COORDINATES);
    r->rounding =
        old ? FLOOR : (enum rounding)word(op, "nearest_mode", "round_prefer_floor", rounding_names, ROUNDINGS);
    r->antialias = op_int(op, "antialias", 0) && r->mode != 'n';
    r->excludes = op_int(op, "exclude_outside", 0) && r->mode == 'c';
    r->cubic = op_float(op, "cubic_coeff_a", -0.75);
    r->outside = op_float(op, "extrapolation_value", 0);
}

/* Sizes or scales of the axes named (NULL: all, in order). False when they are not known or wrong. */
static bool read_sizes(struct op *op, const struct operand *x, struct resize *r)
{
    bool old = op_version(op) < 11;
    size_t n_scales = 0, n_sizes = 0, n_axes = 0, n_roi = 0, n_attribute = 0;
    const float *attribute = node_floats(op_node(op), "scales", &n_attribute);
    const double *scales = attribute ? NULL : op_numbers(op, old ? 1 : 2, &n_scales);
    const int64_t *sizes = old ? NULL : op_whole(op, 3, &n_sizes), *axes = op_ints(op, "axes", &n_axes);
    const double *roi = old ? NULL : op_numbers(op, 1, &n_roi);
    if (op_open(op))
        return false;
    if (attribute)
        n_scales = n_attribute;
    size_t n = n_sizes ? n_sizes : n_scales;
    if (n != (axes ? n_axes : (size_t)x->rank)) {
        op_fail(op, GRAPH_INVALID, "%zu sizes or scales for %zu axes", n, axes ? n_axes : (size_t)x->rank);
        return false;
    }
    for (int32_t i = 0; i < x->rank; i++) {
        r->scale[i] = r->end[i] = 1;
        r->begin[i] = 0;
        r->size[i] = x->dim[i];
    }
    const char *policy = op_string(op, "keep_aspect_ratio_policy", "stretch");
    double common = 0;
    for (size_t i = 0; i < n; i++) {
        int a = op_axis(op, axes ? axes[i] : (int64_t)i, x->rank);
        r->scale[a] = n_sizes     ? (double)sizes[i] / (double)(x->dim[a] ? x->dim[a] : 1)
                      : attribute ? (double)attribute[i]
                                  : scales[i];
        bool smaller = common == 0 || (strcmp(policy, "not_larger") == 0 ? r->scale[a] < common : r->scale[a] > common);
        common = smaller ? r->scale[a] : common;
        if (!(r->scale[a] > 0) || r->scale[a] > 1e9) {
            op_fail(op, GRAPH_INVALID, "scale %g of axis %d", r->scale[a], a);
            return false;
        }
        if (x->dim[a] == 0 || r->scale[a] * (double)x->dim[a] > 0x1p40) {
            op_fail(op, GRAPH_INVALID, "axis %d of %lld times %g", a, (long long)x->dim[a], r->scale[a]);
            return false;
        }
        r->size[a] = n_sizes ? sizes[i] : (int64_t)floor(r->scale[a] * (double)x->dim[a]);
        if (n_roi == 2 * n) {
            r->begin[a] = roi[i];
            r->end[a] = roi[n + i];
        }
    }
    for (size_t i = 0; i < n && n_sizes && strcmp(policy, "stretch") != 0; i++) {
        int a = op_axis(op, axes ? axes[i] : (int64_t)i, x->rank);
        if (common * (double)x->dim[a] > 0x1p40) {
            op_fail(op, GRAPH_INVALID, "axis %d of %lld times %g", a, (long long)x->dim[a], common);
            return false;
        }
        r->scale[a] = common;
        r->size[a] = (int64_t)floor(common * (double)x->dim[a] + 0.5);
    }
    return true;
}

static void define_resize(struct op *op)
{
    struct operand *x = op_in(op, 0), *at = x;
    struct resize r = {0};
    read_mode(op, &r);
    if (!read_sizes(op, x, &r)) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, r.size);
    bool fetch = r.mode == 'n' && r.coordinates != CROP;
    if (op_count(y) == 0)
        return;
    if (!fetch)
        at = op_cast(op, at, ACL_FLOAT);
    for (int32_t i = 0; i < x->rank; i++)
        if (r.size[i] != x->dim[i] || r.scale[i] != 1 || (r.coordinates == CROP && (r.begin[i] != 0 || r.end[i] != 1)))
            at = resize_axis(op, &r, at, i);
    op_copy(op, y, at);
}

const struct operator_row operators_resize[] = {
    ROW("Resize", 10, 0, 0, 1, 4, 1, 1, define_resize, NULL, 0),
    ROW("Upsample", 7, 0, 0, 1, 2, 1, 1, define_resize, NULL, 0),
    {0},
};

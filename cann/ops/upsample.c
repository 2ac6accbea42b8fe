/* SPDX-License-Identifier: BSD-3-Clause */
/* Interpolation, one axis after the other (kernels/upsample.h); the nearest neighbour alone moves elements (remap).
 * Positions and weights are computed in float, for float64 in double, as PyTorch does (ATen/native/UpSample.h; the
 * antialiasing filters are Pillow's): at the borders between two pixels a rounding decides. uint8 has 16-bit weights of
 * the largest precision that holds them, and passes over the width before the height. */
#include "ops/upsample.h"

#include <math.h>
#include <string.h>

#include "kernels/upsample.h"
#include "ops/remap.h"

enum { AXES = 3, GRAIN = 16384 };

struct axis_rule {
    int mode;
    bool align, wide; /* wide: computed in double */
    double scale;     /* output / input; ≤ 0: by the sizes */
    int64_t in, out;
};

/* Rounds to the type that positions are computed in. */
static double narrow(const struct axis_rule *r, double x)
{
    return r->wide ? x : (double)(float)x;
}

static double ratio(const struct axis_rule *r, bool align)
{
    if (align)
        return r->out > 1 ? narrow(r, narrow(r, (double)(r->in - 1)) / (double)(r->out - 1)) : 0;
    return narrow(r, r->scale > 0 ? 1.0 / r->scale : narrow(r, (double)r->in) / (double)r->out);
}

static int64_t nearest(const struct axis_rule *r, int64_t o)
{
    bool exact = r->mode == UPSAMPLE_EXACT;
    float scale = (float)(r->scale > 0 ? 1.0 / r->scale : (double)((float)r->in / (float)r->out));
    if (!exact && r->in == r->out)
        return o;
    if (!exact && r->out == 2 * r->in)
        return o / 2;
    float at = exact ? floorf((float)(((double)o + 0.5) * (double)scale)) : floorf((float)o * scale);
    return at < (float)r->in ? (int64_t)at : r->in - 1;
}

/* ---- weights ---- */

static double cubic_near(double x, double a)
{
    return ((a + 2) * x - (a + 3)) * x * x + 1;
}

static double cubic_far(double x, double a)
{
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static double filter(int mode, double x)
{
    x = fabs(x);
    if (mode == UPSAMPLE_LINEAR_AA)
        return x < 1 ? 1 - x : 0;
    return x < 1 ? cubic_near(x, -0.5) : x < 2 ? cubic_far(x, -0.5) : 0;
}

/* The taps of one position, in double. */
struct taps {
    int64_t from, count;
    double weight[4], *many; /* many: when there may be more */
};

static void add_tap(const struct axis_rule *r, struct taps *t, int64_t at, double weight)
{
    at = at < 0 ? 0 : at >= r->in ? r->in - 1 : at;
    double *w = t->many ? t->many : t->weight;
    if (!t->count)
        t->from = at;
    if (t->count && at == t->from + t->count - 1)
        w[t->count - 1] += weight;
    else
        w[t->count++] = weight;
}

static void smooth_taps(const struct axis_rule *r, int64_t o, struct taps *t)
{
    double scale = ratio(r, r->align), support = (r->mode == UPSAMPLE_CUBIC_AA ? 2 : 1) * (scale >= 1 ? scale : 1);
    double center = narrow(r, scale * ((double)o + 0.5)), total = 0, shrink = narrow(r, scale >= 1 ? 1 / scale : 1);
    int64_t from = (int64_t)(center - support + 0.5), end = (int64_t)(center + support + 0.5);
    from = from < 0 ? 0 : from;
    end = end > r->in ? r->in : end;
    t->from = from;
    t->count = end - from;
    for (int64_t k = 0; k < t->count; k++)
        total += t->many[k] = filter(r->mode, ((double)(from + k) - center + 0.5) * shrink);
    for (int64_t k = 0; k < t->count && total != 0; k++)
        t->many[k] /= total;
}

static void point_taps(const struct axis_rule *r, int64_t o, struct taps *t)
{
    bool cubic = r->mode == UPSAMPLE_CUBIC;
    double scale = ratio(r, r->align), at = narrow(r, scale * (double)o);
    if (!r->align)
        at = narrow(r, narrow(r, scale * ((double)o + 0.5)) - 0.5);
    if (!cubic && at < 0)
        at = 0;
    int64_t i = (int64_t)floorf((float)at);
    i = i < r->in - 1 ? i : r->in - 1;
    double part = narrow(r, at - (double)i);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    if (cubic) {
        add_tap(r, t, i - 1, cubic_far(part + 1, -0.75));
        add_tap(r, t, i, cubic_near(part, -0.75));
        add_tap(r, t, i + 1, cubic_near(1 - part, -0.75));
        add_tap(r, t, i + 2, cubic_far(2 - part, -0.75));
    } else {
        add_tap(r, t, i, narrow(r, 1 - part));
        add_tap(r, t, i + 1, part);
    }
}

static void find_taps(const struct axis_rule *r, int64_t o, struct taps *t)
{
    bool kept =
        r->in == r->out && (r->mode == UPSAMPLE_LINEAR || r->mode >= UPSAMPLE_LINEAR_AA); /* whatever the scale */
    t->count = 0;
    if (kept)
        add_tap(r, t, o, 1);
    else if (r->mode >= UPSAMPLE_LINEAR_AA)
        smooth_taps(r, o, t);
    else if (r->mode <= UPSAMPLE_EXACT)
        add_tap(r, t, nearest(r, o), 1);
    else
        point_taps(r, o, t);
}

/* How many taps a position may have at most. */
static int64_t most_taps(const struct axis_rule *r)
{
    if (r->mode < UPSAMPLE_LINEAR_AA)
        return 4;
    double scale = ratio(r, r->align);
    int64_t most = 2 * (int64_t)ceil((r->mode == UPSAMPLE_CUBIC_AA ? 2 : 1) * (scale >= 1 ? scale : 1)) + 1;
    return most < r->in ? most : r->in;
}

/* ---- lists ---- */

static void store_weight(void *list, aclDataType type, int64_t k, double w, int precision)
{
    if (type == ACL_DOUBLE)
        ((double *)list)[k] = w;
    else if (type == ACL_UINT8)
        ((int16_t *)list)[k] = (int16_t)(w * (1 << precision) + (w < 0 ? -0.5 : 0.5));
    else
        ((float *)list)[k] = (float)w;
}

static int best_precision(double largest)
{
    int precision = 0;
    while (precision < 22 && (int)(0.5 + largest * (1 << (precision + 1))) < 1 << 15)
        precision++;
    return precision;
}

/* The axis's lists, of output positions or, turned, of input positions. */
static struct upsample_axis *make_axis(struct plan *plan, const struct axis_rule *r, aclDataType type, bool turned)
{
    struct upsample_axis *a = plan_alloc(plan, sizeof *a);
    int64_t most = most_taps(r), rows = turned ? r->in : r->out;
    struct taps t = {.many = most > 4 ? plan_alloc(plan, (size_t)most * sizeof(double)) : NULL};
    int64_t *first = plan_alloc(plan, (size_t)(rows + 2) * sizeof *first), count = 0;
    double largest = 0;
    if (!t.many && r->mode >= UPSAMPLE_LINEAR_AA)
        t.many = t.weight;
    for (int64_t o = 0; o < r->out; o++) {
        find_taps(r, o, &t);
        const double *w = t.many ? t.many : t.weight;
        for (int64_t k = 0; k < t.count; k++) {
            largest = w[k] > largest ? w[k] : largest;
            first[(turned ? t.from + k : o) + 2]++;
        }
        count += t.count;
    }
    for (int64_t i = 2; i <= rows; i++)
        first[i] += first[i - 1];
    int64_t *at = plan_alloc(plan, (size_t)(count + 1) * sizeof *at);
    void *weight = plan_alloc(plan, (size_t)(count + 1) * sizeof(double));
    int precision = best_precision(largest);
    for (int64_t o = 0; o < r->out; o++) {
        find_taps(r, o, &t);
        for (int64_t k = 0; k < t.count; k++) {
            int64_t slot = first[(turned ? t.from + k : o) + 1]++;
            at[slot] = turned ? o : t.from + k;
            store_weight(weight, type, slot, t.many ? t.many[k] : t.weight[k], precision);
        }
    }
    *a = (struct upsample_axis){turned ? r->out : r->in, rows, first, at, weight, precision};
    return a;
}

/* ---- steps ---- */

struct axis_job {
    const struct upsample_kernels *kernels;
    const struct upsample_axis *axis;
    const struct view *in, *out;
    int64_t rows, inner;
};

static void axis_piece(void *arg, int64_t begin, int64_t end)
{
    struct axis_job *job = arg;
    job->kernels->axis(job->axis, job->out->dtype, job->in->data, job->out->data, job->inner, begin, end);
}

static int run_axis(void *arg)
{
    struct axis_job *job = arg;
    parallel(job->rows, GRAIN / job->inner + 1, axis_piece, job);
    return ACLNN_SUCCESS;
}

/* One pass along dimension d of dense in into dense out. */
static void add_axis(struct plan *plan, const struct upsample_axis *axis, struct view *out, struct view *in, int d)
{
    struct axis_job *job = plan_alloc(plan, sizeof *job);
    *job = (struct axis_job){ISA_PICK(upsample_kernels), axis, in, out, 1, 1};
    for (int k = 0; k < out->rank; k++)
        *(k > d ? &job->inner : &job->rows) *= out->dim[k];
    int64_t taps = axis->first[axis->out];
    plan_step(plan, run_axis, job, (uint64_t)(job->rows / axis->out * taps * job->inner + job->rows * job->inner) / 4);
}

/* Are the channels (dimension 1) innermost in memory? Then the passes run over images in that order. */
static bool channels_inside(const struct view *v)
{
    int64_t step = v->dim[1];
    if (v->rank < 4 || v->dim[1] == 1 || v->stride[1] != 1)
        return false;
    for (int d = v->rank - 1; d >= 2; step *= v->dim[d--])
        if (v->dim[d] != 1 && v->stride[d] != step)
            return false;
    return true;
}

/* Moves the channels behind the image. */
static struct view *channels_behind(struct plan *plan, const struct view *v)
{
    struct view *to = plan_alias(plan, v, 0);
    for (int d = 1; d < v->rank; d++) {
        int from = d == v->rank - 1 ? 1 : d + 1;
        to->dim[d] = v->dim[from];
        to->stride[d] = v->stride[from];
    }
    return to;
}

/* All passes that change something; the last writes out. */
static void add_passes(struct plan *plan, struct axis_rule *rule, int axes, struct view *out, struct view *in,
                       bool turned)
{
    bool behind = channels_inside(turned ? out : in);
    aclDataType type = out->dtype == ACL_DOUBLE || out->dtype == ACL_UINT8 ? out->dtype : ACL_FLOAT;
    int first_dim = behind ? 1 : 2, todo[AXES], left = 0;
    if (behind) {
        out = channels_behind(plan, out);
        in = channels_behind(plan, in);
    }
    for (int k = 0; k < axes; k++) { /* the image's last axis first; a gradient goes the other way */
        int a = turned ? k : axes - 1 - k;
        bool same = rule[a].in == rule[a].out &&
                    (rule[a].mode == UPSAMPLE_LINEAR || rule[a].mode == UPSAMPLE_NEAREST || type == ACL_UINT8);
        if (!same)
            todo[left++] = a;
    }
    if (!left) {
        plan_copy(plan, out, in);
        return;
    }
    struct view *now = plan_contiguous(plan, in, type), *end = plan_output(plan, out, type);
    for (int k = 0; k < left; k++) {
        int d = first_dim + todo[k];
        struct view *to = end;
        if (k < left - 1) {
            int64_t dim[VIEW_RANK_MAX];
            memcpy(dim, now->dim, sizeof dim);
            dim[d] = out->dim[d];
            to = plan_temp(plan, type, out->rank, dim);
        }
        add_axis(plan, make_axis(plan, &rule[todo[k]], type, turned), to, now, d);
        now = to;
    }
    plan_finish(plan, end, out);
}

static void add_moves(struct plan *plan, const struct axis_rule *rule, int axes, struct view *out, struct view *in)
{
    struct remap_job *job = remap_new(plan, out, in);
    for (int d = 0; d < out->rank; d++) {
        struct remap_dim *dim = remap_dim(job, out->dim[d], out->stride[d], in->stride[d]);
        if (d < 2)
            continue;
        int64_t *from = plan_alloc(plan, (size_t)out->dim[d] * sizeof *from);
        for (int64_t o = 0; o < out->dim[d]; o++)
            from[o] = nearest(&rule[d - 2], o) * in->stride[d];
        dim->in_at = from;
    }
    (void)axes;
    remap_finish(plan, job, false);
}

/* ---- arguments ---- */

/* The rules of all axes from the sizes before and after, and the arguments from `at` on. */
static int read_rules(struct plan *plan, const struct op_row *row, const union op_value *at, const struct view *small,
                      const struct view *large, struct axis_rule *rule)
{
    int axes = row->code & UPSAMPLE_DIMS;
    bool align = (row->code & UPSAMPLE_WITH_ALIGN) == UPSAMPLE_WITH_ALIGN;
    if (small->rank != axes + 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected a tensor of %d dimensions, but got %d.", axes + 2,
                         small->rank);
    for (int k = 0; k < axes; k++) {
        double scale = row->code & UPSAMPLE_WITH_SCALES ? at[align + k].d : 0;
        int64_t in = small->dim[2 + k], out = large->dim[2 + k];
        if (in < 1 || out < 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Input and output sizes should be greater than 0, but got %lld and %lld in dimension %d.",
                             (long long)in, (long long)out, 2 + k);
        if (scale == 1 && in != out) /* what callers pass that know no scale */
            scale = 0;
        if (!isfinite(scale) || (scale > 0 && (scale < 1e-9 || scale > 1e9)))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "The scale %g of dimension %d is out of range.", scale,
                             2 + k);
        rule[k] = (struct axis_rule){.mode = row->code & UPSAMPLE_MODE,
                                     .align = align && at[0].i,
                                     .wide = small->dtype == ACL_DOUBLE || small->dtype == ACL_UINT8,
                                     .scale = scale,
                                     .in = in,
                                     .out = out};
    }
    return ACLNN_SUCCESS;
}

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE, ACL_UINT8};

/* self, outputSize, …, out */
int prepare_upsample(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int axes = row->code & UPSAMPLE_DIMS, mode = row->code & UPSAMPLE_MODE, last = row->params - 1;
    struct view *in = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[last].tensor);
    struct axis_rule rule[AXES];
    int64_t dim[VIEW_RANK_MAX];
    TRY(plan_check_dtype(plan, 0, types, 5));
    if (arg[1].ints->size != (uint64_t)axes)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "It is expected outputSize equals to %d, but got size %d.",
                         axes, (int)arg[1].ints->size);
    if (in->rank != axes + 2 || out->dtype != in->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "%s takes a tensor of %d dimensions, and out of the same type; got %d dimensions, %s and %s.",
                         row->name, axes + 2, in->rank, dtype_name(in->dtype), dtype_name(out->dtype));
    memcpy(dim, in->dim, sizeof dim);
    for (int k = 0; k < axes; k++)
        dim[2 + k] = arg[1].ints->value[k];
    TRY(plan_check_shape(plan, last, in->rank, dim));
    TRY(read_rules(plan, row, arg + 2, in, out, rule));
    if (!view_count(out))
        return ACLNN_SUCCESS;
    if (mode <= UPSAMPLE_EXACT)
        add_moves(plan, rule, axes, out, in);
    else
        add_passes(plan, rule, axes, out, in, false);
    return ACLNN_SUCCESS;
}

/* gradOutput, outputSize, inputSize, …, gradInput */
int prepare_upsample_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int axes = row->code & UPSAMPLE_DIMS, last = row->params - 1;
    struct view *grad = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[last].tensor);
    const aclIntArray *large = arg[1].ints, *small = arg[2].ints;
    struct axis_rule rule[AXES];
    TRY(plan_check_dtype(plan, 0, types, 4));
    if (large->size != (uint64_t)axes || small->size != (uint64_t)axes + 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "It is expected outputSize and inputSize have %d and %d elements, but got %d and %d.", axes,
                         axes + 2, (int)large->size, (int)small->size);
    int64_t dim[VIEW_RANK_MAX] = {small->value[0], small->value[1]};
    memcpy(dim + 2, large->value, (size_t)axes * sizeof *dim);
    TRY(plan_check_shape(plan, 0, axes + 2, dim));
    TRY(plan_check_shape(plan, last, axes + 2, small->value));
    if (out->dtype != grad->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "The gradients must be of one type, but are %s and %s.",
                         dtype_name(grad->dtype), dtype_name(out->dtype));
    TRY(read_rules(plan, row, arg + 3, out, grad, rule));
    if (view_count(out))
        add_passes(plan, rule, axes, out, grad, true);
    return ACLNN_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Padding as plain copies: along one dimension the output has at most three parts, before, inside and after, each of
 * which walks the input with a fixed step; d dimensions make 3^d copies. Gradients add up with a fold: each input
 * position lists the output positions that came from it. Complex gradients are pairs of real ones. */
#include "ops/pad.h"

#include "ops/remap.h"

/* count outputs from `out` on come from inputs `in`, `in` + step, …; fill: from nowhere. */
struct part {
    int64_t count, out, in, step;
    bool fill;
};

/* The parts of a dimension of n elements with `before` and `after` (negative: cropped) around it. */
static int split(struct part *part, int64_t n, int64_t before, int64_t after)
{
    int64_t lead = before > 0 ? before : 0, tail = after > 0 ? after : 0, skip = before < 0 ? -before : 0;
    int64_t inside = n + (before < 0 ? before : 0) + (after < 0 ? after : 0);
    int parts = 0;
    inside = inside < 0 ? 0 : inside;
    if (lead)
        part[parts++] = (struct part){.count = lead, .out = 0, .fill = true};
    part[parts++] = (struct part){.count = inside, .out = lead, .in = skip, .step = 1};
    if (tail)
        part[parts++] = (struct part){.count = tail, .out = lead + inside, .fill = true};
    return parts;
}

/* Turns the fill parts into inputs by the mode; n is the input's length. */
static void extend(struct part *part, int parts, int mode, int64_t n)
{
    for (int k = 0; k < parts; k++) {
        struct part *p = &part[k];
        if (!p->fill)
            continue;
        bool lead = p->out == 0 && k == 0;
        p->fill = false;
        p->step = mode == PAD_REFLECT ? -1 : mode == PAD_REPLICATE ? 0 : 1;
        if (mode == PAD_REFLECT)
            p->in = lead ? p->count : n - 2;
        else if (mode == PAD_REPLICATE)
            p->in = lead ? 0 : n - 1;
        else
            p->in = lead ? n - p->count : 0;
    }
}

/* The last dimension as runs, when its parts are whole rows of memory or nothing; NULL otherwise. */
static struct remap_run *last_runs(struct plan *plan, const struct view *out, const struct view *in,
                                   const struct part *part, int parts)
{
    int32_t d = out->rank - 1;
    bool whole = d >= 0 && parts > 1 && out->stride[d] == 1 && in->stride[d] == 1;
    for (int k = 0; whole && k < parts; k++)
        whole = part[k].fill || part[k].step == 1;
    if (!whole)
        return NULL;
    struct remap_run *run = plan_alloc(plan, (size_t)parts * sizeof *run);
    for (int k = 0; k < parts; k++)
        run[k] = (struct remap_run){part[k].out, part[k].count, part[k].fill ? REMAP_FILL : part[k].in};
    return run;
}

/* One copy or fill for each combination of parts, the last dimension's together if they are runs. parts[d] ≥ 1 parts of
 * dimension d, three slots each. */
static void copy_parts(struct plan *plan, struct view *out, struct view *in, struct part (*part)[3], int *parts,
                       const aclScalar *value)
{
    int at[VIEW_RANK_MAX] = {0};
    int32_t last = out->rank - 1;
    struct remap_run *run = last_runs(plan, out, in, last < 0 ? NULL : part[last], last < 0 ? 0 : parts[last]);
    int runs = run ? parts[last] : 0;
    if (run)
        parts[last] = 1;
    for (;;) {
        struct remap_job *job = remap_new(plan, out, in);
        bool fill = false;
        for (int d = 0; d < out->rank; d++)
            fill |= part[d][at[d]].fill && !(run && d == last);
        if (value)
            remap_fill(job, value);
        if (fill) {
            int64_t *from = plan_alloc(plan, sizeof *from);
            *from = REMAP_FILL;
            remap_dim(job, 1, 0, 0)->in_at = from;
        }
        for (int d = 0; d < out->rank; d++) {
            const struct part *p = &part[d][at[d]];
            if (run && d == last) {
                remap_dim(job, out->dim[d], 1, fill ? 0 : 1);
                if (!fill)
                    remap_runs(job, run, runs);
                continue;
            }
            job->out_base += p->out * out->stride[d];
            job->in_base += fill ? 0 : p->in * in->stride[d];
            remap_dim(job, p->count, out->stride[d], fill ? 0 : p->step * in->stride[d]);
        }
        remap_finish(plan, job, fill);
        int d = out->rank - 1;
        while (d >= 0 && ++at[d] == parts[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

static int check_out(struct plan *plan, const struct view *out, const struct view *in, struct part (*part)[3],
                     const int *parts)
{
    bool fits = out->rank == in->rank && out->dtype == in->dtype;
    for (int d = 0; fits && d < out->rank; d++) {
        const struct part *last = &part[d][parts[d] - 1];
        if (out->dim[d] != last->out + last->count)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out dim %d to be %lld, but got %lld.", d,
                             (long long)(last->out + last->count), (long long)out->dim[d]);
    }
    return fits ? ACLNN_SUCCESS
                : plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "out must have the dtype and the rank of self.");
}

/* Sizes that no memory has would overflow sums further on. */
static int check_range(struct plan *plan, const aclIntArray *pad)
{
    for (uint64_t i = 0; i < pad->size; i++)
        if (pad->value[i] > INT64_C(1) << 48 || pad->value[i] < -(INT64_C(1) << 48))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Padding size %lld is out of range.",
                             (long long)pad->value[i]);
    return ACLNN_SUCCESS;
}

int prepare_constant_pad(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclIntArray *pad = arg[1].ints;
    struct view *out = plan_view(plan, arg[3].tensor), *in = plan_view(plan, arg[0].tensor);
    if (pad->size % 2 || (int64_t)pad->size > 2 * (int64_t)in->rank)
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "Length of pad must be even and no more than twice the number of dimensions, but got %d for %d.",
            (int)pad->size, in->rank);
    TRY(check_range(plan, pad));
    struct part part[VIEW_RANK_MAX][3];
    int parts[VIEW_RANK_MAX];
    int first = in->rank - (int)pad->size / 2;
    for (int d = 0; d < in->rank; d++) {
        const int64_t *p = d < first ? NULL : &pad->value[2 * (in->rank - 1 - d)];
        parts[d] = split(part[d], in->dim[d], p ? p[0] : 0, p ? p[1] : 0);
    }
    TRY(check_out(plan, out, in, part, parts));
    copy_parts(plan, out, in, part, parts, arg[2].scalar);
    return ACLNN_SUCCESS;
}

/* Fills part[] for the last pad->size / 2 dimensions after checking them. */
static int pad_parts(struct plan *plan, const struct view *in, const aclIntArray *pad, int mode, struct part (*part)[3],
                     int *parts)
{
    int spatial = (int)pad->size / 2, first = in->rank - spatial;
    if (pad->size % 2 || first < 1 || in->rank > spatial + 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "padding of size %d does not fit a tensor of %d dimensions.",
                         (int)pad->size, in->rank);
    TRY(check_range(plan, pad));
    for (int d = 0; d < in->rank; d++) {
        const int64_t *p = d < first ? NULL : &pad->value[2 * (in->rank - 1 - d)];
        int64_t n = in->dim[d], before = p ? p[0] : 0, after = p ? p[1] : 0;
        if (p && (n < 1 || (mode == PAD_REFLECT && (before >= n || after >= n)) ||
                  (mode == PAD_CIRCULAR && (before > n || after > n))))
            return plan_fail(
                plan, ACLNN_ERR_PARAM_INVALID,
                "Padding size should be less than the corresponding input dimension, but got: padding (%lld, %lld) at "
                "dimension %d of size %lld.",
                (long long)before, (long long)after, d, (long long)n);
        if (p && n + before + after < 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Dimension %d of out would have %lld elements.", d,
                             (long long)(n + before + after));
        parts[d] = split(part[d], n, before, after);
        extend(part[d], parts[d], mode, n);
    }
    return ACLNN_SUCCESS;
}

int prepare_pad(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out = plan_view(plan, arg[2].tensor), *in = plan_view(plan, arg[0].tensor);
    struct part part[VIEW_RANK_MAX][3];
    int parts[VIEW_RANK_MAX];
    TRY(pad_parts(plan, in, arg[1].ints, row->code, part, parts));
    TRY(check_out(plan, out, in, part, parts));
    copy_parts(plan, out, in, part, parts, NULL);
    return ACLNN_SUCCESS;
}

/* ---- gradients ---- */

/* Collects pairs (position, input offset) into a fold_dim's lists. */
struct lists {
    int64_t *first, *at, count;
    int64_t n;
};

static struct lists lists_new(struct plan *plan, int64_t count, int64_t pairs)
{
    return (struct lists){plan_alloc(plan, (size_t)(count + 2) * 8), plan_alloc(plan, (size_t)(pairs + 1) * 8), count,
                          0};
}

/* Two passes over the same pairs: first with store false, then lists_turn, then with store true. */
static void lists_add(struct lists *l, int64_t position, int64_t offset, bool store)
{
    if (position < 0 || position >= l->count)
        return;
    if (store)
        l->at[l->first[position + 1]++] = offset;
    else
        l->first[position + 2]++;
}

static void lists_turn(struct lists *l)
{
    for (int64_t i = 2; i <= l->count + 1; i++)
        l->first[i] += l->first[i - 1];
}

/* The type that sums run in, and the factor that complex numbers put on every step. */
static struct fold_job *fold_real(struct plan *plan, struct view *out, struct view *in, int64_t *factor)
{
    struct fold_job *job = fold_new(plan, out, in);
    *factor = dtype_is_complex(out->dtype) ? 2 : 1;
    if (*factor == 2)
        job->fold.dtype = out->dtype == ACL_COMPLEX64    ? ACL_FLOAT
                          : out->dtype == ACL_COMPLEX128 ? ACL_DOUBLE
                                                         : ACL_FLOAT16;
    return job;
}

static void fold_end(struct plan *plan, struct fold_job *job, int64_t factor)
{
    if (factor == 2)
        fold_dim(job, 2, 1, 1);
    fold_finish(plan, job);
}

int prepare_pad_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *grad = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[3].tensor);
    struct part part[VIEW_RANK_MAX][3];
    int parts[VIEW_RANK_MAX];
    TRY(plan_check_shape(plan, 3, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    TRY(pad_parts(plan, out, arg[2].ints, row->code, part, parts));
    TRY(check_out(plan, grad, out, part, parts));
    int64_t factor;
    struct fold_job *job = fold_real(plan, out, grad, &factor);
    for (int d = 0; d < out->rank; d++) {
        struct fold_dim *dim = fold_dim(job, out->dim[d], out->stride[d] * factor, grad->stride[d] * factor);
        if (parts[d] == 1 && part[d][0].in == 0 && part[d][0].count == out->dim[d])
            continue;
        struct lists l = lists_new(plan, out->dim[d], grad->dim[d]);
        for (int pass = 0; pass < 2; pass++) {
            for (int k = 0; k < parts[d]; k++)
                for (int64_t i = 0; i < part[d][k].count; i++)
                    lists_add(&l, part[d][k].in + i * part[d][k].step, (part[d][k].out + i) * grad->stride[d] * factor,
                              pass);
            if (!pass)
                lists_turn(&l);
        }
        dim->first = l.first;
        dim->at = l.at;
    }
    fold_end(plan, job, factor);
    return ACLNN_SUCCESS;
}

int prepare_unfold_grad(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *grad = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[5].tensor);
    int64_t dim = arg[2].i, size = arg[3].i, step = arg[4].i;
    TRY(plan_check_shape(plan, 5, (int32_t)arg[1].ints->size, arg[1].ints->value));
    int32_t rank = out->rank ? out->rank : 1;
    dim += dim < 0 ? rank : 0;
    int64_t n = out->rank && dim >= 0 && dim < rank ? out->dim[dim] : 1;
    if (dim < 0 || dim >= rank || size < 0 || step < 1 || size > n || grad->rank != out->rank + 1 ||
        grad->dtype != out->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "dim %lld, size %lld, step %lld do not lead from gradIn to gradOut.", (long long)dim,
                         (long long)size, (long long)step);
    int64_t windows = out->rank ? grad->dim[dim] : 1, factor;
    struct fold_job *job = fold_real(plan, out, grad, &factor);
    struct lists l = lists_new(plan, n, windows * size);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t w = 0; w < windows; w++)
            for (int64_t k = 0; k < size; k++)
                lists_add(&l, w * step + k,
                          (w * (out->rank ? grad->stride[dim] : 0) + k * grad->stride[grad->rank - 1]) * factor, pass);
        if (!pass)
            lists_turn(&l);
    }
    for (int d = 0; d < rank; d++) {
        struct fold_dim *f = fold_dim(job, out->rank ? out->dim[d] : 1, (out->rank ? out->stride[d] : 1) * factor,
                                      grad->stride[d] * factor);
        if (d == dim) {
            f->first = l.first;
            f->at = l.at;
        }
    }
    fold_end(plan, job, factor);
    return ACLNN_SUCCESS;
}

/* ---- sliding blocks of images ---- */

/* One image dimension of im2col: `size` positions, `kernel` taps, `steps` places of the window. */
struct window {
    int64_t size, kernel, dilation, padding, stride, steps;
};

static int windows(struct plan *plan, struct window *w, const int64_t *size, const union op_value *kernel)
{
    for (int a = 0; a < 4; a++)
        if (kernel[a].ints->size != 2)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "kernelSize, dilation, padding and stride must have 2 elements.");
    for (int k = 0; k < 2; k++) {
        w[k] = (struct window){size[k],
                               kernel[0].ints->value[k],
                               kernel[1].ints->value[k],
                               kernel[2].ints->value[k],
                               kernel[3].ints->value[k],
                               0};
        int64_t room = w[k].size + 2 * w[k].padding - w[k].dilation * (w[k].kernel - 1) - 1;
        if (w[k].kernel < 1 || w[k].dilation < 1 || w[k].padding < 0 || w[k].stride < 1 || room < 0)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "The sliding blocks do not fit an image dimension of %lld.",
                             (long long)w[k].size);
        w[k].steps = room / w[k].stride + 1;
    }
    return ACLNN_SUCCESS;
}

/* Image [N,] C, H, W against columns [N,] C·kh·kw, oh·ow. */
static int check_columns(struct plan *plan, const struct view *image, const struct view *columns,
                         const struct window *w)
{
    int lead = image->rank - 3;
    if ((lead != 0 && lead != 1) || columns->rank != image->rank - 1 || image->dtype != columns->dtype ||
        (lead && image->dim[0] != columns->dim[0]) ||
        columns->dim[lead] != image->dim[lead] * w[0].kernel * w[1].kernel ||
        columns->dim[lead + 1] != w[0].steps * w[1].steps || image->dim[lead + 1] != w[0].size ||
        image->dim[lead + 2] != w[1].size)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "The shapes of image and columns do not match the sliding blocks.");
    return ACLNN_SUCCESS;
}

int prepare_im2col(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *in = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[5].tensor);
    struct window w[2];
    if (in->rank < 3)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "self must have 3 or 4 dimensions, but got %d.", in->rank);
    TRY(windows(plan, w, &in->dim[in->rank - 2], &arg[1]));
    TRY(check_columns(plan, in, out, w));
    int lead = in->rank - 3;
    const int64_t row_step = out->stride[lead], col_step = out->stride[lead + 1];
    /* steps in the columns of a tap and of a place, for either image dimension */
    const int64_t tap[2] = {w[1].kernel * row_step, row_step}, place[2] = {w[1].steps * col_step, col_step};
    struct remap_job *job = remap_new(plan, out, in);
    if (lead)
        remap_dim(job, in->dim[0], out->stride[0], in->stride[0]);
    remap_dim(job, in->dim[lead], w[0].kernel * w[1].kernel * row_step, in->stride[lead]);
    for (int k = 0; k < 2; k++) {
        int64_t n = w[k].kernel * w[k].steps, *out_at = plan_alloc(plan, (size_t)n * 8),
                *in_at = plan_alloc(plan, (size_t)n * 8);
        struct remap_dim *d = remap_dim(job, n, 0, 0);
        d->out_at = out_at;
        d->in_at = in_at;
        for (int64_t t = 0; t < w[k].kernel; t++)
            for (int64_t s = 0; s < w[k].steps; s++) {
                int64_t at = s * w[k].stride + t * w[k].dilation - w[k].padding;
                *out_at++ = t * tap[k] + s * place[k];
                *in_at++ = at < 0 || at >= w[k].size ? REMAP_FILL : at * in->stride[lead + 1 + k];
            }
    }
    remap_finish(plan, job, true);
    return ACLNN_SUCCESS;
}

int prepare_im2col_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *grad = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[6].tensor);
    struct window w[2];
    if (out->rank < 3 || arg[1].ints->size != 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "out must have 3 or 4 dimensions, inputSize 2 elements.");
    TRY(windows(plan, w, arg[1].ints->value, &arg[2]));
    TRY(check_columns(plan, out, grad, w));
    int lead = out->rank - 3;
    int64_t factor;
    struct fold_job *job = fold_real(plan, out, grad, &factor);
    const int64_t row_step = grad->stride[lead] * factor, col_step = grad->stride[lead + 1] * factor;
    const int64_t tap[2] = {w[1].kernel * row_step, row_step}, place[2] = {w[1].steps * col_step, col_step};
    if (lead)
        fold_dim(job, out->dim[0], out->stride[0] * factor, grad->stride[0] * factor);
    fold_dim(job, out->dim[lead], out->stride[lead] * factor, w[0].kernel * w[1].kernel * row_step);
    for (int k = 0; k < 2; k++) {
        struct fold_dim *d = fold_dim(job, w[k].size, out->stride[lead + 1 + k] * factor, 0);
        struct lists l = lists_new(plan, w[k].size, w[k].kernel * w[k].steps);
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t t = 0; t < w[k].kernel; t++)
                for (int64_t s = 0; s < w[k].steps; s++)
                    lists_add(&l, s * w[k].stride + t * w[k].dilation - w[k].padding, t * tap[k] + s * place[k], pass);
            if (!pass)
                lists_turn(&l);
        }
        d->first = l.first;
        d->at = l.at;
    }
    fold_end(plan, job, factor);
    return ACLNN_SUCCESS;
}

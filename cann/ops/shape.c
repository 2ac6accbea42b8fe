/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape operators as maps (ops/remap.h): each says, dimension by dimension, where the elements of its output lie in its
 * input. Inputs of another type than the output are converted first. */
#include "ops/shape.h"

#include <string.h>

#include "ops/remap.h"

static int wrap(struct plan *plan, int64_t dim, int32_t rank, int32_t *out)
{
    int32_t range = rank ? rank : 1;
    *out = 0;
    if (dim < -range || dim >= range)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Dimension out of range (expected to be in range of [%d, %d], but got %lld).", -range,
                         range - 1, (long long)dim);
    *out = (int32_t)(dim < 0 ? dim + range : dim);
    return ACLNN_SUCCESS;
}

/* The tensor's view, converted to the output's type. */
static struct view *input(struct plan *plan, const aclTensor *tensor, aclDataType dtype)
{
    struct view *v = plan_view(plan, tensor);
    return v->dtype == dtype ? v : plan_contiguous(plan, v, dtype);
}

static int check_list(struct plan *plan, const aclTensorList *list, const char *name)
{
    if (!list->size)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s must not be an empty list.", name);
    for (uint64_t j = 0; j < list->size; j++)
        if (!list->value[j])
            return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "Tensor %llu of %s is NULL.", (unsigned long long)j, name);
    return ACLNN_SUCCESS;
}

/* ---- cat, stack, split ---- */

/* A tensor that torch.cat skips: one-dimensional and empty. */
static bool skipped(const struct view *v)
{
    return v->rank == 1 && v->dim[0] == 0;
}

/* Contiguous tensors side by side: each row of the output is a block of every input in turn. */
struct blocks {
    struct view *out, **in;
    int64_t inputs, row; /* bytes of an output row */
    int64_t *begin;      /* where each input's block begins in it */
    int64_t rows;
};

static void blocks_piece(void *arg, int64_t begin, int64_t end)
{
    const struct blocks *b = arg;
    int64_t row = begin / b->row, at = begin % b->row, low = 0, high = b->inputs;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (b->begin[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    while (begin < end) {
        int64_t size = b->begin[low + 1] - b->begin[low], skip = at - b->begin[low], n = size - skip;
        n = n < end - begin ? n : end - begin;
        memcpy(b->out->data + begin, b->in[low]->data + row * size + skip, (size_t)n);
        begin += n;
        at += n;
        if (at == b->begin[low + 1] && ++low == b->inputs) {
            low = at = 0;
            row++;
        }
    }
}

static int run_blocks(void *arg)
{
    struct blocks *b = arg;
    parallel(b->rows * b->row, 65536, blocks_piece, b);
    return ACLNN_SUCCESS;
}

/* True when all tensors are contiguous and of out's type: the step is added. Shapes have been checked. */
static bool cat_blocks(struct plan *plan, const aclTensorList *list, struct view *out, int32_t dim, bool stack)
{
    if (!view_is_contiguous(out))
        return false;
    for (uint64_t j = 0; j < list->size; j++)
        if (list->value[j]->view.dtype != out->dtype || !view_is_contiguous(&list->value[j]->view))
            return false;
    struct blocks *b = plan_alloc(plan, sizeof *b);
    b->out = out;
    b->in = plan_alloc(plan, list->size * sizeof *b->in);
    b->begin = plan_alloc(plan, (list->size + 1) * sizeof *b->begin);
    b->rows = 1;
    int64_t inner = (int64_t)dtype_size(out->dtype);
    for (int32_t d = 0; d < out->rank; d++)
        *(d < dim ? &b->rows : &inner) *= d == dim ? 1 : out->dim[d];
    for (uint64_t j = 0; j < list->size; j++) {
        const struct view *v = &list->value[j]->view;
        int64_t size = inner * (stack ? 1 : skipped(v) ? 0 : v->dim[dim]);
        if (!size)
            continue;
        b->in[b->inputs] = plan_view(plan, list->value[j]);
        b->begin[b->inputs + 1] = b->begin[b->inputs] + size;
        b->inputs++;
    }
    b->row = b->begin[b->inputs];
    if (b->rows && b->row)
        plan_step(plan, run_blocks, b, (uint64_t)(b->rows * b->row) / 5 + 20);
    return true;
}

int prepare_cat(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensorList *list = arg[0].tensors;
    TRY(check_list(plan, list, row->param[0].name));
    struct view *out = plan_view(plan, arg[2].tensor);
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    int64_t total = 0;
    for (uint64_t j = 0; j < list->size; j++) {
        const struct view *v = &list->value[j]->view;
        if (skipped(v))
            continue;
        bool fits = v->rank == out->rank && out->rank;
        for (int d = 0; fits && d < v->rank; d++)
            fits = d == dim || v->dim[d] == out->dim[d];
        if (!fits)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Sizes of tensors must match except in dimension %d: tensor number %llu does not fit out.",
                             dim, (unsigned long long)j);
        total += v->dim[dim];
    }
    if (view_count(out) && total != out->dim[dim])
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out dim %d to be %lld, but got %lld.", dim,
                         (long long)total, (long long)out->dim[dim]);
    if (cat_blocks(plan, list, out, dim, false))
        return ACLNN_SUCCESS;
    int64_t at = 0;
    for (uint64_t j = 0; j < list->size; j++) {
        if (skipped(&list->value[j]->view))
            continue;
        struct view *in = input(plan, list->value[j], out->dtype);
        struct remap_job *job = remap_new(plan, out, in);
        for (int d = 0; d < in->rank; d++)
            remap_dim(job, in->dim[d], out->stride[d], in->stride[d]);
        job->out_base = at * out->stride[dim];
        remap_finish(plan, job, false);
        at += in->dim[dim];
    }
    return ACLNN_SUCCESS;
}

int prepare_stack(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensorList *list = arg[0].tensors;
    TRY(check_list(plan, list, row->param[0].name));
    struct view *out = plan_view(plan, arg[2].tensor);
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    if (!out->rank || out->dim[dim] != (int64_t)list->size)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "out does not hold a stack of %llu tensors along dimension %d.",
                         (unsigned long long)list->size, dim);
    for (uint64_t j = 0; j < list->size; j++) {
        const struct view *v = &list->value[j]->view;
        bool fits = v->rank + 1 == out->rank;
        for (int d = 0; fits && d < v->rank; d++)
            fits = v->dim[d] == out->dim[d < dim ? d : d + 1];
        if (!fits)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "stack expects each tensor to be equal size: tensor number %llu does not fit out.",
                             (unsigned long long)j);
    }
    if (cat_blocks(plan, list, out, dim, true))
        return ACLNN_SUCCESS;
    for (uint64_t j = 0; j < list->size; j++) {
        struct view *in = input(plan, list->value[j], out->dtype);
        struct remap_job *job = remap_new(plan, out, in);
        for (int d = 0; d < in->rank; d++)
            remap_dim(job, in->dim[d], out->stride[d < dim ? d : d + 1], in->stride[d]);
        job->out_base = (int64_t)j * out->stride[dim];
        remap_finish(plan, job, false);
    }
    return ACLNN_SUCCESS;
}

int prepare_split(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensorList *list = arg[3].tensors;
    TRY(check_list(plan, list, row->param[3].name));
    struct view *in = plan_view(plan, arg[0].tensor);
    int32_t dim;
    TRY(wrap(plan, arg[2].i, in->rank, &dim));
    int64_t at = 0;
    for (uint64_t j = 0; j < list->size; j++) {
        struct view *out = plan_view(plan, list->value[j]);
        bool fits = in->rank == out->rank && in->rank && out->dtype == in->dtype;
        for (int d = 0; fits && d < out->rank; d++)
            fits = d == dim ? at + out->dim[d] <= in->dim[d] : out->dim[d] == in->dim[d];
        if (!fits)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Tensor %llu of out is not a part of self along dimension %d.", (unsigned long long)j,
                             dim);
        struct remap_job *job = remap_new(plan, out, in);
        for (int d = 0; d < out->rank; d++)
            remap_dim(job, out->dim[d], out->stride[d], in->stride[d]);
        job->in_base = at * in->stride[dim];
        remap_finish(plan, job, false);
        at += out->dim[dim];
    }
    return ACLNN_SUCCESS;
}

/* ---- repetition ---- */

int prepare_repeat(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclIntArray *repeats = arg[1].ints;
    struct view *out = plan_view(plan, arg[2].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    int lead = (int)repeats->size - in->rank;
    if (lead < 0 || out->rank != (int)repeats->size)
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "Number of dimensions of repeat dims (%d) can not be smaller than number of dimensions of tensor (%d).",
            (int)repeats->size, in->rank);
    struct remap_job *job = remap_new(plan, out, in);
    for (int d = 0; d < out->rank; d++) {
        int64_t n = d < lead ? 1 : in->dim[d - lead];
        if (repeats->value[d] < 0 || out->dim[d] != n * repeats->value[d])
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out dim %d to be %lld, but got %lld.", d,
                             (long long)(n * repeats->value[d]), (long long)out->dim[d]);
        if (job->map.rank + 2 > REMAP_RANK_MAX)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Too many dimensions to repeat: %d.", out->rank);
        if (repeats->value[d] != 1)
            remap_dim(job, repeats->value[d], n * out->stride[d], 0);
        if (n != 1)
            remap_dim(job, n, out->stride[d], in->stride[d - lead]);
    }
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

int prepare_expand(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[2].tensor), *in = input(plan, arg[0].tensor, out->dtype), wide;
    if (!view_broadcast(&wide, in, out->rank, out->dim))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "self cannot be expanded to the shape of out.");
    struct remap_job *job = remap_new(plan, out, in);
    for (int d = 0; d < out->rank; d++)
        remap_dim(job, out->dim[d], out->stride[d], wide.stride[d]);
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

struct interleave {
    struct view *repeats;
    int64_t *at, size, n, step;
};

static int64_t read_index(const struct view *v, int64_t i)
{
    int64_t at = v->rank ? i * v->stride[0] : 0;
    return v->dtype == ACL_INT64 ? ((const int64_t *)v->data)[at] : ((const int32_t *)v->data)[at];
}

/* at[] ← step * (the index of the element that stands there), each index repeats[index] times. */
static int run_interleave(void *arg)
{
    struct interleave *t = arg;
    int64_t at = 0, many = view_count(t->repeats);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t times = read_index(t->repeats, many == 1 ? 0 : i);
        if (times < 0)
            return fail(ACLNN_ERR_PARAM_INVALID, "repeats can not be negative");
        if (times > t->size - at)
            return fail(ACLNN_ERR_PARAM_INVALID, "allocated size does not match required size");
        for (; times; times--)
            t->at[at++] = i * t->step;
    }
    if (at != t->size)
        return fail(ACLNN_ERR_PARAM_INVALID, "allocated size does not match required size");
    return ACLNN_SUCCESS;
}

int prepare_repeat_interleave(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    bool flat = row->code == INTERLEAVE_FLAT, by_tensor = row->param[1].kind == 'T';
    struct view *out = plan_view(plan, arg[flat ? 3 : 4].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    int32_t dim = 0;
    if (flat)
        in = plan_contiguous(plan, in, in->dtype);
    else
        TRY(wrap(plan, arg[2].i, in->rank, &dim));
    int64_t n = flat ? view_count(in) : in->rank ? in->dim[dim] : 1, size = out->rank ? out->dim[flat ? 0 : dim] : 1;
    int64_t step = flat ? 1 : in->rank ? in->stride[dim] : 0;
    if (flat ? out->rank > 1 : out->rank != (in->rank ? in->rank : 1))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "out has a wrong number of dimensions: %d.", out->rank);
    struct remap_job *job = remap_new(plan, out, in);
    if (by_tensor) {
        struct view *repeats = plan_view(plan, arg[1].tensor);
        if ((repeats->dtype != ACL_INT64 && repeats->dtype != ACL_INT32) || repeats->rank > 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "repeats must be 0-dim or 1-dim tensor of DT_INT64 or DT_INT32.");
        if (view_count(repeats) != 1 && view_count(repeats) != n)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "repeats must have the same size as input along dim, %lld, but got %lld.", (long long)n,
                             (long long)view_count(repeats));
        struct interleave *t = plan_alloc(plan, sizeof *t);
        *t = (struct interleave){repeats, plan_alloc(plan, (size_t)(size + 1) * 8), size, n, step};
        plan_step(plan, run_interleave, t, (uint64_t)size);
        for (int d = 0; d < out->rank; d++) {
            if (flat || d == dim)
                remap_dim(job, size, out->stride[d], 0)->in_at = t->at;
            else
                remap_dim(job, in->dim[d], out->stride[d], in->stride[d]);
        }
    } else {
        int64_t times = arg[1].i;
        if (times < 0 || size != n * times)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out dim %d to be %lld, but got %lld.", dim,
                             (long long)(n * times), (long long)size);
        for (int d = 0; d < out->rank; d++) {
            if (flat || d == dim) {
                remap_dim(job, n, out->stride[d] * times, step);
                remap_dim(job, times, out->stride[d], 0);
            } else {
                remap_dim(job, in->dim[d], out->stride[d], in->stride[d]);
            }
        }
    }
    remap_finish(plan, job, by_tensor);
    return ACLNN_SUCCESS;
}

struct interleave_out {
    struct interleave table;
    struct view *out;
};

static int run_interleave_index(void *arg)
{
    struct interleave_out *t = arg;
    TRY(run_interleave(&t->table));
    for (int64_t i = 0; i < t->table.size; i++) {
        int64_t at = i * (t->out->rank ? t->out->stride[0] : 0);
        if (t->out->dtype == ACL_INT64)
            ((int64_t *)t->out->data)[at] = t->table.at[i];
        else
            ((int32_t *)t->out->data)[at] = (int32_t)t->table.at[i];
    }
    return ACLNN_SUCCESS;
}

int prepare_repeat_interleave_index(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType types[] = {ACL_INT64, ACL_INT32};
    TRY(plan_check_dtype(plan, 0, types, 2));
    TRY(plan_check_dtype(plan, 2, types, 2));
    (void)row;
    struct interleave_out *t = plan_alloc(plan, sizeof *t);
    t->table.repeats = plan_view(plan, arg[0].tensor);
    t->out = plan_view(plan, arg[2].tensor);
    if (t->table.repeats->rank > 1 || t->out->rank > 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "repeats and out must have one dimension.");
    t->table.size = view_count(t->out);
    t->table.n = view_count(t->table.repeats);
    t->table.step = 1;
    t->table.at = plan_alloc(plan, (size_t)(t->table.size + 1) * 8);
    plan_step(plan, run_interleave_index, t, (uint64_t)t->table.size);
    return ACLNN_SUCCESS;
}

/* ---- permute, roll, flip, slice ---- */

int prepare_permute(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[2].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    const aclIntArray *dims = arg[1].ints;
    unsigned seen = 0;
    bool fits = (int)dims->size == in->rank && out->rank == in->rank;
    struct remap_job *job = remap_new(plan, out, in);
    for (int d = 0; fits && d < in->rank; d++) {
        int32_t from;
        TRY(wrap(plan, dims->value[d], in->rank, &from));
        fits = !(seen >> from & 1) && out->dim[d] == in->dim[from];
        seen |= 1u << from;
        remap_dim(job, in->dim[from], out->stride[d], in->stride[from]);
    }
    if (!fits)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "dims is not a permutation that leads from self to out.");
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

static int same_shape(struct plan *plan, const struct view *in, int p)
{
    return plan_check_shape(plan, p, in->rank, in->dim);
}

int prepare_roll(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[3].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    const aclIntArray *shifts = arg[1].ints, *dims = arg[2].ints;
    TRY(same_shape(plan, in, 3));
    bool flat = !dims || !dims->size;
    if (!shifts->size || (flat ? shifts->size != 1 : shifts->size != dims->size))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "shifts and dimensions must align. shifts: %d, dims:%d",
                         (int)shifts->size, dims ? (int)dims->size : 0);
    int64_t shift[VIEW_RANK_MAX] = {0}, count = view_count(in);
    struct view line = view_make(in->dtype, 1, &count), *shape = in;
    struct view *target = out;
    if (flat) {
        in = plan_contiguous(plan, in, in->dtype);
        target = plan_output(plan, out, out->dtype);
        shape = &line;
        shift[0] = shifts->value[0];
    }
    for (uint64_t k = 0; !flat && k < dims->size; k++) {
        int32_t d;
        TRY(wrap(plan, dims->value[k], in->rank, &d));
        int64_t n = in->rank ? in->dim[d] : 1;
        shift[d] = n ? (shift[d] + shifts->value[k] % n) % n : 0;
    }
    int turned[VIEW_RANK_MAX], turns = 0;
    for (int d = 0; d < shape->rank; d++) {
        int64_t n = shape->dim[d];
        shift[d] = n ? (shift[d] % n + n) % n : 0;
        if (shift[d])
            turned[turns++] = d;
    }
    if (turns > 10)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "roll of %d dimensions at once is not supported.", turns);
    /* A shift cuts its dimension in two: k shifts make 2^k plain copies. */
    for (int part = 0; part < 1 << turns; part++) {
        struct remap_job *job = remap_new(plan, target, in);
        int t = 0;
        for (int d = 0; d < shape->rank; d++) {
            int64_t n = shape->dim[d], in_step = flat ? 1 : in->stride[d], out_step = flat ? 1 : target->stride[d];
            if (t < turns && turned[t] == d) {
                bool end = part >> t++ & 1; /* the last shift[d] elements, which come first */
                job->in_base += end ? (n - shift[d]) * in_step : 0;
                job->out_base += end ? 0 : shift[d] * out_step;
                n = end ? shift[d] : n - shift[d];
            }
            remap_dim(job, n, out_step, in_step);
        }
        remap_finish(plan, job, false);
    }
    if (flat)
        plan_finish(plan, target, out);
    return ACLNN_SUCCESS;
}

int prepare_flip(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[2].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    TRY(same_shape(plan, in, 2));
    unsigned flipped = 0;
    for (uint64_t k = 0; k < arg[1].ints->size; k++) {
        int32_t d;
        TRY(wrap(plan, arg[1].ints->value[k], in->rank, &d));
        flipped |= 1u << d;
    }
    struct remap_job *job = remap_new(plan, out, in);
    for (int d = 0; d < in->rank; d++) {
        bool turn = flipped >> d & 1 && in->dim[d];
        job->in_base += turn ? (in->dim[d] - 1) * in->stride[d] : 0;
        remap_dim(job, in->dim[d], out->stride[d], turn ? -in->stride[d] : in->stride[d]);
    }
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

int prepare_slice(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[5].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    int32_t dim;
    TRY(wrap(plan, arg[1].i, in->rank, &dim));
    int64_t n = in->rank ? in->dim[dim] : 1, start = arg[2].i, end = arg[3].i, step = arg[4].i;
    if (step <= 0 || !in->rank || out->rank != in->rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "slice step must be positive and self must have dimensions.");
    start += start < 0 ? n : 0;
    end += end < 0 ? n : 0;
    start = start < 0 ? 0 : start > n ? n : start;
    end = end < start ? start : end > n ? n : end;
    struct remap_job *job = remap_new(plan, out, in);
    for (int d = 0; d < in->rank; d++) {
        int64_t count = d == dim ? (end - start + step - 1) / step : in->dim[d];
        if (out->dim[d] != count)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out dim %d to be %lld, but got %lld.", d,
                             (long long)count, (long long)out->dim[d]);
        remap_dim(job, count, out->stride[d], d == dim ? in->stride[d] * step : in->stride[d]);
    }
    job->in_base = start * in->stride[dim];
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

int prepare_channel_shuffle(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[2].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    TRY(same_shape(plan, in, 2));
    int64_t groups = arg[1].i;
    if (in->rank < 3 || groups <= 0 || in->dim[1] % groups)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Number of channels must be divisible by groups.");
    int64_t inside = in->dim[1] / groups;
    struct remap_job *job = remap_new(plan, out, in);
    remap_dim(job, in->dim[0], out->stride[0], in->stride[0]);
    remap_dim(job, inside, out->stride[1] * groups, in->stride[1]);
    remap_dim(job, groups, out->stride[1], in->stride[1] * inside);
    for (int d = 2; d < in->rank; d++)
        remap_dim(job, in->dim[d], out->stride[d], in->stride[d]);
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

/* ---- triangles and diagonals ---- */

struct tri {
    struct view *out, *in; /* both contiguous */
    int64_t rows, cols, diagonal, size;
    bool upper;
};

static void tri_rows(void *arg, int64_t begin, int64_t end)
{
    const struct tri *t = arg;
    int64_t width = t->cols * t->size;
    for (int64_t r = begin; r < end; r++) {
        /* [0, cut) is below or on the diagonal for the lower triangle; for the upper one the part from cut stays */
        int64_t cut = r % t->rows + t->diagonal + !t->upper;
        cut = (cut < 0 ? 0 : cut > t->cols ? t->cols : cut) * t->size;
        char *out = t->out->data + r * width;
        const char *in = t->in->data + r * width;
        if (t->upper) {
            memset(out, 0, (size_t)cut);
            if (out != in)
                memcpy(out + cut, in + cut, (size_t)(width - cut));
        } else {
            if (out != in)
                memcpy(out, in, (size_t)cut);
            memset(out + cut, 0, (size_t)(width - cut));
        }
    }
}

static int run_tri(void *arg)
{
    struct tri *t = arg;
    int64_t width = t->cols * t->size;
    parallel(view_count(t->out) / t->cols, 65536 / (width + 1) + 1, tri_rows, t);
    return ACLNN_SUCCESS;
}

int prepare_tri(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int last = row->params - 1;
    bool in_place = last == 1;
    struct view *out = plan_view(plan, arg[in_place ? 0 : last].tensor),
                *in = in_place ? out : plan_view(plan, arg[0].tensor);
    if (out->rank < 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "input tensor must have at least 2 dimensions");
    if (!in_place)
        TRY(same_shape(plan, in, last));
    if (!view_count(out))
        return ACLNN_SUCCESS;
    struct tri *t = plan_alloc(plan, sizeof *t);
    t->in = plan_contiguous(plan, in, out->dtype);
    t->out = plan_output(plan, out, out->dtype);
    t->rows = out->dim[out->rank - 2];
    t->cols = out->dim[out->rank - 1];
    /* far off the matrix is as good as just outside, and cannot overflow */
    t->diagonal = arg[1].i < -t->rows ? -t->rows - 1 : arg[1].i > t->cols ? t->cols + 1 : arg[1].i;
    t->size = (int64_t)dtype_size(out->dtype);
    t->upper = row->code == TRI_UPPER;
    plan_step(plan, run_tri, t, (uint64_t)(view_count(out) * t->size) / 8);
    plan_finish(plan, t->out, out);
    return ACLNN_SUCCESS;
}

int prepare_diag(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out = plan_view(plan, arg[2].tensor), *in = input(plan, arg[0].tensor, out->dtype);
    if (arg[1].i > INT64_C(1) << 48 || arg[1].i < -(INT64_C(1) << 48))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "diagonal %lld is out of range.", (long long)arg[1].i);
    int64_t k = arg[1].i, above = k > 0 ? k : 0, below = k < 0 ? -k : 0;
    if (row->code == DIAG && in->rank == 2) {
        int64_t n = in->dim[0] - below < in->dim[1] - above ? in->dim[0] - below : in->dim[1] - above;
        n = n < 0 ? 0 : n;
        TRY(plan_check_shape(plan, 2, 1, &n));
        struct remap_job *job = remap_new(plan, out, in);
        remap_dim(job, n, out->stride[0], in->stride[0] + in->stride[1]);
        job->in_base = n ? below * in->stride[0] + above * in->stride[1] : 0;
        remap_finish(plan, job, false);
        return ACLNN_SUCCESS;
    }
    if (row->code == DIAG && in->rank != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "diag(): Supports 1D or 2D tensors. Got %dD", in->rank);
    int64_t n = view_count(in), side = n + above + below, shape[2] = {side, side};
    TRY(plan_check_shape(plan, 2, 2, shape));
    in = plan_contiguous(plan, in, in->dtype);
    plan_fill(plan, out, (const char[16]){0});
    struct remap_job *job = remap_new(plan, out, in);
    remap_dim(job, n, out->stride[0] + out->stride[1], 1);
    job->out_base = n ? below * out->stride[0] + above * out->stride[1] : 0;
    remap_finish(plan, job, false);
    return ACLNN_SUCCESS;
}

int prepare_fill_diagonal(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[0].tensor);
    if (out->rank < 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "dimensions must larger than 1");
    int64_t n = out->dim[0], step = 0;
    for (int d = 0; d < out->rank; d++) {
        step += out->stride[d];
        n = out->dim[d] < n ? out->dim[d] : n;
        if (out->rank > 2 && out->dim[d] != out->dim[0])
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "all dimensions of input must be of equal length");
    }
    int64_t *at = plan_alloc(plan, sizeof *at);
    *at = REMAP_FILL;
    /* wrap: the diagonal goes on below a gap of one row in a tall matrix */
    int64_t turns =
        arg[2].i && out->rank == 2 && out->dim[0] > out->dim[1] + 1 ? out->dim[0] / (out->dim[1] + 1) + 1 : 1;
    for (int64_t t = 0; t < turns; t++) {
        int64_t first = t * (out->dim[1] + 1), left = out->dim[0] - first,
                m = turns > 1 ? (left < out->dim[1] ? left : out->dim[1]) : n;
        if (m <= 0)
            break;
        struct remap_job *job = remap_new(plan, out, NULL);
        remap_fill(job, arg[1].scalar);
        remap_dim(job, 1, 0, 0)->in_at = at;
        remap_dim(job, m, step, 0);
        job->out_base = first * out->stride[0];
        remap_finish(plan, job, true);
    }
    return ACLNN_SUCCESS;
}

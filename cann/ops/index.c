/* SPDX-License-Identifier: BSD-3-Clause */
/* Index operators along one dimension, all as gathers and scatters (ops/indexing.h): index_select is a gather whose
 * index is broadcast over the other dimensions, index_add a scatter of that kind, embeddings are rows of a table.
 * Indices are checked where they are used; a bad one ends the task with PyTorch's text. */
#include "ops/index.h"

#include <math.h>
#include <string.h>

#include "kernels/copy.h"
#include "ops/indexing.h"
#include "ops/remap.h"
#include "ops/walk.h"

static int wrap(struct plan *plan, int64_t dim, int32_t rank, int32_t *out)
{
    int32_t range = rank ? rank : 1;
    *out = 0;
    if (dim < -range || dim >= range)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -range,
                         range - 1, (long long)dim);
    *out = (int32_t)(dim < 0 ? dim + range : dim);
    return ACLNN_SUCCESS;
}

/* A tensor of rank 0 as one of rank 1. */
static struct view *at_least_1d(struct plan *plan, struct view *v)
{
    if (v->rank)
        return v;
    v = plan_alias(plan, v, 0);
    v->rank = 1;
    v->dim[0] = v->stride[0] = 1;
    return v;
}

/* ---- steps ---- */

struct move {
    struct view *out, *index, *other; /* other: a gather's input, a scatter's source */
    struct index_site site;
    /* how the views look: of these shapes and strides, at the views' addresses */
    struct view shape_out, shape_index, shape_other;
    int ordered;
    enum scatter_op op;
    struct scatter_param alpha;
    const double *scale;
};

static struct move *move_new(struct plan *plan, struct view *out, struct view *index, struct view *other)
{
    struct move *m = plan_alloc(plan, sizeof *m);
    m->out = out;
    m->index = index;
    m->other = other;
    m->shape_out = *out;
    m->shape_index = *index;
    m->shape_other = *other;
    m->alpha.alpha[0] = 1;
    m->alpha.alpha_int = 1;
    return m;
}

static void move_bind(struct move *m)
{
    m->shape_out.data = m->out->data;
    m->shape_index.data = m->index->data;
    m->shape_other.data = m->other->data;
}

static int run_gather(void *arg)
{
    struct move *m = arg;
    move_bind(m);
    return gather_run(&m->shape_out, &m->shape_index, &m->shape_other, &m->site);
}

static int run_scatter(void *arg)
{
    struct move *m = arg;
    move_bind(m);
    return scatter_run(m->op, &m->shape_out, &m->shape_index, &m->shape_other, m->ordered, &m->site, &m->alpha,
                       m->scale);
}

static void add_gather(struct plan *plan, struct move *m)
{
    int64_t n = view_count(&m->shape_out);
    if (n)
        plan_step(plan, run_gather, m, (uint64_t)n * dtype_size(m->out->dtype) / 4 + 50);
}

static void add_scatter(struct plan *plan, struct move *m)
{
    int64_t n = view_count(&m->shape_index);
    if (n)
        plan_step(plan, run_scatter, m, (uint64_t)n * 2 + 50);
}

/* Moves dimension d of the three shapes to the end. */
static void dim_last(struct move *m, int32_t d)
{
    struct view *view[] = {&m->shape_out, &m->shape_index, &m->shape_other};
    for (int k = 0; k < 3; k++) {
        struct view *v = view[k];
        int64_t dim = v->dim[d], stride = v->stride[d];
        for (int32_t i = d; i + 1 < v->rank; i++) {
            v->dim[i] = v->dim[i + 1];
            v->stride[i] = v->stride[i + 1];
        }
        v->dim[v->rank - 1] = dim;
        v->stride[v->rank - 1] = stride;
    }
}

/* ---- gathers ---- */

int prepare_gather(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *self = at_least_1d(plan, plan_view(plan, arg[0].tensor));
    struct view *index = at_least_1d(plan, index_view(plan, row, arg, 2));
    struct view *out = at_least_1d(plan, plan_view(plan, arg[3].tensor));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, self->rank, &dim));
    TRY(plan_check_shape(plan, 3, arg[2].tensor->view.rank, arg[2].tensor->view.dim));
    if (out->dtype != self->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out to be %s, but got %s.", dtype_name(self->dtype),
                         dtype_name(out->dtype));
    if (!view_count(index))
        return ACLNN_SUCCESS;
    if (index->rank != self->rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Index tensor must have the same number of dimensions as input tensor");
    struct move *m = move_new(plan, out, index, self);
    m->site = (struct index_site){INDEX_TEXT_BOUNDS, dim, self->dim[dim], self->stride[dim]};
    for (int32_t d = 0; d < self->rank; d++) {
        if (d != dim && index->dim[d] > self->dim[d])
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Size of index at dimension %d must be no more than that of self, but got %lld > %lld.", d,
                             (long long)index->dim[d], (long long)self->dim[d]);
        m->shape_other.dim[d] = index->dim[d];
    }
    m->shape_other.stride[dim] = 0;
    add_gather(plan, m);
    return ACLNN_SUCCESS;
}

/* out: self with dimension dim replaced by all of index's. */
static int select(struct plan *plan, struct view *self, struct view *index, struct view *out, int32_t dim,
                  enum index_text text)
{
    int32_t extra = index->rank - 1, rank = self->rank + extra;
    bool fits = out->rank == rank && out->dtype == self->dtype && rank <= VIEW_RANK_MAX;
    for (int32_t d = 0; fits && d < rank; d++)
        fits = out->dim[d] == (d < dim ? self->dim[d] : d <= dim + extra ? index->dim[d - dim] : self->dim[d - extra]);
    if (!fits)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "out does not have the shape or dtype of the selection.");
    struct move *m = move_new(plan, out, index, self);
    m->site = (struct index_site){text, dim, self->dim[dim], self->stride[dim]};
    m->shape_index = m->shape_other = m->shape_out;
    m->shape_index.dtype = ACL_INT64;
    for (int32_t d = 0; d < rank; d++) {
        bool inside = d >= dim && d <= dim + extra;
        m->shape_index.stride[d] = inside ? index->stride[d - dim] : 0;
        m->shape_other.stride[d] = inside ? 0 : self->stride[d < dim ? d : d - extra];
    }
    add_gather(plan, m);
    return ACLNN_SUCCESS;
}

int prepare_index_select(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *self = at_least_1d(plan, plan_view(plan, arg[0].tensor));
    struct view *index = at_least_1d(plan, index_view(plan, row, arg, 2));
    struct view *out = at_least_1d(plan, plan_view(plan, arg[3].tensor));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, self->rank, &dim));
    return select(plan, self, index, out, dim, INDEX_TEXT_SELF);
}

int prepare_embedding(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *weight = plan_view(plan, arg[0].tensor), *index = index_view(plan, row, arg, 1);
    struct view *out = plan_view(plan, arg[2].tensor);
    if (weight->rank != 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "'weight' must be 2-D");
    if (!index->rank && out->rank == 1) { /* one row */
        out = plan_alias(plan, out, 0);
        out->rank = 2;
        out->dim[1] = out->dim[0];
        out->stride[1] = out->stride[0];
        out->dim[0] = 1;
    }
    return select(plan, weight, at_least_1d(plan, index), out, 0, INDEX_TEXT_SELF);
}

/* Negative indices count from the end: a copy with them turned. */
struct turn {
    struct view *to, *from;
    int64_t limit;
};

static void turn_loop(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    int64_t limit = *(const int64_t *)param;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = *(const int64_t *)(data[1] + i * step[1]);
        /* what is out of range stays as it came, for the error's text */
        *(int64_t *)(data[0] + i * step[0]) = at < 0 && at >= -limit ? at + limit : at;
    }
}

static int run_turn(void *arg)
{
    struct turn *t = arg;
    walk((const struct view *const[]){t->to, t->from}, 2, turn_loop, &t->limit, 1);
    return ACLNN_SUCCESS;
}

static struct view *turned(struct plan *plan, struct view *index, int64_t limit)
{
    struct turn *t = plan_alloc(plan, sizeof *t);
    *t = (struct turn){plan_temp(plan, ACL_INT64, index->rank, index->dim), index, limit};
    if (view_count(index))
        plan_step(plan, run_turn, t, (uint64_t)view_count(index));
    return t->to;
}

/* All elements as one dimension of a contiguous view. */
static struct view *flat(struct plan *plan, struct view *v)
{
    int64_t count = view_count(v);
    v = plan_alias(plan, v, 0);
    v->rank = 1;
    v->dim[0] = count;
    v->stride[0] = 1;
    return v;
}

int prepare_take(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *self = plan_view(plan, arg[0].tensor), *index = index_view(plan, row, arg, 1);
    struct view *out = plan_view(plan, arg[2].tensor);
    TRY(plan_check_shape(plan, 2, index->rank, index->dim));
    if (out->dtype != self->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out to be %s, but got %s.", dtype_name(self->dtype),
                         dtype_name(out->dtype));
    int64_t count = view_count(self);
    if (!count && view_count(index))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "take(): tried to take from an empty tensor");
    self = plan_contiguous(plan, self, self->dtype);
    struct move *m = move_new(plan, out, turned(plan, index, count), self);
    m->site = (struct index_site){INDEX_TEXT_ELEMENTS, 0, count, 1};
    m->shape_other = m->shape_out;
    memset(m->shape_other.stride, 0, sizeof m->shape_other.stride);
    add_gather(plan, m);
    return ACLNN_SUCCESS;
}

/* ---- scatters ---- */

/* Makes out a copy of self unless it is self. */
static void begin_from(struct plan *plan, struct view *out, struct view *self)
{
    bool same = out->data == self->data && out->rank == self->rank && out->dtype == self->dtype;
    for (int32_t d = 0; same && d < out->rank; d++)
        same = out->stride[d] == self->stride[d] || out->dim[d] == 1;
    if (!same)
        plan_copy(plan, out, self);
}

static int check_scatter(struct plan *plan, enum scatter_op op, aclDataType dtype)
{
    return ISA_PICK(index_kernels)->scatter(op, dtype)
               ? ACLNN_SUCCESS
               : plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor self not implemented for %s in this reduction.",
                           dtype_name(dtype));
}

/* A one-element view, broadcast by its users. */
static struct view *constant(struct plan *plan, aclDataType dtype, const void *value)
{
    char *element = plan_alloc(plan, 16);
    memcpy(element, value, dtype_size(dtype));
    struct view *v = plan_alloc(plan, sizeof *v);
    *v = (struct view){.data = element, .dtype = dtype};
    return v;
}

static struct view *constant_scalar(struct plan *plan, aclDataType dtype, const aclScalar *value)
{
    char element[16];
    scalar_store(value, dtype, element);
    return constant(plan, dtype, element);
}

/* out.scatter(dim, index, src) with an operation; src is of out's type, as large as index at least, or one element. */
static int scatter(struct plan *plan, enum scatter_op op, struct view *out, int32_t dim, struct view *index,
                   struct view *src, struct move **move)
{
    out = at_least_1d(plan, out);
    index = at_least_1d(plan, index);
    TRY(check_scatter(plan, op, out->dtype));
    bool one = !src->rank && (index->rank > 1 || view_count(index) != 1);
    struct view *source = src->rank || one ? src : at_least_1d(plan, src);
    struct move *m = move_new(plan, out, index, source);
    *move = m;
    m->site = (struct index_site){INDEX_TEXT_BOUNDS, dim, out->dim[dim], out->stride[dim]};
    m->op = op;
    if (!view_count(index))
        return ACLNN_SUCCESS;
    bool fits = index->rank == out->rank && (one || source->rank == out->rank);
    for (int32_t d = 0; fits && d < out->rank; d++) {
        fits = (d == dim || index->dim[d] <= out->dim[d]) && (one || index->dim[d] <= source->dim[d]);
        m->shape_out.dim[d] = m->shape_other.dim[d] = index->dim[d];
    }
    if (!fits)
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "Expected index to be no larger than self apart from dimension %d and to be no larger size than src", dim);
    if (one) {
        m->shape_other.rank = index->rank;
        memset(m->shape_other.stride, 0, sizeof m->shape_other.stride);
    }
    m->shape_out.stride[dim] = 0;
    dim_last(m, dim);
    m->ordered = 1;
    add_scatter(plan, m);
    return ACLNN_SUCCESS;
}

static struct view *source(struct plan *plan, const aclTensor *tensor, aclDataType dtype)
{
    struct view *v = plan_view(plan, tensor);
    return v->dtype == dtype ? v : plan_contiguous(plan, v, dtype);
}

/* The output parameter of the out-of-place forms is the last one; in-place forms have none. */
static int target(struct plan *plan, const struct op_row *row, const union op_value *arg, bool in_place,
                  struct view **out)
{
    struct view *self = plan_view(plan, arg[0].tensor);
    *out = self;
    if (in_place)
        return ACLNN_SUCCESS;
    *out = plan_view(plan, arg[row->params - 1].tensor);
    TRY(plan_check_shape(plan, row->params - 1, self->rank, self->dim));
    begin_from(plan, *out, self);
    return ACLNN_SUCCESS;
}

static bool is_in_place(const struct op_row *row)
{
    return row->param[row->params - 1].kind != 'T' || !strstr(row->param[row->params - 1].name, "out");
}

int prepare_scatter(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const enum scatter_op ops[] = {SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN};
    struct view *out;
    TRY(target(plan, row, arg, is_in_place(row), &out));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    if (arg[4].i < 0 || arg[4].i > 4)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "reduce must be 0 (none), 1 (add), 2 (mul), 3 (max) or 4 (min), but got %lld.",
                         (long long)arg[4].i);
    struct view *src = row->param[3].kind == 'S' ? constant_scalar(plan, out->dtype, arg[3].scalar)
                                                 : source(plan, arg[3].tensor, out->dtype);
    struct move *m;
    return scatter(plan, ops[arg[4].i], out, dim, index_view(plan, row, arg, 2), src, &m);
}

int prepare_scatter_add(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out;
    TRY(target(plan, row, arg, false, &out));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    struct move *m;
    return scatter(plan, SCATTER_ADD, out, dim, index_view(plan, row, arg, 2), source(plan, arg[3].tensor, out->dtype),
                   &m);
}

/* What a reduction begins with when self is left out. */
static struct view *identity(struct plan *plan, enum scatter_op op, aclDataType dtype)
{
    if (op == SCATTER_ADD || op == SCATTER_MUL)
        return constant_scalar(plan, dtype, &(aclScalar){.dtype = ACL_INT64, .i = op == SCATTER_MUL});
    bool max = op == SCATTER_MAX;
    if (dtype_is_float(dtype))
        return constant_scalar(plan, dtype, &(aclScalar){.dtype = ACL_DOUBLE, .d = max ? -INFINITY : INFINITY});
    int64_t bits = (int64_t)dtype_size(dtype) * 8, value = max ? 0 : 1;
    if (dtype == ACL_UINT8)
        value = max ? 0 : 255;
    else if (dtype != ACL_BOOL)
        value = max ? INT64_MIN >> (64 - bits) : INT64_MAX >> (64 - bits);
    return constant_scalar(plan, dtype, &(aclScalar){.dtype = ACL_INT64, .i = value});
}

/* out = out / max(count, 1), integers rounded down. Operands out, out, count (int64). */
static void mean_loop(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    aclDataType dtype = *(const aclDataType *)param;
    for (int64_t i = 0; i < n; i++) {
        char *p = data[0] + i * step[0];
        int64_t count = *(const int64_t *)(data[1] + i * step[1]), value = 0;
        if (count < 2)
            continue;
        switch ((int)dtype) {
        case ACL_FLOAT:
            *(float *)p /= (float)count;
            continue;
        case ACL_DOUBLE:
            *(double *)p /= (double)count;
            continue;
        case ACL_FLOAT16:
            *(uint16_t *)p = f16_from_float(f16_to_float(*(uint16_t *)p) / (float)count);
            continue;
        case ACL_BF16:
            *(uint16_t *)p = bf16_from_float(bf16_to_float(*(uint16_t *)p) / (float)count);
            continue;
        case ACL_COMPLEX64:
            ((float *)p)[0] /= (float)count;
            ((float *)p)[1] /= (float)count;
            continue;
        case ACL_COMPLEX128:
            ((double *)p)[0] /= (double)count;
            ((double *)p)[1] /= (double)count;
            continue;
        case ACL_INT8:
            value = *(int8_t *)p;
            break;
        case ACL_UINT8:
            value = *(uint8_t *)p;
            break;
        case ACL_INT16:
            value = *(int16_t *)p;
            break;
        case ACL_INT32:
            value = *(int32_t *)p;
            break;
        case ACL_INT64:
            value = *(int64_t *)p;
            break;
        }
        int64_t quotient = value / count - (value % count < 0);
        memcpy(p, &quotient, dtype_size(dtype));
    }
}

struct mean {
    struct view *out, *count;
};

static int run_mean(void *arg)
{
    struct mean *m = arg;
    walk((const struct view *const[]){m->out, m->count}, 2, mean_loop, &m->out->dtype, 2);
    return ACLNN_SUCCESS;
}

int prepare_scatter_reduce(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const enum scatter_op ops[] = {SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN, SCATTER_ADD};
    struct view *out;
    TRY(target(plan, row, arg, is_in_place(row), &out));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    if (arg[4].i < 0 || arg[4].i > 5)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "reduce must be from 0 to 5, but got %lld.",
                         (long long)arg[4].i);
    bool include_self = arg[5].i != 0, mean = arg[4].i == 5;
    enum scatter_op op = ops[arg[4].i];
    struct view *index = index_view(plan, row, arg, 2), *src = source(plan, arg[3].tensor, out->dtype);
    struct move *m;
    if (!include_self && op != SCATTER_SET)
        TRY(scatter(plan, SCATTER_SET, out, dim, index, identity(plan, op, out->dtype), &m));
    TRY(scatter(plan, op, out, dim, index, src, &m));
    if (!mean)
        return ACLNN_SUCCESS;
    struct mean *t = plan_alloc(plan, sizeof *t);
    int64_t first = include_self, one = 1;
    *t = (struct mean){out, plan_temp(plan, ACL_INT64, out->rank, out->dim)};
    plan_fill(plan, t->count, &first);
    TRY(scatter(plan, SCATTER_ADD, t->count, dim, index, constant(plan, ACL_INT64, &one), &m));
    if (view_count(out))
        plan_step(plan, run_mean, t, (uint64_t)view_count(out) * 2);
    return ACLNN_SUCCESS;
}

/* ---- whole slices: index_add, index_copy, index_fill ---- */

/* The index broadcast over out's other dimensions. src: slices, or one element. */
static int scatter_slices(struct plan *plan, enum scatter_op op, struct view *out, int32_t dim, struct view *index,
                          struct view *src, enum index_text text, struct move **move)
{
    out = at_least_1d(plan, out);
    index = at_least_1d(plan, index);
    TRY(check_scatter(plan, op, out->dtype));
    if (index->rank != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Index is supposed to be a vector, but got dim: %d.",
                         index->rank);
    bool one = !src->rank && (out->rank > 1 || index->dim[0] != 1);
    struct view *slices = one ? src : at_least_1d(plan, src);
    struct move *m = move_new(plan, out, index, slices);
    *move = m;
    bool fits = one || slices->rank == out->rank;
    for (int32_t d = 0; fits && d < out->rank; d++)
        fits = one || slices->dim[d] == (d == dim ? index->dim[0] : out->dim[d]);
    if (!fits)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "source does not have the shape of self with %lld slices along dimension %d.",
                         (long long)index->dim[0], dim);
    m->site = (struct index_site){text, dim, out->dim[dim], out->stride[dim]};
    m->op = op;
    m->shape_index = m->shape_out;
    m->shape_index.dtype = ACL_INT64;
    m->shape_other.rank = out->rank;
    for (int32_t d = 0; d < out->rank; d++) {
        m->shape_index.stride[d] = d == dim ? index->stride[0] : 0;
        m->shape_out.dim[d] = m->shape_index.dim[d] = m->shape_other.dim[d] = d == dim ? index->dim[0] : out->dim[d];
        m->shape_other.stride[d] = one ? 0 : slices->stride[d];
    }
    m->shape_out.stride[dim] = 0;
    dim_last(m, dim);
    m->ordered = 1;
    add_scatter(plan, m);
    return ACLNN_SUCCESS;
}

int prepare_index_add(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out;
    TRY(target(plan, row, arg, false, &out));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    struct move *m;
    TRY(scatter_slices(plan, SCATTER_ADD, out, dim, index_view(plan, row, arg, 2),
                       source(plan, arg[3].tensor, out->dtype), INDEX_TEXT_SELF, &m));
    m->alpha.alpha[0] = scalar_double(arg[4].scalar);
    m->alpha.alpha[1] = dtype_is_complex(arg[4].scalar->dtype) ? arg[4].scalar->c[1] : 0;
    m->alpha.alpha_int = scalar_int(arg[4].scalar);
    return ACLNN_SUCCESS;
}

int prepare_index_copy(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out;
    TRY(target(plan, row, arg, is_in_place(row), &out));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    struct move *m;
    return scatter_slices(plan, SCATTER_SET, out, dim, index_view(plan, row, arg, 2),
                          source(plan, arg[3].tensor, out->dtype), INDEX_TEXT_COPY, &m);
}

int prepare_index_fill(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out;
    TRY(target(plan, row, arg, is_in_place(row), &out));
    int32_t dim;
    TRY(wrap(plan, arg[1].i, out->rank, &dim));
    struct view *index;
    if (row->param[2].kind == 'I') {
        int64_t n = (int64_t)arg[2].ints->size;
        int64_t *copy = plan_alloc(plan, (size_t)(n + 1) * 8);
        memcpy(copy, arg[2].ints->value, (size_t)n * 8);
        index = plan_alloc(plan, sizeof *index);
        *index = view_make(ACL_INT64, 1, &n);
        index->data = (char *)copy;
    } else {
        index = index_view(plan, row, arg, 2);
    }
    index = turned(plan, at_least_1d(plan, index), out->rank ? out->dim[dim] : 1);
    struct move *m;
    return scatter_slices(plan, SCATTER_SET, out, dim, index, constant_scalar(plan, out->dtype, arg[3].scalar),
                          INDEX_TEXT_BOUNDS, &m);
}

int prepare_put(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *self = plan_view(plan, arg[0].tensor), *index = index_view(plan, row, arg, 1);
    struct view *src = source(plan, arg[2].tensor, self->dtype);
    int64_t count = view_count(self);
    if (view_count(index) != view_count(src))
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = %lld, "
            "index.numel() = %lld",
            (long long)view_count(src), (long long)view_count(index));
    if (!count && view_count(index))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "put_(): Tried to put elements into an empty tensor");
    struct view *out = plan_contiguous(plan, self, self->dtype);
    struct move *m;
    TRY(scatter(plan, arg[3].i ? SCATTER_ADD : SCATTER_SET, flat(plan, out), 0, flat(plan, turned(plan, index, count)),
                flat(plan, plan_contiguous(plan, src, src->dtype)), &m));
    m->site.text = INDEX_TEXT_ELEMENTS;
    plan_finish(plan, out, self);
    return ACLNN_SUCCESS;
}

/* ---- masked_scatter ---- */

struct masked {
    struct view *self, *mask, *src; /* all contiguous */
};

static int run_masked_scatter(void *arg)
{
    struct masked *t = arg;
    int64_t n = view_count(t->self), have = view_count(t->src), at = 0;
    size_t size = dtype_size(t->self->dtype);
    const char *mask = t->mask->data;
    for (int64_t i = 0; i < n; i++) {
        if (!mask[i])
            continue;
        if (at == have)
            return fail(ACLNN_ERR_PARAM_INVALID, "Number of elements of source < number of ones in mask");
        memcpy(t->self->data + (size_t)i * size, t->src->data + (size_t)at++ * size, size);
    }
    return ACLNN_SUCCESS;
}

int prepare_masked_scatter(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType types[] = {ACL_BOOL, ACL_UINT8};
    (void)row;
    TRY(plan_check_dtype(plan, 1, types, 2));
    struct view *self = plan_view(plan, arg[0].tensor), *mask = plan_view(plan, arg[1].tensor);
    struct view *wide = plan_alias(plan, mask, 0);
    if (!view_broadcast(wide, mask, self->rank, self->dim))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "mask cannot be broadcast to the shape of selfRef.");
    struct masked *t = plan_alloc(plan, sizeof *t);
    t->self = plan_contiguous(plan, self, self->dtype);
    t->mask = plan_contiguous(plan, wide, wide->dtype);
    t->src = plan_contiguous(plan, plan_view(plan, arg[2].tensor), self->dtype);
    if (view_count(self))
        plan_step(plan, run_masked_scatter, t, (uint64_t)view_count(self) * 2);
    plan_finish(plan, t->self, self);
    return ACLNN_SUCCESS;
}

/* ---- embedding's gradient ---- */

struct embedding_index {
    struct view *index, *kept; /* kept: contiguous int64 with INDEX_SKIP for the padding */
    int64_t padding, rows;
    double *scale; /* 1 / how often the index occurs, or NULL */
    int64_t *count;
};

static int run_embedding_index(void *arg)
{
    struct embedding_index *t = arg;
    int64_t n = view_count(t->kept), *kept = (int64_t *)t->kept->data;
    const int64_t *index = (const int64_t *)t->index->data;
    if (t->count)
        memset(t->count, 0, (size_t)t->rows * 8);
    for (int64_t i = 0; i < n; i++) {
        kept[i] = index[i] == t->padding ? INDEX_SKIP : index[i];
        if (t->count && (uint64_t)kept[i] < (uint64_t)t->rows)
            t->count[kept[i]]++;
    }
    for (int64_t i = 0; t->scale && i < n; i++)
        t->scale[i] = (uint64_t)kept[i] < (uint64_t)t->rows ? 1 / (double)t->count[kept[i]] : 1;
    return ACLNN_SUCCESS;
}

/* Few lines into a large table of 16-bit floats: a row is the sum of its lines in their order, kept in float until it
 * is stored; most rows have none. */
struct embedding_sums {
    struct view *grad, *index, *out, *lists; /* dense; lists: where each row's lines end, then all the lines */
    int64_t padding, rows, columns;
    bool scaled;
    struct copy_cast widen, narrow;
};

static void embedding_rows(void *arg, int64_t begin, int64_t end)
{
    enum { AT_ONCE = 512 };
    const struct embedding_sums *t = arg;
    const struct copy_kernels *copy = ISA_PICK(copy_kernels);
    const int64_t *ends = (const int64_t *)t->lists->data, *line = ends + t->rows;
    const int64_t wide = (int64_t)dtype_size(t->grad->dtype), narrow = (int64_t)dtype_size(t->out->dtype);
    float sum[AT_ONCE], term[AT_ONCE];
    for (int64_t row = begin; row < end; row++) {
        int64_t first = row ? ends[row - 1] : 0, count = ends[row] - first;
        char *out = t->out->data + row * t->columns * narrow;
        float scale = t->scaled && count ? (float)(1 / (double)count) : 1;
        if (!count)
            memset(out, 0, (size_t)(t->columns * narrow));
        for (int64_t at = 0, m; count && at < t->columns; at += m) {
            m = t->columns - at < AT_ONCE ? t->columns - at : AT_ONCE;
            memset(sum, 0, sizeof sum);
            for (int64_t k = first; k < ends[row]; k++) {
                char *from = t->grad->data + (line[k] * t->columns + at) * wide;
                copy->cast(m, (char *const[]){(char *)term, from}, (const int64_t[]){sizeof(float), wide}, &t->widen);
                for (int64_t j = 0; j < m; j++)
                    sum[j] += scale * term[j];
            }
            copy->cast(m, (char *const[]){out + at * narrow, (char *)sum}, (const int64_t[]){narrow, sizeof(float)},
                       &t->narrow);
        }
    }
}

static int run_embedding_sums(void *arg)
{
    const struct embedding_sums *t = arg;
    const struct index_site site = {INDEX_TEXT_SELF, 0, t->rows, 0};
    const int64_t *index = (const int64_t *)t->index->data;
    int64_t n = view_count(t->index), *ends = (int64_t *)t->lists->data, *line = ends + t->rows, before = 0;
    memset(ends, 0, (size_t)t->rows * sizeof *ends);
    for (int64_t i = 0; i < n; i++) {
        if (index[i] == t->padding)
            continue;
        if ((uint64_t)index[i] >= (uint64_t)t->rows)
            return index_fail(&site, index[i]);
        ends[index[i]]++;
    }
    for (int64_t row = 0; row < t->rows; row++) { /* counts become beginnings, and these ends as lines are listed */
        int64_t count = ends[row];
        ends[row] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++)
        if (index[i] != t->padding)
            line[ends[index[i]]++] = i;
    parallel(t->rows, 1 + 32768 / (t->columns + 1), embedding_rows, arg);
    return ACLNN_SUCCESS;
}

static void add_embedding_sums(struct plan *plan, struct view *grad, struct view *index, struct view *out,
                               int64_t padding, bool scaled)
{
    struct embedding_sums *t = plan_alloc(plan, sizeof *t);
    const struct copy_kernels *copy = ISA_PICK(copy_kernels);
    struct view *to = plan_output(plan, out, out->dtype);
    *t = (struct embedding_sums){.grad = plan_contiguous(plan, grad, grad->dtype),
                                 .index = plan_contiguous(plan, index, ACL_INT64),
                                 .out = to,
                                 .padding = padding,
                                 .rows = out->dim[0],
                                 .columns = out->dim[1],
                                 .scaled = scaled};
    t->lists = plan_temp(plan, ACL_INT64, 1, (int64_t[]){t->rows + view_count(index) + 1});
    copy->find_cast(&t->widen, ACL_FLOAT, grad->dtype);
    copy->find_cast(&t->narrow, out->dtype, ACL_FLOAT);
    if (t->rows)
        plan_step(plan, run_embedding_sums, t, (uint64_t)(view_count(out) / 8 + view_count(grad)));
    plan_finish(plan, to, out);
}

int prepare_embedding_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *grad = plan_view(plan, arg[0].tensor), *index = index_view(plan, row, arg, 1);
    struct view *out = plan_view(plan, arg[5].tensor);
    int64_t rows = arg[2].i, n = view_count(index), columns = grad->rank ? grad->dim[grad->rank - 1] : 1;
    int64_t shape[2] = {rows, columns}, lines[2] = {n, columns};
    TRY(plan_check_shape(plan, 5, 2, shape));
    if (view_count(grad) != n * columns)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "grad must have %lld rows, one for each index.", (long long)n);
    bool scaled = arg[4].i != 0;
    bool narrow = out->dtype == ACL_FLOAT16 || out->dtype == ACL_BF16;
    if (narrow && n <= rows && dtype_is_float(grad->dtype)) {
        add_embedding_sums(plan, grad, index, out, (int64_t)(uint64_t)arg[3].i, scaled);
        return ACLNN_SUCCESS;
    }
    /* 16-bit sums of many rows would lose what a float keeps */
    aclDataType sum = narrow ? ACL_FLOAT : out->dtype;
    struct view *target_view = narrow ? plan_temp(plan, sum, 2, shape) : out;
    plan_fill(plan, target_view, (const char[16]){0});
    struct view *lines_view = plan_alias(plan, plan_contiguous(plan, grad, sum), 0);
    lines_view->rank = 2;
    lines_view->dim[0] = lines[0];
    lines_view->dim[1] = lines_view->stride[0] = lines[1];
    lines_view->stride[1] = 1;
    struct embedding_index *t = plan_alloc(plan, sizeof *t);
    t->index = plan_contiguous(plan, index, ACL_INT64);
    t->kept = plan_temp(plan, ACL_INT64, 1, &n);
    t->padding = (int64_t)(uint64_t)arg[3].i;
    t->rows = rows;
    t->scale = scaled ? plan_alloc(plan, (size_t)(n + 1) * 8) : NULL;
    t->count = scaled ? plan_alloc(plan, (size_t)(rows + 1) * 8) : NULL;
    plan_step(plan, run_embedding_index, t, (uint64_t)n);
    struct move *m;
    TRY(scatter_slices(plan, SCATTER_ADD, target_view, 0, t->kept, lines_view, INDEX_TEXT_SELF, &m));
    m->scale = t->scale;
    if (target_view != out)
        plan_copy(plan, out, target_view);
    return ACLNN_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax over a dimension of a dense tensor, seen as [outer, n, inner]: whole rows when inner is 1, else runs of
 * neighbouring columns, as many as keep n of them in a core's cache. Other layouts are made dense first. */
#include "ops/softmax.h"

#include <math.h>

#include "ops/reduce.h"

enum { GRAIN = 8192, COLUMNS_MAX = 512, COLUMNS_MIN = 256, CACHED = 65536 };

struct softmax_job {
    const struct softmax_kernels *kernel;
    enum softmax_mode mode;
    struct softmax_shape shape;
    const struct view *grad, *x, *out;
    int64_t outer, width, blocks;
};

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

static int64_t bytes(const struct view *v)
{
    return (int64_t)dtype_size(v->dtype);
}

static void run_rows(void *arg, int64_t begin, int64_t end)
{
    const struct softmax_job *j = arg;
    int64_t n = j->shape.n, at = begin * n;
    char *out = j->out->data + (j->mode == SOFTMAX_SUM_LOG ? begin : at) * bytes(j->out);
    const char *x = j->x->data + at * bytes(j->x);
    if (j->grad)
        j->kernel->grad_rows(j->mode, &j->shape, end - begin, j->grad->data + at * bytes(j->grad), x, out);
    else
        j->kernel->rows(j->mode, &j->shape, end - begin, x, out);
}

static void run_columns(void *arg, int64_t begin, int64_t end)
{
    const struct softmax_job *j = arg;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t first = unit % j->blocks * j->width, left = j->shape.inner - first;
        int64_t at = unit / j->blocks * j->shape.n * j->shape.inner + first, cols = left < j->width ? left : j->width;
        int64_t to = j->mode == SOFTMAX_SUM_LOG ? unit / j->blocks * j->shape.inner + first : at;
        char *out = j->out->data + to * bytes(j->out);
        const char *x = j->x->data + at * bytes(j->x);
        if (j->grad)
            j->kernel->grad_columns(j->mode, &j->shape, cols, j->grad->data + at * bytes(j->grad), x, out);
        else
            j->kernel->columns(j->mode, &j->shape, cols, x, out);
    }
}

static int run(void *arg)
{
    struct softmax_job *j = arg;
    int64_t n = j->shape.n;
    if (j->shape.inner == 1)
        parallel(j->outer, n < GRAIN ? GRAIN / n : 1, run_rows, j);
    else
        parallel(j->outer * j->blocks, n * j->width < GRAIN ? GRAIN / (n * j->width) : 1, run_columns, j);
    return 0;
}

/* Adds the step: x (and grad) are dense; dim counts from 0. */
static void add_step(struct plan *plan, enum softmax_mode mode, struct view *grad, struct view *x, int32_t dim,
                     struct view *out)
{
    struct softmax_job *j = plan_alloc(plan, sizeof *j);
    *j = (struct softmax_job){ISA_PICK(softmax_kernels), mode, .grad = grad, .x = x, .out = out, .outer = 1};
    j->shape = (struct softmax_shape){1, 1, x->dtype, grad ? grad->dtype : x->dtype, out->dtype};
    for (int32_t d = 0; d < x->rank; d++)
        *(d < dim ? &j->outer : d == dim ? &j->shape.n : &j->shape.inner) *= x->dim[d];
    int64_t fit = j->shape.n ? CACHED / j->shape.n : 0;
    j->width = fit > COLUMNS_MAX ? COLUMNS_MAX : fit < COLUMNS_MIN ? COLUMNS_MIN : fit;
    j->blocks = (j->shape.inner + j->width - 1) / j->width;
    int64_t count = view_count(x);
    if (count)
        plan_step(plan, run, j, (uint64_t)count);
}

static int find_dim(struct plan *plan, int64_t dim, int32_t rank, int32_t *found)
{
    uint32_t mask;
    TRY(reduce_mask(plan, rank, &dim, 1, &mask));
    *found = __builtin_ctz(mask);
    return ACLNN_SUCCESS;
}

int softmax_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int32_t dim;
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, 2, floats, 4));
    TRY(find_dim(plan, arg[1].i, arg[0].tensor->view.rank, &dim));
    struct view *x = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[2].tensor);
    TRY(plan_check_shape(plan, 2, x->rank, x->dim));
    struct view *to = plan_output(plan, out, out->dtype);
    add_step(plan, (enum softmax_mode)row->code, NULL, plan_contiguous(plan, x, x->dtype), dim, to);
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

int softmax_prepare_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int32_t dim;
    for (int p = 0; p < 4; p += p == 1 ? 2 : 1)
        TRY(plan_check_dtype(plan, p, floats, 4));
    TRY(find_dim(plan, arg[2].i, arg[1].tensor->view.rank, &dim));
    struct view *grad = plan_view(plan, arg[0].tensor), *y = plan_view(plan, arg[1].tensor);
    struct view *out = plan_view(plan, arg[3].tensor);
    TRY(plan_check_shape(plan, 0, y->rank, y->dim));
    TRY(plan_check_shape(plan, 3, y->rank, y->dim));
    struct view *to = plan_output(plan, out, out->dtype);
    grad = plan_contiguous(plan, grad, grad->dtype);
    add_step(plan, (enum softmax_mode)row->code, grad, plan_contiguous(plan, y, y->dtype), dim, to);
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

/* self dims keepdim out: the dimensions that go are moved to the end and made one. */
int softmax_prepare_sum_log(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    const aclIntArray *dims = arg[1].ints;
    uint32_t mask;
    TRY(plan_check_dtype(plan, 3, floats, 4));
    TRY(reduce_mask(plan, self->view.rank, dims ? dims->value : NULL, dims ? dims->size : 0, &mask));
    TRY(reduce_check_out(plan, 3, &self->view, mask, arg[2].i != 0));
    struct view *in = plan_view(plan, self), *out = plan_view(plan, arg[3].tensor), *moved = plan_alias(plan, in, 0);
    if (dtype_is_complex(in->dtype))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s does not take %s.", row->name, dtype_name(in->dtype));
    if (!view_count(in)) {
        double nothing = -INFINITY;
        float nothing_f = -INFINITY;
        uint16_t nothing_h = out->dtype == ACL_BF16 ? 0xff80 : 0xfc00;
        if (view_count(out))
            plan_fill(plan, out,
                      out->dtype == ACL_DOUBLE  ? (void *)&nothing
                      : out->dtype == ACL_FLOAT ? (void *)&nothing_f
                                                : (void *)&nothing_h);
        return ACLNN_SUCCESS;
    }
    int32_t place = 0, kept = 0, first = -1;
    bool last = true; /* one reduced dimension: no need to move it */
    for (int32_t d = 0; d < in->rank; d++)
        if (mask >> d & 1)
            first = first < 0 ? d : first;
    last = first < 0 || mask == 1u << first;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t d = 0; d < in->rank; d++) {
            if ((mask >> d & 1) != (unsigned)pass)
                continue;
            moved->dim[place] = in->dim[d];
            moved->stride[place++] = in->stride[d];
        }
        kept = pass ? kept : place;
    }
    aclDataType dtype = dtype_is_float(in->dtype) ? in->dtype : out->dtype;
    struct view *x = plan_contiguous(plan, last ? in : moved, dtype), *flat = plan_alias(plan, x, 0);
    int32_t dim = last ? (first < 0 ? 0 : first) : kept;
    if (!last) {
        for (int32_t d = kept + 1; d < flat->rank; d++)
            flat->dim[kept] *= flat->dim[d];
        flat->rank = kept + 1;
    }
    struct view *to = plan_output(plan, out, out->dtype);
    add_step(plan, SOFTMAX_SUM_LOG, NULL, flat, dim, to);
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

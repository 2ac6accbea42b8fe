/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of reductions: what each does with its arguments before reduce_step(). Sums and products of floats into an
 * integer type, or into a narrower float, convert the elements first, as PyTorch does. */
#include "ops/reduce.h"

#include <math.h>
#include <stdatomic.h>

#include "ops/walk.h"

static enum reduce_op op_of(const struct op_row *row)
{
    return (enum reduce_op)(row->code & 0xff);
}

static enum reduce_finish finish_of(const struct op_row *row)
{
    return (enum reduce_finish)(row->code >> 8);
}

/* Complex numbers as pairs of real ones: a last dimension more. */
static struct view *as_pairs(struct plan *plan, struct view *v)
{
    struct view *pairs = plan_alias(plan, v, 0);
    pairs->dtype = v->dtype == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
    for (int32_t d = 0; d < v->rank; d++)
        pairs->stride[d] *= 2;
    pairs->dim[v->rank] = 2;
    pairs->stride[v->rank] = 1;
    pairs->rank++;
    return pairs;
}

static int add_reduction(struct plan *plan, const struct op_row *row, const aclTensor *self, uint32_t mask,
                         const aclTensor *result)
{
    enum reduce_op op = op_of(row);
    struct view *in = plan_view(plan, self), *out = plan_view(plan, result);
    bool sums = op == REDUCE_SUM || op == REDUCE_NANSUM || op == REDUCE_PROD;
    if (dtype_is_complex(in->dtype) || dtype_is_complex(out->dtype)) {
        if (op != REDUCE_SUM || in->rank == VIEW_RANK_MAX || !dtype_is_complex(out->dtype) ||
            out->dtype == ACL_COMPLEX32)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s does not reduce %s to %s.", row->name,
                             dtype_name(in->dtype), dtype_name(out->dtype));
        in = as_pairs(plan, plan_contiguous(plan, in, out->dtype));
        out = as_pairs(plan, out);
    } else if (sums && dtype_is_float(in->dtype) &&
               (!dtype_is_float(out->dtype) || (dtype_size(out->dtype) < dtype_size(in->dtype)))) {
        in = plan_contiguous(plan, in, out->dtype);
    }
    enum reduce_type type = reduce_type_of(in->dtype, out->dtype);
    if (!sums)
        type = reduce_type_of(in->dtype, in->dtype);
    if (op == REDUCE_NANSUM && type == REDUCE_I64)
        op = REDUCE_SUM;
    reduce_step(plan, in, mask, op, 0, type, &(struct reduce_out){out, finish_of(row), 0}, 1);
    return ACLNN_SUCCESS;
}

/* An extreme of nothing has no value. */
static int check_identity(struct plan *plan, const struct op_row *row, const struct view *in, uint32_t mask)
{
    bool needs = op_of(row) == REDUCE_MAX || op_of(row) == REDUCE_MIN || op_of(row) == REDUCE_ARGMAX ||
                 op_of(row) == REDUCE_ARGMIN;
    int64_t results = 1, count = 1;
    for (int32_t d = 0; d < in->rank; d++)
        *(mask >> d & 1 ? &count : &results) *= in->dim[d];
    if (needs && results && !count)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected reduction dim of %s to have non-zero size.",
                         row->name);
    return ACLNN_SUCCESS;
}

int reduce_prepare_dims(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    const aclIntArray *dims = arg[1].ints;
    int out = row->params - 1;
    uint32_t mask;
    TRY(reduce_mask(plan, self->view.rank, dims ? dims->value : NULL, dims ? dims->size : 0, &mask));
    bool stays = row->detail && arg[3].i && !(dims && dims->size); /* noopWithEmptyAxes */
    if (stays)
        mask = 0;
    TRY(check_identity(plan, row, &self->view, mask));
    TRY(reduce_check_out(plan, out, &self->view, mask, arg[2].i != 0));
    return add_reduction(plan, row, self, mask, arg[out].tensor);
}

int reduce_prepare_all(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    int out = row->params - 1;
    uint32_t mask;
    TRY(reduce_mask(plan, self->view.rank, NULL, 0, &mask));
    TRY(check_identity(plan, row, &self->view, mask));
    if (view_count(&arg[out].tensor->view) != 1)
        TRY(reduce_check_out(plan, out, &self->view, mask, false));
    /* A result of shape [1,…,1] will do as well. */
    struct view *result = plan_view(plan, arg[out].tensor);
    result->rank = 0;
    return add_reduction(plan, row, self, mask, &(aclTensor){.view = *result});
}

int reduce_prepare_dim(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    bool indices = finish_of(row) == REDUCE_VALUE && (op_of(row) == REDUCE_ARGMAX || op_of(row) == REDUCE_ARGMIN);
    int out = row->params - 1 - indices;
    uint32_t mask;
    TRY(reduce_mask(plan, self->view.rank, &arg[1].i, 1, &mask));
    TRY(check_identity(plan, row, &self->view, mask));
    TRY(reduce_check_out(plan, out, &self->view, mask, arg[2].i != 0));
    if (!indices)
        return add_reduction(plan, row, self, mask, arg[out].tensor);
    TRY(reduce_check_out(plan, out + 1, &self->view, mask, arg[2].i != 0));
    struct view *in = plan_view(plan, self);
    struct reduce_out outs[2] = {{plan_view(plan, arg[out].tensor), REDUCE_VALUE, 0},
                                 {plan_view(plan, arg[out + 1].tensor), REDUCE_INDEX, 0}};
    reduce_step(plan, in, mask, op_of(row), 0, reduce_type_of(in->dtype, in->dtype), outs, 2);
    return ACLNN_SUCCESS;
}

/* self, [dim], [keepdim], minOut, maxOut; the code: 0 no dim, 1 one, 2 several. */
int reduce_prepare_aminmax(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    int out = row->params - 2;
    uint32_t mask;
    const int64_t *dim = row->code == 1 ? &arg[1].i : row->code == 2 && arg[1].ints ? arg[1].ints->value : NULL;
    uint64_t dims = row->code == 1 ? 1 : row->code == 2 && arg[1].ints ? arg[1].ints->size : 0;
    TRY(reduce_mask(plan, self->view.rank, dim, dims, &mask));
    struct op_row one = *row;
    one.code = ROW_MIN;
    TRY(check_identity(plan, &one, &self->view, mask));
    for (int k = 0; k < 2; k++)
        TRY(reduce_check_out(plan, out + k, &self->view, mask, row->code && arg[2].i));
    if (dtype_is_complex(self->view.dtype))
        return add_reduction(plan, &one, self, mask, arg[out].tensor); /* which refuses it */
    struct view *in = plan_view(plan, self);
    const struct reduce_out outs[2] = {{plan_view(plan, arg[out].tensor), REDUCE_VALUE, 0},
                                       {plan_view(plan, arg[out + 1].tensor), REDUCE_OTHER, 0}};
    reduce_step(plan, in, mask, REDUCE_MIN_MAX, 0, reduce_type_of(in->dtype, in->dtype), outs, 2);
    return ACLNN_SUCCESS;
}

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

/* self dim correction (or unbiased) keepdim out [mean] */
int reduce_prepare_moments(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    const aclIntArray *dims = arg[1].ints;
    uint32_t mask;
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(reduce_mask(plan, self->view.rank, dims ? dims->value : NULL, dims ? dims->size : 0, &mask));
    struct reduce_out outs[2] = {{.finish = finish_of(row), .argument = (double)arg[2].i},
                                 {.finish = REDUCE_MOMENT_MEAN}};
    int n = row->params - 4;
    for (int k = 0; k < n; k++) {
        TRY(plan_check_dtype(plan, 4 + k, floats, 4));
        TRY(reduce_check_out(plan, 4 + k, &self->view, mask, arg[3].i != 0));
        outs[k].view = plan_view(plan, arg[4 + k].tensor);
    }
    struct view *in = plan_view(plan, self);
    reduce_step(plan, in, mask, REDUCE_MOMENTS, 0, reduce_type_of(in->dtype, outs[0].view->dtype), outs, n);
    return ACLNN_SUCCESS;
}

/* self p dim keepdim [dtype] out */
int reduce_prepare_norm(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensor *self = arg[0].tensor;
    const aclIntArray *dims = arg[2].ints;
    double p = arg[1].scalar ? scalar_double(arg[1].scalar) : 2;
    int out = row->params - 1;
    uint32_t mask;
    bool pairs = dtype_is_complex(self->view.dtype) && p == 2 && self->view.rank < VIEW_RANK_MAX;
    if (!pairs)
        TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, out, floats, 4));
    TRY(reduce_mask(plan, self->view.rank, dims ? dims->value : NULL, dims ? dims->size : 0, &mask));
    TRY(reduce_check_out(plan, out, &self->view, mask, arg[3].i != 0));
    struct view *in = plan_view(plan, self), *result = plan_view(plan, arg[out].tensor);
    if (pairs) {
        in = as_pairs(plan, in);
        mask |= 1u << (in->rank - 1);
        if (arg[3].i) {
            result->dim[result->rank] = result->stride[result->rank] = 1;
            result->rank++;
        }
    }
    struct reduce_out to = {result, REDUCE_VALUE, p};
    enum reduce_op op = REDUCE_POWERS;
    if (p == 0)
        op = REDUCE_NONZERO;
    else if (p == 1)
        op = REDUCE_ABS_SUM;
    else if (p == 2)
        op = REDUCE_SQUARES, to.finish = REDUCE_SQRT;
    else if (isinf(p))
        op = p > 0 ? REDUCE_ABS_MAX : REDUCE_ABS_MIN;
    else
        to.finish = REDUCE_ROOT;
    reduce_step(plan, in, mask, op, p, reduce_type_of(in->dtype, result->dtype), &to, 1);
    return ACLNN_SUCCESS;
}

/* ---- equal ---- */

struct comparison {
    const struct reduce_kernels *kernel;
    const struct view *a, *b;
    struct view *out;
    atomic_bool differs;
};

static void compare(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    struct comparison *c = (struct comparison *)param;
    if (!atomic_load_explicit(&c->differs, memory_order_relaxed) &&
        !c->kernel->equal(c->a->dtype, n, data[0], step[0], data[1], step[1]))
        atomic_store_explicit(&c->differs, true, memory_order_relaxed);
}

static int run_compare(void *arg)
{
    struct comparison *c = arg;
    atomic_store(&c->differs, false);
    if (!c->a)
        atomic_store(&c->differs, true);
    else if (view_count(c->a))
        walk((const struct view *const[]){c->a, c->b}, 2, compare, c, 1);
    bool same = !atomic_load(&c->differs);
    struct view value = {.data = (char *)&same, .dtype = ACL_BOOL, .rank = c->out->rank};
    for (int32_t d = 0; d < value.rank; d++)
        value.dim[d] = 1;
    copy_view(c->out, &value);
    return 0;
}

int reduce_prepare_equal(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const struct view *a = &arg[0].tensor->view, *b = &arg[1].tensor->view;
    if (view_count(&arg[2].tensor->view) != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor for out to have 1 element, but got %ld.",
                         (long)view_count(&arg[2].tensor->view));
    struct comparison *c = plan_alloc(plan, sizeof *c);
    c->kernel = ISA_PICK(reduce_kernels);
    c->out = plan_view(plan, arg[2].tensor);
    if (view_same_shape(a, b) && a->dtype == b->dtype) {
        c->a = plan_view(plan, arg[0].tensor);
        c->b = plan_view(plan, arg[1].tensor);
    }
    plan_step(plan, run_compare, c, (uint64_t)view_count(a) * dtype_size(a->dtype) / 5);
    return ACLNN_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses between two tensors of one shape (inputs broadcast): element by element into the output or a temporary, which
 * a reduction then sums. Their gradients in one pass. */
#include "ops/loss.h"

#include "ops/reduce.h"

enum { GRAIN = 4096 };

struct loss_job {
    const struct loss_kernels *kernel;
    enum loss_mode mode;
    aclDataType dtype;
    const struct view *x, *y, *weight, *grad, *out;
    int64_t count, grad_step;
    double parameter, scale;
    bool checked; /* x must lie in [0, 1] */
};

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

static void run_piece(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;
    int64_t at = begin * (int64_t)dtype_size(j->dtype);
    struct loss_arrays a = {
        j->x->data + at, j->y->data + at, j->weight ? j->weight->data + at : NULL, NULL, j->grad_step,
        j->parameter,    j->scale};
    if (j->grad) {
        a.grad = j->grad->data + at * j->grad_step;
        j->kernel->gradient(j->mode, j->dtype, end - begin, &a, j->out->data + at);
    } else {
        j->kernel->map(j->mode, j->dtype, end - begin, &a, j->out->data + at);
    }
}

static int run(void *arg)
{
    struct loss_job *j = arg;
    for (int64_t i = 0; j->checked && i < j->count; i++) {
        double x = j->kernel->load(j->dtype, j->x->data, i);
        if (!(x >= 0.0 && x <= 1.0))
            return fail(ACLNN_ERR_PARAM_INVALID,
                        "all elements of input should be between 0 and 1, but element %lld is %g", (long long)i, x);
    }
    parallel(j->count, GRAIN, run_piece, j);
    return 0;
}

/* A dense view of a tensor, expanded to the given shape. */
static struct view *dense(struct plan *plan, const aclTensor *tensor, const struct view *shape, aclDataType dtype)
{
    struct view *v = plan_view(plan, tensor);
    if (!view_broadcast(v, v, shape->rank, shape->dim))
        return NULL;
    return plan_contiguous(plan, v, dtype);
}

static int shape_error(struct plan *plan, const struct op_row *row, int p)
{
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: %s can't be broadcast to the shape of the loss.", row->name,
                     row->param[p].name);
}

/* The shape that x and y broadcast to. */
static int common_shape(struct plan *plan, const struct op_row *row, const struct view *x, const struct view *y,
                        struct view *to)
{
    int64_t dim[VIEW_RANK_MAX];
    int32_t rank = x->rank > y->rank ? x->rank : y->rank;
    for (int32_t d = 0; d < rank; d++) {
        int64_t a = d < rank - x->rank ? 1 : x->dim[d - (rank - x->rank)];
        int64_t b = d < rank - y->rank ? 1 : y->dim[d - (rank - y->rank)];
        if (a != b && a != 1 && b != 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: sizes %lld and %lld at dimension %d don't broadcast.",
                             row->name, (long long)a, (long long)b, d);
        dim[d] = a == 1 ? b : a;
    }
    *to = view_make(x->dtype, rank, dim);
    return ACLNN_SUCCESS;
}

static int check_reduction(struct plan *plan, int64_t reduction)
{
    if (reduction < LOSS_NONE || reduction > LOSS_SUM)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "reduction must be 0 (none), 1 (mean) or 2 (sum), but it is %lld.", (long long)reduction);
    return ACLNN_SUCCESS;
}

/* Parameters x, y, weight (or -1), out. */
static int forward(struct plan *plan, const struct op_row *row, const union op_value *arg, int weight, int out,
                   int64_t reduction, double parameter)
{
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, out, floats, 4));
    TRY(check_reduction(plan, reduction));
    aclDataType dtype = arg[0].tensor->view.dtype;
    struct view shape;
    TRY(common_shape(plan, row, &arg[0].tensor->view, &arg[1].tensor->view, &shape));
    struct loss_job *j = plan_alloc(plan, sizeof *j);
    *j = (struct loss_job){ISA_PICK(loss_kernels), (enum loss_mode)row->code, dtype, .parameter = parameter};
    if (!(j->x = dense(plan, arg[0].tensor, &shape, dtype)))
        return shape_error(plan, row, 0);
    if (!(j->y = dense(plan, arg[1].tensor, &shape, dtype)))
        return shape_error(plan, row, 1);
    if (weight >= 0 && arg[weight].tensor && !(j->weight = dense(plan, arg[weight].tensor, &shape, dtype)))
        return shape_error(plan, row, weight);
    j->count = view_count(&shape);
    j->checked = j->mode == LOSS_BCE;
    struct view *to = plan_view(plan, arg[out].tensor), *each;
    if (reduction == LOSS_NONE) {
        TRY(plan_check_shape(plan, out, shape.rank, shape.dim));
        each = plan_output(plan, to, dtype);
    } else {
        TRY(plan_check_shape(plan, out, 0, NULL));
        each = plan_temp(plan, dtype, shape.rank, shape.dim);
    }
    j->out = each;
    if (j->count)
        plan_step(plan, run, j, (uint64_t)j->count * 2);
    if (reduction == LOSS_NONE) {
        plan_finish(plan, each, to);
        return ACLNN_SUCCESS;
    }
    struct reduce_out sum = {to, reduction == LOSS_MEAN ? REDUCE_MEAN : REDUCE_VALUE, 0};
    reduce_step(plan, each, (uint32_t)((1ull << shape.rank) - 1), REDUCE_SUM, 0, reduce_type_of(dtype, to->dtype), &sum,
                1);
    return ACLNN_SUCCESS;
}

/* Parameters grad, x, y, weight (or -1), out. */
static int backward(struct plan *plan, const struct op_row *row, const union op_value *arg, int weight, int out,
                    int64_t reduction, double parameter)
{
    TRY(plan_check_dtype(plan, 1, floats, 4));
    TRY(check_reduction(plan, reduction));
    aclDataType dtype = arg[1].tensor->view.dtype;
    struct view shape;
    TRY(common_shape(plan, row, &arg[1].tensor->view, &arg[2].tensor->view, &shape));
    TRY(plan_check_shape(plan, out, shape.rank, shape.dim));
    struct loss_job *j = plan_alloc(plan, sizeof *j);
    *j = (struct loss_job){ISA_PICK(loss_kernels), (enum loss_mode)row->code, dtype, .parameter = parameter};
    const aclTensor *grad = arg[0].tensor;
    bool one = view_count(&grad->view) == 1;
    j->count = view_count(&shape);
    j->grad_step = !one;
    j->scale = reduction == LOSS_MEAN && j->count ? 1.0 / (double)j->count : 1.0;
    j->grad = one ? plan_contiguous(plan, plan_view(plan, grad), dtype) : dense(plan, grad, &shape, dtype);
    if (!j->grad)
        return shape_error(plan, row, 0);
    if (!(j->x = dense(plan, arg[1].tensor, &shape, dtype)))
        return shape_error(plan, row, 1);
    if (!(j->y = dense(plan, arg[2].tensor, &shape, dtype)))
        return shape_error(plan, row, 2);
    if (weight >= 0 && arg[weight].tensor && !(j->weight = dense(plan, arg[weight].tensor, &shape, dtype)))
        return shape_error(plan, row, weight);
    struct view *to = plan_view(plan, arg[out].tensor), *each = plan_output(plan, to, dtype);
    j->out = each;
    if (j->count)
        plan_step(plan, run, j, (uint64_t)j->count * 2);
    plan_finish(plan, each, to);
    return ACLNN_SUCCESS;
}

int loss_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    double parameter = row->params == 5 ? arg[3].d : 0.0;
    enum loss_mode mode = (enum loss_mode)row->code;
    if (mode == LOSS_SMOOTH_L1 && parameter < 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "smooth_l1_loss does not support negative values for beta.");
    return forward(plan, row, arg, -1, row->params - 1, arg[2].i, parameter);
}

int loss_prepare_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return backward(plan, row, arg, -1, row->params - 1, arg[3].i, row->params == 6 ? arg[4].d : 0.0);
}

int loss_prepare_huber(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    if (!(arg[2].d > 0))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "huber_loss does not support non-positive values for delta.");
    return forward(plan, row, arg, -1, 3, LOSS_MEAN, arg[2].d);
}

int loss_prepare_bce(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return forward(plan, row, arg, 2, 4, arg[3].i, 0.0);
}

int loss_prepare_bce_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return backward(plan, row, arg, 3, 5, arg[4].i, 0.0);
}

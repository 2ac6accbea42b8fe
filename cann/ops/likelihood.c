/* SPDX-License-Identifier: BSD-3-Clause */
/* The negative log likelihood of classes: scores [N, C, …] (or [C]) against class numbers [N, …]. Pieces of fixed size
 * sum into slots of their own, which are added in order: the same bits for any number of threads. */
#include "ops/loss.h"

enum { PIECE = 4096 };

struct likelihood_job {
    const struct loss_kernels *kernel;
    struct loss_classes c;
    const struct view *x, *target, *weight, *grad, *total, *out, *total_out;
    int64_t count, reduction, pieces;
    double *sum;      /* two a piece */
    int64_t *outside; /* a piece's first target that is no class, or -1 */
};

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
static const aclDataType targets[] = {ACL_INT64, ACL_INT32, ACL_UINT8};

static void bind(struct likelihood_job *j)
{
    j->c.x = j->x->data;
    j->c.target = j->target->data;
    j->c.weight = j->weight ? j->weight->data : NULL;
}

static void sum_pieces(void *arg, int64_t begin, int64_t end)
{
    struct likelihood_job *j = arg;
    for (int64_t p = begin; p < end; p++) {
        int64_t first = p * PIECE, last = first + PIECE < j->count ? first + PIECE : j->count;
        double *sum = j->sum + 2 * p;
        sum[0] = sum[1] = 0.0;
        j->outside[p] = j->kernel->likelihood(&j->c, first, last, sum, j->reduction ? NULL : j->out->data);
    }
}

static int run_forward(void *arg)
{
    struct likelihood_job *j = arg;
    bind(j);
    parallel(j->pieces, 1, sum_pieces, j);
    double loss = 0.0, weight = 0.0;
    for (int64_t p = 0; p < j->pieces; p++) {
        if (j->outside[p] >= 0)
            return fail(ACLNN_ERR_PARAM_INVALID, "Target %lld is out of bounds.",
                        (long long)j->kernel->target(&j->c, j->outside[p]));
        loss += j->sum[2 * p];
        weight += j->sum[2 * p + 1];
    }
    if (j->reduction)
        j->kernel->store(j->c.dtype, j->out->data, 0, j->reduction == LOSS_MEAN ? loss / weight : loss);
    j->kernel->store(j->c.dtype, j->total_out->data, 0, j->reduction ? weight : 0.0);
    return 0;
}

static void zero(void *arg, int64_t begin, int64_t end)
{
    const struct likelihood_job *j = arg;
    size_t size = dtype_size(j->c.dtype);
    memset(j->out->data + (size_t)begin * size, 0, (size_t)(end - begin) * size);
}

static void gradient_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct likelihood_job *j = arg;
    double scale = j->reduction == LOSS_MEAN ? 1.0 / j->kernel->load(j->c.dtype, j->total->data, 0) : 1.0;
    j->kernel->likelihood_gradient(&j->c, begin, end, j->grad->data, j->reduction == LOSS_NONE, scale, j->out->data);
}

static int run_backward(void *arg)
{
    struct likelihood_job *j = arg;
    bind(j);
    parallel(view_count(j->out), 1 << 16, zero, j);
    parallel(j->count, PIECE, gradient_pieces, j);
    return 0;
}

/* Fills what both directions share. Parameters from `first` on: self target weight reduction ignoreIndex. */
static int describe(struct plan *plan, const struct op_row *row, const union op_value *arg, int first,
                    struct likelihood_job *j)
{
    const aclTensor *x = arg[first].tensor, *target = arg[first + 1].tensor, *weight = arg[first + 2].tensor;
    TRY(plan_check_dtype(plan, first, floats, 4));
    TRY(plan_check_dtype(plan, first + 1, targets, 3));
    const struct view *v = &x->view;
    int32_t at = v->rank > 1;
    if (v->rank < 1 || target->view.rank > v->rank - (v->rank > 1))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "%s: self must have classes as dimension %d and target one dimension less.", row->name, at);
    *j = (struct likelihood_job){.kernel = ISA_PICK(loss_kernels), .reduction = arg[first + 3].i};
    if (j->reduction < LOSS_NONE || j->reduction > LOSS_SUM)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "reduction must be 0 (none), 1 (mean) or 2 (sum), but it is %lld.", (long long)j->reduction);
    j->c = (struct loss_classes){.classes = v->dim[at],
                                 .inner = 1,
                                 .ignore = arg[first + 4].i,
                                 .dtype = v->dtype,
                                 .target_dtype = target->view.dtype};
    for (int32_t d = 2; d < v->rank; d++)
        j->c.inner *= v->dim[d];
    j->count = (v->rank > 1 ? v->dim[0] : 1) * j->c.inner;
    if (view_count(&target->view) != j->count)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: target has %lld elements, but self asks for %lld.",
                         row->name, (long long)view_count(&target->view), (long long)j->count);
    j->x = plan_contiguous(plan, plan_view(plan, x), v->dtype);
    j->target = plan_contiguous(plan, plan_view(plan, target), target->view.dtype);
    if (!weight)
        return ACLNN_SUCCESS;
    if (view_count(&weight->view) != j->c.classes)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "weight tensor should be defined either for all %lld classes or no classes but got weight "
                         "tensor of %lld elements.",
                         (long long)j->c.classes, (long long)view_count(&weight->view));
    j->weight = plan_contiguous(plan, plan_view(plan, weight), v->dtype);
    return ACLNN_SUCCESS;
}

int likelihood_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct likelihood_job *j = plan_alloc(plan, sizeof *j);
    TRY(describe(plan, row, arg, 0, j));
    if (j->reduction)
        TRY(plan_check_shape(plan, 5, 0, NULL));
    else
        TRY(plan_check_shape(plan, 5, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    if (view_count(&arg[6].tensor->view) != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "totalWeightOut must have one element.");
    j->pieces = (j->count + PIECE - 1) / PIECE;
    j->sum = plan_alloc(plan, sizeof *j->sum * 2 * (size_t)(j->pieces + 1));
    j->outside = plan_alloc(plan, sizeof *j->outside * (size_t)(j->pieces + 1));
    struct view *out = plan_view(plan, arg[5].tensor), *total = plan_view(plan, arg[6].tensor);
    struct view *to = plan_output(plan, out, j->c.dtype), *total_to = plan_output(plan, total, j->c.dtype);
    j->out = to;
    j->total_out = total_to;
    plan_step(plan, run_forward, j, (uint64_t)j->count * 4);
    plan_finish(plan, to, out);
    plan_finish(plan, total_to, total);
    return ACLNN_SUCCESS;
}

int likelihood_prepare_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct likelihood_job *j = plan_alloc(plan, sizeof *j);
    TRY(describe(plan, row, arg, 1, j));
    const struct view *x = &arg[1].tensor->view;
    TRY(plan_check_shape(plan, 7, x->rank, x->dim));
    int64_t wanted = j->reduction ? 1 : j->count;
    if (view_count(&arg[0].tensor->view) != wanted || view_count(&arg[6].tensor->view) != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: gradOutput must have %lld and totalWeight one element.",
                         row->name, (long long)wanted);
    j->grad = plan_contiguous(plan, plan_view(plan, arg[0].tensor), j->c.dtype);
    j->total = plan_contiguous(plan, plan_view(plan, arg[6].tensor), j->c.dtype);
    struct view *out = plan_view(plan, arg[7].tensor), *to = plan_output(plan, out, j->c.dtype);
    j->out = to;
    plan_step(plan, run_backward, j, (uint64_t)view_count(x) + (uint64_t)j->count * 4);
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Group norm and its gradient: dense [N, groups, channels of a group, HxW], one (n, group) a unit of work. */
#include <math.h>

#include "ops/norm.h"

enum { GRAIN = 8192 };

struct group_job {
    const struct norm_kernels *kernel;
    struct norm_types type;
    int64_t batch, channels, inner, groups, depth; /* depth: channels of a group */
    double eps;
    const struct view *grad, *x, *out, *weight, *bias, *mean, *rstd;
    const struct view *sums; /* double[N][C][2]: Σ g, Σ g (x − mean) */
    const struct view *dweight, *dbias;
};

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

static char *plane(const struct group_job *j, const struct view *v, int64_t nc)
{
    return v->data + nc * j->inner * (int64_t)dtype_size(v->dtype);
}

static int64_t grain(int64_t each)
{
    return each < GRAIN ? GRAIN / (each ? each : 1) : 1;
}

static void group_forward(void *arg, int64_t begin, int64_t end)
{
    const struct group_job *j = arg;
    struct norm_planes whole = {1, j->depth * j->inner, 0}, one = {1, j->inner, 0};
    for (int64_t g = begin; g < end; g++) {
        double acc[3] = {0};
        j->kernel->moments(&j->type, &whole, plane(j, j->x, g * j->depth), acc);
        double rstd = 1 / sqrt(acc[1] / acc[2] + j->eps);
        norm_put(j->mean, g, acc[0]);
        norm_put(j->rstd, g, rstd);
        for (int64_t d = 0; d < j->depth; d++) {
            int64_t c = g % j->groups * j->depth + d, nc = g * j->depth + d;
            struct norm_channel k = {acc[0], norm_at(j->weight, c, 1) * rstd, norm_at(j->bias, c, 0), 0};
            j->kernel->scale(&j->type, &one, plane(j, j->x, nc), &k, plane(j, j->out, nc));
        }
    }
}

static int run_forward(void *arg)
{
    struct group_job *j = arg;
    parallel(j->batch * j->groups, grain(j->depth * j->inner), group_forward, j);
    return 0;
}

static void group_backward(void *arg, int64_t begin, int64_t end)
{
    const struct group_job *j = arg;
    struct norm_planes one = {1, j->inner, 0};
    for (int64_t g = begin; g < end; g++) {
        double mean = norm_at(j->mean, g, 0), rstd = norm_at(j->rstd, g, 1), sum_g = 0, sum_gx = 0;
        double count = (double)(j->depth * j->inner);
        for (int64_t d = 0; d < j->depth; d++) {
            int64_t c = g % j->groups * j->depth + d, nc = g * j->depth + d;
            double *sum = (double *)j->sums->data + 2 * nc;
            sum[0] = sum[1] = 0;
            j->kernel->sums(&j->type, &one, plane(j, j->grad, nc), plane(j, j->x, nc), mean, sum);
            sum_g += sum[0] * norm_at(j->weight, c, 1);
            sum_gx += sum[1] * norm_at(j->weight, c, 1);
        }
        for (int64_t d = 0; j->out && d < j->depth; d++) {
            int64_t c = g % j->groups * j->depth + d, nc = g * j->depth + d;
            struct norm_channel k = {mean, norm_at(j->weight, c, 1) * rstd, rstd * sum_g / count,
                                     rstd * rstd * rstd * sum_gx / count};
            j->kernel->gradient(&j->type, &one, plane(j, j->grad, nc), plane(j, j->x, nc), &k, plane(j, j->out, nc));
        }
    }
}

static int run_backward(void *arg)
{
    struct group_job *j = arg;
    parallel(j->batch * j->groups, grain(2 * j->depth * j->inner), group_backward, j);
    for (int64_t c = 0; c < j->channels; c++) {
        double weight = 0, bias = 0;
        for (int64_t n = 0; n < j->batch; n++) {
            const double *sum = (const double *)j->sums->data + 2 * (n * j->channels + c);
            bias += sum[0];
            weight += sum[1] * norm_at(j->rstd, n * j->groups + c / j->depth, 1);
        }
        if (j->dweight)
            norm_put(j->dweight, c, weight);
        if (j->dbias)
            norm_put(j->dbias, c, bias);
    }
    return 0;
}

/* N C HxW group from argument p on, x at argument x_p. */
static int new_job(struct plan *plan, const union op_value *arg, int p, int x_p, struct group_job **made)
{
    struct group_job *j = *made = plan_alloc(plan, sizeof *j);
    const struct view *x = &arg[x_p].tensor->view;
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, x_p, floats, 4));
    j->kernel = ISA_PICK(norm_kernels);
    j->batch = arg[p].i;
    j->channels = arg[p + 1].i;
    j->inner = arg[p + 2].i;
    j->groups = arg[p + 3].i;
    j->type = (struct norm_types){x->dtype, x->dtype, x->dtype};
    if (j->groups <= 0 || j->channels < 0 || j->channels % j->groups)
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "Expected number of channels in input to be divisible by group, but got C = %ld and group = %ld.",
            (long)j->channels, (long)j->groups);
    j->depth = j->channels / j->groups;
    int64_t count;
    if (j->batch < 0 || j->inner < 0 || __builtin_mul_overflow(j->batch, j->channels, &count) ||
        __builtin_mul_overflow(count, j->inner, &count) || count != view_count(x))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected input to have N * C * HxW = %ld * %ld * %ld elements, but got %ld.", (long)j->batch,
                         (long)j->channels, (long)j->inner, (long)view_count(x));
    return ACLNN_SUCCESS;
}

static int check_numel(struct plan *plan, const char *name, const aclTensor *tensor, int64_t n)
{
    if (!tensor || view_count(&tensor->view) == n)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have %ld elements, but got %ld.", name,
                     (long)n, (long)view_count(&tensor->view));
}

int norm_prepare_group(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct group_job *j;
    (void)row;
    TRY(new_job(plan, arg, 3, 0, &j));
    TRY(plan_check_dtype(plan, 8, floats, 4));
    struct view *x = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[8].tensor);
    TRY(plan_check_shape(plan, 8, x->rank, x->dim));
    TRY(check_numel(plan, "gamma", arg[1].tensor, j->channels));
    TRY(check_numel(plan, "beta", arg[2].tensor, j->channels));
    TRY(check_numel(plan, "meanOut", arg[9].tensor, j->batch * j->groups));
    TRY(check_numel(plan, "rstdOut", arg[10].tensor, j->batch * j->groups));
    aclDataType compute = norm_compute(x->dtype);
    struct view *mean = plan_view(plan, arg[9].tensor), *rstd = plan_view(plan, arg[10].tensor);
    struct view *to = plan_output(plan, out, out->dtype), *mean_to = plan_output(plan, mean, compute);
    struct view *rstd_to = plan_output(plan, rstd, compute);
    j->type.out = out->dtype;
    j->eps = arg[7].d;
    j->x = plan_contiguous(plan, x, x->dtype);
    j->weight = norm_parameter(plan, arg[1].tensor, compute);
    j->bias = norm_parameter(plan, arg[2].tensor, compute);
    j->out = to;
    j->mean = mean_to;
    j->rstd = rstd_to;
    if (j->batch)
        plan_step(plan, run_forward, j, (uint64_t)view_count(x) / 2);
    plan_finish(plan, to, out);
    plan_finish(plan, mean_to, mean);
    plan_finish(plan, rstd_to, rstd);
    return ACLNN_SUCCESS;
}

int norm_prepare_group_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct group_job *j;
    (void)row;
    if (arg[9].bools->size != 3)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputMask to have 3 elements, but got %lu.",
                         (unsigned long)arg[9].bools->size);
    const bool *mask = arg[9].bools->value;
    TRY(new_job(plan, arg, 5, 1, &j));
    struct view *grad = plan_view(plan, arg[0].tensor), *x = plan_view(plan, arg[1].tensor), *dx = NULL, *to = NULL;
    struct view *dweight = NULL, *dbias = NULL, *weight_to = NULL, *bias_to = NULL;
    TRY(plan_check_shape(plan, 0, x->rank, x->dim));
    TRY(check_numel(plan, "mean", arg[2].tensor, j->batch * j->groups));
    TRY(check_numel(plan, "rstd", arg[3].tensor, j->batch * j->groups));
    TRY(check_numel(plan, "gamma", arg[4].tensor, j->channels));
    aclDataType compute = norm_compute(x->dtype);
    j->type.grad = grad->dtype;
    j->grad = plan_contiguous(plan, grad, grad->dtype);
    j->x = plan_contiguous(plan, x, x->dtype);
    j->mean = norm_parameter(plan, arg[2].tensor, compute);
    j->rstd = norm_parameter(plan, arg[3].tensor, compute);
    j->weight = norm_parameter(plan, arg[4].tensor, compute);
    if (mask[0] && arg[10].tensor) {
        TRY(plan_check_dtype(plan, 10, floats, 4));
        TRY(plan_check_shape(plan, 10, x->rank, x->dim));
        dx = plan_view(plan, arg[10].tensor);
        j->type.out = dx->dtype;
        j->out = to = plan_output(plan, dx, dx->dtype);
    }
    if (mask[1] && arg[11].tensor) {
        TRY(check_numel(plan, "gradGammaOut", arg[11].tensor, j->channels));
        dweight = plan_view(plan, arg[11].tensor);
        j->dweight = weight_to = plan_output(plan, dweight, compute);
    }
    if (mask[2] && arg[12].tensor) {
        TRY(check_numel(plan, "gradBetaOut", arg[12].tensor, j->channels));
        dbias = plan_view(plan, arg[12].tensor);
        j->dbias = bias_to = plan_output(plan, dbias, compute);
    }
    j->sums = plan_temp(plan, ACL_DOUBLE, 1, (int64_t[]){j->batch * j->channels * 2});
    if (j->channels)
        plan_step(plan, run_backward, j, (uint64_t)view_count(x));
    if (dx)
        plan_finish(plan, to, dx);
    if (dweight)
        plan_finish(plan, weight_to, dweight);
    if (dbias)
        plan_finish(plan, bias_to, dbias);
    return ACLNN_SUCCESS;
}

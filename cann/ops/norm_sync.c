/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm over several devices. Each device gives the statistics of its own part (stats), a collective brings them
 * together, they are joined (gather), and the elements are scaled (elemt); the gradient goes the same way (reduce, then
 * elemt). Data is seen as [batch, channel, inner]; channels are spread over the cores, so the sums of a channel are
 * made in one order on every machine. */
#include "ops/norm_sync.h"

#include <math.h>

enum { GRAIN = 16384 };

struct sync_job {
    const struct norm_kernels *kernel;
    struct norm_types type;
    int64_t batch, channels, inner;
    double eps, momentum;
    int64_t worlds;                                                           /* statistics to join */
    const struct view *grad, *x, *out, *weight, *bias, *mean, *rstd, *counts; /* arrays: compute type */
    const struct view *sum_g, *sum_gx;
    const struct view *to_mean, *to_rstd, *running_mean, *running_var; /* written */
    const struct view *to_sum_g, *to_sum_gx, *to_weight, *to_bias;
};

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

static char *plane(const struct view *v, const struct sync_job *j, int64_t c)
{
    return v->data + c * j->inner * (int64_t)dtype_size(v->dtype);
}

static struct norm_planes shape_of(const struct sync_job *j)
{
    return (struct norm_planes){j->batch, j->inner, j->channels * j->inner};
}

static void each_channel(const struct sync_job *j, void (*body)(void *, int64_t, int64_t))
{
    int64_t each = j->batch * j->inner;
    parallel(j->channels, each < GRAIN ? GRAIN / (each + 1) + 1 : 1, body, (void *)j);
}

/* ---- steps ---- */
static void stats_channel(void *arg, int64_t begin, int64_t end)
{
    const struct sync_job *j = arg;
    struct norm_planes shape = shape_of(j);
    for (int64_t c = begin; c < end; c++) {
        double moments[3] = {0};
        j->kernel->moments(&j->type, &shape, plane(j->x, j, c), moments);
        norm_put(j->to_mean, c, moments[0]);
        norm_put(j->to_rstd, c, 1 / sqrt(moments[1] / (double)(j->batch * j->inner) + j->eps));
    }
}

static int run_stats(void *arg)
{
    each_channel(arg, stats_channel);
    return 0;
}

/* Joins the parts' moments in their order. */
static int run_gather(void *arg)
{
    const struct sync_job *j = arg;
    for (int64_t c = 0; c < j->channels; c++) {
        double n = 0, mean = 0, squares = 0;
        for (int64_t w = 0; w < j->worlds; w++) {
            double count = norm_at(j->counts, w, 0), m = norm_at(j->mean, w * j->channels + c, 0);
            double rstd = norm_at(j->rstd, w * j->channels + c, 1), delta = m - mean, all = n + count;
            if (count <= 0)
                continue;
            squares += (1 / (rstd * rstd) - j->eps) * count + delta * delta * n * count / all;
            mean += delta * count / all;
            n = all;
        }
        norm_put(j->to_mean, c, mean);
        norm_put(j->to_rstd, c, 1 / sqrt(squares / n + j->eps));
        double old = 1 - j->momentum;
        if (j->running_mean)
            norm_put(j->running_mean, c, old * norm_at(j->running_mean, c, 0) + j->momentum * mean);
        if (j->running_var)
            norm_put(j->running_var, c, old * norm_at(j->running_var, c, 1) + j->momentum * (squares / (n - 1)));
    }
    return 0;
}

static void elemt_channel(void *arg, int64_t begin, int64_t end)
{
    const struct sync_job *j = arg;
    struct norm_planes shape = shape_of(j);
    for (int64_t c = begin; c < end; c++) {
        struct norm_channel k = {norm_at(j->mean, c, 0), norm_at(j->weight, c, 1) * norm_at(j->rstd, c, 1),
                                 norm_at(j->bias, c, 0), 0};
        j->kernel->scale(&j->type, &shape, plane(j->x, j, c), &k, plane(j->out, j, c));
    }
}

static int run_elemt(void *arg)
{
    each_channel(arg, elemt_channel);
    return 0;
}

static void reduce_channel(void *arg, int64_t begin, int64_t end)
{
    const struct sync_job *j = arg;
    struct norm_planes shape = shape_of(j);
    for (int64_t c = begin; c < end; c++) {
        double sum[2] = {0};
        j->kernel->sums(&j->type, &shape, plane(j->grad, j, c), plane(j->x, j, c), norm_at(j->mean, c, 0), sum);
        if (j->to_sum_g)
            norm_put(j->to_sum_g, c, sum[0]);
        if (j->to_sum_gx)
            norm_put(j->to_sum_gx, c, sum[1]);
        if (j->to_weight)
            norm_put(j->to_weight, c, sum[1] * norm_at(j->rstd, c, 1));
        if (j->to_bias)
            norm_put(j->to_bias, c, sum[0]);
    }
}

static int run_reduce(void *arg)
{
    each_channel(arg, reduce_channel);
    return 0;
}

static void gradient_channel(void *arg, int64_t begin, int64_t end)
{
    const struct sync_job *j = arg;
    struct norm_planes shape = shape_of(j);
    double n = 0;
    for (int64_t w = 0; w < j->worlds; w++)
        n += norm_at(j->counts, w, 0);
    for (int64_t c = begin; c < end; c++) {
        double rstd = norm_at(j->rstd, c, 1), factor = norm_at(j->weight, c, 1) * rstd;
        struct norm_channel k = {norm_at(j->mean, c, 0), factor, factor * norm_at(j->sum_g, c, 0) / n,
                                 factor * rstd * rstd * norm_at(j->sum_gx, c, 0) / n};
        j->kernel->gradient(&j->type, &shape, plane(j->grad, j, c), plane(j->x, j, c), &k, plane(j->out, j, c));
    }
}

static int run_gradient(void *arg)
{
    each_channel(arg, gradient_channel);
    return 0;
}

/* ---- planning ---- */
static int begin_job(struct plan *plan, const union op_value *arg, int input, struct sync_job **made,
                     struct view **input_view)
{
    struct sync_job *j = *made = plan_alloc(plan, sizeof *j);
    TRY(plan_check_dtype(plan, input, floats, 4));
    struct view *x = *input_view = plan_view(plan, arg[input].tensor);
    if (x->rank < 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected tensor input to have at least 2 dimensions, but got %d.", x->rank);
    j->kernel = ISA_PICK(norm_kernels);
    j->batch = x->dim[0];
    j->channels = x->dim[1];
    j->inner = 1;
    for (int32_t d = 2; d < x->rank; d++)
        j->inner *= x->dim[d];
    j->type = (struct norm_types){x->dtype, x->dtype, x->dtype};
    return ACLNN_SUCCESS;
}

static int check_channels(struct plan *plan, const struct sync_job *j, const union op_value *arg, int p)
{
    return arg[p].tensor ? plan_check_shape(plan, p, 1, &j->channels) : ACLNN_SUCCESS;
}

int norm_prepare_stats(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct sync_job *j;
    struct view *x;
    (void)row;
    TRY(begin_job(plan, arg, 0, &j, &x));
    TRY(plan_check_dtype(plan, 2, floats, 4));
    TRY(plan_check_dtype(plan, 3, floats, 4));
    TRY(check_channels(plan, j, arg, 2));
    TRY(check_channels(plan, j, arg, 3));
    aclDataType compute = norm_compute(x->dtype);
    j->eps = arg[1].d;
    j->x = plan_contiguous(plan, x, x->dtype);
    struct norm_written mean = norm_written(plan, arg[2].tensor, compute, false);
    struct norm_written rstd = norm_written(plan, arg[3].tensor, compute, false);
    j->to_mean = mean.temp;
    j->to_rstd = rstd.temp;
    if (view_count(x))
        plan_step(plan, run_stats, j, (uint64_t)view_count(x));
    norm_finish(plan, mean);
    norm_finish(plan, rstd);
    return ACLNN_SUCCESS;
}

int norm_prepare_gather(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct sync_job *j;
    struct view *x;
    (void)row;
    TRY(begin_job(plan, arg, 0, &j, &x));
    j->worlds = arg[7].tensor->view.rank ? arg[7].tensor->view.dim[0] : 1;
    TRY(plan_check_shape(plan, 1, 2, (int64_t[]){j->worlds, j->channels}));
    TRY(plan_check_shape(plan, 2, 2, (int64_t[]){j->worlds, j->channels}));
    static const int channel_wide[] = {3, 4, 8, 9};
    for (int i = 0; i < 4; i++)
        TRY(check_channels(plan, j, arg, channel_wide[i]));
    aclDataType compute = norm_compute(x->dtype);
    j->momentum = arg[5].d;
    j->eps = arg[6].d;
    j->mean = norm_parameter(plan, arg[1].tensor, compute);
    j->rstd = norm_parameter(plan, arg[2].tensor, compute);
    j->counts = norm_parameter(plan, arg[7].tensor, compute);
    struct norm_written running_mean = norm_written(plan, arg[3].tensor, compute, true);
    struct norm_written running_var = norm_written(plan, arg[4].tensor, compute, true);
    struct norm_written mean = norm_written(plan, arg[8].tensor, compute, false);
    struct norm_written rstd = norm_written(plan, arg[9].tensor, compute, false);
    j->running_mean = running_mean.temp;
    j->running_var = running_var.temp;
    j->to_mean = mean.temp;
    j->to_rstd = rstd.temp;
    if (j->channels)
        plan_step(plan, run_gather, j, (uint64_t)(j->channels * (j->worlds + 1)) * 4);
    norm_finish(plan, running_mean);
    norm_finish(plan, running_var);
    norm_finish(plan, mean);
    norm_finish(plan, rstd);
    return ACLNN_SUCCESS;
}

int norm_prepare_elemt(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct sync_job *j;
    struct view *x;
    (void)row;
    TRY(begin_job(plan, arg, 0, &j, &x));
    TRY(plan_check_dtype(plan, 6, floats, 4));
    TRY(plan_check_shape(plan, 6, x->rank, x->dim));
    for (int p = 1; p <= 4; p++)
        TRY(check_channels(plan, j, arg, p));
    aclDataType compute = norm_compute(x->dtype);
    struct view *out = plan_view(plan, arg[6].tensor), *to = plan_output(plan, out, out->dtype);
    j->x = plan_contiguous(plan, x, x->dtype);
    j->out = to;
    j->type.out = out->dtype;
    j->weight = norm_parameter(plan, arg[1].tensor, compute);
    j->bias = norm_parameter(plan, arg[2].tensor, compute);
    j->mean = norm_parameter(plan, arg[3].tensor, compute);
    j->rstd = norm_parameter(plan, arg[4].tensor, compute);
    if (view_count(x))
        plan_step(plan, run_elemt, j, (uint64_t)view_count(x) / 2);
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

static int see_both(struct plan *plan, struct sync_job *j, const union op_value *arg, struct view *x)
{
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_shape(plan, 0, x->rank, x->dim));
    for (int p = 2; p <= 4; p++)
        TRY(check_channels(plan, j, arg, p));
    struct view *grad = plan_view(plan, arg[0].tensor);
    aclDataType compute = norm_compute(x->dtype);
    j->type.grad = grad->dtype;
    j->grad = plan_contiguous(plan, grad, grad->dtype);
    j->x = plan_contiguous(plan, x, x->dtype);
    j->mean = norm_parameter(plan, arg[2].tensor, compute);
    j->rstd = norm_parameter(plan, arg[3].tensor, compute);
    j->weight = norm_parameter(plan, arg[4].tensor, compute);
    return ACLNN_SUCCESS;
}

int norm_prepare_reduce_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct sync_job *j;
    struct view *x;
    (void)row;
    TRY(begin_job(plan, arg, 1, &j, &x));
    TRY(see_both(plan, j, arg, x));
    struct norm_written to[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        bool wanted = arg[i < 2 ? 5 : 4 + i].i;
        TRY(wanted ? check_channels(plan, j, arg, 8 + i) : ACLNN_SUCCESS);
        if (wanted)
            to[i] = norm_written(plan, arg[8 + i].tensor, norm_compute(x->dtype), false);
    }
    j->to_sum_g = to[0].temp;
    j->to_sum_gx = to[1].temp;
    j->to_weight = to[2].temp;
    j->to_bias = to[3].temp;
    if (j->channels)
        plan_step(plan, run_reduce, j, (uint64_t)view_count(x));
    for (int i = 0; i < 4; i++)
        norm_finish(plan, to[i]);
    return ACLNN_SUCCESS;
}

int norm_prepare_elemt_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct sync_job *j;
    struct view *x;
    (void)row;
    TRY(begin_job(plan, arg, 1, &j, &x));
    TRY(see_both(plan, j, arg, x));
    TRY(plan_check_dtype(plan, 8, floats, 4));
    TRY(plan_check_shape(plan, 8, x->rank, x->dim));
    TRY(check_channels(plan, j, arg, 5));
    TRY(check_channels(plan, j, arg, 6));
    aclDataType compute = norm_compute(x->dtype);
    j->sum_g = norm_parameter(plan, arg[5].tensor, compute);
    j->sum_gx = norm_parameter(plan, arg[6].tensor, compute);
    j->counts = norm_parameter(plan, arg[7].tensor, compute);
    j->worlds = view_count(&arg[7].tensor->view);
    struct view *dx = plan_view(plan, arg[8].tensor), *to = plan_output(plan, dx, dx->dtype);
    j->type.out = dx->dtype;
    j->out = to;
    if (view_count(x))
        plan_step(plan, run_gradient, j, (uint64_t)view_count(x));
    plan_finish(plan, to, dx);
    return ACLNN_SUCCESS;
}

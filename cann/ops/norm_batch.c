/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm and its gradient.
 *
 * Dense data is seen in one of two ways: planes, [batch, channel, inner], or columns, [rows, channel] (channels last,
 * or no inner dimension). Planes with enough channels take one channel after the other through all passes while it is
 * in a core's cache; else each pass is a step of its own, with sums in pieces that are added in order. Which way is
 * chosen, and the borders of pieces, depend on shapes alone. */
#include <math.h>

#include "ops/norm.h"
#include "ops/reduce.h"

enum { CHANNELS_MIN = 8, GRAIN = 16384, PIECES_MAX = 16 };

struct batch_job {
    const struct norm_kernels *kernel;
    struct norm_types type;
    bool columns, training;
    int64_t batch, channels, inner; /* columns: batch rows, inner 1 */
    double momentum, eps;
    const struct view *grad, *x, *out;
    const struct view *weight, *bias, *mean, *rstd, *running_mean, *running_var; /* compute type, or NULL */
    const struct view *save_mean, *save_rstd, *var;
    const struct view *factor, *shift, *slope; /* by channel, compute type */
    const struct view *grad_weight, *grad_bias;
    const struct view *sums; /* double[pieces][2][channels] */
    int64_t pieces, piece;   /* of the batch */
};

static int64_t bytes(aclDataType t)
{
    return (int64_t)dtype_size(t);
}

static double count(const struct batch_job *j)
{
    return (double)(j->batch * j->inner);
}

static char *plane(const struct view *v, const struct batch_job *j, int64_t b, int64_t c)
{
    return v->data + (b * j->channels + c) * j->inner * bytes(v->dtype);
}

/* ---- forward ---- */

/* What is kept of a channel's statistics. */
static void keep_statistics(const struct batch_job *j, int64_t c, double mean, double var, double rstd)
{
    double n = count(j), m = j->momentum;
    if (j->save_mean)
        norm_put(j->save_mean, c, mean);
    if (j->save_rstd)
        norm_put(j->save_rstd, c, rstd);
    if (j->running_mean)
        norm_put(j->running_mean, c, (1 - m) * norm_at(j->running_mean, c, 0) + m * mean);
    if (j->running_var)
        norm_put(j->running_var, c, (1 - m) * norm_at(j->running_var, c, 1) + m * var * (n / (n - 1)));
}

static double reciprocal_root(double var, double eps)
{
    return 1 / sqrt(var + eps);
}

static void run_channel(void *arg, int64_t begin, int64_t end)
{
    const struct batch_job *j = arg;
    struct norm_planes shape = {j->batch, j->inner, j->channels * j->inner};
    for (int64_t c = begin; c < end; c++) {
        double acc[3] = {0}, mean, var;
        if (j->training) {
            j->kernel->moments(&j->type, &shape, plane(j->x, j, 0, c), acc);
            mean = acc[0];
            var = acc[1] / count(j);
        } else {
            mean = norm_at(j->running_mean, c, 0);
            var = norm_at(j->running_var, c, 1);
        }
        double rstd = reciprocal_root(var, j->eps);
        struct norm_channel k = {mean, norm_at(j->weight, c, 1) * rstd, norm_at(j->bias, c, 0), 0};
        j->kernel->scale(&j->type, &shape, plane(j->x, j, 0, c), &k, plane(j->out, j, 0, c));
        if (j->training)
            keep_statistics(j, c, mean, var, rstd);
    }
}

/* Constants by channel, once the moments are known. */
static int run_constants(void *arg)
{
    struct batch_job *j = arg;
    for (int64_t c = 0; c < j->channels; c++) {
        double mean = norm_at(j->mean, c, 0), var = norm_at(j->var, c, 1), rstd = reciprocal_root(var, j->eps);
        norm_put(j->factor, c, norm_at(j->weight, c, 1) * rstd);
        norm_put(j->shift, c, norm_at(j->bias, c, 0));
        if (j->training)
            keep_statistics(j, c, mean, var, rstd);
    }
    return 0;
}

static void scale_rows(void *arg, int64_t begin, int64_t end)
{
    const struct batch_job *j = arg;
    if (j->columns) {
        int64_t at = begin * j->channels;
        j->kernel->scale_columns(&j->type, end - begin, j->channels, j->x->data + at * bytes(j->type.x), j->mean->data,
                                 j->factor->data, j->shift->data, j->out->data + at * bytes(j->type.out));
        return;
    }
    struct norm_planes shape = {1, j->inner, 0};
    for (int64_t r = begin; r < end; r++) {
        int64_t c = r % j->channels;
        struct norm_channel k = {norm_at(j->mean, c, 0), norm_at(j->factor, c, 0), norm_at(j->shift, c, 0), 0};
        j->kernel->scale(&j->type, &shape, plane(j->x, j, 0, r), &k, plane(j->out, j, 0, r));
    }
}

static int64_t grain(int64_t each)
{
    return each < GRAIN ? GRAIN / each : 1;
}

static int run_scale(void *arg)
{
    struct batch_job *j = arg;
    int64_t each = j->columns ? j->channels : j->inner;
    parallel(j->columns ? j->batch : j->batch * j->channels, grain(each), scale_rows, j);
    return 0;
}

static int run_channels(void *arg)
{
    struct batch_job *j = arg;
    parallel(j->channels, grain(j->batch * j->inner), run_channel, j);
    return 0;
}

/* ---- backward ---- */

/* A channel's constants for dx, and its own gradients. */
static struct norm_channel close_channel(const struct batch_job *j, int64_t c, double mean, double rstd, double sum_g,
                                         double sum_gx)
{
    if (j->grad_weight)
        norm_put(j->grad_weight, c, sum_gx * rstd);
    if (j->grad_bias)
        norm_put(j->grad_bias, c, sum_g);
    double factor = norm_at(j->weight, c, 1) * rstd;
    if (!j->training)
        return (struct norm_channel){mean, factor, 0, 0};
    return (struct norm_channel){mean, factor, factor * sum_g / count(j), factor * rstd * rstd * sum_gx / count(j)};
}

static double rstd_of(const struct batch_job *j, int64_t c)
{
    return j->training ? norm_at(j->rstd, c, 1) : reciprocal_root(norm_at(j->running_var, c, 1), j->eps);
}

static void backward_channel(void *arg, int64_t begin, int64_t end)
{
    const struct batch_job *j = arg;
    struct norm_planes shape = {j->batch, j->inner, j->channels * j->inner};
    for (int64_t c = begin; c < end; c++) {
        double sum[2] = {0}, mean = norm_at(j->mean, c, 0);
        const char *grad = plane(j->grad, j, 0, c), *x = plane(j->x, j, 0, c);
        j->kernel->sums(&j->type, &shape, grad, x, mean, sum);
        struct norm_channel k = close_channel(j, c, mean, rstd_of(j, c), sum[0], sum[1]);
        if (j->out)
            j->kernel->gradient(&j->type, &shape, grad, x, &k, plane(j->out, j, 0, c));
    }
}

static void sum_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct batch_job *j = arg;
    for (int64_t i = begin; i < end; i++) {
        double *sum = (double *)j->sums->data + i * 2 * j->channels;
        int64_t from = i * j->piece, to = from + j->piece < j->batch ? from + j->piece : j->batch;
        memset(sum, 0, sizeof *sum * 2 * (size_t)j->channels);
        if (j->columns) {
            int64_t at = from * j->channels;
            j->kernel->sums_columns(&j->type, to - from, j->channels, j->grad->data + at * bytes(j->type.grad),
                                    j->x->data + at * bytes(j->type.x), j->mean->data, sum, sum + j->channels);
            continue;
        }
        struct norm_planes shape = {to - from, j->inner, j->channels * j->inner};
        for (int64_t c = 0; c < j->channels; c++) {
            double two[2] = {0};
            j->kernel->sums(&j->type, &shape, plane(j->grad, j, from, c), plane(j->x, j, from, c),
                            norm_at(j->mean, c, 0), two);
            sum[c] = two[0];
            sum[j->channels + c] = two[1];
        }
    }
}

static int run_sums(void *arg)
{
    struct batch_job *j = arg;
    parallel(j->pieces, grain(j->piece * j->inner * j->channels), sum_pieces, j);
    for (int64_t c = 0; c < j->channels; c++) {
        double sum_g = 0, sum_gx = 0;
        for (int64_t i = 0; i < j->pieces; i++) {
            sum_g += ((double *)j->sums->data)[i * 2 * j->channels + c];
            sum_gx += ((double *)j->sums->data)[(i * 2 + 1) * j->channels + c];
        }
        struct norm_channel k = close_channel(j, c, norm_at(j->mean, c, 0), rstd_of(j, c), sum_g, sum_gx);
        norm_put(j->factor, c, k.factor);
        norm_put(j->shift, c, k.shift);
        norm_put(j->slope, c, k.slope);
    }
    return 0;
}

static void gradient_rows(void *arg, int64_t begin, int64_t end)
{
    const struct batch_job *j = arg;
    if (j->columns) {
        int64_t at = begin * j->channels;
        j->kernel->gradient_columns(&j->type, end - begin, j->channels, j->grad->data + at * bytes(j->type.grad),
                                    j->x->data + at * bytes(j->type.x), j->mean->data, j->factor->data, j->shift->data,
                                    j->slope->data, j->out->data + at * bytes(j->type.out));
        return;
    }
    struct norm_planes shape = {1, j->inner, 0};
    for (int64_t r = begin; r < end; r++) {
        int64_t c = r % j->channels;
        struct norm_channel k = {norm_at(j->mean, c, 0), norm_at(j->factor, c, 0), norm_at(j->shift, c, 0),
                                 norm_at(j->slope, c, 0)};
        j->kernel->gradient(&j->type, &shape, plane(j->grad, j, 0, r), plane(j->x, j, 0, r), &k,
                            plane(j->out, j, 0, r));
    }
}

static int run_gradient(void *arg)
{
    struct batch_job *j = arg;
    int64_t each = j->columns ? j->channels : j->inner;
    parallel(j->columns ? j->batch : j->batch * j->channels, grain(each), gradient_rows, j);
    return 0;
}

static int run_backward_channels(void *arg)
{
    struct batch_job *j = arg;
    parallel(j->channels, grain(2 * j->batch * j->inner), backward_channel, j);
    return 0;
}

/* ---- planning ---- */

/* The channel dimension last. */
static struct view *channels_last(struct plan *plan, const struct view *v)
{
    struct view *moved = plan_alias(plan, v, 0);
    for (int32_t d = 1; d + 1 < v->rank; d++) {
        moved->dim[d] = v->dim[d + 1];
        moved->stride[d] = v->stride[d + 1];
    }
    moved->dim[v->rank - 1] = v->dim[1];
    moved->stride[v->rank - 1] = v->stride[1];
    return moved;
}

/* v as the job sees it; written views come back as their temporary, to be finished by plan_finish(…, *seen). */
static struct view *see(struct plan *plan, const struct batch_job *j, struct view *v, bool written, struct view **seen)
{
    *seen = j->columns && v->rank > 2 ? channels_last(plan, v) : v;
    return written ? plan_output(plan, *seen, v->dtype) : plan_contiguous(plan, *seen, v->dtype);
}

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

static int begin_job(struct plan *plan, struct batch_job **made)
{
    struct batch_job *j = *made = plan_alloc(plan, sizeof *j);
    TRY(plan_check_dtype(plan, 0, floats, 4));
    j->kernel = ISA_PICK(norm_kernels);
    return ACLNN_SUCCESS;
}

static int find_layout(struct plan *plan, struct batch_job *j, const char *name, struct view *x)
{
    if (x->rank < 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have at least 2 dimensions, but got %d.",
                         name, x->rank);
    j->batch = x->dim[0];
    j->channels = x->dim[1];
    j->inner = 1;
    for (int32_t d = 2; d < x->rank; d++)
        j->inner *= x->dim[d];
    j->columns = j->inner == 1 || (!view_is_contiguous(x) && view_is_contiguous(channels_last(plan, x)));
    if (j->columns) {
        j->batch *= j->inner;
        j->inner = 1;
    }
    j->type = (struct norm_types){x->dtype, x->dtype, x->dtype};
    return ACLNN_SUCCESS;
}

static int check_channels(struct plan *plan, int p, const aclTensor *tensor, int64_t channels)
{
    return tensor ? plan_check_shape(plan, p, 1, &channels) : ACLNN_SUCCESS;
}

static struct view *by_channel(struct plan *plan, const struct batch_job *j)
{
    return plan_temp(plan, norm_compute(j->type.x), 1, &j->channels);
}

int norm_prepare_batch(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct batch_job *j;
    (void)row;
    TRY(begin_job(plan, &j));
    TRY(plan_check_dtype(plan, 8, floats, 4));
    struct view *x = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[8].tensor), *seen_x, *seen_out;
    TRY(plan_check_shape(plan, 8, x->rank, x->dim));
    TRY(find_layout(plan, j, "input", x));
    for (int p = 1; p <= 4; p++)
        TRY(check_channels(plan, p, arg[p].tensor, j->channels));
    aclDataType compute = norm_compute(x->dtype);
    j->training = arg[5].i;
    j->momentum = arg[6].d;
    j->eps = arg[7].d;
    j->type.out = out->dtype;
    if (!j->training && (!arg[3].tensor || !arg[4].tensor))
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR,
                         "Expected a proper Tensor but got null for argument runningMean or runningVar of evaluation.");
    struct view *dense = see(plan, j, x, false, &seen_x), *to = see(plan, j, out, true, &seen_out);
    j->x = dense;
    j->out = to;
    j->weight = norm_parameter(plan, arg[1].tensor, compute);
    j->bias = norm_parameter(plan, arg[2].tensor, compute);
    struct norm_written running_mean = norm_written(plan, arg[3].tensor, compute, true);
    struct norm_written running_var = norm_written(plan, arg[4].tensor, compute, true);
    struct norm_written save_mean = norm_written(plan, j->training ? arg[9].tensor : NULL, compute, false);
    struct norm_written save_rstd = norm_written(plan, j->training ? arg[10].tensor : NULL, compute, false);
    j->running_mean = running_mean.temp;
    j->running_var = running_var.temp;
    j->save_mean = save_mean.temp;
    j->save_rstd = save_rstd.temp;
    uint64_t work = (uint64_t)view_count(x);
    if (!work)
        return ACLNN_SUCCESS;
    if (!j->columns && j->channels >= CHANNELS_MIN) {
        plan_step(plan, run_channels, j, work);
    } else {
        struct view *mean = j->training ? by_channel(plan, j) : running_mean.temp;
        struct view *var = j->training ? by_channel(plan, j) : running_var.temp;
        j->mean = mean;
        j->var = var;
        j->factor = by_channel(plan, j);
        j->shift = by_channel(plan, j);
        if (j->training) {
            struct reduce_out moments[2] = {{mean, REDUCE_MOMENT_MEAN, 0}, {var, REDUCE_VAR, 0}};
            uint32_t mask = ((1u << x->rank) - 1) & ~2u;
            reduce_step(plan, x, mask, REDUCE_MOMENTS, 0, reduce_type_of(x->dtype, compute), moments, 2);
        }
        plan_step(plan, run_constants, j, (uint64_t)j->channels * 10);
        plan_step(plan, run_scale, j, work / 2);
    }
    plan_finish(plan, to, seen_out);
    if (j->training) {
        norm_finish(plan, running_mean);
        norm_finish(plan, running_var);
        norm_finish(plan, save_mean);
        norm_finish(plan, save_rstd);
    }
    return ACLNN_SUCCESS;
}

int norm_prepare_batch_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct batch_job *j;
    int out = 10 + row->code; /* one parameter more in the fast form */
    const bool *mask = arg[9].bools->value;
    if (arg[9].bools->size != 3)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputMask to have 3 elements, but got %lu.",
                         (unsigned long)arg[9].bools->size);
    TRY(begin_job(plan, &j));
    TRY(plan_check_dtype(plan, 1, floats, 4));
    struct view *grad = plan_view(plan, arg[0].tensor), *x = plan_view(plan, arg[1].tensor), *seen, *seen_out = NULL;
    TRY(plan_check_shape(plan, 0, x->rank, x->dim));
    TRY(find_layout(plan, j, "input", x));
    for (int p = 2; p <= 6; p++)
        if (p == 2 || (arg[7].i != 0) == (p >= 5))
            TRY(check_channels(plan, p, arg[p].tensor, j->channels));
    aclDataType compute = norm_compute(x->dtype);
    j->training = arg[7].i;
    j->eps = arg[8].d;
    j->type.grad = grad->dtype;
    int first = j->training ? 5 : 3;
    if (!arg[first].tensor || !arg[first + 1].tensor)
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "Expected a proper Tensor but got null for argument %s or %s.",
                         row->param[first].name, row->param[first + 1].name);
    j->x = see(plan, j, x, false, &seen);
    j->grad = see(plan, j, grad, false, &seen);
    j->weight = norm_parameter(plan, arg[2].tensor, compute);
    j->mean = norm_parameter(plan, arg[first].tensor, compute);
    j->rstd = j->running_var = norm_parameter(plan, arg[first + 1].tensor, compute);
    struct view *to = NULL;
    if (mask[0] && arg[out].tensor) {
        struct view *dx = plan_view(plan, arg[out].tensor);
        TRY(plan_check_dtype(plan, out, floats, 4));
        TRY(plan_check_shape(plan, out, x->rank, x->dim));
        j->type.out = dx->dtype;
        to = see(plan, j, dx, true, &seen_out);
        j->out = to;
    }
    struct norm_written dweight = norm_written(plan, mask[1] ? arg[out + 1].tensor : NULL, compute, false);
    struct norm_written dbias = norm_written(plan, mask[2] ? arg[out + 2].tensor : NULL, compute, false);
    j->grad_weight = dweight.temp;
    j->grad_bias = dbias.temp;
    uint64_t work = (uint64_t)view_count(x);
    if (!j->columns && j->channels >= CHANNELS_MIN) {
        plan_step(plan, run_backward_channels, j, 2 * work);
    } else {
        j->pieces = work / GRAIN < 1 ? 1 : work / GRAIN < PIECES_MAX ? (int64_t)work / GRAIN : PIECES_MAX;
        j->piece = (j->batch + j->pieces - 1) / j->pieces;
        j->pieces = j->piece ? (j->batch + j->piece - 1) / j->piece : 0;
        j->sums = plan_temp(plan, ACL_DOUBLE, 1, (int64_t[]){j->pieces * 2 * j->channels});
        j->factor = by_channel(plan, j);
        j->shift = by_channel(plan, j);
        j->slope = by_channel(plan, j);
        plan_step(plan, run_sums, j, work);
        if (to && work)
            plan_step(plan, run_gradient, j, work);
    }
    if (to)
        plan_finish(plan, to, seen_out);
    norm_finish(plan, dweight);
    norm_finish(plan, dbias);
    return ACLNN_SUCCESS;
}

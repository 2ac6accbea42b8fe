/* SPDX-License-Identifier: BSD-3-Clause */
/* Layer and RMS norm and their gradients, over dense rows. Gradients of parameters are summed in pieces of the
 * rows, whose borders depend on shapes alone and which are added in order. */
#include "ops/norm.h"

enum { GRAIN = 8192, PIECES_MAX = 16, PIECE_ROWS = 16 };

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

struct view *norm_parameter(struct plan *plan, const aclTensor *tensor, aclDataType compute)
{
    if (!tensor || !view_count(&tensor->view))
        return NULL;
    return plan_contiguous(plan, plan_view(plan, tensor), compute);
}

struct norm_written norm_written(struct plan *plan, const aclTensor *tensor, aclDataType compute, bool read)
{
    struct norm_written w = {0};
    if (!tensor || !view_count(&tensor->view))
        return w;
    w.view = plan_view(plan, tensor);
    w.temp = read ? plan_contiguous(plan, w.view, compute) : plan_output(plan, w.view, compute);
    return w;
}

void norm_finish(struct plan *plan, struct norm_written w)
{
    if (w.view)
        plan_finish(plan, w.temp, w.view);
}

double norm_at(const struct view *array, int64_t k, double if_none)
{
    if (!array)
        return if_none;
    return array->dtype == ACL_DOUBLE ? ((const double *)array->data)[k] : (double)((const float *)array->data)[k];
}

void norm_put(const struct view *array, int64_t k, double value)
{
    if (array->dtype == ACL_DOUBLE)
        ((double *)array->data)[k] = value;
    else
        ((float *)array->data)[k] = (float)value;
}

static int64_t bytes(const struct view *v)
{
    return (int64_t)dtype_size(v->dtype);
}

static int64_t grain(int64_t each)
{
    return each && each < GRAIN ? GRAIN / each : 1;
}

/* ---- layer and RMS norm ---- */

struct layer_job {
    const struct norm_kernels *kernel;
    struct norm_layer layer;
    int64_t rows, pieces, piece;
    const struct view *grad, *x, *out, *weight, *bias, *mean, *rstd; /* statistics and parameters in the compute type */
    const struct view *parts, *dweight, *dbias;                      /* parts: [pieces][2][n] */
};

static void layer_rows(void *arg, int64_t begin, int64_t end)
{
    const struct layer_job *j = arg;
    int64_t at = begin * j->layer.n, size = bytes(j->rstd);
    j->kernel->layer(&j->layer, end - begin, j->x->data + at * bytes(j->x), j->out->data + at * bytes(j->out),
                     j->mean->data + begin * size, j->rstd->data + begin * size);
}

/* Addresses of parameters are known only now. */
static void bind_parameters(struct layer_job *j)
{
    j->layer.weight = j->weight ? j->weight->data : NULL;
    j->layer.bias = j->bias ? j->bias->data : NULL;
}

static int run_layer(void *arg)
{
    struct layer_job *j = arg;
    bind_parameters(j);
    parallel(j->rows, grain(j->layer.n), layer_rows, j);
    return 0;
}

static void layer_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct layer_job *j = arg;
    int64_t n = j->layer.n, size = bytes(j->rstd);
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i * j->piece, to = from + j->piece < j->rows ? from + j->piece : j->rows;
        char *part = j->parts ? j->parts->data + i * 2 * n * size : NULL;
        if (part)
            memset(part, 0, (size_t)(2 * n * size));
        j->kernel->layer_gradient(&j->layer, to - from, j->grad->data + from * n * bytes(j->grad),
                                  j->x->data + from * n * bytes(j->x), j->mean ? j->mean->data + from * size : NULL,
                                  j->rstd->data + from * size, j->out ? j->out->data + from * n * bytes(j->out) : NULL,
                                  j->dweight ? part : NULL, j->dbias ? part + n * size : NULL);
    }
}

static void add_parts(void *arg, int64_t begin, int64_t end)
{
    const struct layer_job *j = arg;
    int64_t n = j->layer.n;
    for (int64_t k = begin; k < end; k++) {
        double weight = 0, bias = 0;
        for (int64_t i = 0; i < j->pieces; i++) {
            weight += norm_at(j->parts, i * 2 * n + k, 0);
            bias += norm_at(j->parts, (i * 2 + 1) * n + k, 0);
        }
        if (j->dweight)
            norm_put(j->dweight, k, weight);
        if (j->dbias)
            norm_put(j->dbias, k, bias);
    }
}

static int run_layer_gradient(void *arg)
{
    struct layer_job *j = arg;
    bind_parameters(j);
    parallel(j->pieces, grain(j->piece * j->layer.n), layer_pieces, j);
    if (j->parts)
        parallel(j->layer.n, GRAIN, add_parts, j);
    return 0;
}

static struct layer_job *new_layer(struct plan *plan, const struct view *x, int64_t n, double eps, bool rms)
{
    struct layer_job *j = plan_alloc(plan, sizeof *j);
    j->kernel = ISA_PICK(norm_kernels);
    j->layer = (struct norm_layer){{x->dtype, x->dtype, x->dtype}, n, eps, rms, NULL, NULL};
    j->rows = 1;
    for (int32_t d = 0; d < x->rank; d++)
        j->rows *= x->dim[d];
    j->rows = n ? j->rows / n : 0;
    return j;
}

/* The last dimensions of x are the given ones; their product. */
static int check_normalized(struct plan *plan, const struct view *x, const aclIntArray *shape, int64_t *n)
{
    bool fits = shape->size && shape->size <= (uint64_t)x->rank;
    *n = 1;
    for (uint64_t i = 0; fits && i < shape->size; i++) {
        fits = x->dim[x->rank - (int32_t)shape->size + (int32_t)i] == shape->value[i];
        *n *= shape->value[i];
    }
    if (fits)
        return ACLNN_SUCCESS;
    char want[256], have[256];
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                     "Expected input's last dimensions to be normalizedShape %s, but got %s.",
                     shape_text(want, sizeof want, (int32_t)(shape->size < 16 ? shape->size : 16), shape->value),
                     shape_text(have, sizeof have, x->rank, x->dim));
}

static int check_numel(struct plan *plan, const char *name, const aclTensor *tensor, int64_t n)
{
    if (!tensor || view_count(&tensor->view) == n)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have %ld elements, but got %ld.", name,
                     (long)n, (long)view_count(&tensor->view));
}

/* Statistics to be written: a dense array of the compute type, and the tensor it is copied to. */
static struct view *statistics(struct plan *plan, struct layer_job *j, const aclTensor *tensor, aclDataType compute,
                               struct view **target)
{
    *target = tensor ? plan_view(plan, tensor) : NULL;
    return *target ? plan_output(plan, *target, compute) : plan_temp(plan, compute, 1, &j->rows);
}

static int add_layer(struct plan *plan, int out_p, const aclTensor *x_tensor, const aclTensor *weight,
                     const aclTensor *bias, const aclTensor *out_tensor, const aclTensor *mean, const aclTensor *rstd,
                     int64_t n, double eps, bool rms)
{
    struct view *x = plan_view(plan, x_tensor), *out = plan_view(plan, out_tensor), *mean_to, *rstd_to;
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, out_p, floats, 4));
    TRY(plan_check_shape(plan, out_p, x->rank, x->dim));
    struct layer_job *j = new_layer(plan, x, n, eps, rms);
    aclDataType compute = norm_compute(x->dtype);
    j->layer.type.out = out->dtype;
    TRY(check_numel(plan, "mean", mean, j->rows));
    TRY(check_numel(plan, "rstd", rstd, j->rows));
    struct view *to = plan_output(plan, out, out->dtype);
    struct view *mean_temp = statistics(plan, j, mean, compute, &mean_to);
    struct view *rstd_temp = statistics(plan, j, rstd, compute, &rstd_to);
    j->x = plan_contiguous(plan, x, x->dtype);
    j->weight = norm_parameter(plan, weight, compute);
    j->bias = norm_parameter(plan, bias, compute);
    j->out = to;
    j->mean = mean_temp;
    j->rstd = rstd_temp;
    if (j->rows)
        plan_step(plan, run_layer, j, (uint64_t)(j->rows * n) / 2);
    plan_finish(plan, to, out);
    if (mean_to)
        plan_finish(plan, mean_temp, mean_to);
    if (rstd_to)
        plan_finish(plan, rstd_temp, rstd_to);
    return ACLNN_SUCCESS;
}

int norm_prepare_layer(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int64_t n;
    (void)row;
    TRY(check_normalized(plan, &arg[0].tensor->view, arg[1].ints, &n));
    TRY(check_numel(plan, "weight", arg[2].tensor, n));
    TRY(check_numel(plan, "bias", arg[3].tensor, n));
    return add_layer(plan, 5, arg[0].tensor, arg[2].tensor, arg[3].tensor, arg[5].tensor, arg[6].tensor, arg[7].tensor,
                     n, arg[4].d, false);
}

int norm_prepare_rms(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct view *gamma = &arg[1].tensor->view;
    (void)row;
    TRY(check_normalized(plan, &arg[0].tensor->view,
                         &(aclIntArray){.size = (uint64_t)gamma->rank, .value = (int64_t *)gamma->dim}, &(int64_t){0}));
    return add_layer(plan, 3, arg[0].tensor, arg[1].tensor, NULL, arg[3].tensor, NULL, arg[4].tensor, view_count(gamma),
                     arg[2].d, true);
}

struct layer_gradients {
    const aclTensor *grad, *x, *mean, *rstd, *weight, *dx, *dweight, *dbias;
    int dx_p;
};

static int add_layer_gradient(struct plan *plan, const struct layer_gradients *a, int64_t n)
{
    struct view *x = plan_view(plan, a->x), *grad = plan_view(plan, a->grad);
    struct layer_job *j = new_layer(plan, x, n, 0, !a->mean);
    aclDataType compute = norm_compute(x->dtype);
    struct view *dx = NULL, *dweight = NULL, *dbias = NULL, *to = NULL, *weight_to = NULL, *bias_to = NULL;
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, 1, floats, 4));
    TRY(plan_check_shape(plan, 0, x->rank, x->dim));
    j->layer.type.grad = grad->dtype;
    j->grad = plan_contiguous(plan, grad, grad->dtype);
    j->x = plan_contiguous(plan, x, x->dtype);
    j->weight = norm_parameter(plan, a->weight, compute);
    j->mean = norm_parameter(plan, a->mean, compute);
    j->rstd = norm_parameter(plan, a->rstd, compute);
    if (a->dx) {
        dx = plan_view(plan, a->dx);
        TRY(plan_check_dtype(plan, a->dx_p, floats, 4));
        TRY(plan_check_shape(plan, a->dx_p, x->rank, x->dim));
        j->layer.type.out = dx->dtype;
        j->out = to = plan_output(plan, dx, dx->dtype);
    }
    if (a->dweight) {
        TRY(check_numel(plan, "gradWeight", a->dweight, n));
        dweight = plan_view(plan, a->dweight);
        j->dweight = weight_to = plan_output(plan, dweight, compute);
    }
    if (a->dbias) {
        TRY(check_numel(plan, "gradBias", a->dbias, n));
        dbias = plan_view(plan, a->dbias);
        j->dbias = bias_to = plan_output(plan, dbias, compute);
    }
    j->pieces = j->rows / PIECE_ROWS < 1 ? 1 : j->rows / PIECE_ROWS < PIECES_MAX ? j->rows / PIECE_ROWS : PIECES_MAX;
    j->piece = (j->rows + j->pieces - 1) / j->pieces;
    j->pieces = j->piece ? (j->rows + j->piece - 1) / j->piece : 0;
    if (dweight || dbias)
        j->parts = plan_temp(plan, compute, 1, (int64_t[]){j->pieces * 2 * n});
    if (n && (to || dweight || dbias))
        plan_step(plan, run_layer_gradient, j, (uint64_t)(j->rows * n));
    if (to)
        plan_finish(plan, to, dx);
    if (dweight)
        plan_finish(plan, weight_to, dweight);
    if (dbias)
        plan_finish(plan, bias_to, dbias);
    return ACLNN_SUCCESS;
}

static int check_mask(struct plan *plan, const aclBoolArray *mask)
{
    if (mask->size == 3)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputMask to have 3 elements, but got %lu.",
                     (unsigned long)mask->size);
}

int norm_prepare_layer_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int64_t n;
    (void)row;
    TRY(check_mask(plan, arg[7].bools));
    TRY(check_normalized(plan, &arg[1].tensor->view, arg[2].ints, &n));
    TRY(check_numel(plan, "weight", arg[5].tensor, n));
    int64_t rows = n ? view_count(&arg[1].tensor->view) / n : 0;
    TRY(check_numel(plan, "mean", arg[3].tensor, n ? rows : view_count(&arg[3].tensor->view)));
    TRY(check_numel(plan, "rstd", arg[4].tensor, n ? rows : view_count(&arg[4].tensor->view)));
    const bool *mask = arg[7].bools->value;
    struct layer_gradients a = {.grad = arg[0].tensor,
                                .x = arg[1].tensor,
                                .mean = arg[3].tensor,
                                .rstd = arg[4].tensor,
                                .weight = arg[5].tensor,
                                .dx_p = 8};
    a.dx = mask[0] ? arg[8].tensor : NULL;
    a.dweight = mask[1] ? arg[9].tensor : NULL;
    a.dbias = mask[2] ? arg[10].tensor : NULL;
    return add_layer_gradient(plan, &a, n);
}

int norm_prepare_rms_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct view *gamma = &arg[3].tensor->view;
    int64_t n;
    (void)row;
    TRY(check_normalized(plan, &arg[1].tensor->view,
                         &(aclIntArray){.size = (uint64_t)gamma->rank, .value = (int64_t *)gamma->dim}, &n));
    TRY(check_numel(plan, "rstd", arg[2].tensor,
                    n ? view_count(&arg[1].tensor->view) / n : view_count(&arg[2].tensor->view)));
    struct layer_gradients a = {.grad = arg[0].tensor,
                                .x = arg[1].tensor,
                                .rstd = arg[2].tensor,
                                .weight = arg[3].tensor,
                                .dx = arg[4].tensor,
                                .dweight = arg[5].tensor,
                                .dx_p = 4};
    return add_layer_gradient(plan, &a, n);
}

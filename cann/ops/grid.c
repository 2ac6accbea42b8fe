/* SPDX-License-Identifier: BSD-3-Clause */
/* Grid sampling (kernels/grid.h) over a batch: values and gradients of points are cut by points, gradients of images by
 * channels, so that nobody adds to another's sums. The grid of an affine map is a product of matrices. */
#include "ops/grid.h"

#include <string.h>

#include "kernels/grid.h"
#include "ops/gemm.h"

enum { POINTS = 512, CHANNELS = 8 };

struct grid_job {
    const struct grid_kernels *kernels;
    struct grid grid;
    int64_t batch, blocks; /* blocks of channels an image */
    aclDataType type;
    const struct view *x, *points, *gy;
    struct view *y, *gx, *gpoints;
};

static char *item(const struct view *v, int64_t n, int64_t elements)
{
    return v->data + n * elements * (int64_t)dtype_size(v->dtype);
}

static int64_t image(const struct grid *g)
{
    return g->channels * g->size[0] * g->size[1] * g->size[2];
}

/* Units: points of all images. */
static void point_piece(void *arg, int64_t begin, int64_t end)
{
    const struct grid_job *job = arg;
    const struct grid *g = &job->grid;
    while (begin < end) {
        int64_t n = begin / g->points, from = begin % g->points, to = end - n * g->points;
        to = to < g->points ? to : g->points;
        const void *x = item(job->x, n, image(g)), *points = item(job->points, n, g->points * g->dims);
        if (job->y)
            job->kernels->sample(g, job->type, x, points, item(job->y, n, g->channels * g->points), from, to);
        else
            job->kernels->grid_gradient(g, job->type, x, points, item(job->gy, n, g->channels * g->points),
                                        item(job->gpoints, n, g->points * g->dims), from, to);
        begin += to - from;
    }
}

static int run_points(void *arg)
{
    struct grid_job *job = arg;
    parallel(job->batch * job->grid.points, POINTS, point_piece, job);
    return ACLNN_SUCCESS;
}

static void channel_piece(void *arg, int64_t begin, int64_t end)
{
    const struct grid_job *job = arg;
    const struct grid *g = &job->grid;
    for (; begin < end; begin++) {
        int64_t n = begin / job->blocks, from = begin % job->blocks * CHANNELS;
        int64_t to = from + CHANNELS < g->channels ? from + CHANNELS : g->channels;
        job->kernels->image_gradient(g, job->type, item(job->points, n, g->points * g->dims),
                                     item(job->gy, n, g->channels * g->points), item(job->gx, n, image(g)), from, to);
    }
}

static int run_channels(void *arg)
{
    struct grid_job *job = arg;
    parallel(job->batch * job->blocks, 1, channel_piece, job);
    return ACLNN_SUCCESS;
}

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

/* Parameters from `at` on: the image, the grid, mode, padding, alignCorners. */
static int read_grid(struct plan *plan, const struct op_row *row, const union op_value *arg, int at,
                     struct grid_job *job)
{
    const struct view *x = &arg[at].tensor->view, *points = &arg[at + 1].tensor->view;
    struct grid *g = &job->grid;
    int dims = row->code;
    TRY(plan_check_dtype(plan, at, types, 4));
    TRY(plan_check_dtype(plan, at + 1, types, 4));
    bool fits = x->rank == dims + 2 && points->rank == dims + 2 && x->dtype == points->dtype &&
                x->dim[0] == points->dim[0] && points->dim[dims + 1] == dims;
    for (int d = 0; fits && d < dims; d++)
        fits = x->dim[2 + d] > 0;
    if (!fits) {
        char have[256], want[256];
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "%s: an image of size %s cannot be read at a grid of size %s (same type, batch, %d "
                         "coordinates, no empty image).",
                         row->name, shape_text(have, sizeof have, x->rank, x->dim),
                         shape_text(want, sizeof want, points->rank, points->dim), dims);
    }
    int64_t mode = arg[at + 2].i, padding = arg[at + 3].i;
    if (mode < 0 || mode > (dims == 2 ? 2 : 1) || padding < 0 || padding > 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "interpolationMode %ld or paddingMode %ld is not known.",
                         (long)mode, (long)padding);
    *g = (struct grid){.mode = (enum grid_mode)mode,
                       .padding = (enum grid_padding)padding,
                       .align = arg[at + 4].i,
                       .dims = dims,
                       .size = {1},
                       .channels = x->dim[1],
                       .points = 1};
    for (int d = 0; d < dims; d++) {
        g->size[3 - dims + d] = x->dim[2 + d];
        g->points *= points->dim[1 + d];
    }
    job->kernels = ISA_PICK(grid_kernels);
    job->batch = x->dim[0];
    job->blocks = (g->channels + CHANNELS - 1) / CHANNELS;
    job->type = x->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    job->x = plan_contiguous(plan, plan_view(plan, arg[at].tensor), job->type);
    job->points = plan_contiguous(plan, plan_view(plan, arg[at + 1].tensor), job->type);
    return ACLNN_SUCCESS;
}

static void value_shape(const struct view *x, const struct view *points, int dims, int64_t *dim)
{
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    memcpy(dim + 2, points->dim + 1, (size_t)dims * sizeof *dim);
}

static uint64_t work(const struct grid *g, int64_t batch)
{
    int64_t taps = g->mode == GRID_NEAREST ? 1 : g->mode == GRID_CUBIC ? 16 : 1 << g->dims;
    return (uint64_t)(batch * g->points * (20 + g->channels * taps)) * 2;
}

int prepare_grid_sampler(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct grid_job *job = plan_alloc(plan, sizeof *job);
    int64_t dim[VIEW_RANK_MAX];
    TRY(read_grid(plan, row, arg, 0, job));
    value_shape(&arg[0].tensor->view, &arg[1].tensor->view, row->code, dim);
    TRY(plan_check_shape(plan, 5, row->code + 2, dim));
    TRY(plan_check_dtype(plan, 5, &arg[0].tensor->view.dtype, 1));
    struct view *out = plan_view(plan, arg[5].tensor);
    if (!view_count(out))
        return ACLNN_SUCCESS;
    job->y = plan_output(plan, out, job->type);
    plan_step(plan, run_points, job, work(&job->grid, job->batch));
    plan_finish(plan, job->y, out);
    return ACLNN_SUCCESS;
}

/* gradOutput, input, grid, mode, padding, alignCorners, outputMask, inputGrad, gridGrad */
int prepare_grid_sampler_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const uint64_t zero[2] = {0};
    struct grid_job *job = plan_alloc(plan, sizeof *job);
    const aclBoolArray *mask = arg[6].bools;
    int64_t dim[VIEW_RANK_MAX];
    TRY(read_grid(plan, row, arg, 1, job));
    value_shape(&arg[1].tensor->view, &arg[2].tensor->view, row->code, dim);
    TRY(plan_check_shape(plan, 0, row->code + 2, dim));
    TRY(plan_check_dtype(plan, 0, &arg[1].tensor->view.dtype, 1));
    if (mask->size != 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "outputMask must have 2 elements, but has %d.",
                         (int)mask->size);
    for (int k = 0; k < 2; k++) {
        if (!mask->value[k])
            continue;
        if (!arg[7 + k].tensor)
            return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "%s: %s must not be null where outputMask is true.",
                             row->name, row->param[7 + k].name);
        const struct view *like = &arg[1 + k].tensor->view;
        TRY(plan_check_shape(plan, 7 + k, like->rank, like->dim));
        TRY(plan_check_dtype(plan, 7 + k, &like->dtype, 1));
    }
    job->gy = plan_contiguous(plan, plan_view(plan, arg[0].tensor), job->type);
    for (int k = 0; k < 2; k++) {
        struct view *out = mask->value[k] ? plan_view(plan, arg[7 + k].tensor) : NULL;
        if (!out || !view_count(out))
            continue;
        struct view *to = plan_output(plan, out, job->type);
        if (k == 0) {
            job->gx = to;
            plan_fill(plan, to, zero);
            plan_step(plan, run_channels, job, work(&job->grid, job->batch));
        } else {
            job->gpoints = to;
            plan_step(plan, run_points, job, work(&job->grid, job->batch));
        }
        plan_finish(plan, to, out);
    }
    return ACLNN_SUCCESS;
}

/* ---- affine grids ---- */

struct base_job {
    struct view *out; /* [points][dims + 1] */
    int dims;
    bool align;
    int64_t size[3]; /* width, height, depth */
};

static int run_base(void *arg)
{
    const struct base_job *job = arg;
    int64_t points = job->out->dim[0];
    for (int64_t i = 0; i < points; i++) {
        int64_t rest = i;
        for (int d = 0; d <= job->dims; d++) {
            double v = 1;
            if (d < job->dims) {
                int64_t n = job->size[d], at = rest % n;
                rest /= n;
                v = n > 1 ? 2.0 * (double)at / (double)(n - 1) - 1 : 0;
                v = job->align ? v : v * (double)(n - 1) / (double)n;
            }
            if (job->out->dtype == ACL_DOUBLE)
                ((double *)job->out->data)[i * (job->dims + 1) + d] = v;
            else
                ((float *)job->out->data)[i * (job->dims + 1) + d] = (float)v;
        }
    }
    return ACLNN_SUCCESS;
}

/* theta [N][dims][dims + 1], size [N, C, (D,) H, W] → out [N][(D,) H, W][dims] */
int prepare_affine_grid(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclIntArray *size = arg[1].ints;
    int dims = (int)size->size - 2;
    struct view *theta = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[3].tensor);
    TRY(plan_check_dtype(plan, 0, types, 4));
    TRY(plan_check_dtype(plan, 3, &theta->dtype, 1));
    if (dims != 2 && dims != 3)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "size must have 4 or 5 elements, but has %d.", (int)size->size);
    int64_t want[] = {size->value[0], dims, dims + 1}, points = 1, dim[5] = {size->value[0]};
    TRY(plan_check_shape(plan, 0, 3, want));
    struct base_job *job = plan_alloc(plan, sizeof *job);
    for (int d = 0; d < dims; d++) {
        dim[1 + d] = size->value[2 + d];
        job->size[dims - 1 - d] = dim[1 + d];
    }
    dim[1 + dims] = dims;
    TRY(plan_check_shape(plan, 3, dims + 2, dim));
    for (int d = 0; d < dims; d++)
        points *= dim[1 + d];
    if (!view_count(out))
        return ACLNN_SUCCESS;
    aclDataType type = theta->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    job->out = plan_temp(plan, type, 2, (int64_t[]){points, dims + 1});
    job->dims = dims;
    job->align = arg[2].i;
    plan_step(plan, run_base, job, (uint64_t)points * 8);
    struct view *wide = plan_alias(plan, job->out, 0), *turned = plan_contiguous(plan, theta, type),
                *to = plan_output(plan, out, type), *flat = plan_alias(plan, to, 0);
    wide->rank = 3;
    wide->dim[0] = dim[0], wide->dim[1] = points, wide->dim[2] = dims + 1;
    wide->stride[0] = 0, wide->stride[1] = dims + 1, wide->stride[2] = 1;
    turned = plan_alias(plan, turned, 0);
    turned->dim[1] = dims + 1, turned->dim[2] = dims;
    turned->stride[1] = 1, turned->stride[2] = dims + 1;
    flat->rank = 3;
    flat->dim[0] = dim[0], flat->dim[1] = points, flat->dim[2] = dims;
    flat->stride[0] = points * dims, flat->stride[1] = dims, flat->stride[2] = 1;
    const struct gemm_scale plain = {.alpha = 1};
    plan_gemm(plan, flat, wide, turned, NULL, &plain);
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

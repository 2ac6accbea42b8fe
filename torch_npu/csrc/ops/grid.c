/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling images at the points of a grid. What PyTorch refuses falls back, so that the text is PyTorch's own. */
#include "op.h"

#include <string.h>

/* The image and the grid, arguments `at` and `at` + 1, with the modes behind them. */
static bool fits(struct call *c, const struct aten_row *row, int at)
{
    const struct npu_tensor *x = arg_tensor(c, at), *grid = arg_tensor(c, at + 1);
    int dims = row->code;
    int64_t mode = arg_int(c, at + 2, 0), padding = arg_int(c, at + 3, 0);
    if (!is_floating(x->dtype) || grid->dtype != x->dtype || x->device < 0 || grid->device < 0 || x->rank != dims + 2 ||
        grid->rank != dims + 2 || x->size[0] != grid->size[0] || grid->size[dims + 1] != dims || mode < 0 ||
        mode > (dims == 2 ? 2 : 1) || padding < 0 || padding > 2)
        return false;
    for (int d = 0; d < dims; d++)
        if (x->size[2 + d] < 1)
            return false;
    return true;
}

/* input, grid, interpolation_mode, padding_mode, align_corners */
static int run_sample(struct call *c, const struct aten_row *row)
{
    if (!fits(c, row, 0))
        return CALL_FALLBACK;
    const struct npu_tensor *x = arg_tensor(c, 0), *grid = arg_tensor(c, 1);
    int64_t size[5] = {x->size[0], x->size[1]};
    memcpy(size + 2, grid->size + 1, (size_t)row->code * sizeof *size);
    struct npu_tensor *out = result(c, 0, x->dtype, x->rank, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.t = grid},
                                        {.i = arg_int(c, 2, 0)},
                                        {.i = arg_int(c, 3, 0)},
                                        {.i = arg_bool(c, 4, false)},
                                        {.t = out}});
}

/* grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *x = arg_tensor(c, 1), *grid = arg_tensor(c, 2), *out[2];
    const bool *mask;
    bool wish[2] = {true, true};
    if (!fits(c, row, 1) || g->dtype != x->dtype || arg_bools(c, 6, &mask) != 2)
        return CALL_FALLBACK;
    for (int k = 0; k < 2; k++) {
        const struct npu_tensor *like = k ? grid : x;
        wish[k] = k || mask[k]; /* PyTorch's CPU always gives the grid's */
        out[k] = wish[k] ? result(c, k, like->dtype, like->rank, like->size) : NULL;
        if (!wish[k])
            result_undefined(c, k);
    }
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = g},
                                        {.t = x},
                                        {.t = grid},
                                        {.i = arg_int(c, 3, 0)},
                                        {.i = arg_int(c, 4, 0)},
                                        {.i = arg_bool(c, 5, false)},
                                        {.bools = {wish, 2}},
                                        {.t = out[0]},
                                        {.t = out[1]}});
}

static struct aclnn sample2d = ACLNN("aclnnGridSampler2D", "TTiibT");
static struct aclnn sample3d = ACLNN("aclnnGridSampler3D", "TTiibT");
static struct aclnn backward2d = ACLNN("aclnnGridSampler2DBackward", "TTTiibBTT");
static struct aclnn backward3d = ACLNN("aclnnGridSampler3DBackward", "TTTiibBTT");

static const struct aten_row rows[] = {
    {"grid_sampler_2d", run_sample, &sample2d, 2},
    {"grid_sampler_2d.out", run_sample, &sample2d, 2},
    {"grid_sampler_3d", run_sample, &sample3d, 3},
    {"grid_sampler_3d.out", run_sample, &sample3d, 3},
    {"grid_sampler_2d_backward", run_backward, &backward2d, 2},
    {"grid_sampler_2d_backward.out", run_backward, &backward2d, 2},
    {"grid_sampler_3d_backward", run_backward, &backward3d, 3},
    {"grid_sampler_3d_backward.out", run_backward, &backward3d, 3},
};
ATEN_FAMILY(grid, rows);

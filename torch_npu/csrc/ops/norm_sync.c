/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of SyncBatchNorm. Statistics and sums are float for half inputs, as on other devices. */
#include "op.h"

static aclDataType statistics_of(const struct npu_tensor *x)
{
    return x->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
}

static int check_input(struct call *c, const struct npu_tensor *x)
{
    if (x->rank < 2)
        return call_error(c, CALL_RUNTIME_ERROR, "%s: expected an input of at least 2 dimensions, but got %d",
                          call_row(c)->name, x->rank);
    if (!is_floating(x->dtype))
        return call_error(c, CALL_RUNTIME_ERROR, "%s: expected an input of a floating type", call_row(c)->name);
    return CALL_OK;
}

/* input, eps → mean, invstd */
static int run_stats(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    if (check_input(c, x))
        return CALL_ERROR;
    struct npu_tensor *mean = result(c, 0, statistics_of(x), 1, &x->size[1]);
    struct npu_tensor *rstd = result(c, 1, statistics_of(x), 1, &x->size[1]);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x}, {.d = arg_double(c, 1, 1e-5)}, {.t = mean}, {.t = rstd}});
}

/* input, mean, invstd, running_mean?, running_var?, momentum, eps, counts → mean, invstd */
static int run_gather(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    if (check_input(c, x))
        return CALL_ERROR;
    struct npu_tensor *mean = result(c, 0, statistics_of(x), 1, &x->size[1]);
    struct npu_tensor *rstd = result(c, 1, statistics_of(x), 1, &x->size[1]);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.t = arg_tensor(c, 1)},
                                        {.t = arg_tensor(c, 2)},
                                        {.t = arg_tensor(c, 3)},
                                        {.t = arg_tensor(c, 4)},
                                        {.d = arg_double(c, 5, 0.1)},
                                        {.d = arg_double(c, 6, 1e-5)},
                                        {.t = arg_tensor(c, 7)},
                                        {.t = mean},
                                        {.t = rstd}});
}

/* input, weight?, bias?, mean, invstd, eps → out */
static int run_elemt(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    if (check_input(c, x))
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, x->dtype, x->rank, x->size, &x, 1);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = x},
                                        {.t = arg_tensor(c, 1)},
                                        {.t = arg_tensor(c, 2)},
                                        {.t = arg_tensor(c, 3)},
                                        {.t = arg_tensor(c, 4)},
                                        {.d = arg_double(c, 5, 1e-5)},
                                        {.t = out}});
}

/* grad_out, input, mean, invstd, weight?, input_g, weight_g, bias_g → sum_dy, sum_dy_xmu, grad_weight, grad_bias */
static int run_reduce_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 1), *weight = arg_tensor(c, 4);
    if (check_input(c, x))
        return CALL_ERROR;
    bool wanted[3] = {arg_bool(c, 5, true), arg_bool(c, 6, true), arg_bool(c, 7, true)};
    struct npu_tensor *to[4];
    for (int i = 0; i < 4; i++) {
        aclDataType type = i > 1 && weight->defined ? weight->dtype : statistics_of(x);
        to[i] = NULL;
        if (wanted[i < 2 ? 0 : i - 1])
            to[i] = result(c, i, type, 1, &x->size[1]);
        else
            result_undefined(c, i);
    }
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = arg_tensor(c, 0)},
                                        {.t = x},
                                        {.t = arg_tensor(c, 2)},
                                        {.t = arg_tensor(c, 3)},
                                        {.t = weight},
                                        {.i = wanted[0]},
                                        {.i = wanted[1]},
                                        {.i = wanted[2]},
                                        {.t = to[0]},
                                        {.t = to[1]},
                                        {.t = to[2]},
                                        {.t = to[3]}});
}

/* grad_out, input, mean, invstd, weight?, sum_dy, sum_dy_xmu, count → grad_input */
static int run_elemt_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 1);
    if (check_input(c, x))
        return CALL_ERROR;
    struct npu_tensor *dx = result_pointwise(c, 0, x->dtype, x->rank, x->size, &x, 1);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = arg_tensor(c, 0)},
                                        {.t = x},
                                        {.t = arg_tensor(c, 2)},
                                        {.t = arg_tensor(c, 3)},
                                        {.t = arg_tensor(c, 4)},
                                        {.t = arg_tensor(c, 5)},
                                        {.t = arg_tensor(c, 6)},
                                        {.t = arg_tensor(c, 7)},
                                        {.t = dx}});
}

static struct aclnn stats = ACLNN("aclnnBatchNormStats", "TdTT");
static struct aclnn gather = ACLNN("aclnnBatchNormGatherStatsWithCounts", "TTTTTddTTT");
static struct aclnn elemt = ACLNN("aclnnBatchNormElemt", "TTTTTdT");
static struct aclnn reduce_backward = ACLNN("aclnnBatchNormReduceBackward", "TTTTTbbbTTTT");
static struct aclnn elemt_backward = ACLNN("aclnnBatchNormElemtBackward", "TTTTTTTTT");

static const struct aten_row rows[] = {
    {"batch_norm_stats", run_stats, &stats},
    {"batch_norm_gather_stats_with_counts", run_gather, &gather},
    {"batch_norm_elemt", run_elemt, &elemt},
    {"batch_norm_elemt.out", run_elemt, &elemt},
    {"batch_norm_backward_reduce", run_reduce_backward, &reduce_backward},
    {"batch_norm_backward_elemt", run_elemt_backward, &elemt_backward},
};
ATEN_FAMILY(norm_sync_family, rows);

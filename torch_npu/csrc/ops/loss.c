/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses and their gradients. Odd shapes and types go to the CPU, which computes them or explains what is wrong. */
#include "index.h"

#include <string.h>

enum { REDUCTION_NONE };

static bool floating_pair(const struct npu_tensor *x, const struct npu_tensor *y)
{
    return is_floating(x->dtype) && x->dtype == y->dtype && x->rank <= 16 && y->rank <= 16;
}

/* aclnn takes β as a float: positive, and exact where the computation is in double. */
static bool fits_float(double beta, aclDataType dtype)
{
    return beta > 0.0 && (dtype != ACL_DOUBLE || (double)(float)beta == beta);
}

static bool optional_like(const struct npu_tensor *weight, const struct npu_tensor *x)
{
    return !weight->defined || weight->dtype == x->dtype;
}

static struct npu_tensor *loss_result(struct call *c, const struct npu_tensor *x, const struct npu_tensor *y,
                                      int64_t reduction)
{
    if (reduction != REDUCTION_NONE)
        return result(c, 0, x->dtype, 0, NULL);
    int64_t size[16];
    const struct npu_tensor *both[] = {x, y};
    int32_t rank = broadcast_shape(c, both, 2, size);
    return rank < 0 ? NULL : result_pointwise(c, 0, x->dtype, rank, size, both, 2);
}

/* self, target, reduction[, beta] */
static int run_loss(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *y = arg_tensor(c, 1);
    int64_t reduction = arg_int(c, 2, 1);
    bool parameter = strchr(row->aclnn->signature, 'f') != NULL;
    if (!floating_pair(x, y))
        return CALL_FALLBACK;
    double beta = parameter ? arg_double(c, 3, 1.0) : 0.0;
    if (parameter && !fits_float(beta, x->dtype))
        return CALL_FALLBACK;
    struct npu_tensor *out = loss_result(c, x, y, reduction);
    if (!out)
        return CALL_ERROR;
    if (parameter)
        return launch(c, row->aclnn,
                      (union aclnn_value[]){{.t = x}, {.t = y}, {.i = reduction}, {.d = beta}, {.t = out}});
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = x}, {.t = y}, {.i = reduction}, {.t = out}});
}

/* The gradient's shape: that of x and y broadcast. NULL when grad fits neither it nor one value. */
static struct npu_tensor *gradient_result(struct call *c, const struct npu_tensor *grad, const struct npu_tensor *x,
                                          const struct npu_tensor *y)
{
    int64_t size[16];
    const struct npu_tensor *both[] = {x, y};
    int32_t rank = broadcast_shape(c, both, 2, size);
    if (rank < 0)
        return NULL;
    int64_t count = 1;
    for (int32_t d = 0; d < rank; d++)
        count *= size[d];
    if (tensor_numel(grad) != 1 && tensor_numel(grad) != count) {
        call_error(c, CALL_RUNTIME_ERROR, "grad_output has %lld elements, but the loss has %lld",
                   (long long)tensor_numel(grad), (long long)count);
        return NULL;
    }
    return result_pointwise(c, 0, x->dtype, rank, size, both, 2);
}

/* grad_output, self, target, reduction[, beta] */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, 1), *y = arg_tensor(c, 2);
    int64_t reduction = arg_int(c, 3, 1);
    bool parameter = strchr(row->aclnn->signature, 'f') != NULL;
    double beta = parameter ? arg_double(c, 4, 1.0) : 0.0;
    if (!floating_pair(x, y) || grad->dtype != x->dtype || (parameter && !fits_float(beta, x->dtype)))
        return CALL_FALLBACK;
    struct npu_tensor *out = gradient_result(c, grad, x, y);
    if (!out)
        return CALL_ERROR;
    union aclnn_value v[] = {{.t = grad}, {.t = x}, {.t = y}, {.i = reduction}, {.t = out}, {.t = out}};
    if (parameter)
        v[4].d = beta;
    return launch(c, row->aclnn, v);
}

static struct aclnn muls = ACLNN("aclnnInplaceMuls", "TS");

/* huber(δ) = δ · smooth_l1(β = δ), and so is its gradient; the row's operator is smooth_l1's. */
static int run_huber(struct call *c, const struct aten_row *row)
{
    bool gradient = row->code;
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, gradient), *y = arg_tensor(c, gradient + 1);
    int64_t reduction = arg_int(c, gradient + 2, 1);
    double delta = arg_double(c, gradient + 3, 1.0);
    if (!floating_pair(x, y) || grad->dtype != x->dtype || !fits_float(delta, x->dtype))
        return CALL_FALLBACK;
    struct npu_tensor *out = gradient ? gradient_result(c, grad, x, y) : loss_result(c, x, y, reduction);
    if (!out)
        return CALL_ERROR;
    union aclnn_value v[] = {{.t = grad}, {.t = x}, {.t = y}, {.i = reduction}, {.d = delta}, {.t = out}};
    if (launch(c, row->aclnn, v + !gradient))
        return CALL_ERROR;
    struct npu_scalar factor = {.kind = SCALAR_FLOAT, .d = {delta}};
    return delta == 1.0 ? CALL_OK : launch(c, &muls, (union aclnn_value[]){{.t = out}, {.s = &factor}});
}

/* self, target, weight, reduction */
static int run_bce(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *y = arg_tensor(c, 1), *weight = arg_tensor(c, 2);
    int64_t reduction = arg_int(c, 3, 1);
    if (!floating_pair(x, y) || !optional_like(weight, x))
        return CALL_FALLBACK;
    struct npu_tensor *out = loss_result(c, x, y, reduction);
    if (!out)
        return CALL_ERROR;
    return index_launch(c, row->aclnn,
                        (union aclnn_value[]){{.t = x}, {.t = y}, {.t = weight}, {.i = reduction}, {.t = out}},
                        CALL_RUNTIME_ERROR);
}

/* grad_output, self, target, weight, reduction */
static int run_bce_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, 1), *y = arg_tensor(c, 2);
    const struct npu_tensor *weight = arg_tensor(c, 3);
    if (!floating_pair(x, y) || grad->dtype != x->dtype || !optional_like(weight, x))
        return CALL_FALLBACK;
    struct npu_tensor *out = gradient_result(c, grad, x, y);
    if (!out)
        return CALL_ERROR;
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = grad}, {.t = x}, {.t = y}, {.t = weight}, {.i = arg_int(c, 4, 1)}, {.t = out}});
}

/* A target of int32 counts as int64, as on a chip; PyTorch's CPU refuses it. */
static const struct npu_tensor *class_target(struct call *c, const struct npu_tensor *target)
{
    return target->dtype == ACL_INT32 ? cast(c, target, ACL_INT64) : target;
}

/* Scores (N, C), (C) or, for the row's code 1, (N, C, H, W); one target for each position; a weight for each class. */
static bool fits_classes(const struct npu_tensor *x, const struct npu_tensor *target, const struct npu_tensor *weight,
                         int two_d)
{
    bool type = target->dtype == ACL_INT64 || target->dtype == ACL_INT32 || target->dtype == ACL_UINT8;
    if (!type || !is_floating(x->dtype) || x->rank < 1 || (two_d ? x->rank != 4 : x->rank > 2))
        return false;
    if (target->rank != (two_d ? 3 : x->rank - 1))
        return false;
    for (int32_t d = 0; d < target->rank; d++)
        if (target->size[d] != x->size[d ? d + 1 : 0])
            return false;
    int64_t classes = x->size[x->rank > 1];
    return !weight->defined || (weight->dtype == x->dtype && weight->rank == 1 && weight->size[0] == classes);
}

/* self, target, weight, reduction, ignore_index → output, total_weight */
static int run_likelihood(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0), *target = arg_tensor(c, 1), *weight = arg_tensor(c, 2);
    int64_t reduction = arg_int(c, 3, 1), ignore = arg_int(c, 4, -100);
    if (!fits_classes(x, target, weight, row->code))
        return CALL_FALLBACK;
    bool each = reduction == REDUCTION_NONE;
    struct npu_tensor *out = result(c, 0, x->dtype, each ? target->rank : 0, target->size);
    struct npu_tensor *total = result(c, 1, x->dtype, 0, NULL);
    return index_launch(c, row->aclnn,
                        (union aclnn_value[]){{.t = x},
                                              {.t = class_target(c, target)},
                                              {.t = weight},
                                              {.i = reduction},
                                              {.i = ignore},
                                              {.t = out},
                                              {.t = total}},
                        CALL_INDEX_ERROR);
}

/* grad_output, self, target, weight, reduction, ignore_index, total_weight */
static int run_likelihood_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *x = arg_tensor(c, 1), *target = arg_tensor(c, 2);
    const struct npu_tensor *weight = arg_tensor(c, 3), *total = arg_tensor(c, 6);
    int64_t reduction = arg_int(c, 4, 1);
    if (!fits_classes(x, target, weight, row->code) || grad->dtype != x->dtype || total->dtype != x->dtype)
        return CALL_FALLBACK;
    if (tensor_numel(grad) != (reduction == REDUCTION_NONE ? tensor_numel(target) : 1) || tensor_numel(total) != 1)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, x->dtype, x->rank, x->size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad},
                                        {.t = x},
                                        {.t = class_target(c, target)},
                                        {.t = weight},
                                        {.i = reduction},
                                        {.i = arg_int(c, 5, -100)},
                                        {.t = total},
                                        {.t = out}});
}

static struct aclnn mse = ACLNN("aclnnMseLoss", "TTiT"), mse_backward = ACLNN("aclnnMseLossBackward", "TTTiT");
static struct aclnn smooth = ACLNN("aclnnSmoothL1Loss", "TTifT");
static struct aclnn smooth_backward = ACLNN("aclnnSmoothL1LossBackward", "TTTifT");
static struct aclnn margin = ACLNN("aclnnSoftMarginLoss", "TTiT");
static struct aclnn margin_backward = ACLNN("aclnnSoftMarginLossBackward", "TTTiT");
static struct aclnn bce = ACLNN("aclnnBinaryCrossEntropy", "TTTiT");
static struct aclnn bce_backward = ACLNN("aclnnBinaryCrossEntropyBackward", "TTTTiT");
static struct aclnn nll = ACLNN("aclnnNLLLoss", "TTTiiTT"), nll2d = ACLNN("aclnnNLLLoss2d", "TTTiiTT");
static struct aclnn nll_backward = ACLNN("aclnnNLLLossBackward", "TTTTiiTT");
static struct aclnn nll2d_backward = ACLNN("aclnnNLLLoss2dBackward", "TTTTiiTT");

static const struct aten_row rows[] = {
    {"mse_loss", run_loss, &mse},
    {"mse_loss.out", run_loss, &mse},
    {"mse_loss_backward", run_backward, &mse_backward},
    {"mse_loss_backward.grad_input", run_backward, &mse_backward},
    {"smooth_l1_loss", run_loss, &smooth},
    {"smooth_l1_loss.out", run_loss, &smooth},
    {"smooth_l1_loss_backward", run_backward, &smooth_backward},
    {"smooth_l1_loss_backward.grad_input", run_backward, &smooth_backward},
    {"soft_margin_loss", run_loss, &margin},
    {"soft_margin_loss.out", run_loss, &margin},
    {"soft_margin_loss_backward", run_backward, &margin_backward},
    {"soft_margin_loss_backward.grad_input", run_backward, &margin_backward},
    {"huber_loss", run_huber, &smooth, 0},
    {"huber_loss.out", run_huber, &smooth, 0},
    {"huber_loss_backward", run_huber, &smooth_backward, 1},
    {"huber_loss_backward.out", run_huber, &smooth_backward, 1},
    {"binary_cross_entropy", run_bce, &bce},
    {"binary_cross_entropy.out", run_bce, &bce},
    {"binary_cross_entropy_backward", run_bce_backward, &bce_backward},
    {"binary_cross_entropy_backward.grad_input", run_bce_backward, &bce_backward},
    {"nll_loss_forward", run_likelihood, &nll, 0},
    {"nll_loss_forward.output", run_likelihood, &nll, 0},
    {"nll_loss_backward", run_likelihood_backward, &nll_backward, 0},
    {"nll_loss_backward.grad_input", run_likelihood_backward, &nll_backward, 0},
    {"nll_loss2d_forward", run_likelihood, &nll2d, 1},
    {"nll_loss2d_forward.output", run_likelihood, &nll2d, 1},
    {"nll_loss2d_backward", run_likelihood_backward, &nll2d_backward, 1},
    {"nll_loss2d_backward.grad_input", run_likelihood_backward, &nll2d_backward, 1},
};
ATEN_FAMILY(loss_family, rows);

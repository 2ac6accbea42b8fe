/* SPDX-License-Identifier: BSD-3-Clause */
/* Activation functions and their gradients. Most have the arguments of their aclnn operator: run_pointwise. */
#include "elementwise.h"

#include <string.h>

static int run_gelu(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const char *approximate = arg_string(c, 1);
    bool tanh_form = approximate && !strcmp(approximate, "tanh");
    if (!takes_type(row->code, self->dtype) || (!tanh_form && approximate && strcmp(approximate, "none")))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = tanh_form}, {.t = out}});
}

/* relu6 and hardtanh: uint8 has no negative bound. */
static int run_hardtanh(struct call *c, const struct aten_row *row)
{
    struct npu_scalar low = arg_scalar(c, 1), high = arg_scalar(c, 2);
    if (arg_tensor(c, 0)->dtype == ACL_UINT8 && (low.d[0] < 0 || high.d[0] < 0))
        return CALL_FALLBACK;
    return run_pointwise(c, row);
}

/* The second result, a buffer for the backward, is empty: that computes what it needs. */
static int run_logsigmoid(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (!takes_type(row->code, self->dtype))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    struct npu_tensor *buffer = result(c, 1, self->dtype, 1, (int64_t[]){0});
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = out}, {.t = buffer}});
}

/* ---- gated linear unit: halves along a dimension ---- */

static int run_glu(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t size[16];
    int32_t dim = self->rank ? wrap_dim(c, arg_int(c, 1, -1), self->rank) : -1;
    if (!takes_type(row->code, self->dtype) || dim < 0 || self->size[dim] % 2)
        return call_failed(c) ? CALL_ERROR : CALL_FALLBACK;
    memcpy(size, self->size, sizeof *size * (size_t)self->rank);
    size[dim] /= 2;
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = out}});
}

static int run_glu_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *self = arg_tensor(c, 1);
    int32_t dim = self->rank ? wrap_dim(c, arg_int(c, 2, -1), self->rank) : -1;
    if (dim < 0 || !takes_type(row->code, self->dtype) || grad->dtype != self->dtype || self->size[dim] % 2)
        return call_failed(c) ? CALL_ERROR : CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = grad}, {.t = self}, {.i = dim}, {.t = out}});
}

/* ---- prelu: the weight broadcasts, its gradient has its shape ---- */

static int run_prelu_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *self = arg_tensor(c, 1), *weight = arg_tensor(c, 2);
    if (!takes_type(row->code, self->dtype) || grad->dtype != self->dtype || weight->dtype != self->dtype)
        return CALL_FALLBACK;
    struct npu_tensor *to_self = result(c, 0, self->dtype, self->rank, self->size);
    struct npu_tensor *to_weight = result(c, 1, self->dtype, weight->rank, weight->size);
    union aclnn_value v[] = {{.t = grad}, {.t = self}, {.t = weight}, {.t = to_self}, {.t = to_weight}};
    return launch(c, row->aclnn, v);
}

static int run_dropout_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *mask = arg_tensor(c, 1);
    if (!takes_type(row->code, grad->dtype) || mask->dtype != ACL_BOOL)
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, grad->dtype, grad->rank, grad->size, &grad, 1);
    union aclnn_value v[] = {{.t = grad}, {.t = mask}, {.d = arg_double(c, 2, 1.0)}, {.t = out}};
    return launch(c, row->aclnn, v);
}

/* ---- rows ---- */

/* functional, in-place and out= overloads of a forward; functional and grad_input of a backward */
#define FORWARD(name, run, op, code)                                                                                   \
    {name, run, op, code, true}, {name "_", run, op, code, true},                                                      \
    {                                                                                                                  \
        name ".out", run, op, code, true                                                                               \
    }
#define FORWARD_NEW(name, run, op, code)                                                                               \
    {name, run, op, code, true},                                                                                       \
    {                                                                                                                  \
        name ".out", run, op, code, true                                                                               \
    }
#define BACKWARD_OF(name, op, takes)                                                                                   \
    {name, run_pointwise, op, (takes) | OPERANDS(2), true},                                                            \
    {                                                                                                                  \
        name ".grad_input", run_pointwise, op, (takes) | OPERANDS(2), true                                             \
    }
#define BACKWARD(name, op) BACKWARD_OF(name, op, TAKES_FLOAT)

static struct aclnn relu = ACLNN("aclnnRelu", "TT");
static struct aclnn hardtanh = ACLNN("aclnnHardtanh", "TSST");
static struct aclnn hardtanh_backward = ACLNN("aclnnHardtanhBackward", "TTSST");
static struct aclnn threshold = ACLNN("aclnnThreshold", "TSST");
static struct aclnn threshold_backward = ACLNN("aclnnThresholdBackward", "TTST");
static struct aclnn leaky_relu = ACLNN("aclnnLeakyRelu", "TST");
static struct aclnn leaky_relu_backward = ACLNN("aclnnLeakyReluBackward", "TTSbT");
static struct aclnn elu = ACLNN("aclnnElu", "TSSST");
static struct aclnn elu_backward = ACLNN("aclnnEluBackward", "TSSSbTT");
static struct aclnn gelu = ACLNN("aclnnGeluV2", "TiT");
static struct aclnn gelu_backward = ACLNN("aclnnGeluBackwardV2", "TTsT");
static struct aclnn sigmoid = ACLNN("aclnnSigmoid", "TT");
static struct aclnn sigmoid_backward = ACLNN("aclnnSigmoidBackward", "TTT");
static struct aclnn tanh_backward = ACLNN("aclnnTanhBackward", "TTT");
static struct aclnn silu = ACLNN("aclnnSilu", "TT");
static struct aclnn silu_backward = ACLNN("aclnnSiluBackward", "TTT");
static struct aclnn mish = ACLNN("aclnnMish", "TT");
static struct aclnn mish_backward = ACLNN("aclnnMishBackward", "TTT");
static struct aclnn softplus = ACLNN("aclnnSoftplus", "TSST");
static struct aclnn softplus_backward = ACLNN("aclnnSoftplusBackward", "TTSST");
static struct aclnn hardswish = ACLNN("aclnnHardswish", "TT");
static struct aclnn hardswish_backward = ACLNN("aclnnHardswishBackward", "TTT");
static struct aclnn hardsigmoid = ACLNN("aclnnHardsigmoid", "TT");
static struct aclnn hardsigmoid_backward = ACLNN("aclnnHardsigmoidBackward", "TTT");
static struct aclnn logsigmoid = ACLNN("aclnnLogSigmoidForward", "TTT");
static struct aclnn logsigmoid_backward = ACLNN("aclnnLogSigmoidBackward", "TTTT");
static struct aclnn hardshrink = ACLNN("aclnnHardshrink", "TST");
static struct aclnn hardshrink_backward = ACLNN("aclnnHardshrinkBackward", "TTST");
static struct aclnn softshrink = ACLNN("aclnnSoftshrink", "TST");
static struct aclnn softshrink_backward = ACLNN("aclnnSoftshrinkBackward", "TTST");
static struct aclnn glu = ACLNN("aclnnGlu", "TiT");
static struct aclnn glu_backward = ACLNN("aclnnGluBackward", "TTiT");
static struct aclnn prelu = ACLNN("aclnnPrelu", "TTT");
static struct aclnn prelu_backward = ACLNN("aclnnPreluBackward", "TTTTT");
static struct aclnn dropout_backward = ACLNN("aclnnMaskedScale", "TTfT");

static const struct aten_row rows[] = {
    {"relu", run_pointwise, &relu, TAKES_REAL, true},
    {"relu_", run_pointwise, &relu, TAKES_REAL, true},
    FORWARD("hardtanh", run_hardtanh, &hardtanh, TAKES_REAL),
    BACKWARD("hardtanh_backward", &hardtanh_backward),
    FORWARD("threshold", run_pointwise, &threshold, TAKES_REAL),
    {"threshold_backward", run_pointwise, &threshold_backward, TAKES_REAL | OPERANDS(2), true},
    {"threshold_backward.grad_input", run_pointwise, &threshold_backward, TAKES_REAL | OPERANDS(2), true},
    FORWARD("leaky_relu", run_pointwise, &leaky_relu, TAKES_FLOAT),
    BACKWARD("leaky_relu_backward", &leaky_relu_backward),
    FORWARD("elu", run_pointwise, &elu, TAKES_FLOAT),
    BACKWARD("elu_backward", &elu_backward),
    FORWARD("gelu", run_gelu, &gelu, TAKES_FLOAT),
    BACKWARD("gelu_backward", &gelu_backward),
    FORWARD("sigmoid", run_pointwise, &sigmoid, TAKES_ALL | TAKES_COMPLEX | GIVES_FLOAT),
    BACKWARD_OF("sigmoid_backward", &sigmoid_backward, TAKES_FLOAT | TAKES_COMPLEX),
    BACKWARD_OF("tanh_backward", &tanh_backward, TAKES_FLOAT | TAKES_COMPLEX),
    FORWARD("silu", run_pointwise, &silu, TAKES_FLOAT | TAKES_COMPLEX),
    BACKWARD("silu_backward", &silu_backward),
    FORWARD("mish", run_pointwise, &mish, TAKES_FLOAT),
    {"mish_backward", run_pointwise, &mish_backward, TAKES_FLOAT | OPERANDS(2), true},
    FORWARD_NEW("softplus", run_pointwise, &softplus, TAKES_FLOAT),
    BACKWARD("softplus_backward", &softplus_backward),
    FORWARD("hardswish", run_pointwise, &hardswish, TAKES_FLOAT),
    {"hardswish_backward", run_pointwise, &hardswish_backward, TAKES_FLOAT | OPERANDS(2), true},
    FORWARD("hardsigmoid", run_pointwise, &hardsigmoid, TAKES_FLOAT),
    BACKWARD("hardsigmoid_backward", &hardsigmoid_backward),
    {"log_sigmoid_forward", run_logsigmoid, &logsigmoid, TAKES_FLOAT, true},
    {"log_sigmoid_forward.output", run_logsigmoid, &logsigmoid, TAKES_FLOAT, true},
    BACKWARD("log_sigmoid_backward", &logsigmoid_backward),
    FORWARD_NEW("hardshrink", run_pointwise, &hardshrink, TAKES_FLOAT),
    BACKWARD("hardshrink_backward", &hardshrink_backward),
    FORWARD_NEW("softshrink", run_pointwise, &softshrink, TAKES_FLOAT),
    BACKWARD("softshrink_backward", &softshrink_backward),
    FORWARD_NEW("glu", run_glu, &glu, TAKES_FLOAT),
    {"glu_backward", run_glu_backward, &glu_backward, TAKES_FLOAT, false},
    {"glu_backward.grad_input", run_glu_backward, &glu_backward, TAKES_FLOAT, false},
    {"_prelu_kernel", run_pointwise, &prelu, TAKES_FLOAT | OPERANDS(2), true},
    {"_prelu_kernel_backward", run_prelu_backward, &prelu_backward, TAKES_FLOAT, false},
    {"native_dropout_backward", run_dropout_backward, &dropout_backward, TAKES_FLOAT, true},
};
ATEN_FAMILY(activation_family, rows);

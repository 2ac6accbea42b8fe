/* SPDX-License-Identifier: BSD-3-Clause */
/* Activation functions and their gradients: one pass over memory each. See elementwise.h for operands and parameters.
 */
#include "kernels/loops.h"
#include "kernels/vmath.h"
#include "kernels/vmath_half.h"

#define T        f32
#define FN(name) name##_f32
#define EXP      exp_flush_f32
#define ABS      fabsf
#include "kernels/activation_typed.h"
#define T        f64
#define FN(name) name##_f64
#define EXP      exp_f64
#define ABS      fabs
#include "kernels/activation_typed.h"

#define T i8
#include "kernels/activation_int.h"
#define T u8
#include "kernels/activation_int.h"
#define T i16
#include "kernels/activation_int.h"
#define T i32
#include "kernels/activation_int.h"
#define T i64
#include "kernels/activation_int.h"

/* ---- 16-bit floats ---- */
HALVES(map1, relu)
HALVES(map1, clamp)
HALVES(map1, clamp_min)
HALVES(map1, clamp_max)
HALVES(map1, threshold)
HALVES(map1, leaky_relu)
HALVES(map1, elu)
HALVES(map1, gelu)
MAP1_HALF(gelu_tanh, x / (1.0f + exp_flush_half(gelu_inner_f32(x))))
MAP1_HALF(sigmoid, sigmoid_half(x))
MAP1_HALF(silu, x / (1.0f + exp_flush_half(-(x * s[0]))))
HALVES(map1, mish)
HALVES(map1, softplus)
HALVES(map1, hardswish)
HALVES(map1, hardsigmoid)
HALVES(map2_dense, threshold_grad)
HALVES(map2_dense, gelu_grad)
HALVES(map2_dense, gelu_tanh_grad)
HALVES(map2_dense, sigmoid_grad)
HALVES(map2_dense, tanh_grad)
HALVES(map2_dense, silu_grad)

static const walk_loop activation[][ELEMENTWISE_DTYPES] = {
    AT(ACTIVATION_RELU) = {FLOATS(relu), INTS(relu)},
    AT(ACTIVATION_CLAMP) = {FLOATS(clamp), INTS(clamp)},
    AT(ACTIVATION_CLAMP_MIN) = {FLOATS(clamp_min), INTS(clamp_min)},
    AT(ACTIVATION_CLAMP_MAX) = {FLOATS(clamp_max), INTS(clamp_max)},
    AT(ACTIVATION_THRESHOLD) = {FLOATS(threshold), INTS(threshold)},
    AT(ACTIVATION_LEAKY_RELU) = {FLOATS(leaky_relu)},
    AT(ACTIVATION_ELU) = {FLOATS(elu)},
    AT(ACTIVATION_GELU) = {FLOATS(gelu)},
    AT(ACTIVATION_GELU_TANH) = {FLOATS(gelu_tanh)},
    AT(ACTIVATION_FAST_GELU) = {FLOATS(fast_gelu)},
    AT(ACTIVATION_SIGMOID) = {FLOATS(sigmoid)},
    AT(ACTIVATION_SILU) = {FLOATS(silu)},
    AT(ACTIVATION_MISH) = {FLOATS(mish)},
    AT(ACTIVATION_SOFTPLUS) = {FLOATS(softplus)},
    AT(ACTIVATION_LOGSIGMOID) = {FLOATS(logsigmoid)},
    AT(ACTIVATION_HARDSWISH) = {FLOATS(hardswish)},
    AT(ACTIVATION_HARDSIGMOID) = {FLOATS(hardsigmoid)},
    AT(ACTIVATION_HARDSHRINK) = {FLOATS(hardshrink)},
    AT(ACTIVATION_SOFTSHRINK) = {FLOATS(softshrink)},
    AT(ACTIVATION_SOFTSIGN) = {FLOATS(softsign)},
};

static const walk_loop activation_halves[][2] = {
    AT(ACTIVATION_RELU) = HALF_PAIR(relu),
    AT(ACTIVATION_CLAMP) = HALF_PAIR(clamp),
    AT(ACTIVATION_CLAMP_MIN) = HALF_PAIR(clamp_min),
    AT(ACTIVATION_CLAMP_MAX) = HALF_PAIR(clamp_max),
    AT(ACTIVATION_THRESHOLD) = HALF_PAIR(threshold),
    AT(ACTIVATION_LEAKY_RELU) = HALF_PAIR(leaky_relu),
    AT(ACTIVATION_ELU) = HALF_PAIR(elu),
    AT(ACTIVATION_GELU) = HALF_PAIR(gelu),
    AT(ACTIVATION_GELU_TANH) = HALF_PAIR(gelu_tanh),
    AT(ACTIVATION_SIGMOID) = HALF_PAIR(sigmoid),
    AT(ACTIVATION_SILU) = HALF_PAIR(silu),
    AT(ACTIVATION_MISH) = HALF_PAIR(mish),
    AT(ACTIVATION_SOFTPLUS) = HALF_PAIR(softplus),
    AT(ACTIVATION_HARDSWISH) = HALF_PAIR(hardswish),
    AT(ACTIVATION_HARDSIGMOID) = HALF_PAIR(hardsigmoid),
};

const struct elementwise_table ISA(activation_kernels) = {activation, sizeof activation / sizeof *activation,
                                                          activation_halves,
                                                          sizeof activation_halves / sizeof *activation_halves};

static const walk_loop gradient[][ELEMENTWISE_DTYPES] = {
    AT(GRADIENT_THRESHOLD) = {FLOATS(threshold_grad), INTS(threshold_grad)},
    AT(GRADIENT_HARDTANH) = {FLOATS(hardtanh_grad)},
    AT(GRADIENT_LEAKY_RELU) = {FLOATS(leaky_relu_grad)},
    AT(GRADIENT_ELU) = {FLOATS(elu_grad)},
    AT(GRADIENT_ELU_RESULT) = {FLOATS(elu_result_grad)},
    AT(GRADIENT_GELU) = {FLOATS(gelu_grad)},
    AT(GRADIENT_GELU_TANH) = {FLOATS(gelu_tanh_grad)},
    AT(GRADIENT_FAST_GELU) = {FLOATS(fast_gelu_grad)},
    AT(GRADIENT_SIGMOID) = {FLOATS(sigmoid_grad)},
    AT(GRADIENT_TANH) = {FLOATS(tanh_grad)},
    AT(GRADIENT_SILU) = {FLOATS(silu_grad)},
    AT(GRADIENT_MISH) = {FLOATS(mish_grad)},
    AT(GRADIENT_SOFTPLUS) = {FLOATS(softplus_grad)},
    AT(GRADIENT_LOGSIGMOID) = {FLOATS(logsigmoid_grad)},
    AT(GRADIENT_HARDSWISH) = {FLOATS(hardswish_grad)},
    AT(GRADIENT_HARDSIGMOID) = {FLOATS(hardsigmoid_grad)},
    AT(GRADIENT_SHRINK) = {FLOATS(shrink_grad)},
    AT(GRADIENT_LOGIT) = {FLOATS(logit_grad)},
    AT(GRADIENT_PRELU_WEIGHT) = {FLOATS(prelu_weight_grad)},
    AT(GRADIENT_PRELU_FORWARD) = {FLOATS(prelu)},
    AT(GRADIENT_GLU_FORWARD) = {FLOATS(glu)},
    AT(GRADIENT_SWIGLU_FORWARD) = {FLOATS(swiglu)},
    AT(GRADIENT_DROPOUT) = {FLOATS(dropout_grad)},
};

static const walk_loop gradient_halves[][2] = {
    AT(GRADIENT_THRESHOLD) = HALF_PAIR(threshold_grad), AT(GRADIENT_GELU) = HALF_PAIR(gelu_grad),
    AT(GRADIENT_GELU_TANH) = HALF_PAIR(gelu_tanh_grad), AT(GRADIENT_SIGMOID) = HALF_PAIR(sigmoid_grad),
    AT(GRADIENT_TANH) = HALF_PAIR(tanh_grad),           AT(GRADIENT_SILU) = HALF_PAIR(silu_grad),
};

const struct elementwise_table ISA(gradient_kernels) = {gradient, sizeof gradient / sizeof *gradient, gradient_halves,
                                                        sizeof gradient_halves / sizeof *gradient_halves};

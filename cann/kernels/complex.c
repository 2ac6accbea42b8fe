/* SPDX-License-Identifier: BSD-3-Clause */
/* See complex.h. Products and quotients are written out: C's own would call a library for the sake of infinities, which
 * PyTorch does not look at. The transcendental functions are libm's. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__
#pragma GCC target("no-avx512f,no-fma") /* gcc 12 makes fmaddsub of complex products in spite of -ffp-contract=off */
#endif

#include "kernels/complex.h"

#include <complex.h>

#ifndef CMPLX /* glibc has them for gcc alone */
#define CMPLX(re, im)  __builtin_complex((double)(re), (double)(im))
#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))
#endif

#include "kernels/loops.h"

typedef float _Complex c64;
typedef double _Complex c128;

#define T      c64
#define SCALAR d
#include "kernels/loops_typed.h"
#define T      c128
#define SCALAR d
#include "kernels/loops_typed.h"

#define T      c64
#define REAL   float
#define FN(fn) fn##f
#define MAKE   CMPLXF
#include "kernels/complex_typed.h"
#define T      c128
#define REAL   double
#define FN(fn) fn
#define MAKE   CMPLX
#include "kernels/complex_typed.h"

#define ROW(op, name)                                                                                                  \
    {                                                                                                                  \
        op, loop_##name##_c64, loop_##name##_c128                                                                      \
    }

static const struct complex_row rows[] = {
    ROW(UNARY_NEG, neg),
    ROW(UNARY_SIGN, sign),
    ROW(UNARY_SQUARE, square),
    ROW(UNARY_CUBE, cube),
    ROW(UNARY_RECIPROCAL, reciprocal),
    ROW(UNARY_SQRT, sqrt),
    ROW(UNARY_RSQRT, rsqrt),
    ROW(UNARY_EXP, exp),
    ROW(UNARY_EXP2, exp2),
    ROW(UNARY_EXPM1, expm1),
    ROW(UNARY_LOG, log),
    ROW(UNARY_LOG1P, log1p),
    ROW(UNARY_SINC, sinc),
    ROW(UNARY_LOG2, log2),
    ROW(UNARY_LOG10, log10),
    ROW(UNARY_SIN, sin),
    ROW(UNARY_COS, cos),
    ROW(UNARY_TAN, tan),
    ROW(UNARY_ASIN, asin),
    ROW(UNARY_ACOS, acos),
    ROW(UNARY_ATAN, atan),
    ROW(UNARY_SINH, sinh),
    ROW(UNARY_COSH, cosh),
    ROW(UNARY_TANH, tanh),
    ROW(UNARY_ASINH, asinh),
    ROW(UNARY_ACOSH, acosh),
    ROW(UNARY_ATANH, atanh),
    ROW(UNARY_LOGICAL_NOT, logical_not),
    ROW(UNARY_ISNAN, isnan),
    ROW(UNARY_ISINF, isinf),
    ROW(UNARY_ISFINITE, isfinite),
    ROW(BINARY_ADD, add),
    ROW(BINARY_ADD_SCALED, add_scaled),
    ROW(BINARY_SUB, sub),
    ROW(BINARY_SUB_SCALED, sub_scaled),
    ROW(BINARY_MUL, mul),
    ROW(BINARY_DIV, div),
    ROW(BINARY_POW, pow),
    ROW(BINARY_LOGADDEXP, logaddexp),
    ROW(COMPARE_EQ, eq),
    ROW(COMPARE_NE, ne),
    ROW(COMPARE_LOGICAL_AND, logical_and),
    ROW(COMPARE_LOGICAL_OR, logical_or),
    ROW(COMPARE_LOGICAL_XOR, logical_xor),
    ROW(ACTIVATION_SIGMOID, sigmoid),
    ROW(ACTIVATION_SILU, silu),
    ROW(TERNARY_ADDCMUL, addcmul),
    ROW(TERNARY_ADDCDIV, addcdiv),
    ROW(TERNARY_LERP, lerp),
    ROW(GRADIENT_SIGMOID, sigmoid_grad),
    ROW(GRADIENT_TANH, tanh_grad),
};

const struct complex_table ISA(complex_kernels) = {rows, sizeof rows / sizeof *rows};

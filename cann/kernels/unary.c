/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels of one operand: arithmetic, rounding, mathematical functions, tests. See elementwise.h. */
#include "kernels/loops.h"
#include "kernels/vmath.h"
#include "kernels/vmath_half.h"

/* ---- float ---- */
MAP1(abs, f32, fabsf(x))
MAP1(neg, f32, -x)
MAP1(sign, f32, (x > 0.0f) - (x < 0.0f))
MAP1(square, f32, (x * x))
MAP1(cube, f32, (x * x * x))
MAP1(ceil, f32, __builtin_ceilf(x))
MAP1(floor, f32, __builtin_floorf(x))
MAP1(round, f32, __builtin_rintf(x))
MAP1(trunc, f32, __builtin_truncf(x))
MAP1(frac, f32, x - __builtin_truncf(x))
MAP1(reciprocal, f32, 1.0f / x)
MAP1(reciprocal_square, f32, 1.0f / (x * x))
MAP1(sqrt, f32, __builtin_sqrtf(x))
MAP1(rsqrt, f32, 1.0f / __builtin_sqrtf(x))
MAP1(exp, f32, exp_f32(x))
MAP1(expm1, f32, expm1_f32(x))
MAP1(log, f32, log_f32(x))
MAP1(tanh, f32, tanh_f32(x))
MAP1(erf, f32, erf_f32(x))
MAP1(log2, f32, log_wide_f64(x) * LOG2E)
MAP1(log10, f32, log_wide_f64(x) * 0x1.bcb7b1526e50ep-2)
MAP1(log1p, f32, log1p_f32(x))
MAP1(atan, f32, atan_wide_f64(x))
MAP1(erfc, f32, erfc_wide_f64(x))

INLINE float exp2_wide(float x)
{
    float c = x < -151.0f ? -151.0f : x;
    c = c > 129.0f ? 129.0f : c;
    return (float)exp_short_f64((double)c * 0x1.62e42fefa39efp-1);
}
MAP1(exp2, f32, exp2_wide(x))

INLINE double sinh_wide(float x)
{
    double a = fabs((double)x), z = a * a, c = a > 200.0 ? 200.0 : a, e = exp_short_f64(c);
    double y = a < 0.05 ? a * (1.0 + z * (0x1.5555555555555p-3 + z * 0x1.1111111111111p-7)) : 0.5 * (e - 1.0 / e);
    return copysign(a == a ? y : a, x);
}
MAP1(sinh, f32, sinh_wide(x))

INLINE double cosh_wide(float x)
{
    double a = fabs((double)x), e = exp_short_f64(a > 200.0 ? 200.0 : a);
    return 0.5 * (e + 1.0 / e);
}
MAP1(cosh, f32, cosh_wide(x))

/* log(a + sqrt(a² + 1)); its series where that cancels */
INLINE double asinh_wide(float x)
{
    double a = fabs((double)x), z = a * a;
    double small = a * (1.0 - z * (0x1.5555555555555p-3 - z * 0.075));
    double big = log_wide_f64(a + sqrt(z + 1.0));
    return copysign(a < 0.02 ? small : big, x);
}
MAP1(asinh, f32, asinh_wide(x))

INLINE double acosh_wide(double x)
{
    double y = log_wide_f64(x + sqrt((x - 1.0) * (x + 1.0)));
    return x < 1.0 ? (double)NAN : y;
}
MAP1(acosh, f32, acosh_wide(x))

INLINE double atanh_wide(float x)
{
    double a = fabs((double)x), z = a * a;
    double small = a * (1.0 + z * (0x1.5555555555555p-2 + z * 0.2));
    double big = 0.5 * log_wide_f64((1.0 + a) / (1.0 - a));
    return copysign(a < 0.02 ? small : big, x);
}
MAP1(atanh, f32, atanh_wide(x))

/* asin x = atan(x / sqrt(1 - x²)) */
INLINE double asin_wide(float x)
{
    double d = x;
    return atan_wide_f64(d / sqrt((1.0 - d) * (1.0 + d)));
}
MAP1(asin, f32, asin_wide(x))

INLINE double acos_wide(float x)
{
    double d = x, y = atan_wide_f64(sqrt((1.0 - d) * (1.0 + d)) / d);
    return d < 0.0 ? 0x1.921fb54442d18p1 + y : (d == 0.0 ? 0x1.921fb54442d18p0 : y);
}
MAP1(acos, f32, acos_wide(x))

INLINE double tan_wide(float x)
{
    double d = x, sum = d * 0x1.45f306dc9c883p-1 + ROUND_F64, n = sum - ROUND_F64;
    double r = (d - n * PIO2_1) - n * 0x1.10b4611a62633p-30, z = r * r;
    double s = r + r * z *
                       (-0x1.5555554cac179p-3 +
                        z * (0x1.11110887aae08p-7 + z * (-0x1.a00f8fbf28ffcp-13 + z * 0x1.6cd4b1f14f82cp-19)));
    double c = 1.0 - 0.5 * z +
               z * z *
                   (0x1.5555554f68af4p-5 +
                    z * (-0x1.6c16b8aa71587p-10 + z * (0x1.a01126edb51fep-16 + z * -0x1.242b809c7fbd6p-22)));
    double y = (bits_f64(sum) & 1u) ? -c / s : s / c;
    return d == 0.0 ? d : y;
}

MAP1_MEND(sin, f32, sin_f32(x), !(fabsf(x) <= TRIG_MAX_F32), sinf(x))
MAP1_MEND(cos, f32, cos_f32(x), !(fabsf(x) <= TRIG_MAX_F32), cosf(x))
MAP1_MEND(tan, f32, tan_wide(x), !(fabsf(x) <= TRIG_MAX_F32), tanf(x))

/* ---- double ---- */
MAP1(abs, f64, fabs(x))
MAP1(neg, f64, -x)
MAP1(sign, f64, (x > 0.0) - (x < 0.0))
MAP1(square, f64, (x * x))
MAP1(cube, f64, (x * x * x))
MAP1(ceil, f64, __builtin_ceil(x))
MAP1(floor, f64, __builtin_floor(x))
MAP1(round, f64, __builtin_rint(x))
MAP1(trunc, f64, __builtin_trunc(x))
MAP1(frac, f64, x - __builtin_trunc(x))
MAP1(reciprocal, f64, 1.0 / x)
MAP1(reciprocal_square, f64, 1.0 / (x * x))
MAP1(sqrt, f64, __builtin_sqrt(x))
MAP1(rsqrt, f64, 1.0 / __builtin_sqrt(x))
MAP1(exp, f64, exp_f64(x))
MAP1(log, f64, log_f64(x))
MAP1(exp2, f64, exp2(x))
MAP1(expm1, f64, expm1_f64(x))
MAP1(log2, f64, log2(x))
MAP1(log10, f64, log10(x))
MAP1(log1p, f64, log1p(x))
MAP1(tan, f64, tan(x))
MAP1(asin, f64, asin(x))
MAP1(acos, f64, acos(x))
MAP1(atan, f64, atan(x))
MAP1(sinh, f64, sinh(x))
MAP1(cosh, f64, cosh(x))
MAP1(tanh, f64, tanh(x))
MAP1(asinh, f64, asinh(x))
MAP1(acosh, f64, acosh(x))
MAP1(atanh, f64, atanh(x))
MAP1(erf, f64, erf(x))
MAP1(erfc, f64, erfc(x))
MAP1_MEND(sin, f64, sin_f64(x), !(fabs(x) <= TRIG_MAX_F64), sin(x))
MAP1_MEND(cos, f64, cos_f64(x), !(fabs(x) <= TRIG_MAX_F64), cos(x))

/* ---- special functions, through double ---- */

/* A rational start (Winitzki's form is enough) and Newton steps on erf, or on erfc towards ±1. */
static double erfinv(double y)
{
    double a = fabs(y);
    if (!(a < 1.0))
        return a == 1.0 ? copysign((double)INFINITY, y) : (double)NAN;
    double l = log1p(-a * a), k = 0x1.2a8eb50b6a8eep+2 + 0.5 * l; /* 2/(π 0.147) */
    double x = sqrt(sqrt(k * k - l / 0.147) - k);
    for (int i = 0; i < 4; i++) {
        double error = a < 0.5 ? erf(x) - a : (1.0 - a) - erfc(x);
        double slope = 0x1.20dd750429b6dp0 * exp(-x * x), step = error / slope;
        x -= step / (1.0 + x * step); /* Halley's correction */
    }
    return copysign(a == 0.0 ? 0.0 : x, y);
}
MAP1(erfinv, f32, erfinv(x))
MAP1(erfinv, f64, erfinv(x))

static double digamma(double x)
{
    if (x == 0.0)
        return copysign((double)INFINITY, -x);
    double shift = 0.0;
    if (x < 0.0) {
        if (x == floor(x))
            return (double)NAN;
        double whole, part = modf(x, &whole);
        shift = -0x1.921fb54442d18p1 / tan(0x1.921fb54442d18p1 * part);
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0)
        shift -= 1.0 / x;
    double z = 1.0 / (x * x);
    double p =
        z * (1.0 / 12 -
             z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    return shift + log(x) - 0.5 / x - (x < 1e17 ? p : 0.0);
}
MAP1(digamma, f32, digamma(x))
MAP1(digamma, f64, digamma(x))

static double lgamma_plain(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}
MAP1(lgamma, f32, lgamma_plain(x))
MAP1(lgamma, f64, lgamma_plain(x))

static double sinc(double x)
{
    double t = x * 0x1.921fb54442d18p1;
    return x == 0.0 ? 1.0 : sin(t) / t;
}
MAP1(sinc, f32, sinc(x))
MAP1(sinc, f64, sinc(x))

/* The quantile of the normal distribution: a rational start (relative error 1.2e-9, P. J. Acklam's coefficients) and a
 * step of Halley's method on erfc, which brings it to the last bits. */
static double ndtri(double p)
{
    static const double a[] = {-39.69683028665376, 220.9460984245205,  -275.9285104469687,
                               138.3577518672690,  -30.66479806614716, 2.506628277459239};
    static const double b[] = {-54.47609879822406, 161.5858368580409,  -155.6989798598866,
                               66.80131188771972,  -13.28068155288572, 1.0};
    static const double c[] = {-0.007784894002430293, -0.3223964580411365, -2.400758277161838,
                               -2.549732539343734,    4.374664141464968,   2.938163982698783};
    static const double d[] = {0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1.0};
    if (!(p > 0.0 && p < 1.0))
        return p == 0.0 ? -INFINITY : p == 1.0 ? INFINITY : (double)NAN;
    double tail = p < 0.5 ? p : 1.0 - p, x;
    if (tail < 0.02425) {
        double q = sqrt(-2.0 * log(tail));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + d[4]);
    } else {
        double q = tail - 0.5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + b[5]);
    }
    double error = 0.5 * erfc(-x * 0x1.6a09e667f3bcdp-1) - tail;
    double step = error * 0x1.40d931ff62706p+1 * exp(0.5 * x * x);
    if (isfinite(step))
        x -= step / (1.0 + 0.5 * x * step);
    return p < 0.5 ? x : -x;
}
MAP1(ndtri, f32, ndtri(x))
MAP1(ndtri, f64, ndtri(x))

MAP1(angle, f32, x != x ? x : x < 0.0f ? 0x1.921fb6p1f : 0.0f)
MAP1(angle, f64, x != x ? x : x < 0.0 ? 0x1.921fb54442d18p1 : 0.0)

/* eps < 0: none; s[0] is eps */
static double logit(double x, double eps)
{
    if (eps >= 0.0)
        x = x < eps ? eps : x > 1.0 - eps ? 1.0 - eps : x;
    return log(x / (1.0 - x));
}
MAP1(logit, f32, logit(x, s[0]))
MAP1(logit, f64, logit(x, s[0]))

/* 10^|decimals| and whether they are negative; the sum keeps NaN out of the selection */
MAP1(round_decimals, f32, s[1] != 0.0f ? __builtin_rintf(x / s[0]) * s[0] : __builtin_rintf(x * s[0]) / s[0])
MAP1(round_decimals, f64, s[1] != 0.0 ? __builtin_rint(x / s[0]) * s[0] : __builtin_rint(x * s[0]) / s[0])

MAP1(nan_to_num, f32, x != x ? s[0] : x == INFINITY ? s[1] : x == -INFINITY ? s[2] : x)
MAP1(nan_to_num, f64, x != x ? s[0] : x == (double)INFINITY ? s[1] : x == -(double)INFINITY ? s[2] : x)

TEST1(isnan, f32, x != x)
TEST1(isnan, f64, x != x)
TEST1(isinf, f32, fabsf(x) == INFINITY)
TEST1(isinf, f64, fabs(x) == (double)INFINITY)
TEST1(isposinf, f32, x == INFINITY)
TEST1(isposinf, f64, x == (double)INFINITY)
TEST1(isneginf, f32, x == -INFINITY)
TEST1(isneginf, f64, x == -(double)INFINITY)
TEST1(isfinite, f32, fabsf(x) < INFINITY)
TEST1(isfinite, f64, fabs(x) < (double)INFINITY)
TEST1(signbit, f32, bits_f32(x) >> 31)
TEST1(signbit, f64, bits_f64(x) >> 63)
TEST1(logical_not, f32, x == 0.0f)
TEST1(logical_not, f64, x == 0.0)

/* ---- integers ---- */
#define T           i8
#define W           uint32_t
#define NEGATIVE(x) ((x) < 0)
#include "kernels/unary_int.h"
#define T           u8
#define W           uint32_t
#define NEGATIVE(x) ((void)(x), 0)
#include "kernels/unary_int.h"
#define T           i16
#define W           uint32_t
#define NEGATIVE(x) ((x) < 0)
#include "kernels/unary_int.h"
#define T           i32
#define W           uint32_t
#define NEGATIVE(x) ((x) < 0)
#include "kernels/unary_int.h"
#define T           i64
#define W           uint64_t
#define NEGATIVE(x) ((x) < 0)
#include "kernels/unary_int.h"

MAP1(bool_not, u8, !x)

/* ---- 16-bit floats ---- */
HALVES(map1, sign)
HALVES(map1, square)
HALVES(map1, cube)
HALVES(map1, ceil)
HALVES(map1, floor)
HALVES(map1, round)
HALVES(map1, trunc)
HALVES(map1, frac)
HALVES(map1, reciprocal)
HALVES(map1, reciprocal_square)
HALVES(map1, sqrt)
HALVES(map1, rsqrt)
MAP1_HALF(exp, exp_half(x))
HALVES(map1, exp2)
HALVES(map1, expm1)
HALVES(map1, log)
MAP1_HALF(log1p, log1p_half(x))
HALVES(map1, tanh)
MAP1_HALF(erf, erf_half(x))
MAP1_HALF(atan, atan_half(x))
MAP1(abs_bits, u16, x & 0x7fffu)
MAP1(neg_bits, u16, x ^ 0x8000u)

#define BOTH(op, name) AT(op) = {FLOATS(name), INTS(name)}

static const walk_loop loops[][ELEMENTWISE_DTYPES] = {
    BOTH(UNARY_ABS, abs),
    BOTH(UNARY_NEG, neg),
    AT(UNARY_SIGN) = {FLOATS(sign), INTS(sign), [ACL_BOOL] = loop_copy_u8},
    BOTH(UNARY_SQUARE, square),
    BOTH(UNARY_CUBE, cube),
    AT(UNARY_COPY) = {INTS(copy), [ACL_BOOL] = loop_copy_u8},
    AT(UNARY_CEIL) = {FLOATS(ceil), INTS(copy)},
    AT(UNARY_FLOOR) = {FLOATS(floor), INTS(copy)},
    AT(UNARY_ROUND) = {FLOATS(round), INTS(copy)},
    AT(UNARY_ROUND_DECIMALS) = {FLOATS(round_decimals), INTS(copy)},
    AT(UNARY_TRUNC) = {FLOATS(trunc), INTS(copy)},
    AT(UNARY_FRAC) = {FLOATS(frac)},
    AT(UNARY_RECIPROCAL) = {FLOATS(reciprocal)},
    AT(UNARY_RECIPROCAL_SQUARE) = {FLOATS(reciprocal_square)},
    AT(UNARY_SQRT) = {FLOATS(sqrt)},
    AT(UNARY_RSQRT) = {FLOATS(rsqrt)},
    AT(UNARY_EXP) = {FLOATS(exp)},
    AT(UNARY_EXP2) = {FLOATS(exp2)},
    AT(UNARY_EXPM1) = {FLOATS(expm1)},
    AT(UNARY_LOG) = {FLOATS(log)},
    AT(UNARY_LOG2) = {FLOATS(log2)},
    AT(UNARY_LOG10) = {FLOATS(log10)},
    AT(UNARY_LOG1P) = {FLOATS(log1p)},
    AT(UNARY_SIN) = {FLOATS(sin)},
    AT(UNARY_COS) = {FLOATS(cos)},
    AT(UNARY_TAN) = {FLOATS(tan)},
    AT(UNARY_ASIN) = {FLOATS(asin)},
    AT(UNARY_ACOS) = {FLOATS(acos)},
    AT(UNARY_ATAN) = {FLOATS(atan)},
    AT(UNARY_SINH) = {FLOATS(sinh)},
    AT(UNARY_COSH) = {FLOATS(cosh)},
    AT(UNARY_TANH) = {FLOATS(tanh)},
    AT(UNARY_ASINH) = {FLOATS(asinh)},
    AT(UNARY_ACOSH) = {FLOATS(acosh)},
    AT(UNARY_ATANH) = {FLOATS(atanh)},
    AT(UNARY_ERF) = {FLOATS(erf)},
    AT(UNARY_ERFC) = {FLOATS(erfc)},
    AT(UNARY_ERFINV) = {FLOATS(erfinv)},
    AT(UNARY_LGAMMA) = {FLOATS(lgamma)},
    AT(UNARY_DIGAMMA) = {FLOATS(digamma)},
    AT(UNARY_SINC) = {FLOATS(sinc)},
    AT(UNARY_NDTRI) = {FLOATS(ndtri)},
    AT(UNARY_ANGLE) = {FLOATS(angle)},
    AT(UNARY_LOGIT) = {FLOATS(logit)},
    AT(UNARY_NAN_TO_NUM) = {FLOATS(nan_to_num), INTS(copy), [ACL_BOOL] = loop_copy_u8},
    AT(UNARY_BITWISE_NOT) = {INTS(bitwise_not), [ACL_BOOL] = loop_bool_not_u8},
    AT(UNARY_LOGICAL_NOT) = {FLOATS(logical_not), INTS(logical_not), [ACL_BOOL] = loop_bool_not_u8},
    AT(UNARY_ISNAN) = {FLOATS(isnan), INTS(never), [ACL_BOOL] = loop_never_u8},
    AT(UNARY_ISINF) = {FLOATS(isinf), INTS(never), [ACL_BOOL] = loop_never_u8},
    AT(UNARY_ISPOSINF) = {FLOATS(isposinf), INTS(never), [ACL_BOOL] = loop_never_u8},
    AT(UNARY_ISNEGINF) = {FLOATS(isneginf), INTS(never), [ACL_BOOL] = loop_never_u8},
    AT(UNARY_ISFINITE) = {FLOATS(isfinite), INTS(always), [ACL_BOOL] = loop_always_u8},
    AT(UNARY_SIGNBIT) = {FLOATS(signbit), INTS(signbit), [ACL_BOOL] = loop_never_u8},
};

static const walk_loop halves[][2] = {
    AT(UNARY_ABS) = {loop_abs_bits_u16, loop_abs_bits_u16},
    AT(UNARY_NEG) = {loop_neg_bits_u16, loop_neg_bits_u16},
    AT(UNARY_SIGN) = HALF_PAIR(sign),
    AT(UNARY_SQUARE) = HALF_PAIR(square),
    AT(UNARY_CUBE) = HALF_PAIR(cube),
    AT(UNARY_CEIL) = HALF_PAIR(ceil),
    AT(UNARY_FLOOR) = HALF_PAIR(floor),
    AT(UNARY_ROUND) = HALF_PAIR(round),
    AT(UNARY_TRUNC) = HALF_PAIR(trunc),
    AT(UNARY_FRAC) = HALF_PAIR(frac),
    AT(UNARY_RECIPROCAL) = HALF_PAIR(reciprocal),
    AT(UNARY_RECIPROCAL_SQUARE) = HALF_PAIR(reciprocal_square),
    AT(UNARY_SQRT) = HALF_PAIR(sqrt),
    AT(UNARY_RSQRT) = HALF_PAIR(rsqrt),
    AT(UNARY_EXP) = HALF_PAIR(exp),
    AT(UNARY_EXP2) = HALF_PAIR(exp2),
    AT(UNARY_EXPM1) = HALF_PAIR(expm1),
    AT(UNARY_LOG) = HALF_PAIR(log),
    AT(UNARY_LOG1P) = HALF_PAIR(log1p),
    AT(UNARY_TANH) = HALF_PAIR(tanh),
    AT(UNARY_ERF) = HALF_PAIR(erf),
    AT(UNARY_ATAN) = HALF_PAIR(atan),
};

const struct elementwise_table ISA(unary_kernels) = {loops, sizeof loops / sizeof *loops, halves,
                                                     sizeof halves / sizeof *halves};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Every elementwise kernel and type, through the block loop, so with any stride, against the formula in long double or
 * 128-bit integers. */
#include "harness.h"
#include "kernels/elementwise.h"

#include <math.h>

typedef long double wide;
typedef __int128 whole;

struct test {
    int op;
    const char *name;
    int inputs;
    wide (*real)(const wide *x, const double *s);                 /* NULL: not for floats */
    whole (*integer)(const whole *x, const int64_t *s, int bits); /* NULL: not for integers */
    double ulp;                                                   /* of float; double may have as many */
    double low, high; /* of the inputs, when the formula is useless elsewhere */
    double near;      /* absolute error that is fine */
};

#define R(name, expression)                                                                                            \
    static wide real_##name(const wide *a, const double *s)                                                            \
    {                                                                                                                  \
        wide x = a[0], y = a[1], z = a[2];                                                                             \
        (void)x, (void)y, (void)z, (void)s;                                                                            \
        return expression;                                                                                             \
    }
#define I(name, expression)                                                                                            \
    static whole integer_##name(const whole *a, const int64_t *s, int bits)                                            \
    {                                                                                                                  \
        whole x = a[0], y = a[1], z = a[2];                                                                            \
        (void)x, (void)y, (void)z, (void)s, (void)bits;                                                                \
        return expression;                                                                                             \
    }

static const double real_scalars[3] = {0.75, 1.25, 2.0};
static const int64_t integer_scalars[3] = {3, 50, 2};

R(abs, fabsl(x))
I(abs, x < 0 ? -x : x)
R(neg, -x)
I(neg, -x)
R(sign, (x > 0) - (x < 0))
I(sign, (x > 0) - (x < 0))
R(square, x *x)
I(square, x *x)
R(cube, x *x *x)
I(cube, (whole)((unsigned __int128)x *(unsigned __int128)x *(unsigned __int128)x))
R(ceil, ceill(x))
R(floor, floorl(x))
R(round, rintl(x))
R(trunc, truncl(x))
R(frac, x - truncl(x))
I(copy, x)
R(reciprocal, 1 / x)
R(sqrt, sqrtl(x))
R(rsqrt, 1 / sqrtl(x))
R(exp, expl(x))
R(exp2, exp2l(x))
R(expm1, expm1l(x))
R(log, logl(x))
R(log2, log2l(x))
R(log10, log10l(x))
R(log1p, log1pl(x))
R(sin, sinl(x))
R(cos, cosl(x))
R(tan, tanl(x))
R(asin, asinl(x))
R(acos, acosl(x))
R(atan, atanl(x))
R(sinh, sinhl(x))
R(cosh, coshl(x))
R(tanh, tanhl(x))
R(asinh, asinhl(x))
R(acosh, acoshl(x))
R(atanh, atanhl(x))
R(erf, erfl(x))
R(erfc, erfcl(x))
R(lgamma, lgammal(x))
R(isnan, isnan(x))
R(isinf, isinf(x) != 0)
R(isfinite, isfinite(x) != 0)
R(signbit, signbit(x) != 0)
I(signbit, x < 0)
I(never, 0)
I(always, 1)
R(logical_not, x == 0)
I(logical_not, x == 0)
I(bitwise_not, ~x)
R(reciprocal_square, 1 / (x * x))
R(round_decimals, rintl(x / s[0]) * s[0])
R(angle, isnan(x) ? x : x < 0 ? acosl(-1) : 0)
R(isposinf, x == INFINITY)
R(isneginf, x == -INFINITY)
R(sinc, x == 0 ? 1 : sinl(x * acosl(-1)) / (x * acosl(-1)))
R(logit, logl((x < s[0] ? s[0] : x > 1 - s[0] ? 1 - s[0] : x) / (1 - (x < s[0] ? s[0] : x > 1 - s[0] ? 1 - s[0] : x))))

/* erfinv, ndtri and digamma by other ways than the kernels': bisection, and the series at a large argument */
static wide real_erfinv(const wide *a, const double *s)
{
    (void)s;
    wide low = 0, high = 7, y = fabsl(a[0]);
    if (isnan(y) || y > 1)
        return NAN;
    if (y == 1)
        return copysignl(INFINITY, a[0]);
    for (int i = 0; i < 80; i++) {
        wide middle = (low + high) / 2;
        *((y < 0.5L ? erfl(middle) < y : erfcl(middle) > 1 - y) ? &low : &high) = middle;
    }
    return copysignl(low, a[0]);
}

static wide real_ndtri(const wide *a, const double *s)
{
    (void)s;
    wide low = -40, high = 40, p = a[0];
    if (!(p > 0 && p < 1))
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    for (int i = 0; i < 90; i++) {
        wide middle = (low + high) / 2;
        *(erfcl(-middle / sqrtl(2)) / 2 < p ? &low : &high) = middle;
    }
    return low;
}

static wide real_digamma(const wide *a, const double *s)
{
    (void)s;
    wide x = a[0], sum = 0;
    for (; x < 40; x += 1)
        sum -= 1 / x;
    wide z = 1 / (x * x);
    return sum + logl(x) - 1 / (2 * x) - z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z / 240)));
}

R(nan_to_num, isnan(x) ? s[0] : x == INFINITY ? s[1] : x == -INFINITY ? s[2] : x)

R(add, x + y)
I(add, x + y)
R(sub, x - y)
I(sub, x - y)
R(add_scaled, x + s[0] * y)
I(add_scaled, x + s[0] * y)
R(mul, x *y)
I(mul, (whole)((unsigned __int128)x *(unsigned __int128)y))
R(div, x / y)
R(sub_scaled, x - s[0] * y)
I(sub_scaled, x - s[0] * y)
R(div_trunc, truncl(x / y))
R(fmax, isnan(x) ? y : isnan(y) ? x : x > y ? x : y)
R(fmin, isnan(x) ? y : isnan(y) ? x : x < y ? x : y)
R(heaviside, x == 0 ? y : x > 0)
I(heaviside, x == 0 ? y : x > 0)
R(logaddexp, isnan(x) || isnan(y)             ? x + y
             : x == y && fabsl(x) == INFINITY ? x
             : x > y                          ? x + log1pl(expl(y - x))
                                              : y + log1pl(expl(x - y)))
R(logaddexp2, isnan(x) || isnan(y)             ? x + y
              : x == y && fabsl(x) == INFINITY ? x
              : x > y                          ? x + log1pl(exp2l(y - x)) / logl(2)
                                               : y + log1pl(exp2l(x - y)) / logl(2))
R(xlog1py, isnan(y) ? y : x == 0 ? 0 : x * log1pl(y))
R(maximum, isnan(x) ? x : isnan(y) ? y : x > y ? x : y)
I(maximum, x > y ? x : y)
R(minimum, isnan(x) ? x : isnan(y) ? y : x < y ? x : y)
I(minimum, x < y ? x : y)
R(fmod, fmodl(x, y))
R(atan2, atan2l(x, y))
R(hypot, hypotl(x, y))
R(copysign, copysignl(x, y))
R(pow, powl(x, y))
R(xlogy, isnan(y) ? y : x == 0 ? 0 : x * logl(y))
I(and, x &y)
I(or, x | y)
I(xor, x ^ y)
I(shl, y < 0 || y >= bits ? 0 : (whole)((unsigned __int128)x << y))
I(shr, y < 0 || y >= bits ? (x < 0 ? -1 : 0) : x >> y)
I(quotient, y ? x / y : 0)
I(rest, y ? x % y : 0)

static whole integer_floored(const whole *a, const int64_t *s, int bits)
{
    (void)s, (void)bits;
    if (!a[1])
        return 0;
    whole q = a[0] / a[1], r = a[0] % a[1];
    return r && (r < 0) != (a[1] < 0) ? q - 1 : q;
}

static wide real_div_floor(const wide *a, const double *s)
{
    (void)s;
    wide r = fmodl(a[0], a[1]);
    if (a[1] == 0)
        return a[0] / a[1];
    if (r != 0 && (r < 0) != (a[1] < 0))
        r += a[1];
    wide q = rintl((a[0] - r) / a[1]);
    return q == 0 ? copysignl(0, a[0] / a[1]) : q;
}

static whole integer_modulo(const whole *a, const int64_t *s, int bits)
{
    (void)s, (void)bits;
    whole r = a[1] ? a[0] % a[1] : 0;
    return r && (r < 0) != (a[1] < 0) ? r + a[1] : r;
}

static wide real_remainder(const wide *a, const double *s)
{
    (void)s;
    wide r = fmodl(a[0], a[1]);
    return r != 0 && (r < 0) != (a[1] < 0) ? r + a[1] : r;
}

static whole integer_gcd(const whole *a, const int64_t *s, int bits)
{
    (void)s, (void)bits;
    whole x = a[0] < 0 ? -a[0] : a[0], y = a[1] < 0 ? -a[1] : a[1];
    while (y) {
        whole r = x % y;
        x = y;
        y = r;
    }
    return x;
}

static whole integer_lcm(const whole *a, const int64_t *s, int bits)
{
    whole g = integer_gcd(a, s, bits), x = a[0], y = a[1];
    return g ? (x / g * y < 0 ? -(x / g * y) : x / g * y) : 0;
}

R(isclose,
  x == y || (s[2] != 0 && isnan(x) && isnan(y)) || (isfinite(y) && fabsl(x - y) <= s[1] + fabsl((wide)(s[0] * y))))
R(eq, x == y)
I(eq, x == y)
R(ne, x != y)
I(ne, x != y)
R(lt, x < y)
I(lt, x < y)
R(le, x <= y)
I(le, x <= y)
R(gt, x > y)
I(gt, x > y)
R(ge, x >= y)
I(ge, x >= y)
R(logical_and, x != 0 && y != 0)
I(logical_and, x != 0 && y != 0)
R(logical_or, x != 0 || y != 0)
I(logical_or, x != 0 || y != 0)
R(logical_xor, (x != 0) != (y != 0))
I(logical_xor, (x != 0) != (y != 0))

#define CDF(v)  (0.5L * erfcl(-(v) / sqrtl(2)))
#define PDF(v)  (expl(-(v) * (v) / 2) / sqrtl(2 * acosl(-1)))
#define SIG(v)  (1 / (1 + expl(-(v))))
#define SOFT(v) ((v) > 0 ? (v) + log1pl(expl(-(v))) : log1pl(expl(v)))

static wide hard(wide x)
{
    return x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3;
}

static wide gelu_inner(wide x)
{
    return sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x);
}

R(relu, x < 0 ? 0 : x)
I(relu, x < 0 ? 0 : x)
R(clamp, x<s[0] ? s[0] : x> s[1] ? s[1] : x)
I(clamp, x<s[0] ? s[0] : x> s[1] ? s[1] : x)
R(clamp_min, x < s[0] ? s[0] : x)
I(clamp_min, x < s[0] ? s[0] : x)
R(clamp_max, x > s[0] ? s[0] : x)
I(clamp_max, x > s[0] ? s[0] : x)
R(fast_gelu, x *SIG(1.702L * x))
R(softsign, x / (1 + fabsl(x)))
R(fast_gelu_grad, x *SIG(1.702L * y) * (1 + 1.702L * y * (1 - SIG(1.702L * y))))
R(shrink_grad, y >= -s[0] && y <= s[0] ? 0 : x)
R(logit_grad, y<s[0] || y> 1 - s[0] ? 0 : x / (y * (1 - y)))
R(prelu_weight_grad, y > 0 ? 0 : x * y)
R(prelu, x > 0 ? x : x * y)
R(glu, x *SIG(y))
R(swiglu, x *SIG(x) * y)
R(dropout_grad, x *y *s[0])
R(swiglu_first, x *z *SIG(y) * (1 + y * (1 - SIG(y))))
R(swiglu_second, x *y *SIG(y))
R(threshold, x <= s[0] ? s[1] : x)
I(threshold, x <= s[0] ? s[1] : x)
I(threshold_grad, y <= s[0] ? 0 : x)
R(leaky, x > 0 ? x : x * s[0])
R(elu, x < 0 ? expm1l(x * s[2]) * s[0] * s[1] : x * s[1])
R(gelu, x *CDF(x))
R(gelu_tanh, x *SIG(2 * gelu_inner(x)))
R(sigmoid, SIG(x))
R(silu, x *SIG(s[0] * x))
R(mish, x *tanhl(SOFT(x)))
R(softplus, x *s[0] > s[1] ? x : SOFT(x * s[0]) / s[0])
R(logsigmoid, -SOFT(-x))
R(hardswish, x *hard(x) / 6)
R(hardsigmoid, hard(x) / 6)
R(hardshrink, x >= -s[0] && x <= s[0] ? 0 : x)
R(softshrink, x > s[0] ? x - s[0] : x < -s[0] ? x + s[0] : x * 0)
R(threshold_grad, y <= s[0] ? 0 : x)
R(hardtanh_grad, y <= s[0] || y >= s[1] ? 0 : x)
R(leaky_grad, y > 0 ? x : x * s[0])
R(elu_grad, y <= 0 ? x * s[2] * s[0] * s[1] * expl(y * s[2]) : x * s[1])
R(elu_result_grad, y <= 0 ? x * s[2] * (y + s[0] * s[1]) : x * s[1])
R(gelu_grad, x *(CDF(y) + y * PDF(y)))
R(sigmoid_grad, x *(1 - y) * y)
R(tanh_grad, x *(1 - y * y))
R(silu_grad, x *SIG(s[0] * y) * (1 + s[0] * y * (1 - SIG(s[0] * y))))
R(softplus_grad, y *s[0] > s[1] ? x : x * SIG(y * s[0]))
R(logsigmoid_grad, x *SIG(-y))
R(hardswish_grad, y <= -3 ? 0 : y < 3 ? x * (y / 3 + 0.5L) : x)
R(hardsigmoid_grad, y > -3 && y < 3 ? x / 6 : 0)

static wide real_gelu_tanh_grad(const wide *a, const double *s)
{
    (void)s;
    wide y = a[1], q = SIG(2 * gelu_inner(y));
    wide slope = 2 * sqrtl(2 / acosl(-1)) * (1 + 3 * 0.044715L * y * y);
    return a[0] * (q + y * slope * q * (1 - q));
}

static wide real_mish_grad(const wide *a, const double *s)
{
    (void)s;
    wide t = tanhl(SOFT(a[1]));
    return a[0] * (t + a[1] * SIG(a[1]) * (1 - t * t));
}

R(addcmul, x + s[0] * y * z)
I(addcmul, (whole)((unsigned __int128)x + (unsigned __int128)s[0] * (unsigned __int128)y * (unsigned __int128)z))
R(addcdiv, x + s[0] * y / z)
R(lerp, fabsl(z) < 0.5L ? x + z * (y - x) : y - (y - x) * (1 - z))
R(clamp3, isnan(x) ? x : isnan(y) ? y : isnan(z) ? z : (x < y ? y : x) > z ? z : (x < y ? y : x))
I(clamp3, (x < y ? y : x) > z ? z : (x < y ? y : x))
R(prelu_grad, y > 0 ? x : x * z)
R(glu_first, x *SIG(z))
R(glu_second, x *y *SIG(z) * (1 - SIG(z)))

#define BOTH(name)    real_##name, integer_##name
#define REAL(name)    real_##name, NULL
#define INTEGER(name) NULL, integer_##name

static const struct test tests[] = {
    {UNARY_ABS, "abs", 1, BOTH(abs)},
    {UNARY_NEG, "neg", 1, BOTH(neg)},
    {UNARY_SIGN, "sign", 1, BOTH(sign)},
    {UNARY_SQUARE, "square", 1, BOTH(square), 1},
    {UNARY_CUBE, "cube", 1, BOTH(cube), 1},
    {UNARY_CEIL, "ceil", 1, real_ceil, integer_copy},
    {UNARY_FLOOR, "floor", 1, real_floor, integer_copy},
    {UNARY_ROUND, "round", 1, real_round, integer_copy},
    {UNARY_TRUNC, "trunc", 1, real_trunc, integer_copy},
    {UNARY_FRAC, "frac", 1, REAL(frac), 0, -1e6, 1e6},
    {UNARY_RECIPROCAL, "reciprocal", 1, REAL(reciprocal), 1},
    {UNARY_SQRT, "sqrt", 1, REAL(sqrt)},
    {UNARY_RSQRT, "rsqrt", 1, REAL(rsqrt), 2},
    {UNARY_EXP, "exp", 1, REAL(exp), 1},
    {UNARY_EXP2, "exp2", 1, REAL(exp2), 1},
    {UNARY_EXPM1, "expm1", 1, REAL(expm1), 2},
    {UNARY_LOG, "log", 1, REAL(log), 1},
    {UNARY_LOG2, "log2", 1, REAL(log2), 1},
    {UNARY_LOG10, "log10", 1, REAL(log10), 1},
    {UNARY_LOG1P, "log1p", 1, REAL(log1p), 1},
    {UNARY_SIN, "sin", 1, REAL(sin), 2, -1e4, 1e4},
    {UNARY_SIN, "sin, wide", 1, REAL(sin), 2, -1e9, 1e9},
    {UNARY_COS, "cos", 1, REAL(cos), 2, -1e4, 1e4},
    {UNARY_TAN, "tan", 1, REAL(tan), 1, -1e4, 1e4},
    {UNARY_ASIN, "asin", 1, REAL(asin), 1, -1.5, 1.5},
    {UNARY_ACOS, "acos", 1, REAL(acos), 1, -1.5, 1.5},
    {UNARY_ATAN, "atan", 1, REAL(atan), 1},
    {UNARY_SINH, "sinh", 1, REAL(sinh), 2},
    {UNARY_SINH, "sinh, narrow", 1, REAL(sinh), 2, -2, 2},
    {UNARY_COSH, "cosh", 1, REAL(cosh), 2},
    {UNARY_TANH, "tanh", 1, REAL(tanh), 3},
    {UNARY_TANH, "tanh, narrow", 1, REAL(tanh), 3, -4, 4},
    {UNARY_ASINH, "asinh", 1, REAL(asinh), 2},
    {UNARY_ACOSH, "acosh", 1, REAL(acosh), 2},
    {UNARY_ATANH, "atanh", 1, REAL(atanh), 2, -1.1, 1.1},
    {UNARY_ERF, "erf", 1, REAL(erf), 3},
    {UNARY_ERF, "erf, narrow", 1, REAL(erf), 3, -3, 3},
    {UNARY_ERFC, "erfc", 1, REAL(erfc), 4, -6, 9},
    {UNARY_LGAMMA, "lgamma", 1, REAL(lgamma), 2, 0.1, 30},
    {UNARY_RECIPROCAL_SQUARE, "reciprocal_square", 1, REAL(reciprocal_square), 2, 1e-3, 1e3},
    {UNARY_ROUND_DECIMALS, "round_decimals", 1, real_round_decimals, integer_copy, 2, -1e4, 1e4},
    {UNARY_COPY, "copy", 1, INTEGER(copy)},
    {UNARY_ERFINV, "erfinv", 1, REAL(erfinv), 2, -1.1, 1.1},
    {UNARY_NDTRI, "ndtri", 1, REAL(ndtri), 4, -0.1, 1.1, 1e-6},
    {UNARY_DIGAMMA, "digamma", 1, REAL(digamma), 4, 0.01, 30, 1e-6},
    {UNARY_SINC, "sinc", 1, REAL(sinc), 20, -3, 3, 1e-6},
    {UNARY_LOGIT, "logit", 1, REAL(logit), 8, -0.5, 1.5, 1e-5},
    {UNARY_ANGLE, "angle", 1, REAL(angle)},
    {UNARY_ISPOSINF, "isposinf", 1, real_isposinf, integer_never},
    {UNARY_ISNEGINF, "isneginf", 1, real_isneginf, integer_never},
    {UNARY_ISNAN, "isnan", 1, real_isnan, integer_never},
    {UNARY_ISINF, "isinf", 1, real_isinf, integer_never},
    {UNARY_ISFINITE, "isfinite", 1, real_isfinite, integer_always},
    {UNARY_SIGNBIT, "signbit", 1, BOTH(signbit)},
    {UNARY_LOGICAL_NOT, "logical_not", 1, BOTH(logical_not)},
    {UNARY_BITWISE_NOT, "bitwise_not", 1, INTEGER(bitwise_not)},
    {UNARY_NAN_TO_NUM, "nan_to_num", 1, real_nan_to_num, integer_copy},
    {BINARY_ADD, "add", 2, BOTH(add)},
    {BINARY_ADD_SCALED, "add_scaled", 2, BOTH(add_scaled), 1, -100, 100, 1e-5},
    {BINARY_SUB, "sub", 2, BOTH(sub)},
    {BINARY_MUL, "mul", 2, BOTH(mul), 1},
    {BINARY_DIV, "div", 2, REAL(div), 1},
    {BINARY_SUB_SCALED, "sub_scaled", 2, BOTH(sub_scaled), 1, -100, 100, 1e-5},
    {BINARY_DIV_TRUNC, "div_trunc", 2, real_div_trunc, integer_quotient, 0, 1, 1e3},
    {BINARY_DIV_FLOOR, "div_floor", 2, real_div_floor, integer_floored, 0, -1e3, 1e3},
    {BINARY_FMAX, "fmax", 2, real_fmax, integer_maximum, 0, 0, 0, 1e-300},
    {BINARY_FMIN, "fmin", 2, real_fmin, integer_minimum, 0, 0, 0, 1e-300},
    {BINARY_HEAVISIDE, "heaviside", 2, BOTH(heaviside)},
    {BINARY_LOGADDEXP, "logaddexp", 2, REAL(logaddexp), 2, 0, 0, 1e-7},
    {BINARY_LOGADDEXP, "logaddexp, narrow", 2, REAL(logaddexp), 4, -9, 9, 1e-6},
    {BINARY_LOGADDEXP2, "logaddexp2", 2, REAL(logaddexp2), 4, -9, 9, 1e-6},
    {BINARY_XLOG1PY, "xlog1py", 2, REAL(xlog1py), 2},
    {BINARY_LCM, "lcm", 2, INTEGER(lcm), 0, 0, 11},
    {BINARY_REMAINDER, "remainder", 2, real_remainder, integer_modulo},
    {BINARY_FMOD, "fmod", 2, real_fmod, integer_rest},
    {BINARY_POW, "pow", 2, REAL(pow), 1, -40, 40},
    {BINARY_POW, "pow, narrow", 2, REAL(pow), 1, 0.01, 20},
    {BINARY_MAXIMUM, "maximum", 2, BOTH(maximum), 0, 0, 0, 1e-300},
    {BINARY_MINIMUM, "minimum", 2, BOTH(minimum), 0, 0, 0, 1e-300},
    {BINARY_ATAN2, "atan2", 2, REAL(atan2), 1},
    {BINARY_HYPOT, "hypot", 2, REAL(hypot), 1},
    {BINARY_COPYSIGN, "copysign", 2, REAL(copysign)},
    {BINARY_XLOGY, "xlogy", 2, REAL(xlogy), 2},
    {BINARY_GCD, "gcd", 2, INTEGER(gcd)},
    {BINARY_AND, "and", 2, INTEGER(and)},
    {BINARY_OR, "or", 2, INTEGER(or)},
    {BINARY_XOR, "xor", 2, INTEGER(xor)},
    {BINARY_SHIFT_LEFT, "shift_left", 2, INTEGER(shl), 0, -3, 70},
    {BINARY_SHIFT_RIGHT, "shift_right", 2, INTEGER(shr), 0, -3, 70},
    {COMPARE_EQ, "eq", 2, BOTH(eq), 0, -2, 2},
    {COMPARE_NE, "ne", 2, BOTH(ne)},
    {COMPARE_LT, "lt", 2, BOTH(lt)},
    {COMPARE_LE, "le", 2, BOTH(le)},
    {COMPARE_GT, "gt", 2, BOTH(gt)},
    {COMPARE_GE, "ge", 2, BOTH(ge)},
    {COMPARE_LOGICAL_AND, "logical_and", 2, BOTH(logical_and)},
    {COMPARE_LOGICAL_OR, "logical_or", 2, BOTH(logical_or)},
    {COMPARE_ISCLOSE, "isclose", 2, REAL(isclose), 0, -50, 50},
    {COMPARE_LOGICAL_XOR, "logical_xor", 2, BOTH(logical_xor)},
    {ACTIVATION_RELU, "relu", 1, BOTH(relu)},
    {ACTIVATION_CLAMP, "clamp", 1, BOTH(clamp)},
    {ACTIVATION_CLAMP_MIN, "clamp_min", 1, BOTH(clamp_min)},
    {ACTIVATION_CLAMP_MAX, "clamp_max", 1, BOTH(clamp_max)},
    {ACTIVATION_FAST_GELU, "fast_gelu", 1, REAL(fast_gelu), 12, -9, 40},
    {ACTIVATION_SOFTSIGN, "softsign", 1, REAL(softsign), 1},
    {ACTIVATION_THRESHOLD, "threshold", 1, BOTH(threshold)},
    {ACTIVATION_LEAKY_RELU, "leaky_relu", 1, REAL(leaky)},
    {ACTIVATION_ELU, "elu", 1, REAL(elu), 3, -20, 20},
    {ACTIVATION_GELU, "gelu", 1, REAL(gelu), 40, -5, 8, 1e-6},
    {ACTIVATION_GELU, "gelu, wide", 1, REAL(gelu), 400, -30, 30, 1e-6},
    {ACTIVATION_GELU_TANH, "gelu_tanh", 1, REAL(gelu_tanh), 60, -5, 9},
    {ACTIVATION_SIGMOID, "sigmoid", 1, REAL(sigmoid), 3, -80, 80},
    {ACTIVATION_SILU, "silu", 1, REAL(silu), 12, -10, 80},
    {ACTIVATION_MISH, "mish", 1, REAL(mish), 5, -60, 60},
    {ACTIVATION_SOFTPLUS, "softplus", 1, REAL(softplus), 12, -10, 80},
    {ACTIVATION_LOGSIGMOID, "logsigmoid", 1, REAL(logsigmoid), 4, -80, 80},
    {ACTIVATION_HARDSWISH, "hardswish", 1, REAL(hardswish), 2, -5, 5},
    {ACTIVATION_HARDSIGMOID, "hardsigmoid", 1, REAL(hardsigmoid), 1, -5, 5},
    {ACTIVATION_HARDSHRINK, "hardshrink", 1, REAL(hardshrink)},
    {ACTIVATION_SOFTSHRINK, "softshrink", 1, REAL(softshrink)},
    {GRADIENT_THRESHOLD, "threshold_grad", 2, BOTH(threshold_grad)},
    {GRADIENT_HARDTANH, "hardtanh_grad", 2, REAL(hardtanh_grad)},
    {GRADIENT_LEAKY_RELU, "leaky_relu_grad", 2, REAL(leaky_grad)},
    {GRADIENT_ELU, "elu_grad", 2, REAL(elu_grad), 4, -20, 20},
    {GRADIENT_ELU_RESULT, "elu_result_grad", 2, REAL(elu_result_grad), 4, -20, 20, 1e-5},
    {GRADIENT_GELU, "gelu_grad", 2, REAL(gelu_grad), 8, -5, 8, 1e-5},
    {GRADIENT_GELU_TANH, "gelu_tanh_grad", 2, REAL(gelu_tanh_grad), 60, -4, 8, 1e-5},
    {GRADIENT_SIGMOID, "sigmoid_grad", 2, REAL(sigmoid_grad), 3, 0, 1},
    {GRADIENT_TANH, "tanh_grad", 2, REAL(tanh_grad), 3, 0, 0.9},
    {GRADIENT_SILU, "silu_grad", 2, REAL(silu_grad), 12, -10, 10, 1e-4},
    {GRADIENT_MISH, "mish_grad", 2, REAL(mish_grad), 8, -20, 20, 1e-5},
    {GRADIENT_SOFTPLUS, "softplus_grad", 2, REAL(softplus_grad), 12, -10, 10, 1e-6},
    {GRADIENT_LOGSIGMOID, "logsigmoid_grad", 2, REAL(logsigmoid_grad), 4, -20, 20},
    {GRADIENT_HARDSWISH, "hardswish_grad", 2, REAL(hardswish_grad), 4, -5, 5, 1e-6},
    {GRADIENT_HARDSIGMOID, "hardsigmoid_grad", 2, REAL(hardsigmoid_grad), 1, -5, 5},
    {GRADIENT_FAST_GELU, "fast_gelu_grad", 2, REAL(fast_gelu_grad), 12, -8, 8, 1e-5},
    {GRADIENT_SHRINK, "shrink_grad", 2, REAL(shrink_grad)},
    {GRADIENT_LOGIT, "logit_grad", 2, REAL(logit_grad), 4, -1, 1.5},
    {GRADIENT_PRELU_WEIGHT, "prelu_weight_grad", 2, REAL(prelu_weight_grad), 1},
    {GRADIENT_PRELU_FORWARD, "prelu", 2, REAL(prelu), 1},
    {GRADIENT_GLU_FORWARD, "glu", 2, REAL(glu), 4, -20, 20},
    {GRADIENT_SWIGLU_FORWARD, "swiglu", 2, REAL(swiglu), 4, -20, 20},
    {GRADIENT_DROPOUT, "dropout_grad", 2, REAL(dropout_grad), 2, -10, 10},
    {TERNARY_SWIGLU_FIRST, "swiglu_first", 3, REAL(swiglu_first), 12, -10, 10, 1e-4},
    {TERNARY_SWIGLU_SECOND, "swiglu_second", 3, REAL(swiglu_second), 4, -10, 10},
    {TERNARY_ADDCMUL, "addcmul", 3, BOTH(addcmul), 2, -10, 10, 1e-4},
    {TERNARY_ADDCDIV, "addcdiv", 3, REAL(addcdiv), 2, 1, 10, 1e-5},
    {TERNARY_LERP, "lerp", 3, REAL(lerp), 2, -2, 2, 1e-5},
    {TERNARY_CLAMP, "clamp, tensors", 3, BOTH(clamp3)},
    {TERNARY_PRELU, "prelu_grad", 3, REAL(prelu_grad), 1},
    {TERNARY_GLU_FIRST, "glu_first", 3, REAL(glu_first), 4, -20, 20},
    {TERNARY_GLU_SECOND, "glu_second", 3, REAL(glu_second), 6, 0, 8, 1e-5},
};

/* ---- running ---- */

struct run {
    const struct test *test;
    aclDataType type; /* in memory */
    bool answers_bool;
    struct elementwise_param param;
    struct elementwise_block block[HARNESS_LEVELS_MAX];
};

static const struct elementwise_kernels *const levels[] = HARNESS_TABLES(elementwise_kernels);
static const struct copy_kernels *const copies[] = HARNESS_TABLES(copy_kernels);

static void run_level(int level, int64_t n, char *const *data, const int64_t *step, const void *param)
{
    const struct run *r = param;
    levels[level]->block(n, data, step, &r->block[level]);
}

static void run_base(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    run_level(0, n, data, step, param);
}

static void run_v3(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    run_level(1, n, data, step, param);
}

static void run_v4(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    run_level(2, n, data, step, param);
}

static wide read_real(aclDataType type, const char *at)
{
    uint16_t h;
    float f;
    double d;
    switch (type) {
    case ACL_FLOAT:
        return memcpy(&f, at, 4), (wide)f;
    case ACL_DOUBLE:
        return memcpy(&d, at, 8), (wide)d;
    case ACL_FLOAT16:
        return memcpy(&h, at, 2), (wide)f16_to_float(h);
    default:
        return memcpy(&h, at, 2), (wide)bf16_to_float(h);
    }
}

static void write_real(aclDataType type, char *at, wide v)
{
    float f = (float)v;
    double d = (double)v;
    uint16_t h = type == ACL_FLOAT16 ? f16_from_float(f) : bf16_from_float(f);
    if (type == ACL_FLOAT)
        memcpy(at, &f, 4);
    else if (type == ACL_DOUBLE)
        memcpy(at, &d, 8);
    else
        memcpy(at, &h, 2);
}

static whole read_integer(aclDataType type, const char *at)
{
    int64_t v = 0;
    size_t size = dtype_size(type);
    memcpy(&v, at, size);
    if (type != ACL_UINT8 && type != ACL_BOOL && size < 8)
        v = (int64_t)((uint64_t)v << (64 - 8 * size)) >> (64 - 8 * size);
    return v;
}

static void reference(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    const struct run *r = param;
    for (int64_t i = 0; i < n; i++) {
        wide x[3] = {0};
        whole k[3] = {0}, v;
        char *out = data[0] + i * step[0];
        for (int j = 0; j < r->test->inputs; j++) {
            if (dtype_is_float(r->type))
                x[j] = read_real(r->type, data[j + 1] + i * step[j + 1]);
            else
                k[j] = read_integer(r->type, data[j + 1] + i * step[j + 1]);
        }
        if (dtype_is_float(r->type)) {
            wide y = r->test->real(x, r->param.d);
            if (r->answers_bool)
                *out = y != 0;
            else
                write_real(r->type, out, y);
            continue;
        }
        v = r->test->integer(k, r->param.i, 8 * (int)dtype_size(r->type));
        int64_t low = (int64_t)v;
        memcpy(out, &low, r->answers_bool ? 1 : dtype_size(r->type));
    }
}

static void find_way(struct elementwise_operand *o, const struct copy_kernels *copy, aclDataType memory,
                     aclDataType loop, bool output)
{
    o->memory = (int32_t)dtype_size(memory);
    o->size = (int32_t)dtype_size(loop);
    o->same = memory == loop;
    o->half = loop == ACL_FLOAT && (memory == ACL_FLOAT16 || memory == ACL_BF16) ? memory : 0;
    CHECK(copy->find_cast(&o->first, output ? memory : loop, output ? loop : memory));
}

/* straight: by the loop for 16-bit floats themselves. */
static void run_test(const struct test *test, aclDataType type, bool straight)
{
    bool real = dtype_is_float(type), small = type == ACL_FLOAT16 || type == ACL_BF16;
    aclDataType loop = small && !straight ? ACL_FLOAT : type;
    struct run r = {.test = test, .type = type};
    int table = test->op >> 8;
    r.answers_bool = table == COMPARE_TABLE >> 8 || (test->op >= UNARY_LOGICAL_NOT && test->op < UNARY_END);
    if (real ? !test->real : !test->integer)
        return;
    memcpy(r.param.d, real_scalars, sizeof real_scalars);
    memcpy(r.param.i, integer_scalars, sizeof integer_scalars);
    for (int level = 0; level < harness_levels(); level++) {
        struct elementwise_block *b = &r.block[level];
        const struct elementwise_table *rows = levels[level]->table[table];
        int row = test->op & 0xff;
        b->half = straight ? type : 0;
        b->loop = !straight ? rows->loop[row][loop] : row < rows->halves ? rows->half[row][type == ACL_BF16] : NULL;
        b->param = &r.param;
        b->operands = test->inputs + 1;
        b->repeat = table == BINARY_TABLE >> 8 || table == COMPARE_TABLE >> 8 ? 6 : 0;
        if (!b->loop)
            return;
        find_way(&b->operand[0], copies[level], r.answers_bool ? ACL_BOOL : type, r.answers_bool ? ACL_BOOL : loop,
                 true);
        for (int k = 1; k < b->operands; k++)
            find_way(&b->operand[k], copies[level], type, loop, false);
    }
    char name[64];
    snprintf(name, sizeof name, "%s %s%s", test->name, dtype_name(type), straight ? " straight" : "");
    struct loop_test t = {.name = name,
                          .inputs = test->inputs,
                          .loop = {run_base, run_v3, run_v4},
                          .reference = reference,
                          .param = &r,
                          .ulp = r.answers_bool || !real ? 0
                                 : small                 ? fmin(test->ulp, 1)
                                                         : test->ulp,
                          .near = small                ? 100 * test->near
                                  : type == ACL_DOUBLE ? 1e-8 * test->near
                                                       : test->near};
    for (int k = 0; k <= test->inputs; k++) {
        t.type[k] = k == 0 && r.answers_bool ? ACL_BOOL : type;
        t.low[k] = test->low;
        t.high[k] = test->high;
    }
    harness_loop(&t);
}

/* A kernel without a row above fails here. (where has no type: below. nextafter is libm's. Special functions:
 * special.c)
 */
static void check_complete(void)
{
    for (int table = 0; table < SPECIAL_TABLE >> 8; table++)
        for (int op = 0; op < levels[0]->table[table]->count; op++) {
            bool exists = false, tested = (table << 8 | op) == TERNARY_WHERE || (table << 8 | op) == BINARY_NEXTAFTER;
            for (int type = 0; type < ELEMENTWISE_DTYPES; type++)
                exists = exists || levels[0]->table[table]->loop[op][type];
            for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
                tested = tested || tests[i].op == (table << 8 | op);
            CHECK(!exists || tested);
            if (exists && !tested)
                fprintf(stderr, "  operation %#x\n", (unsigned)(table << 8 | op));
        }
}

static void where_reference(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    size_t element = *(const size_t *)param;
    for (int64_t i = 0; i < n; i++)
        memcpy(data[0] + i * step[0], data[data[1][i * step[1]] ? 2 : 3] + i * step[data[1][i * step[1]] ? 2 : 3],
               element);
}

/* Every element size, dense: the loop itself. */
static void test_where(void)
{
    static const aclDataType types[] = {ACL_INT8, ACL_INT16, ACL_INT32, ACL_INT64, ACL_COMPLEX128};
    for (int k = 0; k < 5; k++)
        for (int level = 0; level < harness_levels(); level++)
            for (int64_t n = 0; n < 70; n++) {
                size_t element = dtype_size(types[k]), bytes = element * (size_t)n;
                char *mask = harness_buffer(1, (size_t)n), *a = harness_buffer(2, bytes), *b = harness_buffer(3, bytes);
                char *got = harness_buffer(4, bytes), *want = harness_buffer(5, bytes);
                const int64_t e = (int64_t)element, step[] = {e, 1, e, e};
                harness_fill(ACL_BOOL, mask, 1, n, 0, 0);
                harness_fill(ACL_INT8, a, 1, (int64_t)bytes, 0, 0);
                harness_fill(ACL_INT8, b, 1, (int64_t)bytes, 0, 0);
                where_reference(n, (char *[]){want, mask, a, b}, step, &element);
                levels[level]->table[TERNARY_TABLE >> 8]->loop[TERNARY_WHERE & 0xff][k](n, (char *[]){got, mask, a, b},
                                                                                        step, NULL);
                CHECK(!memcmp(got, want, bytes));
                harness_guard(4);
            }
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16, ACL_INT8,
                                        ACL_UINT8, ACL_INT16,  ACL_INT32,   ACL_INT64};
    harness_begin(argc, argv);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            run_test(&tests[i], types[k], false);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        run_test(&tests[i], ACL_FLOAT16, true);
        run_test(&tests[i], ACL_BF16, true);
    }
    check_complete();
    if (harness_wants("where"))
        test_where();
    return harness_end();
}

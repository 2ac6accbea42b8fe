/* SPDX-License-Identifier: BSD-3-Clause */
/* The complex kernels for T; included by complex.c for float and double. REAL: the parts' type; FN: the function's name
 * for it; MAKE: two parts to a number. */
#define EXPAND1(name, type, expression)       MAP1(name, type, expression)
#define EXPAND2(name, type, expression)       MAP2(name, type, expression)
#define EXPAND2_DENSE(name, type, expression) MAP2_DENSE(name, type, expression)
#define EXPAND3(name, type, expression)       MAP3(name, type, expression)
#define EXPAND_TEST1(name, type, expression)  TEST1(name, type, expression)
#define EXPAND_TEST2(name, type, expression)  TEST2(name, type, expression)
#define TYPED_PASTE_(a, b)                    a##_##b
#define TYPED_PASTE(a, b)                     TYPED_PASTE_(a, b)
#define TYPED(name)                           TYPED_PASTE(name, T)
#define RE(z)                                 FN(creal)(z)
#define IM(z)                                 FN(cimag)(z)

INLINE T TYPED(times)(T x, T y)
{
    return MAKE(RE(x) * RE(y) - IM(x) * IM(y), RE(x) * IM(y) + IM(x) * RE(y));
}

/* Smith's quotient, scaled by the larger part of the divisor. */
INLINE T TYPED(over)(T x, T y)
{
    REAL a = RE(x), b = IM(x), c = RE(y), d = IM(y);
    if (FN(fabs)(c) >= FN(fabs)(d)) {
        if (c == 0 && d == 0)
            return MAKE(a / FN(fabs)(c), b / FN(fabs)(c));
        REAL ratio = d / c, scale = 1 / (c + d * ratio);
        return MAKE((a + b * ratio) * scale, (b - a * ratio) * scale);
    }
    REAL ratio = c / d, scale = 1 / (c * ratio + d);
    return MAKE((a * ratio + b) * scale, (b * ratio - a) * scale);
}

INLINE T TYPED(scaled)(REAL s, T x)
{
    return MAKE(s * RE(x), s * IM(x));
}

INLINE T TYPED(sign)(T x)
{
    REAL size = FN(cabs)(x);
    return size == 0 ? 0 : MAKE(RE(x) / size, IM(x) / size);
}

static T TYPED(power)(T x, T y)
{
    return x == 0 ? (RE(y) > 0 ? 0 : y == 0 ? 1 : FN(cpow)(x, y)) : FN(cpow)(x, y);
}

static T TYPED(sigmoid)(T x)
{
    return TYPED(over)(1, 1 + FN(cexp)(-x));
}

/* e^x - 1 without the loss near 0 */
static T TYPED(expm1)(T x)
{
    REAL a = RE(x), b = IM(x), half = FN(sin)(b / 2), grown = FN(exp)(a);
    return b == 0 ? MAKE(FN(expm1)(a), b) : MAKE(FN(expm1)(a) * FN(cos)(b) - 2 * half * half, grown * FN(sin)(b));
}

/* log(1 + x): |1 + x|² - 1 = a (2 + a) + b² */
static T TYPED(log1p)(T x)
{
    REAL a = RE(x), b = IM(x), part = a * (2 + a) + b * b;
    bool small = FN(fabs)(a) < (REAL)0.5 && FN(fabs)(b) < (REAL)0.5;
    return small ? MAKE(FN(log1p)(part) / 2, FN(atan2)(b, 1 + a)) : FN(clog)(1 + x);
}

static T TYPED(sinc)(T x)
{
    T t = TYPED(scaled)((REAL)0x1.921fb54442d18p1, x);
    return x == 0 ? 1 : TYPED(over)(FN(csin)(t), t);
}

static T TYPED(logaddexp)(T x, T y)
{
    bool first = RE(x) != RE(x) || !(RE(y) > RE(x)); /* a NaN stays */
    T top = first ? x : y, other = first ? y : x;
    if (FN(fabs)(RE(top)) == (REAL)INFINITY && RE(top) != RE(other))
        return top;
    return top + TYPED(log1p)(FN(cexp)(other - top));
}

EXPAND1(exp2, T, FN(cexp)(TYPED(scaled)((REAL)0x1.62e42fefa39efp-1, x)))
EXPAND1(expm1, T, TYPED(expm1)(x))
EXPAND1(log1p, T, TYPED(log1p)(x))
EXPAND1(sinc, T, TYPED(sinc)(x))
EXPAND2(logaddexp, T, TYPED(logaddexp)(x, y))
EXPAND3(lerp, T, x + TYPED(times)(z, y - x))
EXPAND1(neg, T, -x)
EXPAND1(sign, T, TYPED(sign)(x))
EXPAND1(square, T, TYPED(times)(x, x))
EXPAND1(cube, T, TYPED(times)(TYPED(times)(x, x), x))
EXPAND1(reciprocal, T, TYPED(over)(1, x))
EXPAND1(sqrt, T, FN(csqrt)(x))
EXPAND1(rsqrt, T, TYPED(over)(1, FN(csqrt)(x)))
EXPAND1(exp, T, FN(cexp)(x))
EXPAND1(log, T, FN(clog)(x))
EXPAND1(log2, T, TYPED(scaled)((REAL)0x1.71547652b82fep0, FN(clog)(x)))
EXPAND1(log10, T, TYPED(scaled)((REAL)0x1.bcb7b1526e50ep-2, FN(clog)(x)))
EXPAND1(sin, T, FN(csin)(x))
EXPAND1(cos, T, FN(ccos)(x))
EXPAND1(tan, T, FN(ctan)(x))
EXPAND1(asin, T, FN(casin)(x))
EXPAND1(acos, T, FN(cacos)(x))
EXPAND1(atan, T, FN(catan)(x))
EXPAND1(sinh, T, FN(csinh)(x))
EXPAND1(cosh, T, FN(ccosh)(x))
EXPAND1(tanh, T, FN(ctanh)(x))
EXPAND1(asinh, T, FN(casinh)(x))
EXPAND1(acosh, T, FN(cacosh)(x))
EXPAND1(atanh, T, FN(catanh)(x))
EXPAND1(sigmoid, T, TYPED(sigmoid)(x))
EXPAND1(silu, T, TYPED(times)(x, TYPED(sigmoid)(x)))
EXPAND_TEST1(logical_not, T, RE(x) == 0 && IM(x) == 0)
EXPAND_TEST1(isnan, T, RE(x) != RE(x) || IM(x) != IM(x))
EXPAND_TEST1(isinf, T, FN(fabs)(RE(x)) == (REAL)INFINITY || FN(fabs)(IM(x)) == (REAL)INFINITY)
EXPAND_TEST1(isfinite, T, FN(fabs)(RE(x)) < (REAL)INFINITY && FN(fabs)(IM(x)) < (REAL)INFINITY)

EXPAND2(add, T, x + y)
EXPAND2(sub, T, x - y)
EXPAND2(add_scaled, T, x + TYPED(scaled)(RE(s[0]), y))
EXPAND2(sub_scaled, T, x - TYPED(scaled)(RE(s[0]), y))
EXPAND2(mul, T, TYPED(times)(x, y))
EXPAND2(div, T, TYPED(over)(x, y))
EXPAND2(pow, T, TYPED(power)(x, y))
EXPAND_TEST2(eq, T, RE(x) == RE(y) && IM(x) == IM(y))
EXPAND_TEST2(ne, T, RE(x) != RE(y) || IM(x) != IM(y))
EXPAND_TEST2(logical_and, T, (RE(x) != 0 || IM(x) != 0) && (RE(y) != 0 || IM(y) != 0))
EXPAND_TEST2(logical_or, T, RE(x) != 0 || IM(x) != 0 || RE(y) != 0 || IM(y) != 0)
EXPAND_TEST2(logical_xor, T, (RE(x) != 0 || IM(x) != 0) != (RE(y) != 0 || IM(y) != 0))
EXPAND3(addcmul, T, x + TYPED(scaled)(RE(s[0]), TYPED(times)(y, z)))
EXPAND3(addcdiv, T, x + TYPED(scaled)(RE(s[0]), TYPED(over)(y, z)))
/* the gradient of a complex function takes the conjugate of its derivative */
EXPAND2_DENSE(sigmoid_grad, T, TYPED(times)(x, FN(conj)(TYPED(times)(1 - y, y))))
EXPAND2_DENSE(tanh_grad, T, TYPED(times)(x, FN(conj)(1 - TYPED(times)(y, y))))

#undef EXPAND1
#undef EXPAND2
#undef EXPAND2_DENSE
#undef EXPAND3
#undef EXPAND_TEST1
#undef EXPAND_TEST2
#undef TYPED_PASTE_
#undef TYPED_PASTE
#undef TYPED
#undef RE
#undef IM
#undef T
#undef REAL
#undef FN
#undef MAKE

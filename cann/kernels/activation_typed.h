/* SPDX-License-Identifier: BSD-3-Clause */
/* Activation functions and gradients for the floating type T; included by activation.c for float and double.
 * FN(name): vmath's function for T; EXP: an exponential that may give 0 and infinity early; ABS.
 * In a gradient x is the gradient of the result and y the input (or the result, where said). NaN goes through. */
#define EXPAND1(name, type, expression) MAP1(name, type, expression)
#define EXPAND2(name, type, expression) MAP2_DENSE(name, type, expression)

EXPAND1(relu, T, x < 0 ? 0 : x)
/* a bound that is NaN makes everything NaN */
EXPAND1(clamp_min, T, x < s[0] || s[0] != s[0] ? s[0] : x)
EXPAND1(clamp_max, T, x > s[0] || s[0] != s[0] ? s[0] : x)

INLINE T FN(clamp)(T x, T low, T high)
{
    x = x < low || low != low ? low : x;
    return x > high || high != high ? high : x;
}
EXPAND1(clamp, T, FN(clamp)(x, s[0], s[1]))
EXPAND1(threshold, T, x <= s[0] ? s[1] : x)
EXPAND1(leaky_relu, T, x > 0 ? x : x * s[0])
EXPAND1(hardshrink, T, x >= -s[0] && x <= s[0] ? 0 : x)
EXPAND1(softshrink, T, x > s[0] ? x - s[0] : x < -s[0] ? x + s[0] : x * 0)
EXPAND1(softsign, T, x / (1 + ABS(x)))
EXPAND1(sigmoid, T, FN(sigmoid)(x))
EXPAND1(silu, T, x / (1 + EXP(-(x * s[0]))))
EXPAND1(softplus, T, x *s[0] > s[1] ? x : FN(softplus)(x * s[0]) / s[0])
EXPAND1(logsigmoid, T, -FN(softplus)(-x))
EXPAND1(fast_gelu, T, x / (1 + EXP((T)-1.702 * x)))

/* max(0, min(6, x + 3)) */
INLINE T FN(hard)(T x)
{
    T y = x + 3;
    y = y < 0 ? 0 : y;
    return y > 6 ? 6 : y;
}
EXPAND1(hardsigmoid, T, FN(hard)(x) / 6)
EXPAND1(hardswish, T, x *FN(hard)(x) / 6)

INLINE T FN(elu)(T x, const T *s)
{
    T low = FN(expm1)(x * s[2]) * (s[0] * s[1]), high = x * s[1];
    return x < 0 ? low : high;
}
EXPAND1(elu, T, FN(elu)(x, s))

EXPAND1(gelu, T, x *FN(normal_cdf)(x))

/* 0.5 x (1 + tanh u) = x sigmoid(2u), u = √(2/π) (x + 0.044715 x³) */
INLINE T FN(gelu_inner)(T x)
{
    return (T)(-2 * 0x1.9884533d43651p-1) * (x + (T)0.044715 * x * x * x);
}
EXPAND1(gelu_tanh, T, x / (1 + EXP(FN(gelu_inner)(x))))

/* x tanh(log(1 + e^x)) = x n / (n + 2), n = e (e + 2); 1 to all bits from 20 on */
INLINE T FN(mish)(T x)
{
    T e = EXP(x > 20 ? 20 : x), n = e * (e + 2);
    return x * (n / (n + 2));
}
EXPAND1(mish, T, FN(mish)(x))

/* ---- gradients ---- */
EXPAND2(threshold_grad, T, y <= s[0] ? 0 : x)
EXPAND2(hardtanh_grad, T, y <= s[0] || y >= s[1] ? 0 : x)
EXPAND2(leaky_relu_grad, T, y > 0 ? x : x * s[0])
EXPAND2(hardsigmoid_grad, T, y > -3 && y < 3 ? x * (T)(1.0 / 6) : 0)
EXPAND2(hardswish_grad, T, y <= -3 ? 0 : y < 3 ? x * (y / 3 + (T)0.5) : x)
EXPAND2(shrink_grad, T, y >= -s[0] && y <= s[0] ? 0 : x)
EXPAND2(sigmoid_grad, T, x *(1 - y) * y)
EXPAND2(tanh_grad, T, x *(1 - y * y))
EXPAND2(logsigmoid_grad, T, x / (1 + EXP(y)))
EXPAND2(prelu, T, x > 0 ? x : x * y)
EXPAND2(prelu_weight_grad, T, y > 0 ? 0 : x * y)
EXPAND2(glu, T, x / (1 + EXP(-y)))
EXPAND2(swiglu, T, x / (1 + EXP(-x)) * y)
EXPAND2(dropout_grad, T, x *y *s[0])

INLINE T FN(elu_grad)(T g, T y, const T *s)
{
    T low = g * s[2] * (s[0] * s[1]) * EXP(y * s[2]), high = g * s[1];
    return y <= 0 ? low : high;
}
EXPAND2(elu_grad, T, FN(elu_grad)(x, y, s))
EXPAND2(elu_result_grad, T, y <= 0 ? x * s[2] * (y + s[0] * s[1]) : x * s[1])

INLINE T FN(silu_grad)(T g, T y, T beta)
{
    T u = beta * y, q = 1 / (1 + EXP(-u));
    return g * q * (1 + u * (1 - q));
}
EXPAND2(silu_grad, T, FN(silu_grad)(x, y, s[0]))

INLINE T FN(softplus_grad)(T g, T y, const T *s)
{
    T u = y * s[0], z = EXP(-u);
    return u > s[1] ? g : g / (1 + z);
}
EXPAND2(softplus_grad, T, FN(softplus_grad)(x, y, s))

EXPAND2(gelu_grad, T, x *FN(gelu_slope)(y))

/* q = sigmoid(2u): d(x q)/dx = q + x q (1 - q) 2 du/dx */
INLINE T FN(gelu_tanh_grad)(T g, T y)
{
    T q = 1 / (1 + EXP(FN(gelu_inner)(y)));
    T slope = (T)(2 * 0x1.9884533d43651p-1) * (1 + (T)(3 * 0.044715) * y * y);
    return g * (q + y * slope * (q * (1 - q)));
}
EXPAND2(gelu_tanh_grad, T, FN(gelu_tanh_grad)(x, y))

INLINE T FN(fast_gelu_grad)(T g, T y)
{
    T u = (T)1.702 * y, q = 1 / (1 + EXP(-u));
    return g * q * (1 + u * (1 - q));
}
EXPAND2(fast_gelu_grad, T, FN(fast_gelu_grad)(x, y))

/* d/dx x n/(n+2) = n/(n+2) + x 4 e (1+e) / (n+2)² */
INLINE T FN(mish_grad)(T g, T y)
{
    T e = EXP(y > 20 ? 20 : y), n = e * (e + 2), r = 1 / (n + 2);
    return g * (n * r + y * (4 * e * (1 + e) * r) * r);
}
EXPAND2(mish_grad, T, FN(mish_grad)(x, y))

/* eps < 0: none */
INLINE T FN(logit_grad)(T g, T y, T eps)
{
    T low = eps < 0 ? 0 : eps, high = 1 - low, d = g / (y * (1 - y)), outside = eps < 0 ? (T)NAN : 0;
    return y < low || y > high ? outside : d;
}
EXPAND2(logit_grad, T, FN(logit_grad)(x, y, s[0]))

#undef EXPAND1
#undef EXPAND2
#undef FN
#undef EXP
#undef ABS
#undef T

/* SPDX-License-Identifier: BSD-3-Clause */
/* The foreach loops for one element type, included by foreach.c once a type with
 *   T the type, W a type whose arithmetic wraps, TYPED(name) the type's names, SCALAR(s) its scalar, TYPE_IS_FLOAT 0 or
 * 1, and TYPED's table of all loops at the end. */

#define LOOP(name, expression) LOOP_WITH(name, INDEPENDENT, expression)
#define LOOP_WITH(name, pragma, expression)                                                                            \
    static void TYPED(name)(int64_t n, void *out_, const void *a_, const void *b_, const void *c_,                     \
                            struct foreach_scalar s_)                                                                  \
    {                                                                                                                  \
        T *out = out_;                                                                                                 \
        const T *a = a_, *b = b_, *c = c_, s = SCALAR(s_);                                                             \
        (void)b, (void)c, (void)s;                                                                                     \
        pragma for (int64_t i = 0; i < n; i++) out[i] = (T)(expression);                                               \
    }

LOOP(add_scalar, (W)a[i] + (W)s)
LOOP(sub_scalar, (W)a[i] - (W)s)
LOOP(mul_scalar, (W)a[i] * (W)s)
LOOP(max_scalar, a[i] != a[i] || a[i] > s ? a[i] : s)
LOOP(min_scalar, a[i] != a[i] || a[i] < s ? a[i] : s)
LOOP(add, (W)a[i] + (W)s * (W)b[i])
LOOP(sub, (W)a[i] - (W)s * (W)b[i])
LOOP(mul, (W)a[i] * (W)b[i])
LOOP(max, a[i] != a[i] || a[i] > b[i] ? a[i] : b[i])
LOOP(min, a[i] != a[i] || a[i] < b[i] ? a[i] : b[i])
LOOP(addcmul, (W)a[i] + (W)s * (W)b[i] * (W)c[i])
LOOP(neg, -(W)a[i])
LOOP(sign, (a[i] > 0) - (a[i] < 0))
LOOP_WITH(pow_scalar, , TYPED(power)(a[i], s))
LOOP_WITH(scalar_pow, , TYPED(power)(s, a[i]))
LOOP_WITH(pow, , TYPED(power)(a[i], b[i]))

#if TYPE_IS_FLOAT
LOOP(fabs, MATH(fabs)(a[i]))
LOOP(div_scalar, a[i] / s)
LOOP(div, a[i] / b[i])
LOOP(addcdiv, a[i] + s * b[i] / c[i])
/* From the nearer end, as PyTorch does: exact at both ends. */
LOOP(lerp, MATH(fabs)(c[i]) < (T)0.5 ? a[i] + c[i] * (b[i] - a[i]) : b[i] - (b[i] - a[i]) * (1 - c[i]))
LOOP(lerp_scalar_low, a[i] + s * (b[i] - a[i]))
LOOP(lerp_scalar_high, b[i] - (b[i] - a[i]) * (1 - s))
LOOP(sqrt, MATH(sqrt)(a[i]))
LOOP(rsqrt, 1 / MATH(sqrt)(a[i]))
LOOP(reciprocal, 1 / a[i])
LOOP(square, a[i] * a[i])
LOOP(rint, MATH(rint)(a[i]))
LOOP(floor, MATH(floor)(a[i]))
LOOP(ceil, MATH(ceil)(a[i]))
LOOP(round, MATH(round)(a[i]))
LOOP(trunc, MATH(trunc)(a[i]))
LOOP(frac, a[i] - MATH(trunc)(a[i]))

static void TYPED(lerp_scalar)(int64_t n, void *out, const void *a, const void *b, const void *c,
                               struct foreach_scalar s)
{
    (fabs(s.d) < 0.5 ? TYPED(lerp_scalar_low) : TYPED(lerp_scalar_high))(n, out, a, b, c, s);
}

static void TYPED(pow_scalar_any)(int64_t n, void *out, const void *a, const void *b, const void *c,
                                  struct foreach_scalar s)
{
    (s.d == 2     ? TYPED(square)
     : s.d == 0.5 ? TYPED(sqrt)
     : s.d == -1  ? TYPED(reciprocal)
                  : TYPED(pow_scalar))(n, out, a, b, c, s);
}

static void TYPED(adam)(int64_t n, T *param, T *grad, T *avg, T *square, T *max, const struct foreach_adam *k)
{
    const T step_size = (T)(k->lr / (1 - pow(k->beta1, k->step))), correction = (T)sqrt(1 - pow(k->beta2, k->step));
    const T beta2 = (T)k->beta2, part1 = (T)(1 - k->beta1), part2 = (T)(1 - k->beta2), eps = (T)k->eps;
    const T scale = (T)k->grad_scale, sign = k->maximize ? -1 : 1;
    const T decay = (T)(k->adamw ? 0 : k->weight_decay), keep = (T)(k->adamw ? 1 - k->lr * k->weight_decay : 1);
    const bool near_grad = part1 >= (T)0.5;
    if (k->grad_scale != 0) {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            grad[i] /= scale;
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        T p = param[i] * keep, g = sign * grad[i] + decay * p;
        T m = near_grad ? g - (g - avg[i]) * (1 - part1) : avg[i] + part1 * (g - avg[i]);
        T v = square[i] * beta2 + part2 * g * g;
        avg[i] = m;
        square[i] = v;
        T top = v;
        if (max)
            max[i] = top = max[i] != max[i] || max[i] > v ? max[i] : v;
        param[i] = p - step_size * m / (MATH(sqrt)(top) / correction + eps);
    }
}

static void TYPED(sgd)(int64_t n, T *param, T *grad, T *momentum, const struct foreach_sgd *k)
{
    const T lr = (T)k->lr, decay = (T)k->weight_decay, scale = (T)k->grad_scale, sign = k->maximize ? -1 : 1;
    const T keep = k->first ? 0 : (T)k->momentum, take = k->first ? 1 : (T)(1 - k->dampening),
            nesterov = (T)k->momentum;
    if (k->grad_scale != 0) {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            grad[i] /= scale;
    }
    if (!momentum) {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            param[i] -= lr * (sign * grad[i] + decay * param[i]);
        return;
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        T g = sign * grad[i] + decay * param[i];
        T m = k->first ? g : keep * momentum[i] + take * g;
        momentum[i] = m;
        param[i] -= lr * (k->nesterov ? g + nesterov * m : m);
    }
}

static bool TYPED(unscale)(int64_t n, T *out, const T *a, double scale_)
{
    const T scale = (T)scale_;
    int bad = 0;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        T x = a[i];
        bad |= !(MATH(fabs)(x) <= MAX_FINITE);
        out[i] = x * scale;
    }
    return bad;
}

/* 16 lanes of double: enough to keep the adders busy, and the same sum on every ISA. */
static double TYPED(norm)(enum foreach_norm kind, int64_t n, const T *a, double p)
{
    double lane[16] = {0};
    for (int64_t i = 0; i < n; i += 16) {
        double x[16] = {0};
        int64_t m = n - i < 16 ? n - i : 16;
        if (m == 16)
            for (int j = 0; j < 16; j++)
                x[j] = (double)a[i + j];
        else
            for (int j = 0; j < m; j++)
                x[j] = (double)a[i + j];
        switch (kind) {
        case FOREACH_NORM_ONE:
            for (int j = 0; j < 16; j++)
                lane[j] += fabs(x[j]);
            break;
        case FOREACH_NORM_TWO:
            for (int j = 0; j < 16; j++)
                lane[j] += x[j] * x[j];
            break;
        case FOREACH_NORM_MAX:
            for (int j = 0; j < 16; j++)
                lane[j] = lane[j] != lane[j] || lane[j] > fabs(x[j]) ? lane[j] : fabs(x[j]);
            break;
        case FOREACH_NORM_ZERO:
            for (int j = 0; j < 16; j++)
                lane[j] += x[j] != 0;
            break;
        case FOREACH_NORM_P:
            for (int j = 0; j < m; j++)
                lane[j] += pow(fabs(x[j]), p);
            break;
        }
    }
    for (int w = 8; w; w /= 2)
        for (int j = 0; j < w; j++)
            if (kind == FOREACH_NORM_MAX)
                lane[j] = lane[j] != lane[j] || lane[j] > lane[j + w] ? lane[j] : lane[j + w];
            else
                lane[j] += lane[j + w];
    return lane[0];
}
#else
LOOP(abs, a[i] < 0 ? -(W)a[i] : (W)a[i])
#endif

static const loop_fn TYPED(loops)[FOREACH_OPS] = {
    [FOREACH_ADD_SCALAR] = TYPED(add_scalar),
    [FOREACH_SUB_SCALAR] = TYPED(sub_scalar),
    [FOREACH_MUL_SCALAR] = TYPED(mul_scalar),
    [FOREACH_MAX_SCALAR] = TYPED(max_scalar),
    [FOREACH_MIN_SCALAR] = TYPED(min_scalar),
    [FOREACH_SCALAR_POW] = TYPED(scalar_pow),
    [FOREACH_ADD] = TYPED(add),
    [FOREACH_SUB] = TYPED(sub),
    [FOREACH_MUL] = TYPED(mul),
    [FOREACH_MAX] = TYPED(max),
    [FOREACH_MIN] = TYPED(min),
    [FOREACH_POW] = TYPED(pow),
    [FOREACH_ADDCMUL] = TYPED(addcmul),
    [FOREACH_NEG] = TYPED(neg),
    [FOREACH_SIGN] = TYPED(sign),
#if TYPE_IS_FLOAT
    [FOREACH_ABS] = TYPED(fabs),
    [FOREACH_POW_SCALAR] = TYPED(pow_scalar_any),
    [FOREACH_DIV_SCALAR] = TYPED(div_scalar),
    [FOREACH_DIV] = TYPED(div),
    [FOREACH_ADDCDIV] = TYPED(addcdiv),
    [FOREACH_LERP] = TYPED(lerp),
    [FOREACH_LERP_SCALAR] = TYPED(lerp_scalar),
    [FOREACH_SQRT] = TYPED(sqrt),
    [FOREACH_RSQRT] = TYPED(rsqrt),
    [FOREACH_RECIPROCAL] = TYPED(reciprocal),
    [FOREACH_RINT] = TYPED(rint),
    [FOREACH_FLOOR] = TYPED(floor),
    [FOREACH_CEIL] = TYPED(ceil),
    [FOREACH_ROUND] = TYPED(round),
    [FOREACH_TRUNC] = TYPED(trunc),
    [FOREACH_FRAC] = TYPED(frac),
#else
    [FOREACH_ABS] = TYPED(abs),
    [FOREACH_POW_SCALAR] = TYPED(pow_scalar),
#endif
};

#undef LOOP
#undef LOOP_WITH
#undef T
#undef W
#undef TYPED
#undef SCALAR
#undef TYPE_IS_FLOAT
#undef MATH
#undef MAX_FINITE

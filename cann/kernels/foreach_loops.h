/* SPDX-License-Identifier: BSD-3-Clause */
/* The foreach loops of one floating type T with names TYPED(name), functions MATH(name) and the largest number
 * MAX_FINITE; included by foreach.c once a type. */

static void TYPED(lerp)(int64_t n, T *out, const T *a, const T *b, double weight)
{
    const T w = (T)weight, rest = 1 - w;
    /* from the nearer end, as PyTorch does: exact at both ends */
    if (fabs(weight) < 0.5) {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i] + w * (b[i] - a[i]);
    } else {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = b[i] - (b[i] - a[i]) * rest;
    }
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

/* Blocks of a few thousand elements are summed in 32 lanes of T, blocks in double: the same sum on every ISA. */
static T TYPED(norm_block)(enum foreach_norm kind, int64_t n, const T *a, double p)
{
    enum { LANES = 32 };
    T lane[LANES] = {0};
    int64_t i = 0;
    switch (kind) {
    case FOREACH_NORM_ONE:
        for (; i + LANES <= n; i += LANES)
            for (int j = 0; j < LANES; j++)
                lane[j] += MATH(fabs)(a[i + j]);
        break;
    case FOREACH_NORM_TWO:
        for (; i + LANES <= n; i += LANES)
            for (int j = 0; j < LANES; j++)
                lane[j] += a[i + j] * a[i + j];
        break;
    case FOREACH_NORM_MAX:
        for (; i + LANES <= n; i += LANES)
            for (int j = 0; j < LANES; j++) {
                T x = MATH(fabs)(a[i + j]);
                lane[j] = lane[j] != lane[j] || lane[j] > x ? lane[j] : x;
            }
        break;
    case FOREACH_NORM_ZERO:
        for (; i + LANES <= n; i += LANES)
            for (int j = 0; j < LANES; j++)
                lane[j] += a[i + j] != 0 ? (T)1 : (T)0;
        break;
    case FOREACH_NORM_P:
        break;
    }
    for (; i < n; i++) {
        T x = MATH(fabs)(a[i]), *l = &lane[i % LANES];
        if (kind == FOREACH_NORM_MAX)
            *l = *l != *l || *l > x ? *l : x;
        else
            *l += kind == FOREACH_NORM_ONE   ? x
                  : kind == FOREACH_NORM_TWO ? x * x
                  : kind == FOREACH_NORM_P   ? (T)pow(x, p)
                                             : (T)(x != 0);
    }
    for (int w = LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++)
            if (kind == FOREACH_NORM_MAX)
                lane[j] = lane[j] != lane[j] || lane[j] > lane[j + w] ? lane[j] : lane[j + w];
            else
                lane[j] += lane[j + w];
    return lane[0];
}

static double TYPED(norm)(enum foreach_norm kind, int64_t n, const T *a, double p)
{
    enum { BLOCK = 4096 };
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        double part = (double)TYPED(norm_block)(kind, n - i < BLOCK ? n - i : BLOCK, a + i, p);
        if (kind != FOREACH_NORM_MAX)
            total += part;
        else
            total = total != total || total > part ? total : part;
    }
    return total;
}

#undef T
#undef TYPED
#undef MATH
#undef MAX_FINITE

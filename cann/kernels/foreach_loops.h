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

#undef T
#undef TYPED
#undef MATH
#undef MAX_FINITE

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels over lists: arithmetic with repeated operands, interpolation, optimizer steps, scaling with its check, norms;
 * every type, lengths 0..67 and beyond a block, special values; the same bits at every level, in place too. */
#include "harness.h"
#include "kernels/elementwise.h"
#include "kernels/foreach.h"

#include <math.h>

static const struct foreach_kernels *const tables[] = HARNESS_TABLES(foreach_kernels);
static const struct elementwise_table *const loops[] = HARNESS_TABLES(binary_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16};
enum { STATES = 5 };

static bool half(aclDataType type)
{
    return type == ACL_FLOAT16 || type == ACL_BF16;
}

static aclDataType computes_in(aclDataType type)
{
    return half(type) ? ACL_FLOAT : type;
}

static double tolerance(aclDataType type)
{
    return type == ACL_DOUBLE ? 1e-14 : type == ACL_FLOAT ? 3e-6 : 0;
}

static void compare(aclDataType type, int level, const char *got, const char *want, int64_t n, const char *what)
{
    char context[64];
    snprintf(context, sizeof context, "%s, %s, n %d", what, harness_level_name(level), (int)n);
    harness_compare(type, got, want, (int64_t)dtype_size(type), n,
                    level        ? 0
                    : half(type) ? 1
                                 : 8,
                    level ? 0 : tolerance(type), context);
}

/* out = a * b, with either operand one element. */
static void run_of(aclDataType type, int64_t n, unsigned repeat)
{
    aclDataType inside = computes_in(type);
    int64_t size = (int64_t)dtype_size(type);
    char *x[3] = {0}, *want = harness_buffer(3, (size_t)(n * size));
    for (int k = 1; k <= 2; k++) {
        aclDataType own = repeat >> k & 1 ? inside : type;
        int64_t count = repeat >> k & 1 ? 1 : n;
        x[k] = harness_buffer(k, (size_t)(count * (int64_t)dtype_size(own)));
        harness_fill(own, x[k], (int64_t)dtype_size(own), count, 0, 0);
    }
    for (int64_t i = 0; i < n; i++) {
        double v[3];
        for (int k = 1; k <= 2; k++)
            v[k] = repeat >> k & 1 ? harness_value(inside, x[k]) : harness_value(type, x[k] + i * size);
        harness_put(type, want + i * size, v[1] * v[2]);
    }
    for (int level = 0; level < harness_levels(); level++) {
        const struct elementwise_param param = {.d = {0}};
        const struct foreach_loop l = {loops[level]->loop[BINARY_MUL - BINARY_TABLE][inside], &param, type, 3, repeat};
        char *out = harness_buffer(4, (size_t)(n * size)), *data[] = {out, x[1], x[2]};
        tables[level]->run(&l, n, data);
        harness_guard(4);
        harness_compare(type, out, want, size, n, 0, 0, harness_level_name(level));
        if (!(repeat & 2)) { /* in place */
            memcpy(out, x[1], (size_t)(n * size));
            data[1] = out;
            tables[level]->run(&l, n, data);
            harness_compare(type, out, want, size, n, 0, 0, "in place");
        }
    }
}

static void lerp_of(aclDataType type, int64_t n, double weight)
{
    int64_t size = (int64_t)dtype_size(type);
    size_t bytes = (size_t)(n * size);
    char *a = harness_buffer(0, bytes), *b = harness_buffer(1, bytes), *want = harness_buffer(2, bytes),
         *first = harness_buffer(3, bytes);
    harness_fill(type, a, size, n, -3, 3);
    harness_fill(type, b, size, n, -3, 3);
    for (int64_t i = 0; i < n; i++) {
        double x = harness_value(type, a + i * size), y = harness_value(type, b + i * size);
        harness_put(type, want + i * size, weight == 1 ? y : x + weight * (y - x));
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *out = level ? harness_buffer(4, bytes) : first;
        tables[level]->lerp(type, n, out, a, b, weight);
        harness_guard(level ? 4 : 3);
        compare(type, level, out, level ? first : want, n, "lerp");
        if (weight == 0 || weight == 1) /* exact at both ends */
            harness_compare(type, out, weight == 0 ? a : b, size, n, 0.001, 0, "end of lerp");
    }
}

/* Fills the optimizer's arrays: parameter, gradient, two moments, their maximum; copies for each level are made from
 * `start`. */
static char *make_states(aclDataType type, int64_t n, double *value)
{
    int64_t size = (int64_t)dtype_size(type);
    char *start = harness_buffer(0, (size_t)(STATES * n * size));
    for (int k = 0; k < STATES; k++) {
        char *at = start + k * n * size;
        harness_fill(type, at, size, n, k >= 3 ? 0.1 : -2, k >= 3 ? 1 : 2);
        for (int64_t i = 0; i < n; i++)
            value[k * n + i] = harness_value(type, at + i * size);
    }
    return start;
}

static void check_states(aclDataType type, int64_t n, const char *start, const double *value, int way,
                         void (*step)(int level, aclDataType type, int64_t n, char *const *state, int way))
{
    int64_t size = (int64_t)dtype_size(type);
    size_t bytes = (size_t)(STATES * n * size);
    char *want = harness_buffer(1, bytes), *first = harness_buffer(2, bytes);
    for (int64_t i = 0; i < STATES * n; i++)
        harness_put(type, want + i * size, value[i]);
    for (int level = 0; level < harness_levels(); level++) {
        char *all = level ? harness_buffer(3, bytes) : first, *state[STATES];
        memcpy(all, start, bytes);
        for (int k = 0; k < STATES; k++)
            state[k] = all + k * n * size;
        step(level, type, n, state, way);
        harness_guard(level ? 3 : 2);
        compare(type, level, all, level ? first : want, STATES * n, "step");
    }
}

static struct foreach_adam adam_of(int way)
{
    return (struct foreach_adam){.lr = 0.01,
                                 .beta1 = way % 3 ? 0.9 : 0.3,
                                 .beta2 = 0.99,
                                 .weight_decay = way & 1 ? 0.1 : 0,
                                 .eps = 1e-6,
                                 .step = 1 + way,
                                 .grad_scale = way & 2 ? 2 : 0,
                                 .adamw = way & 4,
                                 .maximize = way & 8};
}

static void adam_step(int level, aclDataType type, int64_t n, char *const *state, int way)
{
    const struct foreach_adam k = adam_of(way);
    tables[level]->adam(type, n, state[0], state[1], state[2], state[3], way % 5 ? state[4] : NULL, &k);
}

static void adam(aclDataType type, int64_t n, int way)
{
    double v[STATES * 600];
    const struct foreach_adam k = adam_of(way);
    char *start = make_states(type, n, v);
    for (int64_t i = 0; i < n; i++) {
        double *p = &v[i], *g = &v[n + i], *m = &v[2 * n + i], *s = &v[3 * n + i], *top = &v[4 * n + i];
        *g = k.grad_scale != 0 ? *g / k.grad_scale : *g;
        double slope = k.maximize ? -*g : *g;
        if (k.adamw)
            *p *= 1 - k.lr * k.weight_decay;
        else
            slope += k.weight_decay * *p;
        *m = k.beta1 * *m + (1 - k.beta1) * slope;
        *s = k.beta2 * *s + (1 - k.beta2) * slope * slope;
        double second = *s;
        if (way % 5)
            second = *top = fmax(*top, *s);
        *p -= k.lr / (1 - pow(k.beta1, k.step)) * *m / (sqrt(second / (1 - pow(k.beta2, k.step))) + k.eps);
    }
    check_states(type, n, start, v, way, adam_step);
}

static struct foreach_sgd sgd_of(int way)
{
    return (struct foreach_sgd){.lr = 0.1,
                                .momentum = 0.9,
                                .dampening = way & 1 ? 0.2 : 0,
                                .weight_decay = way & 2 ? 0.05 : 0,
                                .grad_scale = way & 4 ? 2 : 0,
                                .nesterov = way & 8,
                                .maximize = way % 3 == 0,
                                .first = way % 5 == 0};
}

static void sgd_step(int level, aclDataType type, int64_t n, char *const *state, int way)
{
    const struct foreach_sgd k = sgd_of(way);
    tables[level]->sgd(type, n, state[0], state[1], way % 7 ? state[2] : NULL, &k);
}

static void sgd(aclDataType type, int64_t n, int way)
{
    double v[STATES * 600];
    const struct foreach_sgd k = sgd_of(way);
    char *start = make_states(type, n, v);
    for (int64_t i = 0; i < n; i++) {
        double *p = &v[i], *g = &v[n + i], *m = &v[2 * n + i];
        *g = k.grad_scale != 0 ? *g / k.grad_scale : *g;
        double slope = (k.maximize ? -*g : *g) + k.weight_decay * *p;
        if (way % 7) {
            *m = k.first ? slope : k.momentum * *m + (1 - k.dampening) * slope;
            slope = k.nesterov ? slope + k.momentum * *m : *m;
        }
        *p -= k.lr * slope;
    }
    check_states(type, n, start, v, way, sgd_step);
}

static void unscale_of(aclDataType type, int64_t n, bool wild)
{
    int64_t size = (int64_t)dtype_size(type);
    char *a = harness_buffer(0, (size_t)(n * size)), *want = harness_buffer(1, (size_t)(n * size));
    bool bad = false;
    harness_fill(type, a, size, n, wild ? 0 : -9, wild ? 0 : 9);
    for (int64_t i = 0; i < n; i++) {
        double v = harness_value(type, a + i * size);
        bad |= !isfinite(v);
        harness_put(type, want + i * size, type == ACL_DOUBLE ? v * 0.1 : (double)((float)v * 0.1f));
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *out = harness_buffer(2, (size_t)(n * size));
        CHECK_EQ(tables[level]->unscale(type, n, out, a, 0.1), bad);
        harness_guard(2);
        harness_compare(type, out, want, size, n, 0, 0, harness_level_name(level));
    }
}

static void norm_of(enum foreach_norm kind, aclDataType type, int64_t n, bool wild)
{
    int64_t size = (int64_t)dtype_size(type);
    char *a = harness_buffer(0, (size_t)(n * size));
    double first = 0;
    long double want = 0;
    harness_fill(type, a, size, n, wild ? 0 : -3, wild ? 0 : 3);
    bool has_nan = false;
    for (int64_t i = 0; i < n; i++) {
        long double v = fabsl((long double)harness_value(type, a + i * size));
        has_nan |= isnan(v);
        if (kind == FOREACH_NORM_MAX)
            want = fmaxl(want, v);
        else
            want += kind == FOREACH_NORM_ONE    ? v
                    : kind == FOREACH_NORM_TWO  ? v * v
                    : kind == FOREACH_NORM_ZERO ? v != 0
                                                : powl(v, 2.5L);
    }
    want = has_nan && kind != FOREACH_NORM_ZERO ? NAN : want;
    for (int level = 0; level < harness_levels(); level++) {
        double got = tables[level]->norm(kind, type, n, a, 2.5);
        if (level) {
            CHECK(memcmp(&got, &first, sizeof got) == 0 || (isnan(got) && isnan(first)));
            continue;
        }
        first = got;
        double limit = (type == ACL_DOUBLE ? 1e-14 : 1e-5) * (double)want;
        if (isnan(want) || isinf((double)(float)want)) /* what overflows in float may be infinite */
            CHECK(isnan(want) ? isnan(got) : isinf(got) || fabsl(got - want) <= limit);
        else if (!(wild && want > 1e37L))
            CHECK(fabsl(got - want) <= limit);
    }
}

int main(int argc, char **argv)
{
    char name[40];
    harness_begin(argc, argv);
    for (size_t t = 0; t < 4; t++) {
        aclDataType type = types[t];
        for (int64_t n = 0; n <= 590; n += n < 67 ? 1 : 523) {
            int way = (int)n % 16;
            snprintf(name, sizeof name, "foreach run %s", dtype_name(type));
            for (unsigned repeat = 0; repeat < 6 && harness_wants(name); repeat += 2)
                run_of(type, n, repeat);
            snprintf(name, sizeof name, "foreach lerp %s", dtype_name(type));
            for (int w = 0; w <= 4 && harness_wants(name); w++)
                lerp_of(type, n, w / 4.0);
            snprintf(name, sizeof name, "foreach adam %s", dtype_name(type));
            if (harness_wants(name))
                adam(type, n, way);
            snprintf(name, sizeof name, "foreach sgd %s", dtype_name(type));
            if (harness_wants(name))
                sgd(type, n, way);
            snprintf(name, sizeof name, "foreach unscale %s", dtype_name(type));
            if (harness_wants(name))
                unscale_of(type, n, n % 2);
            snprintf(name, sizeof name, "foreach norm %s", dtype_name(type));
            for (int kind = 0; kind <= FOREACH_NORM_P && harness_wants(name); kind++)
                norm_of((enum foreach_norm)kind, type, n, n % 3 == 0);
        }
    }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses and their gradients against the formulas in double, with and without weights; the likelihood of classes with
 * ignored and wrong targets; every type, lengths 0..67 and beyond a block; the same bits at every level. */
#include "harness.h"
#include "kernels/loss.h"

#include <math.h>

static const struct loss_kernels *const tables[] = HARNESS_TABLES(loss_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16};
static const char *const names[LOSS_MODES] = {"square", "abs", "smooth_l1", "huber", "bce", "margin"};

static double value(enum loss_mode mode, double x, double y, double weight, double parameter)
{
    double d = fabs(x - y);
    switch (mode) {
    case LOSS_SQUARE:
        return d * d;
    case LOSS_ABS:
        return d;
    case LOSS_SMOOTH_L1:
        return d < parameter ? d * d / (2 * parameter) : d - parameter / 2;
    case LOSS_HUBER:
        return d <= parameter ? d * d / 2 : parameter * (d - parameter / 2);
    case LOSS_BCE:
        return -weight * (y * fmax(log(x), -100) + (1 - y) * fmax(log1p(-x), -100));
    default:
        return log1p(exp(-x * y));
    }
}

static double slope(enum loss_mode mode, double x, double y, double weight, double parameter)
{
    double d = x - y;
    switch (mode) {
    case LOSS_SQUARE:
        return 2 * d;
    case LOSS_ABS:
        return (d > 0) - (d < 0);
    case LOSS_SMOOTH_L1:
        return fabs(d) < parameter ? d / parameter : d > 0 ? 1 : -1;
    case LOSS_HUBER:
        return fabs(d) <= parameter ? d : d > 0 ? parameter : -parameter;
    case LOSS_BCE:
        return weight * d / fmax((1 - x) * x, 1e-12);
    default:
        return -y * exp(-x * y) / (1 + exp(-x * y));
    }
}

static void check(enum loss_mode mode, aclDataType type, int64_t n, int way)
{
    int64_t size = (int64_t)dtype_size(type), step = way & 1;
    bool weighted = mode == LOSS_BCE && way & 2;
    size_t bytes = (size_t)(n * size);
    char *x = harness_buffer(0, bytes), *y = harness_buffer(1, bytes), *w = harness_buffer(2, bytes);
    char *g = harness_buffer(3, (size_t)(step ? n * size : size)), *want = harness_buffer(4, bytes);
    char *want_slope = harness_buffer(5, bytes), *first = harness_buffer(6, bytes),
         *first_slope = harness_buffer(7, bytes);
    bool between = mode == LOSS_BCE; /* probabilities; 0 and 1 themselves follow */
    harness_fill(type, x, size, n, between ? 0 : -4, between ? 1 : 4);
    harness_fill(type, y, size, n, between ? 0 : -4, between ? 1 : 4);
    harness_fill(type, w, size, n, 0.5, 2);
    harness_fill(type, g, size, step ? n : 1, 0.5, 1.5);
    for (int64_t i = 0; i < n; i += 7)
        harness_put(type, x + i * size, between ? (double)(i % 2) : harness_value(type, y + i * size));
    const struct loss_arrays a = {x, y, weighted ? w : NULL, g, step, 0.75, 0.5};
    for (int64_t i = 0; i < n; i++) {
        double weight = weighted ? harness_value(type, w + i * size) : 1, p = harness_value(type, x + i * size),
               q = harness_value(type, y + i * size);
        harness_put(type, want + i * size, value(mode, p, q, weight, 0.75));
        harness_put(type, want_slope + i * size,
                    slope(mode, p, q, weight, 0.75) * 0.5 * harness_value(type, g + i * step * size));
    }
    double near = type == ACL_DOUBLE ? 1e-13 : 1e-5, ulp = type == ACL_DOUBLE ? 64 : type == ACL_FLOAT ? 64 : 2;
    for (int level = 0; level < harness_levels(); level++) {
        char *out = level ? harness_buffer(8, bytes) : first, *back = level ? harness_buffer(9, bytes) : first_slope;
        char context[64];
        tables[level]->map(mode, type, n, &a, out);
        tables[level]->gradient(mode, type, n, &a, back);
        harness_guard(level ? 8 : 6), harness_guard(level ? 9 : 7);
        snprintf(context, sizeof context, "%s, n %d, way %d", harness_level_name(level), (int)n, way);
        harness_compare(type, out, level ? first : want, size, n, level ? 0 : ulp, level ? 0 : near, context);
        harness_compare(type, back, level ? first_slope : want_slope, size, n, level ? 0 : ulp, level ? 0 : near,
                        context);
    }
}

/* NaN and infinities come through as they do in the formulas. */
static void special(enum loss_mode mode, aclDataType type)
{
    enum { N = 67 };
    int64_t size = (int64_t)dtype_size(type);
    char *x = harness_buffer(0, (size_t)(N * size)), *y = harness_buffer(1, (size_t)(N * size));
    char *first = harness_buffer(2, (size_t)(N * size));
    harness_fill(type, x, size, N, 0, 0);
    harness_fill(type, y, size, N, -1, 1);
    const struct loss_arrays a = {x, y, NULL, y, 1, 0.75, 0.5};
    for (int level = 0; level < harness_levels(); level++) {
        char *out = level ? harness_buffer(3, (size_t)(N * size)) : first;
        tables[level]->map(mode, type, N, &a, out);
        harness_compare(type, out, first, size, N, 0, 0, harness_level_name(level));
        for (int64_t i = 0; i < N; i++)
            if (isnan(harness_value(type, x + i * size)))
                CHECK(isnan(harness_value(type, out + i * size)));
    }
}

static void classes(aclDataType type, aclDataType target_type, int64_t rows, int64_t inner, int64_t bad)
{
    enum { CLASSES = 5, IGNORE = 3 };
    int64_t size = (int64_t)dtype_size(type), target_size = (int64_t)dtype_size(target_type), n = rows * inner;
    int64_t wrong_at = -1, elements = n * CLASSES;
    char *x = harness_buffer(0, (size_t)(elements * size)), *target = harness_buffer(1, (size_t)(n * target_size));
    char *weight = harness_buffer(2, CLASSES * (size_t)size), *grad = harness_buffer(3, (size_t)(n * size));
    char *want = harness_buffer(4, (size_t)(n * size)), *want_grad = harness_buffer(5, (size_t)(elements * size));
    double sums[2] = {0, 0};
    bool weighted = rows % 2;
    harness_fill(type, x, size, elements, -4, 0);
    harness_fill(type, weight, size, CLASSES, 0.5, 2);
    harness_fill(type, grad, size, n, 0.5, 1.5);
    memset(want_grad, 0, (size_t)(elements * size));
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i == bad ? CLASSES : (int64_t)(harness_random() % CLASSES);
        memcpy(target + i * target_size, &c, (size_t)target_size);
        if (i == bad)
            wrong_at = i;
        bool counts = c != IGNORE && i != bad;
        double w = counts && weighted ? harness_value(type, weight + c * size) : 1;
        int64_t at = counts ? (i / inner * CLASSES + c) * inner + i % inner : 0;
        double loss = counts ? -harness_value(type, x + at * size) * w : 0;
        if (wrong_at < 0 && counts)
            sums[0] += loss, sums[1] += w;
        harness_put(type, want + i * size, loss);
        if (counts)
            harness_put(type, want_grad + at * size, -w * 0.5 * harness_value(type, grad + i * size));
    }
    struct loss_classes c = {CLASSES, inner, IGNORE, type, target_type, x, target, weighted ? weight : NULL};
    for (int level = 0; level < harness_levels(); level++) {
        double sum[2] = {0, 0};
        char *out = harness_buffer(6, (size_t)(n * size)), *back = harness_buffer(7, (size_t)(elements * size));
        memset(back, 0, (size_t)(elements * size));
        int64_t got = tables[level]->likelihood(&c, 0, n, sum, out);
        tables[level]->likelihood_gradient(&c, 0, n / 2, grad, 1, 0.5, back);
        tables[level]->likelihood_gradient(&c, n / 2, n, grad, 1, 0.5, back);
        harness_guard(6), harness_guard(7);
        CHECK_EQ(got < 0 ? -1 : got == wrong_at ? wrong_at : -2, wrong_at);
        CHECK(memcmp(sum, sums, sizeof sum) == 0);
        harness_compare(type, out, want, size, wrong_at < 0 ? n : wrong_at, 0.001, 0, harness_level_name(level));
        harness_compare(type, back, want_grad, size, elements, 0.001, 0, harness_level_name(level));
        sum[0] = sum[1] = 0;
        tables[level]->likelihood(&c, 0, n, sum, NULL); /* without the losses one by one */
        CHECK(memcmp(sum, sums, sizeof sum) == 0);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType targets[] = {ACL_INT64, ACL_INT32, ACL_UINT8};
    char name[40];
    harness_begin(argc, argv);
    for (size_t t = 0; t < 4; t++) {
        for (int mode = 0; mode < LOSS_MODES; mode++) {
            snprintf(name, sizeof name, "loss %s %s", names[mode], dtype_name(types[t]));
            if (!harness_wants(name))
                continue;
            for (int64_t n = 0; n <= 67; n++)
                check((enum loss_mode)mode, types[t], n, (int)n % 4);
            for (int way = 0; way < 4; way++)
                check((enum loss_mode)mode, types[t], 1027, way);
            special((enum loss_mode)mode, types[t]);
        }
        snprintf(name, sizeof name, "likelihood %s", dtype_name(types[t]));
        for (int64_t rows = 0; rows <= 67 && harness_wants(name); rows++)
            for (int64_t inner = 1; inner <= 3; inner++) {
                classes(types[t], targets[rows % 3], rows, inner, -1);
                classes(types[t], targets[rows % 3], rows, inner, rows / 2);
            }
    }
    return harness_end();
}

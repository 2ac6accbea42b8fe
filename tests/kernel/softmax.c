/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax, log-softmax, log-sum-exp and gradients of every float type, rows and columns, against long double; the same
 * bits at every level. */
#include "harness.h"
#include "kernels/softmax.h"

#include <math.h>

static const struct softmax_kernels *const tables[] = HARNESS_TABLES(softmax_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
enum { ROW_MAX = 9000 };

static double value_at(aclDataType type, const char *p)
{
    uint16_t h;
    float f;
    double d;
    if (type == ACL_DOUBLE)
        return memcpy(&d, p, 8), d;
    if (type == ACL_FLOAT)
        return memcpy(&f, p, 4), f;
    memcpy(&h, p, 2);
    return type == ACL_FLOAT16 ? f16_to_float(h) : bf16_to_float(h);
}

static double tolerance(aclDataType type)
{
    return type == ACL_DOUBLE ? 1e-14 : type == ACL_FLOAT ? 1e-6 : type == ACL_FLOAT16 ? 6e-4 : 5e-3;
}

/* One row of n, `step` bytes apart; out, too. */
static void check_forward(enum softmax_mode mode, const struct softmax_shape *s, const char *x, int64_t step,
                          const char *out, int64_t out_step)
{
    long double most = -INFINITY, total = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double v = value_at(s->dtype, x + i * step);
        most = v > most ? v : most;
    }
    for (int64_t i = 0; i < s->n; i++)
        total += expl(value_at(s->dtype, x + i * step) - most);
    int wrong = 0;
    for (int64_t i = 0; i < (mode == SOFTMAX_SUM_LOG ? 1 : s->n); i++) {
        long double v = value_at(s->dtype, x + i * step) - most, want = expl(v) / total;
        if (mode == SOFTMAX_LOG)
            want = v - logl(total);
        if (mode == SOFTMAX_SUM_LOG)
            want = most + logl(total);
        double have = value_at(s->out_dtype, out + i * out_step);
        wrong += !(fabsl(have - want) <= tolerance(s->out_dtype) * (1 + fabsl(want)));
    }
    CHECK_EQ(wrong, 0);
}

static void check_backward(enum softmax_mode mode, const struct softmax_shape *s, const char *g, const char *y,
                           int64_t step, const char *out)
{
    long double sum = 0, size = 1;
    for (int64_t i = 0; i < s->n; i++) {
        long double grad = value_at(s->grad_dtype, g + i * step), v = value_at(s->dtype, y + i * step);
        sum += mode == SOFTMAX ? grad * v : grad;
        size += fabsl(mode == SOFTMAX ? grad * v : grad);
    }
    int wrong = 0;
    for (int64_t i = 0; i < s->n; i++) {
        long double grad = value_at(s->grad_dtype, g + i * step), v = value_at(s->dtype, y + i * step);
        long double want = mode == SOFTMAX ? (grad - sum) * v : grad - expl(v) * sum;
        long double lost = size * (1 + fabsl(mode == SOFTMAX ? v : expl(v))); /* what the difference rounds away */
        wrong +=
            !(fabsl(value_at(s->out_dtype, out + i * step) - want) <= tolerance(s->out_dtype) * (fabsl(want) + lost));
    }
    CHECK_EQ(wrong, 0);
}

static void check(enum softmax_mode mode, aclDataType type, int64_t outer, int64_t n, int64_t inner)
{
    struct softmax_shape s = {n, inner, type, type, type};
    int64_t size = (int64_t)dtype_size(type), count = outer * n * inner;
    int64_t results = mode == SOFTMAX_SUM_LOG ? outer * inner : count;
    char *x = harness_buffer(0, (size_t)(count * size)), *g = harness_buffer(1, (size_t)(count * size));
    harness_fill(type, x, size, count, -5, n % 3 ? 5 : -4);
    harness_fill(type, g, size, count, -1, 1);
    char *first = harness_buffer(2, (size_t)(results * size)), *grad = harness_buffer(4, (size_t)(count * size));
    for (int level = 0; level < harness_levels(); level++) {
        char *out = level ? harness_buffer(3, (size_t)(results * size)) : first;
        char *dx = level ? harness_buffer(5, (size_t)(count * size)) : grad;
        for (int64_t o = 0; inner > 1 && o < outer; o++) {
            char *to = out + (mode == SOFTMAX_SUM_LOG ? o * inner : o * n * inner) * size;
            int64_t at = o * n * inner * size, half = inner / 2;
            tables[level]->columns(mode, &s, half, x + at, to);
            tables[level]->columns(mode, &s, inner - half, x + at + half * size, to + half * size);
            if (mode != SOFTMAX_SUM_LOG)
                tables[level]->grad_columns(mode, &s, inner, g + at, x + at, dx + at);
        }
        if (inner == 1) {
            tables[level]->rows(mode, &s, outer, x, out);
            if (mode != SOFTMAX_SUM_LOG)
                tables[level]->grad_rows(mode, &s, outer, g, x, dx);
        }
        for (int b = 2; b <= 5; b++)
            if (level || b % 2 == 0)
                harness_guard(b);
        if (level) {
            CHECK(memcmp(out, first, (size_t)(results * size)) == 0);
            CHECK(mode == SOFTMAX_SUM_LOG || memcmp(dx, grad, (size_t)(count * size)) == 0);
            continue;
        }
        for (int64_t r = 0; r < outer * inner; r++) {
            int64_t at = (r / inner * n * inner + r % inner) * size;
            check_forward(mode, &s, x + at, inner * size, out + (mode == SOFTMAX_SUM_LOG ? r * size : at),
                          inner * size);
            if (mode != SOFTMAX_SUM_LOG)
                check_backward(mode, &s, g + at, x + at, inner * size, dx + at);
        }
    }
}

/* Infinities, NaN, and exponentials down to the smallest. */
static void check_special(void)
{
    static const float rows[][4] = {
        {-INFINITY, 0, -INFINITY, -INFINITY},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {1, INFINITY, 2, 3},
        {1, NAN, 2, 3},
        {0, -100, -103.5f, -200},
        {3e38f, -3e38f, 3e38f, 0},
    };
    struct softmax_shape s = {4, 1, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT};
    float out[4];
    for (int level = 0; level < harness_levels(); level++) {
        const struct softmax_kernels *k = tables[level];
        k->rows(SOFTMAX, &s, 1, (const char *)rows[0], (char *)out);
        CHECK(out[0] == 0 && out[1] == 1 && out[2] == 0);
        k->rows(SOFTMAX_LOG, &s, 1, (const char *)rows[0], (char *)out);
        CHECK(out[0] == -INFINITY && out[1] == 0);
        for (int r = 1; r < 4; r++)
            for (int mode = SOFTMAX; mode <= SOFTMAX_LOG; mode++) {
                k->rows((enum softmax_mode)mode, &s, 1, (const char *)rows[r], (char *)out);
                CHECK(isnan(out[r < 3 ? 1 : 0]) && (r == 2 || isnan(out[3])));
            }
        k->rows(SOFTMAX, &s, 1, (const char *)rows[4], (char *)out);
        CHECK(out[0] == 1 && out[1] > 3.6e-44f && out[1] < 3.9e-44f && out[2] == 0x1p-149f && out[3] == 0);
        k->rows(SOFTMAX, &s, 1, (const char *)rows[5], (char *)out);
        CHECK(out[0] == 0.5f && out[1] == 0 && out[2] == 0.5f && out[3] == 0);
        k->rows(SOFTMAX_SUM_LOG, &s, 1, (const char *)rows[1], (char *)out);
        CHECK(out[0] == -INFINITY);
        k->rows(SOFTMAX_SUM_LOG, &s, 1, (const char *)rows[2], (char *)out);
        CHECK(out[0] == INFINITY);
        k->rows(SOFTMAX_SUM_LOG, &s, 1, (const char *)rows[3], (char *)out);
        CHECK(isnan(out[0]));
    }
}

struct bench {
    const struct softmax_kernels *kernels;
    enum softmax_mode mode;
    struct softmax_shape shape;
    char *x, *out;
};

static void bench_rows(void *arg)
{
    struct bench *b = arg;
    b->kernels->rows(b->mode, &b->shape, 4096 / b->shape.n, b->x, b->out);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"softmax", "log_softmax", "log_sum_exp"};
    harness_begin(argc, argv);
    for (int mode = SOFTMAX; mode <= SOFTMAX_SUM_LOG; mode++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            char name[48];
            snprintf(name, sizeof name, "%s %s", names[mode], dtype_name(types[t]));
            if (!harness_wants(name))
                continue;
            for (int64_t n = 1; n <= 67; n++) {
                check((enum softmax_mode)mode, types[t], 1 + n % 5, n, 1);
                check((enum softmax_mode)mode, types[t], 2, n, 2 + n % 40);
            }
            for (int64_t n = 490; n <= ROW_MAX; n += n / 3)
                check((enum softmax_mode)mode, types[t], 2, n, 1);
            check((enum softmax_mode)mode, types[t], 2, 130, 300);
        }
    if (harness_wants("softmax special"))
        check_special();
    for (int level = 0; harness_benches() && level < harness_levels(); level++)
        for (int64_t n = 16; n <= 4096; n *= 4) {
            char *x = harness_buffer(0, 4096 * 4), *out = harness_buffer(1, 4096 * 4), name[48];
            harness_fill(ACL_FLOAT, x, 4, 4096, -3, 3);
            snprintf(name, sizeof name, "softmax rows of %ld", (long)n);
            struct bench b = {tables[level], SOFTMAX, {n, 1, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT}, x, out};
            harness_time(name, level, bench_rows, &b, 4096, 4096 * 8);
        }
    return harness_end();
}

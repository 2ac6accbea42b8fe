/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation loops of every float type against long double; the same bits at every level; guard bytes. */
#include "harness.h"
#include "kernels/norm.h"

#include <math.h>

static const struct norm_kernels *const tables[] = HARNESS_TABLES(norm_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

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

static aclDataType compute(aclDataType type)
{
    return type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
}

static double tolerance(aclDataType type)
{
    return type == ACL_DOUBLE ? 1e-13 : type == ACL_FLOAT ? 4e-6 : type == ACL_FLOAT16 ? 1.5e-3 : 1.2e-2;
}

static bool near(aclDataType type, double have, long double want, long double scale)
{
    return fabsl(have - want) <= tolerance(type) * (fabsl(want) + scale);
}

/* Planes of one channel. */
static void check_planes(aclDataType type, int64_t planes, int64_t n)
{
    struct norm_types t = {type, type, type};
    struct norm_planes shape = {planes, n, n + 3};
    int64_t size = (int64_t)dtype_size(type), span = planes && n ? (planes - 1) * shape.step + n : 0;
    size_t bytes = (size_t)(span * size);
    char *x = harness_buffer(0, bytes), *g = harness_buffer(1, bytes);
    harness_fill(type, x, size, span, 2, 4);
    harness_fill(type, g, size, span, -1, 1);
    char *first_y = harness_buffer(2, bytes), *first_dx = harness_buffer(3, bytes);
    double first[5];
    struct norm_channel c = {3, 0.5, 0.25, 0.75};
    for (int level = 0; level < harness_levels(); level++) {
        char *y = level ? harness_buffer(4, bytes) : first_y, *dx = level ? harness_buffer(5, bytes) : first_dx;
        memset(y, 0, bytes), memset(dx, 0, bytes);
        double all[5] = {0};
        tables[level]->moments(&t, &shape, x, all);
        tables[level]->sums(&t, &shape, g, x, 3, all + 3);
        tables[level]->scale(&t, &shape, x, &c, y);
        tables[level]->gradient(&t, &shape, g, x, &c, dx);
        for (int b = level ? 4 : 2; b <= (level ? 5 : 3); b++)
            harness_guard(b);
        if (level) {
            CHECK(memcmp(all, first, sizeof all) == 0 && memcmp(y, first_y, bytes) == 0 &&
                  memcmp(dx, first_dx, bytes) == 0);
            continue;
        }
        memcpy(first, all, sizeof all);
        long double sum = 0, squares = 0, sum_g = 0, sum_gx = 0, count = planes * n;
        int wrong = 0;
        for (int64_t i = 0; i < planes * n; i++) {
            int64_t at = (i / n * shape.step + i % n) * size;
            long double v = value_at(type, x + at), w = value_at(type, g + at);
            sum += v, sum_g += w, sum_gx += w * (v - 3);
            wrong += !near(type, value_at(type, y + at), (v - 3) * 0.5L + 0.25L, 0.1L);
            wrong += !near(type, value_at(type, dx + at), w * 0.5L - 0.25L - (v - 3) * 0.75L, 0.5L);
        }
        for (int64_t i = 0; i < planes * n; i++) {
            long double d = value_at(type, x + (i / n * shape.step + i % n) * size) - sum / count;
            squares += d * d;
        }
        for (int64_t p = 0; p + 1 < planes; p++) /* what lies between planes is not written */
            for (int64_t i = n; i < shape.step; i++)
                wrong += value_at(type, y + (p * shape.step + i) * size) != 0;
        CHECK_EQ(wrong, 0);
        CHECK(all[2] == (double)count);
        if (count)
            CHECK(near(compute(type), all[0], sum / count, 1) && near(compute(type), all[1], squares, 1));
        CHECK(near(compute(type), all[3], sum_g, 1 + count / 8) && near(compute(type), all[4], sum_gx, 1 + count / 8));
    }
}

static void check_columns(aclDataType type, int64_t rows, int64_t cols)
{
    struct norm_types t = {type, type, type};
    aclDataType c = compute(type);
    int64_t size = (int64_t)dtype_size(type), wide = (int64_t)dtype_size(c), count = rows * cols;
    size_t bytes = (size_t)(count * size), row = (size_t)(cols * wide);
    char *x = harness_buffer(0, bytes), *g = harness_buffer(1, bytes), *array[4];
    harness_fill(type, x, size, count, 2, 4);
    harness_fill(type, g, size, count, -1, 1);
    for (int k = 0; k < 4; k++)
        harness_fill(c, array[k] = harness_buffer(6 + k, row), wide, cols, k ? -1 : 2, k ? 1 : 4);
    char *first_y = harness_buffer(2, bytes), *first_dx = harness_buffer(3, bytes);
    char *first_sum = harness_buffer(10, (size_t)(16 * cols));
    for (int level = 0; level < harness_levels(); level++) {
        char *y = level ? harness_buffer(4, bytes) : first_y, *dx = level ? harness_buffer(5, bytes) : first_dx;
        double *sum = (double *)(level ? harness_buffer(11, (size_t)(16 * cols)) : first_sum);
        memset(sum, 0, (size_t)(16 * cols));
        tables[level]->sums_columns(&t, rows, cols, g, x, array[0], sum, sum + cols);
        tables[level]->scale_columns(&t, rows, cols, x, array[0], array[1], array[2], y);
        tables[level]->gradient_columns(&t, rows, cols, g, x, array[0], array[1], array[2], array[3], dx);
        harness_guard(level ? 4 : 2), harness_guard(level ? 5 : 3), harness_guard(level ? 11 : 10);
        if (level) {
            CHECK(memcmp(sum, first_sum, (size_t)(16 * cols)) == 0 && memcmp(y, first_y, bytes) == 0 &&
                  memcmp(dx, first_dx, bytes) == 0);
            continue;
        }
        int wrong = 0;
        for (int64_t j = 0; j < cols; j++) {
            long double k[4], sum_g = 0, sum_gx = 0;
            for (int a = 0; a < 4; a++)
                k[a] = value_at(c, array[a] + j * wide);
            for (int64_t r = 0; r < rows; r++) {
                int64_t at = (r * cols + j) * size;
                long double v = value_at(type, x + at), w = value_at(type, g + at);
                sum_g += w, sum_gx += w * (v - k[0]);
                wrong += !near(type, value_at(type, y + at), (v - k[0]) * k[1] + k[2], 1);
                wrong += !near(type, value_at(type, dx + at), w * k[1] - k[2] - (v - k[0]) * k[3], 1);
            }
            wrong += !near(c, sum[j], sum_g, 1 + rows / 8) || !near(c, sum[cols + j], sum_gx, 1 + rows / 8);
        }
        CHECK_EQ(wrong, 0);
    }
}

/* Layer or RMS norm: statistics, values and gradients of one set of rows. */
static void check_layer(aclDataType type, int64_t rows, int64_t n, bool rms, bool affine)
{
    aclDataType c = compute(type);
    int64_t size = (int64_t)dtype_size(type), wide = (int64_t)dtype_size(c), count = rows * n;
    size_t bytes = (size_t)(count * size), row = (size_t)(n * wide), column = (size_t)(rows * wide);
    char *x = harness_buffer(0, bytes), *g = harness_buffer(1, bytes), *w = harness_buffer(6, row),
         *b = harness_buffer(7, row);
    harness_fill(type, x, size, count, -1, 3);
    harness_fill(type, g, size, count, -1, 1);
    harness_fill(c, w, wide, n, -1, 1);
    harness_fill(c, b, wide, n, -1, 1);
    struct norm_layer l = {{type, type, type}, n, 1e-3, rms, affine ? w : NULL, affine && !rms ? b : NULL};
    char *first[6];
    size_t sizes[6] = {bytes, column, column, bytes, row, row};
    for (int k = 0; k < 6; k++)
        first[k] = harness_buffer(8 + k, sizes[k]);
    for (int level = 0; level < harness_levels(); level++) {
        char *out[6];
        for (int k = 0; k < 6; k++) {
            out[k] = level ? harness_buffer(14 + k, sizes[k]) : first[k];
            memset(out[k], 0, sizes[k]);
        }
        tables[level]->layer(&l, rows, x, out[0], out[1], out[2]);
        tables[level]->layer_gradient(&l, rows, g, x, out[1], out[2], out[3], out[4], out[5]);
        for (int k = 0; k < 6; k++) {
            harness_guard(k + (level ? 14 : 8));
            if (level)
                CHECK(memcmp(out[k], first[k], sizes[k]) == 0);
        }
        if (level)
            continue;
        int wrong = 0;
        for (int64_t r = 0; r < rows; r++) {
            long double mean = 0, squares = 0, sum = 0, sum_x = 0;
            for (int64_t i = 0; !rms && i < n; i++)
                mean += value_at(type, x + (r * n + i) * size) / (long double)n;
            for (int64_t i = 0; i < n; i++) {
                long double d = value_at(type, x + (r * n + i) * size) - mean;
                squares += d * d / n;
            }
            long double rstd = 1 / sqrtl(squares + 1e-3L);
            wrong +=
                !near(c, value_at(c, out[2] + r * wide), rstd, 0) || !near(c, value_at(c, out[1] + r * wide), mean, 1);
            for (int64_t i = 0; i < n; i++) {
                long double gw = value_at(type, g + (r * n + i) * size) * (affine ? value_at(c, w + i * wide) : 1);
                sum += rms ? 0 : gw / n;
                sum_x += gw * (value_at(type, x + (r * n + i) * size) - mean) * rstd / n;
            }
            for (int64_t i = 0; i < n; i++) {
                int64_t at = (r * n + i) * size;
                long double hat = (value_at(type, x + at) - mean) * rstd, gain = affine ? value_at(c, w + i * wide) : 1;
                long double y = hat * gain + (l.bias ? value_at(c, b + i * wide) : 0);
                wrong += !near(type, value_at(type, out[0] + at), y, 1);
                long double dx = rstd * (value_at(type, g + at) * gain - sum - hat * sum_x);
                wrong += !near(type, value_at(type, out[3] + at), dx, 4);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            long double dw = 0, db = 0;
            for (int64_t r = 0; r < rows; r++) {
                long double grad = value_at(type, g + (r * n + i) * size), v = value_at(type, x + (r * n + i) * size);
                db += grad;
                dw += grad * (v - (rms ? 0 : value_at(c, out[1] + r * wide))) * value_at(c, out[2] + r * wide);
            }
            wrong += !near(c, value_at(c, out[4] + i * wide), dw, 1 + rows) ||
                     !near(c, value_at(c, out[5] + i * wide), db, 1 + rows);
        }
        CHECK_EQ(wrong, 0);
    }
}

struct bench {
    const struct norm_kernels *kernels;
    char *x, *out, *stats;
};

static void bench_layer(void *arg)
{
    struct bench *b = arg;
    struct norm_layer l = {{ACL_FLOAT, ACL_FLOAT, ACL_FLOAT}, 768, 1e-5, false, b->x, b->x};
    b->kernels->layer(&l, 4, b->x, b->out, b->stats, b->stats + 16);
}

static void bench_moments(void *arg)
{
    struct bench *b = arg;
    double moments[3] = {0};
    b->kernels->moments(&(struct norm_types){ACL_FLOAT, ACL_FLOAT, ACL_FLOAT}, &(struct norm_planes){64, 48, 48}, b->x,
                        moments);
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        char name[48];
        snprintf(name, sizeof name, "norm planes %s", dtype_name(types[t]));
        for (int64_t n = 0; harness_wants(name) && n <= 67; n++)
            check_planes(types[t], n % 7, n);
        for (int64_t n = 130; harness_wants(name) && n < 2000; n += n / 2)
            check_planes(types[t], 3, n);
        snprintf(name, sizeof name, "norm columns %s", dtype_name(types[t]));
        for (int64_t n = 1; harness_wants(name) && n <= 67; n++)
            check_columns(types[t], n % 9, n);
        for (int64_t n = 130; harness_wants(name) && n < 1500; n += n / 2)
            check_columns(types[t], 5, n);
        for (int form = 0; form < 4; form++) {
            snprintf(name, sizeof name, "norm %s %s", form & 1 ? "rms" : "layer", dtype_name(types[t]));
            for (int64_t n = 1; harness_wants(name) && n <= 67; n++)
                check_layer(types[t], n % 4, n, form & 1, form & 2);
            for (int64_t n = 300; harness_wants(name) && n < 3000; n += n / 2)
                check_layer(types[t], 3, n, form & 1, form & 2);
        }
    }
    for (int level = 0; harness_benches() && level < harness_levels(); level++) {
        struct bench b = {tables[level], harness_buffer(0, 3072 * 4), harness_buffer(1, 3072 * 4),
                          harness_buffer(2, 32)};
        harness_fill(ACL_FLOAT, b.x, 4, 3072, -1, 1);
        harness_time("layer norm 4 x 768", level, bench_layer, &b, 3072, 3072 * 8);
        harness_time("moments of planes of 48", level, bench_moments, &b, 3072, 3072 * 4);
    }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution's kernels against index arithmetic: planes from images of every type, packed panels, direct rows, dot
 * products and sums; lengths 0..67, odd strides, special values; the same bits at every level. */
#include "harness.h"
#include "kernels/conv.h"
#include "kernels/matmul.h"

#include <math.h>

static const struct conv_kernels *const tables[] = HARNESS_TABLES(conv_kernels);
static const struct matmul_kernels *const products[] = HARNESS_TABLES(matmul_kernels);
enum { LENGTH = 67, TAPS_MAX = 40 };

static const struct conv_type *type_of(int level, aclDataType type)
{
    return type == ACL_DOUBLE ? &tables[level]->f64 : &tables[level]->f32;
}

static int width_of(int level, aclDataType type)
{
    return type == ACL_DOUBLE ? products[level]->f64.nr : products[level]->f32.nr;
}

static int64_t pick(int64_t n)
{
    return (int64_t)(harness_random() % (uint64_t)n);
}

/* ---- planes ---- */

static void planes_of(aclDataType from, int64_t n)
{
    struct conv_planes p;
    int64_t size = (int64_t)dtype_size(from), wide = from == ACL_DOUBLE ? 8 : 4, reach = 1, count = 1;
    for (int d = 0; d < 3; d++) {
        p.size[d] = d == 2 ? n : 1 + pick(4);
        p.step[d] = 1 + pick(3);
        p.residues[d] = 1 + pick(p.step[d]);
        p.before[d] = pick(4);
        p.plane[d] = (p.size[d] + p.before[d] + pick(3)) / p.step[d] + 1;
        count *= p.residues[d] * p.plane[d];
    }
    p.stride[2] = 1 + pick(3), p.stride[1] = p.stride[2] * n + pick(3), p.stride[0] = p.stride[1] * p.size[1] + 1;
    for (int d = 0; d < 3; d++)
        reach += (p.size[d] - 1) * p.stride[d];
    char *image = harness_buffer(0, (size_t)(reach * size)), *want = harness_buffer(1, (size_t)(count * wide));
    harness_fill(from, image, size, reach, 0, 0);
    int64_t i = 0;
    for (int64_t residue = 0; residue < p.residues[0] * p.residues[1] * p.residues[2]; residue++)
        for (int64_t place = 0; place < p.plane[0] * p.plane[1] * p.plane[2]; place++, i++) {
            const int64_t r[3] = {residue / (p.residues[1] * p.residues[2]), residue / p.residues[2] % p.residues[1],
                                  residue % p.residues[2]};
            const int64_t x[3] = {place / (p.plane[1] * p.plane[2]), place / p.plane[2] % p.plane[1],
                                  place % p.plane[2]};
            int64_t at = 0;
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                int64_t coordinate = x[d] * p.step[d] + r[d] - p.before[d];
                inside &= coordinate >= 0 && coordinate < p.size[d];
                at += coordinate * p.stride[d];
            }
            if (!inside)
                memset(want + i * wide, 0, (size_t)wide);
            else if (from == ACL_FLOAT || from == ACL_DOUBLE)
                memcpy(want + i * wide, image + at * size, (size_t)size);
            else
                harness_put(ACL_FLOAT, want + i * wide, harness_value(from, image + at * size));
        }
    for (int level = 0; level < harness_levels(); level++) {
        char *to = harness_buffer(2, (size_t)(count * wide));
        tables[level]->planes(to, image, from, &p);
        harness_guard(2);
        harness_compare(from == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT, to, want, wide, count, 0, 0,
                        harness_level_name(level));
    }
}

/* ---- panels ---- */

/* Runs of together `pixels` ≤ width pixels; returns how many. */
static int make_runs(struct conv_run *run, int pixels)
{
    int runs = 0;
    for (int to = 0; to < pixels; runs++) {
        int count = 1 + (int)pick(pixels - to);
        run[runs] = (struct conv_run){pick(50), to, count};
        to += count;
    }
    return runs;
}

static void panels_of(aclDataType type, int64_t k)
{
    int64_t size = (int64_t)dtype_size(type), at[LENGTH + 1], elements = 200 + CONV_SLACK;
    char *planes = harness_buffer(0, (size_t)(elements * size));
    struct conv_run run[64];
    harness_fill(type, planes, size, elements, 0, 0);
    for (int64_t t = 0; t < k; t++)
        at[t] = pick(100);
    for (int level = 0; level < harness_levels(); level++) {
        int width = width_of(level, type), pixels = 1 + (int)pick(width), runs = make_runs(run, pixels);
        int64_t n = k < width ? k : width; /* of the turned panel */
        char *to = harness_buffer(1, (size_t)((k * width + CONV_SLACK) * size));
        char *turned = harness_buffer(2, (size_t)((pixels + 7) * width * size));
        int wrong = 0;
        type_of(level, type)->pack(to, planes, at, k, run, runs);
        type_of(level, type)->pack_turned(turned, planes, at, n, run, runs);
        harness_guard(1), harness_guard(2);
        for (int r = 0; r < runs; r++)
            for (int x = 0; x < run[r].count; x++) {
                for (int64_t t = 0; t < k; t++)
                    wrong += memcmp(to + (t * width + run[r].to + x) * size, planes + (at[t] + run[r].from + x) * size,
                                    (size_t)size) != 0;
                for (int64_t t = 0; t < n; t++)
                    wrong += memcmp(turned + ((run[r].to + x) * width + t) * size,
                                    planes + (at[t] + run[r].from + x) * size, (size_t)size) != 0;
            }
        CHECK_EQ(wrong, 0);
    }
}

/* ---- sums ---- */

static void rows_of(aclDataType type, int rows, int64_t count, int64_t taps)
{
    int64_t size = (int64_t)dtype_size(type), at[TAPS_MAX], elements = 100 + count + CONV_SLACK;
    char *planes = harness_buffer(0, (size_t)(elements * size * rows));
    char *weight = harness_buffer(1, (size_t)(taps * size * rows)), *bias = harness_buffer(2, (size_t)(size * rows));
    char *want = harness_buffer(3, (size_t)(count * size * rows));
    double range = count % 2 ? 0 : 3; /* special values too */
    harness_fill(type, planes, size, elements * rows, -range, range);
    harness_fill(type, weight, size, taps * rows, -3, 3);
    harness_fill(type, bias, size, rows, -3, 3);
    for (int64_t t = 0; t < taps; t++)
        at[t] = pick(100);
    for (int i = 0; i < rows; i++)
        for (int64_t x = 0; x < count; x++) {
            double sum = 0;
            for (int64_t t = 0; t < taps; t++) {
                double a = harness_value(type, weight + (i * taps + t) * size),
                       b = harness_value(type, planes + (i * elements + at[t] + x) * size);
                sum = type == ACL_DOUBLE ? fma(a, b, sum) : (double)fmaf((float)a, (float)b, (float)sum);
            }
            harness_put(type, want + (i * count + x) * size, sum + (i % 2 ? 0 : harness_value(type, bias + i * size)));
        }
    for (int level = 0; level < harness_levels(); level++) {
        struct conv_row row[CONV_ROWS];
        char *y = harness_buffer(4, (size_t)(count * size * rows)), context[64];
        for (int i = 0; i < rows; i++)
            row[i] = (struct conv_row){y + i * count * size, planes + i * elements * size, weight + i * taps * size,
                                       i % 2 ? NULL : bias + i * size};
        type_of(level, type)->rows(row, rows, count, at, taps);
        harness_guard(4);
        snprintf(context, sizeof context, "%s, %d rows of %d, %d taps", harness_level_name(level), rows, (int)count,
                 (int)taps);
        /* every tap in order and fused: the reference's own bits (a sum of +0 and -0 apart) */
        harness_compare(type, y, want, size, count * rows, 0.001, 0, context);
    }
}

static void sums_of(aclDataType type, int64_t rows, int64_t columns)
{
    int64_t size = (int64_t)dtype_size(type), pitch = columns + 3, n = rows * columns,
            span = (rows - 1) * pitch + columns;
    char *y = harness_buffer(0, (size_t)(n * size)), *planes = harness_buffer(1, (size_t)(span * size));
    long double dot = 0.5L, total = 0, scale = 1;
    harness_fill(type, y, size, n, -3, 3);
    harness_fill(type, planes, size, span, -3, 3);
    for (int64_t i = 0; i < n; i++) {
        double a = harness_value(type, y + i * size),
               b = harness_value(type, planes + (i / columns * pitch + i % columns) * size);
        dot += (long double)a * b, total += a, scale += fabsl((long double)a * b) + fabs(a);
    }
    char first[2][8];
    for (int level = 0; level < harness_levels(); level++) {
        char *sum = harness_buffer(2, (size_t)size), *all = harness_buffer(3, (size_t)size);
        harness_put(type, sum, 0.5);
        type_of(level, type)->dot(sum, y, planes, rows, columns, pitch);
        type_of(level, type)->total(all, y, n);
        harness_guard(2), harness_guard(3);
        if (level) {
            CHECK(memcmp(sum, first[0], (size_t)size) == 0 && memcmp(all, first[1], (size_t)size) == 0);
            continue;
        }
        memcpy(first[0], sum, (size_t)size), memcpy(first[1], all, (size_t)size);
        long double limit = scale * (type == ACL_DOUBLE ? 1e-15L : 5e-7L);
        CHECK(fabsl(harness_value(type, sum) - dot) <= limit && fabsl(harness_value(type, all) - total) <= limit);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType images[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16};
    char name[40];
    harness_begin(argc, argv);
    for (size_t t = 0; t < 4; t++) {
        snprintf(name, sizeof name, "conv planes %s", dtype_name(images[t]));
        for (int64_t n = 1; n <= LENGTH && harness_wants(name); n++)
            for (int i = 0; i < 8; i++)
                planes_of(images[t], n);
    }
    for (size_t t = 0; t < 2; t++) {
        aclDataType type = images[t];
        snprintf(name, sizeof name, "conv pack %s", dtype_name(type));
        for (int64_t k = 0; k <= LENGTH && harness_wants(name); k++)
            for (int i = 0; i < 8; i++)
                panels_of(type, k);
        snprintf(name, sizeof name, "conv rows %s", dtype_name(type));
        for (int64_t count = 0; count <= LENGTH && harness_wants(name); count++)
            for (int rows = 1; rows <= CONV_ROWS; rows++)
                rows_of(type, rows, count, (count * 7 + rows) % TAPS_MAX);
        snprintf(name, sizeof name, "conv sums %s", dtype_name(type));
        for (int64_t columns = 1; columns <= LENGTH && harness_wants(name); columns++)
            for (int64_t rows = 1; rows <= 4; rows++)
                sums_of(type, rows, columns);
    }
    return harness_end();
}

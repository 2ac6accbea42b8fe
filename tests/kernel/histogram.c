/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting kernels of every type against one-element loops; the same counts at every level. */
#include "harness.h"
#include "kernels/histogram.h"

#include <math.h>

static const struct histogram_kernels *const tables[] = HARNESS_TABLES(histogram_kernels);
enum { BINS = 13, LENGTHS = 70 };

static int64_t length(int i) /* 0..67, and around the kernels' blocks */
{
    return i < 68 ? i : i == 68 ? 1027 : 513;
}

static float rounded(aclDataType type, float x)
{
    char at[4];
    harness_put(type, at, x);
    return (float)harness_value(type, at);
}

static void bins_of(aclDataType type, int64_t n)
{
    int64_t size = (int64_t)dtype_size(type), want[BINS] = {0};
    char *x = harness_buffer(0, (size_t)(n * size));
    const double low = -20, high = 77;
    bool small = type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16;
    harness_fill(type, x, size, n, n % 2 ? 0 : type == ACL_UINT8 ? 0 : -30, n % 2 ? 0 : 90);
    for (int64_t i = 0; i < n; i++) {
        double v = harness_value(type, x + i * size);
        if (!(v >= low && v <= high))
            continue;
        int64_t bin = (int64_t)((v - low) * BINS / (high - low));
        if (small) {
            float at = rounded(type, rounded(type, (float)v - (float)low) * rounded(type, BINS));
            bin = (int64_t)rounded(type, at / rounded(type, (float)(high - low)));
        }
        want[bin < BINS ? bin : BINS - 1]++;
    }
    for (int level = 0; level < harness_levels(); level++) {
        int64_t *count = (int64_t *)harness_buffer(1, sizeof want);
        memset(count, 0, sizeof want);
        tables[level]->bins(type, n, x, low, high, BINS, count);
        harness_guard(1);
        CHECK(memcmp(count, want, sizeof want) == 0);
    }
}

static void range_of(aclDataType type, int64_t n)
{
    int64_t size = (int64_t)dtype_size(type);
    char *x = harness_buffer(0, (size_t)(n * size));
    double least = INFINITY, most = -INFINITY;
    harness_fill(type, x, size, n, n % 2 ? 0 : type == ACL_UINT8 ? 0 : -30, n % 2 ? 0 : 90);
    for (int64_t i = 0; i < n; i++) {
        double v = harness_value(type, x + i * size);
        least = isnan(v) || isnan(least) ? NAN : fmin(least, v);
        most = isnan(v) || isnan(most) ? NAN : fmax(most, v);
    }
    for (int level = 0; level < harness_levels() && n; level++) {
        double low = 0, high = 0;
        tables[level]->range(type, n, x, &low, &high);
        CHECK(isnan(least) ? isnan(low) && isnan(high) : low == least && high == most);
    }
}

static void values_of(aclDataType type, aclDataType weight_type, int64_t n, int64_t bad)
{
    int64_t size = (int64_t)dtype_size(type), weight_size = (int64_t)dtype_size(weight_type);
    int64_t want[BINS] = {0}, first_bad = -1;
    double sums[BINS] = {0};
    char *x = harness_buffer(0, (size_t)(n * size)), *weight = harness_buffer(2, (size_t)(n * weight_size));
    harness_fill(weight_type, weight, weight_size, n, 0, 9);
    for (int64_t i = 0; i < n; i++) {
        int64_t value = i == bad ? (type == ACL_UINT8 || i % 2 ? BINS : -1) : (int64_t)(harness_random() % BINS);
        memcpy(x + i * size, &value, (size_t)size);
        if (first_bad < 0 && (value < 0 || value >= BINS))
            first_bad = i;
        if (first_bad < 0) {
            want[value]++;
            sums[value] += harness_value(weight_type, weight + i * weight_size);
        }
    }
    for (int level = 0; level < harness_levels(); level++) {
        int64_t *count = (int64_t *)harness_buffer(1, sizeof want);
        double *sum = (double *)harness_buffer(3, sizeof sums);
        memset(count, 0, sizeof want), memset(sum, 0, sizeof sums);
        CHECK_EQ(tables[level]->values(type, n, x, BINS, count), first_bad);
        CHECK_EQ(tables[level]->weights(type, n, x, weight_type, weight, BINS, sum), first_bad);
        harness_guard(1), harness_guard(3);
        CHECK(memcmp(count, want, sizeof want) == 0 && memcmp(sum, sums, sizeof sums) == 0);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16, ACL_UINT8,
                                        ACL_INT8,  ACL_INT16,  ACL_INT32,   ACL_INT64};
    harness_begin(argc, argv);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        char name[40];
        snprintf(name, sizeof name, "histogram %s", dtype_name(types[t]));
        if (!harness_wants(name))
            continue;
        for (int i = 0; i < LENGTHS; i++) {
            bins_of(types[t], length(i));
            range_of(types[t], length(i));
            if (dtype_is_float(types[t]))
                continue;
            values_of(types[t], types[(t + (size_t)i) % 9], length(i), -1);
            values_of(types[t], types[(t + (size_t)i) % 9], length(i), i / 2);
        }
    }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Ordering rows of every type against a comparison of the elements themselves; the least k against the whole order. */
#include "harness.h"
#include "kernels/sort.h"

#include <math.h>

static const struct sort_kernels *const tables[] = HARNESS_TABLES(sort_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,   ACL_DOUBLE, ACL_INT8,   ACL_INT16, ACL_INT32,
                                    ACL_INT64, ACL_UINT8,   ACL_UINT16, ACL_UINT32, ACL_UINT64, ACL_BOOL};

/* -1, 0, 1 as a comes before, with or after b, ascending; NaN after all. */
static int compare(aclDataType type, const char *a, const char *b)
{
    if (dtype_is_float(type)) {
        double x, y;
        float f, g;
        uint16_t h, k;
        if (type == ACL_DOUBLE) {
            memcpy(&x, a, 8), memcpy(&y, b, 8);
        } else if (type == ACL_FLOAT) {
            memcpy(&f, a, 4), memcpy(&g, b, 4);
            x = f, y = g;
        } else {
            memcpy(&h, a, 2), memcpy(&k, b, 2);
            x = type == ACL_BF16 ? bf16_to_float(h) : f16_to_float(h);
            y = type == ACL_BF16 ? bf16_to_float(k) : f16_to_float(k);
        }
        if (isnan(x) || isnan(y))
            return isnan(x) - isnan(y);
        return (x > y) - (x < y);
    }
    int64_t x = 0, y = 0;
    size_t bytes = dtype_size(type);
    memcpy(&x, a, bytes), memcpy(&y, b, bytes);
    bool is_signed = type == ACL_INT8 || type == ACL_INT16 || type == ACL_INT32 || type == ACL_INT64;
    if (!is_signed)
        return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    int shift = (int)(64 - 8 * bytes);
    x = (int64_t)((uint64_t)x << shift) >> shift, y = (int64_t)((uint64_t)y << shift) >> shift;
    return (x > y) - (x < y);
}

static void check_order(aclDataType type, const char *data, int64_t step, bool wide, bool descending, const void *items,
                        int64_t n)
{
    int wrong = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t a = sort_place(wide, items, i - 1), b = sort_place(wide, items, i);
        int order = compare(type, data + a * step, data + b * step);
        order = descending ? -order : order;
        wrong += order > 0 || (order == 0 && a > b);
    }
    CHECK_EQ(wrong, 0);
}

static void check_row(aclDataType type, int64_t n, bool few_values)
{
    int64_t element = (int64_t)dtype_size(type), step = element * (1 + n % 3);
    bool wide = element == 8 || n % 5 == 0, descending = n % 2;
    int64_t item = wide ? (int64_t)sizeof(struct sort_wide) : 8;
    char *data = harness_buffer(0, (size_t)(n ? (n - 1) * step + element : 0));
    harness_fill(type, data, step, n, 0, few_values ? 3 : 0);
    for (int level = 0; level < harness_levels(); level++) {
        char *items = harness_buffer(1, (size_t)(n * item)), *scratch = harness_buffer(2, (size_t)(n * item));
        tables[level]->load(type, wide, descending, n, items, data, step);
        char *sorted = tables[level]->sort(wide, n, items, scratch);
        check_order(type, data, step, wide, descending, sorted, n);
        char *whole = harness_buffer(3, (size_t)(n * item));
        memcpy(whole, sorted, (size_t)(n * item));
        for (int64_t k = 0; k <= n; k += 1 + n / 3) {
            tables[level]->load(type, wide, descending, n, items, data, step);
            tables[level]->least(wide, n, k, items, scratch);
            CHECK(memcmp(items, whole, (size_t)(k * item)) == 0);
            if (!k)
                continue;
            tables[level]->load(type, wide, descending, n, items, data, step);
            const void *nth = tables[level]->nth(wide, n, k, items, scratch);
            CHECK(memcmp(nth, whole + (k - 1) * item, (size_t)item) == 0);
        }
        char *values = harness_buffer(4, (size_t)(n * element)), *places = harness_buffer(5, (size_t)(n * 8));
        tables[level]->gather(wide, (size_t)element, n, whole, values, element, data, step);
        tables[level]->places(wide, n, whole, places, 8);
        int wrong = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t place;
            memcpy(&place, places + i * 8, 8);
            wrong += place != sort_place(wide, whole, i) ||
                     memcmp(values + i * element, data + place * step, (size_t)element) != 0;
        }
        CHECK_EQ(wrong, 0);
        for (int b = 1; b <= 5; b++)
            harness_guard(b);
    }
}

struct bench {
    const struct sort_kernels *kernels;
    int64_t n, k;
    char *data, *items, *scratch;
};

static void bench_sort(void *arg)
{
    struct bench *b = arg;
    b->kernels->load(ACL_FLOAT, false, false, b->n, b->items, b->data, 4);
    if (b->k)
        b->kernels->least(false, b->n, b->k, b->items, b->scratch);
    else
        b->kernels->sort(false, b->n, b->items, b->scratch);
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        char name[32];
        snprintf(name, sizeof name, "sort %s", dtype_name(types[t]));
        if (!harness_wants(name))
            continue;
        for (int64_t n = 0; n <= 67; n++)
            check_row(types[t], n, n % 4 == 0);
        for (int64_t n = 500; n < 3000; n += 311) {
            check_row(types[t], n, false);
            check_row(types[t], n + 1, true);
        }
    }
    static const int64_t sizes[] = {16, 64, 500, 4096, 65536};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++) {
            char name[32];
            snprintf(name, sizeof name, "%s %d", k ? "least 10 of" : "sort", (int)sizes[i]);
            struct bench b = {NULL,
                              sizes[i],
                              k ? 10 : 0,
                              harness_buffer(0, (size_t)sizes[i] * 4),
                              harness_buffer(1, (size_t)sizes[i] * 8),
                              harness_buffer(2, (size_t)sizes[i] * 8)};
            harness_fill(ACL_FLOAT, b.data, 4, b.n, -100, 100);
            for (int level = 0; level < harness_levels(); level++) {
                b.kernels = tables[level];
                harness_time(name, level, bench_sort, &b, b.n, 12 * b.n);
            }
        }
    return harness_end();
}

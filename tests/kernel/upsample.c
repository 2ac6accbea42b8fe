/* SPDX-License-Identifier: BSD-3-Clause */
/* Resampling along an axis against the sum written out, one element at a time: lists of 0 to 6 taps in any order, rows
 * of 1 to 67 and more elements, work cut at any place; the same bits at every level. */
#include "harness.h"
#include "kernels/upsample.h"

static const struct upsample_kernels *const tables[] = HARNESS_TABLES(upsample_kernels);
enum { OUT_MAX = 80, TAPS_MAX = OUT_MAX * 6, PRECISION = 12 };

static int64_t first[OUT_MAX + 1], at[TAPS_MAX];
static double weight[TAPS_MAX];
static char packed[TAPS_MAX * 8];

static int64_t pick(int64_t n)
{
    return (int64_t)(harness_random() % (uint64_t)n);
}

static struct upsample_axis make_axis(aclDataType type, int64_t in, int64_t out)
{
    int64_t taps = 0;
    for (int64_t o = 0; o < out; o++) {
        first[o] = taps;
        for (int64_t k = pick(7); k > 0; k--, taps++) {
            at[taps] = pick(in);
            weight[taps] = harness_uniform(-0.3, 1.2);
            if (type == ACL_DOUBLE)
                memcpy(packed + 8 * taps, &weight[taps], 8);
            else if (type == ACL_FLOAT)
                memcpy(packed + 4 * taps, &(float){(float)weight[taps]}, 4);
            else
                memcpy(packed + 2 * taps, &(int16_t){(int16_t)(weight[taps] * (1 << PRECISION))}, 2);
        }
    }
    first[out] = taps;
    return (struct upsample_axis){in, out, first, at, packed, PRECISION};
}

static void one_sum(aclDataType type, const struct upsample_axis *a, int64_t o, const char *x, int64_t step, char *to)
{
    float narrow = 0;
    double wide = 0;
    int32_t whole = 1 << (PRECISION - 1);
    for (int64_t k = a->first[o]; k < a->first[o + 1]; k++) {
        double v = harness_value(type, x + a->at[k] * step);
        wide += weight[k] * v;
        narrow += (float)weight[k] * (float)v;
        whole += (int16_t)(weight[k] * (1 << PRECISION)) * (int32_t)v;
    }
    whole >>= PRECISION;
    whole = whole < 0 ? 0 : whole > 255 ? 255 : whole;
    harness_put(type, to, type == ACL_DOUBLE ? wide : type == ACL_FLOAT ? (double)narrow : (double)whole);
}

static void one(aclDataType type, int64_t outer, int64_t in, int64_t out, int64_t inner)
{
    int64_t size = (int64_t)dtype_size(type), rows = outer * out, cut = pick(rows + 1);
    struct upsample_axis a = make_axis(type, in, out);
    char *x = harness_buffer(0, (size_t)(outer * in * inner * size)), context[96];
    char *want = harness_buffer(1, (size_t)(rows * inner * size));
    harness_fill(type, x, size, outer * in * inner, type == ACL_UINT8 ? 0 : -8, type == ACL_UINT8 ? 255 : 8);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < inner; j++)
            one_sum(type, &a, r % out, x + (r / out * in * inner + j) * size, inner * size,
                    want + (r * inner + j) * size);
    for (int level = 0; level < harness_levels(); level++) {
        char *y = harness_buffer(2, (size_t)(rows * inner * size));
        tables[level]->axis(&a, type, x, y, inner, 0, cut);
        tables[level]->axis(&a, type, x, y, inner, cut, rows);
        harness_guard(2);
        snprintf(context, sizeof context, "%s, %d x %d -> %d, inner %d", harness_level_name(level), (int)outer, (int)in,
                 (int)out, (int)inner);
        harness_compare(type, y, want, size, rows * inner, 0, 0, context);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_UINT8};
    char name[40];
    harness_begin(argc, argv);
    for (int t = 0; t < 3; t++) {
        snprintf(name, sizeof name, "upsample %s", dtype_name(types[t]));
        if (!harness_wants(name))
            continue;
        for (int64_t n = 1; n <= 67; n++) {
            one(types[t], 1 + n % 3, n, 1 + n % 9, 1);
            one(types[t], 1 + n % 2, 1 + n % 9, n, 1);
            one(types[t], 2, 5, 4, n);
        }
        one(types[t], 1, 3, 4, 257);
        one(types[t], 1, 3, 4, 600);
    }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of rows against sums, means and maxima element by element; equal bits at all levels. */
#include "harness.h"
#include "kernels/bag.h"

static const struct bag_kernels *const tables[] = HARNESS_TABLES(bag_kernels);
enum { ROWS = 9, MOST = 40 };

static void one(aclDataType type, enum bag_mode mode, int64_t width, int64_t n, bool factors)
{
    int64_t size = (int64_t)dtype_size(type), index[MOST];
    struct bag b = {mode, width, n % 3 ? 4 : -1};
    char *table = harness_buffer(0, (size_t)(ROWS * width * size)), *factor = harness_buffer(1, (size_t)(n * size)),
         *want = harness_buffer(2, (size_t)(width * size)), context[80];
    int64_t from[128] = {0}, counted = 0;
    harness_fill(type, table, size, ROWS * width, -4, 4);
    harness_fill(type, factor, size, n, -2, 2);
    for (int64_t i = 0; i < n; i++) {
        index[i] = (int64_t)(harness_random() % ROWS);
        counted += index[i] != b.padding;
    }
    for (int64_t j = 0; j < width; j++) {
        double wide = 0;
        float narrow = 0;
        bool any = false;
        for (int64_t i = 0; i < n; i++) {
            if (index[i] == b.padding)
                continue;
            double v = harness_value(type, table + (index[i] * width + j) * size);
            double f = factors ? harness_value(type, factor + i * size) : 1;
            if (mode == BAG_MAX && (!any || v > wide)) {
                wide = v, narrow = (float)v;
                from[j] = index[i];
            } else if (mode != BAG_MAX) {
                wide += f * v;
                narrow += (float)f * (float)v;
            }
            any = true;
        }
        if (mode == BAG_MEAN && counted)
            wide /= (double)counted, narrow /= (float)counted;
        harness_put(type, want + j * size, type == ACL_DOUBLE ? wide : (double)narrow);
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *out = harness_buffer(3, (size_t)(width * size));
        int64_t *largest = (int64_t *)harness_buffer(4, (size_t)(width * 8));
        CHECK_EQ(tables[level]->reduce(&b, type, table, index, factors ? factor : NULL, n, out,
                                       mode == BAG_MAX ? largest : NULL),
                 counted);
        harness_guard(3);
        harness_guard(4);
        snprintf(context, sizeof context, "%s, %d of %d", harness_level_name(level), (int)n, (int)width);
        harness_compare(type, out, want, size, width, 0, 0, context);
        for (int64_t j = 0; mode == BAG_MAX && j < width; j++)
            CHECK_EQ(largest[j], from[j]);
    }
}

int main(int argc, char **argv)
{
    char name[40];
    harness_begin(argc, argv);
    for (int t = 0; t < 2; t++)
        for (int mode = BAG_SUM; mode <= BAG_MAX; mode++) {
            snprintf(name, sizeof name, "bag %s, mode %d", t ? "double" : "float", mode);
            if (harness_wants(name))
                for (int64_t width = 1; width <= 67; width++)
                    one(t ? ACL_DOUBLE : ACL_FLOAT, (enum bag_mode)mode, width, width % 13,
                        mode == BAG_SUM && width % 2);
        }
    return harness_end();
}

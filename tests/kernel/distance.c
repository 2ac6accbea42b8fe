/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances against the norm's formula in long double, gradients against differences of it; equal bits at all levels.
 */
#include "harness.h"
#include "kernels/distance.h"

#include <math.h>

static const struct distance_kernels *const tables[] = HARNESS_TABLES(distance_kernels);

static long double norm(const double *x, const double *y, int64_t d, double p)
{
    long double sum = 0;
    for (int64_t i = 0; i < d; i++) {
        long double a = fabsl((long double)x[i] - y[i]);
        sum = isinf(p) ? fmaxl(sum, a) : p == 0 ? sum + (a != 0) : sum + powl(a, p);
    }
    return isinf(p) || p == 0 ? sum : powl(sum, 1 / (long double)p);
}

static void one(aclDataType type, int64_t n, int64_t d, double p)
{
    enum { MOST = 80 };
    int64_t size = (int64_t)dtype_size(type);
    double x[MOST], y[MOST * 8], near = type == ACL_FLOAT ? 2e-6 : 1e-13;
    char first[2][MOST * 8];
    char *rx = harness_buffer(0, (size_t)(d * size)), *ry = harness_buffer(1, (size_t)(n * d * size)),
         *g = harness_buffer(2, (size_t)(n * size));
    for (int64_t i = 0; i < d; i++) {
        harness_put(type, rx + i * size, harness_uniform(-2, 2));
        x[i] = harness_value(type, rx + i * size);
    }
    for (int64_t i = 0; i < n * d; i++) {
        harness_put(type, ry + i * size, i % 7 == 3 ? x[i % d] : harness_uniform(-2, 2));
        y[i] = harness_value(type, ry + i * size);
    }
    for (int64_t i = 0; i < n; i++)
        harness_put(type, g + i * size, harness_uniform(-1, 1));
    for (int level = 0; level < harness_levels(); level++) {
        char *out = harness_buffer(3, (size_t)(n * size)), *gx = harness_buffer(4, (size_t)(d * size));
        memset(gx, 0, (size_t)(d * size));
        tables[level]->row(type, rx, ry, n, d, p, out);
        tables[level]->gradient(type, rx, ry, g, out, n, d, p, gx);
        harness_guard(3);
        harness_guard(4);
        if (level) {
            CHECK(memcmp(first[0], out, (size_t)(n * size)) == 0 && memcmp(first[1], gx, (size_t)(d * size)) == 0);
            continue;
        }
        memcpy(first[0], out, (size_t)(n * size));
        memcpy(first[1], gx, (size_t)(d * size));
        int wrong = 0;
        for (int64_t j = 0; j < n; j++) {
            double want = (double)norm(x, y + j * d, d, p);
            wrong += !(fabs(harness_value(type, out + j * size) - want) <= near * (1 + want));
        }
        for (int64_t i = 0; i < d && p >= 1 && !isinf(p) && type == ACL_DOUBLE; i++) {
            long double slope = 0, h = 1e-6L, kept = x[i];
            bool smooth = true;
            for (int64_t j = 0; j < n; j++) {
                smooth = smooth && fabsl(kept - y[j * d + i]) > 1e-4L;
                x[i] = (double)(kept + h);
                long double up = norm(x, y + j * d, d, p);
                x[i] = (double)(kept - h);
                slope += (up - norm(x, y + j * d, d, p)) / (2 * h) * harness_value(type, g + j * size);
                x[i] = (double)kept;
            }
            wrong += smooth && !(fabsl(slope - harness_value(type, gx + i * size)) < 1e-5L);
        }
        CHECK_EQ(wrong, 0);
    }
}

int main(int argc, char **argv)
{
    static const double norms[] = {0, 0.5, 1, 1.5, 2, 3, INFINITY};
    char name[40];
    harness_begin(argc, argv);
    for (int t = 0; t < 2; t++)
        for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
            snprintf(name, sizeof name, "distance %s, p = %g", t ? "double" : "float", norms[k]);
            if (harness_wants(name))
                for (int64_t d = 1; d <= 67; d += 3)
                    one(t ? ACL_DOUBLE : ACL_FLOAT, 1 + d % 8, d, norms[k]);
        }
    return harness_end();
}

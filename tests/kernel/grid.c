/* SPDX-License-Identifier: BSD-3-Clause */
/* Grid sampling: values against bilinear, nearest and bicubic sums written out in double for points inside and outside
 * of the image; gradients against differences of values; the same bits at every level and for any cut. */
#include "harness.h"
#include "kernels/grid.h"

#include <math.h>

static const struct grid_kernels *const tables[] = HARNESS_TABLES(grid_kernels);
enum { CHANNELS = 3, POINTS = 40 };

/* Pixel i of a line of n under the padding, or -1. */
static int64_t pixel(const struct grid *g, double i, int64_t n)
{
    double low = g->align ? 0 : -0.5, high = g->align ? (double)n - 1 : (double)n - 0.5;
    if (g->padding == GRID_REFLECTION && high > low) {
        while (i < low || i > high)
            i = i < low ? 2 * low - i : 2 * high - i;
    }
    if (g->padding != GRID_ZEROS)
        i = i < 0 ? 0 : i > (double)(n - 1) ? (double)(n - 1) : i;
    return i >= 0 && i < (double)n ? (int64_t)i : -1;
}

static double cubic(double x)
{
    x = fabs(x);
    return x <= 1 ? (1.25 * x - 2.25) * x * x + 1 : x < 2 ? -0.75 * (((x - 5) * x + 8) * x - 4) : 0;
}

/* The weight of the pixel `at` for coordinate c, in the image's own line of pixels. */
static double value(const struct grid *g, const double *x, const double *point)
{
    double c[3] = {0}, sum = 0;
    for (int d = 0; d < g->dims; d++) { /* c: z, y, x */
        int64_t n = g->size[2 - d];
        double v = g->align ? (point[d] + 1) / 2 * (double)(n - 1) : ((point[d] + 1) * (double)n - 1) / 2;
        double low = g->align ? 0 : -0.5, high = g->align ? (double)n - 1 : (double)n - 0.5;
        if (g->mode != GRID_CUBIC && g->padding == GRID_REFLECTION)
            while (high > low && (v < low || v > high))
                v = v < low ? 2 * low - v : 2 * high - v;
        if (g->mode != GRID_CUBIC && g->padding != GRID_ZEROS)
            v = fmin(fmax(v, 0), (double)(n - 1));
        c[2 - d] = v;
    }
    int reach = g->mode == GRID_CUBIC ? 2 : 1;
    for (int z = -reach; z <= reach; z++)
        for (int y = -reach; y <= reach; y++)
            for (int w = -reach; w <= reach; w++) {
                const int tap[] = {z, y, w};
                double weight = 1;
                int64_t at = 0;
                for (int d = 0; d < 3; d++) {
                    double i = (g->mode == GRID_NEAREST ? rint(c[d]) : floor(c[d])) + tap[d], far = c[d] - i;
                    weight *= d < 3 - g->dims || g->mode == GRID_NEAREST ? (tap[d] == 0)
                              : g->mode == GRID_CUBIC                    ? cubic(far)
                                                                         : fmax(0, 1 - fabs(far));
                    int64_t p = d < 3 - g->dims ? 0 : pixel(g, i, g->size[d]);
                    at = p < 0 || at < 0 ? -1 : at * g->size[d] + p;
                }
                sum += at < 0 || weight == 0 ? 0 : weight * x[at];
            }
    return sum;
}

static void one(aclDataType type, struct grid g)
{
    int64_t size = (int64_t)dtype_size(type), pixels = g.size[0] * g.size[1] * g.size[2];
    double x[CHANNELS * 200], at[POINTS * 3];
    char first[3][CHANNELS * 200 * 8];
    char *image = harness_buffer(0, (size_t)(CHANNELS * pixels * size)),
         *points = harness_buffer(1, (size_t)(POINTS * g.dims * size)),
         *gy = harness_buffer(2, (size_t)(CHANNELS * POINTS * size));
    for (int64_t i = 0; i < CHANNELS * pixels; i++) {
        harness_put(type, image + i * size, harness_uniform(-1, 1));
        x[i] = harness_value(type, image + i * size);
    }
    for (int64_t i = 0; i < POINTS * g.dims; i++) {
        harness_put(type, points + i * size, harness_uniform(-1.7, 1.7));
        at[i] = harness_value(type, points + i * size);
    }
    for (int64_t i = 0; i < CHANNELS * POINTS; i++)
        harness_put(type, gy + i * size, harness_uniform(-1, 1));
    for (int level = 0; level < harness_levels(); level++) {
        const struct grid_kernels *k = tables[level];
        size_t bytes[] = {(size_t)(CHANNELS * POINTS * size), (size_t)(CHANNELS * pixels * size),
                          (size_t)(POINTS * g.dims * size)};
        char *y = harness_buffer(3, bytes[0]), *gx = harness_buffer(4, bytes[1]), *ggrid = harness_buffer(5, bytes[2]);
        char *out[] = {y, gx, ggrid};
        memset(gx, 0, bytes[1]);
        k->sample(&g, type, image, points, y, 0, 17);
        k->sample(&g, type, image, points, y, 17, POINTS);
        k->image_gradient(&g, type, points, gy, gx, 0, 1);
        k->image_gradient(&g, type, points, gy, gx, 1, CHANNELS);
        k->grid_gradient(&g, type, image, points, gy, ggrid, 0, 5);
        k->grid_gradient(&g, type, image, points, gy, ggrid, 5, POINTS);
        for (int b = 0; b < 3; b++) {
            harness_guard(3 + b);
            if (level)
                CHECK(memcmp(first[b], out[b], bytes[b]) == 0);
            else
                memcpy(first[b], out[b], bytes[b]);
        }
        if (level)
            continue;
        double near = type == ACL_DOUBLE ? 1e-12 : 2e-4, step = 1e-6;
        int wrong = 0;
        double along_image = 0, along_values = 0; /* <gx, x> = <gy, y>, since values are linear in the image */
        for (int64_t i = 0; i < CHANNELS * pixels; i++)
            along_image += harness_value(type, gx + i * size) * x[i];
        for (int64_t p = 0; p < POINTS; p++)
            for (int64_t c = 0; c < CHANNELS; c++) {
                double got = harness_value(type, y + (c * POINTS + p) * size);
                wrong += fabs(got - value(&g, x + c * pixels, at + p * g.dims)) > near;
                along_values += got * harness_value(type, gy + (c * POINTS + p) * size);
            }
        CHECK_EQ(wrong, 0);
        CHECK(fabs(along_image - along_values) < 100 * near);
        for (int64_t p = 0; p < POINTS && type == ACL_DOUBLE; p++)
            for (int d = 0; d < g.dims; d++) {
                double moved[2] = {0}, before[3];
                memcpy(before, at + p * g.dims, (size_t)g.dims * 8);
                for (int s = 0; s < 2; s++) {
                    double there[3];
                    memcpy(there, before, sizeof there);
                    there[d] += s ? step : -step;
                    for (int64_t c = 0; c < CHANNELS; c++)
                        moved[s] +=
                            value(&g, x + c * pixels, there) * harness_value(type, gy + (c * POINTS + p) * size);
                }
                double slope = (moved[1] - moved[0]) / (2 * step);
                wrong += fabs(slope - harness_value(type, ggrid + (p * g.dims + d) * size)) > 1e-5;
            }
        CHECK(wrong == 0);
    }
}

int main(int argc, char **argv)
{
    char name[64];
    harness_begin(argc, argv);
    for (int mode = GRID_LINEAR; mode <= GRID_CUBIC; mode++)
        for (int padding = GRID_ZEROS; padding <= GRID_REFLECTION; padding++)
            for (int align = 0; align < 2; align++)
                for (int dims = 2; dims <= (mode == GRID_CUBIC ? 2 : 3); dims++) {
                    struct grid g = {(enum grid_mode)mode,
                                     (enum grid_padding)padding,
                                     align,
                                     dims,
                                     {dims == 3 ? 4 : 1, 5, 6},
                                     CHANNELS,
                                     POINTS};
                    snprintf(name, sizeof name, "grid %d %d %d %d", mode, padding, align, dims);
                    if (!harness_wants(name))
                        continue;
                    one(ACL_FLOAT, g);
                    one(ACL_DOUBLE, g);
                }
    return harness_end();
}

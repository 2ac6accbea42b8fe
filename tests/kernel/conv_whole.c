/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of integers, both ways, against the sum over every pair of pixels; equal at all levels and cuts. */
#include "harness.h"
#include "kernels/conv_whole.h"

static const struct conv_whole_kernels *const tables[] = HARNESS_TABLES(conv_whole_kernels);

static int64_t pick(int64_t n)
{
    return (int64_t)(harness_random() % (uint64_t)n);
}

static int64_t volume(const int64_t *s)
{
    return s[0] * s[1] * s[2];
}

static void one(int dims)
{
    struct conv_whole c = {.images = 1 + pick(2), .groups = 1 + pick(2)};
    int64_t in = 1 + pick(3), out = 1 + pick(3);
    c.channels_x = in * c.groups;
    c.channels_y = out * c.groups;
    for (int d = 0; d < 3; d++) {
        bool flat = d < 3 - dims;
        c.kernel[d] = flat ? 1 : 1 + pick(3);
        c.stride[d] = flat ? 1 : 1 + pick(2);
        c.dilation[d] = flat ? 1 : 1 + pick(2);
        c.before[d] = flat ? 0 : pick(3);
        int64_t span = (c.kernel[d] - 1) * c.dilation[d] + 1;
        c.x[d] = flat ? 1 : span + pick(5);
        c.y[d] = (c.x[d] + 2 * c.before[d] - span) / c.stride[d] + 1;
    }
    int64_t xs = c.images * c.channels_x * volume(c.x), ys = c.images * c.channels_y * volume(c.y),
            ws = c.channels_y * in * volume(c.kernel), y_planes = c.images * c.channels_y,
            x_planes = c.images * c.channels_x;
    int64_t *x = (int64_t *)harness_buffer(0, (size_t)xs * 8), *y = (int64_t *)harness_buffer(1, (size_t)ys * 8),
            *w = (int64_t *)harness_buffer(2, (size_t)ws * 8),
            *bx = (int64_t *)harness_buffer(3, (size_t)c.channels_x * 8),
            *by = (int64_t *)harness_buffer(4, (size_t)c.channels_y * 8),
            *want_y = (int64_t *)harness_buffer(5, (size_t)ys * 8),
            *want_x = (int64_t *)harness_buffer(6, (size_t)xs * 8);
    harness_fill(ACL_INT64, (char *)x, 8, xs, 0, 0);
    harness_fill(ACL_INT64, (char *)y, 8, ys, 0, 0);
    harness_fill(ACL_INT64, (char *)w, 8, ws, -9, 9);
    harness_fill(ACL_INT64, (char *)bx, 8, c.channels_x, -9, 9);
    harness_fill(ACL_INT64, (char *)by, 8, c.channels_y, -9, 9);
    c.w = w;
    for (int64_t i = 0; i < ys; i++)
        want_y[i] = by[i / volume(c.y) % c.channels_y];
    for (int64_t i = 0; i < xs; i++)
        want_x[i] = bx[i / volume(c.x) % c.channels_x];
    for (int64_t i = 0; i < ys; i++)
        for (int64_t j = 0; j < xs; j++) {
            int64_t cy = i / volume(c.y) % c.channels_y, cx = j / volume(c.x) % c.channels_x, k = 0;
            bool meets = i / volume(c.y) / c.channels_y == j / volume(c.x) / c.channels_x && cy / out == cx / in;
            int64_t o = i % volume(c.y), p = j % volume(c.x), po[3], px[3];
            for (int d = 2; d >= 0; d--) {
                po[d] = o % c.y[d], o /= c.y[d];
                px[d] = p % c.x[d], p /= c.x[d];
            }
            for (int d = 0; d < 3; d++) {
                int64_t away = px[d] + c.before[d] - po[d] * c.stride[d];
                meets = meets && away >= 0 && away % c.dilation[d] == 0 && away / c.dilation[d] < c.kernel[d];
                k = k * c.kernel[d] + away / c.dilation[d];
            }
            if (!meets)
                continue;
            uint64_t weight = (uint64_t)w[(cy * in + cx % in) * volume(c.kernel) + k];
            want_y[i] = (int64_t)((uint64_t)want_y[i] + weight * (uint64_t)x[j]);
            want_x[j] = (int64_t)((uint64_t)want_x[j] + weight * (uint64_t)y[i]);
        }
    for (int level = 0; level < harness_levels(); level++) {
        int64_t *got_y = (int64_t *)harness_buffer(7, (size_t)ys * 8),
                *got_x = (int64_t *)harness_buffer(8, (size_t)xs * 8);
        int64_t cut = pick(y_planes + 1), other = pick(x_planes + 1);
        c.bias = by;
        tables[level]->forward(&c, x, got_y, 0, cut);
        tables[level]->forward(&c, x, got_y, cut, y_planes);
        c.bias = bx;
        tables[level]->transposed(&c, got_x, y, 0, other);
        tables[level]->transposed(&c, got_x, y, other, x_planes);
        harness_guard(7);
        harness_guard(8);
        harness_compare(ACL_INT64, (char *)got_y, (char *)want_y, 8, ys, 0, 0, "forward");
        harness_compare(ACL_INT64, (char *)got_x, (char *)want_x, 8, xs, 0, 0, "transposed");
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (int dims = 1; dims <= 3; dims++)
        if (harness_wants(dims == 1 ? "conv int64, 1" : dims == 2 ? "conv int64, 2" : "conv int64, 3"))
            for (int i = 0; i < 60; i++)
                one(dims);
    return harness_end();
}

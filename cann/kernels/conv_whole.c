/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution of integers; see conv_whole.h. Every pair of an image's pixel and a result's pixel is met once: the
 * forward one adds to the result, the transposed one to the image. */
#include "kernels/conv_whole.h"

#include <string.h>

static int64_t volume(const int64_t *size)
{
    return size[0] * size[1] * size[2];
}

/* Along dimension d, the results o that tap k of the kernel reaches inside the image: [*low, *high). */
static void reach(const struct conv_whole *c, int d, int64_t k, int64_t *low, int64_t *high)
{
    int64_t shift = k * c->dilation[d] - c->before[d], stride = c->stride[d];
    *low = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    *high = c->x[d] - shift <= 0 ? 0 : (c->x[d] - shift + stride - 1) / stride;
    *high = *high < c->y[d] ? *high : c->y[d];
}

/* One plane of x against one of y; back: x gets what y gives. */
static void meet(const struct conv_whole *c, uint64_t *x, uint64_t *y, const int64_t *w, int back)
{
    for (int64_t k = 0; k < volume(c->kernel); k++) {
        int64_t tap[3] = {k / (c->kernel[1] * c->kernel[2]), k / c->kernel[2] % c->kernel[1], k % c->kernel[2]}, low[3],
                high[3];
        uint64_t weight = (uint64_t)w[k];
        for (int d = 0; d < 3; d++)
            reach(c, d, tap[d], &low[d], &high[d]);
        for (int64_t z = low[0]; z < high[0]; z++)
            for (int64_t v = low[1]; v < high[1]; v++) {
                int64_t row = (z * c->stride[0] + tap[0] * c->dilation[0] - c->before[0]) * c->x[1] + v * c->stride[1] +
                              tap[1] * c->dilation[1] - c->before[1];
                uint64_t *from = x + row * c->x[2] + tap[2] * c->dilation[2] - c->before[2],
                         *to = y + (z * c->y[1] + v) * c->y[2];
                for (int64_t o = low[2]; o < high[2]; o++)
                    if (back)
                        from[o * c->stride[2]] += weight * to[o];
                    else
                        to[o] += weight * from[o * c->stride[2]];
            }
    }
}

static void start(int64_t *plane, int64_t n, const int64_t *bias, int64_t channel)
{
    for (int64_t i = 0; i < n; i++)
        plane[i] = bias ? bias[channel] : 0;
}

static void forward(const struct conv_whole *c, const int64_t *x, int64_t *y, int64_t begin, int64_t end)
{
    int64_t in = c->channels_x / c->groups, out = c->channels_y / c->groups;
    for (int64_t p = begin; p < end; p++) {
        int64_t image = p / c->channels_y, channel = p % c->channels_y, group = channel / out;
        start(y + p * volume(c->y), volume(c->y), c->bias, channel);
        for (int64_t i = 0; i < in; i++)
            meet(c, (uint64_t *)x + (image * c->channels_x + group * in + i) * volume(c->x),
                 (uint64_t *)y + p * volume(c->y), c->w + (channel * in + i) * volume(c->kernel), 0);
    }
}

static void transposed(const struct conv_whole *c, int64_t *x, const int64_t *y, int64_t begin, int64_t end)
{
    int64_t in = c->channels_x / c->groups, out = c->channels_y / c->groups;
    for (int64_t p = begin; p < end; p++) {
        int64_t image = p / c->channels_x, channel = p % c->channels_x, group = channel / in;
        start(x + p * volume(c->x), volume(c->x), c->bias, channel);
        for (int64_t o = 0; o < out; o++) {
            int64_t from = group * out + o;
            meet(c, (uint64_t *)x + p * volume(c->x), (uint64_t *)y + (image * c->channels_y + from) * volume(c->y),
                 c->w + (from * in + channel % in) * volume(c->kernel), 1);
        }
    }
}

const struct conv_whole_kernels ISA(conv_whole_kernels) = {forward, transposed};

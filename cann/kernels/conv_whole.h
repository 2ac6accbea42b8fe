/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution of integers, modulo 2^64: plain loops. images x[images][channels_x][x…], pixels
 * y[images][channels_y][y…], weights w[channels_y][channels_x / groups][kernel…], all dense int64. */
#ifndef ANYNPU_KERNELS_CONV_WHOLE_H
#define ANYNPU_KERNELS_CONV_WHOLE_H

#include <stdint.h>

#include "kernels/isa.h"

struct conv_whole {
    int64_t images, groups, channels_x, channels_y;
    int64_t x[3], y[3], kernel[3], stride[3], dilation[3], before[3];
    const int64_t *w, *bias; /* bias: of the result's channels, or NULL */
};

struct conv_whole_kernels {
    /* Planes [begin, end) of images × channels_y. */
    void (*forward)(const struct conv_whole *c, const int64_t *x, int64_t *y, int64_t begin, int64_t end);
    /* The transposed one: planes [begin, end) of images × channels_x. */
    void (*transposed)(const struct conv_whole *c, int64_t *x, const int64_t *y, int64_t begin, int64_t end);
};

ISA_DECLARE(const struct conv_whole_kernels, conv_whole_kernels);

#endif

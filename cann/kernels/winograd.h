/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's F(2×2, 3×3): two by two results of a 3×3 kernel of stride 1 from four by four pixels, with 16 products
 * where the plain sum takes 36. Weights, tiles of the image and tiles of the result are transformed here; between them
 * stand 16 matrix products over the channels (ops/conv_winograd.c). Sums and halves alone, in a fixed order: the same
 * bits at every level. "Apart" are elements from one of the 16 places to the next. */
#ifndef ANYNPU_KERNELS_WINOGRAD_H
#define ANYNPU_KERNELS_WINOGRAD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/conv.h"
#include "kernels/isa.h"

enum {
    WINOGRAD_PLACES = 16,
    WINOGRAD_TILES = 32, /* of a panel */
    WINOGRAD_SLACK = 16  /* elements written behind a panel's row, and read behind a row of products */
};

struct winograd_kernels {
    /* to[16][n] from n kernels of nine weights, `step` elements apart; turned: each from its last weight to its first.
     */
    void (*weights)(float *to, int64_t apart, const float *weights, int64_t step, int64_t n, bool turned);
    /* to[16][tiles] from the planes of a channel, which hold pixel (i, j) of a tile at[4 i + j] behind its first; runs
     * of tiles in ascending order. */
    void (*tiles)(float *to, int64_t apart, const float *planes, const int64_t *at, const struct conv_run *run,
                  int runs);
    /* y[2][width] + bias from products[16][tiles], y's rows `pitch` apart; width is 2 tiles or one less; the second row
     * only if it is asked for. Returns whether one of these is infinite or NaN. */
    bool (*results)(float *y, int64_t pitch, int64_t width, bool second, const float *products, int64_t apart,
                    int64_t tiles, float bias);
};

ISA_DECLARE(const struct winograd_kernels, winograd_kernels);

#endif

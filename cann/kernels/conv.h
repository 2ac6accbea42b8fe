/* SPDX-License-Identifier: BSD-3-Clause */
/* What convolution needs besides the blocked product: images as padded planes, patches packed from planes for the
 * product, and direct sums for groups of one channel.
 *
 * The planes of a channel hold the image with its padding, one plane for every residue of the coordinates modulo the
 * strides that a tap needs. So whatever the strides, dilations and paddings, the input of a tap is found by adding an
 * offset of the tap and one of the output pixel, and neighbouring pixels lie side by side. Behind the last plane
 * CONV_SLACK elements may be read, and behind a packed panel written. */
#ifndef ANYNPU_KERNELS_CONV_H
#define ANYNPU_KERNELS_CONV_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum { CONV_SLACK = 64, CONV_ROWS = 4 };

/* Three dimensions, depth, height and width, those that lack being 1. */
struct conv_planes {
    int64_t size[3], stride[3]; /* of the image; strides in elements */
    int64_t step[3];            /* the modulus of each coordinate */
    int64_t residues[3];        /* 0 … residues - 1 have planes */
    int64_t before[3];          /* padding in front */
    int64_t plane[3];           /* size of one plane */
};

/* `count` pixels, the first the panel's number `to`, whose first tap lies at `from` in the planes. */
struct conv_run {
    int64_t from;
    int32_t to, count;
};

/* y and the first tap's pixels; weights of the taps; bias may be NULL. */
struct conv_row {
    void *y;
    const void *planes, *weight, *bias;
};

struct conv_type {
    /* to[k][nr]: the taps at[0…k) of the runs' pixels; runs in ascending order. */
    void (*pack)(void *to, const void *planes, const int64_t *at, int64_t k, const struct conv_run *run, int runs);
    /* to[pixels][nr]: the same turned, for n ≤ nr taps. Up to seven lines behind the last pixel's are written. */
    void (*pack_turned)(void *to, const void *planes, const int64_t *at, int64_t n, const struct conv_run *run,
                        int runs);
    /* For n ≤ CONV_ROWS rows of `count` neighbouring pixels: y = bias + the sum over taps of weight × plane. */
    void (*rows)(const struct conv_row *row, int n, int64_t count, const int64_t *at, int64_t taps);
    /* sum += the sum over pixels of y × plane, rows × columns pixels; y dense, planes `pitch` from row to row. */
    void (*dot)(void *sum, const void *y, const void *planes, int64_t rows, int64_t columns, int64_t pitch);
    /* The sum of n adjacent elements. */
    void (*total)(void *sum, const void *y, int64_t n);
};

struct conv_kernels {
    /* One channel's planes from an image of type `from`: to double for ACL_DOUBLE, else to float. */
    void (*planes)(void *to, const void *image, aclDataType from, const struct conv_planes *p);
    struct conv_type f32, f64;
};

ISA_DECLARE(const struct conv_kernels, conv_kernels);

#endif

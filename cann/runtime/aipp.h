/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of dynamic AIPP as they stand in the buffer of the input ACL_DYNAMIC_AIPP_NAME: 64 bytes for all
 * pictures, then 96 for each, in the layout that programs for a chip know. Written by aclmdlSetInputAIPP, read by the
 * execution. */
#ifndef ANYNPU_RUNTIME_AIPP_H
#define ANYNPU_RUNTIME_AIPP_H

#include <assert.h>
#include <stdint.h>

struct aipp_common {
    uint8_t format; /* aclAippInputFormat */
    int8_t csc, swap_rb, swap_ax, pictures, reserved1[3];
    int32_t width, height; /* of the source */
    int16_t matrix[3][3], reserved2[3];
    uint8_t output_bias[3], input_bias[3], reserved3[2];
    int8_t reserved4[16];
};

struct aipp_picture {
    int8_t crop, scale, pad, rotate, reserved1[4];
    int32_t crop_x, crop_y, crop_width, crop_height;
    int32_t scale_from_width, scale_from_height, scale_width, scale_height;
    int32_t top, bottom, left, right;
    int16_t mean[4];
    uint16_t min[4], reciprocal[4]; /* half precision */
    int8_t reserved2[16];
};

static_assert(sizeof(struct aipp_common) == 64 && sizeof(struct aipp_picture) == 96, "layout of AIPP parameters");

enum { AIPP_PICTURES_MAX = 127 };

#endif

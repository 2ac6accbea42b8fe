/* SPDX-License-Identifier: BSD-3-Clause */
/* AIPP: what is done to an image before it enters the model, as --insert_op_conf describes it. Names and meaning are
 * those of the official configuration file: crop, channel swaps, colour conversion with a matrix, then
 * (pixel - mean - min) * var_reci. The file is parsed by atc (tools), kept in the .om, executed by the executor. */
#ifndef ANYNPU_GRAPH_AIPP_H
#define ANYNPU_GRAPH_AIPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum aipp_mode { AIPP_STATIC = 1, AIPP_DYNAMIC = 2 };

/* As aclmdlSetAIPPInputFormat numbers them. */
enum aipp_format {
    AIPP_YUV420SP_U8 = 1,
    AIPP_XRGB8888_U8 = 2,
    AIPP_RGB888_U8 = 3,
    AIPP_YUV400_U8 = 4,
    AIPP_ARGB8888_U8 = 9,
    AIPP_YUYV_U8 = 10,
    AIPP_YUV422SP_U8 = 11,
    AIPP_AYUV444_U8 = 12,
    AIPP_RAW10 = 100,
    AIPP_RAW12 = 101,
    AIPP_RAW16 = 102,
};

struct aipp {
    int32_t input;              /* index in the main graph's inputs: related_input_rank */
    int32_t mode, format;       /* enum aipp_mode, enum aipp_format (dynamic: 0) */
    int64_t max_src_image_size; /* dynamic: bytes of the largest image of a batch */
    int32_t src_image_size_w, src_image_size_h;
    bool crop;
    int32_t load_start_pos_w, load_start_pos_h, crop_size_w, crop_size_h;
    bool resize;
    int32_t resize_output_w, resize_output_h;
    bool padding;
    int32_t left_padding_size, right_padding_size, top_padding_size, bottom_padding_size;
    float padding_value;
    bool csc_switch, rbuv_swap_switch, ax_swap_switch, single_line_mode, support_rotation;
    int32_t matrix[3][3]; /* matrix_r0c0 … r2c2, in 1/256 */
    int32_t input_bias[3], output_bias[3];
    int32_t mean[4];
    float min[4], var_reci[4];
};

/* The fields by name, for the parser of the configuration file, the .om and its JSON. Ends with a name NULL. */
enum aipp_field_type { AIPP_INT, AIPP_LONG, AIPP_BOOL, AIPP_FLOAT, AIPP_WORD /* an int32_t written as a word */ };
struct aipp_field {
    const char *name;
    size_t offset;
    enum aipp_field_type type;
};
extern const struct aipp_field aipp_fields[];

#endif

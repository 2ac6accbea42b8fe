/* SPDX-License-Identifier: BSD-3-Clause */
/* AIPP at work: pictures become the tensor that a network takes: crop, swap of channels, conversion of colours,
 * normalisation, border. Pictures lie one after another, 8 bits a channel; the tensor is contiguous, NCHW or NHWC. */
#ifndef ANYNPU_GRAPH_AIPP_RUN_H
#define ANYNPU_GRAPH_AIPP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_mdl.h"

/* What is done with one picture. */
struct aipp_step {
    int32_t x, y, width, height;      /* the part that is taken */
    int32_t top, bottom, left, right; /* border around it, of the value `border` */
    float border;
    float mean[4], min[4], reciprocal[4]; /* value = (pixel − mean − min) × reciprocal */
};

/* What is done with all. */
struct aipp_rule {
    aclAippInputFormat format;
    int32_t width, height; /* of the source */
    bool csc, swap_rb, swap_ax;
    int32_t matrix[3][3], input_bias[3], output_bias[3];
};

struct aipp_target {
    int64_t channels, height, width;
    aclDataType dtype; /* ACL_FLOAT, ACL_FLOAT16 or ACL_UINT8 */
    bool nhwc;
};

/* Bytes of one picture of the source. */
size_t aipp_source_bytes(aclAippInputFormat format, int64_t width, int64_t height);

/* Channels that a picture has on the way out; 0: unknown format. */
int aipp_channels(aclAippInputFormat format);

/* Queues the conversion of `count` pictures with one step for all. Addresses are the client's. */
int aipp_fixed(const struct aipp_rule *rule, const struct aipp_step *step, const struct aipp_target *target,
               int64_t count, const void *source, void *result, aclrtStream stream);

/* The same with parameters that are read at the time of execution (runtime/aipp.h). `bytes`: of the source. */
int aipp_dynamic(const void *parameters, const struct aipp_target *target, int64_t count, const void *source,
                 size_t bytes, void *result, aclrtStream stream);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of interpolation rows. A row's code says what is interpolated and which arguments it has. */
#ifndef ANYNPU_OPS_UPSAMPLE_H
#define ANYNPU_OPS_UPSAMPLE_H

#include "ops/plan.h"

enum {
    UPSAMPLE_DIMS = 3, /* mask: spatial dimensions */
    UPSAMPLE_NEAREST = 0x10,
    UPSAMPLE_EXACT = 0x20,
    UPSAMPLE_LINEAR = 0x30,
    UPSAMPLE_CUBIC = 0x40,
    UPSAMPLE_LINEAR_AA = 0x50,
    UPSAMPLE_CUBIC_AA = 0x60,
    UPSAMPLE_MODE = 0xf0,
    UPSAMPLE_WITH_SCALES = 0x100, /* one a dimension, before the result */
    UPSAMPLE_WITH_ALIGN = 0x300   /* alignCorners, then scales */
};

int prepare_upsample(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_upsample_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

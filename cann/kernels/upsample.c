/* SPDX-License-Identifier: BSD-3-Clause */
/* Resampling along one axis; see upsample.h. */
#include "kernels/upsample.h"

enum { PIECE = 256 }; /* elements of a row that are summed together */

static uint8_t u8_clamp(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

#define PLAIN(sum)  (sum)
#define U8_END(sum) u8_clamp((sum) >> a->precision)
#define U8_BEGIN    (1 << (a->precision - 1))
#define NOTHING     0

#define T       float
#define A       float
#define W       float
#define BEGIN   NOTHING
#define END     PLAIN
#define NAME(x) x##_f32
#include "kernels/upsample_typed.h"

#define T       double
#define A       double
#define W       double
#define BEGIN   NOTHING
#define END     PLAIN
#define NAME(x) x##_f64
#include "kernels/upsample_typed.h"

#define T       uint8_t
#define A       int32_t
#define W       int16_t
#define BEGIN   U8_BEGIN
#define END     U8_END
#define NAME(x) x##_u8
#include "kernels/upsample_typed.h"

static void axis(const struct upsample_axis *a, aclDataType type, const void *x, void *y, int64_t inner, int64_t begin,
                 int64_t end)
{
    if (type == ACL_DOUBLE)
        axis_f64(a, x, y, inner, begin, end);
    else if (type == ACL_UINT8)
        axis_u8(a, x, y, inner, begin, end);
    else
        axis_f32(a, x, y, inner, begin, end);
}

const struct upsample_kernels ISA(upsample_kernels) = {axis};

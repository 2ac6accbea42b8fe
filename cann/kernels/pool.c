/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling; see pool.h. */
#include "kernels/pool.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { PIECE = 256 }; /* outputs of a row at a time */

/* Of the outputs begin … begin + n, those whose k-th tap along the width lies inside: [*low, *high), counted from
 * begin. Returns the position of the first one's tap. */
static int64_t even_range(const struct pool *p, int64_t k, int64_t begin, int64_t n, int64_t *low, int64_t *high)
{
    int64_t shift = k * p->dilation[2] - p->before; /* o * stride + shift is the tap's position */
    int64_t first = shift >= 0 ? 0 : (-shift + p->stride - 1) / p->stride;
    int64_t end = p->in[2] - shift <= 0 ? 0 : (p->in[2] - shift + p->stride - 1) / p->stride;
    *low = first > begin ? first - begin : 0;
    *high = end - begin < n ? end - begin : n;
    return (begin + *low) * p->stride + shift;
}

/* Is the row made of whole windows of 2 × 2 neighbours, side by side? */
static bool are_pairs(const struct pool *p, struct pool_window d, struct pool_window h)
{
    return p->even && p->kernel == 2 && p->stride == 2 && p->before == 0 && p->dilation[2] == 1 &&
           2 * p->out[2] <= p->in[2] && d.count == 1 && h.count == 2 && p->dilation[1] == 1;
}

#define IS_NAN(v) ((v) != (v))
#define T         float
#define NAME(x)   x##_f32
#define LOWEST    (-INFINITY)
#include "kernels/pool_type.h"

#include "kernels/pool_average.h"
#undef T
#undef NAME

#define T       double
#define NAME(x) x##_f64
#include "kernels/pool_type.h"

#include "kernels/pool_average.h"
#undef T
#undef NAME
#undef LOWEST
#undef IS_NAN

#define IS_NAN(v) 0
#define T         int8_t
#define NAME(x)   x##_i8
#define LOWEST    INT8_MIN
#include "kernels/pool_type.h"
#undef T
#undef NAME
#undef LOWEST

#define T       uint8_t
#define NAME(x) x##_u8
#define LOWEST  0
#include "kernels/pool_type.h"
#undef T
#undef NAME
#undef LOWEST

#define T       int16_t
#define NAME(x) x##_i16
#define LOWEST  INT16_MIN
#include "kernels/pool_type.h"
#undef T
#undef NAME
#undef LOWEST

#define T       int32_t
#define NAME(x) x##_i32
#define LOWEST  INT32_MIN
#include "kernels/pool_type.h"
#undef T
#undef NAME
#undef LOWEST

#define T       int64_t
#define NAME(x) x##_i64
#define LOWEST  INT64_MIN
#include "kernels/pool_type.h"

#define FORWARD_ONLY
#include "kernels/pool_average.h"

static void max(const struct pool *p, aclDataType type, const void *x, void *y, int32_t *index, int64_t begin,
                int64_t end)
{
    switch ((int)type) {
    case ACL_FLOAT:
        max_f32(p, x, y, index, begin, end);
        break;
    case ACL_DOUBLE:
        max_f64(p, x, y, index, begin, end);
        break;
    case ACL_INT8:
        max_i8(p, x, y, index, begin, end);
        break;
    case ACL_UINT8:
        max_u8(p, x, y, index, begin, end);
        break;
    case ACL_INT16:
        max_i16(p, x, y, index, begin, end);
        break;
    case ACL_INT32:
        max_i32(p, x, y, index, begin, end);
        break;
    case ACL_INT64:
        max_i64(p, x, y, index, begin, end);
        break;
    }
}

static void average(const struct pool *p, aclDataType type, const void *x, void *y, int64_t begin, int64_t end)
{
    if (type == ACL_DOUBLE)
        average_f64(p, x, y, begin, end);
    else if (type == ACL_INT64)
        average_i64(p, x, y, begin, end);
    else
        average_f32(p, x, y, begin, end);
}

static void max_backward(const struct pool *p, aclDataType type, const void *gy, const int32_t *index, void *gx)
{
    if (type == ACL_DOUBLE)
        max_backward_f64(p, gy, index, gx);
    else
        max_backward_f32(p, gy, index, gx);
}

static void average_backward(const struct pool *p, aclDataType type, const void *gy, void *gx)
{
    if (type == ACL_DOUBLE)
        average_backward_f64(p, gy, gx);
    else
        average_backward_f32(p, gy, gx);
}

const struct pool_kernels ISA(pool_kernels) = {max, average, max_backward, average_backward};

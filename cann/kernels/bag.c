/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of rows; see bag.h. Rows are added in their order. */
#include "kernels/bag.h"

#define T       float
#define NAME(x) x##_f32
#include "kernels/bag_typed.h"

#define T       double
#define NAME(x) x##_f64
#include "kernels/bag_typed.h"

static int64_t reduce(const struct bag *b, aclDataType type, const void *table, const int64_t *index,
                      const void *factor, int64_t n, void *out, int64_t *largest)
{
    if (type == ACL_DOUBLE)
        return reduce_f64(b, table, index, factor, n, out, largest);
    return reduce_f32(b, table, index, factor, n, out, largest);
}

const struct bag_kernels ISA(bag_kernels) = {reduce};

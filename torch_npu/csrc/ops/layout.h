/* SPDX-License-Identifier: BSD-3-Clause */
/* Images with their channels last: told from plain ones by their strides, as PyTorch does. */
#ifndef TORCH_NPU_OPS_LAYOUT_H
#define TORCH_NPU_OPS_LAYOUT_H

#include "op.h"

enum { IMAGE_RANK_MAX = 5 };

/* Dense with the channels innermost, and not plainly contiguous as well. Dimensions of one element have any stride. */
static inline bool channels_last(const struct npu_tensor *t)
{
    int64_t last = t->rank > 1 ? t->size[1] : 1, plain = 1;
    bool contiguous = true;
    if ((t->rank != 4 && t->rank != 5) || t->stride[1] != 1 || t->size[1] == 1)
        return false;
    for (int32_t d = t->rank - 1; d >= 0; d--) {
        if (t->size[d] != 1 && t->stride[d] != plain)
            contiguous = false;
        plain *= t->size[d];
        if (d == 1)
            continue;
        if (t->size[d] != 1 && t->stride[d] != last)
            return false;
        last *= t->size[d];
    }
    return !contiguous;
}

/* Result k of that shape, plain or with its channels last. */
static inline struct npu_tensor *result_image(struct call *c, int k, aclDataType dtype, int32_t rank,
                                              const int64_t *size, bool last)
{
    int64_t stride[IMAGE_RANK_MAX] = {0}, at = size[rank > 1];
    if (!last)
        return result(c, k, dtype, rank, size);
    stride[1] = 1;
    for (int32_t d = rank - 1; d >= 2; at *= size[d--])
        stride[d] = at;
    stride[0] = at;
    return result_strided(c, k, dtype, rank, size, stride);
}

#endif

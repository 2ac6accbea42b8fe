/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of reductions, shared by the families that reduce. */
#ifndef TORCH_NPU_OPS_REDUCE_H
#define TORCH_NPU_OPS_REDUCE_H

#include "elementwise.h"

/* The result of a reduction: which dimensions go (bit d), the shape that stays. */
struct reduced {
    uint32_t mask;
    int32_t rank;
    int64_t size[16];
    int64_t dim[16]; /* the dimensions that go, ascending */
    size_t dims;
    int64_t count; /* elements in each result */
};

/* Works out a reduction of t over the n dims (0: all; t of rank 0 has none); CALL_ERROR with PyTorch's text. t->rank
 * ≤ 16. */
static inline int reduce_over(struct call *c, const struct npu_tensor *t, const int64_t *dims, size_t n, bool keepdim,
                              struct reduced *r)
{
    *r = (struct reduced){.mask = n ? 0 : (uint32_t)((1ull << t->rank) - 1), .count = 1};
    for (size_t i = 0; i < n; i++) {
        int32_t d = wrap_dim(c, dims[i], t->rank);
        if (d < 0)
            return CALL_ERROR;
        if (r->mask >> d & 1)
            return call_error(c, CALL_RUNTIME_ERROR, "dim %d appears multiple times in the list of dims", d);
        r->mask |= 1u << d;
    }
    if (!t->rank)
        r->mask = 0;
    for (int32_t d = 0; d < t->rank; d++) {
        if (!(r->mask >> d & 1)) {
            r->size[r->rank++] = t->size[d];
            continue;
        }
        r->dim[r->dims++] = d;
        r->count *= t->size[d];
        if (keepdim)
            r->size[r->rank++] = 1;
    }
    return CALL_OK;
}

#endif

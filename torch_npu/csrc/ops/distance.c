/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances between rows; batches broadcast. What PyTorch refuses falls back. */
#include "op.h"

#include <string.h>

static bool takes(const struct npu_tensor *t, aclDataType type)
{
    return t->device >= 0 && t->dtype == type && is_floating(type);
}

/* The shape of the distances, batches broadcast; its rank, 0 for what PyTorch refuses. */
static int32_t pair_shape(const struct npu_tensor *a, const struct npu_tensor *b, int64_t *size)
{
    int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    if (a->rank < 2 || b->rank < 2 || rank > 16 || a->size[a->rank - 1] != b->size[b->rank - 1])
        return 0;
    for (int32_t d = 0; d < rank - 2; d++) {
        int64_t m = d < rank - a->rank ? 1 : a->size[d - rank + a->rank],
                n = d < rank - b->rank ? 1 : b->size[d - rank + b->rank];
        if (m != n && m != 1 && n != 1)
            return 0;
        size[d] = m == 1 ? n : m;
    }
    size[rank - 2] = a->size[a->rank - 2];
    size[rank - 1] = b->size[b->rank - 2];
    return rank;
}

static int clear(struct call *c, const struct npu_tensor *t)
{
    static struct aclnn zero = ACLNN("aclnnInplaceZero", "T");
    return call_failed(c) ? CALL_ERROR : tensor_numel(t) ? launch(c, &zero, (union aclnn_value[]){{.t = t}}) : CALL_OK;
}

/* The operators take the norm as a float. */
static bool exact(double p)
{
    return p >= 0 && (double)(float)p == p;
}

/* x1, x2, p, compute_mode */
static int run_cdist(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    double p = arg_double(c, 2, 2);
    int64_t size[16];
    int32_t rank = pair_shape(a, b, size);
    if (!takes(a, a->dtype) || !takes(b, a->dtype) || !exact(p) || !rank)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, a->dtype, rank, size);
    if (!tensor_numel(a))
        return clear(c, out);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = a}, {.t = b}, {.d = p}, {.i = arg_int(c, 3, 0)}, {.t = out}});
}

/* grad, x1, x2, p, cdist */
static int run_cdist_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2), *d = arg_tensor(c, 4);
    double p = arg_double(c, 3, 2);
    int64_t size[16];
    int32_t rank = pair_shape(a, b, size);
    if (!takes(g, g->dtype) || !takes(a, g->dtype) || !takes(b, g->dtype) || !takes(d, g->dtype) || !exact(p) ||
        !rank || g->rank != rank || d->rank != rank || memcmp(g->size, size, sizeof *size * (size_t)rank) != 0 ||
        memcmp(d->size, size, sizeof *size * (size_t)rank) != 0)
        return CALL_FALLBACK;
    size[rank - 1] = a->size[a->rank - 1]; /* autograd sums what was broadcast */
    struct npu_tensor *out = result(c, 0, a->dtype, rank, size);
    if (!tensor_numel(a) || !tensor_numel(b))
        return clear(c, out);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = g}, {.t = a}, {.t = b}, {.t = d}, {.d = p}, {.t = out}});
}

/* self, p */
static int run_pdist(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    double p = arg_double(c, 1, 2);
    if (!takes(x, x->dtype) || x->rank != 2 || !(p >= 0))
        return CALL_FALLBACK;
    int64_t pairs = x->size[0] * (x->size[0] - 1) / 2;
    struct npu_tensor *out = result(c, 0, x->dtype, 1, &pairs);
    if (!tensor_numel(x))
        return clear(c, out);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = x}, {.d = p}, {.t = out}});
}

/* grad, self, p, pdist */
static int run_pdist_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0), *x = arg_tensor(c, 1), *d = arg_tensor(c, 3);
    double p = arg_double(c, 2, 2);
    if (!takes(g, x->dtype) || !takes(x, x->dtype) || !takes(d, x->dtype) || x->rank != 2 || !(p >= 0) ||
        g->rank != 1 || d->rank != 1 || g->size[0] != d->size[0] || g->size[0] != x->size[0] * (x->size[0] - 1) / 2)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, x->dtype, 2, x->size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = g}, {.t = x}, {.t = d}, {.d = p}, {.t = out}});
}

static struct aclnn cdist = ACLNN("aclnnCdist", "TTfiT"), cdist_backward = ACLNN("aclnnCdistBackward", "TTTTfT");
static struct aclnn pdist = ACLNN("aclnnPdist", "TdT"), pdist_backward = ACLNN("anynpu_PdistBackward", "TTTdT");

static const struct aten_row rows[] = {
    {"_cdist_forward", run_cdist, &cdist},
    {"_cdist_backward", run_cdist_backward, &cdist_backward},
    {"_pdist_forward", run_pdist, &pdist},
    {"_pdist_backward", run_pdist_backward, &pdist_backward},
};
ATEN_FAMILY(distance, rows);

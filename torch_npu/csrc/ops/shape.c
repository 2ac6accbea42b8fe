/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving whole tensors about: cat, stack, repeat, roll, flip, triangles, repetition of elements. */
#include "index.h"

#include <string.h>

enum { RANK = 64 };

/* Strides of a channels-last tensor of this shape (rank 4 or 5); false: the tensor is not laid out so. */
static bool channels_last(const struct npu_tensor *t, int32_t rank, const int64_t *size, int64_t *stride)
{
    if (t->rank != rank || (rank != 4 && rank != 5) || tensor_contiguous(t))
        return false;
    int64_t step = 1, own = 1;
    for (int32_t i = 0; i < rank; i++) {
        int32_t d = i == 0 ? 1 : i < rank - 1 ? rank - i : 0;
        if (t->size[d] != 1 && t->stride[d] != own)
            return false;
        own *= t->size[d];
        stride[d] = step;
        step *= size[d] > 1 ? size[d] : 1;
    }
    return true;
}

/* ---- cat, stack ---- */

static bool skipped(const struct npu_tensor *t)
{
    return t->rank == 1 && !t->size[0];
}

static int run_cat(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *list, *first = NULL;
    size_t n = arg_tensors(c, 0, &list);
    if (!n)
        return call_error(c, CALL_VALUE_ERROR, "expected a non-empty list of Tensors");
    const struct npu_tensor **each = call_alloc(c, n * sizeof *each);
    for (size_t j = 0; j < n; j++) {
        each[j] = &list[j];
        if (!list[j].rank)
            return call_error(c, CALL_RUNTIME_ERROR, "zero-dimensional tensor (at position %zu) cannot be concatenated",
                              j);
        if (list[j].device < 0)
            return CALL_FALLBACK;
        if (!first && !skipped(&list[j]))
            first = &list[j];
    }
    aclDataType dtype = promote(each, (int)n, NULL, 0);
    if (!first)
        first = &list[0];
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), first->rank);
    if (dim < 0)
        return CALL_ERROR;
    int64_t size[RANK], stride[RANK];
    memcpy(size, first->size, (size_t)first->rank * sizeof *size);
    size[dim] = 0;
    bool last = true;
    for (size_t j = 0; j < n; j++) {
        const struct npu_tensor *t = &list[j];
        if (skipped(t))
            continue;
        if (t->rank != first->rank)
            return call_error(c, CALL_RUNTIME_ERROR, "Tensors must have same number of dimensions: got %d and %d",
                              first->rank, t->rank);
        for (int32_t d = 0; d < t->rank; d++)
            if (d != dim && t->size[d] != first->size[d])
                return call_error(c, CALL_RUNTIME_ERROR,
                                  "Sizes of tensors must match except in dimension %d. Expected size %lld but got size "
                                  "%lld for tensor "
                                  "number %zu in the list.",
                                  dim, (long long)first->size[d], (long long)t->size[d], j);
        size[dim] += t->size[dim];
    }
    for (size_t j = 0; last && j < n; j++)
        last = skipped(&list[j]) || channels_last(&list[j], first->rank, size, stride);
    const struct npu_tensor *out =
        last ? result_strided(c, 0, dtype, first->rank, size, stride) : result(c, 0, dtype, first->rank, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    /* aclnnCat promotes by itself on every CANN, but not to a type that only out has */
    struct npu_tensor *same = call_alloc(c, n * sizeof *same);
    size_t kept = 0;
    for (size_t j = 0; j < n; j++)
        if (!skipped(&list[j]) && list[j].size[dim])
            same[kept++] = *cast(c, &list[j], dtype);
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {same, kept}}, {.i = dim}, {.t = out}});
}

static int run_stack(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *list;
    size_t n = arg_tensors(c, 0, &list);
    if (!n)
        return call_error(c, CALL_RUNTIME_ERROR, "stack expects a non-empty TensorList");
    const struct npu_tensor **each = call_alloc(c, n * sizeof *each);
    int32_t rank = list[0].rank + 1, dim = wrap_dim(c, arg_int(c, 1, 0), rank);
    if (dim < 0)
        return CALL_ERROR;
    for (size_t j = 0; j < n; j++) {
        each[j] = &list[j];
        bool same = list[j].rank == list[0].rank;
        for (int32_t d = 0; same && d < rank - 1; d++)
            same = list[j].size[d] == list[0].size[d];
        if (!same)
            return call_error(c, CALL_RUNTIME_ERROR,
                              "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %zu",
                              sizes_text(c, &list[0]), sizes_text(c, &list[j]), j);
    }
    aclDataType dtype = promote(each, (int)n, NULL, 0);
    int64_t size[RANK];
    for (int32_t d = 0; d < rank; d++)
        size[d] = d == dim ? (int64_t)n : list[0].size[d < dim ? d : d - 1];
    const struct npu_tensor *out = result(c, 0, dtype, rank, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    struct npu_tensor *same = call_alloc(c, n * sizeof *same);
    for (size_t j = 0; j < n; j++)
        same[j] = *cast(c, &list[j], dtype);
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {same, n}}, {.i = dim}, {.t = out}});
}

/* ---- repeat, roll, flip ---- */

static int run_repeat(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const int64_t *repeats;
    size_t n = arg_ints(c, 1, &repeats);
    int32_t lead = (int32_t)n - self->rank;
    if (lead < 0)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    int64_t size[RANK];
    for (int32_t d = 0; d < (int32_t)n; d++) {
        int64_t one = d < lead ? 1 : self->size[d - lead];
        if (repeats[d] < 0 || __builtin_mul_overflow(one, repeats[d], &size[d]))
            return call_error(
                c, CALL_RUNTIME_ERROR,
                "Trying to create tensor with negative dimension %lld: a repetition of %lld at dimension %d",
                (long long)(one * repeats[d]), (long long)repeats[d], d);
    }
    const struct npu_tensor *out = result(c, 0, self->dtype, (int32_t)n, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    static const int64_t none[1] = {0};
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.ints = {n ? repeats : none, n}}, {.t = out}});
}

static int run_roll(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const int64_t *shifts, *dims;
    static const int64_t none[1] = {0};
    size_t n = arg_ints(c, 1, &shifts), m = arg_ints(c, 2, &dims);
    if (!n)
        return call_error(c, CALL_RUNTIME_ERROR, "`shifts` required");
    if (!(n == 1 && !m) && n != m)
        return call_error(c, CALL_RUNTIME_ERROR, "shifts and dimensions must align. shifts: %zu, dims:%zu", n, m);
    int64_t *wrapped = call_alloc(c, (m + 1) * sizeof *wrapped), stride[RANK];
    for (size_t k = 0; k < m; k++) {
        wrapped[k] = wrap_dim(c, dims[k], self->rank);
        if (wrapped[k] < 0)
            return CALL_ERROR;
    }
    const struct npu_tensor *out = m && channels_last(self, self->rank, self->size, stride)
                                       ? result_strided(c, 0, self->dtype, self->rank, self->size, stride)
                                       : result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = self}, {.ints = {shifts, n}}, {.ints = {m ? wrapped : none, m}}, {.t = out}});
}

static int run_flip(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const int64_t *dims;
    size_t n = arg_ints(c, 1, &dims);
    int64_t *wrapped = call_alloc(c, (n + 1) * sizeof *wrapped);
    bool seen[RANK] = {0};
    for (size_t k = 0; k < n; k++) {
        wrapped[k] = wrap_dim(c, dims[k], self->rank);
        if (wrapped[k] < 0)
            return CALL_ERROR;
        if (seen[wrapped[k]])
            return call_error(c, CALL_RUNTIME_ERROR, "dim %lld appears multiple times in the list of dims",
                              (long long)wrapped[k]);
        seen[wrapped[k]] = true;
    }
    const struct npu_tensor *out = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    if (!self->rank)
        return copy_tensor(c, out, self);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.ints = {wrapped, n}}, {.t = out}});
}

/* ---- triangles ---- */

enum { UPPER = 1 };

static int run_tri(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->rank < 2)
        return call_error(c, CALL_RUNTIME_ERROR, "%s: input tensor must have at least 2 dimensions",
                          row->code & UPPER ? "triu" : "tril");
    const struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = arg_int(c, 1, 0)}, {.t = out}});
}

/* Places of a triangle in row-major order: where a triangle of ones is not zero. */
static int run_tri_indices(struct call *c, const struct aten_row *row)
{
    static struct aclnn fill = ACLNN("aclnnInplaceOne", "T"), nonzero = ACLNN("aclnnNonzeroV2", "TT");
    int64_t rows = arg_int(c, 0, 0), cols = arg_int(c, 1, 0), offset = arg_int(c, 2, 0), count = 0;
    aclDataType dtype = arg_dtype(c, 3, ACL_INT64);
    if (rows < 0 || cols < 0)
        return call_error(c, CALL_RUNTIME_ERROR, "%s must be non-negative, got%lld", rows < 0 ? "row" : "col",
                          (long long)(rows < 0 ? rows : cols));
    if (!aclnn_exists(&nonzero))
        return CALL_FALLBACK;
    if (dtype != ACL_INT64 || rows > INT64_MAX / (cols + 1) / 8)
        return CALL_FALLBACK;
    for (int64_t r = 0; r < rows; r++) {
        int64_t cut = r + offset + !(row->code & UPPER);
        cut = cut < 0 ? 0 : cut > cols ? cols : cut;
        count += row->code & UPPER ? cols - cut : cut;
    }
    int64_t size[2] = {2, count}, square[2] = {rows, cols};
    const struct npu_tensor *out = result(c, 0, dtype, 2, size);
    if (call_failed(c) || !count)
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    const struct npu_tensor *ones = temp(c, ACL_BOOL, 2, square), *part = temp(c, ACL_BOOL, 2, square);
    if (launch(c, &fill, (union aclnn_value[]){{.t = ones}}) ||
        launch(c, row->aclnn, (union aclnn_value[]){{.t = ones}, {.i = offset}, {.t = part}}))
        return CALL_ERROR;
    return launch(c, &nonzero, (union aclnn_value[]){{.t = part}, {.t = out}});
}

/* ---- elements repeated ---- */

static int run_interleave(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *repeats = arg_tensor(c, 0);
    if (repeats->rank != 1)
        return call_error(c, CALL_RUNTIME_ERROR, "repeat_interleave only accept 1D vector as repeat");
    if (repeats->dtype != ACL_INT64 && repeats->dtype != ACL_INT32)
        return call_error(c, CALL_RUNTIME_ERROR, "repeats has to be Long or Int tensor");
    int64_t n = repeats->size[0], total = arg_int(c, 1, -1);
    if (arg_none(c, 1)) {
        const struct npu_tensor *wide = contiguous(c, cast(c, repeats, ACL_INT64));
        int64_t *host = call_alloc(c, (size_t)(n + 1) * sizeof *host);
        total = 0;
        if (call_failed(c) || (n && tensor_read(c, wide, host)))
            return CALL_ERROR;
        for (int64_t i = 0; i < n; i++) {
            if (host[i] < 0)
                return call_error(c, CALL_RUNTIME_ERROR, "repeats can not be negative");
            total += host[i];
        }
    }
    const struct npu_tensor *out = result(c, 0, repeats->dtype, 1, &total);
    if (call_failed(c))
        return CALL_ERROR;
    if (!n || !total)
        return CALL_OK;
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = repeats}, {.i = total}, {.t = out}},
                        CALL_RUNTIME_ERROR);
}

/* self, groups: channels [groups][n] turned to [n][groups] */
static int run_channel_shuffle(struct call *c, const struct aten_row *row)
{
    (void)row;
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t groups = arg_int(c, 1, 1), size[16], from[16], to[16];
    if (self->rank < 3 || self->rank > 15 || groups < 1 || self->size[1] % groups)
        return CALL_FALLBACK;
    bool last = (self->rank == 4 || self->rank == 5) && channels_last(self, self->rank, self->size, to);
    const struct npu_tensor *out = last ? result_strided(c, 0, self->dtype, self->rank, self->size, to)
                                        : result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c) || !tensor_numel(self))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    int64_t n = self->size[1] / groups;
    for (int32_t d = 0, k = 0; d < self->rank; d++, k++) {
        size[k] = self->size[d];
        from[k] = self->stride[d];
        to[k] = out->stride[d];
        if (d == 1) {
            size[k] = n, size[k + 1] = groups;
            from[k + 1] = n * from[k];
            to[k + 1] = to[k];
            to[k++] *= groups;
        }
    }
    return copy_tensor(c, view_of(c, out, self->rank + 1, size, to, out->offset),
                       view_of(c, self, self->rank + 1, size, from, self->offset));
}

static struct aclnn cat = ACLNN("aclnnCat", "LiT"), stack = ACLNN("aclnnStack", "LiT"),
                    repeat = ACLNN("aclnnRepeat", "TIT");
static struct aclnn roll = ACLNN("aclnnRoll", "TIIT"), flip = ACLNN("aclnnFlip", "TIT");
static struct aclnn tril = ACLNN("aclnnTril", "TiT"), triu = ACLNN("aclnnTriu", "TiT");
static struct aclnn interleave = ACLNN("aclnnRepeatInterleaveTensor", "TiT");

static const struct aten_row rows[] = {
    {"cat", run_cat, &cat, 0, false},
    {"cat.out", run_cat, &cat, 0, false},
    {"stack", run_stack, &stack, 0, false},
    {"stack.out", run_stack, &stack, 0, false},
    {"repeat", run_repeat, &repeat, 0, false},
    {"roll", run_roll, &roll, 0, false},
    {"flip", run_flip, &flip, 0, false},
    {"tril", run_tri, &tril, 0, true},
    {"tril.out", run_tri, &tril, 0, true},
    {"tril_", run_tri, &tril, 0, true},
    {"triu", run_tri, &triu, UPPER, true},
    {"triu.out", run_tri, &triu, UPPER, true},
    {"triu_", run_tri, &triu, UPPER, true},
    {"channel_shuffle", run_channel_shuffle, NULL, 0, false},
    {"tril_indices", run_tri_indices, &tril, 0, false},
    {"triu_indices", run_tri_indices, &triu, UPPER, false},
    {"repeat_interleave.Tensor", run_interleave, &interleave, 0, false},
};
ATEN_FAMILY(shape_family, rows);

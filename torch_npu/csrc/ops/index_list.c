/* SPDX-License-Identifier: BSD-3-Clause */
/* x[i, :, j] and x[i, :, j] = v: indexing by a list of integer tensors, masks and nothing. Masks go to the device as
 * they are; only the shape of a result needs to know how many elements they select. */
#include "index.h"

#include <string.h>

enum { RANK = 64 };

/* What the list says. */
struct selection {
    const struct npu_tensor *list; /* with empty tensors in the place of nothing, as aclnnIndex wants it */
    size_t n;
    bool masks, ints;
    bool whole;   /* nothing selects anything: the tensor itself */
    bool nothing; /* an index tensor without elements */
    int32_t used; /* dimensions that the list speaks of */
    bool indexed[RANK];
    bool together; /* the indexed dimensions are neighbours */
    int32_t first; /* where the selected dimensions go */
    int32_t rank;  /* shape that the indices broadcast to */
    int64_t size[RANK];
};

/* How many elements of the mask are set; waits for the device. -1 after an error. */
static int64_t count_mask(struct call *c, const struct npu_tensor *mask)
{
    int64_t n = tensor_numel(mask), count = 0;
    if (mask->device < 0) {
        struct npu_scalar value;
        return tensor_item(c, mask, &value) ? -1 : value.d[0] != 0;
    }
    const struct npu_tensor *dense = contiguous(c, mask);
    uint8_t *host = call_alloc(c, (size_t)n + 1);
    if (call_failed(c) || (n && tensor_read(c, dense, host)))
        return -1;
    for (int64_t i = 0; i < n; i++)
        count += host[i] != 0;
    return count;
}

static int join(struct call *c, struct selection *s, int32_t rank, const int64_t *size)
{
    int32_t wide = rank > s->rank ? rank : s->rank;
    int64_t out[RANK];
    for (int32_t d = 0; d < wide; d++) {
        int32_t a = d - (wide - s->rank), b = d - (wide - rank);
        int64_t x = a < 0 ? 1 : s->size[a], y = b < 0 ? 1 : size[b];
        if (x != y && x != 1 && y != 1) {
            struct npu_tensor left = {.rank = s->rank, .size = s->size}, right = {.rank = rank, .size = size};
            return call_error(c, CALL_INDEX_ERROR,
                              "shape mismatch: indexing tensors could not be broadcast together with shapes %s, %s",
                              sizes_text(c, &left), sizes_text(c, &right));
        }
        out[d] = x == 1 ? y : x;
    }
    s->rank = wide;
    memcpy(s->size, out, (size_t)wide * sizeof *out);
    return CALL_OK;
}

static bool is_mask(const struct npu_tensor *t)
{
    return t->dtype == ACL_BOOL || t->dtype == ACL_UINT8;
}

/* Reads the list of argument 1; shapes only as far as masks need not be counted, unless count is set. */
static int read_selection(struct call *c, const struct npu_tensor *self, struct selection *s, bool count)
{
    static const int64_t empty_size[1] = {0}, empty_stride[1] = {1};
    const struct npu_tensor *given;
    *s = (struct selection){.whole = true, .together = true};
    s->n = arg_tensors(c, 1, &given);
    struct npu_tensor *list = call_alloc(c, (s->n + 1) * sizeof *list);
    s->list = list;
    int32_t dim = 0, end = -1;
    for (size_t j = 0; j < s->n; j++) {
        const struct npu_tensor *t = &given[j];
        if (!t->defined) {
            list[j] = (struct npu_tensor){.size = empty_size,
                                          .stride = empty_stride,
                                          .rank = 1,
                                          .dtype = ACL_INT64,
                                          .device = self->device,
                                          .defined = true};
            dim++;
            continue;
        }
        list[j] = *t;
        bool mask = is_mask(t);
        int32_t dims = mask ? t->rank : 1;
        if (!mask && t->dtype != ACL_INT64 && t->dtype != ACL_INT32)
            return call_error(c, CALL_INDEX_ERROR, "tensors used as indices must be long, int, byte or bool tensors");
        if (dim + dims > self->rank || dim + dims > RANK)
            return call_error(c, CALL_INDEX_ERROR, "too many indices for tensor of dimension %d (got %zu)", self->rank,
                              s->n > (size_t)(dim + dims) ? s->n : (size_t)(dim + dims));
        s->whole = false;
        s->together = s->together && (end < 0 || end == dim);
        if (end < 0)
            s->first = dim;
        for (int32_t d = 0; d < dims; d++) {
            if (mask && t->size[d] != self->size[dim + d])
                return call_error(c, CALL_INDEX_ERROR,
                                  "The shape of the mask %s at index %d does not match the shape of the indexed tensor "
                                  "%s at index %d",
                                  sizes_text(c, t), d, sizes_text(c, self), dim + d);
            s->indexed[dim + d] = true;
        }
        int64_t numel = tensor_numel(t);
        if (mask) {
            s->masks = true;
            if (count) {
                int64_t selected = count_mask(c, t);
                if (selected < 0 || join(c, s, 1, &selected))
                    return CALL_ERROR;
            }
        } else {
            s->ints = true;
            if (numel && !self->size[dim])
                return call_error(c, CALL_INDEX_ERROR, "index is out of bounds for dimension with size 0");
            if (join(c, s, t->rank, t->size))
                return CALL_ERROR;
        }
        s->nothing = s->nothing || !numel;
        dim += dims;
        end = dim;
    }
    s->used = dim;
    if (dim > self->rank)
        return call_error(c, CALL_INDEX_ERROR, "too many indices for tensor of dimension %d (got %d)", self->rank, dim);
    if (!s->together)
        s->first = 0;
    return CALL_OK;
}

/* The shape of self[list]; the same with self's strides and the table's, for the layout of the result. */
static int32_t selected_shape(const struct npu_tensor *self, const struct selection *s, int64_t *size,
                              int64_t *self_stride, int64_t *table_stride)
{
    int32_t rank = 0;
    for (int32_t d = 0; d <= self->rank; d++) {
        if (rank == s->first && (d == s->first || !s->together)) {
            int64_t step = 1;
            for (int32_t k = s->rank; k-- > 0;) {
                size[rank + k] = s->size[k];
                self_stride[rank + k] = 0;
                table_stride[rank + k] = step;
                step *= s->size[k];
            }
            rank += s->rank;
            if (!s->rank && d < self->rank && s->indexed[d])
                continue;
        }
        if (d == self->rank || s->indexed[d])
            continue;
        size[rank] = self->size[d];
        table_stride[rank] = 0;
        self_stride[rank++] = self->stride[d];
    }
    return rank;
}

static int run_index(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct selection s;
    if (read_selection(c, self, &s, true))
        return CALL_ERROR;
    int64_t size[2 * RANK], self_stride[2 * RANK], table_stride[2 * RANK];
    int32_t rank = selected_shape(self, &s, size, self_stride, table_stride);
    struct npu_tensor seen = *self, table = *self;
    seen.rank = table.rank = rank;
    seen.size = table.size = size;
    seen.stride = self_stride;
    table.stride = table_stride;
    const struct npu_tensor *out =
        result_pointwise(c, 0, self->dtype, rank, size, (const struct npu_tensor *const[]){&seen, &table}, 2);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    if (s.whole)
        return copy_tensor(c, out, self);
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.l = {s.list, s.n}}, {.t = out}},
                        CALL_INDEX_ERROR);
}

/* self[mask] = one value: a masked fill. */
static int fill_masked(struct call *c, const struct npu_tensor *self, const struct selection *s,
                       const struct npu_tensor *value)
{
    static struct aclnn masked_fill = ACLNN("aclnnInplaceMaskedFillTensor", "TTT");
    int32_t at = 0;
    const struct npu_tensor *mask = NULL;
    int64_t stride[RANK] = {0};
    for (size_t j = 0; j < s->n; j++) {
        if (!is_mask(&s->list[j])) {
            at++;
            continue;
        }
        mask = &s->list[j];
        for (int32_t d = 0; d < mask->rank; d++)
            stride[at + d] = mask->stride[d];
        at += mask->rank;
    }
    mask = apart(c, mask, self);
    if (mask->device < 0)
        return CALL_FALLBACK;
    int64_t zero[1] = {0};
    const struct npu_tensor *wide = view_of(c, mask, self->rank, self->size, stride, mask->offset);
    const struct npu_tensor *one = apart(c, view_of(c, value, 0, zero, zero, value->offset), self);
    return launch(c, &masked_fill, (union aclnn_value[]){{.t = self}, {.t = wide}, {.t = one}});
}

static int run_index_put(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *values = arg_tensor(c, 2);
    bool accumulate = arg_bool(c, 3, false), safe = !arg_bool(c, 4, false);
    struct selection s;
    if (read_selection(c, self, &s, false))
        return CALL_ERROR;
    if (values->dtype != self->dtype)
        return CALL_FALLBACK; /* for PyTorch's text, or its cast */
    if (accumulate && !indexes_with_sum(self->dtype))
        return CALL_FALLBACK;
    if (s.whole)
        return CALL_FALLBACK;
    if (check_no_overlap(c, self))
        return CALL_ERROR;
    int64_t numel = tensor_numel(values);
    if (s.masks && !s.ints && numel == 1 && !accumulate && s.n) {
        size_t masks = 0, dims = 0;
        for (size_t j = 0; j < s.n; j++)
            masks += is_mask(&s.list[j]);
        (void)dims;
        if (masks == 1 && self->rank) {
            int status = fill_masked(c, self, &s, values);
            if (status != CALL_FALLBACK)
                return status;
        }
    }
    if (!s.masks) { /* the shape is known: say at once what does not fit */
        int64_t size[2 * RANK], self_stride[2 * RANK], table_stride[2 * RANK];
        int32_t rank = selected_shape(self, &s, size, self_stride, table_stride), extra = values->rank - rank;
        bool fits = true;
        for (int32_t d = 0; fits && d < values->rank; d++)
            fits = values->size[d] == 1 || (d >= extra && values->size[d] == size[d - extra]);
        if (!fits) {
            struct npu_tensor wanted = {.rank = rank, .size = size};
            return call_error(
                c, CALL_RUNTIME_ERROR,
                "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                sizes_text(c, values), sizes_text(c, &wanted));
        }
    }
    if (s.nothing || !numel || !tensor_numel(self))
        return CALL_OK;
    struct npu_tensor *list = call_alloc(c, s.n * sizeof *list);
    for (size_t j = 0; j < s.n; j++)
        list[j] = *apart(c, &s.list[j], self);
    union aclnn_value v[] = {
        {.t = self}, {.l = {list, s.n}}, {.t = apart(c, values, self)}, {.i = accumulate}, {.i = !safe}};
    return safe ? index_launch(c, row->aclnn, v, CALL_INDEX_ERROR) : launch(c, row->aclnn, v);
}

static struct aclnn index_get = ACLNN("aclnnIndex", "TLT"), index_put = ACLNN("aclnnIndexPutImpl", "TLTbb");

static const struct aten_row rows[] = {
    {"index.Tensor", run_index, &index_get, 0, false},
    {"index.Tensor_out", run_index, &index_get, 0, false},
    {"_index_put_impl_", run_index_put, &index_put, 0, false},
};
ATEN_FAMILY(index_list_family, rows);

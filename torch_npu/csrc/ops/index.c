/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing at indices along one dimension. (Lists of indices: index_list.c.)
 *
 * Indices are checked where they are used, on the device; the adapters of operators that take indices from users wait
 * for the outcome and raise it as PyTorch does on the CPU. In-place forms write a part of self: they work on self
 * itself, and on a copy of what shares its memory. */
#include "index.h"

#include <string.h>

int index_launch(struct call *c, struct aclnn *op, const union aclnn_value *values, enum call_error_kind kind)
{
    static const char *const starts[] = {"index out of range in self",
                                         "index_copy_(): index ",
                                         "out of range: tried to access",
                                         "Number of elements of source",
                                         "shape mismatch: ",
                                         "repeats can not be negative",
                                         "allocated size does not match",
                                         "Target ",
                                         "all elements of input should be between 0 and 1",
                                         "probability tensor contains",
                                         "invalid multinomial distribution",
                                         "Expected p_in",
                                         "normal expects all elements",
                                         "index "};
    if (launch(c, op, values) == CALL_OK && call_sync(c) == CALL_OK)
        return CALL_OK;
    const char *text = call_error_text(c);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const char *start = text ? strstr(text, starts[i]) : NULL;
        if (!start)
            continue;
        size_t n = strcspn(start, "\n");
        char *reason = call_alloc(c, n + 1);
        memcpy(reason, start, n);
        return call_reword(c, kind, reason);
    }
    return CALL_ERROR;
}

bool shares_memory(const struct npu_tensor *a, const struct npu_tensor *b)
{
    return a->defined && b->defined && a->device >= 0 && a->data && a->data == b->data;
}

/* t, or a copy of it when it lies in self's memory. */
const struct npu_tensor *apart(struct call *c, const struct npu_tensor *t, const struct npu_tensor *self)
{
    if (!shares_memory(t, self))
        return t;
    struct npu_tensor *fresh = temp(c, t->dtype, t->rank, t->size);
    copy_tensor(c, fresh, t);
    return fresh;
}

int check_no_overlap(struct call *c, const struct npu_tensor *self)
{
    for (int32_t d = 0; d < self->rank; d++)
        if (self->size[d] > 1 && !self->stride[d])
            return call_error(
                c, CALL_RUNTIME_ERROR,
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation.");
    return CALL_OK;
}

const char *sizes_text(struct call *c, const struct npu_tensor *t)
{
    char *text = call_alloc(c, (size_t)t->rank * 22 + 3), *at = text;
    *at++ = '[';
    for (int32_t d = 0; d < t->rank; d++)
        at += snprintf(at, 22, "%s%lld", d ? ", " : "", (long long)t->size[d]);
    *at++ = ']';
    return text;
}

static bool is_index(const struct npu_tensor *t)
{
    return t->dtype == ACL_INT64 || t->dtype == ACL_INT32;
}

/* ---- gather, index_select, embedding, take ---- */

static int run_gather(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2);
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    if (tensor_numel(index)) {
        if (!is_index(index))
            return call_error(c, CALL_RUNTIME_ERROR, "gather(): Expected dtype int32/int64 for index");
        if ((self->rank ? self->rank : 1) != (index->rank ? index->rank : 1))
            return call_error(c, CALL_RUNTIME_ERROR,
                              "Index tensor must have the same number of dimensions as input tensor");
        for (int32_t d = 0; d < index->rank && d < self->rank; d++)
            if (d != dim && index->size[d] > self->size[d])
                return call_error(
                    c, CALL_RUNTIME_ERROR,
                    "Size does not match at dimension %d expected index %s to be no larger than self %s apart from "
                    "dimension %d",
                    d, sizes_text(c, index), sizes_text(c, self), dim);
    }
    const struct npu_tensor *out = result(c, 0, self->dtype, index->rank, index->size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(index))
        return CALL_OK;
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = index}, {.t = out}},
                        CALL_RUNTIME_ERROR);
}

static int run_index_select(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2);
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    if (index->rank > 1)
        return call_error(c, CALL_INDEX_ERROR, "index_select(): Index is supposed to be a vector");
    if (!is_index(index))
        return call_error(c, CALL_RUNTIME_ERROR, "index_select(): Expected dtype int32 or int64 for index");
    int64_t size[64], n = tensor_numel(index);
    if (!self->rank && n != 1)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "index_select(): Source is supposed to be a scalar if the index is not");
    memcpy(size, self->size, (size_t)self->rank * sizeof *size);
    if (self->rank)
        size[dim] = n;
    const struct npu_tensor *out = result(c, 0, self->dtype, self->rank, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = index}, {.t = out}},
                        CALL_INDEX_ERROR);
}

static int run_embedding(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *weight = arg_tensor(c, 0), *indices = arg_tensor(c, 1);
    if (weight->rank != 2)
        return call_error(c, CALL_RUNTIME_ERROR, "'weight' must be 2-D");
    if (!is_index(indices))
        return CALL_FALLBACK; /* for PyTorch's text */
    int64_t size[64];
    memcpy(size, indices->size, (size_t)indices->rank * sizeof *size);
    size[indices->rank] = weight->size[1];
    const struct npu_tensor *out = result(c, 0, weight->dtype, indices->rank + 1, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = weight}, {.t = indices}, {.t = out}},
                        CALL_INDEX_ERROR);
}

static int run_embedding_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *indices = arg_tensor(c, 1);
    int64_t rows = arg_int(c, 2, 0), size[2] = {rows, grad->rank ? grad->size[grad->rank - 1] : 1};
    if (!is_floating(grad->dtype) || !is_index(indices))
        return CALL_FALLBACK;
    const struct npu_tensor *out = result(c, 0, grad->dtype, 2, size);
    if (call_failed(c))
        return CALL_ERROR;
    /* the indices have been checked by the forward pass */
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = grad},
                                        {.t = indices},
                                        {.i = rows},
                                        {.i = arg_int(c, 3, -1)},
                                        {.i = arg_bool(c, 4, false)},
                                        {.t = out}});
}

static int run_take(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 1);
    if (index->dtype != ACL_INT64)
        return CALL_FALLBACK;
    if (!tensor_numel(self) && tensor_numel(index))
        return call_error(c, CALL_INDEX_ERROR, "take(): tried to take from an empty tensor");
    const struct npu_tensor *out = result(c, 0, self->dtype, index->rank, index->size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(index))
        return CALL_OK;
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = index}, {.t = out}}, CALL_INDEX_ERROR);
}

/* ---- scatter ---- */

enum { IN_PLACE = 1, VALUE = 2, ADD = 4, REDUCE_NAME = 8 };

static struct aclnn scatter_out = ACLNN("aclnnScatter", "TiTTiT"), scatter_in = ACLNN("aclnnInplaceScatter", "TiTTi");
static struct aclnn value_out = ACLNN("aclnnScatterValue", "TiTSiT"),
                    value_in = ACLNN("aclnnInplaceScatterValue", "TiTSi");
static struct aclnn reduce_out = ACLNN("aclnnScatterReduce", "TiTTibT"),
                    reduce_in = ACLNN("aclnnInplaceScatterReduce", "TiTTib");
static struct aclnn scatter_add = ACLNN("aclnnScatterAdd", "TiTTT");

static int check_scatter(struct call *c, const char *name, const struct npu_tensor *self, int32_t dim,
                         const struct npu_tensor *index, const struct npu_tensor *src)
{
    int64_t n = tensor_numel(index);
    if (n && !is_index(index))
        return call_error(c, CALL_RUNTIME_ERROR, "%s(): Expected dtype int32/int64 for index", name);
    if (src && src->dtype != self->dtype)
        return call_error(c, CALL_RUNTIME_ERROR, "%s(): Expected self.dtype to be equal to src.dtype", name);
    if (!n)
        return CALL_OK;
    int32_t rank = self->rank ? self->rank : 1;
    if ((index->rank ? index->rank : 1) != rank)
        return call_error(c, CALL_RUNTIME_ERROR, "Index tensor must have the same number of dimensions as self tensor");
    if (src && (src->rank ? src->rank : 1) != rank)
        return call_error(c, CALL_RUNTIME_ERROR, "Index tensor must have the same number of dimensions as src tensor");
    for (int32_t d = 0; d < index->rank; d++) {
        bool self_small = d != dim && d < self->rank && index->size[d] > self->size[d];
        bool src_small = src && d < src->rank && index->size[d] > src->size[d];
        if (self_small || src_small) {
            const char *larger = sizes_text(c, index), *than = sizes_text(c, self);
            return src ? call_error(c, CALL_RUNTIME_ERROR,
                                    "Expected index %s to be no larger than self %s apart from dimension %d and to be "
                                    "no larger size "
                                    "than src %s",
                                    larger, than, dim, sizes_text(c, src))
                       : call_error(c, CALL_RUNTIME_ERROR,
                                    "Expected index %s to be no larger than self %s apart from dimension %d", larger,
                                    than, dim);
        }
    }
    return CALL_OK;
}

enum { NO_REDUCE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN, REDUCE_MEAN };

/* "add" and "multiply" of scatter, or the names of scatter_reduce; -1 after the error. */
static int reduce_code(struct call *c, const char *name, bool two)
{
    static const struct {
        const char *name;
        int code;
        bool two;
    } names[] = {{"add", REDUCE_ADD, false}, {"multiply", REDUCE_MUL, false}, {"sum", REDUCE_ADD, true},
                 {"prod", REDUCE_MUL, true}, {"amax", REDUCE_MAX, true},      {"amin", REDUCE_MIN, true},
                 {"mean", REDUCE_MEAN, true}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].two == two && !strcmp(name, names[i].name))
            return names[i].code;
    call_error(c, CALL_RUNTIME_ERROR,
               two ? "reduce argument must be either sum, prod, mean, amax or amin, got %s"
                   : "reduce argument must be either add or multiply.",
               name);
    return -1;
}

/* What a scatter writes to: self, from which index and src (may be NULL) are then apart, or without self a new result
 * like `like`. NULL after a failure. */
static const struct npu_tensor *written(struct call *c, const struct npu_tensor *self, const struct npu_tensor *like,
                                        const struct npu_tensor **index, const struct npu_tensor **src)
{
    const struct npu_tensor *out = self;
    if (!self) {
        out = result(c, 0, like->dtype, like->rank, like->size);
    } else {
        if (check_no_overlap(c, self))
            return NULL;
        *src = *src ? apart(c, *src, self) : NULL;
        *index = apart(c, *index, self);
    }
    return call_failed(c) ? NULL : out;
}

/* scatter and scatter_add; arguments self, dim, index, src or value, [reduce]. */
static int run_scatter(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2), *src = NULL;
    bool in_place = row->code & IN_PLACE, add = row->code & ADD;
    struct npu_scalar value = {0};
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    int reduce = NO_REDUCE;
    if (dim < 0)
        return CALL_ERROR;
    if (row->code & VALUE)
        value = arg_scalar(c, 3);
    else
        src = arg_tensor(c, 3);
    if (check_scatter(c, add ? "scatter_add" : "scatter", self, dim, index, src))
        return CALL_ERROR;
    if (row->code & REDUCE_NAME) {
        reduce = reduce_code(c, arg_string(c, 4), false);
        if (reduce < 0)
            return CALL_ERROR;
    }
    if ((reduce || add) && !indexes_with_sum(self->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *out = written(c, in_place ? self : NULL, self, &index, &src);
    if (!out)
        return CALL_ERROR;
    if (!tensor_numel(index))
        return in_place ? CALL_OK : copy_tensor(c, out, self);
    if (add)
        return index_launch(c, &scatter_add,
                            (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = index}, {.t = src}, {.t = out}},
                            CALL_RUNTIME_ERROR);
    union aclnn_value v[] = {{.t = self}, {.i = dim}, {.t = index}, {.t = src}, {.i = reduce}, {.t = out}};
    if (!src)
        v[3].s = &value;
    struct aclnn *op = src ? in_place ? &scatter_in : &scatter_out : in_place ? &value_in : &value_out;
    return index_launch(c, op, v, CALL_RUNTIME_ERROR);
}

/* A number as a line of one element. */
static const struct npu_tensor *line(struct call *c, const struct npu_tensor *t)
{
    int64_t one = 1;
    return t->rank ? t : view_of(c, t, 1, &one, &one, t->offset);
}

/* self, dim, index, source, reduce, include_self: a scatter whose index is the same along all other dimensions */
static int run_index_reduce(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *given = arg_tensor(c, 0), *self = line(c, given), *index = line(c, arg_tensor(c, 2)),
                            *src = line(c, arg_tensor(c, 3)), *out;
    bool in_place = row->code & IN_PLACE;
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    const char *name = arg_string(c, 4);
    int reduce = !strcmp(name, "prod")   ? REDUCE_MUL
                 : !strcmp(name, "mean") ? REDUCE_MEAN
                 : !strcmp(name, "amax") ? REDUCE_MAX
                 : !strcmp(name, "amin") ? REDUCE_MIN
                                         : -1;
    if (reduce < 0 || self->rank > 16 || src->rank != self->rank || index->rank != 1 ||
        (index->dtype != ACL_INT64 && index->dtype != ACL_INT32) || src->dtype != self->dtype ||
        src->size[dim] != index->size[0] || !indexes_with_sum(self->dtype) || is_complex(self->dtype) ||
        self->dtype == ACL_BOOL || index->device < 0)
        return CALL_FALLBACK;
    int64_t stride[16] = {0};
    for (int32_t d = 0; d < self->rank; d++)
        if (d != dim && src->size[d] != self->size[d])
            return CALL_FALLBACK;
    out = written(c, in_place ? self : NULL, given, &index, &src);
    if (!out)
        return CALL_ERROR;
    out = line(c, out);
    index = cast(c, index, ACL_INT64);
    stride[dim] = index->stride[0];
    if (!tensor_numel(src))
        return in_place ? CALL_OK : copy_tensor(c, out, self);
    index = contiguous(c, view_of(c, index, src->rank, src->size, stride, index->offset));
    return index_launch(
        c, in_place ? &reduce_in : &reduce_out,
        (union aclnn_value[]){
            {.t = self}, {.i = dim}, {.t = index}, {.t = src}, {.i = reduce}, {.i = arg_bool(c, 5, true)}, {.t = out}},
        CALL_INDEX_ERROR);
}

static int run_scatter_reduce(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2), *src = arg_tensor(c, 3), *out;
    bool in_place = row->code & IN_PLACE;
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    int reduce = reduce_code(c, arg_string(c, 4), true);
    if (reduce < 0 || check_scatter(c, "scatter_reduce", self, dim, index, src))
        return CALL_ERROR;
    if (!indexes_with_sum(self->dtype) || is_complex(self->dtype) || (self->dtype == ACL_BOOL && reduce == REDUCE_MEAN))
        return CALL_FALLBACK;
    out = written(c, in_place ? self : NULL, self, &index, &src);
    if (!out)
        return CALL_ERROR;
    if (!tensor_numel(index))
        return in_place ? CALL_OK : copy_tensor(c, out, self);
    return index_launch(
        c, in_place ? &reduce_in : &reduce_out,
        (union aclnn_value[]){
            {.t = self}, {.i = dim}, {.t = index}, {.t = src}, {.i = reduce}, {.i = arg_bool(c, 5, true)}, {.t = out}},
        CALL_RUNTIME_ERROR);
}

bool indexes_with_sum(aclDataType t)
{
    return t != ACL_UINT16 && t != ACL_UINT32 && t != ACL_UINT64 && t != ACL_COMPLEX32 &&
           (is_complex(t) || is_integral(t, true) || (is_floating(t) && t <= ACL_BF16));
}

/* ---- slices: index_add, index_copy, index_fill ---- */

static int check_slices(struct call *c, const char *name, const struct npu_tensor *self, int32_t dim,
                        const struct npu_tensor *index, const struct npu_tensor *source)
{
    int64_t n = tensor_numel(index);
    if (index->rank > 1)
        return call_error(c, CALL_INDEX_ERROR, "%s: Index should have dimension 1 or 0 (got %d)", name, index->rank);
    if (source->rank == 0 && n != 1)
        return call_error(c, CALL_INDEX_ERROR, "%s: When source is scalar, index should have one element (got %lld)",
                          name, (long long)n);
    if (source->rank != self->rank && source->rank && self->rank)
        return call_error(c, CALL_INDEX_ERROR,
                          "%s: When source and destination are not scalars, their dimensionality must match. Source "
                          "dimensionality (%d), "
                          "destination dimensionality (%d)",
                          name, source->rank, self->rank);
    for (int32_t d = 0; d < self->rank && d < source->rank; d++)
        if (d != dim && self->size[d] != source->size[d])
            return call_error(c, CALL_RUNTIME_ERROR,
                              "%s: Source/destination tensor must have same slice shapes. Destination slice shape: %s "
                              "at dimension %d and "
                              "source slice shape: %s at dimension 0.",
                              name, sizes_text(c, self), dim, sizes_text(c, source));
    if (source->rank && source->size[dim < source->rank ? dim : 0] != n)
        return call_error(c, CALL_INDEX_ERROR,
                          "%s: Number of indices (%lld) should be equal to source.size(dim) (%lld)", name, (long long)n,
                          (long long)source->size[dim < source->rank ? dim : 0]);
    return CALL_OK;
}

static struct aclnn index_add = ACLNN("aclnnIndexAdd", "TiTTST");

static int run_index_add(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2), *source = arg_tensor(c, 3),
                            *out = self;
    struct npu_scalar alpha = arg_scalar(c, 4);
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    /* odd shapes are PyTorch's to refuse */
    bool fits = index->rank <= 1 && is_index(index) && source->dtype == self->dtype && source->rank == self->rank &&
                indexes_with_sum(self->dtype) && (self->rank || tensor_numel(index) == 1);
    for (int32_t d = 0; fits && d < self->rank; d++)
        fits = source->size[d] == (d == dim ? tensor_numel(index) : self->size[d]);
    if (!fits)
        return CALL_FALLBACK;
    if (row->code & IN_PLACE) {
        if (check_no_overlap(c, self))
            return CALL_ERROR;
        source = apart(c, source, self);
    } else {
        out = result(c, 0, self->dtype, self->rank, self->size);
    }
    if (call_failed(c))
        return CALL_ERROR;
    return index_launch(
        c, &index_add,
        (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = index}, {.t = source}, {.s = &alpha}, {.t = out}},
        CALL_INDEX_ERROR);
}

static struct aclnn index_copy = ACLNN("aclnnInplaceIndexCopy", "TiTT");

static int run_index_copy(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2), *source = arg_tensor(c, 3),
                            *out = self;
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0 || check_slices(c, "index_copy_()", self, dim, index, source))
        return CALL_ERROR;
    if (index->dtype != ACL_INT64)
        return call_error(c, CALL_INDEX_ERROR, "index_copy_(): Expected a long tensor for index, but got %s",
                          "another type");
    if (source->dtype != self->dtype)
        return CALL_FALLBACK;
    if (row->code & IN_PLACE) {
        if (check_no_overlap(c, self))
            return CALL_ERROR;
        source = apart(c, source, self);
    } else {
        out = result(c, 0, self->dtype, self->rank, self->size);
        copy_tensor(c, out, self);
    }
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(index) || !tensor_numel(self))
        return CALL_OK;
    return index_launch(c, &index_copy, (union aclnn_value[]){{.t = out}, {.i = dim}, {.t = index}, {.t = source}},
                        CALL_INDEX_ERROR);
}

static struct aclnn index_fill = ACLNN("aclnnInplaceIndexFill", "TiTS");

static int run_index_fill(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 2);
    struct npu_scalar value;
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    if (row->code & VALUE) {
        value = arg_scalar(c, 3);
    } else {
        const struct npu_tensor *t = arg_tensor(c, 3);
        if (t->rank)
            return call_error(
                c, CALL_RUNTIME_ERROR,
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                t->rank);
        if (tensor_item(c, t, &value))
            return CALL_ERROR;
    }
    if (index->dtype != ACL_INT64)
        return call_error(c, CALL_INDEX_ERROR, "index_fill_(): Expected dtype int64 for index.");
    if (index->rank > 1)
        return call_error(c, CALL_INDEX_ERROR, "Index has to be a vector/scalar");
    if (value.kind == SCALAR_COMPLEX && !is_complex(self->dtype))
        return call_error(c, CALL_RUNTIME_ERROR,
                          "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    if (check_no_overlap(c, self))
        return CALL_ERROR;
    if (!tensor_numel(index) || !tensor_numel(self))
        return CALL_OK;
    return index_launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = index}, {.s = &value}},
                        CALL_INDEX_ERROR);
}

static struct aclnn put = ACLNN("aclnnInplacePut", "TTTb");

static int run_put(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *index = arg_tensor(c, 1), *source = arg_tensor(c, 2);
    bool accumulate = arg_bool(c, 3, false);
    if (!is_index(index) || source->dtype != self->dtype || (accumulate && !indexes_with_sum(self->dtype)))
        return CALL_FALLBACK;
    if (tensor_numel(index) != tensor_numel(source))
        return call_error(
            c, CALL_INDEX_ERROR,
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = %lld, "
            "index.numel() = %lld",
            (long long)tensor_numel(source), (long long)tensor_numel(index));
    if (!tensor_numel(self) && tensor_numel(index))
        return call_error(c, CALL_INDEX_ERROR, "put_(): Tried to put elements into an empty tensor");
    if (check_no_overlap(c, self))
        return CALL_ERROR;
    if (!tensor_numel(index))
        return CALL_OK;
    return index_launch(
        c, row->aclnn,
        (union aclnn_value[]){
            {.t = self}, {.t = apart(c, index, self)}, {.t = apart(c, source, self)}, {.i = accumulate}},
        CALL_INDEX_ERROR);
}

static struct aclnn masked_scatter = ACLNN("aclnnInplaceMaskedScatter", "TTT");

static int run_masked_scatter(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *mask = arg_tensor(c, 1), *source = arg_tensor(c, 2);
    if (source->dtype != self->dtype)
        return CALL_FALLBACK;
    if (mask->dtype != ACL_BOOL && mask->dtype != ACL_UINT8)
        return CALL_FALLBACK;
    const struct npu_tensor *both[2] = {self, mask};
    int64_t size[64];
    int32_t rank = broadcast_shape(c, both, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    if (rank != self->rank || memcmp(size, self->size, (size_t)rank * sizeof *size))
        return CALL_FALLBACK;
    if (check_no_overlap(c, self))
        return CALL_ERROR;
    if (!tensor_numel(self))
        return CALL_OK;
    return index_launch(c, row->aclnn,
                        (union aclnn_value[]){{.t = self}, {.t = apart(c, mask, self)}, {.t = apart(c, source, self)}},
                        CALL_RUNTIME_ERROR);
}

static struct aclnn gather = ACLNN("aclnnGather", "TiTT"), index_select = ACLNN("aclnnIndexSelect", "TiTT");
static struct aclnn embedding = ACLNN("aclnnEmbedding", "TTT"), take = ACLNN("aclnnTake", "TTT");
static struct aclnn embedding_backward = ACLNN("aclnnEmbeddingDenseBackward", "TTuubT");

static const struct aten_row rows[] = {
    {"gather", run_gather, &gather, 0, false},
    {"gather.out", run_gather, &gather, 0, false},
    {"index_select", run_index_select, &index_select, 0, false},
    {"index_select.out", run_index_select, &index_select, 0, false},
    {"embedding", run_embedding, &embedding, 0, false},
    {"embedding_dense_backward", run_embedding_backward, &embedding_backward, 0, false},
    {"take", run_take, &take, 0, false},
    {"take.out", run_take, &take, 0, false},
    {"put_", run_put, &put, 0, false},
    {"scatter.src", run_scatter, NULL, 0, false},
    {"scatter.src_out", run_scatter, NULL, 0, false},
    {"scatter_.src", run_scatter, NULL, IN_PLACE, false},
    {"scatter.value", run_scatter, NULL, VALUE, false},
    {"scatter.value_out", run_scatter, NULL, VALUE, false},
    {"scatter_.value", run_scatter, NULL, VALUE | IN_PLACE, false},
    {"scatter.reduce", run_scatter, NULL, REDUCE_NAME, false},
    {"scatter.reduce_out", run_scatter, NULL, REDUCE_NAME, false},
    {"scatter_.reduce", run_scatter, NULL, REDUCE_NAME | IN_PLACE, false},
    {"scatter.value_reduce", run_scatter, NULL, VALUE | REDUCE_NAME, false},
    {"scatter.value_reduce_out", run_scatter, NULL, VALUE | REDUCE_NAME, false},
    {"scatter_.value_reduce", run_scatter, NULL, VALUE | REDUCE_NAME | IN_PLACE, false},
    {"scatter_add", run_scatter, NULL, ADD, false},
    {"scatter_add.out", run_scatter, NULL, ADD, false},
    {"scatter_add_", run_scatter, NULL, ADD | IN_PLACE, false},
    {"index_reduce", run_index_reduce, NULL, 0, false},
    {"index_reduce.out", run_index_reduce, NULL, 0, false},
    {"index_reduce_", run_index_reduce, NULL, IN_PLACE, false},
    {"scatter_reduce.two", run_scatter_reduce, NULL, 0, false},
    {"scatter_reduce.two_out", run_scatter_reduce, NULL, 0, false},
    {"scatter_reduce_.two", run_scatter_reduce, NULL, IN_PLACE, false},
    {"index_add", run_index_add, NULL, 0, false},
    {"index_add.out", run_index_add, NULL, 0, false},
    {"index_add_", run_index_add, NULL, IN_PLACE, false},
    {"index_copy", run_index_copy, NULL, 0, false},
    {"index_copy.out", run_index_copy, NULL, 0, false},
    {"index_copy_", run_index_copy, NULL, IN_PLACE, false},
    {"index_fill_.int_Scalar", run_index_fill, &index_fill, VALUE, false},
    {"index_fill_.int_Tensor", run_index_fill, &index_fill, 0, false},
    {"masked_scatter_", run_masked_scatter, &masked_scatter, 0, false},
};
ATEN_FAMILY(index_family, rows);

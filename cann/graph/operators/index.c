/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing at indices, sorting out the largest, positions that fulfil something. */
#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_eq_tensor.h"
#include "aclnnop/aclnn_gather.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_inplace_scatter.h"
#include "aclnnop/aclnn_s_where.h"
#include "aclnnop/aclnn_topk.h"
#include "graph/operators/onnx.h"
#include "graph/operators/row.h"
#include "runtime/door.h"

/* ---- along an axis ---- */

static void define_gather(struct op *op)
{
    struct operand *x = op_in(op, 0), *index = op_in(op, 1);
    int axis = op_axis_of(op, 0, x->rank);
    int64_t dim[2 * OP_RANK], flat[OP_RANK], n = op_count(index);
    if (x->rank < 1 || x->rank - 1 + index->rank > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "%d dimensions at indices of %d", x->rank, index->rank);
        return;
    }
    memcpy(dim, x->dim, sizeof *dim * (size_t)axis);
    memcpy(dim + axis, index->dim, sizeof *dim * (size_t)index->rank);
    memcpy(dim + axis + index->rank, x->dim + axis + 1, sizeof *dim * (size_t)(x->rank - axis - 1));
    memcpy(flat, x->dim, sizeof flat);
    flat[axis] = n;
    struct operand *y = op_result(op, 0, x->dtype, x->rank - 1 + index->rank, dim);
    if (op_count(y))
        OP_CALL(op, aclnnIndexSelect, op_acl(op, x), axis,
                op_acl(op, op_reshape(op, onnx_index(op, index, x->dim[axis]), 1, &n)),
                op_out(op, op_reshape(op, y, x->rank, flat)));
}

static void define_gather_elements(struct op *op)
{
    struct operand *x = op_in(op, 0), *index = op_in(op, 1);
    int axis = op_axis_of(op, 0, x->rank);
    struct operand *y = op_result(op, 0, x->dtype, index->rank, index->dim);
    if (op_count(y))
        OP_CALL(op, aclnnGather, op_acl(op, x), axis, op_acl(op, onnx_index(op, index, x->dim[axis])), op_out(op, y));
}

/* What happens where indices meet. */
static void scatter(struct op *op, struct operand *y, int axis, struct operand *index, struct operand *from)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"}; /* as aclnnInplaceScatter numbers them */
    const char *how = op_string(op, "reduction", "none");
    int code = 0;
    while (code < 5 && strcmp(how, names[code]) != 0)
        code++;
    if (code == 5)
        op_fail(op, GRAPH_UNSUPPORTED, "the reduction \"%s\"", how);
    OP_CALL(op, aclnnInplaceScatter, op_out(op, y), axis, op_acl(op, index), op_acl(op, from), code);
}

static void define_scatter_elements(struct op *op)
{
    struct operand *x = op_in(op, 0), *index = op_in(op, 1), *update = op_in(op, 2), *y = op_like(op, 0, x);
    int axis = op_axis_of(op, 0, x->rank);
    op_copy(op, y, x);
    if (op_count(index))
        scatter(op, y, axis, onnx_index(op, index, x->dim[axis]), update);
}

/* ---- tuples of indices ---- */

struct tuples {
    const int64_t *index;
    int64_t *flat;
    int64_t batches, tuples, limit[OP_RANK]; /* tuples of each batch */
    int k;
};

/* Each tuple's place among the slices, counted through all batches. */
static int flatten_tuples(void *arg)
{
    const struct tuples *t = arg;
    const int64_t *index = device_address(t->index);
    int64_t *flat = device_address(t->flat), slices = 1;
    for (int j = 0; j < t->k; j++)
        slices *= t->limit[j];
    for (int64_t i = 0; i < t->batches * t->tuples; i++) {
        int64_t at = 0;
        for (int j = 0; j < t->k; j++) {
            int64_t place = index[i * t->k + j], limit = t->limit[j];
            place = place < 0 ? place + limit : place;
            if (place < 0 || place >= limit)
                return fail(ACL_ERROR_INVALID_PARAM, "Index %ld is out of bounds of a dimension of %ld.",
                            (long)index[i * t->k + j], (long)limit);
            at = at * limit + place;
        }
        flat[i] = i / t->tuples * slices + at;
    }
    return 0;
}

/* indices [batch…, …, k] into dims [batch, batch + k) of x: a flat list of slices; *slice: elements of one. */
static struct operand *flat_tuples(struct op *op, const struct operand *x, struct operand *indices, int batch,
                                   int64_t *slice)
{
    int k = indices->rank ? (int)indices->dim[indices->rank - 1] : 0;
    if (indices->rank < 1 || batch < 0 || k < 0 || batch + k > x->rank || batch >= indices->rank) {
        op_fail(op, GRAPH_INVALID, "tuples of %d indices for %d dimensions", k, x->rank);
        return NULL;
    }
    for (int i = 0; i < batch; i++)
        if (indices->dim[i] != x->dim[i]) {
            op_fail(op, GRAPH_INVALID, "batch dimension %d is %lld and %lld", i, (long long)x->dim[i],
                    (long long)indices->dim[i]);
            return NULL;
        }
    int64_t n = op_span(indices, 0, indices->rank - 1);
    struct operand *flat = op_temp(op, ACL_INT64, 1, &n);
    struct operand *wide = op_cast(op, indices, ACL_INT64);
    struct tuples t = {op_data(op, wide), op_data(op, flat), op_span(x, 0, batch), 0, {0}, k};
    for (int j = 0; j < k; j++)
        t.limit[j] = x->dim[batch + j];
    t.tuples = t.batches ? n / t.batches : 0;
    *slice = op_span(x, batch + k, x->rank);
    if (n)
        op_host(op, "indices", flatten_tuples, &t, sizeof t);
    return flat;
}

static void define_gather_nd(struct op *op)
{
    struct operand *x = op_in(op, 0), *indices = op_in(op, 1);
    int batch = (int)op_int(op, "batch_dims", 0);
    int64_t slice, dim[2 * OP_RANK];
    struct operand *flat = flat_tuples(op, x, indices, batch, &slice);
    if (!flat)
        return;
    int rank = indices->rank - 1, k = (int)indices->dim[rank], rest = x->rank - batch - k;
    memcpy(dim, indices->dim, sizeof *dim * (size_t)rank);
    memcpy(dim + rank, x->dim + batch + k, sizeof *dim * (size_t)rest);
    struct operand *y = op_result(op, 0, x->dtype, rank + rest, dim);
    int64_t from[] = {slice ? op_count(x) / slice : 0, slice}, to[] = {flat->dim[0], slice};
    if (op_count(y))
        OP_CALL(op, aclnnIndexSelect, op_acl(op, op_reshape(op, x, 2, from)), 0, op_acl(op, flat),
                op_out(op, op_reshape(op, y, 2, to)));
}

static void define_scatter_nd(struct op *op)
{
    struct operand *x = op_in(op, 0), *indices = op_in(op, 1), *update = op_in(op, 2), *y = op_like(op, 0, x);
    int64_t slice;
    op_copy(op, y, x);
    struct operand *flat = flat_tuples(op, x, indices, 0, &slice);
    if (!flat || op_count(update) == 0 || slice == 0)
        return;
    int64_t n = flat->dim[0], to[] = {op_count(x) / slice, slice}, from[] = {n, slice};
    struct operand *index = op_expand(op, op_reshape(op, flat, 2, (int64_t[]){n, 1}), 2, from);
    scatter(op, op_reshape(op, y, 2, to), 0, index, op_reshape(op, update, 2, from));
}

/* ---- sequences ---- */

struct rows {
    const char *from;
    char *to;
    const int64_t *number;                /* of each batch */
    int64_t batches, prefix, rows, given; /* y: [batches, prefix, rows, bytes], from: given rows */
    size_t bytes;
    bool wraps;
};

static int place_rows(void *arg)
{
    const struct rows *r = arg;
    const int64_t *number = r->number ? device_address(r->number) : NULL;
    const char *from = device_address(r->from);
    char *to = device_address(r->to);
    for (int64_t p = 0; p < r->batches * r->prefix; p++)
        for (int64_t i = 0; i < r->given; i++) {
            int64_t at = i + (number ? number[p / r->prefix] : 0);
            if (r->wraps)
                at %= r->rows;
            if (at < 0 || at >= r->rows)
                return fail(ACL_ERROR_INVALID_PARAM, "Row %ld is outside of a cache of %ld.", (long)at, (long)r->rows);
            memcpy(to + (size_t)(p * r->rows + at) * r->bytes, from + (size_t)(p * r->given + i) * r->bytes, r->bytes);
        }
    return 0;
}

static void define_tensor_scatter(struct op *op)
{
    struct operand *past = op_in(op, 0), *update = op_in(op, 1), *at = op_in(op, 2), *y = op_like(op, 0, past);
    int axis = op_axis_of(op, -2, past->rank);
    if (axis < 1 || update->rank != past->rank) {
        op_fail(op, GRAPH_INVALID, "axis %d, and an update of %d dimensions for %d", axis, update->rank, past->rank);
        return;
    }
    for (int32_t i = 0; i < past->rank; i++)
        if (i == axis ? update->dim[i] > past->dim[i] : update->dim[i] != past->dim[i]) {
            op_fail(op, GRAPH_INVALID, "dimension %d of the update is %lld, of the cache %lld", i,
                    (long long)update->dim[i], (long long)past->dim[i]);
            return;
        }
    if (at && op_count(at) != past->dim[0]) {
        op_fail(op, GRAPH_INVALID, "%lld rows for a batch of %lld", (long long)op_count(at), (long long)past->dim[0]);
        return;
    }
    op_copy(op, y, past);
    struct rows r = {op_data(op, update),
                     op_data(op, y),
                     op_data(op, at),
                     past->dim[0],
                     op_span(past, 1, axis),
                     past->dim[axis],
                     update->dim[axis],
                     (size_t)op_span(past, axis + 1, past->rank) * dtype_size(past->dtype),
                     op_string_is(op, "mode", "linear", "circular")};
    if (op_count(update))
        op_host(op, "TensorScatter", place_rows, &r, sizeof r);
}

struct turn {
    const char *from;
    char *to;
    const int64_t *length;
    int64_t batches, steps;
    size_t bytes;
};

static int turn_rows(void *arg)
{
    const struct turn *t = arg;
    const char *from = device_address(t->from);
    char *to = device_address(t->to);
    const int64_t *length = device_address(t->length);
    for (int64_t b = 0; b < t->batches; b++)
        for (int64_t i = 0; i < t->steps; i++) {
            int64_t n = length[b] < t->steps ? length[b] : t->steps, at = i < n ? n - 1 - i : i;
            memcpy(to + (size_t)(b * t->steps + i) * t->bytes, from + (size_t)(b * t->steps + at) * t->bytes, t->bytes);
        }
    return 0;
}

static void define_reverse_sequence(struct op *op)
{
    struct operand *x = op_in(op, 0), *length = op_in(op, 1), *y = op_like(op, 0, x);
    int batch = op_axis(op, op_int(op, "batch_axis", 1), x->rank),
        time = op_axis(op, op_int(op, "time_axis", 0), x->rank);
    if (x->rank < 2 || batch == time || op_count(length) != x->dim[batch]) {
        op_fail(op, GRAPH_INVALID, "batch axis %d, time axis %d, %lld lengths", batch, time,
                (long long)op_count(length));
        return;
    }
    int64_t order[OP_RANK] = {batch, time};
    int n = 2;
    for (int32_t i = 0; i < x->rank; i++)
        if (i != batch && i != time)
            order[n++] = i;
    struct operand *from = op_contiguous(op, op_transpose(op, x, order));
    struct operand *to = op_temp(op, x->dtype, from->rank, from->dim);
    struct turn t = {op_data(op, from), op_data(op, to), op_data(op, op_cast(op, length, ACL_INT64)),
                     from->dim[0],      from->dim[1],    (size_t)op_span(from, 2, from->rank) * dtype_size(x->dtype)};
    op_host(op, "ReverseSequence", turn_rows, &t, sizeof t);
    op_copy(op, op_transpose(op, y, order), to);
}

/* ---- the largest ---- */

static void define_topk(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int axis = op_axis_of(op, -1, x->rank);
    size_t n = 1;
    int64_t attribute = op_int(op, "k", 0), dim[OP_RANK];
    const int64_t *k = op_version(op) < 10 ? &attribute : op_whole(op, 1, &n);
    memcpy(dim, x->dim, sizeof dim);
    if (!k || n != 1) {
        dim[axis] = DIM_UNKNOWN;
        op_result_open(op, 0, x->dtype, x->rank, dim);
        op_result_open(op, 1, ACL_INT64, x->rank, dim);
        return;
    }
    if (k[0] < 0 || (x->rank && k[0] > x->dim[axis])) {
        op_fail(op, GRAPH_INVALID, "the %lld largest of %lld", (long long)k[0],
                (long long)(x->rank ? x->dim[axis] : 1));
        return;
    }
    dim[axis] = k[0];
    struct operand *values = op_result(op, 0, x->dtype, x->rank, dim),
                   *index = op_result(op, 1, ACL_INT64, x->rank, dim);
    if (op_count(values))
        OP_CALL(op, aclnnTopk, op_acl(op, x), k[0], axis, op_int(op, "largest", 1), op_int(op, "sorted", 1),
                op_out(op, values), op_out(op, index));
}

/* ---- results of unknown size ---- */

static void define_nonzero(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n;
    const double *value = op_numbers(op, 0, &n);
    int rank = x->rank ? x->rank : 1;
    if (!value) {
        op_result_open(op, 0, ACL_INT64, 2, (int64_t[]){rank, DIM_UNKNOWN});
        return;
    }
    int64_t count = 0, k = 0;
    for (size_t i = 0; i < n; i++)
        count += value[i] != 0;
    struct operand *y = op_result(op, 0, ACL_INT64, 2, (int64_t[]){rank, count});
    int64_t *at = malloc(sizeof *at * (size_t)(rank * count + 1));
    for (size_t i = 0; at && i < n; i++) {
        if (value[i] == 0)
            continue;
        int64_t rest = (int64_t)i;
        for (int32_t d = rank - 1; d >= 0; d--) {
            int64_t size = x->rank ? x->dim[d] : 1;
            at[d * count + k] = rest % size;
            rest /= size;
        }
        k++;
    }
    if (at)
        op_write(op, y, at);
    else
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
    free(at);
}

static void define_compress(struct op *op)
{
    struct operand *x = op_in(op, 0);
    bool flat = !node_attribute(op_node(op), "axis");
    if (flat)
        x = op_reshape(op, x, 1, (int64_t[]){op_count(x)});
    int axis = flat ? 0 : op_axis_of(op, 0, x->rank);
    int64_t dim[OP_RANK], count = 0;
    size_t n;
    const int64_t *keep = op_whole(op, 1, &n);
    memcpy(dim, x->dim, sizeof dim);
    if (!keep) {
        dim[axis] = DIM_UNKNOWN;
        op_result_open(op, 0, x->dtype, x->rank, dim);
        return;
    }
    double *at = malloc(sizeof *at * (n + 1));
    for (size_t i = 0; at && i < n && (int64_t)i < x->dim[axis]; i++)
        if (keep[i])
            at[count++] = (double)i;
    dim[axis] = count;
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    if (at && op_count(y))
        OP_CALL(op, aclnnIndexSelect, op_acl(op, x), axis, op_acl(op, op_constant(op, ACL_INT64, 1, &count, at)),
                op_out(op, y));
    free(at);
}

/* ---- distinct elements ---- */

struct item {
    const double *value;
    int64_t at, length, step; /* elements: value[at * length + k], or apart by step */
};

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    for (int64_t k = 0; k < x->length; k++) {
        double p = x->value[k * x->step], q = y->value[k * y->step];
        if (p < q || (q != q && p == p))
            return -1;
        if (p > q || (p != p && q == q))
            return 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_item(const struct item *x, const struct item *y)
{
    for (int64_t k = 0; k < x->length; k++)
        if (x->value[k * x->step] != y->value[k * y->step])
            return false;
    return true;
}

static int compare_first(const void *a, const void *b)
{
    int64_t x = ((const int64_t *)a)[1], y = ((const int64_t *)b)[1];
    return x < y ? -1 : x > y;
}

/* group[i]: {where it stands among the distinct ones by value, first item, how many}; inverse[item]: its group. */
static int64_t group_items(struct item *item, int64_t n, int64_t (*group)[3], int64_t *inverse, bool sorted)
{
    int64_t groups = 0;
    qsort(item, (size_t)n, sizeof *item, compare_items);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || !same_item(&item[i - 1], &item[i])) {
            group[groups][0] = groups;
            group[groups][1] = item[i].at;
            group[groups++][2] = 0;
        }
        group[groups - 1][2]++;
        inverse[item[i].at] = groups - 1;
    }
    if (sorted)
        return groups;
    int64_t *place = malloc(sizeof *place * (size_t)(groups + 1));
    qsort(group, (size_t)groups, sizeof *group, compare_first);
    for (int64_t g = 0; place && g < groups; g++)
        place[group[g][0]] = g;
    for (int64_t i = 0; place && i < n; i++)
        inverse[i] = place[inverse[i]];
    free(place);
    return groups;
}

static void write_unique(struct op *op, struct operand *x, int axis, int64_t (*group)[3], int64_t groups,
                         int64_t *inverse, int64_t n)
{
    int64_t dim[OP_RANK];
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = groups;
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    struct operand *first = op_result(op, 1, ACL_INT64, 1, &groups), *back = op_result(op, 2, ACL_INT64, 1, &n);
    struct operand *count = op_result(op, 3, ACL_INT64, 1, &groups);
    int64_t *column = malloc(sizeof *column * (size_t)(groups + 1));
    for (int c = 1; column && c < 3; c++) {
        for (int64_t g = 0; g < groups; g++)
            column[g] = group[g][c];
        op_write(op, c == 1 ? first : count, column);
        if (c == 1 && op_count(y)) {
            struct operand *at = op_temp(op, ACL_INT64, 1, &groups);
            op_write(op, at, column);
            OP_CALL(op, aclnnIndexSelect, op_acl(op, x), axis, op_acl(op, at), op_out(op, y));
        }
    }
    op_write(op, back, inverse);
    free(column);
}

static void define_unique(struct op *op)
{
    struct operand *x = op_in(op, 0);
    bool flat = !node_attribute(op_node(op), "axis");
    size_t count;
    const double *value = op_numbers(op, 0, &count);
    if (flat)
        x = op_reshape(op, x, 1, (int64_t[]){op_count(x)});
    int axis = flat ? 0 : op_axis_of(op, 0, x->rank);
    int64_t open[OP_RANK], n = x->rank ? x->dim[axis] : 1;
    memcpy(open, x->dim, sizeof open);
    open[axis] = DIM_UNKNOWN;
    if (!value) {
        op_result_open(op, 0, x->dtype, x->rank, open);
        for (int k = 1; k < 4; k++)
            op_result_open(op, k, ACL_INT64, 1, k == 2 ? &n : (int64_t[]){DIM_UNKNOWN});
        return;
    }
    /* an item's elements, brought together */
    int64_t outer = op_span(x, 0, axis), inner = op_span(x, axis + 1, x->rank), length = outer * inner;
    double *together = malloc(sizeof *together * (count + 1));
    struct item *item = malloc(sizeof *item * (size_t)(n + 1));
    int64_t(*group)[3] = malloc(sizeof *group * (size_t)(n + 1)), *inverse = malloc(sizeof *inverse * (size_t)(n + 1));
    if (together && item && group && inverse) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < length; k++)
                together[i * length + k] = value[(k / inner * n + i) * inner + k % inner];
            item[i] = (struct item){together + i * length, i, length, 1};
        }
        int64_t groups = group_items(item, n, group, inverse, op_int(op, "sorted", 1));
        write_unique(op, x, axis, group, groups, inverse, n);
    } else
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
    free(together);
    free(item);
    free(group);
    free(inverse);
}

/* ---- one of many ---- */

static void define_one_hot(struct op *op)
{
    struct operand *index = op_in(op, 0), *values = op_in(op, 2);
    size_t n;
    const int64_t *depth = op_whole(op, 1, &n);
    int axis = op_axis_of(op, -1, index->rank + 1);
    if (!depth || n != 1 || op_count(values) != 2 || depth[0] < 0) {
        if (op_open(op))
            op_result_open(op, 0, values->dtype, index->rank + 1, NULL);
        else
            op_fail(op, GRAPH_INVALID, "takes one depth and two values");
        return;
    }
    struct operand *at = op_unsqueeze(op, onnx_index(op, op_cast(op, index, ACL_INT64), depth[0]), axis);
    int64_t dim[OP_RANK], ones[OP_RANK];
    for (int32_t i = 0; i < at->rank; i++) {
        dim[i] = i == axis ? depth[0] : at->dim[i];
        ones[i] = i == axis ? depth[0] : 1;
    }
    struct operand *y = op_result(op, 0, values->dtype, at->rank, dim);
    struct operand *count = op_temp(op, ACL_INT64, 1, depth), *hot = op_temp(op, ACL_BOOL, at->rank, dim);
    values = op_reshape(op, values, 1, (int64_t[]){2});
    if (op_count(y) == 0)
        return;
    OP_CALL(op, aclnnArange, op_integer(op, 0), op_integer(op, depth[0]), op_integer(op, 1), op_out(op, count));
    OP_CALL(op, aclnnEqTensor, op_acl(op, at), op_acl(op, op_reshape(op, count, at->rank, ones)), op_out(op, hot));
    OP_CALL(op, aclnnSWhere, op_acl(op, hot), op_acl(op, op_slice(op, values, 0, 1, 1, 1)),
            op_acl(op, op_slice(op, values, 0, 0, 1, 1)), op_out(op, y));
}

const struct operator_row operators_index[] = {
    ROW("Gather", 1, 0, 0, 2, 2, 1, 1, define_gather, NULL, 0),
    ROW("GatherElements", 11, 0, 0, 2, 2, 1, 1, define_gather_elements, NULL, 0),
    ROW("GatherND", 11, 0, 0, 2, 2, 1, 1, define_gather_nd, NULL, 0),
    ROW("Scatter", 9, 0, 0, 3, 3, 1, 1, define_scatter_elements, NULL, 0),
    ROW("ScatterElements", 11, 0, 0, 3, 3, 1, 1, define_scatter_elements, NULL, 0),
    ROW("ScatterND", 11, 0, 0, 3, 3, 1, 1, define_scatter_nd, NULL, 0),
    ROW("TensorScatter", 24, 0, 0, 2, 3, 1, 1, define_tensor_scatter, NULL, 0),
    ROW("ReverseSequence", 10, 0, 0, 2, 2, 1, 1, define_reverse_sequence, NULL, 0),
    ROW("TopK", 1, 0, 0, 1, 2, 2, 2, define_topk, NULL, 0),
    ROW("NonZero", 9, 0, OPERATOR_SIZES, 1, 1, 1, 1, define_nonzero, NULL, 0),
    ROW("Compress", 9, 0, OPERATOR_SIZES, 2, 2, 1, 1, define_compress, NULL, 0),
    ROW("Unique", 11, 0, OPERATOR_SIZES, 1, 1, 1, 4, define_unique, NULL, 0),
    ROW("OneHot", 9, 0, 0, 3, 3, 1, 1, define_one_hot, NULL, 0),
    {0},
};

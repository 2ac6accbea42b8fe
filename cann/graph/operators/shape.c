/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes: asking for them, other shapes for the same elements, and moving whole pieces of tensors about. */
#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_flip.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_inplace_fill_tensor.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_repeat.h"
#include "aclnnop/aclnn_tril.h"
#include "aclnnop/aclnn_triu.h"
#include "graph/operators/row.h"

/* ---- asking ---- */

static int64_t clamped(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void define_shape(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int64_t start = op_int(op, "start", 0), end = op_int(op, "end", INT64_MAX), rank = x->rank;
    start = clamped(start < 0 ? start + rank : start, 0, rank);
    end = clamped(end < 0 ? end + rank : end, start, rank);
    op_write(op, op_result(op, 0, ACL_INT64, 1, (int64_t[]){end - start}), x->dim + start);
}

static void define_size(struct op *op)
{
    int64_t count = op_count(op_in(op, 0));
    op_write(op, op_result(op, 0, ACL_INT64, 0, NULL), &count);
}

/* ---- the same elements in another shape ---- */

static void define_reshape(struct op *op)
{
    struct operand *x = op_in(op, 0), *shape = op_in(op, 1);
    size_t n;
    const int64_t *given = op_version(op) < 5 ? op_ints(op, "shape", &n) : op_whole(op, 1, &n);
    int64_t dim[OP_RANK], known = 1;
    int free = -1;
    if (!given) { /* an empty list as attribute: a scalar */
        if (op_version(op) < 5)
            op_result(op, 0, x->dtype, 0, NULL);
        else
            op_result_open(
                op, 0, x->dtype,
                shape && shape->rank == 1 && shape->dim[0] <= OP_RANK ? (int32_t)shape->dim[0] : RANK_UNKNOWN, NULL);
        return;
    }
    if (n > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "a shape of %zu dimensions", n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        dim[i] = given[i];
        if (dim[i] == 0 && !op_int(op, "allowzero", 0)) {
            if (i >= (size_t)x->rank)
                op_fail(op, GRAPH_INVALID, "dimension %zu is to be the input's, which has %d", i, x->rank);
            dim[i] = i < (size_t)x->rank ? x->dim[i] : 0;
        }
        if (dim[i] == -1 && free < 0)
            free = (int)i;
        else if (dim[i] < 0)
            op_fail(op, GRAPH_INVALID, "dimension %zu of the shape is %lld", i, (long long)dim[i]);
        else if (__builtin_mul_overflow(known, dim[i], &known))
            op_fail(op, GRAPH_INVALID, "the shape has too many elements");
    }
    if (free >= 0)
        dim[free] = known > 0 ? op_count(x) / known : 0;
    if (free >= 0 ? known * dim[free] != op_count(x) : known != op_count(x))
        op_fail(op, GRAPH_INVALID, "%lld elements do not fill the shape", (long long)op_count(x));
    op_result(op, 0, x->dtype, (int32_t)n, dim);
}

static void define_flatten(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int64_t axis = op_int(op, "axis", 1);
    axis = axis < 0 ? axis + x->rank : axis;
    if (axis < 0 || axis > x->rank)
        op_fail(op, GRAPH_INVALID, "axis %lld is outside of rank %d", (long long)axis, x->rank);
    else
        op_result(op, 0, x->dtype, 2, (int64_t[]){op_span(x, 0, (int)axis), op_span(x, (int)axis, x->rank)});
}

/* The set of axes of the list, for a rank. */
static uint32_t axes_of(struct op *op, const int64_t *list, size_t n, int rank)
{
    uint32_t set = 0;
    for (size_t i = 0; i < n; i++)
        set |= 1u << op_axis(op, list[i], rank);
    return set;
}

static void define_squeeze(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n = 0;
    const int64_t *axes = op_ints_or_input(op, "axes", 1, &n);
    int64_t dim[OP_RANK];
    int32_t rank = 0;
    if (op_open(op) || (!axes && op_tries(op))) {
        op_result_open(op, 0, x->dtype, RANK_UNKNOWN, NULL);
        return;
    }
    uint32_t set = axes ? axes_of(op, axes, n, x->rank) : 0;
    for (int32_t i = 0; i < x->rank; i++) {
        bool drop = axes ? set >> i & 1 : x->dim[i] == 1;
        if (drop && x->dim[i] != 1)
            op_fail(op, GRAPH_INVALID, "dimension %d is %lld, not 1", i, (long long)x->dim[i]);
        if (!drop)
            dim[rank++] = x->dim[i];
    }
    op_result(op, 0, x->dtype, rank, dim);
}

static void define_unsqueeze(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n = 0;
    const int64_t *axes = op_ints_or_input(op, "axes", 1, &n);
    int64_t dim[OP_RANK];
    if (op_open(op)) {
        op_result_open(op, 0, x->dtype, RANK_UNKNOWN, NULL);
        return;
    }
    if ((size_t)x->rank + n > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "%zu dimensions", (size_t)x->rank + n);
        return;
    }
    int32_t rank = x->rank + (int32_t)n;
    uint32_t set = axes_of(op, axes, n, rank);
    if (__builtin_popcount(set) != (int)n)
        op_fail(op, GRAPH_INVALID, "an axis is given twice");
    for (int32_t i = 0, j = 0; i < rank; i++)
        dim[i] = set >> i & 1 ? 1 : j < x->rank ? x->dim[j++] : 1;
    op_result(op, 0, x->dtype, rank, dim);
}

/* ---- moving ---- */

static void define_transpose(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n;
    const int64_t *perm = op_ints(op, "perm", &n);
    int64_t reversed[OP_RANK];
    for (int32_t i = 0; i < x->rank; i++)
        reversed[i] = x->rank - 1 - i;
    if (perm && n != (size_t)x->rank)
        op_fail(op, GRAPH_INVALID, "perm has %zu entries for %d dimensions", n, x->rank);
    struct operand *v = op_transpose(op, x, perm && n == (size_t)x->rank ? perm : reversed);
    op_copy(op, op_result(op, 0, x->dtype, v->rank, v->dim), v);
}

static void define_concat(struct op *op)
{
    int n = op_inputs(op);
    struct operand *x = op_in(op, 0);
    int axis = op_axis_of(op, op_version(op) < 4 ? 1 : 0, x->rank);
    int64_t dim[OP_RANK], at = 0;
    memcpy(dim, x->dim, sizeof dim);
    if (x->rank == 0) {
        op_fail(op, GRAPH_INVALID, "inputs without dimensions can't be joined");
        return;
    }
    for (int i = 1; i < n; i++) {
        struct operand *t = op_need(op, i);
        for (int32_t d = 0; d < x->rank; d++)
            if (t->rank != x->rank || (d != axis && t->dim[d] != x->dim[d])) {
                op_fail(op, GRAPH_INVALID, "input %d does not fit the first along dimension %d", i, d);
                return;
            }
        dim[axis] += t->dim[axis];
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    for (int i = 0; i < n; i++) {
        struct operand *t = op_need(op, i);
        op_copy(op, op_slice(op, y, axis, at, t->dim[axis], 1), t);
        at += t->dim[axis];
    }
}

static void define_split(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int axis = op_axis_of(op, 0, x->rank);
    size_t n = 0;
    const int64_t *sizes = op_ints_or_input(op, "split", 1, &n);
    int parts = op_outputs(op);
    int64_t dim[OP_RANK], total = x->rank ? x->dim[axis] : 0, at = 0;
    memcpy(dim, x->dim, sizeof dim);
    if (op_open(op)) {
        dim[axis] = DIM_UNKNOWN;
        for (int k = 0; k < parts; k++)
            op_result_open(op, k, x->dtype, x->rank, dim);
        return;
    }
    if (sizes && n != (size_t)parts)
        op_fail(op, GRAPH_INVALID, "%zu sizes for %d outputs", n, parts);
    int64_t each = (total + parts - 1) / parts; /* the last one is smaller when it does not divide */
    for (int k = 0; k < parts && !(sizes && n != (size_t)parts); k++) {
        dim[axis] = sizes ? sizes[k] : clamped(total - at, 0, each);
        if (dim[axis] < 0 || dim[axis] > total - at) {
            op_fail(op, GRAPH_INVALID, "part %d of %lld elements of %lld", k, (long long)dim[axis], (long long)total);
            return;
        }
        struct operand *y = op_result(op, k, x->dtype, x->rank, dim);
        op_copy(op, y, op_slice(op, x, axis, at, dim[axis], 1));
        at += dim[axis];
    }
    if (sizes && at != total)
        op_fail(op, GRAPH_INVALID, "the sizes add up to %lld, not %lld", (long long)at, (long long)total);
}

struct cut {
    int axis;
    int64_t start, count, step;
};

/* starts, ends, axes, steps: attributes up to version 9, then inputs. Returns how many, -1 when not known or wrong. */
static int read_cuts(struct op *op, struct operand *x, struct cut *cut)
{
    bool old = op_version(op) < 10;
    size_t n = 0, n_end = 0, n_axes = 0, n_steps = 0;
    const int64_t *start = old ? op_ints(op, "starts", &n) : op_whole(op, 1, &n);
    const int64_t *end = old ? op_ints(op, "ends", &n_end) : op_whole(op, 2, &n_end);
    const int64_t *axes = old ? op_ints(op, "axes", &n_axes) : op_whole(op, 3, &n_axes);
    const int64_t *steps = old ? NULL : op_whole(op, 4, &n_steps);
    if (!start || !end || op_open(op))
        return -1;
    if (n != n_end || (axes && n_axes != n) || (steps && n_steps != n) || n > (size_t)x->rank) {
        op_fail(op, GRAPH_INVALID, "%zu starts, %zu ends, %zu axes, %zu steps for %d dimensions", n, n_end, n_axes,
                n_steps, x->rank);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        struct cut *c = &cut[i];
        c->axis = op_axis(op, axes ? axes[i] : (int64_t)i, x->rank);
        c->step = steps ? steps[i] : 1;
        if (c->step == 0 || c->step == INT64_MIN) {
            op_fail(op, GRAPH_INVALID, "step %zu is %lld", i, (long long)c->step);
            return -1;
        }
        int64_t size = x->dim[c->axis], from = start[i] < 0 ? start[i] + size : start[i];
        int64_t to = end[i] < 0 ? end[i] + size : end[i];
        if (c->step > 0) {
            c->start = clamped(from, 0, size);
            to = clamped(to, 0, size);
            c->count = to > c->start ? (to - c->start - 1) / c->step + 1 : 0;
        } else {
            c->start = clamped(from, -1, size - 1);
            to = clamped(to, -1, size - 1);
            c->count = c->start > to ? (c->start - to - 1) / -c->step + 1 : 0;
        }
    }
    return (int)n;
}

static void define_slice(struct op *op)
{
    struct operand *x = op_in(op, 0), *v = x;
    struct cut cut[OP_RANK];
    int n = read_cuts(op, x, cut), turned = 0;
    int64_t turn[OP_RANK];
    if (n < 0) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    for (int i = 0; i < n; i++) {
        struct cut *c = &cut[i];
        int64_t low = c->step < 0 && c->count ? c->start + (c->count - 1) * c->step : c->start;
        v = op_slice(op, v, c->axis, c->count ? low : 0, c->count, llabs(c->step));
        if (c->step < 0)
            turn[turned++] = c->axis;
    }
    struct operand *y = op_result(op, 0, x->dtype, v->rank, v->dim);
    if (turned && op_count(y))
        OP_CALL(op, aclnnFlip, op_acl(op, v), op_array(op, (size_t)turned, turn), op_out(op, y));
    else
        op_copy(op, y, v);
}

static void define_expand(struct op *op)
{
    struct operand *x = op_in(op, 0), *shape = op_in(op, 1);
    size_t n;
    const int64_t *target = op_whole(op, 1, &n);
    int64_t dim[OP_RANK];
    if (!target) {
        int64_t rank = shape->rank == 1 && shape->dim[0] <= OP_RANK ? shape->dim[0] : -1;
        op_result_open(op, 0, x->dtype, rank < 0 ? RANK_UNKNOWN : rank > x->rank ? (int32_t)rank : x->rank, NULL);
        return;
    }
    if (n > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "a shape of %zu dimensions", n);
        return;
    }
    struct operand wanted = {.rank = (int32_t)n};
    memcpy(wanted.dim, target, n * sizeof *target);
    int32_t rank = op_broadcast(op, (struct operand *[]){x, &wanted}, 2, dim);
    op_copy(op, op_result(op, 0, x->dtype, rank, dim), x);
}

static void define_tile(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n;
    const int64_t *repeats = op_whole(op, 1, &n);
    int64_t dim[OP_RANK];
    if (!repeats) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    if (n != (size_t)x->rank)
        op_fail(op, GRAPH_INVALID, "%zu repeats for %d dimensions", n, x->rank);
    for (int32_t i = 0; i < x->rank && (size_t)i < n; i++)
        if (repeats[i] < 0 || __builtin_mul_overflow(x->dim[i], repeats[i], &dim[i])) {
            op_fail(op, GRAPH_INVALID, "repeat %d is %lld", i, (long long)repeats[i]);
            dim[i] = 0;
        }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    if (x->rank == 0)
        op_copy(op, y, x);
    else if (op_count(y))
        OP_CALL(op, aclnnRepeat, op_acl(op, x), op_array(op, n, repeats), op_out(op, y));
}

/* ---- padding ---- */

enum { PAD_MAX = 1 << 30 };

/* The positions that the padded axis takes from the axis: mirrored, repeated at the edge, or wrapped around. */
static struct operand *pad_positions(struct op *op, int64_t size, int64_t before, int64_t count, char mode)
{
    int64_t *at = malloc((size_t)(count + 1) * sizeof *at), period = size > 1 ? 2 * (size - 1) : 1;
    struct operand *index = op_temp(op, ACL_INT64, 1, &count);
    for (int64_t i = 0; at && i < count; i++) {
        int64_t p = i - before;
        if (mode == 'e')
            p = clamped(p, 0, size - 1);
        else if (mode == 'w')
            p = ((p % size) + size) % size;
        else {
            p = ((p % period) + period) % period;
            p = p < size ? p : period - p;
        }
        at[i] = p;
    }
    if (at)
        op_write(op, index, at);
    free(at);
    return index;
}

/* pad[i] elements before and pad[rank + i] after each axis; negative ones cut. */
static void pad(struct op *op, struct operand *x, struct operand *y, const int64_t *amount, char mode,
                struct operand *value)
{
    int32_t rank = x->rank;
    if (mode == 'c') {
        struct operand *from = x, *to = y;
        for (int32_t i = 0; i < rank; i++) {
            int64_t before = amount[i], skip = before < 0 ? -before : 0, lead = before > 0 ? before : 0;
            int64_t left = x->dim[i] - skip, room = y->dim[i] - lead, count = left < room ? left : room;
            count = count > 0 ? count : 0;
            from = op_slice(op, from, i, count ? skip : 0, count, 1);
            to = op_slice(op, to, i, count ? lead : 0, count, 1);
        }
        if (value)
            OP_CALL(op, aclnnInplaceFillTensor, op_out(op, y), op_acl(op, value));
        else
            OP_CALL(op, aclnnInplaceZero, op_out(op, y));
        op_copy(op, to, from);
        return;
    }
    for (int32_t i = 0; i < rank; i++) {
        if (y->dim[i] == x->dim[i] && amount[i] == 0)
            continue;
        if (x->dim[i] == 0) {
            op_fail(op, GRAPH_INVALID, "dimension %d of 0 elements can't be extended from itself", i);
            return;
        }
        int64_t dim[OP_RANK];
        memcpy(dim, x->dim, sizeof dim);
        dim[i] = y->dim[i];
        struct operand *next = op_temp(op, x->dtype, rank, dim);
        if (op_count(next))
            OP_CALL(op, aclnnIndexSelect, op_acl(op, x), i,
                    op_acl(op, pad_positions(op, x->dim[i], amount[i], dim[i], mode)), op_out(op, next));
        x = next;
    }
    op_copy(op, y, x);
}

static void define_pad(struct op *op)
{
    struct operand *x = op_in(op, 0), *value = op_version(op) < 11 ? NULL : op_in(op, 2);
    size_t n = 0, n_axes = 0;
    const int64_t *pads = op_version(op) < 2    ? op_ints(op, "paddings", &n)
                          : op_version(op) < 11 ? op_ints(op, "pads", &n)
                                                : op_whole(op, 1, &n);
    const int64_t *axes = op_whole(op, 3, &n_axes);
    char mode = *op_string(op, "mode", "constant");
    int64_t dim[OP_RANK], amount[2 * OP_RANK] = {0};
    if (!pads || op_open(op)) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    size_t padded = axes ? n_axes : (size_t)x->rank;
    if (n != 2 * padded || padded > (size_t)x->rank) {
        op_fail(op, GRAPH_INVALID, "%zu pads for %zu dimensions", n, padded);
        return;
    }
    for (size_t i = 0; i < padded; i++) {
        int axis = op_axis(op, axes ? axes[i] : (int64_t)i, x->rank);
        if (pads[i] < -PAD_MAX || pads[i] > PAD_MAX || pads[padded + i] < -PAD_MAX || pads[padded + i] > PAD_MAX) {
            op_fail(op, GRAPH_INVALID, "pads of dimension %d are %lld and %lld", axis, (long long)pads[i],
                    (long long)pads[padded + i]);
            return;
        }
        amount[axis] = pads[i];
        amount[x->rank + axis] = pads[padded + i];
    }
    for (int32_t i = 0; i < x->rank; i++)
        dim[i] = x->dim[i] + amount[i] + amount[x->rank + i];
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    double number = op_float(op, "value", 0);
    if (op_version(op) < 11 && number != 0)
        value = op_constant(op, x->dtype, 0, NULL, &number);
    if (op_count(y))
        pad(op, x, y, amount, mode, value ? op_reshape(op, value, 0, NULL) : NULL);
}

/* Crops or pads axes about their middle. */
static void define_center_crop_pad(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n, n_axes = 0;
    const int64_t *target = op_whole(op, 1, &n), *axes = op_ints(op, "axes", &n_axes);
    int64_t dim[OP_RANK], amount[2 * OP_RANK] = {0};
    if (!target) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    if (n != (axes ? n_axes : (size_t)x->rank)) {
        op_fail(op, GRAPH_INVALID, "%zu sizes for %zu axes", n, axes ? n_axes : (size_t)x->rank);
        return;
    }
    memcpy(dim, x->dim, sizeof dim);
    for (size_t i = 0; i < n; i++) {
        int axis = op_axis(op, axes ? axes[i] : (int64_t)i, x->rank);
        if (target[i] < 0) {
            op_fail(op, GRAPH_INVALID, "size %zu is %lld", i, (long long)target[i]);
            return;
        }
        int64_t more = target[i] - x->dim[axis];
        dim[axis] = target[i];
        amount[axis] = more >= 0 ? more / 2 : -(-more / 2);
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    if (op_count(y))
        pad(op, x, y, amount, 'c', NULL);
}

/* ---- channels and space ---- */

static bool check_image(struct op *op, struct operand *x, int64_t block)
{
    if (x->rank != 4 || block < 1 || block > 1 << 15)
        op_fail(op, GRAPH_INVALID, "takes 4 dimensions and a block of 1 or more, not %d and %lld", x->rank,
                (long long)block);
    return x->rank == 4 && block >= 1 && block <= 1 << 15;
}

static void define_depth_to_space(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int64_t b = op_int(op, "blocksize", 0);
    if (!check_image(op, x, b))
        return;
    int64_t n = x->dim[0], c = x->dim[1] / (b * b), h = x->dim[2], w = x->dim[3];
    bool column_first = op_string_is(op, "mode", "DCR", "CRD");
    struct operand *v = column_first ? op_reshape(op, x, 6, (int64_t[]){n, c, b, b, h, w})
                                     : op_reshape(op, x, 6, (int64_t[]){n, b, b, c, h, w});
    const int64_t crd[] = {0, 1, 4, 2, 5, 3}, dcr[] = {0, 3, 4, 1, 5, 2};
    v = op_transpose(op, v, column_first ? crd : dcr);
    struct operand *y = op_result(op, 0, x->dtype, 4, (int64_t[]){n, c, h * b, w * b});
    op_copy(op, op_reshape(op, y, 6, v->dim), v);
}

static void define_space_to_depth(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int64_t b = op_int(op, "blocksize", 0);
    if (!check_image(op, x, b))
        return;
    int64_t n = x->dim[0], c = x->dim[1], h = x->dim[2] / b, w = x->dim[3] / b;
    bool column_first = op_string_is(op, "mode", "DCR", "CRD");
    const int64_t crd[] = {0, 1, 3, 5, 2, 4}, dcr[] = {0, 3, 5, 1, 2, 4};
    struct operand *v = op_transpose(op, op_reshape(op, x, 6, (int64_t[]){n, c, h, b, w, b}), column_first ? crd : dcr);
    struct operand *y = op_result(op, 0, x->dtype, 4, (int64_t[]){n, c * b * b, h, w});
    op_copy(op, op_reshape(op, y, 6, v->dim), v);
}

/* ---- triangles ---- */

static void define_trilu(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    size_t n;
    const int64_t *k = op_in(op, 1) ? op_whole(op, 1, &n) : NULL;
    if (op_count(y) == 0 || (op_in(op, 1) && !k))
        return;
    if (op_int(op, "upper", 1))
        OP_CALL(op, aclnnTriu, op_acl(op, x), k ? k[0] : 0, op_out(op, y));
    else
        OP_CALL(op, aclnnTril, op_acl(op, x), k ? k[0] : 0, op_out(op, y));
}

const struct operator_row operators_shape[] = {
    ROW("Shape", 1, 0, OPERATOR_SHAPE, 1, 1, 1, 1, define_shape, NULL, 0),
    ROW("Size", 1, 0, OPERATOR_SHAPE, 1, 1, 1, 1, define_size, NULL, 0),
    VIEW_ROW("Reshape", 1, 2, define_reshape),
    VIEW_ROW("Flatten", 1, 1, define_flatten),
    VIEW_ROW("Squeeze", 1, 2, define_squeeze),
    VIEW_ROW("Unsqueeze", 1, 2, define_unsqueeze),
    ROW("Transpose", 1, 0, 0, 1, 1, 1, 1, define_transpose, NULL, 0),
    ROW("Concat", 1, 0, 0, 1, -1, 1, 1, define_concat, NULL, 0),
    ROW("Split", 2, 0, 0, 1, 2, 1, -1, define_split, NULL, 0),
    ROW("Slice", 1, 0, 0, 1, 5, 1, 1, define_slice, NULL, 0),
    ROW("Expand", 8, 0, 0, 2, 2, 1, 1, define_expand, NULL, 0),
    ROW("Tile", 6, 0, 0, 2, 2, 1, 1, define_tile, NULL, 0),
    ROW("Pad", 1, 0, 0, 1, 4, 1, 1, define_pad, NULL, 0),
    ROW("CenterCropPad", 18, 0, 0, 2, 2, 1, 1, define_center_crop_pad, NULL, 0),
    ROW("DepthToSpace", 1, 0, 0, 1, 1, 1, 1, define_depth_to_space, NULL, 0),
    ROW("SpaceToDepth", 1, 0, 0, 1, 1, 1, 1, define_space_to_depth, NULL, 0),
    ROW("Trilu", 14, 0, 0, 1, 2, 1, 1, define_trilu, NULL, 0),
    {0},
};

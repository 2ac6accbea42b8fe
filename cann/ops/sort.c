/* SPDX-License-Identifier: BSD-3-Clause */
/* Order along a dimension. A row is loaded into items (kernels/sort.h), ordered in a scratch of the workspace, and its
 * elements are gathered by the places that the items kept. Rows are dealt out in up to PIECES runs, each with a scratch
 * of its own. */
#include "ops/sort.h"

#include "kernels/sort.h"

enum { PIECES = 16 };

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,   ACL_INT8,   ACL_INT16,  ACL_INT32, ACL_INT64,
                                    ACL_UINT8, ACL_UINT16,  ACL_UINT32, ACL_UINT64, ACL_DOUBLE, ACL_BOOL};
enum { TYPES = sizeof types / sizeof types[0] };

enum what { ALL, LEAST, ONE, MEDIAN };

struct order {
    enum what what;
    bool wide, descending, skip_nan;
    int dim;
    int64_t n, k, rows; /* elements of a row, how many are wanted (ONE: which, from 1) */
    struct view *in;    /* with dim; results have 1 or k there, or lack it */
    struct view *values, *indices;
    bool kept; /* results have the dimension */
    struct view *scratch;
    int64_t scratch_bytes; /* of a piece */
    int64_t pieces;
};

/* Bytes from the first row to row `index`, over all dimensions but dim. */
static int64_t row_offset(const struct order *o, const struct view *v, bool has_dim, int64_t index)
{
    int64_t offset = 0;
    for (int i = o->in->rank; i-- > 0;) {
        if (i == o->dim)
            continue;
        offset += index % o->in->dim[i] * v->stride[has_dim || i < o->dim ? i : i - 1];
        index /= o->in->dim[i];
    }
    return offset * (int64_t)dtype_size(v->dtype);
}

static int64_t step_along(const struct order *o, const struct view *v)
{
    return o->in->rank && v->rank ? v->stride[o->dim] * (int64_t)dtype_size(v->dtype) : 0;
}

/* Results of a row: the elements of n items and their places. */
static void give(const struct order *o, int64_t row, const void *items, int64_t first, int64_t n)
{
    const struct sort_kernels *kernels = ISA_PICK(sort_kernels);
    items = (const char *)items + first * (o->wide ? (int64_t)sizeof(struct sort_wide) : (int64_t)sizeof(uint64_t));
    if (o->values)
        kernels->gather(o->wide, dtype_size(o->in->dtype), n, items,
                        o->values->data + row_offset(o, o->values, o->kept, row),
                        o->kept ? step_along(o, o->values) : 0, o->in->data + row_offset(o, o->in, true, row),
                        step_along(o, o->in));
    if (o->indices)
        kernels->places(o->wide, n, items, o->indices->data + row_offset(o, o->indices, o->kept, row),
                        o->kept ? step_along(o, o->indices) : 0);
}

/* The position in ascending order of the median, or that of a NaN in *place when one wins. */
static int64_t median_of(const struct order *o, const void *items, int64_t *place)
{
    int64_t nans = 0, first = 0;
    const uint64_t nan = sort_nan_key(o->in->dtype);
    *place = -1;
    if (dtype_is_float(o->in->dtype))
        for (int64_t i = 0; i < o->n; i++)
            nans += sort_key(o->wide, items, i) == nan;
    if (nans && !(o->skip_nan && nans < o->n)) {
        while (sort_key(o->wide, items, first) != nan)
            first++;
        *place = first;
    }
    int64_t numbers = o->skip_nan ? o->n - nans : o->n;
    return numbers ? (numbers - 1) / 2 : 0;
}

static void order_row(const struct order *o, int64_t row, char *items, char *scratch)
{
    const struct sort_kernels *kernels = ISA_PICK(sort_kernels);
    int64_t nan, k = o->k;
    kernels->load(o->in->dtype, o->wide, o->descending, o->n, items, o->in->data + row_offset(o, o->in, true, row),
                  step_along(o, o->in));
    switch (o->what) {
    case ALL:
        give(o, row, kernels->sort(o->wide, o->n, items, scratch), 0, o->n);
        return;
    case LEAST:
        break;
    case MEDIAN:
        k = median_of(o, items, &nan) + 1;
        if (nan >= 0) {
            give(o, row, items, nan, 1); /* items are still in order of places */
            return;
        }
        break;
    case ONE:
        break;
    }
    if (o->what == LEAST) {
        kernels->least(o->wide, o->n, k, items, scratch);
        give(o, row, items, 0, k);
    } else {
        give(o, row, kernels->nth(o->wide, o->n, k, items, scratch), 0, 1);
    }
}

static void order_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct order *o = arg;
    for (int64_t piece = begin; piece < end; piece++) {
        char *items = o->scratch->data + piece * o->scratch_bytes;
        for (int64_t row = piece * o->rows / o->pieces; row < (piece + 1) * o->rows / o->pieces; row++)
            order_row(o, row, items, items + o->scratch_bytes / 2);
    }
}

static int run_order(void *arg)
{
    struct order *o = arg;
    if (o->pieces == 1)
        order_pieces(o, 0, 1);
    else
        parallel(o->pieces, 1, order_pieces, o);
    return 0;
}

static bool needs_wide(aclDataType type, int64_t n)
{
    return dtype_size(type) == 8 || n > UINT32_MAX;
}

/* Fills the common part and adds the step. */
static void plan_order(struct plan *plan, struct order *o)
{
    o->n = o->in->rank ? o->in->dim[o->dim] : 1;
    o->rows = o->n ? view_count(o->in) / o->n : 0;
    if (!o->rows || !o->k)
        return;
    o->wide = needs_wide(o->in->dtype, o->n);
    o->pieces = o->rows * o->n < 4096 ? 1 : o->rows < PIECES ? o->rows : PIECES;
    int64_t item = o->wide ? sizeof(struct sort_wide) : sizeof(uint64_t);
    o->scratch_bytes = 2 * ((o->n * item + 63) / 64 * 64);
    o->scratch = plan_temp(plan, ACL_UINT8, 2, (int64_t[]){o->pieces, o->scratch_bytes});
    plan_step(plan, run_order, o, (uint64_t)(o->rows * o->n) * (o->what == ALL ? 20 : 6));
}

/* dim as an index, or -1 after a text. A scalar counts as one dimension. */
static int wrap(struct plan *plan, const struct view *v, int64_t dim)
{
    int rank = v->rank ? v->rank : 1;
    if (dim >= -rank && dim < rank)
        return (int)(dim < 0 ? dim + rank : dim);
    plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "dim %ld is out of range [%d, %d].", (long)dim, -rank, rank - 1);
    return -1;
}

/* self's shape with `size` in place of dim, or without it (size -1). */
static int32_t result_shape(const struct view *self, int dim, int64_t size, int64_t *shape)
{
    int32_t rank = 0;
    for (int32_t i = 0; i < self->rank; i++)
        if (i != dim || size >= 0)
            shape[rank++] = i == dim ? size : self->dim[i];
    return rank;
}

/* Results at parameters values and indices (0: there is none). */
static int see_results(struct plan *plan, struct order *o, const union op_value *arg, int values, int indices,
                       int64_t size)
{
    static const aclDataType index[] = {ACL_INT64};
    int64_t shape[VIEW_RANK_MAX];
    int32_t rank = result_shape(o->in, o->dim, size, shape);
    o->kept = size >= 0;
    if (values) {
        TRY(plan_check_dtype(plan, values, &o->in->dtype, 1));
        TRY(plan_check_shape(plan, values, rank, shape));
        o->values = plan_view(plan, arg[values].tensor);
    }
    if (indices) {
        TRY(plan_check_dtype(plan, indices, index, 1));
        TRY(plan_check_shape(plan, indices, rank, shape));
        o->indices = plan_view(plan, arg[indices].tensor);
    }
    return ACLNN_SUCCESS;
}

static int begin(struct plan *plan, const union op_value *arg, int64_t dim, enum what what, struct order **order)
{
    struct order *o = *order = plan_alloc(plan, sizeof *o);
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    o->what = what;
    o->in = plan_view(plan, arg[0].tensor);
    o->dim = wrap(plan, o->in, dim);
    return o->dim < 0 ? ACLNN_ERR_PARAM_INVALID : ACLNN_SUCCESS;
}

static int64_t length(const struct order *o)
{
    return o->in->rank ? o->in->dim[o->dim] : 1;
}

int prepare_sort(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct order *o;
    TRY(begin(plan, arg, arg[2].i, ALL, &o));
    o->descending = arg[3].i;
    o->k = length(o);
    TRY(see_results(plan, o, arg, 4, 5, o->k));
    plan_order(plan, o);
    return ACLNN_SUCCESS;
}

int prepare_argsort(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct order *o;
    TRY(begin(plan, arg, arg[1].i, ALL, &o));
    o->descending = arg[2].i;
    o->k = length(o);
    TRY(see_results(plan, o, arg, 0, 3, o->k));
    plan_order(plan, o);
    return ACLNN_SUCCESS;
}

static int topk(struct plan *plan, const union op_value *arg, int values)
{
    struct order *o;
    TRY(begin(plan, arg, arg[2].i, LEAST, &o));
    o->descending = arg[3].i;
    o->k = arg[1].i;
    if (o->k < 0 || o->k > length(o))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "k is %ld, but the dimension has %ld elements.", (long)o->k,
                         (long)length(o));
    TRY(see_results(plan, o, arg, values, values + 1, o->k));
    plan_order(plan, o);
    return ACLNN_SUCCESS;
}

int prepare_topk(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    return topk(plan, arg, 5);
}

int prepare_topk_policy(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    return topk(plan, arg, 6);
}

int prepare_kthvalue(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct order *o;
    TRY(begin(plan, arg, arg[2].i, ONE, &o));
    o->k = arg[1].i;
    if (o->k < 1 || o->k > length(o))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "k is %ld, but must be from 1 to %ld.", (long)o->k,
                         (long)length(o));
    TRY(see_results(plan, o, arg, 4, 5, arg[3].i ? 1 : -1));
    plan_order(plan, o);
    return ACLNN_SUCCESS;
}

int prepare_median_dim(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct order *o;
    TRY(begin(plan, arg, arg[1].i, MEDIAN, &o));
    o->skip_nan = row->code == MEDIAN_WITHOUT_NAN;
    o->k = 1;
    if (length(o) == 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "There is no median of no elements.");
    TRY(see_results(plan, o, arg, 3, 4, arg[2].i ? 1 : -1));
    plan_order(plan, o);
    return ACLNN_SUCCESS;
}

/* self as one dense row, dim 0. */
static struct view *flattened(struct plan *plan, struct view *v)
{
    struct view *dense = plan_contiguous(plan, v, v->dtype), *flat = plan_alias(plan, dense, 0);
    flat->dim[0] = view_count(dense);
    flat->stride[0] = 1;
    flat->rank = 1;
    return flat;
}

int prepare_median(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct order *o;
    TRY(begin(plan, arg, 0, MEDIAN, &o));
    o->in = flattened(plan, o->in);
    o->skip_nan = row->code == MEDIAN_WITHOUT_NAN;
    o->k = 1;
    TRY(see_results(plan, o, arg, 1, 0, -1));
    if (length(o))
        plan_order(plan, o);
    else if (dtype_is_float(o->in->dtype)) { /* the median of nothing is NaN */
        char nan[16];
        scalar_store(&(aclScalar){.dtype = ACL_DOUBLE, .d = __builtin_nan("")}, o->in->dtype, nan);
        plan_fill(plan, o->values, nan);
    } else
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "There is no median of no integers.");
    return ACLNN_SUCCESS;
}

/* ---- distinct elements ---- */

struct unique {
    struct view *in, *value, *inverse, *counts; /* the last two may be NULL; all dense */
    struct view *scratch;
    struct result_shape *value_shape, *counts_shape;
    int64_t n;
    bool wide;
};

static int run_unique(void *arg)
{
    struct unique *u = arg;
    const struct sort_kernels *kernels = ISA_PICK(sort_kernels);
    int64_t element = (int64_t)dtype_size(u->in->dtype), item = u->wide ? sizeof(struct sort_wide) : sizeof(uint64_t),
            found = 0;
    bool floats = dtype_is_float(u->in->dtype);
    char *items = u->scratch->data;
    int64_t *inverse = u->inverse ? (int64_t *)u->inverse->data : NULL,
            *counts = u->counts ? (int64_t *)u->counts->data : NULL;
    kernels->load(u->in->dtype, u->wide, false, u->n, items, u->in->data, element);
    void *sorted = kernels->sort(u->wide, u->n, items, items + u->n * item);
    for (int64_t i = 0; i < u->n; i++) {
        uint64_t key = sort_key(u->wide, sorted, i);
        bool fresh = i == 0 || key != sort_key(u->wide, sorted, i - 1) || (floats && key == sort_nan_key(u->in->dtype));
        if (fresh) {
            memcpy(u->value->data + found * element, u->in->data + sort_place(u->wide, sorted, i) * element,
                   (size_t)element);
            if (counts)
                counts[found] = 0;
            found++;
        }
        if (counts)
            counts[found - 1]++;
        if (inverse)
            inverse[sort_place(u->wide, sorted, i)] = found - 1;
    }
    result_shape_set(u->value_shape, 1, &found);
    if (counts)
        result_shape_set(u->counts_shape, 1, &found);
    return 0;
}

/* An optional output of int64 with room for `room` elements, dense. */
static int see_dense(struct plan *plan, const union op_value *arg, int p, aclDataType dtype, int64_t room,
                     struct view **view)
{
    const struct view *v = &arg[p].tensor->view;
    char text[256];
    TRY(plan_check_dtype(plan, p, &dtype, 1));
    if (view_count(v) < room || !view_is_contiguous(v))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "A result of size %s must be contiguous and have room for %ld elements.",
                         shape_text(text, sizeof text, v->rank, v->dim), (long)room);
    *view = plan_view(plan, arg[p].tensor);
    return ACLNN_SUCCESS;
}

static int unique(struct plan *plan, const union op_value *arg, int value, int inverse, int counts)
{
    struct unique *u = plan_alloc(plan, sizeof *u);
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    struct view *self = plan_view(plan, arg[0].tensor);
    u->in = flattened(plan, self);
    u->n = view_count(u->in);
    TRY(see_dense(plan, arg, value, self->dtype, u->n, &u->value));
    u->value_shape = plan_result_shape(plan, value);
    if (inverse)
        TRY(see_dense(plan, arg, inverse, ACL_INT64, u->n, &u->inverse));
    if (counts) {
        TRY(see_dense(plan, arg, counts, ACL_INT64, u->n, &u->counts));
        u->counts_shape = plan_result_shape(plan, counts);
    }
    u->wide = needs_wide(self->dtype, u->n);
    u->scratch =
        plan_temp(plan, ACL_UINT8, 1,
                  (int64_t[]){2 * u->n * (u->wide ? (int64_t)sizeof(struct sort_wide) : (int64_t)sizeof(uint64_t))});
    plan_step(plan, run_unique, u, (uint64_t)u->n * 30);
    return ACLNN_SUCCESS;
}

int prepare_unique(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    return unique(plan, arg, 3, arg[2].i && arg[4].tensor ? 4 : 0, 0);
}

int prepare_unique2(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    return unique(plan, arg, 4, arg[2].i && arg[5].tensor ? 5 : 0, arg[3].i && arg[6].tensor ? 6 : 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* x[i, :, j] and x[i, :, j] = v: a list with an entry for each dimension of x — an integer tensor, nothing (NULL, or an
 * empty tensor where the result is not empty), or a mask that stands for as many dimensions as it has.
 *
 * All entries together select a table of places in the indexed dimensions, of the shape that the entries broadcast to.
 * It takes the place of the indexed dimensions if these are neighbours, else it comes first. What a mask selects is
 * known only when the task runs, so the geometry is worked out there; the plan has room for the largest case. */
#include "ops/index_list.h"

#include <string.h>

#include "ops/indexing.h"

struct entry {
    struct view *index;  /* int64, or a contiguous mask; NULL: the whole dimension */
    struct view *places; /* room for a mask's offsets */
    bool mask;
    int32_t dim, dims; /* which dimensions of self it stands for */
};

struct index_list {
    struct view *self, *other; /* other: the result, or the values to put */
    struct view *table;        /* room for all offsets */
    int32_t entries;
    struct entry entry[VIEW_RANK_MAX];
    bool accumulate;
};

static bool is_mask(const struct view *v)
{
    return v->dtype == ACL_BOOL || v->dtype == ACL_UINT8;
}

static int list_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg, bool empty,
                        struct index_list **list)
{
    const aclTensorList *indices = arg[1].tensors;
    struct index_list *l = plan_alloc(plan, sizeof *l);
    *list = l;
    l->self = plan_view(plan, arg[0].tensor);
    l->other = plan_view(plan, arg[2].tensor);
    if (l->other->dtype != l->self->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to be %s, but got %s.", row->param[2].name,
                         dtype_name(l->self->dtype), dtype_name(l->other->dtype));
    int32_t dim = 0;
    int64_t room = 1;
    struct view all = {.dtype = ACL_INT64};
    for (uint64_t j = 0; j < indices->size; j++) {
        const aclTensor *tensor = indices->value[j];
        int32_t dims = tensor && is_mask(&tensor->view) ? tensor->view.rank : 1;
        bool whole = !tensor || (!empty && !view_count(&tensor->view));
        if (whole) {
            dim++;
            continue;
        }
        if (l->entries == VIEW_RANK_MAX || dim + dims > l->self->rank)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "too many indices for tensor of dimension %d (got %d)",
                             l->self->rank, dim + dims);
        struct entry *e = &l->entry[l->entries++];
        *e = (struct entry){.mask = is_mask(&tensor->view), .dim = dim, .dims = dims};
        struct view *v = plan_view(plan, tensor);
        if (e->mask) {
            for (int32_t d = 0; d < dims; d++)
                if (v->dim[d] != l->self->dim[dim + d])
                    return plan_fail(
                        plan, ACLNN_ERR_PARAM_INVALID,
                        "The shape of the mask at index %d does not match the shape of the indexed tensor at index %d",
                        d, dim + d);
            e->index = plan_contiguous(plan, v, v->dtype);
            int64_t count = view_count(v);
            e->places = plan_temp(plan, ACL_INT64, 1, &count);
            room *= count ? count : 1;
        } else {
            if (!dtype_is_int(v->dtype))
                return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                                 "tensors used as indices must be long, int, byte or bool tensors, but got %s",
                                 dtype_name(v->dtype));
            e->index = plan_contiguous(plan, v, ACL_INT64);
            /* integer entries: the broadcast shape so far */
            struct view wide;
            int32_t rank = v->rank > all.rank ? v->rank : all.rank;
            for (int32_t d = 0; d < rank; d++) {
                int32_t a = d - (rank - all.rank), b = d - (rank - v->rank);
                int64_t x = a < 0 ? 1 : all.dim[a], y = b < 0 ? 1 : v->dim[b];
                if (x != y && x != 1 && y != 1)
                    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                                     "shape mismatch: indexing tensors could not be broadcast together");
                wide.dim[d] = x == 1 ? y : x;
            }
            all.rank = rank;
            memcpy(all.dim, wide.dim, (size_t)rank * 8);
        }
        dim += dims;
    }
    int64_t ints = view_count(&all);
    if (__builtin_mul_overflow(room, ints, &room))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "The indices select too many elements.");
    l->table = plan_temp(plan, ACL_INT64, 1, &room);
    return ACLNN_SUCCESS;
}

/* ---- when the task runs ---- */

/* The places of a mask's set elements, in elements of self's memory; returns how many. */
static int64_t mask_places(const struct entry *e, const struct view *self)
{
    int64_t n = view_count(e->index), count = 0, at[VIEW_RANK_MAX] = {0}, offset = 0;
    const char *mask = e->index->data;
    int64_t *places = (int64_t *)e->places->data;
    for (int64_t i = 0; i < n; i++) {
        if (mask[i])
            places[count++] = offset;
        for (int32_t d = e->dims; d-- > 0;) {
            offset += self->stride[e->dim + d];
            if (++at[d] < self->dim[e->dim + d])
                break;
            offset -= at[d] * self->stride[e->dim + d];
            at[d] = 0;
        }
    }
    return count;
}

/* Adds an entry's part to every element of the table. places has the table's shape by strides. */
struct adding {
    int64_t *table;
    struct view places;
    int64_t limit, stride; /* limit < 0: the places are offsets already */
    struct index_error error;
};

static void add_places(void *arg, int64_t begin, int64_t end)
{
    struct adding *a = arg;
    const struct view *v = &a->places;
    int64_t at[VIEW_RANK_MAX], rest = begin, from = 0;
    for (int32_t d = v->rank; d-- > 0;) {
        at[d] = rest % v->dim[d];
        rest /= v->dim[d];
        from += at[d] * v->stride[d];
    }
    const int64_t *places = (const int64_t *)v->data;
    for (int64_t i = begin; i < end; i++) {
        int64_t place = places[from];
        if (a->limit >= 0) {
            if (place < -a->limit || place >= a->limit) {
                __atomic_store_n(&a->error.value, place, __ATOMIC_RELAXED);
                __atomic_store_n(&a->error.found, 1, __ATOMIC_RELAXED);
            }
            place = (place < 0 ? place + a->limit : place) * a->stride;
        }
        a->table[i] += place;
        for (int32_t d = v->rank; d-- > 0;) {
            from += v->stride[d];
            if (++at[d] < v->dim[d])
                break;
            from -= at[d] * v->stride[d];
            at[d] = 0;
        }
    }
}

/* Fills the table; *shape gets the shape that the entries broadcast to. */
static int list_table(struct index_list *l, struct view *shape)
{
    struct view places[VIEW_RANK_MAX];
    *shape = (struct view){.dtype = ACL_INT64};
    for (int32_t j = 0; j < l->entries; j++) {
        const struct entry *e = &l->entry[j];
        places[j] = e->mask ? *e->places : *e->index;
        if (e->mask)
            places[j].dim[0] = mask_places(e, l->self);
        int32_t rank = places[j].rank > shape->rank ? places[j].rank : shape->rank;
        int64_t dim[VIEW_RANK_MAX];
        for (int32_t d = 0; d < rank; d++) {
            int32_t a = d - (rank - shape->rank), b = d - (rank - places[j].rank);
            int64_t x = a < 0 ? 1 : shape->dim[a], y = b < 0 ? 1 : places[j].dim[b];
            if (x != y && x != 1 && y != 1)
                return fail(ACLNN_ERR_PARAM_INVALID,
                            "shape mismatch: indexing tensors could not be broadcast together");
            dim[d] = x == 1 ? y : x;
        }
        *shape = view_make(ACL_INT64, rank, dim);
    }
    int64_t n = view_count(shape);
    shape->data = l->table->data;
    if (!n)
        return ACLNN_SUCCESS;
    memset(shape->data, 0, (size_t)n * 8);
    for (int32_t j = 0; j < l->entries; j++) {
        const struct entry *e = &l->entry[j];
        struct adding a = {.table = (int64_t *)shape->data,
                           .limit = e->mask ? -1 : l->self->dim[e->dim],
                           .stride = l->self->stride[e->dim]};
        view_broadcast(&a.places, &places[j], shape->rank, shape->dim);
        parallel(n, 8192, add_places, &a);
        if (a.error.found)
            return index_fail(&(struct index_site){INDEX_TEXT_BOUNDS, e->dim, a.limit, 0}, a.error.value);
    }
    return ACLNN_SUCCESS;
}

/* The shape S of the result with the strides of self in it (0 in the table's dimensions) and of the table; *first is
 * where the table's dimensions begin. */
static int list_geometry(const struct index_list *l, const struct view *shape, struct view *self, struct view *table,
                         int32_t *first)
{
    const struct view *whole = l->self;
    bool indexed[VIEW_RANK_MAX] = {0}, together = true;
    int32_t free = whole->rank, end = l->entries ? l->entry[0].dim : 0;
    for (int32_t j = 0; j < l->entries; j++) {
        together = together && l->entry[j].dim == end;
        end = l->entry[j].dim + l->entry[j].dims;
        free -= l->entry[j].dims;
        for (int32_t d = l->entry[j].dim; d < end; d++)
            indexed[d] = true;
    }
    if (free + shape->rank > VIEW_RANK_MAX)
        return fail(ACLNN_ERR_PARAM_INVALID, "The result of indexing would have %d dimensions.", free + shape->rank);
    *first = together && l->entries ? l->entry[0].dim : 0;
    *self = (struct view){.data = whole->data, .dtype = whole->dtype, .rank = free + shape->rank};
    *table = (struct view){.data = shape->data, .dtype = ACL_INT64, .rank = free + shape->rank};
    int32_t to = 0;
    for (int32_t d = 0; d <= whole->rank; d++) {
        if (to == *first)
            for (int32_t k = 0; k < shape->rank; k++, to++) {
                self->dim[to] = table->dim[to] = shape->dim[k];
                self->stride[to] = 0;
                table->stride[to] = shape->stride[k];
            }
        if (d == whole->rank || indexed[d])
            continue;
        self->dim[to] = table->dim[to] = whole->dim[d];
        self->stride[to] = whole->stride[d];
        table->stride[to++] = 0;
    }
    return ACLNN_SUCCESS;
}

static const struct index_site placed = {INDEX_TEXT_BOUNDS, 0, INT64_MAX, 1};

static int run_index(void *arg)
{
    struct index_list *l = arg;
    struct view shape, self, table;
    int32_t first = 0;
    TRY(list_table(l, &shape));
    TRY(list_geometry(l, &shape, &self, &table, &first));
    if (!view_same_shape(&self, l->other))
        return fail(ACLNN_ERR_PARAM_INVALID, "out does not have the shape of the selection.");
    return view_count(&self) ? gather_run(l->other, &table, &self, &placed) : ACLNN_SUCCESS;
}

int prepare_index(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct index_list *l;
    bool empty = !view_count(&arg[2].tensor->view);
    TRY(list_prepare(plan, row, arg, empty, &l));
    plan_step(plan, run_index, l, (uint64_t)view_count(l->other) * 3 + (uint64_t)view_count(l->table));
    return ACLNN_SUCCESS;
}

static void rotate(struct view *v, int32_t first, int32_t count)
{
    struct view old = *v;
    for (int32_t d = first, to = first; d < v->rank; d++) {
        int32_t from = d + count < v->rank ? d + count : first + (d + count - v->rank);
        v->dim[to] = old.dim[from];
        v->stride[to++] = old.stride[from];
    }
}

static int run_index_put(void *arg)
{
    struct index_list *l = arg;
    struct view shape, self, table, values;
    int32_t first = 0;
    TRY(list_table(l, &shape));
    TRY(list_geometry(l, &shape, &self, &table, &first));
    struct view given = *l->other;
    /* leading dimensions of size 1 do not count */
    while (given.rank > self.rank && given.dim[0] == 1) {
        given.rank--;
        memmove(given.dim, given.dim + 1, (size_t)given.rank * 8);
        memmove(given.stride, given.stride + 1, (size_t)given.rank * 8);
    }
    if (!view_broadcast(&values, &given, self.rank, self.dim)) {
        char a[256], b[256];
        return fail(ACLNN_ERR_PARAM_INVALID,
                    "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                    shape_text(a, sizeof a, given.rank, given.dim), shape_text(b, sizeof b, self.rank, self.dim));
    }
    if (!view_count(&self))
        return ACLNN_SUCCESS;
    /* the table's dimensions last: there indices may repeat */
    rotate(&self, first, shape.rank);
    rotate(&table, first, shape.rank);
    rotate(&values, first, shape.rank);
    struct scatter_param alpha = {.alpha = {1, 0}, .alpha_int = 1};
    return scatter_run(l->accumulate ? SCATTER_ADD : SCATTER_SET, &self, &table, &values, shape.rank, &placed, &alpha,
                       NULL);
}

int prepare_index_put(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct index_list *l;
    TRY(list_prepare(plan, row, arg, false, &l));
    l->accumulate = arg[3].i != 0;
    if (l->accumulate && !ISA_PICK(index_kernels)->scatter(SCATTER_ADD, l->self->dtype))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %s not implemented for %s with accumulate.",
                         row->param[0].name, dtype_name(l->self->dtype));
    plan_step(plan, run_index_put, l, (uint64_t)view_count(l->table) * 6 + (uint64_t)view_count(l->other) * 2);
    return ACLNN_SUCCESS;
}

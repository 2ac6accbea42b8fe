/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills of views; contracts in ops/plan.h. A copy takes the first way that fits: one memcpy, rows, a blocked
 * transposition, single elements. Steps of plans; no locks. */
#include "kernels/copy.h"
#include "ops/walk.h"
#include "plan.h"

enum { PIECE_BYTES = 1 << 18, TILE = 64 };

bool copy_converts(aclDataType dst, aclDataType src)
{
    struct copy_cast cast;
    return (dst == src && dtype_size(dst)) || ISA_PICK(copy_kernels)->find_cast(&cast, dst, src);
}

/* ---- dense ---- */

struct bytes {
    char *to;
    const char *from;
};

static void move_bytes(void *arg, int64_t begin, int64_t end)
{
    const struct bytes *b = arg;
    memcpy(b->to + begin, b->from + begin, (size_t)(end - begin));
}

/* ---- rows ---- */

static void move_row(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    ISA_PICK(copy_kernels)->move(*(const size_t *)param, n, data[0], step[0], data[1], step[1]);
}

/* ---- transposition ----
 * dst is dense along one dimension (columns), src along another (rows). Tiles of both, moved through a buffer when the
 * type changes, so that neither side is read or written in single elements of distant lines. */
struct tiles {
    const struct copy_kernels *kernels;
    struct view dst, src; /* the last two dimensions: rows, columns */
    struct copy_cast cast;
    bool convert;
    int64_t tile_rows, tile_columns; /* number of tiles */
};

/* Rows or columns this many bytes apart compete for the same sets of the caches. */
static bool crowded(int64_t bytes)
{
    return bytes % 1024 == 0;
}

static void move_tile(const struct tiles *t, char *dst, const char *src, int64_t rows, int64_t columns)
{
    int32_t r = t->dst.rank - 2, c = t->dst.rank - 1;
    int64_t to = (int64_t)dtype_size(t->dst.dtype), from = (int64_t)dtype_size(t->src.dtype);
    int64_t dst_row = t->dst.stride[r] * to, src_column = t->src.stride[c] * from;
    _Alignas(64) char block[TILE * TILE * 16], turned[TILE * TILE * 16];
    if (crowded(src_column) || crowded(dst_row)) { /* fetch whole lines once */
        for (int64_t i = 0; i < columns; i++)
            memcpy(block + i * rows * from, src + i * src_column, (size_t)(rows * from));
        src = block;
        src_column = rows * from;
    }
    if (!t->convert) {
        t->kernels->transpose((size_t)to, rows, columns, dst, dst_row, src, src_column);
        return;
    }
    t->kernels->transpose((size_t)from, rows, columns, turned, columns * from, src, src_column);
    for (int64_t i = 0; i < rows; i++) {
        char *const data[] = {dst + i * dst_row, turned + i * columns * from};
        const int64_t step[] = {to, from};
        t->kernels->cast(columns, data, step, &t->cast);
    }
}

static void move_tiles(void *arg, int64_t begin, int64_t end)
{
    const struct tiles *t = arg;
    int32_t outer = t->dst.rank - 2;
    int64_t rows = t->dst.dim[outer], columns = t->dst.dim[outer + 1];
    int64_t to = (int64_t)dtype_size(t->dst.dtype), from = (int64_t)dtype_size(t->src.dtype);
    for (int64_t tile = begin; tile < end; tile++) {
        int64_t rest = tile, column = rest % t->tile_columns * TILE;
        rest /= t->tile_columns;
        int64_t row = rest % t->tile_rows * TILE;
        rest /= t->tile_rows;
        int64_t dst = row * t->dst.stride[outer] + column, src = row + column * t->src.stride[outer + 1];
        for (int32_t i = outer; i-- > 0; rest /= t->dst.dim[i]) {
            dst += rest % t->dst.dim[i] * t->dst.stride[i];
            src += rest % t->dst.dim[i] * t->src.stride[i];
        }
        move_tile(t, t->dst.data + dst * to, t->src.data + src * from, rows - row < TILE ? rows - row : TILE,
                  columns - column < TILE ? columns - column : TILE);
    }
}

static void move_dim_last(struct view *v, int32_t from, int32_t to)
{
    int64_t dim = v->dim[from], stride = v->stride[from];
    for (int32_t i = from; i < to; i++) {
        v->dim[i] = v->dim[i + 1];
        v->stride[i] = v->stride[i + 1];
    }
    v->dim[to] = dim;
    v->stride[to] = stride;
}

/* Ordered views whose dense dimensions differ: fills the tiles; false when it is not a transposition or too small a
 * one. */
static bool find_tiles(struct tiles *t)
{
    int32_t last = t->dst.rank - 1, dense = -1;
    if (last < 1 || t->dst.stride[last] != 1 || t->src.stride[last] == 1 || t->src.stride[last] == 0 ||
        t->dst.dim[last] < 4)
        return false;
    for (int32_t i = 0; i < last; i++)
        if (t->src.stride[i] == 1 && t->src.dim[i] >= 4)
            dense = i;
    if (dense < 0)
        return false;
    move_dim_last(&t->dst, dense, last - 1);
    move_dim_last(&t->src, dense, last - 1);
    t->tile_rows = (t->dst.dim[last - 1] + TILE - 1) / TILE;
    t->tile_columns = (t->dst.dim[last] + TILE - 1) / TILE;
    return true;
}

static void move_transposed(struct tiles *t)
{
    int64_t tiles = t->tile_rows * t->tile_columns;
    for (int32_t i = 0; i < t->dst.rank - 2; i++)
        tiles *= t->dst.dim[i];
    int64_t tile_bytes = TILE * TILE * (int64_t)dtype_size(t->dst.dtype);
    parallel(tiles, PIECE_BYTES / tile_bytes, move_tiles, t);
}

/* ---- entries ---- */

void copy_view(const struct view *dst, const struct view *src)
{
    int64_t count = view_count(dst), element = (int64_t)dtype_size(dst->dtype);
    if (count == 0)
        return;
    struct tiles t;
    t.kernels = ISA_PICK(copy_kernels);
    t.convert = dst->dtype != src->dtype;
    if (!t.convert && view_is_contiguous(dst) && view_is_contiguous(src)) {
        struct bytes b = {dst->data, src->data};
        if (dst->data == src->data)
            return;
        if (count * element <= PIECE_BYTES)
            memcpy(b.to, b.from, (size_t)(count * element));
        else
            parallel(count * element, PIECE_BYTES, move_bytes, &b);
        return;
    }
    if (t.convert)
        t.kernels->find_cast(&t.cast, dst->dtype, src->dtype);
    if (dst->rank > 1) {
        t.dst = *dst;
        t.src = *src;
        walk_order((struct view *[]){&t.dst, &t.src}, 2);
        if (find_tiles(&t)) {
            move_transposed(&t);
            return;
        }
    }
    const struct view *const views[] = {dst, src};
    if (t.convert)
        walk(views, 2, t.kernels->cast, &t.cast, 1);
    else
        walk(views, 2, move_row, &(size_t){(size_t)element}, 1);
}

struct fill {
    struct view *dst;
    size_t element;
    uint64_t value[2];
};

static void fill_row(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    const struct fill *f = param;
    ISA_PICK(copy_kernels)->fill(f->element, n, data[0], step[0], f->value);
}

void fill_view(const struct view *dst, const void *value)
{
    struct fill f = {NULL, dtype_size(dst->dtype), {0, 0}};
    memcpy(f.value, value, f.element);
    walk(&dst, 1, fill_row, &f, 1);
}

void scalar_store(const aclScalar *s, aclDataType dtype, void *element)
{
    struct view src = {.data = (char *)&s->i, .dtype = s->dtype}, dst = {.data = element, .dtype = dtype};
    if (dtype_is_float(s->dtype))
        src.dtype = ACL_DOUBLE;
    else if (dtype_is_complex(s->dtype))
        src.dtype = ACL_COMPLEX128;
    else if (s->dtype != ACL_UINT64)
        src.dtype = ACL_INT64;
    copy_view(&dst, &src);
}

/* ---- steps ---- */

struct copy {
    struct view *dst, *src;
};

static int run_copy(void *arg)
{
    struct copy *c = arg;
    copy_view(c->dst, c->src);
    return 0;
}

void plan_copy(struct plan *plan, struct view *dst, const struct view *src)
{
    char have[256], want[256];
    if (!copy_converts(dst->dtype, src->dtype)) {
        plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: %s cannot be converted to %s.", plan->row->name,
                  dtype_name(src->dtype), dtype_name(dst->dtype));
        return;
    }
    int64_t count = view_count(dst);
    struct copy *c = plan_alloc(plan, sizeof *c);
    c->dst = dst;
    c->src = plan_alias(plan, src, 0);
    if (!view_broadcast(c->src, src, dst->rank, dst->dim))
        plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: the shape %s cannot be broadcast to %s.", plan->row->name,
                  shape_text(have, sizeof have, src->rank, src->dim),
                  shape_text(want, sizeof want, dst->rank, dst->dim));
    else if (count)
        plan_step(plan, run_copy, c, (uint64_t)count * (dtype_size(dst->dtype) + dtype_size(src->dtype)) / 10);
}

static int run_fill(void *arg)
{
    struct fill *f = arg;
    fill_view(f->dst, f->value);
    return 0;
}

void plan_fill(struct plan *plan, struct view *dst, const void *value)
{
    int64_t count = view_count(dst);
    if (count == 0)
        return;
    struct fill *f = plan_alloc(plan, sizeof *f);
    f->dst = dst;
    f->element = dtype_size(dst->dtype);
    memcpy(f->value, value, f->element);
    plan_step(plan, run_fill, f, (uint64_t)count * f->element / 10);
}

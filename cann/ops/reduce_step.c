/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction step: see reduce.h.
 *
 * A reduction's work is cut into units: a run of up to 512 neighbouring results. When the results lie closer together
 * in the input than the elements of one, a unit walks down columns, else it takes one row after the other. Few units
 * with much to reduce are cut into pieces along the reduced dimensions as well, whose accumulators are merged in order.
 * All of that depends on shapes and strides alone, so results do not depend on the number of threads. */
#include "ops/reduce.h"

#include <stdlib.h>

enum {
    COLUMNS_MIN = 8, /* neighbouring results that make columns worth while */
    ROW_RESULTS = 64,
    COLUMN_RESULTS = 512,
    WORDS_MAX = 3,
    PIECE = 65536, /* elements, at least, in a piece and in a thread's share */
    FEW_UNITS = 16,
    PIECES_MAX = 64,
};

struct axis {
    int64_t size, in;             /* bytes a step */
    int64_t out[REDUCE_OUTS_MAX]; /* of kept dimensions */
};

struct reduction {
    const struct reduce_kernels *kernel;
    struct reduce_param param;
    enum reduce_type type;
    const struct view *in;
    struct reduce_out out[REDUCE_OUTS_MAX];
    int outs, words;
    struct axis kept[VIEW_RANK_MAX], reduced[VIEW_RANK_MAX]; /* outermost first; at least one each */
    int nkept, nreduced;
    int64_t results, count; /* results; elements in each */
    bool columns;
    int64_t width, blocks, units; /* results in a unit; units in the innermost kept dimension, and in all */
    int64_t pieces, piece;        /* along the reduced dimensions; elements in each */
    const struct view *partial;   /* units × pieces × words × width words, when pieces > 1 */
};

/* ---- running ---- */

/* Elements [begin, end) of the reduced dimensions, in order, into n results' accumulators. */
static void accumulate(const struct reduction *r, const char *base, int64_t n, int64_t begin, int64_t end, char *acc)
{
    int64_t index[VIEW_RANK_MAX], rest = begin;
    const struct axis *inner = &r->reduced[r->nreduced - 1], *neighbour = &r->kept[r->nkept - 1];
    const char *at = base;
    if (begin >= end)
        return;
    for (int d = r->nreduced - 1; d >= 0; d--) {
        index[d] = rest % r->reduced[d].size;
        rest /= r->reduced[d].size;
        at += index[d] * r->reduced[d].in;
    }
    while (begin < end) {
        int64_t run = inner->size - index[r->nreduced - 1];
        run = run < end - begin ? run : end - begin;
        if (r->columns)
            r->kernel->column(&r->param, r->type, run, inner->in, n, neighbour->in, at, begin, acc, r->width);
        else
            r->kernel->row(&r->param, r->type, n, neighbour->in, run, inner->in, at, begin, acc, r->width);
        begin += run;
        at -= index[r->nreduced - 1] * inner->in;
        index[r->nreduced - 1] = 0;
        for (int d = r->nreduced - 2; d >= 0; d--) {
            at += r->reduced[d].in;
            if (++index[d] < r->reduced[d].size)
                break;
            at -= index[d] * r->reduced[d].in;
            index[d] = 0;
        }
    }
}

struct place {
    const char *in;
    char *out[REDUCE_OUTS_MAX];
    int64_t n;
};

static struct place locate(const struct reduction *r, int64_t unit)
{
    struct place p = {.in = r->in->data};
    const struct axis *inner = &r->kept[r->nkept - 1];
    int64_t first = unit % r->blocks * r->width, rest = unit / r->blocks;
    p.n = inner->size - first < r->width ? inner->size - first : r->width;
    p.in += first * inner->in;
    for (int k = 0; k < r->outs; k++)
        p.out[k] = r->out[k].view->data + first * inner->out[k];
    for (int d = r->nkept - 2; d >= 0; d--) {
        int64_t i = rest % r->kept[d].size;
        rest /= r->kept[d].size;
        p.in += i * r->kept[d].in;
        for (int k = 0; k < r->outs; k++)
            p.out[k] += i * r->kept[d].out[k];
    }
    return p;
}

static void finish(const struct reduction *r, const struct place *p, const char *acc)
{
    for (int k = 0; k < r->outs; k++)
        r->kernel->finish(&r->param, r->out[k].finish, r->type, r->out[k].argument, r->count, p->n, acc, r->width,
                          p->out[k], r->kept[r->nkept - 1].out[k], r->out[k].view->dtype);
}

static void run_units(void *arg, int64_t begin, int64_t end)
{
    const struct reduction *r = arg;
    int64_t acc[WORDS_MAX * COLUMN_RESULTS];
    for (int64_t unit = begin; unit < end; unit++) {
        struct place p = locate(r, unit);
        r->kernel->init(r->param.op, r->type, p.n, acc, r->width);
        accumulate(r, p.in, p.n, 0, r->count, (char *)acc);
        finish(r, &p, (const char *)acc);
    }
}

static void run_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct reduction *r = arg;
    for (int64_t i = begin; i < end; i++) {
        struct place p = locate(r, i / r->pieces);
        char *acc = r->partial->data + 8 * i * r->words * r->width;
        int64_t from = i % r->pieces * r->piece, to = from + r->piece < r->count ? from + r->piece : r->count;
        r->kernel->init(r->param.op, r->type, p.n, acc, r->width);
        accumulate(r, p.in, p.n, from, to, acc);
    }
}

static int run(void *arg)
{
    struct reduction *r = arg;
    if (r->pieces == 1) {
        int64_t each = r->width * (r->count ? r->count : 1);
        parallel(r->units, each < PIECE ? PIECE / each : 1, run_units, r);
        return 0;
    }
    parallel(r->units * r->pieces, 1, run_pieces, r);
    int64_t bytes = 8 * r->words * r->width;
    for (int64_t unit = 0; unit < r->units; unit++) {
        struct place p = locate(r, unit);
        char *acc = r->partial->data + unit * r->pieces * bytes;
        for (int64_t i = 1; i < r->pieces; i++)
            r->kernel->merge(r->param.op, r->type, p.n, acc, r->width, acc + i * bytes, r->width);
        finish(r, &p, acc);
    }
    return 0;
}

/* ---- planning ---- */

static int by_stride(const void *a, const void *b)
{
    const struct axis *x = a, *y = b;
    return (x->in < y->in) - (x->in > y->in);
}

static int merge_axes(struct axis *axis, int n, int outs)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        struct axis *last = kept ? &axis[kept - 1] : NULL, *next = &axis[i];
        if (next->size == 1)
            continue;
        bool joins = last && last->in == next->in * next->size;
        for (int k = 0; joins && k < outs; k++)
            joins = last->out[k] == next->out[k] * next->size;
        if (joins) {
            next->size *= last->size;
            *last = *next;
        } else {
            axis[kept++] = *next;
        }
    }
    if (!kept)
        axis[kept++] = (struct axis){.size = 1};
    return kept;
}

static void find_axes(struct reduction *r, uint32_t mask)
{
    const struct view *in = r->in;
    int64_t size = (int64_t)dtype_size(in->dtype);
    int place[REDUCE_OUTS_MAX] = {0};
    for (int32_t d = 0; d < in->rank; d++) {
        struct axis axis = {.size = in->dim[d], .in = in->stride[d] * size};
        bool reduced = mask >> d & 1;
        for (int k = 0; k < r->outs; k++) {
            const struct view *out = r->out[k].view;
            if (reduced && out->rank != in->rank)
                continue;
            axis.out[k] = reduced ? 0 : out->stride[place[k]] * (int64_t)dtype_size(out->dtype);
            place[k]++;
        }
        if (reduced)
            r->reduced[r->nreduced++] = axis;
        else
            r->kept[r->nkept++] = axis;
        *(reduced ? &r->count : &r->results) *= axis.size;
    }
    bool ordered = r->param.op == REDUCE_ARGMAX || r->param.op == REDUCE_ARGMIN;
    qsort(r->kept, (size_t)r->nkept, sizeof *r->kept, by_stride);
    if (!ordered)
        qsort(r->reduced, (size_t)r->nreduced, sizeof *r->reduced, by_stride);
    r->nkept = merge_axes(r->kept, r->nkept, r->outs);
    r->nreduced = merge_axes(r->reduced, r->nreduced, 0);
}

void reduce_step(struct plan *plan, struct view *in, uint32_t mask, enum reduce_op op, double p, enum reduce_type type,
                 const struct reduce_out *out, int outs)
{
    struct reduction *r = plan_alloc(plan, sizeof *r);
    r->kernel = ISA_PICK(reduce_kernels);
    r->param = (struct reduce_param){op, in->dtype, p};
    r->type = type;
    r->in = in;
    r->outs = outs;
    r->words = r->kernel->words(op);
    r->results = r->count = 1;
    for (int k = 0; k < outs; k++)
        r->out[k] = out[k];
    find_axes(r, mask);
    if (!r->results)
        return;
    const struct axis *near = &r->kept[r->nkept - 1], *inner = &r->reduced[r->nreduced - 1];
    r->columns = near->size >= COLUMNS_MIN && near->in < inner->in && r->count > 1;
    r->width = r->columns ? COLUMN_RESULTS : ROW_RESULTS;
    r->width = near->size < r->width ? near->size : r->width;
    r->blocks = (near->size + r->width - 1) / r->width;
    r->units = r->results / near->size * r->blocks;
    r->pieces = 1;
    if (r->units < FEW_UNITS && r->count / 2 * r->width >= PIECE) {
        int64_t most = PIECES_MAX / r->units, fit = r->count * r->width / PIECE;
        r->pieces = fit < most ? fit : most;
        r->piece = (r->count + r->pieces - 1) / r->pieces;
        r->piece = r->columns ? r->piece : (r->piece + 2047) / 2048 * 2048;
        r->pieces = (r->count + r->piece - 1) / r->piece;
        r->partial = plan_temp(plan, ACL_INT64, 1, (int64_t[]){r->units * r->pieces * r->words * r->width});
    }
    plan_step(plan, run, r, (uint64_t)(r->results * 8 + r->results * r->count * (int64_t)dtype_size(in->dtype) / 10));
}

/* ---- arguments ---- */

enum reduce_type reduce_type_of(aclDataType in, aclDataType out)
{
    if (!dtype_is_float(in))
        return dtype_is_float(out) ? REDUCE_F64 : REDUCE_I64;
    return in == ACL_DOUBLE || out == ACL_DOUBLE ? REDUCE_F64 : REDUCE_F32;
}

int reduce_mask(struct plan *plan, int32_t rank, const int64_t *dim, uint64_t dims, uint32_t *mask)
{
    int64_t range = rank ? rank : 1;
    *mask = 0;
    for (uint64_t i = 0; i < dims; i++) {
        int64_t d = dim[i] < 0 ? dim[i] + range : dim[i];
        if (d < 0 || d >= range)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Dimension out of range (expected to be in range of [%ld, %ld], but got %ld).",
                             (long)-range, (long)(range - 1), (long)dim[i]);
        if (*mask >> d & 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Dim %ld appears multiple times in the list of dims.",
                             (long)d);
        *mask |= 1u << d;
    }
    if (!dims)
        *mask = (uint32_t)((1ull << rank) - 1);
    return ACLNN_SUCCESS;
}

int reduce_check_out(struct plan *plan, int p, const struct view *in, uint32_t mask, bool keepdim)
{
    int64_t dim[VIEW_RANK_MAX];
    int32_t rank = 0;
    for (int32_t d = 0; d < in->rank; d++) {
        if (!(mask >> d & 1))
            dim[rank++] = in->dim[d];
        else if (keepdim)
            dim[rank++] = 1;
    }
    return plan_check_shape(plan, p, rank, dim);
}

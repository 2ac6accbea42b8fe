/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans over a dimension of a dense tensor, seen as [outer, n, inner]. One long row is cut into pieces whose totals are
 * known before they are scanned: borders depend on the length alone. */
#include "ops/scan.h"

#include "ops/reduce.h"

enum { GRAIN = 8192, COLUMNS_MAX = 512, FEW_ROWS = 8, PIECE = 32768, PIECES_MAX = 64 };

struct scan_job {
    const struct scan_kernels *kernel;
    struct scan_param param;
    const struct view *in, *out, *index;
    int64_t outer, n, inner, width, blocks;
    int64_t pieces, piece; /* of a long row */
    bool reverse;
    union scan_value carry[PIECES_MAX];
    int64_t row; /* the long row at work */
};

static char *at(const struct view *v, int64_t element)
{
    return v ? v->data + element * (int64_t)dtype_size(v->dtype) : NULL;
}

static int64_t step_of(const struct scan_job *j, const struct view *v)
{
    int64_t size = v ? (int64_t)dtype_size(v->dtype) : 0;
    return j->reverse ? -size : size;
}

static void run_rows(void *arg, int64_t begin, int64_t end)
{
    const struct scan_job *j = arg;
    for (int64_t r = begin; r < end; r++) {
        int64_t first = r * j->n + (j->reverse ? j->n - 1 : 0);
        j->kernel->row(&j->param, j->n, at(j->in, first), step_of(j, j->in), at(j->out, first), step_of(j, j->out),
                       at(j->index, first), step_of(j, j->index), NULL);
    }
}

static void run_columns(void *arg, int64_t begin, int64_t end)
{
    const struct scan_job *j = arg;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t col = unit % j->blocks * j->width, left = j->inner - col;
        int64_t first = (unit / j->blocks * j->n + (j->reverse ? j->n - 1 : 0)) * j->inner + col;
        j->kernel->columns(&j->param, j->n, left < j->width ? left : j->width, at(j->in, first),
                           j->inner * step_of(j, j->in), at(j->out, first), j->inner * step_of(j, j->out),
                           at(j->index, first), j->inner * step_of(j, j->index));
    }
}

static int64_t piece_begin(const struct scan_job *j, int64_t piece, int64_t *count)
{
    int64_t from = piece * j->piece;
    *count = j->n - from < j->piece ? j->n - from : j->piece;
    return j->row * j->n + (j->reverse ? j->n - 1 - from : from);
}

static void total_pieces(void *arg, int64_t begin, int64_t end)
{
    struct scan_job *j = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t count, first = piece_begin(j, i, &count);
        j->carry[i] = j->kernel->total(&j->param, count, at(j->in, first), step_of(j, j->in));
    }
}

static void scan_pieces(void *arg, int64_t begin, int64_t end)
{
    struct scan_job *j = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t count, first = piece_begin(j, i, &count);
        j->kernel->row(&j->param, count, at(j->in, first), step_of(j, j->in), at(j->out, first), step_of(j, j->out),
                       NULL, 0, &j->carry[i]);
    }
}

/* Totals of pieces become what each begins with. */
static void add_up(struct scan_job *j)
{
    bool whole = !dtype_is_float(j->param.dtype) && !dtype_is_float(j->param.out_dtype);
    union scan_value sum = {0};
    if (whole)
        sum.i = 0;
    else
        sum.d = 0;
    for (int64_t i = 0; i < j->pieces; i++) {
        union scan_value mine = j->carry[i];
        j->carry[i] = sum;
        if (whole)
            sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)mine.i);
        else
            sum.d += mine.d;
    }
}

static int run(void *arg)
{
    struct scan_job *j = arg;
    if (j->inner > 1) {
        parallel(j->outer * j->blocks, j->n * j->width < GRAIN ? GRAIN / (j->n * j->width) : 1, run_columns, j);
    } else if (j->pieces == 1) {
        parallel(j->outer, j->n < GRAIN ? GRAIN / j->n : 1, run_rows, j);
    } else {
        for (j->row = 0; j->row < j->outer; j->row++) {
            parallel(j->pieces, 1, total_pieces, j);
            add_up(j);
            parallel(j->pieces, 1, scan_pieces, j);
        }
    }
    return 0;
}

static void add_scan(struct plan *plan, enum scan_op op, struct view *x, int32_t dim, bool exclusive, bool reverse,
                     struct view *out, struct view *index)
{
    struct scan_job *j = plan_alloc(plan, sizeof *j);
    struct view *to = plan_output(plan, out, out->dtype),
                *index_to = index ? plan_output(plan, index, index->dtype) : NULL;
    bool narrows =
        dtype_is_float(x->dtype) && (!dtype_is_float(out->dtype) || dtype_size(out->dtype) < dtype_size(x->dtype));
    x = plan_contiguous(plan, x, narrows ? out->dtype : x->dtype);
    j->kernel = ISA_PICK(scan_kernels);
    j->param = (struct scan_param){op, x->dtype, out->dtype, index ? index->dtype : ACL_INT64, exclusive};
    j->in = x;
    j->out = to;
    j->index = index_to;
    j->reverse = reverse;
    j->outer = j->n = j->inner = 1;
    for (int32_t d = 0; d < x->rank; d++)
        *(d < dim ? &j->outer : d == dim ? &j->n : &j->inner) *= x->dim[d];
    j->width = j->inner < COLUMNS_MAX ? j->inner : COLUMNS_MAX;
    j->blocks = j->width ? (j->inner + j->width - 1) / j->width : 0;
    j->pieces = 1;
    if (j->inner == 1 && j->outer < FEW_ROWS && op == SCAN_SUM && j->n >= 2 * PIECE) {
        int64_t fit = j->n / PIECE;
        j->pieces = fit < PIECES_MAX ? fit : PIECES_MAX;
        j->piece = (j->n + j->pieces - 1) / j->pieces;
        j->pieces = (j->n + j->piece - 1) / j->piece;
    }
    if (view_count(x))
        plan_step(plan, run, j, (uint64_t)view_count(x));
    plan_finish(plan, to, out);
    if (index)
        plan_finish(plan, index_to, index);
}

/* One dimension of argument 0's tensor; argument p's tensor has its shape. */
static int check(struct plan *plan, const struct view *x, int64_t dim, int p, int32_t *found)
{
    uint32_t mask;
    TRY(reduce_mask(plan, x->rank, &dim, 1, &mask));
    TRY(plan_check_shape(plan, p, x->rank, x->dim));
    *found = __builtin_ctz(mask);
    return ACLNN_SUCCESS;
}

static const aclDataType reals[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,   ACL_DOUBLE, ACL_INT8,   ACL_UINT8, ACL_INT16,
                                    ACL_INT32, ACL_INT64,   ACL_UINT16, ACL_UINT32, ACL_UINT64, ACL_BOOL};
enum { REALS = sizeof reals / sizeof reals[0] };

static int add_plain(struct plan *plan, const struct op_row *row, const union op_value *arg, int64_t dim,
                     bool exclusive, bool reverse)
{
    int32_t found;
    int out = row->params - 1;
    TRY(plan_check_dtype(plan, 0, reals, REALS));
    TRY(plan_check_dtype(plan, out, reals, REALS));
    TRY(check(plan, &arg[0].tensor->view, dim, out, &found));
    add_scan(plan, (enum scan_op)row->code, plan_view(plan, arg[0].tensor), found, exclusive, reverse,
             plan_view(plan, arg[out].tensor), NULL);
    return ACLNN_SUCCESS;
}

int scan_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return add_plain(plan, row, arg, arg[1].i, false, false);
}

int scan_prepare_v2(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return add_plain(plan, row, arg, arg[1].i, arg[2].i != 0, arg[3].i != 0);
}

int scan_prepare_scalar_dim(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return add_plain(plan, row, arg, scalar_int(arg[1].scalar), false, false);
}

int scan_prepare_inplace(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int32_t found;
    TRY(plan_check_dtype(plan, 0, reals, REALS));
    TRY(check(plan, &arg[0].tensor->view, scalar_int(arg[1].scalar), 0, &found));
    struct view *self = plan_view(plan, arg[0].tensor);
    add_scan(plan, (enum scan_op)row->code, self, found, false, false, self, NULL);
    return ACLNN_SUCCESS;
}

int scan_prepare_extreme(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType indices[] = {ACL_INT64, ACL_INT32};
    int32_t found;
    TRY(plan_check_dtype(plan, 0, reals, REALS));
    TRY(plan_check_dtype(plan, 3, indices, 2));
    TRY(check(plan, &arg[0].tensor->view, arg[1].i, 2, &found));
    TRY(check(plan, &arg[0].tensor->view, arg[1].i, 3, &found));
    struct view *x = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[2].tensor);
    if (x->dtype != out->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected valuesOut to have self's type %s, but got %s.",
                         dtype_name(x->dtype), dtype_name(out->dtype));
    if (x->dtype == ACL_UINT64)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s does not order %s.", row->name, dtype_name(x->dtype));
    add_scan(plan, (enum scan_op)row->code, x, found, false, false, out, plan_view(plan, arg[3].tensor));
    return ACLNN_SUCCESS;
}

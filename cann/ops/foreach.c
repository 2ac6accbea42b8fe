/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensor lists as one task: a job flattens all tensors of its lists into one range of elements and spreads that over
 * the compute pool, so that a hundred small tensors cost no more than one large one.
 *
 * Item j of a job holds the views of the j-th tensors, all of one shape, type and dense layout; views that are laid out
 * otherwise pass through contiguous temporaries. */
#include "ops/foreach.h"
#include "ops/elementwise.h"

#include <math.h>
#include <string.h>

enum { MEMBERS_MAX = 5, GRAIN = 16384, NORM_PIECE = 32768 };

struct scalar {
    double d;
    int64_t i;
};

struct item {
    struct view *view[MEMBERS_MAX]; /* NULL: no such member */
    int64_t begin, count;           /* its place in the job's range */
    struct scalar s;
    walk_loop loop;          /* arithmetic */
    const struct view *step; /* fused Adam: the number of steps taken */
};

struct job {
    const struct foreach_kernels *kernels;
    size_t items;
    struct item *item;
    int64_t total;
    void (*piece)(struct job *job, struct item *item, char *const *data, int64_t n);
    int op, operands;
    int scalar_operand;                         /* which operand the scalar is; 0: it is the parameter */
    const struct view *scalars, *scale, *found; /* tensors read when the job runs; may be NULL */
    struct view *flag;                          /* written when the job runs */
    int bad;                                    /* set by any piece */
    union {
        struct foreach_adam adam;
        struct foreach_sgd sgd;
        double value; /* unscale: the factor; norm: the power */
    };
    struct view **out; /* norm: nothing else is written */
    double *part;
};

/* ---- single elements ---- */

static struct scalar read_scalar(const struct view *v, int64_t i)
{
    const char *p = v->data + (v->rank ? i * v->stride[0] : 0) * (int64_t)dtype_size(v->dtype);
    struct scalar s = {0};
    switch ((int)v->dtype) {
    case ACL_FLOAT:
        s.d = *(const float *)p;
        break;
    case ACL_DOUBLE:
        s.d = *(const double *)p;
        break;
    case ACL_FLOAT16:
        s.d = f16_to_float(*(const uint16_t *)p);
        break;
    case ACL_BF16:
        s.d = bf16_to_float(*(const uint16_t *)p);
        break;
    case ACL_INT64:
        s.i = *(const int64_t *)p;
        s.d = (double)s.i;
        return s;
    case ACL_INT32:
        s.d = *(const int32_t *)p;
        break;
    case ACL_INT16:
        s.d = *(const int16_t *)p;
        break;
    case ACL_INT8:
        s.d = *(const int8_t *)p;
        break;
    case ACL_UINT8:
    case ACL_BOOL:
        s.d = *(const uint8_t *)p;
        break;
    }
    s.i = fabs(s.d) < 0x1p62 ? (int64_t)s.d : 0;
    return s;
}

static void write_scalar(const struct view *v, double value)
{
    switch ((int)v->dtype) {
    case ACL_FLOAT:
        *(float *)v->data = (float)value;
        break;
    case ACL_DOUBLE:
        *(double *)v->data = value;
        break;
    case ACL_FLOAT16:
        *(uint16_t *)v->data = f16_from_float((float)value);
        break;
    case ACL_BF16:
        *(uint16_t *)v->data = bf16_from_float((float)value);
        break;
    case ACL_INT32:
        *(int32_t *)v->data = (int32_t)value;
        break;
    case ACL_INT64:
        *(int64_t *)v->data = (int64_t)value;
        break;
    }
}

/* ---- building a job ---- */

/* All views share strides, and these fill memory without holes or overlap: element order does not matter then. */
static bool dense_alike(struct view *const *view)
{
    const struct view *v = view[0];
    int order[VIEW_RANK_MAX], n = 0;
    for (int d = 0; d < v->rank; d++) {
        if (v->dim[d] == 1)
            continue;
        for (int m = 1; m < MEMBERS_MAX; m++)
            if (view[m] && view[m]->stride[d] != v->stride[d])
                return false;
        int at = n++;
        for (; at && v->stride[order[at - 1]] > v->stride[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    int64_t expect = 1;
    for (int i = 0; i < n; i++) {
        if (v->stride[order[i]] != expect)
            return false;
        expect *= v->dim[order[i]];
    }
    return true;
}

/* Replaces an item's views by contiguous ones where needed and remembers in home[] where written ones have to go. */
static void make_dense(struct plan *plan, struct item *item, unsigned reads, unsigned writes, struct view **home)
{
    for (int m = 0; m < MEMBERS_MAX; m++) {
        struct view *v = item->view[m];
        if (!v || view_is_contiguous(v))
            continue;
        item->view[m] = reads >> m & 1 ? plan_contiguous(plan, v, v->dtype) : plan_output(plan, v, v->dtype);
        home[m] = writes >> m & 1 ? v : NULL;
    }
}

struct building {
    struct job *job;
    struct view *(*home)[MEMBERS_MAX]; /* NULL until an item needs it */
};

/* Makes a job from the lists (list[m] NULL: absent); the bits of reads and writes say what happens to member m. */
static int job_build(struct plan *plan, struct building *b, const aclTensorList *const *list, unsigned reads,
                     unsigned writes)
{
    size_t n = list[0]->size;
    struct job *job = plan_alloc(plan, sizeof *job);
    job->kernels = ISA_PICK(foreach_kernels);
    job->items = n;
    job->item = plan_alloc(plan, (n ? n : 1) * sizeof *job->item);
    *b = (struct building){.job = job};
    for (int m = 1; m < MEMBERS_MAX; m++)
        if (list[m] && list[m]->size != n)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Tensor lists must have the same number of tensors, got %zu and %zu.", n,
                             (size_t)list[m]->size);
    for (size_t j = 0; j < n; j++) {
        struct item *item = &job->item[j];
        for (int m = 0; m < MEMBERS_MAX; m++) {
            if (!list[m])
                continue;
            if (!list[m]->value[j])
                return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "Tensor %zu of a tensor list is NULL.", j);
            item->view[m] = plan_view(plan, list[m]->value[j]);
            if (m && item->view[m]->dtype != item->view[0]->dtype)
                return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %zu: dtypes of the lists differ, %s and %s.", j,
                                 dtype_name(item->view[0]->dtype), dtype_name(item->view[m]->dtype));
            if (m && !view_same_shape(item->view[m], item->view[0]))
                return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %zu: shapes of the lists differ.", j);
        }
        item->begin = job->total;
        item->count = view_count(item->view[0]);
        job->total += item->count;
        if (dense_alike(item->view))
            continue;
        if (!b->home)
            b->home = plan_alloc(plan, n * sizeof *b->home);
        make_dense(plan, item, reads, writes, b->home[j]);
    }
    return ACLNN_SUCCESS;
}

/* Adds the job's step, and copies from temporaries to where they belong. */
static int job_finish(struct plan *plan, struct building *b, int (*run)(void *), int bytes)
{
    struct job *job = b->job;
    plan_step(plan, run, job, (uint64_t)job->total * (uint64_t)bytes / 10 + job->items * 5);
    for (size_t j = 0; b->home && j < job->items; j++)
        for (int m = 0; m < MEMBERS_MAX; m++)
            if (b->home[j][m])
                plan_copy(plan, b->home[j][m], job->item[j].view[m]);
    return ACLNN_SUCCESS;
}

/* ---- running a job ---- */

static void spread_piece(void *arg, int64_t begin, int64_t end)
{
    struct job *job = arg;
    size_t low = 0, high = job->items;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (job->item[middle].begin <= begin)
            low = middle;
        else
            high = middle;
    }
    for (; begin < end; low++) {
        struct item *item = &job->item[low];
        int64_t from = begin - item->begin, n = item->count - from;
        n = n < end - begin ? n : end - begin;
        if (n <= 0)
            continue;
        char *data[MEMBERS_MAX];
        for (int m = 0; m < MEMBERS_MAX; m++)
            data[m] = item->view[m] ? item->view[m]->data + from * (int64_t)dtype_size(item->view[m]->dtype) : NULL;
        job->piece(job, item, data, n);
        begin += n;
    }
}

static void spread(struct job *job)
{
    if (job->total)
        parallel(job->total, GRAIN, spread_piece, job);
}

/* ---- arithmetic: member 0 is the output ---- */

static aclDataType loop_type(aclDataType dtype)
{
    return dtype == ACL_FLOAT16 || dtype == ACL_BF16 ? ACL_FLOAT : dtype;
}

static walk_loop find_loop(int op, aclDataType dtype)
{
    const struct elementwise_table *table = ISA_PICK(elementwise_kernels)->table[op >> 8];
    aclDataType type = loop_type(dtype);
    bool in_table = (int)type >= 0 && (int)type < ELEMENTWISE_DTYPES && (op & 0xff) < table->count;
    return in_table ? table->loop[op & 0xff][type] : NULL;
}

/* The scalar as one element of the loop's type. */
static void store_scalar(struct scalar s, aclDataType dtype, void *element)
{
    if (loop_type(dtype) == ACL_FLOAT)
        memcpy(element, &(float){(float)s.d}, sizeof(float));
    else if (dtype == ACL_DOUBLE)
        memcpy(element, &s.d, sizeof s.d);
    else /* integers: the low bytes, little endian */
        memcpy(element, &s.i, dtype_size(dtype));
}

static void arithmetic_piece(struct job *job, struct item *item, char *const *data, int64_t n)
{
    struct elementwise_param param = {.d = {item->s.d}, .i = {item->s.i}};
    struct foreach_loop l = {item->loop, &param, item->view[0]->dtype, job->operands, 0};
    char *operand[4] = {data[0], data[1], data[2], data[3]}, element[16] __attribute__((aligned(16)));
    if (job->scalar_operand) {
        store_scalar(item->s, l.dtype, element);
        if (job->scalar_operand == 1)
            operand[2] = operand[1];
        operand[job->scalar_operand] = element;
        l.repeat = 1u << job->scalar_operand;
    }
    job->kernels->run(&l, n, operand);
}

static int run_arithmetic(void *arg)
{
    struct job *job = arg;
    if (job->scalars) {
        bool one = view_count(job->scalars) == 1;
        for (size_t j = 0; j < job->items; j++)
            job->item[j].s = read_scalar(job->scalars, one ? 0 : (int64_t)j);
    }
    spread(job);
    return ACLNN_SUCCESS;
}

static int check_types(struct plan *plan, const struct job *job, int op)
{
    for (size_t j = 0; j < job->items; j++) {
        job->item[j].loop = find_loop(op, job->item[j].view[0]->dtype);
        if (!job->item[j].loop)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %zu not implemented for %s.", j,
                             dtype_name(job->item[j].view[0]->dtype));
    }
    return ACLNN_SUCCESS;
}

static int check_floats(struct plan *plan, const struct job *job)
{
    for (size_t j = 0; j < job->items; j++)
        if (!dtype_is_float(job->item[j].view[0]->dtype))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Tensor %zu not implemented for %s, should be in dtype support list "
                             "[DT_FLOAT,DT_FLOAT16,DT_BFLOAT16,DT_DOUBLE].",
                             j, dtype_name(job->item[j].view[0]->dtype));
    return ACLNN_SUCCESS;
}

static int check_scalars(struct plan *plan, const struct view *v, size_t items)
{
    int64_t n = view_count(v);
    if (v->rank > 1 || (n != 1 && n != (int64_t)items))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected a scalar tensor of 1 or %zu elements, but got %lld.",
                         items, (long long)n);
    return ACLNN_SUCCESS;
}

int prepare_foreach(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensorList *list[MEMBERS_MAX] = {0};
    const aclScalarList *scalar_list = NULL;
    struct scalar s = {.d = 1, .i = 1};
    struct view *scalars = NULL;
    int inputs = 0;
    for (int p = 0; p < row->params; p++) {
        switch (row->param[p].kind) {
        case 'L':
            list[strcmp(row->param[p].name, "out") ? ++inputs : 0] = arg[p].tensors;
            break;
        case 'S':
            s = (struct scalar){scalar_double(arg[p].scalar), scalar_int(arg[p].scalar)};
            break;
        case 'Q':
            scalar_list = arg[p].scalars;
            break;
        case 'T':
            scalars = plan_view(plan, arg[p].tensor);
            break;
        }
    }
    if (!list[0])
        list[0] = list[1];
    struct building b;
    TRY(job_build(plan, &b, list, ~1u, 1u));
    TRY(check_types(plan, b.job, row->code));
    if (scalars)
        TRY(check_scalars(plan, scalars, b.job->items));
    if (scalar_list && scalar_list->size != b.job->items)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %zu scalars, but got %zu.", b.job->items,
                         (size_t)scalar_list->size);
    for (size_t j = 0; j < b.job->items; j++) {
        const aclScalar *own = scalar_list ? scalar_list->value[j] : NULL;
        b.job->item[j].s = own ? (struct scalar){scalar_double(own), scalar_int(own)} : s;
        if (row->code == BINARY_ADD_SCALED || row->code == BINARY_SUB_SCALED)
            b.job->item[j].s.d = alpha_rounded(list[1]->value[j]->view.dtype, s.d);
    }
    b.job->operands = 1 + (row->code < BINARY_TABLE || row->code >> 8 == ACTIVATION_TABLE >> 8 ? 1
                           : row->code < TERNARY_TABLE                                         ? 2
                                                                                               : 3);
    /* one list for a binary operation: the scalar is the other operand, the first one if it comes first */
    if (b.job->operands == 3 && inputs == 1)
        b.job->scalar_operand = row->param[0].kind == 'L' ? 2 : 1;
    b.job->scalars = scalars;
    b.job->piece = arithmetic_piece;
    return job_finish(plan, &b, run_arithmetic, 8);
}

static void lerp_piece(struct job *job, struct item *item, char *const *data, int64_t n)
{
    job->kernels->lerp(item->view[0]->dtype, n, data[0], data[1], data[2], job->value);
}

static int run_spread(void *arg)
{
    spread(arg);
    return ACLNN_SUCCESS;
}

int prepare_foreach_lerp(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclTensorList *list[MEMBERS_MAX] = {arg[3].tensors, arg[0].tensors, arg[1].tensors};
    struct building b;
    TRY(job_build(plan, &b, list, ~1u, 1u));
    TRY(check_floats(plan, b.job));
    b.job->value = scalar_double(arg[2].scalar);
    b.job->piece = lerp_piece;
    return job_finish(plan, &b, run_spread, 12);
}

/* roundMode as AscendC numbers it. */
static int round_op(int64_t mode)
{
    static const int op[] = {
        [1] = UNARY_ROUND, [2] = UNARY_FLOOR, [3] = UNARY_CEIL, [5] = UNARY_TRUNC, [7] = UNARY_FRAC};
    return mode > 0 && mode < 8 && op[mode] ? op[mode] : -1;
}

static int run_round(void *arg)
{
    struct job *job = arg;
    int op = job->scalars ? round_op(read_scalar(job->scalars, 0).i) : job->op;
    if (op < 0)
        return fail(ACLNN_ERR_PARAM_INVALID, "roundMode must be 1, 2, 3, 5 or 7.");
    for (size_t j = 0; j < job->items; j++)
        job->item[j].loop = find_loop(op, job->item[j].view[0]->dtype);
    spread(job);
    return ACLNN_SUCCESS;
}

int prepare_foreach_round(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensorList *list[MEMBERS_MAX] = {arg[2].tensors, arg[0].tensors};
    struct building b;
    TRY(job_build(plan, &b, list, ~1u, 1u));
    TRY(check_floats(plan, b.job));
    b.job->piece = arithmetic_piece;
    b.job->operands = 2;
    if (row->param[1].kind == 'T') {
        b.job->scalars = plan_view(plan, arg[1].tensor);
        TRY(check_scalars(plan, b.job->scalars, 1));
    } else {
        b.job->op = round_op(scalar_int(arg[1].scalar));
        if (b.job->op < 0)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "roundMode must be 1, 2, 3, 5 or 7, but got %lld.",
                             (long long)scalar_int(arg[1].scalar));
    }
    return job_finish(plan, &b, run_round, 8);
}

/* ---- copies ---- */

static void move_piece(struct job *job, struct item *item, char *const *data, int64_t n)
{
    (void)job;
    size_t bytes = (size_t)n * dtype_size(item->view[0]->dtype);
    if (!data[1])
        memset(data[0], 0, bytes);
    else if (data[0] != data[1])
        memcpy(data[0], data[1], bytes);
}

static int check_elements(struct plan *plan, const aclTensorList *list)
{
    for (uint64_t j = 0; j < list->size; j++)
        if (!list->value[j])
            return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "Tensor %llu of a tensor list is NULL.",
                             (unsigned long long)j);
    return ACLNN_SUCCESS;
}

int prepare_foreach_move(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const aclTensorList *x = arg[0].tensors, *out = row->params == 2 ? arg[1].tensors : x;
    if (out->size != x->size)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Tensor lists must have the same number of tensors, got %zu and %zu.", (size_t)x->size,
                         (size_t)out->size);
    TRY(check_elements(plan, x));
    TRY(check_elements(plan, out));
    /* Pairs of different types are ordinary copies. */
    bool alike = true;
    for (size_t j = 0; out != x && j < x->size; j++)
        alike = alike && x->value[j]->view.dtype == out->value[j]->view.dtype;
    if (!alike) {
        for (size_t j = 0; j < x->size; j++)
            plan_copy(plan, plan_view(plan, out->value[j]), plan_view(plan, x->value[j]));
        return ACLNN_SUCCESS;
    }
    const aclTensorList *list[MEMBERS_MAX] = {out, row->params == 2 ? x : NULL};
    struct building b;
    TRY(job_build(plan, &b, list, ~1u, 1u));
    b.job->piece = move_piece;
    return job_finish(plan, &b, run_spread, 8);
}

/* ---- norms: fixed pieces, added in order ---- */

static void norm_piece(void *arg, int64_t begin, int64_t end)
{
    struct job *job = arg;
    for (int64_t at = begin; at < end; at++) {
        /* item->begin counts pieces here */
        size_t low = 0, high = job->items;
        while (high - low > 1) {
            size_t middle = (low + high) / 2;
            if (job->item[middle].begin <= at)
                low = middle;
            else
                high = middle;
        }
        const struct item *item = &job->item[low];
        const struct view *v = item->view[0];
        int64_t from = (at - item->begin) * NORM_PIECE,
                n = item->count - from < NORM_PIECE ? item->count - from : NORM_PIECE;
        job->part[at] = job->kernels->norm((enum foreach_norm)job->op, v->dtype, n,
                                           v->data + from * (int64_t)dtype_size(v->dtype), job->value);
    }
}

static int run_norm(void *arg)
{
    struct job *job = arg;
    parallel(job->total, 1, norm_piece, job);
    for (size_t j = 0; j < job->items; j++) {
        int64_t end = j + 1 < job->items ? job->item[j + 1].begin : job->total;
        double sum = 0;
        for (int64_t at = job->item[j].begin; at < end; at++)
            if (job->op == FOREACH_NORM_MAX)
                sum = sum != sum || sum > job->part[at] ? sum : job->part[at];
            else
                sum += job->part[at];
        if (job->op == FOREACH_NORM_TWO)
            sum = sqrt(sum);
        else if (job->op == FOREACH_NORM_P)
            sum = pow(sum, 1 / job->value);
        write_scalar(job->out[j], sum);
    }
    return ACLNN_SUCCESS;
}

int prepare_foreach_norm(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclTensorList *x = arg[0].tensors, *out = arg[2].tensors, *list[MEMBERS_MAX] = {x};
    double p = scalar_double(arg[1].scalar);
    if (out->size != x->size)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Tensor lists must have the same number of tensors, got %zu and %zu.", (size_t)x->size,
                         (size_t)out->size);
    TRY(check_elements(plan, out));
    if (!(p >= 0))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "The order of a norm must be 0 or more, but got %g.", p);
    struct building b;
    TRY(job_build(plan, &b, list, 1u, 0));
    struct job *job = b.job;
    job->op = p == 0        ? FOREACH_NORM_ZERO
              : p == 1      ? FOREACH_NORM_ONE
              : p == 2      ? FOREACH_NORM_TWO
              : isfinite(p) ? FOREACH_NORM_P
                            : FOREACH_NORM_MAX;
    job->value = p;
    job->out = plan_alloc(plan, (x->size + 1) * sizeof *job->out);
    TRY(check_floats(plan, job));
    int64_t elements = job->total;
    job->total = 0;
    for (size_t j = 0; j < job->items; j++) {
        if (view_count(&out->value[j]->view) != 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %zu of out must have 1 element.", j);
        job->out[j] = plan_view(plan, out->value[j]);
        job->item[j].begin = job->total;
        job->total += (job->item[j].count + NORM_PIECE - 1) / NORM_PIECE;
    }
    job->part = plan_alloc(plan, (size_t)(job->total + 1) * sizeof *job->part);
    plan_step(plan, run_norm, job, (uint64_t)elements / 2);
    return ACLNN_SUCCESS;
}

/* ---- mixed precision ---- */

static void unscale_piece(struct job *job, struct item *item, char *const *data, int64_t n)
{
    if (job->kernels->unscale(item->view[0]->dtype, n, data[0], data[0], job->value))
        __atomic_store_n(&job->bad, 1, __ATOMIC_RELAXED);
}

static int run_unscale(void *arg)
{
    struct job *job = arg;
    job->value = read_scalar(job->scale, 0).d;
    job->bad = 0;
    spread(job);
    if ((saturation_wanted() && overflow_take()) || job->bad) /* a saturated number looks as good as any */
        write_scalar(job->flag, 1);
    return ACLNN_SUCCESS;
}

int prepare_foreach_unscale(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclTensorList *list[MEMBERS_MAX] = {arg[0].tensors};
    struct building b;
    TRY(job_build(plan, &b, list, 1u, 1u));
    TRY(check_floats(plan, b.job));
    b.job->flag = plan_view(plan, arg[1].tensor);
    b.job->scale = plan_view(plan, arg[2].tensor);
    if (view_count(b.job->flag) != 1 || view_count(b.job->scale) != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "foundInf and invScale must have 1 element.");
    b.job->piece = unscale_piece;
    return job_finish(plan, &b, run_unscale, 8);
}

struct update_scale {
    struct view *scale, *tracker, *found, *new_scale, *new_tracker;
    double growth, backoff;
    int64_t interval;
};

static int run_update_scale(void *arg)
{
    struct update_scale *u = arg;
    double scale = read_scalar(u->scale, 0).d;
    int64_t tracker = read_scalar(u->tracker, 0).i;
    if (read_scalar(u->found, 0).d != 0) {
        scale *= u->backoff;
        tracker = 0;
    } else if (++tracker == u->interval) {
        /* grows only while the result is finite */
        float grown = (float)(scale * u->growth);
        scale = isfinite(grown) ? grown : scale;
        tracker = 0;
    }
    write_scalar(u->new_scale, scale);
    write_scalar(u->new_tracker, (double)tracker);
    return ACLNN_SUCCESS;
}

int prepare_amp_update_scale(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const int tensor[] = {0, 1, 2, 6, 7};
    struct update_scale *u = plan_alloc(plan, sizeof *u);
    struct view **member[] = {&u->scale, &u->tracker, &u->found, &u->new_scale, &u->new_tracker};
    for (int i = 0; i < 5; i++) {
        *member[i] = plan_view(plan, arg[tensor[i]].tensor);
        if (view_count(*member[i]) != 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s must have 1 element, but got %lld.",
                             row->param[tensor[i]].name, (long long)view_count(*member[i]));
    }
    u->growth = arg[3].d;
    u->backoff = arg[4].d;
    u->interval = arg[5].i;
    plan_step(plan, run_update_scale, u, 10);
    return ACLNN_SUCCESS;
}

/* ---- optimizers ---- */

/* False when infinities were found and the step is to be left out. */
static bool read_scale(const struct job *job, double *grad_scale)
{
    *grad_scale = job->scale ? read_scalar(job->scale, 0).d : 0;
    return !job->found || read_scalar(job->found, 0).d != 1;
}

static void adam_piece(struct job *job, struct item *item, char *const *data, int64_t n)
{
    struct foreach_adam k = job->adam;
    k.step = item->s.d;
    job->kernels->adam(item->view[0]->dtype, n, data[0], data[1], data[2], data[3], data[4], &k);
}

static int run_adam(void *arg)
{
    struct job *job = arg;
    if (!read_scale(job, &job->adam.grad_scale))
        return ACLNN_SUCCESS;
    for (size_t j = 0; j < job->items; j++)
        job->item[j].s.d = read_scalar(job->item[j].step, 0).d + 1;
    spread(job);
    return ACLNN_SUCCESS;
}

static const aclTensorList *unless_empty(const aclTensorList *list)
{
    return list && list->size ? list : NULL;
}

int prepare_fused_adam(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    bool amsgrad = arg[13].i != 0;
    const aclTensorList *list[MEMBERS_MAX] = {arg[0].tensors, arg[1].tensors, arg[2].tensors, arg[3].tensors,
                                              amsgrad ? arg[4].tensors : NULL};
    if (amsgrad && !list[4])
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "%s is needed with amsgrad.", row->param[4].name);
    struct building b;
    TRY(job_build(plan, &b, list, 31u, arg[6].tensor ? 31u : 31u & ~2u));
    TRY(check_floats(plan, b.job));
    const aclTensorList *steps = arg[5].tensors;
    if (steps->size != b.job->items)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %zu stateSteps, but got %zu.", b.job->items,
                         (size_t)steps->size);
    for (size_t j = 0; j < b.job->items; j++) {
        if (!steps->value[j] || view_count(&steps->value[j]->view) < 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %zu of stateSteps is empty.", j);
        b.job->item[j].step = plan_view(plan, steps->value[j]);
    }
    b.job->adam = (struct foreach_adam){.lr = arg[8].d,
                                        .beta1 = arg[9].d,
                                        .beta2 = arg[10].d,
                                        .weight_decay = arg[11].d,
                                        .eps = arg[12].d,
                                        .adamw = row->code,
                                        .maximize = arg[14].i != 0};
    b.job->scale = arg[6].tensor ? plan_view(plan, arg[6].tensor) : NULL;
    b.job->found = arg[7].tensor ? plan_view(plan, arg[7].tensor) : NULL;
    b.job->piece = adam_piece;
    return job_finish(plan, &b, run_adam, 28);
}

static void sgd_piece(struct job *job, struct item *item, char *const *data, int64_t n)
{
    job->kernels->sgd(item->view[0]->dtype, n, data[0], data[1], data[2], &job->sgd);
}

static int run_sgd(void *arg)
{
    struct job *job = arg;
    if (read_scale(job, &job->sgd.grad_scale))
        spread(job);
    return ACLNN_SUCCESS;
}

int prepare_fused_sgd(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const aclTensorList *list[MEMBERS_MAX] = {arg[0].tensors, arg[1].tensors, unless_empty(arg[2].tensors)};
    struct building b;
    TRY(job_build(plan, &b, list, 7u, arg[3].tensor ? 7u : 5u));
    TRY(check_floats(plan, b.job));
    b.job->sgd = (struct foreach_sgd){.weight_decay = arg[4].d,
                                      .momentum = arg[5].d,
                                      .lr = arg[6].d,
                                      .dampening = arg[7].d,
                                      .nesterov = arg[8].i != 0,
                                      .maximize = arg[9].i != 0,
                                      .first = arg[10].i != 0};
    b.job->scale = arg[3].tensor ? plan_view(plan, arg[3].tensor) : NULL;
    b.job->piece = sgd_piece;
    return job_finish(plan, &b, run_sgd, 20);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over axes, positions of extremes, running sums and products. */
#include <math.h>
#include <string.h>

#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_amin.h"
#include "aclnnop/aclnn_arg_max.h"
#include "aclnnop/aclnn_arg_min.h"
#include "aclnnop/aclnn_cumprod.h"
#include "aclnnop/aclnn_cumsum_v2.h"
#include "aclnnop/aclnn_flip.h"
#include "aclnnop/aclnn_inplace_divs.h"
#include "aclnnop/aclnn_inplace_fill_scalar.h"
#include "aclnnop/aclnn_inplace_log.h"
#include "aclnnop/aclnn_inplace_one.h"
#include "aclnnop/aclnn_inplace_scatter_value.h"
#include "aclnnop/aclnn_inplace_sqrt.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_log_sum_exp.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_prod_dim.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_rsubs.h"
#include "graph/operators/row.h"

enum reduction {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP,
};

/* x reduced over n axes into y, where the axes are kept with size 1. */
struct reduced {
    struct operand *x, *y;
    const int64_t *axis;
    size_t n;
    int64_t count; /* elements behind one result */
};

static void sum(struct op *op, struct operand *x, const struct reduced *r)
{
    if (r->n == 0)
        op_copy(op, r->y, x);
    else
        OP_CALL(op, aclnnReduceSum, op_acl(op, x), op_array(op, r->n, r->axis), true, r->y->dtype, op_out(op, r->y));
}

static void product(struct op *op, struct operand *x, const struct reduced *r)
{
    int64_t dim[OP_RANK];
    memcpy(dim, x->dim, sizeof dim);
    for (size_t i = 0; i < r->n; i++) {
        dim[r->axis[i]] = 1;
        struct operand *to = i + 1 == r->n ? r->y : op_temp(op, x->dtype, x->rank, dim);
        OP_CALL(op, aclnnProdDim, op_acl(op, x), r->axis[i], true, x->dtype, op_out(op, to));
        x = to;
    }
    if (r->n == 0)
        op_copy(op, r->y, x);
}

/* The least or greatest number of the type. */
static double extreme(aclDataType dtype, bool greatest)
{
    double bits = 8.0 * (double)dtype_size(dtype);
    bool has_sign = dtype == ACL_INT8 || dtype == ACL_INT16 || dtype == ACL_INT32 || dtype == ACL_INT64;
    if (dtype_is_float(dtype))
        return greatest ? INFINITY : -INFINITY;
    if (dtype == ACL_BOOL)
        return greatest;
    if (has_sign)
        return greatest ? ldexp(1, (int)bits - 1) - 1 : -ldexp(1, (int)bits - 1);
    return greatest ? ldexp(1, (int)bits) - 1 : 0;
}

static void largest_or_least(struct op *op, const struct reduced *r, bool largest)
{
    if (r->count == 0 && op_count(r->y))
        OP_CALL(op, aclnnInplaceFillScalar, op_out(op, r->y),
                op_scalar_for(op, r->y->dtype, extreme(r->y->dtype, !largest)));
    else if (r->n == 0)
        op_copy(op, r->y, r->x);
    else if (largest)
        OP_CALL(op, aclnnAmax, op_acl(op, r->x), op_array(op, r->n, r->axis), true, op_out(op, r->y));
    else
        OP_CALL(op, aclnnAmin, op_acl(op, r->x), op_array(op, r->n, r->axis), true, op_out(op, r->y));
}

static void reduce(struct op *op, const struct reduced *r, enum reduction how)
{
    struct operand *t = op_temp(op, r->x->dtype, r->x->rank, r->x->dim);
    switch (how) {
    case REDUCE_SUM:
        sum(op, r->x, r);
        break;
    case REDUCE_MEAN:
        sum(op, r->x, r);
        OP_CALL(op, aclnnInplaceDivs, op_out(op, r->y), op_number(op, (double)r->count));
        break;
    case REDUCE_MAX:
    case REDUCE_MIN:
        largest_or_least(op, r, how == REDUCE_MAX);
        break;
    case REDUCE_PROD:
        product(op, r->x, r);
        break;
    case REDUCE_L1:
        OP_CALL(op, aclnnAbs, op_acl(op, r->x), op_out(op, t));
        sum(op, t, r);
        break;
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        OP_CALL(op, aclnnMul, op_acl(op, r->x), op_acl(op, r->x), op_out(op, t));
        sum(op, t, r);
        if (how == REDUCE_L2)
            OP_CALL(op, aclnnInplaceSqrt, op_out(op, r->y));
        break;
    case REDUCE_LOG_SUM:
        sum(op, r->x, r);
        OP_CALL(op, aclnnInplaceLog, op_out(op, r->y));
        break;
    default:
        if (r->count == 0 && op_count(r->y))
            OP_CALL(op, aclnnInplaceFillScalar, op_out(op, r->y), op_number(op, -INFINITY));
        else if (r->n == 0)
            op_copy(op, r->y, r->x);
        else
            OP_CALL(op, aclnnLogSumExp, op_acl(op, r->x), op_array(op, r->n, r->axis), true, op_out(op, r->y));
    }
}

/* Integers whose result goes through real numbers are computed in double. */
static bool needs_floats(enum reduction how, aclDataType dtype)
{
    bool real = how == REDUCE_MEAN || how == REDUCE_L2 || how == REDUCE_LOG_SUM || how == REDUCE_LOG_SUM_EXP;
    return real && !dtype_is_float(dtype);
}

static void define_reduce(struct op *op)
{
    struct operand *x = op_in(op, 0);
    enum reduction how = (enum reduction)op_code(op);
    size_t n = 0;
    const int64_t *list = op_ints_or_input(op, "axes", 1, &n);
    bool keep = op_int(op, "keepdims", 1), none_means_none = op_int(op, "noop_with_empty_axes", 0);
    int64_t axis[OP_RANK], dim[OP_RANK], kept[OP_RANK];
    if (op_open(op)) {
        op_result_open(op, 0, x->dtype, keep ? x->rank : RANK_UNKNOWN, NULL);
        return;
    }
    uint32_t set = n || none_means_none ? 0 : (1u << x->rank) - 1;
    for (size_t i = 0; i < n; i++)
        set |= 1u << op_axis(op, list[i], x->rank);
    struct reduced r = {.x = x, .axis = axis, .count = 1};
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        bool gone = set >> i & 1;
        if (gone) {
            axis[r.n++] = i;
            r.count *= x->dim[i];
        }
        kept[i] = gone ? 1 : x->dim[i];
        if (!gone || keep)
            dim[rank++] = kept[i];
    }
    struct operand *y = op_result(op, 0, x->dtype, rank, dim);
    r.y = op_reshape(op, y, x->rank, kept);
    if (op_count(y) == 0)
        return;
    if (needs_floats(how, x->dtype)) {
        struct operand *to = r.y;
        r.x = op_cast(op, x, ACL_DOUBLE);
        r.y = op_temp(op, ACL_DOUBLE, x->rank, kept);
        reduce(op, &r, how);
        op_copy(op, to, r.y);
    } else
        reduce(op, &r, how);
}

enum position { POSITION_MAX, POSITION_MIN };

static void define_position(struct op *op)
{
    struct operand *x = op_in(op, 0), *from = x;
    int axis = op_axis_of(op, 0, x->rank);
    bool keep = op_int(op, "keepdims", 1), last = op_int(op, "select_last_index", 0);
    int64_t kept[OP_RANK], dim[OP_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        kept[i] = i == axis ? 1 : x->dim[i];
        if (i != axis || keep)
            dim[rank++] = kept[i];
    }
    struct operand *y = op_result(op, 0, ACL_INT64, rank, dim), *to = op_reshape(op, y, x->rank, kept);
    if (op_count(y) == 0)
        return;
    if (last) {
        from = op_temp(op, x->dtype, x->rank, x->dim);
        OP_CALL(op, aclnnFlip, op_acl(op, x), op_array(op, 1, (int64_t[]){axis}), op_out(op, from));
    }
    if (op_code(op) == POSITION_MAX)
        OP_CALL(op, aclnnArgMax, op_acl(op, from), axis, true, op_out(op, to));
    else
        OP_CALL(op, aclnnArgMin, op_acl(op, from), axis, true, op_out(op, to));
    if (last)
        OP_CALL(op, aclnnRsubs, op_acl(op, y), op_integer(op, x->dim[axis] - 1), op_integer(op, 1), op_out(op, y));
}

/* Hardmax: 1 at the first largest, 0 elsewhere. */
static void define_hardmax(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    int axis = op_softmax_axis(op, &x, &y);
    int64_t dim[OP_RANK];
    memcpy(dim, x->dim, sizeof dim);
    if (x->rank)
        dim[axis] = 1;
    struct operand *at = op_temp(op, ACL_INT64, x->rank, dim);
    OP_CALL(op, aclnnArgMax, op_acl(op, x), axis, true, op_out(op, at));
    OP_CALL(op, aclnnInplaceZero, op_out(op, y));
    OP_CALL(op, aclnnInplaceScatterValue, op_out(op, y), axis, op_acl(op, at), op_integer(op, 1), 0);
}

static void define_cumsum(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x);
    size_t n;
    const int64_t *axis = op_whole(op, 1, &n);
    if (axis && n && op_count(y))
        OP_CALL(op, aclnnCumsumV2, op_acl(op, x), op_axis(op, axis[0], x->rank), op_int(op, "exclusive", 0),
                op_int(op, "reverse", 0), op_out(op, y));
}

static void define_cumprod(struct op *op)
{
    struct operand *x = op_in(op, 0), *y = op_like(op, 0, x), *to = y;
    size_t n;
    const int64_t *given = op_whole(op, 1, &n);
    if (!given || !n || op_count(y) == 0)
        return;
    int axis = op_axis(op, given[0], x->rank);
    const aclIntArray *turn = op_array(op, 1, (int64_t[]){axis});
    if (op_int(op, "reverse", 0)) {
        struct operand *turned = op_temp(op, x->dtype, x->rank, x->dim);
        OP_CALL(op, aclnnFlip, op_acl(op, x), turn, op_out(op, turned));
        x = turned;
        to = op_temp(op, x->dtype, x->rank, x->dim);
    }
    if (op_int(op, "exclusive", 0)) {
        int64_t count = x->dim[axis] - 1;
        OP_CALL(op, aclnnInplaceOne, op_out(op, to));
        op_copy(op, op_slice(op, to, axis, count ? 1 : 0, count, 1), op_slice(op, x, axis, 0, count, 1));
        x = to;
    }
    OP_CALL(op, aclnnCumprod, op_acl(op, x), op_integer(op, axis), to->dtype, op_out(op, to));
    if (to != y)
        OP_CALL(op, aclnnFlip, op_acl(op, to), turn, op_out(op, y));
}

#define REDUCE_ROW(name, code) ROW(name, 1, 0, 0, 1, 2, 1, 1, define_reduce, NULL, code)

const struct operator_row operators_reduce[] = {
    REDUCE_ROW("ReduceSum", REDUCE_SUM),
    REDUCE_ROW("ReduceMean", REDUCE_MEAN),
    REDUCE_ROW("ReduceMax", REDUCE_MAX),
    REDUCE_ROW("ReduceMin", REDUCE_MIN),
    REDUCE_ROW("ReduceProd", REDUCE_PROD),
    REDUCE_ROW("ReduceL1", REDUCE_L1),
    REDUCE_ROW("ReduceL2", REDUCE_L2),
    REDUCE_ROW("ReduceSumSquare", REDUCE_SUM_SQUARE),
    REDUCE_ROW("ReduceLogSum", REDUCE_LOG_SUM),
    REDUCE_ROW("ReduceLogSumExp", REDUCE_LOG_SUM_EXP),
    ROW("ArgMax", 1, 0, 0, 1, 1, 1, 1, define_position, NULL, POSITION_MAX),
    ROW("ArgMin", 1, 0, 0, 1, 1, 1, 1, define_position, NULL, POSITION_MIN),
    ROW("Hardmax", 1, 0, 0, 1, 1, 1, 1, define_hardmax, NULL, 0),
    ROW("CumSum", 11, 0, 0, 2, 2, 1, 1, define_cumsum, NULL, 0),
    ROW("CumProd", 26, 0, 0, 2, 2, 1, 1, define_cumprod, NULL, 0),
    {0},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The divergence of Kullback and Leibler, y (log y − x), or e^y (y − x) when the target is a logarithm, and its
 * gradients, composed of elementwise steps in float (double for double). */
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/reduce.h"

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

struct kl {
    struct view *x, *y, *out;
    aclDataType type;
    struct plan *plan;
};

static int start(struct plan *plan, const union op_value *arg, int x, int out, struct kl *k)
{
    for (int p = x; p < x + 2; p++)
        TRY(plan_check_dtype(plan, p, floats, 4));
    TRY(plan_check_dtype(plan, out, floats, 4));
    TRY(plan_check_shape(plan, x + 1, arg[x].tensor->view.rank, arg[x].tensor->view.dim));
    aclDataType type = arg[x].tensor->view.dtype;
    *k = (struct kl){plan_view(plan, arg[x].tensor), plan_view(plan, arg[x + 1].tensor),
                     plan_view(plan, arg[out].tensor), type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT, plan};
    return ACLNN_SUCCESS;
}

static struct view *temporary(const struct kl *k)
{
    return plan_temp(k->plan, k->type, k->x->rank, k->x->dim);
}

static int two(const struct kl *k, int op, struct view *out, struct view *a, struct view *b)
{
    return plan_elementwise(k->plan, op, k->type, out, (struct view *[]){a, b}, 2, NULL);
}

static int one(const struct kl *k, int op, struct view *out, struct view *a)
{
    return plan_elementwise(k->plan, op, k->type, out, &a, 1, NULL);
}

static struct view *constant(const struct kl *k, double value)
{
    const aclScalar s = {.dtype = ACL_DOUBLE, .d = value};
    return plan_scalar(k->plan, &s, k->type);
}

/* self target reduction logTarget out; reduction is a number, as in the gradients */
int prepare_kl_div(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct kl k;
    int64_t reduction = arg[2].i;
    (void)row;
    if (reduction < LOSS_NONE || reduction > LOSS_SUM)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "reduction must be 0, 1 or 2, but it is %ld.", (long)reduction);
    TRY(start(plan, arg, 0, 4, &k));
    if (reduction)
        TRY(plan_check_shape(plan, 4, 0, NULL));
    else
        TRY(plan_check_shape(plan, 4, k.x->rank, k.x->dim));
    struct view *a = temporary(&k), *b = temporary(&k), *each = reduction ? temporary(&k) : k.out;
    if (arg[3].i) {
        TRY(one(&k, UNARY_EXP, a, k.y));
        TRY(two(&k, BINARY_SUB, b, k.y, k.x));
        TRY(two(&k, BINARY_MUL, each, a, b));
    } else {
        TRY(two(&k, BINARY_XLOGY, a, k.y, k.y));
        TRY(two(&k, BINARY_MUL, b, k.y, k.x));
        TRY(two(&k, BINARY_SUB, each, a, b));
    }
    if (!reduction)
        return ACLNN_SUCCESS;
    struct view *sum = plan_temp(plan, k.type, 0, NULL);
    struct reduce_out to = {sum, reduction == LOSS_MEAN ? REDUCE_MEAN : REDUCE_VALUE, 0};
    reduce_step(plan, each, (uint32_t)((1ull << k.x->rank) - 1), REDUCE_SUM, 0, reduce_type_of(k.type, k.type), &to, 1);
    plan_copy(plan, k.out, sum);
    return ACLNN_SUCCESS;
}

/* gradOutput self target reduction logTarget gradInput; code: the target's gradient */
int prepare_kl_div_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct kl k;
    TRY(start(plan, arg, 1, 5, &k));
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_shape(plan, 5, k.x->rank, k.x->dim));
    if (arg[3].i < LOSS_NONE || arg[3].i > LOSS_SUM)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "reduction must be 0, 1 or 2, but it is %ld.", (long)arg[3].i);
    struct view *g = plan_view(plan, arg[0].tensor), *wide = plan_alias(plan, g, 0), *a = temporary(&k),
                *b = temporary(&k);
    if (!view_broadcast(wide, g, k.x->rank, k.x->dim))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "gradOutput does not broadcast to the size of self.");
    if (arg[4].i)
        TRY(one(&k, UNARY_EXP, a, k.y));
    if (row->code) { /* log y + 1 − x, times y's own slope */
        if (arg[4].i) {
            TRY(two(&k, BINARY_SUB, b, k.y, k.x));
        } else {
            TRY(one(&k, UNARY_LOG, a, k.y));
            TRY(two(&k, BINARY_SUB, b, a, k.x));
        }
        TRY(two(&k, BINARY_ADD, b, b, constant(&k, 1)));
        if (arg[4].i)
            TRY(two(&k, BINARY_MUL, b, a, b));
    } else {
        TRY(one(&k, UNARY_NEG, b, arg[4].i ? a : k.y));
    }
    double count = arg[3].i == LOSS_MEAN ? (double)view_count(k.x) : 1;
    TRY(two(&k, BINARY_MUL, b, b, wide));
    return two(&k, BINARY_DIV, k.out, b, constant(&k, count > 0 ? count : 1));
}

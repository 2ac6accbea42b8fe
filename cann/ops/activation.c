/* SPDX-License-Identifier: BSD-3-Clause */
/* Activations that are more than one elementwise step: gated units, which halve their input, and prelu, whose weight's
 * gradient is a sum. */
#include "ops/activation.h"

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
enum { FLOATS = sizeof floats / sizeof *floats };

/* dim of the argument p's tensor in [0, rank), its size even. */
static int find_halves(struct plan *plan, const struct op_row *row, int p, const aclTensor *t, int64_t dim, int32_t *at)
{
    int64_t rank = t->view.rank;
    if (dim < -rank || dim >= rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: dim should be in range [%ld, %ld], but got %ld.",
                         row->name, (long)-rank, (long)rank - 1, (long)dim);
    *at = (int32_t)(dim < 0 ? dim + rank : dim);
    if (t->view.dim[*at] % 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "%s: the halved dimension of %s must be even, but dimension %d is size %ld.", row->name,
                         row->param[p].name, (int)*at, (long)t->view.dim[*at]);
    return ACLNN_SUCCESS;
}

/* The first or second half of a tensor along a dimension. */
static struct view *half_of(struct plan *plan, const struct view *whole, int32_t at, int which)
{
    int64_t size = whole->dim[at] / 2;
    int64_t bytes = which * size * whole->stride[at] * (int64_t)dtype_size(whole->dtype);
    struct view *v = plan_alias(plan, whole, bytes);
    v->dim[at] = size;
    return v;
}

int prepare_glu(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int32_t at = 0;
    TRY(plan_check_dtype(plan, 0, floats, FLOATS));
    TRY(find_halves(plan, row, 0, arg[0].tensor, arg[1].i, &at));
    const struct view *self = plan_view(plan, arg[0].tensor);
    struct view *half[] = {half_of(plan, self, at, 0), half_of(plan, self, at, 1)};
    return plan_elementwise(plan, row->code, self->dtype, plan_view(plan, arg[2].tensor), half, 2, NULL);
}

/* code: the kernel of the first half's gradient; the second's follows it */
int prepare_glu_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int32_t at = 0;
    TRY(plan_check_dtype(plan, 1, floats, FLOATS));
    TRY(find_halves(plan, row, 1, arg[1].tensor, arg[2].i, &at));
    TRY(plan_check_shape(plan, 3, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    const struct view *self = plan_view(plan, arg[1].tensor), *out = plan_view(plan, arg[3].tensor);
    struct view *in[] = {plan_view(plan, arg[0].tensor), half_of(plan, self, at, 0), half_of(plan, self, at, 1)};
    for (int which = 0; which < 2; which++)
        TRY(plan_elementwise(plan, row->code + which, self->dtype, half_of(plan, out, at, which), in, 3, NULL));
    return ACLNN_SUCCESS;
}

/* gelu of one half times the other: the right one is activated unless the argument says left. `at`: argument indices.
 */
static int geglu_halves(struct plan *plan, const struct op_row *row, const union op_value *arg, int self, int dim,
                        struct view *half[2], int32_t *at)
{
    TRY(plan_check_dtype(plan, self, floats, FLOATS));
    TRY(find_halves(plan, row, self, arg[self].tensor, arg[dim].i, at));
    const struct view *whole = plan_view(plan, arg[self].tensor);
    bool left = row->params > dim + 2 && row->param[dim + 2].kind == 'i' && arg[dim + 2].i;
    half[0] = half_of(plan, whole, *at, left);  /* passes */
    half[1] = half_of(plan, whole, *at, !left); /* is activated */
    return ACLNN_SUCCESS;
}

int prepare_geglu(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *half[2], *out = plan_view(plan, arg[row->params - 2].tensor);
    struct view *gelu = plan_view(plan, arg[row->params - 1].tensor);
    int32_t at = 0;
    TRY(geglu_halves(plan, row, arg, 0, 1, half, &at));
    int op = arg[2].i == 1 ? ACTIVATION_GELU_TANH : ACTIVATION_GELU;
    aclDataType type = half[0]->dtype;
    TRY(plan_elementwise(plan, op, type, gelu, &half[1], 1, NULL));
    return plan_elementwise(plan, BINARY_MUL, type, out, (struct view *[]){half[0], gelu}, 2, NULL);
}

int prepare_geglu_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *half[2], *to_half[2], *grad = plan_view(plan, arg[0].tensor), *gelu = plan_view(plan, arg[2].tensor);
    int32_t at = 0;
    TRY(geglu_halves(plan, row, arg, 1, 3, half, &at));
    int out = row->params - 1, op = arg[4].i == 1 ? GRADIENT_GELU_TANH : GRADIENT_GELU;
    TRY(plan_check_shape(plan, out, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    const struct view *to = plan_view(plan, arg[out].tensor);
    bool left = row->params > 6 && arg[5].i;
    to_half[0] = half_of(plan, to, at, left);
    to_half[1] = half_of(plan, to, at, !left);
    aclDataType type = half[0]->dtype, exact = type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    struct view *product = plan_temp(plan, exact, half[0]->rank, half[0]->dim);
    TRY(plan_elementwise(plan, BINARY_MUL, type, to_half[0], (struct view *[]){grad, gelu}, 2, NULL));
    TRY(plan_elementwise(plan, BINARY_MUL, exact, product, (struct view *[]){grad, half[0]}, 2, NULL));
    return plan_elementwise(plan, op, exact, to_half[1], (struct view *[]){product, half[1]}, 2, NULL);
}

/* celu and selu are elu with other numbers; code: elu or its gradient from the result */
int prepare_celu(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    double alpha = scalar_double(arg[1].scalar);
    struct elementwise_param param = {.d = {alpha, 1.0, 1.0 / alpha}};
    TRY(plan_check_dtype(plan, 0, floats, FLOATS));
    struct view *self = plan_view(plan, arg[0].tensor);
    struct view *out = row->params == 2 ? self : plan_view(plan, arg[2].tensor);
    if (alpha == 0.0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: alpha must not be 0.", row->name);
    return plan_elementwise(plan, row->code, self->dtype, out, &self, 1, &param);
}

int prepare_selu(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct elementwise_param param = {
        .d = {1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0}};
    struct view *in[2];
    int n = row->code == ACTIVATION_ELU ? 1 : 2;
    for (int k = 0; k < n; k++) {
        TRY(plan_check_dtype(plan, k, floats, FLOATS));
        in[k] = plan_view(plan, arg[k].tensor);
    }
    struct view *out = row->params == n ? in[0] : plan_view(plan, arg[n].tensor);
    return plan_elementwise(plan, row->code, in[0]->dtype, out, in, n, &param);
}

/* relu(self + alpha other), the second step in place */
int prepare_add_relu(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    double alpha = scalar_double(arg[2].scalar);
    struct elementwise_param param = {.d = {alpha}, .i = {scalar_int(arg[2].scalar)}};
    struct view *in[] = {plan_view(plan, arg[0].tensor), plan_view(plan, arg[1].tensor)};
    struct view *out = row->params == 3 ? in[0] : plan_view(plan, arg[3].tensor), *sum = out;
    aclDataType type = dtype_promote(in[0]->dtype, in[1]->dtype);
    if (!elementwise_has(ACTIVATION_RELU, type))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: not implemented for %s.", row->name, dtype_name(type));
    if (out->dtype != type)
        sum = plan_temp(plan, type, out->rank, out->dim);
    TRY(plan_elementwise(plan, BINARY_ADD_SCALED, type, sum, in, 2, &param));
    return plan_elementwise(plan, ACTIVATION_RELU, type, out, &sum, 1, NULL);
}

/* ---- prelu ---- */

/* The weight as PyTorch's prelu spreads it: n values along dimension 1; any other broadcastable shape as it is. */
static struct view *spread_weight(struct plan *plan, struct view *weight, const struct view *self)
{
    if (weight->rank != 1 || self->rank < 2 || weight->dim[0] == 1)
        return weight;
    struct view *v = plan_alias(plan, weight, 0);
    v->rank = self->rank;
    for (int32_t i = 0; i < self->rank; i++) {
        v->dim[i] = i == 1 ? weight->dim[0] : 1;
        v->stride[i] = i == 1 ? weight->stride[0] : 0;
    }
    return v;
}

int prepare_prelu(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(plan_check_dtype(plan, 0, floats, FLOATS));
    TRY(plan_check_dtype(plan, 1, floats, FLOATS));
    struct view *self = plan_view(plan, arg[0].tensor);
    struct view *in[] = {self, spread_weight(plan, plan_view(plan, arg[1].tensor), self)};
    return plan_elementwise(plan, row->code, self->dtype, plan_view(plan, arg[2].tensor), in, 2, NULL);
}

/* values [outer, n, inner] summed to n; float values are summed as double */
struct sums {
    const struct view *values, *to;
    int64_t outer, n, inner;
};

static void sum_range(void *arg, int64_t begin, int64_t end)
{
    const struct sums *s = arg;
    for (int64_t k = begin; k < end; k++) {
        double total = 0.0;
        for (int64_t o = 0; o < s->outer; o++) {
            int64_t at = (o * s->n + k) * s->inner;
            if (s->values->dtype == ACL_DOUBLE)
                for (int64_t i = 0; i < s->inner; i++)
                    total += ((const double *)s->values->data)[at + i];
            else
                for (int64_t i = 0; i < s->inner; i++)
                    total += (double)((const float *)s->values->data)[at + i];
        }
        ((double *)s->to->data)[k] = total;
    }
}

static int run_sums(void *arg)
{
    const struct sums *s = arg;
    int64_t each = s->outer * s->inner;
    parallel(s->n, each > 32768 ? 1 : 32768 / (each + 1) + 1, sum_range, arg);
    return 0;
}

int prepare_prelu_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    for (int p = 0; p < 3; p++)
        TRY(plan_check_dtype(plan, p, floats, FLOATS));
    struct view *grad = plan_view(plan, arg[0].tensor), *self = plan_view(plan, arg[1].tensor);
    struct view *given = plan_view(plan, arg[2].tensor), *weight = spread_weight(plan, given, self);
    struct view *to_self = plan_view(plan, arg[3].tensor), *to_weight = plan_view(plan, arg[4].tensor);
    TRY(plan_check_shape(plan, 4, given->rank, given->dim));
    TRY(plan_elementwise(plan, TERNARY_PRELU, self->dtype, to_self, (struct view *[]){grad, self, weight}, 3, NULL));
    struct sums *s = plan_alloc(plan, sizeof *s);
    int32_t shift = self->rank - weight->rank, at = 0;
    s->n = view_count(weight);
    s->outer = s->inner = 1;
    for (int32_t i = 0; i < weight->rank; i++)
        at = weight->dim[i] != 1 ? i + shift : at;
    if (shift < 0 || (self->rank && self->dim[at] != s->n && s->n != 1))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "%s: weight must have one element or as many as dimension 1 of self.", row->name);
    for (int32_t i = 0; i < self->rank; i++)
        *(s->n == 1 || i > at ? &s->inner : i < at ? &s->outer : &(int64_t){0}) *= self->dim[i];
    struct view *values = plan_temp(plan, self->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT, self->rank, self->dim);
    TRY(plan_elementwise(plan, GRADIENT_PRELU_WEIGHT, values->dtype, values, (struct view *[]){grad, self}, 2, NULL));
    struct view *to = plan_temp(plan, ACL_DOUBLE, given->rank, given->dim);
    s->values = values;
    s->to = to;
    plan_step(plan, run_sums, s, (uint64_t)view_count(self));
    plan_copy(plan, to_weight, to);
    return ACLNN_SUCCESS;
}

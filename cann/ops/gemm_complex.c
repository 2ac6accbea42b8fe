/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of complex matrices as four real ones: parts are views of the same memory with twice the strides. A product
 * that is scaled or added to something goes by way of a temporary. */
#include "ops/elementwise.h"
#include "ops/gemm.h"

/* The real (0) or imaginary (1) parts. */
static struct view *part_of(struct plan *plan, struct view *v, int which)
{
    bool wide = v->dtype == ACL_COMPLEX128;
    struct view *part = plan_alias(plan, v, which ? (wide ? 8 : 4) : 0);
    part->dtype = wide ? ACL_DOUBLE : ACL_FLOAT;
    for (int32_t d = 0; d < part->rank; d++)
        part->stride[d] *= 2;
    return part;
}

static void plan_product(struct plan *plan, struct view *c, struct view *a, struct view *b)
{
    struct view *x[] = {part_of(plan, a, 0), part_of(plan, a, 1)}, *y[] = {part_of(plan, b, 0), part_of(plan, b, 1)},
                *z[] = {part_of(plan, c, 0), part_of(plan, c, 1)};
    const struct gemm_scale set = {.alpha = 1}, add = {.alpha = 1, .beta = 1}, take = {.alpha = -1, .beta = 1};
    plan_gemm(plan, z[0], x[0], y[0], NULL, &set);
    plan_gemm(plan, z[0], x[1], y[1], z[0], &take);
    plan_gemm(plan, z[1], x[0], y[1], NULL, &set);
    plan_gemm(plan, z[1], x[1], y[0], z[1], &add);
}

int plan_gemm_complex(struct plan *plan, struct view *c, struct view *a, struct view *b, struct view *cin,
                      const aclScalar *alpha, const aclScalar *beta)
{
    aclDataType type = c->dtype;
    if (!cin && !alpha) {
        plan_product(plan, c, a, b);
        return ACLNN_SUCCESS;
    }
    struct view *product = plan_temp(plan, type, c->rank, c->dim);
    plan_product(plan, product, a, b);
    if (alpha)
        TRY(plan_elementwise(plan, BINARY_MUL, type, product,
                             (struct view *[]){product, plan_scalar(plan, alpha, type)}, 2, NULL));
    bool nothing = beta && scalar_double(beta) == 0 && !dtype_is_complex(beta->dtype);
    if (!cin || nothing) {
        plan_copy(plan, c, product);
        return ACLNN_SUCCESS;
    }
    struct view *added = plan_alias(plan, cin, 0);
    if (!view_broadcast(added, cin, c->rank, c->dim))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "The matrix to be added does not broadcast to the product's shape.");
    if (beta) {
        cin = added;
        added = plan_temp(plan, type, c->rank, c->dim);
        TRY(plan_elementwise(plan, BINARY_MUL, type, added, (struct view *[]){cin, plan_scalar(plan, beta, type)}, 2,
                             NULL));
    }
    return plan_elementwise(plan, BINARY_ADD, type, c, (struct view *[]){added, product}, 2, NULL);
}

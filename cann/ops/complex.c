/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex tensors made of, or taken into, their parts. A part of a complex tensor is a real view of the same memory
 * with twice the strides, so real kernels do the work. */
#include "ops/complex.h"

#include "ops/elementwise.h"

static aclDataType real_of(aclDataType complex)
{
    return complex == ACL_COMPLEX128  ? ACL_DOUBLE
           : complex == ACL_COMPLEX64 ? ACL_FLOAT
           : complex == ACL_COMPLEX32 ? ACL_FLOAT16
                                      : ACL_DT_UNDEFINED;
}

/* The real (0) or imaginary (1) part as a view. */
static struct view *part_of(struct plan *plan, const struct view *whole, int which)
{
    aclDataType real = real_of(whole->dtype);
    struct view *v = plan_alias(plan, whole, which * (int64_t)dtype_size(real));
    v->dtype = real;
    for (int32_t i = 0; i < v->rank; i++)
        v->stride[i] *= 2;
    return v;
}

static int check_parts(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType reals[] = {ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE};
    static const aclDataType complexes[] = {ACL_COMPLEX64, ACL_COMPLEX32, ACL_COMPLEX128};
    for (int p = 0; p < 2; p++)
        TRY(plan_check_dtype(plan, p, reals, 3));
    TRY(plan_check_dtype(plan, 2, complexes, 3));
    for (int p = 0; p < 2; p++)
        if (arg[p].tensor->view.dtype != real_of(arg[2].tensor->view.dtype))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have dtype %s, but got %s.",
                             row->param[p].name, dtype_name(real_of(arg[2].tensor->view.dtype)),
                             dtype_name(arg[p].tensor->view.dtype));
    return ACLNN_SUCCESS;
}

int prepare_complex(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_parts(plan, row, arg));
    const struct view *out = plan_view(plan, arg[2].tensor);
    for (int which = 0; which < 2; which++)
        plan_copy(plan, part_of(plan, out, which), plan_view(plan, arg[which].tensor));
    return ACLNN_SUCCESS;
}

/* abs cos(angle) + i abs sin(angle) */
int prepare_polar(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_parts(plan, row, arg));
    struct view *radius = plan_view(plan, arg[0].tensor), *angle = plan_view(plan, arg[1].tensor);
    const struct view *out = plan_view(plan, arg[2].tensor);
    aclDataType real = real_of(out->dtype), exact = real == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    for (int which = 0; which < 2; which++) {
        struct view *turn = plan_temp(plan, exact, angle->rank, angle->dim);
        TRY(plan_elementwise(plan, which ? UNARY_SIN : UNARY_COS, exact, turn, &angle, 1, NULL));
        TRY(plan_elementwise(plan, BINARY_MUL, exact, part_of(plan, out, which), (struct view *[]){radius, turn}, 2,
                             NULL));
    }
    return ACLNN_SUCCESS;
}

/* The angle of a complex number; of a real one 0, π or NaN. */
int prepare_angle(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType in[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128,
                                     ACL_INT8,  ACL_UINT8,   ACL_INT16, ACL_INT32,  ACL_INT64,     ACL_BOOL};
    static const aclDataType to[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
    (void)row;
    TRY(plan_check_dtype(plan, 0, in, sizeof in / sizeof *in));
    TRY(plan_check_dtype(plan, 1, to, 4));
    struct view *self = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[1].tensor);
    if (dtype_is_complex(self->dtype)) {
        struct view *parts[] = {part_of(plan, self, 1), part_of(plan, self, 0)};
        return plan_elementwise(plan, BINARY_ATAN2, parts[0]->dtype, out, parts, 2, NULL);
    }
    aclDataType type = dtype_is_float(self->dtype) ? self->dtype : out->dtype;
    return plan_elementwise(plan, UNARY_ANGLE, type, out, &self, 1, NULL);
}

/* The size of a complex number is real; else the plain function. */
int prepare_abs(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct view *in = &arg[0].tensor->view;
    if (!dtype_is_complex(in->dtype))
        return prepare_elementwise(plan, row, arg);
    struct view *self = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[1].tensor);
    struct view *parts[] = {part_of(plan, self, 0), part_of(plan, self, 1)};
    if (out->dtype != parts[0]->dtype)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor out to have dtype %s, but got %s.",
                         dtype_name(parts[0]->dtype), dtype_name(out->dtype));
    return plan_elementwise(plan, BINARY_HYPOT, parts[0]->dtype, out, parts, 2, NULL);
}

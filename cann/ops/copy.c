/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy, cast and fill: arguments checked here, the work is the engine's plan_copy and plan_fill. */
#include "ops/copy.h"

static const aclDataType types[] = {ACL_FLOAT,     ACL_FLOAT16,    ACL_INT8,  ACL_INT32,    ACL_UINT8,  ACL_INT16,
                                    ACL_UINT16,    ACL_UINT32,     ACL_INT64, ACL_UINT64,   ACL_DOUBLE, ACL_BOOL,
                                    ACL_COMPLEX64, ACL_COMPLEX128, ACL_BF16,  ACL_COMPLEX32};
enum { TYPES = sizeof types / sizeof types[0] };

int prepare_copy(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    TRY(plan_check_dtype(plan, 1, types, TYPES));
    plan_copy(plan, plan_view(plan, arg[0].tensor), plan_view(plan, arg[1].tensor));
    return ACLNN_SUCCESS;
}

int prepare_cast(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    const struct view *self = &arg[0].tensor->view, *out = &arg[2].tensor->view;
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    TRY(plan_check_dtype(plan, 2, types, TYPES));
    if (out->dtype != (aclDataType)arg[1].i)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor out to have dtype %s, but got %s.",
                         dtype_name((aclDataType)arg[1].i), dtype_name(out->dtype));
    TRY(plan_check_shape(plan, 2, self->rank, self->dim));
    plan_copy(plan, plan_view(plan, arg[2].tensor), plan_view(plan, arg[0].tensor));
    return ACLNN_SUCCESS;
}

int prepare_fill_scalar(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    char value[16];
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    scalar_store(arg[1].scalar, arg[0].tensor->view.dtype, value);
    plan_fill(plan, plan_view(plan, arg[0].tensor), value);
    return ACLNN_SUCCESS;
}

int prepare_fill_tensor(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    TRY(plan_check_dtype(plan, 1, types, TYPES));
    const struct view *value = &arg[1].tensor->view;
    if (view_count(value) != 1) {
        char text[256];
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected tensor value to have one element, but its size is %s.",
                         shape_text(text, sizeof text, value->rank, value->dim));
    }
    struct view *one = plan_view(plan, arg[1].tensor);
    one->rank = 0;
    plan_copy(plan, plan_view(plan, arg[0].tensor), one);
    return ACLNN_SUCCESS;
}

int prepare_fill_constant(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(plan_check_dtype(plan, 0, types, TYPES));
    const aclScalar constant = {.dtype = ACL_INT64, .i = row->code};
    char value[16];
    scalar_store(&constant, arg[0].tensor->view.dtype, value);
    plan_fill(plan, plan_view(plan, arg[0].tensor), value);
    return ACLNN_SUCCESS;
}

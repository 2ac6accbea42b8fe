/* SPDX-License-Identifier: BSD-3-Clause */
/* Argument errors of operators, with the texts that users of CANN know. */
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int plan_fail(struct plan *plan, aclnnStatus status, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!plan->status)
        plan->status = status;
    return fail(status, "%s", text);
}

const char *shape_text(char *buffer, size_t bytes, int32_t rank, const int64_t *dim)
{
    size_t at = 0;
    for (int32_t i = 0; i < rank && at < bytes; i++)
        at += (size_t)snprintf(buffer + at, bytes - at, "%s%" PRId64, i ? "," : "[", dim[i]);
    if (at < bytes)
        snprintf(buffer + at, bytes - at, rank ? "]" : "[]");
    return buffer;
}

static bool listed(aclDataType dtype, const aclDataType *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == dtype)
            return true;
    return false;
}

static int refuse_dtype(struct plan *plan, const char *name, int64_t element, aclDataType dtype,
                        const aclDataType *list, int n)
{
    char place[96], types[512];
    size_t at = 0;
    types[0] = 0;
    for (int i = 0; i < n && at < sizeof types; i++)
        at += (size_t)snprintf(types + at, sizeof types - at, "%s,", dtype_name(list[i]));
    snprintf(place, sizeof place, element < 0 ? "%s" : "%s[%" PRId64 "]", name, element);
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                     "Tensor %s not implemented for %s, should be in dtype support list [%s].", place,
                     dtype_name(dtype), types);
}

int plan_check_dtype(struct plan *plan, int p, const aclDataType *list, int n)
{
    const struct op_param *param = &plan->row->param[p];
    if (!plan->arg[p].tensor)
        return ACLNN_SUCCESS;
    if (param->kind == 'L') {
        const aclTensorList *tensors = plan->arg[p].tensors;
        for (uint64_t i = 0; i < tensors->size; i++)
            if (tensors->value[i] && !listed(tensors->value[i]->view.dtype, list, n))
                return refuse_dtype(plan, param->name, (int64_t)i, tensors->value[i]->view.dtype, list, n);
        return ACLNN_SUCCESS;
    }
    aclDataType dtype = plan->arg[p].tensor->view.dtype;
    return listed(dtype, list, n) ? ACLNN_SUCCESS : refuse_dtype(plan, param->name, -1, dtype, list, n);
}

int plan_check_shape(struct plan *plan, int p, int32_t rank, const int64_t *dim)
{
    const struct view *v = &plan->arg[p].tensor->view;
    bool same = v->rank == rank;
    for (int32_t i = 0; same && i < rank; i++)
        same = v->dim[i] == dim[i];
    if (same)
        return ACLNN_SUCCESS;
    char want[256], have[256];
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor for %s to have size %s, but got %s.",
                     plan->row->param[p].name, shape_text(want, sizeof want, rank, dim),
                     shape_text(have, sizeof have, v->rank, v->dim));
}

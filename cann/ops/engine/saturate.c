/* SPDX-License-Identifier: BSD-3-Clause */
/* Saturation (aclrtSetDeviceSatMode): a last step of an operator that makes infinity the largest number of its type and
 * NaN 0 in what the operator has written, and tells the runtime that there was one. Operators that write what they are
 * given, number by number, are left alone: a copy of the same type, a fill, a selection of unknown size. */
#include "ops/walk.h"
#include "plan.h"

struct saturate {
    const struct view *view;
    _Atomic bool found;
};

/* Bits of the type: those of infinity (the exponent's); the largest number has one less. */
static uint64_t infinity(aclDataType dtype)
{
    switch (dtype) {
    case ACL_FLOAT16:
    case ACL_COMPLEX32:
        return 0x7c00;
    case ACL_BF16:
        return 0x7f80;
    case ACL_FLOAT:
    case ACL_COMPLEX64:
        return 0x7f800000;
    case ACL_DOUBLE:
    case ACL_COMPLEX128:
        return 0x7ff0000000000000;
    default:
        return 0;
    }
}

static inline bool clamp(char *at, size_t bytes, uint64_t infinite)
{
    uint64_t bits = 0, sign = (uint64_t)1 << (8 * bytes - 1);
    memcpy(&bits, at, bytes);
    if ((bits & infinite) != infinite)
        return false;
    bits = (bits & ~sign) == infinite ? (bits & sign) | (infinite - 1) : 0;
    memcpy(at, &bits, bytes);
    return true;
}

static void clamp_row(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    struct saturate *s = *(struct saturate *const *)param;
    aclDataType dtype = s->view->dtype;
    int parts = dtype_is_complex(dtype) ? 2 : 1;
    size_t bytes = dtype_size(dtype) / (size_t)parts;
    uint64_t infinite = infinity(dtype);
    bool found = false;
    for (int part = 0; part < parts; part++) {
        char *at = data[0] + (size_t)part * bytes;
        if (bytes == 2)
            for (int64_t i = 0; i < n; i++)
                found |= clamp(at + i * step[0], 2, infinite);
        else if (bytes == 4)
            for (int64_t i = 0; i < n; i++)
                found |= clamp(at + i * step[0], 4, infinite);
        else
            for (int64_t i = 0; i < n; i++)
                found |= clamp(at + i * step[0], 8, infinite);
    }
    if (found)
        atomic_store_explicit(&s->found, true, memory_order_relaxed);
}

static int run_saturate(void *arg)
{
    struct saturate *s = arg;
    atomic_store(&s->found, false);
    walk(&s->view, 1, clamp_row, &s, 1);
    if (atomic_load(&s->found))
        overflow_found();
    return 0;
}

static void saturate(struct plan *plan, const aclTensor *tensor)
{
    if (!tensor || !infinity(tensor->view.dtype) || !view_count(&tensor->view))
        return;
    struct saturate *s = plan_alloc(plan, sizeof *s);
    struct view *v = plan_view(plan, tensor);
    s->view = v;
    plan_step(plan, run_saturate, s, (uint64_t)view_count(v));
}

static bool only_writes(const struct plan *plan)
{
    const char *name = plan->row->name;
    if (!strcmp(name, "aclnnInplaceCopy"))
        return plan->arg[0].tensor->view.dtype == plan->arg[1].tensor->view.dtype;
    return !strncmp(name, "aclnnInplaceFill", 16) || !strcmp(name, "aclnnMaskedSelect");
}

void plan_saturate(struct plan *plan)
{
    if (!device_saturates() || only_writes(plan))
        return;
    for (int p = 0; p < plan->row->params; p++) {
        const struct op_param *param = &plan->row->param[p];
        const union op_value *arg = &plan->arg[p];
        if (param->output && param->kind == 'T')
            saturate(plan, arg->tensor);
        else if (param->output && param->kind == 'L' && arg->tensors)
            for (uint64_t i = 0; i < arg->tensors->size; i++)
                saturate(plan, arg->tensors->value[i]);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the profiler is told of an operator: types, formats and shapes of its tensors, in the form of anynpu/trace.h.
 * Only called while something records. Descriptions beyond ROOM bytes are left out; `tensors` still counts all. */
#include "plan.h"

enum { ROOM = 1000 };

struct writer {
    char *at, *end;
    int count;
};

static void describe(struct writer *w, const aclTensor *tensor, bool output)
{
    w->count++;
    const struct view *v = &tensor->view;
    size_t bytes = sizeof(struct anynpu_trace_tensor) + sizeof(uint32_t) * (size_t)v->rank;
    if ((size_t)(w->end - w->at) < bytes)
        return;
    struct anynpu_trace_tensor *t = (struct anynpu_trace_tensor *)w->at;
    t->dtype = (uint8_t)v->dtype;
    t->format = (uint8_t)tensor->format;
    t->rank = (uint8_t)v->rank;
    t->flags = output ? ANYNPU_TENSOR_OUTPUT : 0;
    uint32_t *size = (uint32_t *)(t + 1);
    for (int32_t i = 0; i < v->rank; i++)
        size[i] = v->dim[i] > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)v->dim[i];
    w->at += bytes;
}

const struct task_detail *plan_describe(struct plan *plan)
{
    char text[ROOM] __attribute__((aligned(8)));
    struct writer w = {text, text + ROOM, 0};
    for (int p = 0; p < plan->row->params; p++) {
        const struct op_param *param = &plan->row->param[p];
        const union op_value *arg = &plan->arg[p];
        if (param->kind == 'T' && arg->tensor)
            describe(&w, arg->tensor, param->output);
        else if (param->kind == 'L' && arg->tensors)
            for (uint64_t i = 0; i < arg->tensors->size; i++)
                if (arg->tensors->value[i])
                    describe(&w, arg->tensors->value[i], param->output);
    }
    size_t bytes = (size_t)(w.at - text);
    struct task_detail *d = plan_alloc(plan, sizeof *d + bytes);
    d->task_class = ANYNPU_TASK_KERNEL;
    d->tensors = w.count > UINT16_MAX ? UINT16_MAX : (uint16_t)w.count;
    d->tensor_bytes = (uint16_t)bytes;
    d->tensor = memcpy(d + 1, text, bytes);
    return d;
}

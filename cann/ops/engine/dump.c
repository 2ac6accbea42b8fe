/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumping operators that run by themselves (aclmdlSetDump, dump_op_switch): a first step copies the inputs, a last one
 * the outputs, and hands both to the runtime. What an operator changes in place is both. The copies are the plan's
 * memory. */
#include "ops/walk.h"
#include "plan.h"

struct plan_dump {
    struct dump_op op;
    struct dump_tensor *tensor; /* op.in + op.out */
    const struct view **view;
};

static void copy_row(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    size_t bytes = *(const size_t *)param;
    for (int64_t i = 0; i < n; i++)
        memcpy(data[0] + i * step[0], data[1] + i * step[1], bytes);
}

static void copy(const struct plan_dump *d, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const struct dump_tensor *t = &d->tensor[i];
        struct view dense = view_make(t->dtype, t->rank, t->dim);
        size_t bytes = dtype_size(t->dtype);
        dense.data = (char *)(uintptr_t)t->data;
        if (t->bytes)
            walk((const struct view *[]){&dense, d->view[i]}, 2, copy_row, &bytes, 1);
    }
}

static int run_before(void *arg)
{
    const struct plan_dump *d = arg;
    copy(d, 0, d->op.in);
    return 0;
}

static int run_after(void *arg)
{
    const struct plan_dump *d = arg;
    copy(d, d->op.in, d->op.in + d->op.out);
    return dump_operator(&d->op);
}

/* Calls fn with each tensor of that side; returns how many there are. fn may be NULL. */
static uint32_t each(struct plan *plan, bool output,
                     void (*fn)(struct plan *, struct plan_dump *, uint32_t, const aclTensor *), struct plan_dump *d,
                     uint32_t at)
{
    bool in_place = !strncmp(plan->row->name, "aclnnInplace", 12);
    uint32_t count = 0;
    for (int p = 0; p < plan->row->params; p++) {
        const struct op_param *param = &plan->row->param[p];
        const union op_value *arg = &plan->arg[p];
        bool taken = output ? param->output : !param->output || in_place;
        uint64_t n = !taken ? 0 : param->kind == 'T' ? 1 : param->kind == 'L' && arg->tensors ? arg->tensors->size : 0;
        for (uint64_t i = 0; i < n; i++) {
            const aclTensor *tensor = param->kind == 'T' ? arg->tensor : arg->tensors->value[i];
            if (!tensor || !dtype_size(tensor->view.dtype))
                continue;
            if (fn)
                fn(plan, d, at + count, tensor);
            count++;
        }
    }
    return count;
}

static void note(struct plan *plan, struct plan_dump *d, uint32_t i, const aclTensor *tensor)
{
    const struct view *v = plan_view(plan, tensor);
    size_t bytes = (size_t)view_count(v) * dtype_size(v->dtype);
    d->view[i] = v;
    d->tensor[i] = (struct dump_tensor){.dtype = v->dtype,
                                        .format = tensor->format,
                                        .rank = v->rank,
                                        .dim = v->dim,
                                        .data = plan_alloc(plan, bytes),
                                        .bytes = bytes};
}

struct plan_dump *plan_dump_before(struct plan *plan)
{
    struct plan_dump *d = plan_alloc(plan, sizeof *d);
    uint32_t in = each(plan, false, NULL, NULL, 0), out = each(plan, true, NULL, NULL, 0);
    d->tensor = plan_alloc(plan, (in + out) * sizeof *d->tensor);
    d->view = plan_alloc(plan, (in + out) * sizeof(struct view *));
    d->op = (struct dump_op){.name = plan->row->name, .in = in, .out = out, .tensor = d->tensor};
    d->op.type = !strncmp(d->op.name, "aclnn", 5) ? d->op.name + 5 : d->op.name;
    each(plan, false, note, d, 0);
    each(plan, true, note, d, in);
    plan_step(plan, run_before, d, 0);
    return d;
}

void plan_dump_after(struct plan *plan, struct plan_dump *d)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < d->op.in + d->op.out; i++)
        bytes += d->tensor[i].bytes;
    plan_step(plan, run_after, d, bytes);
}

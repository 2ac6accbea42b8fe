/* SPDX-License-Identifier: BSD-3-Clause */
/* The inverse of maximum pooling: values go to (or, backward, come from) their positions in a channel. Types keep their
 * bits; of two values with one position the later one stays. */
#include "ops/pool.h"

#include <stdatomic.h>

struct unpool {
    struct view *small, *index, *large; /* dense, one type; index int64 */
    int64_t channels, inputs, outputs;  /* elements of a channel on the small and the large side */
    bool back;
    _Atomic int64_t bad; /* a position outside, plus one */
};

static void run_channels(void *arg, int64_t begin, int64_t end)
{
    struct unpool *u = arg;
    size_t size = dtype_size(u->small->dtype);
    if (!u->back)
        memset(u->large->data + (size_t)(begin * u->outputs) * size, 0, (size_t)((end - begin) * u->outputs) * size);
    for (int64_t c = begin; c < end; c++)
        for (int64_t i = c * u->inputs; i < (c + 1) * u->inputs; i++) {
            int64_t at = ((const int64_t *)u->index->data)[i];
            if (at < 0 || at >= u->outputs) {
                atomic_store_explicit(&u->bad, at + (at >= 0), memory_order_relaxed);
                continue;
            }
            char *small = u->small->data + (size_t)i * size,
                 *large = u->large->data + (size_t)(c * u->outputs + at) * size;
            memcpy(u->back ? small : large, u->back ? large : small, size);
        }
}

static int run_unpool(void *arg)
{
    struct unpool *u = arg;
    int64_t each = u->inputs + u->outputs + 1;
    parallel(u->channels, each < 16384 ? 16384 / each : 1, run_channels, u);
    int64_t bad = atomic_load_explicit(&u->bad, memory_order_relaxed);
    return bad ? fail(ACLNN_ERR_PARAM_INVALID, "Found an invalid max index: %ld (output volumes are of size %ld)",
                      (long)(bad > 0 ? bad - 1 : bad), (long)u->outputs)
               : 0;
}

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                                    ACL_UINT8, ACL_INT16,   ACL_INT32, ACL_INT64};
enum { TYPES = sizeof types / sizeof types[0] };

/* Small side at parameter `small`, positions at `index` of the same shape, large side at `large`; n pooled dimensions.
 */
static int prepare(struct plan *plan, const struct op_row *row, const union op_value *arg, int small, int index,
                   int large, const aclIntArray *size, bool back)
{
    const struct view *v = &arg[small].tensor->view;
    static const aclDataType position[] = {ACL_INT64, ACL_INT32};
    int n = row->code;
    struct view shape = *v;
    struct unpool *u = plan_alloc(plan, sizeof *u);
    TRY(plan_check_dtype(plan, small, types, TYPES));
    TRY(plan_check_dtype(plan, large, &v->dtype, 1));
    TRY(plan_check_dtype(plan, index, position, 2));
    if (v->rank != n + 1 && v->rank != n + 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have %d or %d dimensions, but got %d.",
                         row->param[small].name, n + 1, n + 2, v->rank);
    if (size->size != (uint64_t)n)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputSize to have %d elements, but got %lu.", n,
                         (unsigned long)size->size);
    TRY(plan_check_shape(plan, index, v->rank, v->dim));
    *u = (struct unpool){.channels = 1, .inputs = 1, .outputs = 1, .back = back};
    for (int d = 0; d < v->rank; d++)
        if (d < v->rank - n) {
            u->channels *= v->dim[d];
        } else {
            shape.dim[d] = size->value[d - (v->rank - n)];
            u->inputs *= v->dim[d];
        }
    TRY(plan_check_shape(plan, large, v->rank, shape.dim));
    for (int d = v->rank - n; d < v->rank; d++)
        u->outputs *= shape.dim[d];
    struct view *a = plan_view(plan, arg[small].tensor), *b = plan_view(plan, arg[large].tensor), *to = back ? a : b;
    u->index = plan_contiguous(plan, plan_view(plan, arg[index].tensor), ACL_INT64);
    u->small = back ? plan_output(plan, a, a->dtype) : plan_contiguous(plan, a, a->dtype);
    u->large = back ? plan_contiguous(plan, b, b->dtype) : plan_output(plan, b, b->dtype);
    if (view_count(to) == 0)
        return ACLNN_SUCCESS;
    plan_step(plan, run_unpool, u, (uint64_t)(u->channels * (u->inputs + u->outputs)));
    plan_finish(plan, back ? u->small : u->large, to);
    return ACLNN_SUCCESS;
}

/* self indices outputSize [stride padding] out */
int prepare_max_unpool(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return prepare(plan, row, arg, 0, 1, row->params - 1, arg[2].ints, false);
}

/* gradOutput self indices outputSize [stride padding] out */
int prepare_max_unpool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    return prepare(plan, row, arg, row->params - 1, 2, 0, arg[3].ints, true);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of recurrent layers: shapes and types are checked here, rows of the batch are spread over the compute pool. */
#include "ops/recurrent.h"

#include "kernels/recurrent.h"

enum { GATES = 4, GRAIN = 4096 /* hidden units worth a thread */, COLUMNS = 64 };

struct cell {
    struct lstm_cell forward;
    struct lstm_cell_gradient backward;
    const struct view *input, *state, *input_bias, *state_bias, *grad_hy, *grad_cy, *cx, *cy_in, *active_in;
    const struct view *hy, *cy, *active, *gates, *grad_cx, *grad_bias;
    int64_t rows, hidden;
};

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

static void *data(const struct view *v)
{
    return v ? v->data : NULL;
}

static int64_t grain(const struct cell *c)
{
    return c->hidden < GRAIN ? GRAIN / c->hidden : 1;
}

static void forward_rows(void *arg, int64_t begin, int64_t end)
{
    const struct cell *c = arg;
    ISA_PICK(recurrent_kernels)->forward(&c->forward, begin, end);
}

static int run_forward(void *arg)
{
    struct cell *c = arg;
    struct lstm_cell *f = &c->forward;
    f->input = data(c->input);
    f->state = data(c->state);
    f->input_bias = data(c->input_bias);
    f->state_bias = data(c->state_bias);
    f->cx = data(c->cx);
    f->hy = data(c->hy);
    f->cy = data(c->cy);
    f->active = data(c->active);
    parallel(c->rows, grain(c), forward_rows, c);
    return 0;
}

static void backward_rows(void *arg, int64_t begin, int64_t end)
{
    const struct cell *c = arg;
    ISA_PICK(recurrent_kernels)->backward(&c->backward, begin, end);
}

static void bias_columns(void *arg, int64_t begin, int64_t end)
{
    const struct cell *c = arg;
    int64_t columns = GATES * c->hidden, last = end * COLUMNS < columns ? end * COLUMNS : columns;
    ISA_PICK(recurrent_kernels)
        ->sum_rows(c->gates->dtype, c->rows, columns, c->gates->data, c->grad_bias->data, begin * COLUMNS, last);
}

static int run_backward(void *arg)
{
    struct cell *c = arg;
    struct lstm_cell_gradient *b = &c->backward;
    b->grad_hy = data(c->grad_hy);
    b->grad_cy = data(c->grad_cy);
    b->cx = data(c->cx);
    b->cy = data(c->cy_in);
    b->active = data(c->active_in);
    b->gates = data(c->gates);
    b->grad_cx = data(c->grad_cx);
    parallel(c->rows, grain(c), backward_rows, c);
    if (c->grad_bias) {
        int64_t blocks = (GATES * c->hidden + COLUMNS - 1) / COLUMNS, work = (c->rows + 1) * COLUMNS;
        parallel(blocks, work < GRAIN ? GRAIN / work + 1 : 1, bias_columns, c);
    }
    return 0;
}

/* The parameter p as a dense tensor of that shape and the cell's type; NULL when it is optional and absent. */
static int dense(struct plan *plan, const union op_value *arg, int p, aclDataType dtype, int32_t rank,
                 const int64_t *dim, const struct view **view)
{
    *view = NULL;
    if (!arg[p].tensor)
        return ACLNN_SUCCESS;
    TRY(plan_check_dtype(plan, p, floats, sizeof floats / sizeof *floats));
    TRY(plan_check_shape(plan, p, rank, dim));
    *view = plan_contiguous(plan, plan_view(plan, arg[p].tensor), dtype);
    return ACLNN_SUCCESS;
}

/* The same for a result; `out` is the tensor, to be finished. */
static int result(struct plan *plan, const union op_value *arg, int p, aclDataType dtype, int32_t rank,
                  const int64_t *dim, struct view **view, struct view **out)
{
    *view = *out = NULL;
    if (!arg[p].tensor)
        return ACLNN_SUCCESS;
    TRY(plan_check_dtype(plan, p, floats, sizeof floats / sizeof *floats));
    TRY(plan_check_shape(plan, p, rank, dim));
    *out = plan_view(plan, arg[p].tensor);
    *view = plan_output(plan, *out, dtype);
    return ACLNN_SUCCESS;
}

static int check_states(struct plan *plan, const struct op_row *row, const union op_value *arg, int p)
{
    const struct view *v = &arg[p].tensor->view;
    TRY(plan_check_dtype(plan, p, floats, sizeof floats / sizeof *floats));
    if (v->rank == 2)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have 2 dimensions, but got %d.",
                     row->param[p].name, v->rank);
}

static uint64_t work(int64_t rows, int64_t hidden)
{
    return (uint64_t)(rows * hidden) * 8;
}

int prepare_lstm_cell(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_states(plan, row, arg, 2));
    const struct view *cx = &arg[2].tensor->view;
    struct cell *c = plan_alloc(plan, sizeof *c);
    aclDataType dtype = cx->dtype;
    int64_t rows = c->rows = cx->dim[0], hidden = c->hidden = cx->dim[1];
    int64_t states[] = {rows, hidden}, gates[] = {rows, GATES * hidden};
    TRY(dense(plan, arg, 0, dtype, 2, gates, &c->input));
    TRY(dense(plan, arg, 1, dtype, 2, gates, &c->state));
    TRY(dense(plan, arg, 2, dtype, 2, states, &c->cx));
    TRY(dense(plan, arg, 3, dtype, 1, gates + 1, &c->input_bias));
    TRY(dense(plan, arg, 4, dtype, 1, gates + 1, &c->state_bias));
    if (!c->input_bias != !c->state_bias)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected both of inputBiasOptional and hiddenBiasOptional, or none of them.");
    struct view *view[3], *out[3];
    for (int k = 0; k < 3; k++)
        TRY(result(plan, arg, 5 + k, dtype, 2, k < 2 ? states : gates, &view[k], &out[k]));
    c->hy = view[0];
    c->cy = view[1];
    c->active = view[2];
    c->forward.dtype = dtype;
    c->forward.hidden = hidden;
    if (rows && hidden)
        plan_step(plan, run_forward, c, work(rows, hidden));
    for (int k = 0; k < 3; k++)
        plan_finish(plan, view[k], out[k]);
    return ACLNN_SUCCESS;
}

int prepare_lstm_cell_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_states(plan, row, arg, 2));
    const struct view *cx = &arg[2].tensor->view;
    struct cell *c = plan_alloc(plan, sizeof *c);
    aclDataType dtype = cx->dtype;
    int64_t rows = c->rows = cx->dim[0], hidden = c->hidden = cx->dim[1];
    int64_t states[] = {rows, hidden}, gates[] = {rows, GATES * hidden};
    TRY(dense(plan, arg, 0, dtype, 2, states, &c->grad_hy));
    TRY(dense(plan, arg, 1, dtype, 2, states, &c->grad_cy));
    TRY(dense(plan, arg, 2, dtype, 2, states, &c->cx));
    TRY(dense(plan, arg, 3, dtype, 2, states, &c->cy_in));
    TRY(dense(plan, arg, 4, dtype, 2, gates, &c->active_in));
    struct view *view[3], *out[3];
    for (int k = 0; k < 3; k++)
        TRY(result(plan, arg, 6 + k, dtype, k < 2 ? 2 : 1,
                   k == 0   ? gates
                   : k == 1 ? states
                            : gates + 1,
                   &view[k], &out[k]));
    c->gates = view[0];
    c->grad_cx = view[1];
    c->grad_bias = arg[5].i ? view[2] : NULL;
    if (arg[5].i && !view[2])
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "Expected a proper gradBiasOut but got null, though hasBias.");
    c->backward.dtype = dtype;
    c->backward.hidden = hidden;
    if (hidden)
        plan_step(plan, run_backward, c, work(rows, hidden));
    for (int k = 0; k < (arg[5].i ? 3 : 2); k++)
        plan_finish(plan, view[k], out[k]);
    return ACLNN_SUCCESS;
}

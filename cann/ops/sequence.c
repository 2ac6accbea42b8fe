/* SPDX-License-Identifier: BSD-3-Clause */
/* LSTM and GRU over whole sequences. A layer in one direction is: one product of all steps' inputs with their weight;
 * then the steps, each the state's product with its weight (packed once) and a row's cell after the other; backwards
 * the same from the last step, and one product over all steps for each weight's gradient. Rows of the batch don't know
 * of each other, so a thread takes some rows through all steps; where there are too few, threads share the product of a
 * step. Either way the bits are the same.
 *
 * Everything between is dense and ordered by step, then row of the batch: [steps, batch, …]. Sequences of different
 * length (batchSizes: how many of the first rows take part in a step) have zeros where they have ended. 16-bit floats
 * are computed in float. */
#include "ops/sequence.h"

#include <string.h>

#include "kernels/recurrent.h"
#include "ops/gemm.h"

enum { ROWS_LEAST = 4, ROWS_MOST = 96, SHARED = 500000 /* operations of a step's product that are worth a thread */ };
enum { COLUMNS = 64 };

/* What rows of sequence.rows say: where their parameters are. */
struct layout {
    int gates, kept;
    int input, params, hx, sizes, has_bias, layers, both, batch_first;
    int y, h, c;      /* output, hy, cy; backwards dy, dh, dc */
    int first, to[4]; /* the first list that is kept; backwards results for x, h, c, parameters */
    bool two;         /* states are a list of h and c */
};

static const struct layout forward_layout[] = {
    [SEQUENCE_LSTM] = {4, LSTM_KEPT, 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, {0}, true},
    [SEQUENCE_GRU] = {3, GRU_KEPT, 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, -1, 12, {0}, false},
};
static const struct layout backward_layout[] = {
    [SEQUENCE_LSTM] = {4, LSTM_KEPT, 0, 2, 1, 13, 14, 15, 18, 19, 3, 4, 5, 6, {21, 22, 23, 24}, true},
    [SEQUENCE_GRU] = {3, GRU_KEPT, 0, 1, 2, 10, 11, 12, 13, 14, 3, 4, -1, 5, {15, 16, -1, 17}, false},
};

/* The order in which the interface lists what is kept. */
static const int lstm_order[] = {LSTM_I, LSTM_G, LSTM_F, LSTM_O, LSTM_H, LSTM_C, LSTM_TANH_C};
static const int gru_order[] = {GRU_R, GRU_Z, GRU_N, GRU_HN, GRU_H};

struct net {
    const struct layout *at;
    const int *order;
    bool gru, bias, batch_first;
    int64_t layers, directions, steps, batch, inputs, hidden;
    aclDataType given, type; /* of the tensors, of the computation */
    struct view *sizes;      /* NULL: all rows in all steps */
};

/* A layer in one direction, at work. */
struct pass {
    struct net net;
    bool reverse, alone; /* alone: the threads share a step's product */
    struct gemm product; /* of a step, without rows */
    const struct view *weight, *bias, *input, *before[2], *kept[RECURRENT_KEPT];
    struct view *panels, *scratch, *h, *c, *y, *former;
    struct view *gates, *state; /* backwards: gradients of all steps */
    int64_t row;                /* y's, from row to row of the batch; y.stride[0] from step to step */
};

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- steps ---- */

static char *row_of(const struct view *v, int64_t row, int64_t width)
{
    return v->data + row * width * (int64_t)dtype_size(v->dtype);
}

static char *y_row(const struct pass *p, int64_t t, int64_t b)
{
    return p->y->data + (t * p->y->stride[0] + b * p->y->stride[1]) * (int64_t)dtype_size(p->y->dtype);
}

static int64_t rows_at(const struct pass *p, int64_t t)
{
    return p->net.sizes ? ((const int64_t *)(const void *)p->net.sizes->data)[t] : p->net.batch;
}

/* How many rows of [begin, end) take part in step t. */
static int64_t taking_part(const struct pass *p, int64_t t, int64_t begin, int64_t end)
{
    int64_t rows = min(rows_at(p, t), end) - begin;
    return rows > 0 ? rows : 0;
}

static int check_sizes(const struct pass *p)
{
    int64_t former = p->net.batch;
    for (int64_t t = 0; p->net.sizes && t < p->net.steps; t++) {
        int64_t rows = rows_at(p, t);
        if (rows < 1 || rows > former || (t == 0 && rows != former))
            return fail(ACL_ERROR_INVALID_PARAM,
                        "batchSizes must begin with the batch's size %ld and never grow or reach 0, but has %ld at %ld",
                        (long)p->net.batch, (long)rows, (long)t);
        former = rows;
    }
    return 0;
}

static void pack_panels(void *arg, int64_t first, int64_t last)
{
    const struct pass *p = arg;
    struct gemm g = p->product;
    g.b = p->weight->data;
    g.packed = false;
    gemm_pack(&g, p->panels->data, first, last);
}

struct shared {
    struct gemm g;
    int64_t rows;
};

static void product_columns(void *arg, int64_t first, int64_t last)
{
    const struct shared *s = arg;
    int64_t nr = s->g.kernels->nr;
    gemm_part(&s->g, 0, s->rows, first * nr, min(s->g.n, last * nr));
}

/* c = a times the packed weight (+ c), for some rows of a step. */
static void multiply(const struct pass *p, const char *a, char *c, int64_t rows)
{
    struct shared s = {p->product, rows};
    s.g.a = a;
    s.g.b = p->panels->data;
    s.g.cin = s.g.c = c;
    int64_t nr = s.g.kernels->nr, panels = (s.g.n + nr - 1) / nr, each = 2 * rows * nr * s.g.k;
    if (p->alone)
        parallel(panels, each < SHARED ? SHARED / each + 1 : 1, product_columns, &s);
    else
        gemm_part(&s.g, 0, rows, 0, s.g.n);
}

static void forward_rows(const struct pass *p, int64_t begin, int64_t end)
{
    const struct recurrent_kernels *k = ISA_PICK(recurrent_kernels);
    const struct net *n = &p->net;
    int64_t hidden = n->hidden, wide = n->at->gates * hidden, line = hidden * (int64_t)dtype_size(n->type);
    for (int64_t s = 0; s < n->steps; s++) {
        int64_t t = p->reverse ? n->steps - 1 - s : s, rows = taking_part(p, t, begin, end), kept = n->at->kept;
        if (rows)
            multiply(p, row_of(p->h, begin, hidden), row_of(p->scratch, begin, wide), rows);
        for (int64_t b = begin; b < end; b++) {
            int64_t at = t * n->batch + b;
            if (b >= begin + rows) {
                memset(y_row(p, t, b), 0, (size_t)line);
                for (int i = 0; i < kept && p->kept[0]; i++)
                    memset(row_of(p->kept[i], at, hidden), 0, (size_t)line);
                continue;
            }
            struct recurrent_row row = {.input = row_of(p->input, at, wide),
                                        .bias = p->bias ? p->bias->data : NULL,
                                        .state = row_of(p->scratch, b, wide),
                                        .h = row_of(p->h, b, hidden),
                                        .c = p->c ? row_of(p->c, b, hidden) : NULL,
                                        .y = y_row(p, t, b)};
            for (int i = 0; i < kept && p->kept[0]; i++)
                row.kept[i] = row_of(p->kept[i], at, hidden);
            (n->gru ? k->gru : k->lstm)(n->type, hidden, &row);
        }
    }
}

/* The state (0: h, 1: c) that row b of step t began with. */
static const char *state_before(const struct pass *p, int64_t t, int64_t b, int which)
{
    const struct view *kept = p->kept[p->net.gru ? GRU_H : which ? LSTM_C : LSTM_H];
    int64_t from = p->reverse ? t + 1 : t - 1, hidden = p->net.hidden;
    if (from >= 0 && from < p->net.steps && b < rows_at(p, from))
        return row_of(kept, from * p->net.batch + b, hidden);
    return row_of(p->before[which], b, hidden);
}

static void backward_rows(const struct pass *p, int64_t begin, int64_t end)
{
    const struct recurrent_kernels *k = ISA_PICK(recurrent_kernels);
    const struct net *n = &p->net;
    int64_t hidden = n->hidden, wide = n->at->gates * hidden, size = (int64_t)dtype_size(n->type);
    for (int64_t s = 0; s < n->steps; s++) {
        int64_t t = p->reverse ? s : n->steps - 1 - s, rows = taking_part(p, t, begin, end), first = t * n->batch;
        for (int64_t b = begin; b < end; b++) {
            int64_t at = first + b;
            char *gates = row_of(p->gates, at, wide), *state = row_of(p->state, at, wide);
            char *former = row_of(p->former, at, hidden);
            if (b >= begin + rows) {
                memset(gates, 0, (size_t)(wide * size));
                memset(state, 0, (size_t)(wide * size));
                memset(former, 0, (size_t)(hidden * size));
                continue;
            }
            struct recurrent_gradient row = {.grad_y = p->y ? y_row(p, t, b) : NULL,
                                             .before = state_before(p, t, b, n->gru ? 0 : 1),
                                             .grad_h = row_of(p->h, b, hidden),
                                             .grad_c = p->c ? row_of(p->c, b, hidden) : NULL,
                                             .gates = gates,
                                             .state = state};
            for (int i = 0; i < n->at->kept; i++)
                row.kept[i] = row_of(p->kept[i], at, hidden);
            memcpy(former, state_before(p, t, b, 0), (size_t)(hidden * size));
            (n->gru ? k->gru_backward : k->lstm_backward)(n->type, hidden, &row);
        }
        if (rows)
            multiply(p, row_of(p->state, first + begin, wide), row_of(p->h, begin, hidden), rows);
    }
}

struct blocks {
    struct pass *pass;
    int64_t count;
    void (*run)(const struct pass *p, int64_t begin, int64_t end);
};

static void run_blocks(void *arg, int64_t first, int64_t last)
{
    const struct blocks *b = arg;
    int64_t batch = b->pass->net.batch;
    for (int64_t i = first; i < last; i++)
        b->run(b->pass, batch * i / b->count, batch * (i + 1) / b->count);
}

static int run_pass(struct pass *p, void (*run)(const struct pass *p, int64_t begin, int64_t end))
{
    int status = check_sizes(p);
    if (status)
        return status;
    int64_t nr = p->product.kernels->nr, batch = p->net.batch, threads = parallel_threads();
    parallel((p->product.n + nr - 1) / nr, 1, pack_panels, p);
    struct blocks blocks = {p, min(threads, batch / ROWS_LEAST), run};
    if (blocks.count * ROWS_MOST < batch)
        blocks.count = (batch + ROWS_MOST - 1) / ROWS_MOST;
    p->alone = blocks.count < 2;
    if (p->alone)
        run(p, 0, batch);
    else
        parallel(blocks.count, 1, run_blocks, &blocks);
    return 0;
}

static int run_forward(void *arg)
{
    return run_pass(arg, forward_rows);
}

static int run_backward(void *arg)
{
    return run_pass(arg, backward_rows);
}

struct sums {
    const struct view *from;
    struct view *to;
};

static void sum_columns(void *arg, int64_t begin, int64_t end)
{
    const struct sums *s = arg;
    int64_t columns = s->from->dim[1];
    ISA_PICK(recurrent_kernels)
        ->sum_rows(s->from->dtype, s->from->dim[0], columns, s->from->data, s->to->data, begin * COLUMNS,
                   min(columns, end * COLUMNS));
}

static int run_sums(void *arg)
{
    const struct sums *s = arg;
    parallel((s->from->dim[1] + COLUMNS - 1) / COLUMNS, 1 + 8192 / COLUMNS / (s->from->dim[0] + 1), sum_columns, arg);
    return 0;
}

/* ---- checks ---- */

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

/* Element k of a list has that type and shape. */
static int check_item(struct plan *plan, const struct net *n, const union op_value *arg, int p, int64_t k, int32_t rank,
                      const int64_t *dim)
{
    const char *name = plan_row(plan)->param[p].name;
    const aclTensorList *list = arg[p].tensors;
    char want[256], got[256];
    if ((uint64_t)k >= list->size || !list->value[k])
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to have a tensor at %ld.", name, (long)k);
    const struct view *v = &list->value[k]->view;
    bool same = v->rank == rank;
    for (int32_t d = 0; d < rank && same; d++)
        same = v->dim[d] == dim[d];
    if (!same)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %ld of %s to have size %s, but got %s.",
                         (long)k, name, shape_text(want, sizeof want, rank, dim),
                         shape_text(got, sizeof got, v->rank, v->dim));
    if (v->dtype != n->given)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %ld of %s to have type %s, but got %s.",
                         (long)k, name, dtype_name(n->given), dtype_name(v->dtype));
    return ACLNN_SUCCESS;
}

static int check_tensor(struct plan *plan, const struct net *n, const union op_value *arg, int p, int32_t rank,
                        const int64_t *dim)
{
    if (p < 0 || !arg[p].tensor)
        return ACLNN_SUCCESS;
    TRY(plan_check_dtype(plan, p, &n->given, 1));
    return plan_check_shape(plan, p, rank, dim);
}

/* The shape of something with `width` features for every step and row, as the interface has it; returns the rank. */
static int32_t outer_shape(const struct net *n, int32_t rank, int64_t width, int64_t *dim)
{
    dim[0] = rank == 2 ? n->steps * n->batch : n->batch_first ? n->batch : n->steps;
    dim[1] = rank == 2 ? width : n->batch_first ? n->steps : n->batch;
    dim[2] = width;
    return rank;
}

static int check_params(struct plan *plan, const struct net *n, const union op_value *arg, int p)
{
    int64_t each = n->bias ? 4 : 2, wide = n->at->gates * n->hidden, count = n->layers * n->directions * each;
    if (arg[p].tensors->size != (uint64_t)count)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to have %ld tensors, but got %lu.",
                         plan_row(plan)->param[p].name, (long)count, (unsigned long)arg[p].tensors->size);
    for (int64_t i = 0; i < n->layers * n->directions; i++) {
        int64_t in[] = {wide, i < n->directions ? n->inputs : n->directions * n->hidden}, state[] = {wide, n->hidden};
        TRY(check_item(plan, n, arg, p, i * each, 2, in));
        TRY(check_item(plan, n, arg, p, i * each + 1, 2, state));
        for (int64_t b = 2; b < each; b++)
            TRY(check_item(plan, n, arg, p, i * each + b, 1, &wide));
    }
    return ACLNN_SUCCESS;
}

static int check_kept(struct plan *plan, const struct net *n, const union op_value *arg)
{
    int64_t dim[] = {n->steps, n->batch, n->hidden};
    for (int i = 0; i < n->at->kept; i++) {
        int p = n->at->first + i;
        if (!arg[p].tensors)
            return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR,
                             "Expected a proper aclTensorList but got null for argument %s.",
                             plan_row(plan)->param[p].name);
        for (int64_t k = 0; k < n->layers * n->directions; k++)
            TRY(check_item(plan, n, arg, p, k, 3, dim));
    }
    return ACLNN_SUCCESS;
}

/* Reads the sizes of everything from the arguments, and checks what both ways have: input, parameters, states, sizes.
 * `h` is a tensor [layers directions, batch, hidden]. */
static int read_net(struct plan *plan, const union op_value *arg, const struct layout *at, int h, struct net *n)
{
    const struct view *x = &arg[at->input].tensor->view, *state = &arg[h].tensor->view;
    const aclTensor *sizes = arg[at->sizes].tensor;
    TRY(plan_check_dtype(plan, at->input, floats, sizeof floats / sizeof *floats));
    *n = (struct net){.at = at,
                      .gru = !at->two,
                      .order = at->two ? lstm_order : gru_order,
                      .bias = arg[at->has_bias].i,
                      .batch_first = arg[at->batch_first].i && !sizes,
                      .layers = arg[at->layers].i,
                      .directions = arg[at->both].i ? 2 : 1,
                      .given = x->dtype,
                      .type = x->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT};
    if (n->layers < 1 || n->layers > INT32_MAX)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected numLayers to be positive, but got %ld.",
                         (long)n->layers);
    if (x->rank != (sizes ? 2 : 3) || state->rank != 3)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected input to have %d dimensions and the states 3, but got %d and %d.", sizes ? 2 : 3,
                         x->rank, state->rank);
    n->batch = state->dim[1];
    n->hidden = state->dim[2];
    n->inputs = x->dim[x->rank - 1];
    n->steps = sizes ? sizes->view.rank == 1 ? sizes->view.dim[0] : -1 : x->dim[n->batch_first];
    static const aclDataType integer = ACL_INT64;
    if (sizes) {
        TRY(plan_check_dtype(plan, at->sizes, &integer, 1));
        TRY(plan_check_shape(plan, at->sizes, 1, &n->steps));
        n->sizes = plan_contiguous(plan, plan_view(plan, sizes), ACL_INT64);
    }
    int64_t dim[3], states[] = {n->layers * n->directions, n->batch, n->hidden};
    TRY(check_tensor(plan, n, arg, at->input, outer_shape(n, x->rank, n->inputs, dim), dim));
    TRY(check_tensor(plan, n, arg, h, 3, states));
    if (!n->hidden)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected a hidden size that is not 0.");
    if (at->two && arg[at->hx].tensors && arg[at->hx].tensors->size) {
        TRY(check_item(plan, n, arg, at->hx, 0, 3, states));
        TRY(check_item(plan, n, arg, at->hx, 1, 3, states));
    } else if (!at->two) {
        TRY(check_tensor(plan, n, arg, at->hx, 3, states));
    }
    return check_params(plan, n, arg, at->params);
}

/* ---- views ---- */

static struct view *shaped(struct plan *plan, const struct view *of, int32_t rank, const int64_t *dim)
{
    struct view *v = plan_alias(plan, of, 0), dense = view_make(v->dtype, rank, dim);
    v->rank = rank;
    memcpy(v->dim, dense.dim, sizeof v->dim);
    memcpy(v->stride, dense.stride, sizeof v->stride);
    return v;
}

static struct view *matrix(struct plan *plan, const struct view *of, int64_t rows, int64_t columns)
{
    return shaped(plan, of, 2, (int64_t[]){rows, columns});
}

static struct view *turned(struct plan *plan, const struct view *of)
{
    struct view *v = plan_alias(plan, of, 0);
    for (int d = 0; d < 2; d++) {
        v->dim[d] = of->dim[1 - d];
        v->stride[d] = of->stride[1 - d];
    }
    return v;
}

/* Something of the interface as [steps, batch, width]. */
static struct view *by_step(struct plan *plan, const struct net *n, const struct view *of)
{
    struct view *v = plan_alias(plan, of, 0);
    int64_t width = of->dim[of->rank - 1];
    if (of->rank == 2)
        return shaped(plan, of, 3, (int64_t[]){n->steps, n->batch, width});
    if (n->batch_first)
        for (int d = 0; d < 2; d++) {
            v->dim[d] = of->dim[1 - d];
            v->stride[d] = of->stride[1 - d];
        }
    return v;
}

/* Columns [d hidden, (d + 1) hidden) of rows of all directions. */
static struct view *direction_of(struct plan *plan, const struct net *n, const struct view *of, int64_t d)
{
    struct view *v = plan_alias(plan, of, d * n->hidden * of->stride[2] * (int64_t)dtype_size(of->dtype));
    v->dim[2] = n->hidden;
    return v;
}

/* State i of [layers directions, batch, hidden]. */
static struct view *state_of(struct plan *plan, const struct view *of, int64_t i)
{
    struct view *v = plan_alias(plan, of, i * of->stride[0] * (int64_t)dtype_size(of->dtype));
    v->rank = 2;
    for (int d = 0; d < 2; d++) {
        v->dim[d] = of->dim[d + 1];
        v->stride[d] = of->stride[d + 1];
    }
    return v;
}

/* Element k of a list, dense and of the type that computes. */
static struct view *item(struct plan *plan, const struct net *n, const union op_value *arg, int p, int64_t k)
{
    return plan_contiguous(plan, plan_view(plan, arg[p].tensors->value[k]), n->type);
}

/* The initial states (which: 0 h, 1 c), or NULL for zeros. */
static struct view *states(struct plan *plan, const struct net *n, const union op_value *arg, int which)
{
    int p = n->at->hx;
    if (!arg[p].tensor || (n->at->two && !arg[p].tensors->size))
        return NULL;
    const aclTensor *t = n->at->two ? arg[p].tensors->value[which] : arg[p].tensor;
    return plan_view(plan, t);
}

/* to = from, or zeros */
static void begin_with(struct plan *plan, struct view *to, const struct view *from)
{
    static const double zero;
    if (from)
        plan_copy(plan, to, from);
    else
        plan_fill(plan, to, &zero);
}

static uint64_t work_of(const struct net *n)
{
    return (uint64_t)(n->steps * n->batch * n->at->gates * n->hidden) * (uint64_t)(n->hidden + 20) / 25;
}

/* A pass whose step multiplies [rows, k] with b [k, columns], adding to what is there where beta is 1. */
static struct pass *make_pass(struct plan *plan, const struct net *n, int64_t d, struct view *b, double beta)
{
    const struct matmul_kernels *k = ISA_PICK(matmul_kernels);
    struct pass *p = plan_alloc(plan, sizeof *p);
    int64_t columns = b->dim[1];
    p->net = *n;
    p->reverse = d == 1;
    p->weight = b;
    p->product = (struct gemm){.kernels = n->type == ACL_DOUBLE ? &k->f64 : &k->f32,
                               .n = columns,
                               .k = b->dim[0],
                               .a_rs = b->dim[0],
                               .a_cs = 1,
                               .b_rs = b->stride[0],
                               .b_cs = b->stride[1],
                               .c_rs = columns,
                               .cin_rs = columns,
                               .cin_cs = 1,
                               .alpha = 1,
                               .beta = beta,
                               .packed = true};
    int64_t bytes = (int64_t)gemm_pack_bytes(&p->product);
    p->panels = plan_temp(plan, ACL_INT8, 1, &bytes);
    return p;
}

/* ---- forward ---- */

int prepare_sequence(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct layout *at = &forward_layout[row->code];
    struct net n;
    TRY(read_net(plan, arg, at, at->h, &n));
    const int dropout = at->layers + 1, train = at->layers + 2;
    int64_t dim[3], wide = at->gates * n.hidden, all = n.steps * n.batch, each = n.bias ? 4 : 2;
    int64_t state[] = {n.layers * n.directions, n.batch, n.hidden};
    bool keeps = arg[train].i;
    if (arg[dropout].d != 0 && keeps && n.layers > 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Dropout between layers is not supported, but dropout is %g.",
                         arg[dropout].d);
    int32_t rank = arg[at->y].tensor->view.rank;
    TRY(check_tensor(plan, &n, arg, at->y, outer_shape(&n, n.sizes && rank == 2 ? 2 : 3, n.directions * n.hidden, dim),
                     dim));
    TRY(check_tensor(plan, &n, arg, at->c, 3, state));
    if (keeps)
        TRY(check_kept(plan, &n, arg));
    struct view *out_y = plan_view(plan, arg[at->y].tensor), *out_h = plan_view(plan, arg[at->h].tensor);
    struct view *out_c = at->two ? plan_view(plan, arg[at->c].tensor) : NULL;
    struct view *last = plan_output(plan, out_y, n.type), *h = plan_output(plan, out_h, n.type);
    struct view *c = out_c ? plan_output(plan, out_c, n.type) : NULL, *h0 = states(plan, &n, arg, 0),
                *c0 = c ? states(plan, &n, arg, 1) : NULL;
    begin_with(plan, h, h0);
    if (c)
        begin_with(plan, c, c0);
    if (all == 0) {
        plan_finish(plan, h, out_h);
        if (c)
            plan_finish(plan, c, out_c);
        return ACLNN_SUCCESS;
    }
    struct view *x = by_step(plan, &n, plan_view(plan, arg[at->input].tensor));
    x = matrix(plan, plan_contiguous(plan, x, x->dtype), all, n.inputs);
    struct view *scratch = plan_temp(plan, n.type, 2, (int64_t[]){n.batch, wide});
    struct view *gates = plan_temp(plan, n.type, 2, (int64_t[]){all, wide});
    for (int64_t l = 0; l < n.layers; l++) {
        struct view *y = l == n.layers - 1
                             ? by_step(plan, &n, last)
                             : plan_temp(plan, n.type, 3, (int64_t[]){n.steps, n.batch, n.directions * n.hidden});
        for (int64_t d = 0; d < n.directions; d++) {
            int64_t i = l * n.directions + d;
            const aclTensor *w = arg[at->params].tensors->value[i * each];
            struct view *in = plan_view(plan, w), *bias = NULL;
            if (x->dtype != in->dtype)
                in = plan_contiguous(plan, in, n.type);
            if (n.bias)
                bias = item(plan, &n, arg, at->params, i * each + 2);
            plan_gemm(plan, gates, x, turned(plan, in), bias,
                      &(struct gemm_scale){.alpha = 1, .beta = 1, .alpha_int = 1, .beta_int = 1});
            struct pass *p = make_pass(plan, &n, d, turned(plan, item(plan, &n, arg, at->params, i * each + 1)), 0);
            p->bias = n.bias ? item(plan, &n, arg, at->params, i * each + 3) : NULL;
            p->input = gates;
            p->scratch = scratch;
            p->h = state_of(plan, h, i);
            p->c = c ? state_of(plan, c, i) : NULL;
            p->y = direction_of(plan, &n, y, d);
            struct view *kept[RECURRENT_KEPT], *out[RECURRENT_KEPT];
            for (int k = 0; k < at->kept && keeps; k++) {
                out[k] = plan_view(plan, arg[at->first + k].tensors->value[i]);
                p->kept[n.order[k]] = kept[k] = plan_output(plan, out[k], n.type);
            }
            plan_step(plan, run_forward, p, work_of(&n));
            for (int k = 0; k < at->kept && keeps; k++)
                plan_finish(plan, kept[k], out[k]);
        }
        x = l == n.layers - 1 ? x : matrix(plan, y, all, n.directions * n.hidden);
    }
    plan_finish(plan, last, out_y);
    plan_finish(plan, h, out_h);
    if (c)
        plan_finish(plan, c, out_c);
    return ACLNN_SUCCESS;
}

/* ---- backward ---- */

/* What a layer was given, as a matrix: the network's input, or the states of the layer below side by side. */
static struct view *input_of(struct plan *plan, const struct net *n, const union op_value *arg, int64_t layer)
{
    int64_t all = n->steps * n->batch, width = n->directions * n->hidden;
    if (layer == 0) {
        struct view *x = by_step(plan, n, plan_view(plan, arg[n->at->input].tensor));
        return matrix(plan, plan_contiguous(plan, x, n->type), all, n->inputs);
    }
    int h = n->at->first + (n->gru ? GRU_H : LSTM_H);
    if (n->directions == 1)
        return matrix(plan, item(plan, n, arg, h, layer - 1), all, width);
    struct view *both = plan_temp(plan, n->type, 3, (int64_t[]){n->steps, n->batch, width});
    for (int64_t d = 0; d < 2; d++)
        plan_copy(plan, direction_of(plan, n, both, d), plan_view(plan, arg[h].tensors->value[(layer - 1) * 2 + d]));
    return matrix(plan, both, all, width);
}

/* The gradient of parameter k of the list: to = a b, or the sum of a's rows where b is NULL. */
static void plan_parameter(struct plan *plan, const union op_value *arg, int p, int64_t k, struct view *a,
                           struct view *b)
{
    static const struct gemm_scale one = {.alpha = 1, .beta = 1, .alpha_int = 1, .beta_int = 1};
    struct view *to = plan_view(plan, arg[p].tensors->value[k]);
    if (b) {
        plan_gemm(plan, to, turned(plan, a), b, NULL, &one);
        return;
    }
    struct sums *s = plan_alloc(plan, sizeof *s);
    s->from = a;
    s->to = plan_output(plan, to, a->dtype);
    plan_step(plan, run_sums, s, (uint64_t)view_count(a) / 4);
    plan_finish(plan, s->to, to);
}

int prepare_sequence_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const struct gemm_scale one = {.alpha = 1, .beta = 1, .alpha_int = 1, .beta_int = 1};
    const struct layout *at = &backward_layout[row->code];
    struct net n;
    TRY(read_net(plan, arg, at, at->to[1], &n));
    int64_t dim[3], wide = at->gates * n.hidden, all = n.steps * n.batch, each = n.bias ? 4 : 2;
    int64_t state[] = {n.layers * n.directions, n.batch, n.hidden}, width = n.directions * n.hidden;
    int32_t rank = arg[at->y].tensor ? arg[at->y].tensor->view.rank : 3;
    TRY(check_tensor(plan, &n, arg, at->y, outer_shape(&n, n.sizes && rank == 2 ? 2 : 3, width, dim), dim));
    TRY(check_tensor(plan, &n, arg, at->to[0], outer_shape(&n, n.sizes ? 2 : 3, n.inputs, dim), dim));
    TRY(check_tensor(plan, &n, arg, at->h, 3, state));
    TRY(check_tensor(plan, &n, arg, at->c, 3, state));
    TRY(check_tensor(plan, &n, arg, at->to[2], 3, state));
    TRY(check_params(plan, &n, arg, at->to[3]));
    TRY(check_kept(plan, &n, arg));
    struct view *out_h = plan_view(plan, arg[at->to[1]].tensor), *h = plan_output(plan, out_h, n.type);
    struct view *out_c = at->two ? plan_view(plan, arg[at->to[2]].tensor) : NULL;
    struct view *c = out_c ? plan_output(plan, out_c, n.type) : NULL;
    struct view *out_x = arg[at->to[0]].tensor ? plan_view(plan, arg[at->to[0]].tensor) : NULL;
    begin_with(plan, h, arg[at->h].tensor ? plan_view(plan, arg[at->h].tensor) : NULL);
    if (c)
        begin_with(plan, c, arg[at->c].tensor ? plan_view(plan, arg[at->c].tensor) : NULL);
    struct view *before[2] = {states(plan, &n, arg, 0), c ? states(plan, &n, arg, 1) : NULL};
    for (int i = 0; i < (c ? 2 : 1); i++) {
        if (!before[i])
            begin_with(plan, before[i] = plan_temp(plan, n.type, 3, state), NULL);
        before[i] = plan_contiguous(plan, before[i], n.type);
    }
    struct view *y = NULL; /* gradient of the layer's output */
    if (arg[at->y].tensor) {
        y = by_step(plan, &n, plan_view(plan, arg[at->y].tensor));
        if (y->dtype != n.type || y->stride[2] != 1)
            y = plan_contiguous(plan, y, n.type);
    }
    struct view *gates = plan_temp(plan, n.type, 2, (int64_t[]){all, wide});
    struct view *hidden = n.gru ? plan_temp(plan, n.type, 2, (int64_t[]){all, wide}) : gates;
    struct view *former = plan_temp(plan, n.type, 2, (int64_t[]){all, n.hidden});
    for (int64_t l = n.layers; l-- > 0;) {
        struct view *x = input_of(plan, &n, arg, l), *to = NULL;
        bool direct = l == 0 && out_x && !n.batch_first && out_x->dtype == n.type && view_is_contiguous(out_x);
        if (direct)
            to = matrix(plan, out_x, all, n.inputs);
        else if (l > 0 || out_x)
            to = plan_temp(plan, n.type, 2, x->dim);
        for (int64_t d = 0; d < n.directions; d++) {
            int64_t i = l * n.directions + d;
            struct pass *p = make_pass(plan, &n, d, item(plan, &n, arg, at->params, i * each + 1), n.gru ? 1 : 0);
            p->h = state_of(plan, h, i);
            p->c = c ? state_of(plan, c, i) : NULL;
            p->y = y ? direction_of(plan, &n, y, d) : NULL;
            p->gates = gates;
            p->state = hidden;
            p->former = former;
            for (int k = 0; k < (c ? 2 : 1); k++)
                p->before[k] = state_of(plan, before[k], i);
            for (int k = 0; k < at->kept; k++)
                p->kept[n.order[k]] = item(plan, &n, arg, at->first + k, i);
            if (all)
                plan_step(plan, run_backward, p, work_of(&n));
            if (to)
                plan_gemm(plan, to, gates, item(plan, &n, arg, at->params, i * each), d ? to : NULL, &one);
            plan_parameter(plan, arg, at->to[3], i * each, gates, x);
            plan_parameter(plan, arg, at->to[3], i * each + 1, hidden, former);
            for (int64_t b = 2; b < each; b++)
                plan_parameter(plan, arg, at->to[3], i * each + b, b == 2 ? gates : hidden, NULL);
        }
        if (l == 0 && to && !direct)
            plan_copy(plan, by_step(plan, &n, out_x), shaped(plan, to, 3, (int64_t[]){n.steps, n.batch, n.inputs}));
        else if (l > 0)
            y = shaped(plan, to, 3, (int64_t[]){n.steps, n.batch, width});
    }
    plan_finish(plan, h, out_h);
    if (c)
        plan_finish(plan, c, out_c);
    return ACLNN_SUCCESS;
}

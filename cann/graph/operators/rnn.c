/* SPDX-License-Identifier: BSD-3-Clause */
/* LSTM, GRU and RNN. The inputs' products with W are one product for all steps; each step adds the state's product with
 * R and runs a cell, which does everything elementwise in float. Steps of a reversed direction run from the last, so
 * that sequences shorter than the rest begin at their own end. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_mm.h"
#include "graph/operators/row.h"
#include "runtime/door.h"

enum rnn { RNN = 1, GRU = 3, LSTM = 4 }; /* gates */
enum phase { WHOLE, GRU_GATES, GRU_OUTPUT };

/* ---- activations ---- */

enum activation_kind {
    SIGMOID,
    TANH,
    RELU,
    AFFINE,
    LEAKY_RELU,
    THRESHOLDED_RELU,
    SCALED_TANH,
    HARD_SIGMOID,
    ELU,
    SOFTSIGN,
    SOFTPLUS,
};

static const struct {
    const char *name;
    float alpha, beta; /* when the node gives none */
} activations[] = {
    [SIGMOID] = {"Sigmoid", 0, 0},
    [TANH] = {"Tanh", 0, 0},
    [RELU] = {"Relu", 0, 0},
    [AFFINE] = {"Affine", 1, 0},
    [LEAKY_RELU] = {"LeakyRelu", 0.01f, 0},
    [THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 0},
    [SCALED_TANH] = {"ScaledTanh", 1, 1},
    [HARD_SIGMOID] = {"HardSigmoid", 0.2f, 0.5f},
    [ELU] = {"Elu", 1, 0},
    [SOFTSIGN] = {"Softsign", 0, 0},
    [SOFTPLUS] = {"Softplus", 0, 0},
};
enum { ACTIVATIONS = sizeof activations / sizeof activations[0] };

struct activation {
    enum activation_kind kind;
    float alpha, beta;
};

static float activate(const struct activation *a, float x)
{
    switch (a->kind) {
    case SIGMOID:
        return 1 / (1 + expf(-x));
    case TANH:
        return tanhf(x);
    case RELU:
        return x > 0 ? x : 0;
    case AFFINE:
        return a->alpha * x + a->beta;
    case LEAKY_RELU:
        return x < 0 ? a->alpha * x : x;
    case THRESHOLDED_RELU:
        return x >= a->alpha ? x : 0;
    case SCALED_TANH:
        return a->alpha * tanhf(a->beta * x);
    case HARD_SIGMOID:
        return fminf(1, fmaxf(0, a->alpha * x + a->beta));
    case ELU:
        return x >= 0 ? x : a->alpha * expm1f(x);
    case SOFTSIGN:
        return x / (1 + fabsf(x));
    default:
        return log1pf(expf(x));
    }
}

/* ---- the cell ---- */

struct cell {
    enum rnn kind;
    enum phase phase;
    int64_t batch, hidden, step;
    const float *x, *r; /* products with W and R, biases in them: [batch, gates * hidden] */
    float *h, *c;       /* states, replaced */
    float *y;           /* this step's output, */
    int64_t y_stride;   /* so far from one of the batch to the next */
    float *reset;       /* GRU: reset gate times state */
    const float *peephole;
    const int32_t *length;
    struct activation f, g, k;
    float clip;
    bool coupled, linear_before_reset;
};

static float clipped(const struct cell *c, float x)
{
    return c->clip > 0 ? fminf(c->clip, fmaxf(-c->clip, x)) : x;
}

static float lstm(const struct cell *c, const float *x, const float *r, int64_t j, float *state)
{
    int64_t n = c->hidden;
    const float *p = c->peephole;
    float before = *state;
    float i = activate(&c->f, clipped(c, x[j] + r[j] + (p ? p[j] * before : 0)));
    float f =
        c->coupled ? 1 - i : activate(&c->f, clipped(c, x[2 * n + j] + r[2 * n + j] + (p ? p[2 * n + j] * before : 0)));
    float now = f * before + i * activate(&c->g, clipped(c, x[3 * n + j] + r[3 * n + j]));
    float o = activate(&c->f, clipped(c, x[n + j] + r[n + j] + (p ? p[n + j] * now : 0)));
    *state = now;
    return o * activate(&c->k, now);
}

static float gru(const struct cell *c, const float *x, const float *r, int64_t j, float before)
{
    int64_t n = c->hidden;
    float z = activate(&c->f, clipped(c, x[j] + r[j]));
    float middle = r[2 * n + j];
    if (c->linear_before_reset)
        middle *= activate(&c->f, clipped(c, x[n + j] + r[n + j]));
    float h = activate(&c->g, clipped(c, x[2 * n + j] + middle));
    return (1 - z) * h + z * before;
}

static void cell_piece(void *arg, int64_t begin, int64_t end)
{
    const struct cell *c = arg;
    int64_t n = c->hidden, wide = (int64_t)c->kind * n;
    for (int64_t e = begin; e < end; e++) {
        int64_t b = e / n, j = e % n;
        const float *x = c->x + b * wide, *r = c->r + b * wide;
        bool runs = !c->length || c->step < c->length[b];
        if (c->phase == GRU_GATES) {
            c->reset[e] = c->h[e] * activate(&c->f, clipped(c, x[n + j] + r[n + j]));
            continue;
        }
        if (runs)
            c->h[e] = c->kind == LSTM  ? lstm(c, x, r, j, &c->c[e])
                      : c->kind == GRU ? gru(c, x, r, j, c->h[e])
                                       : activate(&c->f, clipped(c, x[j] + r[j]));
        c->y[b * c->y_stride + j] = runs ? c->h[e] : 0;
    }
}

static int run_cell(void *arg)
{
    struct cell c = *(const struct cell *)arg;
    c.x = device_address(c.x);
    c.r = device_address(c.r);
    c.h = device_address(c.h);
    c.c = c.c ? device_address(c.c) : NULL;
    c.y = c.y ? device_address(c.y) : NULL;
    c.reset = c.reset ? device_address(c.reset) : NULL;
    c.peephole = c.peephole ? device_address(c.peephole) : NULL;
    c.length = c.length ? device_address(c.length) : NULL;
    parallel(c.batch * c.hidden, 512, cell_piece, &c);
    return 0;
}

/* ---- a direction ---- */

struct layer {
    enum rnn kind;
    int64_t steps, batch, inputs, hidden;
    int directions;
    bool batch_first;
};

/* The k-th activation of the direction. */
static struct activation read_activation(struct op *op, const struct layer *l, int direction, int k)
{
    static const enum activation_kind usual[] = {SIGMOID, TANH, TANH};
    int each = l->kind == LSTM ? 3 : l->kind == GRU ? 2 : 1, at = direction * each + k;
    const struct attribute *names = node_attribute(op_node(op), "activations");
    size_t n_alpha, n_beta;
    const float *alpha = node_floats(op_node(op), "activation_alpha", &n_alpha);
    const float *beta = node_floats(op_node(op), "activation_beta", &n_beta);
    struct activation a = {.kind = l->kind == RNN ? TANH : usual[k]};
    if (names && names->kind == ATTRIBUTE_STRINGS && (size_t)at < names->count) {
        int kind = 0;
        while (kind < ACTIVATIONS && strcasecmp(names->strings[at], activations[kind].name) != 0)
            kind++;
        if (kind == ACTIVATIONS)
            op_fail(op, GRAPH_UNSUPPORTED, "the activation %s", names->strings[at]);
        a.kind = (enum activation_kind)(kind % ACTIVATIONS);
    }
    a.alpha = alpha && (size_t)at < n_alpha ? alpha[at] : activations[a.kind].alpha;
    a.beta = beta && (size_t)at < n_beta ? beta[at] : activations[a.kind].beta;
    return a;
}

/* The direction's part of an input [directions, …] as float, or NULL. */
static struct operand *part(struct op *op, int i, int direction)
{
    struct operand *t = op_in(op, i);
    if (!t)
        return NULL;
    struct operand *v = op_slice(op, t, 0, direction, 1, 1);
    return op_cast(op, op_contiguous(op, op_view(op, v, v->rank - 1, v->dim + 1, v->stride + 1, 0)), ACL_FLOAT);
}

/* The initial state [directions, batch, hidden] (or batch first) as a buffer of its own. */
static struct operand *initial(struct op *op, const struct layer *l, int i, int direction)
{
    struct operand *t = op_in(op, i), *state = op_temp(op, ACL_FLOAT, 2, (int64_t[]){l->batch, l->hidden});
    if (!t) {
        OP_CALL(op, aclnnInplaceZero, op_out(op, state));
        return state;
    }
    struct operand *v = op_slice(op, t, l->batch_first ? 1 : 0, direction, 1, 1);
    int64_t stride[] = {v->stride[l->batch_first ? 0 : 1], v->stride[2]};
    op_copy(op, state, op_view(op, v, 2, state->dim, stride, 0));
    return state;
}

/* x [batch, n] times the rows of r [m, n], plus bias [m], into y [batch, m] */
static void linear(struct op *op, struct operand *bias, struct operand *x, struct operand *r, struct operand *y)
{
    struct operand *turned = op_transpose(op, r, (int64_t[]){1, 0});
    if (bias)
        OP_CALL(op, aclnnAddmm, op_acl(op, bias), op_acl(op, x), op_acl(op, turned), op_integer(op, 1),
                op_integer(op, 1), op_out(op, y), 0);
    else
        OP_CALL(op, aclnnMm, op_acl(op, x), op_acl(op, turned), op_out(op, y), 0);
}

static void run_direction(struct op *op, const struct layer *l, int d, struct operand *x, struct operand *y,
                          struct operand *last_h, struct operand *last_c)
{
    int64_t wide = (int64_t)l->kind * l->hidden, flat[] = {l->steps * l->batch, wide}, one[] = {l->batch, wide};
    bool backwards = d == 1 || op_string_is(op, "direction", "forward", "reverse");
    struct operand *w = part(op, 1, d), *r = part(op, 2, d), *bias = part(op, 3, d), *lengths = op_in(op, 4);
    struct operand *b_w = bias ? op_slice(op, bias, 0, 0, wide, 1) : NULL;
    struct operand *b_r = bias ? op_slice(op, bias, 0, wide, wide, 1) : NULL;
    struct operand *h = initial(op, l, 5, d), *c = l->kind == LSTM ? initial(op, l, 6, d) : NULL;
    struct operand *xw = op_temp(op, ACL_FLOAT, 2, flat), *hr = op_temp(op, ACL_FLOAT, 2, one);
    struct operand *peephole = l->kind == LSTM ? part(op, 7, d) : NULL;
    bool two_phases = l->kind == GRU && !op_int(op, "linear_before_reset", 0);
    struct operand *reset = two_phases ? op_temp(op, ACL_FLOAT, 2, h->dim) : NULL;
    linear(op, b_w, op_reshape(op, x, 2, (int64_t[]){flat[0], l->inputs}), w, xw);
    struct cell cell = {.kind = l->kind,
                        .batch = l->batch,
                        .hidden = l->hidden,
                        .r = op_data(op, hr),
                        .h = op_data(op, h),
                        .c = op_data(op, c),
                        .y_stride = y->stride[2],
                        .reset = op_data(op, reset),
                        .peephole = op_data(op, peephole),
                        .length = op_data(op, lengths ? op_cast(op, lengths, ACL_INT32) : NULL),
                        .clip = (float)op_float(op, "clip", 0),
                        .coupled = op_int(op, "input_forget", 0),
                        .linear_before_reset = op_int(op, "linear_before_reset", 0),
                        .f = read_activation(op, l, d, 0),
                        .g = l->kind == RNN ? (struct activation){0} : read_activation(op, l, d, 1),
                        .k = l->kind == LSTM ? read_activation(op, l, d, 2) : (struct activation){0}};
    for (int64_t i = 0; i < l->steps && op_runs(op); i++) {
        int64_t t = backwards ? l->steps - 1 - i : i;
        struct operand *now = op_slice(op, op_slice(op, y, 0, t, 1, 1), 1, d, 1, 1);
        cell.step = t;
        cell.x = (const float *)op_data(op, xw) + t * one[0] * one[1];
        cell.y = op_data(op, now);
        linear(op, b_r, h, r, hr);
        if (two_phases) {
            int64_t gates = 2 * l->hidden;
            cell.phase = GRU_GATES;
            op_host(op, "GRU", run_cell, &cell, sizeof cell);
            cell.phase = GRU_OUTPUT;
            linear(op, b_r ? op_slice(op, b_r, 0, gates, l->hidden, 1) : NULL, reset,
                   op_slice(op, r, 0, gates, l->hidden, 1), op_slice(op, hr, 1, gates, l->hidden, 1));
        }
        op_host(op, l->kind == LSTM ? "LSTM" : l->kind == GRU ? "GRU" : "RNN", run_cell, &cell, sizeof cell);
    }
    op_copy(op, op_view(op, op_slice(op, last_h, 0, d, 1, 1), 2, h->dim, last_h->stride + 1, 0), h);
    if (c)
        op_copy(op, op_view(op, op_slice(op, last_c, 0, d, 1, 1), 2, c->dim, last_c->stride + 1, 0), c);
}

/* A result seen as directions, batch, hidden, whichever way round it is. */
static struct operand *state_result(struct op *op, const struct layer *l, int k, aclDataType dtype)
{
    int64_t dim[] = {l->directions, l->batch, l->hidden}, turned[] = {l->batch, l->directions, l->hidden};
    struct operand *t = op_result(op, k, dtype, 3, l->batch_first ? turned : dim);
    return l->batch_first ? op_transpose(op, t, (int64_t[]){1, 0, 2}) : t;
}

static void define_rnn(struct op *op)
{
    struct operand *x = op_in(op, 0), *w = op_in(op, 1), *r = op_in(op, 2);
    enum rnn kind = (enum rnn)op_code(op);
    struct layer l = {.kind = kind, .batch_first = op_int(op, "layout", 0)};
    if (x->rank != 3 || w->rank != 3 || r->rank != 3 || w->dim[0] < 1 || w->dim[0] > 2 || w->dim[2] != x->dim[2] ||
        w->dim[1] != (int64_t)kind * r->dim[2] || r->dim[1] != w->dim[1] || r->dim[0] != w->dim[0] ||
        (w->dim[0] == 2) != op_string_is(op, "direction", "forward", "bidirectional")) {
        op_fail(op, GRAPH_INVALID, "the shapes of input, W and R do not fit each other or the direction");
        return;
    }
    struct operand *lengths = op_in(op, 4), *peephole = kind == LSTM ? op_in(op, 7) : NULL, *bias = op_in(op, 3);
    int64_t state_dim[] = {w->dim[0], x->dim[op_int(op, "layout", 0) ? 0 : 1], r->dim[2]};
    bool turned_states = op_int(op, "layout", 0);
    for (int i = 5; i < (kind == LSTM ? 7 : 6); i++) {
        struct operand *state = op_in(op, i);
        if (state && (state->rank != 3 || state->dim[turned_states] != state_dim[0] ||
                      state->dim[!turned_states] != state_dim[1] || state->dim[2] != state_dim[2])) {
            op_fail(op, GRAPH_INVALID, "the initial state does not fit");
            return;
        }
    }
    if ((lengths && op_count(lengths) != state_dim[1]) ||
        (peephole && (peephole->rank != 2 || peephole->dim[0] != w->dim[0] || peephole->dim[1] != 3 * r->dim[2])) ||
        (bias && (bias->rank != 2 || bias->dim[0] != w->dim[0] || bias->dim[1] != 2 * w->dim[1]))) {
        op_fail(op, GRAPH_INVALID, "lengths, peepholes or biases do not fit");
        return;
    }
    l.steps = x->dim[l.batch_first ? 1 : 0];
    l.batch = x->dim[l.batch_first ? 0 : 1];
    l.inputs = x->dim[2];
    l.hidden = r->dim[2];
    l.directions = (int)w->dim[0];
    /* y as steps, directions, batch, hidden */
    int64_t dim[] = {l.steps, l.directions, l.batch, l.hidden}, turned[] = {l.batch, l.steps, l.directions, l.hidden};
    struct operand *y = op_result(op, 0, x->dtype, 4, l.batch_first ? turned : dim), *to = y;
    if (l.batch_first)
        y = op_transpose(op, y, (int64_t[]){1, 2, 0, 3});
    struct operand *last_h = state_result(op, &l, 1, x->dtype);
    struct operand *last_c = kind == LSTM ? state_result(op, &l, 2, x->dtype) : NULL;
    if (op_count(to) == 0)
        return;
    if (l.batch_first)
        x = op_transpose(op, x, (int64_t[]){1, 0, 2});
    x = op_cast(op, op_contiguous(op, x), ACL_FLOAT);
    struct operand *wide = x->dtype == to->dtype ? y : op_temp(op, ACL_FLOAT, 4, dim);
    for (int d = 0; d < l.directions; d++)
        run_direction(op, &l, d, x, wide, last_h, last_c);
    if (wide != y)
        op_copy(op, y, wide);
}

const struct operator_row operators_rnn[] = {
    ROW("LSTM", 7, 0, 0, 3, 8, 0, 3, define_rnn, NULL, LSTM),
    ROW("GRU", 7, 0, 0, 3, 6, 0, 2, define_rnn, NULL, GRU),
    ROW("RNN", 7, 0, 0, 3, 6, 0, 2, define_rnn, NULL, RNN),
    {0},
};

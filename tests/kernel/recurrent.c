/* SPDX-License-Identifier: BSD-3-Clause */
/* The LSTM's cell, and rows of sequences of LSTM and GRU, against their formulas in double, forward and backward, with
 * and without biases and gradients; every type, widths 1..67 and beyond a block; the same bits at every level. */
#include "harness.h"
#include "kernels/recurrent.h"

#include <math.h>

enum {
    ROWS = 3,
    GATES = 4,
    IN,
    STATE,
    IN_BIAS,
    STATE_BIAS,
    CX,
    HY,
    CY,
    ACTIVE,
    GRAD_HY,
    GRAD_CY,
    TO,
    GRAD_CX,
    BIAS,
    KEEP,
    WANT,
    ROW /* and what a row of a sequence keeps */
};

static const struct recurrent_kernels *const tables[] = HARNESS_TABLES(recurrent_kernels);

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static char *filled(int which, aclDataType type, int64_t n)
{
    int64_t size = (int64_t)dtype_size(type);
    char *p = harness_buffer(which, (size_t)(n * size));
    harness_fill(type, p, size, n, -2, 2);
    return p;
}

/* Compares n numbers with the reference, and with what the first level gave; `at` is where these are kept. */
static void compare(aclDataType type, int level, const char *got, const double *want, int64_t n, char *keep,
                    const char *what)
{
    int64_t size = (int64_t)dtype_size(type);
    char context[100], *expected = harness_buffer(WANT, (size_t)(n * size));
    snprintf(context, sizeof context, "%s %s of %lld, %s", what, dtype_name(type), (long long)n,
             harness_level_name(level));
    for (int64_t i = 0; i < n; i++)
        harness_put(type, expected + i * size, want[i]);
    harness_compare(type, got, expected, size, n, 16,
                    type == ACL_DOUBLE  ? 1e-14
                    : type == ACL_FLOAT ? 1e-5
                                        : 2e-2,
                    context);
    if (level)
        harness_compare(type, got, keep, size, n, 0, 0, context);
    else
        memcpy(keep, got, (size_t)(n * size));
}

static void cell(aclDataType type, int64_t hidden, int way)
{
    enum { MOST = 700 };
    static double active[ROWS * GATES * MOST], hy[ROWS * MOST], cy[ROWS * MOST], to[ROWS * GATES * MOST],
        grad_cx[ROWS * MOST], bias[GATES * MOST];
    int64_t size = (int64_t)dtype_size(type), n = ROWS * hidden, wide = GATES * hidden;
    const char *in = filled(IN, type, GATES * n), *state = filled(STATE, type, GATES * n), *cx = filled(CX, type, n);
    const char *in_bias = way & 1 ? filled(IN_BIAS, type, wide) : NULL,
               *state_bias = way & 1 ? filled(STATE_BIAS, type, wide) : NULL;
    const char *grad_hy = way & 2 ? NULL : filled(GRAD_HY, type, n),
               *grad_cy = way & 4 ? NULL : filled(GRAD_CY, type, n);
    char *keep = harness_buffer(KEEP, (size_t)((3 * GATES + 3) * n * size));
    for (int level = 0; level < harness_levels(); level++) {
        char *keeps = keep;
        struct lstm_cell f = {type, hidden, in, state, in_bias, state_bias, cx, NULL, NULL, NULL};
        f.hy = harness_buffer(HY, (size_t)(n * size));
        f.cy = harness_buffer(CY, (size_t)(n * size));
        f.active = harness_buffer(ACTIVE, (size_t)(GATES * n * size));
        tables[level]->forward(&f, 0, ROWS);
        for (int64_t r = 0; r < ROWS; r++)
            for (int64_t i = 0; i < hidden; i++) {
                double gate[GATES], c;
                for (int k = 0; k < GATES; k++) {
                    int64_t at = k * hidden + i, p = (r * wide + at) * size;
                    double x = harness_value(type, in + p) + harness_value(type, state + p);
                    if (in_bias)
                        x += harness_value(type, in_bias + at * size) + harness_value(type, state_bias + at * size);
                    gate[k] = active[r * wide + at] = k == 2 ? tanh(x) : sigmoid(x);
                }
                c = gate[1] * harness_value(type, cx + (r * hidden + i) * size) + gate[0] * gate[2];
                cy[r * hidden + i] = c;
                hy[r * hidden + i] = gate[3] * tanh(c);
            }
        compare(type, level, f.active, active, GATES * n, keeps, "gates");
        compare(type, level, f.cy, cy, n, keeps += GATES * n * size, "cy");
        compare(type, level, f.hy, hy, n, keeps += n * size, "hy");
        struct lstm_cell_gradient b = {type, hidden, grad_hy, grad_cy, cx, f.cy, f.active, NULL, NULL};
        b.gates = harness_buffer(TO, (size_t)(GATES * n * size));
        b.grad_cx = harness_buffer(GRAD_CX, (size_t)(n * size));
        char *sums = harness_buffer(BIAS, (size_t)(wide * size));
        tables[level]->backward(&b, 0, ROWS);
        tables[level]->sum_rows(type, ROWS, wide, b.gates, sums, 0, wide);
        memset(bias, 0, sizeof bias);
        for (int64_t r = 0; r < ROWS; r++)
            for (int64_t i = 0; i < hidden; i++) {
                int64_t at = r * hidden + i;
                double gate[GATES];
                for (int k = 0; k < GATES; k++)
                    gate[k] = harness_value(type, (char *)f.active + (r * wide + k * hidden + i) * size);
                double t = tanh(harness_value(type, (char *)f.cy + at * size));
                double h = grad_hy ? harness_value(type, grad_hy + at * size) : 0;
                double c = (grad_cy ? harness_value(type, grad_cy + at * size) : 0) + h * gate[3] * (1 - t * t);
                double *g = to + r * wide + i;
                g[0] = c * gate[2] * gate[0] * (1 - gate[0]);
                g[hidden] = c * harness_value(type, cx + at * size) * gate[1] * (1 - gate[1]);
                g[2 * hidden] = c * gate[0] * (1 - gate[2] * gate[2]);
                g[3 * hidden] = h * t * gate[3] * (1 - gate[3]);
                grad_cx[at] = c * gate[1];
                for (int k = 0; k < GATES; k++)
                    bias[k * hidden + i] += harness_value(type, (char *)b.gates + (r * wide + k * hidden + i) * size);
            }
        compare(type, level, b.gates, to, GATES * n, keeps += n * size, "gradient of gates");
        compare(type, level, b.grad_cx, grad_cx, n, keeps += GATES * n * size, "gradient of cx");
        compare(type, level, sums, bias, wide, keeps += n * size, "gradient of biases");
        for (int which = HY; which <= ACTIVE; which++)
            harness_guard(which);
        harness_guard(TO);
        harness_guard(GRAD_CX);
        harness_guard(BIAS);
    }
}

/* ---- sequences ---- */

static double at(aclDataType type, const void *p, int64_t i)
{
    return harness_value(type, (const char *)p + i * (int64_t)dtype_size(type));
}

/* What a row gives: gates, then the new states, by the order of what is kept. */
static void lstm_reference(aclDataType type, int64_t n, const struct recurrent_row *r, const double *state,
                           const double *c, double *const *kept)
{
    for (int64_t i = 0; i < n; i++) {
        double gate[4];
        for (int k = 0; k < 4; k++) {
            double x = state[k * n + i] + (r->bias ? at(type, r->bias, k * n + i) : 0) + at(type, r->input, k * n + i);
            gate[k] = k == 2 ? tanh(x) : sigmoid(x);
        }
        kept[LSTM_I][i] = gate[0];
        kept[LSTM_F][i] = gate[1];
        kept[LSTM_G][i] = gate[2];
        kept[LSTM_O][i] = gate[3];
        kept[LSTM_C][i] = gate[1] * c[i] + gate[0] * gate[2];
        kept[LSTM_TANH_C][i] = tanh(kept[LSTM_C][i]);
        kept[LSTM_H][i] = gate[3] * kept[LSTM_TANH_C][i];
    }
}

static void gru_reference(aclDataType type, int64_t n, const struct recurrent_row *r, const double *state,
                          const double *h, double *const *kept)
{
    for (int64_t i = 0; i < n; i++) {
        double hidden[3], x[3];
        for (int k = 0; k < 3; k++) {
            hidden[k] = state[k * n + i] + (r->bias ? at(type, r->bias, k * n + i) : 0);
            x[k] = at(type, r->input, k * n + i);
        }
        double reset = sigmoid(hidden[0] + x[0]), update = sigmoid(hidden[1] + x[1]);
        kept[GRU_R][i] = reset;
        kept[GRU_Z][i] = update;
        kept[GRU_HN][i] = hidden[2];
        kept[GRU_N][i] = tanh(x[2] + reset * hidden[2]);
        kept[GRU_H][i] = (1 - update) * kept[GRU_N][i] + update * h[i];
    }
}

/* Gradients by the formulas, from what was kept: gates, the former c or h, and what the state's product sees. */
static void slopes(aclDataType type, bool gru, int64_t n, const struct recurrent_gradient *g, const double *grad_h,
                   const double *grad_c, double *gates, double *state, double *former)
{
    for (int64_t i = 0; i < n; i++) {
        double k[RECURRENT_KEPT], dh = grad_h[i] + (g->grad_y ? at(type, g->grad_y, i) : 0), b = at(type, g->before, i);
        for (int j = 0; j < (gru ? GRU_KEPT : LSTM_KEPT); j++)
            k[j] = at(type, g->kept[j], i);
        if (gru) {
            double dn = dh * (1 - k[GRU_Z]) * (1 - k[GRU_N] * k[GRU_N]);
            gates[i] = state[i] = dn * k[GRU_HN] * k[GRU_R] * (1 - k[GRU_R]);
            gates[n + i] = state[n + i] = dh * (b - k[GRU_N]) * k[GRU_Z] * (1 - k[GRU_Z]);
            gates[2 * n + i] = dn;
            state[2 * n + i] = dn * k[GRU_R];
            former[i] = dh * k[GRU_Z];
            continue;
        }
        double t = k[LSTM_TANH_C], dc = grad_c[i] + dh * k[LSTM_O] * (1 - t * t);
        gates[i] = dc * k[LSTM_G] * k[LSTM_I] * (1 - k[LSTM_I]);
        gates[n + i] = dc * b * k[LSTM_F] * (1 - k[LSTM_F]);
        gates[2 * n + i] = dc * k[LSTM_I] * (1 - k[LSTM_G] * k[LSTM_G]);
        gates[3 * n + i] = dh * t * k[LSTM_O] * (1 - k[LSTM_O]);
        former[i] = dc * k[LSTM_F];
    }
}

static void values(aclDataType type, const void *from, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = at(type, from, i);
}

/* Numbers that a kernel replaces, the same for every level. */
static char *again(int which, int level, char *master, aclDataType type, int64_t n)
{
    size_t bytes = (size_t)n * dtype_size(type);
    if (level == 0)
        memcpy(master, filled(which, type, n), bytes);
    return memcpy(harness_buffer(which, bytes), master, bytes);
}

static void sequence(aclDataType type, bool gru, int64_t n, int way)
{
    enum { MOST = 600 };
    static char masters[4][MOST * sizeof(double)], gate_master[GATES * MOST * sizeof(double)];
    static double state[GATES * MOST], h[MOST], c[MOST], want[RECURRENT_KEPT][MOST], gates[GATES * MOST],
        seen[GATES * MOST], former[MOST];
    double *const kept[] = {want[0], want[1], want[2], want[3], want[4], want[5], want[6]};
    int64_t size = (int64_t)dtype_size(type), wide = (gru ? 3 : 4) * n, line = n * size;
    int count = gru ? GRU_KEPT : LSTM_KEPT;
    char *before = harness_buffer(BIAS, (size_t)line), *first_bits = harness_buffer(KEEP, (size_t)(64 * line));
    struct recurrent_row r = {.input = filled(IN, type, wide), .bias = way & 1 ? filled(STATE_BIAS, type, wide) : NULL};
    const char *grad_y = way & 4 ? filled(GRAD_CY, type, n) : NULL;
    for (int level = 0; level < harness_levels(); level++) {
        char *bits = first_bits;
        r.state = again(STATE, level, gate_master, type, wide);
        r.h = again(HY, level, masters[0], type, n);
        r.c = gru ? NULL : again(CX, level, masters[1], type, n);
        r.y = harness_buffer(CY, (size_t)line);
        for (int k = 0; k < count; k++)
            r.kept[k] = way & 2 ? harness_buffer(ROW + k, (size_t)line) : NULL;
        values(type, r.state, wide, state);
        values(type, r.h, n, h);
        values(type, gru ? r.h : r.c, n, c);
        memcpy(before, gru ? r.h : r.c, (size_t)line);
        if (gru)
            gru_reference(type, n, &r, state, h, kept);
        else
            lstm_reference(type, n, &r, state, c, kept);
        (gru ? tables[level]->gru : tables[level]->lstm)(type, n, &r);
        compare(type, level, r.h, want[gru ? GRU_H : LSTM_H], n, bits, "h of a sequence");
        compare(type, level, r.y, want[gru ? GRU_H : LSTM_H], n, bits += line, "y of a sequence");
        if (!gru)
            compare(type, level, r.c, want[LSTM_C], n, bits += line, "c of a sequence");
        if (!(way & 2))
            continue;
        for (int k = 0; k < count; k++)
            compare(type, level, r.kept[k], want[k], n, bits += line, "what a sequence keeps");
        struct recurrent_gradient g = {.grad_y = grad_y,
                                       .before = before,
                                       .grad_h = again(GRAD_HY, level, masters[2], type, n),
                                       .grad_c = again(GRAD_CX, level, masters[3], type, n),
                                       .gates = harness_buffer(TO, (size_t)(wide * size)),
                                       .state = harness_buffer(ACTIVE, (size_t)(wide * size))};
        memcpy(g.kept, r.kept, sizeof g.kept);
        values(type, g.grad_h, n, h);
        values(type, g.grad_c, n, c);
        slopes(type, gru, n, &g, h, c, gates, seen, former);
        (gru ? tables[level]->gru_backward : tables[level]->lstm_backward)(type, n, &g);
        compare(type, level, g.gates, gates, wide, bits += line, "gradient of a sequence's gates");
        compare(type, level, gru ? g.grad_h : g.grad_c, former, n, bits += wide * size, "gradient of a former state");
        if (gru)
            compare(type, level, g.state, seen, wide, bits += line, "gradient of the state's gates");
    }
    for (int which = 0; which < count && way & 2; which++)
        harness_guard(ROW + which);
    harness_guard(CY);
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16};
    harness_begin(argc, argv);
    for (int t = 0; t < 4; t++)
        for (int64_t hidden = 1; hidden <= 67 && harness_wants("lstm cell"); hidden++)
            cell(types[t], hidden, (int)(hidden % 6));
    for (int t = 0; t < 4 && harness_wants("lstm cell"); t++)
        cell(types[t], 600, t);
    for (int t = 0; t < 2; t++)
        for (int64_t hidden = 1; hidden <= 67 && harness_wants("sequence"); hidden++)
            for (int gru = 0; gru < 2; gru++)
                sequence(types[t], gru, hidden, (int)(hidden % 8));
    for (int way = 0; way < 8 && harness_wants("sequence"); way++)
        sequence(types[way % 2], way & 1, 600, way);
    return harness_end();
}

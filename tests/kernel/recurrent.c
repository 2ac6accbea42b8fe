/* SPDX-License-Identifier: BSD-3-Clause */
/* The LSTM's cell against its formulas in double, forward and backward, with and without biases and gradients; every
 * type, widths 1..67 and beyond a block; the same bits at every level. */
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
    WANT
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

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16};
    harness_begin(argc, argv);
    for (int t = 0; t < 4; t++)
        for (int64_t hidden = 1; hidden <= 67 && harness_wants("lstm cell"); hidden++)
            cell(types[t], hidden, (int)(hidden % 6));
    for (int t = 0; t < 4 && harness_wants("lstm cell"); t++)
        cell(types[t], 600, t);
    return harness_end();
}

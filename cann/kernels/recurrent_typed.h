/* SPDX-License-Identifier: BSD-3-Clause */
/* The LSTM's cell for n adjacent hidden units of one row; included by recurrent.c with T, NAME(x), SIGMOID and TANH.
 * Arrays of four are the gates: input, forget, cell, output. */

static void NAME(forward)(int64_t n, const T *const *in, const T *const *state, const T *const *in_bias,
                          const T *const *state_bias, const T *restrict cx, T *restrict hy, T *restrict cy,
                          T *const *active)
{
    for (int k = 0; k < 4; k++) {
        const T *x = in[k], *h = state[k];
        T *restrict gate = active[k];
        if (in_bias[0] && state_bias[0]) {
            const T *b = in_bias[k], *d = state_bias[k];
            for (int64_t i = 0; i < n; i++)
                gate[i] = (x[i] + b[i]) + (h[i] + d[i]);
        } else {
            for (int64_t i = 0; i < n; i++)
                gate[i] = x[i] + h[i];
        }
        if (k == 2)
            for (int64_t i = 0; i < n; i++)
                gate[i] = TANH(gate[i]);
        else
            for (int64_t i = 0; i < n; i++)
                gate[i] = SIGMOID(gate[i]);
    }
    const T *i_gate = active[0], *f_gate = active[1], *g_gate = active[2], *o_gate = active[3];
    for (int64_t i = 0; i < n; i++) {
        cy[i] = f_gate[i] * cx[i] + i_gate[i] * g_gate[i];
        hy[i] = o_gate[i] * TANH(cy[i]);
    }
}

static void NAME(backward)(int64_t n, const T *grad_hy, const T *grad_cy, const T *restrict cx, const T *restrict cy,
                           const T *const *active, T *const *gates, T *restrict grad_cx)
{
    const T *i_gate = active[0], *f_gate = active[1], *g_gate = active[2], *o_gate = active[3];
    T *restrict to_i = gates[0], *restrict to_f = gates[1], *restrict to_g = gates[2], *restrict to_o = gates[3];
    for (int64_t k = 0; k < n; k++) {
        T i = i_gate[k], f = f_gate[k], g = g_gate[k], o = o_gate[k];
        T t = TANH(cy[k]), hy = grad_hy ? grad_hy[k] : 0;
        T c = (grad_cy ? grad_cy[k] : 0) + hy * o * (1 - t * t);
        to_i[k] = c * g * (1 - i) * i;
        to_f[k] = c * cx[k] * (1 - f) * f;
        to_g[k] = c * i * (1 - g * g);
        to_o[k] = hy * t * (1 - o) * o;
        grad_cx[k] = c * f;
    }
}

static void NAME(sum_rows)(int64_t rows, int64_t columns, const T *x, T *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t r = 0; r < rows; r++, x += columns)
        for (int64_t i = 0; i < n; i++)
            out[i] += x[i];
}

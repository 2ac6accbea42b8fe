/* SPDX-License-Identifier: BSD-3-Clause */
/* The LSTM's cell for n adjacent hidden units of one row, and steps of sequences; included by recurrent.c with T,
 * NAME(x), SIGMOID and TANH. Arrays of four are the gates: input, forget, cell, output. */

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

/* ---- steps of a sequence ---- */

/* to = (the state's gate + bias) + the input's, then its function */
static void NAME(sigmoid_gate)(int64_t n, T *to, const T *state, const T *bias, const T *input)
{
    if (bias)
        for (int64_t i = 0; i < n; i++)
            to[i] = SIGMOID((state[i] + bias[i]) + input[i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = SIGMOID(state[i] + input[i]);
}

static void NAME(tanh_gate)(int64_t n, T *to, const T *state, const T *bias, const T *input)
{
    if (bias)
        for (int64_t i = 0; i < n; i++)
            to[i] = TANH((state[i] + bias[i]) + input[i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = TANH(state[i] + input[i]);
}

static void NAME(lstm)(int64_t n, const struct recurrent_row *r)
{
    static const int place[4] = {LSTM_I, LSTM_F, LSTM_G, LSTM_O};
    T *state = r->state, *gate[4];
    bool keeps = r->kept[0];
    for (int k = 0; k < 4; k++) {
        const T *bias = r->bias ? (const T *)r->bias + k * n : NULL, *input = (const T *)r->input + k * n;
        gate[k] = keeps ? r->kept[place[k]] : state + k * n;
        if (k == 2)
            NAME(tanh_gate)(n, gate[k], state + k * n, bias, input);
        else
            NAME(sigmoid_gate)(n, gate[k], state + k * n, bias, input);
    }
    const T *in = gate[0], *forget = gate[1], *cell = gate[2], *out = gate[3];
    T *c = r->c, *h = r->h, *tanh_c = keeps ? r->kept[LSTM_TANH_C] : state;
    for (int64_t i = 0; i < n; i++)
        c[i] = forget[i] * c[i] + in[i] * cell[i];
    for (int64_t i = 0; i < n; i++)
        tanh_c[i] = TANH(c[i]);
    for (int64_t i = 0; i < n; i++)
        h[i] = out[i] * tanh_c[i];
    memcpy(r->y, h, (size_t)n * sizeof(T));
    if (keeps) {
        memcpy(r->kept[LSTM_H], h, (size_t)n * sizeof(T));
        memcpy(r->kept[LSTM_C], c, (size_t)n * sizeof(T));
    }
}

static void NAME(gru)(int64_t n, const struct recurrent_row *r)
{
    bool keeps = r->kept[0];
    T *state = r->state, *gate[3];
    const T *input = r->input, *bias = r->bias;
    for (int k = 0; k < 2; k++) {
        gate[k] = keeps ? r->kept[GRU_R + k] : state + k * n;
        NAME(sigmoid_gate)(n, gate[k], state + k * n, bias ? bias + k * n : NULL, input + k * n);
    }
    T *new = gate[2] = keeps ? r->kept[GRU_N] : state + 2 * n;
    T *hidden = keeps ? r->kept[GRU_HN] : state + 2 * n;
    const T *reset = gate[0], *update = gate[1];
    for (int64_t i = 0; i < n; i++)
        hidden[i] = bias ? state[2 * n + i] + bias[2 * n + i] : state[2 * n + i];
    for (int64_t i = 0; i < n; i++)
        new[i] = TANH(input[2 * n + i] + reset[i] * hidden[i]);
    T *h = r->h;
    for (int64_t i = 0; i < n; i++)
        h[i] = (h[i] - new[i]) * update[i] + new[i];
    memcpy(r->y, h, (size_t)n * sizeof(T));
    if (keeps)
        memcpy(r->kept[GRU_H], h, (size_t)n * sizeof(T));
}

/* Everything is a parameter of its own: only so gcc makes vectors of it. */
static void NAME(lstm_slopes)(int64_t n, const T *restrict in, const T *restrict forget, const T *restrict cell,
                              const T *restrict out, const T *restrict tanh_c, const T *restrict before,
                              const T *restrict grad_h, T *restrict grad_c, T *restrict to_in, T *restrict to_forget,
                              T *restrict to_cell, T *restrict to_out)
{
    for (int64_t k = 0; k < n; k++) {
        T i = in[k], f = forget[k], g = cell[k], o = out[k], t = tanh_c[k], h = grad_h[k];
        T c = grad_c[k] + h * o * (1 - t * t);
        to_in[k] = c * g * (1 - i) * i;
        to_forget[k] = c * before[k] * (1 - f) * f;
        to_cell[k] = c * i * (1 - g * g);
        to_out[k] = h * t * (1 - o) * o;
        grad_c[k] = c * f;
    }
}

static void NAME(gru_slopes)(int64_t n, const T *restrict reset, const T *restrict update, const T *restrict new,
                             const T *restrict hidden, const T *restrict before, T *restrict grad_h,
                             T *restrict to_reset, T *restrict to_update, T *restrict to_new, T *restrict to_hidden)
{
    for (int64_t k = 0; k < n; k++) {
        T h = grad_h[k], grad_n = h * (1 - update[k]) * (1 - new[k] * new[k]);
        to_update[k] = h * (before[k] - new[k]) * (1 - update[k]) * update[k];
        to_reset[k] = grad_n * hidden[k] * (1 - reset[k]) * reset[k];
        to_new[k] = grad_n;
        to_hidden[k] = grad_n * reset[k];
        grad_h[k] = h * update[k];
    }
}

static void NAME(add)(int64_t n, T *restrict to, const T *restrict more)
{
    for (int64_t k = 0; k < n; k++)
        to[k] += more[k];
}

static void NAME(lstm_backward)(int64_t n, const struct recurrent_gradient *r)
{
    T *gates = r->gates;
    if (r->grad_y)
        NAME(add)(n, r->grad_h, r->grad_y);
    NAME(lstm_slopes)
    (n, r->kept[LSTM_I], r->kept[LSTM_F], r->kept[LSTM_G], r->kept[LSTM_O], r->kept[LSTM_TANH_C], r->before, r->grad_h,
     r->grad_c, gates, gates + n, gates + 2 * n, gates + 3 * n);
}

static void NAME(gru_backward)(int64_t n, const struct recurrent_gradient *r)
{
    T *gates = r->gates, *state = r->state;
    if (r->grad_y)
        NAME(add)(n, r->grad_h, r->grad_y);
    NAME(gru_slopes)
    (n, r->kept[GRU_R], r->kept[GRU_Z], r->kept[GRU_N], r->kept[GRU_HN], r->before, r->grad_h, gates, gates + n,
     gates + 2 * n, state + 2 * n);
    memcpy(state, gates, (size_t)(2 * n) * sizeof(T));
}

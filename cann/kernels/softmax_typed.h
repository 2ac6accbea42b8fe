/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax in one compute type; kernels/softmax.c includes this for float and double, with T, NAME(x), EXP(x),
 * EXP_NEG(x) (x ≤ 0, infinity or NaN), LOG(x), BLOCK_OF, STORE and DIRECT(dtype) (is that T as it lies in memory?)
 * defined; undefines them. */

BLOCK_INLINE void NAME(exps)(int64_t n, const T *restrict x, T shift, T *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = EXP_NEG(x[i] - shift);
}

/* What is taken from every element: the maximum (NaN need not be in it: it comes through the sum); for log-sum-exp 0
 * when that is infinite. */
BLOCK_INLINE T NAME(shift_of)(enum softmax_mode mode, T most)
{
    return mode == SOFTMAX_SUM_LOG && isinf(most) ? 0 : most;
}

/* Rows are padded to full lanes with minus infinity, whose exponential adds nothing. */
BLOCK_INLINE int64_t NAME(padded)(int64_t n)
{
    return (n + 15) & ~(int64_t)15;
}

/* Several rows that fit into a block together. */
static void NAME(short_rows)(enum softmax_mode mode, const struct softmax_shape *s, int64_t rows, const char *in,
                             char *out)
{
    T buffer[BLOCK], shifted[BLOCK], e[BLOCK], result[BLOCK];
    int64_t n = s->n, wide = NAME(padded)(n), size = (int64_t)dtype_size(s->dtype),
            out_size = (int64_t)dtype_size(s->out_dtype);
    const T *x = BLOCK_OF(s->dtype, rows * n, in, size, buffer);
    bool direct = mode == SOFTMAX && wide == n && DIRECT(s->out_dtype);
    for (int64_t r = 0; r < rows; r++) {
        T *row = shifted + r * wide;
        T most = NAME(shift_of)(mode, NAME(max_of)(n, x + r * n));
        for (int64_t i = 0; i < n; i++)
            row[i] = x[r * n + i] - most;
        for (int64_t i = n; i < wide; i++)
            row[i] = -(T)INFINITY;
        result[r] = most;
    }
    for (int64_t i = 0; i < rows * wide; i++)
        e[i] = EXP_NEG(shifted[i]);
    for (int64_t r = 0; r < rows; r++) {
        T total = NAME(sum_of)(wide, e + r * wide);
        if (mode == SOFTMAX_SUM_LOG) {
            result[r] += LOG(total);
            continue;
        }
        T *to = direct ? (T *)out + r * n : result + r * n;
        if (mode == SOFTMAX) {
            T factor = 1 / total;
            for (int64_t i = 0; i < n; i++)
                to[i] = e[r * wide + i] * factor;
        } else {
            T log_total = LOG(total);
            for (int64_t i = 0; i < n; i++)
                to[i] = shifted[r * wide + i] - log_total;
        }
    }
    if (!direct)
        STORE(s->out_dtype, mode == SOFTMAX_SUM_LOG ? rows : rows * n, result, out, out_size);
}

/* A row longer than a block: maximum, then the sum of exponentials, then the results block by block. The exponentials
 * wait for their factor in the output when that is of this type, else in a buffer, else they are computed twice. */
static void NAME(long_row)(enum softmax_mode mode, const struct softmax_shape *s, const char *in, char *out)
{
    enum { KEPT = 8 };
    T buffer[BLOCK], e[KEPT][BLOCK], loaded[KEPT / 2][BLOCK], most = -(T)INFINITY;
    int64_t n = s->n, size = (int64_t)dtype_size(s->dtype), out_size = (int64_t)dtype_size(s->out_dtype);
    bool direct = mode == SOFTMAX && DIRECT(s->out_dtype), kept = n <= KEPT * BLOCK;
    bool once = kept && n <= KEPT / 2 * BLOCK; /* conversions of the input */
    const T *read[KEPT / 2];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        const T *x = BLOCK_OF(s->dtype, m, in + i * size, size, once ? loaded[i / BLOCK] : buffer);
        if (once)
            read[i / BLOCK] = x;
        T part = NAME(max_of)(m, x);
        most = part > most ? part : most;
    }
    most = NAME(shift_of)(mode, most);
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        T *to = direct ? (T *)out + i : e[kept ? i / BLOCK : 0];
        const T *x = once ? read[i / BLOCK] : BLOCK_OF(s->dtype, m, in + i * size, size, buffer);
        NAME(exps)(m, x, most, to);
        total += NAME(sum_of)(m, to);
    }
    T factor = (T)(1 / total), log_total = LOG((T)total);
    if (mode == SOFTMAX_SUM_LOG) {
        most += log_total;
        STORE(s->out_dtype, 1, &most, out, out_size);
        return;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        T *to = direct ? (T *)out + i : e[kept ? i / BLOCK : 0];
        const T *x = mode == SOFTMAX && (direct || kept) ? NULL
                     : once                              ? read[i / BLOCK]
                                                         : BLOCK_OF(s->dtype, m, in + i * size, size, buffer);
        if (mode == SOFTMAX) {
            if (!direct && !kept)
                NAME(exps)(m, x, most, to);
            for (int64_t j = 0; j < m; j++)
                to[j] *= factor;
        } else {
            for (int64_t j = 0; j < m; j++)
                to[j] = (x[j] - most) - log_total;
        }
        if (!direct)
            STORE(s->out_dtype, m, to, out + i * out_size, out_size);
    }
}

static void NAME(rows)(enum softmax_mode mode, const struct softmax_shape *s, int64_t rows, const char *in, char *out)
{
    int64_t n = s->n, step = n * (int64_t)dtype_size(s->dtype);
    int64_t out_step = (mode == SOFTMAX_SUM_LOG ? 1 : n) * (int64_t)dtype_size(s->out_dtype);
    int64_t most = n <= BLOCK ? BLOCK / NAME(padded)(n) : 1;
    for (int64_t m; rows > 0; rows -= m, in += m * step, out += m * out_step) {
        m = rows < most ? rows : most;
        if (n <= BLOCK)
            NAME(short_rows)(mode, s, m, in, out);
        else
            NAME(long_row)(mode, s, in, out);
    }
}

/* Narrow rows that lie side by side are loaded several at a time. */
BLOCK_INLINE int64_t NAME(group)(const struct softmax_shape *s, int64_t cols, int64_t i)
{
    int64_t most = cols == s->inner ? BLOCK / cols : 1;
    return s->n - i < most ? s->n - i : most;
}

static void NAME(columns)(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *in,
                          char *out)
{
    T buffer[BLOCK], e[BLOCK], most[BLOCK], part[BLOCK];
    double total[BLOCK];
    int64_t size = (int64_t)dtype_size(s->dtype), out_size = (int64_t)dtype_size(s->out_dtype);
    int64_t step = s->inner * size, out_step = s->inner * out_size;
    bool kept = mode == SOFTMAX && DIRECT(s->out_dtype) && step == out_step && in != out;
    for (int64_t j = 0; j < cols; j++)
        most[j] = -(T)INFINITY, part[j] = 0, total[j] = 0;
    for (int64_t i = 0, m; i < s->n; i += m) {
        m = NAME(group)(s, cols, i);
        const T *restrict x = BLOCK_OF(s->dtype, m * cols, in + i * step, size, buffer);
        for (int64_t r = 0; r < m; r++, x += cols)
            for (int64_t j = 0; j < cols; j++)
                most[j] = x[j] > most[j] ? x[j] : most[j];
    }
    for (int64_t j = 0; j < cols; j++)
        most[j] = NAME(shift_of)(mode, most[j]);
    for (int64_t i = 0, m; i < s->n; i += m) {
        m = NAME(group)(s, cols, i);
        const T *restrict x = BLOCK_OF(s->dtype, m * cols, in + i * step, size, buffer);
        T *restrict to = kept ? (T *)(out + i * out_step) : e;
        for (int64_t r = 0; r < m; r++, x += cols, to += kept ? cols : 0) {
            for (int64_t j = 0; j < cols; j++) {
                to[j] = EXP_NEG(x[j] - most[j]);
                part[j] += to[j];
            }
            if ((i + r) % 64 == 63 || i + r == s->n - 1)
                for (int64_t j = 0; j < cols; j++)
                    total[j] += part[j], part[j] = 0;
        }
    }
    for (int64_t j = 0; j < cols; j++)
        part[j] = mode == SOFTMAX ? (T)(1 / total[j]) : LOG((T)total[j]);
    if (mode == SOFTMAX_SUM_LOG) {
        for (int64_t j = 0; j < cols; j++)
            e[j] = most[j] + part[j];
        STORE(s->out_dtype, cols, e, out, out_size);
        return;
    }
    for (int64_t i = 0, m; i < s->n; i += m) {
        m = NAME(group)(s, cols, i);
        const T *restrict x = BLOCK_OF(s->dtype, m * cols, in + i * step, size, buffer);
        T *restrict to = DIRECT(s->out_dtype) ? (T *)(out + i * out_step) : e;
        for (int64_t r = 0; r < m; r++, x += cols, to += cols) {
            if (kept)
                for (int64_t j = 0; j < cols; j++)
                    to[j] *= part[j];
            else if (mode == SOFTMAX)
                for (int64_t j = 0; j < cols; j++)
                    to[j] = EXP_NEG(x[j] - most[j]) * part[j];
            else
                for (int64_t j = 0; j < cols; j++)
                    to[j] = (x[j] - most[j]) - part[j];
        }
        if (!DIRECT(s->out_dtype))
            STORE(s->out_dtype, m * cols, e, out + i * out_step, out_size);
    }
}

/* One block of a gradient. softmax: y (g − Σ g y); log-softmax: g − e^y Σ g. */
BLOCK_INLINE void NAME(gradient)(enum softmax_mode mode, int64_t n, const T *restrict g, const T *restrict y, T sum,
                                 T *restrict out)
{
    if (mode == SOFTMAX)
        for (int64_t i = 0; i < n; i++)
            out[i] = (g[i] - sum) * y[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = g[i] - EXP(y[i]) * sum;
}

static void NAME(grad_rows)(enum softmax_mode mode, const struct softmax_shape *s, int64_t rows, const char *grad,
                            const char *y, char *out)
{
    enum { AT_ONCE = 4 * BLOCK }; /* elements of rows that are converted once */
    T buffer[AT_ONCE], buffer2[AT_ONCE], done[AT_ONCE];
    int64_t n = s->n, size = (int64_t)dtype_size(s->dtype), grad_size = (int64_t)dtype_size(s->grad_dtype);
    int64_t out_size = (int64_t)dtype_size(s->out_dtype), most = n <= AT_ONCE ? AT_ONCE / n : 1;
    bool direct = DIRECT(s->out_dtype);
    for (int64_t m; rows > 0; rows -= m, grad += m * n * grad_size, y += m * n * size, out += m * n * out_size) {
        m = rows < most ? rows : most;
        if (n <= AT_ONCE) {
            const T *g = BLOCK_OF(s->grad_dtype, m * n, grad, grad_size, buffer);
            const T *v = BLOCK_OF(s->dtype, m * n, y, size, buffer2);
            T *to = direct ? (T *)out : done;
            for (int64_t r = 0; r < m * n; r += n) {
                T sum = mode == SOFTMAX ? NAME(dot_of)(n, g + r, v + r) : NAME(sum_of)(n, g + r);
                NAME(gradient)(mode, n, g + r, v + r, sum, to + r);
            }
            if (!direct)
                STORE(s->out_dtype, m * n, done, out, out_size);
            continue;
        }
        double sum = 0;
        for (int64_t i = 0; i < n; i += BLOCK) {
            int64_t k = n - i < BLOCK ? n - i : BLOCK;
            const T *g = BLOCK_OF(s->grad_dtype, k, grad + i * grad_size, grad_size, buffer);
            if (mode == SOFTMAX)
                sum += NAME(dot_of)(k, g, BLOCK_OF(s->dtype, k, y + i * size, size, buffer2));
            else
                sum += NAME(sum_of)(k, g);
        }
        for (int64_t i = 0; i < n; i += BLOCK) {
            int64_t k = n - i < BLOCK ? n - i : BLOCK;
            const T *g = BLOCK_OF(s->grad_dtype, k, grad + i * grad_size, grad_size, buffer);
            const T *v = BLOCK_OF(s->dtype, k, y + i * size, size, buffer2);
            NAME(gradient)(mode, k, g, v, (T)sum, direct ? (T *)out + i : done);
            if (!direct)
                STORE(s->out_dtype, k, done, out + i * out_size, out_size);
        }
    }
}

static void NAME(grad_columns)(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *grad,
                               const char *y, char *out)
{
    T buffer[BLOCK], buffer2[BLOCK], done[BLOCK], part[BLOCK];
    double total[BLOCK];
    int64_t size = (int64_t)dtype_size(s->dtype), grad_size = (int64_t)dtype_size(s->grad_dtype);
    int64_t out_size = (int64_t)dtype_size(s->out_dtype);
    for (int64_t j = 0; j < cols; j++)
        part[j] = 0, total[j] = 0;
    for (int64_t i = 0, m; i < s->n; i += m) {
        m = NAME(group)(s, cols, i);
        const T *restrict g = BLOCK_OF(s->grad_dtype, m * cols, grad + i * s->inner * grad_size, grad_size, buffer);
        const T *restrict v = BLOCK_OF(s->dtype, m * cols, y + i * s->inner * size, size, buffer2);
        for (int64_t r = 0; r < m; r++, g += cols, v += cols) {
            for (int64_t j = 0; j < cols; j++)
                part[j] += mode == SOFTMAX ? g[j] * v[j] : g[j];
            if ((i + r) % 64 == 63 || i + r == s->n - 1)
                for (int64_t j = 0; j < cols; j++)
                    total[j] += part[j], part[j] = 0;
        }
    }
    for (int64_t j = 0; j < cols; j++)
        part[j] = (T)total[j];
    for (int64_t i = 0, m; i < s->n; i += m) {
        m = NAME(group)(s, cols, i);
        const T *restrict g = BLOCK_OF(s->grad_dtype, m * cols, grad + i * s->inner * grad_size, grad_size, buffer);
        const T *restrict v = BLOCK_OF(s->dtype, m * cols, y + i * s->inner * size, size, buffer2);
        T *restrict to = DIRECT(s->out_dtype) ? (T *)(out + i * s->inner * out_size) : done;
        for (int64_t r = 0; r < m; r++, g += cols, v += cols, to += cols) {
            if (mode == SOFTMAX)
                for (int64_t j = 0; j < cols; j++)
                    to[j] = (g[j] - part[j]) * v[j];
            else
                for (int64_t j = 0; j < cols; j++)
                    to[j] = g[j] - EXP(v[j]) * part[j];
        }
        if (!DIRECT(s->out_dtype))
            STORE(s->out_dtype, m * cols, done, out + i * s->inner * out_size, out_size);
    }
}

#undef T
#undef NAME
#undef EXP
#undef EXP_NEG
#undef LOG
#undef BLOCK_OF
#undef STORE
#undef DIRECT

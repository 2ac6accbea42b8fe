/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans in one compute type; kernels/scan.c includes this for double and int64_t, with T, BITS (T, or the unsigned type
 * that wraps), NAME(x), IS_NAN(x), LOAD and STORE defined; undefines them. */

BLOCK_INLINE T NAME(join)(enum scan_op op, T a, T x)
{
    return op == SCAN_PROD ? (T)((BITS)a * (BITS)x) : (T)((BITS)a + (BITS)x);
}

/* Does x, which comes later, take over from the extreme a? */
BLOCK_INLINE bool NAME(takes)(enum scan_op op, T a, T x)
{
    return IS_NAN(x) | ((!IS_NAN(a)) & (op == SCAN_MAX ? x >= a : x <= a));
}

BLOCK_INLINE void NAME(run_row)(enum scan_op op, const struct scan_param *p, int64_t n, const char *in, int64_t step,
                                char *out, int64_t out_step, char *index, int64_t index_step, T *carry)
{
    T x[BLOCK], y[BLOCK], a = *carry;
    int64_t at[BLOCK], best = 0;
    bool extreme = op == SCAN_MAX || op == SCAN_MIN;
    for (int64_t i = 0, m; i < n; i += m, in += m * step, out += m * out_step) {
        m = n - i < BLOCK ? n - i : BLOCK;
        LOAD(p->dtype, m, in, step, x);
        if (extreme) {
            for (int64_t k = 0; k < m; k++) {
                bool take = (i + k == 0) | NAME(takes)(op, a, x[k]);
                a = take ? x[k] : a;
                best = take ? i + k : best;
                y[k] = a;
                at[k] = best;
            }
            if (index) {
                store_i64(p->index_dtype, m, at, index, index_step);
                index += m * index_step;
            }
        } else {
            for (int64_t k = 0; k < m; k++) {
                T before = a;
                a = NAME(join)(op, a, x[k]);
                y[k] = p->exclusive ? before : a;
            }
        }
        STORE(p->out_dtype, m, y, out, out_step);
    }
    *carry = a;
}

static void NAME(row)(const struct scan_param *p, int64_t n, const char *in, int64_t step, char *out, int64_t out_step,
                      char *index, int64_t index_step, T *carry)
{
    switch (p->op) {
    case SCAN_SUM:
        NAME(run_row)(SCAN_SUM, p, n, in, step, out, out_step, NULL, 0, carry);
        break;
    case SCAN_PROD:
        NAME(run_row)(SCAN_PROD, p, n, in, step, out, out_step, NULL, 0, carry);
        break;
    case SCAN_MAX:
        NAME(run_row)(SCAN_MAX, p, n, in, step, out, out_step, index, index_step, carry);
        break;
    case SCAN_MIN:
        NAME(run_row)(SCAN_MIN, p, n, in, step, out, out_step, index, index_step, carry);
        break;
    }
}

BLOCK_INLINE void NAME(run_columns)(enum scan_op op, const struct scan_param *p, int64_t n, int64_t cols,
                                    const char *in, int64_t row_step, char *out, int64_t out_row_step, char *index,
                                    int64_t index_row_step)
{
    T x[BLOCK], a[BLOCK], before[BLOCK];
    int64_t at[BLOCK];
    bool extreme = op == SCAN_MAX || op == SCAN_MIN;
    int64_t size = (int64_t)dtype_size(p->dtype), out_size = (int64_t)dtype_size(p->out_dtype);
    for (int64_t j = 0; j < cols; j++)
        a[j] = op == SCAN_PROD, at[j] = 0;
    for (int64_t i = 0; i < n; i++, in += row_step, out += out_row_step) {
        LOAD(p->dtype, cols, in, size, x);
        if (extreme) {
            for (int64_t j = 0; j < cols; j++) {
                bool take = (i == 0) | NAME(takes)(op, a[j], x[j]);
                a[j] = take ? x[j] : a[j];
                at[j] = take ? i : at[j];
            }
            if (index) {
                store_i64(p->index_dtype, cols, at, index, (int64_t)dtype_size(p->index_dtype));
                index += index_row_step;
            }
        } else {
            for (int64_t j = 0; j < cols; j++) {
                before[j] = a[j];
                a[j] = NAME(join)(op, a[j], x[j]);
            }
        }
        STORE(p->out_dtype, cols, p->exclusive ? before : a, out, out_size);
    }
}

static void NAME(columns)(const struct scan_param *p, int64_t n, int64_t cols, const char *in, int64_t row_step,
                          char *out, int64_t out_row_step, char *index, int64_t index_row_step)
{
    switch (p->op) {
    case SCAN_SUM:
        NAME(run_columns)(SCAN_SUM, p, n, cols, in, row_step, out, out_row_step, NULL, 0);
        break;
    case SCAN_PROD:
        NAME(run_columns)(SCAN_PROD, p, n, cols, in, row_step, out, out_row_step, NULL, 0);
        break;
    case SCAN_MAX:
        NAME(run_columns)(SCAN_MAX, p, n, cols, in, row_step, out, out_row_step, index, index_row_step);
        break;
    case SCAN_MIN:
        NAME(run_columns)(SCAN_MIN, p, n, cols, in, row_step, out, out_row_step, index, index_row_step);
        break;
    }
}

static T NAME(total)(const struct scan_param *p, int64_t n, const char *in, int64_t step)
{
    T x[BLOCK], a = p->op == SCAN_PROD;
    for (int64_t m; n > 0; n -= m, in += m * step) {
        m = n < BLOCK ? n : BLOCK;
        LOAD(p->dtype, m, in, step, x);
        for (int64_t k = 0; k < m; k++)
            a = NAME(join)(p->op, a, x[k]);
    }
    return a;
}

#undef T
#undef BITS
#undef NAME
#undef IS_NAN
#undef LOAD
#undef STORE

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix times vector for one element type, included by matmul.c with
 *   E: the matrix's element;  T: what sums;  NAME(x): names, of which NAME(load) and NAME(one) convert;  V, v_…, s_fma
 */

/* Sums of fma in 256 / sizeof(T) lanes, added pairwise. */
static T NAME(dot)(const E *a, const T *x, int64_t k)
{
    enum { WIDE = 256 / sizeof(T), VECS = WIDE / LANES };
    V sum[VECS];
    for (int j = 0; j < VECS; j++)
        sum[j] = v_set1((T)0);
    int64_t p = 0;
    for (; p + WIDE <= k; p += WIDE)
#pragma GCC unroll 16
        for (int j = 0; j < VECS; j++)
            sum[j] = v_fma(NAME(load)(a + p + j * LANES), v_load(x + p + j * LANES), sum[j]);
    T lane[WIDE];
    for (int j = 0; j < VECS; j++)
        v_store(lane + j * LANES, sum[j]);
    for (int j = 0; p + j < k; j++)
        lane[j] = s_fma(NAME(one)(a + p + j), x[p + j], lane[j]);
    for (int half = WIDE / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

/* Up to GEMV_ROWS rows at a time, columns in order. */
static void NAME(columns)(const struct gemv *v, int64_t begin, int rows, T *sum)
{
    const E *a = (const E *)v->a + begin * v->rs;
    const T *x = v->x;
    for (int i = 0; i < rows; i++)
        sum[i] = 0;
    if (v->rs == 1)
        for (int64_t p = 0; p < v->k; p += COLUMNS_AT_ONCE) {
            int i = 0, n = v->k - p < COLUMNS_AT_ONCE ? (int)(v->k - p) : COLUMNS_AT_ONCE;
            for (; n == COLUMNS_AT_ONCE && i + LANES <= rows; i += LANES) {
                V s = v_load(sum + i);
#pragma GCC unroll 8
                for (int c = 0; c < COLUMNS_AT_ONCE; c++)
                    s = v_fma(NAME(load)(a + (p + c) * v->cs + i), v_set1(x[p + c]), s);
                v_store(sum + i, s);
            }
            for (; i < rows; i++)
                for (int c = 0; c < n; c++)
                    sum[i] = s_fma(NAME(one)(a + (p + c) * v->cs + i), x[p + c], sum[i]);
        }
    else
        for (int i = 0; i < rows; i++)
            for (int64_t p = 0; p < v->k; p++)
                sum[i] = s_fma(NAME(one)(a + i * v->rs + p * v->cs), x[p], sum[i]);
}

static void NAME(gemv)(const struct gemv *v)
{
    T sum[GEMV_ROWS], alpha = (T)v->alpha, beta = (T)v->beta;
    for (int64_t begin = 0; begin < v->m; begin += GEMV_ROWS) {
        int rows = (int)(v->m - begin < GEMV_ROWS ? v->m - begin : GEMV_ROWS);
        if (v->cs == 1)
            for (int i = 0; i < rows; i++)
                sum[i] = NAME(dot)((const E *)v->a + (begin + i) * v->rs, v->x, v->k);
        else
            NAME(columns)(v, begin, rows, sum);
        for (int i = 0; i < rows; i++) {
            T y = alpha * sum[i];
            if (beta != 0)
                y += beta * ((const T *)v->yin)[(begin + i) * v->yins];
            ((T *)v->y)[(begin + i) * v->ys] = y;
        }
    }
}

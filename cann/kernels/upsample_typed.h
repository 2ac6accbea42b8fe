/* SPDX-License-Identifier: BSD-3-Clause */
/* Resampling of one type, included by upsample.c with  T (elements), A (sums), W (weights), BEGIN and END(sum), which
 * make a sum an element, and NAME(x). */

/* Neighbouring positions of one row of single elements. */
static void NAME(line)(const struct upsample_axis *a, const T *restrict x, T *restrict y, int64_t begin, int64_t end)
{
    const W *weight = a->weight;
    for (int64_t o = begin; o < end; o++) {
        A sum = BEGIN;
        for (int64_t k = a->first[o]; k < a->first[o + 1]; k++)
            sum += (A)weight[k] * (A)x[a->at[k]];
        y[o - begin] = (T)END(sum);
    }
}

/* One position: `inner` elements. */
static void NAME(row)(const struct upsample_axis *a, const T *restrict x, T *restrict y, int64_t inner, int64_t o)
{
    const W *weight = a->weight;
    A sum[PIECE];
    for (int64_t j = 0; j < inner; j += PIECE) {
        int64_t n = inner - j < PIECE ? inner - j : PIECE;
        for (int64_t i = 0; i < n; i++)
            sum[i] = BEGIN;
        for (int64_t k = a->first[o]; k < a->first[o + 1]; k++) {
            const T *from = x + a->at[k] * inner + j;
            A w = (A)weight[k];
            for (int64_t i = 0; i < n; i++)
                sum[i] += w * (A)from[i];
        }
        for (int64_t i = 0; i < n; i++)
            y[j + i] = (T)END(sum[i]);
    }
}

static void NAME(axis)(const struct upsample_axis *a, const T *x, T *y, int64_t inner, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end;) {
        int64_t outer = r / a->out, o = r % a->out, n = inner == 1 ? a->out - o : 1;
        n = n < end - r ? n : end - r;
        if (inner == 1)
            NAME(line)(a, x + outer * a->in, y + r, o, o + n);
        else
            NAME(row)(a, x + outer * a->in * inner, y + r * inner, inner, o);
        r += n;
    }
}

#undef T
#undef A
#undef W
#undef BEGIN
#undef END
#undef NAME

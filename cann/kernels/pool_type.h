/* SPDX-License-Identifier: BSD-3-Clause */
/* Maximum of one type, included by pool.c with  T, NAME(x), LOWEST  and IS_NAN(v). A row of outputs is kept in `best`
 * and `at` while the taps are gone through one by one, each for the whole row: neighbours are compared together. */

static inline __attribute__((always_inline)) void
NAME(tap)(const T *restrict row, int32_t first, int64_t n, const int64_t stride, T *restrict best, int32_t *restrict at)
{
    for (int64_t o = 0; o < n; o++) {
        T v = row[o * stride];
        int take = (v > best[o]) | IS_NAN(v);
        best[o] = take ? v : best[o];
        at[o] = take ? first + (int32_t)(o * stride) : at[o];
    }
}

/* Outputs [begin, begin + n) of the row with these depth and height windows. */
static void NAME(max_piece)(const struct pool *p, const T *x, struct pool_window d, struct pool_window h, int64_t begin,
                            int64_t n, T *best, int32_t *at)
{
    int64_t height = p->in[1], width = p->in[2];
    const struct pool_window *w = p->window[2] + begin;
    for (int64_t o = 0; o < n; o++) {
        best[o] = LOWEST;
        at[o] = (int32_t)((d.from * height + h.from) * width + w[o].from);
    }
    for (int64_t i = 0; i < (int64_t)d.count * h.count; i++) {
        int64_t z = d.from + i / h.count * p->dilation[0], y = h.from + i % h.count * p->dilation[1];
        int64_t start = (z * height + y) * width;
        if (!p->even) {
            for (int64_t o = 0; o < n; o++)
                for (int64_t k = 0; k < w[o].count; k++)
                    NAME(tap)
            (x + start + w[o].from + k * p->dilation[2], (int32_t)(start + w[o].from + k * p->dilation[2]), 1, 1,
             best + o, at + o);
            continue;
        }
        for (int64_t k = 0; k < p->kernel; k++) {
            int64_t low, high;
            int64_t from = even_range(p, k, begin, n, &low, &high);
            if (low >= high)
                continue;
            const T *row = x + start + from;
            int32_t first = (int32_t)(start + from);
            if (p->stride == 1)
                NAME(tap)(row, first, high - low, 1, best + low, at + low);
            else if (p->stride == 2)
                NAME(tap)(row, first, high - low, 2, best + low, at + low);
            else
                NAME(tap)(row, first, high - low, p->stride, best + low, at + low);
        }
    }
}

static void NAME(max)(const struct pool *p, const T *x, T *y, int32_t *index, int64_t begin, int64_t end)
{
    T best[PIECE];
    int32_t at[PIECE];
    for (int64_t r = begin; r < end; r++)
        for (int64_t o = 0; o < p->out[2]; o += PIECE) {
            int64_t n = p->out[2] - o < PIECE ? p->out[2] - o : PIECE, to = r * p->out[2] + o;
            NAME(max_piece)(p, x, p->window[0][r / p->out[1]], p->window[1][r % p->out[1]], o, n, best, at);
            memcpy(y + to, best, (size_t)n * sizeof(T));
            if (index)
                memcpy(index + to, at, (size_t)n * sizeof(int32_t));
        }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Averages and gradients of one floating type, included by pool.c with  T, NAME(x). Sums run over the taps in order. */

static inline __attribute__((always_inline)) void NAME(add_tap)(const T *restrict row, int64_t n, const int64_t stride,
                                                                T *restrict sum)
{
    for (int64_t o = 0; o < n; o++)
        sum[o] += row[o * stride];
}

static inline __attribute__((always_inline)) void NAME(give_tap)(T *restrict row, int64_t n, const int64_t stride,
                                                                 const T *restrict share)
{
    for (int64_t o = 0; o < n; o++)
        row[o * stride] += share[o];
}

static T NAME(divisor)(const struct pool *p, struct pool_window d, struct pool_window h, struct pool_window w)
{
    return p->divisor != 0 ? (T)p->divisor : (T)((int64_t)d.size * h.size * w.size);
}

/* sum[0…n) of the row's outputs from `begin`, or the same back: sum goes to the taps. */
static void NAME(average_piece)(const struct pool *p, T *x, struct pool_window d, struct pool_window h, int64_t begin,
                                int64_t n, T *sum, int back)
{
    const struct pool_window *w = p->window[2] + begin;
    for (int64_t i = 0; i < (int64_t)d.count * h.count; i++) {
        int64_t z = d.from + i / h.count * p->dilation[0], y = h.from + i % h.count * p->dilation[1];
        T *row = x + (z * p->in[1] + y) * p->in[2];
        if (!p->even) {
            for (int64_t o = 0; o < n; o++)
                for (int64_t k = 0; k < w[o].count; k++)
                    if (back)
                        row[w[o].from + k * p->dilation[2]] += sum[o];
                    else
                        sum[o] += row[w[o].from + k * p->dilation[2]];
            continue;
        }
        for (int64_t k = 0; k < p->kernel; k++) {
            int64_t low, high;
            int64_t from = even_range(p, k, begin, n, &low, &high);
            if (low >= high)
                continue;
            if (back && p->stride == 1)
                NAME(give_tap)(row + from, high - low, 1, sum + low);
            else if (back && p->stride == 2)
                NAME(give_tap)(row + from, high - low, 2, sum + low);
            else if (back)
                NAME(give_tap)(row + from, high - low, p->stride, sum + low);
            else if (p->stride == 1)
                NAME(add_tap)(row + from, high - low, 1, sum + low);
            else if (p->stride == 2)
                NAME(add_tap)(row + from, high - low, 2, sum + low);
            else
                NAME(add_tap)(row + from, high - low, p->stride, sum + low);
        }
    }
}

/* Windows of 2 × 2 side by side, the commonest ones: four outputs at a time of the two rows at x. */
typedef T NAME(four) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef T NAME(eight) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));

static void NAME(average_pairs)(const T *x, int64_t width, T *y, int64_t n, T divisor)
{
    int64_t o = 0;
    for (; o + 4 <= n; o += 4) {
        NAME(eight) a = *(const NAME(eight) *)(x + 2 * o), b = *(const NAME(eight) *)(x + width + 2 * o);
        NAME(four) sum = __builtin_shufflevector(a, a, 0, 2, 4, 6) + 0;
        sum += __builtin_shufflevector(a, a, 1, 3, 5, 7);
        sum += __builtin_shufflevector(b, b, 0, 2, 4, 6);
        sum += __builtin_shufflevector(b, b, 1, 3, 5, 7);
        *(NAME(four) *)(y + o) = sum / divisor;
    }
    for (; o < n; o++)
        y[o] = (0 + x[2 * o] + x[2 * o + 1] + x[width + 2 * o] + x[width + 2 * o + 1]) / divisor;
}

#ifndef FORWARD_ONLY
static void NAME(average_pairs_back)(const T *gy, int64_t n, T divisor, T *gx, int64_t width)
{
    int64_t o = 0;
    for (; o + 4 <= n; o += 4) {
        NAME(four) share = *(const NAME(four) *)(gy + o) / divisor;
        NAME(eight) twice = __builtin_shufflevector(share, share, 0, 0, 1, 1, 2, 2, 3, 3);
        *(NAME(eight) *)(gx + 2 * o) += twice;
        *(NAME(eight) *)(gx + width + 2 * o) += twice;
    }
    for (; o < n; o++) {
        T share = gy[o] / divisor;
        gx[2 * o] += share;
        gx[2 * o + 1] += share;
        gx[width + 2 * o] += share;
        gx[width + 2 * o + 1] += share;
    }
}

#endif

static void NAME(average)(const struct pool *p, const T *x, T *y, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; r++) {
        struct pool_window d = p->window[0][r / p->out[1]], h = p->window[1][r % p->out[1]];
        if (are_pairs(p, d, h)) {
            NAME(average_pairs)
            (x + (d.from * p->in[1] + h.from) * p->in[2], p->in[2], y + r * p->out[2], p->out[2],
             NAME(divisor)(p, d, h, p->window[2][0]));
            continue;
        }
        for (int64_t o = 0; o < p->out[2]; o += PIECE) {
            int64_t n = p->out[2] - o < PIECE ? p->out[2] - o : PIECE, to = r * p->out[2] + o;
            T *sum = y + to;
            memset(sum, 0, (size_t)n * sizeof(T));
            NAME(average_piece)(p, (T *)x, d, h, o, n, sum, 0);
            for (int64_t i = 0; i < n; i++)
                sum[i] /= NAME(divisor)(p, d, h, p->window[2][o + i]);
        }
    }
}

#ifndef FORWARD_ONLY
static void NAME(average_backward)(const struct pool *p, const T *gy, T *gx)
{
    T share[PIECE];
    for (int64_t r = 0; r < p->out[0] * p->out[1]; r++) {
        struct pool_window d = p->window[0][r / p->out[1]], h = p->window[1][r % p->out[1]];
        if (are_pairs(p, d, h)) {
            NAME(average_pairs_back)
            (gy + r * p->out[2], p->out[2], NAME(divisor)(p, d, h, p->window[2][0]),
             gx + (d.from * p->in[1] + h.from) * p->in[2], p->in[2]);
            continue;
        }
        for (int64_t o = 0; o < p->out[2]; o += PIECE) {
            int64_t n = p->out[2] - o < PIECE ? p->out[2] - o : PIECE, from = r * p->out[2] + o;
            for (int64_t i = 0; i < n; i++)
                share[i] = gy[from + i] / NAME(divisor)(p, d, h, p->window[2][o + i]);
            NAME(average_piece)(p, gx, d, h, o, n, share, 1);
        }
    }
}

static void NAME(max_backward)(const struct pool *p, const T *gy, const int32_t *index, T *gx)
{
    int64_t n = p->out[0] * p->out[1] * p->out[2], size = p->in[0] * p->in[1] * p->in[2];
    for (int64_t i = 0; i < n; i++)
        if (index[i] >= 0 && index[i] < size)
            gx[index[i]] += gy[i];
}
#endif

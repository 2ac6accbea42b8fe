/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution's kernels for one type, included by conv.c for float and double with
 *   T, NAME(x): the type and its names;  V, LANES, v_set1, v_fma, v_load, v_store: its vector */

static void NAME(pack)(void *panel, const void *planes, const int64_t *at, int64_t k, const struct conv_run *run,
                       int runs)
{
    T *to = panel;
    for (int64_t p = 0; p < k; p++, to += NV * LANES) {
        const T *from = (const T *)planes + at[p];
        for (int r = 0; r < runs; r++)
            for (int x = 0; x < run[r].count; x += LANES)
                v_store(to + run[r].to + x, v_load(from + run[r].from + x));
    }
}

static void NAME(pack_turned)(void *panel, const void *planes, const int64_t *at, int64_t n, const struct conv_run *run,
                              int runs)
{
    enum { WIDTH = NV * LANES };
    T *to = panel;
    int64_t j = 0;
    if (n < WIDTH && runs)
        memset(to, 0, (size_t)(run[runs - 1].to + run[runs - 1].count) * WIDTH * sizeof(T));
    for (; j + 8 <= n; j += 8) {
        const T *from[8];
        for (int i = 0; i < 8; i++)
            from[i] = (const T *)planes + at[j + i];
        for (int r = 0; r < runs; r++)
            for (int x = 0; x < run[r].count; x += 8)
                NAME(turn)(to + (run[r].to + x) * WIDTH + j, WIDTH, from, run[r].from + x);
    }
    for (; j < n; j++) {
        const T *from = (const T *)planes + at[j];
        for (int r = 0; r < runs; r++)
            for (int x = 0; x < run[r].count; x++)
                to[(run[r].to + x) * WIDTH + j] = from[run[r].from + x];
    }
}

static void NAME(row_of)(void *y, int64_t count, const void *planes, const int64_t *at, const void *weight,
                         int64_t taps, const void *bias)
{
    const T *w = weight, *from = planes;
    T first = bias ? *(const T *)bias : 0, *to = y, last[2 * LANES];
    for (int64_t x = 0; x < count; x += 2 * LANES) {
        V a = v_set1(first), b = a;
        for (int64_t t = 0; t < taps; t++) {
            V factor = v_set1(w[t]);
            a = v_fma(factor, v_load(from + at[t] + x), a);
            b = v_fma(factor, v_load(from + at[t] + x + LANES), b);
        }
        if (count - x >= 2 * LANES) {
            v_store(to + x, a);
            v_store(to + x + LANES, b);
        } else {
            v_store(last, a);
            v_store(last + LANES, b);
            memcpy(to + x, last, (size_t)(count - x) * sizeof(T));
        }
    }
}

enum { NAME(WIDE) = 64 / sizeof(T), NAME(VECS) = NAME(WIDE) / LANES };

static T NAME(lanes)(const V *sum)
{
    T lane[NAME(WIDE)];
    for (int j = 0; j < NAME(VECS); j++)
        v_store(lane + j * LANES, sum[j]);
    for (int half = NAME(WIDE) / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

static void NAME(dot)(void *sum, const void *y, const void *planes, int64_t rows, int64_t columns, int64_t pitch)
{
    const T *a = y, *b = planes;
    V s[NAME(VECS)];
    for (int j = 0; j < NAME(VECS); j++)
        s[j] = v_set1(0);
    for (int64_t r = 0; r < rows; r++, a += columns, b += pitch) {
        int64_t x = 0;
        for (; x + NAME(WIDE) <= columns; x += NAME(WIDE))
            for (int j = 0; j < NAME(VECS); j++)
                s[j] = v_fma(v_load(a + x + j * LANES), v_load(b + x + j * LANES), s[j]);
        if (x < columns) { /* zeros elsewhere change nothing */
            T left[NAME(WIDE)] = {0}, right[NAME(WIDE)] = {0};
            memcpy(left, a + x, (size_t)(columns - x) * sizeof(T));
            memcpy(right, b + x, (size_t)(columns - x) * sizeof(T));
            for (int j = 0; j < NAME(VECS); j++)
                s[j] = v_fma(v_load(left + j * LANES), v_load(right + j * LANES), s[j]);
        }
    }
    *(T *)sum += NAME(lanes)(s);
}

static void NAME(total)(void *sum, const void *y, int64_t n)
{
    const T *a = y;
    V s[NAME(VECS)], t[NAME(VECS)];
    for (int j = 0; j < NAME(VECS); j++)
        s[j] = t[j] = v_set1(0);
    int64_t x = 0;
    for (; x + 2 * NAME(WIDE) <= n; x += 2 * NAME(WIDE))
        for (int j = 0; j < NAME(VECS); j++) {
            s[j] += v_load(a + x + j * LANES);
            t[j] += v_load(a + x + NAME(WIDE) + j * LANES);
        }
    T all = NAME(lanes)(s) + NAME(lanes)(t), rest = 0;
    for (; x < n; x++)
        rest += a[x];
    *(T *)sum = all + rest;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution's kernels for one type, included by conv.c for float and double with
 *   T, NAME(x): the type and its names;  V, LANES, v_set1, v_fma, v_load, v_store: its vector */

/* Every run is copied as `vecs` whole vectors: what is too much is overwritten by the next run or the next tap. */
static inline __attribute__((always_inline)) void NAME(pack_runs)(T *to, const T *planes, const int64_t *at, int64_t k,
                                                                  const struct conv_run *run, const int runs,
                                                                  const int vecs)
{
    for (int64_t p = 0; p < k; p++, to += NV * LANES)
        for (int r = 0; r < runs; r++) {
            const T *from = planes + at[p] + run[r].from;
            v_store(to + run[r].to, v_load(from));
            if (vecs > 1)
                v_store(to + run[r].to + LANES, v_load(from + LANES));
        }
}

static void NAME(pack)(void *panel, const void *planes, const int64_t *at, int64_t k, const struct conv_run *run,
                       int runs)
{
    int longest = 0;
    for (int r = 0; r < runs; r++)
        longest = run[r].count > longest ? run[r].count : longest;
    if (runs == 1 && longest > LANES)
        NAME(pack_runs)(panel, planes, at, k, run, 1, 2);
    else if (runs == 2 && longest > LANES)
        NAME(pack_runs)(panel, planes, at, k, run, 2, 2);
    else if (longest > LANES)
        NAME(pack_runs)(panel, planes, at, k, run, runs, 2);
    else if (runs == 2)
        NAME(pack_runs)(panel, planes, at, k, run, 2, 1);
    else if (runs == 3)
        NAME(pack_runs)(panel, planes, at, k, run, 3, 1);
    else if (runs == 4)
        NAME(pack_runs)(panel, planes, at, k, run, 4, 1);
    else if (runs == 5)
        NAME(pack_runs)(panel, planes, at, k, run, 5, 1);
    else
        NAME(pack_runs)(panel, planes, at, k, run, runs, 1);
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

/* Two vectors of each row at a time. */
static inline __attribute__((always_inline)) void NAME(rows_of)(const struct conv_row *row, const int n, int64_t count,
                                                                const int64_t *at, int64_t taps)
{
    const T *from0 = row[0].planes, *from1 = row[n > 1].planes, *from2 = row[n > 2 ? 2 : 0].planes,
            *from3 = row[n > 3 ? 3 : 0].planes;
    const T *weight0 = row[0].weight, *weight1 = row[n > 1].weight, *weight2 = row[n > 2 ? 2 : 0].weight,
            *weight3 = row[n > 3 ? 3 : 0].weight;
    V zero = v_set1(0);
    for (int64_t x = 0; x < count; x += 2 * LANES) {
        V a0 = zero, b0 = zero, a1 = zero, b1 = zero, a2 = zero, b2 = zero, a3 = zero, b3 = zero;
        for (int64_t t = 0; t < taps; t++) {
            int64_t i = at[t] + x;
            V factor = v_set1(weight0[t]);
            a0 = v_fma(factor, v_load(from0 + i), a0);
            b0 = v_fma(factor, v_load(from0 + i + LANES), b0);
            if (n > 1) {
                factor = v_set1(weight1[t]);
                a1 = v_fma(factor, v_load(from1 + i), a1);
                b1 = v_fma(factor, v_load(from1 + i + LANES), b1);
            }
            if (n > 2) {
                factor = v_set1(weight2[t]);
                a2 = v_fma(factor, v_load(from2 + i), a2);
                b2 = v_fma(factor, v_load(from2 + i + LANES), b2);
            }
            if (n > 3) {
                factor = v_set1(weight3[t]);
                a3 = v_fma(factor, v_load(from3 + i), a3);
                b3 = v_fma(factor, v_load(from3 + i + LANES), b3);
            }
        }
        T sum[CONV_ROWS][2 * LANES];
        v_store(sum[0], a0);
        v_store(sum[0] + LANES, b0);
        v_store(sum[1], a1);
        v_store(sum[1] + LANES, b1);
        v_store(sum[2], a2);
        v_store(sum[2] + LANES, b2);
        v_store(sum[3], a3);
        v_store(sum[3] + LANES, b3);
        int64_t here = count - x < 2 * LANES ? count - x : 2 * LANES;
        for (int i = 0; i < n; i++) {
            T bias = row[i].bias ? *(const T *)row[i].bias : 0, *y = (T *)row[i].y + x;
            for (int64_t j = 0; j < here; j++)
                y[j] = sum[i][j] + bias;
        }
    }
}

static void NAME(rows)(const struct conv_row *row, int n, int64_t count, const int64_t *at, int64_t taps)
{
    if (n == 4)
        NAME(rows_of)(row, 4, count, at, taps);
    else if (n == 3)
        NAME(rows_of)(row, 3, count, at, taps);
    else if (n == 2)
        NAME(rows_of)(row, 2, count, at, taps);
    else
        NAME(rows_of)(row, 1, count, at, taps);
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

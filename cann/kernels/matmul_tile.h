/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocked product of one element type, included by matmul.c once for float and once for double with
 *   T, NAME(x): the type and its names;  V, LANES, v_set1, v_fma, v_load, v_store: its vector
 * A tile is at most MR rows by NV vectors of sums held in registers. */

struct NAME(tile) {
    int64_t k, a_rs, a_cs, b_rs;
    const T *a, *b, *cin;
    T *c;
    int64_t cin_rs, cin_cs, c_rs;
    T alpha, beta;
};

/* c = alpha sum + beta cin for a tile's sums, rows of NV vectors. */
static __attribute__((noinline)) void NAME(tile_store)(const struct NAME(tile) * t, int rows, int columns, const T *sum)
{
    V alpha = v_set1(t->alpha), beta = v_set1(t->beta);
    for (int i = 0; i < rows; i++, sum += NV * LANES) {
        T *c = t->c + i * t->c_rs;
        const T *cin = t->cin + i * t->cin_rs;
        int j = 0;
        if (t->beta == 0)
            for (; j + LANES <= columns; j += LANES)
                v_store(c + j, alpha * v_load(sum + j));
        else if (t->cin_cs == 1)
            for (; j + LANES <= columns; j += LANES)
                v_store(c + j, alpha * v_load(sum + j) + beta * v_load(cin + j));
        else if (t->cin_cs == 0)
            for (; j + LANES <= columns; j += LANES)
                v_store(c + j, alpha * v_load(sum + j) + beta * v_set1(*cin));
        for (; j < columns; j++) {
            T x = t->alpha * sum[j];
            c[j] = t->beta == 0 ? x : x + t->beta * cin[j * t->cin_cs];
        }
    }
}

/* rows and vecs are constants at every call. The sums are variables of their own, s0 t0 to s11 t11, because gcc copies
 * an array of vectors back and forth. */
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define ROW_ZERO(i) V s##i = v_set1((T)0), t##i = s##i;
#define ROW_FMA(i)                                                                                                     \
    if (i < rows) {                                                                                                    \
        V left = v_set1(a[i * a_rs]);                                                                                  \
        s##i = v_fma(left, first, s##i);                                                                               \
        if (vecs > 1)                                                                                                  \
            t##i = v_fma(left, second, t##i);                                                                          \
    }
#define ROW_STORE(i)                                                                                                   \
    if (i < rows) {                                                                                                    \
        v_store(sum + i * NV * LANES, s##i);                                                                           \
        if (vecs > 1)                                                                                                  \
            v_store(sum + (i * NV + 1) * LANES, t##i);                                                                 \
    }

static inline __attribute__((always_inline)) void NAME(tile_run)(const struct NAME(tile) * t, const int rows,
                                                                 const int vecs, int columns)
{
    const T *a = t->a, *b = t->b;
    const int64_t a_rs = t->a_rs, a_cs = t->a_cs, b_rs = t->b_rs;
    EACH_ROW(ROW_ZERO)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vecs; j++)
            __builtin_prefetch(t->c + i * t->c_rs + j * LANES, 1);
    for (int64_t p = t->k; p > 0; p--) {
        V first = v_load(b), second = first;
        if (vecs > 1)
            second = v_load(b + LANES);
        EACH_ROW(ROW_FMA)
        a += a_cs;
        b += b_rs;
    }
    T sum[MR * NV * LANES];
    EACH_ROW(ROW_STORE)
    NAME(tile_store)(t, rows, columns, sum);
}
#undef EACH_ROW
#undef ROW_ZERO
#undef ROW_FMA
#undef ROW_STORE

static void NAME(tile_any)(const struct NAME(tile) * t, int rows, int columns)
{
    switch (rows * 2 + (columns > LANES)) {
#define ROWS(r)                                                                                                        \
    case r * 2:                                                                                                        \
        NAME(tile_run)(t, r, 1, columns);                                                                              \
        break;                                                                                                         \
    case r * 2 + 1:                                                                                                    \
        NAME(tile_run)(t, r, 2, columns);                                                                              \
        break
        ROWS(1);
        ROWS(2);
        ROWS(3);
        ROWS(4);
#if MR > 4
        ROWS(5);
        ROWS(6);
#endif
#if MR > 6
        ROWS(7);
        ROWS(8);
        ROWS(9);
        ROWS(10);
        ROWS(11);
        ROWS(12);
#endif
#undef ROWS
    }
}

/* Panel by panel of b, which stays in the first cache; a comes from the second. */
static void NAME(block)(const struct gemm_block *g)
{
    const int nr = NV * LANES;
    struct NAME(tile) t = {.k = g->k,
                           .a_rs = g->a_rs,
                           .a_cs = g->a_cs,
                           .b_rs = g->b_rs ? g->b_rs : nr,
                           .cin_rs = g->cin_rs,
                           .cin_cs = g->cin_cs,
                           .c_rs = g->c_rs,
                           .alpha = (T)g->alpha,
                           .beta = (T)g->beta};
    for (int64_t j = 0; j < g->n; j += nr) {
        int columns = (int)(g->n - j < nr ? g->n - j : nr);
        t.b = (const T *)g->b + (g->b_rs ? j : j * g->k);
        for (int64_t i = 0; i < g->m; i += MR) {
            int rows = (int)(g->m - i < MR ? g->m - i : MR);
            t.a = (const T *)g->a + i * g->a_rs;
            t.c = (T *)g->c + i * g->c_rs + j;
            t.cin = g->cin ? (const T *)g->cin + i * g->cin_rs + j * g->cin_cs : NULL;
            NAME(tile_any)(&t, rows, columns);
        }
    }
}

static void NAME(pack)(void *panels, const void *b, int64_t rs, int64_t cs, int64_t k, int64_t n)
{
    enum { WIDTH = NV * LANES };
    T *to = panels;
    const T *from = b;
    for (int64_t j = 0; j < n; j += WIDTH, from += WIDTH * cs, to += WIDTH * k) {
        int columns = (int)(n - j < WIDTH ? n - j : WIDTH);
        if (columns < WIDTH)
            memset(to, 0, (size_t)(WIDTH * k) * sizeof(T));
        if (cs == 1 && columns == WIDTH)
            for (int64_t p = 0; p < k; p++)
                memcpy(to + p * WIDTH, from + p * rs, WIDTH * sizeof(T));
        else if (rs == 1)
            NAME(turn)(to, from, cs, columns, k, WIDTH);
        else
            for (int64_t p = 0; p < k; p++)
                for (int i = 0; i < columns; i++)
                    to[p * WIDTH + i] = from[i * cs + p * rs];
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocked product of one element type, included by matmul.c once a way to multiply with
 *   NAME(x), TILE: names, and attributes of functions;  T: what sums;  V, LANES, v_set1, v_load, v_store: its vector
 *   E, UNIT: type of the factors' elements, and how many adjacent ones along k are multiplied at once
 *   v_half, where there is one: stores a vector of float as bf16
 *   VE, e_set1, e_load, v_fma: LANES such units: one repeated, adjacent ones, multiplied and added
 * A tile is at most MR rows by NV vectors of sums held in registers. */

struct NAME(tile) {
    int64_t k, a_rs, a_cs, b_rs; /* k in units, b_rs from unit to unit */
    const E *a, *b;
    const T *cin;
    char *c;
    int64_t cin_rs, cin_cs, c_rs, c_size; /* c_size: bytes of an element of c */
    T alpha, beta;
    aclDataType c_half; /* 0: c is of type T */
    bool swapped;       /* the second of two elements along k is added first */
    enum tile_way way;
};

/* c = alpha sum + beta cin for a tile's sums, rows of NV vectors. */
TILE __attribute__((noinline)) void NAME(tile_store)(const struct NAME(tile) * t, int rows, int columns, const T *sum)
{
    V alpha = v_set1(t->alpha), beta = v_set1(t->beta);
    T row[NV * LANES];
    for (int i = 0; i < rows; i++, sum += NV * LANES) {
        char *at = t->c + i * t->c_rs * t->c_size;
        T *c = t->c_half ? row : (T *)(void *)at;
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
        if (t->c_half)
            half_store(t->c_half, columns, (uint16_t *)(void *)at, (const float *)(const void *)row);
    }
}

/* rows and vecs are constants at every call. The sums are variables of their own, s0 t0 to s11 t11, because gcc copies
 * an array of vectors back and forth. */
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define ROW_ZERO(i) V s##i = v_set1((T)0), t##i = s##i;
#define ROW_FMA(i)                                                                                                     \
    if (i < rows) {                                                                                                    \
        VE left = e_set1(a + i * a_rs);                                                                                \
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

/* The same straight from the registers to c, where nothing but sums of whole vectors goes there. */
#define EACH_VECTOR(i, keep)                                                                                           \
    if (i < rows) {                                                                                                    \
        keep(c, s##i);                                                                                                 \
        if (vecs > 1)                                                                                                  \
            keep(c + LANES, t##i);                                                                                     \
        c += t->c_rs;                                                                                                  \
    }
#define ADD_VECTOR(at, v) v_store(at, v + v_load(at))
#define ROW_KEEP(i)       EACH_VECTOR(i, v_store)
#define ROW_ADD(i)        EACH_VECTOR(i, ADD_VECTOR)
#define ROW_HALF(i)       EACH_VECTOR(i, v_half)

TILE inline __attribute__((always_inline)) void NAME(tile_run)(const struct NAME(tile) * t, const int rows,
                                                               const int vecs, int columns)
{
    const E *a = t->a, *b = t->b;
    const int64_t a_rs = t->a_rs;
    int64_t a_step = t->a_cs, b_step = t->b_rs, a_other = 0, b_other = 0; /* other: the next step's bits that differ */
    EACH_ROW(ROW_ZERO)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vecs; j++)
            __builtin_prefetch(t->c + (i * t->c_rs + j * LANES) * t->c_size, 1);
    if (t->swapped) { /* one forwards, one back, three forwards */
        a += a_step;
        b += b_step;
        a_other = -a_step ^ 3 * a_step;
        b_other = -b_step ^ 3 * b_step;
        a_step = -a_step;
        b_step = -b_step;
    }
    for (int64_t p = t->k; p > 0; p--) {
        VE first = e_load(b), second = first;
        if (vecs > 1)
            second = e_load(b + LANES * UNIT);
        EACH_ROW(ROW_FMA)
        a += a_step;
        b += b_step;
        a_step ^= a_other;
        b_step ^= b_other;
    }
    if (t->way != ANY_WAY && columns == vecs * LANES) {
        if (t->way == KEEP || t->way == ADD) {
            T *c = (T *)(void *)t->c;
            if (t->way == KEEP) {
                EACH_ROW(ROW_KEEP)
            } else {
                EACH_ROW(ROW_ADD)
            }
            return;
        }
#ifdef v_half
        uint16_t *c = (uint16_t *)(void *)t->c;
        EACH_ROW(ROW_HALF)
        return;
#endif
    }
    T sum[MR * NV * LANES];
    EACH_ROW(ROW_STORE)
    NAME(tile_store)(t, rows, columns, sum);
}
#undef EACH_ROW
#undef ROW_ZERO
#undef ROW_FMA
#undef ROW_STORE
#undef EACH_VECTOR
#undef ADD_VECTOR
#undef ROW_KEEP
#undef ROW_ADD
#undef ROW_HALF

TILE void NAME(tile_any)(const struct NAME(tile) * t, int rows, int columns)
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

static enum tile_way NAME(way)(const struct gemm_block *g)
{
    if (g->alpha != 1)
        return ANY_WAY;
    if (g->c_half) {
#ifdef v_half
        return g->c_half == ACL_BF16 && g->beta == 0 ? HALF : ANY_WAY;
#endif
        return ANY_WAY;
    }
    return g->beta == 0                                                               ? KEEP
           : g->beta == 1 && g->cin == g->c && g->cin_cs == 1 && g->cin_rs == g->c_rs ? ADD
                                                                                      : ANY_WAY;
}

/* Panel by panel of b, which stays in the first cache; a comes from the second. */
TILE __attribute__((noinline)) void NAME(panels)(const struct gemm_block *g, bool swapped)
{
    const int nr = NV * LANES;
    int64_t k = UNIT == 2 || swapped ? g->k + g->k % 2 : g->k, panel = k * nr;
    struct NAME(tile) t = {.k = k / UNIT,
                           .a_rs = g->a_rs,
                           .a_cs = g->a_cs * UNIT,
                           .b_rs = g->b_rs ? g->b_rs : nr * UNIT,
                           .cin_rs = g->cin_rs,
                           .cin_cs = g->cin_cs,
                           .c_rs = g->c_rs,
                           .c_size = g->c_half ? 2 : (int64_t)sizeof(T),
                           .alpha = (T)g->alpha,
                           .beta = (T)g->beta,
                           .c_half = g->c_half,
                           .swapped = swapped,
                           .way = NAME(way)(g)};
    for (int64_t j = 0; j < g->n; j += nr) {
        int columns = (int)(g->n - j < nr ? g->n - j : nr);
        t.b = (const E *)g->b + (g->b_rs ? j : j / nr * panel);
        for (int64_t i = 0; i < g->m; i += MR) {
            int rows = (int)(g->m - i < MR ? g->m - i : MR);
            t.a = (const E *)g->a + i * g->a_rs;
            t.c = (char *)g->c + (i * g->c_rs + j) * t.c_size;
            t.cin = g->cin ? (const T *)g->cin + i * g->cin_rs + j * g->cin_cs : NULL;
            NAME(tile_any)(&t, rows, columns);
        }
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The scatter loops for one element type, included by index.c once a type with
 *   T as stored, A as computed, LOAD(t), STORE(a), TYPED(name), ALPHA(p) of type A, and the expressions ADD(x, y),
 * MUL(x, y), MAX(x, y), MIN(x, y) on A (ORDERED 0: no MAX and MIN). HALF 1: runs go through WIDEN(n, a, t) and
 * NARROW(n, t, a). */
#ifndef HALF
#define HALF            0
#define WIDEN(n, a, t)  ((void)0)
#define NARROW(n, t, a) ((void)0)
#endif

#define SCATTER(name, expression)                                                                                      \
    static void TYPED(name)(const struct scatter_run *r, const struct scatter_param *p)                                \
    {                                                                                                                  \
        T *out = (T *)r->out;                                                                                          \
        const T *src = (const T *)r->src;                                                                              \
        const A alpha = ALPHA(p);                                                                                      \
        (void)alpha;                                                                                                   \
        if (!r->index_step) {                                                                                          \
            if (!index_good(r->index[0], p))                                                                           \
                return;                                                                                                \
            out += r->index[0] * p->dim_step;                                                                          \
            if (r->out_step == 1 && r->src_step == 1) {                                                                \
                if (HALF) {                                                                                            \
                    A a[HALF_BLOCK], b[HALF_BLOCK];                                                                    \
                    for (int64_t at = 0, m; at < r->n; at += m) {                                                      \
                        m = r->n - at < HALF_BLOCK ? r->n - at : HALF_BLOCK;                                           \
                        WIDEN(m, a, out + at);                                                                         \
                        WIDEN(m, b, src + at);                                                                         \
                        for (int64_t i = 0; i < m; i++) {                                                              \
                            A x = a[i], y = b[i];                                                                      \
                            a[i] = expression;                                                                         \
                        }                                                                                              \
                        NARROW(m, out + at, a);                                                                        \
                    }                                                                                                  \
                    return;                                                                                            \
                }                                                                                                      \
                for (int64_t i = 0; i < r->n; i++) {                                                                   \
                    A x = LOAD(out[i]), y = LOAD(src[i]);                                                              \
                    out[i] = STORE(expression);                                                                        \
                }                                                                                                      \
                return;                                                                                                \
            }                                                                                                          \
            for (int64_t i = 0; i < r->n; i++) {                                                                       \
                A x = LOAD(out[i * r->out_step]), y = LOAD(src[i * r->src_step]);                                      \
                out[i * r->out_step] = STORE(expression);                                                              \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (all_good(r->n, r->index, r->index_step, p->limit)) {                                                       \
            const int64_t *index = r->index;                                                                           \
            const int64_t n = r->n, dim_step = p->dim_step, index_step = r->index_step, out_step = r->out_step,        \
                          src_step = r->src_step;                                                                      \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                T *o = out + i * out_step + index[i * index_step] * dim_step;                                          \
                A x = LOAD(*o), y = LOAD(src[i * src_step]);                                                           \
                *o = STORE(expression);                                                                                \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < r->n; i++) {                                                                           \
            int64_t at = r->index[i * r->index_step];                                                                  \
            if (!index_good(at, p))                                                                                    \
                continue;                                                                                              \
            T *o = out + i * r->out_step + at * p->dim_step;                                                           \
            A x = LOAD(*o), y = LOAD(src[i * r->src_step]);                                                            \
            *o = STORE(expression);                                                                                    \
        }                                                                                                              \
    }

SCATTER(add, ADD(x, MUL(alpha, y)))
SCATTER(mul, MUL(x, y))
#if ORDERED
SCATTER(max, MAX(x, y))
SCATTER(min, MIN(x, y))
#endif

static const scatter_loop TYPED(scatter)[SCATTER_OPS] = {
    [SCATTER_ADD] = TYPED(add),
    [SCATTER_MUL] = TYPED(mul),
#if ORDERED
    [SCATTER_MAX] = TYPED(max),
    [SCATTER_MIN] = TYPED(min),
#endif
};

#undef SCATTER
#undef T
#undef A
#undef LOAD
#undef STORE
#undef TYPED
#undef ALPHA
#undef ORDERED
#undef HALF
#undef WIDEN
#undef NARROW

/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense loops over elements of type T, included by loops.h once for each type; SCALAR is the parameters' field. */
#define TYPED_PASTE_(a, b) a##_##b
#define TYPED_PASTE(a, b)  TYPED_PASTE_(a, b)
#define TYPED(name)        TYPED_PASTE(name, T)

struct TYPED(scalars) {
    T s[3];
};

INLINE struct TYPED(scalars) TYPED(scalars)(const void *param)
{
    const struct elementwise_param *p = param;
    return (struct TYPED(scalars)){{(T)p->SCALAR[0], (T)p->SCALAR[1], (T)p->SCALAR[2]}};
}

INLINE void TYPED(map1)(int64_t n, char *const *data, const int64_t *step, const void *param, T (*f)(T, const T *))
{
    const struct TYPED(scalars) k = TYPED(scalars)(param);
    T *o = (T *)data[0];
    const T *a = (const T *)data[1];
    (void)step;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        o[i] = f(a[i], k.s);
}

INLINE void TYPED(test1)(int64_t n, char *const *data, const int64_t *step, const void *param, bool (*f)(T))
{
    uint8_t *o = (uint8_t *)data[0];
    const T *a = (const T *)data[1];
    (void)step, (void)param;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        o[i] = f(a[i]);
}

INLINE void TYPED(map2_dense)(int64_t n, char *const *data, const int64_t *step, const void *param,
                              T (*f)(T, T, const T *))
{
    const struct TYPED(scalars) k = TYPED(scalars)(param);
    T *o = (T *)data[0];
    const T *a = (const T *)data[1], *b = (const T *)data[2];
    (void)step;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        o[i] = f(a[i], b[i], k.s);
}

INLINE void TYPED(map2)(int64_t n, char *const *data, const int64_t *step, const void *param, T (*f)(T, T, const T *))
{
    const struct TYPED(scalars) k = TYPED(scalars)(param);
    T *o = (T *)data[0];
    const T *a = (const T *)data[1], *b = (const T *)data[2];
    if (step[2] == 0) {
        const T y = *b;
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            o[i] = f(a[i], y, k.s);
    } else if (step[1] == 0) {
        const T x = *a;
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            o[i] = f(x, b[i], k.s);
    } else {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            o[i] = f(a[i], b[i], k.s);
    }
}

INLINE void TYPED(test2)(int64_t n, char *const *data, const int64_t *step, const void *param,
                         bool (*f)(T, T, const T *))
{
    const struct TYPED(scalars) k = TYPED(scalars)(param);
    uint8_t *o = (uint8_t *)data[0];
    const T *a = (const T *)data[1], *b = (const T *)data[2];
    if (step[2] == 0) {
        const T y = *b;
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            o[i] = f(a[i], y, k.s);
    } else if (step[1] == 0) {
        const T x = *a;
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            o[i] = f(x, b[i], k.s);
    } else {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            o[i] = f(a[i], b[i], k.s);
    }
}

INLINE void TYPED(map3)(int64_t n, char *const *data, const int64_t *step, const void *param,
                        T (*f)(T, T, T, const T *))
{
    const struct TYPED(scalars) k = TYPED(scalars)(param);
    T *o = (T *)data[0];
    const T *a = (const T *)data[1], *b = (const T *)data[2], *c = (const T *)data[3];
    (void)step;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        o[i] = f(a[i], b[i], c[i], k.s);
}

/* Blocks are computed by the fast function, then rare elements are mended by the slow one. */
INLINE void TYPED(mend1)(int64_t n, char *const *data, const int64_t *step, const void *param, T (*fast)(T),
                         bool (*rare)(T), T (*slow)(T))
{
    T *o = (T *)data[0];
    const T *a = (const T *)data[1];
    (void)step, (void)param;
    for (int64_t begin = 0; begin < n; begin += MEND_BLOCK) {
        T keep[MEND_BLOCK];
        int64_t count = n - begin < MEND_BLOCK ? n - begin : MEND_BLOCK;
        int any = 0;
        for (int64_t i = 0; i < count; i++) {
            keep[i] = fast(a[begin + i]);
            any |= rare(a[begin + i]);
        }
        for (int64_t i = 0; any && i < count; i++)
            if (rare(a[begin + i]))
                keep[i] = slow(a[begin + i]);
        memcpy(o + begin, keep, (size_t)count * sizeof(T));
    }
}

INLINE void TYPED(mend2)(int64_t n, char *const *data, const int64_t *step, const void *param, T (*fast)(T, T),
                         bool (*rare)(T, T), T (*slow)(T, T))
{
    T *o = (T *)data[0];
    const T *a = (const T *)data[1], *b = (const T *)data[2];
    const int64_t sa = step[1] != 0, sb = step[2] != 0;
    (void)param;
    for (int64_t begin = 0; begin < n; begin += MEND_BLOCK) {
        T keep[MEND_BLOCK], x[MEND_BLOCK], y[MEND_BLOCK];
        int64_t count = n - begin < MEND_BLOCK ? n - begin : MEND_BLOCK;
        int any = 0;
        for (int64_t i = 0; i < count; i++)
            x[i] = a[(begin + i) * sa], y[i] = b[(begin + i) * sb];
        for (int64_t i = 0; i < count; i++) {
            keep[i] = fast(x[i], y[i]);
            any |= rare(x[i], y[i]);
        }
        for (int64_t i = 0; any && i < count; i++)
            if (rare(x[i], y[i]))
                keep[i] = slow(x[i], y[i]);
        memcpy(o + begin, keep, (size_t)count * sizeof(T));
    }
}

#undef TYPED_PASTE_
#undef TYPED_PASTE
#undef TYPED
#undef T
#undef SCALAR

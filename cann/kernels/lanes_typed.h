/* SPDX-License-Identifier: BSD-3-Clause */
/* One type of kernels/lanes.h, which includes this with T and NAME(x) defined. */

enum { NAME(VECTOR) = VECTOR_BYTES / sizeof(T), NAME(FEW) = 16 / NAME(VECTOR), NAME(MANY) = 64 / NAME(VECTOR) };

/* What a sum adds up: see enum lanes_what. y is read where it says so. */
LANES_INLINE T NAME(lanes_term)(enum lanes_what what, T x, T y, T c)
{
    switch (what) {
    case LANES_SUM:
        return x;
    case LANES_DOT:
        return x * y;
    case LANES_SQUARES_ABOUT:
        return (x - c) * (x - c);
    case LANES_ABOUT:
        return x - c;
    default:
        return (x - c) * y;
    }
}

LANES_INLINE NAME(vector) NAME(lanes_vector)(enum lanes_what what, const T *x, const T *y, T c)
{
    NAME(vector) v = *(const NAME(vector) *)x;
    switch (what) {
    case LANES_SUM:
        return v;
    case LANES_DOT:
        return v * *(const NAME(vector) *)y;
    case LANES_SQUARES_ABOUT:
        return (v - c) * (v - c);
    case LANES_ABOUT:
        return v - c;
    default:
        return (v - c) * *(const NAME(vector) *)y;
    }
}

LANES_INLINE T NAME(lanes_sum)(enum lanes_what what, int64_t n, const T *restrict x, const T *restrict y, T about)
{
    NAME(vector) few[NAME(FEW)] = {0};
    bool two = what == LANES_DOT || what == LANES_DOT_ABOUT;
    int64_t i = 0;
    if (n >= 64) {
        NAME(vector) many[NAME(MANY)] = {0};
        for (; i + 64 <= n; i += 64)
            for (int k = 0; k < NAME(MANY); k++)
                many[k] +=
                    NAME(lanes_vector)(what, x + i + k * NAME(VECTOR), two ? y + i + k * NAME(VECTOR) : NULL, about);
        for (int w = NAME(MANY) / 2; w >= NAME(FEW); w /= 2)
            for (int k = 0; k < w; k++)
                many[k] += many[k + w];
        for (int k = 0; k < NAME(FEW); k++)
            few[k] = many[k];
    }
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < NAME(FEW); k++)
            few[k] += NAME(lanes_vector)(what, x + i + k * NAME(VECTOR), two ? y + i + k * NAME(VECTOR) : NULL, about);
    for (int w = NAME(FEW) / 2; w; w /= 2)
        for (int k = 0; k < w; k++)
            few[k] += few[k + w];
    T total = NAME(vector_sum)(&few[0]);
    if (i == n)
        return total;
    T a = 0, b = 0, c = 0, d = 0;
    for (; i + 4 <= n; i += 4) {
        a += NAME(lanes_term)(what, x[i], two ? y[i] : 0, about);
        b += NAME(lanes_term)(what, x[i + 1], two ? y[i + 1] : 0, about);
        c += NAME(lanes_term)(what, x[i + 2], two ? y[i + 2] : 0, about);
        d += NAME(lanes_term)(what, x[i + 3], two ? y[i + 3] : 0, about);
    }
    for (; i < n; i++)
        a += NAME(lanes_term)(what, x[i], two ? y[i] : 0, about);
    return total + ((a + c) + (b + d));
}

LANES_INLINE T NAME(sum_of)(int64_t n, const T *restrict x)
{
    return NAME(lanes_sum)(LANES_SUM, n, x, NULL, 0);
}

LANES_INLINE T NAME(dot_of)(int64_t n, const T *restrict x, const T *restrict y)
{
    return NAME(lanes_sum)(LANES_DOT, n, x, y, 0);
}

LANES_INLINE NAME(vector) NAME(vector_extreme)(bool least, NAME(vector) a, NAME(vector) x)
{
    NAME(mask) take = (NAME(mask))(least ? x < a : x > a) | (NAME(mask))(x != x);
    return (NAME(vector))(((NAME(mask))x & take) | ((NAME(mask))a & ~take));
}

LANES_INLINE T NAME(extreme)(bool least, T a, T x)
{
    return ((least ? x < a : x > a) | (x != x)) ? x : a;
}

/* The maximum or minimum (the order does not matter); NaN if there is one; ∓infinity of nothing. */
LANES_INLINE T NAME(extreme_of)(bool least, int64_t n, const T *restrict x)
{
    enum { N = NAME(VECTOR) };
    T most = least ? (T)INFINITY : -(T)INFINITY;
    int64_t i = 0;
    if (n >= N) {
        NAME(vector) a = *(const NAME(vector) *)x, b = a, c = a, d = a;
        for (; i + 4 * N <= n; i += 4 * N) {
            a = NAME(vector_extreme)(least, a, *(const NAME(vector) *)(x + i));
            b = NAME(vector_extreme)(least, b, *(const NAME(vector) *)(x + i + N));
            c = NAME(vector_extreme)(least, c, *(const NAME(vector) *)(x + i + 2 * N));
            d = NAME(vector_extreme)(least, d, *(const NAME(vector) *)(x + i + 3 * N));
        }
        for (; i + N <= n; i += N)
            a = NAME(vector_extreme)(least, a, *(const NAME(vector) *)(x + i));
        a = NAME(vector_extreme)(least, a, *(const NAME(vector) *)(x + n - N)); /* the rest, some again */
        a = NAME(vector_extreme)(least, NAME(vector_extreme)(least, a, b), NAME(vector_extreme)(least, c, d));
        for (int k = 0; k < N; k++)
            most = NAME(extreme)(least, most, a[k]);
        return most;
    }
    for (; i < n; i++)
        most = NAME(extreme)(least, most, x[i]);
    return most;
}

LANES_INLINE NAME(vector) NAME(vector_greater)(NAME(vector) a, NAME(vector) x)
{
    NAME(mask) take = (NAME(mask))(x > a);
    return (NAME(vector))(((NAME(mask))x & take) | ((NAME(mask))a & ~take));
}

/* The maximum of what is no NaN; minus infinity if there is nothing. */
LANES_INLINE T NAME(max_of)(int64_t n, const T *restrict x)
{
    enum { N = NAME(VECTOR) };
    T most = -(T)INFINITY;
    int64_t i = 0;
    if (n >= N) {
        NAME(vector) a = (NAME(vector)){0} - (T)INFINITY, b = a, c = a, d = a;
        for (; i + 4 * N <= n; i += 4 * N) {
            a = NAME(vector_greater)(a, *(const NAME(vector) *)(x + i));
            b = NAME(vector_greater)(b, *(const NAME(vector) *)(x + i + N));
            c = NAME(vector_greater)(c, *(const NAME(vector) *)(x + i + 2 * N));
            d = NAME(vector_greater)(d, *(const NAME(vector) *)(x + i + 3 * N));
        }
        for (; i + N <= n; i += N)
            a = NAME(vector_greater)(a, *(const NAME(vector) *)(x + i));
        a = NAME(vector_greater)(a, *(const NAME(vector) *)(x + n - N)); /* the rest, some again */
        a = NAME(vector_greater)(NAME(vector_greater)(a, b), NAME(vector_greater)(c, d));
        return NAME(greatest)(&a);
    }
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

#undef T
#undef NAME

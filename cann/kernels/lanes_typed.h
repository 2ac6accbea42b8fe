/* SPDX-License-Identifier: BSD-3-Clause */
/* One type of kernels/lanes.h, which includes this with T, NAME(x), the stored type S, VECTOR_AT(p) (a vector of T from
 * stored elements) and ONE(s) defined. */

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

LANES_INLINE NAME(vector) NAME(lanes_vector)(enum lanes_what what, const S *x, const S *y, T c)
{
    NAME(vector) v = VECTOR_AT(x);
    switch (what) {
    case LANES_SUM:
        return v;
    case LANES_DOT:
        return v * VECTOR_AT(y);
    case LANES_SQUARES_ABOUT:
        return (v - c) * (v - c);
    case LANES_ABOUT:
        return v - c;
    default:
        return (v - c) * VECTOR_AT(y);
    }
}

LANES_INLINE T NAME(lanes_sum)(enum lanes_what what, int64_t n, const S *restrict x, const S *restrict y, T about)
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
        a += NAME(lanes_term)(what, ONE(x[i]), two ? ONE(y[i]) : 0, about);
        b += NAME(lanes_term)(what, ONE(x[i + 1]), two ? ONE(y[i + 1]) : 0, about);
        c += NAME(lanes_term)(what, ONE(x[i + 2]), two ? ONE(y[i + 2]) : 0, about);
        d += NAME(lanes_term)(what, ONE(x[i + 3]), two ? ONE(y[i + 3]) : 0, about);
    }
    for (; i < n; i++)
        a += NAME(lanes_term)(what, ONE(x[i]), two ? ONE(y[i]) : 0, about);
    return total + ((a + c) + (b + d));
}

LANES_INLINE T NAME(sum_of)(int64_t n, const S *restrict x)
{
    return NAME(lanes_sum)(LANES_SUM, n, x, NULL, 0);
}

LANES_INLINE T NAME(dot_of)(int64_t n, const S *restrict x, const S *restrict y)
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
LANES_INLINE T NAME(extreme_of)(bool least, int64_t n, const S *restrict x)
{
    enum { N = NAME(VECTOR) };
    T most = least ? (T)INFINITY : -(T)INFINITY;
    int64_t i = 0;
#if VECTOR_BYTES == 64 /* the instruction passes NaN over: looked for beside it */
    if (n >= N) {
        NAME(vector) a = (NAME(vector)){0} + most, b = a, c = a, d = a;
        int nan = 0;
        for (; i + 4 * N <= n; i += 4 * N) {
            NAME(vector) p = VECTOR_AT(x + i), q = VECTOR_AT(x + i + N);
            NAME(vector) r = VECTOR_AT(x + i + 2 * N), s = VECTOR_AT(x + i + 3 * N);
            nan |= NAME(either_nan)(p, q) | NAME(either_nan)(r, s);
            a = NAME(number_extreme)(least, a, p);
            b = NAME(number_extreme)(least, b, q);
            c = NAME(number_extreme)(least, c, r);
            d = NAME(number_extreme)(least, d, s);
        }
        for (int64_t last = n - N; i < n; i += N) { /* the rest, some again */
            NAME(vector) p = VECTOR_AT(x + (i < last ? i : last));
            nan |= NAME(either_nan)(p, p);
            a = NAME(number_extreme)(least, a, p);
        }
        if (nan)
            return (T)NAN;
        a = NAME(number_extreme)(least, NAME(number_extreme)(least, a, b), NAME(number_extreme)(least, c, d));
        for (int k = 0; k < N; k++)
            most = NAME(extreme)(least, most, a[k]);
        return most;
    }
#else
    if (n >= N) {
        NAME(vector) a = VECTOR_AT(x), b = a, c = a, d = a;
        for (; i + 4 * N <= n; i += 4 * N) {
            a = NAME(vector_extreme)(least, a, VECTOR_AT(x + i));
            b = NAME(vector_extreme)(least, b, VECTOR_AT(x + i + N));
            c = NAME(vector_extreme)(least, c, VECTOR_AT(x + i + 2 * N));
            d = NAME(vector_extreme)(least, d, VECTOR_AT(x + i + 3 * N));
        }
        for (; i + N <= n; i += N)
            a = NAME(vector_extreme)(least, a, VECTOR_AT(x + i));
        a = NAME(vector_extreme)(least, a, VECTOR_AT(x + n - N)); /* the rest, some again */
        a = NAME(vector_extreme)(least, NAME(vector_extreme)(least, a, b), NAME(vector_extreme)(least, c, d));
        for (int k = 0; k < N; k++)
            most = NAME(extreme)(least, most, a[k]);
        return most;
    }
#endif
    for (; i < n; i++)
        most = NAME(extreme)(least, most, ONE(x[i]));
    return most;
}

LANES_INLINE NAME(vector) NAME(vector_greater)(NAME(vector) a, NAME(vector) x)
{
    NAME(mask) take = (NAME(mask))(x > a);
    return (NAME(vector))(((NAME(mask))x & take) | ((NAME(mask))a & ~take));
}

/* The maximum of what is no NaN; minus infinity if there is nothing. */
LANES_INLINE T NAME(max_of)(int64_t n, const S *restrict x)
{
    enum { N = NAME(VECTOR) };
    T most = -(T)INFINITY;
    int64_t i = 0;
    if (n >= N) {
        NAME(vector) a = (NAME(vector)){0} - (T)INFINITY, b = a, c = a, d = a;
        for (; i + 4 * N <= n; i += 4 * N) {
            a = NAME(vector_greater)(a, VECTOR_AT(x + i));
            b = NAME(vector_greater)(b, VECTOR_AT(x + i + N));
            c = NAME(vector_greater)(c, VECTOR_AT(x + i + 2 * N));
            d = NAME(vector_greater)(d, VECTOR_AT(x + i + 3 * N));
        }
        for (; i + N <= n; i += N)
            a = NAME(vector_greater)(a, VECTOR_AT(x + i));
        a = NAME(vector_greater)(a, VECTOR_AT(x + n - N)); /* the rest, some again */
        a = NAME(vector_greater)(NAME(vector_greater)(a, b), NAME(vector_greater)(c, d));
        return NAME(greatest)(&a);
    }
    for (; i < n; i++)
        most = ONE(x[i]) > most ? ONE(x[i]) : most;
    return most;
}

#undef T
#undef S
#undef NAME
#undef VECTOR_AT
#undef ONE

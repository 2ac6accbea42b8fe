/* SPDX-License-Identifier: BSD-3-Clause */
/* One type of kernels/lanes.h, which includes this with T and NAME(x) defined. */

enum { NAME(VECTOR) = VECTOR_BYTES / sizeof(T), NAME(FEW) = 16 / NAME(VECTOR), NAME(MANY) = 64 / NAME(VECTOR) };

/* Σ x, or Σ x y when y is not NULL. */
LANES_INLINE T NAME(lanes_sum)(int64_t n, const T *restrict x, const T *restrict y)
{
    NAME(vector) few[NAME(FEW)] = {0};
    int64_t i = 0;
    if (n >= 64) {
        NAME(vector) many[NAME(MANY)] = {0};
        for (; i + 64 <= n; i += 64)
            for (int k = 0; k < NAME(MANY); k++) {
                NAME(vector) v = *(const NAME(vector) *)(x + i + k * NAME(VECTOR));
                many[k] += y ? v * *(const NAME(vector) *)(y + i + k * NAME(VECTOR)) : v;
            }
        for (int w = NAME(MANY) / 2; w >= NAME(FEW); w /= 2)
            for (int k = 0; k < w; k++)
                many[k] += many[k + w];
        for (int k = 0; k < NAME(FEW); k++)
            few[k] = many[k];
    }
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < NAME(FEW); k++) {
            NAME(vector) v = *(const NAME(vector) *)(x + i + k * NAME(VECTOR));
            few[k] += y ? v * *(const NAME(vector) *)(y + i + k * NAME(VECTOR)) : v;
        }
    for (int w = NAME(FEW) / 2; w; w /= 2)
        for (int k = 0; k < w; k++)
            few[k] += few[k + w];
    T total = NAME(vector_sum)(&few[0]);
    if (i == n)
        return total;
    T a = 0, b = 0, c = 0, d = 0;
    for (; i + 4 <= n; i += 4) {
        a += y ? x[i] * y[i] : x[i];
        b += y ? x[i + 1] * y[i + 1] : x[i + 1];
        c += y ? x[i + 2] * y[i + 2] : x[i + 2];
        d += y ? x[i + 3] * y[i + 3] : x[i + 3];
    }
    for (; i < n; i++)
        a += y ? x[i] * y[i] : x[i];
    return total + ((a + c) + (b + d));
}

LANES_INLINE T NAME(sum_of)(int64_t n, const T *restrict x)
{
    return NAME(lanes_sum)(n, x, NULL);
}

LANES_INLINE T NAME(dot_of)(int64_t n, const T *restrict x, const T *restrict y)
{
    return NAME(lanes_sum)(n, x, y);
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

/* The maximum of what is no NaN; minus infinity if there is nothing. */
LANES_INLINE T NAME(max_of)(int64_t n, const T *restrict x)
{
    T lane[16], most = -(T)INFINITY;
    int64_t i = 0;
    if (n >= 16) {
        for (int k = 0; k < 16; k++)
            lane[k] = x[k] > most ? x[k] : most;
        for (i = 16; i + 16 <= n; i += 16)
            for (int k = 0; k < 16; k++)
                lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
        if (i < n) /* the rest, some again */
            for (int k = 0; k < 16; k++)
                lane[k] = x[n - 16 + k] > lane[k] ? x[n - 16 + k] : lane[k];
        return NAME(greatest)(lane);
    }
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

#undef T
#undef NAME

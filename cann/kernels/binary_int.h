/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels of two operands for the integer type T, included by binary.c once for each; W is the unsigned
 * type that results wrap in, SIGNED whether T has negative values. */
#define EXPAND2(name, type, expression) MAP2(name, type, expression)
#define INT_PASTE_(a, b)                a##_##b
#define INT_PASTE(a, b)                 INT_PASTE_(a, b)
#define INT(name)                       INT_PASTE(name, T)
#if SIGNED
#define NEGATIVE(v) ((v) < 0)
#else
#define NEGATIVE(v) ((void)(v), 0)
#endif

EXPAND2(add, T, (W)x + (W)y)
EXPAND2(sub, T, (W)x - (W)y)
EXPAND2(add_scaled, T, (W)x + (W)s[0] * (W)y)
EXPAND2(sub_scaled, T, (W)x - (W)s[0] * (W)y)
EXPAND2(mul, T, (W)x *(W)y)
EXPAND2(maximum, T, y > x ? y : x)
EXPAND2(minimum, T, y < x ? y : x)
EXPAND2(and, T, x &y)
EXPAND2(or, T, x | y)
EXPAND2(xor, T, x ^ y)
EXPAND2(heaviside, T, x == 0 ? y : !NEGATIVE(x))

/* A shift by a negative count or by all bits and more gives 0, or the sign for the right shift. */
INLINE T INT(shl)(T x, T y)
{
    return NEGATIVE(y) || y >= (T)(8 * sizeof(T)) ? 0 : (T)((W)x << (y & (8 * sizeof(T) - 1)));
}

INLINE T INT(shr)(T x, T y)
{
    int last = 8 * (int)sizeof(T) - 1;
    if (NEGATIVE(y) || y > last)
        return NEGATIVE(x) ? (T)-1 : 0;
    return (T)(x >> (y & last));
}
EXPAND2(shift_left, T, INT(shl)(x, y))
EXPAND2(shift_right, T, INT(shr)(x, y))

static T INT(ipow)(T x, T y)
{
    if (NEGATIVE(y))
        return x == 1 ? 1 : x == (T)-1 ? (y & 1 ? (T)-1 : 1) : 0;
    W result = 1, power = (W)x;
    for (; y; y = (T)(y >> 1), power *= power)
        if (y & 1)
            result *= power;
    return (T)result;
}
EXPAND2(pow, T, INT(ipow)(x, y))

static W INT(common)(T x, T y)
{
    W a = NEGATIVE(x) ? 0 - (W)x : (W)x, b = NEGATIVE(y) ? 0 - (W)y : (W)y;
    while (b) {
        W r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static W INT(multiple)(T x, T y)
{
    W g = INT(common)(x, y);
    T product = (T)(g ? (W)(x / (T)g) * (W)y : 0);
    return NEGATIVE(product) ? 0 - (W)product : (W)product;
}
EXPAND2(gcd, T, INT(common)(x, y))
EXPAND2(lcm, T, INT(multiple)(x, y))

/* Division: 0 and the flag for a divisor of 0; -1 apart, as the lowest value over -1 would trap. */
INLINE T INT(quotient)(T x, T y)
{
    T safe = y == 0 || (SIGNED && y == (T)-1) ? 1 : y;
    T q = (T)(x / safe);
    return y == 0 ? 0 : SIGNED && y == (T)-1 ? (T)(0 - (W)x) : q;
}

INLINE T INT(rest)(T x, T y)
{
    T safe = y == 0 || (SIGNED && y == (T)-1) ? 1 : y;
    return (T)(x % safe);
}

INLINE T INT(floored)(T x, T y)
{
    T r = INT(rest)(x, y), q = INT(quotient)(x, y);
    return r != 0 && NEGATIVE(r) != NEGATIVE(y) ? (T)(q - 1) : q;
}

INLINE T INT(modulo)(T x, T y)
{
    T r = INT(rest)(x, y);
    return r != 0 && NEGATIVE(r) != NEGATIVE(y) ? (T)(r + y) : r;
}

INLINE void INT(divide)(int64_t n, char *const *data, const int64_t *step, const void *param, T (*f)(T, T))
{
    const struct elementwise_param *p = param;
    const int64_t sa = step[1] != 0, sb = step[2] != 0;
    const T *a = (const T *)data[1], *b = (const T *)data[2];
    T *o = (T *)data[0];
    int zero = 0;
    for (int64_t i = 0; i < n; i++) {
        T x = a[i * sa], y = b[i * sb];
        zero |= y == 0;
        o[i] = f(x, y);
    }
    if (zero && p->fault)
        __atomic_store_n(p->fault, 1, __ATOMIC_RELAXED);
}

static void INT(loop_div_trunc)(LOOP_ARGS)
{
    INT(divide)(n, data, step, param, INT(quotient));
}

static void INT(loop_div_floor)(LOOP_ARGS)
{
    INT(divide)(n, data, step, param, INT(floored));
}

static void INT(loop_fmod)(LOOP_ARGS)
{
    INT(divide)(n, data, step, param, INT(rest));
}

static void INT(loop_remainder)(LOOP_ARGS)
{
    INT(divide)(n, data, step, param, INT(modulo));
}

#undef EXPAND2
#undef INT_PASTE_
#undef INT_PASTE
#undef INT
#undef NEGATIVE
#undef SIGNED
#undef T
#undef W

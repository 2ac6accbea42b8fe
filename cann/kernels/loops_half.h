/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense loops over 16-bit floats, included by loops.h once for each with HALF its name in half.h. RUN elements at a
 * time are widened, computed by the function that float has, and rounded, without leaving the registers. An operand
 * that repeats (a step of 0) is a float, so that scalars are not rounded. */
#define HALF_PASTE_(a, b) a##_##b
#define HALF_PASTE(a, b)  HALF_PASTE_(a, b)
#define OF_HALF(name)     HALF_PASTE(name, HALF)

/* The last elements are computed as a whole run in here. */
struct OF_HALF(rest) {
    u16 in[3][RUN], out[RUN];
};

INLINE const u16 *OF_HALF(padded)(u16 *rest, const u16 *in, int64_t m)
{
    if (m >= RUN)
        return in;
    memset(rest, 0, RUN * sizeof *rest);
    memcpy(rest, in, (size_t)m * sizeof *in);
    return rest;
}

INLINE void OF_HALF(map1)(int64_t n, char *const *data, const int64_t *step, const void *param,
                          float (*f)(float, const float *))
{
    const struct scalars_f32 k = scalars_f32(param);
    const bool native = cpu_has_bf16();
    u16 *o = (u16 *)data[0];
    const u16 *a = (const u16 *)data[1];
    struct OF_HALF(rest) rest;
    (void)step;
    for (int64_t i = 0; i < n; i += RUN) {
        float x[RUN];
        OF_HALF(load)(RUN, x, OF_HALF(padded)(rest.in[0], a + i, n - i));
        for (int j = 0; j < RUN; j++)
            x[j] = f(x[j], k.s);
        OF_HALF(store_run)(native, n - i < RUN ? rest.out : o + i, x);
        if (n - i < RUN)
            memcpy(o + i, rest.out, (size_t)(n - i) * sizeof *o);
    }
}

/* first, second: that operand repeats. */
INLINE void OF_HALF(map2_of)(int64_t n, char *const *data, const struct scalars_f32 *k, bool first, bool second,
                             float (*f)(float, float, const float *))
{
    const bool native = cpu_has_bf16();
    u16 *o = (u16 *)data[0];
    const u16 *a = (const u16 *)data[1], *b = (const u16 *)data[2];
    struct OF_HALF(rest) rest;
    float x[RUN], y[RUN];
    if (first)
        memcpy(x, data[1], sizeof *x);
    if (second)
        memcpy(y, data[2], sizeof *y);
    const float one_x = first ? x[0] : 0, one_y = second ? y[0] : 0;
    for (int64_t i = 0; i < n; i += RUN) {
        if (!first)
            OF_HALF(load)(RUN, x, OF_HALF(padded)(rest.in[0], a + i, n - i));
        if (!second)
            OF_HALF(load)(RUN, y, OF_HALF(padded)(rest.in[1], b + i, n - i));
        float z[RUN];
        for (int j = 0; j < RUN; j++)
            z[j] = f(first ? one_x : x[j], second ? one_y : y[j], k->s);
        OF_HALF(store_run)(native, n - i < RUN ? rest.out : o + i, z);
        if (n - i < RUN)
            memcpy(o + i, rest.out, (size_t)(n - i) * sizeof *o);
    }
}

INLINE void OF_HALF(map2)(int64_t n, char *const *data, const int64_t *step, const void *param,
                          float (*f)(float, float, const float *))
{
    const struct scalars_f32 k = scalars_f32(param);
    if (step[2] == 0)
        OF_HALF(map2_of)(n, data, &k, false, true, f);
    else if (step[1] == 0)
        OF_HALF(map2_of)(n, data, &k, true, false, f);
    else
        OF_HALF(map2_of)(n, data, &k, false, false, f);
}

INLINE void OF_HALF(map2_dense)(int64_t n, char *const *data, const int64_t *step, const void *param,
                                float (*f)(float, float, const float *))
{
    const struct scalars_f32 k = scalars_f32(param);
    (void)step;
    OF_HALF(map2_of)(n, data, &k, false, false, f);
}

INLINE void OF_HALF(map3)(int64_t n, char *const *data, const int64_t *step, const void *param,
                          float (*f)(float, float, float, const float *))
{
    const struct scalars_f32 k = scalars_f32(param);
    const bool native = cpu_has_bf16();
    u16 *o = (u16 *)data[0];
    const u16 *a = (const u16 *)data[1], *b = (const u16 *)data[2], *c = (const u16 *)data[3];
    struct OF_HALF(rest) rest;
    (void)step;
    for (int64_t i = 0; i < n; i += RUN) {
        float x[RUN], y[RUN], z[RUN];
        OF_HALF(load)(RUN, x, OF_HALF(padded)(rest.in[0], a + i, n - i));
        OF_HALF(load)(RUN, y, OF_HALF(padded)(rest.in[1], b + i, n - i));
        OF_HALF(load)(RUN, z, OF_HALF(padded)(rest.in[2], c + i, n - i));
        for (int j = 0; j < RUN; j++)
            x[j] = f(x[j], y[j], z[j], k.s);
        OF_HALF(store_run)(native, n - i < RUN ? rest.out : o + i, x);
        if (n - i < RUN)
            memcpy(o + i, rest.out, (size_t)(n - i) * sizeof *o);
    }
}

#undef HALF_PASTE_
#undef HALF_PASTE
#undef OF_HALF
#undef HALF

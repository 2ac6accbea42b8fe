/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels of three operands. See elementwise.h. */
#include "kernels/loops.h"
#include "kernels/vmath.h"

MAP3(addcmul, f32, x + s[0] * y * z)
MAP3(addcmul, f64, x + s[0] * y * z)
MAP3(addcdiv, f32, x + s[0] * y / z)
MAP3(addcdiv, f64, x + s[0] * y / z)
MAP3(addcmul, i8, x + (uint32_t)s[0] * (uint32_t)y * (uint32_t)z)
MAP3(addcmul, u8, x + (uint32_t)s[0] * (uint32_t)y * (uint32_t)z)
MAP3(addcmul, i16, x + (uint32_t)s[0] * (uint32_t)y * (uint32_t)z)
MAP3(addcmul, i32, x + (uint32_t)s[0] * (uint32_t)y * (uint32_t)z)
MAP3(addcmul, i64, x + (uint64_t)s[0] * (uint64_t)y * (uint64_t)z)

/* from the nearer end, so that weights 0 and 1 are exact */
MAP3(lerp, f32, fabsf(z) < 0.5f ? x + z * (y - x) : y - (y - x) * (1.0f - z))
MAP3(lerp, f64, fabs(z) < 0.5 ? x + z * (y - x) : y - (y - x) * (1.0 - z))

/* min(max(x, low), high); any NaN wins */
INLINE float clamp_f32(float x, float low, float high)
{
    float y = x < low ? low : x;
    y = y > high ? high : y;
    y = high != high ? high : y;
    y = low != low ? low : y;
    return x != x ? x : y;
}

INLINE double clamp_f64(double x, double low, double high)
{
    double y = x < low ? low : x;
    y = y > high ? high : y;
    y = high != high ? high : y;
    y = low != low ? low : y;
    return x != x ? x : y;
}

INLINE int64_t clamp_int(int64_t x, int64_t low, int64_t high)
{
    int64_t y = x < low ? low : x;
    return y > high ? high : y;
}
MAP3(clamp, f32, clamp_f32(x, y, z))
MAP3(clamp, f64, clamp_f64(x, y, z))
MAP3(clamp, i8, clamp_int(x, y, z))
MAP3(clamp, u8, clamp_int(x, y, z))
MAP3(clamp, i16, clamp_int(x, y, z))
MAP3(clamp, i32, clamp_int(x, y, z))
MAP3(clamp, i64, clamp_int(x, y, z))

/* x: gradient, y: input, z: weight */
MAP3(prelu_grad, f32, y > 0.0f ? x : x * z)
MAP3(prelu_grad, f64, y > 0.0 ? x : x * z)

/* x: gradient, y and z: the halves; result y sigmoid(z) */
INLINE float glu_second_f32(float g, float y, float z)
{
    float q = sigmoid_f32(z);
    return g * y * (q * (1.0f - q));
}

INLINE double glu_second_f64(double g, double y, double z)
{
    double q = sigmoid_f64(z);
    return g * y * (q * (1.0 - q));
}
MAP3(glu_first, f32, ((void)y, x *sigmoid_f32(z)))
MAP3(glu_first, f64, ((void)y, x *sigmoid_f64(z)))
MAP3(glu_second, f32, glu_second_f32(x, y, z))
MAP3(glu_second, f64, glu_second_f64(x, y, z))

/* result silu(y) z */
INLINE float swiglu_first_f32(float g, float y, float z)
{
    float q = sigmoid_f32(y);
    return g * z * (q * (1.0f + y * (1.0f - q)));
}

INLINE double swiglu_first_f64(double g, double y, double z)
{
    double q = sigmoid_f64(y);
    return g * z * (q * (1.0 + y * (1.0 - q)));
}
MAP3(swiglu_first, f32, swiglu_first_f32(x, y, z))
MAP3(swiglu_first, f64, swiglu_first_f64(x, y, z))
MAP3(swiglu_second, f32, ((void)z, x *(y *sigmoid_f32(y))))
MAP3(swiglu_second, f64, ((void)z, x *(y *sigmoid_f64(y))))

/* ---- where: by element size ---- */
#define WHERE(T)                                                                                                       \
    static void loop_where_##T(LOOP_ARGS)                                                                              \
    {                                                                                                                  \
        T *o = (T *)data[0];                                                                                           \
        const uint8_t *a = (const uint8_t *)data[1];                                                                   \
        const T *b = (const T *)data[2], *c = (const T *)data[3];                                                      \
        (void)step, (void)param;                                                                                       \
        INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = a[i] ? b[i] : c[i];                                         \
    }
WHERE(u8)
WHERE(u16)
WHERE(u32)
WHERE(u64)

struct pair {
    u64 half[2];
};

static void loop_where_pair(LOOP_ARGS)
{
    struct pair *o = (struct pair *)data[0];
    const uint8_t *a = (const uint8_t *)data[1];
    const struct pair *b = (const struct pair *)data[2], *c = (const struct pair *)data[3];
    (void)step, (void)param;
    for (int64_t i = 0; i < n; i++)
        o[i] = a[i] ? b[i] : c[i];
}

/* ---- 16-bit floats ---- */
HALVES(map3, addcmul)
HALVES(map3, addcdiv)
HALVES(map3, lerp)

static const walk_loop loops[][ELEMENTWISE_DTYPES] = {
    AT(TERNARY_ADDCMUL) = {FLOATS(addcmul), INTS(addcmul)},
    AT(TERNARY_ADDCDIV) = {FLOATS(addcdiv)},
    AT(TERNARY_LERP) = {FLOATS(lerp)},
    AT(TERNARY_CLAMP) = {FLOATS(clamp), INTS(clamp)},
    AT(TERNARY_PRELU) = {FLOATS(prelu_grad)},
    AT(TERNARY_GLU_FIRST) = {FLOATS(glu_first)},
    AT(TERNARY_GLU_SECOND) = {FLOATS(glu_second)},
    AT(TERNARY_SWIGLU_FIRST) = {FLOATS(swiglu_first)},
    AT(TERNARY_SWIGLU_SECOND) = {FLOATS(swiglu_second)},
    AT(TERNARY_WHERE) = {[WHERE_1] = loop_where_u8,
                         [WHERE_2] = loop_where_u16,
                         [WHERE_4] = loop_where_u32,
                         [WHERE_8] = loop_where_u64,
                         [WHERE_16] = loop_where_pair},
};

static const walk_loop halves[][2] = {
    AT(TERNARY_ADDCMUL) = HALF_PAIR(addcmul),
    AT(TERNARY_ADDCDIV) = HALF_PAIR(addcdiv),
    AT(TERNARY_LERP) = HALF_PAIR(lerp),
};

const struct elementwise_table ISA(ternary_kernels) = {loops, sizeof loops / sizeof *loops, halves,
                                                       sizeof halves / sizeof *halves};

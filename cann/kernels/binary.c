/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels of two operands: arithmetic, powers, extremes, bits. See elementwise.h.
 * Semantics are PyTorch's: NaN wins in maximum and loses in fmax; integers wrap; integer division by zero raises the
 * fault flag and gives 0. */
#include "kernels/loops.h"
#include "kernels/vmath.h"

/* ---- float and double ---- */
MAP2(add, f32, x + y)
MAP2(add, f64, x + y)
MAP2(sub, f32, x - y)
MAP2(sub, f64, x - y)
MAP2(add_scaled, f32, x + s[0] * y)
MAP2(add_scaled, f64, x + s[0] * y)
MAP2(sub_scaled, f32, x - s[0] * y)
MAP2(sub_scaled, f64, x - s[0] * y)
MAP2(mul, f32, (x * y))
MAP2(mul, f64, (x * y))
MAP2(div, f32, x / y)
MAP2(div, f64, x / y)
MAP2(div_trunc, f32, __builtin_truncf(x / y))
MAP2(div_trunc, f64, __builtin_trunc(x / y))
MAP2(maximum, f32, (y > x) | (y != y) ? y : x)
MAP2(maximum, f64, (y > x) | (y != y) ? y : x)
MAP2(minimum, f32, (y < x) | (y != y) ? y : x)
MAP2(minimum, f64, (y < x) | (y != y) ? y : x)
MAP2(fmax, f32, (x != x || y > x) ? y : x)
MAP2(fmax, f64, (x != x || y > x) ? y : x)
MAP2(fmin, f32, (x != x || y < x) ? y : x)
MAP2(fmin, f64, (x != x || y < x) ? y : x)
MAP2(copysign, f32, copysignf(x, y))
MAP2(copysign, f64, copysign(x, y))
MAP2(heaviside, f32, x == 0.0f ? y : x > 0.0f ? 1.0f : 0.0f)
MAP2(heaviside, f64, x == 0.0 ? y : x > 0.0 ? 1.0 : 0.0)
MAP2(nextafter, f32, nextafterf(x, y))
MAP2(nextafter, f64, nextafter(x, y))

INLINE double hypot_wide(double x, double y)
{
    double h = sqrt(x * x + y * y);
    return fabs(x) == (double)INFINITY || fabs(y) == (double)INFINITY ? (double)INFINITY : h;
}
MAP2(hypot, f32, hypot_wide(x, y))
MAP2(hypot, f64, hypot(x, y))

/* The angle of (x, y); zeros and infinities as C's atan2 has them. */
INLINE double atan2_wide(double y, double x)
{
    double a = fabs(y), b = fabs(x), ratio = a == b ? 1.0 : a / b;
    ratio = a == 0.0 ? 0.0 : ratio;
    ratio = x != x ? x : y != y ? y : ratio;
    double angle = atan_wide_f64(ratio);
    return copysign(bits_f64(x) >> 63 ? 0x1.921fb54442d18p1 - angle : angle, y);
}
MAP2(atan2, f32, atan2_wide(x, y))
MAP2(atan2, f64, atan2(x, y))

/* ---- remainders. Exact in double while the quotient has fewer bits than double has to spare ---- */
INLINE float fmod_fast(float x, float y)
{
    double a = fabs((double)x), b = fabs((double)y), r = a - __builtin_trunc(a / b) * b;
    r = r < 0.0 ? r + b : r;
    r = r >= b ? r - b : r;
    return copysignf((float)r, x);
}

INLINE bool fmod_rare(float x, float y)
{
    return !(fabsf(x) < fabsf(y) * 0x1p28f) || !(fabsf(y) < INFINITY);
}

INLINE float to_divisor_sign_f32(float r, float y)
{
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

INLINE double to_divisor_sign_f64(double r, double y)
{
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}

/* floor(x / y) by way of the remainder, as PyTorch and Python do */
INLINE float div_floor_from_f32(float r, float x, float y)
{
    float q = (x - r) / y;
    q = r != 0.0f && (r < 0.0f) != (y < 0.0f) ? q - 1.0f : q;
    float whole = __builtin_floorf(q);
    whole = q - whole > 0.5f ? whole + 1.0f : whole;
    whole = q != 0.0f ? whole : copysignf(0.0f, x / y);
    return y == 0.0f ? x / y : whole;
}

static double div_floor_f64(double x, double y)
{
    if (y == 0.0)
        return x / y;
    double r = fmod(x, y), q = (x - r) / y;
    if (r != 0.0 && (r < 0.0) != (y < 0.0))
        q -= 1.0;
    if (q == 0.0)
        return copysign(0.0, x / y);
    double whole = floor(q);
    return q - whole > 0.5 ? whole + 1.0 : whole;
}

MAP2_MEND(fmod, f32, fmod_fast(x, y), fmod_rare(x, y), fmodf(x, y))
MAP2_MEND(remainder, f32, to_divisor_sign_f32(fmod_fast(x, y), y), fmod_rare(x, y), to_divisor_sign_f32(fmodf(x, y), y))
MAP2_MEND(div_floor, f32, div_floor_from_f32(fmod_fast(x, y), x, y), fmod_rare(x, y),
          div_floor_from_f32(fmodf(x, y), x, y))
MAP2(fmod, f64, fmod(x, y))
MAP2(remainder, f64, to_divisor_sign_f64(fmod(x, y), y))
MAP2(div_floor, f64, div_floor_f64(x, y))

/* ---- powers and logarithms ---- */
INLINE float pow_fast(float x, float y)
{
    double e = (double)y * log_short_f64((double)x);
    e = e < -105.0 ? -105.0 : e;
    e = e > 90.0 ? 90.0 : e;
    return (float)exp_short_f64(e);
}

/* zero, negative and infinite bases, infinite and NaN exponents */
INLINE bool pow_rare(float x, float y)
{
    return !(x > 0.0f && x < INFINITY && fabsf(y) < INFINITY);
}
MAP2_MEND(pow, f32, pow_fast(x, y), pow_rare(x, y), powf(x, y))
MAP2(pow, f64, pow(x, y))

INLINE double logaddexp_wide(double x, double y)
{
    double top = x > y ? x : y, gap = fabs(x - y);
    double sum = top + log1p_wide_f64(exp_short_f64(-(gap > 200.0 ? 200.0 : gap)));
    sum = fabs(top) == (double)INFINITY ? top : sum;
    return x != x ? x : y != y ? y : sum;
}

static double logaddexp_f64(double x, double y)
{
    if (x != x || y != y)
        return x + y;
    double top = x > y ? x : y;
    return fabs(top) == (double)INFINITY ? top : top + log1p(exp(-fabs(x - y)));
}

static double logaddexp2_f64(double x, double y)
{
    if (x != x || y != y)
        return x + y;
    double top = x > y ? x : y;
    return fabs(top) == (double)INFINITY ? top : top + log1p(exp2(-fabs(x - y))) * LOG2E;
}
MAP2(logaddexp, f32, logaddexp_wide(x, y))
MAP2(logaddexp, f64, logaddexp_f64(x, y))
MAP2(logaddexp2, f32, logaddexp_wide(x * 0x1.62e42fefa39efp-1, y * 0x1.62e42fefa39efp-1) * LOG2E)
MAP2(logaddexp2, f64, logaddexp2_f64(x, y))

MAP2(xlogy, f32, y != y ? y : x == 0.0f ? 0.0f : x * log_f32(y))
MAP2(xlogy, f64, y != y ? y : x == 0.0 ? 0.0 : x * log_f64(y))
MAP2(xlog1py, f32, y != y ? y : x == 0.0f ? 0.0f : (float)(x * log1p_wide_f64(y)))
MAP2(xlog1py, f64, y != y ? y : x == 0.0 ? 0.0 : x * log1p(y))

/* ---- integers. W: the unsigned type to wrap in; LOWEST: the value whose division by -1 overflows ---- */
#define T      i8
#define W      uint32_t
#define SIGNED 1
#include "kernels/binary_int.h"
#define T      u8
#define W      uint32_t
#define SIGNED 0
#include "kernels/binary_int.h"
#define T      i16
#define W      uint32_t
#define SIGNED 1
#include "kernels/binary_int.h"
#define T      i32
#define W      uint32_t
#define SIGNED 1
#include "kernels/binary_int.h"
#define T      i64
#define W      uint64_t
#define SIGNED 1
#include "kernels/binary_int.h"

MAP2(mul, u16, (uint32_t)x *y)
MAP2(mul, u32, (x * y))
MAP2(mul, u64, (x * y))
MAP2(and, u16, x &y)
MAP2(and, u32, x &y)
MAP2(and, u64, x &y)
MAP2(or, u16, x | y)
MAP2(or, u32, x | y)
MAP2(or, u64, x | y)
MAP2(xor, u16, x ^ y)
MAP2(xor, u32, x ^ y)
MAP2(xor, u64, x ^ y)
MAP2(bool_scaled, u8, x | (s[0] & y))

/* ---- 16-bit floats ---- */
HALVES(map2, add)
HALVES(map2, add_scaled)
HALVES(map2, sub)
HALVES(map2, sub_scaled)
HALVES(map2, mul)
HALVES(map2, div)
HALVES(map2, maximum)
HALVES(map2, minimum)
HALVES(map2, copysign)

static const walk_loop loops[][ELEMENTWISE_DTYPES] = {
    AT(BINARY_ADD) = {FLOATS(add), INTS(add), [ACL_BOOL] = loop_or_u8},
    AT(BINARY_ADD_SCALED) = {FLOATS(add_scaled), INTS(add_scaled), [ACL_BOOL] = loop_bool_scaled_u8},
    AT(BINARY_SUB) = {FLOATS(sub), INTS(sub)},
    AT(BINARY_SUB_SCALED) = {FLOATS(sub_scaled), INTS(sub_scaled)},
    AT(BINARY_MUL) = {FLOATS(mul), INTS(mul), WIDE_UINTS(mul), [ACL_BOOL] = loop_and_u8},
    AT(BINARY_DIV) = {FLOATS(div)},
    AT(BINARY_DIV_TRUNC) = {FLOATS(div_trunc), INTS(div_trunc)},
    AT(BINARY_DIV_FLOOR) = {FLOATS(div_floor), INTS(div_floor)},
    AT(BINARY_REMAINDER) = {FLOATS(remainder), INTS(remainder)},
    AT(BINARY_FMOD) = {FLOATS(fmod), INTS(fmod)},
    AT(BINARY_POW) = {FLOATS(pow), INTS(pow)},
    AT(BINARY_MAXIMUM) = {FLOATS(maximum), INTS(maximum), [ACL_BOOL] = loop_or_u8},
    AT(BINARY_MINIMUM) = {FLOATS(minimum), INTS(minimum), [ACL_BOOL] = loop_and_u8},
    AT(BINARY_FMAX) = {FLOATS(fmax), INTS(maximum), [ACL_BOOL] = loop_or_u8},
    AT(BINARY_FMIN) = {FLOATS(fmin), INTS(minimum), [ACL_BOOL] = loop_and_u8},
    AT(BINARY_ATAN2) = {FLOATS(atan2)},
    AT(BINARY_HYPOT) = {FLOATS(hypot)},
    AT(BINARY_COPYSIGN) = {FLOATS(copysign)},
    AT(BINARY_NEXTAFTER) = {FLOATS(nextafter)},
    AT(BINARY_LOGADDEXP) = {FLOATS(logaddexp)},
    AT(BINARY_LOGADDEXP2) = {FLOATS(logaddexp2)},
    AT(BINARY_XLOGY) = {FLOATS(xlogy)},
    AT(BINARY_XLOG1PY) = {FLOATS(xlog1py)},
    AT(BINARY_HEAVISIDE) = {FLOATS(heaviside), INTS(heaviside), [ACL_BOOL] = loop_heaviside_u8},
    AT(BINARY_GCD) = {INTS(gcd)},
    AT(BINARY_LCM) = {INTS(lcm)},
    AT(BINARY_AND) = {INTS(and), WIDE_UINTS(and), [ACL_BOOL] = loop_and_u8},
    AT(BINARY_OR) = {INTS(or), WIDE_UINTS(or), [ACL_BOOL] = loop_or_u8},
    AT(BINARY_XOR) = {INTS(xor), WIDE_UINTS(xor), [ACL_BOOL] = loop_xor_u8},
    AT(BINARY_SHIFT_LEFT) = {INTS(shift_left)},
    AT(BINARY_SHIFT_RIGHT) = {INTS(shift_right)},
};

static const walk_loop halves[][2] = {
    AT(BINARY_ADD) = HALF_PAIR(add),           AT(BINARY_ADD_SCALED) = HALF_PAIR(add_scaled),
    AT(BINARY_SUB) = HALF_PAIR(sub),           AT(BINARY_SUB_SCALED) = HALF_PAIR(sub_scaled),
    AT(BINARY_MUL) = HALF_PAIR(mul),           AT(BINARY_DIV) = HALF_PAIR(div),
    AT(BINARY_MAXIMUM) = HALF_PAIR(maximum),   AT(BINARY_MINIMUM) = HALF_PAIR(minimum),
    AT(BINARY_COPYSIGN) = HALF_PAIR(copysign),
};

const struct elementwise_table ISA(binary_kernels) = {loops, sizeof loops / sizeof *loops, halves,
                                                      sizeof halves / sizeof *halves};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementary functions in float for results that end as 16-bit floats: within 2^-16 of the value, so at most a
 * hundredth of float16's last place, for half the work of vmath.h's. Straight-line C like those, with the same bits at
 * every ISA level. */
#ifndef ANYNPU_KERNELS_VMATH_HALF_H
#define ANYNPU_KERNELS_VMATH_HALF_H

#include "kernels/vmath.h"

/* 2^f on |f| ≤ 1/2: 3e-6 */
VMATH float exp2_part_half(float f)
{
    float p = 0x1.ca1442p-5f + f * 0x1.3997cap-7f;
    p = 0x1.ec06dap-3f + f * p;
    p = 0x1.62e0dcp-1f + f * p;
    return 0x1.ffffe8p-1f + f * p;
}

/* As exp_flush_f32. */
VMATH float exp_flush_half(float x)
{
    x = x < -87.3f ? -87.3f : x;
    x = x > 88.8f ? 88.8f : x;
    float t = x * 0x1.715476p0f, sum = t + ROUND_F32, f = t - (sum - ROUND_F32);
    return exp2_part_half(f) * pow2_f32(sum);
}

VMATH float exp_half(float x)
{
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    float t = x * 0x1.715476p0f, sum = t + ROUND_F32, n = sum - ROUND_F32;
    float half = n * 0.5f + ROUND_F32, rest = n - (half - ROUND_F32) + ROUND_F32;
    return exp2_part_half(t - n) * pow2_f32(half) * pow2_f32(rest);
}

VMATH float sigmoid_half(float x)
{
    return 1.0f / (1.0f + exp_flush_half(-x));
}

/* log(1 + x) = log u + what rounding u = 1 + x lost, log(1+f)/f on 1/√2 - 1 ≤ f < √2 - 1: 1e-6 */
VMATH float log1p_half(float x)
{
    float u = 1.0f + x, lost = x - (u - 1.0f);
    uint32_t shifted = bits_f32(u) - 0x3f3504f3u;
    float e = (float)((int32_t)shifted >> 23), f = float_of((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -0x1.7e512p-3f + f * 0x1.e74246p-4f;
    p = 0x1.a3c3eap-3f + f * p;
    p = -0x1.fe26d4p-3f + f * p;
    p = 0x1.5523fcp-2f + f * p;
    p = -0x1.000176p-1f + f * p;
    p = 0x1.00001p+0f + f * p;
    float y = f * p + e * 0x1.62e43p-1f;
    y += x < 1.0f ? lost : 0.0f;
    y = u > 0.0f ? y : (u == 0.0f ? -INFINITY : NAN);
    y = x < INFINITY ? y : x; /* infinity and NaN */
    return x == 0.0f ? x : y;
}

/* erf(x)/x on |x| ≤ 2.75: 8e-6; what lies beyond rounds to ±1 */
VMATH float erf_half(float x)
{
    x = x < -2.75f ? -2.75f : x;
    x = x > 2.75f ? 2.75f : x;
    float z = x * x;
    float p = -0x1.9c2cf4p-19f + z * 0x1.436c34p-24f;
    p = 0x1.d6febcp-15f + z * p;
    p = -0x1.440d1ap-11f + z * p;
    p = 0x1.31db92p-8f + z * p;
    p = -0x1.ab6b72p-6f + z * p;
    p = 0x1.cbd9d8p-4f + z * p;
    p = -0x1.80fb5ep-2f + z * p;
    p = 0x1.20dce6p+0f + z * p;
    return x * p;
}

/* atan(t)/t on |t| ≤ 1: 4e-6; beyond 1 by the reciprocal */
VMATH float atan_half(float x)
{
    float a = fabsf(x), t = a > 1.0f ? 1.0f / a : a, z = t * t;
    float p = 0x1.d6d9ecp-5f + z * -0x1.b9b91ep-7f;
    p = -0x1.f09814p-4f + z * p;
    p = 0x1.90a986p-3f + z * p;
    p = -0x1.54fc88p-2f + z * p;
    p = t * (0x1.ffff6ep-1f + z * p);
    return copysignf(a > 1.0f ? 0x1.921fb6p0f - p : p, x);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementary functions that vectorise: straight-line C without branches, tables or calls, so that a loop over one of
 * them becomes SIMD code at every ISA level and gives the same bits on all of them (no contraction, no fma).
 *
 * x_f32 works in float (≤ 2 ulp); x_f32 marked "in double" works in double inside (≤ 0.51 ulp); x_f64 is within 1 ulp
 * or two. Polynomials are minimax fits; the error beside each is the fit's own, relative unless said otherwise.
 * Rounding to an integer adds a number so large that its last bit counts ones; that integer then sits in the sum's low
 * bits. */
#ifndef ANYNPU_KERNELS_VMATH_H
#define ANYNPU_KERNELS_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define VMATH static inline __attribute__((always_inline))

#define ROUND_F32 0x1.8p23f
#define ROUND_F64 0x1.8p52
#define LOG2E     0x1.71547652b82fep0
#define LN2_HI    0x1.62e42fee00000p-1 /* 33 bits of ln 2: products with |n| < 2^20 are exact */
#define LN2_LO    0x1.a39ef35793c76p-33

VMATH uint32_t bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

VMATH float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

VMATH uint64_t bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

VMATH double double_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* 2^n from the sum n + ROUND: exact for exponents that exist; n = -127 gives 0 and n = 128 infinity (f32). */
VMATH float pow2_f32(float sum)
{
    return float_of((bits_f32(sum) << 23) + (127u << 23));
}

VMATH double pow2_f64(double sum)
{
    return double_of((bits_f64(sum) << 52) + (1023ull << 52));
}

/* ---- exponentials ---- */

/* (e^r - 1 - r) / r² on |r| ≤ ln2/2: 3e-9 of e^r */
VMATH float exp_tail_f32(float r)
{
    return 0x1.fffffcp-2f + r * (0x1.55549p-3f + r * (0x1.5558fp-5f + r * (0x1.123a6cp-7f + r * 0x1.6a251p-10f)));
}

/* e^r = 2^n e^r', n as a sum; r reduced in two parts of ln 2. */
VMATH float exp_reduce_f32(float x, float *sum)
{
    *sum = x * 0x1.715476p0f + ROUND_F32;
    float n = *sum - ROUND_F32;
    return (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
}

/* For use inside other functions: 0 below e^-88, infinity above 2^127.5. */
VMATH float exp_flush_f32(float x)
{
    x = x < -88.0f ? -88.0f : x;
    x = x > 88.8f ? 88.8f : x;
    float sum, r = exp_reduce_f32(x, &sum);
    return (1.0f + (r + r * r * exp_tail_f32(r))) * pow2_f32(sum);
}

VMATH float exp_f32(float x)
{
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    float sum, r = exp_reduce_f32(x, &sum);
    float half = (sum - ROUND_F32) * 0.5f + ROUND_F32, rest = (sum - ROUND_F32) - (half - ROUND_F32) + ROUND_F32;
    return (1.0f + (r + r * r * exp_tail_f32(r))) * pow2_f32(half) * pow2_f32(rest);
}

VMATH float expm1_f32(float x)
{
    x = x < -30.0f ? -30.0f : x;
    x = x > 89.0f ? 89.0f : x;
    float sum, r = exp_reduce_f32(x, &sum);
    float p = r + r * r * exp_tail_f32(r);
    float half = (sum - ROUND_F32) * 0.5f + ROUND_F32, rest = (sum - ROUND_F32) - (half - ROUND_F32) + ROUND_F32;
    float a = pow2_f32(half), b = pow2_f32(rest);
    float y = (a * p + (a - 1.0f / b)) * b; /* a b p + (a b - 1), where a b alone may overflow */
    return x == 0.0f ? x : y;
}

/* (e^r - 1 - r) / r²: 4e-18 */
VMATH double exp_tail_f64(double r)
{
    double p = 0x1.ad7a847cfb24dp-26;
    p = 0x1.28ad37a837915p-22 + r * p;
    p = 0x1.71df289f19091p-19 + r * p;
    p = 0x1.a0199a7c8493cp-16 + r * p;
    p = 0x1.a01a0128f2601p-13 + r * p;
    p = 0x1.6c16c183e8ac6p-10 + r * p;
    p = 0x1.1111111127efap-7 + r * p;
    p = 0x1.5555555550a4ap-5 + r * p;
    p = 0x1.55555555554fap-3 + r * p;
    return 0x1.0000000000009p-1 + r * p;
}

VMATH double exp_reduce_f64(double x, double *sum)
{
    *sum = x * LOG2E + ROUND_F64;
    double n = *sum - ROUND_F64;
    return (x - n * LN2_HI) - n * LN2_LO;
}

VMATH double exp_scale_f64(double p, double sum)
{
    double half = (sum - ROUND_F64) * 0.5 + ROUND_F64, rest = (sum - ROUND_F64) - (half - ROUND_F64) + ROUND_F64;
    return p * pow2_f64(half) * pow2_f64(rest);
}

VMATH double exp_f64(double x)
{
    x = x < -746.0 ? -746.0 : x;
    x = x > 710.0 ? 710.0 : x;
    double sum, r = exp_reduce_f64(x, &sum);
    return exp_scale_f64(1.0 + (r + r * r * exp_tail_f64(r)), sum);
}

VMATH double expm1_f64(double x)
{
    x = x < -60.0 ? -60.0 : x;
    x = x > 710.0 ? 710.0 : x;
    double sum, r = exp_reduce_f64(x, &sum);
    double p = r + r * r * exp_tail_f64(r);
    double half = (sum - ROUND_F64) * 0.5 + ROUND_F64, rest = (sum - ROUND_F64) - (half - ROUND_F64) + ROUND_F64;
    double a = pow2_f64(half), b = pow2_f64(rest);
    double y = (a * p + (a - 1.0 / b)) * b; /* as in expm1_f32 */
    return x == 0.0 ? x : y;
}

/* e^r to 1e-12 for results that end as float; |x| ≤ 700 */
VMATH double exp_short_f64(double x)
{
    double sum, r = exp_reduce_f64(x, &sum);
    double p = 0x1.a185ca91214e5p-13 + r * 0x1.9e89f95556f74p-16;
    p = 0x1.6c18d249e1d8bp-10 + r * p;
    p = 0x1.1110a24149292p-7 + r * p;
    p = 0x1.5555541ff0f6bp-5 + r * p;
    p = 0x1.5555557dc527dp-3 + r * p;
    p = 0x1.000000005c5f4p-1 + r * p;
    return (1.0 + (r + r * r * p)) * pow2_f64(sum);
}

/* ---- logarithms ---- */

VMATH float log_f32(float x)
{
    float scale = x < 0x1p-126f ? 0x1p23f : 1.0f, bias = x < 0x1p-126f ? 23.0f : 0.0f;
    uint32_t u = bits_f32(x * scale) - 0x3f3504f3u; /* 1/√2 ≤ m < √2 */
    float e = (float)((int32_t)u >> 23) - bias;
    float f = float_of((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    /* (log(1+f) - f + f²/2) / f³: 6e-9 */
    float p = 0x1.07c3ccp-3f + f * -0x1.4229f4p-4f;
    p = -0x1.0cce82p-3f + f * p;
    p = 0x1.226f9p-3f + f * p;
    p = -0x1.547ab6p-3f + f * p;
    p = 0x1.99a59p-3f + f * p;
    p = -0x1.000216p-2f + f * p;
    p = 0x1.55554ap-2f + f * p;
    float ff = f * f;
    float y = f + ((ff * f * p + e * -0x1.bd0106p-13f) - 0.5f * ff) + e * 0x1.63p-1f;
    y = x > 0.0f ? y : (x == 0.0f ? -INFINITY : NAN);
    return x < INFINITY ? y : x; /* infinity and NaN */
}

/* The logarithm of u = 1 + x as it is rounded, and what the rounding lost. */
VMATH float log1p_f32(float x)
{
    float u = 1.0f + x, lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    float more = u > 0.0f && u < INFINITY ? lost / u : 0.0f;
    return x == 0.0f ? x : log_f32(u) + more;
}

/* m and n with x = 2^n m, 1/√2 ≤ m < √2, for x > 0 */
VMATH double log_reduce_f64(double x, double *m)
{
    double scale = x < 0x1p-1022 ? 0x1p54 : 1.0, bias = x < 0x1p-1022 ? 54.0 : 0.0;
    uint64_t u = bits_f64(x * scale) - 0x3fe6a09e667f3bcdull + (2046ull << 52);
    *m = double_of((u & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    return double_of((u >> 52) | 0x4330000000000000ull) - (0x1p52 + 2046.0) - bias;
}

VMATH double log_special_f64(double x, double y)
{
    y = x > 0.0 ? y : (x == 0.0 ? -(double)INFINITY : (double)NAN);
    return x < (double)INFINITY ? y : x;
}

/* log(1+f) - f for f = m - 1, by s = f/(2+f): log(1+f) = 2s + s z R(z), z = s² (1e-18) */
VMATH double log_tail_f64(double f)
{
    double s = f / (2.0 + f), z = s * s;
    double r = 0x1.39a33488cccf0p-3 + z * 0x1.2ef895085cf33p-3;
    r = 0x1.74662dc3366dcp-3 + z * r;
    r = 0x1.c71c526c99b0cp-3 + z * r;
    r = 0x1.249249415cc4dp-2 + z * r;
    r = 0x1.9999999980af4p-2 + z * r;
    r = 0x1.555555555558fp-1 + z * r;
    double h = 0.5 * f * f;
    return s * (h + z * r) - h;
}

VMATH double log_f64(double x)
{
    double m, n = log_reduce_f64(x, &m), f = m - 1.0;
    return log_special_f64(x, n * LN2_HI + (f + (log_tail_f64(f) + n * LN2_LO)));
}

/* log x to 1e-11, x > 0 and normal, for results that end as float */
VMATH double log_short_f64(double x)
{
    double m, n = log_reduce_f64(x, &m), f = m - 1.0;
    double s = f / (2.0 + f), z = s * s;
    double r = 0x1.2439241767b47p-2 + z * 0x1.e2ede56d8e43fp-3;
    r = 0x1.999a78e5eaed1p-2 + z * r;
    r = 0x1.555554fef53c6p-1 + z * r;
    return n * 0x1.62e42fefa39efp-1 + s * (2.0 + z * r);
}

/* log of a double that comes from a float, with the special cases */
VMATH double log_wide_f64(double x)
{
    return log_special_f64(x, log_short_f64(x));
}

/* log(1 + x) in double */
VMATH double log1p_wide_f64(double x)
{
    double small = x * (1.0 - x * (0.5 - x * (0x1.5555555555555p-2 - x * 0.25)));
    double big = log_wide_f64(1.0 + x);
    return fabs(x) < 1e-3 ? small : big;
}

/* ---- hyperbolic, sigmoid ---- */

/* tanh by expm1(2|x|): relative accuracy near 0, exactly ±1 from 9.02 on */
VMATH float tanh_f32(float x)
{
    float a = fabsf(x);
    a = a > 9.02f ? 9.02f : a;
    float sum, r = exp_reduce_f32(a + a, &sum), s = pow2_f32(sum);
    float em1 = s * (r + r * r * exp_tail_f32(r)) + (s - 1.0f);
    return copysignf(em1 / (em1 + 2.0f), x);
}

VMATH float sigmoid_f32(float x)
{
    return 1.0f / (1.0f + exp_flush_f32(-x));
}

VMATH double sigmoid_f64(double x)
{
    return 1.0 / (1.0 + exp_f64(-x));
}

/* log(1 + e) on 0 ≤ e ≤ 1 by s = e/(2+e): 2s + s z R(z), z = s² (1e-10) */
VMATH float log1p_unit_f32(float e)
{
    float q = e / (2.0f + e), z = q * q;
    float r = 0x1.b7185p-3f + z * 0x1.f0cb22p-3f;
    r = 0x1.25061cp-2f + z * r;
    r = 0x1.9996ccp-2f + z * r;
    r = 0x1.555558p-1f + z * r;
    return q + (q + q * z * r);
}

/* log(1 + e^x) = max(x, 0) + log1p(e^-|x|) */
VMATH float softplus_f32(float x)
{
    float y = log1p_unit_f32(exp_flush_f32(-fabsf(x)));
    return x > 0.0f ? x + y : y;
}

/* log(1 + e) on 0 ≤ e ≤ 1: halved above √2 - 1, where (e - 1) / 2 is exact */
VMATH double log1p_unit_f64(double e)
{
    double f = e > 0x1.a827999fcef32p-2 ? (e - 1.0) * 0.5 : e, low = log_tail_f64(f);
    return e > 0x1.a827999fcef32p-2 ? LN2_HI + (f + (low + LN2_LO)) : f + low;
}

VMATH double softplus_f64(double x)
{
    double y = log1p_unit_f64(exp_f64(-fabs(x)));
    return x > 0.0 ? x + y : y;
}

/* ---- the error function ---- */

/* e^(x²) erfc(x) for x ≥ 0 by t = 1/(1 + x/2): 4e-8 */
VMATH float erfc_scaled_f32(float x)
{
    float t = 1.0f / (1.0f + 0.5f * x);
    float p = 0x1.23ae4ep-2f + t * -0x1.e45828p-5f;
    p = -0x1.f377580p-2f + t * p;
    p = 0x1.1d6626p-2f + t * p;
    p = -0x1.bb83fap-6f + t * p;
    p = 0x1.9f7d3cp-3f + t * p;
    p = 0x1.f1c748p-3f + t * p;
    p = 0x1.2128bap-2f + t * p;
    p = 0x1.20db2ap-2f + t * p;
    return t * p;
}

VMATH float erf_f32(float x)
{
    float a = fabsf(x), z = a * a;
    /* erf(x)/x on [0, 1]: 1e-9 */
    float p = -0x1.a3f71p-11f + z * 0x1.496a5ep-14f;
    p = 0x1.5405b4p-8f + z * p;
    p = -0x1.b7f90ep-6f + z * p;
    p = 0x1.ce2cf8p-4f + z * p;
    p = -0x1.81273ep-2f + z * p;
    p = 0x1.20dd74p+0f + z * p;
    float tail = 1.0f - erfc_scaled_f32(a) * exp_flush_f32(-z);
    return copysignf(a < 1.0f ? a * p : tail, x);
}

/* in double: 5e-9 */
VMATH double erfc_wide_f64(double x)
{
    double a = fabs(x), t = 1.0 / (1.0 + 0.3275911 * a);
    double p = -0x1.42c74090f2027p-2 + t * 0x1.cd783321152edp-5;
    p = 0x1.3ed69c7ea8ca2p-1 + t * p;
    p = -0x1.1b7edeb0ad564p-1 + t * p;
    p = 0x1.fbcf81c934141p-2 + t * p;
    p = -0x1.83c1c57a1202fp-5 + t * p;
    p = 0x1.a38845ff5e075p-3 + t * p;
    p = 0x1.53bb23601261bp-3 + t * p;
    p = 0x1.7c712921b18a9p-3 + t * p;
    p = 0x1.7a6e57d3704f3p-3 + t * p;
    double z = a * a;
    double y = t * p * exp_short_f64(-(z > 200.0 ? 200.0 : z));
    return x < 0.0 ? 2.0 - y : y;
}

VMATH double normal_cdf_f64(double x)
{
    return 0.5 * erfc(x * -0x1.6a09e667f3bcdp-1);
}

VMATH double gelu_slope_f64(double x)
{
    return normal_cdf_f64(x) + x * exp_f64(-0.5 * x * x) * 0x1.9884533d43651p-2;
}

/* Φ(x), the normal distribution function: ½ + x P(x²)/Q(x²), 2e-8 absolute; exactly 0 and 1 beyond 5.4 */
VMATH float normal_cdf_f32(float x)
{
    float c = x < -5.4f ? -5.4f : x;
    c = c > 5.4f ? 5.4f : c;
    float z = c * c;
    float p = -0x1.7e46e0p-26f + z * 0x1.feb36ap-34f;
    p = 0x1.a42e7ap-19f + z * p;
    p = 0x1.4ce2aep-13f + z * p;
    p = 0x1.22904ep-8f + z * p;
    p = 0x1.1cc99ep-5f + z * p;
    p = 0x1.98844cp-2f + z * p;
    float q = 0x1.cdfb68p-10f + z * 0x1.eb8cecp-15f;
    q = 0x1.d19894p-6f + z * q;
    q = 0x1.03e5a2p-2f + z * q;
    q = 1.0f + z * q;
    float y = 0.5f + c * p / q;
    y = x > 5.4f ? 1.0f : y;
    return x < -5.4f ? 0.0f : y;
}

/* d/dx x Φ(x) = Φ(x) + x φ(x) in the same manner, 4e-8 absolute; 0 and 1 beyond 5.6 */
VMATH float gelu_slope_f32(float x)
{
    float c = x < -5.6f ? -5.6f : x;
    c = c > 5.6f ? 5.6f : c;
    float z = c * c;
    float p = 0x1.24147p-17f + z * 0x1.a1fa02p-25f;
    p = 0x1.ff552cp-16f + z * p;
    p = 0x1.b9b12ap-9f + z * p;
    p = 0x1.aa3afep-8f + z * p;
    p = 0x1.3c536p-3f + z * p;
    p = 0x1.98844cp-1f + z * p;
    float q = 0x1.a5796ep-15f + z * 0x1.26f3a8p-19f;
    q = 0x1.069e6ap-10f + z * q;
    q = 0x1.a581fcp-7f + z * q;
    q = 0x1.bda246p-4f + z * q;
    q = 0x1.0dc776p-1f + z * q;
    q = 1.0f + z * q;
    float y = 0.5f + c * p / q;
    y = x > 5.6f ? 1.0f : y;
    return x < -5.6f ? 0.0f : y;
}

/* ---- trigonometry: reduction by π/2 in double, good for |x| ≤ TRIG_MAX ---- */

#define TRIG_MAX_F32 0x1p25f
#define TRIG_MAX_F64 0x1p20
#define PIO2_1       0x1.921fb54000000p+0 /* 27 bits each, then the rest */
#define PIO2_2       0x1.10b461p-30
#define PIO2_3       0x1.a62633145c06ep-58

VMATH float trig_reduce_f32(float x, uint32_t *quadrant)
{
    double d = x, sum = d * 0x1.45f306dc9c883p-1 + ROUND_F64, n = sum - ROUND_F64;
    *quadrant = (uint32_t)bits_f64(sum);
    return (float)((d - n * PIO2_1) - n * 0x1.10b4611a62633p-30);
}

VMATH float sin_poly_f32(float r)
{
    float z = r * r;
    return r + r * z * (-0x1.555546p-3f + z * (0x1.110752p-7f + z * -0x1.99495cp-13f));
}

VMATH float cos_poly_f32(float r)
{
    float z = r * r;
    return 1.0f - (0.5f * z - z * z * (0x1.55554ap-5f + z * (-0x1.6c0c8ap-10f + z * 0x1.9a00b8p-16f)));
}

VMATH float sin_f32(float x)
{
    uint32_t q;
    float r = trig_reduce_f32(x, &q), s = sin_poly_f32(r), c = cos_poly_f32(r);
    float y = (q & 1u) ? c : s;
    return x == 0.0f ? x : float_of(bits_f32(y) ^ (q & 2u) << 30);
}

VMATH float cos_f32(float x)
{
    uint32_t q;
    float r = trig_reduce_f32(x, &q), s = sin_poly_f32(r), c = cos_poly_f32(r);
    float y = (q & 1u) ? s : c;
    return float_of(bits_f32(y) ^ ((q + 1u) & 2u) << 30);
}

VMATH double trig_reduce_f64(double x, uint64_t *quadrant, double *low)
{
    double sum = x * 0x1.45f306dc9c883p-1 + ROUND_F64, n = sum - ROUND_F64;
    *quadrant = bits_f64(sum);
    double a = x - n * PIO2_1, b = n * PIO2_2, c = a - b, w = (a - c) - b, d = n * PIO2_3, r = c + (w - d);
    *low = (c - r) + (w - d);
    return r;
}

VMATH double sin_poly_f64(double r, double low)
{
    double z = r * r;
    double p = -0x1.ae5e5edd923cap-26 + z * 0x1.5d90a180dc47cp-33;
    p = 0x1.71de356f966e0p-19 + z * p;
    p = -0x1.a01a019c0a1f0p-13 + z * p;
    p = 0x1.111111110f854p-7 + z * p;
    double q = z * r;
    return r - ((z * (0.5 * low - q * p) - low) + q * 0x1.5555555555549p-3);
}

VMATH double cos_poly_f64(double r, double low)
{
    double z = r * r;
    double p = 0x1.1eea03c90d323p-29 + z * -0x1.8fb97e0366eadp-37;
    p = -0x1.27e4f83249219p-22 + z * p;
    p = 0x1.a01a019cf2e27p-16 + z * p;
    p = -0x1.6c16c16c15499p-10 + z * p;
    p = 0x1.555555555554dp-5 + z * p;
    double h = 0.5 * z, w = 1.0 - h;
    return w + (((1.0 - w) - h) + (z * z * p - r * low));
}

VMATH double sin_f64(double x)
{
    uint64_t q;
    double low, r = trig_reduce_f64(x, &q, &low), s = sin_poly_f64(r, low), c = cos_poly_f64(r, low);
    double y = (q & 1u) ? c : s;
    return x == 0.0 ? x : double_of(bits_f64(y) ^ (q & 2u) << 62);
}

VMATH double cos_f64(double x)
{
    uint64_t q;
    double low, r = trig_reduce_f64(x, &q, &low), s = sin_poly_f64(r, low), c = cos_poly_f64(r, low);
    double y = (q & 1u) ? s : c;
    return double_of(bits_f64(y) ^ ((q + 1u) & 2u) << 62);
}

/* in double: 4e-10 */
VMATH double atan_wide_f64(double x)
{
    double a = fabs(x), t = a > 1.0 ? 1.0 / a : a, z = t * t;
    double p = -0x1.e7beefa1bfa71p-8 + z * 0x1.2a830f258e75ep-10;
    p = 0x1.759d5508aa649p-6 + z * p;
    p = -0x1.70a2143d66ed5p-5 + z * p;
    p = 0x1.15082f37a0d6dp-4 + z * p;
    p = -0x1.694b3bec2b3d4p-4 + z * p;
    p = 0x1.c50c70213dcebp-4 + z * p;
    p = -0x1.2475745499c3fp-3 + z * p;
    p = 0x1.99980694d6cfep-3 + z * p;
    p = -0x1.55555186034e1p-2 + z * p;
    double y = t + t * z * p;
    return copysign(a > 1.0 ? 0x1.921fb54442d18p0 - y : y, x);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/random.h"

#include <stdbool.h>
#include <string.h>

#include "base/dtype.h"
#include "kernels/half.h"
#include "kernels/vmath.h"

enum { LANES = 16 };

/* ---- Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3) ---- */

static inline void philox_group(uint32_t out[restrict RANDOM_GROUP], const struct random_param *p, uint64_t group)
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    uint32_t k0 = (uint32_t)p->seed, k1 = (uint32_t)(p->seed >> 32);
    for (int i = 0; i < LANES; i++) {
        uint64_t block = group * LANES + (uint64_t)i;
        c0[i] = (uint32_t)block;
        c1[i] = (uint32_t)(block >> 32);
        c2[i] = (uint32_t)p->offset;
        c3[i] = (uint32_t)(p->offset >> 32);
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t a = (uint64_t)c0[i] * 0xd2511f53u, b = (uint64_t)c2[i] * 0xcd9e8d57u;
            uint32_t n0 = (uint32_t)(b >> 32) ^ c1[i] ^ k0, n2 = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
            c0[i] = n0;
            c1[i] = (uint32_t)b;
            c2[i] = n2;
            c3[i] = (uint32_t)a;
        }
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    memcpy(out, c0, sizeof c0);
    memcpy(out + 1 * LANES, c1, sizeof c1);
    memcpy(out + 2 * LANES, c2, sizeof c2);
    memcpy(out + 3 * LANES, c3, sizeof c3);
}

static uint64_t word(uint64_t seed, uint64_t offset, uint64_t counter)
{
    const struct random_param p = {.seed = seed, .offset = offset};
    uint32_t w[RANDOM_GROUP];
    philox_group(w, &p, counter / (2 * LANES));
    int pair = (int)(counter / LANES % 2), lane = (int)(counter % LANES);
    return (uint64_t)w[(2 * pair + 1) * LANES + lane] << 32 | w[2 * pair * LANES + lane];
}

/* ---- groups of numbers ---- */

/* bits: 24 for float, 11 for f16, 8 for bf16, so that no rounding reaches the upper end */
static void uniform_group(float *restrict out, const uint32_t *restrict w, int bits, const struct random_param *p)
{
    const float low = (float)p->a, width = (float)(p->b - p->a), top = (float)p->top,
                unit = (float)(1.0 / (double)(1 << bits));
    const int shift = 32 - bits;
    for (int i = 0; i < RANDOM_GROUP; i++) {
        float v = (float)(int32_t)(w[i] >> shift) * unit * width + low;
        out[i] = v < top ? v : top;
    }
}

/* Box and Muller: words 0 and 1 of a block make two numbers, words 2 and 3 two more. The angle's two highest bits are
 * the quadrant, the rest is a signed part of ±π/4. */
static void normal_group(float *restrict out, const uint32_t *restrict w, float mean, float deviation)
{
    for (int half = 0; half < 2; half++) {
        const uint32_t *a = w + 2 * LANES * half, *b = a + LANES;
        float *x = out + 2 * LANES * half, *y = x + LANES;
        for (int i = 0; i < LANES; i++) {
            float u = ((float)(int32_t)(a[i] >> 1) + 0.5f) * 0x1p-31f,
                  radius = sqrtf(-2.0f * log_f32(u < 1.0f ? u : 1.0f - 0x1p-24f));
            float r = (float)(int32_t)(b[i] << 2) * (0x1.921fb6p0f * 0x1p-32f), s = sin_poly_f32(r),
                  c = cos_poly_f32(r);
            uint32_t q = b[i] >> 30;
            float sine = q & 1u ? c : s, cosine = q & 1u ? s : c;
            sine = float_of(bits_f32(sine) ^ (q & 2u) << 30);
            cosine = float_of(bits_f32(cosine) ^ ((q + 1u) & 2u) << 30);
            x[i] = radius * cosine * deviation + mean;
            y[i] = radius * sine * deviation + mean;
        }
    }
}

static void exponential_group(float *restrict out, const uint32_t *restrict w, float rate)
{
    for (int i = 0; i < RANDOM_GROUP; i++) {
        float u = ((float)(int32_t)(w[i] >> 1) + 0.5f) * 0x1p-31f, v = -log_f32(u < 1.0f ? u : 1.0f - 0x1p-24f);
        out[i] = v / rate;
    }
}

/* 53 random bits in (0, 1): never either end */
static inline double open_f64(uint32_t low, uint32_t high)
{
    return ((double)(((uint64_t)high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

/* 32 doubles from a group: pair of words k of block b at place 16 k + b. */
static void double_group(enum random_kind kind, double *restrict out, const uint32_t *restrict w,
                         const struct random_param *p)
{
    switch (kind) {
    case RANDOM_NORMAL:
        for (int i = 0; i < LANES; i++) {
            double radius = sqrt(-2.0 * log_f64(open_f64(w[i], w[1 * LANES + i])));
            int64_t angle = (int64_t)((uint64_t)w[3 * LANES + i] << 34 | (uint64_t)w[2 * LANES + i] << 2);
            double r = (double)(angle >> 11) * (0x1.921fb54442d18p0 * 0x1p-53), s = sin_poly_f64(r, 0),
                   c = cos_poly_f64(r, 0);
            uint64_t q = w[3 * LANES + i] >> 30;
            double sine = q & 1u ? c : s, cosine = q & 1u ? s : c;
            sine = double_of(bits_f64(sine) ^ (q & 2u) << 62);
            cosine = double_of(bits_f64(cosine) ^ ((q + 1u) & 2u) << 62);
            out[i] = radius * cosine * p->b + p->a;
            out[LANES + i] = radius * sine * p->b + p->a;
        }
        return;
    case RANDOM_EXPONENTIAL:
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < LANES; i++)
                out[LANES * k + i] = -log_f64(open_f64(w[2 * k * LANES + i], w[(2 * k + 1) * LANES + i])) / p->a;
        return;
    default:
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < LANES; i++) {
                double u = (double)(((uint64_t)w[(2 * k + 1) * LANES + i] << 32 | w[2 * k * LANES + i]) >> 11) *
                           0x1p-53,
                       v = u * (p->b - p->a) + p->a;
                out[LANES * k + i] = v < p->top ? v : p->top;
            }
    }
}

/* Words that count as 1 for a probability. */
static uint64_t threshold(double probability)
{
    return probability >= 1 ? UINT64_C(1) << 32 : probability > 0 ? (uint64_t)(probability * 0x1p32) : 0;
}

static inline uint64_t high_product(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* ---- stores ---- */

static void store_floats(aclDataType dtype, int64_t n, void *out, int64_t at, const float *value)
{
    if (dtype == ACL_FLOAT)
        memcpy((float *)out + at, value, (size_t)n * sizeof(float));
    else
        half_store(dtype, n, (uint16_t *)out + at, value);
}

static void store_integers(aclDataType dtype, int64_t n, void *out, int64_t at, const int64_t *value)
{
    switch ((int)dtype) {
    case ACL_FLOAT:
        for (int64_t i = 0; i < n; i++)
            ((float *)out)[at + i] = (float)value[i];
        return;
    case ACL_DOUBLE:
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[at + i] = (double)value[i];
        return;
    case ACL_FLOAT16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)out)[at + i] = f16_from_float((float)value[i]);
        return;
    case ACL_BF16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)out)[at + i] = bf16_from_float((float)value[i]);
        return;
    case ACL_INT64:
    case ACL_UINT64:
        memcpy((int64_t *)out + at, value, (size_t)n * sizeof *value);
        return;
    case ACL_INT32:
    case ACL_UINT32:
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)out)[at + i] = (int32_t)value[i];
        return;
    case ACL_INT16:
    case ACL_UINT16:
        for (int64_t i = 0; i < n; i++)
            ((int16_t *)out)[at + i] = (int16_t)value[i];
        return;
    default:
        for (int64_t i = 0; i < n; i++)
            ((int8_t *)out)[at + i] = (int8_t)value[i];
    }
}

/* ---- filling ---- */

static void fill_words(enum random_kind kind, aclDataType dtype, uint64_t first, int64_t n, void *out,
                       const struct random_param *p)
{
    uint32_t w[RANDOM_GROUP];
    float value[RANDOM_GROUP];
    int64_t whole[RANDOM_GROUP];
    const uint64_t limit = threshold(p->a);
    for (int64_t at = 0; at < n; at += RANDOM_GROUP) {
        int64_t m = n - at < RANDOM_GROUP ? n - at : RANDOM_GROUP;
        philox_group(w, p, (first + (uint64_t)at) / RANDOM_GROUP);
        switch (kind) {
        case RANDOM_UNIFORM:
            uniform_group(value, w, dtype == ACL_FLOAT ? 24 : dtype == ACL_FLOAT16 ? 11 : 8, p);
            break;
        case RANDOM_NORMAL:
            normal_group(value, w, (float)p->a, (float)p->b);
            break;
        case RANDOM_EXPONENTIAL:
            exponential_group(value, w, (float)p->a);
            break;
        case RANDOM_BERNOULLI:
            if (dtype == ACL_BOOL || dtype == ACL_UINT8 || dtype == ACL_INT8) {
                for (int64_t i = 0; i < m; i++)
                    ((uint8_t *)out)[at + i] = w[i] < limit;
                continue;
            }
            if (dtype == ACL_FLOAT) {
                for (int64_t i = 0; i < m; i++)
                    ((float *)out)[at + i] = w[i] < limit ? 1.0f : 0.0f;
                continue;
            }
            for (int i = 0; i < RANDOM_GROUP; i++)
                whole[i] = w[i] < limit;
            store_integers(dtype, m, out, at, whole);
            continue;
        default:
            for (int i = 0; i < RANDOM_GROUP; i++)
                whole[i] = (int64_t)((uint64_t)p->from + ((uint64_t)w[i] * p->range >> 32));
            store_integers(dtype, m, out, at, whole);
            continue;
        }
        store_floats(dtype, m, out, at, value);
    }
}

/* Two words an element: doubles, and integers of wide ranges. */
static void fill_pairs(enum random_kind kind, aclDataType dtype, uint64_t first, int64_t n, void *out,
                       const struct random_param *p)
{
    enum { PAIRS = RANDOM_GROUP / 2 };
    uint32_t w[RANDOM_GROUP];
    double value[PAIRS];
    int64_t whole[PAIRS];
    for (int64_t at = 0; at < n; at += PAIRS) {
        int64_t m = n - at < PAIRS ? n - at : PAIRS;
        philox_group(w, p, (first + (uint64_t)at) / PAIRS);
        if (kind != RANDOM_INTEGER) {
            double_group(kind, value, w, p);
            memcpy((double *)out + at, value, (size_t)m * sizeof *value);
            continue;
        }
        for (int i = 0; i < PAIRS; i++) {
            uint64_t x =
                (uint64_t)w[(2 * (i / LANES) + 1) * LANES + i % LANES] << 32 | w[2 * (i / LANES) * LANES + i % LANES];
            whole[i] = (int64_t)((uint64_t)p->from + (p->range ? high_product(x, p->range) : x));
        }
        store_integers(dtype, m, out, at, whole);
    }
}

static void fill(enum random_kind kind, aclDataType dtype, uint64_t first, int64_t n, void *out,
                 const struct random_param *p)
{
    bool wide =
        kind == RANDOM_INTEGER ? p->range - 1 >= UINT64_C(1) << 24 : dtype == ACL_DOUBLE && kind != RANDOM_BERNOULLI;
    (wide ? fill_pairs : fill_words)(kind, dtype, first, n, out, p);
}

static void draw(enum random_kind kind, uint64_t first, int64_t n, double *out, const struct random_param *p)
{
    const struct random_param standard = {.seed = p->seed, .offset = p->offset, .a = 0, .b = 1, .top = 1 - 0x1p-53};
    fill_pairs(kind, ACL_DOUBLE, first, n, out, &standard);
}

/* ---- masks ---- */

static void bits(uint64_t first, int64_t n, uint8_t *out, const struct random_param *p)
{
    uint32_t w[RANDOM_GROUP];
    const uint64_t limit = threshold(p->a);
    for (int64_t at = 0; at < n; at += RANDOM_GROUP) {
        int64_t m = n - at < RANDOM_GROUP ? n - at : RANDOM_GROUP;
        uint64_t mask = 0;
        philox_group(w, p, (first + (uint64_t)at) / RANDOM_GROUP);
        for (int i = 0; i < RANDOM_GROUP; i++)
            mask |= (uint64_t)(w[i] < limit) << i;
        if (m < RANDOM_GROUP)
            mask &= (UINT64_C(1) << m) - 1;
        memcpy(out + at / 8, &mask, (size_t)(m + 7) / 8);
    }
}

static void scale_f32(int64_t n, float *out, const float *in, const float *keep, float scale)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = keep[i] != 0 ? in[i] * scale : 0;
}

/* n ≤ HALF_BLOCK elements with their keep numbers */
static void scale_block(aclDataType dtype, int64_t n, void *out, const void *in, int64_t at, const float *keep,
                        double scale)
{
    float x[HALF_BLOCK];
    if (dtype == ACL_FLOAT) {
        scale_f32(n, (float *)out + at, (const float *)in + at, keep, (float)scale);
    } else if (dtype == ACL_DOUBLE) {
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[at + i] = keep[i] != 0 ? ((const double *)in)[at + i] * scale : 0;
    } else {
        half_load(dtype, n, x, (const uint16_t *)in + at);
        scale_f32(n, x, x, keep, (float)scale);
        half_store(dtype, n, (uint16_t *)out + at, x);
    }
}

static void mask_bits(aclDataType dtype, int64_t n, void *out, const void *in, const uint8_t *mask, double scale)
{
    float keep[HALF_BLOCK];
    for (int64_t at = 0; at < n; at += HALF_BLOCK) {
        int64_t m = n - at < HALF_BLOCK ? n - at : HALF_BLOCK;
        for (int64_t i = 0; i < m; i++)
            keep[i] = (float)(mask[(at + i) / 8] >> (i % 8) & 1);
        scale_block(dtype, m, out, in, at, keep, scale);
    }
}

const struct random_kernels ISA(random_kernels) = {fill, draw, bits, mask_bits, word};

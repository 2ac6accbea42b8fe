/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of 16-bit floats to float and back, for kernels that compute in float. The same bits on every ISA level: round
 * to nearest even, NaN becomes the canonical quiet one with its sign. Where an instruction does otherwise with NaN or
 * with numbers below the normal ones, a vector that has such goes another way. Included by kernel sources only. */
#ifndef ANYNPU_KERNELS_HALF_H
#define ANYNPU_KERNELS_HALF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/dtype.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { HALF_BLOCK = 512 }; /* elements that callers convert at a time into buffers on their stack */

static inline void f16_load(int64_t n, float *restrict out, const uint16_t *restrict in)
{
    int64_t i = 0;
#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(in + i))));
#endif
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    for (; i < n; i++)
        out[i] = _cvtsh_ss(in[i]);
#else
    for (; i < n; i++)
        out[i] = f16_to_float(in[i]);
#endif
}

static inline void f16_store(int64_t n, uint16_t *restrict out, const float *restrict in)
{
    int64_t i = 0;
#ifdef __AVX512DQ__
    for (; i + 16 <= n; i += 16) {
        __m512 v = _mm512_loadu_ps(in + i);
        __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
        if (__builtin_expect(nan, 0)) {
            __m512 sign = _mm512_and_ps(v, _mm512_set1_ps(-0.0f));
            v = _mm512_mask_or_ps(v, nan, sign, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
        }
        _mm256_storeu_si256((__m256i *)(out + i), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(in + i);
        __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
        __m256 canonical =
            _mm256_or_ps(_mm256_and_ps(v, _mm256_set1_ps(-0.0f)), _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
        v = _mm256_blendv_ps(v, canonical, nan);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; i++)
        out[i] = f16_from_float(in[i]);
}

static inline void bf16_load(int64_t n, float *restrict out, const uint16_t *restrict in)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = bf16_to_float(in[i]);
}

static inline void bf16_store_plain(int64_t n, uint16_t *restrict out, const float *restrict in)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits, rounded, nan;
        memcpy(&bits, in + i, sizeof bits);
        rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        nan = 0x7fc0u | (bits >> 16 & 0x8000u);
        out[i] = (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

#if defined __AVX512DQ__ && defined __AVX512BW__
static inline __m256i bf16_rounded(__m512 v)
{
    __m512i bits = _mm512_castps_si512(v), last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
    __m512i canonical = _mm512_or_si512(bits, _mm512_set1_epi32(0x7fff0000)), nan = _mm512_set1_epi32((int)0xffc00000);
    __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_and_epi32(rounded, is_nan, canonical, nan);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
}

/* 32 numbers, by the CPU's own instruction where it has one (written out: this file is compiled for CPUs without). */
static inline __m512i bf16_pack(bool native, __m512 low, __m512 high)
{
    enum { NAN_OR_SUBNORMAL = 0x01 | 0x80 | 0x20 };
    if (native) {
        __mmask16 odd = _mm512_fpclass_ps_mask(low, NAN_OR_SUBNORMAL) | _mm512_fpclass_ps_mask(high, NAN_OR_SUBNORMAL);
        if (__builtin_expect(!odd, 1)) {
            __m512i packed;
            __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(packed) : "v"(high), "v"(low));
            return packed;
        }
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(bf16_rounded(low)), bf16_rounded(high), 1);
}
#endif

/* native: cpu_has_bf16(), asked once by who stores many runs. */
static inline void bf16_store_by(bool native, int64_t n, uint16_t *restrict out, const float *restrict in)
{
    int64_t i = 0;
    (void)native;
#if defined __AVX512DQ__ && defined __AVX512BW__
    for (; i + 32 <= n; i += 32)
        _mm512_storeu_si512(out + i, bf16_pack(native, _mm512_loadu_ps(in + i), _mm512_loadu_ps(in + i + 16)));
#endif
    bf16_store_plain(n - i, out + i, in + i);
}

static inline void bf16_store(int64_t n, uint16_t *restrict out, const float *restrict in)
{
    bf16_store_by(cpu_has_bf16(), n, out, in);
}

/* Either type, by name; dtype is ACL_FLOAT16 or ACL_BF16. */
static inline void half_load(aclDataType dtype, int64_t n, float *restrict out, const uint16_t *restrict in)
{
    if (dtype == ACL_BF16)
        bf16_load(n, out, in);
    else
        f16_load(n, out, in);
}

static inline void half_store(aclDataType dtype, int64_t n, uint16_t *restrict out, const float *restrict in)
{
    if (dtype == ACL_BF16)
        bf16_store(n, out, in);
    else
        f16_store(n, out, in);
}

#endif

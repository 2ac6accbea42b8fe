/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types: sizes, names as CANN's error texts spell them, classes, and conversion of the two 16-bit floats.
 * Pure functions, any thread. */
#ifndef ANYNPU_BASE_DTYPE_H
#define ANYNPU_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "acl/acl_base.h"

enum dtype_kind { DTYPE_UNKNOWN, DTYPE_OTHER, DTYPE_INT, DTYPE_FLOAT, DTYPE_COMPLEX };
enum { DTYPE_ROOM = 64 }; /* every aclDataType is below */

/* One row a type; types that do not exist are DTYPE_UNKNOWN. */
struct dtype_row {
    const char *name;
    uint8_t size, kind;
};
extern const struct dtype_row dtype_rows[DTYPE_ROOM] __attribute__((visibility("hidden")));

static inline const struct dtype_row *dtype_row(aclDataType dtype)
{
    return &dtype_rows[(unsigned)dtype < DTYPE_ROOM ? (unsigned)dtype : DTYPE_ROOM - 1];
}

/* Bytes of one element; 0 when the type is unknown or has no whole bytes. */
static inline size_t dtype_size(aclDataType dtype)
{
    return dtype_row(dtype)->size;
}

/* Bits of one element; 0 when the type is unknown or a string. Those of four bits lie two a byte, the first in the low
 * half.
 */
static inline size_t dtype_bits(aclDataType dtype)
{
    return dtype == ACL_INT4 || dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2 ? 4 : 8 * dtype_size(dtype);
}

static inline bool dtype_is_float(aclDataType dtype) /* f16 bf16 f32 f64 */
{
    return dtype_row(dtype)->kind == DTYPE_FLOAT;
}

static inline bool dtype_is_int(aclDataType dtype) /* signed and unsigned integers, not bool */
{
    return dtype_row(dtype)->kind == DTYPE_INT;
}

static inline bool dtype_is_complex(aclDataType dtype)
{
    return dtype_row(dtype)->kind == DTYPE_COMPLEX;
}

/* "DT_FLOAT", "DT_BFLOAT16", …; "DT_UNDEFINED" when unknown. */
const char *dtype_name(aclDataType dtype);

static inline float bf16_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Round to nearest even; NaN stays NaN. */
static inline uint16_t bf16_from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(0x7fc0u | (bits >> 16 & 0x8000u));
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* As the F16C instruction: a signalling NaN becomes quiet, its payload stays. */
static inline float f16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13, bits;
    float small = (float)(h & 0x03ffu) * 0x1p-24f; /* subnormals, in units of the half's last bit */
    memcpy(&bits, &small, sizeof bits);
    bits = rest < 0x00800000u ? bits : rest + 0x38000000u;
    bits = rest < 0x0f800000u ? bits : rest | 0x7f800000u | (rest > 0x0f800000u ? 0x00400000u : 0);
    bits |= sign;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Round to nearest even; overflow gives infinity; any NaN becomes the canonical quiet one with its sign. */
static inline uint16_t f16_from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, mag = bits & 0x7fffffffu;
    if (mag > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (mag >= 0x477ff000u) /* rounds to 65520 or more */
        return (uint16_t)(sign | 0x7c00u);
    if (mag < 0x38800000u) { /* subnormal half or zero: let float addition round at 2^-24 */
        float a, magic = 0.5f;
        memcpy(&a, &mag, sizeof a);
        a += magic;
        uint32_t r;
        memcpy(&r, &a, sizeof r);
        return (uint16_t)(sign | (r - 0x3f000000u));
    }
    uint32_t odd = mag >> 13 & 1u;
    return (uint16_t)(sign | ((mag - 0x38000000u + 0xfffu + odd) >> 13));
}

#endif

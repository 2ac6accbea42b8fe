/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of eight- and four-bit numbers, through float; see narrow.h. */
#include "graph/operators/narrow.h"

#include <math.h>
#include <string.h>

#include "runtime/door.h"

/* A type with sign, exponent and mantissa. */
enum { NONE = 0xff }; /* no code of a magnitude */
struct form {
    int exponent, mantissa, bias;
    float max;
    uint8_t most, infinity, nan; /* the code of max, and others, which may be NONE */
};
static const struct form e4m3 = {4, 3, 7, 448, 0x7e, NONE, 0x7f}, e5m2 = {5, 2, 15, 57344, 0x7b, 0x7c, 0x7e},
                         e2m1 = {2, 1, 1, 6, 0x7, NONE, NONE};

enum rounding { ROUND_UP, ROUND_DOWN, ROUND_NEAREST };

struct conversion {
    const void *from;
    void *to;
    int64_t count;
    aclDataType dtype; /* the narrow one */
    bool decodes, saturates, wraps;
    enum rounding rounding;
};

static const struct form *form_of(aclDataType dtype)
{
    return dtype == ACL_FLOAT8_E4M3FN ? &e4m3 : dtype == ACL_FLOAT8_E5M2 ? &e5m2 : &e2m1;
}

static float decode(const struct form *f, uint8_t code)
{
    uint8_t sign = (uint8_t)(1 << (f->exponent + f->mantissa)), magnitude = code & (sign - 1);
    int exponent = magnitude >> f->mantissa, mantissa = magnitude & ((1 << f->mantissa) - 1);
    float v;
    if (magnitude == f->infinity)
        v = INFINITY;
    else if (magnitude > f->most)
        v = NAN;
    else if (exponent == 0)
        v = ldexpf((float)mantissa, 1 - f->bias - f->mantissa);
    else
        v = ldexpf((float)(mantissa | 1 << f->mantissa), exponent - f->bias - f->mantissa);
    return code & sign ? -v : v;
}

/* What stands for numbers that are too large. */
static uint8_t overflow(const struct form *f, bool saturates)
{
    return saturates || f->nan == NONE ? f->most : f->infinity != NONE ? f->infinity : f->nan;
}

/* To the nearest, ties to even. Without a code of its own NaN becomes -0, as ONNX's reference has it. */
static uint8_t encode(const struct form *f, float v, bool saturates)
{
    uint8_t sign = (uint8_t)(signbit(v) ? 1 << (f->exponent + f->mantissa) : 0);
    float a = fabsf(v);
    if (isnan(v))
        return f->nan == NONE ? (uint8_t)(1 << (f->exponent + f->mantissa)) : sign | f->nan;
    int exponent = a > 0 && !isinf(a) ? ilogbf(a) : 0;
    if (exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    float units = isinf(a) ? 0 : rintf(ldexpf(a, f->mantissa - exponent)); /* of the last bit */
    if (isinf(a) || ldexpf(units, exponent - f->mantissa) > f->max)
        return sign | overflow(f, saturates);
    int whole = (int)units;
    if (whole >> (f->mantissa + 1)) {
        whole >>= 1;
        exponent++;
    }
    if (!(whole >> f->mantissa)) /* subnormal, or 0 */
        return sign | (uint8_t)whole;
    return sign | (uint8_t)((exponent + f->bias) << f->mantissa | (whole & ((1 << f->mantissa) - 1)));
}

enum { E8M0_BIAS = 127, E8M0_MAX = 254, E8M0_NAN = 255 };

static uint8_t encode_power(float v, bool saturates, enum rounding rounding)
{
    if (isnan(v))
        return E8M0_NAN;
    if (v == 0)
        return saturates ? 0 : E8M0_NAN;
    if (isinf(v))
        return saturates ? E8M0_MAX : E8M0_NAN;
    int exponent = ilogbf(fabsf(v));
    float part = ldexpf(fabsf(v), -exponent); /* 1 ≤ part < 2 */
    if (part > 1 && (rounding == ROUND_UP || (rounding == ROUND_NEAREST && part >= 1.5f)))
        exponent++;
    int code = exponent + E8M0_BIAS;
    if (code < 0 || code > E8M0_MAX)
        return !saturates ? E8M0_NAN : code < 0 ? 0 : E8M0_MAX;
    return (uint8_t)code;
}

/* Integers keep their low four bits. Others are truncated; what is outside, for which ONNX leaves the result open,
 * becomes 0 as in its reference. */
static uint8_t encode_int4(float v, bool wraps)
{
    return wraps || (v > -9 && v < 8) ? (uint8_t)((unsigned)(int)v & 0xf) : 0;
}

static float decode_any(const struct conversion *c, uint8_t code)
{
    if (c->dtype == ACL_FLOAT8_E8M0)
        return code == E8M0_NAN ? NAN : ldexpf(1, (int)code - E8M0_BIAS);
    if (c->dtype == ACL_INT4)
        return (float)(code < 8 ? code : code - 16);
    return decode(form_of(c->dtype), code);
}

static uint8_t encode_any(const struct conversion *c, float v)
{
    if (c->dtype == ACL_FLOAT8_E8M0)
        return encode_power(v, c->saturates, c->rounding);
    if (c->dtype == ACL_INT4)
        return encode_int4(v, c->wraps);
    return encode(form_of(c->dtype), v, c->saturates);
}

static void piece(void *arg, int64_t begin, int64_t end) /* of bytes */
{
    const struct conversion *c = arg;
    int bits = (int)dtype_bits(c->dtype), each = 8 / bits; /* numbers a byte */
    for (int64_t byte = begin; byte < end; byte++) {
        unsigned codes = c->decodes ? ((const uint8_t *)c->from)[byte] : 0;
        for (int k = 0; k < each && byte * each + k < c->count; k++) {
            int64_t i = byte * each + k;
            if (c->decodes)
                ((float *)c->to)[i] = decode_any(c, (uint8_t)(codes >> k * bits & ((1u << bits) - 1)));
            else
                codes |= (unsigned)encode_any(c, ((const float *)c->from)[i]) << k * bits;
        }
        if (!c->decodes)
            ((uint8_t *)c->to)[byte] = (uint8_t)codes;
    }
}

static int run(void *arg)
{
    struct conversion c = *(const struct conversion *)arg;
    c.from = device_address(c.from);
    c.to = device_address(c.to);
    parallel((c.count * (int64_t)dtype_bits(c.dtype) + 7) / 8, 4096, piece, &c);
    return 0;
}

static void step(struct op *op, struct operand *to, struct operand *from, aclDataType dtype, bool decodes, bool wraps)
{
    struct conversion c = {.from = op_data(op, from),
                           .to = op_data(op, to),
                           .count = op_count(to),
                           .dtype = dtype,
                           .decodes = decodes,
                           .saturates = op_int(op, "saturate", 1),
                           .wraps = wraps,
                           .rounding = op_string_is(op, "round_mode", "up", "down")      ? ROUND_DOWN
                                       : op_string_is(op, "round_mode", "up", "nearest") ? ROUND_NEAREST
                                                                                         : ROUND_UP};
    op_host(op, "Cast of narrow numbers", run, &c, sizeof c);
}

void narrow_convert(struct op *op, struct operand *to, struct operand *from)
{
    struct operand *middle = from;
    bool wraps = to->dtype == ACL_INT4 && dtype_is_int(from->dtype);
    if (narrow_is(from->dtype)) {
        middle = to->dtype == ACL_FLOAT ? to : op_temp(op, ACL_FLOAT, from->rank, from->dim);
        step(op, middle, from, from->dtype, true, false);
    }
    if (wraps) /* of which float32 holds every number */
        middle = op_cast(op, middle, ACL_INT8);
    if (narrow_is(to->dtype))
        step(op, to, op_cast(op, middle, ACL_FLOAT), to->dtype, false, wraps);
    else if (middle != to)
        op_copy(op, to, middle);
}

struct operand *narrow_widened(struct op *op, struct operand *t)
{
    if (!t || !narrow_is(t->dtype))
        return t;
    struct operand *wide = op_temp(op, ACL_FLOAT, t->rank, t->dim);
    narrow_convert(op, wide, t);
    return wide;
}

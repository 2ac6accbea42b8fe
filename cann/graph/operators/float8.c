/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of eight-bit numbers, through float; see float8.h. */
#include "graph/operators/float8.h"

#include <math.h>
#include <string.h>

#include "runtime/door.h"

/* A type with sign, exponent and mantissa. */
struct form {
    int exponent, mantissa, bias;
    float max;
    uint8_t nan, infinity; /* infinity 0: there is none */
};
static const struct form e4m3 = {4, 3, 7, 448, 0x7f, 0}, e5m2 = {5, 2, 15, 57344, 0x7e, 0x7c};

enum rounding { ROUND_UP, ROUND_DOWN, ROUND_NEAREST };

struct conversion {
    const void *from;
    void *to;
    int64_t count;
    aclDataType dtype; /* the eight-bit one */
    bool decodes, saturates;
    enum rounding rounding;
};

static const struct form *form_of(aclDataType dtype)
{
    return dtype == ACL_FLOAT8_E4M3FN ? &e4m3 : &e5m2;
}

static float decode(const struct form *f, uint8_t code)
{
    int exponent = code >> f->mantissa & ((1 << f->exponent) - 1), mantissa = code & ((1 << f->mantissa) - 1);
    uint8_t magnitude = code & 0x7f;
    float v;
    if (f->infinity && magnitude == f->infinity)
        v = INFINITY;
    else if (f->infinity ? magnitude > f->infinity : magnitude == f->nan)
        v = NAN;
    else if (exponent == 0)
        v = ldexpf((float)mantissa, 1 - f->bias - f->mantissa);
    else
        v = ldexpf((float)(mantissa | 1 << f->mantissa), exponent - f->bias - f->mantissa);
    return code & 0x80 ? -v : v;
}

/* To the nearest, ties to even. */
static uint8_t encode(const struct form *f, float v, bool saturates)
{
    uint8_t sign = signbit(v) ? 0x80 : 0, most = f->infinity ? (uint8_t)(f->infinity - 1) : (uint8_t)(f->nan - 1);
    float a = fabsf(v);
    if (isnan(v))
        return sign | f->nan;
    int exponent = a > 0 && !isinf(a) ? ilogbf(a) : 0;
    if (exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    float units = isinf(a) ? 0 : rintf(ldexpf(a, f->mantissa - exponent)); /* of the last bit */
    if (isinf(a) || ldexpf(units, exponent - f->mantissa) > f->max)
        return sign | (saturates ? most : f->infinity ? f->infinity : f->nan);
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

static void piece(void *arg, int64_t begin, int64_t end)
{
    const struct conversion *c = arg;
    for (int64_t i = begin; i < end; i++) {
        uint8_t code = c->decodes ? ((const uint8_t *)c->from)[i] : 0;
        float v = c->decodes ? 0 : ((const float *)c->from)[i];
        if (c->dtype == ACL_FLOAT8_E8M0 && c->decodes)
            ((float *)c->to)[i] = code == E8M0_NAN ? NAN : ldexpf(1, (int)code - E8M0_BIAS);
        else if (c->dtype == ACL_FLOAT8_E8M0)
            ((uint8_t *)c->to)[i] = encode_power(v, c->saturates, c->rounding);
        else if (c->decodes)
            ((float *)c->to)[i] = decode(form_of(c->dtype), code);
        else
            ((uint8_t *)c->to)[i] = encode(form_of(c->dtype), v, c->saturates);
    }
}

static int run(void *arg)
{
    struct conversion c = *(const struct conversion *)arg;
    c.from = device_address(c.from);
    c.to = device_address(c.to);
    parallel(c.count, 4096, piece, &c);
    return 0;
}

static void step(struct op *op, struct operand *to, struct operand *from, aclDataType dtype, bool decodes)
{
    struct conversion c = {.from = op_data(op, from),
                           .to = op_data(op, to),
                           .count = op_count(to),
                           .dtype = dtype,
                           .decodes = decodes,
                           .saturates = op_int(op, "saturate", 1),
                           .rounding = op_string_is(op, "round_mode", "up", "down")      ? ROUND_DOWN
                                       : op_string_is(op, "round_mode", "up", "nearest") ? ROUND_NEAREST
                                                                                         : ROUND_UP};
    op_host(op, "Cast of eight-bit numbers", run, &c, sizeof c);
}

void float8_convert(struct op *op, struct operand *to, struct operand *from)
{
    struct operand *middle = from;
    if (float8_is(from->dtype)) {
        middle = to->dtype == ACL_FLOAT ? to : op_temp(op, ACL_FLOAT, from->rank, from->dim);
        step(op, middle, from, from->dtype, true);
    }
    if (float8_is(to->dtype))
        step(op, to, op_cast(op, middle, ACL_FLOAT), to->dtype, false);
    else if (middle != to)
        op_copy(op, to, middle);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The two 16-bit floats: all 65,536 values each, and float values around every rounding border, against arithmetic. */
#include "harness.h"

#include <math.h>

static double f16_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h & 0x8000 ? -v : v;
}

/* Nearest half of x by search, ties to the even one. */
static uint16_t f16_nearest(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0, low = 0, high = 0x7c00;
    x = fabs(x);
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (f16_value(middle) <= x)
            low = middle;
        else
            high = middle;
    }
    double above = high == 0x7c00 ? 65536.0 : f16_value(high), below = f16_value(low);
    if (x - below > above - x || (x - below == above - x && high % 2 == 0))
        low = high;
    return sign | (x >= 65520.0 ? 0x7c00 : low);
}

static bool same(float a, double b)
{
    return isnan(b) ? isnan(a) : a == b && !signbit(a) == !signbit(b);
}

int main(void)
{
    for (uint32_t h = 0; h < 65536; h++) {
        CHECK(same(f16_to_float((uint16_t)h), f16_value((uint16_t)h)));
        uint32_t bits = h << 16, back;
        float f, wide = bf16_to_float((uint16_t)h);
        memcpy(&f, &bits, sizeof f);
        memcpy(&back, &wide, sizeof back);
        CHECK(back == bits);
        if (!isnan(f))
            CHECK_EQ(bf16_from_float(f), h);
        double v = f16_value((uint16_t)h), next = f16_value((uint16_t)(h + 1));
        if (isnan(v) || isnan(next) || isinf(v)) {
            continue;
        }
        double middle = isinf(next) ? copysign(65520.0, v) : (v + next) / 2;
        float around[] = {(float)v, (float)middle, nextafterf((float)middle, INFINITY),
                          nextafterf((float)middle, -INFINITY)};
        for (int i = 0; i < 4; i++)
            CHECK_EQ(f16_from_float(around[i]), f16_nearest(around[i]));
    }
    CHECK_EQ(f16_from_float(NAN) & 0x7fff, 0x7e00);
    CHECK_EQ(bf16_from_float(NAN) & 0x7fff, 0x7fc0);
    CHECK_EQ(bf16_from_float(1.00390625f), 0x3f80); /* a tie goes to even */
    CHECK_EQ(bf16_from_float(3.4e38f), 0x7f80);
    return check_done();
}

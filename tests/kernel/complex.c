/* SPDX-License-Identifier: BSD-3-Clause */
/* The complex kernels against C's own complex arithmetic in long double, dense and with a repeated operand. */
#include "harness.h"
#include "kernels/complex.h"
#include "kernels/elementwise.h"

#include <complex.h>
#include <math.h>

#ifndef CMPLXL /* glibc has it for gcc alone */
#define CMPLXL(re, im) __builtin_complex((long double)(re), (long double)(im))
#endif

typedef long double _Complex wide;

static const struct complex_table *const levels[] = HARNESS_TABLES(complex_kernels);
static const struct elementwise_param param = {.d = {0.75, 1.25, 2.0}};

static wide over_size(wide x)
{
    return x == 0 ? 0 : x / cabsl(x);
}

static wide sigmoid(wide x)
{
    return 1 / (1 + cexpl(-x));
}

/* The formula of an operation on x, y, z. */
static wide formula(int op, wide x, wide y, wide z)
{
    switch (op) {
    case UNARY_NEG:
        return -x;
    case UNARY_SIGN:
        return over_size(x);
    case UNARY_SQUARE:
        return x * x;
    case UNARY_CUBE:
        return x * x * x;
    case UNARY_RECIPROCAL:
        return 1 / x;
    case UNARY_SQRT:
        return csqrtl(x);
    case UNARY_RSQRT:
        return 1 / csqrtl(x);
    case UNARY_EXP:
        return cexpl(x);
    case UNARY_EXP2:
        return cexpl(x * logl(2));
    case UNARY_EXPM1:
        return cexpl(x) - 1;
    case UNARY_LOG1P:
        return clogl(1 + x);
    case UNARY_SINC:
        return csinl(acosl(-1) * x) / (acosl(-1) * x);
    case BINARY_LOGADDEXP: /* the branch of the larger real part */
        return creall(y) > creall(x) ? y + clogl(1 + cexpl(x - y)) : x + clogl(1 + cexpl(y - x));
    case TERNARY_LERP:
        return x + z * (y - x);
    case UNARY_LOG:
        return clogl(x);
    case UNARY_LOG2:
        return clogl(x) / logl(2);
    case UNARY_LOG10:
        return clogl(x) / logl(10);
    case UNARY_SIN:
        return csinl(x);
    case UNARY_COS:
        return ccosl(x);
    case UNARY_TAN:
        return ctanl(x);
    case UNARY_ASIN:
        return casinl(x);
    case UNARY_ACOS:
        return cacosl(x);
    case UNARY_ATAN:
        return catanl(x);
    case UNARY_SINH:
        return csinhl(x);
    case UNARY_COSH:
        return ccoshl(x);
    case UNARY_TANH:
        return ctanhl(x);
    case UNARY_ASINH:
        return casinhl(x);
    case UNARY_ACOSH:
        return cacoshl(x);
    case UNARY_ATANH:
        return catanhl(x);
    case BINARY_ADD:
        return x + y;
    case BINARY_ADD_SCALED:
        return x + 0.75L * y;
    case BINARY_SUB:
        return x - y;
    case BINARY_SUB_SCALED:
        return x - 0.75L * y;
    case BINARY_MUL:
        return x * y;
    case BINARY_DIV:
        return x / y;
    case BINARY_POW:
        return cpowl(x, y);
    case ACTIVATION_SIGMOID:
        return sigmoid(x);
    case ACTIVATION_SILU:
        return x * sigmoid(x);
    case TERNARY_ADDCMUL:
        return x + 0.75L * y * z;
    case TERNARY_ADDCDIV:
        return x + 0.75L * y / z;
    case GRADIENT_SIGMOID:
        return x * conjl((1 - y) * y);
    case GRADIENT_TANH:
        return x * conjl(1 - y * y);
    default:
        return NAN;
    }
}

static bool test(int op, wide x, wide y)
{
    switch (op) {
    case UNARY_LOGICAL_NOT:
        return x == 0;
    case UNARY_ISNAN:
        return isnan(creall(x)) || isnan(cimagl(x));
    case UNARY_ISINF:
        return isinf(creall(x)) || isinf(cimagl(x));
    case UNARY_ISFINITE:
        return isfinite(creall(x)) && isfinite(cimagl(x));
    case COMPARE_EQ:
        return x == y;
    case COMPARE_NE:
        return x != y;
    case COMPARE_LOGICAL_AND:
        return x != 0 && y != 0;
    case COMPARE_LOGICAL_OR:
        return x != 0 || y != 0;
    default:
        return (x != 0) != (y != 0);
    }
}

static bool answers_bool(int op)
{
    return op >> 8 == COMPARE_TABLE >> 8 || (op >= UNARY_LOGICAL_NOT && op < UNARY_END);
}

static wide read(bool is_double, const char *data, int64_t i)
{
    double d[2];
    float f[2];
    if (is_double) {
        memcpy(d, data + 16 * i, 16);
        return CMPLXL(d[0], d[1]);
    }
    memcpy(f, data + 8 * i, 8);
    return CMPLXL(f[0], f[1]);
}

enum { LENGTH = 67 };

static void one(int row, bool is_double, int repeat)
{
    int op = levels[0]->row[row].op, inputs = op >> 8 == TERNARY_TABLE >> 8 ? 3 : 2;
    int64_t size = is_double ? 16 : 8, out = answers_bool(op) ? 1 : size, step[] = {out, size, size, size};
    char *data[4], *first = harness_buffer(5, (size_t)(LENGTH * out)), context[64];
    aclDataType part = is_double ? ACL_DOUBLE : ACL_FLOAT;
    for (int k = 1; k <= inputs; k++) {
        data[k] = harness_buffer(k, (size_t)(LENGTH * size));
        harness_fill(part, data[k], size / 2, 2 * LENGTH, -2, 2);
        if (answers_bool(op)) /* rounded, so that zeros and equals occur */
            for (int64_t i = 0; i < 2 * LENGTH; i++) {
                double d = rint((double)(is_double ? ((double *)data[k])[i] : (double)((float *)data[k])[i]));
                d = i % 31 == 7 ? INFINITY : i % 37 == 5 ? NAN : d;
                if (is_double)
                    ((double *)data[k])[i] = d;
                else
                    ((float *)data[k])[i] = (float)d;
            }
    }
    if (repeat)
        step[repeat] = 0;
    for (int level = 0; level < harness_levels(); level++) {
        const struct complex_row *r = &levels[level]->row[row];
        data[0] = harness_buffer(4, (size_t)(LENGTH * out));
        (is_double ? r->c128 : r->c64)(LENGTH, data, step, &param);
        harness_guard(4);
        snprintf(context, sizeof context, "operation %#x %s", (unsigned)op, harness_level_name(level));
        if (level)
            harness_compare(answers_bool(op) ? ACL_BOOL : part, data[0], first, answers_bool(op) ? 1 : size / 2,
                            answers_bool(op) ? LENGTH : 2 * LENGTH, 0, 0, context);
        else
            memcpy(first, data[0], (size_t)(LENGTH * out));
    }
    for (int64_t i = 0; i < LENGTH; i++) {
        wide x = read(is_double, data[1], repeat == 1 ? 0 : i), y = read(is_double, data[2], repeat == 2 ? 0 : i);
        wide z = inputs == 3 ? read(is_double, data[3], i) : 0;
        if (answers_bool(op)) {
            CHECK_EQ(first[i], test(op, x, y));
            continue;
        }
        wide want = formula(op, x, y, z), got = read(is_double, first, i);
        long double limit = (is_double ? 2e-14L : 1e-5L) * fmaxl(1, cabsl(want));
        CHECK(cabsl(got - want) <= limit);
        if (!(cabsl(got - want) <= limit))
            fprintf(stderr, "  %s, element %d: %Lg%+Lgi, expected %Lg%+Lgi\n", context, (int)i, creall(got),
                    cimagl(got), creall(want), cimagl(want));
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (int row = 0; row < levels[0]->count; row++)
        for (int is_double = 0; is_double < 2; is_double++) {
            int table = levels[0]->row[row].op >> 8;
            bool pair = table == BINARY_TABLE >> 8 || table == COMPARE_TABLE >> 8;
            for (int repeat = 0; repeat <= (pair ? 2 : 0); repeat++)
                one(row, is_double, repeat);
        }
    return harness_end();
}

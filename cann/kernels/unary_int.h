/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels of one operand for the integer type T, included by unary.c once for each; W is the unsigned type
 * that results wrap in; NEGATIVE(x) tests the sign. */
#define EXPAND1(name, type, expression)      MAP1(name, type, expression)
#define EXPAND_TEST1(name, type, expression) TEST1(name, type, expression)

EXPAND1(copy, T, x)
EXPAND1(abs, T, NEGATIVE(x) ? 0 - (W)x : (W)x)
EXPAND1(neg, T, 0 - (W)x)
EXPAND1(sign, T, NEGATIVE(x) ? -1 : x != 0)
EXPAND1(square, T, (W)x *(W)x)
EXPAND1(cube, T, (W)x *(W)x *(W)x)
EXPAND1(bitwise_not, T, ~x)
EXPAND_TEST1(logical_not, T, x == 0)
EXPAND_TEST1(signbit, T, NEGATIVE(x))
EXPAND_TEST1(never, T, x != x)
EXPAND_TEST1(always, T, x == x)

#undef EXPAND1
#undef EXPAND_TEST1
#undef NEGATIVE
#undef T
#undef W

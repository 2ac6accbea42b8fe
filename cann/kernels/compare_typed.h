/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparisons for type T, included by compare.c once for each. */
#define EXPAND2(name, type, expression) TEST2(name, type, expression)

EXPAND2(eq, T, x == y)
EXPAND2(ne, T, x != y)
EXPAND2(lt, T, x < y)
EXPAND2(le, T, x <= y)
EXPAND2(gt, T, x > y)
EXPAND2(ge, T, x >= y)
EXPAND2(both, T, (x != 0) & (y != 0))
EXPAND2(either, T, (x != 0) | (y != 0))
EXPAND2(differ, T, (x != 0) != (y != 0))

#undef EXPAND2
#undef T

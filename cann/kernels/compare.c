/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels of two operands that answer with a bool: comparisons and logic. See elementwise.h. */
#include "kernels/loops.h"

TEST2(isclose, f32,
      x == y || (s[2] != 0.0f && x != x && y != y) || (fabsf(y) < INFINITY && fabsf(x - y) <= s[1] + fabsf(s[0] * y)))
TEST2(isclose, f64,
      x == y || (s[2] != 0.0 && x != x && y != y) ||
          (fabs(y) < (double)INFINITY && fabs(x - y) <= s[1] + fabs(s[0] * y)))

#define T f32
#include "kernels/compare_typed.h"
#define T f64
#include "kernels/compare_typed.h"
#define T i8
#include "kernels/compare_typed.h"
#define T u8
#include "kernels/compare_typed.h"
#define T i16
#include "kernels/compare_typed.h"
#define T i32
#include "kernels/compare_typed.h"
#define T i64
#include "kernels/compare_typed.h"

TEST2(eq, u16, x == y)
TEST2(eq, u32, x == y)
TEST2(eq, u64, x == y)
TEST2(ne, u16, x != y)
TEST2(ne, u32, x != y)
TEST2(ne, u64, x != y)

#define ALL(op, name) AT(op) = {FLOATS(name), INTS(name), [ACL_BOOL] = loop_##name##_u8}

static const walk_loop loops[][ELEMENTWISE_DTYPES] = {
    AT(COMPARE_EQ) = {FLOATS(eq), INTS(eq), WIDE_UINTS(eq), [ACL_BOOL] = loop_eq_u8},
    AT(COMPARE_NE) = {FLOATS(ne), INTS(ne), WIDE_UINTS(ne), [ACL_BOOL] = loop_ne_u8},
    ALL(COMPARE_LT, lt),
    ALL(COMPARE_LE, le),
    ALL(COMPARE_GT, gt),
    ALL(COMPARE_GE, ge),
    ALL(COMPARE_LOGICAL_AND, both),
    ALL(COMPARE_LOGICAL_OR, either),
    ALL(COMPARE_LOGICAL_XOR, differ),
    AT(COMPARE_ISCLOSE) = {FLOATS(isclose)},
};

const struct elementwise_table ISA(compare_kernels) = {loops, sizeof loops / sizeof *loops, NULL, 0};

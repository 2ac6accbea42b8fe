/* SPDX-License-Identifier: BSD-3-Clause */
/* How dense elementwise loops are written. MAP1(name, T, expression in x) defines the walk_loop loop_name_T, and so on
 * for two and three operands x, y, z. s[0..2] are the operation's parameters in the loop's type. The loops themselves
 * stand in loops_typed.h, once for each type; they take the expression as a function that is always inlined. Included
 * by kernel sources only. */
#ifndef ANYNPU_KERNELS_LOOPS_H
#define ANYNPU_KERNELS_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/elementwise.h"
#include "kernels/half.h"

typedef float f32;
typedef double f64;
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;

/* Iterations do not meet in memory: the output may be an input, element by element, but never a shifted one. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

enum { MEND_BLOCK = 256 };

#define INLINE static inline __attribute__((always_inline, unused))

/* loops_typed.h: T the type, SCALAR the field of its parameters, W the unsigned type that its sums and products wrap
 * in. */
#define T      f32
#define SCALAR d
#include "kernels/loops_typed.h"
#define T      f64
#define SCALAR d
#include "kernels/loops_typed.h"
#define T      i8
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      u8
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      i16
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      u16
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      i32
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      u32
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      i64
#define SCALAR i
#include "kernels/loops_typed.h"
#define T      u64
#define SCALAR i
#include "kernels/loops_typed.h"

enum { RUN = 32 };

INLINE void store_run_f16(bool native, u16 *restrict out, const float *restrict in)
{
    (void)native;
    f16_store(RUN, out, in);
}

INLINE void store_run_bf16(bool native, u16 *restrict out, const float *restrict in)
{
    bf16_store_by(native, RUN, out, in);
}

#define load_f16  f16_load
#define load_bf16 bf16_load
#define HALF      f16
#include "kernels/loops_half.h"
#define HALF bf16
#include "kernels/loops_half.h"

#define LOOP_ARGS int64_t n, char *const *data, const int64_t *step, const void *param

/* One operand; the expression is a function of x. */
#define MAP1(name, T, expression)                                                                                      \
    INLINE T name##_of_##T(T x, const T *s)                                                                            \
    {                                                                                                                  \
        return (void)s, (T)(expression);                                                                               \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        map1_##T(n, data, step, param, name##_of_##T);                                                                 \
    }

/* One operand to bool. */
#define TEST1(name, T, expression)                                                                                     \
    INLINE bool name##_of_##T(T x)                                                                                     \
    {                                                                                                                  \
        return (expression);                                                                                           \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        test1_##T(n, data, step, param, name##_of_##T);                                                                \
    }

/* The loops of one operand for 16-bit floats by an expression of their own. */
#define MAP1_HALF(name, expression)                                                                                    \
    INLINE float name##_of_half(float x, const float *s)                                                               \
    {                                                                                                                  \
        return (void)s, (expression);                                                                                  \
    }                                                                                                                  \
    static void loop_##name##_f16(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        map1_f16(n, data, step, param, name##_of_half);                                                                \
    }                                                                                                                  \
    static void loop_##name##_bf16(LOOP_ARGS)                                                                          \
    {                                                                                                                  \
        map1_bf16(n, data, step, param, name##_of_half);                                                               \
    }

/* The loops of a MAP… for 16-bit floats, by its function for f32. */
#define HALVES(map, name)                                                                                              \
    static void loop_##name##_f16(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        map##_f16(n, data, step, param, name##_of_f32);                                                                \
    }                                                                                                                  \
    static void loop_##name##_bf16(LOOP_ARGS)                                                                          \
    {                                                                                                                  \
        map##_bf16(n, data, step, param, name##_of_f32);                                                               \
    }

/* Two operands, either of which may repeat (a step of 0). */
#define MAP2(name, T, expression)                                                                                      \
    INLINE T name##_of_##T(T x, T y, const T *s)                                                                       \
    {                                                                                                                  \
        return (void)s, (T)(expression);                                                                               \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        map2_##T(n, data, step, param, name##_of_##T);                                                                 \
    }

/* Two dense operands. */
#define MAP2_DENSE(name, T, expression)                                                                                \
    INLINE T name##_of_##T(T x, T y, const T *s)                                                                       \
    {                                                                                                                  \
        return (void)s, (void)x, (void)y, (T)(expression);                                                             \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        map2_dense_##T(n, data, step, param, name##_of_##T);                                                           \
    }

/* Two operands to bool; either may repeat. */
#define TEST2(name, T, expression)                                                                                     \
    INLINE bool name##_of_##T(T x, T y, const T *s)                                                                    \
    {                                                                                                                  \
        return (void)s, (expression);                                                                                  \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        test2_##T(n, data, step, param, name##_of_##T);                                                                \
    }

/* Three dense operands. */
#define MAP3(name, T, expression)                                                                                      \
    INLINE T name##_of_##T(T x, T y, T z, const T *s)                                                                  \
    {                                                                                                                  \
        return (void)s, (T)(expression);                                                                               \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        map3_##T(n, data, step, param, name##_of_##T);                                                                 \
    }

/* A fast expression, and a slow one for elements where `rare` holds. */
#define MAP1_MEND(name, T, fast, rare, slow)                                                                           \
    INLINE T name##_fast_##T(T x)                                                                                      \
    {                                                                                                                  \
        return (T)(fast);                                                                                              \
    }                                                                                                                  \
    INLINE bool name##_rare_##T(T x)                                                                                   \
    {                                                                                                                  \
        return (rare);                                                                                                 \
    }                                                                                                                  \
    static T name##_slow_##T(T x)                                                                                      \
    {                                                                                                                  \
        return (T)(slow);                                                                                              \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        mend1_##T(n, data, step, param, name##_fast_##T, name##_rare_##T, name##_slow_##T);                            \
    }

#define MAP2_MEND(name, T, fast, rare, slow)                                                                           \
    INLINE T name##_fast_##T(T x, T y)                                                                                 \
    {                                                                                                                  \
        return (T)(fast);                                                                                              \
    }                                                                                                                  \
    INLINE bool name##_rare_##T(T x, T y)                                                                              \
    {                                                                                                                  \
        return (rare);                                                                                                 \
    }                                                                                                                  \
    static T name##_slow_##T(T x, T y)                                                                                 \
    {                                                                                                                  \
        return (T)(slow);                                                                                              \
    }                                                                                                                  \
    static void loop_##name##_##T(LOOP_ARGS)                                                                           \
    {                                                                                                                  \
        mend2_##T(n, data, step, param, name##_fast_##T, name##_rare_##T, name##_slow_##T);                            \
    }

/* Table entries. */
#define AT(op)       [(op)&0xff]
#define FLOATS(name) [ACL_FLOAT] = loop_##name##_f32, [ACL_DOUBLE] = loop_##name##_f64
#define HALF_PAIR(name)                                                                                                \
    {                                                                                                                  \
        loop_##name##_f16, loop_##name##_bf16                                                                          \
    }
#define INTS(name)                                                                                                     \
    [ACL_INT8] = loop_##name##_i8, [ACL_UINT8] = loop_##name##_u8, [ACL_INT16] = loop_##name##_i16,                    \
    [ACL_INT32] = loop_##name##_i32, [ACL_INT64] = loop_##name##_i64
#define WIDE_UINTS(name)                                                                                               \
    [ACL_UINT16] = loop_##name##_u16, [ACL_UINT32] = loop_##name##_u32, [ACL_UINT64] = loop_##name##_u64

#endif

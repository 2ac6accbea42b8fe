/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax: see softmax.h; the loops are in softmax_typed.h, compiled for float and double. */
#include "kernels/softmax.h"

#include <math.h>
#include <stdbool.h>

#include "kernels/block.h"
#include "kernels/lanes.h"
#include "kernels/vmath.h"
#include "kernels/vmath_half.h"

/* e^x for x ≤ 0, infinity and NaN, down to the smallest subnormal: half the work of exp_f32. */
BLOCK_INLINE float exp_negative_f32(float of)
{
    float x = of < -104.0f ? -104.0f : of;
    float sum, r = exp_reduce_f32(x, &sum);
    float p = 1.0f + (r + r * r * exp_tail_f32(r));
    return of > 0.0f ? of : p * pow2_f32(sum + 24.0f) * 0x1p-24f;
}

#define T          float
#define NAME(x)    x##_f32
#define EXP(x)     exp_f32(x)
#define EXP_NEG(x) exp_negative_f32(x)
#define LOG(x)     log_f32(x)
#define BLOCK_OF   block_f32
#define STORE      store_f32
#define DIRECT(t)  ((t) == ACL_FLOAT)
#include "kernels/softmax_typed.h"

/* 16-bit floats in and out. What is far below the greatest is nothing, and so is minus infinity. */
BLOCK_INLINE float exp_negative_half(float of)
{
    float y = exp_flush_half(of);
    return of < -87.0f ? 0.0f : y;
}

#define T           float
#define NAME(x)     x##_half
#define EXP(x)      exp_half(x)
#define EXP_NEG(x)  exp_negative_half(x)
#define LOG(x)      log_f32(x)
#define BLOCK_OF    block_f32
#define STORE       store_f32
#define DIRECT(t)   ((t) == ACL_FLOAT)
#define max_of_half max_of_f32
#define sum_of_half sum_of_f32
#define dot_of_half dot_of_f32
#include "kernels/softmax_typed.h"

#define T          double
#define NAME(x)    x##_f64
#define EXP(x)     exp_f64(x)
#define EXP_NEG(x) exp_f64(x)
#define LOG(x)     log_f64(x)
#define BLOCK_OF   block_f64
#define STORE      store_f64
#define DIRECT(t)  ((t) == ACL_DOUBLE)
#include "kernels/softmax_typed.h"

static bool wide(const struct softmax_shape *s)
{
    return s->dtype == ACL_DOUBLE;
}

static bool narrow(const struct softmax_shape *s)
{
    return (s->dtype == ACL_BF16 || s->dtype == ACL_FLOAT16) &&
           (s->out_dtype == ACL_BF16 || s->out_dtype == ACL_FLOAT16);
}

static void rows(enum softmax_mode mode, const struct softmax_shape *s, int64_t n, const char *x, char *out)
{
    wide(s) ? rows_f64(mode, s, n, x, out) : narrow(s) ? rows_half(mode, s, n, x, out) : rows_f32(mode, s, n, x, out);
}

static void columns(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *x, char *out)
{
    wide(s)     ? columns_f64(mode, s, cols, x, out)
    : narrow(s) ? columns_half(mode, s, cols, x, out)
                : columns_f32(mode, s, cols, x, out);
}

static void grad_rows(enum softmax_mode mode, const struct softmax_shape *s, int64_t n, const char *grad, const char *y,
                      char *out)
{
    wide(s)     ? grad_rows_f64(mode, s, n, grad, y, out)
    : narrow(s) ? grad_rows_half(mode, s, n, grad, y, out)
                : grad_rows_f32(mode, s, n, grad, y, out);
}

static void grad_columns(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *grad,
                         const char *y, char *out)
{
    wide(s)     ? grad_columns_f64(mode, s, cols, grad, y, out)
    : narrow(s) ? grad_columns_half(mode, s, cols, grad, y, out)
                : grad_columns_f32(mode, s, cols, grad, y, out);
}

const struct softmax_kernels ISA(softmax_kernels) = {rows, columns, grad_rows, grad_columns};

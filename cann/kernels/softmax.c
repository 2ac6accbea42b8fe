/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax: see softmax.h; the loops are in softmax_typed.h, compiled for float and double. */
#include "kernels/softmax.h"

#include <math.h>
#include <stdbool.h>

#include "kernels/block.h"
#include "kernels/lanes.h"
#include "kernels/vmath.h"

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

static void rows(enum softmax_mode mode, const struct softmax_shape *s, int64_t n, const char *x, char *out)
{
    wide(s) ? rows_f64(mode, s, n, x, out) : rows_f32(mode, s, n, x, out);
}

static void columns(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *x, char *out)
{
    wide(s) ? columns_f64(mode, s, cols, x, out) : columns_f32(mode, s, cols, x, out);
}

static void grad_rows(enum softmax_mode mode, const struct softmax_shape *s, int64_t n, const char *grad, const char *y,
                      char *out)
{
    wide(s) ? grad_rows_f64(mode, s, n, grad, y, out) : grad_rows_f32(mode, s, n, grad, y, out);
}

static void grad_columns(enum softmax_mode mode, const struct softmax_shape *s, int64_t cols, const char *grad,
                         const char *y, char *out)
{
    wide(s) ? grad_columns_f64(mode, s, cols, grad, y, out) : grad_columns_f32(mode, s, cols, grad, y, out);
}

const struct softmax_kernels ISA(softmax_kernels) = {rows, columns, grad_rows, grad_columns};

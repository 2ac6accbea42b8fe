/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans: see scan.h; the loops are in scan_typed.h, compiled for double and int64_t. */
#include "kernels/scan.h"

#include "kernels/block.h"

#define T         double
#define BITS      double
#define NAME(x)   x##_f64
#define IS_NAN(x) ((x) != (x))
#define LOAD      load_f64
#define STORE     store_f64
#include "kernels/scan_typed.h"

#define T         int64_t
#define BITS      uint64_t
#define NAME(x)   x##_i64
#define IS_NAN(x) 0
#define LOAD      load_i64
#define STORE     store_i64
#include "kernels/scan_typed.h"

static bool floats(const struct scan_param *p)
{
    return dtype_is_float(p->dtype) || dtype_is_float(p->out_dtype);
}

static void row(const struct scan_param *p, int64_t n, const char *in, int64_t step, char *out, int64_t out_step,
                char *index, int64_t index_step, union scan_value *carry)
{
    double d = p->op == SCAN_PROD;
    int64_t i = p->op == SCAN_PROD;
    if (floats(p))
        row_f64(p, n, in, step, out, out_step, index, index_step, carry ? &carry->d : &d);
    else
        row_i64(p, n, in, step, out, out_step, index, index_step, carry ? &carry->i : &i);
}

static void columns(const struct scan_param *p, int64_t n, int64_t cols, const char *in, int64_t row_step, char *out,
                    int64_t out_row_step, char *index, int64_t index_row_step)
{
    if (floats(p))
        columns_f64(p, n, cols, in, row_step, out, out_row_step, index, index_row_step);
    else
        columns_i64(p, n, cols, in, row_step, out, out_row_step, index, index_row_step);
}

static union scan_value total(const struct scan_param *p, int64_t n, const char *in, int64_t step)
{
    union scan_value v;
    if (floats(p))
        v.d = total_f64(p, n, in, step);
    else
        v.i = total_i64(p, n, in, step);
    return v;
}

const struct scan_kernels ISA(scan_kernels) = {row, columns, total};

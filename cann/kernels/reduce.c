/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions: see reduce.h. The loops are in reduce_typed.h, compiled for three types; here they are tied to operators,
 * and the moments (mean and squared differences in one pass over memory) and the finishing live. */
#include "kernels/reduce.h"

#include <math.h>
#include <stdbool.h>

#include "kernels/block.h"
#include "kernels/lanes.h"

enum {
    CHUNK = 2048, /* floats summed as floats; their sum goes on as a double */
    ROWS = 64,    /* the same for columns */
    PAIRS = 32,   /* lanes of two sums at once */
};

static int words_of(enum reduce_op op)
{
    return op == REDUCE_MOMENTS ? 3 : op == REDUCE_ARGMAX || op == REDUCE_ARGMIN || op == REDUCE_MIN_MAX ? 2 : 1;
}

BLOCK_INLINE bool reduce_ordered(enum reduce_op op)
{
    return op == REDUCE_MAX || op == REDUCE_MIN || op == REDUCE_ARGMAX || op == REDUCE_ARGMIN || op == REDUCE_MIN_MAX;
}

#define T float
#define QUICK
#define HALVES
#define MASK         int32_t
#define WIDE         double
#define BITS         float
#define WIDE_BITS    double
#define NAME(x)      x##_f32
#define LOWEST       -INFINITY
#define HIGHEST      INFINITY
#define DENSE(dtype) ((dtype) == ACL_FLOAT)
#define IS_NAN(x)    ((x) != (x))
#define BLOCK_OF     block_f32
#include "kernels/reduce_typed.h"

#define T double
#define QUICK
#define MASK         int64_t
#define WIDE         double
#define BITS         double
#define WIDE_BITS    double
#define NAME(x)      x##_f64
#define LOWEST       -INFINITY
#define HIGHEST      INFINITY
#define DENSE(dtype) ((dtype) == ACL_DOUBLE)
#define IS_NAN(x)    ((x) != (x))
#define BLOCK_OF     block_f64
#include "kernels/reduce_typed.h"

#define T            int64_t
#define MASK         int64_t
#define WIDE         int64_t
#define BITS         uint64_t
#define WIDE_BITS    uint64_t
#define NAME(x)      x##_i64
#define LOWEST       INT64_MIN
#define HIGHEST      INT64_MAX
#define DENSE(dtype) ((dtype) == ACL_INT64 || (dtype) == ACL_UINT64)
#define IS_NAN(x)    0
#define BLOCK_OF     block_i64
#define SHIFT(x)     ((x) ^ INT64_MIN)
#include "kernels/reduce_typed.h"

/* Joins the moments {mean, squares} of nb elements to those of na (Chan). */
BLOCK_INLINE void join_moments(double na, double *mean, double *squares, double nb, double mean_b, double squares_b)
{
    double n = na + nb, delta = mean_b - *mean;
    *mean += delta * (nb / n);
    *squares += squares_b + delta * delta * (na * nb / n);
}

/* Moments of a dense block about a first guess c of its mean: sums of x − c and of its square, in lanes. */
BLOCK_INLINE void moments_f32(int64_t n, const float *restrict x, double *mean, double *squares)
{
    float centre = lanes_f32(REDUCE_SUM, n, x, 0) / (float)n;
    float lane[PAIRS] = {0}, lane2[PAIRS] = {0};
    int64_t i = 0;
    for (; i + PAIRS <= n; i += PAIRS)
        for (int k = 0; k < PAIRS; k++) {
            float d = x[i + k] - centre;
            lane[k] += d;
            lane2[k] += d * d;
        }
    for (int k = 0; i + k < n; k++) {
        float d = x[i + k] - centre;
        lane[k] += d;
        lane2[k] += d * d;
    }
    for (int w = PAIRS / 2; w; w /= 2)
        for (int k = 0; k < w; k++) {
            lane[k] += lane[k + w];
            lane2[k] += lane2[k + w];
        }
    *mean = centre + (double)lane[0] / (double)n;
    *squares = lane2[0] - (double)lane[0] * lane[0] / (double)n;
}

BLOCK_INLINE void moments_f64(int64_t n, const double *restrict x, double *mean, double *squares)
{
    double centre = lanes_f64(REDUCE_SUM, n, x, 0) / (double)n;
    double lane[PAIRS] = {0}, lane2[PAIRS] = {0};
    for (int64_t i = 0; i < n; i += PAIRS)
        for (int k = 0; k < PAIRS && i + k < n; k++) {
            double d = x[i + k] - centre;
            lane[k] += d;
            lane2[k] += d * d;
        }
    for (int w = PAIRS / 2; w; w /= 2)
        for (int k = 0; k < w; k++) {
            lane[k] += lane[k + w];
            lane2[k] += lane2[k + w];
        }
    *mean = centre + lane[0] / (double)n;
    *squares = lane2[0] - lane[0] * lane[0] / (double)n;
}

static void moments_row(const struct reduce_param *p, enum reduce_type type, int64_t n, const char *in, int64_t step,
                        double *acc, int64_t plane)
{
    float buffer[BLOCK];
    double buffer64[BLOCK];
    bool dense = type == REDUCE_F32 && p->dtype == ACL_FLOAT && step == 4;
    int64_t most = dense ? CHUNK : BLOCK;
    for (int64_t m; n > 0; n -= m, in += m * step) {
        double mean, squares;
        m = n < most ? n : most;
        if (type == REDUCE_F32)
            moments_f32(m, dense ? (const float *)in : block_f32(p->dtype, m, in, step, buffer), &mean, &squares);
        else
            moments_f64(m, block_f64(p->dtype, m, in, step, buffer64), &mean, &squares);
        join_moments(acc[2 * plane], &acc[0], &acc[plane], (double)m, mean, squares);
        acc[2 * plane] += (double)m;
    }
}

static void moments_column(const struct reduce_param *p, enum reduce_type type, int64_t rows, int64_t row_step,
                           int64_t cols, int64_t col_step, const char *in, double *acc, int64_t plane)
{
    enum { GROUP = 32 };
    double buffer[BLOCK], centre[BLOCK], sum[BLOCK], squares[BLOCK];
    float buffer_f[BLOCK], centre_f[BLOCK], sum_f[BLOCK], squares_f[BLOCK];
    struct reduce_param plain = {REDUCE_SUM, p->dtype, 0};
    for (int64_t m; rows > 0; rows -= m, in += m * row_step) {
        m = rows < GROUP ? rows : GROUP;
        for (int64_t j = 0; j < cols; j++)
            centre[j] = sum[j] = squares[j] = 0;
        if (type == REDUCE_F32) {
            column_f32(REDUCE_SUM, &plain, m, row_step, cols, col_step, in, centre);
            for (int64_t j = 0; j < cols; j++) {
                centre_f[j] = (float)(centre[j] / (double)m);
                centre[j] = centre_f[j];
                sum_f[j] = squares_f[j] = 0;
            }
            for (int64_t r = 0; r < m; r++) {
                const float *restrict x = block_f32(p->dtype, cols, in + r * row_step, col_step, buffer_f);
                for (int64_t j = 0; j < cols; j++) {
                    float d = x[j] - centre_f[j];
                    sum_f[j] += d;
                    squares_f[j] += d * d;
                }
            }
            for (int64_t j = 0; j < cols; j++)
                sum[j] = sum_f[j], squares[j] = squares_f[j];
        } else {
            column_f64(REDUCE_SUM, &plain, m, row_step, cols, col_step, in, centre);
            for (int64_t j = 0; j < cols; j++)
                centre[j] /= (double)m;
            for (int64_t r = 0; r < m; r++) {
                const double *restrict x = block_f64(p->dtype, cols, in + r * row_step, col_step, buffer);
                for (int64_t j = 0; j < cols; j++) {
                    double d = x[j] - centre[j];
                    sum[j] += d;
                    squares[j] += d * d;
                }
            }
        }
        for (int64_t j = 0; j < cols; j++) {
            double mean = centre[j] + sum[j] / (double)m;
            join_moments(acc[2 * plane + j], &acc[j], &acc[plane + j], (double)m, mean,
                         squares[j] - sum[j] * sum[j] / (double)m);
            acc[2 * plane + j] += (double)m;
        }
    }
}

#define CALL_ROW(op)                                                                                                   \
    case op:                                                                                                           \
        type == REDUCE_F32   ? row_f32(op, p, results, result_step, n, step, in, acc)                                  \
        : type == REDUCE_F64 ? row_f64(op, p, results, result_step, n, step, in, acc)                                  \
                             : row_i64(op, p, results, result_step, n, step, in, acc);                                 \
        break
#define CALL_ARG_ROW(op)                                                                                               \
    case op:                                                                                                           \
        type == REDUCE_F32 ? arg_row_f32(op, p, results, result_step, n, step, in, index, acc, (int64_t *)acc + plane) \
        : type == REDUCE_F64                                                                                           \
            ? arg_row_f64(op, p, results, result_step, n, step, in, index, acc, (int64_t *)acc + plane)                \
            : arg_row_i64(op, p, results, result_step, n, step, in, index, acc, (int64_t *)acc + plane);               \
        break
#define CALL_FLOAT_ROW(op)                                                                                             \
    case op:                                                                                                           \
        type == REDUCE_F32 ? row_f32(op, p, results, result_step, n, step, in, acc)                                    \
                           : row_f64(op, p, results, result_step, n, step, in, acc);                                   \
        break

static void row(const struct reduce_param *p, enum reduce_type type, int64_t results, int64_t result_step, int64_t n,
                int64_t step, const char *in, int64_t index, void *acc, int64_t plane);

/* Least and greatest of as much as the first leaves in the cache for the second. */
static void min_max_row(const struct reduce_param *p, enum reduce_type type, int64_t results, int64_t result_step,
                        int64_t n, int64_t step, const char *in, int64_t *acc, int64_t plane)
{
    struct reduce_param min = {REDUCE_MIN, p->dtype, 0}, max = {REDUCE_MAX, p->dtype, 0};
    for (int64_t j = 0; j < results; j++, in += result_step)
        for (int64_t m, i = 0; i < n; i += m) {
            m = n - i < CHUNK ? n - i : CHUNK;
            row(&min, type, 1, 0, m, step, in + i * step, 0, acc + j, plane);
            row(&max, type, 1, 0, m, step, in + i * step, 0, acc + plane + j, plane);
        }
}

static void row(const struct reduce_param *p, enum reduce_type type, int64_t results, int64_t result_step, int64_t n,
                int64_t step, const char *in, int64_t index, void *acc, int64_t plane)
{
    switch (p->op) {
        CALL_ROW(REDUCE_SUM);
        CALL_ROW(REDUCE_PROD);
        CALL_ROW(REDUCE_MAX);
        CALL_ROW(REDUCE_MIN);
        CALL_ROW(REDUCE_NONZERO);
        CALL_ARG_ROW(REDUCE_ARGMAX);
        CALL_ARG_ROW(REDUCE_ARGMIN);
        CALL_FLOAT_ROW(REDUCE_NANSUM);
        CALL_FLOAT_ROW(REDUCE_ABS_SUM);
        CALL_FLOAT_ROW(REDUCE_SQUARES);
        CALL_FLOAT_ROW(REDUCE_POWERS);
        CALL_FLOAT_ROW(REDUCE_ABS_MAX);
        CALL_FLOAT_ROW(REDUCE_ABS_MIN);
    case REDUCE_MOMENTS:
        for (int64_t j = 0; j < results; j++)
            moments_row(p, type, n, in + j * result_step, step, (double *)acc + j, plane);
        break;
    case REDUCE_MIN_MAX:
        min_max_row(p, type, results, result_step, n, step, in, acc, plane);
        break;
    case REDUCE_OPS:
        break;
    }
}

#define CALL_COLUMN(op)                                                                                                \
    case op:                                                                                                           \
        type == REDUCE_F32   ? column_f32(op, p, rows, row_step, cols, col_step, in, acc)                              \
        : type == REDUCE_F64 ? column_f64(op, p, rows, row_step, cols, col_step, in, acc)                              \
                             : column_i64(op, p, rows, row_step, cols, col_step, in, acc);                             \
        break
#define CALL_ARG_COLUMN(op)                                                                                            \
    case op:                                                                                                           \
        type == REDUCE_F32                                                                                             \
            ? arg_column_f32(op, p, rows, row_step, cols, col_step, in, index, acc, (int64_t *)acc + plane)            \
        : type == REDUCE_F64                                                                                           \
            ? arg_column_f64(op, p, rows, row_step, cols, col_step, in, index, acc, (int64_t *)acc + plane)            \
            : arg_column_i64(op, p, rows, row_step, cols, col_step, in, index, acc, (int64_t *)acc + plane);           \
        break
#define CALL_FLOAT_COLUMN(op)                                                                                          \
    case op:                                                                                                           \
        type == REDUCE_F32 ? column_f32(op, p, rows, row_step, cols, col_step, in, acc)                                \
                           : column_f64(op, p, rows, row_step, cols, col_step, in, acc);                               \
        break

static void column(const struct reduce_param *p, enum reduce_type type, int64_t rows, int64_t row_step, int64_t cols,
                   int64_t col_step, const char *in, int64_t index, void *acc, int64_t plane);

static void min_max_column(const struct reduce_param *p, enum reduce_type type, int64_t rows, int64_t row_step,
                           int64_t cols, int64_t col_step, const char *in, int64_t *acc, int64_t plane)
{
    enum { GROUP = 8 };
    struct reduce_param min = {REDUCE_MIN, p->dtype, 0}, max = {REDUCE_MAX, p->dtype, 0};
    for (int64_t m; rows > 0; rows -= m, in += m * row_step) {
        m = rows < GROUP ? rows : GROUP;
        column(&min, type, m, row_step, cols, col_step, in, 0, acc, plane);
        column(&max, type, m, row_step, cols, col_step, in, 0, acc + plane, plane);
    }
}

static void column(const struct reduce_param *p, enum reduce_type type, int64_t rows, int64_t row_step, int64_t cols,
                   int64_t col_step, const char *in, int64_t index, void *acc, int64_t plane)
{
    switch (p->op) {
        CALL_COLUMN(REDUCE_SUM);
        CALL_COLUMN(REDUCE_PROD);
        CALL_COLUMN(REDUCE_MAX);
        CALL_COLUMN(REDUCE_MIN);
        CALL_COLUMN(REDUCE_NONZERO);
        CALL_ARG_COLUMN(REDUCE_ARGMAX);
        CALL_ARG_COLUMN(REDUCE_ARGMIN);
        CALL_FLOAT_COLUMN(REDUCE_NANSUM);
        CALL_FLOAT_COLUMN(REDUCE_ABS_SUM);
        CALL_FLOAT_COLUMN(REDUCE_SQUARES);
        CALL_FLOAT_COLUMN(REDUCE_POWERS);
        CALL_FLOAT_COLUMN(REDUCE_ABS_MAX);
        CALL_FLOAT_COLUMN(REDUCE_ABS_MIN);
    case REDUCE_MOMENTS:
        moments_column(p, type, rows, row_step, cols, col_step, in, acc, plane);
        break;
    case REDUCE_MIN_MAX:
        min_max_column(p, type, rows, row_step, cols, col_step, in, acc, plane);
        break;
    case REDUCE_OPS:
        break;
    }
}

static void init(enum reduce_op op, enum reduce_type type, int64_t n, void *acc, int64_t plane)
{
    if (op == REDUCE_MIN_MAX) {
        init(REDUCE_MIN, type, n, acc, plane);
        init(REDUCE_MAX, type, n, (int64_t *)acc + plane, plane);
        return;
    }
    type == REDUCE_F32   ? init_f32(op, n, acc, plane)
    : type == REDUCE_F64 ? init_f64(op, n, acc, plane)
                         : init_i64(op, n, acc, plane);
}

static void merge(enum reduce_op op, enum reduce_type type, int64_t n, void *acc, int64_t plane, const void *other,
                  int64_t other_plane)
{
    if (op == REDUCE_MIN_MAX) {
        merge(REDUCE_MIN, type, n, acc, plane, other, other_plane);
        merge(REDUCE_MAX, type, n, (int64_t *)acc + plane, plane, (const int64_t *)other + other_plane, other_plane);
        return;
    }
    if (op == REDUCE_MOMENTS) {
        double *a = acc;
        const double *b = other;
        for (int64_t j = 0; j < n; j++) {
            if (b[2 * other_plane + j] == 0)
                continue;
            join_moments(a[2 * plane + j], &a[j], &a[plane + j], b[2 * other_plane + j], b[j], b[other_plane + j]);
            a[2 * plane + j] += b[2 * other_plane + j];
        }
    } else if (type == REDUCE_I64) {
        merge_i64(op, n, acc, plane, other, other_plane);
    } else if (type == REDUCE_F64) {
        merge_f64(op, n, acc, plane, other, other_plane);
    } else {
        merge_f32(op, n, acc, plane, other, other_plane);
    }
}

static double finish_double(enum reduce_finish finish, double x, double p, int64_t count)
{
    switch (finish) {
    case REDUCE_MEAN:
        return x / (double)count;
    case REDUCE_SQRT:
        return sqrt(x);
    case REDUCE_ROOT:
        return pow(x, 1 / p);
    case REDUCE_ANY:
        return x != 0;
    case REDUCE_ALL:
        return x == (double)count;
    case REDUCE_VAR:
    case REDUCE_STD:
        x /= (double)count - p > 0 ? (double)count - p : 0;
        return finish == REDUCE_STD ? sqrt(x) : x;
    case REDUCE_MOMENT_MEAN:
        return count ? x : NAN;
    default:
        return x;
    }
}

static void finish_block(const struct reduce_param *p, enum reduce_finish finish, enum reduce_type type,
                         double argument, int64_t count, int64_t n, const int64_t *acc, int64_t plane, char *out,
                         int64_t step, aclDataType dtype)
{
    if (finish == REDUCE_INDEX) {
        store_i64(dtype, n, acc + plane, out, step);
    } else if (type == REDUCE_I64 && finish == REDUCE_VALUE) {
        int64_t shifted[BLOCK];
        if (p->dtype == ACL_UINT64 && reduce_ordered(p->op)) {
            for (int64_t j = 0; j < n; j++)
                shifted[j] = acc[j] ^ INT64_MIN;
            acc = shifted;
        }
        store_i64(dtype, n, acc, out, step);
    } else {
        const double *value = (const double *)acc + (finish == REDUCE_VAR || finish == REDUCE_STD ? plane : 0);
        double done[BLOCK];
        for (int64_t j = 0; j < n; j++)
            done[j] = finish_double(finish, type == REDUCE_I64 ? (double)acc[j] : value[j], argument, count);
        store_f64(dtype, n, done, out, step);
    }
}

static void finish(const struct reduce_param *p, enum reduce_finish how, enum reduce_type type, double argument,
                   int64_t count, int64_t n, const void *acc, int64_t plane, char *out, int64_t step, aclDataType dtype)
{
    const int64_t *words = acc;
    if (how == REDUCE_OTHER)
        words += plane, how = REDUCE_VALUE;
    for (int64_t m; n > 0; n -= m, words += m, out += m * step) {
        m = n < BLOCK ? n : BLOCK;
        finish_block(p, how, type, argument, count, m, words, plane, out, step, dtype);
    }
}

static bool equal_floats(aclDataType dtype, int64_t n, const char *a, int64_t a_step, const char *b, int64_t b_step)
{
    float x[BLOCK], y[BLOCK];
    for (int64_t m; n > 0; n -= m, a += m * a_step, b += m * b_step) {
        m = n < BLOCK ? n : BLOCK;
        const float *p = block_f32(dtype, m, a, a_step, x), *q = block_f32(dtype, m, b, b_step, y);
        int32_t differ = 0;
        for (int64_t i = 0; i < m; i++)
            differ |= !(p[i] == q[i]);
        if (differ)
            return false;
    }
    return true;
}

static bool equal_doubles(aclDataType dtype, int64_t n, const char *a, int64_t a_step, const char *b, int64_t b_step)
{
    double x[BLOCK], y[BLOCK];
    for (int64_t m; n > 0; n -= m, a += m * a_step, b += m * b_step) {
        m = n < BLOCK ? n : BLOCK;
        const double *p = block_f64(dtype, m, a, a_step, x), *q = block_f64(dtype, m, b, b_step, y);
        int64_t differ = 0;
        for (int64_t i = 0; i < m; i++)
            differ |= !(p[i] == q[i]);
        if (differ)
            return false;
    }
    return true;
}

static bool equal(aclDataType dtype, int64_t n, const char *a, int64_t a_step, const char *b, int64_t b_step)
{
    switch (dtype) {
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_BF16:
        return equal_floats(dtype, n, a, a_step, b, b_step);
    case ACL_DOUBLE:
        return equal_doubles(dtype, n, a, a_step, b, b_step);
    case ACL_COMPLEX64:
        return equal_floats(ACL_FLOAT, n, a, a_step, b, b_step) &&
               equal_floats(ACL_FLOAT, n, a + 4, a_step, b + 4, b_step);
    case ACL_COMPLEX128:
        return equal_doubles(ACL_DOUBLE, n, a, a_step, b, b_step) &&
               equal_doubles(ACL_DOUBLE, n, a + 8, a_step, b + 8, b_step);
    default:
        break;
    }
    size_t size = dtype_size(dtype);
    if (a_step == (int64_t)size && b_step == a_step)
        return memcmp(a, b, (size_t)n * size) == 0;
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i * a_step, b + i * b_step, size) != 0)
            return false;
    return true;
}

const struct reduce_kernels ISA(reduce_kernels) = {words_of, init, row, column, merge, finish, equal};

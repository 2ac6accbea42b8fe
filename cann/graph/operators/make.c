/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors made from numbers: constants, ranges, windows, random ones. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_inplace_normal_tensor.h"
#include "aclnnop/aclnn_inplace_one.h"
#include "aclnnop/aclnn_inplace_uniform_tensor.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_lt_tensor.h"
#include "aclnnop/aclnn_multinomial_tensor.h"
#include "graph/operators/onnx.h"
#include "graph/operators/row.h"
#include "runtime/door.h"

/* ---- constants ---- */

static void define_constant(struct op *op)
{
    const struct node *node = op_node(op);
    const struct tensor *t = node_tensor(node, "value");
    const struct attribute *a;
    size_t n;
    if (t) {
        op_write(op, op_result(op, 0, t->type.dtype, t->type.rank, t->type.dim), t->host);
    } else if ((a = node_attribute(node, "value_float")) != NULL) {
        op_write(op, op_result(op, 0, ACL_FLOAT, 0, NULL), &a->f);
    } else if ((a = node_attribute(node, "value_int")) != NULL) {
        op_write(op, op_result(op, 0, ACL_INT64, 0, NULL), &a->i);
    } else if (node_attribute(node, "value_floats")) {
        const float *list = node_floats(node, "value_floats", &n);
        op_write(op, op_result(op, 0, ACL_FLOAT, 1, (int64_t[]){(int64_t)n}), list);
    } else if (node_attribute(node, "value_ints")) {
        const int64_t *list = node_ints(node, "value_ints", &n);
        op_write(op, op_result(op, 0, ACL_INT64, 1, (int64_t[]){(int64_t)n}), list);
    } else
        op_fail(op, GRAPH_UNSUPPORTED, "a constant that is neither a tensor nor numbers");
}

static void define_constant_of_shape(struct op *op)
{
    struct operand *shape = op_in(op, 0);
    const struct tensor *value = node_tensor(op_node(op), "value");
    aclDataType dtype = value ? value->type.dtype : ACL_FLOAT;
    size_t n;
    const int64_t *dim = op_whole(op, 0, &n);
    if (!dim && op_open(op)) {
        bool known = shape->rank == 1 && shape->dim[0] <= OP_RANK;
        op_result_open(op, 0, dtype, known ? (int32_t)shape->dim[0] : RANK_UNKNOWN, NULL);
        return;
    }
    if (n > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "a shape of %zu dimensions", n);
        return;
    }
    struct operand *y = op_result(op, 0, dtype, (int32_t)n, dim);
    if (op_count(y) == 0)
        return;
    if (value && value->host) {
        struct operand *one = op_temp(op, dtype, 0, NULL);
        op_write(op, one, value->host);
        op_copy(op, y, one);
    } else
        OP_CALL(op, aclnnInplaceZero, op_out(op, y));
}

static void define_eye_like(struct op *op)
{
    struct operand *x = op_in(op, 0);
    if (x->rank != 2) {
        op_fail(op, GRAPH_INVALID, "takes a matrix, not %d dimensions", x->rank);
        return;
    }
    struct operand *y = op_result(op, 0, onnx_attribute_dtype(op, "dtype", x->dtype), 2, x->dim);
    int64_t k = op_int(op, "k", 0);
    k = k < -INT32_MAX ? -INT32_MAX : k > INT32_MAX ? INT32_MAX : k;
    int64_t row = k < 0 ? -k : 0, column = k > 0 ? k : 0;
    int64_t rows = x->dim[0] - row, columns = x->dim[1] - column, n = rows < columns ? rows : columns;
    if (op_count(y))
        OP_CALL(op, aclnnInplaceZero, op_out(op, y));
    if (n > 0)
        OP_CALL(op, aclnnInplaceOne,
                op_out(op, op_view(op, y, 1, &n, (int64_t[]){x->dim[1] + 1}, row * x->dim[1] + column)));
}

static void define_range(struct op *op)
{
    struct operand *start = op_in(op, 0);
    double number[3];
    int64_t whole[3];
    for (int i = 0; i < 3; i++) {
        size_t n, m;
        const double *d = op_numbers(op, i, &n);
        const int64_t *w = op_whole(op, i, &m);
        if (!d || !w || n != 1) {
            if (op_open(op))
                op_result_open(op, 0, start->dtype, 1, NULL);
            else
                op_fail(op, GRAPH_INVALID, "takes three numbers");
            return;
        }
        number[i] = d[0];
        whole[i] = w[0];
    }
    bool real = dtype_is_float(start->dtype);
    double count = 0;
    if (number[2] != 0)
        count = ceil((number[1] - number[0]) / number[2]);
    int64_t distance;
    if (whole[2] != 0 && !real && !__builtin_sub_overflow(whole[1], whole[0], &distance)) /* exactly */
        count = whole[2] == -1
                    ? -(double)distance
                    : (double)(distance / whole[2] + (distance % whole[2] != 0 && (distance < 0) == (whole[2] < 0)));
    if (number[2] == 0 || !(count < 0x1p40)) {
        op_fail(op, GRAPH_INVALID, "from %g to %g by %g", number[0], number[1], number[2]);
        return;
    }
    int64_t n = count > 0 ? (int64_t)count : 0;
    struct operand *y = op_result(op, 0, start->dtype, 1, &n);
    if (n == 0)
        return;
    if (real) {
        const aclScalar *from = op_number(op, number[0]), *by = op_number(op, number[2]);
        OP_CALL(op, aclnnArange, from, op_number(op, number[1]), by, op_out(op, y));
    } else
        OP_CALL(op, aclnnArange, op_integer(op, whole[0]), op_integer(op, whole[1]), op_integer(op, whole[2]),
                op_out(op, y));
}

/* ---- windows ---- */

enum { WINDOW_MAX = 1 << 26 }; /* elements */
enum window_kind { WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN };

static void define_window(struct op *op)
{
    static const double factors[3][3] = {
        [WINDOW_HANN] = {0.5, 0.5, 0},
        [WINDOW_HAMMING] = {25.0 / 46, 1 - 25.0 / 46, 0},
        [WINDOW_BLACKMAN] = {0.42, 0.5, 0.08},
    };
    const double *a = factors[op_code(op)];
    aclDataType dtype = onnx_attribute_dtype(op, "output_datatype", ACL_FLOAT);
    size_t count;
    const int64_t *size = op_whole(op, 0, &count);
    if (!size) {
        op_result_open(op, 0, dtype, 1, NULL);
        return;
    }
    int64_t n = count ? size[0] : -1;
    if (n < 0 || n > WINDOW_MAX) {
        op_fail(op, GRAPH_INVALID, "a window of %lld", (long long)n);
        return;
    }
    struct operand *y = op_result(op, 0, dtype, 1, &n);
    if (!op_runs(op))
        return;
    double period = (double)(op_int(op, "periodic", 1) ? n : n - 1);
    double *value = malloc(sizeof *value * (size_t)(n + 1));
    if (!value) {
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = period > 0 ? 2 * 3.14159265358979323846 * (double)i / period : 0;
        value[i] = a[0] - a[1] * cos(x) + a[2] * cos(2 * x);
    }
    op_copy(op, y, op_constant(op, ACL_DOUBLE, 1, &n, value));
    free(value);
}

/* A matrix that sums a spectrum's bins into bands of the mel scale. */
static void define_mel(struct op *op)
{
    aclDataType dtype = onnx_attribute_dtype(op, "output_datatype", ACL_FLOAT);
    double number[5];
    for (int i = 0; i < 5; i++) {
        size_t n;
        const double *d = op_numbers(op, i, &n);
        if (!d || n != 1) {
            op_result_open(op, 0, dtype, 2, NULL);
            return;
        }
        number[i] = d[0];
    }
    int64_t bands = (int64_t)number[0], length = (int64_t)number[1], rate = (int64_t)number[2], bins = length / 2 + 1;
    bool ordered = number[3] >= 0 && number[4] > number[3] && number[4] < 1e9;
    if (bands < 1 || length < 1 || rate < 1 || bands > 1 << 20 || bins > WINDOW_MAX / bands || !ordered) {
        op_fail(op, GRAPH_INVALID, "%lld bands of %lld points at %lld Hz", (long long)bands, (long long)length,
                (long long)rate);
        return;
    }
    int64_t dim[] = {bins, bands};
    struct operand *y = op_result(op, 0, dtype, 2, dim);
    if (!op_runs(op))
        return;
    double low = 2595 * log10(1 + number[3] / 700), high = 2595 * log10(1 + number[4] / 700);
    double step = (high - low) / (double)(bands + 2);
    int64_t *bin = malloc(sizeof *bin * (size_t)(bands + 2));
    double *value = calloc((size_t)(bins * bands), sizeof *value);
    for (int64_t i = 0; bin && i < bands + 2; i++)
        bin[i] =
            (int64_t)((double)(length + 1) * (700 * (pow(10, ((double)i * step + low) / 2595) - 1)) / (double)rate);
    for (int64_t b = 0; bin && value && b < bands; b++) {
        int64_t from = bin[b], centre = bin[b + 1], to = bin[b + 2];
        if (centre == from && centre >= 0 && centre < bins)
            value[centre * bands + b] = 1;
        for (int64_t j = from; centre != from && j <= centre && j < bins; j++)
            value[j * bands + b] = (double)(j - from) / (double)(centre - from);
        for (int64_t j = centre; to > centre && j < to && j < bins; j++)
            value[j * bands + b] = (double)(to - j) / (double)(to - centre);
    }
    if (bin && value)
        op_copy(op, y, op_constant(op, ACL_DOUBLE, 2, dim, value));
    else
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
    free(bin);
    free(value);
}

/* ---- random numbers ----
 * A node with a seed gives the same numbers in every execution; without one, others each time, and the same sequence in
 * every process. */

struct drawing {
    int64_t *seed; /* a tensor of one */
    int64_t base;
    bool fixed;
};

static int draw_seed(void *arg)
{
    static _Atomic int64_t executions;
    const struct drawing *d = arg;
    int64_t *seed = device_address(d->seed);
    *seed = d->base + (d->fixed ? 0 : atomic_fetch_add(&executions, 1) * 1000003);
    return 0;
}

/* The seed as a tensor that is filled when the node runs. */
static struct operand *seed_of(struct op *op)
{
    struct operand *seed = op_temp(op, ACL_INT64, 1, (int64_t[]){1});
    struct drawing d = {.seed = op_data(op, seed), .fixed = node_attribute(op_node(op), "seed") != NULL};
    uint64_t hash = 1469598103934665603u;
    for (const char *p = op_node(op)->name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    double given = op_float(op, "seed", 0);
    d.base = !d.fixed ? (int64_t)(hash >> 12) : given > -0x1p62 && given < 0x1p62 ? (int64_t)given : 0;
    op_host(op, "seed", draw_seed, &d, sizeof d);
    return seed;
}

static struct operand *no_offset(struct op *op)
{
    const double zero = 0;
    return op_constant(op, ACL_INT64, 1, (int64_t[]){1}, &zero);
}

enum random { RANDOM_NORMAL, RANDOM_UNIFORM };

static void fill_random(struct op *op, struct operand *y)
{
    if (op_count(y) == 0)
        return;
    struct operand *seed = seed_of(op), *offset = no_offset(op);
    if (op_code(op) == RANDOM_NORMAL)
        OP_CALL(op, aclnnInplaceNormalTensor, op_out(op, y), (float)op_float(op, "mean", 0),
                (float)op_float(op, "scale", 1), op_acl(op, seed), op_acl(op, offset), 0);
    else
        OP_CALL(op, aclnnInplaceUniformTensor, op_out(op, y), op_float(op, "low", 0), op_float(op, "high", 1),
                op_acl(op, seed), op_acl(op, offset), 0);
}

static void define_random(struct op *op)
{
    size_t n;
    const int64_t *shape = op_ints(op, "shape", &n);
    if (n > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "a shape of %zu dimensions", n);
        return;
    }
    fill_random(op, op_result(op, 0, onnx_attribute_dtype(op, "dtype", ACL_FLOAT), (int32_t)n, shape));
}

static void define_random_like(struct op *op)
{
    struct operand *x = op_in(op, 0);
    fill_random(op, op_result(op, 0, onnx_attribute_dtype(op, "dtype", x->dtype), x->rank, x->dim));
}

/* 1 where a uniform number is below the probability. */
static void define_bernoulli(struct op *op)
{
    struct operand *x = op_in(op, 0);
    struct operand *y = op_result(op, 0, onnx_attribute_dtype(op, "dtype", x->dtype), x->rank, x->dim);
    struct operand *drawn = op_temp(op, ACL_FLOAT, x->rank, x->dim), *hit = op_temp(op, ACL_BOOL, x->rank, x->dim);
    if (op_count(y) == 0)
        return;
    OP_CALL(op, aclnnInplaceUniformTensor, op_out(op, drawn), 0, 1, op_acl(op, seed_of(op)), op_acl(op, no_offset(op)),
            0);
    OP_CALL(op, aclnnLtTensor, op_acl(op, drawn), op_acl(op, op_cast(op, x, ACL_FLOAT)), op_out(op, hit));
    op_copy(op, y, hit);
}

static void define_multinomial(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int64_t dim[] = {x->rank ? x->dim[0] : 1, op_int(op, "sample_size", 1)};
    struct operand *y = op_result(op, 0, onnx_attribute_dtype(op, "dtype", ACL_INT32), 2, dim);
    struct operand *drawn = op_temp(op, ACL_INT64, 2, dim), *weight = op_temp(op, x->dtype, x->rank, x->dim);
    OP_CALL(op, aclnnExp, op_acl(op, x), op_out(op, weight)); /* the input has logarithms */
    OP_CALL(op, aclnnMultinomialTensor, op_acl(op, weight), dim[1], true, op_acl(op, seed_of(op)),
            op_acl(op, no_offset(op)), 0, op_out(op, drawn));
    op_copy(op, y, drawn);
}

const struct operator_row operators_make[] = {
    ROW("Constant", 1, 0, 0, 0, 0, 1, 1, define_constant, NULL, 0),
    ROW("ConstantOfShape", 9, 0, 0, 1, 1, 1, 1, define_constant_of_shape, NULL, 0),
    ROW("EyeLike", 9, 0, OPERATOR_SHAPE, 1, 1, 1, 1, define_eye_like, NULL, 0),
    ROW("Range", 11, 0, OPERATOR_SIZES, 3, 3, 1, 1, define_range, NULL, 0),
    ROW("HannWindow", 17, 0, 0, 1, 1, 1, 1, define_window, NULL, WINDOW_HANN),
    ROW("HammingWindow", 17, 0, 0, 1, 1, 1, 1, define_window, NULL, WINDOW_HAMMING),
    ROW("BlackmanWindow", 17, 0, 0, 1, 1, 1, 1, define_window, NULL, WINDOW_BLACKMAN),
    ROW("MelWeightMatrix", 17, 0, 0, 5, 5, 1, 1, define_mel, NULL, 0),
    ROW("RandomNormal", 1, 0, OPERATOR_RANDOM, 0, 0, 1, 1, define_random, NULL, RANDOM_NORMAL),
    ROW("RandomUniform", 1, 0, OPERATOR_RANDOM, 0, 0, 1, 1, define_random, NULL, RANDOM_UNIFORM),
    ROW("RandomNormalLike", 1, 0, OPERATOR_RANDOM, 1, 1, 1, 1, define_random_like, NULL, RANDOM_NORMAL),
    ROW("RandomUniformLike", 1, 0, OPERATOR_RANDOM, 1, 1, 1, 1, define_random_like, NULL, RANDOM_UNIFORM),
    ROW("Bernoulli", 15, 0, OPERATOR_RANDOM, 1, 1, 1, 1, define_bernoulli, NULL, 0),
    ROW("Multinomial", 7, 0, OPERATOR_RANDOM, 1, 1, 1, 1, define_multinomial, NULL, 0),
    {0},
};

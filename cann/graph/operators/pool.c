/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling: the usual windows by aclnn, padding that differs before and after and other rarities by plain loops here. */
#include <math.h>
#include <string.h>

#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_avg_pool2d.h"
#include "aclnnop/aclnn_avg_pool3d.h"
#include "aclnnop/aclnn_inplace_fill_scalar.h"
#include "aclnnop/aclnn_inplace_scatter.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_linalg_vector_norm.h"
#include "aclnnop/aclnn_max_pool2d_with_indices.h"
#include "aclnnop/aclnn_max_pool3d_with_argmax.h"
#include "aclnnop/aclnn_mean.h"
#include "graph/operators/row.h"
#include "graph/operators/window.h"
#include "runtime/door.h"

static int64_t *pooled_dims(const struct window *w, const struct operand *x, int64_t *dim)
{
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    memcpy(dim + 2, w->out, sizeof *dim * (size_t)w->n);
    return dim;
}

/* ---- largest ---- */

/* Positions within a padded channel become positions within the whole input. */
struct positions {
    int64_t *index;
    int64_t channels, pooled, padded[WINDOW_DIMS], before[WINDOW_DIMS], in[WINDOW_DIMS];
    int n;
    bool column_major;
};

static int place_positions(void *arg)
{
    const struct positions *p = arg;
    int64_t *index = device_address(p->index), size = 1;
    for (int d = 0; d < p->n; d++)
        size *= p->in[d];
    for (int64_t i = 0; i < p->channels * p->pooled; i++) {
        int64_t rest = index[i], at = 0, place[WINDOW_DIMS];
        for (int d = p->n - 1; d >= 0; d--) {
            place[d] = rest % p->padded[d] - p->before[d];
            rest /= p->padded[d];
        }
        for (int d = 0; d < p->n; d++) {
            int from = p->column_major ? p->n - 1 - d : d;
            at = at * p->in[from] + place[from];
        }
        index[i] = i / p->pooled * size + at;
    }
    return 0;
}

static double lowest(aclDataType dtype)
{
    return dtype_is_float(dtype) ? -INFINITY : dtype == ACL_INT8 ? -128 : 0;
}

/* x with the window's padding around it, and w without. */
static struct operand *padded(struct op *op, struct operand *x, struct window *w, double value)
{
    int64_t dim[OP_RANK];
    memcpy(dim, x->dim, sizeof dim);
    for (int d = 0; d < w->n; d++) {
        int64_t whole = (w->out[d] - 1) * w->stride[d] + window_reach(w, d), given = w->in[d] + w->before[d];
        dim[2 + d] = whole > given ? whole : given; /* what windows reach */
    }
    struct operand *full = op_temp(op, x->dtype, x->rank, dim), *inner = full;
    OP_CALL(op, aclnnInplaceFillScalar, op_out(op, full), op_scalar_for(op, x->dtype, value));
    for (int d = 0; d < w->n; d++)
        inner = op_slice(op, inner, 2 + d, w->before[d], w->in[d], 1);
    op_copy(op, inner, x);
    for (int d = 0; d < w->n; d++) {
        w->in[d] = dim[2 + d];
        w->before[d] = w->after[d] = 0;
    }
    w->ceil = false;
    return full;
}

static bool half_at_most(const struct window *w)
{
    for (int d = 0; d < w->n; d++)
        if (w->before[d] > window_reach(w, d) / 2)
            return false;
    return true;
}

static void call_max(struct op *op, const struct window *w, struct operand *x, struct operand *y, struct operand *index)
{
    int64_t kernel[WINDOW_DIMS] = {1}, stride[WINDOW_DIMS] = {1}, pad[WINDOW_DIMS] = {0}, dilation[WINDOW_DIMS] = {1};
    int n = w->n == 1 ? 2 : w->n, lead = n - w->n;
    for (int d = 0; d < w->n; d++) {
        kernel[lead + d] = w->kernel[d];
        stride[lead + d] = w->stride[d];
        pad[lead + d] = w->before[d];
        dilation[lead + d] = w->dilation[d];
    }
    size_t count = (size_t)n;
    x = window_flat(op, x);
    y = window_flat(op, y);
    index = window_flat(op, index);
    if (n == 2)
        OP_CALL(op, aclnnMaxPool2dWithIndices, op_acl(op, x), op_array(op, count, kernel), op_array(op, count, stride),
                op_array(op, count, pad), op_array(op, count, dilation), w->ceil, op_out(op, y), op_out(op, index));
    else
        OP_CALL(op, aclnnMaxPool3dWithArgmax, op_acl(op, x), op_array(op, count, kernel), op_array(op, count, stride),
                op_array(op, count, pad), op_array(op, count, dilation), w->ceil, op_out(op, y), op_out(op, index));
}

static void define_max_pool(struct op *op)
{
    struct operand *x = op_in(op, 0);
    struct window w;
    int64_t dim[OP_RANK];
    if (!window_read(op, x, NULL, &w))
        return;
    pooled_dims(&w, x, dim);
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim), *index = op_result(op, 1, ACL_INT64, x->rank, dim);
    struct positions p = {.channels = x->dim[0] * x->dim[1], .n = w.n, .column_major = op_int(op, "storage_order", 0)};
    memcpy(p.in, w.in, sizeof p.in);
    memcpy(p.before, w.before, sizeof p.before);
    if (op_count(y) == 0)
        return;
    if (!window_is_plain(&w) || !half_at_most(&w))
        x = padded(op, x, &w, lowest(x->dtype));
    else
        memset(p.before, 0, sizeof p.before); /* positions are those of x */
    call_max(op, &w, x, y, index);
    memcpy(p.padded, w.in, sizeof p.padded);
    p.pooled = op_span(y, 2, y->rank);
    p.index = op_data(op, index);
    if (op_wants(op, 1))
        op_host(op, "MaxPool positions", place_positions, &p, sizeof p);
}

/* ---- averages and norms, by loops in double ---- */

struct sums {
    const double *x;
    double *y;
    int64_t channels;
    struct window w;
    double p; /* 0: the average */
    bool includes_padding;
};

static double one_window(const struct sums *s, const double *x, const int64_t *at)
{
    const struct window *w = &s->w;
    double sum = 0;
    int64_t inside = 0, counted = 0, taps = 1, step[WINDOW_DIMS];
    for (int d = 0; d < w->n; d++)
        taps *= w->kernel[d];
    for (int64_t t = 0; t < taps; t++) {
        int64_t rest = t, offset = 0;
        bool in = true, in_padding = true;
        for (int d = w->n - 1; d >= 0; d--) {
            step[d] = rest % w->kernel[d];
            rest /= w->kernel[d];
        }
        for (int d = 0; d < w->n; d++) {
            int64_t i = at[d] * w->stride[d] - w->before[d] + step[d] * w->dilation[d];
            in = in && i >= 0 && i < w->in[d];
            in_padding = in_padding && i >= -w->before[d] && i < w->in[d] + w->after[d];
            offset = offset * w->in[d] + i;
        }
        inside += in;
        counted += in_padding;
        if (in)
            sum += s->p > 0 ? pow(fabs(x[offset]), s->p) : x[offset];
    }
    if (s->p > 0)
        return pow(sum, 1 / s->p);
    int64_t count = s->includes_padding ? counted : inside;
    return count ? sum / (double)count : 0;
}

static void sums_piece(void *arg, int64_t begin, int64_t end)
{
    const struct sums *s = arg;
    int64_t large = 1, small = 1, at[WINDOW_DIMS];
    for (int d = 0; d < s->w.n; d++) {
        large *= s->w.in[d];
        small *= s->w.out[d];
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i % small;
        for (int d = s->w.n - 1; d >= 0; d--) {
            at[d] = rest % s->w.out[d];
            rest /= s->w.out[d];
        }
        s->y[i] = one_window(s, s->x + i / small * large, at);
    }
}

static int run_sums(void *arg)
{
    struct sums s = *(const struct sums *)arg;
    int64_t count = s.channels;
    for (int d = 0; d < s.w.n; d++)
        count *= s.w.out[d];
    s.x = device_address(s.x);
    s.y = device_address(s.y);
    parallel(count, 1024, sums_piece, &s);
    return 0;
}

static void by_loops(struct op *op, const struct window *w, struct operand *x, struct operand *y, double p,
                     bool padding)
{
    struct operand *wide = op_cast(op, x, ACL_DOUBLE);
    struct operand *to = y->dtype == ACL_DOUBLE ? y : op_temp(op, ACL_DOUBLE, y->rank, y->dim);
    struct sums s = {op_data(op, wide), op_data(op, to), x->dim[0] * x->dim[1], *w, p, padding};
    op_host(op, "pooling", run_sums, &s, sizeof s);
    if (to != y)
        op_copy(op, y, to);
}

static void call_average(struct op *op, const struct window *w, struct operand *x, struct operand *y, bool padding)
{
    int64_t kernel[WINDOW_DIMS] = {1}, stride[WINDOW_DIMS] = {1}, pad[WINDOW_DIMS] = {0};
    int n = w->n == 1 ? 2 : w->n, lead = n - w->n;
    for (int d = 0; d < w->n; d++) {
        kernel[lead + d] = w->kernel[d];
        stride[lead + d] = w->stride[d];
        pad[lead + d] = w->before[d];
    }
    size_t count = (size_t)n;
    x = window_flat(op, x);
    y = window_flat(op, y);
    if (n == 2)
        OP_CALL(op, aclnnAvgPool2d, op_acl(op, x), op_array(op, count, kernel), op_array(op, count, stride),
                op_array(op, count, pad), false, padding, 0, 0, op_out(op, y));
    else
        OP_CALL(op, aclnnAvgPool3d, op_acl(op, x), op_array(op, count, kernel), op_array(op, count, stride),
                op_array(op, count, pad), false, padding, 0, op_out(op, y));
}

static void define_average_pool(struct op *op)
{
    struct operand *x = op_in(op, 0);
    struct window w;
    int64_t dim[OP_RANK];
    if (!window_read(op, x, NULL, &w))
        return;
    struct operand *y = op_result(op, 0, x->dtype, x->rank, pooled_dims(&w, x, dim));
    bool padding = op_int(op, "count_include_pad", 0), plain = window_is_plain(&w) && half_at_most(&w);
    for (int d = 0; d < w.n; d++)
        plain = plain && w.dilation[d] == 1;
    if (op_count(y) == 0)
        return;
    if (plain)
        call_average(op, &w, x, y, padding);
    else
        by_loops(op, &w, x, y, 0, padding);
}

static void define_lp_pool(struct op *op)
{
    struct operand *x = op_in(op, 0);
    struct window w;
    int64_t dim[OP_RANK];
    if (!window_read(op, x, NULL, &w))
        return;
    struct operand *y = op_result(op, 0, x->dtype, x->rank, pooled_dims(&w, x, dim));
    if (op_count(y))
        by_loops(op, &w, x, y, op_version(op) < 2 ? op_float(op, "p", 2) : (double)op_int(op, "p", 2), false);
}

/* ---- everything at once ---- */

enum global { GLOBAL_AVERAGE, GLOBAL_MAX, GLOBAL_LP };

static void define_global(struct op *op)
{
    struct operand *x = op_in(op, 0);
    int64_t dim[OP_RANK] = {0}, axes[OP_RANK];
    size_t n = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        dim[i] = i < 2 ? x->dim[i] : 1;
        if (i >= 2)
            axes[n++] = i;
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim);
    if (n == 0)
        op_copy(op, y, x);
    else if (op_code(op) == GLOBAL_AVERAGE)
        OP_CALL(op, aclnnMean, op_acl(op, x), op_array(op, n, axes), true, x->dtype, op_out(op, y));
    else if (op_code(op) == GLOBAL_MAX)
        OP_CALL(op, aclnnAmax, op_acl(op, x), op_array(op, n, axes), true, op_out(op, y));
    else
        OP_CALL(op, aclnnLinalgVectorNorm, op_acl(op, x), op_number(op, (double)op_int(op, "p", 2)),
                op_array(op, n, axes), true, x->dtype, op_out(op, y));
}

/* ---- back to where the largest stood ---- */

enum { UNPOOL_MAX = 1 << 28 };

static void define_max_unpool(struct op *op)
{
    struct operand *x = op_in(op, 0), *index = op_in(op, 1);
    size_t n = 0, n_kernel, n_stride, n_pad;
    const int64_t *size = op_whole(op, 2, &n), *kernel = op_ints(op, "kernel_shape", &n_kernel);
    const int64_t *stride = op_ints(op, "strides", &n_stride), *pads = op_ints(op, "pads", &n_pad);
    int spatial = x->rank - 2;
    int64_t dim[OP_RANK], full[OP_RANK];
    if (op_open(op)) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    if (spatial < 1 || n_kernel != (size_t)spatial || (stride && n_stride != n_kernel) ||
        (pads && n_pad != 2 * n_kernel) || (size && n != (size_t)x->rank) || !op_same_shape(x, index)) {
        op_fail(op, GRAPH_INVALID, "attributes or indices do not fit %d dimensions", x->rank);
        return;
    }
    for (int d = 0; d < spatial; d++) {
        int64_t number[] = {kernel[d], stride ? stride[d] : 1, pads ? pads[d] : 0, pads ? pads[spatial + d] : 0,
                            x->dim[2 + d]};
        for (int k = 0; k < 5; k++)
            if (number[k] < 0 || number[k] > UNPOOL_MAX) {
                op_fail(op, GRAPH_INVALID, "dimension %d has a number of %lld", d, (long long)number[k]);
                return;
            }
    }
    for (int32_t i = 0; i < x->rank; i++) {
        int d = i - 2;
        dim[i] =
            d < 0 ? x->dim[i]
                  : (x->dim[i] - 1) * (stride ? stride[d] : 1) + kernel[d] - (pads ? pads[d] + pads[spatial + d] : 0);
        full[i] = size ? size[i] : dim[i];
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank, full);
    bool larger = memcmp(dim, full, sizeof *dim * (size_t)x->rank) != 0;
    struct operand *to = larger ? op_temp(op, x->dtype, x->rank, dim) : y;
    int64_t all = op_count(to), given = op_count(x);
    OP_CALL(op, aclnnInplaceZero, op_out(op, to));
    OP_CALL(op, aclnnInplaceScatter, op_out(op, op_reshape(op, to, 1, &all)), 0,
            op_acl(op, op_reshape(op, index, 1, &given)), op_acl(op, op_reshape(op, x, 1, &given)), 0);
    if (!larger)
        return;
    struct operand *corner = y;
    for (int32_t i = 0; i < x->rank; i++)
        corner = op_slice(op, corner, i, 0, dim[i], 1);
    OP_CALL(op, aclnnInplaceZero, op_out(op, y));
    op_copy(op, corner, to);
}

const struct operator_row operators_pool[] = {
    ROW("MaxPool", 1, 0, 0, 1, 1, 1, 2, define_max_pool, NULL, 0),
    ROW("AveragePool", 1, 0, 0, 1, 1, 1, 1, define_average_pool, NULL, 0),
    ROW("LpPool", 1, 0, 0, 1, 1, 1, 1, define_lp_pool, NULL, 0),
    ROW("GlobalAveragePool", 1, 0, 0, 1, 1, 1, 1, define_global, NULL, GLOBAL_AVERAGE),
    ROW("GlobalMaxPool", 1, 0, 0, 1, 1, 1, 1, define_global, NULL, GLOBAL_MAX),
    ROW("GlobalLpPool", 1, 0, 0, 1, 1, 1, 1, define_global, NULL, GLOBAL_LP),
    ROW("MaxUnpool", 9, 0, 0, 2, 3, 1, 1, define_max_unpool, NULL, 0),
    {0},
};

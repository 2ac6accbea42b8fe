/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling of every type against loops over the windows: sliding, padded, dilated, ragged windows in one to three
 * dimensions, widths 0 to 67, special values; the same bits at every level. */
#include "harness.h"
#include "kernels/pool.h"

#include <math.h>

static const struct pool_kernels *const tables[] = HARNESS_TABLES(pool_kernels);
enum { WINDOWS = 80 };

static struct pool_window windows[3][WINDOWS];

/* Evenly sliding windows over n positions; returns how many there are. */
static int64_t slide(int d, int64_t n, int64_t kernel, int64_t stride, int64_t before, int64_t dilation)
{
    int64_t span = (kernel - 1) * dilation + 1,
            count = n + 2 * before < span ? 0 : (n + 2 * before - span) / stride + 1;
    for (int64_t o = 0; o < count; o++) {
        struct pool_window *w = &windows[d][o];
        *w = (struct pool_window){0, 0, (int32_t)kernel};
        for (int64_t k = 0; k < kernel; k++) {
            int64_t at = o * stride - before + k * dilation;
            if (at < 0 || at >= n)
                continue;
            w->from = w->count++ ? w->from : (int32_t)at;
        }
    }
    return count;
}

/* Adaptive windows: every output has its own share of the positions. */
static int64_t share(int d, int64_t n, int64_t count)
{
    for (int64_t o = 0; o < count; o++) {
        int32_t from = (int32_t)(o * n / count), end = (int32_t)(((o + 1) * n + count - 1) / count);
        windows[d][o] = (struct pool_window){from, end - from, end - from};
    }
    return count;
}

/* Goes through the taps of output r (row-major) in order: calls back with the input's position. */
typedef void (*tap_fn)(int64_t at, void *arg);

static void each_tap(const struct pool *p, int64_t r, tap_fn fn, void *arg)
{
    const struct pool_window *d = &p->window[0][r / (p->out[1] * p->out[2])],
                             *h = &p->window[1][r / p->out[2] % p->out[1]], *w = &p->window[2][r % p->out[2]];
    for (int64_t z = 0; z < d->count; z++)
        for (int64_t y = 0; y < h->count; y++)
            for (int64_t x = 0; x < w->count; x++)
                fn(((d->from + z * p->dilation[0]) * p->in[1] + h->from + y * p->dilation[1]) * p->in[2] + w->from +
                       x * p->dilation[2],
                   arg);
}

struct seek {
    aclDataType type;
    const char *x;
    int64_t at; /* of the maximum so far; -1: none */
};

static int64_t whole(aclDataType type, const char *at)
{
    int64_t v = 0;
    memcpy(&v, at, dtype_size(type));
    return type == ACL_INT64 ? v : (int64_t)harness_value(type, at);
}

static void seek_tap(int64_t at, void *arg)
{
    struct seek *s = arg;
    int64_t size = (int64_t)dtype_size(s->type);
    const char *a = s->x + at * size, *best = s->x + s->at * size;
    bool more = dtype_is_float(s->type) ? s->at < 0 || harness_value(s->type, a) > harness_value(s->type, best) ||
                                              isnan(harness_value(s->type, a))
                                        : s->at < 0 || whole(s->type, a) > whole(s->type, best);
    if (more)
        s->at = at;
}

static void max_of(const struct pool *p, aclDataType type, int special)
{
    int64_t size = (int64_t)dtype_size(type), in = p->in[0] * p->in[1] * p->in[2], rows = p->out[0] * p->out[1],
            out = rows * p->out[2];
    char *x = harness_buffer(0, (size_t)(in * size)), *first = harness_buffer(1, (size_t)(out * size));
    harness_fill(type, x, size, in, special ? 0 : -9, special ? 0 : 9);
    int32_t *first_index = (int32_t *)harness_buffer(2, (size_t)out * 4);
    for (int level = 0; level < harness_levels(); level++) {
        char *y = level ? harness_buffer(3, (size_t)(out * size)) : first;
        int32_t *index = level ? (int32_t *)harness_buffer(4, (size_t)out * 4) : first_index;
        tables[level]->max(p, type, x, y, index, 0, rows / 2);
        tables[level]->max(p, type, x, y, index, rows / 2, rows);
        harness_guard(level ? 3 : 1), harness_guard(level ? 4 : 2);
        harness_compare(type, y, first, size, out, 0, 0, harness_level_name(level));
        harness_compare(ACL_INT32, (char *)index, (char *)first_index, 4, out, 0, 0, harness_level_name(level));
        y = harness_buffer(5, (size_t)(out * size)); /* without the index */
        tables[level]->max(p, type, x, y, NULL, 0, rows);
        harness_compare(type, y, first, size, out, 0, 0, "without index");
    }
    int wrong = 0;
    for (int64_t r = 0; r < out; r++) {
        struct seek s = {type, x, -1};
        each_tap(p, r, seek_tap, &s);
        if (s.at < 0) /* an empty window */
            continue;
        bool lowest = dtype_is_float(type) && harness_value(type, x + s.at * size) == -INFINITY;
        wrong += !lowest && first_index[r] != s.at;
        harness_compare(type, first + r * size, x + s.at * size, size, 1, 0, 0, "maximum");
    }
    CHECK_EQ(wrong, 0);
}

struct total {
    aclDataType type;
    const char *x;
    double sum, *gx, share;
    float sum_f32;
};

static void total_tap(int64_t at, void *arg)
{
    struct total *t = arg;
    if (t->type == ACL_DOUBLE)
        t->sum += ((const double *)t->x)[at];
    else
        t->sum_f32 += ((const float *)t->x)[at];
}

static void give_tap(int64_t at, void *arg)
{
    struct total *t = arg;
    t->gx[at] += t->share;
}

static double divisor(const struct pool *p, int64_t r)
{
    return p->divisor != 0 ? p->divisor
                           : (double)p->window[0][r / (p->out[1] * p->out[2])].size *
                                 p->window[1][r / p->out[2] % p->out[1]].size * p->window[2][r % p->out[2]].size;
}

static void average_of(const struct pool *p, aclDataType type, int special)
{
    int64_t size = (int64_t)dtype_size(type), in = p->in[0] * p->in[1] * p->in[2], rows = p->out[0] * p->out[1],
            out = rows * p->out[2];
    char *x = harness_buffer(0, (size_t)(in * size)), *first = harness_buffer(1, (size_t)(out * size));
    harness_fill(type, x, size, in, special ? 0 : -9, special ? 0 : 9);
    char *want = harness_buffer(2, (size_t)(out * size)), *first_gx = harness_buffer(3, (size_t)(in * size));
    double *gx = (double *)harness_buffer(6, (size_t)in * 8);
    memset(gx, 0, (size_t)in * 8);
    for (int64_t r = 0; r < out; r++) { /* the taps in order: the kernel's own order */
        struct total t = {type, x, 0, gx, 0, 0};
        each_tap(p, r, total_tap, &t);
        if (type == ACL_DOUBLE)
            ((double *)want)[r] = t.sum / divisor(p, r);
        else
            ((float *)want)[r] = t.sum_f32 / (float)divisor(p, r);
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *y = level ? harness_buffer(4, (size_t)(out * size)) : first;
        tables[level]->average(p, type, x, y, 0, rows / 2);
        tables[level]->average(p, type, x, y, rows / 2, rows);
        harness_guard(level ? 4 : 1);
        harness_compare(type, y, level ? first : want, size, out, 0, 0, harness_level_name(level));
    }
    if (special)
        return;
    for (int64_t r = 0; r < out; r++) { /* the averages serve as their own gradients */
        struct total t = {type, x, 0, gx, harness_value(type, first + r * size) / divisor(p, r), 0};
        each_tap(p, r, give_tap, &t);
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *back = level ? harness_buffer(5, (size_t)(in * size)) : first_gx;
        memset(back, 0, (size_t)(in * size));
        tables[level]->average_backward(p, type, first, back);
        harness_guard(level ? 5 : 3);
        if (level)
            harness_compare(type, back, first_gx, size, in, 0, 0, harness_level_name(level));
    }
    int wrong = 0;
    for (int64_t i = 0; i < in; i++)
        wrong += !(fabs(harness_value(type, first_gx + i * size) - gx[i]) <= (type == ACL_DOUBLE ? 1e-12 : 1e-4));
    CHECK_EQ(wrong, 0);
}

/* Gradients of maxima: every index adds to its place; indices outside are left out. */
static void max_backward_of(const struct pool *p, aclDataType type)
{
    int64_t size = (int64_t)dtype_size(type), in = p->in[0] * p->in[1] * p->in[2],
            out = p->out[0] * p->out[1] * p->out[2];
    char *gy = harness_buffer(0, (size_t)(out * size)), *want = harness_buffer(1, (size_t)(in * size));
    int32_t *index = (int32_t *)harness_buffer(2, (size_t)out * 4);
    harness_fill(type, gy, size, out, -4, 4);
    memset(want, 0, (size_t)(in * size));
    for (int64_t i = 0; i < out; i++) {
        index[i] = (int32_t)(harness_random() % (uint64_t)(in + 2)) - 1;
        if (index[i] < 0 || index[i] >= in)
            continue;
        if (type == ACL_DOUBLE)
            ((double *)want)[index[i]] += ((double *)gy)[i];
        else
            ((float *)want)[index[i]] += ((float *)gy)[i];
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *gx = harness_buffer(3, (size_t)(in * size));
        memset(gx, 0, (size_t)(in * size));
        tables[level]->max_backward(p, type, gy, index, gx);
        harness_guard(3);
        harness_compare(type, gx, want, size, in, 0, 0, harness_level_name(level));
    }
}

static void all_types(const struct pool *p, int n)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        char name[40];
        snprintf(name, sizeof name, "pool max %s", dtype_name(types[t]));
        if (harness_wants(name))
            max_of(p, types[t], n % 2);
        snprintf(name, sizeof name, "pool average %s", dtype_name(types[t]));
        if (dtype_is_float(types[t]) && harness_wants(name)) {
            average_of(p, types[t], n % 3 == 0);
            max_backward_of(p, types[t]);
        }
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (int n = 1; n <= 67; n++) {
        int64_t kernel = 1 + n % 5, stride = 1 + n % 3, dilation = 1 + n % 2, before = n % 4 ? kernel / 2 : 0;
        struct pool p = {.in = {1 + n % 2, 1 + n % 4, n}, .dilation = {1, 2, dilation}, .divisor = n % 5 ? 0 : 3};
        for (int d = 0; d < 3; d++)
            p.window[d] = windows[d];
        p.out[0] = slide(0, p.in[0], 1 + n % 2, 1, 0, 1);
        p.out[1] = slide(1, p.in[1], 2, 1, 1, 2);
        p.even = 1, p.kernel = kernel, p.stride = stride, p.before = before;
        p.out[2] = slide(2, n, kernel, stride, before, dilation);
        if (p.out[1] < 1 || p.out[2] < 1)
            continue;
        all_types(&p, n);
        p.even = 0; /* the same windows, one by one */
        all_types(&p, n);
        p.dilation[2] = 1; /* and adaptive ones */
        p.out[2] = share(2, n, 1 + n / 2);
        all_types(&p, n);
    }
    return harness_end();
}

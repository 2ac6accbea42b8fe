/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers of every element size and scatters of every operation and type: odd, zero and negative steps, repeated,
 * left-out and bad indices, special values; the same bits at every level. */
#include "harness.h"
#include "kernels/index.h"

#include <math.h>

static const struct index_kernels *const tables[] = HARNESS_TABLES(index_kernels);
enum { LENGTH = 67, LIMIT = 9 };

/* n indices, `step` elements apart; `bad` of them wrong, some left out when `skips`. */
static int64_t *make_indices(int64_t n, int64_t step, int bad, bool skips)
{
    int64_t count = n ? (n - 1) * step + 1 : 0;
    int64_t *index = (int64_t *)harness_buffer(2, (size_t)count * 8);
    static const int64_t wrong[] = {-1, LIMIT, INT64_MAX, INT64_MIN + 1, -LIMIT};
    for (int64_t i = 0; i < count; i++)
        index[i] = (int64_t)(harness_random() % LIMIT);
    if (skips)
        for (int64_t i = 0; i < count; i += 3)
            index[i] = INDEX_SKIP;
    for (int k = 0; k < bad && n; k++)
        index[(int64_t)(harness_random() % (uint64_t)n) * step] = wrong[harness_random() % 5];
    return index;
}

static bool good(int64_t at)
{
    return at >= 0 && at < LIMIT;
}

/* ---- gather ---- */

static void one_gather(int64_t size, int64_t n, int64_t out_every, int64_t index_every, int64_t in_every, int bad)
{
    int64_t *index = make_indices(n, index_every, bad, false), dim_step = 3 * size;
    int64_t in_step = in_every * size, reach = n ? (n - 1) * llabs(in_step) : 0;
    size_t in_bytes = (size_t)(reach + (LIMIT - 1) * dim_step + size);
    size_t out_bytes = (size_t)(n ? ((n - 1) * out_every + 1) * size : 0);
    char *in = harness_buffer(1, in_bytes), *start = in + (in_step < 0 ? reach : 0);
    harness_fill(ACL_UINT8, in, 1, (int64_t)in_bytes, 0, 0);
    char *want = harness_buffer(3, out_bytes), context[96];
    bool wrong = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = index[i * index_every];
        if (good(at))
            memcpy(want + i * out_every * size, start + i * in_step + at * dim_step, (size_t)size);
        wrong |= !good(at);
    }
    for (int level = 0; level < harness_levels() && n; level++) {
        struct index_error error = {0};
        struct gather_param p = {dim_step, LIMIT, &error};
        char *out = harness_buffer(0, out_bytes), *data[] = {out, (char *)index, start};
        const int64_t step[] = {out_every * size, index_every * 8, in_step};
        tables[level]->gather((size_t)size)(n, data, step, &p);
        harness_guard(0);
        snprintf(context, sizeof context, "%s, n %d, every %d %d %d, bad %d", harness_level_name(level), (int)n,
                 (int)out_every, (int)index_every, (int)in_every, bad);
        harness_compare(ACL_UINT8, out, want, 1, (int64_t)out_bytes, 0, 0, context);
        CHECK_EQ(error.found, wrong);
        if (error.found)
            CHECK(!good(error.value));
    }
}

static void gathers(int64_t size)
{
    char name[32];
    snprintf(name, sizeof name, "gather %d", (int)size);
    if (!harness_wants(name))
        return;
    for (int64_t n = 0; n <= LENGTH; n++)
        for (int64_t in_every = -1; in_every <= 2; in_every++)
            for (int bad = 0; bad < 2; bad++) {
                one_gather(size, n, 1, 1, in_every, bad);
                one_gather(size, n, 1, 0, in_every, bad);
                one_gather(size, n, 3, n % 3, in_every, bad);
            }
}

/* ---- scatter ---- */

struct number {
    double re, im;
    int64_t whole;
};

static struct number read_number(aclDataType type, const char *at)
{
    size_t size = dtype_size(type);
    if (dtype_is_complex(type)) {
        aclDataType part = type == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
        return (struct number){harness_value(part, at), harness_value(part, at + size / 2), 0};
    }
    struct number x = {harness_value(type, at), 0, 0};
    if (!dtype_is_float(type)) {
        memcpy(&x.whole, at, size);
        x.whole = type == ACL_BOOL ? x.whole != 0 : type == ACL_UINT8 || size == 8 ? x.whole : (int64_t)x.re;
    }
    return x;
}

static double round_to(bool is_double, double x)
{
    return is_double ? x : (double)(float)x;
}

/* a * b of one type: products and sums rounded one by one. */
static struct number times(bool d, struct number a, struct number b)
{
    double re = round_to(d, round_to(d, a.re * b.re) - round_to(d, a.im * b.im));
    double im = round_to(d, round_to(d, a.re * b.im) + round_to(d, a.im * b.re));
    return (struct number){re, im, (int64_t)((uint64_t)a.whole * (uint64_t)b.whole)};
}

/* One element: *out = *out op *src, as the header says. */
static void reference(enum scatter_op op, aclDataType type, char *out, const char *src, struct number alpha)
{
    size_t size = dtype_size(type);
    if (op == SCATTER_SET) {
        memcpy(out, src, size);
        return;
    }
    struct number x = read_number(type, out), y = read_number(type, src), z = x;
    bool wide = type == ACL_DOUBLE || type == ACL_COMPLEX128, complex = dtype_is_complex(type);
    bool more = dtype_is_float(type) ? x.re > y.re || isnan(x.re) : x.whole > y.whole;
    bool less = dtype_is_float(type) ? x.re < y.re || isnan(x.re) : x.whole < y.whole;
    if (!complex)
        x.im = y.im = alpha.im = 0;
    if (op == SCATTER_ADD) {
        struct number product = complex ? times(wide, alpha, y)
                                        : (struct number){round_to(wide, alpha.re * y.re), 0,
                                                          (int64_t)((uint64_t)alpha.whole * (uint64_t)y.whole)};
        z = (struct number){x.re + product.re, x.im + product.im,
                            (int64_t)((uint64_t)x.whole + (uint64_t)product.whole)};
        if (type == ACL_BOOL)
            z.whole = x.whole || (alpha.whole && y.whole);
    } else if (op == SCATTER_MUL) {
        z = complex ? times(wide, x, y) : (struct number){x.re * y.re, 0, times(wide, x, y).whole};
    } else {
        z = (op == SCATTER_MAX ? more : less) ? x : y;
    }
    if (complex) {
        aclDataType part = wide ? ACL_DOUBLE : ACL_FLOAT;
        harness_put(part, out, z.re);
        harness_put(part, out + size / 2, z.im);
    } else if (dtype_is_float(type)) {
        harness_put(type, out, z.re);
    } else {
        memcpy(out, &z.whole, size);
    }
}

struct setting {
    int64_t n, out_step, src_step, index_step;
    int bad;
    bool skips;
};

static void one_scatter(enum scatter_op op, aclDataType type, const struct setting *s)
{
    int64_t size = (int64_t)dtype_size(type), n = s->n, dim_step = n % 2 ? 1 : n * s->out_step + 1;
    int64_t count = n ? (n - 1) * s->out_step + (LIMIT - 1) * dim_step + 1 : 0;
    size_t bytes = (size_t)(count * size);
    int64_t *index = make_indices(n, s->index_step, s->bad, s->skips);
    char *src = harness_buffer(1, (size_t)(n ? ((n - 1) * s->src_step + 1) * size : 0));
    harness_fill(type, src, size * s->src_step, s->src_step ? n : n > 0, 0, 0);
    char *start = harness_buffer(4, bytes), *want = harness_buffer(3, bytes), *first = harness_buffer(5, bytes);
    harness_fill(type, start, size, count, 0, 0);
    memcpy(want, start, bytes);
    struct index_error error = {0};
    struct scatter_param p = {dim_step, LIMIT, {n % 3 ? 1 : 0.75, n % 3 ? 0 : -1.25}, n % 3 ? 1 : -3, &error};
    const struct number alpha = {type == ACL_DOUBLE || type == ACL_COMPLEX128 ? p.alpha[0] : (float)p.alpha[0],
                                 p.alpha[1], type == ACL_BOOL ? p.alpha_int != 0 : p.alpha_int};
    bool wrong = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = index[i * s->index_step];
        if (good(at))
            reference(op, type, want + (i * s->out_step + at * dim_step) * size, src + i * s->src_step * size, alpha);
        wrong |= !good(at) && at != INDEX_SKIP;
    }
    for (int level = 0; level < harness_levels() && n; level++) {
        char *out = level ? harness_buffer(0, bytes) : first, context[128];
        memcpy(out, start, bytes);
        error.found = 0;
        const struct scatter_run run = {n, out, src, index, s->out_step, s->src_step, s->index_step};
        tables[level]->scatter(op, type)(&run, &p);
        harness_guard(level ? 0 : 5);
        snprintf(context, sizeof context, "%s, n %d, steps %d %d %d, bad %d%s", harness_level_name(level), (int)n,
                 (int)s->out_step, (int)s->src_step, (int)s->index_step, s->bad, level ? " (against base)" : "");
        harness_compare(type, out, level ? first : want, size, count, level ? 0 : 0.001, 0, context);
        CHECK_EQ(error.found, wrong);
    }
}

static void scatters(enum scatter_op op, aclDataType type)
{
    static const char *const names[SCATTER_OPS] = {"set", "add", "mul", "max", "min"};
    char name[32];
    snprintf(name, sizeof name, "scatter_%s %s", names[op], dtype_name(type));
    if (!harness_wants(name))
        return;
    if (!tables[0]->scatter(op, type)) { /* complex numbers have no order */
        CHECK(dtype_is_complex(type) && op >= SCATTER_MAX);
        return;
    }
    for (int64_t n = 0; n <= LENGTH; n++) {
        one_scatter(op, type, &(struct setting){n, 0, 1, 1, 0, false});
        one_scatter(op, type, &(struct setting){n, 1, 1, 1, n % 2, true});
        one_scatter(op, type, &(struct setting){n, 1, 1, 0, 0, false});
        one_scatter(op, type, &(struct setting){n, 2, 3, 0, n % 5 == 0, false});
        one_scatter(op, type, &(struct setting){n, 1, 0, 2, n % 5 == 0, false});
        one_scatter(op, type, &(struct setting){n, 3, 2, 3, 0, n % 4 == 0});
    }
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16, ACL_INT8,      ACL_UINT8,
                                        ACL_INT16, ACL_INT32,  ACL_INT64,   ACL_BOOL, ACL_COMPLEX64, ACL_COMPLEX128};
    harness_begin(argc, argv);
    for (int64_t size = 1; size <= 16; size *= 2)
        gathers(size);
    for (int op = SCATTER_SET; op < SCATTER_OPS; op++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            scatters((enum scatter_op)op, types[t]);
    return harness_end();
}

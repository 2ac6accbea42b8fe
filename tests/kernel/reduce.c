/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of every operator and type, rows and columns, against an element by element reference in long double or
 * int64; the same bits at every level; guard bytes around accumulators and results. */
#include "harness.h"
#include "kernels/reduce.h"

#include <math.h>

static const struct reduce_kernels *const tables[] = HARNESS_TABLES(reduce_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,   ACL_DOUBLE, ACL_INT8,   ACL_INT16, ACL_INT32,
                                    ACL_INT64, ACL_UINT8,   ACL_UINT16, ACL_UINT32, ACL_UINT64, ACL_BOOL};

static double real_at(aclDataType type, const char *p)
{
    uint16_t h;
    float f;
    double d;
    switch (type) {
    case ACL_FLOAT:
        return memcpy(&f, p, 4), f;
    case ACL_DOUBLE:
        return memcpy(&d, p, 8), d;
    case ACL_FLOAT16:
        return memcpy(&h, p, 2), f16_to_float(h);
    default:
        return memcpy(&h, p, 2), bf16_to_float(h);
    }
}

static int64_t whole_at(aclDataType type, const char *p)
{
    int64_t v = 0;
    size_t bytes = dtype_size(type);
    memcpy(&v, p, bytes);
    if (type == ACL_INT8 || type == ACL_INT16 || type == ACL_INT32) {
        int shift = (int)(64 - 8 * bytes);
        v = (int64_t)((uint64_t)v << shift) >> shift;
    }
    return v;
}

struct answer {
    long double value, mean;
    int64_t whole, index;
};

static bool beats(enum reduce_op op, double x, double a)
{
    bool least = op == REDUCE_MIN || op == REDUCE_ARGMIN || op == REDUCE_ABS_MIN;
    return (least ? x < a : x > a) || (isnan(x) && !isnan(a));
}

static struct answer reference_real(enum reduce_op op, double p, aclDataType type, int64_t n, const char *data,
                                    int64_t step)
{
    struct answer r = {.value = op == REDUCE_PROD, .index = -1};
    for (int64_t i = 0; i < n; i++) {
        double x = real_at(type, data + i * step);
        switch (op) {
        case REDUCE_PROD:
            r.value *= x;
            break;
        case REDUCE_ABS_MAX:
        case REDUCE_ABS_MIN:
            x = fabs(x);
            /* fall through */
        case REDUCE_MAX:
        case REDUCE_MIN:
        case REDUCE_ARGMAX:
        case REDUCE_ARGMIN:
            if (i == 0 || beats(op, x, (double)r.value))
                r.value = x, r.index = i;
            break;
        case REDUCE_NANSUM:
            r.value += isnan(x) ? 0 : x;
            break;
        case REDUCE_NONZERO:
            r.value += x != 0;
            break;
        case REDUCE_ABS_SUM:
            r.value += fabs(x);
            break;
        case REDUCE_SQUARES:
            r.value += (long double)x * x;
            break;
        case REDUCE_POWERS:
            r.value += powl(fabs(x), p);
            break;
        default:
            r.value += x;
        }
    }
    if (op == REDUCE_MOMENTS) {
        r.mean = n ? r.value / n : 0;
        r.value = 0;
        for (int64_t i = 0; i < n; i++) {
            long double d = real_at(type, data + i * step) - r.mean;
            r.value += d * d;
        }
    }
    return r;
}

static struct answer reference_whole(enum reduce_op op, aclDataType type, int64_t n, const char *data, int64_t step)
{
    struct answer r = {.whole = op == REDUCE_PROD, .index = -1};
    for (int64_t i = 0; i < n; i++) {
        int64_t x = whole_at(type, data + i * step);
        bool less = type == ACL_UINT64 ? (uint64_t)x < (uint64_t)r.whole : x < r.whole;
        bool more = type == ACL_UINT64 ? (uint64_t)x > (uint64_t)r.whole : x > r.whole;
        switch (op) {
        case REDUCE_PROD:
            r.whole = (int64_t)((uint64_t)r.whole * (uint64_t)x);
            break;
        case REDUCE_MAX:
        case REDUCE_ARGMAX:
            if (i == 0 || more)
                r.whole = x, r.index = i;
            break;
        case REDUCE_MIN:
        case REDUCE_ARGMIN:
            if (i == 0 || less)
                r.whole = x, r.index = i;
            break;
        case REDUCE_NONZERO:
            r.whole += x != 0;
            break;
        default:
            r.whole = (int64_t)((uint64_t)r.whole + (uint64_t)x);
        }
    }
    return r;
}

static enum reduce_type compute(aclDataType type)
{
    return type == ACL_DOUBLE ? REDUCE_F64 : dtype_is_float(type) ? REDUCE_F32 : REDUCE_I64;
}

/* The same bits, but for those of NaN. */
static void check_same(enum reduce_type type, const char *have, const char *want, size_t bytes)
{
    int differ = 0;
    for (size_t i = 0; i < bytes; i += 8) {
        double a, b;
        memcpy(&a, have + i, 8), memcpy(&b, want + i, 8);
        differ += memcmp(have + i, want + i, 8) != 0 && (type == REDUCE_I64 || !isnan(a) || !isnan(b));
    }
    CHECK_EQ(differ, 0);
}

/* Does the accumulator hold the answer? Sums of n numbers of size 1: rounding of a float sum, nearly none of a double.
 */
static void check_answer(const struct reduce_param *p, enum reduce_type type, int64_t n, const char *acc, int64_t plane,
                         const struct answer *want)
{
    if (type == REDUCE_I64) {
        int64_t have[2];
        memcpy(have, acc, 8);
        memcpy(have + 1, acc + 8 * plane, tables[0]->words(p->op) > 1 ? 8 : 0);
        if (n && p->dtype == ACL_UINT64 && p->op >= REDUCE_MAX && p->op <= REDUCE_ARGMIN)
            have[0] ^= INT64_MIN;
        if (n)
            CHECK_EQ(have[0], want->whole);
        if (p->op == REDUCE_ARGMAX || p->op == REDUCE_ARGMIN)
            CHECK_EQ(have[1], want->index);
        return;
    }
    double value, second = 0;
    int64_t index = 0;
    memcpy(&value, acc, 8);
    if (p->op == REDUCE_MOMENTS) {
        memcpy(&second, acc + 8 * plane, 8);
        CHECK(fabsl(value - want->mean) <= (type == REDUCE_F32 ? 1e-6L : 1e-14L));
        value = second;
    }
    if (p->op == REDUCE_ARGMAX || p->op == REDUCE_ARGMIN) {
        memcpy(&index, acc + 8 * plane, 8);
        CHECK_EQ(index, want->index);
    }
    bool exact = (p->op >= REDUCE_MAX && p->op <= REDUCE_ARGMIN) || p->op >= REDUCE_ABS_MAX;
    long double scale = fabsl(want->value) > 1 ? fabsl(want->value) : 1;
    long double off = exact ? 0 : (type == REDUCE_F32 ? 4e-6L : 1e-14L) * scale;
    if (n || !exact)
        CHECK((isnan(value) && isnan((double)want->value)) || fabsl(value - want->value) <= off ||
              value == want->value);
}

/* The reference of n elements, step bytes apart, against an accumulator; of two when it holds two extremes. */
static void check_result(struct reduce_param p, int64_t n, const char *from, int64_t step, const char *acc,
                         int64_t plane)
{
    enum reduce_type type = compute(p.dtype);
    if (p.op == REDUCE_MIN_MAX) {
        p.op = REDUCE_MAX;
        check_result(p, n, from, step, acc + 8 * plane, plane);
        p.op = REDUCE_MIN;
    }
    struct answer want = dtype_is_float(p.dtype) ? reference_real(p.op, p.p, p.dtype, n, from, step)
                                                 : reference_whole(p.op, p.dtype, n, from, step);
    check_answer(&p, type, n, acc, plane, &want);
}

static void check_row(enum reduce_op op, aclDataType type, int64_t n, bool special)
{
    struct reduce_param p = {op, type, 1.5};
    int64_t size = (int64_t)dtype_size(type), step = n % 3 == 1 ? 0 : size * (1 + n % 3), results = 1 + n % 4;
    int64_t result_step = n % 2 ? size : n * step + size, plane = results + 1;
    int64_t span = n ? (n - 1) * step + (results - 1) * result_step + size : 0;
    int words = tables[0]->words(op);
    char *data = harness_buffer(0, (size_t)span);
    harness_fill(type, data, size, span / (size ? size : 1), special ? 0 : -1, special ? 0 : 1);
    size_t bytes = (size_t)(8 * plane * words);
    char *first = harness_buffer(1, bytes);
    for (int level = 0; level < harness_levels(); level++) {
        char *acc = level ? harness_buffer(2, bytes) : first;
        memset(acc, 0x5a, bytes);
        tables[level]->init(op, compute(type), results, acc, plane);
        /* in two calls, as pieces of a reduction come */
        int64_t half = n / 2;
        tables[level]->row(&p, compute(type), results, result_step, half, step, data, 0, acc, plane);
        tables[level]->row(&p, compute(type), results, result_step, n - half, step, data + half * step, half, acc,
                           plane);
        harness_guard(level ? 2 : 1);
        if (level) {
            check_same(compute(type), acc, first, bytes);
            continue;
        }
        for (int64_t j = 0; j < results; j++) {
            check_result(p, n, data + j * result_step, step, acc + 8 * j, plane);
        }
    }
}

static void check_columns(enum reduce_op op, aclDataType type, int64_t rows, int64_t cols, bool special)
{
    struct reduce_param p = {op, type, 1.5};
    int64_t size = (int64_t)dtype_size(type), col_step = size * (1 + rows % 2), row_step = cols * col_step + size;
    int64_t span = rows ? (rows - 1) * row_step + (cols - 1) * col_step + size : 0;
    int words = tables[0]->words(op);
    char *data = harness_buffer(0, (size_t)span);
    harness_fill(type, data, size, span / size, special ? 0 : -1, special ? 0 : 1);
    size_t bytes = (size_t)(8 * cols * words);
    char *first = harness_buffer(1, bytes), *other = harness_buffer(3, bytes);
    for (int level = 0; level < harness_levels(); level++) {
        char *acc = level ? harness_buffer(2, bytes) : first;
        int64_t half = rows / 3;
        tables[level]->init(op, compute(type), cols, acc, cols);
        tables[level]->init(op, compute(type), cols, other, cols);
        tables[level]->column(&p, compute(type), half, row_step, cols, col_step, data, 0, acc, cols);
        tables[level]->column(&p, compute(type), rows - half, row_step, cols, col_step, data + half * row_step, half,
                              other, cols);
        tables[level]->merge(op, compute(type), cols, acc, cols, other, cols);
        harness_guard(level ? 2 : 1);
        harness_guard(3);
        if (level) {
            check_same(compute(type), acc, first, bytes);
            continue;
        }
        for (int64_t j = 0; j < cols; j++) {
            check_result(p, rows, data + j * col_step, row_step, acc + 8 * j, cols);
        }
    }
}

/* What becomes of accumulators: each finish, written to every type with gaps. */
static void check_finish(void)
{
    struct reduce_param p = {REDUCE_MOMENTS, ACL_FLOAT, 0};
    double acc[3][4] = {{4, 2.25, 0, -3}, {9, 16, 0, 2}, {5, 5, 5, 5}}, out[8];
    struct {
        enum reduce_finish finish;
        double argument, want[4];
    } cases[] = {
        {REDUCE_VALUE, 0, {4, 2.25, 0, -3}},
        {REDUCE_MEAN, 0, {.8, .45, 0, -.6}},
        {REDUCE_SQRT, 0, {2, 1.5, 0, NAN}},
        {REDUCE_ROOT, 2, {2, 1.5, 0, NAN}},
        {REDUCE_ANY, 0, {1, 1, 0, 1}},
        {REDUCE_ALL, 0, {0, 0, 0, 0}},
        {REDUCE_VAR, 1, {2.25, 4, 0, .5}},
        {REDUCE_STD, 1, {1.5, 2, 0, 0.70710678118654757}},
        {REDUCE_MOMENT_MEAN, 0, {4, 2.25, 0, -3}},
    };
    for (int level = 0; level < harness_levels(); level++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            tables[level]->finish(&p, cases[k].finish, REDUCE_F32, cases[k].argument, 5, 4, acc, 4, (char *)out, 16,
                                  ACL_DOUBLE);
            for (int j = 0; j < 4; j++)
                CHECK(out[2 * j] == cases[k].want[j] || (isnan(out[2 * j]) && isnan(cases[k].want[j])));
        }
    tables[0]->finish(&p, REDUCE_VAR, REDUCE_F32, 5, 5, 4, acc, 4, (char *)out, 8, ACL_DOUBLE);
    CHECK(isinf(out[0]) && isnan(out[2]));
    tables[0]->finish(&p, REDUCE_MOMENT_MEAN, REDUCE_F32, 0, 0, 1, acc, 4, (char *)out, 8, ACL_DOUBLE);
    CHECK(isnan(out[0]));
}

static void check_equal(void)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int64_t n = 0; n < 70; n++) {
            int64_t size = (int64_t)dtype_size(types[t]), step = size * (1 + n % 2);
            char *a = harness_buffer(0, (size_t)(n * size)),
                 *b = harness_buffer(1, (size_t)(n ? (n - 1) * step + size : 0));
            harness_fill(types[t], a, size, n, 1, 3);
            for (int64_t i = 0; i < n; i++)
                memcpy(b + i * step, a + i * size, (size_t)size);
            for (int level = 0; level < harness_levels(); level++) {
                CHECK(tables[level]->equal(types[t], n, a, size, b, step));
                if (!n)
                    continue;
                b[(n - 1) * step] ^= 1;
                CHECK(!tables[level]->equal(types[t], n, a, size, b, step));
                b[(n - 1) * step] ^= 1;
            }
        }
    float zero[2] = {0.0f, -0.0f}, nan = NAN;
    CHECK(tables[0]->equal(ACL_FLOAT, 1, (char *)zero, 4, (char *)(zero + 1), 4));
    CHECK(!tables[0]->equal(ACL_FLOAT, 1, (char *)&nan, 4, (char *)&nan, 4));
}

struct bench {
    const struct reduce_kernels *kernels;
    struct reduce_param p;
    char *data;
};

static void bench_row(void *arg)
{
    struct bench *b = arg;
    double acc[3];
    b->kernels->init(b->p.op, REDUCE_F32, 1, acc, 1);
    b->kernels->row(&b->p, REDUCE_F32, 1, 0, 4096, 4, b->data, 0, acc, 1);
}

int main(int argc, char **argv)
{
    static const char *const names[REDUCE_OPS] = {"sum",     "prod",    "max",     "min",     "argmax",
                                                  "argmin",  "moments", "nansum",  "nonzero", "abs_sum",
                                                  "squares", "powers",  "abs_max", "abs_min", "min_max"};
    harness_begin(argc, argv);
    for (enum reduce_op op = 0; op < REDUCE_OPS; op++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            char name[48];
            bool ordered = (op >= REDUCE_MAX && op <= REDUCE_ARGMIN) || op == REDUCE_MIN_MAX;
            if (!dtype_is_float(types[t]) && op >= REDUCE_MOMENTS && op != REDUCE_NONZERO && op != REDUCE_MIN_MAX)
                continue;
            snprintf(name, sizeof name, "reduce %s %s", names[op], dtype_name(types[t]));
            if (!harness_wants(name))
                continue;
            for (int64_t n = 0; n <= 67; n++)
                check_row(op, types[t], n, ordered && n % 2);
            for (int64_t n = 500; n < 6000; n += 1111)
                check_row(op, types[t], n, ordered);
            for (int64_t rows = 0; rows < 140; rows += 1 + rows / 3)
                check_columns(op, types[t], rows, 1 + rows * 7 % 512, ordered && rows % 2);
        }
    if (harness_wants("reduce finish"))
        check_finish();
    if (harness_wants("reduce equal"))
        check_equal();
    for (int level = 0; harness_benches() && level < harness_levels(); level++) {
        char *data = harness_buffer(0, 4096 * 4);
        harness_fill(ACL_FLOAT, data, 4, 4096, -1, 1);
        for (enum reduce_op op = 0; op < REDUCE_OPS; op++)
            harness_time(names[op], level, bench_row, &(struct bench){tables[level], {op, ACL_FLOAT, 1.5}, data}, 4096,
                         4096 * 4);
    }
    return harness_end();
}

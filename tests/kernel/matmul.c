/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocked product, matrix times vector and integer products against plain loops in double, every level the same
 * bits. */
#include "harness.h"

#include <math.h>

#include "kernels/matmul.h"

enum { A, B, CIN, C, PANEL, WANT, FIRST };

static const struct matmul_kernels *const table[] = HARNESS_TABLES(matmul_kernels);

static double value(aclDataType type, const char *p, int64_t i)
{
    switch ((int)type) {
    case ACL_FLOAT:
        return ((const float *)p)[i];
    case ACL_DOUBLE:
        return ((const double *)p)[i];
    case ACL_BF16:
        return bf16_to_float(((const uint16_t *)p)[i]);
    default:
        return f16_to_float(((const uint16_t *)p)[i]);
    }
}

static void put(aclDataType type, char *p, int64_t i, double x)
{
    if (type == ACL_FLOAT)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

struct shape {
    int64_t m, n, k;
    bool turned_a, turned_b, direct, added, columns; /* columns: cin has a column stride of 0 */
};

static void block(aclDataType type, struct shape s)
{
    int64_t size = (int64_t)dtype_size(type), lda = (s.turned_a ? s.m : s.k) + 3, ldb = (s.turned_b ? s.k : s.n) + 1;
    int64_t ldc = s.n + 2, rows_a = s.turned_a ? s.k : s.m, rows_b = s.turned_b ? s.n : s.k;
    char context[160];
    char *a = harness_buffer(A, (size_t)(lda * rows_a * size)), *b = harness_buffer(B, (size_t)(ldb * rows_b * size));
    char *cin = harness_buffer(CIN, (size_t)(s.m * s.n * size + size));
    harness_fill(type, a, size, lda * rows_a, -1, 1);
    harness_fill(type, b, size, ldb * rows_b, -1, 1);
    harness_fill(type, cin, size, s.m * s.n + 1, -1, 1);
    struct gemm_block g = {.m = s.m,
                           .n = s.n,
                           .k = s.k,
                           .a = a,
                           .cin = cin,
                           .alpha = 0.75,
                           .beta = s.added ? -0.5 : 0,
                           .a_rs = s.turned_a ? 1 : lda,
                           .a_cs = s.turned_a ? lda : 1,
                           .cin_rs = s.columns ? 1 : s.n,
                           .cin_cs = s.columns ? 0 : 1,
                           .c_rs = ldc};
    int64_t b_rs = s.turned_b ? 1 : ldb, b_cs = s.turned_b ? ldb : 1;
    char *want = harness_buffer(WANT, (size_t)(ldc * s.m * size)),
         *first = harness_buffer(FIRST, (size_t)(ldc * s.m * size));
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < s.k; p++)
                sum += value(type, a, i * g.a_rs + p * g.a_cs) * value(type, b, p * b_rs + j * b_cs);
            put(type, want, i * ldc + j, 0.75 * sum + g.beta * value(type, cin, i * g.cin_rs + j * g.cin_cs));
        }
    for (int level = 0; level < harness_levels(); level++) {
        const struct gemm_kernels *k = type == ACL_FLOAT ? &table[level]->f32 : &table[level]->f64;
        if (s.direct && s.n % k->nr)
            continue;
        char *c = harness_buffer(C, (size_t)(ldc * s.m * size));
        int64_t panels = (s.n + k->nr - 1) / k->nr;
        char *panel = harness_buffer(PANEL, (size_t)(panels * k->nr * s.k * size));
        g.b = b;
        g.b_rs = b_rs;
        if (!s.direct) {
            k->pack(panel, b, b_rs, b_cs, s.k, s.n);
            g.b = panel;
            g.b_rs = 0;
        }
        g.c = c;
        k->block(&g);
        snprintf(context, sizeof context, "%s %lldx%lldx%lld%s%s%s%s, %s", dtype_name(type), (long long)s.m,
                 (long long)s.n, (long long)s.k, s.turned_a ? " a^T" : "", s.turned_b ? " b^T" : "",
                 s.direct ? " direct" : "", s.added ? " + c" : "", harness_level_name(level));
        for (int64_t i = 0; i < s.m; i++) {
            int64_t at = i * ldc * size;
            harness_compare(type, c + at, want + at, size, s.n, 8, type == ACL_FLOAT ? 1e-4 : 1e-12, context);
            if (level)
                harness_compare(type, c + at, first + at, size, s.n, 0, 0, context);
        }
        harness_guard(C);
        harness_guard(PANEL);
        if (level == 0 || (s.direct && !first[0]))
            memcpy(first, c, (size_t)(ldc * s.m * size));
    }
}

static void blocks(aclDataType type)
{
    for (int64_t m = 1; m <= 14; m++)
        for (int64_t n = 1; n <= 67; n += n < 34 ? 1 : 11)
            block(type, (struct shape){.m = m,
                                       .n = n,
                                       .k = (m * 5 + n * 3) % 21,
                                       .turned_a = m & 1,
                                       .turned_b = n & 1,
                                       .added = (m + n) % 3 == 0,
                                       .columns = n % 5 == 0});
    for (int64_t k = 0; k <= 67; k++)
        block(type, (struct shape){.m = 13, .n = 33, .k = k, .turned_b = k & 1, .added = true});
    for (int64_t m = 1; m <= 27; m += 13)
        block(type, (struct shape){.m = m, .n = 64, .k = 256, .direct = true, .added = m > 1});
}

/* How a level multiplies 16-bit floats; way 2 is bf16 by the CPU's own instruction. NULL: it does not. */
static const struct gemm_kernels *halves_of(int level, int way)
{
    const struct matmul_kernels *t = table[level];
    const struct gemm_kernels *k = way == 0 ? &t->f16 : way == 1 ? &t->bf16 : &t->bf16_native;
    return k->block && (way < 2 || cpu_has_bf16()) ? k : NULL;
}

/* 16-bit floats of at most `most`; small ones make sums that count as zero, in bf16. */
static void half_block(aclDataType type, struct shape s, double most)
{
    int64_t even = s.k + s.k % 2, lda = even + 3, ldb = (s.turned_b ? s.k : s.n) + 1, ldc = s.n + 2;
    int64_t b_rs = s.turned_b ? 1 : ldb, b_cs = s.turned_b ? ldb : 1, rows_b = s.turned_b ? s.n : s.k;
    aclDataType c_half = s.added ? 0 : type;
    int64_t size = c_half ? 2 : 4;
    char context[160];
    char *a = harness_buffer(A, (size_t)(lda * s.m * 2)), *wide = harness_buffer(CIN, (size_t)(lda * s.m * 4));
    char *b = harness_buffer(B, (size_t)(ldb * rows_b * 2));
    harness_fill(type, a, 2, lda * s.m, -most, most);
    harness_fill(type, b, 2, ldb * rows_b, -most, most);
    for (int64_t i = 0; i < s.m && even > s.k; i++)
        memset(a + (i * lda + s.k) * 2, 0, 2);
    for (int64_t i = 0; i < lda * s.m; i++)
        put(ACL_FLOAT, wide, i, value(type, a, i));
    char *want = harness_buffer(WANT, (size_t)(ldc * s.m * size)),
         *first = harness_buffer(FIRST, (size_t)(ldc * s.m * size));
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < s.k; p++)
                sum += value(type, a, i * lda + p) * value(type, b, p * b_rs + j * b_cs);
            float x = (float)(0.75 * sum);
            uint16_t h = type == ACL_BF16 ? bf16_from_float(x) : f16_from_float(x);
            memcpy(want + (i * ldc + j) * size, c_half ? (void *)&h : (void *)&x, (size_t)size);
        }
    for (int level = 0, seen = 0; level < harness_levels(); level++)
        for (int way = type == ACL_BF16; way < (type == ACL_BF16 ? 3 : 1); way++) {
            const struct gemm_kernels *k = halves_of(level, way);
            if (!k)
                continue;
            int64_t panels = (s.n + k->nr - 1) / k->nr;
            char *c = harness_buffer(C, (size_t)(ldc * s.m * size));
            char *panel = harness_buffer(PANEL, (size_t)(panels * k->nr * even * 4));
            struct gemm_block g = {.m = s.m,
                                   .n = s.n,
                                   .k = s.k,
                                   .a = k->a == ACL_FLOAT ? wide : a,
                                   .b = panel,
                                   .c = c,
                                   .alpha = 0.75,
                                   .a_rs = lda,
                                   .a_cs = 1,
                                   .c_rs = ldc,
                                   .c_half = c_half};
            k->pack(panel, b, b_rs, b_cs, s.k, s.n);
            k->block(&g);
            snprintf(context, sizeof context, "%s %lldx%lldx%lld%s, way %d, %s", dtype_name(type), (long long)s.m,
                     (long long)s.n, (long long)s.k, s.turned_b ? " b^T" : "", way, harness_level_name(level));
            for (int64_t i = 0; i < s.m; i++) {
                int64_t at = i * ldc * size;
                harness_compare(c_half ? type : ACL_FLOAT, c + at, want + at, size, s.n, c_half ? 1 : 8,
                                most * most * (c_half ? 1e-2 : 1e-4) + 4e-36, context);
                if (seen)
                    harness_compare(c_half ? type : ACL_FLOAT, c + at, first + at, size, s.n, 0, 0, context);
            }
            harness_guard(C);
            harness_guard(PANEL);
            if (!seen++)
                memcpy(first, c, (size_t)(ldc * s.m * size));
        }
}

static void half_blocks(aclDataType type)
{
    for (int64_t m = 1; m <= 14; m++)
        for (int64_t n = 1; n <= 67; n += n < 34 ? 3 : 11)
            half_block(type,
                       (struct shape){.m = m, .n = n, .k = (m * 5 + n * 3) % 21, .turned_b = n & 1, .added = m & 1}, 1);
    for (int64_t k = 0; k <= 150; k++)
        half_block(type, (struct shape){.m = 13, .n = 33, .k = k, .turned_b = k & 1, .added = k % 3 == 0},
                   type == ACL_BF16 && k & 2 ? 1e-19 : 1);
}

static void vectors(aclDataType type, bool turned)
{
    aclDataType sum = type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    int64_t size = (int64_t)dtype_size(type), bytes = (int64_t)dtype_size(sum);
    for (int64_t m = 1; m <= 300; m += m < 20 ? 1 : 93)
        for (int64_t k = 0; k <= 600; k += k < 67 ? 1 : 177) {
            int64_t ld = (turned ? m : k) + 1, lines = turned ? k : m;
            char *a = harness_buffer(A, (size_t)(ld * lines * size)), *x = harness_buffer(B, (size_t)(k * bytes));
            char *yin = harness_buffer(CIN, (size_t)(m * bytes)), *want = harness_buffer(WANT, (size_t)(2 * m * bytes));
            char *first = harness_buffer(FIRST, (size_t)(2 * m * bytes));
            harness_fill(type, a, size, ld * lines, -1, 1);
            harness_fill(sum, x, bytes, k, -1, 1);
            harness_fill(sum, yin, bytes, m, -1, 1);
            struct gemv v = {.m = m,
                             .k = k,
                             .a = a,
                             .x = x,
                             .yin = yin,
                             .rs = turned ? 1 : ld,
                             .cs = turned ? ld : 1,
                             .ys = 2,
                             .yins = 1,
                             .alpha = 1.5,
                             .beta = k & 1 ? 0.25 : 0};
            for (int64_t i = 0; i < m; i++) {
                double s = 0;
                for (int64_t p = 0; p < k; p++)
                    s += value(type, a, i * v.rs + p * v.cs) * value(sum, x, p);
                put(sum, want, 2 * i, 1.5 * s + v.beta * value(sum, yin, i));
            }
            for (int level = 0; level < harness_levels(); level++) {
                char context[120];
                v.y = harness_buffer(C, (size_t)((2 * m - 1) * bytes));
                table[level]->gemv(&v, type);
                snprintf(context, sizeof context, "gemv %s %lldx%lld, %s", dtype_name(type), (long long)m, (long long)k,
                         harness_level_name(level));
                harness_compare(sum, v.y, want, 2 * bytes, m, 8, sum == ACL_FLOAT ? 1e-4 : 1e-12, context);
                if (level)
                    harness_compare(sum, v.y, first, 2 * bytes, m, 0, 0, context);
                else
                    memcpy(first, v.y, (size_t)((2 * m - 1) * bytes));
                harness_guard(C);
            }
        }
}

static void integers(aclDataType type)
{
    enum { M = 3, N = 5, K = 7 };
    int64_t size = (int64_t)dtype_size(type);
    char *a = harness_buffer(A, (size_t)(M * K * size)), *b = harness_buffer(B, (size_t)(K * N * size));
    char *cin = harness_buffer(CIN, (size_t)(N * size));
    harness_fill(type, a, size, M * K, 0, 0);
    harness_fill(type, b, size, K * N, 0, 0);
    harness_fill(type, cin, size, N, 0, 0);
    for (int level = 0; level < harness_levels(); level++) {
        char *c = harness_buffer(C, (size_t)(M * N * size));
        struct gemm_integers g = {.m = M,
                                  .n = N,
                                  .k = K,
                                  .a = a,
                                  .b = b,
                                  .cin = cin,
                                  .c = c,
                                  .a_rs = 1,
                                  .a_cs = M,
                                  .b_rs = N,
                                  .b_cs = 1,
                                  .cin_cs = 1,
                                  .c_rs = N,
                                  .c_cs = 1,
                                  .alpha = 3,
                                  .beta = -2};
        table[level]->integers(&g, type);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                uint64_t sum = 0, x, y;
                for (int p = 0; p < K; p++) {
                    x = y = 0;
                    memcpy(&x, a + (i + p * M) * size, (size_t)size);
                    memcpy(&y, b + (p * N + j) * size, (size_t)size);
                    sum += x * y;
                }
                x = y = 0;
                memcpy(&x, cin + j * size, (size_t)size);
                memcpy(&y, c + (i * N + j) * size, (size_t)size);
                uint64_t mask = size == 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * size)) - 1;
                CHECK(y == ((3 * sum - 2 * x) & mask));
            }
        harness_guard(C);
    }
}

struct timed {
    const struct gemm_kernels *k;
    struct gemm_block g;
};

static void time_block(void *arg)
{
    struct timed *t = arg;
    t->k->block(&t->g);
}

static void bench(aclDataType type)
{
    enum { N = 240 };
    int64_t size = (int64_t)dtype_size(type);
    char *a = harness_buffer(A, (size_t)(N * N * size)), *b = harness_buffer(B, (size_t)(N * (N + 32) * size));
    char *c = harness_buffer(C, (size_t)(N * N * size));
    harness_fill(type, a, size, N * N, -1, 1);
    harness_fill(type, b, size, N * (N + 32), -1, 1);
    for (int level = 0; level < harness_levels(); level++) {
        const struct gemm_kernels *k = type == ACL_FLOAT ? &table[level]->f32 : &table[level]->f64;
        struct timed t = {
            k, {.m = N, .n = N, .k = N, .a = a, .b = b, .c = c, .a_rs = N, .a_cs = 1, .c_rs = N, .alpha = 1}};
        harness_time(type == ACL_FLOAT ? "block f32 240³ (elements: fma)" : "block f64 240³ (elements: fma)", level,
                     time_block, &t, (int64_t)N * N * N, 0);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType floats[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16};
    harness_begin(argc, argv);
    for (int i = 0; i < 2; i++)
        if (harness_wants(i ? "block f64" : "block f32")) {
            blocks(floats[i]);
            if (harness_benches())
                bench(floats[i]);
        }
    for (int i = 2; i < 4; i++)
        if (harness_wants("block half"))
            half_blocks(floats[i]);
    for (int i = 0; i < 4; i++)
        if (harness_wants("gemv")) {
            vectors(floats[i], false);
            vectors(floats[i], true);
        }
    for (aclDataType type = ACL_INT8; type <= ACL_UINT64; type++)
        if (dtype_is_int(type) && harness_wants("integers"))
            integers(type);
    return harness_end();
}

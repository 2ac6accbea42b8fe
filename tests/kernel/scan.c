/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of every operator and type, rows and columns, whole and in pieces, against a plain loop. */
#include "harness.h"
#include "kernels/scan.h"

#include <math.h>

static const struct scan_kernels *const tables[] = HARNESS_TABLES(scan_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                                    ACL_INT16, ACL_INT32,   ACL_INT64, ACL_UINT8,  ACL_BOOL};

static double real_at(aclDataType type, const char *p)
{
    uint16_t h;
    float f;
    double d;
    int64_t v = 0;
    size_t bytes = dtype_size(type);
    switch (type) {
    case ACL_FLOAT:
        return memcpy(&f, p, 4), f;
    case ACL_DOUBLE:
        return memcpy(&d, p, 8), d;
    case ACL_FLOAT16:
        return memcpy(&h, p, 2), f16_to_float(h);
    case ACL_BF16:
        return memcpy(&h, p, 2), bf16_to_float(h);
    case ACL_UINT8:
    case ACL_BOOL:
        return *(const uint8_t *)p;
    default:
        memcpy(&v, p, bytes);
        return (double)((int64_t)((uint64_t)v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    }
}

/* The result and index of one scan, `steps` bytes apart, into double and int64. */
static void check_one(const struct scan_param *p, int64_t n, const char *in, int64_t step, const char *out,
                      int64_t out_step, const char *index, int64_t index_step)
{
    double a = p->op == SCAN_PROD;
    int64_t best = 0;
    int wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = real_at(p->dtype, in + i * step), before = a;
        if (p->op == SCAN_SUM)
            a += x;
        else if (p->op == SCAN_PROD)
            a *= x;
        else if (i == 0 || isnan(x) || (!isnan(a) && (p->op == SCAN_MAX ? x >= a : x <= a)))
            a = x, best = i;
        double have = real_at(p->out_dtype, out + i * out_step), want = p->exclusive ? before : a;
        wrong += !(have == want || (isnan(have) && isnan(want)));
        if (index) {
            int64_t at;
            memcpy(&at, index + i * index_step, 8);
            wrong += at != best;
        }
    }
    CHECK_EQ(wrong, 0);
}

static void check(enum scan_op op, aclDataType type, int64_t n, int64_t cols)
{
    bool extreme = op >= SCAN_MAX;
    aclDataType wide = extreme ? type : dtype_is_float(type) ? ACL_DOUBLE : ACL_INT64;
    struct scan_param p = {op, type, wide, ACL_INT64, op == SCAN_SUM && n % 3 == 1};
    int64_t size = (int64_t)dtype_size(type), out_size = (int64_t)dtype_size(wide), count = n * cols;
    char *in = harness_buffer(0, (size_t)(count * size));
    if (extreme && n % 2)
        harness_fill(type, in, size, count, 0, 0);
    else
        harness_fill(type, in, size, count, type == ACL_UINT8 || type == ACL_BOOL ? 0 : -2, 3);
    char *first = harness_buffer(1, (size_t)(count * out_size)), *first_index = harness_buffer(2, (size_t)(count * 8));
    for (int level = 0; level < harness_levels(); level++) {
        char *out = level ? harness_buffer(3, (size_t)(count * out_size)) : first;
        char *index = level ? harness_buffer(4, (size_t)(count * 8)) : first_index;
        if (cols > 1) {
            tables[level]->columns(&p, n, cols, in, cols * size, out, cols * out_size, extreme ? index : NULL,
                                   cols * 8);
        } else if (extreme || n < 8) {
            tables[level]->row(&p, n, in, size, out, out_size, extreme ? index : NULL, 8, NULL);
        } else { /* two pieces, the second from the end of the first */
            union scan_value carry = tables[level]->total(&p, n / 2, in, size), none;
            if (dtype_is_float(type))
                none.d = op == SCAN_PROD;
            else
                none.i = op == SCAN_PROD;
            tables[level]->row(&p, n - n / 2, in + n / 2 * size, size, out + n / 2 * out_size, out_size, NULL, 0,
                               &carry);
            tables[level]->row(&p, n / 2, in, size, out, out_size, NULL, 0, &none);
        }
        harness_guard(level ? 3 : 1), harness_guard(level ? 4 : 2);
        if (level && !(extreme && dtype_is_float(type)))
            CHECK(memcmp(out, first, (size_t)(count * out_size)) == 0);
        for (int64_t j = 0; j < cols; j++)
            check_one(&p, n, in + j * size, cols * size, out + j * out_size, cols * out_size,
                      extreme ? index + j * 8 : NULL, cols * 8);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"cumsum", "cumprod", "cummax", "cummin"};
    harness_begin(argc, argv);
    for (int op = SCAN_SUM; op <= SCAN_MIN; op++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            char name[48];
            snprintf(name, sizeof name, "%s %s", names[op], dtype_name(types[t]));
            for (int64_t n = 0; harness_wants(name) && n <= (op == SCAN_PROD ? 30 : 67); n++) {
                check((enum scan_op)op, types[t], n, 1);
                check((enum scan_op)op, types[t], n % 20, 2 + n * 7 % 500);
            }
            if (op != SCAN_PROD && harness_wants(name))
                check((enum scan_op)op, types[t], 3000, 1);
        }
    return harness_end();
}

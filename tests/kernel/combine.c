/* SPDX-License-Identifier: BSD-3-Clause */
/* Combining arrays: every operation and type against one element at a time, out of place and onto each input; the same
 * bits at every level (but for which of two NaN is kept). */
#include "harness.h"
#include "kernels/combine.h"

#include <math.h>

static const struct combine_table *const tables[] = HARNESS_TABLES(combine_kernels);
static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16,   ACL_INT8,  ACL_UINT8,
                                    ACL_INT16, ACL_UINT16, ACL_INT32,   ACL_UINT32, ACL_INT64, ACL_UINT64};
enum { ARRAYS = 4, LENGTHS = 71 };

static int64_t length(int i) /* 0..67, and around the kernels' blocks */
{
    return i < 68 ? i : i == 68 ? 1023 : i == 69 ? 1024 : 2051;
}

static bool wins(enum combine_op op, bool greater)
{
    return op == COMBINE_MAX ? greater : !greater;
}

/* Element i of all arrays, in order. Wholes wrap in 64 bits, which cut to the type is the same as wrapping in it. */
static void reference(aclDataType type, enum combine_op op, const char *const *in, int count, int64_t i, char *out)
{
    size_t size = dtype_size(type);
    const char *first = in[0] + (size_t)i * size;
    if (type == ACL_DOUBLE || type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16) {
        double v = harness_value(type, first);
        for (int k = 1; k < count; k++) {
            double w = harness_value(type, in[k] + (size_t)i * size);
            double next = op == COMBINE_SUM ? v + w : op == COMBINE_PROD ? v * w : 0;
            if (op >= COMBINE_MAX)
                next = isnan(v) || (op == COMBINE_MAX ? v > w : v < w) ? v : w;
            v = type == ACL_DOUBLE ? next : (double)(float)next;
        }
        if (type == ACL_FLOAT)
            memcpy(out, &(float){(float)v}, size);
        else if (type == ACL_DOUBLE)
            memcpy(out, &v, size);
        else
            harness_put(type, out, v);
        return;
    }
    uint64_t v = 0, w = 0;
    bool has_sign = type == ACL_INT8 || type == ACL_INT16 || type == ACL_INT32 || type == ACL_INT64;
    int unused = 64 - 8 * (int)size;
    memcpy(&v, first, size);
    for (int k = 1; k < count; k++) {
        memcpy(&w, in[k] + (size_t)i * size, size);
        bool greater = has_sign ? (int64_t)(v << unused) > (int64_t)(w << unused) : v << unused > w << unused;
        v = op == COMBINE_SUM ? v + w : op == COMBINE_PROD ? v * w : wins(op, greater) ? v : w;
    }
    memcpy(out, &v, size);
}

static bool equal(aclDataType type, const char *a, const char *b, int64_t n)
{
    size_t size = dtype_size(type);
    for (int64_t i = 0; i < n; i++) {
        const char *x = a + (size_t)i * size, *y = b + (size_t)i * size;
        if (memcmp(x, y, size) != 0 &&
            !(dtype_is_float(type) && isnan(harness_value(type, x)) && isnan(harness_value(type, y))))
            return false;
    }
    return true;
}

static void folds(aclDataType type, enum combine_op op, int count, int64_t n)
{
    size_t size = dtype_size(type), bytes = (size_t)n * size;
    static char kept[ARRAYS][2051 * 8], want[2051 * 8];
    char *in[ARRAYS];
    for (int k = 0; k < count; k++) {
        in[k] = harness_buffer(k, bytes);
        harness_fill(type, in[k], (int64_t)size, n, n % 2 ? 0 : -3, n % 2 ? 0 : 3);
        memcpy(kept[k], in[k], bytes);
    }
    for (int64_t i = 0; i < n; i++)
        reference(type, op, (const char *const *)in, count, i, want + (size_t)i * size);
    for (int onto = -1; onto < count; onto++) /* a new array, or one of the inputs */
        for (int level = 0; level < harness_levels(); level++) {
            for (int k = 0; k < count; k++)
                memcpy(in[k], kept[k], bytes);
            char *out = onto < 0 ? harness_buffer(ARRAYS, bytes) : in[onto];
            tables[level]->fold[op][type](n, out, (const void *const *)in, count);
            bool same = equal(type, out, want, n);
            CHECK(same);
            if (!same)
                fprintf(stderr, "  op %d, %s, %d arrays, %lld elements, onto %d, %s\n", (int)op, dtype_name(type),
                        count, (long long)n, onto, harness_level_name(level));
            harness_guard(onto < 0 ? ARRAYS : onto);
        }
}

/* 16-bit floats kept as float: rounding them gives what fold gives. */
static void wide(aclDataType type, enum combine_op op, int64_t n)
{
    size_t bytes = (size_t)n * 2;
    char *in[2] = {harness_buffer(0, bytes), harness_buffer(1, bytes)}, *sum = harness_buffer(2, 2 * bytes),
         *out = harness_buffer(3, bytes), *folded = harness_buffer(4, bytes);
    for (int k = 0; k < 2; k++)
        harness_fill(type, in[k], 2, n, -3, 3);
    for (int level = 0; level < harness_levels(); level++) {
        tables[level]->wide[op][type](n, sum, (const void *const *)in, 2);
        tables[level]->narrow[type](n, out, (const float *)(void *)sum);
        tables[level]->fold[op][type](n, folded, (const void *const *)in, 2);
        CHECK(memcmp(out, folded, bytes) == 0);
        harness_guard(2);
        harness_guard(3);
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (enum combine_op op = COMBINE_SUM; op < COMBINE_OPS; op++) {
            char name[48];
            snprintf(name, sizeof name, "combine %d %s", (int)op, dtype_name(types[t]));
            if (!harness_wants(name))
                continue;
            for (int i = 0; i < LENGTHS; i++)
                for (int count = 1; count <= ARRAYS; count++)
                    folds(types[t], op, count, length(i));
            for (int i = 0; i < LENGTHS && (types[t] == ACL_FLOAT16 || types[t] == ACL_BF16); i++)
                wide(types[t], op, length(i));
        }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between all pairs of types, moves, fills and transpositions of all element sizes. */
#include "harness.h"
#include "kernels/copy.h"

#include <complex.h>
#include <math.h>

static const struct copy_kernels *const tables[] = HARNESS_TABLES(copy_kernels);
static const aclDataType types[] = {ACL_BOOL,   ACL_INT8,      ACL_UINT8,     ACL_INT16,     ACL_UINT16,  ACL_INT32,
                                    ACL_UINT32, ACL_INT64,     ACL_UINT64,    ACL_FLOAT,     ACL_FLOAT16, ACL_BF16,
                                    ACL_DOUBLE, ACL_COMPLEX32, ACL_COMPLEX64, ACL_COMPLEX128};
enum { TYPES = sizeof types / sizeof types[0] };

/* ---- reference: one element, through the widest type of its kind ---- */

struct value {
    bool floating;
    int64_t i;
    double re, im;
};

static struct value read_value(aclDataType type, const char *at)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f[2];
        double d[2];
        uint16_t h[2];
    } v;
    memcpy(&v, at, dtype_size(type));
    switch (type) {
    case ACL_BOOL:
        return (struct value){false, v.u8 != 0, 0, 0};
    case ACL_INT8:
        return (struct value){false, v.i8, 0, 0};
    case ACL_UINT8:
        return (struct value){false, v.u8, 0, 0};
    case ACL_INT16:
        return (struct value){false, v.i16, 0, 0};
    case ACL_UINT16:
        return (struct value){false, v.u16, 0, 0};
    case ACL_INT32:
        return (struct value){false, v.i32, 0, 0};
    case ACL_UINT32:
        return (struct value){false, v.u32, 0, 0};
    case ACL_INT64:
    case ACL_UINT64:
        return (struct value){false, v.i64, 0, 0};
    case ACL_FLOAT:
        return (struct value){true, 0, v.f[0], 0};
    case ACL_DOUBLE:
        return (struct value){true, 0, v.d[0], 0};
    case ACL_FLOAT16:
        return (struct value){true, 0, f16_to_float(v.h[0]), 0};
    case ACL_BF16:
        return (struct value){true, 0, bf16_to_float(v.h[0]), 0};
    case ACL_COMPLEX32:
        return (struct value){true, 0, f16_to_float(v.h[0]), f16_to_float(v.h[1])};
    case ACL_COMPLEX64:
        return (struct value){true, 0, v.f[0], v.f[1]};
    default:
        return (struct value){true, 0, v.d[0], v.d[1]};
    }
}

static int64_t to_integer(double x, bool narrow)
{
    if (narrow)
        return x > -2147483649.0 && x < 2147483648.0 ? (int64_t)x : INT32_MIN;
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static void write_value(aclDataType type, aclDataType from, char *at, struct value v)
{
    size_t bytes = dtype_size(type);
    if (type == ACL_BOOL) {
        *at = v.floating ? v.re != 0 || v.im != 0 : v.i != 0;
        return;
    }
    if (dtype_is_int(type)) {
        bool from_double = from == ACL_DOUBLE || from == ACL_COMPLEX128;
        bool narrow = (bytes <= 4 && type != ACL_UINT32) && !(type == ACL_UINT8 && from_double);
        int64_t i = v.floating ? to_integer(v.re, narrow) : v.i;
        if (type == ACL_UINT64 && v.floating && v.re >= 0x1p63 && v.re < 0x1p64)
            i = (int64_t)(uint64_t)v.re;
        memcpy(at, &i, bytes);
        return;
    }
    double d = v.floating ? v.re : from == ACL_UINT64 ? (double)(uint64_t)v.i : (double)v.i;
    float f[2] = {v.floating ? (float)v.re : from == ACL_UINT64 ? (float)(uint64_t)v.i : (float)v.i, (float)v.im};
    double c[2] = {d, v.im};
    uint16_t half[2] = {f16_from_float(f[0]), f16_from_float(f[1])}, brain = bf16_from_float(f[0]);
    const void *source = type == ACL_FLOAT || type == ACL_COMPLEX64     ? (const void *)f
                         : type == ACL_FLOAT16 || type == ACL_COMPLEX32 ? half
                         : type == ACL_BF16                             ? (const void *)&brain
                                                                        : c;
    memcpy(at, source, bytes);
}

struct pair {
    struct copy_cast cast; /* what the kernels are told: first member */
    aclDataType dst, src;
};

static void reference(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    const struct pair *p = param;
    for (int64_t i = 0; i < n; i++)
        write_value(p->dst, p->src, data[0] + i * step[0], read_value(p->src, data[1] + i * step[1]));
}

/* find_cast gives loops of one level: each level is entered through its own cast. */
static void cast_at(int level, int64_t n, char *const *data, const int64_t *step, const void *param)
{
    struct pair p = *(const struct pair *)param;
    tables[level]->find_cast(&p.cast, p.dst, p.src);
    tables[level]->cast(n, data, step, &p.cast);
}

static void cast_base(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    cast_at(0, n, data, step, param);
}

static void cast_v3(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    cast_at(1, n, data, step, param);
}

static void cast_v4(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    cast_at(2, n, data, step, param);
}

static void check_cast(aclDataType dst, aclDataType src)
{
    char name[64];
    snprintf(name, sizeof name, "cast %s %s", dtype_name(src), dtype_name(dst));
    struct pair pair = {.dst = dst, .src = src};
    harness_loop(&(struct loop_test){.name = name,
                                     .inputs = 1,
                                     .type = {dst, src},
                                     .loop = {cast_base, cast_v3, cast_v4},
                                     .reference = reference,
                                     .param = &pair});
}

/* ---- moves, fills, transpositions ---- */

struct bench {
    const struct copy_kernels *kernels;
    size_t element;
    char *dst, *src;
};

static void bench_transpose(void *arg)
{
    struct bench *b = arg;
    b->kernels->transpose(b->element, 64, 64, b->dst, 64 * (int64_t)b->element, b->src, 64 * (int64_t)b->element);
}

static void check_transpose(size_t element, int64_t rows, int64_t columns)
{
    int64_t e = (int64_t)element, dst_row = (columns + 1) * e, src_column = (rows + 2) * e;
    size_t dst_bytes = (size_t)((rows - 1) * dst_row + columns * e),
           src_bytes = (size_t)((columns - 1) * src_column + rows * e);
    char *src = harness_buffer(0, src_bytes);
    harness_fill(ACL_UINT8, src, 1, (int64_t)src_bytes, 0, 0);
    for (int level = 0; level < harness_levels(); level++) {
        char *dst = harness_buffer(1, dst_bytes);
        tables[level]->transpose(element, rows, columns, dst, dst_row, src, src_column);
        harness_guard(1);
        int wrong = 0;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                wrong += memcmp(dst + r * dst_row + c * e, src + r * e + c * src_column, element) != 0;
        for (int64_t r = 0; r + 1 < rows; r++)
            wrong += dst[r * dst_row + columns * e] != (char)0xa5;
        CHECK_EQ(wrong, 0);
    }
}

static void check_moves(size_t element)
{
    for (int64_t n = 0; n <= 67; n++)
        for (int64_t every = 1; every <= 3; every++)
            for (int level = 0; level < harness_levels(); level++) {
                int64_t e = (int64_t)element, to = every * e, from = (n % 4) * e;
                char *src = harness_buffer(0, (size_t)(n ? (n - 1) * from + e : 0));
                char *dst = harness_buffer(1, (size_t)(n ? (n - 1) * to + e : 0));
                harness_fill(ACL_UINT8, src, 1, n ? (n - 1) * from + e : 0, 0, 0);
                tables[level]->move(element, n, dst, to, src, from);
                int wrong = 0;
                for (int64_t i = 0; i < n; i++)
                    wrong += memcmp(dst + i * to, src + i * from, element) != 0;
                if (n) {
                    tables[level]->fill(element, n, dst, to, src);
                    for (int64_t i = 0; i < n; i++)
                        wrong += memcmp(dst + i * to, src, element) != 0;
                }
                for (int64_t i = 0; n && i < (n - 1) * to; i++)
                    wrong += i % to >= e && dst[i] != (char)0xa5;
                CHECK_EQ(wrong, 0);
                harness_guard(1);
            }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (int d = 0; d < TYPES; d++)
        for (int s = 0; s < TYPES; s++)
            if (d != s)
                check_cast(types[d], types[s]);
    for (size_t element = 1; element <= 16; element *= 2) {
        char name[64];
        snprintf(name, sizeof name, "transpose %zu", element);
        if (harness_wants(name)) {
            for (int64_t rows = 1; rows <= 19; rows += 3)
                for (int64_t columns = 1; columns <= 21; columns += 4)
                    check_transpose(element, rows, columns);
            struct bench b = {NULL, element, harness_buffer(0, 64 * 64 * element),
                              harness_buffer(1, 64 * 64 * element)};
            for (int level = 0; level < harness_levels(); level++) {
                b.kernels = tables[level];
                harness_time(name, level, bench_transpose, &b, 64 * 64, 2 * 64 * 64 * (int64_t)element);
            }
        }
        snprintf(name, sizeof name, "move %zu", element);
        if (harness_wants(name))
            check_moves(element);
    }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See copy.h. Types that C has convert directly, one loop a pair; the small floats go through a block of floats. */
#include "copy.h"

#include "half.h"

enum native {
    NATIVE_b8,
    NATIVE_i8,
    NATIVE_u8,
    NATIVE_i16,
    NATIVE_u16,
    NATIVE_i32,
    NATIVE_u32,
    NATIVE_i64,
    NATIVE_u64,
    NATIVE_f32,
    NATIVE_f64,
    NATIVE_c64,
    NATIVE_c128,
    NATIVES
};

/* Stored and computed types. A stored bool is a byte that is not 0. */
typedef uint8_t raw_b8;
typedef int8_t raw_i8;
typedef uint8_t raw_u8;
typedef int16_t raw_i16;
typedef uint16_t raw_u16;
typedef int32_t raw_i32;
typedef uint32_t raw_u32;
typedef int64_t raw_i64;
typedef uint64_t raw_u64;
typedef float raw_f32;
typedef double raw_f64;
typedef float _Complex raw_c64;
typedef double _Complex raw_c128;

#define get_b8(x)   ((uint8_t)((x) != 0))
#define get_i8(x)   (x)
#define get_u8(x)   (x)
#define get_i16(x)  (x)
#define get_u16(x)  (x)
#define get_i32(x)  (x)
#define get_u32(x)  (x)
#define get_i64(x)  (x)
#define get_u64(x)  (x)
#define get_f32(x)  (x)
#define get_f64(x)  (x)
#define get_c64(x)  (x)
#define get_c128(x) (x)

/* What cvttss2si and its kin give, without undefined behaviour. */
static inline int32_t chop32_f(float x)
{
    return x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN;
}

static inline int32_t chop32_d(double x)
{
    return x > -2147483649.0 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}

static inline int64_t chop64_f(float x)
{
    return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN;
}

static inline int64_t chop64_d(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t chop64u_d(double x)
{
    return x >= 0x1p63 && x < 0x1p64 ? (uint64_t)x : (uint64_t)chop64_d(x);
}

static inline uint64_t chop64u_f(float x)
{
    return x >= 0x1p63f && x < 0x1p64f ? (uint64_t)x : (uint64_t)chop64_f(x);
}

static inline int32_t chop32_cf(float _Complex x)
{
    return chop32_f((float)x);
}

static inline int32_t chop32_cd(double _Complex x)
{
    return chop32_d((double)x);
}

static inline int64_t chop64_cf(float _Complex x)
{
    return chop64_f((float)x);
}

static inline int64_t chop64_cd(double _Complex x)
{
    return chop64_d((double)x);
}

static inline uint64_t chop64u_cf(float _Complex x)
{
    return chop64u_f((float)x);
}

static inline uint64_t chop64u_cd(double _Complex x)
{
    return chop64u_d((double)x);
}

static inline int64_t same_i(int64_t x)
{
    return x;
}

static inline uint64_t same_u(uint64_t x)
{
    return x;
}

/* Integers of 8, 16 and 32 bits go through 32; PyTorch takes doubles to uint8 through 64. */
#define CHOP32(x)                                                                                                      \
    _Generic((x), float                                                                                                \
             : chop32_f, double                                                                                        \
             : chop32_d, float _Complex                                                                                \
             : chop32_cf, double _Complex                                                                              \
             : chop32_cd, default                                                                                      \
             : same_i)(x)
#define CHOP64(x)                                                                                                      \
    _Generic((x), float                                                                                                \
             : chop64_f, double                                                                                        \
             : chop64_d, float _Complex                                                                                \
             : chop64_cf, double _Complex                                                                              \
             : chop64_cd, default                                                                                      \
             : same_i)(x)
#define CHOP_U8(x)                                                                                                     \
    _Generic((x), float                                                                                                \
             : chop32_f, double                                                                                        \
             : chop64_d, float _Complex                                                                                \
             : chop32_cf, double _Complex                                                                              \
             : chop64_cd, default                                                                                      \
             : same_i)(x)
#define CHOP64U(x)                                                                                                     \
    _Generic((x), float                                                                                                \
             : chop64u_f, double                                                                                       \
             : chop64u_d, float _Complex                                                                               \
             : chop64u_cf, double _Complex                                                                             \
             : chop64u_cd, default                                                                                     \
             : same_u)(x)

#define put_b8(x)   ((uint8_t)((x) != 0))
#define put_i8(x)   ((int8_t)CHOP32(x))
#define put_u8(x)   ((uint8_t)CHOP_U8(x))
#define put_i16(x)  ((int16_t)CHOP32(x))
#define put_u16(x)  ((uint16_t)CHOP32(x))
#define put_i32(x)  ((int32_t)CHOP32(x))
#define put_u32(x)  ((uint32_t)CHOP64(x))
#define put_i64(x)  ((int64_t)CHOP64(x))
#define put_u64(x)  CHOP64U(x)
#define put_f32(x)  ((float)(x))
#define put_f64(x)  ((double)(x))
#define put_c64(x)  ((float _Complex)(x))
#define put_c128(x) ((double _Complex)(x))

#define CAT_(a, b)     a##_##b
#define CAT(a, b)      CAT_(a, b)
#define CAT3_(a, b, c) a##_##b##_##c
#define CAT3(a, b, c)  CAT3_(a, b, c)

#define CAST(DST, SRC)                                                                                                 \
    static void CAT3(to_##DST, from, SRC)(int64_t n, char *const *data, const int64_t *step, const void *param)        \
    {                                                                                                                  \
        (void)param;                                                                                                   \
        char *to = data[0];                                                                                            \
        const char *from = data[1];                                                                                    \
        int64_t to_step = step[0], from_step = step[1];                                                                \
        if (to_step == sizeof(raw_##DST) && from_step == sizeof(CAT(raw, SRC)))                                        \
            for (int64_t i = 0; i < n; i++)                                                                            \
                ((raw_##DST *)to)[i] = put_##DST(CAT(get, SRC)(((const CAT(raw, SRC) *)from)[i]));                     \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(raw_##DST *)(to + i * to_step) =                                                                     \
                    put_##DST(CAT(get, SRC)(*(const CAT(raw, SRC) *)(from + i * from_step)));                          \
    }

#define SRC b8
#include "copy_from.inc"
#define SRC i8
#include "copy_from.inc"
#define SRC u8
#include "copy_from.inc"
#define SRC i16
#include "copy_from.inc"
#define SRC u16
#include "copy_from.inc"
#define SRC i32
#include "copy_from.inc"
#define SRC u32
#include "copy_from.inc"
#define SRC i64
#include "copy_from.inc"
#define SRC u64
#include "copy_from.inc"
#define SRC f32
#include "copy_from.inc"
#define SRC f64
#include "copy_from.inc"
#define SRC c64
#include "copy_from.inc"
#define SRC c128
#include "copy_from.inc"

static const walk_loop *const rows[NATIVES] = {
    [NATIVE_b8] = row_b8,     [NATIVE_i8] = row_i8,   [NATIVE_u8] = row_u8,   [NATIVE_i16] = row_i16,
    [NATIVE_u16] = row_u16,   [NATIVE_i32] = row_i32, [NATIVE_u32] = row_u32, [NATIVE_i64] = row_i64,
    [NATIVE_u64] = row_u64,   [NATIVE_f32] = row_f32, [NATIVE_f64] = row_f64, [NATIVE_c64] = row_c64,
    [NATIVE_c128] = row_c128,
};

/* ---- the small floats ---- */

static void load_f16(float *to, const char *from, int64_t step, int64_t n)
{
    if (step == 2)
        f16_load(n, to, (const uint16_t *)from);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = f16_to_float(*(const uint16_t *)(from + i * step));
}

static void store_f16(char *to, int64_t step, const float *from, int64_t n)
{
    if (step == 2)
        f16_store(n, (uint16_t *)to, from);
    else
        for (int64_t i = 0; i < n; i++)
            *(uint16_t *)(to + i * step) = f16_from_float(from[i]);
}

static void load_bf16(float *to, const char *from, int64_t step, int64_t n)
{
    if (step == 2)
        bf16_load(n, to, (const uint16_t *)from);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = bf16_to_float(*(const uint16_t *)(from + i * step));
}

static void store_bf16(char *to, int64_t step, const float *from, int64_t n)
{
    if (step == 2)
        bf16_store(n, (uint16_t *)to, from);
    else
        for (int64_t i = 0; i < n; i++)
            *(uint16_t *)(to + i * step) = bf16_from_float(from[i]);
}

static void load_c32(float *to, const char *from, int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint16_t *half = (const uint16_t *)(from + i * step);
        to[2 * i] = f16_to_float(half[0]);
        to[2 * i + 1] = f16_to_float(half[1]);
    }
}

static void store_c32(char *to, int64_t step, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t *half = (uint16_t *)(to + i * step);
        half[0] = f16_from_float(from[2 * i]);
        half[1] = f16_from_float(from[2 * i + 1]);
    }
}

/* What stands for each type: itself, or the C type that its rows are widened to. */
static const struct type {
    bool known;
    uint8_t native, floats;
    void (*load)(float *to, const char *from, int64_t step, int64_t n);
    void (*store)(char *to, int64_t step, const float *from, int64_t n);
} types[] = {
    [ACL_BOOL] = {true, NATIVE_b8},
    [ACL_INT8] = {true, NATIVE_i8},
    [ACL_UINT8] = {true, NATIVE_u8},
    [ACL_INT16] = {true, NATIVE_i16},
    [ACL_UINT16] = {true, NATIVE_u16},
    [ACL_INT32] = {true, NATIVE_i32},
    [ACL_UINT32] = {true, NATIVE_u32},
    [ACL_INT64] = {true, NATIVE_i64},
    [ACL_UINT64] = {true, NATIVE_u64},
    [ACL_FLOAT] = {true, NATIVE_f32},
    [ACL_DOUBLE] = {true, NATIVE_f64},
    [ACL_COMPLEX64] = {true, NATIVE_c64},
    [ACL_COMPLEX128] = {true, NATIVE_c128},
    [ACL_FLOAT16] = {true, NATIVE_f32, 1, load_f16, store_f16},
    [ACL_BF16] = {true, NATIVE_f32, 1, load_bf16, store_bf16},
    [ACL_COMPLEX32] = {true, NATIVE_c64, 2, load_c32, store_c32},
};

static const struct type *type_of(aclDataType dtype)
{
    return dtype >= 0 && (size_t)dtype < sizeof types / sizeof types[0] && types[dtype].known ? &types[dtype] : NULL;
}

static bool find_cast(struct copy_cast *cast, aclDataType dst, aclDataType src)
{
    const struct type *to = type_of(dst), *from = type_of(src);
    if (!to || !from)
        return false;
    *cast = (struct copy_cast){rows[from->native][to->native], from->load, to->store, from->floats, to->floats};
    return true;
}

enum { BLOCK = 512 };

static void cast(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    const struct copy_cast *c = param;
    if (!c->load && !c->store) {
        c->direct(n, data, step, NULL);
        return;
    }
    /* float pairs for complex; aligned for the vectors that the compiler uses */
    _Alignas(64) float in[2 * BLOCK], out[2 * BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        char *to = data[0] + at * step[0], *from = data[1] + at * step[1];
        bool same = c->load && c->store && c->load_floats == c->store_floats;
        bool straight = c->load && !c->store && c->direct == row_f32[NATIVE_f32] && step[0] == sizeof(float);
        if (straight) {
            c->load((float *)to, from, step[1], m);
            continue;
        }
        if (c->load)
            c->load(in, from, step[1], m);
        if (!same) {
            char *const rows_data[] = {c->store ? (char *)out : to, c->load ? (char *)in : from};
            const int64_t rows_step[] = {c->store ? c->store_floats * (int64_t)sizeof(float) : step[0],
                                         c->load ? c->load_floats * (int64_t)sizeof(float) : step[1]};
            c->direct(m, rows_data, rows_step, NULL);
        }
        if (c->store)
            c->store(to, step[0], same ? in : out, m);
    }
}

/* ---- moves ---- */

struct block16 {
    uint64_t half[2];
};

#define MOVE(TYPE)                                                                                                     \
    static void CAT(move, TYPE)(int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step)             \
    {                                                                                                                  \
        if (dst_step == sizeof(TYPE))                                                                                  \
            for (int64_t i = 0; i < n; i++)                                                                            \
                ((TYPE *)dst)[i] = *(const TYPE *)(src + i * src_step);                                                \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(TYPE *)(dst + i * dst_step) = *(const TYPE *)(src + i * src_step);                                   \
    }                                                                                                                  \
    static void CAT(fill, TYPE)(int64_t n, char *dst, int64_t step, const void *value)                                 \
    {                                                                                                                  \
        TYPE v;                                                                                                        \
        memcpy(&v, value, sizeof v);                                                                                   \
        if (step == sizeof(TYPE))                                                                                      \
            for (int64_t i = 0; i < n; i++)                                                                            \
                ((TYPE *)dst)[i] = v;                                                                                  \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(TYPE *)(dst + i * step) = v;                                                                         \
    }                                                                                                                  \
    static void CAT(transpose, TYPE)(int64_t rows_, int64_t columns, char *dst, int64_t dst_row, const char *src,      \
                                     int64_t src_column)                                                               \
    {                                                                                                                  \
        int64_t r = 0;                                                                                                 \
        for (; r + 8 <= rows_; r += 8) /* eight rows at once: whole lines of src are used while in L1 */               \
            for (int64_t c = 0; c < columns; c++) {                                                                    \
                const TYPE *from = (const TYPE *)(src + c * src_column) + r;                                           \
                char *to = dst + r * dst_row + c * (int64_t)sizeof(TYPE);                                              \
                for (int k = 0; k < 8; k++)                                                                            \
                    *(TYPE *)(to + k * dst_row) = from[k];                                                             \
            }                                                                                                          \
        for (; r < rows_; r++)                                                                                         \
            for (int64_t c = 0; c < columns; c++)                                                                      \
                *(TYPE *)(dst + r * dst_row + c * (int64_t)sizeof(TYPE)) =                                             \
                    *((const TYPE *)(src + c * src_column) + r);                                                       \
    }

typedef struct block16 block16_t;
MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)
MOVE(block16_t)

static void fill(size_t element, int64_t n, char *dst, int64_t step, const void *value)
{
    switch (element) {
    case 1:
        fill_uint8_t(n, dst, step, value);
        break;
    case 2:
        fill_uint16_t(n, dst, step, value);
        break;
    case 4:
        fill_uint32_t(n, dst, step, value);
        break;
    case 8:
        fill_uint64_t(n, dst, step, value);
        break;
    case 16:
        fill_block16_t(n, dst, step, value);
        break;
    }
}

static void move(size_t element, int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step)
{
    if (dst_step == (int64_t)element && src_step == (int64_t)element) {
        memcpy(dst, src, element * (size_t)n);
        return;
    }
    if (src_step == 0 && n > 0) {
        fill(element, n, dst, dst_step, src);
        return;
    }
    switch (element) {
    case 1:
        move_uint8_t(n, dst, dst_step, src, src_step);
        break;
    case 2:
        move_uint16_t(n, dst, dst_step, src, src_step);
        break;
    case 4:
        move_uint32_t(n, dst, dst_step, src, src_step);
        break;
    case 8:
        move_uint64_t(n, dst, dst_step, src, src_step);
        break;
    case 16:
        move_block16_t(n, dst, dst_step, src, src_step);
        break;
    }
}

static void transpose(size_t element, int64_t rows_, int64_t columns, char *dst, int64_t dst_row, const char *src,
                      int64_t src_column)
{
    switch (element) {
    case 1:
        transpose_uint8_t(rows_, columns, dst, dst_row, src, src_column);
        break;
    case 2:
        transpose_uint16_t(rows_, columns, dst, dst_row, src, src_column);
        break;
    case 4:
        transpose_uint32_t(rows_, columns, dst, dst_row, src, src_column);
        break;
    case 8:
        transpose_uint64_t(rows_, columns, dst, dst_row, src, src_column);
        break;
    case 16:
        transpose_block16_t(rows_, columns, dst, dst_row, src, src_column);
        break;
    }
}

const struct copy_kernels ISA(copy_kernels) = {
    .find_cast = find_cast,
    .cast = cast,
    .move = move,
    .transpose = transpose,
    .fill = fill,
};

/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/index.h"

#include <string.h>

#include "base/dtype.h"
#include "kernels/half.h"

static inline void bad_index(struct index_error *error, int64_t value)
{
    __atomic_store_n(&error->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&error->found, 1, __ATOMIC_RELAXED);
}

static inline bool index_good(int64_t at, const struct scatter_param *p)
{
    if ((uint64_t)at < (uint64_t)p->limit)
        return true;
    if (at != INDEX_SKIP)
        bad_index(p->error, at);
    return false;
}

struct sixteen {
    uint64_t part[2];
};

/* Are all n indices in range? Vectorises, so that the loops that follow need not look. */
static bool all_good(int64_t n, const int64_t *index, int64_t step, int64_t limit)
{
    int bad = 0;
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            bad |= (uint64_t)index[i] >= (uint64_t)limit;
    else
        for (int64_t i = 0; i < n; i++)
            bad |= (uint64_t)index[i * step] >= (uint64_t)limit;
    return !bad;
}

/* ---- gather, and scatter without arithmetic: by size ---- */

/* Keeps a loop scalar: vector gathers are slower than loads on most CPUs. */
#define ONE_BY_ONE __asm__ volatile("")

#define BY_SIZE(T, gather, set)                                                                                        \
    static void gather(int64_t n, char *const *data, const int64_t *step, const void *param)                           \
    {                                                                                                                  \
        const struct gather_param *p = param;                                                                          \
        char *out = data[0];                                                                                           \
        const char *index = data[1], *in = data[2];                                                                    \
        const int64_t out_step = step[0], index_step = step[1], in_step = step[2];                                     \
        if (!index_step) {                                                                                             \
            int64_t at = *(const int64_t *)index;                                                                      \
            if ((uint64_t)at >= (uint64_t)p->limit) {                                                                  \
                bad_index(p->error, at);                                                                               \
                return;                                                                                                \
            }                                                                                                          \
            in += at * p->dim_step;                                                                                    \
            if (out_step == (int64_t)sizeof(T) && in_step == (int64_t)sizeof(T)) {                                     \
                memcpy(out, in, (size_t)n * sizeof(T));                                                                \
                return;                                                                                                \
            }                                                                                                          \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(T *)(out + i * out_step) = *(const T *)(in + i * in_step);                                           \
            return;                                                                                                    \
        }                                                                                                              \
        if (all_good(n, (const int64_t *)index, index_step / 8, p->limit)) {                                           \
            const int64_t *at = (const int64_t *)index;                                                                \
            const int64_t next = index_step / 8;                                                                       \
            if (next == 1 && out_step == (int64_t)sizeof(T)) {                                                         \
                T *restrict to = (T *)out;                                                                             \
                if (!in_step)                                                                                          \
                    for (int64_t i = 0; i < n; i++) {                                                                  \
                        ONE_BY_ONE;                                                                                    \
                        to[i] = *(const T *)(in + at[i] * p->dim_step);                                                \
                    }                                                                                                  \
                else                                                                                                   \
                    for (int64_t i = 0; i < n; i++) {                                                                  \
                        ONE_BY_ONE;                                                                                    \
                        to[i] = *(const T *)(in + i * in_step + at[i] * p->dim_step);                                  \
                    }                                                                                                  \
                return;                                                                                                \
            }                                                                                                          \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(T *)(out + i * out_step) = *(const T *)(in + i * in_step + at[i * next] * p->dim_step);              \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            int64_t at = *(const int64_t *)(index + i * index_step);                                                   \
            if ((uint64_t)at >= (uint64_t)p->limit)                                                                    \
                bad_index(p->error, at);                                                                               \
            else                                                                                                       \
                *(T *)(out + i * out_step) = *(const T *)(in + i * in_step + at * p->dim_step);                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void set(const struct scatter_run *r, const struct scatter_param *p)                                        \
    {                                                                                                                  \
        T *out = (T *)r->out;                                                                                          \
        const T *src = (const T *)r->src;                                                                              \
        if (!r->index_step) {                                                                                          \
            if (!index_good(r->index[0], p))                                                                           \
                return;                                                                                                \
            out += r->index[0] * p->dim_step;                                                                          \
            if (r->out_step == 1 && r->src_step == 1)                                                                  \
                memcpy(out, src, (size_t)r->n * sizeof(T));                                                            \
            else                                                                                                       \
                for (int64_t i = 0; i < r->n; i++)                                                                     \
                    out[i * r->out_step] = src[i * r->src_step];                                                       \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < r->n; i++) {                                                                           \
            int64_t at = r->index[i * r->index_step];                                                                  \
            if (index_good(at, p))                                                                                     \
                out[i * r->out_step + at * p->dim_step] = src[i * r->src_step];                                        \
        }                                                                                                              \
    }

BY_SIZE(uint8_t, gather1, set1)
BY_SIZE(uint16_t, gather2, set2)
BY_SIZE(uint32_t, gather4, set4)
BY_SIZE(uint64_t, gather8, set8)
BY_SIZE(struct sixteen, gather16, set16)

/* ---- scatter with arithmetic: by type ---- */

#define SAME(x)     (x)
#define PLUS(x, y)  ((x) + (y))
#define TIMES(x, y) ((x) * (y))
#define MORE(x, y)  ((x) != (x) || (x) > (y) ? (x) : (y))
#define LESS(x, y)  ((x) != (x) || (x) < (y) ? (x) : (y))
#define ADD         PLUS
#define MUL         TIMES
#define MAX         MORE
#define MIN         LESS

#define T        float
#define A        float
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_f32
#define ALPHA(p) ((float)(p)->alpha[0])
#define ORDERED  1
#include "kernels/index_loops.h"

#define T        double
#define A        double
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_f64
#define ALPHA(p) ((p)->alpha[0])
#define ORDERED  1
#include "kernels/index_loops.h"

#define T        uint16_t
#define A        float
#define LOAD     f16_to_float
#define STORE    f16_from_float
#define TYPED(n) n##_f16
#define ALPHA(p) ((float)(p)->alpha[0])
#define ORDERED  1
#define HALF     1
#define WIDEN    f16_load
#define NARROW   f16_store
#include "kernels/index_loops.h"

#define T        uint16_t
#define A        float
#define LOAD     bf16_to_float
#define STORE    bf16_from_float
#define TYPED(n) n##_bf16
#define ALPHA(p) ((float)(p)->alpha[0])
#define ORDERED  1
#define HALF     1
#define WIDEN    bf16_load
#define NARROW   bf16_store
#include "kernels/index_loops.h"

/* The real part of a product is written as a sum: gcc 12 turns neighbouring a*b - c*d and a*d + b*c into fused vector
 * instructions even under -ffp-contract=off (its bug 106902). tests/kernel/fused.py looks for such. */
struct c64 {
    float re, im;
};

static struct c64 add_c64_(struct c64 x, struct c64 y)
{
    return (struct c64){x.re + y.re, x.im + y.im};
}

static struct c64 mul_c64_(struct c64 x, struct c64 y)
{
    return (struct c64){x.re * y.re + -x.im * y.im, x.re * y.im + x.im * y.re};
}

struct c128 {
    double re, im;
};

static struct c128 add_c128_(struct c128 x, struct c128 y)
{
    return (struct c128){x.re + y.re, x.im + y.im};
}

static struct c128 mul_c128_(struct c128 x, struct c128 y)
{
    return (struct c128){x.re * y.re + -x.im * y.im, x.re * y.im + x.im * y.re};
}

#undef ADD
#undef MUL
#define ADD      add_c64_
#define MUL      mul_c64_
#define T        struct c64
#define A        struct c64
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_c64
#define ALPHA(p) ((struct c64){(float)(p)->alpha[0], (float)(p)->alpha[1]})
#define ORDERED  0
#include "kernels/index_loops.h"

#undef ADD
#undef MUL
#define ADD      add_c128_
#define MUL      mul_c128_
#define T        struct c128
#define A        struct c128
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_c128
#define ALPHA(p) ((struct c128){(p)->alpha[0], (p)->alpha[1]})
#define ORDERED  0
#include "kernels/index_loops.h"

/* Integers wrap: arithmetic in uint64, comparison in the type itself. */
#undef ADD
#undef MUL
#define ADD(x, y) ((A)((uint64_t)(x) + (uint64_t)(y)))
#define MUL(x, y) ((A)((uint64_t)(x) * (uint64_t)(y)))

#define T        int8_t
#define A        int8_t
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_i8
#define ALPHA(p) ((int8_t)(p)->alpha_int)
#define ORDERED  1
#include "kernels/index_loops.h"

#define T        uint8_t
#define A        uint8_t
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_u8
#define ALPHA(p) ((uint8_t)(p)->alpha_int)
#define ORDERED  1
#include "kernels/index_loops.h"

#define T        int16_t
#define A        int16_t
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_i16
#define ALPHA(p) ((int16_t)(p)->alpha_int)
#define ORDERED  1
#include "kernels/index_loops.h"

#define T        int32_t
#define A        int32_t
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_i32
#define ALPHA(p) ((int32_t)(p)->alpha_int)
#define ORDERED  1
#include "kernels/index_loops.h"

#define T        int64_t
#define A        int64_t
#define LOAD     SAME
#define STORE    SAME
#define TYPED(n) n##_i64
#define ALPHA(p) ((p)->alpha_int)
#define ORDERED  1
#include "kernels/index_loops.h"

#undef ADD
#undef MUL
#define ADD(x, y) ((x) | (y))
#define MUL(x, y) ((x) & (y))
#define T         uint8_t
#define A         uint8_t
#define LOAD(x)   ((x) != 0)
#define STORE     SAME
#define TYPED(n)  n##_bool
#define ALPHA(p)  ((uint8_t)((p)->alpha_int != 0))
#define ORDERED   1
#include "kernels/index_loops.h"

static walk_loop gather(size_t size)
{
    return size == 1 ? gather1 : size == 2 ? gather2 : size == 4 ? gather4 : size == 8 ? gather8 : gather16;
}

static scatter_loop scatter(enum scatter_op op, aclDataType dtype)
{
    if (op == SCATTER_SET) {
        size_t size = dtype_size(dtype);
        return size == 1 ? set1 : size == 2 ? set2 : size == 4 ? set4 : size == 8 ? set8 : set16;
    }
    switch ((int)dtype) {
    case ACL_FLOAT:
        return scatter_f32[op];
    case ACL_DOUBLE:
        return scatter_f64[op];
    case ACL_FLOAT16:
        return scatter_f16[op];
    case ACL_BF16:
        return scatter_bf16[op];
    case ACL_COMPLEX64:
        return scatter_c64[op];
    case ACL_COMPLEX128:
        return scatter_c128[op];
    case ACL_INT8:
        return scatter_i8[op];
    case ACL_UINT8:
        return scatter_u8[op];
    case ACL_INT16:
        return scatter_i16[op];
    case ACL_INT32:
        return scatter_i32[op];
    case ACL_INT64:
        return scatter_i64[op];
    case ACL_BOOL:
        return scatter_bool[op];
    default:
        return NULL;
    }
}

const struct index_kernels ISA(index_kernels) = {gather, scatter};

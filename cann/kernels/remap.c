/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/remap.h"

#include <stdbool.h>
#include <string.h>

#include "base/dtype.h"

/* ---- remap ---- */

struct sixteen {
    uint64_t part[2];
};

/* n elements of the innermost dimension from element `at`, for one element size. */
#define ROW(name, T)                                                                                                   \
    static void name(const struct remap *r, const struct remap_dim *d, char *out_, const char *in_, int64_t at,        \
                     int64_t n)                                                                                        \
    {                                                                                                                  \
        T *restrict out = (T *)out_;                                                                                   \
        const T *restrict in = (const T *)in_;                                                                         \
        const int64_t out_step = d->out_step, in_step = d->in_step;                                                    \
        if (!d->out_at && !d->in_at) {                                                                                 \
            out += at * out_step, in += at * in_step;                                                                  \
            if (out_step == 1 && in_step == 0) {                                                                       \
                T value = in[0];                                                                                       \
                for (int64_t i = 0; i < n; i++)                                                                        \
                    out[i] = value;                                                                                    \
            } else if (out_step == 1 && in_step == -1) {                                                               \
                for (int64_t i = 0; i < n; i++)                                                                        \
                    out[i] = in[-i];                                                                                   \
            } else if (out_step == 1) {                                                                                \
                for (int64_t i = 0; i < n; i++)                                                                        \
                    out[i] = in[i * in_step];                                                                          \
            } else {                                                                                                   \
                for (int64_t i = 0; i < n; i++)                                                                        \
                    out[i * out_step] = in[i * in_step];                                                               \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        T fill;                                                                                                        \
        memcpy(&fill, r->fill, sizeof fill);                                                                           \
        for (int64_t i = at; i < at + n; i++) {                                                                        \
            int64_t from = d->in_at ? d->in_at[i] : i * in_step;                                                       \
            out[d->out_at ? d->out_at[i] : i * out_step] = from == REMAP_FILL ? fill : in[from];                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_fill(const struct remap *r, const struct remap_dim *d, char *out_, int64_t at, int64_t n)       \
    {                                                                                                                  \
        T *out = (T *)out_, fill;                                                                                      \
        memcpy(&fill, r->fill, sizeof fill);                                                                           \
        if (!d->out_at && d->out_step == 1)                                                                            \
            for (int64_t i = at; i < at + n; i++)                                                                      \
                out[i] = fill;                                                                                         \
        else                                                                                                           \
            for (int64_t i = at; i < at + n; i++)                                                                      \
                out[d->out_at ? d->out_at[i] : i * d->out_step] = fill;                                                \
    }

ROW(row1, uint8_t)
ROW(row2, uint16_t)
ROW(row4, uint32_t)
ROW(row8, uint64_t)
ROW(row16, struct sixteen)

static void row_fill(const struct remap *r, const struct remap_dim *d, char *out, int64_t at, int64_t n)
{
    switch (r->size) {
    case 1:
        row1_fill(r, d, out, at, n);
        return;
    case 2:
        row2_fill(r, d, out, at, n);
        return;
    case 4:
        row4_fill(r, d, out, at, n);
        return;
    case 8:
        row8_fill(r, d, out, at, n);
        return;
    default:
        row16_fill(r, d, out, at, n);
    }
}

static void row_runs(const struct remap *r, const struct remap_dim *d, char *out, const char *in, int64_t at, int64_t n)
{
    int64_t low = 0, high = r->runs, size = r->size;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (r->run[middle].start <= at)
            low = middle;
        else
            high = middle;
    }
    for (; n > 0; low++) {
        const struct remap_run *run = &r->run[low];
        int64_t skip = at - run->start, m = run->length - skip;
        m = m < n ? m : n;
        if (run->in == REMAP_FILL)
            row_fill(r, d, out, at, m);
        else
            memcpy(out + at * size, in + (run->in + skip) * size, (size_t)(m * size));
        at += m;
        n -= m;
    }
}

static void row(const struct remap *r, const struct remap_dim *d, char *out, const char *in, int64_t at, int64_t n)
{
    if (r->run) {
        row_runs(r, d, out, in, at, n);
        return;
    }
    if (!d->out_at && !d->in_at && d->out_step == 1 && d->in_step == 1) {
        memcpy(out + at * r->size, in + at * r->size, (size_t)(n * r->size));
        return;
    }
    switch (r->size) {
    case 1:
        row1(r, d, out, in, at, n);
        return;
    case 2:
        row2(r, d, out, in, at, n);
        return;
    case 4:
        row4(r, d, out, in, at, n);
        return;
    case 8:
        row8(r, d, out, in, at, n);
        return;
    default:
        row16(r, d, out, in, at, n);
    }
}

static inline void step(const struct remap_dim *d, int64_t i, int64_t *out, int64_t *in, bool *fill)
{
    int64_t from = d->in_at ? d->in_at[i] : i * d->in_step;
    *out += d->out_at ? d->out_at[i] : i * d->out_step;
    *fill |= from == REMAP_FILL;
    *in += *fill ? 0 : from;
}

static void remap(const struct remap *r, int64_t begin, int64_t end)
{
    const int last = r->rank - 1;
    const struct remap_dim *inner = &r->dim[last];
    int64_t index[REMAP_RANK_MAX], at = begin % inner->count, rest = begin / inner->count;
    for (int k = last - 1; k >= 0; k--) {
        index[k] = rest % r->dim[k].count;
        rest /= r->dim[k].count;
    }
    while (begin < end) {
        int64_t out = 0, in = 0;
        bool fill = false;
        for (int k = 0; k < last - 1; k++)
            step(&r->dim[k], index[k], &out, &in, &fill);
        /* The last outer dimension in a loop of its own: all above stand still. */
        do {
            int64_t out_row = out, in_row = in, n = inner->count - at < end - begin ? inner->count - at : end - begin;
            bool fill_row = fill;
            if (last)
                step(&r->dim[last - 1], index[last - 1], &out_row, &in_row, &fill_row);
            if (fill_row)
                row_fill(r, inner, r->out + out_row * r->size, at, n);
            else
                row(r, inner, r->out + out_row * r->size, r->in + in_row * r->size, at, n);
            begin += n;
            at = 0;
        } while (begin < end && last && ++index[last - 1] < r->dim[last - 1].count);
        if (last)
            index[last - 1] = 0;
        for (int k = last - 2; k >= 0 && ++index[k] == r->dim[k].count; k--)
            index[k] = 0;
    }
}

/* ---- fold ---- */

/* Adds the listed inputs to `sum` (n accumulators of type A) for one row: base is the input offset of the outer dims.
 */
#define FOLD(name, T, A, LOAD, STORE)                                                                                  \
    static void name##_add(const struct fold_dim *d, A *sum, const T *in, int64_t at, int64_t n)                       \
    {                                                                                                                  \
        if (!d->first) {                                                                                               \
            for (int64_t i = 0; i < n; i++)                                                                            \
                sum[i] += LOAD(in[(at + i) * d->in_step]);                                                             \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int64_t k = d->first[at + i]; k < d->first[at + i + 1]; k++)                                          \
                sum[i] += LOAD(in[d->at[k]]);                                                                          \
    }                                                                                                                  \
    static void name##_outer(const struct fold *f, const int64_t *index, int level, A *sum, const T *in, int64_t at,   \
                             int64_t n)                                                                                \
    {                                                                                                                  \
        const struct fold_dim *d = &f->dim[level];                                                                     \
        if (level == f->rank - 1) {                                                                                    \
            name##_add(d, sum, in, at, n);                                                                             \
            return;                                                                                                    \
        }                                                                                                              \
        if (!d->first) {                                                                                               \
            name##_outer(f, index, level + 1, sum, in + index[level] * d->in_step, at, n);                             \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t k = d->first[index[level]]; k < d->first[index[level] + 1]; k++)                                  \
            name##_outer(f, index, level + 1, sum, in + d->at[k], at, n);                                              \
    }                                                                                                                  \
    static void name##_row(const struct fold *f, const int64_t *index, int64_t out_offset)                             \
    {                                                                                                                  \
        const struct fold_dim *d = &f->dim[f->rank - 1];                                                               \
        A sum[256];                                                                                                    \
        T *out = (T *)f->out + out_offset;                                                                             \
        for (int64_t at = 0; at < d->count; at += 256) {                                                               \
            int64_t n = d->count - at < 256 ? d->count - at : 256;                                                     \
            for (int64_t i = 0; i < n; i++)                                                                            \
                sum[i] = 0;                                                                                            \
            name##_outer(f, index, 0, sum, (const T *)f->in, at, n);                                                   \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[(at + i) * d->out_step] = STORE(sum[i]);                                                           \
        }                                                                                                              \
    }

#define PLAIN(x) (x)
#define U8(x)    ((uint8_t)(x))
#define I8(x)    ((int8_t)(x))
#define I16(x)   ((int16_t)(x))
#define I32(x)   ((int32_t)(x))
#define I64(x)   ((int64_t)(x))
#define WIDE(x)  ((uint64_t)(int64_t)(x))
FOLD(fold_f32, float, float, PLAIN, PLAIN)
FOLD(fold_f64, double, double, PLAIN, PLAIN)
FOLD(fold_f16, uint16_t, float, f16_to_float, f16_from_float)
FOLD(fold_bf16, uint16_t, float, bf16_to_float, bf16_from_float)
FOLD(fold_u8, uint8_t, uint64_t, WIDE, U8)
FOLD(fold_i8, int8_t, uint64_t, WIDE, I8)
FOLD(fold_i16, int16_t, uint64_t, WIDE, I16)
FOLD(fold_i32, int32_t, uint64_t, WIDE, I32)
FOLD(fold_i64, int64_t, uint64_t, WIDE, I64)

static void fold(const struct fold *f, int64_t begin, int64_t end)
{
    const int last = f->rank - 1;
    int64_t index[REMAP_RANK_MAX], rest = begin;
    for (int k = last - 1; k >= 0; k--) {
        index[k] = rest % f->dim[k].count;
        rest /= f->dim[k].count;
    }
    for (; begin < end; begin++) {
        int64_t out = 0;
        for (int k = 0; k < last; k++)
            out += index[k] * f->dim[k].out_step;
        switch ((int)f->dtype) {
        case ACL_FLOAT:
            fold_f32_row(f, index, out);
            break;
        case ACL_DOUBLE:
            fold_f64_row(f, index, out);
            break;
        case ACL_FLOAT16:
            fold_f16_row(f, index, out);
            break;
        case ACL_BF16:
            fold_bf16_row(f, index, out);
            break;
        case ACL_UINT8:
            fold_u8_row(f, index, out);
            break;
        case ACL_INT8:
            fold_i8_row(f, index, out);
            break;
        case ACL_INT16:
            fold_i16_row(f, index, out);
            break;
        case ACL_INT32:
            fold_i32_row(f, index, out);
            break;
        case ACL_INT64:
            fold_i64_row(f, index, out);
            break;
        }
        for (int k = last - 1; k >= 0 && ++index[k] == f->dim[k].count; k--)
            index[k] = 0;
    }
}

const struct remap_kernels ISA(remap_kernels) = {remap, fold};

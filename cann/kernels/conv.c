/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution's kernels; see conv.h. */
#include "kernels/conv.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"
#include "kernels/vectors.h"

static inline void turn_f32(float *to, int64_t width, const float *const *from, int64_t at)
{
    turn_8x8(to, width, from, at);
}

static inline void turn_f64(double *to, int64_t width, const double *const *from, int64_t at)
{
    for (int i = 0; i < 8; i++)
        for (int x = 0; x < 8; x++)
            to[x * width + i] = from[i][at + x];
}

#define T       float
#define V       vec_f32
#define v_set1  SET_F32
#define v_fma   FMA_F32
#define v_load  load_f32
#define v_store store_f32
#define LANES   ((int)(sizeof(V) / sizeof(T)))
#define NAME(x) x##_f32
#include "kernels/conv_type.h"
#undef T
#undef V
#undef v_set1
#undef v_fma
#undef v_load
#undef v_store
#undef NAME

#define T       double
#define V       vec_f64
#define v_set1  SET_F64
#define v_fma   FMA_F64
#define v_load  load_f64
#define v_store store_f64
#define NAME(x) x##_f64
#include "kernels/conv_type.h"

/* ---- planes ---- */

static void row_f32(void *to, const void *from, int64_t n, int64_t stride)
{
    float *t = to;
    const float *f = from;
    if (stride == 1)
        memcpy(t, f, (size_t)n * sizeof *t);
    else if (stride == 2)
        for (int64_t x = 0; x < n; x++)
            t[x] = f[x * 2];
    else
        for (int64_t x = 0; x < n; x++)
            t[x] = f[x * stride];
}

static void row_f64(void *to, const void *from, int64_t n, int64_t stride)
{
    double *t = to;
    const double *f = from;
    for (int64_t x = 0; x < n; x++)
        t[x] = f[x * stride];
}

static void row_f16(void *to, const void *from, int64_t n, int64_t stride)
{
    float *t = to;
    const uint16_t *f = from;
    for (int64_t x = 0; x < n; x++)
        t[x] = f16_to_float(f[x * stride]);
}

static void row_bf16(void *to, const void *from, int64_t n, int64_t stride)
{
    float *t = to;
    const uint16_t *f = from;
    for (int64_t x = 0; x < n; x++)
        t[x] = bf16_to_float(f[x * stride]);
}

typedef void (*row_fn)(void *to, const void *from, int64_t n, int64_t stride);

/* The part [low, high) of n positions that lies in the image: position x is coordinate x * step + residue - before. */
static void inside(const struct conv_planes *p, int d, int64_t residue, int64_t *low, int64_t *high)
{
    int64_t first = p->before[d] - residue, end = first + p->size[d];
    *low = first <= 0 ? 0 : (first + p->step[d] - 1) / p->step[d];
    *high = end <= 0 ? 0 : (end + p->step[d] - 1) / p->step[d];
    if (*high > p->plane[d])
        *high = p->plane[d];
    if (*low > *high)
        *low = *high;
}

enum { SHORT_LINE = 512 }; /* bytes of a row; shorter ones are cleared all at once, which costs less than their ends */

static void planes(void *to, const void *image, aclDataType from, const struct conv_planes *p)
{
    size_t size = from == ACL_DOUBLE ? sizeof(double) : sizeof(float), element = dtype_size(from);
    row_fn copy = from == ACL_DOUBLE ? row_f64 : from == ACL_FLOAT ? row_f32 : from == ACL_BF16 ? row_bf16 : row_f16;
    int64_t residues = p->residues[0] * p->residues[1] * p->residues[2], rows = p->plane[0] * p->plane[1];
    size_t line = (size_t)p->plane[2] * size;
    bool cleared = line < SHORT_LINE;
    char *out = to;
    if (cleared)
        memset(out, 0, (size_t)(residues * rows) * line);
    for (int64_t residue = 0; residue < residues; residue++) {
        int64_t r[3] = {residue / (p->residues[1] * p->residues[2]), residue / p->residues[2] % p->residues[1],
                        residue % p->residues[2]};
        int64_t low[3], high[3];
        for (int d = 0; d < 3; d++)
            inside(p, d, r[d], &low[d], &high[d]);
        size_t before = (size_t)low[2] * size, end = (size_t)high[2] * size;
        int64_t first = (low[2] * p->step[2] + r[2] - p->before[2]) * p->stride[2];
        for (int64_t z = 0; z < p->plane[0]; z++)
            for (int64_t y = 0; y < p->plane[1]; y++, out += line) {
                if (z < low[0] || z >= high[0] || y < low[1] || y >= high[1] || before == end) {
                    if (!cleared)
                        memset(out, 0, line);
                    continue;
                }
                int64_t at = (z * p->step[0] + r[0] - p->before[0]) * p->stride[0] +
                             (y * p->step[1] + r[1] - p->before[1]) * p->stride[1] + first;
                copy(out + before, (const char *)image + at * (int64_t)element, high[2] - low[2],
                     p->step[2] * p->stride[2]);
                if (!cleared) {
                    memset(out, 0, before);
                    memset(out + end, 0, line - end);
                }
            }
    }
}

const struct conv_kernels ISA(conv_kernels) = {
    .planes = planes,
    .f32 = {pack_f32, pack_turned_f32, rows_f32, dot_f32, total_f32},
    .f64 = {pack_f64, pack_turned_f64, rows_f64, dot_f64, total_f64},
};

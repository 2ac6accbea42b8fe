/* SPDX-License-Identifier: BSD-3-Clause */
/* See winograd.h. With the tile d, the kernel g and the result y: y = A' [(G g G') · (B' d B)] A. */
#include "kernels/winograd.h"

#include <stddef.h>

#include "kernels/vectors.h"

enum { LANES = sizeof(vec_f32) / sizeof(float), KERNELS = 16 };

/* G: three weights to four. */
static inline void spread(float *to, int64_t step, const float *a, const float *b, const float *c)
{
    for (int i = 0; i < KERNELS; i++) {
        float ends = a[i] + c[i];
        to[i] = a[i];
        to[step + i] = (ends + b[i]) * 0.5f;
        to[2 * step + i] = (ends - b[i]) * 0.5f;
        to[3 * step + i] = c[i];
    }
}

static void weights(float *to, int64_t apart, const float *from, int64_t step, int64_t n, bool turned)
{
    for (int64_t k = 0; k < n; k += KERNELS, to += KERNELS, from += KERNELS * step) {
        float g[9][KERNELS] = {0}, half[4][3][KERNELS], all[WINOGRAD_PLACES][KERNELS];
        int here = n - k < KERNELS ? (int)(n - k) : KERNELS;
        for (int i = 0; i < here; i++)
            for (int t = 0; t < 9; t++)
                g[turned ? 8 - t : t][i] = from[i * step + t];
        for (int x = 0; x < 3; x++)
            spread(half[0][x], 3 * KERNELS, g[x], g[3 + x], g[6 + x]);
        for (int y = 0; y < 4; y++)
            spread(all[4 * y], KERNELS, half[y][0], half[y][1], half[y][2]);
        for (int place = 0; place < WINOGRAD_PLACES; place++)
            memcpy(to + place * apart, all[place], (size_t)here * sizeof(float));
    }
}

/* Every run is written as whole vectors: what is too much is overwritten by the next run. */
static void tiles(float *to, int64_t apart, const float *planes, const int64_t *at, const struct conv_run *run,
                  int runs)
{
    for (int r = 0; r < runs; r++)
        for (int x = 0; x < run[r].count; x += LANES) {
            const float *from = planes + run[r].from + x;
            float *out = to + run[r].to + x;
            vec_f32 half[4][4];
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                vec_f32 a = load_f32(from + at[j]), b = load_f32(from + at[4 + j]), c = load_f32(from + at[8 + j]),
                        d = load_f32(from + at[12 + j]);
                half[0][j] = a - c;
                half[1][j] = b + c;
                half[2][j] = c - b;
                half[3][j] = b - d;
            }
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++, out += 4 * apart) {
                store_f32(out, half[i][0] - half[i][2]);
                store_f32(out + apart, half[i][1] + half[i][2]);
                store_f32(out + 2 * apart, half[i][2] - half[i][1]);
                store_f32(out + 3 * apart, half[i][1] - half[i][3]);
            }
        }
}

/* Columns in turn from `even` and `odd`. */
static inline void store_row(float *y, int64_t width, vec_f32 even, vec_f32 odd)
{
    float a[LANES], b[LANES], row[2 * LANES];
    store_f32(a, even);
    store_f32(b, odd);
    for (int i = 0; i < LANES; i++) {
        row[2 * i] = a[i];
        row[2 * i + 1] = b[i];
    }
    if (width >= 2 * LANES)
        memcpy(y, row, sizeof row);
    else
        memcpy(y, row, (size_t)width * sizeof *row);
}

static bool results(float *y, int64_t pitch, int64_t width, bool second, const float *products, int64_t apart,
                    int64_t count, float bias)
{
    vec_f32 plus = SET_F32(bias), zero = SET_F32(0), strange = zero; /* 0 for as long as all is finite, then NaN */
    for (int64_t x = 0; x < count; x += LANES) {
        vec_f32 half[2][4];
        const float *from = products + x;
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++, from += apart) {
            vec_f32 a = load_f32(from), b = load_f32(from + 4 * apart), c = load_f32(from + 8 * apart),
                    d = load_f32(from + 12 * apart);
            half[0][j] = a + b + c;
            half[1][j] = b - c - d;
        }
        vec_f32 result[4];
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            result[2 * i] = half[i][0] + half[i][1] + half[i][2] + plus;
            result[2 * i + 1] = half[i][1] - half[i][2] - half[i][3] + plus;
        }
        if (count - x < LANES) { /* what lies behind the tiles is anything */
            float lane[4][LANES] = {{0}};
            for (int i = 0; i < 4; i++) {
                float whole[LANES];
                store_f32(whole, result[i]);
                for (int l = 0; l < LANES; l++)
                    lane[i][l] = l < count - x ? whole[l] : 0;
                result[i] = load_f32(lane[i]);
            }
        }
        store_row(y + 2 * x, width - 2 * x, result[0], result[1]);
        if (second)
            store_row(y + pitch + 2 * x, width - 2 * x, result[2], result[3]);
        else
            result[2] = result[3] = zero;
        strange += (result[0] * zero + result[1] * zero) + (result[2] * zero + result[3] * zero);
    }
    float lane[LANES];
    bool found = false;
    store_f32(lane, strange);
    for (int i = 0; i < LANES; i++)
        found |= lane[i] != 0;
    return found;
}

const struct winograd_kernels ISA(winograd_kernels) = {weights, tiles, results};

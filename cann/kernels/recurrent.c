/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers; see recurrent.h. Float and double work in place; 16-bit floats of single cells pass through blocks
 * of float on the stack. */
#include "kernels/recurrent.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/dtype.h"
#include "kernels/half.h"
#include "kernels/vmath.h"

#define T       float
#define NAME(x) x##_f32
#define SIGMOID sigmoid_f32
#define TANH    tanh_f32
#include "kernels/recurrent_typed.h"
#undef T
#undef NAME
#undef SIGMOID
#undef TANH
#define T       double
#define NAME(x) x##_f64
#define SIGMOID sigmoid_f64
#define TANH    tanh
#include "kernels/recurrent_typed.h"

enum { GATES = 4 };

/* Elements [at, at + n) of an array as floats: themselves, or loaded into the block. */
static const float *floats(aclDataType dtype, const void *p, int64_t at, int64_t n, float *block)
{
    if (!p)
        return NULL;
    if (dtype == ACL_FLOAT)
        return (const float *)p + at;
    half_load(dtype, n, block, (const uint16_t *)p + at);
    return block;
}

static const double *doubles(const void *p, int64_t at)
{
    return p ? (const double *)p + at : NULL;
}

static void forward_wide(const struct lstm_cell *c, int64_t r)
{
    const double *in[GATES], *state[GATES], *in_bias[GATES], *state_bias[GATES];
    double *active[GATES];
    int64_t h = c->hidden, gates = r * GATES * h;
    for (int k = 0; k < GATES; k++) {
        in[k] = doubles(c->input, gates + k * h);
        state[k] = doubles(c->state, gates + k * h);
        in_bias[k] = doubles(c->input_bias, k * h);
        state_bias[k] = doubles(c->state_bias, k * h);
        active[k] = (double *)c->active + gates + k * h;
    }
    forward_f64(h, in, state, in_bias, state_bias, doubles(c->cx, r * h), (double *)c->hy + r * h,
                (double *)c->cy + r * h, active);
}

/* Hidden units [i, i + n) of row r. */
static void forward_part(const struct lstm_cell *c, int64_t r, int64_t i, int64_t n)
{
    float block[GATES][GATES][HALF_BLOCK], out[GATES][HALF_BLOCK], cx_block[HALF_BLOCK], hy[HALF_BLOCK], cy[HALF_BLOCK];
    const float *in[GATES], *state[GATES], *in_bias[GATES], *state_bias[GATES];
    float *active[GATES];
    int64_t h = c->hidden, row = r * h + i, gates = r * GATES * h + i;
    bool half = c->dtype != ACL_FLOAT;
    for (int k = 0; k < GATES; k++) {
        in[k] = floats(c->dtype, c->input, gates + k * h, n, block[0][k]);
        state[k] = floats(c->dtype, c->state, gates + k * h, n, block[1][k]);
        in_bias[k] = floats(c->dtype, c->input_bias, k * h + i, n, block[2][k]);
        state_bias[k] = floats(c->dtype, c->state_bias, k * h + i, n, block[3][k]);
        active[k] = half ? out[k] : (float *)c->active + gates + k * h;
    }
    const float *cx = floats(c->dtype, c->cx, row, n, cx_block);
    forward_f32(n, in, state, in_bias, state_bias, cx, half ? hy : (float *)c->hy + row,
                half ? cy : (float *)c->cy + row, active);
    if (!half)
        return;
    half_store(c->dtype, n, (uint16_t *)c->hy + row, hy);
    half_store(c->dtype, n, (uint16_t *)c->cy + row, cy);
    for (int k = 0; k < GATES; k++)
        half_store(c->dtype, n, (uint16_t *)c->active + gates + k * h, out[k]);
}

static void forward(const struct lstm_cell *c, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; r++) {
        if (c->dtype == ACL_DOUBLE) {
            forward_wide(c, r);
            continue;
        }
        for (int64_t i = 0; i < c->hidden; i += HALF_BLOCK)
            forward_part(c, r, i, c->hidden - i < HALF_BLOCK ? c->hidden - i : HALF_BLOCK);
    }
}

static void backward_wide(const struct lstm_cell_gradient *c, int64_t r)
{
    const double *active[GATES];
    double *gates[GATES];
    int64_t h = c->hidden, row = r * h;
    for (int k = 0; k < GATES; k++) {
        active[k] = doubles(c->active, GATES * row + k * h);
        gates[k] = (double *)c->gates + GATES * row + k * h;
    }
    backward_f64(h, doubles(c->grad_hy, row), doubles(c->grad_cy, row), doubles(c->cx, row), doubles(c->cy, row),
                 active, gates, (double *)c->grad_cx + row);
}

static void backward_part(const struct lstm_cell_gradient *c, int64_t r, int64_t i, int64_t n)
{
    float block[4][HALF_BLOCK], in[GATES][HALF_BLOCK], out[GATES][HALF_BLOCK], grad_cx[HALF_BLOCK];
    const float *active[GATES];
    float *gates[GATES];
    int64_t h = c->hidden, row = r * h + i, first = r * GATES * h + i;
    bool half = c->dtype != ACL_FLOAT;
    for (int k = 0; k < GATES; k++) {
        active[k] = floats(c->dtype, c->active, first + k * h, n, in[k]);
        gates[k] = half ? out[k] : (float *)c->gates + first + k * h;
    }
    backward_f32(n, floats(c->dtype, c->grad_hy, row, n, block[0]), floats(c->dtype, c->grad_cy, row, n, block[1]),
                 floats(c->dtype, c->cx, row, n, block[2]), floats(c->dtype, c->cy, row, n, block[3]), active, gates,
                 half ? grad_cx : (float *)c->grad_cx + row);
    if (!half)
        return;
    half_store(c->dtype, n, (uint16_t *)c->grad_cx + row, grad_cx);
    for (int k = 0; k < GATES; k++)
        half_store(c->dtype, n, (uint16_t *)c->gates + first + k * h, out[k]);
}

static void backward(const struct lstm_cell_gradient *c, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; r++) {
        if (c->dtype == ACL_DOUBLE) {
            backward_wide(c, r);
            continue;
        }
        for (int64_t i = 0; i < c->hidden; i += HALF_BLOCK)
            backward_part(c, r, i, c->hidden - i < HALF_BLOCK ? c->hidden - i : HALF_BLOCK);
    }
}

static void sum_rows(aclDataType dtype, int64_t rows, int64_t columns, const void *x, void *out, int64_t begin,
                     int64_t end)
{
    if (dtype == ACL_DOUBLE) {
        sum_rows_f64(rows, columns, doubles(x, begin), (double *)out + begin, end - begin);
        return;
    }
    if (dtype == ACL_FLOAT) {
        sum_rows_f32(rows, columns, (const float *)x + begin, (float *)out + begin, end - begin);
        return;
    }
    float line[HALF_BLOCK], sum[HALF_BLOCK];
    for (int64_t i = begin; i < end; i += HALF_BLOCK) {
        int64_t n = end - i < HALF_BLOCK ? end - i : HALF_BLOCK;
        for (int64_t j = 0; j < n; j++)
            sum[j] = 0;
        for (int64_t r = 0; r < rows; r++) {
            half_load(dtype, n, line, (const uint16_t *)x + r * columns + i);
            for (int64_t j = 0; j < n; j++)
                sum[j] += line[j];
        }
        half_store(dtype, n, (uint16_t *)out + i, sum);
    }
}

static void lstm(aclDataType dtype, int64_t hidden, const struct recurrent_row *row)
{
    if (dtype == ACL_DOUBLE)
        lstm_f64(hidden, row);
    else
        lstm_f32(hidden, row);
}

static void gru(aclDataType dtype, int64_t hidden, const struct recurrent_row *row)
{
    if (dtype == ACL_DOUBLE)
        gru_f64(hidden, row);
    else
        gru_f32(hidden, row);
}

static void lstm_backward(aclDataType dtype, int64_t hidden, const struct recurrent_gradient *row)
{
    if (dtype == ACL_DOUBLE)
        lstm_backward_f64(hidden, row);
    else
        lstm_backward_f32(hidden, row);
}

static void gru_backward(aclDataType dtype, int64_t hidden, const struct recurrent_gradient *row)
{
    if (dtype == ACL_DOUBLE)
        gru_backward_f64(hidden, row);
    else
        gru_backward_f32(hidden, row);
}

const struct recurrent_kernels ISA(recurrent_kernels) = {.forward = forward,
                                                         .backward = backward,
                                                         .sum_rows = sum_rows,
                                                         .lstm = lstm,
                                                         .gru = gru,
                                                         .lstm_backward = lstm_backward,
                                                         .gru_backward = gru_backward};

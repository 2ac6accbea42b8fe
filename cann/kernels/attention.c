/* SPDX-License-Identifier: BSD-3-Clause */
/* See attention.h. */
#include "attention.h"

#include <math.h>
#include <stdbool.h>

#include "lanes.h"
#include "vmath.h"

/* Bias and masks: what is hidden becomes -inf. */
static void see(const struct attention_row *row, float *score)
{
    if (row->bias && row->bias_step == 1)
        for (int64_t j = 0; j < row->n; j++)
            score[j] += row->bias_scale * row->bias[j];
    else if (row->bias)
        for (int64_t j = 0; j < row->n; j++)
            score[j] += row->bias_scale * row->bias[j * row->bias_step];
    if (row->hidden && row->hidden_step == 1)
        for (int64_t j = row->from; j < row->to; j++)
            score[j] = row->hidden[j] ? -INFINITY : score[j];
    else if (row->hidden)
        for (int64_t j = row->from; j < row->to; j++)
            score[j] = row->hidden[j * row->hidden_step] ? -INFINITY : score[j];
    for (int64_t j = 0; j < row->from; j++)
        score[j] = -INFINITY;
    for (int64_t j = row->to; j < row->n; j++)
        score[j] = -INFINITY;
}

static bool kept(const struct attention_row *row, int64_t j)
{
    int64_t bit = row->keep_bit + j;
    return row->keep[bit >> 3] >> (bit & 7) & 1;
}

static float softmax(const struct attention_row *row, float *score, float *max, float *sum)
{
    float old = *max;
    see(row, score);
    float most = max_of_f32(row->n, score), top = most > old ? most : old;
    *max = top;
    float shift = top == -INFINITY ? 0 : top; /* nothing seen yet: exp(-inf - 0) is 0 */
    for (int64_t j = 0; j < row->n; j++)
        score[j] = exp_f32(score[j] - shift);
    float factor = old == -INFINITY ? 0 : exp_f32(old - shift);
    *sum = *sum * factor + sum_of_f32(row->n, score);
    for (int64_t j = 0; row->keep && j < row->n; j++)
        score[j] = kept(row, j) ? score[j] * row->keep_scale : 0;
    return factor;
}

static void weights(const struct attention_row *row, float *score, float *after, float max, float sum)
{
    float inverse = sum > 0 ? 1 / sum : 0, shift = max == -INFINITY ? 0 : max;
    see(row, score);
    for (int64_t j = 0; j < row->n; j++)
        score[j] = exp_f32(score[j] - shift) * inverse;
    for (int64_t j = 0; row->keep && j < row->n; j++)
        after[j] = kept(row, j) ? score[j] * row->keep_scale : 0;
    for (int64_t j = 0; !row->keep && after != score && j < row->n; j++)
        after[j] = score[j];
}

static void gradient(const struct attention_row *row, float *grad, const float *weight, float dot)
{
    for (int64_t j = 0; row->keep && j < row->n; j++)
        grad[j] = kept(row, j) ? grad[j] * row->keep_scale : 0;
    for (int64_t j = 0; j < row->n; j++)
        grad[j] = weight[j] * (grad[j] - dot);
}

static float dot(int64_t n, const float *a, int64_t a_step, const float *b, int64_t b_step)
{
    float sum = 0;
    if (a_step == 1 && b_step == 1)
        return dot_of_f32(n, a, b);
    for (int64_t j = 0; j < n; j++)
        sum += a[j * a_step] * b[j * b_step];
    return sum;
}

static void scale(int64_t n, float *x, float by)
{
    for (int64_t j = 0; j < n; j++)
        x[j] *= by;
}

const struct attention_kernels ISA(attention_kernels) = {
    .softmax = softmax,
    .weights = weights,
    .gradient = gradient,
    .dot = dot,
    .scale = scale,
};

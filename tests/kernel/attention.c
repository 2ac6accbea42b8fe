/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of attention scores: every level against double arithmetic, and the levels among each other bit for bit. */
#include "harness.h"
#include "kernels/attention.h"

#include <math.h>

static const struct attention_kernels *const tables[] = HARNESS_TABLES(attention_kernels);

enum { SCORE = 0, MASK, BIAS, KEEP, WEIGHT, OUT };

static void near(const char *what, double got, double want)
{
    check_count++;
    if (got != want && !(fabs(got - want) <= 2e-6 * (1 + fabs(want)))) {
        check_failures++;
        fprintf(stderr, "%s is %.9g, expected %.9g\n", what, got, want);
    }
}

static struct attention_row random_row(int64_t n)
{
    struct attention_row row = {.n = n, .to = n, .bias_scale = 0.5f, .keep_scale = 1.25f};
    uint64_t r = harness_random();
    if (r & 1) {
        row.hidden = (uint8_t *)harness_buffer(MASK, (size_t)(2 * n + 1));
        row.hidden_step = 1 + (r >> 8 & 1);
        harness_fill(ACL_BOOL, (char *)row.hidden, 1, 2 * n + 1, 0, 1);
    }
    if (r & 2) {
        row.bias = (float *)harness_buffer(BIAS, (size_t)(2 * n + 1) * 4);
        row.bias_step = 1 + (r >> 9 & 1);
        harness_fill(ACL_FLOAT, (char *)row.bias, 4, 2 * n + 1, -2, 2);
    }
    if (r & 4) {
        row.keep = (uint8_t *)harness_buffer(KEEP, (size_t)n / 8 + 2);
        row.keep_bit = r >> 10 & 7;
        harness_fill(ACL_UINT8, (char *)row.keep, 1, n / 8 + 2, 0, 0);
    }
    if (r & 8) {
        row.from = n / 4;
        row.to = n - n / 3;
    }
    return row;
}

static double seen_score(const struct attention_row *row, const float *score, int64_t j)
{
    if (j < row->from || j >= row->to || (row->hidden && row->hidden[j * row->hidden_step]))
        return -INFINITY;
    return score[j] + (row->bias ? row->bias_scale * (double)row->bias[j * row->bias_step] : 0);
}

static double kept(const struct attention_row *row, int64_t j)
{
    int64_t bit = row->keep_bit + j;
    return !row->keep ? 1 : row->keep[bit / 8] >> bit % 8 & 1 ? row->keep_scale : 0;
}

static void check_row(int64_t n)
{
    struct attention_row row = random_row(n);
    float score[70], work[70], other[70], first[70], former_max = harness_random() % 2 ? -INFINITY : 0.5f,
                                                     former_sum = former_max < 0 ? 0 : 3;
    harness_fill(ACL_FLOAT, (char *)score, 4, n, -9, 9);
    double top = former_max, sum = 0;
    for (int64_t j = 0; j < n; j++)
        top = fmax(top, seen_score(&row, score, j));
    for (int64_t j = 0; j < n; j++)
        sum += top == -INFINITY ? 0 : exp(seen_score(&row, score, j) - top);
    sum += former_sum ? former_sum * exp(former_max - top) : 0;
    for (int level = 0; level < harness_levels(); level++) {
        float max = former_max, total = former_sum, factor;
        memcpy(work, score, sizeof work);
        factor = tables[level]->softmax(&row, work, &max, &total);
        near("max", max, top);
        near("sum", total, sum);
        near("factor", factor, former_max == -INFINITY ? 0 : exp(former_max - top));
        for (int64_t j = 0; j < n; j++)
            near("weight", work[j], top == -INFINITY ? 0 : exp(seen_score(&row, score, j) - top) * kept(&row, j));
        if (level == 0)
            memcpy(first, work, sizeof first);
        harness_compare(ACL_FLOAT, (char *)work, (char *)first, 4, n, 0, 0, harness_level_name(level));
        memcpy(work, score, sizeof work);
        tables[level]->weights(&row, work, other, max, total);
        for (int64_t j = 0; j < n; j++) {
            double w = total > 0 ? exp(seen_score(&row, score, j) - top) / sum : 0;
            near("probability", work[j], w);
            near("kept probability", other[j], w * kept(&row, j));
        }
        memcpy(other, score, sizeof other);
        tables[level]->gradient(&row, other, work, 0.25f);
        for (int64_t j = 0; j < n; j++)
            near("gradient", other[j], work[j] * (score[j] * kept(&row, j) - 0.25));
        float dot = tables[level]->dot(n, score, 1, work, 1), apart = tables[level]->dot(n / 2, score, 2, work, 1);
        double want = 0, want_apart = 0;
        for (int64_t j = 0; j < n; j++)
            want += (double)score[j] * work[j];
        for (int64_t j = 0; j < n / 2; j++)
            want_apart += (double)score[2 * j] * work[j];
        near("dot", dot, want);
        near("dot of every other", apart, want_apart);
    }
}

struct bench {
    const struct attention_kernels *kernels;
    struct attention_row row;
    float *score;
};

static void bench_softmax(void *arg)
{
    struct bench *b = arg;
    float max = -INFINITY, sum = 0;
    b->kernels->softmax(&b->row, b->score, &max, &sum);
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    if (harness_wants("attention rows"))
        for (int round = 0; round < 20; round++)
            for (int64_t n = 1; n <= 67; n++)
                check_row(n);
    struct bench b = {.row = {.n = 256, .to = 256}, .score = (float *)harness_buffer(SCORE, 1024)};
    harness_fill(ACL_FLOAT, (char *)b.score, 4, 256, -5, 5);
    for (int level = 0; level < harness_levels(); level++) {
        b.kernels = tables[level];
        harness_time("softmax row of 256", level, bench_softmax, &b, 256, 2048);
    }
    return harness_end();
}

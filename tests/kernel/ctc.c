/* SPDX-License-Identifier: BSD-3-Clause */
/* CTC against the sum over all paths of short sequences, its gradient against differences; equal bits at all levels. */
#include "harness.h"
#include "kernels/ctc.h"

#include <math.h>

static const struct ctc_kernels *const tables[] = HARNESS_TABLES(ctc_kernels);
enum { TIMES = 5, CLASSES = 4, BLANK = 1, STATES = 7, SIZE = TIMES * CLASSES };

/* The probability of all paths that collapse to the labels. */
static double brute(const double *logs, int64_t times, const int64_t *label, int64_t labels)
{
    double sum = 0;
    int64_t paths = 1;
    for (int64_t t = 0; t < times; t++)
        paths *= CLASSES;
    for (int64_t path = 0; path < paths; path++) {
        int64_t rest = path, last = BLANK, seen = 0;
        double p = 0;
        bool fits = true;
        for (int64_t t = 0; t < times; t++, rest /= CLASSES) {
            int64_t k = rest % CLASSES;
            p += logs[t * CLASSES + k];
            if (k != BLANK && k != last)
                fits = fits && seen < labels && label[seen++] == k;
            last = k;
        }
        sum += fits && seen == labels ? exp(p) : 0;
    }
    return sum;
}

static void one(aclDataType type, int64_t times, int64_t labels, uint64_t pattern)
{
    int64_t size = (int64_t)dtype_size(type), label[3];
    double logs[SIZE], near = type == ACL_FLOAT ? 2e-5 : 1e-11;
    char first[2][SIZE * STATES * 8];
    for (int64_t i = 0; i < labels; i++, pattern /= 3)
        label[i] = (int64_t)(pattern % 3) + (pattern % 3 >= BLANK);
    struct ctc c = {times, CLASSES, BLANK, labels, label, CLASSES, STATES, TIMES};
    char *p = harness_buffer(0, (size_t)(SIZE * size));
    for (int i = 0; i < SIZE; i++) {
        harness_put(type, p + i * size, harness_uniform(-3, -0.1));
        logs[i] = harness_value(type, p + i * size);
    }
    double want = -log(brute(logs, times, label, labels));
    for (int level = 0; level < harness_levels(); level++) {
        char *alpha = harness_buffer(1, (size_t)(TIMES * STATES * size)),
             *out = harness_buffer(2, (size_t)(SIZE * size));
        double beta[2 * STATES], sums[CLASSES];
        memset(out, 0, (size_t)(SIZE * size));
        double nll = tables[level]->forward(&c, type, p, alpha);
        CHECK(nll == want || fabs(nll - want) < near * (1 + fabs(want)));
        if (isinf(want))
            continue;
        tables[level]->gradient(&c, type, p, alpha, nll, 0.5, beta, sums, out);
        harness_guard(1);
        harness_guard(2);
        size_t bytes[] = {(size_t)(TIMES * STATES * size), (size_t)(SIZE * size)};
        if (level) {
            CHECK(memcmp(first[0], alpha, bytes[0]) == 0 && memcmp(first[1], out, bytes[1]) == 0);
            continue;
        }
        memcpy(first[0], alpha, bytes[0]);
        memcpy(first[1], out, bytes[1]);
        /* by a logit: the derivative along p plus what normalising takes away */
        for (int i = 0; i < SIZE; i++) {
            double kept = logs[i], h = 1e-6, moved[2];
            for (int s = 0; s < 2; s++) {
                logs[i] = kept + (s ? h : -h);
                moved[s] = -log(brute(logs, times, label, labels));
            }
            logs[i] = kept;
            double slope = i / CLASSES < times ? 0.5 * ((moved[1] - moved[0]) / (2 * h) + exp(kept)) : 0;
            CHECK(fabs(slope - harness_value(type, out + i * size)) < (type == ACL_FLOAT ? 1e-4 : 1e-7));
        }
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (int t = 0; t < 2; t++)
        if (harness_wants(t ? "ctc double" : "ctc float"))
            for (int64_t times = 1; times <= TIMES; times++)
                for (int64_t labels = 0; labels <= 3; labels++)
                    for (uint64_t pattern = 0; pattern < (labels ? 27 : 1); pattern += 5)
                        one(t ? ACL_DOUBLE : ACL_FLOAT, times, labels, pattern);
    return harness_end();
}

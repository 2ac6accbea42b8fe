/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting and selecting by mask. */
#include "harness.h"
#include "kernels/masked.h"

static const struct masked_kernels *const tables[] = HARNESS_TABLES(masked_kernels);

static void check_select(size_t element, int64_t n, int density)
{
    int64_t e = (int64_t)element, chosen = 0;
    char *src = harness_buffer(0, (size_t)(n * e)), *mask = harness_buffer(1, (size_t)n);
    harness_fill(ACL_UINT8, src, 1, n * e, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        mask[i] = (int)(harness_random() % 8) < density ? (char)(harness_random() | 1) : 0;
        chosen += mask[i] != 0;
    }
    for (int level = 0; level < harness_levels(); level++) {
        int64_t room = chosen - (chosen > 3), step = 2 * e; /* also when there is less room */
        char *dst = harness_buffer(2, (size_t)(room * step));
        int wrong = 0;
        CHECK_EQ(tables[level]->count(n, (const uint8_t *)mask), chosen);
        tables[level]->select(element, n, dst, step, room, src, (const uint8_t *)mask);
        for (int64_t i = 0, at = 0; i < n && at < room; i++)
            if (mask[i]) {
                wrong += memcmp(dst + at * step, src + i * e, element) != 0 || dst[at * step + e] != (char)0xa5;
                at++;
            }
        CHECK_EQ(wrong, 0);
        harness_guard(2);
    }
}

struct bench {
    const struct masked_kernels *kernels;
    char *dst, *src, *mask;
};

static void bench_select(void *arg)
{
    struct bench *b = arg;
    b->kernels->select(4, 4096, b->dst, 4, 4096, b->src, (const uint8_t *)b->mask);
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (size_t element = 1; element <= 16; element *= 2) {
        char name[32];
        snprintf(name, sizeof name, "select %zu", element);
        if (!harness_wants(name))
            continue;
        for (int64_t n = 0; n <= 67; n++)
            for (int density = 0; density <= 8; density += 2)
                check_select(element, n, density);
        check_select(element, 4099, 1);
    }
    struct bench b = {NULL, harness_buffer(2, 16384), harness_buffer(0, 16384), harness_buffer(1, 4096)};
    harness_fill(ACL_BOOL, b.mask, 1, 4096, 0, 1);
    for (int level = 0; level < harness_levels(); level++) {
        b.kernels = tables[level];
        harness_time("select 4", level, bench_select, &b, 4096, 4096 * 5);
    }
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Searching against counting: the place of a value is how many elements come before it. */
#include "harness.h"
#include "kernels/search.h"

#include <math.h>

static const struct search_kernels *const tables[] = HARNESS_TABLES(search_kernels);

static void check_floats(int64_t n, int64_t m, bool right, bool sorted_by_index)
{
    float *sequence = (float *)harness_buffer(0, (size_t)n * 4), *values = (float *)harness_buffer(1, (size_t)m * 4);
    int64_t *sorter = (int64_t *)harness_buffer(2, (size_t)n * 8),
            *places = (int64_t *)harness_buffer(3, (size_t)m * 8);
    float at = -3;
    for (int64_t i = 0; i < n; i++) {
        at += (float)(harness_random() % 3) * 0.5f; /* with repetitions */
        sorter[i] = (i * 7 + 3) % n;
        sequence[sorted_by_index ? sorter[i] : i] = at;
    }
    for (int64_t j = 0; j < m; j++)
        values[j] = j % 7 == 6 ? NAN : (float)(harness_random() % 100) * 0.5f - 4;
    for (int level = 0; level < harness_levels(); level++) {
        struct search s = {ACL_FLOAT, n, (char *)sequence, sorted_by_index ? sorter : NULL,
                           right,     m, (char *)values,   places};
        tables[level]->run(&s);
        int wrong = 0;
        for (int64_t j = 0; j < m; j++) {
            int64_t before = 0;
            for (int64_t i = 0; i < n; i++)
                before += isnan(values[j]) || (right ? sequence[i] <= values[j] : sequence[i] < values[j]);
            wrong += places[j] != before;
        }
        CHECK_EQ(wrong, 0);
        harness_guard(3);
    }
}

static void check_unsigned(void)
{
    const uint64_t sequence[] = {0, 5, 5, UINT64_C(1) << 63, UINT64_MAX},
                   values[] = {0, 5, 6, UINT64_C(1) << 63, UINT64_MAX};
    const int64_t left[] = {0, 1, 3, 3, 4}, right[] = {1, 3, 3, 4, 5};
    for (int level = 0; level < harness_levels(); level++) {
        int64_t places[5];
        struct search s = {ACL_UINT64, 5, (const char *)sequence, NULL, false, 5, (const char *)values, places};
        tables[level]->run(&s);
        CHECK(memcmp(places, left, sizeof left) == 0);
        s.right = true;
        tables[level]->run(&s);
        CHECK(memcmp(places, right, sizeof right) == 0);
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    if (harness_wants("search"))
        for (int64_t n = 1; n <= 67; n += n % 7 == 6 ? 2 : 1) /* not a multiple of 7: the sorter is a permutation */
            for (int way = 0; way < 4; way++)
                if (n % 7)
                    check_floats(n, 40, way & 1, way & 2);
    check_unsigned();
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms of 3×3 kernels: one channel's tiles through all three against the plain sum in double, for
 * every number of tiles and both widths, kernels turned or not; infinities and NaN are told; the same bits at every
 * level. */
#include "harness.h"
#include "kernels/winograd.h"

#include <math.h>

static const struct winograd_kernels *const tables[] = HARNESS_TABLES(winograd_kernels);
enum {
    TILES = WINOGRAD_TILES,
    LINE = TILES + WINOGRAD_SLACK,
    SIDE = 2 * TILES + 2,
    HALF = TILES + 1 /* columns of one residue */
};

struct channel {
    float image[4][SIDE], kernel[9], bias;
    int tiles, width;
    bool second, turned;
};

static double plain(const struct channel *c, int row, int column)
{
    double sum = c->bias;
    for (int t = 0; t < 9; t++)
        sum += (double)c->image[row + t / 3][column + t % 3] * c->kernel[c->turned ? 8 - t : t];
    return sum;
}

/* y[2][SIDE]; the products of the one channel are taken here. */
static bool transformed(const struct winograd_kernels *kernels, const struct channel *c, float *y)
{
    float *planes = (float *)harness_buffer(0, (8 * HALF + CONV_SLACK) * sizeof(float));
    float *g = (float *)harness_buffer(1, WINOGRAD_PLACES * sizeof(float));
    float *d = (float *)harness_buffer(2, WINOGRAD_PLACES * LINE * sizeof(float));
    int64_t at[WINOGRAD_PLACES];
    int first = c->tiles / 3; /* in two runs */
    struct conv_run run[2] = {{0, 0, first}, {first, first, c->tiles - first}};
    memset(planes, 0, (8 * HALF + CONV_SLACK) * sizeof(float));
    memset(d, 0, WINOGRAD_PLACES * LINE * sizeof(float));
    for (int i = 0; i < 4; i++) {
        for (int x = 0; x < SIDE; x++)
            planes[(2 * i + x % 2) * HALF + x / 2] = c->image[i][x];
        for (int j = 0; j < 4; j++)
            at[4 * i + j] = (2 * i + j % 2) * HALF + j / 2;
    }
    kernels->weights(g, 1, c->kernel, 9, 1, c->turned);
    kernels->tiles(d, LINE, planes, at, run, 2);
    for (int i = 0; i < WINOGRAD_PLACES * LINE; i++)
        d[i] *= g[i / LINE];
    bool strange = kernels->results(y, SIDE, c->width, c->second, d, LINE, c->tiles, c->bias);
    harness_guard(1), harness_guard(2), harness_guard(3);
    return strange;
}

static void channel_of(int tiles, int variant)
{
    struct channel c = {.tiles = tiles,
                        .width = 2 * tiles - variant % 2,
                        .second = variant / 2 % 2,
                        .turned = variant / 4 % 2,
                        .bias = (float)harness_uniform(-3, 3)};
    harness_fill(ACL_FLOAT, (char *)c.image, sizeof(float), 4 * SIDE, -3, 3);
    harness_fill(ACL_FLOAT, (char *)c.kernel, sizeof(float), 9, -3, 3);
    float want[2 * SIDE];
    for (int level = 0; level < harness_levels(); level++) {
        float *y = (float *)harness_buffer(3, 2 * SIDE * sizeof(float));
        int wrong = 0;
        memset(y, 0x7f, 2 * SIDE * sizeof(float));
        CHECK(!transformed(tables[level], &c, y));
        for (int i = 0; i < 2 * SIDE; i++) {
            bool written = i % SIDE < c.width && (i < SIDE || c.second);
            uint32_t untouched;
            memcpy(&untouched, &y[i], sizeof untouched);
            wrong += written ? !(fabs(y[i] - plain(&c, i / SIDE, i % SIDE)) < 1e-4) : untouched != 0x7f7f7f7f;
        }
        CHECK_EQ(wrong, 0);
        if (level)
            CHECK(memcmp(y, want, sizeof want) == 0);
        memcpy(want, y, sizeof want);
        struct channel strange = c;
        strange.image[1][c.width / 2] = level % 2 ? NAN : INFINITY; /* under the kernel of some result */
        CHECK(transformed(tables[level], &strange, y));
    }
}

/* Many kernels at once, apart in memory, give what each gives alone. */
static void weights_of(int64_t n, int64_t step)
{
    float *from = (float *)harness_buffer(0, (size_t)(n * step) * sizeof(float)), alone[WINOGRAD_PLACES];
    harness_fill(ACL_FLOAT, (char *)from, sizeof(float), n * step, -3, 3);
    for (int level = 0; level < harness_levels(); level++) {
        float *to = (float *)harness_buffer(1, (size_t)(n * WINOGRAD_PLACES) * sizeof(float));
        int wrong = 0;
        tables[level]->weights(to, n, from, step, n, n % 2);
        harness_guard(1);
        for (int64_t k = 0; k < n; k++) {
            tables[0]->weights(alone, 1, from + k * step, step, 1, n % 2);
            for (int place = 0; place < WINOGRAD_PLACES; place++)
                wrong += memcmp(&alone[place], &to[place * n + k], sizeof(float)) != 0;
        }
        CHECK_EQ(wrong, 0);
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (int tiles = 1; tiles <= TILES && harness_wants("winograd results"); tiles++)
        for (int variant = 0; variant < 8; variant++)
            channel_of(tiles, variant);
    for (int64_t n = 1; n <= 67 && harness_wants("winograd weights"); n++)
        weights_of(n, 9 + n % 3);
    return harness_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The weight's gradient of a convolution; see conv_run.h. */
#include "ops/conv_job.h"

enum { RUNS_MAX = GEMM_KC }; /* of a panel: at worst every pixel by itself */

/* Rows [i0, i1), columns [j0, j1) of one group: adds pixels [p0, p1) of the present chunk, counted through its images.
 */
static void weight_pixels(const struct conv *c, char *sums, int64_t group, int64_t i0, int64_t i1, int64_t j0,
                          int64_t j1, int64_t p0, int64_t p1, bool begin)
{
    int nr = c->gemm->nr;
    const struct part *part = &c->part[0];
    int64_t size = c->size, pixels = part->grid.count, channels = c->s.channels_y,
            inner = c->s.channels_x / c->s.groups;
    _Alignas(64) char panel[(GEMM_KC + 8) * GEMM_NR_MAX * sizeof(float)];
    struct conv_run run[RUNS_MAX];
    int runs = 0;
    for (int64_t p = p0; p < p1;) {
        int64_t image = p / pixels, here = p % pixels, end = min(pixels, here + p1 - p);
        runs +=
            conv_runs(c, &part->grid, here, end, image * c->s.channels_x * c->channel, (int32_t)(p - p0), run + runs);
        p += end - here;
    }
    int64_t row = group * (channels / c->s.groups) + i0;
    struct gemm_block b = {.m = i1 - i0,
                           .k = p1 - p0,
                           .a_cs = 1,
                           .b = panel,
                           .c_rs = part->taps,
                           .cin_rs = part->taps,
                           .cin_cs = 1,
                           .alpha = 1,
                           .beta = begin ? 0 : 1};
    if (c->side_by_side) {
        b.a_rs = c->s.images * pixels;
        b.a = c->side->data + (row * b.a_rs + c->first * pixels + p0) * size;
    } else {
        b.a_rs = pixels;
        b.a = c->side->data + (((c->first + p0 / pixels) * channels + row) * pixels + p0 % pixels) * size;
    }
    const char *planes = c->plane_buffer->data + group * inner * c->channel * size;
    for (int64_t j = j0; j < j1; j += nr) {
        b.n = min(nr, j1 - j);
        c->kernels->pack_turned(panel, planes, part->at + j, b.n, run, runs);
        b.c = sums + ((row * part->taps) + j) * size;
        b.cin = b.c;
        c->gemm->block(&b);
    }
}

static void run_weights(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    int64_t columns = c->tiles.tiles_n, rows = c->tiles.tiles_m, pixels = c->part->grid.count;
    int64_t width = c->part->taps, height = c->s.channels_y / c->s.groups;
    for (int64_t t = begin; t < end; t++) {
        int64_t rest = t, j = rest % columns * c->tiles.tile_n;
        int64_t i = (rest /= columns) % rows * c->tiles.tile_m;
        int64_t group = (rest /= rows) % c->s.groups, segment = rest / c->s.groups;
        int64_t p = c->now * segment / c->segments * pixels, stop = c->now * (segment + 1) / c->segments * pixels;
        int64_t depth = gemm_depth(c->side_by_side ? stop - p : pixels);
        char *sums = c->sums->data + segment * c->s.channels_y * width * c->size;
        for (bool first = c->first == 0; p < stop; first = false) {
            int64_t most = c->side_by_side ? stop - p : pixels - p % pixels, n = min(depth, most);
            weight_pixels(c, sums, group, i, min(height, i + c->tiles.tile_m), j, min(width, j + c->tiles.tile_n), p,
                          p + n, first);
            p += n;
        }
    }
}

/* Few channels in a group: each weight is a dot product of a channel of y and a tap's plane. */
static void run_dots(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    const struct grid *g = &c->part->grid;
    int64_t inner = c->s.channels_x / c->s.groups, height = c->s.channels_y / c->s.groups, taps = c->part->taps;
    int64_t pitch = c->planes.plane[2], slice = pitch * c->planes.plane[1];
    for (int64_t t = begin; t < end; t++) {
        int64_t channel = t / taps, tap = t % taps, group = channel / height;
        char *sum = c->sums->data + t * c->size;
        if (c->first == 0)
            memset(sum, 0, (size_t)c->size);
        for (int64_t image = 0; image < c->now; image++) {
            const char *y = c->side->data + ((c->first + image) * c->s.channels_y + channel) * g->count * c->size;
            const char *planes = c->plane_buffer->data +
                                 ((image * c->s.channels_x + group * inner) * c->channel + c->part->at[tap]) * c->size;
            for (int64_t d = 0; d < g->size[0]; d++)
                c->kernels->dot(sum, y + d * g->size[1] * g->size[2] * c->size, planes + d * slice * c->size,
                                g->size[1], g->size[2], pitch);
        }
    }
}

static void run_add_segments(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    int64_t all = c->s.channels_y * c->part->taps;
    for (int64_t i = begin; i < end; i++)
        if (c->size == 4) {
            const float *from = (const float *)c->sums->data;
            float sum = from[i];
            for (int64_t s = 1; s < c->segments; s++)
                sum += from[s * all + i];
            ((float *)c->w->data)[i] = sum;
        } else {
            const double *from = (const double *)c->sums->data;
            double sum = from[i];
            for (int64_t s = 1; s < c->segments; s++)
                sum += from[s * all + i];
            ((double *)c->w->data)[i] = sum;
        }
}

int conv_run_gradient(void *arg)
{
    struct conv *c = arg;
    int64_t all = c->s.channels_y * c->part->taps;
    bool dots = c->tiles.tiles_m == 0;
    for (c->first = 0; c->first < c->s.images; c->first += c->chunk) {
        c->now = min(c->chunk, c->s.images - c->first);
        conv_make_planes(c);
        if (dots)
            parallel(all, max(1, 16384 / (c->now * c->part->grid.count + 1)), run_dots, c);
        else
            parallel(c->segments * c->s.groups * c->tiles.tiles_m * c->tiles.tiles_n, 1, run_weights, c);
    }
    if (c->segments > 1)
        parallel(all, 4096, run_add_segments, c);
    return 0;
}

/* ---- the bias's gradient ---- */

struct sums {
    struct view *sum, *v;
    int64_t images, channels, pixels;
};

static void run_sums(void *arg, int64_t begin, int64_t end)
{
    const struct sums *s = arg;
    int64_t size = (int64_t)dtype_size(s->v->dtype);
    for (int64_t channel = begin; channel < end; channel++) {
        double all = 0;
        for (int64_t image = 0; image < s->images; image++) {
            const char *from = s->v->data + (image * s->channels + channel) * s->pixels * size;
            union {
                float f;
                double d;
            } one;
            if (size == 4) {
                ISA_PICK(conv_kernels)->f32.total(&one, from, s->pixels);
                all += one.f;
            } else {
                ISA_PICK(conv_kernels)->f64.total(&one, from, s->pixels);
                all += one.d;
            }
        }
        if (size == 4)
            ((float *)s->sum->data)[channel] = (float)all;
        else
            ((double *)s->sum->data)[channel] = all;
    }
}

static int run_channel_sums(void *arg)
{
    struct sums *s = arg;
    parallel(s->channels, max(1, 32768 / (s->images * s->pixels + 1)), run_sums, s);
    return 0;
}

void plan_channel_sums(struct plan *plan, struct view *sum, struct view *v, int64_t images, int64_t channels,
                       int64_t pixels)
{
    struct sums *s = plan_alloc(plan, sizeof *s);
    *s = (struct sums){sum, v, images, channels, pixels};
    plan_step(plan, run_channel_sums, s, (uint64_t)(view_count(v) / 4));
}

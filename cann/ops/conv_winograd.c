/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of 3×3 kernels and stride 1 by Winograd's transforms (kernels/winograd.h): tiles of four by four pixels
 * are the taps of a convolution of 4×4 kernels and stride 2, so the planes and runs of conv_job.h serve them. Panels of
 * tiles go through three phases: transform, 16 products over the channels, transform back. An infinity or a NaN would
 * spread over its tile and lie where it does not belong, so images that have one in their result are computed directly.
 */
#include "kernels/winograd.h"
#include "ops/conv_job.h"

enum {
    CHANNELS = 64,         /* with fewer the transforms cost more than the products save */
    TILES = 24,            /* the same, with fewer tiles in all */
    TILES_FIXED = 12,      /* with weights that are transformed once */
    BLOCK_BYTES = 1 << 20, /* of transformed tiles and products at a time */
    ROW = WINOGRAD_TILES + WINOGRAD_SLACK
};

struct winograd {
    struct conv *tiles, *direct;
    const struct winograd_kernels *kernels;
    int64_t rows, inner; /* channels of the result and of the image */
    bool turned;         /* weights are [inner][rows], their kernels to be turned */
    float *kept;         /* fixed weights, [16][rows][inner], once they are `transformed`; else NULL */
    bool transformed;
    struct view *weights, *in, *out; /* the same, [panels][16][inner][ROW], [panels][16][rows][tiles] */
    int64_t weights_apart, in_apart,
        out_apart;                 /* from place to place: a line more, so that they share no set of a cache */
    int64_t block;                 /* panels at a time */
    int64_t from, panels, columns; /* present block: first column, panels; columns of the chunk */
    unsigned char *strange;        /* of each image: its result is not finite */
};

static bool is_size(const int64_t *size, int64_t depth, int64_t side)
{
    return size[0] == depth && size[1] == side && size[2] == side;
}

bool conv_winograd_fits(const struct conv *direct)
{
    const struct conv_shape *s = &direct->s;
    const int64_t *to = direct->out == direct->x ? s->x : s->y;
    return direct->size == sizeof(float) && s->groups == 1 && is_size(s->kernel, 1, 3) && is_size(s->stride, 1, 1) &&
           is_size(s->dilation, 1, 1) && s->x[0] == 1 && s->y[0] == 1 && s->before[1] <= 2 && s->before[2] <= 2 &&
           direct->rows >= CHANNELS && direct->from_channels >= CHANNELS &&
           s->images * ((to[1] + 1) / 2) * ((to[2] + 1) / 2) >= (direct->fixed ? TILES_FIXED : TILES);
}

static float *floats(const struct view *v)
{
    return (float *)v->data;
}

static float *transformed_weights(const struct winograd *w)
{
    return w->kept ? w->kept : floats(w->weights);
}

static void run_weights(void *arg, int64_t begin, int64_t end)
{
    const struct winograd *w = arg;
    for (int64_t row = begin; row < end; row++)
        w->kernels->weights(transformed_weights(w) + row * w->inner, w->weights_apart,
                            floats(w->direct->w) + row * 9 * (w->turned ? 1 : w->inner), w->turned ? 9 * w->rows : 9,
                            w->inner, w->turned);
}

/* Columns of a panel, from the chunk's first column on. */
static int64_t panel_columns(const struct winograd *w, int64_t panel, int64_t *begin)
{
    *begin = w->from + panel * WINOGRAD_TILES;
    return min(WINOGRAD_TILES, w->columns - *begin);
}

static void run_in(void *arg, int64_t begin, int64_t end)
{
    const struct winograd *w = arg;
    const struct conv *c = w->tiles;
    struct conv_run run[WINOGRAD_TILES];
    int64_t now = -1;
    for (int64_t t = begin, runs = 0; t < end; t++) {
        int64_t panel = t / w->inner, channel = t % w->inner, column;
        if (panel != now) {
            int64_t count = panel_columns(w, panel, &column);
            runs = conv_column_runs(c, c->part, column, column + count, run);
            now = panel;
        }
        w->kernels->tiles(floats(w->in) + panel * WINOGRAD_PLACES * w->in_apart + channel * ROW, w->in_apart,
                          floats(c->plane_buffer) + channel * c->channel, c->part->at, run, (int)runs);
    }
}

static void run_products(void *arg, int64_t begin, int64_t end)
{
    const struct winograd *w = arg;
    int64_t depth = gemm_depth(w->inner);
    for (int64_t t = begin; t < end; t++) {
        int64_t place = t / w->panels, panel = t % w->panels, at = panel * WINOGRAD_PLACES + place, column;
        float *out = floats(w->out) + at * w->out_apart;
        struct gemm_block b = {.m = w->rows,
                               .n = (panel_columns(w, panel, &column) + 15) / 16 * 16,
                               .a_rs = w->inner,
                               .a_cs = 1,
                               .b_rs = ROW,
                               .c = out,
                               .cin = out,
                               .c_rs = WINOGRAD_TILES,
                               .cin_rs = WINOGRAD_TILES,
                               .cin_cs = 1,
                               .alpha = 1};
        for (int64_t k = 0; k < w->inner; k += depth) {
            b.k = min(depth, w->inner - k);
            b.a = transformed_weights(w) + place * w->weights_apart + k;
            b.b = floats(w->in) + at * w->in_apart + k * ROW;
            b.beta = k ? 1 : 0;
            w->direct->gemm->block(&b);
        }
    }
}

static void run_out(void *arg, int64_t begin, int64_t end)
{
    const struct winograd *w = arg;
    const struct conv *c = w->direct;
    const int64_t *size = c->out == c->x ? c->s.x : c->s.y, *tiles = w->tiles->part->grid.size;
    for (int64_t t = begin; t < end; t++) {
        int64_t panel = t / w->rows, row = t % w->rows, p, n;
        int64_t count = panel_columns(w, panel, &p);
        const float *products = floats(w->out) + panel * WINOGRAD_PLACES * w->out_apart + row * WINOGRAD_TILES;
        float bias = c->bias ? floats(c->bias)[row] : 0;
        for (int64_t end_p = p + count; p < end_p; p += n, products += n) {
            int64_t image = w->tiles->first + p / (tiles[1] * tiles[2]), y = p / tiles[2] % tiles[1], x = p % tiles[2];
            n = min(tiles[2] - x, end_p - p);
            float *to = floats(c->out) + (image * w->rows + row) * c->row + 2 * y * size[2] + 2 * x;
            if (w->kernels->results(to, size[2], min(2 * n, size[2] - 2 * x), 2 * y + 1 < size[1], products,
                                    w->out_apart, n, bias))
                __atomic_store_n(&w->strange[image], 1, __ATOMIC_RELAXED);
        }
    }
}

/* The images of the present chunk whose result is not finite. */
static void repeat(struct winograd *w, bool *weights_turned)
{
    for (int64_t image = w->tiles->first; image < w->tiles->first + w->tiles->now; image++) {
        if (!w->strange[image])
            continue;
        if (w->turned && !*weights_turned)
            conv_turn_weights(w->direct);
        *weights_turned = true;
        conv_run_chunk(w->direct, image, 1);
        w->strange[image] = 0;
    }
}

static int run_winograd(void *arg)
{
    struct winograd *w = arg;
    struct conv *c = w->tiles;
    bool weights_turned = false;
    if (!w->transformed)
        parallel(w->rows, max(1, 4096 / w->inner), run_weights, w);
    w->transformed = w->kept != NULL;
    for (c->first = 0; c->first < c->s.images; c->first += c->chunk) {
        c->now = min(c->chunk, c->s.images - c->first);
        conv_make_planes(c);
        w->columns = c->now * c->part->grid.count;
        for (w->from = 0; w->from < w->columns; w->from += w->block * WINOGRAD_TILES) {
            w->panels = min(w->block, (w->columns - w->from + WINOGRAD_TILES - 1) / WINOGRAD_TILES);
            parallel(w->panels * w->inner, 16, run_in, w);
            parallel(w->panels * WINOGRAD_PLACES, 1, run_products, w);
            parallel(w->panels * w->rows, 16, run_out, w);
        }
        repeat(w, &weights_turned);
    }
    return 0;
}

int conv_plan_winograd(struct plan *plan, struct conv *direct)
{
    const struct conv_shape *s = &direct->s;
    struct winograd *w = plan_alloc(plan, sizeof *w);
    bool turned = direct->out == direct->x;
    *w = (struct winograd){.direct = direct,
                           .kernels = ISA_PICK(winograd_kernels),
                           .rows = direct->rows,
                           .inner = direct->from_channels,
                           .turned = turned,
                           .strange = plan_alloc(plan, (size_t)s->images)};
    struct conv_shape shape = {.images = s->images,
                               .groups = 1,
                               .channels_x = w->inner,
                               .channels_y = w->rows,
                               .kernel = {1, 4, 4},
                               .stride = {1, 2, 2},
                               .dilation = {1, 1, 1}};
    for (int d = 0; d < 3; d++) {
        int64_t to = turned ? s->x[d] : s->y[d];
        shape.x[d] = turned ? s->y[d] : s->x[d];
        shape.y[d] = d ? (to + 1) / 2 : 1;
        shape.before[d] = turned && d ? 2 - s->before[d] : s->before[d];
    }
    w->tiles = conv_make(plan, &shape, (struct conv_views){.x = direct->from}, ACL_FLOAT);
    TRY(conv_plan_x_planes(plan, w->tiles, ACL_FLOAT));
    w->weights_apart = w->rows * w->inner + 16;
    w->in_apart = w->inner * ROW + 16;
    w->out_apart = w->rows * WINOGRAD_TILES + 16;
    int64_t columns = w->tiles->chunk * w->tiles->part->grid.count,
            panels = (columns + WINOGRAD_TILES - 1) / WINOGRAD_TILES;
    int64_t bytes = WINOGRAD_PLACES * (w->in_apart + w->out_apart) * (int64_t)sizeof(float);
    w->block = max(1, min(panels, BLOCK_BYTES / bytes));
    int64_t weights = WINOGRAD_PLACES * w->weights_apart;
    if (direct->fixed)
        w->kept = plan_alloc(plan, (size_t)weights * sizeof(float));
    else
        w->weights = plan_temp(plan, ACL_FLOAT, 1, &weights);
    w->in = plan_temp(plan, ACL_FLOAT, 1, (int64_t[]){w->block * WINOGRAD_PLACES * w->in_apart});
    w->out = plan_temp(plan, ACL_FLOAT, 1, (int64_t[]){w->block * WINOGRAD_PLACES * w->out_apart + WINOGRAD_SLACK});
    plan_step(plan, run_winograd, w,
              conv_work(4.0 * (double)w->rows * (double)w->inner * (double)columns *
                        (double)((s->images + w->tiles->chunk - 1) / w->tiles->chunk)));
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See conv_run.h. A job runs chunk by chunk: planes of the chunk's images, then tiles of the product. */
#include "ops/conv_job.h"

/* ---- pixels and planes ---- */

/* Pixels [begin, end) of a grid as runs that lie together in the planes. */
int conv_runs(const struct conv *c, const struct grid *g, int64_t begin, int64_t end, int64_t from, int32_t to,
              struct conv_run *run)
{
    int n = 0;
    int64_t row = c->planes.plane[2], slice = row * c->planes.plane[1];
    int64_t w = begin % g->size[2], h = begin / g->size[2] % g->size[1], d = begin / g->size[2] / g->size[1];
    for (int64_t p = begin; p < end; w = 0) {
        int64_t count = min(g->size[2] - w, end - p), at = from + g->from + d * slice + h * row + w;
        if (n && run[n - 1].from + run[n - 1].count == at)
            run[n - 1].count += (int32_t)count;
        else
            run[n++] = (struct conv_run){at, to, (int32_t)count};
        to += (int32_t)count;
        p += count;
        if (++h == g->size[1]) {
            h = 0;
            d++;
        }
    }
    return n;
}

static void run_planes(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    const struct view *v = c->from;
    int64_t element = (int64_t)dtype_size(v->dtype);
    for (int64_t i = begin; i < end; i++) {
        int64_t image = c->first + i / c->from_channels, channel = i % c->from_channels;
        c->tables->planes(c->plane_buffer->data + i * c->channel * c->size,
                          v->data + (image * v->stride[0] + channel * v->stride[1]) * element, v->dtype, &c->planes);
    }
}

void conv_make_planes(struct conv *c)
{
    if (!c->direct)
        parallel(c->now * c->from_channels, max(1, 16384 / c->channel), run_planes, c);
}

/* ---- x and y ---- */

/* Pixels of a part that lie side by side: of one image, or of all images of the chunk. */
static int64_t part_columns(const struct conv *c, const struct part *part)
{
    return c->buffer ? c->now * part->grid.count : part->grid.count;
}

/* Where a channel's pixels of a part go. */
static char *part_row(const struct conv *c, const struct part *part, int64_t image, int64_t channel)
{
    int64_t channels = c->rows * c->s.groups;
    if (!c->buffer)
        return c->out->data + ((c->first + image) * channels + channel) * c->row * c->size;
    return c->buffer->data +
           (part->before * channels * c->now + (channel * c->now + image) * part->grid.count) * c->size;
}

int conv_column_runs(const struct conv *c, const struct part *part, int64_t begin, int64_t end, struct conv_run *run)
{
    int runs = 0;
    for (int64_t p = begin; p < end;) {
        int64_t image = p / part->grid.count, here = p % part->grid.count, stop = min(part->grid.count, here + end - p);
        runs += conv_runs(c, &part->grid, here, stop, image * c->from_channels * c->channel, (int32_t)(p - begin),
                          run + runs);
        p += stop - here;
    }
    return runs;
}

/* Rows [i0, i1) of a group, columns [j0, j1) of a part; image is 0 when columns go through all images. */
static void part_tile(const struct conv *c, const struct part *part, int64_t image, int64_t group, int64_t i0,
                      int64_t i1, int64_t j0, int64_t j1)
{
    int nr = c->gemm->nr;
    int64_t size = c->size, taps = part->taps, inner = c->from_channels / c->s.groups, depth = gemm_depth(taps);
    _Alignas(64) char panel[(GEMM_KC * GEMM_NR_MAX + CONV_SLACK) * sizeof(float)];
    struct conv_run run[GEMM_NR_MAX];
    char *out = part_row(c, part, image, group * c->rows);
    const char *planes = c->plane_buffer->data + (image * c->s.groups + group) * inner * c->channel * size;
    const char *weights = c->weights->data + (group * c->rows * inner * volume(c->s.kernel) + part->weight) * size;
    const char *bias = c->bias ? c->bias->data + (group * c->rows + i0) * size : NULL;
    struct gemm_block b = {.m = i1 - i0,
                           .a_rs = taps,
                           .a_cs = 1,
                           .alpha = 1,
                           .b = panel,
                           .c_rs = c->buffer ? part_columns(c, part) : c->row};
    for (int64_t k = 0; k == 0 || k < taps; k += depth) {
        b.k = min(depth, taps - k);
        b.a = weights + (i0 * taps + k) * size;
        for (int64_t j = j0; j < j1; j += nr) {
            b.n = min(nr, j1 - j);
            int runs = conv_column_runs(c, part, j, j + b.n, run);
            c->kernels->pack(panel, planes, part->at + k, b.k, run, runs);
            b.c = out + (i0 * b.c_rs + j) * size;
            b.cin = k ? b.c : bias;
            b.cin_rs = k ? b.c_rs : 1;
            b.cin_cs = k ? 1 : 0;
            b.beta = b.cin ? 1 : 0;
            c->gemm->block(&b);
        }
    }
}

static void direct_tile(const struct conv *c, int64_t image, int64_t group, int64_t i0, int64_t i1, int64_t j0,
                        int64_t j1)
{
    int64_t inner = c->from_channels / c->s.groups;
    bool forward = c->from == c->x;
    struct gemm g = {.kernels = c->gemm,
                     .m = c->rows,
                     .n = c->row,
                     .k = inner,
                     .alpha = 1,
                     .a_rs = forward ? inner : 1,
                     .a_cs = forward ? 1 : c->rows,
                     .b_rs = c->row,
                     .b_cs = 1,
                     .c_rs = c->row,
                     .cin_rs = 1};
    int64_t at = (c->first + image) * c->s.groups + group;
    g.a = c->w->data + group * c->rows * inner * c->size;
    g.b = c->from->data + at * inner * c->row * c->size;
    g.c = c->out->data + at * c->rows * c->row * c->size;
    g.cin = c->bias ? c->bias->data + group * c->rows * c->size : g.c;
    g.beta = c->bias ? 1 : 0;
    gemm_part(&g, i0, i1, j0, j1);
}

static void run_tiles(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    int64_t columns = c->tiles.tiles_n, rows = c->tiles.tiles_m, images = c->buffer ? 1 : c->now;
    for (int64_t t = begin; t < end; t++) {
        int64_t rest = t, j = rest % columns * c->tiles.tile_n;
        int64_t i = (rest /= columns) % rows * c->tiles.tile_m;
        int64_t group = (rest /= rows) % c->s.groups, image = (rest /= c->s.groups) % images;
        const struct part *part = &c->part[rest / images];
        int64_t i1 = min(c->rows, i + c->tiles.tile_m), j1 = min(part_columns(c, part), j + c->tiles.tile_n);
        if (c->direct)
            direct_tile(c, image, group, i, i1, j, j1);
        else if (j < j1)
            part_tile(c, part, image, group, i, i1, j, j1);
    }
}

/* Few rows: every channel of out by itself, some rows of pixels at a time. */
static void run_rows(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    int64_t size = c->size, inner = c->from_channels / c->s.groups, all = inner * volume(c->s.kernel);
    int64_t pitch = c->planes.plane[2], slice = pitch * c->planes.plane[1];
    for (int64_t t = begin; t < end; t++) {
        int64_t channels = c->rows * c->s.groups, channel = t % channels, image = t / channels,
                group = channel / c->rows;
        const char *planes = c->plane_buffer->data + (image * c->s.groups + group) * inner * c->channel * size;
        const char *bias = c->bias ? c->bias->data + channel * size : NULL;
        for (int64_t p = 0; p < c->parts; p++) {
            const struct part *part = &c->part[p];
            const struct grid *g = &part->grid;
            const char *weights =
                c->weights->data + (group * c->rows * all + part->weight + channel % c->rows * part->taps) * size;
            char *to = part_row(c, part, image, channel);
            struct conv_row row[CONV_ROWS];
            int n = 0;
            for (int64_t i = 0; i < g->size[0] * g->size[1]; i++, to += g->size[2] * size) {
                int64_t from = g->from + i / g->size[1] * slice + i % g->size[1] * pitch;
                row[n++] = (struct conv_row){to, planes + from * size, weights, bias};
                if (n == CONV_ROWS || i + 1 == g->size[0] * g->size[1]) {
                    c->kernels->rows(row, n, g->size[2], part->at, part->taps);
                    n = 0;
                }
            }
        }
    }
}

/* A row of a part's pixels to every stride-th of a row of out. */
static void spread_row(char *to, const char *from, int64_t n, int64_t stride, int64_t size)
{
    if (stride == 1)
        memcpy(to, from, (size_t)(n * size));
    else if (size == 4)
        for (int64_t w = 0; w < n; w++)
            ((float *)to)[w * stride] = ((const float *)from)[w];
    else
        for (int64_t w = 0; w < n; w++)
            ((double *)to)[w * stride] = ((const double *)from)[w];
}

/* The buffer's channels to out. */
static void run_spread(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    const struct conv_shape *s = &c->s;
    int64_t channels = c->rows * s->groups;
    for (int64_t t = begin; t < end; t++) {
        char *out = c->out->data + (c->first * channels + t) * c->row * c->size;
        for (int64_t p = 0; p < c->parts; p++) {
            const struct part *part = &c->part[p];
            const int64_t *n = part->grid.size;
            const char *from = part_row(c, part, t / channels, t % channels);
            if (c->parts == 1) {
                memcpy(out, from, (size_t)(c->row * c->size));
                continue;
            }
            for (int64_t i = 0; i < n[0] * n[1]; i++) {
                int64_t pixel[3] = {i / n[1], i % n[1], 0}, at[3];
                for (int d = 0; d < 3; d++)
                    at[d] = (part->first[d] + pixel[d]) * s->stride[d] + part->residue[d] - s->before[d];
                int64_t to = (at[0] * s->x[1] + at[1]) * s->x[2] + at[2];
                spread_row(out + to * c->size, from + i * n[2] * c->size, n[2], s->stride[2], c->size);
            }
        }
    }
}

void conv_run_chunk(struct conv *c, int64_t first, int64_t count)
{
    int64_t channels = c->rows * c->s.groups;
    c->first = first;
    c->now = count;
    conv_make_planes(c);
    if (!c->direct && c->rows <= CONV_FEW_ROWS)
        parallel(c->now * channels, max(1, 16384 / (c->row + 1)), run_rows, c);
    else
        parallel(c->parts * (c->buffer ? 1 : c->now) * c->s.groups * c->tiles.tiles_m * c->tiles.tiles_n, 1, run_tiles,
                 c);
    if (c->buffer)
        parallel(c->now * channels, max(1, 16384 / c->row), run_spread, c);
}

int conv_run_images(void *arg)
{
    struct conv *c = arg;
    for (int64_t i = 0; i < c->s.images; i += c->chunk)
        conv_run_chunk(c, i, min(c->chunk, c->s.images - i));
    return 0;
}

/* n positions of `width` kernels that follow each other; n and size are constants where they are common, and whole
 * kernels lie together. */
static inline __attribute__((always_inline)) void take_positions(char *restrict to, int64_t step,
                                                                 const char *restrict from, int64_t kernel,
                                                                 int64_t width, const int64_t *restrict position,
                                                                 const int64_t n, const bool whole, const int64_t size)
{
    for (int64_t x = 0; x < width; x++, to += step, from += kernel * size)
        if (whole)
            memcpy(to, from, (size_t)(n * size));
        else
            for (int64_t i = 0; i < n; i++)
                memcpy(to + i * size, from + position[i] * size, (size_t)size);
}

static void take(char *to, int64_t step, const char *from, int64_t kernel, int64_t width, const struct part *part,
                 int64_t size)
{
    int64_t n = part->positions;
    if (n == kernel && n == 9 && size == 4)
        take_positions(to, step, from, kernel, width, part->position, 9, true, 4);
    else if (n == kernel)
        take_positions(to, step, from, kernel, width, part->position, n, true, size);
    else if (size == 4 && n == 1)
        take_positions(to, step, from, kernel, width, part->position, 1, false, 4);
    else if (size == 4 && n == 2)
        take_positions(to, step, from, kernel, width, part->position, 2, false, 4);
    else if (size == 4 && n == 4)
        take_positions(to, step, from, kernel, width, part->position, 4, false, 4);
    else if (size == 4)
        take_positions(to, step, from, kernel, width, part->position, n, false, 4);
    else
        take_positions(to, step, from, kernel, width, part->position, n, false, 8);
}

/* Channels [x0, x0 + width) of x and [y0, y0 + height) of y of a group's weights, to the place of one part; by way of a
 * block on the stack when it fits there, so that memory is written in stretches. */
static void turn_block(const struct conv *c, const struct part *part, int64_t group, int64_t x0, int64_t width,
                       int64_t y0, int64_t height)
{
    enum { BYTES = 16384 };
    char block[BYTES];
    int64_t cx = c->s.channels_x / c->s.groups, cy = c->s.channels_y / c->s.groups, kernel = volume(c->s.kernel);
    int64_t size = c->size, bytes = part->positions * size, first = group * cx * cy * kernel;
    bool fits = width * height * bytes <= BYTES;
    char *turned = c->weights->data + (first + part->weight) * size;
    for (int64_t y = y0; y < y0 + height; y++)
        take(fits ? block + (y - y0) * bytes : turned + (x0 * cy + y) * bytes, (fits ? height : cy) * bytes,
             c->w->data + (first + (y * cx + x0) * kernel) * size, kernel, width, part, size);
    for (int64_t x = 0; x < width && fits; x++)
        memcpy(turned + ((x0 + x) * cy + y0) * bytes, block + x * height * bytes, (size_t)(height * bytes));
}

/* The weights, from [groups][cy][cx][kernel] to [groups][part][cx][cy][positions], some channels of x at a time. */
static void run_turn(void *arg, int64_t begin, int64_t end)
{
    enum { HEIGHT = 16 };
    const struct conv *c = arg;
    int64_t cx = c->s.channels_x / c->s.groups, cy = c->s.channels_y / c->s.groups, kernel = volume(c->s.kernel);
    int64_t blocks = (cx + CONV_TURN_BLOCK - 1) / CONV_TURN_BLOCK;
    for (int64_t b = begin; b < end; b++) {
        int64_t group = b / blocks, x0 = b % blocks * CONV_TURN_BLOCK, width = min(cx - x0, CONV_TURN_BLOCK);
        for (int64_t y0 = 0; y0 < cy; y0 += HEIGHT) {
            int64_t height = min(cy - y0, HEIGHT);
            for (int64_t y = min(y0 + HEIGHT, cy); y < min(y0 + 2 * HEIGHT, cy); y++) {
                const char *soon = c->w->data + ((group * cy + y) * cx + x0) * kernel * c->size;
                for (int64_t byte = 0; byte < width * kernel * c->size; byte += 64)
                    __builtin_prefetch(soon + byte);
            }
            for (int64_t p = 0; p < c->parts; p++)
                if (c->part[p].positions)
                    turn_block(c, &c->part[p], group, x0, width, y0, height);
        }
    }
}

int conv_turn_weights(void *arg)
{
    struct conv *c = arg;
    int64_t cx = c->s.channels_x / c->s.groups, cy = c->s.channels_y / c->s.groups;
    int64_t grain = 32768 / (CONV_TURN_BLOCK * cy * volume(c->s.kernel) + 1);
    parallel(c->s.groups * ((cx + CONV_TURN_BLOCK - 1) / CONV_TURN_BLOCK), max(1, grain), run_turn, c);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See conv_run.h. A job runs chunk by chunk: planes of the chunk's images, then tiles of the product. */
#include "ops/conv_run.h"

#include "kernels/conv.h"
#include "ops/gemm.h"

enum {
    CHUNK_BYTES = 4 << 20, /* of planes made at a time */
    RUNS_MAX = GEMM_KC,    /* of a panel: at worst every pixel by itself */
    FEW_ROWS = 4,          /* fewer channels of a group are summed directly, without packing */
    SHORT_IMAGE = 256,     /* pixels; shorter ones are put side by side for the weight's gradient */
    SEGMENTS = 16,         /* of the images, when the weight is too small to be shared out */
    TURN_BLOCK = 16        /* channels of x whose weights are turned at a time */
};

/* Pixels that one product computes: a grid, and where its first pixel lies in the planes. */
struct grid {
    int64_t size[3], count;
    int64_t from;
};

/* One product: all pixels of a convolution, or those of one residue of a transposed one. */
struct part {
    struct grid grid;
    int64_t taps;                 /* of one group: channels × kernel positions */
    int64_t *at;                  /* where each lies in the planes */
    int64_t *position, positions; /* the kernel's, of a transposed convolution */
    int64_t weight;               /* elements before its weights in the group's */
    int64_t out;                  /* elements before its pixels in a channel of `out` */
    int64_t residue[3], first[3]; /* x = (first + pixel) * stride + residue - before */
};

struct conv {
    struct conv_shape s;
    const struct gemm_kernels *gemm;
    const struct conv_kernels *tables;
    const struct conv_type *kernels;
    int64_t size; /* bytes of an element */
    struct view *x, *y, *w, *bias;
    struct view *from;              /* the images whose planes are taken */
    int64_t from_channels, channel; /* channels of it; elements of a channel's planes */
    struct conv_planes planes;
    struct view *plane_buffer;
    struct view *weights; /* [groups][rows][taps]: w or its transpose */
    struct view *out;     /* y, x, or x by residues */
    int64_t rows, row;    /* channels of a group in out; elements of such a channel */
    struct part *part;
    int64_t parts;
    bool direct;               /* a kernel of one pixel on images as they lie: no planes */
    int64_t chunk, first, now; /* images: at a time, before and in the present chunk */
    struct gemm_tiles tiles;   /* of the largest part */
    /* the weight's gradient */
    struct view *side; /* y, or y as [channels][images × pixels] */
    bool side_by_side;
    int64_t segments;
    struct view *sums; /* [segments][w], w itself if there is but one */
};

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t volume(const int64_t *size)
{
    return size[0] * size[1] * size[2];
}

/* ---- pixels and planes ---- */

/* Pixels [begin, end) of a grid as runs that lie together in the planes. */
static int make_runs(const struct conv *c, const struct grid *g, int64_t begin, int64_t end, int64_t from, int32_t to,
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

static void make_planes(struct conv *c)
{
    if (!c->direct)
        parallel(c->now * c->from_channels, max(1, 16384 / c->channel), run_planes, c);
}

/* ---- x and y ---- */

/* Rows [i0, i1), pixels [j0, j1) of a part, for one image and group. */
static void part_tile(const struct conv *c, const struct part *part, int64_t image, int64_t group, int64_t i0,
                      int64_t i1, int64_t j0, int64_t j1)
{
    int nr = c->gemm->nr;
    int64_t size = c->size, taps = part->taps;
    _Alignas(64) char panel[(GEMM_KC * GEMM_NR_MAX + CONV_SLACK) * sizeof(float)];
    struct conv_run run[GEMM_NR_MAX];
    char *out = c->out->data + (((c->first + image) * c->s.groups + group) * c->rows * c->row + part->out) * size;
    const char *planes =
        c->plane_buffer->data + (image * c->s.groups + group) * (c->from_channels / c->s.groups) * c->channel * size;
    const char *weights =
        c->weights->data +
        (group * c->rows * volume(c->s.kernel) * (c->from_channels / c->s.groups) + part->weight) * size;
    const char *bias = c->bias ? c->bias->data + (group * c->rows + i0) * size : NULL;
    struct gemm_block b = {.m = i1 - i0, .a_rs = taps, .a_cs = 1, .c_rs = c->row, .alpha = 1, .b = panel};
    for (int64_t k = 0; k == 0 || k < taps; k += GEMM_KC) {
        b.k = min(GEMM_KC, taps - k);
        b.a = weights + (i0 * taps + k) * size;
        for (int64_t j = j0; j < j1; j += nr) {
            b.n = min(nr, j1 - j);
            int runs = make_runs(c, &part->grid, j, j + b.n, 0, 0, run);
            c->kernels->pack(panel, planes, part->at + k, b.k, run, runs);
            b.c = out + (i0 * c->row + j) * size;
            b.cin = k ? b.c : bias;
            b.cin_rs = k ? c->row : 1;
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
                     .size = c->size,
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
    int64_t columns = c->tiles.tiles_n, rows = c->tiles.tiles_m;
    for (int64_t t = begin; t < end; t++) {
        int64_t rest = t, j = rest % columns * c->tiles.tile_n;
        int64_t i = (rest /= columns) % rows * c->tiles.tile_m;
        int64_t group = (rest /= rows) % c->s.groups, image = (rest /= c->s.groups) % c->now;
        const struct part *part = &c->part[rest / c->now];
        int64_t i1 = min(c->rows, i + c->tiles.tile_m), j1 = min(part->grid.count, j + c->tiles.tile_n);
        if (c->direct)
            direct_tile(c, image, group, i, i1, j, j1);
        else if (j < j1)
            part_tile(c, part, image, group, i, i1, j, j1);
    }
}

/* Few rows: every channel of out by itself, row of pixels by row. */
static void run_rows(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    int64_t size = c->size, inner = c->from_channels / c->s.groups, all = inner * volume(c->s.kernel);
    int64_t pitch = c->planes.plane[2], slice = pitch * c->planes.plane[1];
    for (int64_t t = begin; t < end; t++) {
        int64_t channels = c->rows * c->s.groups, channel = t % channels, image = t / channels;
        int64_t group = channel / c->rows, row = channel % c->rows;
        char *out = c->out->data + ((c->first + image) * channels + channel) * c->row * size;
        const char *planes = c->plane_buffer->data + (image * c->s.groups + group) * inner * c->channel * size;
        const char *bias = c->bias ? c->bias->data + channel * size : NULL;
        for (int64_t p = 0; p < c->parts; p++) {
            const struct part *part = &c->part[p];
            const struct grid *g = &part->grid;
            const char *weights = c->weights->data + (group * c->rows * all + part->weight + row * part->taps) * size;
            char *to = out + part->out * size;
            for (int64_t d = 0; d < g->size[0]; d++)
                for (int64_t h = 0; h < g->size[1]; h++, to += g->size[2] * size)
                    c->kernels->row(to, g->size[2], planes + (g->from + d * slice + h * pitch) * size, part->at,
                                    weights, part->taps, bias);
        }
    }
}

/* The channels of out, which hold x by residues, to x. */
static void run_spread(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    const struct conv_shape *s = &c->s;
    for (int64_t t = begin; t < end; t++) {
        int64_t channel = c->first * s->channels_x + t;
        const char *from = c->out->data + channel * c->row * c->size;
        char *x = c->x->data + channel * c->row * c->size;
        for (int64_t p = 0; p < c->parts; p++) {
            const struct part *part = &c->part[p];
            const int64_t *n = part->grid.size;
            int64_t at[3];
            for (int64_t i = 0; i < n[0] * n[1]; i++) {
                int64_t pixel[3] = {i / n[1], i % n[1], 0};
                for (int d = 0; d < 3; d++)
                    at[d] = (part->first[d] + pixel[d]) * s->stride[d] + part->residue[d] - s->before[d];
                int64_t to = (at[0] * s->x[1] + at[1]) * s->x[2] + at[2], row = part->out + i * n[2];
                if (c->size == 4)
                    for (int64_t w = 0; w < n[2]; w++)
                        ((float *)x)[to + w * s->stride[2]] = ((const float *)from)[row + w];
                else
                    for (int64_t w = 0; w < n[2]; w++)
                        ((double *)x)[to + w * s->stride[2]] = ((const double *)from)[row + w];
            }
        }
    }
}

static int run_images(void *arg)
{
    struct conv *c = arg;
    for (c->first = 0; c->first < c->s.images; c->first += c->chunk) {
        c->now = min(c->chunk, c->s.images - c->first);
        make_planes(c);
        if (!c->direct && c->rows <= FEW_ROWS)
            parallel(c->now * c->s.groups * c->rows, max(1, 16384 / (c->row + 1)), run_rows, c);
        else
            parallel(c->parts * c->now * c->s.groups * c->tiles.tiles_m * c->tiles.tiles_n, 1, run_tiles, c);
        if (c->out != c->x && c->out != c->y)
            parallel(c->now * c->s.channels_x, max(1, 16384 / c->row), run_spread, c);
    }
    return 0;
}

/* w [groups][cy][cx][kernel] to [groups][parts][cx][cy × positions of the part], 16 channels of x at a time. */
static void run_transpose(void *arg, int64_t begin, int64_t end)
{
    const struct conv *c = arg;
    int64_t cx = c->s.channels_x / c->s.groups, cy = c->s.channels_y / c->s.groups, kernel = volume(c->s.kernel);
    int64_t blocks = (cx + TURN_BLOCK - 1) / TURN_BLOCK;
    for (int64_t b = begin; b < end; b++) {
        int64_t group = b / blocks, x0 = b % blocks * TURN_BLOCK, x1 = min(cx, x0 + TURN_BLOCK);
        for (int64_t p = 0; p < c->parts; p++) {
            const struct part *part = &c->part[p];
            for (int64_t y = 0; y < cy; y++)
                for (int64_t x = x0; x < x1; x++) {
                    int64_t from = ((group * cy + y) * cx + x) * kernel;
                    int64_t to = group * cx * cy * kernel + part->weight + (x * cy + y) * part->positions;
                    if (c->size == 4)
                        for (int64_t i = 0; i < part->positions; i++)
                            ((float *)c->weights->data)[to + i] = ((const float *)c->w->data)[from + part->position[i]];
                    else
                        for (int64_t i = 0; i < part->positions; i++)
                            ((double *)c->weights->data)[to + i] =
                                ((const double *)c->w->data)[from + part->position[i]];
                }
        }
    }
}

static int transpose_weights(void *arg)
{
    struct conv *c = arg;
    int64_t cx = c->s.channels_x / c->s.groups, cy = c->s.channels_y / c->s.groups;
    int64_t grain = 32768 / (TURN_BLOCK * cy * volume(c->s.kernel) + 1);
    parallel(c->s.groups * ((cx + TURN_BLOCK - 1) / TURN_BLOCK), max(1, grain), run_transpose, c);
    return 0;
}

/* ---- the weight's gradient ---- */

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
            make_runs(c, &part->grid, here, end, image * c->s.channels_x * c->channel, (int32_t)(p - p0), run + runs);
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
        char *sums = c->sums->data + segment * c->s.channels_y * width * c->size;
        for (bool first = c->first == 0; p < stop; first = false) {
            int64_t most = c->side_by_side ? stop - p : pixels - p % pixels, n = min(GEMM_KC, most);
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

static int run_gradient(void *arg)
{
    struct conv *c = arg;
    int64_t all = c->s.channels_y * c->part->taps;
    bool dots = c->tiles.tiles_m == 0;
    for (c->first = 0; c->first < c->s.images; c->first += c->chunk) {
        c->now = min(c->chunk, c->s.images - c->first);
        make_planes(c);
        if (dots)
            parallel(all, max(1, 16384 / (c->now * c->part->grid.count + 1)), run_dots, c);
        else
            parallel(c->segments * c->s.groups * c->tiles.tiles_m * c->tiles.tiles_n, 1, run_weights, c);
    }
    if (c->segments > 1)
        parallel(all, 4096, run_add_segments, c);
    return 0;
}

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

/* ---- planning ---- */

static struct conv *make(struct plan *plan, const struct conv_shape *s, struct conv_views v, aclDataType type)
{
    struct conv *c = plan_alloc(plan, sizeof *c);
    *c = (struct conv){.s = *s, .size = (int64_t)dtype_size(type), .x = v.x, .y = v.y, .w = v.w, .segments = 1};
    c->gemm = type == ACL_DOUBLE ? &ISA_PICK(matmul_kernels)->f64 : &ISA_PICK(matmul_kernels)->f32;
    c->tables = ISA_PICK(conv_kernels);
    c->kernels = type == ACL_DOUBLE ? &c->tables->f64 : &c->tables->f32;
    return c;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static int plan_chunks(struct plan *plan, struct conv *c, aclDataType type)
{
    const struct conv_planes *p = &c->planes;
    double bytes = (double)c->from_channels * (double)c->size;
    for (int d = 0; d < 3; d++)
        bytes *= (double)p->residues[d] * (double)p->plane[d];
    if (bytes > 0x1p50)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Padding and dilation need %.3g bytes for an image.", bytes);
    c->channel = p->residues[0] * p->residues[1] * p->residues[2] * volume(p->plane);
    int64_t image = c->from_channels * c->channel;
    c->chunk = max(1, min(c->s.images, CHUNK_BYTES / max(1, image * c->size)));
    c->plane_buffer = plan_temp(plan, type, 1, (int64_t[]){c->chunk * image + CONV_SLACK});
    return 0;
}

static int64_t *alloc_ints(struct plan *plan, int64_t n)
{
    return plan_alloc(plan, (size_t)n * sizeof(int64_t) + 1);
}

/* Planes of x, and the one part that all pixels of y are. */
static int plan_x_planes(struct plan *plan, struct conv *c, aclDataType type)
{
    const struct conv_shape *s = &c->s;
    struct conv_planes *p = &c->planes;
    struct part *part = c->part = plan_alloc(plan, sizeof *part);
    c->parts = 1;
    c->from = c->x;
    c->from_channels = s->channels_x;
    for (int d = 0; d < 3; d++) {
        int64_t need = (s->y[d] - 1) * s->stride[d] + (s->kernel[d] - 1) * s->dilation[d] + 1;
        p->size[d] = s->x[d];
        p->step[d] = s->stride[d];
        p->before[d] = s->before[d];
        p->plane[d] = ceil_div(need, s->stride[d]);
        p->residues[d] = 1;
        for (int64_t t = 1; t < s->kernel[d]; t++)
            p->residues[d] = max(p->residues[d], t * s->dilation[d] % s->stride[d] + 1);
        p->stride[d] = c->x->stride[2 + d];
        part->grid.size[d] = s->y[d];
    }
    part->grid.count = volume(s->y);
    TRY(plan_chunks(plan, c, type));
    int64_t n = 0;
    part->taps = s->channels_x / s->groups * volume(s->kernel);
    part->at = alloc_ints(plan, part->taps);
    for (int64_t k = 0; k < volume(s->kernel); k++) {
        int64_t t[3] = {k / (s->kernel[1] * s->kernel[2]), k / s->kernel[2] % s->kernel[1], k % s->kernel[2]};
        int64_t residue = 0, shift = 0;
        for (int d = 0; d < 3; d++) {
            residue = residue * p->residues[d] + t[d] * s->dilation[d] % s->stride[d];
            shift = shift * p->plane[d] + t[d] * s->dilation[d] / s->stride[d];
        }
        part->at[n++] = residue * volume(p->plane) + shift;
    }
    for (; n < part->taps; n++)
        part->at[n] = part->at[n - volume(s->kernel)] + c->channel;
    return 0;
}

/* Planes of y, and a part for every residue of x's coordinates. */
static int plan_y_planes(struct plan *plan, struct conv *c, aclDataType type)
{
    const struct conv_shape *s = &c->s;
    struct conv_planes *p = &c->planes;
    int64_t inner = s->channels_y / s->groups, rows = s->channels_x / s->groups, weight = 0, out = 0;
    c->from = c->y;
    c->from_channels = s->channels_y;
    c->parts = volume(s->stride);
    c->part = plan_alloc(plan, (size_t)c->parts * sizeof *c->part);
    for (int d = 0; d < 3; d++) {
        int64_t shift = (s->kernel[d] - 1) * s->dilation[d] / s->stride[d];
        p->size[d] = s->y[d];
        p->step[d] = p->residues[d] = 1;
        p->before[d] = max(0, shift - s->before[d] / s->stride[d]);
        p->plane[d] = (s->before[d] + s->x[d] - 1) / s->stride[d] + 1 + p->before[d];
        p->stride[d] = c->y->stride[2 + d];
    }
    TRY(plan_chunks(plan, c, type));
    for (int64_t i = 0; i < c->parts; i++) {
        struct part *part = &c->part[i];
        int64_t *residue = part->residue;
        residue[0] = i / (s->stride[1] * s->stride[2]);
        residue[1] = i / s->stride[2] % s->stride[1];
        residue[2] = i % s->stride[2];
        for (int d = 0; d < 3; d++) {
            part->first[d] = ceil_div(s->before[d] - residue[d], s->stride[d]);
            int64_t last = s->before[d] + s->x[d] - 1 - residue[d];
            part->grid.size[d] = last < 0 ? 0 : max(0, last / s->stride[d] - part->first[d] + 1);
            part->grid.from = part->grid.from * p->plane[d] + part->first[d];
        }
        part->grid.count = volume(part->grid.size);
        part->position = alloc_ints(plan, volume(s->kernel));
        part->at = alloc_ints(plan, inner * volume(s->kernel));
        for (int64_t k = 0; k < volume(s->kernel); k++) {
            int64_t t[3] = {k / (s->kernel[1] * s->kernel[2]), k / s->kernel[2] % s->kernel[1], k % s->kernel[2]};
            int64_t to = 0;
            bool here = true;
            for (int d = 0; d < 3; d++) {
                here = here && t[d] * s->dilation[d] % s->stride[d] == residue[d];
                to = to * p->plane[d] + p->before[d] - (t[d] * s->dilation[d] - residue[d]) / s->stride[d];
            }
            if (!here)
                continue;
            part->position[part->positions] = k;
            part->at[part->positions++] = to;
        }
        part->taps = inner * part->positions;
        for (int64_t n = part->positions; n < part->taps; n++)
            part->at[n] = part->at[n - part->positions] + c->channel;
        part->weight = weight;
        weight += rows * part->taps;
        part->out = out;
        out += part->grid.count;
    }
    return 0;
}

static bool pointwise(const struct conv_shape *s)
{
    bool yes = true;
    for (int d = 0; d < 3; d++)
        yes = yes && s->kernel[d] == 1 && s->stride[d] == 1 && s->before[d] == 0 && s->x[d] == s->y[d];
    return yes;
}

static void plan_images(struct plan *plan, struct conv *c)
{
    int64_t taps = 0, count = 1;
    for (int64_t p = 0; p < c->parts; p++) {
        taps = max(taps, c->part[p].taps);
        count = max(count, c->part[p].grid.count);
    }
    if (c->direct)
        c->chunk = c->s.images;
    c->tiles = gemm_tiles(c->gemm, c->rows, count, taps, c->chunk * c->s.groups * c->parts);
    double work = (double)c->s.images * (double)(c->s.groups * c->rows) * (double)c->row * (double)(taps + 8);
    plan_step(plan, run_images, c, (uint64_t)(work / 50));
}

void plan_conv_y(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias)
{
    struct conv *c = make(plan, shape, v, v.y->dtype);
    if (view_count(v.y) == 0)
        return;
    c->bias = bias;
    c->weights = v.w;
    c->out = v.y;
    c->rows = shape->channels_y / shape->groups;
    c->row = volume(shape->y);
    if (plan_x_planes(plan, c, v.y->dtype))
        return;
    c->direct = pointwise(shape) && v.x->dtype == v.y->dtype && view_is_contiguous(v.x);
    plan_images(plan, c);
}

void plan_conv_x(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias)
{
    aclDataType type = v.y->dtype;
    struct conv *c = make(plan, shape, v, type);
    if (view_count(v.x) == 0)
        return;
    c->bias = bias;
    c->rows = shape->channels_x / shape->groups;
    c->row = volume(shape->x);
    if (plan_y_planes(plan, c, type))
        return;
    c->direct = pointwise(shape);
    c->out = c->parts == 1 ? v.x : plan_temp(plan, type, v.x->rank, v.x->dim);
    if (!c->direct) {
        c->weights = plan_temp(plan, type, 1, (int64_t[]){view_count(v.w)});
        plan_step(plan, transpose_weights, c, (uint64_t)view_count(v.w));
    }
    plan_images(plan, c);
}

void plan_conv_w(struct plan *plan, const struct conv_shape *shape, struct conv_views v)
{
    aclDataType type = v.w->dtype;
    if (view_count(v.w) == 0)
        return;
    if (view_count(v.x) == 0 || view_count(v.y) == 0) {
        plan_fill(plan, v.w, &(double){0});
        return;
    }
    struct conv *c = make(plan, shape, v, type);
    int64_t pixels = volume(shape->y), height = shape->channels_y / shape->groups;
    if (plan_x_planes(plan, c, type))
        return;
    c->side = v.y;
    c->sums = v.w;
    double work = 2.0 * (double)shape->images * (double)pixels * (double)shape->channels_y * (double)c->part->taps;
    if (height > FEW_ROWS || c->part->taps > FEW_ROWS * volume(shape->kernel)) {
        if (pixels < SHORT_IMAGE) {
            struct view *from = plan_alias(plan, v.y, 0);
            from->rank = 3;
            memcpy(from->dim, (int64_t[]){shape->channels_y, shape->images, pixels}, 3 * sizeof(int64_t));
            memcpy(from->stride, (int64_t[]){pixels, shape->channels_y * pixels, 1}, 3 * sizeof(int64_t));
            c->side = plan_temp(plan, type, 3, from->dim);
            c->side_by_side = true;
            plan_copy(plan, c->side, from);
        }
        int64_t units = shape->groups * ceil_div(height, 96) * ceil_div(c->part->taps, 32);
        if (units < 8 && work > 4e6)
            c->segments = min(SEGMENTS, c->chunk);
        if (c->segments > 1)
            c->sums = plan_temp(plan, type, 2, (int64_t[]){c->segments, view_count(v.w)});
        c->tiles = gemm_tiles(c->gemm, height, c->part->taps, c->chunk * pixels, shape->groups * c->segments);
    }
    plan_step(plan, run_gradient, c, (uint64_t)(work / 100));
}

void plan_channel_sums(struct plan *plan, struct view *sum, struct view *v, int64_t images, int64_t channels,
                       int64_t pixels)
{
    struct sums *s = plan_alloc(plan, sizeof *s);
    *s = (struct sums){sum, v, images, channels, pixels};
    plan_step(plan, run_channel_sums, s, (uint64_t)(view_count(v) / 4));
}

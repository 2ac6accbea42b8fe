/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading images at places between pixels: GridSample, RoiAlign, DeformConv; grids, columns back to images, and
 * choosing boxes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_matmul.h"
#include "graph/operators/row.h"
#include "graph/operators/window.h"
#include "runtime/door.h"

/* ---- GridSample ---- */

enum outside { OUTSIDE_ZEROS, OUTSIDE_BORDER, OUTSIDE_REFLECTION };

struct sample {
    const float *x, *grid;
    float *y;
    int64_t batch, channels, places, size, dim[WINDOW_DIMS]; /* places of each batch, elements of a channel */
    int n;
    char mode; /* n, l, c */
    enum outside outside;
    bool corners;
};

static float reflect(float x, float low, float high)
{
    float range = high - low;
    if (range <= 0)
        return low;
    if (x >= low && x <= high)
        return x;
    float away = x < low ? low - x : x - high;
    bool even = (int64_t)(away / range) % 2 == 0;
    float rest = away - (float)(int64_t)(away / range) * range;
    return (x < low) == even ? low + rest : high - rest;
}

/* The element that stands for index i of a dimension, -1: zero. */
static int64_t element(const struct sample *s, int d, int64_t i)
{
    int64_t n = s->dim[d];
    if (i >= 0 && i < n)
        return i;
    if (s->outside == OUTSIDE_ZEROS)
        return -1;
    if (s->outside == OUTSIDE_BORDER)
        return i < 0 ? 0 : n - 1;
    float low = s->corners ? 0 : -0.5f, high = s->corners ? (float)n - 1 : (float)n - 0.5f;
    int64_t at = (int64_t)reflect((float)i, low, high);
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static void cubic_weights(float t, float *w)
{
    const float a = -0.75f, x[4] = {t + 1, t, 1 - t, 2 - t};
    for (int k = 0; k < 4; k++)
        w[k] = k == 0 || k == 3 ? ((a * x[k] - 5 * a) * x[k] + 8 * a) * x[k] - 4 * a
                                : ((a + 2) * x[k] - (a + 3)) * x[k] * x[k] + 1;
}

/* Taps of dimension d at the place x: elements and weights; returns how many. */
static int taps_at(const struct sample *s, int d, float x, int64_t *at, float *w)
{
    if (s->mode == 'n') {
        at[0] = element(s, d, (int64_t)x);
        w[0] = 1;
        return 1;
    }
    float base = floorf(x), t = x - base;
    int n = s->mode == 'c' ? 4 : 2, first = s->mode == 'c' ? -1 : 0;
    if (s->mode == 'c')
        cubic_weights(t, w);
    else {
        w[0] = 1 - t;
        w[1] = t;
    }
    for (int k = 0; k < n; k++)
        at[k] = element(s, d, (int64_t)base + first + k);
    return n;
}

static void sample_piece(void *arg, int64_t begin, int64_t end)
{
    const struct sample *s = arg;
    for (int64_t p = begin; p < end; p++) {
        int64_t batch = p / s->places, at[WINDOW_DIMS][4];
        float w[WINDOW_DIMS][4];
        int count[WINDOW_DIMS], all = 1;
        for (int d = 0; d < s->n; d++) {
            float g = s->grid[p * s->n + (s->n - 1 - d)], n = (float)s->dim[d]; /* the grid has x before y before z */
            float x = s->corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
            x = s->mode == 'n' ? rintf(x) : x;
            x = fminf(fmaxf(x, -1e9f), 1e9f);
            float low = s->corners ? 0 : -0.5f, high = s->corners ? n - 1 : n - 0.5f;
            if (s->mode != 'c' && (x < low || x > high)) /* of a cubic, each tap is brought inside instead */
                x = s->outside == OUTSIDE_BORDER       ? fminf(fmaxf(x, 0), n - 1)
                    : s->outside == OUTSIDE_REFLECTION ? reflect(x, low, high)
                                                       : x;
            count[d] = taps_at(s, d, x, at[d], w[d]);
            all *= count[d];
        }
        for (int64_t c = 0; c < s->channels; c++) {
            const float *from = s->x + (batch * s->channels + c) * s->size;
            float sum = 0;
            for (int k = 0; k < all; k++) {
                int rest = k;
                int64_t offset = 0, stride = 1;
                float weight = 1;
                for (int d = s->n - 1; d >= 0; d--) {
                    int64_t i = at[d][rest % count[d]];
                    weight *= i < 0 ? 0 : w[d][rest % count[d]];
                    offset += (i < 0 ? 0 : i) * stride;
                    stride *= s->dim[d];
                    rest /= count[d];
                }
                sum += weight * from[offset];
            }
            s->y[(batch * s->channels + c) * s->places + p % s->places] = sum;
        }
    }
}

static int run_sample(void *arg)
{
    struct sample s = *(const struct sample *)arg;
    s.x = device_address(s.x);
    s.grid = device_address(s.grid);
    s.y = device_address(s.y);
    parallel(s.batch * s.places, 64, sample_piece, &s);
    return 0;
}

static void define_grid_sample(struct op *op)
{
    struct operand *x = op_in(op, 0), *grid = op_in(op, 1);
    struct sample s = {.n = x->rank - 2, .corners = op_int(op, "align_corners", 0)};
    const char *mode = op_string(op, "mode", op_version(op) < 20 ? "bilinear" : "linear");
    s.mode = strcmp(mode, "nearest") == 0 ? 'n' : strstr(mode, "cubic") ? 'c' : 'l';
    s.outside = op_string_is(op, "padding_mode", "zeros", "border")       ? OUTSIDE_BORDER
                : op_string_is(op, "padding_mode", "zeros", "reflection") ? OUTSIDE_REFLECTION
                                                                          : OUTSIDE_ZEROS;
    if (s.n < 1 || s.n > WINDOW_DIMS || grid->rank != x->rank || grid->dim[grid->rank - 1] != s.n ||
        grid->dim[0] != x->dim[0]) {
        op_fail(op, GRAPH_INVALID, "an image of %d and a grid of %d dimensions", x->rank, grid->rank);
        return;
    }
    int64_t dim[OP_RANK] = {x->dim[0], x->dim[1]};
    memcpy(dim + 2, grid->dim + 1, sizeof *dim * (size_t)s.n);
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim), *to = op_temp(op, ACL_FLOAT, x->rank, dim);
    s.batch = x->dim[0];
    s.channels = x->dim[1];
    s.size = op_span(x, 2, x->rank);
    s.places = op_span(y, 2, y->rank);
    memcpy(s.dim, x->dim + 2, sizeof *s.dim * (size_t)s.n);
    if (op_count(y) == 0)
        return;
    if (s.size == 0) {
        op_fail(op, GRAPH_INVALID, "an image without pixels");
        return;
    }
    s.x = op_data(op, op_cast(op, x, ACL_FLOAT));
    s.grid = op_data(op, op_cast(op, grid, ACL_FLOAT));
    s.y = op_data(op, to);
    op_host(op, "GridSample", run_sample, &s, sizeof s);
    op_copy(op, y, to);
}

/* ---- AffineGrid: theta times the places of a regular grid ---- */

static void define_affine_grid(struct op *op)
{
    struct operand *theta = op_in(op, 0);
    size_t n;
    const int64_t *size = op_whole(op, 1, &n);
    bool corners = op_int(op, "align_corners", 0);
    if (!size) {
        op_result_open(op, 0, theta->dtype, RANK_UNKNOWN, NULL);
        return;
    }
    int spatial = (int)n - 2;
    if (spatial < 1 || spatial > 3 || theta->rank != 3 || theta->dim[1] != spatial || theta->dim[2] != spatial + 1) {
        op_fail(op, GRAPH_INVALID, "%zu sizes do not fit theta", n);
        return;
    }
    int64_t dim[5] = {size[0]}, places = 1;
    for (int i = 0; i < spatial; i++) {
        dim[1 + i] = size[2 + i];
    }
    dim[1 + spatial] = spatial;
    struct operand *y = op_result(op, 0, theta->dtype, spatial + 2, dim);
    if (!op_runs(op) || op_count(y) == 0)
        return;
    for (int i = 0; i < spatial; i++)
        places *= dim[1 + i];
    double *base = malloc(sizeof *base * (size_t)(places * (spatial + 1)));
    for (int64_t p = 0; base && p < places; p++) {
        int64_t rest = p;
        for (int d = spatial - 1; d >= 0; d--) { /* x first */
            int64_t length = dim[1 + d], i = rest % length;
            rest /= length;
            base[p * (spatial + 1) + (spatial - 1 - d)] = !corners     ? (2.0 * (double)i + 1) / (double)length - 1
                                                          : length > 1 ? 2.0 * (double)i / (double)(length - 1) - 1
                                                                       : -1;
        }
        base[p * (spatial + 1) + spatial] = 1;
    }
    if (base) {
        struct operand *grid = op_constant(op, theta->dtype, 2, (int64_t[]){places, spatial + 1}, base);
        struct operand *flat = op_reshape(op, y, 3, (int64_t[]){dim[0], places, spatial});
        OP_CALL(op, aclnnMatmul, op_acl(op, grid), op_acl(op, op_transpose(op, theta, (int64_t[]){0, 2, 1})),
                op_out(op, flat), 0);
    } else
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
    free(base);
}

/* ---- RoiAlign ---- */

struct roi {
    const float *x, *rois;
    const int64_t *batch;
    float *y;
    int64_t images, count, channels, height, width, out_h, out_w, ratio;
    float scale;
    bool half, largest;
};

/* The four pixels around a place and their weights; false: outside. */
static bool around(const struct roi *r, float y, float x, int64_t *at, float *w)
{
    if (y < -1 || y > (float)r->height || x < -1 || x > (float)r->width)
        return false;
    y = y < 0 ? 0 : y;
    x = x < 0 ? 0 : x;
    int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= r->height - 1) {
        y0 = y1 = r->height - 1;
        y = (float)y0;
    }
    if (x0 >= r->width - 1) {
        x0 = x1 = r->width - 1;
        x = (float)x0;
    }
    float ly = y - (float)y0, lx = x - (float)x0;
    at[0] = y0 * r->width + x0, w[0] = (1 - ly) * (1 - lx);
    at[1] = y0 * r->width + x1, w[1] = (1 - ly) * lx;
    at[2] = y1 * r->width + x0, w[2] = ly * (1 - lx);
    at[3] = y1 * r->width + x1, w[3] = ly * lx;
    return true;
}

/* Of a bin of that size; boxes of any size come from a network that is not trained. */
static int64_t samples(float size)
{
    return size > 0 ? (int64_t)fminf(ceilf(size), 1024) : 0;
}

static void roi_piece(void *arg, int64_t begin, int64_t end)
{
    const struct roi *r = arg;
    for (int64_t e = begin; e < end; e++) {
        int64_t pw = e % r->out_w, ph = e / r->out_w % r->out_h, c = e / r->out_w / r->out_h % r->channels;
        int64_t n = e / r->out_w / r->out_h / r->channels, at[4];
        const float *box = r->rois + 4 * n, *x = r->x + (r->batch[n] * r->channels + c) * r->height * r->width;
        float offset = r->half ? 0.5f : 0, left = box[0] * r->scale - offset, top = box[1] * r->scale - offset, w[4];
        float width = box[2] * r->scale - offset - left, height = box[3] * r->scale - offset - top;
        if (!r->half) {
            width = fmaxf(width, 1);
            height = fmaxf(height, 1);
        }
        float bin_h = height / (float)r->out_h, bin_w = width / (float)r->out_w, value = 0;
        int64_t n_h = r->ratio > 0 ? r->ratio : samples(bin_h), n_w = r->ratio > 0 ? r->ratio : samples(bin_w);
        bool first = true;
        for (int64_t iy = 0; iy < n_h; iy++)
            for (int64_t ix = 0; ix < n_w; ix++) {
                float py = top + (float)ph * bin_h + ((float)iy + 0.5f) * bin_h / (float)n_h;
                float px = left + (float)pw * bin_w + ((float)ix + 0.5f) * bin_w / (float)n_w;
                float sum = 0, most = 0;
                if (around(r, py, px, at, w)) {
                    most = w[0] * x[at[0]];
                    for (int k = 0; k < 4; k++) {
                        sum += w[k] * x[at[k]];
                        most = fmaxf(most, w[k] * x[at[k]]);
                    }
                }
                value = !r->largest ? value + sum : first ? most : fmaxf(value, most);
                first = false;
            }
        r->y[e] = r->largest ? value : value / fmaxf((float)(n_h * n_w), 1);
    }
}

static int run_roi(void *arg)
{
    struct roi r = *(const struct roi *)arg;
    r.x = device_address(r.x);
    r.rois = device_address(r.rois);
    r.batch = device_address(r.batch);
    r.y = device_address(r.y);
    for (int64_t i = 0; i < r.count; i++)
        if (r.batch[i] < 0 || r.batch[i] >= r.images)
            return fail(ACL_ERROR_INVALID_PARAM, "Box %ld is of image %ld of %ld.", (long)i, (long)r.batch[i],
                        (long)r.images);
    parallel(r.count * r.channels * r.out_h * r.out_w, 256, roi_piece, &r);
    return 0;
}

static void define_roi_align(struct op *op)
{
    struct operand *x = op_in(op, 0), *rois = op_in(op, 1), *batch = op_in(op, 2);
    struct roi r = {.out_h = op_int(op, "output_height", 1),
                    .out_w = op_int(op, "output_width", 1),
                    .ratio = op_int(op, "sampling_ratio", 0),
                    .scale = (float)op_float(op, "spatial_scale", 1),
                    .largest = op_string_is(op, "mode", "avg", "max"),
                    .half = op_version(op) >= 16 &&
                            op_string_is(op, "coordinate_transformation_mode", "half_pixel", "half_pixel")};
    if (x->rank != 4 || rois->rank != 2 || rois->dim[1] != 4 || op_count(batch) != rois->dim[0] || r.out_h < 1 ||
        r.out_w < 1 || r.ratio > 1024) {
        op_fail(op, GRAPH_INVALID, "takes images, boxes of four numbers, and an image for each box");
        return;
    }
    r.images = x->dim[0];
    r.count = rois->dim[0];
    r.channels = x->dim[1];
    r.height = x->dim[2];
    r.width = x->dim[3];
    int64_t dim[] = {r.count, r.channels, r.out_h, r.out_w};
    struct operand *y = op_result(op, 0, x->dtype, 4, dim), *to = op_temp(op, ACL_FLOAT, 4, dim);
    r.x = op_data(op, op_cast(op, x, ACL_FLOAT));
    r.rois = op_data(op, op_cast(op, rois, ACL_FLOAT));
    r.batch = op_data(op, op_cast(op, batch, ACL_INT64));
    r.y = op_data(op, to);
    if (op_count(y))
        op_host(op, "RoiAlign", run_roi, &r, sizeof r);
    op_copy(op, y, to);
}

/* ---- DeformConv: columns are gathered here, multiplied by aclnn ---- */

struct deform {
    const float *x, *offset, *mask;
    float *columns; /* [batch, channels * taps, places] */
    struct window w;
    int64_t batch, channels, offset_groups;
};

static float between(const float *x, int64_t height, int64_t width, float py, float px)
{
    if (py <= -1 || px <= -1 || py >= (float)height || px >= (float)width)
        return 0;
    float fy = floorf(py), fx = floorf(px), sum = 0;
    for (int k = 0; k < 4; k++) {
        int64_t y = (int64_t)fy + k / 2, i = (int64_t)fx + k % 2;
        float w = (k / 2 ? py - fy : 1 - (py - fy)) * (k % 2 ? px - fx : 1 - (px - fx));
        if (y >= 0 && y < height && i >= 0 && i < width)
            sum += w * x[y * width + i];
    }
    return sum;
}

static void deform_piece(void *arg, int64_t begin, int64_t end)
{
    const struct deform *d = arg;
    const struct window *w = &d->w;
    int64_t taps = w->kernel[0] * w->kernel[1], places = w->out[0] * w->out[1], each = d->channels / d->offset_groups;
    for (int64_t row = begin; row < end; row++) {
        int64_t tap = row % taps, c = row / taps % d->channels, b = row / taps / d->channels;
        int64_t kh = tap / w->kernel[1], kw = tap % w->kernel[1], group = b * d->offset_groups + c / each;
        const float *x = d->x + (b * d->channels + c) * w->in[0] * w->in[1];
        const float *dy = d->offset + (group * taps + tap) * 2 * places, *dx = dy + places;
        const float *mask = d->mask ? d->mask + (group * taps + tap) * places : NULL;
        for (int64_t p = 0; p < places; p++) {
            float y = (float)(p / w->out[1] * w->stride[0] - w->before[0] + kh * w->dilation[0]) + dy[p];
            float i = (float)(p % w->out[1] * w->stride[1] - w->before[1] + kw * w->dilation[1]) + dx[p];
            d->columns[row * places + p] = between(x, w->in[0], w->in[1], y, i) * (mask ? mask[p] : 1);
        }
    }
}

static int run_deform(void *arg)
{
    struct deform d = *(const struct deform *)arg;
    d.x = device_address(d.x);
    d.offset = device_address(d.offset);
    d.mask = d.mask ? device_address(d.mask) : NULL;
    d.columns = device_address(d.columns);
    parallel(d.batch * d.channels * d.w.kernel[0] * d.w.kernel[1], 1, deform_piece, &d);
    return 0;
}

static void define_deform_conv(struct op *op)
{
    struct operand *x = op_in(op, 0), *weight = op_in(op, 1), *offset = op_in(op, 2), *bias = op_in(op, 3);
    struct operand *mask = op_in(op, 4);
    struct deform d = {.offset_groups = op_int(op, "offset_group", 1)};
    int64_t group = op_int(op, "group", 1);
    if (x->rank != 4 || weight->rank != 4 || !window_read(op, x, weight->dim + 2, &d.w)) {
        op_fail(op, x->rank == 4 ? GRAPH_INVALID : GRAPH_UNSUPPORTED, "takes images of two dimensions");
        return;
    }
    int64_t taps = d.w.kernel[0] * d.w.kernel[1], places = d.w.out[0] * d.w.out[1], m = weight->dim[0];
    d.batch = x->dim[0];
    d.channels = x->dim[1];
    if (group < 1 || d.offset_groups < 1 || d.channels != weight->dim[1] * group || m % group ||
        d.channels % d.offset_groups || offset->rank != 4 || offset->dim[1] != 2 * taps * d.offset_groups ||
        offset->dim[0] != d.batch || offset->dim[2] != d.w.out[0] || offset->dim[3] != d.w.out[1] ||
        (mask && op_count(mask) * 2 != op_count(offset))) {
        op_fail(op, GRAPH_INVALID, "weight, offset and mask do not fit the image");
        return;
    }
    struct operand *y = op_result(op, 0, x->dtype, 4, (int64_t[]){d.batch, m, d.w.out[0], d.w.out[1]});
    int64_t inner = weight->dim[1] * taps, grouped[] = {d.batch, group, inner, places};
    int64_t by_group[] = {1, group, m / group, inner}, result[] = {d.batch, group, m / group, places};
    struct operand *columns = op_temp(op, ACL_FLOAT, 4, grouped);
    if (op_count(y) == 0)
        return;
    d.x = op_data(op, op_cast(op, x, ACL_FLOAT));
    d.offset = op_data(op, op_cast(op, offset, ACL_FLOAT));
    d.mask = op_data(op, mask ? op_cast(op, mask, ACL_FLOAT) : NULL);
    d.columns = op_data(op, columns);
    op_host(op, "DeformConv", run_deform, &d, sizeof d);
    OP_CALL(op, aclnnMatmul, op_acl(op, op_reshape(op, weight, 4, by_group)),
            op_acl(op, op_cast(op, columns, x->dtype)), op_out(op, op_reshape(op, y, 4, result)), 0);
    if (bias)
        OP_CALL(op, aclnnInplaceAdd, op_out(op, y), op_acl(op, op_reshape(op, bias, 3, (int64_t[]){m, 1, 1})),
                op_integer(op, 1));
}

/* ---- Col2Im: columns are added where they came from ---- */

struct columns {
    const double *x;
    double *y;
    int64_t planes, taps, blocks, size; /* planes: batch * channels */
    struct window w;                    /* in: the image */
};

static void columns_piece(void *arg, int64_t begin, int64_t end)
{
    const struct columns *c = arg;
    const struct window *w = &c->w;
    for (int64_t plane = begin; plane < end; plane++) {
        double *y = c->y + plane * c->size;
        memset(y, 0, sizeof *y * (size_t)c->size);
        for (int64_t i = 0; i < c->taps * c->blocks; i++) {
            int64_t tap = i / c->blocks, block = i % c->blocks, offset = 0, stride = 1;
            bool inside = true;
            for (int d = w->n - 1; d >= 0; d--) {
                int64_t at = block % w->out[d] * w->stride[d] - w->before[d] + tap % w->kernel[d] * w->dilation[d];
                inside = inside && at >= 0 && at < w->in[d];
                offset += at * stride;
                stride *= w->in[d];
                block /= w->out[d];
                tap /= w->kernel[d];
            }
            if (inside)
                y[offset] += c->x[plane * c->taps * c->blocks + i];
        }
    }
}

static int run_columns(void *arg)
{
    struct columns c = *(const struct columns *)arg;
    c.x = device_address(c.x);
    c.y = device_address(c.y);
    parallel(c.planes, 1, columns_piece, &c);
    return 0;
}

static void define_col2im(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t n, n_kernel;
    const int64_t *image = op_whole(op, 1, &n), *kernel = op_whole(op, 2, &n_kernel);
    if (!image || !kernel) {
        op_result_open(op, 0, x->dtype, RANK_UNKNOWN, NULL);
        return;
    }
    struct columns c = {.taps = 1, .blocks = 1, .size = 1};
    if (x->rank != 3 || n != n_kernel || n < 1 || n > WINDOW_DIMS) {
        op_fail(op, n > WINDOW_DIMS ? GRAPH_UNSUPPORTED : GRAPH_INVALID, "%zu sizes of the image, %zu of blocks", n,
                n_kernel);
        return;
    }
    struct operand shape = {.rank = (int32_t)n + 2};
    memcpy(shape.dim + 2, image, n * sizeof *image);
    if (!window_read(op, &shape, kernel, &c.w))
        return;
    for (size_t d = 0; d < n; d++)
        if (image[d] < 0 || __builtin_mul_overflow(c.taps, kernel[d], &c.taps) ||
            __builtin_mul_overflow(c.blocks, c.w.out[d], &c.blocks) ||
            __builtin_mul_overflow(c.size, image[d], &c.size)) {
            op_fail(op, GRAPH_INVALID, "the image's dimension %zu is %lld", d, (long long)image[d]);
            return;
        }
    if (x->dim[1] % c.taps || x->dim[2] != c.blocks) {
        op_fail(op, GRAPH_INVALID, "%lld columns for %lld blocks", (long long)x->dim[2], (long long)c.blocks);
        return;
    }
    int64_t dim[OP_RANK] = {x->dim[0], x->dim[1] / c.taps};
    memcpy(dim + 2, image, n * sizeof *image);
    struct operand *y = op_result(op, 0, x->dtype, shape.rank, dim), *to = op_temp(op, ACL_DOUBLE, shape.rank, dim);
    c.planes = dim[0] * dim[1];
    c.x = op_data(op, op_cast(op, x, ACL_DOUBLE));
    c.y = op_data(op, to);
    op_host(op, "Col2Im", run_columns, &c, sizeof c);
    op_copy(op, y, to);
}

/* ---- NonMaxSuppression ---- */

struct box {
    double y0, x0, y1, x1, score;
    int64_t at;
};

static int better(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : x->at < y->at ? -1 : x->at > y->at;
}

static double overlap(const struct box *a, const struct box *b)
{
    double h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0), w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0);
    double both = h > 0 && w > 0 ? h * w : 0;
    double all = (a->y1 - a->y0) * (a->x1 - a->x0) + (b->y1 - b->y0) * (b->x1 - b->x0) - both;
    return all > 0 ? both / all : 0;
}

static struct box read_box(const double *b, bool centre)
{
    if (centre)
        return (struct box){.x0 = b[0] - b[2] / 2, .y0 = b[1] - b[3] / 2, .x1 = b[0] + b[2] / 2, .y1 = b[1] + b[3] / 2};
    return (struct box){.y0 = fmin(b[0], b[2]), .x0 = fmin(b[1], b[3]), .y1 = fmax(b[0], b[2]), .x1 = fmax(b[1], b[3])};
}

static void define_nms(struct op *op)
{
    struct operand *shape = op_in(op, 1);
    size_t n_boxes, n_scores, n;
    const double *boxes = op_numbers(op, 0, &n_boxes), *scores = op_numbers(op, 1, &n_scores);
    const int64_t *most = op_in(op, 2) ? op_whole(op, 2, &n) : NULL;
    const double *overlaps = op_in(op, 3) ? op_numbers(op, 3, &n) : NULL,
                 *least = op_in(op, 4) ? op_numbers(op, 4, &n) : NULL;
    if (op_open(op)) {
        op_result_open(op, 0, ACL_INT64, 2, (int64_t[]){DIM_UNKNOWN, 3});
        return;
    }
    if (shape->rank != 3 || op_in(op, 0)->rank != 3 || n_boxes != (size_t)(shape->dim[0] * shape->dim[2] * 4)) {
        op_fail(op, GRAPH_INVALID, "boxes and scores do not fit each other");
        return;
    }
    int64_t classes = shape->dim[1], count = shape->dim[2], limit = most ? most[0] : 0, chosen = 0;
    bool centre = op_int(op, "center_point_box", 0);
    double most_overlap = overlaps ? overlaps[0] : 0;
    limit = limit < 0 ? 0 : limit > count ? count : limit;
    struct box *box = malloc(sizeof *box * (size_t)(count + 1)), *kept = malloc(sizeof *kept * (size_t)(limit + 1));
    int64_t *out = malloc(sizeof *out * 3 * (size_t)(shape->dim[0] * classes * limit + 1));
    for (int64_t c = 0; box && kept && out && c < shape->dim[0] * classes; c++) {
        int64_t candidates = 0, taken = 0;
        for (int64_t i = 0; i < count; i++) {
            double score = scores[c * count + i];
            if (least && !(score > least[0]))
                continue;
            box[candidates] = read_box(boxes + (c / classes * count + i) * 4, centre);
            box[candidates].score = score;
            box[candidates++].at = i;
        }
        qsort(box, (size_t)candidates, sizeof *box, better);
        for (int64_t i = 0; i < candidates && taken < limit; i++) {
            bool free_of = true;
            for (int64_t k = 0; k < taken && free_of; k++)
                free_of = !(overlap(&box[i], &kept[k]) > most_overlap);
            if (!free_of)
                continue;
            kept[taken++] = box[i];
            out[3 * chosen] = c / classes;
            out[3 * chosen + 1] = c % classes;
            out[3 * chosen++ + 2] = box[i].at;
        }
    }
    struct operand *y = op_result(op, 0, ACL_INT64, 2, (int64_t[]){chosen, 3});
    if (box && kept && out)
        op_write(op, y, out);
    else
        op_fail(op, GRAPH_NO_MEMORY, "no memory");
    free(box);
    free(kept);
    free(out);
}

const struct operator_row operators_vision[] = {
    ROW("GridSample", 16, 0, 0, 2, 2, 1, 1, define_grid_sample, NULL, 0),
    ROW("AffineGrid", 20, 0, 0, 2, 2, 1, 1, define_affine_grid, NULL, 0),
    ROW("RoiAlign", 10, 0, 0, 3, 3, 1, 1, define_roi_align, NULL, 0),
    ROW("DeformConv", 19, 0, 0, 3, 5, 1, 1, define_deform_conv, NULL, 0),
    ROW("Col2Im", 18, 0, 0, 3, 3, 1, 1, define_col2im, NULL, 0),
    ROW("NonMaxSuppression", 10, 0, OPERATOR_SIZES, 2, 5, 1, 1, define_nms, NULL, 0),
    {0},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Planning of convolutions; see conv_run.h. */
#include "ops/conv_job.h"

enum {
    CHUNK_BYTES = 1 << 20, /* of planes made at a time */
    SHORT_IMAGE = 256,     /* pixels; shorter ones are put side by side */
    DIRECT_PIXELS = 128,   /* of an image that a kernel of one pixel reads as it lies */
    SEGMENTS = 16          /* of the images, when the weight is too small to be shared out */
};

struct conv *conv_make(struct plan *plan, const struct conv_shape *s, struct conv_views v, aclDataType type)
{
    struct conv *c = plan_alloc(plan, sizeof *c);
    *c = (struct conv){
        .s = *s, .size = (int64_t)dtype_size(type), .x = v.x, .y = v.y, .w = v.w, .fixed = v.fixed, .segments = 1};
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
int conv_plan_x_planes(struct plan *plan, struct conv *c, aclDataType type)
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
    int64_t inner = s->channels_y / s->groups, rows = s->channels_x / s->groups, weight = 0, before = 0;
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
        part->before = before;
        before += part->grid.count;
    }
    return 0;
}

static bool pointwise(const struct conv_shape *s)
{
    bool yes = true;
    for (int d = 0; d < 3; d++)
        yes = yes && s->kernel[d] == 1 && s->stride[d] == 1 && s->before[d] == 0 && s->x[d] == s->y[d];
    return yes && (s->images == 1 || volume(s->y) >= DIRECT_PIXELS);
}

static void plan_images(struct plan *plan, struct conv *c, aclDataType type)
{
    int64_t taps = 0, count = 1;
    for (int64_t p = 0; p < c->parts; p++) {
        taps = max(taps, c->part[p].taps);
        count = max(count, c->part[p].grid.count);
    }
    if (c->direct)
        c->chunk = c->s.images;
    else if (c->parts > 1 || (c->chunk > 1 && count < SHORT_IMAGE && c->rows > CONV_FEW_ROWS))
        c->buffer = plan_temp(plan, type, 2, (int64_t[]){c->rows * c->s.groups, c->chunk * c->row});
    int64_t products = c->s.groups * c->parts * (c->buffer ? 1 : c->chunk);
    c->tiles = gemm_tiles(c->gemm, c->rows, c->buffer ? count * c->chunk : count, taps, products);
    double work = (double)c->s.images * (double)(c->s.groups * c->rows) * (double)c->row * (double)(taps + 8);
    if (conv_winograd_fits(c))
        conv_plan_winograd(plan, c);
    else
        plan_step(plan, conv_run_images, c, conv_work(work));
}

void plan_conv_y(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias)
{
    struct conv *c = conv_make(plan, shape, v, v.y->dtype);
    if (view_count(v.y) == 0)
        return;
    c->bias = bias;
    c->weights = v.w;
    c->out = v.y;
    c->rows = shape->channels_y / shape->groups;
    c->row = volume(shape->y);
    if (conv_plan_x_planes(plan, c, v.y->dtype))
        return;
    c->direct = pointwise(shape) && v.x->dtype == v.y->dtype && view_is_contiguous(v.x);
    plan_images(plan, c, v.y->dtype);
}

void plan_conv_x(struct plan *plan, const struct conv_shape *shape, struct conv_views v, struct view *bias)
{
    aclDataType type = v.y->dtype;
    struct conv *c = conv_make(plan, shape, v, type);
    if (view_count(v.x) == 0)
        return;
    c->bias = bias;
    c->out = v.x;
    c->rows = shape->channels_x / shape->groups;
    c->row = volume(shape->x);
    if (plan_y_planes(plan, c, type))
        return;
    c->direct = pointwise(shape);
    if (!c->direct) {
        c->weights = plan_temp(plan, type, 1, (int64_t[]){view_count(v.w)});
        if (!conv_winograd_fits(c))
            plan_step(plan, conv_turn_weights, c, (uint64_t)view_count(v.w));
    }
    plan_images(plan, c, type);
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
    struct conv *c = conv_make(plan, shape, v, type);
    int64_t pixels = volume(shape->y), height = shape->channels_y / shape->groups;
    if (conv_plan_x_planes(plan, c, type))
        return;
    c->side = v.y;
    c->sums = v.w;
    double work = 2.0 * (double)shape->images * (double)pixels * (double)shape->channels_y * (double)c->part->taps;
    if (height > CONV_FEW_ROWS || c->part->taps > CONV_FEW_ROWS * volume(shape->kernel)) {
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
    plan_step(plan, conv_run_gradient, c, (uint64_t)(work / 100));
}

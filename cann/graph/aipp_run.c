/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversion, row by row: a row of pixels is gathered into four channels of integers, converted and normalised, and
 * written in the target's layout and type. Rows of all pictures are spread over the compute pool. One task a call; it
 * may be captured and run again. */
#include "graph/aipp_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "runtime/aipp.h"
#include "runtime/door.h"

size_t aipp_source_bytes(aclAippInputFormat format, int64_t width, int64_t height)
{
    size_t pixels = (size_t)width * (size_t)height;
    return format == ACL_YUV420SP_U8 ? pixels * 3 / 2
                                     : pixels * (format == ACL_YUV400_U8 ? 1 : (size_t)aipp_channels(format));
}

int aipp_channels(aclAippInputFormat format)
{
    switch (format) {
    case ACL_YUV420SP_U8:
    case ACL_RGB888_U8:
        return 3;
    case ACL_XRGB8888_U8:
        return 4;
    case ACL_YUV400_U8:
        return 1;
    default:
        return 0;
    }
}

struct job {
    struct aipp_rule rule;
    struct aipp_step step;
    struct aipp_target target;
    int64_t count;
    const void *parameters; /* NULL: rule and step are fixed */
    const uint8_t *source;
    void *result;
    size_t bytes;
};

/* ---- a row ---- */
enum { WIDTH_MAX = 4096 };

static int clip(int value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* Pixels [x, x + n) of a source row as channels. */
static void gather(const struct aipp_rule *rule, const uint8_t *picture, int y, int x, int n, int16_t pixel[][4])
{
    const uint8_t *row = picture + (size_t)y * (size_t)rule->width *
                                       (size_t)(rule->format == ACL_YUV420SP_U8 ? 1 : aipp_channels(rule->format));
    const uint8_t *chroma =
        picture + (size_t)rule->width * (size_t)rule->height + (size_t)(y / 2) * (size_t)rule->width;
    for (int i = 0; i < n; i++) {
        const uint8_t *p;
        switch (rule->format) {
        case ACL_YUV420SP_U8:
            p = chroma + (x + i) / 2 * 2;
            pixel[i][0] = row[x + i];
            pixel[i][1] = p[0];
            pixel[i][2] = p[1];
            break;
        case ACL_RGB888_U8:
            p = row + 3 * (x + i);
            for (int c = 0; c < 3; c++)
                pixel[i][c] = p[c];
            break;
        case ACL_XRGB8888_U8:
            p = row + 4 * (x + i);
            for (int c = 0; c < 4; c++)
                pixel[i][c] = rule->swap_ax ? p[(c + 1) % 4] : p[c];
            break;
        default:
            pixel[i][0] = row[x + i];
        }
        if (rule->swap_rb && rule->format != ACL_YUV400_U8) {
            int first = rule->format == ACL_YUV420SP_U8 ? 1 : 0;
            int16_t swap = pixel[i][first];
            pixel[i][first] = pixel[i][2];
            pixel[i][2] = swap;
        }
    }
}

static void convert_colours(const struct aipp_rule *rule, int n, int16_t pixel[][4])
{
    for (int i = 0; i < n; i++) {
        int in[3];
        for (int c = 0; c < 3; c++)
            in[c] = pixel[i][c] - rule->input_bias[c];
        for (int c = 0; c < 3; c++) {
            int sum = rule->matrix[c][0] * in[0] + rule->matrix[c][1] * in[1] + rule->matrix[c][2] * in[2];
            pixel[i][c] = (int16_t)clip((sum >> 8) + rule->output_bias[c]);
        }
    }
}

static void put(const struct aipp_target *t, void *result, int64_t at, float value)
{
    if (t->dtype == ACL_FLOAT)
        ((float *)result)[at] = value;
    else if (t->dtype == ACL_FLOAT16)
        ((uint16_t *)result)[at] = f16_from_float(value);
    else
        ((uint8_t *)result)[at] = (uint8_t)clip((int)value);
}

static void convert_row(const struct aipp_rule *rule, const struct aipp_step *step, const struct aipp_target *t,
                        const uint8_t *picture, void *result, int64_t index, int64_t row)
{
    int16_t pixel[WIDTH_MAX][4];
    int64_t y = row - step->top;
    bool inside = y >= 0 && y < step->height;
    if (inside) {
        gather(rule, picture, (int)(step->y + y), step->x, step->width, pixel);
        if (rule->csc)
            convert_colours(rule, step->width, pixel);
    }
    int64_t plane = t->height * t->width;
    for (int64_t c = 0; c < t->channels; c++) {
        float less = step->mean[c] + step->min[c], scale = step->reciprocal[c];
        int64_t at =
            index * t->channels * plane + (t->nhwc ? row * t->width * t->channels + c : c * plane + row * t->width);
        int64_t stride = t->nhwc ? t->channels : 1;
        for (int64_t i = 0; i < t->width; i++) {
            int64_t x = i - step->left;
            bool taken = inside && x >= 0 && x < step->width;
            put(t, result, at + i * stride, taken ? ((float)pixel[x][c] - less) * scale : step->border);
        }
    }
}

/* ---- the task ---- */
/* Rule and step of picture i, from the parameters as they are now. */
static void read_parameters(const void *parameters, int64_t i, struct aipp_rule *rule, struct aipp_step *step)
{
    struct aipp_common c;
    struct aipp_picture p;
    memcpy(&c, parameters, sizeof c);
    memcpy(&p, (const char *)parameters + sizeof c + (size_t)(i < c.pictures ? i : 0) * sizeof p, sizeof p);
    *rule = (struct aipp_rule){.format = c.format,
                               .width = c.width,
                               .height = c.height,
                               .csc = c.csc,
                               .swap_rb = c.swap_rb,
                               .swap_ax = c.swap_ax};
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 3; k++)
            rule->matrix[r][k] = c.matrix[r][k];
        rule->input_bias[r] = c.input_bias[r];
        rule->output_bias[r] = c.output_bias[r];
    }
    *step = (struct aipp_step){.width = c.width, .height = c.height};
    if (p.crop)
        step->x = p.crop_x, step->y = p.crop_y, step->width = p.crop_width, step->height = p.crop_height;
    if (p.pad)
        step->top = p.top, step->bottom = p.bottom, step->left = p.left, step->right = p.right;
    for (int k = 0; k < 4; k++) {
        step->mean[k] = p.mean[k];
        step->min[k] = f16_to_float(p.min[k]);
        step->reciprocal[k] = f16_to_float(p.reciprocal[k]);
    }
}

/* Whatever the parameters say, nothing outside the source and the target is touched. */
static int check(const struct job *job, const struct aipp_rule *r, const struct aipp_step *s)
{
    const struct aipp_target *t = &job->target;
    if (!aipp_channels(r->format) || r->width < 1 || r->height < 1 || r->width > WIDTH_MAX || r->height > WIDTH_MAX)
        return fail(ACL_ERROR_GE_AIPP_BATCH_EMPTY,
                    "AIPP: no parameters were set, or they are damaged: format %d, %d × %d", (int)r->format, r->width,
                    r->height);
    if (aipp_channels(r->format) < t->channels)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "AIPP: a picture of format %d has %d channels, the network takes %ld",
                    (int)r->format, aipp_channels(r->format), (long)t->channels);
    if (s->x < 0 || s->y < 0 || s->width < 1 || s->height < 1 || s->x > r->width - s->width ||
        s->y > r->height - s->height)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "AIPP: %d × %d at (%d, %d) lies outside the picture of %d × %d",
                    s->width, s->height, s->x, s->y, r->width, r->height);
    if (s->top + s->height + s->bottom != t->height || s->left + s->width + s->right != t->width)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "AIPP: pictures become %d × %d, the network takes %ld × %ld",
                    s->left + s->width + s->right, s->top + s->height + s->bottom, (long)t->width, (long)t->height);
    size_t need = aipp_source_bytes(r->format, r->width, r->height) * (size_t)job->count;
    if (need > job->bytes)
        return fail(ACL_ERROR_GE_PARAM_INVALID, "AIPP: %ld pictures have %zu bytes, but the input's buffer has %zu",
                    (long)job->count, need, job->bytes);
    return 0;
}

struct rows {
    const struct job *job;
    const uint8_t *source;
    void *result;
    const void *parameters;
};

static void convert_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *rows = arg;
    const struct job *job = rows->job;
    struct aipp_rule rule = job->rule;
    struct aipp_step step = job->step;
    for (int64_t r = begin; r < end; r++) {
        int64_t picture = r / job->target.height;
        if (rows->parameters && (r == begin || r % job->target.height == 0))
            read_parameters(rows->parameters, picture, &rule, &step);
        const uint8_t *from = rows->source + (size_t)picture * aipp_source_bytes(rule.format, rule.width, rule.height);
        convert_row(&rule, &step, &job->target, from, rows->result, picture, r % job->target.height);
    }
}

static int run(void *arg)
{
    const struct job *job = arg;
    struct rows rows = {job, device_address(job->source), device_address(job->result),
                        job->parameters ? device_address(job->parameters) : NULL};
    for (int64_t i = 0; rows.parameters && i < job->count; i++) {
        struct aipp_rule rule;
        struct aipp_step step;
        read_parameters(rows.parameters, i, &rule, &step);
        int status = check(job, &rule, &step);
        if (status)
            return status;
    }
    int64_t row_work = job->target.width * job->target.channels;
    parallel(job->count * job->target.height, 1 + 16384 / (row_work + 1), convert_rows, &rows);
    return 0;
}

static int enqueue(const struct job *given, aclrtStream stream)
{
    struct job *job = malloc(sizeof *job);
    if (!job)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for AIPP");
    *job = *given;
    uint64_t pixels = (uint64_t)(job->count * job->target.height * job->target.width * job->target.channels);
    return stream_enqueue(
        stream, &(struct task){.run = run, .release = free, .arg = job, .work = pixels * 4, .note = {.name = "Aipp"}});
}

int aipp_fixed(const struct aipp_rule *rule, const struct aipp_step *step, const struct aipp_target *target,
               int64_t count, const void *source, void *result, aclrtStream stream)
{
    struct job job = {.rule = *rule,
                      .step = *step,
                      .target = *target,
                      .count = count,
                      .source = source,
                      .result = result,
                      .bytes = aipp_source_bytes(rule->format, rule->width, rule->height) * (size_t)count};
    int status = check(&job, rule, step);
    return status ? status : enqueue(&job, stream);
}

int aipp_dynamic(const void *parameters, const struct aipp_target *target, int64_t count, const void *source,
                 size_t bytes, void *result, aclrtStream stream)
{
    struct job job = {.parameters = parameters,
                      .target = *target,
                      .count = count,
                      .source = source,
                      .result = result,
                      .bytes = bytes};
    return enqueue(&job, stream);
}

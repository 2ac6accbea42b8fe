/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of int64 (kernels/conv_whole.h), a plane of the result a piece. */
#include "ops/conv_run.h"

#include <string.h>

#include "kernels/conv_whole.h"

struct whole_job {
    struct conv_whole c;
    const struct view *x, *y, *w, *bias;
    bool transposed;
};

static void planes(void *arg, int64_t begin, int64_t end)
{
    const struct whole_job *job = arg;
    if (job->transposed)
        ISA_PICK(conv_whole_kernels)
            ->transposed(&job->c, (int64_t *)job->x->data, (const int64_t *)job->y->data, begin, end);
    else
        ISA_PICK(conv_whole_kernels)
            ->forward(&job->c, (const int64_t *)job->x->data, (int64_t *)job->y->data, begin, end);
}

static int run_whole(void *arg)
{
    struct whole_job *job = arg;
    job->c.w = (const int64_t *)job->w->data;
    job->c.bias = job->bias ? (const int64_t *)job->bias->data : NULL;
    parallel(job->c.images * (job->transposed ? job->c.channels_x : job->c.channels_y), 1, planes, job);
    return ACLNN_SUCCESS;
}

void plan_conv_whole(struct plan *plan, const struct conv_shape *s, struct conv_views v, struct view *bias,
                     bool transposed)
{
    struct whole_job *job = plan_alloc(plan, sizeof *job);
    *job = (struct whole_job){.c = {s->images, s->groups, s->channels_x, s->channels_y},
                              .x = v.x,
                              .y = v.y,
                              .w = v.w,
                              .bias = bias,
                              .transposed = transposed};
    memcpy(job->c.x, s->x, sizeof s->x);
    memcpy(job->c.y, s->y, sizeof s->y);
    memcpy(job->c.kernel, s->kernel, sizeof s->kernel);
    memcpy(job->c.stride, s->stride, sizeof s->stride);
    memcpy(job->c.dilation, s->dilation, sizeof s->dilation);
    memcpy(job->c.before, s->before, sizeof s->before);
    uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1] * s->kernel[2] * (s->channels_x / s->groups));
    if (view_count(transposed ? v.x : v.y))
        plan_step(plan, run_whole, job,
                  (uint64_t)(s->images * s->channels_y * s->y[0] * s->y[1] * s->y[2]) * (taps + 1));
}

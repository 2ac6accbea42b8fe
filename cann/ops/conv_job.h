/* SPDX-License-Identifier: BSD-3-Clause */
/* One convolution between planning (conv_plan.c) and running (conv_run.c; conv_winograd.c; conv_weight.c for the
 * weight's gradient). */
#ifndef ANYNPU_OPS_CONV_JOB_H
#define ANYNPU_OPS_CONV_JOB_H

#include "kernels/conv.h"
#include "ops/conv_run.h"
#include "ops/gemm.h"

enum {
    CONV_FEW_ROWS = 4,   /* fewer channels of a group are summed directly, without packing */
    CONV_TURN_BLOCK = 16 /* channels of x whose weights are turned at a time */
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
    int64_t before;               /* pixels of the parts before it */
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
    struct view *out;     /* x or y, what is computed */
    struct view *buffer;  /* of a chunk, before it goes to out: [part][channels][images × pixels]; or NULL */
    int64_t rows, row;    /* channels of a group in out; elements of such a channel */
    struct part *part;
    int64_t parts;
    bool fixed;                /* w is the same in every run */
    bool direct;               /* a kernel of one pixel on images as they lie: no planes */
    int64_t chunk, first, now; /* images: at a time, before and in the present chunk */
    struct gemm_tiles tiles;   /* of the largest part */
    /* the weight's gradient */
    struct view *side; /* y, or y as [channels][images × pixels] */
    bool side_by_side;
    int64_t segments;
    struct view *sums; /* [segments][w], w itself if there is but one */
};

static inline int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t volume(const int64_t *size)
{
    return size[0] * size[1] * size[2];
}

/* Pixels [begin, end) of a grid as runs that lie together in the planes `from` on; returns how many. */
int conv_runs(const struct conv *c, const struct grid *g, int64_t begin, int64_t end, int64_t from, int32_t to,
              struct conv_run *run);
/* The planes of the present chunk's images. */
void conv_make_planes(struct conv *c);

/* Pixels [begin, end) of a part's columns, which go through the chunk's images, as runs. */
int conv_column_runs(const struct conv *c, const struct part *part, int64_t begin, int64_t end, struct conv_run *run);
/* Images [first, first + count), no more than a chunk, from their planes to out. */
void conv_run_chunk(struct conv *c, int64_t first, int64_t count);

/* Planning: a job without parts; the planes of x, and the one part that all pixels of y are. */
struct conv *conv_make(struct plan *plan, const struct conv_shape *s, struct conv_views v, aclDataType type);
int conv_plan_x_planes(struct plan *plan, struct conv *c, aclDataType type);

/* Is it worth going by way of Winograd's transforms? And the step that does it; `direct` computes the same. */
bool conv_winograd_fits(const struct conv *direct);
int conv_plan_winograd(struct plan *plan, struct conv *direct);

/* Nanoseconds of that many multiplications, about. */
static inline uint64_t conv_work(double multiplications)
{
    return (uint64_t)(multiplications / 50);
}

/* Steps. */
int conv_run_images(void *arg);
int conv_turn_weights(void *arg);
int conv_run_gradient(void *arg);

#endif

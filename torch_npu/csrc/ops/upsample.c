/* SPDX-License-Identifier: BSD-3-Clause */
/* Interpolation. Sizes that PyTorch refuses fall back, so that the text is PyTorch's own. */
#include "layout.h"

#include <string.h>

enum { AXES = 3, ALIGN = 4, NEAREST = 8, U8 = 16 };

struct upsampling {
    int axes;
    size_t wished, inputs;
    const int64_t *wish, *input;
    bool align;
    double scale[AXES]; /* 0: by the sizes */
    bool exact;         /* the scales are floats */
};

/* The arguments from `at` on: output_size, [input_size], [align_corners], scales. */
static struct upsampling read_arguments(struct call *c, const struct aten_row *row, int at, bool backward)
{
    struct upsampling u = {.axes = row->code & 3, .exact = true};
    u.wished = arg_ints(c, at++, &u.wish);
    if (backward)
        u.inputs = arg_ints(c, at++, &u.input);
    if (row->code & ALIGN)
        u.align = arg_bool(c, at++, false);
    for (int k = 0; k < u.axes; k++) {
        u.scale[k] = arg_double(c, at + k, 0);
        u.exact &= (double)(float)u.scale[k] == u.scale[k];
    }
    return u;
}

static bool takes(const struct aten_row *row, aclDataType t)
{
    return is_floating(t) || (row->code & U8 && t == ACL_UINT8);
}

static bool positive(const int64_t *size, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (size[k] < 1)
            return false;
    return true;
}

/* Appends alignCorners, the scales and the last tensor to the arguments. */
static int finish(struct call *c, const struct aten_row *row, const struct upsampling *u, union aclnn_value *v, int n,
                  const struct npu_tensor *out)
{
    if (row->code & ALIGN)
        v[n++].i = u->align;
    for (int k = 0; k < u->axes; k++)
        v[n++].d = u->scale[k];
    v[n].t = out;
    return launch(c, row->aclnn, v);
}

/* The two-dimensional nearest operators take scales as floats: others go through the one with three dimensions. */
static int nearest_3d(struct call *c, const struct upsampling *u, const struct npu_tensor *x,
                      const struct npu_tensor *out)
{
    static struct aclnn nearest3d = ACLNN("aclnnUpsampleNearest3d", "TIdddT");
    const struct npu_tensor *from[2] = {x, out};
    struct npu_tensor *wide[2];
    int64_t wish[AXES] = {1, 1, 1};
    double scale[AXES] = {1, 1, 1};
    int lead = AXES - u->axes;
    for (int i = 0; i < 2; i++) {
        int64_t size[5], stride[5];
        for (int d = 0; d < 5; d++) {
            bool added = d >= 2 && d < 2 + lead;
            size[d] = added ? 1 : from[i]->size[d < 2 ? d : d - lead];
            stride[d] = added ? 1 : from[i]->stride[d < 2 ? d : d - lead];
        }
        wide[i] = view_of(c, from[i], 5, size, stride, from[i]->offset);
    }
    for (int k = 0; k < u->axes; k++) {
        wish[lead + k] = u->wish[k];
        scale[lead + k] = u->scale[k];
    }
    return launch(
        c, &nearest3d,
        (union aclnn_value[]){
            {.t = wide[0]}, {.ints = {wish, AXES}}, {.d = scale[0]}, {.d = scale[1]}, {.d = scale[2]}, {.t = wide[1]}});
}

/* self, output_size, [align_corners], scales */
static int run_upsample(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *x = arg_tensor(c, 0);
    struct upsampling u = read_arguments(c, row, 1, false);
    int64_t size[IMAGE_RANK_MAX];
    if (!takes(row, x->dtype) || x->rank != u.axes + 2 || u.wished != (size_t)u.axes || !positive(u.wish, u.wished) ||
        !positive(x->size + 1, (size_t)u.axes + 1))
        return CALL_FALLBACK;
    memcpy(size, x->size, 2 * sizeof *size);
    memcpy(size + 2, u.wish, u.wished * sizeof *size);
    struct npu_tensor *out = result_image(c, 0, x->dtype, x->rank, size, channels_last(x));
    if (call_failed(c))
        return CALL_ERROR;
    if (!x->size[0])
        return CALL_OK;
    if (row->code & NEAREST && u.axes < AXES && !u.exact)
        return nearest_3d(c, &u, x, out);
    union aclnn_value v[8] = {{.t = x}, {.ints = {u.wish, u.wished}}};
    return finish(c, row, &u, v, 2, out);
}

/* grad_output, output_size, input_size, [align_corners], scales */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *g = arg_tensor(c, 0);
    struct upsampling u = read_arguments(c, row, 1, true);
    if (!is_floating(g->dtype) || g->rank != u.axes + 2 || u.wished != (size_t)u.axes || u.inputs != u.wished + 2 ||
        !positive(u.wish, u.wished) || !positive(u.input + 1, u.inputs - 1) || g->size[0] != u.input[0] ||
        g->size[1] != u.input[1] || memcmp(g->size + 2, u.wish, u.wished * sizeof *u.wish) != 0)
        return CALL_FALLBACK;
    struct npu_tensor *out = result_image(c, 0, g->dtype, g->rank, u.input, channels_last(g));
    if (call_failed(c))
        return CALL_ERROR;
    if (!g->size[0])
        return CALL_OK;
    union aclnn_value v[9] = {{.t = g}, {.ints = {u.wish, u.wished}}, {.ints = {u.input, u.inputs}}};
    return finish(c, row, &u, v, 3, out);
}

static struct aclnn nearest1d = ACLNN("aclnnUpsampleNearest1dV2", "TIfT");
static struct aclnn nearest2d = ACLNN("aclnnUpsampleNearest2dV2", "TIffT");
static struct aclnn nearest3d = ACLNN("aclnnUpsampleNearest3d", "TIdddT");
static struct aclnn exact1d = ACLNN("aclnnUpsampleNearestExact1d", "TIdT");
static struct aclnn exact2d = ACLNN("aclnnUpsampleNearestExact2d", "TIddT");
static struct aclnn exact3d = ACLNN("aclnnUpsampleNearestExact3d", "TIdddT");
static struct aclnn linear1d = ACLNN("aclnnUpsampleLinear1d", "TIbdT");
static struct aclnn bilinear2d = ACLNN("aclnnUpsampleBilinear2d", "TIbddT");
static struct aclnn trilinear3d = ACLNN("aclnnUpsampleTrilinear3d", "TIbdddT");
static struct aclnn bicubic2d = ACLNN("aclnnUpsampleBicubic2d", "TIbddT");
static struct aclnn bilinear2d_aa = ACLNN("aclnnUpsampleBilinear2dAA", "TIbddT");
static struct aclnn bicubic2d_aa = ACLNN("aclnnUpsampleBicubic2dAA", "TIbddT");
static struct aclnn nearest1d_backward = ACLNN("aclnnUpsampleNearest1dBackward", "TIIdT");
static struct aclnn nearest2d_backward = ACLNN("aclnnUpsampleNearest2dBackward", "TIIddT");
static struct aclnn nearest3d_backward = ACLNN("aclnnUpsampleNearest3dBackward", "TIIdddT");
static struct aclnn exact1d_backward = ACLNN("aclnnUpsampleNearestExact1dBackward", "TIIdT");
static struct aclnn exact2d_backward = ACLNN("aclnnUpsampleNearestExact2dBackward", "TIIddT");
static struct aclnn exact3d_backward = ACLNN("aclnnUpsampleNearestExact3dBackward", "TIIdddT");
static struct aclnn linear1d_backward = ACLNN("aclnnUpsampleLinear1dBackward", "TIIbdT");
static struct aclnn bilinear2d_backward = ACLNN("aclnnUpsampleBilinear2dBackward", "TIIbddT");
static struct aclnn trilinear3d_backward = ACLNN("aclnnUpsampleTrilinear3dBackward", "TIIbdddT");
static struct aclnn bicubic2d_backward = ACLNN("aclnnUpsampleBicubic2dBackward", "TIIbddT");
static struct aclnn bilinear2d_aa_backward = ACLNN("aclnnUpsampleBilinear2dAABackward", "TIIbddT");
static struct aclnn bicubic2d_aa_backward = ACLNN("aclnnUpsampleBicubic2dAAGrad", "TIIbddT");

static const struct aten_row rows[] = {
    {"upsample_nearest1d", run_upsample, &nearest1d, 1 + NEAREST + U8},
    {"upsample_nearest1d.out", run_upsample, &nearest1d, 1 + NEAREST + U8},
    {"upsample_nearest1d_backward", run_backward, &nearest1d_backward, 1},
    {"upsample_nearest1d_backward.grad_input", run_backward, &nearest1d_backward, 1},
    {"upsample_nearest2d", run_upsample, &nearest2d, 2 + NEAREST + U8},
    {"upsample_nearest2d.out", run_upsample, &nearest2d, 2 + NEAREST + U8},
    {"upsample_nearest2d_backward", run_backward, &nearest2d_backward, 2},
    {"upsample_nearest2d_backward.grad_input", run_backward, &nearest2d_backward, 2},
    {"upsample_nearest3d", run_upsample, &nearest3d, 3 + NEAREST + U8},
    {"upsample_nearest3d.out", run_upsample, &nearest3d, 3 + NEAREST + U8},
    {"upsample_nearest3d_backward", run_backward, &nearest3d_backward, 3},
    {"upsample_nearest3d_backward.grad_input", run_backward, &nearest3d_backward, 3},
    {"_upsample_nearest_exact1d", run_upsample, &exact1d, 1 + U8},
    {"_upsample_nearest_exact1d.out", run_upsample, &exact1d, 1 + U8},
    {"_upsample_nearest_exact1d_backward", run_backward, &exact1d_backward, 1},
    {"_upsample_nearest_exact1d_backward.grad_input", run_backward, &exact1d_backward, 1},
    {"_upsample_nearest_exact2d", run_upsample, &exact2d, 2 + U8},
    {"_upsample_nearest_exact2d.out", run_upsample, &exact2d, 2 + U8},
    {"_upsample_nearest_exact2d_backward", run_backward, &exact2d_backward, 2},
    {"_upsample_nearest_exact2d_backward.grad_input", run_backward, &exact2d_backward, 2},
    {"_upsample_nearest_exact3d", run_upsample, &exact3d, 3 + U8},
    {"_upsample_nearest_exact3d.out", run_upsample, &exact3d, 3 + U8},
    {"_upsample_nearest_exact3d_backward", run_backward, &exact3d_backward, 3},
    {"_upsample_nearest_exact3d_backward.grad_input", run_backward, &exact3d_backward, 3},
    {"upsample_linear1d", run_upsample, &linear1d, 1 + ALIGN},
    {"upsample_linear1d.out", run_upsample, &linear1d, 1 + ALIGN},
    {"upsample_linear1d_backward", run_backward, &linear1d_backward, 1 + ALIGN},
    {"upsample_linear1d_backward.grad_input", run_backward, &linear1d_backward, 1 + ALIGN},
    {"upsample_bilinear2d", run_upsample, &bilinear2d, 2 + ALIGN + U8},
    {"upsample_bilinear2d.out", run_upsample, &bilinear2d, 2 + ALIGN + U8},
    {"upsample_bilinear2d_backward", run_backward, &bilinear2d_backward, 2 + ALIGN},
    {"upsample_bilinear2d_backward.grad_input", run_backward, &bilinear2d_backward, 2 + ALIGN},
    {"upsample_trilinear3d", run_upsample, &trilinear3d, 3 + ALIGN},
    {"upsample_trilinear3d.out", run_upsample, &trilinear3d, 3 + ALIGN},
    {"upsample_trilinear3d_backward", run_backward, &trilinear3d_backward, 3 + ALIGN},
    {"upsample_trilinear3d_backward.grad_input", run_backward, &trilinear3d_backward, 3 + ALIGN},
    {"upsample_bicubic2d", run_upsample, &bicubic2d, 2 + ALIGN + U8},
    {"upsample_bicubic2d.out", run_upsample, &bicubic2d, 2 + ALIGN + U8},
    {"upsample_bicubic2d_backward", run_backward, &bicubic2d_backward, 2 + ALIGN},
    {"upsample_bicubic2d_backward.grad_input", run_backward, &bicubic2d_backward, 2 + ALIGN},
    {"_upsample_bilinear2d_aa", run_upsample, &bilinear2d_aa, 2 + ALIGN + U8},
    {"_upsample_bilinear2d_aa.out", run_upsample, &bilinear2d_aa, 2 + ALIGN + U8},
    {"_upsample_bilinear2d_aa_backward", run_backward, &bilinear2d_aa_backward, 2 + ALIGN},
    {"_upsample_bilinear2d_aa_backward.grad_input", run_backward, &bilinear2d_aa_backward, 2 + ALIGN},
    {"_upsample_bicubic2d_aa", run_upsample, &bicubic2d_aa, 2 + ALIGN + U8},
    {"_upsample_bicubic2d_aa.out", run_upsample, &bicubic2d_aa, 2 + ALIGN + U8},
    {"_upsample_bicubic2d_aa_backward", run_backward, &bicubic2d_aa_backward, 2 + ALIGN},
    {"_upsample_bicubic2d_aa_backward.grad_input", run_backward, &bicubic2d_aa_backward, 2 + ALIGN},
};
ATEN_FAMILY(upsample, rows);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The fusions, in the order in which they are tried. Names as switch files of the original tool have them. */
#include <string.h>

#include "graph/passes/fusions.h"

static int run(struct model *model, fuse_fn *fuse, int32_t *made)
{
    struct match m = {.model = model};
    int status = uses_find(model, &m.uses) ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (int32_t i = 0; !status && i < model->main.n_nodes; i++) {
        struct node *node = &model->main.nodes[i];
        int32_t before = *made, values = model->n_values;
        if (*node->domain == 0)
            status = fuse(&m, node, made);
        if (!status && (*made != before || model->n_values != values)) { /* uses have changed */
            uses_free(&m.uses);
            m.uses = (struct uses){.maker = NULL};
            if (!uses_find(model, &m.uses))
                status = graph_fail(GRAPH_NO_MEMORY, "no memory");
        }
    }
    uses_free(&m.uses);
    return status;
}

/* One function a fusion: the table asks for functions of a model. */
static int apply_conv_norm(struct model *model, int32_t *made)
{
    return run(model, fuse_conv_norm, made);
}

static int apply_gelu(struct model *model, int32_t *made)
{
    return run(model, fuse_gelu, made);
}

static int apply_layer_norm(struct model *model, int32_t *made)
{
    return run(model, fuse_layer_norm, made);
}

static int apply_attention(struct model *model, int32_t *made)
{
    return run(model, fuse_attention, made);
}

static int apply_matmul_bias(struct model *model, int32_t *made)
{
    return run(model, fuse_matmul_bias, made);
}

const struct fusion pass_fusions[] = {
    {"ConvBatchnormFusionPass", "Conv + BatchNormalization", apply_conv_norm},
    {"GeluFusionPass", "Gelu", apply_gelu},
    {"LayerNormONNXFusionPass", "LayerNormalization", apply_layer_norm},
    {"AttentionFusionPass", "MatMul + Softmax + MatMul", apply_attention},
    {"MatMulBiasAddFusionPass", "MatMul + Add", apply_matmul_bias},
    {NULL, NULL, NULL},
};

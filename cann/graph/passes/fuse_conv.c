/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution and batch normalisation: w' = w s, b' = (b - mean) s + shift, with s = scale / sqrt(var + epsilon).
 * Computed in double, rounded once. */
#include <math.h>
#include <string.h>

#include "graph/passes/fusions.h"

struct group {
    struct node *conv;
    const float *weight, *bias; /* bias: NULL when there is none */
    const float *scale, *shift, *mean, *variance;
    double epsilon;
    int64_t channels, each; /* output channels, weights of each */
};

static bool find(const struct match *m, const struct node *norm, struct group *g)
{
    if (norm->n_in != 5 || norm->n_out != 1 || node_int(norm, "training_mode", 0))
        return false;
    g->conv = match_maker(m, norm->in[0], "Conv");
    if (!g->conv || !match_single(m, norm->in[0]))
        return false;
    const struct type *type = match_type(m, g->conv->in[1]);
    g->weight = match_constant(m, g->conv->in[1], type->rank);
    bool biased = g->conv->n_in > 2 && g->conv->in[2] != VALUE_NONE;
    g->bias = biased ? match_constant(m, g->conv->in[2], 1) : NULL;
    if (!g->weight || type->rank < 3 || (biased && !g->bias))
        return false;
    g->scale = match_constant(m, norm->in[1], 1);
    g->shift = match_constant(m, norm->in[2], 1);
    g->mean = match_constant(m, norm->in[3], 1);
    g->variance = match_constant(m, norm->in[4], 1);
    g->epsilon = node_float(norm, "epsilon", 1e-5f);
    g->channels = type->dim[0];
    g->each = g->channels ? type_count(type) / g->channels : 0;
    for (int i = 1; i < 5; i++)
        if (match_type(m, norm->in[i])->dim[0] != g->channels)
            return false;
    return g->scale && g->shift && g->mean && g->variance && g->channels;
}

static bool apply(const struct match *m, struct node *norm, const struct group *g)
{
    struct type weight = *match_type(m, g->conv->in[1]), bias = type_make(ACL_FLOAT, 1, &g->channels);
    int32_t w, b, out = norm->out[0];
    const char *name = m->model->values[g->conv->in[1]].name;
    float *to = edit_constant(m->model, name, ":bn", &weight, &w),
          *add = edit_constant(m->model, name, ":bn_bias", &bias, &b);
    struct node conv = *g->conv;
    if (!to || !add)
        return false;
    for (int64_t c = 0; c < g->channels; c++) {
        double s = (double)g->scale[c] / sqrt((double)g->variance[c] + g->epsilon);
        for (int64_t i = 0; i < g->each; i++)
            to[c * g->each + i] = (float)((double)g->weight[c * g->each + i] * s);
        add[c] = (float)(((g->bias ? (double)g->bias[c] : 0) - (double)g->mean[c]) * s + (double)g->shift[c]);
    }
    struct node made;
    if (!edit_node(m->model, &made, "Conv", 1, conv.name, 3, (int32_t[]){conv.in[0], w, b}, out))
        return false;
    made.version = conv.version;
    made.row = conv.row;
    made.attributes = conv.attributes;
    made.n_attributes = conv.n_attributes;
    *norm = made;
    return true;
}

int fuse_conv_norm(struct match *m, struct node *node, int32_t *made)
{
    struct group g;
    if (strcmp(node->op, "BatchNormalization") != 0 || !find(m, node, &g))
        return GRAPH_OK;
    ++*made;
    return apply(m, node, &g) ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
}

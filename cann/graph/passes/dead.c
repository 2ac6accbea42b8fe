/* SPDX-License-Identifier: BSD-3-Clause */
/* Dead code: from the outputs backwards, what is needed; the rest goes. */
#include <stdlib.h>

#include "graph/passes/edit.h"

static void need_graph(struct graph *graph, bool *needed)
{
    int32_t kept = graph->n_nodes;
    for (int32_t i = 0; i < graph->n_out; i++)
        needed[graph->out[i]] = true;
    for (int32_t n = graph->n_nodes - 1; n >= 0; n--) {
        const struct node *node = &graph->nodes[n];
        bool used = node->n_out == 0;
        for (int32_t i = 0; i < node->n_out; i++)
            used |= node->out[i] != VALUE_NONE && needed[node->out[i]];
        if (!used)
            continue;
        for (int32_t i = 0; i < node->n_in; i++)
            if (node->in[i] != VALUE_NONE)
                needed[node->in[i]] = true;
        for (int32_t a = 0; a < node->n_attributes; a++)
            if (node->attributes[a].kind == ATTRIBUTE_GRAPH || node->attributes[a].kind == ATTRIBUTE_GRAPHS)
                for (size_t g = 0; g < node->attributes[a].count; g++)
                    need_graph(node->attributes[a].graphs[g], needed);
        graph->nodes[--kept] = *node; /* from the end: what is read lies before */
    }
    graph->nodes += kept;
    graph->n_nodes -= kept;
}

int pass_dead(struct model *model)
{
    bool *needed = calloc((size_t)model->n_values + 1, sizeof *needed);
    if (!needed)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    need_graph(&model->main, needed);
    for (int32_t i = 0; i < model->n_values; i++)
        if (!needed[i]) {
            model->values[i].data = NULL;
            model->values[i].bytes = 0;
        }
    free(needed);
    return GRAPH_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of all values, and what can be computed before anything runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fold.h"
#include "graph/passes/edit.h"

/* All results of the node are known. */
static bool is_folded(const struct node *node, const struct tensor *table)
{
    bool any = false;
    for (int32_t i = 0; i < node->n_out; i++) {
        if (node->out[i] == VALUE_NONE)
            continue;
        if (!table[node->out[i]].host)
            return false;
        any = true;
    }
    return any;
}

/* A node that is not supported as it stands does not end the run: all of them are told, in one text. */
static int infer_all(struct model *model, struct tensor *table, struct fold *fold, pass_progress progress)
{
    struct graph *graph = &model->main;
    char unsupported[1800] = "";
    size_t length = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = &graph->nodes[i];
        int status = node_infer(node, table);
        if (!status && fold)
            status = fold_node(fold, node, table);
        if (status == GRAPH_UNSUPPORTED && length < sizeof unsupported)
            length += (size_t)snprintf(unsupported + length, sizeof unsupported - length, "%snode [%s] (%s%s%s): %s",
                                       length ? "; " : "", node->name, node->domain, *node->domain ? "::" : "",
                                       node->op, graph_reason());
        else if (status && status != GRAPH_UNSUPPORTED)
            return graph_fail(status, "node [%s] (%s%s%s): %s", node->name, node->domain, *node->domain ? "::" : "",
                              node->op, graph_reason());
        if (progress)
            progress(fold ? "folding constants" : "inferring types", i + 1, graph->n_nodes);
    }
    return length ? graph_fail(GRAPH_UNSUPPORTED, "%s", unsupported) : GRAPH_OK;
}

int pass_types(struct model *model, struct fold *fold, pass_progress progress)
{
    struct graph *graph = &model->main;
    struct tensor *table = table_new(model);
    if (!table)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    /* What an earlier run inferred may have changed. */
    for (int32_t i = 0; i < graph->n_nodes; i++)
        for (int32_t k = 0; k < graph->nodes[i].n_out; k++)
            if (graph->nodes[i].out[k] != VALUE_NONE)
                table[graph->nodes[i].out[k]].type = type_unknown;
    int status = infer_all(model, table, fold, progress);
    for (int32_t i = 0; !status && i < model->n_values; i++) {
        struct value *value = &model->values[i];
        value->type = table[i].type;
        if (table[i].host && !value->data) {
            value->data = table[i].host;
            value->bytes = (size_t)type_bytes(&value->type);
        }
    }
    int32_t left = 0;
    for (int32_t i = 0; !status && fold && i < graph->n_nodes; i++)
        if (!is_folded(&graph->nodes[i], table))
            graph->nodes[left++] = graph->nodes[i];
    if (!status && fold)
        graph->n_nodes = left;
    free(table);
    return status;
}

int pass_branches(struct model *model)
{
    struct graph *graph = &model->main;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const struct node node = graph->nodes[i];
        if (*node.domain || strcmp(node.op, "If") != 0 || node.n_in != 1 || !model->values[node.in[0]].data)
            continue;
        bool taken = *(const uint8_t *)model->values[node.in[0]].data != 0;
        const struct graph *branch = node_graph(&node, taken ? "then_branch" : "else_branch");
        if (!branch || branch->n_out < node.n_out)
            return graph_fail(GRAPH_INVALID, "node [%s] (If): a branch has too few outputs", node.name);
        /* The branch's nodes, and for each output an Identity from the branch's value to the If's. */
        int32_t n = graph->n_nodes - 1 + branch->n_nodes + node.n_out, at = i;
        struct node *nodes = model_alloc(model, (size_t)n * sizeof *nodes + 1);
        if (!nodes)
            return graph_fail(GRAPH_NO_MEMORY, "no memory");
        if (i)
            memcpy(nodes, graph->nodes, (size_t)i * sizeof *nodes);
        if (branch->n_nodes)
            memcpy(nodes + at, branch->nodes, (size_t)branch->n_nodes * sizeof *nodes);
        at += branch->n_nodes;
        for (int32_t k = 0; k < node.n_out; k++)
            if (node.out[k] != VALUE_NONE &&
                !edit_node(model, &nodes[at++], "Identity", 13, node.name, 1, &branch->out[k], node.out[k]))
                return graph_fail(GRAPH_NO_MEMORY, "no memory");
        for (int32_t k = i + 1; k < graph->n_nodes; k++)
            nodes[at++] = graph->nodes[k];
        graph->nodes = nodes;
        graph->n_nodes = at;
        i--; /* the branch may begin with another If */
    }
    return GRAPH_OK;
}

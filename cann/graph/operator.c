/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking up operators' rows, and inferring the types of a graph node by node. */
#include "graph/operator.h"

#include <stdlib.h>
#include <string.h>

#include "graph/fold.h"

const struct operator_row *operator_find(const char *domain, const char *name, int32_t version,
                                         const struct operator_row **nearest)
{
    const struct operator_row *near = NULL;
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    for (const struct operator_row *const *family = operator_families; *family; family++)
        for (const struct operator_row *row = *family; row->name; row++) {
            if (strcmp(row->name, name) != 0 || strcmp(row->domain, domain) != 0)
                continue;
            if (version >= row->since && (row->until == 0 || version <= row->until))
                return row;
            if (!near || row->since > near->since)
                near = row;
        }
    if (nearest)
        *nearest = near;
    return NULL;
}

struct tensor *table_new(const struct model *model)
{
    struct tensor *table = calloc((size_t)model->n_values + 1, sizeof *table);
    for (int32_t i = 0; table && i < model->n_values; i++)
        table[i] = (struct tensor){.type = model->values[i].type, .host = model->values[i].data};
    return table;
}

struct tensor *table_sized(const struct model *model, const int64_t *sizes)
{
    struct tensor *table = table_new(model);
    for (int32_t i = 0; table && i < model->n_values; i++)
        if (!table[i].host) /* what was inferred with symbols is inferred again */
            table[i].type =
                (struct type){.kind = table[i].type.kind, .dtype = table[i].type.dtype, .rank = RANK_UNKNOWN};
    for (int32_t i = 0; table && i < model->main.n_in; i++) {
        struct type *type = &table[model->main.in[i]].type;
        *type = model->values[model->main.in[i]].type;
        for (int32_t d = 0; d < type->rank; d++)
            if (type->dim[d] <= dim_symbol(0) && -2 - type->dim[d] < model->n_symbols)
                type->dim[d] = sizes[-2 - type->dim[d]];
    }
    return table;
}

/* What an operator said of its output, against what was known (the file's value_info, the subgraph's outputs). */
static int merge(const struct node *node, int32_t i, struct type *known, const struct type *found)
{
    char a[200], b[200];
    bool contradicts =
        known->dtype != ACL_DT_UNDEFINED && found->dtype != ACL_DT_UNDEFINED && known->dtype != found->dtype;
    contradicts |= known->rank >= 0 && found->rank >= 0 && known->rank != found->rank;
    struct type merged = *found;
    if (merged.dtype == ACL_DT_UNDEFINED)
        merged.dtype = known->dtype;
    if (merged.rank < 0 && known->rank >= 0) {
        merged.rank = known->rank;
        memcpy(merged.dim, known->dim, sizeof merged.dim);
    } else if (!contradicts && known->rank >= 0) {
        for (int32_t d = 0; d < merged.rank; d++) {
            contradicts |= merged.dim[d] >= 0 && known->dim[d] >= 0 && merged.dim[d] != known->dim[d];
            if (merged.dim[d] == DIM_UNKNOWN || known->dim[d] >= 0)
                merged.dim[d] = known->dim[d];
        }
    }
    if (contradicts)
        return graph_fail(GRAPH_INVALID, "output %d of [%s] is %s, but the model says %s", i, node->name,
                          type_text(found, a, sizeof a), type_text(known, b, sizeof b));
    *known = merged;
    return GRAPH_OK;
}

int node_infer(const struct node *node, struct tensor *table)
{
    const struct operator_row *row = node->row;
    enum { FEW = 64 };
    const struct tensor *few_in[FEW];
    struct type few_out[FEW];
    if (!row)
        return graph_fail(GRAPH_UNSUPPORTED, "no operator %s::%s of version %d", node->domain, node->op, node->version);
    if (node->n_in < row->in_min || (row->in_max >= 0 && node->n_in > row->in_max))
        return graph_fail(GRAPH_INVALID, "%s takes %d to %d inputs, not %d", node->op, row->in_min, row->in_max,
                          node->n_in);
    if (node->n_out < row->out_min || (row->out_max >= 0 && node->n_out > row->out_max))
        return graph_fail(GRAPH_INVALID, "%s has %d to %d outputs, not %d", node->op, row->out_min, row->out_max,
                          node->n_out);
    const struct tensor **in = node->n_in <= FEW ? few_in : calloc((size_t)node->n_in, sizeof *in);
    struct type *out = node->n_out <= FEW ? few_out : calloc((size_t)node->n_out, sizeof *out);
    int status = in && out ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (int32_t i = 0; !status && i < node->n_in; i++) {
        in[i] = node->in[i] == VALUE_NONE ? NULL : &table[node->in[i]];
        if (!in[i] && i < row->in_min)
            status = graph_fail(GRAPH_INVALID, "%s needs its input %d", node->op, i);
    }
    for (int32_t i = 0; !status && i < node->n_out; i++)
        out[i] = type_unknown;
    if (!status)
        status = row->infer(node, in, out, table);
    for (int32_t i = 0; !status && i < node->n_out; i++)
        if (node->out[i] != VALUE_NONE)
            status = merge(node, i, &table[node->out[i]].type, &out[i]);
    if (in != few_in)
        free(in);
    if (out != few_out)
        free(out);
    return status;
}

int graph_infer(const struct graph *graph, struct tensor *table, struct fold *fold)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = &graph->nodes[i];
        int status = node_infer(node, table);
        if (!status && fold)
            status = fold_node(fold, node, table);
        if (status)
            return graph_fail(status, "node [%s] (%s%s%s): %s", node->name, node->domain, *node->domain ? "::" : "",
                              node->op, graph_reason());
    }
    return GRAPH_OK;
}

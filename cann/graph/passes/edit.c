/* SPDX-License-Identifier: BSD-3-Clause */
/* New nodes, values and constants, and who uses what. */
#define _GNU_SOURCE
#include "graph/passes/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

int64_t edit_onnx_type(aclDataType dtype)
{
    static const aclDataType types[] = {
        ACL_DT_UNDEFINED, ACL_FLOAT,  ACL_UINT8,     ACL_INT8,       ACL_UINT16,  ACL_INT16,
        ACL_INT32,        ACL_INT64,  ACL_STRING,    ACL_BOOL,       ACL_FLOAT16, ACL_DOUBLE,
        ACL_UINT32,       ACL_UINT64, ACL_COMPLEX64, ACL_COMPLEX128, ACL_BF16,
    };
    for (size_t i = 1; i < sizeof types / sizeof *types; i++)
        if (types[i] == dtype)
            return (int64_t)i;
    return 0;
}

bool edit_node(struct model *model, struct node *node, const char *op, int32_t version, const char *name, int32_t n_in,
               const int32_t *in, int32_t out)
{
    int32_t *ids = model_alloc(model, ((size_t)n_in + 1) * sizeof *ids);
    const char *copy = model_text(model, name, strlen(name));
    if (!ids || !copy)
        return false;
    if (n_in)
        memcpy(ids, in, (size_t)n_in * sizeof *ids);
    ids[n_in] = out;
    *node = (struct node){.name = copy,
                          .domain = "",
                          .op = op,
                          .version = model->opset > version ? model->opset : version,
                          .n_in = n_in,
                          .n_out = 1,
                          .in = ids,
                          .out = ids + n_in};
    node->row = operator_find("", op, node->version, NULL);
    return true;
}

bool edit_attribute(struct model *model, struct node *node, const struct attribute *attribute)
{
    struct attribute *all = model_alloc(model, ((size_t)node->n_attributes + 1) * sizeof *all);
    if (!all)
        return false;
    int32_t n = 0;
    for (int32_t i = 0; i < node->n_attributes; i++)
        if (strcmp(node->attributes[i].name, attribute->name) != 0)
            all[n++] = node->attributes[i];
    all[n++] = *attribute;
    node->attributes = all;
    node->n_attributes = n;
    return true;
}

bool edit_cast(struct model *model, struct node *node, const char *name, int32_t in, int32_t out, aclDataType dtype)
{
    struct attribute to = {"to", ATTRIBUTE_INT, 1, {.i = edit_onnx_type(dtype)}};
    return edit_node(model, node, "Cast", 13, name, 1, &in, out) && edit_attribute(model, node, &to);
}

bool edit_insert(struct model *model, int32_t at, const struct node *node)
{
    struct graph *graph = &model->main;
    struct node *nodes = model_alloc(model, ((size_t)graph->n_nodes + 1) * sizeof *nodes);
    if (!nodes)
        return false;
    if (at)
        memcpy(nodes, graph->nodes, (size_t)at * sizeof *nodes);
    nodes[at] = *node;
    if (at < graph->n_nodes)
        memcpy(nodes + at + 1, graph->nodes + at, (size_t)(graph->n_nodes - at) * sizeof *nodes);
    graph->nodes = nodes;
    graph->n_nodes++;
    return true;
}

int32_t edit_value(struct model *model, const char *name, const char *suffix, const struct type *type)
{
    size_t length = strlen(name), more = strlen(suffix);
    char *text = model_alloc(model, length + more + 1);
    if (!text)
        return VALUE_NONE;
    memcpy(text, name, length);
    memcpy(text + length, suffix, more);
    return model_value(model, text, type);
}

void *edit_constant(struct model *model, const char *name, const char *suffix, const struct type *type, int32_t *value)
{
    size_t bytes = (size_t)type_bytes(type);
    void *data = model_alloc(model, bytes ? bytes : 1);
    *value = data ? edit_value(model, name, suffix, type) : VALUE_NONE;
    if (*value == VALUE_NONE)
        return NULL;
    model->values[*value].data = data;
    model->values[*value].bytes = bytes;
    return data;
}

/* ---- uses ---- */
static void count_graph(const struct graph *graph, struct uses *uses, int32_t user)
{
    for (int32_t n = 0; n < graph->n_nodes; n++) {
        const struct node *node = &graph->nodes[n];
        int32_t by = user < 0 ? n : user; /* what a subgraph uses, its node uses */
        for (int32_t i = 0; i < node->n_in; i++)
            if (node->in[i] != VALUE_NONE) {
                uses->count[node->in[i]]++;
                uses->user[node->in[i]] = by;
            }
        for (int32_t i = 0; user < 0 && i < node->n_out; i++)
            if (node->out[i] != VALUE_NONE)
                uses->maker[node->out[i]] = n;
        for (int32_t a = 0; a < node->n_attributes; a++)
            if (node->attributes[a].kind == ATTRIBUTE_GRAPH || node->attributes[a].kind == ATTRIBUTE_GRAPHS)
                for (size_t g = 0; g < node->attributes[a].count; g++)
                    count_graph(node->attributes[a].graphs[g], uses, by);
    }
    for (int32_t i = 0; i < graph->n_out; i++) {
        uses->count[graph->out[i]]++;
        uses->user[graph->out[i]] = user;
    }
}

bool uses_find(const struct model *model, struct uses *uses)
{
    size_t n = (size_t)model->n_values + 1;
    uses->maker = malloc(3 * n * sizeof *uses->maker);
    if (!uses->maker)
        return false;
    uses->count = uses->maker + n;
    uses->user = uses->count + n;
    for (size_t i = 0; i < n; i++) {
        uses->maker[i] = uses->user[i] = -1;
        uses->count[i] = 0;
    }
    count_graph(&model->main, uses, -1);
    return true;
}

void uses_free(struct uses *uses)
{
    free(uses->maker);
}

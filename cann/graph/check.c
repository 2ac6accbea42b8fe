/* SPDX-License-Identifier: BSD-3-Clause */
/* model_check: what everybody who walks a model relies on. */
#include "graph/graph.h"

#include <stdlib.h>

enum { DEEPEST = 32 };
enum { UNMADE, MADE, GONE }; /* GONE: made inside a subgraph that is left */

static int check_type(const struct model *model, const struct type *type, const char *name)
{
    if (type->rank < RANK_UNKNOWN || type->rank > TYPE_RANK_MAX)
        return graph_fail(GRAPH_INVALID, "value [%s] has rank %d, at most %d is possible", name, type->rank,
                          TYPE_RANK_MAX);
    for (int32_t d = 0; d < type->rank; d++)
        if (type->dim[d] < dim_symbol(0) && -2 - type->dim[d] >= model->n_symbols)
            return graph_fail(GRAPH_INVALID, "value [%s] has an unknown symbol as size", name);
    return GRAPH_OK;
}

static int make(const struct model *model, int32_t value, char *made, const char *what)
{
    if (value < 0 || value >= model->n_values)
        return graph_fail(GRAPH_INVALID, "%s names value %d of %d", what, value, model->n_values);
    if (made[value] != UNMADE)
        return graph_fail(GRAPH_INVALID, "value [%s] is made twice", model->values[value].name);
    made[value] = MADE;
    return GRAPH_OK;
}

static int use(const struct model *model, int32_t value, const char *made, const char *what)
{
    if (value < 0 || value >= model->n_values)
        return graph_fail(GRAPH_INVALID, "%s names value %d of %d", what, value, model->n_values);
    if (made[value] != MADE)
        return graph_fail(GRAPH_INVALID, "%s uses value [%s], which nothing makes before", what,
                          model->values[value].name);
    return GRAPH_OK;
}

static int check_graph(const struct graph *graph, char *made, int depth)
{
    const struct model *model = graph->model;
    if (depth > DEEPEST)
        return graph_fail(GRAPH_INVALID, "subgraphs stand in each other more than %d levels deep", DEEPEST);
    for (int32_t i = 0; i < graph->n_in; i++)
        GRAPH_TRY(make(model, graph->in[i], made, "graph input"));
    for (int32_t n = 0; n < graph->n_nodes; n++) {
        const struct node *node = &graph->nodes[n];
        for (int32_t i = 0; i < node->n_in; i++)
            if (node->in[i] != VALUE_NONE)
                GRAPH_TRY(use(model, node->in[i], made, node->name));
        for (int32_t a = 0; a < node->n_attributes; a++) {
            const struct attribute *attribute = &node->attributes[a];
            if (attribute->kind == ATTRIBUTE_GRAPH || attribute->kind == ATTRIBUTE_GRAPHS)
                for (size_t g = 0; g < attribute->count; g++)
                    GRAPH_TRY(check_graph(attribute->graphs[g], made, depth + 1));
        }
        for (int32_t i = 0; i < node->n_out; i++)
            if (node->out[i] != VALUE_NONE)
                GRAPH_TRY(make(model, node->out[i], made, node->name));
    }
    for (int32_t i = 0; i < graph->n_out; i++)
        GRAPH_TRY(use(model, graph->out[i], made, "graph output"));
    if (depth == 0)
        return GRAPH_OK;
    for (int32_t i = 0; i < graph->n_in; i++)
        made[graph->in[i]] = GONE;
    for (int32_t n = 0; n < graph->n_nodes; n++)
        for (int32_t i = 0; i < graph->nodes[n].n_out; i++)
            if (graph->nodes[n].out[i] != VALUE_NONE)
                made[graph->nodes[n].out[i]] = GONE;
    return GRAPH_OK;
}

int model_check(const struct model *model)
{
    char *made = calloc((size_t)model->n_values + 1, 1);
    if (!made)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    int status = GRAPH_OK;
    for (int32_t i = 0; !status && i < model->n_values; i++) {
        const struct value *value = &model->values[i];
        status = check_type(model, &value->type, value->name);
        if (status || !value->data)
            continue;
        made[i] = MADE;
        if (!type_known(&value->type) || type_bytes(&value->type) != (int64_t)value->bytes)
            status = graph_fail(GRAPH_INVALID, "constant [%s] has %zu bytes, its type asks for %lld", value->name,
                                value->bytes, (long long)type_bytes(&value->type));
    }
    for (int32_t i = 0; !status && i < model->n_aipp; i++)
        if (model->aipp[i].input < 0 || model->aipp[i].input >= model->main.n_in)
            status =
                graph_fail(GRAPH_INVALID, "AIPP is asked for input %d of %d", model->aipp[i].input, model->main.n_in);
    if (!status && (model->gears.symbols < 0 || model->gears.symbols > model->n_symbols || model->gears.count < 0))
        status = graph_fail(GRAPH_INVALID, "the declared sizes are for %d symbols of %d", model->gears.symbols,
                            model->n_symbols);
    if (!status)
        status = check_graph(&model->main, made, 0);
    free(made);
    return status;
}

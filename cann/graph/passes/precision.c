/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing in a narrow float type. Every float32 value may have a narrow twin, made where it is first wanted: by a
 * Cast, for constants by converting their bytes. Operators that can, read twins and make twins; others get the value
 * itself back. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/passes/edit.h"

/* Inputs that are numbers to compute with, as a set of bits; others keep their type. */
static const struct able {
    const char *op;
    uint32_t in;
    bool heavy; /* products and convolutions */
} ables[] = {
    {"Conv", 7, true},
    {"ConvTranspose", 7, true},
    {"MatMul", 3, true},
    {"Gemm", 7, true},
    {"Abs", 1, false},
    {"Add", 3, false},
    {"AveragePool", 1, false},
    {"BatchNormalization", 31, false},
    {"Ceil", 1, false},
    {"Clip", 7, false},
    {"Concat", ~0u, false},
    {"Cos", 1, false},
    {"Div", 3, false},
    {"Elu", 1, false},
    {"Erf", 1, false},
    {"Exp", 1, false},
    {"Expand", 1, false},
    {"Flatten", 1, false},
    {"Floor", 1, false},
    {"Gather", 1, false},
    {"GatherElements", 1, false},
    {"GatherND", 1, false},
    {"Gelu", 1, false},
    {"GlobalAveragePool", 1, false},
    {"GlobalMaxPool", 1, false},
    {"HardSigmoid", 1, false},
    {"HardSwish", 1, false},
    {"Identity", 1, false},
    {"InstanceNormalization", 7, false},
    {"LayerNormalization", 7, false},
    {"LeakyRelu", 1, false},
    {"Log", 1, false},
    {"LogSoftmax", 1, false},
    {"Max", ~0u, false},
    {"MaxPool", 1, false},
    {"Min", ~0u, false},
    {"Mul", 3, false},
    {"Neg", 1, false},
    {"PRelu", 3, false},
    {"Pad", 5, false},
    {"Pow", 3, false},
    {"Reciprocal", 1, false},
    {"ReduceMax", 1, false},
    {"ReduceMean", 1, false},
    {"ReduceMin", 1, false},
    {"ReduceSum", 1, false},
    {"Relu", 1, false},
    {"Reshape", 1, false},
    {"Sigmoid", 1, false},
    {"Sin", 1, false},
    {"Slice", 1, false},
    {"Softmax", 1, false},
    {"Softplus", 1, false},
    {"Split", 1, false},
    {"Sqrt", 1, false},
    {"Squeeze", 1, false},
    {"Sub", 3, false},
    {"Sum", ~0u, false},
    {"Tanh", 1, false},
    {"Tile", 1, false},
    {"Transpose", 1, false},
    {"Unsqueeze", 1, false},
    {"Where", 6, false},
    {"MatMulBias", 7, true},
    {"Attention", 15, true},
};

struct narrowing {
    struct model *model;
    aclDataType narrow;
    int32_t *twin;        /* [values at the start]: the narrow one, or VALUE_NONE */
    bool *only_twin;      /* [values]: made narrow, the value itself not yet */
    int32_t known;        /* values at the start */
    struct tensor *table; /* [values, as far as they are in it]: for asking whether an operator takes the narrow type */
    int32_t in_table, table_room;
    struct node *nodes;
    int32_t count, room;
};

static const struct able *find_able(const struct node *node, bool heavy_only)
{
    for (size_t i = 0; i < sizeof ables / sizeof *ables; i++)
        if (strcmp(ables[i].op, node->op) == 0 && (*node->domain == 0 || strcmp(node->domain, "anynpu") == 0))
            return heavy_only && !ables[i].heavy ? NULL : &ables[i];
    return NULL;
}

static struct node *append(struct narrowing *n)
{
    if (n->count == n->room) {
        int32_t room = n->room ? 2 * n->room : 256;
        struct node *nodes = realloc(n->nodes, (size_t)room * sizeof *nodes);
        if (!nodes)
            return NULL;
        n->nodes = nodes;
        n->room = room;
    }
    return &n->nodes[n->count++];
}

static uint16_t narrowed(aclDataType narrow, float x)
{
    return narrow == ACL_BF16 ? bf16_from_float(x) : f16_from_float(x);
}

/* The narrow twin of a float32 value. */
static int32_t narrow_value(struct narrowing *n, int32_t value)
{
    if (n->twin[value] != VALUE_NONE)
        return n->twin[value];
    struct type type = n->model->values[value].type;
    const char *name = n->model->values[value].name, *suffix = n->narrow == ACL_BF16 ? ":bf16" : ":fp16";
    const float *data = n->model->values[value].data;
    int32_t made = VALUE_NONE;
    type.dtype = n->narrow;
    if (data) {
        uint16_t *half = edit_constant(n->model, name, suffix, &type, &made);
        int64_t count = type_count(&type);
        for (int64_t i = 0; half && i < count; i++)
            half[i] = narrowed(n->narrow, data[i]);
    } else {
        struct node *cast = append(n);
        made = cast ? edit_value(n->model, name, suffix, &type) : VALUE_NONE;
        if (made == VALUE_NONE || !edit_cast(n->model, cast, name, value, made, n->narrow))
            return VALUE_NONE;
    }
    return n->twin[value] = made;
}

/* The value itself, where only its twin was made. */
static bool widen_value(struct narrowing *n, int32_t value)
{
    if (value < 0 || value >= n->known || !n->only_twin[value])
        return true;
    struct node *cast = append(n);
    n->only_twin[value] = false;
    return cast && edit_cast(n->model, cast, n->model->values[value].name, n->twin[value], value, ACL_FLOAT);
}

static bool widen_graph(struct narrowing *n, const struct graph *graph);

static bool widen_node(struct narrowing *n, const struct node *node)
{
    bool done = true;
    for (int32_t i = 0; i < node->n_in; i++)
        done &= widen_value(n, node->in[i]);
    for (int32_t a = 0; a < node->n_attributes; a++)
        if (node->attributes[a].kind == ATTRIBUTE_GRAPH || node->attributes[a].kind == ATTRIBUTE_GRAPHS)
            for (size_t g = 0; g < node->attributes[a].count; g++)
                done &= widen_graph(n, node->attributes[a].graphs[g]);
    return done;
}

static bool widen_graph(struct narrowing *n, const struct graph *graph)
{
    bool done = true;
    for (int32_t i = 0; i < graph->n_nodes; i++)
        done &= widen_node(n, &graph->nodes[i]);
    for (int32_t i = 0; i < graph->n_out; i++)
        done &= widen_value(n, graph->out[i]);
    return done;
}

static bool is_float(const struct narrowing *n, int32_t value)
{
    return value != VALUE_NONE && n->model->values[value].type.kind == TYPE_TENSOR &&
           n->model->values[value].type.dtype == ACL_FLOAT;
}

/* The operator takes these types. */
static bool takes(struct narrowing *n, const struct node *node)
{
    const struct model *model = n->model;
    if (model->n_values > n->table_room) {
        int32_t room = 2 * model->n_values;
        struct tensor *table = realloc(n->table, (size_t)room * sizeof *table);
        if (!table)
            return false;
        n->table = table;
        n->table_room = room;
    }
    for (; n->in_table < model->n_values; n->in_table++)
        n->table[n->in_table] =
            (struct tensor){.type = model->values[n->in_table].type, .host = model->values[n->in_table].data};
    return node_infer(node, n->table) == GRAPH_OK;
}

/* *kept: the operator does not take the narrow type, nothing was made. */
static bool narrow_node(struct narrowing *n, const struct node *node, const struct able *able, bool *kept)
{
    struct node made = *node;
    int32_t *ids = model_alloc(n->model, (size_t)(node->n_in + node->n_out + 1) * sizeof *ids);
    if (!ids)
        return false;
    for (int32_t i = 0; i < node->n_in; i++) {
        ids[i] = node->in[i];
        bool number = i < 32 ? able->in >> i & 1 : able->in == ~0u;
        if (number && is_float(n, node->in[i]) && (ids[i] = narrow_value(n, node->in[i])) == VALUE_NONE)
            return false;
        if (!number && !widen_value(n, node->in[i]))
            return false;
    }
    for (int32_t i = 0; i < node->n_out; i++) {
        int32_t out = node->out[i];
        ids[node->n_in + i] = out;
        if (!is_float(n, out))
            continue;
        struct type type = n->model->values[out].type;
        type.dtype = n->narrow;
        int32_t twin =
            edit_value(n->model, n->model->values[out].name, n->narrow == ACL_BF16 ? ":bf16" : ":fp16", &type);
        if (twin == VALUE_NONE)
            return false;
        ids[node->n_in + i] = twin;
    }
    made.in = ids;
    made.out = ids + node->n_in;
    *kept = !takes(n, &made);
    if (*kept)
        return true;
    for (int32_t i = 0; i < node->n_out; i++)
        if (made.out[i] != node->out[i]) {
            n->twin[node->out[i]] = made.out[i];
            n->only_twin[node->out[i]] = true;
        }
    struct node *place = append(n);
    if (place)
        *place = made;
    return place != NULL;
}

static bool narrow_graph(struct narrowing *n, struct graph *graph, bool heavy_only)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = &graph->nodes[i];
        const struct able *able = find_able(node, heavy_only);
        bool computes = false; /* with float32 */
        for (int32_t k = 0; able && k < node->n_in; k++)
            computes |= (k < 32 ? able->in >> k & 1 : able->in == ~0u) && is_float(n, node->in[k]);
        bool kept = true;
        if (computes && !narrow_node(n, node, able, &kept))
            return false;
        if (!kept)
            continue;
        if (!widen_node(n, node))
            return false;
        struct node *place = append(n);
        if (!place)
            return false;
        *place = *node;
    }
    for (int32_t i = 0; i < graph->n_out; i++)
        if (!widen_value(n, graph->out[i]))
            return false;
    return true;
}

int pass_precision(struct model *model, aclDataType narrow, bool heavy_only)
{
    struct narrowing n = {.model = model, .narrow = narrow, .known = model->n_values};
    struct graph *graph = &model->main;
    size_t room = (size_t)model->n_values + 1;
    n.twin = malloc(room * sizeof *n.twin);
    n.only_twin = calloc(room, sizeof *n.only_twin);
    for (size_t i = 0; n.twin && i < room; i++)
        n.twin[i] = VALUE_NONE;
    bool done = n.twin && n.only_twin && narrow_graph(&n, graph, heavy_only);
    struct node *nodes = done ? model_alloc(model, (size_t)n.count * sizeof *nodes + 1) : NULL;
    if (nodes) {
        memcpy(nodes, n.nodes, (size_t)n.count * sizeof *nodes);
        graph->nodes = nodes;
        graph->n_nodes = n.count;
    }
    free(n.nodes);
    free(n.table);
    free(n.twin);
    free(n.only_twin);
    return nodes ? pass_dead(model) : graph_fail(GRAPH_NO_MEMORY, "no memory");
}

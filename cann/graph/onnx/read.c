/* SPDX-License-Identifier: BSD-3-Clause */
/* From the unpacked ONNX file to a model. Names are resolved scope by scope to values; functions are inlined where they
 * are called; Constant nodes and initializers become values with bytes. The unpacked file lies in the model's arena, so
 * names and data need no copies. */
#define _GNU_SOURCE
#include "graph/onnx/onnx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "graph/onnx/parts.h"
#include "graph/operator.h"

enum { DEEPEST_CALL = 32, NODES_MAX = 1 << 20 };

/* ---- scopes ---- */
static struct name *slot(const struct scope *scope, const char *text)
{
    size_t at = text_hash(text, strlen(text)) & (scope->room - 1);
    while (scope->names[at].text && strcmp(scope->names[at].text, text) != 0)
        at = (at + 1) & (scope->room - 1);
    return &scope->names[at];
}

static int32_t look_up(const struct scope *scope, const char *text)
{
    for (; scope; scope = scope->outer) {
        const struct name *name = scope->room ? slot(scope, text) : NULL;
        if (name && name->text)
            return name->value;
    }
    return VALUE_NONE;
}

static int name_value(struct scope *scope, const char *text, int32_t value)
{
    if (value == VALUE_NONE)
        return graph_fail(GRAPH_NO_MEMORY, "no memory for value [%s]", text);
    if (2 * (scope->count + 1) > scope->room) {
        struct scope larger = {.room = scope->room ? 2 * scope->room : 64};
        larger.names = calloc(larger.room, sizeof *larger.names);
        if (!larger.names)
            return graph_fail(GRAPH_NO_MEMORY, "no memory for names");
        for (size_t i = 0; i < scope->room; i++)
            if (scope->names[i].text)
                *slot(&larger, scope->names[i].text) = scope->names[i];
        free(scope->names);
        scope->names = larger.names;
        scope->room = larger.room;
    }
    struct name *name = slot(scope, text);
    if (name->text)
        return graph_fail(GRAPH_INVALID, "two values have the name [%s]", text);
    *name = (struct name){text, value};
    scope->count++;
    return GRAPH_OK;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* ---- what a call of a function binds ---- */
struct call {
    const Onnx__FunctionProto *function; /* NULL: the main graph and its subgraphs */
    const Onnx__NodeProto *node;         /* the call: its attributes stand for the function's */
    const struct call *outer;            /* in which that node stands */
    const char *prefix;                  /* of names of inlined nodes */
};

/* Nodes as they come. */
struct list {
    struct node *nodes;
    int32_t count, room;
};

static struct node *append(struct reading *r, struct list *list)
{
    if (++r->nodes > NODES_MAX) {
        graph_fail(GRAPH_UNSUPPORTED, "the model has more than %d nodes", NODES_MAX);
        return NULL;
    }
    if (list->count == list->room) {
        int32_t room = list->room ? 2 * list->room : 64;
        struct node *nodes = realloc(list->nodes, (size_t)room * sizeof *nodes);
        if (!nodes) {
            graph_fail(GRAPH_NO_MEMORY, "no memory for nodes");
            return NULL;
        }
        list->nodes = nodes;
        list->room = room;
    }
    return memset(&list->nodes[list->count++], 0, sizeof *list->nodes);
}

static int read_graph(struct reading *r, const Onnx__GraphProto *from, struct scope *outer, const struct call *call,
                      struct graph *graph);
static int read_nodes(struct reading *r, Onnx__NodeProto *const *nodes, size_t count, struct scope *scope,
                      const struct call *call, struct list *list);

/* ---- attributes ---- */
static const Onnx__AttributeProto *find_attribute(Onnx__AttributeProto *const *attributes, size_t count,
                                                  const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(or_empty(attributes[i]->name), name) == 0)
            return attributes[i];
    return NULL;
}

/* Follows references to the attributes of the calling node, then to the function's defaults. NULL: left out. *call
 * becomes the call in which the attribute found stands. */
static const Onnx__AttributeProto *resolve(const Onnx__AttributeProto *attribute, const struct call **call)
{
    while (attribute && attribute->ref_attr_name && *attribute->ref_attr_name) {
        const char *name = attribute->ref_attr_name;
        if (!*call || !(*call)->function)
            return NULL;
        attribute = find_attribute((*call)->node->attribute, (*call)->node->n_attribute, name);
        if (!attribute)
            return find_attribute((*call)->function->attribute_proto, (*call)->function->n_attribute_proto, name);
        *call = (*call)->outer;
    }
    return attribute;
}

/* Files of before IR version 1 leave the type out. */
static int attribute_type(const Onnx__AttributeProto *a)
{
    if (a->has_type && a->type)
        return a->type;
    return a->has_f       ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
           : a->has_i     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
           : a->has_s     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING
           : a->t         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR
           : a->g         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH
           : a->n_floats  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
           : a->n_ints    ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS
           : a->n_strings ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS
                          : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

static const char *bytes_text(struct reading *r, const ProtobufCBinaryData *bytes)
{
    return model_text(r->model, (const char *)bytes->data, bytes->len);
}

static int read_graphs(struct reading *r, Onnx__GraphProto *const *from, size_t count, struct scope *scope,
                       const struct call *call, struct attribute *out)
{
    struct graph **graphs = model_alloc(r->model, (count + 1) * sizeof *graphs);
    if (!graphs)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (size_t i = 0; i < count; i++) {
        graphs[i] = model_alloc(r->model, sizeof **graphs);
        if (!graphs[i])
            return graph_fail(GRAPH_NO_MEMORY, "no memory");
        GRAPH_TRY(read_graph(r, from[i], scope, call, graphs[i]));
    }
    out->graphs = graphs;
    return GRAPH_OK;
}

/* *kept: false when the attribute says nothing that is used here (types of sequences). */
static int read_attribute(struct reading *r, const Onnx__AttributeProto *a, struct scope *scope,
                          const struct call *call, struct attribute *out, bool *kept)
{
    *kept = true;
    out->count = 1;
    switch (attribute_type(a)) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        out->kind = ATTRIBUTE_INT;
        out->i = a->i;
        return GRAPH_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        out->kind = ATTRIBUTE_FLOAT;
        out->f = a->f;
        return GRAPH_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        out->kind = ATTRIBUTE_STRING;
        out->s = bytes_text(r, &a->s);
        out->count = a->s.len;
        return out->s ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        out->kind = ATTRIBUTE_INTS;
        out->ints = a->ints;
        out->count = a->n_ints;
        return GRAPH_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        out->kind = ATTRIBUTE_FLOATS;
        out->floats = a->floats;
        out->count = a->n_floats;
        return GRAPH_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS: {
        const char **strings = model_alloc(r->model, (a->n_strings + 1) * sizeof *strings);
        for (size_t i = 0; strings && i < a->n_strings; i++)
            if (!(strings[i] = bytes_text(r, &a->strings[i])))
                strings = NULL;
        out->kind = ATTRIBUTE_STRINGS;
        out->strings = strings;
        out->count = a->n_strings;
        return strings ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR: {
        struct tensor *tensor = model_alloc(r->model, sizeof *tensor);
        if (!tensor || !a->t)
            return graph_fail(tensor ? GRAPH_INVALID : GRAPH_NO_MEMORY, "attribute %s has no tensor", out->name);
        out->kind = ATTRIBUTE_TENSOR;
        out->tensor = tensor;
        return onnx_tensor(r, a->t, tensor);
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
        if (!a->g)
            return graph_fail(GRAPH_INVALID, "attribute %s has no graph", out->name);
        out->kind = ATTRIBUTE_GRAPH;
        return read_graphs(r, &a->g, 1, scope, call, out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS:
        out->kind = ATTRIBUTE_GRAPHS;
        out->count = a->n_graphs;
        return read_graphs(r, a->graphs, a->n_graphs, scope, call, out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTOS:
        *kept = false;
        return GRAPH_OK;
    default:
        return graph_fail(GRAPH_UNSUPPORTED, "attribute %s has type %d, which is not supported", out->name,
                          attribute_type(a));
    }
}

static int read_attributes(struct reading *r, const Onnx__NodeProto *from, struct scope *scope, const struct call *call,
                           struct node *node)
{
    struct attribute *attributes = model_alloc(r->model, (from->n_attribute + 1) * sizeof *attributes);
    int32_t count = 0;
    if (!attributes)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (size_t i = 0; i < from->n_attribute; i++) {
        const struct call *where = call;
        const Onnx__AttributeProto *a = resolve(from->attribute[i], &where);
        bool kept = false;
        attributes[count].name = or_empty(from->attribute[i]->name);
        if (a)
            GRAPH_TRY(read_attribute(r, a, scope, where, &attributes[count], &kept));
        count += kept;
    }
    node->attributes = attributes;
    node->n_attributes = count;
    return GRAPH_OK;
}

/* ---- constants ---- */
static int constant(struct reading *r, struct scope *scope, const char *name, const struct tensor *tensor)
{
    int32_t value = model_value(r->model, name, &tensor->type);
    GRAPH_TRY(name_value(scope, name, value));
    r->model->values[value].data = tensor->host;
    r->model->values[value].bytes = (size_t)type_bytes(&tensor->type);
    return GRAPH_OK;
}

/* The attribute of a Constant node as a tensor. */
static int constant_node(struct reading *r, const struct node *node, const char *name, struct scope *scope)
{
    struct tensor tensor = {.host = NULL};
    const struct attribute *a = node->n_attributes == 1 ? &node->attributes[0] : NULL;
    if (a && a->kind == ATTRIBUTE_TENSOR)
        return constant(r, scope, name, a->tensor);
    if (!a || (a->kind != ATTRIBUTE_INT && a->kind != ATTRIBUTE_FLOAT && a->kind != ATTRIBUTE_INTS &&
               a->kind != ATTRIBUTE_FLOATS))
        return graph_fail(
            GRAPH_UNSUPPORTED,
            "node [%s] (Constant): its value is no tensor and no number; texts and sparse tensors are not "
            "supported",
            node->name);
    bool list = a->kind == ATTRIBUTE_INTS || a->kind == ATTRIBUTE_FLOATS;
    bool whole = a->kind == ATTRIBUTE_INT || a->kind == ATTRIBUTE_INTS;
    tensor.type = type_make(whole ? ACL_INT64 : ACL_FLOAT, list, (int64_t[]){(int64_t)a->count});
    tensor.host = !list ? (const void *)&a->i : whole ? (const void *)a->ints : (const void *)a->floats;
    if (list && a->count == 0)
        tensor.host = "";
    return constant(r, scope, name, &tensor);
}

/* ---- nodes ---- */
/* The version of a domain that is asked for, 0: none. */
static int32_t opset(Onnx__OperatorSetIdProto *const *sets, size_t count, const char *domain)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = or_empty(sets[i]->domain);
        if (strcmp(strcmp(name, "ai.onnx") == 0 ? "" : name, domain) == 0)
            return sets[i]->version < 0 || sets[i]->version > INT32_MAX ? 0 : (int32_t)sets[i]->version;
    }
    return 0;
}

static const Onnx__FunctionProto *find_function(const struct reading *r, const char *domain,
                                                const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < r->file->n_functions; i++) {
        const Onnx__FunctionProto *f = r->file->functions[i];
        const char *of = or_empty(f->domain);
        if (strcmp(or_empty(f->name), or_empty(node->op_type)) == 0 &&
            strcmp(strcmp(of, "ai.onnx") == 0 ? "" : of, domain) == 0 &&
            strcmp(or_empty(f->overload), or_empty(node->overload)) == 0)
            return f;
    }
    return NULL;
}

/* Puts the function's nodes in the call's place: its inputs are the call's, its outputs get the call's names. */
static int inline_function(struct reading *r, const Onnx__FunctionProto *f, const Onnx__NodeProto *node,
                           const char *name, struct scope *scope, const struct call *outer, struct list *list)
{
    struct scope inner = {.outer = NULL}; /* a function sees nothing of its caller but its inputs */
    struct call call = {f, node, outer, name};
    int status = GRAPH_OK;
    if (r->depth >= DEEPEST_CALL)
        return graph_fail(GRAPH_INVALID, "functions and subgraphs stand in each other more than %d levels deep",
                          DEEPEST_CALL);
    if (node->n_input > f->n_input || node->n_output > f->n_output)
        return graph_fail(GRAPH_INVALID, "node [%s]: function %s has %zu inputs and %zu outputs", name, f->name,
                          f->n_input, f->n_output);
    r->depth++;
    for (size_t i = 0; !status && i < node->n_input; i++) {
        int32_t value = *node->input[i] ? look_up(scope, node->input[i]) : VALUE_NONE;
        if (*node->input[i] && value == VALUE_NONE)
            status = graph_fail(GRAPH_INVALID, "node [%s] uses value [%s], which nothing makes before", name,
                                node->input[i]);
        else if (value != VALUE_NONE)
            status = name_value(&inner, f->input[i], value);
    }
    if (!status)
        status = read_nodes(r, f->node, f->n_node, &inner, &call, list);
    for (size_t i = 0; !status && i < node->n_output; i++) {
        int32_t value = *node->output[i] ? look_up(&inner, f->output[i]) : VALUE_NONE;
        if (*node->output[i] && value == VALUE_NONE)
            status = graph_fail(GRAPH_INVALID, "node [%s]: function %s does not make its output %s", name, f->name,
                                f->output[i]);
        else if (value != VALUE_NONE)
            status = name_value(scope, node->output[i], value);
    }
    r->depth--;
    free(inner.names);
    return status;
}

static const char *node_name(struct reading *r, const Onnx__NodeProto *from, size_t index, const struct call *call)
{
    char *text = NULL;
    const char *parts = *call->prefix ? "/" : "";
    int length = from->name && *from->name
                     ? asprintf(&text, "%s%s%s", call->prefix, parts, from->name)
                     : asprintf(&text, "%s%s%s_%zu", call->prefix, parts, or_empty(from->op_type), index);
    const char *name = length < 0 ? NULL : model_text(r->model, text, (size_t)length);
    free(text);
    return name;
}

static int read_values(struct reading *r, const Onnx__NodeProto *from, const char *name, struct scope *scope,
                       struct node *node)
{
    int32_t *in = model_alloc(r->model, (from->n_input + from->n_output + 1) * sizeof *in), *out = in + from->n_input;
    if (!in)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (size_t i = 0; i < from->n_input; i++) {
        in[i] = *from->input[i] ? look_up(scope, from->input[i]) : VALUE_NONE;
        if (*from->input[i] && in[i] == VALUE_NONE)
            return graph_fail(GRAPH_INVALID, "node [%s] uses value [%s], which nothing makes before", name,
                              from->input[i]);
    }
    for (size_t i = 0; i < from->n_output; i++) {
        out[i] = VALUE_NONE;
        if (!*from->output[i])
            continue;
        out[i] = model_value(r->model, from->output[i], &type_unknown);
        GRAPH_TRY(name_value(scope, from->output[i], out[i]));
    }
    node->in = in;
    node->out = out;
    node->n_in = (int32_t)from->n_input;
    node->n_out = (int32_t)from->n_output;
    while (node->n_in > 0 && in[node->n_in - 1] == VALUE_NONE) /* left out at the end */
        node->n_in--;
    while (node->n_out > 0 && out[node->n_out - 1] == VALUE_NONE)
        node->n_out--;
    return GRAPH_OK;
}

static int read_node(struct reading *r, const Onnx__NodeProto *from, size_t index, struct scope *scope,
                     const struct call *call, struct list *list)
{
    const char *name = node_name(r, from, index, call), *domain = or_empty(from->domain);
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    const Onnx__FunctionProto *function = find_function(r, domain, from);
    struct node node = {.name = name, .domain = domain, .op = or_empty(from->op_type)};
    if (!name)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    if (function)
        return inline_function(r, function, from, name, scope, call, list);
    node.version = call->function ? opset(call->function->opset_import, call->function->n_opset_import, domain) : 0;
    if (!node.version)
        node.version = opset(r->file->opset_import, r->file->n_opset_import, domain);
    if (!node.version && *domain)
        node.version = 1; /* of other domains files often leave it out */
    GRAPH_TRY(read_attributes(r, from, scope, call, &node));
    if (*domain == 0 && strcmp(node.op, "Constant") == 0 && from->n_output == 1 && *from->output[0])
        return constant_node(r, &node, from->output[0], scope);
    GRAPH_TRY(read_values(r, from, name, scope, &node));
    node.row = operator_find(node.domain, node.op, node.version, NULL);
    struct node *made = append(r, list);
    if (!made)
        return GRAPH_NO_MEMORY;
    *made = node;
    return GRAPH_OK;
}

static int read_nodes(struct reading *r, Onnx__NodeProto *const *nodes, size_t count, struct scope *scope,
                      const struct call *call, struct list *list)
{
    for (size_t i = 0; i < count; i++)
        GRAPH_TRY(read_node(r, nodes[i], i, scope, call, list));
    return GRAPH_OK;
}

/* ---- graphs ---- */
static int32_t symbol(struct reading *r, const char *name)
{
    for (int32_t i = 0; *name && i < r->model->n_symbols; i++)
        if (strcmp(r->model->symbols[i].name, name) == 0)
            return i;
    return model_symbol(r->model, name, 1, -1);
}

/* Sizes that are not known become symbols (of the main graph's inputs) or stay unknown. */
static int read_type(struct reading *r, const Onnx__ValueInfoProto *info, bool symbols, struct type *type)
{
    const char *name = or_empty(info->name);
    const Onnx__TypeProto *from = info->type;
    *type = type_unknown;
    if (!from || from->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET)
        return symbols ? graph_fail(GRAPH_INVALID, "input [%s] has no type", name) : GRAPH_OK;
    if (from->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return symbols ? graph_fail(GRAPH_UNSUPPORTED, "input [%s] is no tensor, which is not supported", name)
                       : GRAPH_OK;
    type->dtype = onnx_dtype(from->tensor_type->elem_type);
    if (symbols && (type->dtype == ACL_DT_UNDEFINED || type->dtype == ACL_STRING))
        return graph_fail(GRAPH_UNSUPPORTED, "input [%s] has elements of type %s, which is not supported", name,
                          onnx_dtype_name(from->tensor_type->elem_type));
    const Onnx__TensorShapeProto *shape = from->tensor_type->shape;
    if (!symbols || !shape)
        return GRAPH_OK;
    if (shape->n_dim > TYPE_RANK_MAX)
        return graph_fail(GRAPH_UNSUPPORTED, "input [%s] has %zu dimensions, at most %d are possible", name,
                          shape->n_dim, TYPE_RANK_MAX);
    type->rank = (int32_t)shape->n_dim;
    for (int32_t d = 0; d < type->rank; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        bool given = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0;
        bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        int32_t k = given ? 0 : symbol(r, named ? dim->dim_param : "");
        if (k < 0)
            return graph_fail(GRAPH_NO_MEMORY, "no memory");
        type->dim[d] = given ? dim->dim_value : dim_symbol(k);
    }
    return GRAPH_OK;
}

static int read_ends(struct reading *r, const Onnx__GraphProto *from, struct scope *scope, struct graph *graph)
{
    bool main_graph = graph == &r->model->main;
    graph->in = model_alloc(r->model, (from->n_input + from->n_output + 1) * sizeof *graph->in);
    if (!graph->in)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    graph->out = graph->in + from->n_input;
    for (size_t i = 0; i < from->n_input; i++) {
        const char *name = or_empty(from->input[i]->name);
        struct type type;
        if (scope->room && slot(scope, name)->text) /* an initializer, which a caller could replace */
            continue;
        GRAPH_TRY(read_type(r, from->input[i], main_graph, &type));
        int32_t value = model_value(r->model, name, &type);
        GRAPH_TRY(name_value(scope, name, value));
        graph->in[graph->n_in++] = value;
    }
    return GRAPH_OK;
}

static int read_inside(struct reading *r, const Onnx__GraphProto *from, struct scope *scope, const struct call *call,
                       struct graph *graph, struct list *list)
{
    if (from->n_sparse_initializer)
        return graph_fail(GRAPH_UNSUPPORTED, "the graph has sparse initializers, which are not supported");
    for (size_t i = 0; i < from->n_initializer; i++) {
        struct tensor tensor;
        GRAPH_TRY(onnx_tensor(r, from->initializer[i], &tensor));
        GRAPH_TRY(constant(r, scope, or_empty(from->initializer[i]->name), &tensor));
    }
    GRAPH_TRY(read_ends(r, from, scope, graph));
    GRAPH_TRY(read_nodes(r, from->node, from->n_node, scope, call, list));
    for (size_t i = 0; i < from->n_output; i++) {
        int32_t value = look_up(scope, or_empty(from->output[i]->name));
        if (value == VALUE_NONE)
            return graph_fail(GRAPH_INVALID, "nothing makes output [%s] of graph %s", or_empty(from->output[i]->name),
                              graph->name);
        graph->out[graph->n_out++] = value;
    }
    graph->nodes = model_alloc(r->model, (size_t)list->count * sizeof *graph->nodes + 1);
    if (!graph->nodes)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    if (list->count)
        memcpy(graph->nodes, list->nodes, (size_t)list->count * sizeof *graph->nodes);
    graph->n_nodes = list->count;
    return GRAPH_OK;
}

static int read_graph(struct reading *r, const Onnx__GraphProto *from, struct scope *outer, const struct call *call,
                      struct graph *graph)
{
    struct scope scope = {.outer = outer};
    struct list list = {.nodes = NULL};
    if (r->depth >= DEEPEST_CALL)
        return graph_fail(GRAPH_INVALID, "functions and subgraphs stand in each other more than %d levels deep",
                          DEEPEST_CALL);
    r->depth++;
    graph->model = r->model;
    graph->name = or_empty(from->name);
    int status = read_inside(r, from, &scope, call, graph, &list);
    free(list.nodes);
    free(scope.names);
    r->depth--;
    return status;
}

/* ---- the file ---- */
/* Unpacking lies in the model's arena, and may not take much more than the file has bytes: a few bytes can ask for a
 * large structure. */
struct store {
    struct model *model;
    size_t left;
};

static void *store_alloc(void *data, size_t size)
{
    struct store *store = data;
    if (size > store->left)
        return NULL;
    store->left -= size;
    return model_alloc(store->model, size);
}

static void store_free(void *data, void *memory)
{
    (void)data;
    (void)memory; /* with the arena */
}

static int read_file(struct reading *r, const Onnx__ModelProto *file)
{
    struct call none = {.prefix = ""};
    int32_t version = opset(file->opset_import, file->n_opset_import, "");
    if (!file->graph)
        return graph_fail(GRAPH_INVALID, "the file is no ONNX model: it has no graph");
    if (version > 0 && version < ONNX_OPSET_MIN)
        return graph_fail(
            GRAPH_UNSUPPORTED,
            "the model asks for version %d of ONNX's operators, versions from %d on are supported: raise it "
            "with onnx.version_converter or export the model again",
            version, ONNX_OPSET_MIN);
    if (version > ONNX_OPSET_MAX)
        return graph_fail(
            GRAPH_UNSUPPORTED,
            "the model asks for version %d of ONNX's operators, versions up to %d are supported: export it "
            "with an older one (opset_version=%d)",
            version, ONNX_OPSET_MAX, ONNX_OPSET_MAX);
    r->file = file;
    r->model->opset = version;
    r->model->name = r->model->main.name = or_empty(file->graph->name);
    r->model->producer = or_empty(file->producer_name);
    GRAPH_TRY(read_graph(r, file->graph, NULL, &none, &r->model->main));
    return model_check(r->model);
}

int onnx_parse(const void *bytes, size_t size, const char *folder, struct model **out)
{
    GRAPH_TRY(onnx_depth(bytes, size));
    struct model *model = model_new();
    if (!model)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    struct store store = {model, size > SIZE_MAX / 32 ? SIZE_MAX : 24 * size + (64 << 20)};
    ProtobufCAllocator allocator = {store_alloc, store_free, &store};
    const Onnx__ModelProto *file = onnx__model_proto__unpack(&allocator, size, bytes);
    struct reading reading = {.model = model, .folder = folder};
    int status = file ? read_file(&reading, file)
                      : graph_fail(GRAPH_INVALID, "the file is cut or no ONNX model (its protobuf cannot be read)");
    if (status)
        model_free(model);
    else
        *out = model;
    return status;
}

int onnx_read(const char *path, struct model **model)
{
    size_t size;
    void *bytes = file_map(path, MAP_PRIVATE, &size);
    if (!bytes && !size && errno)
        return graph_fail(GRAPH_FAILED, "%s cannot be read: %s", path, strerror(errno));
    if (!bytes)
        return graph_fail(GRAPH_INVALID, "%s is empty or no file", path);
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
    int status = folder ? onnx_parse(bytes, size, folder, model) : graph_fail(GRAPH_NO_MEMORY, "no memory");
    free(folder);
    munmap(bytes, size);
    return status;
}

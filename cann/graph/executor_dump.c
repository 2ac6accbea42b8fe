/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumping layers: after a node that the configuration of dumps chose, a function in the stream's order hands the node's
 * tensors to the runtime. Inputs are as they were: a node does not write into them, and their places are given to
 * others after it. */
#include <stdlib.h>
#include <string.h>

#include "graph/executor.h"
#include "runtime/door.h"

/* The argument of such a function; names and the model outlive every recording. */
struct layer {
    struct dump_model *model;
    const char *type, *name;
    uint32_t task, in, out;
    struct tensor tensor[];
};

static int run_turn(void *arg)
{
    dump_model_turn(*(struct dump_model **)arg);
    return 0;
}

int emit_turn(struct emitter *m)
{
    struct dump_model *model = m->executable->dump;
    return model ? m->context.call(&m->context, "Dump", run_turn, &model, sizeof model) : GRAPH_OK;
}

static int run_layer(void *arg)
{
    const struct layer *l = arg;
    uint32_t count = l->in + l->out;
    struct dump_tensor *tensor = calloc(count + 1, sizeof *tensor);
    if (!tensor)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory to dump %s", l->name);
    for (uint32_t i = 0; i < count; i++) {
        const struct type *type = &l->tensor[i].type;
        int64_t bytes = type_bytes(type);
        tensor[i] = (struct dump_tensor){.dtype = type->dtype,
                                         .format = ACL_FORMAT_ND,
                                         .rank = type->rank,
                                         .dim = type->dim,
                                         .data = device_address(l->tensor[i].device),
                                         .bytes = bytes > 0 ? (size_t)bytes : 0};
    }
    struct dump_op op = {.type = l->type, .name = l->name, .in = l->in, .out = l->out, .tensor = tensor};
    int status = dump_model_layer(l->model, &op, l->task);
    free(tensor);
    return status;
}

static uint32_t gather(const int32_t *value, int32_t count, const struct tensor *table, struct tensor *to)
{
    uint32_t n = 0;
    for (int32_t i = 0; i < count; i++)
        if (value[i] != VALUE_NONE && type_known(&table[value[i]].type) && table[value[i]].device)
            to[n++] = table[value[i]];
    return n;
}

int emit_dump(struct emitter *m, const struct node *node, const struct tensor *table)
{
    struct dump_model *model = m->executable->dump;
    if (!dump_model_wants(model, node->name))
        return GRAPH_OK;
    size_t most = sizeof(struct layer) + (size_t)(node->n_in + node->n_out) * sizeof(struct tensor);
    struct layer *l = malloc(most);
    if (!l)
        return graph_fail(GRAPH_NO_MEMORY, "no memory to dump node [%s]", node->name);
    *l = (struct layer){.model = model, .type = node->op, .name = node->name, .task = m->layers++};
    l->in = gather(node->in, node->n_in, table, l->tensor);
    l->out = gather(node->out, node->n_out, table, l->tensor + l->in);
    int status = m->context.call(&m->context, "Dump", run_layer, l, most);
    free(l);
    return status;
}

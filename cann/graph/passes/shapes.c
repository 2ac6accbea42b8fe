/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape arithmetic of models with open sizes. Lists of sizes are followed element by element through Shape, Gather,
 * Slice, Concat …: an element is a number, or a symbol. A list of numbers alone becomes a constant. A Reshape whose
 * target has symbols gets a constant target, where they are its input's own sizes (0) or one is left over (-1): then
 * the types of all that follows are known. */
#include <string.h>

#include "graph/passes/match.h"

enum { DEEPEST = 24 };

/* Integers of a constant, at most `room`; -1 when it is none. */
static int64_t numbers(const struct match *m, int32_t value, int64_t *out, int64_t room)
{
    const struct value *v = value == VALUE_NONE ? NULL : &m->model->values[value];
    int64_t n = v && v->data ? type_count(&v->type) : -1;
    if (n < 0 || n > room || (v->type.dtype != ACL_INT64 && v->type.dtype != ACL_INT32))
        return -1;
    for (int64_t i = 0; i < n; i++)
        out[i] = v->type.dtype == ACL_INT64 ? ((const int64_t *)v->data)[i] : ((const int32_t *)v->data)[i];
    return n;
}

/* The positions that a Gather or Slice picks of a list of `size`; -1 when that is not known. */
static int64_t picks(const struct match *m, const struct node *node, int64_t size, int64_t *at)
{
    int64_t start, end, axis = 0, step = 1, n = 0;
    if (strcmp(node->op, "Gather") == 0) {
        n = node_int(node, "axis", 0) == 0 ? numbers(m, node->in[1], at, TYPE_RANK_MAX) : -1;
        for (int64_t i = 0; i < n; i++)
            at[i] += at[i] < 0 ? size : 0;
        return n;
    }
    if (node->n_in < 3 || numbers(m, node->in[1], &start, 1) != 1 || numbers(m, node->in[2], &end, 1) != 1)
        return -1;
    if ((node->n_in > 3 && node->in[3] != VALUE_NONE && numbers(m, node->in[3], &axis, 1) != 1) ||
        (node->n_in > 4 && node->in[4] != VALUE_NONE && numbers(m, node->in[4], &step, 1) != 1) || axis > 0 ||
        axis < -1 || step != 1)
        return -1;
    start += start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    for (int64_t i = start < 0 ? 0 : start; i < end && i < size && n < TYPE_RANK_MAX; i++)
        at[n++] = i;
    return n;
}

static const struct node *maker(const struct match *m, int32_t value)
{
    int32_t node = value == VALUE_NONE ? -1 : m->uses.maker[value];
    return node >= 0 && *m->model->main.nodes[node].domain == 0 ? &m->model->main.nodes[node] : NULL;
}

/* Element i of a list (or the one of a scalar): a number or a symbol; false when neither is known. */
static bool element(const struct match *m, int32_t value, int64_t i, int64_t *out, int depth)
{
    int64_t list[64], at[TYPE_RANK_MAX], n = numbers(m, value, list, 64);
    const struct node *node = maker(m, value);
    if (n >= 0) {
        *out = i < n ? list[i] : -1;
        return i < n;
    }
    if (!node || depth > DEEPEST || i < 0)
        return false;
    if (strcmp(node->op, "Shape") == 0) {
        const struct type *of = match_type(m, node->in[0]);
        if (node->n_attributes || of->rank <= i || of->dim[i] == DIM_UNKNOWN)
            return false;
        *out = of->dim[i];
        return true;
    }
    if (strcmp(node->op, "Gather") == 0 || strcmp(node->op, "Slice") == 0) {
        const struct type *of = match_type(m, node->in[0]);
        if (node->n_in < 2 || of->rank != 1 || of->dim[0] < 0 || (n = picks(m, node, of->dim[0], at)) <= i)
            return false;
        return element(m, node->in[0], at[i], out, depth + 1);
    }
    if (strcmp(node->op, "Concat") == 0) {
        for (int32_t k = 0; k < node->n_in; k++) {
            const struct type *of = match_type(m, node->in[k]);
            if (of->rank != 1 || of->dim[0] < 0)
                return false;
            if (i < of->dim[0])
                return element(m, node->in[k], i, out, depth + 1);
            i -= of->dim[0];
        }
        return false;
    }
    static const char *const same[] = {"Unsqueeze", "Squeeze", "Identity", "Cast"};
    const struct type *of = node->n_in ? match_type(m, node->in[0]) : &type_unknown;
    for (size_t k = 0; k < sizeof same / sizeof *same; k++)
        if (strcmp(node->op, same[k]) == 0 && (of->dtype == ACL_INT64 || of->dtype == ACL_INT32) && of->rank >= 0 &&
            of->rank <= 1)
            return element(m, node->in[0], i, out, depth + 1);
    return false;
}

static bool is_list(const struct type *type)
{
    return type->dtype == ACL_INT64 && type->rank >= 0 && type->rank <= 1 && type_known(type) &&
           type_count(type) <= TYPE_RANK_MAX;
}

/* The node becomes a Constant when all its elements are numbers. */
static bool list_to_constant(const struct match *m, struct node *node, int32_t *made)
{
    static const char *const ops[] = {"Gather", "Slice", "Concat"};
    const struct value *result = node->n_out == 1 ? &m->model->values[node->out[0]] : NULL;
    int64_t list[TYPE_RANK_MAX];
    bool wanted = false;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        wanted |= strcmp(node->op, ops[k]) == 0;
    if (!wanted || !result || result->data || !is_list(&result->type))
        return true;
    int64_t n = type_count(&result->type);
    for (int64_t i = 0; i < n; i++)
        if (!element(m, node->out[0], i, &list[i], 0) || list[i] < 0)
            return true;
    struct tensor *tensor = model_alloc(m->model, sizeof *tensor);
    int64_t *data = model_alloc(m->model, (size_t)n * sizeof *data + 1);
    struct attribute value = {"value", ATTRIBUTE_TENSOR, 1, {.tensor = tensor}};
    if (!tensor || !data)
        return false;
    memcpy(data, list, (size_t)n * sizeof *data);
    *tensor = (struct tensor){.type = result->type, .host = data};
    ++*made;
    return match_replace(m, node, "", "Constant", 13, 0, NULL) && edit_attribute(m->model, node, &value);
}

static bool reshape_target(const struct match *m, struct node *node, int32_t *made)
{
    if (strcmp(node->op, "Reshape") != 0 || node->n_in != 2 || node_int(node, "allowzero", 0) ||
        m->model->values[node->in[1]].data || !is_list(match_type(m, node->in[1])))
        return true;
    struct type type = *match_type(m, node->in[1]);
    const struct type *of = match_type(m, node->in[0]);
    int64_t list[TYPE_RANK_MAX], n = type_count(&type), open = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!element(m, node->in[1], i, &list[i], 0) || list[i] == 0)
            return true;
        if (list[i] < DIM_UNKNOWN)
            list[i] = i < of->rank && of->dim[i] == list[i] ? 0 : -1;
        open += list[i] == -1;
    }
    if (open > 1)
        return true;
    int32_t target, in = node->in[0];
    int64_t *data = edit_constant(m->model, m->model->values[node->in[1]].name, ":sizes", &type, &target);
    int32_t *ids = model_alloc(m->model, 2 * sizeof *ids);
    if (!data || !ids)
        return false;
    memcpy(data, list, (size_t)n * sizeof *data);
    ids[0] = in;
    ids[1] = target;
    node->in = ids;
    ++*made;
    return true;
}

int pass_shapes(struct model *model, int32_t *made)
{
    struct match m = {.model = model};
    bool done = uses_find(model, &m.uses);
    for (int32_t i = 0; done && i < model->main.n_nodes; i++)
        if (*model->main.nodes[i].domain == 0)
            done = list_to_constant(&m, &model->main.nodes[i], made) && reshape_target(&m, &model->main.nodes[i], made);
    uses_free(&m.uses);
    return done ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
}

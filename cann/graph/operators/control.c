/* SPDX-License-Identifier: BSD-3-Clause */
/* If, Loop and Scan: what their results are. Who runs the model runs their graphs (OPERATOR_CONTROL).
 *
 * A body is inferred with the types of what goes in, and what was learned of its values is forgotten again: the next
 * round may have others. */
#include <stdlib.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/operators/row.h"

static struct type open_like(const struct type *t)
{
    struct type open = *t;
    open.rank = RANK_UNKNOWN;
    return open;
}

/* What holds for both. */
static struct type common(const struct type *a, const struct type *b)
{
    struct type t = *a;
    if (a->kind != b->kind || a->dtype != b->dtype)
        return type_unknown;
    if (a->rank != b->rank)
        return open_like(a);
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            t.dim[i] = DIM_UNKNOWN;
    return t;
}

static size_t values_of(const struct graph *graph)
{
    size_t n = (size_t)graph->n_in;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        n += (size_t)graph->nodes[i].n_out;
        for (int32_t a = 0; a < graph->nodes[i].n_attributes; a++)
            if (graph->nodes[i].attributes[a].kind == ATTRIBUTE_GRAPH)
                n += values_of(graph->nodes[i].attributes[a].graphs[0]);
    }
    return n;
}

/* Keeps (or brings back) what the table says of the graph's own values. */
static struct tensor *swap_values(const struct graph *graph, struct tensor *table, struct tensor *saved, bool back)
{
    for (int32_t i = 0; i < graph->n_in; i++, saved++)
        *(back ? &table[graph->in[i]] : saved) = *(back ? saved : &table[graph->in[i]]);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->n_out; k++, saved++)
            if (node->out[k] != VALUE_NONE)
                *(back ? &table[node->out[k]] : saved) = *(back ? saved : &table[node->out[k]]);
        for (int32_t a = 0; a < node->n_attributes; a++)
            if (node->attributes[a].kind == ATTRIBUTE_GRAPH)
                saved = swap_values(node->attributes[a].graphs[0], table, saved, back);
    }
    return saved;
}

/* The types of the graph's results for those of its inputs; the table is as before. */
static int infer_body(const struct graph *graph, const struct type *in, struct type *out, struct tensor *table)
{
    struct tensor *saved = calloc(values_of(graph) + 1, sizeof *saved);
    if (!saved)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    swap_values(graph, table, saved, false);
    for (int32_t i = 0; in && i < graph->n_in; i++)
        table[graph->in[i]] = (struct tensor){.type = in[i]};
    int status = graph_infer(graph, table, NULL);
    for (int32_t k = 0; !status && k < graph->n_out; k++)
        out[k] = table[graph->out[k]].type;
    swap_values(graph, table, saved, true);
    free(saved);
    return status;
}

static int need_graph(const struct node *node, const char *name, struct graph **graph)
{
    *graph = node_graph(node, name);
    return *graph ? GRAPH_OK : graph_fail(GRAPH_INVALID, "%s has no graph %s", node->op, name);
}

static int infer_if(const struct node *node, const struct tensor *const *in, struct type *out, struct tensor *table)
{
    struct graph *branch[2];
    GRAPH_TRY(need_graph(node, "else_branch", &branch[0]));
    GRAPH_TRY(need_graph(node, "then_branch", &branch[1]));
    struct type *other = calloc((size_t)node->n_out + 1, sizeof *other);
    int status = other ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (int b = 0; !status && b < 2; b++)
        if (branch[b]->n_out != node->n_out)
            status = graph_fail(GRAPH_INVALID, "a branch has %d results, not %d", branch[b]->n_out, node->n_out);
    if (!status && in[0]->host && in[0]->type.dtype == ACL_BOOL) {
        status = infer_body(branch[*(const bool *)in[0]->host], NULL, out, table);
    } else if (!status) {
        status = infer_body(branch[0], NULL, out, table);
        status = status ? status : infer_body(branch[1], NULL, other, table);
        for (int32_t k = 0; !status && k < node->n_out; k++)
            out[k] = common(&out[k], &other[k]);
    }
    free(other);
    return status;
}

/* A body that is run again with its first `states` results (from `first` on) as inputs: types that hold for every
 * round. */
static int infer_rounds(const struct graph *body, struct type *in, int32_t in_first, struct type *out,
                        int32_t out_first, int32_t states, struct tensor *table)
{
    GRAPH_TRY(infer_body(body, in, out, table));
    bool changed = false;
    for (int32_t i = 0; i < states; i++) {
        struct type *a = &in[in_first + i], both = common(a, &out[out_first + i]);
        changed |= !type_equal(a, &both);
        *a = both.dtype == ACL_DT_UNDEFINED ? open_like(a) : both;
    }
    return changed ? infer_body(body, in, out, table) : GRAPH_OK;
}

/* The type of results stacked along a new first axis. */
static struct type stacked(const struct type *t, int64_t count)
{
    struct type s = *t;
    if (t->rank < 0 || t->rank >= TYPE_RANK_MAX)
        return open_like(t);
    memmove(s.dim + 1, s.dim, sizeof *s.dim * (size_t)t->rank);
    s.dim[0] = count;
    s.rank = t->rank + 1;
    return s;
}

static int infer_loop(const struct node *node, const struct tensor *const *in, struct type *out, struct tensor *table)
{
    struct graph *body;
    GRAPH_TRY(need_graph(node, "body", &body));
    int32_t states = node->n_in > 2 ? node->n_in - 2 : 0;
    if (body->n_in != states + 2 || body->n_out != node->n_out + 1 || node->n_out < states)
        return graph_fail(GRAPH_INVALID, "a loop over %d values whose body has %d inputs and %d results", states,
                          body->n_in, body->n_out);
    struct type *given = calloc((size_t)(body->n_in + body->n_out), sizeof *given), *made = given + body->n_in;
    if (!given)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    given[0] = type_make(ACL_INT64, 0, NULL);
    given[1] = type_make(ACL_BOOL, 0, NULL);
    for (int32_t i = 0; i < states; i++)
        given[2 + i] = in[2 + i] ? in[2 + i]->type : type_unknown;
    int status = infer_rounds(body, given, 2, made, 1, states, table);
    for (int32_t k = 0; !status && k < node->n_out; k++)
        out[k] = k < states ? given[2 + k] : stacked(&made[1 + k], DIM_UNKNOWN);
    free(given);
    return status;
}

static int infer_scan(const struct node *node, const struct tensor *const *in, struct type *out, struct tensor *table)
{
    struct graph *body;
    GRAPH_TRY(need_graph(node, "body", &body));
    int64_t rows = node_int(node, "num_scan_inputs", 0);
    int32_t states = node->n_in - (int32_t)rows;
    size_t n_axes, n_out_axes;
    const int64_t *axes = node_ints(node, "scan_input_axes", &n_axes);
    const int64_t *out_axes = node_ints(node, "scan_output_axes", &n_out_axes);
    if (rows < 1 || states < 0 || body->n_in != node->n_in || body->n_out != node->n_out || node->n_out < states)
        return graph_fail(GRAPH_INVALID, "a scan over %lld of %d inputs", (long long)rows, node->n_in);
    struct type *given = calloc((size_t)(body->n_in + body->n_out), sizeof *given), *made = given + body->n_in;
    if (!given)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    int64_t count = DIM_UNKNOWN;
    for (int32_t i = 0; i < node->n_in; i++) {
        given[i] = in[i] ? in[i]->type : type_unknown;
        if (i < states || given[i].rank < 1)
            continue;
        int64_t axis = axes && (size_t)(i - states) < n_axes ? axes[i - states] : 0;
        axis = axis < 0 ? axis + given[i].rank : axis;
        if (axis < 0 || axis >= given[i].rank) {
            free(given);
            return graph_fail(GRAPH_INVALID, "a scan over axis %lld", (long long)axis);
        }
        count = given[i].dim[axis];
        given[i].rank--;
        memmove(given[i].dim + axis, given[i].dim + axis + 1, sizeof(int64_t) * (size_t)(given[i].rank - axis));
    }
    int status = infer_rounds(body, given, 0, made, 0, states, table);
    for (int32_t k = 0; !status && k < node->n_out; k++) {
        bool elsewhere = k >= states && out_axes && (size_t)(k - states) < n_out_axes && out_axes[k - states] != 0;
        out[k] = k < states ? given[k] : elsewhere ? open_like(&made[k]) : stacked(&made[k], count);
    }
    free(given);
    return status;
}

#define CONTROL_ROW(name, since, in_min, in_max, out_min, infer)                                                       \
    {                                                                                                                  \
        "", name, since, 0, OPERATOR_CONTROL, in_min, in_max, out_min, -1, infer, NULL, NULL, NULL, 0                  \
    }

const struct operator_row operators_control[] = {
    CONTROL_ROW("If", 1, 1, 1, 1, infer_if),
    CONTROL_ROW("Loop", 1, 0, -1, 1, infer_loop),
    CONTROL_ROW("Scan", 9, 1, -1, 1, infer_scan),
    {0},
};

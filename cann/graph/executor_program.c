/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs: types for certain sizes, and places in the working memory. A value lives from the node that makes it to the
 * last that uses it, or a view of it; places are given out in that order, the lowest gap that fits first. */
#include <stdlib.h>
#include <string.h>

#include "graph/executor.h"

/* ---- types ---- */
static int infer(struct program *p, const struct model *model, const int64_t *dims, size_t count)
{
    const struct graph *g = &model->main;
    bool known = model->n_symbols == 0 && model->gears.count == 0; /* atc has inferred everything */
    for (int32_t i = 0; known && i < model->n_values; i++)
        known = type_known(&model->values[i].type);
    int64_t *sizes = calloc((size_t)model->n_symbols + 1, sizeof *sizes);
    p->table = !sizes ? NULL : known ? table_new(model) : table_sized(model, sizes);
    free(sizes);
    if (!p->table)
        return graph_fail(GRAPH_NO_MEMORY, "no memory for a model of %d values", model->n_values);
    size_t at = 0;
    for (int32_t i = 0; i < g->n_in; i++) {
        struct type *type = &p->table[g->in[i]].type;
        for (int32_t d = 0; d < type->rank && at < count; d++)
            type->dim[d] = dims[at++];
    }
    if (known)
        return GRAPH_OK;
    p->fold = fold_new(NULL, 1 << 20);
    return p->fold ? graph_infer(g, p->table, p->fold) : graph_fail(GRAPH_NO_MEMORY, "no memory");
}

/* Some node has to be looked at while it runs. */
static bool needs_steps(const struct program *p, const struct graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        bool done = true;
        for (int32_t k = 0; k < node->n_out; k++) {
            if (node->out[k] == VALUE_NONE)
                continue;
            const struct tensor *out = &p->table[node->out[k]];
            done = done && out->host;
            if (!out->host && (!type_known(&out->type) || out->type.kind != TYPE_TENSOR))
                return true;
        }
        if (!done && node->row->flags & (OPERATOR_SIZES | OPERATOR_CONTROL))
            return true;
    }
    return false;
}

/* ---- places ---- */
struct gap {
    size_t begin, end;
};

struct gaps {
    struct gap *gap; /* in order, never touching */
    size_t count, room, top;
};

static bool insert_gap(struct gaps *g, size_t at, struct gap gap)
{
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 64;
        struct gap *more = realloc(g->gap, room * sizeof *more);
        if (!more)
            return false;
        g->gap = more;
        g->room = room;
    }
    memmove(g->gap + at + 1, g->gap + at, (g->count - at) * sizeof *g->gap);
    g->gap[at] = gap;
    g->count++;
    return true;
}

static void remove_gap(struct gaps *g, size_t at)
{
    memmove(g->gap + at, g->gap + at + 1, (--g->count - at) * sizeof *g->gap);
}

static size_t take_place(struct gaps *g, size_t bytes)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < g->count; i++) {
        size_t room = g->gap[i].end - g->gap[i].begin;
        if (room >= bytes && (best == SIZE_MAX || room < g->gap[best].end - g->gap[best].begin))
            best = i;
    }
    if (best != SIZE_MAX) {
        size_t at = g->gap[best].begin;
        g->gap[best].begin += bytes;
        if (g->gap[best].begin == g->gap[best].end)
            remove_gap(g, best);
        return at;
    }
    size_t at = g->top;
    if (g->count && g->gap[g->count - 1].end == g->top) { /* grow the last gap */
        at = g->gap[g->count - 1].begin;
        remove_gap(g, g->count - 1);
    }
    g->top = at + bytes;
    return at;
}

static bool give_place(struct gaps *g, size_t begin, size_t bytes)
{
    size_t at = 0;
    while (at < g->count && g->gap[at].begin < begin)
        at++;
    if (!insert_gap(g, at, (struct gap){begin, begin + bytes}))
        return false;
    if (at + 1 < g->count && g->gap[at].end == g->gap[at + 1].begin) {
        g->gap[at].end = g->gap[at + 1].end;
        remove_gap(g, at + 1);
    }
    if (at && g->gap[at - 1].end == g->gap[at].begin) {
        g->gap[at - 1].end = g->gap[at].end;
        remove_gap(g, at);
    }
    return true;
}

static size_t place_bytes(const struct tensor *tensor)
{
    int64_t bytes = type_bytes(&tensor->type);
    return bytes <= 0 ? PLACE_ALIGN : ((size_t)bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
}

/* The last node that uses each root; n_nodes: it is needed at the end. */
static void find_ends(const struct program *p, const struct graph *g, int32_t *end)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        for (int32_t k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] != VALUE_NONE)
                end[p->root[g->nodes[i].in[k]]] = i;
        for (int32_t k = 0; k < g->nodes[i].n_out; k++)
            if (g->nodes[i].out[k] != VALUE_NONE)
                end[p->root[g->nodes[i].out[k]]] = i;
    }
    for (int32_t i = 0; i < g->n_out; i++)
        end[p->root[g->out[i]]] = g->n_nodes;
}

static int place(struct program *p, const struct graph *g, int32_t n_values)
{
    int32_t *end = malloc(((size_t)n_values + 1) * sizeof *end);
    struct gaps gaps = {.gap = NULL};
    bool ok = end != NULL;
    if (ok)
        find_ends(p, g, end);
    for (int32_t i = 0; ok && i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        for (int32_t k = 0; k < node->n_out; k++) {
            int32_t v = node->out[k];
            if (v != VALUE_NONE && p->root[v] == v && !p->table[v].host)
                p->offset[v] = take_place(&gaps, place_bytes(&p->table[v]));
        }
        for (int32_t k = 0; ok && k < node->n_in + node->n_out; k++) {
            int32_t v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
            int32_t root = v == VALUE_NONE ? v : p->root[v];
            if (root != VALUE_NONE && p->offset[root] != SIZE_MAX && end[root] == i) {
                ok = give_place(&gaps, p->offset[root], place_bytes(&p->table[root]));
                end[root] = -1; /* named twice by the node */
            }
        }
    }
    p->bytes = gaps.top;
    free(gaps.gap);
    free(end);
    return ok ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory to plan a model of %d values", n_values);
}

/* ---- programs ---- */
static int make(struct program *p, const struct model *model, const char *const *weight, const int64_t *dims,
                size_t count)
{
    size_t n = (size_t)model->n_values + 1;
    const struct graph *g = &model->main;
    p->dims = malloc((count + 1) * sizeof *dims);
    p->root = malloc(n * sizeof *p->root);
    p->offset = malloc(n * sizeof *p->offset);
    if (!p->dims || !p->root || !p->offset)
        return graph_fail(GRAPH_NO_MEMORY, "no memory for a model of %d values", model->n_values);
    memcpy(p->dims, dims, count * sizeof *dims);
    for (size_t i = 0; i < n; i++) {
        p->root[i] = (int32_t)i;
        p->offset[i] = SIZE_MAX;
    }
    GRAPH_TRY(infer(p, model, dims, count));
    for (int32_t i = 0; i < model->n_values; i++) /* tasks reach the host's memory as well */
        if (p->table[i].host)
            p->table[i].device = (void *)(uintptr_t)(weight && weight[i] ? weight[i] : (const char *)p->table[i].host);
    p->stepwise = needs_steps(p, g);
    if (p->stepwise)
        return GRAPH_OK;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        if (node->row->flags & OPERATOR_VIEW && !p->table[node->out[0]].host)
            p->root[node->out[0]] = p->root[node->in[0]];
    }
    return place(p, g, model->n_values);
}

struct program *program_new(const struct model *model, const char *const *weight, const int64_t *dims, size_t count)
{
    struct program *p = calloc(1, sizeof *p);
    int status = p ? make(p, model, weight, dims, count) : graph_fail(GRAPH_NO_MEMORY, "no memory for a program");
    if (!status)
        return p;
    program_free(p);
    return NULL;
}

void program_free(struct program *p)
{
    if (!p)
        return;
    for (int i = 0; i < RECORDINGS_MAX; i++) {
        if (p->recording[i].replay)
            aclmdlRIDestroy(p->recording[i].replay);
        free(p->recording[i].address);
    }
    fold_free(p->fold);
    free(p->table);
    free(p->root);
    free(p->offset);
    free(p->dims);
    free(p);
}

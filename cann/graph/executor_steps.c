/* SPDX-License-Identifier: BSD-3-Clause */
/* A run node after node, for models whose sizes or branches depend on contents. Types are inferred as contents become
 * known; what a node needs on the host to tell its sizes (a target shape) is fetched then. If, Loop and Scan run their
 * graphs in the same table of values; an iteration's memory goes back to the pool, but for what it hands on. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/executor.h"

enum { FETCH_BYTES = 1 << 16, FOLD_BYTES = 1 << 16 };

/* Host memory until the run was queued. */
struct note {
    struct note *next;
    int64_t room[];
};

struct steps {
    struct emitter emitter;
    struct executable *executable;
    struct tensor *table;
    struct fold *fold;
    struct note *notes;
};

static int run_graph(struct steps *s, const struct graph *g);

static void *host_memory(struct steps *s, size_t bytes)
{
    struct note *note = malloc(sizeof *note + bytes + 8);
    if (!note) {
        graph_fail(GRAPH_NO_MEMORY, "no memory");
        return NULL;
    }
    note->next = s->notes;
    s->notes = note;
    return note->room;
}

/* What is known on the host alone gets device memory. */
static int to_device(struct steps *s, struct tensor *tensor)
{
    if (tensor->device || !tensor->host)
        return GRAPH_OK;
    tensor->device = pool_take(s->executable, (size_t)type_bytes(&tensor->type));
    return tensor->device ? s->emitter.context.write(&s->emitter.context, tensor, tensor->host) : GRAPH_NO_MEMORY;
}

static int to_host(struct steps *s, struct tensor *tensor)
{
    int64_t bytes = type_bytes(&tensor->type);
    if (tensor->host || bytes < 0)
        return GRAPH_OK;
    void *host = host_memory(s, (size_t)bytes);
    if (!host)
        return GRAPH_NO_MEMORY;
    GRAPH_TRY(s->emitter.context.read(&s->emitter.context, tensor, host, (size_t)bytes));
    tensor->host = host;
    return GRAPH_OK;
}

/* A number that the run itself makes (an iteration's). */
static int set_number(struct steps *s, struct tensor *to, aclDataType dtype, int64_t value)
{
    int64_t *host = host_memory(s, sizeof value);
    if (!host)
        return GRAPH_NO_MEMORY;
    if (dtype == ACL_BOOL)
        *(bool *)host = value != 0;
    else
        *host = value;
    *to = (struct tensor){.type = type_make(dtype, 0, NULL), .host = host};
    return GRAPH_OK;
}

static int get_number(struct steps *s, int32_t value, bool truth, int64_t *number)
{
    struct tensor *t = &s->table[value];
    if (type_bytes(&t->type) < (truth ? 1 : 8))
        return graph_fail(GRAPH_INVALID, "a condition or a count is empty");
    GRAPH_TRY(to_host(s, t));
    *number = truth ? *(const bool *)t->host : *(const int64_t *)t->host;
    return GRAPH_OK;
}

/* ---- one node ---- */
static bool known(const struct steps *s, const struct node *node)
{
    for (int32_t i = 0; i < node->n_out; i++)
        if (node->out[i] != VALUE_NONE && !type_known(&s->table[node->out[i]].type))
            return false;
    return true;
}

static int infer(struct steps *s, const struct node *node)
{
    GRAPH_TRY(node_infer(node, s->table));
    if (known(s, node) || node->row->flags & (OPERATOR_SIZES | OPERATOR_CONTROL))
        return GRAPH_OK;
    for (int32_t i = 0; i < node->n_in; i++) { /* it may ask for contents */
        struct tensor *in = node->in[i] == VALUE_NONE ? NULL : &s->table[node->in[i]];
        if (in && type_known(&in->type) && type_bytes(&in->type) <= FETCH_BYTES)
            GRAPH_TRY(to_host(s, in));
    }
    GRAPH_TRY(node_infer(node, s->table));
    return known(s, node) ? GRAPH_OK : graph_fail(GRAPH_UNSUPPORTED, "the sizes of its results can't be told");
}

static int run_plain(struct steps *s, const struct node *node)
{
    for (int32_t i = 0; i < node->n_in; i++)
        if (node->in[i] != VALUE_NONE)
            GRAPH_TRY(to_device(s, &s->table[node->in[i]]));
    for (int32_t i = 0; i < node->n_out && !(node->row->flags & OPERATOR_SIZES); i++) {
        struct tensor *out = node->out[i] == VALUE_NONE ? NULL : &s->table[node->out[i]];
        if (out && !(out->device = pool_take(s->executable, (size_t)type_bytes(&out->type))))
            return GRAPH_NO_MEMORY;
    }
    return emit_node(&s->emitter, node, s->table);
}

/* ---- graphs of control operators ---- */
/* What an earlier run left of a graph's values is forgotten. */
static void forget(struct steps *s, const struct graph *g)
{
    const struct model *model = s->executable->model;
    for (int32_t n = -1; n < g->n_nodes; n++) {
        const int32_t *value = n < 0 ? g->in : g->nodes[n].out;
        for (int32_t i = 0; i < (n < 0 ? g->n_in : g->nodes[n].n_out); i++) {
            if (value[i] == VALUE_NONE)
                continue;
            const struct type *type = &model->values[value[i]].type;
            s->table[value[i]] =
                (struct tensor){.type = {.kind = type->kind, .dtype = type->dtype, .rank = RANK_UNKNOWN}};
        }
    }
}

static int run_if(struct steps *s, const struct node *node)
{
    int64_t truth;
    GRAPH_TRY(get_number(s, node->in[0], true, &truth));
    const struct graph *g = node_graph(node, truth ? "then_branch" : "else_branch");
    if (!g)
        return graph_fail(GRAPH_INVALID, "it has no %s", truth ? "then_branch" : "else_branch");
    forget(s, g);
    GRAPH_TRY(run_graph(s, g));
    for (int32_t i = 0; i < node->n_out && i < g->n_out; i++)
        if (node->out[i] != VALUE_NONE)
            s->table[node->out[i]] = s->table[g->out[i]];
    return GRAPH_OK;
}

/* Results of iterations that are stacked in the end. */
struct stack {
    struct tensor *item;
    int64_t count, room;
};

static int push(struct stack *stack, const struct tensor *item)
{
    if (stack->count == stack->room) {
        int64_t room = stack->room ? 2 * stack->room : 16;
        struct tensor *more = realloc(stack->item, (size_t)room * sizeof *more);
        if (!more)
            return graph_fail(GRAPH_NO_MEMORY, "no memory");
        stack->item = more;
        stack->room = room;
    }
    if (stack->count && !type_equal(&stack->item[0].type, &item->type))
        return graph_fail(GRAPH_INVALID, "iterations give results of different sizes");
    stack->item[stack->count++] = *item;
    return GRAPH_OK;
}

/* `example`: the type of an item where no iteration ran. */
static int stack_up(struct steps *s, const struct stack *stack, const struct type *example, bool backwards,
                    struct tensor *out)
{
    struct type type = stack->count ? stack->item[0].type : *example;
    if (type.rank < 0 || type.rank >= TYPE_RANK_MAX)
        return graph_fail(GRAPH_UNSUPPORTED, "results of iterations have %d sizes", type.rank);
    int64_t bytes = stack->count ? type_bytes(&type) : 0;
    memmove(type.dim + 1, type.dim, (size_t)type.rank * sizeof *type.dim);
    type.dim[0] = stack->count;
    type.rank++;
    for (int32_t d = 1; d < type.rank; d++)
        type.dim[d] = type.dim[d] < 0 ? 0 : type.dim[d];
    *out = (struct tensor){.type = type};
    if (!(out->device = pool_take(s->executable, (size_t)(bytes * stack->count))))
        return GRAPH_NO_MEMORY;
    for (int64_t i = 0; i < stack->count; i++)
        GRAPH_TRY(emit_copy(s->emitter.stream, (char *)out->device + (backwards ? stack->count - 1 - i : i) * bytes,
                            stack->item[i].device, (size_t)bytes));
    return GRAPH_OK;
}

/* Gives back what was taken since `mark`, but for what is handed on. */
static void release(struct steps *s, const struct block *mark, const struct tensor *hand, int32_t hands,
                    const struct stack *stack, int32_t stacks)
{
    for (struct block *b = s->executable->pool.taken, *next; b && b != mark; b = next) {
        next = b->next;
        const char *begin = b->address, *end = begin + b->bytes;
        bool used = false;
        for (int32_t i = 0; i < hands && !used; i++)
            used = (const char *)hand[i].device >= begin && (const char *)hand[i].device < end;
        for (int32_t i = 0; i < stacks && !used; i++)
            for (int64_t k = 0; k < stack[i].count && !used; k++)
                used = (const char *)stack[i].item[k].device >= begin && (const char *)stack[i].item[k].device < end;
        if (!used)
            pool_give(s->executable, b->address);
    }
}

/* Loop and Scan: `states` values go from one iteration to the next, `rows` of the inputs are taken row by row. */
struct loop {
    const struct node *node;
    const struct graph *body;
    int32_t first_state; /* among the node's inputs */
    int32_t before;      /* the body's inputs and outputs before the states */
    int32_t states, rows, outs;
    int64_t limit;
    bool has_condition, condition;
    const int64_t *backwards_in, *backwards_out;
    size_t n_backwards_in, n_backwards_out;
};

static bool at(const int64_t *list, size_t count, int32_t i)
{
    return list && (size_t)i < count && list[i];
}

/* Row i of a tensor, as the body sees it. */
static struct tensor row_of(const struct tensor *from, int64_t i)
{
    struct tensor row = {.type = from->type};
    row.type.rank--;
    memmove(row.type.dim, row.type.dim + 1, (size_t)row.type.rank * sizeof *row.type.dim);
    size_t bytes = (size_t)type_bytes(&row.type) * (size_t)i;
    row.device = (char *)from->device + bytes;
    row.host = from->host ? (const char *)from->host + bytes : NULL;
    return row;
}

static int iterate(struct steps *s, struct loop *l, struct tensor *state, struct stack *stack, int64_t i)
{
    const struct graph *body = l->body;
    forget(s, body);
    if (l->before) {
        GRAPH_TRY(set_number(s, &s->table[body->in[0]], ACL_INT64, i));
        GRAPH_TRY(set_number(s, &s->table[body->in[1]], ACL_BOOL, l->condition));
    }
    int32_t in = l->before ? 2 : 0;
    for (int32_t k = 0; k < l->states; k++)
        s->table[body->in[in + k]] = state[k];
    for (int32_t k = 0; k < l->rows; k++) {
        const struct tensor *from = &s->table[l->node->in[l->first_state + l->states + k]];
        s->table[body->in[in + l->states + k]] =
            row_of(from, at(l->backwards_in, l->n_backwards_in, k) ? l->limit - 1 - i : i);
    }
    GRAPH_TRY(run_graph(s, body));
    if (l->before && l->has_condition) {
        int64_t truth;
        GRAPH_TRY(get_number(s, body->out[0], true, &truth));
        l->condition = truth != 0;
    }
    for (int32_t k = 0; k < l->states + l->outs; k++)
        GRAPH_TRY(to_device(s, &s->table[body->out[l->before + k]]));
    for (int32_t k = 0; k < l->states; k++)
        state[k] = s->table[body->out[l->before + k]];
    for (int32_t k = 0; k < l->outs; k++)
        GRAPH_TRY(push(&stack[k], &s->table[body->out[l->before + l->states + k]]));
    return GRAPH_OK;
}

/* What an iteration would have given where none ran: as the body says, else as the node's own output does. */
static struct type item_type(const struct steps *s, const struct loop *l, int32_t k, int32_t out)
{
    const struct value *values = s->executable->model->values;
    struct type type = values[l->body->out[l->before + l->states + k]].type;
    const struct type *whole = out == VALUE_NONE ? &type_unknown : &values[out].type;
    if (type.rank < 0 && whole->rank > 0) {
        type = *whole;
        type.rank--;
        memmove(type.dim, type.dim + 1, (size_t)type.rank * sizeof *type.dim);
    }
    return type;
}

static int run_iterations(struct steps *s, struct loop *l, struct tensor *state, struct stack *stack)
{
    for (int32_t k = 0; k < l->states; k++) {
        struct tensor *from = &s->table[l->node->in[l->first_state + k]];
        GRAPH_TRY(to_device(s, from));
        state[k] = *from;
    }
    for (int32_t k = 0; k < l->rows; k++)
        GRAPH_TRY(to_device(s, &s->table[l->node->in[l->first_state + l->states + k]]));
    for (int64_t i = 0; i < l->limit && l->condition; i++) {
        const struct block *mark = s->executable->pool.taken;
        GRAPH_TRY(iterate(s, l, state, stack, i));
        release(s, mark, state, l->states, stack, l->outs);
    }
    for (int32_t k = 0; k < l->states && k < l->node->n_out; k++)
        if (l->node->out[k] != VALUE_NONE)
            s->table[l->node->out[k]] = state[k];
    for (int32_t k = 0; k < l->outs && l->states + k < l->node->n_out; k++) {
        int32_t out = l->node->out[l->states + k];
        struct type example = item_type(s, l, k, out);
        if (out != VALUE_NONE)
            GRAPH_TRY(stack_up(s, &stack[k], &example, at(l->backwards_out, l->n_backwards_out, k), &s->table[out]));
    }
    return GRAPH_OK;
}

static int run_loop(struct steps *s, struct loop *l)
{
    struct tensor *state = calloc((size_t)l->states + 1, sizeof *state);
    struct stack *stack = calloc((size_t)l->outs + 1, sizeof *stack);
    int status = state && stack ? run_iterations(s, l, state, stack) : graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (int32_t k = 0; stack && k < l->outs; k++)
        free(stack[k].item);
    free(stack);
    free(state);
    return status;
}

static int run_loop_node(struct steps *s, const struct node *node)
{
    struct loop l = {.node = node,
                     .body = node_graph(node, "body"),
                     .first_state = 2,
                     .before = 1,
                     .limit = INT64_MAX,
                     .condition = true};
    if (node->n_in < 2 || !l.body)
        return graph_fail(GRAPH_INVALID, "a loop with %d inputs and %s", node->n_in, l.body ? "a body" : "no body");
    l.states = node->n_in - 2;
    l.outs = l.body->n_out - 1 - l.states;
    if (node->in[0] != VALUE_NONE)
        GRAPH_TRY(get_number(s, node->in[0], false, &l.limit));
    if (node->in[1] != VALUE_NONE) {
        int64_t truth;
        GRAPH_TRY(get_number(s, node->in[1], true, &truth));
        l.condition = truth != 0;
        l.has_condition = true;
    }
    if (l.outs < 0 || l.body->n_in != l.states + 2)
        return graph_fail(GRAPH_INVALID, "the body of a loop over %d values has %d inputs and %d outputs", l.states,
                          l.body->n_in, l.body->n_out);
    return run_loop(s, &l);
}

static int run_scan_node(struct steps *s, const struct node *node)
{
    if (!node_graph(node, "body"))
        return graph_fail(GRAPH_INVALID, "a scan without a body");
    struct loop l = {.node = node, .body = node_graph(node, "body"), .condition = true};
    l.rows = (int32_t)node_int(node, "num_scan_inputs", 0);
    l.states = node->n_in - l.rows;
    l.outs = l.body->n_out - l.states;
    if (l.rows < 1 || l.states < 0 || l.outs < 0 || l.body->n_in != node->n_in)
        return graph_fail(GRAPH_INVALID, "a scan over %d of %d inputs", l.rows, node->n_in);
    static const char *const axes[] = {"scan_input_axes", "scan_output_axes"};
    for (int k = 0; k < 2; k++) {
        size_t count;
        const int64_t *axis = node_ints(node, axes[k], &count);
        for (size_t i = 0; i < count; i++)
            if (axis[i])
                return graph_fail(GRAPH_UNSUPPORTED, "a scan over axis %ld; only 0 is done", (long)axis[i]);
    }
    l.backwards_in = node_ints(node, "scan_input_directions", &l.n_backwards_in);
    l.backwards_out = node_ints(node, "scan_output_directions", &l.n_backwards_out);
    for (int32_t k = 0; k < l.rows; k++) {
        const struct type *type = &s->table[node->in[l.states + k]].type;
        if (!type_known(type) || type->rank < 1 || (k && type->dim[0] != l.limit))
            return graph_fail(GRAPH_INVALID, "input %d of a scan has no rows, or other numbers of them", l.states + k);
        l.limit = type->dim[0];
    }
    return run_loop(s, &l);
}

/* ---- a graph ---- */
static int run_node(struct steps *s, const struct node *node)
{
    if (node->row->flags & OPERATOR_CONTROL)
        return !strcmp(node->op, "If")     ? run_if(s, node)
               : !strcmp(node->op, "Loop") ? run_loop_node(s, node)
               : !strcmp(node->op, "Scan") ? run_scan_node(s, node)
                                           : graph_fail(GRAPH_UNSUPPORTED, "there is no control operator %s", node->op);
    GRAPH_TRY(infer(s, node));
    GRAPH_TRY(fold_node(s->fold, node, s->table));
    bool done = true;
    for (int32_t i = 0; i < node->n_out; i++)
        done = done && (node->out[i] == VALUE_NONE || s->table[node->out[i]].host);
    if (done)
        return GRAPH_OK;
    if (node->row->flags & OPERATOR_VIEW) {
        struct tensor *out = &s->table[node->out[0]], *in = &s->table[node->in[0]];
        GRAPH_TRY(to_device(s, in));
        out->device = in->device;
        return GRAPH_OK;
    }
    return run_plain(s, node);
}

static int run_graph(struct steps *s, const struct graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        bool done = true; /* before anything ran */
        for (int32_t k = 0; k < node->n_out; k++)
            done = done && (node->out[k] == VALUE_NONE || s->table[node->out[k]].host);
        int status = done ? GRAPH_OK : run_node(s, node);
        if (status)
            return graph_fail(status, "node [%s] (%s): %s", node->name, node->op, graph_reason());
    }
    return GRAPH_OK;
}

int steps_run(struct executable *e, const struct program *program, struct tensor *table, aclrtStream stream)
{
    (void)program;
    struct steps s = {.executable = e, .table = table, .fold = fold_new(stream, FOLD_BYTES)};
    const struct graph *g = &e->model->main;
    emitter_init(&s.emitter, e, stream, false);
    int status = s.fold ? emit_turn(&s.emitter) : graph_fail(GRAPH_NO_MEMORY, "no memory");
    if (!status)
        status = run_graph(&s, g);
    for (int32_t i = 0; !status && i < g->n_out; i++)
        status = to_device(&s, &table[g->out[i]]);
    emitter_end(&s.emitter);
    fold_free(s.fold);
    for (struct note *note = s.notes, *next; note; note = next) {
        next = note->next;
        free(note);
    }
    for (int32_t i = 0; i < g->n_out; i++) /* freed with the notes */
        table[g->out[i]].host = NULL;
    return status;
}

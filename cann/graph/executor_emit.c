/* SPDX-License-Identifier: BSD-3-Clause */
/* What operators' rows ask for, answered by emitting to a stream. In a recording scratch comes from one block that
 * every node uses from its beginning (nodes run one after the other); it grows by blocks twice as large, and what is
 * already recorded keeps its own. Stepwise, scratch and outputs come from the pool. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/executor.h"
#include "runtime/door.h"

enum { SCRATCH_FIRST = 1 << 20, COPY_PIECE = 1 << 18, POOL_WASTE = 4 };

struct emitted {
    aclTensor *tensor;
};

static int told_by_acl(const char *what)
{
    const char *reason = aclGetRecentErrMsg();
    return graph_fail(GRAPH_FAILED, "%s failed: %s", what, reason ? reason : "no reason was given");
}

static size_t rounded(size_t bytes)
{
    return (bytes + PLACE_ALIGN) / PLACE_ALIGN * PLACE_ALIGN;
}

/* ---- memory ---- */
static struct block *new_block(size_t bytes)
{
    struct block *block = malloc(sizeof *block);
    if (!block) {
        graph_fail(GRAPH_NO_MEMORY, "no memory");
        return NULL;
    }
    *block = (struct block){.bytes = bytes};
    if (aclrtMalloc(&block->address, bytes, ACL_MEM_MALLOC_NORMAL_ONLY)) {
        told_by_acl("aclrtMalloc");
        free(block);
        return NULL;
    }
    return block;
}

static struct block *keep_block(struct executable *e, size_t bytes)
{
    struct block *block = new_block(bytes);
    if (block) {
        block->next = e->blocks;
        e->blocks = block;
    }
    return block;
}

void *executable_memory(struct executable *e, size_t bytes)
{
    struct block *block = keep_block(e, rounded(bytes));
    return block ? block->address : NULL;
}

void *pool_take(struct executable *e, size_t bytes)
{
    bytes = rounded(bytes);
    struct block **best = NULL;
    for (struct block **at = &e->pool.free; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && (*at)->bytes <= bytes * POOL_WASTE && (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    struct block *block = best ? *best : new_block(bytes);
    if (!block)
        return NULL;
    if (best)
        *best = block->next;
    block->next = e->pool.taken;
    e->pool.taken = block;
    return block->address;
}

void pool_give(struct executable *e, void *address)
{
    for (struct block **at = &e->pool.taken; *at; at = &(*at)->next)
        if ((*at)->address == address) {
            struct block *block = *at;
            *at = block->next;
            block->next = e->pool.free;
            e->pool.free = block;
            return;
        }
}

/* Memory until the node is done. */
static void *take_scratch(struct emitter *m, size_t bytes)
{
    struct executable *e = m->executable;
    bytes = rounded(bytes);
    if (!m->recorded) {
        struct block *note = malloc(sizeof *note);
        void *address = note ? pool_take(e, bytes) : NULL;
        if (!address) {
            free(note);
            return NULL;
        }
        *note = (struct block){m->node_scratch, address, bytes};
        m->node_scratch = note;
        return address;
    }
    if (!e->scratch || e->scratch->bytes - e->scratch_used < bytes) {
        size_t size = e->scratch ? 2 * e->scratch->bytes : SCRATCH_FIRST;
        while (size < bytes)
            size *= 2;
        if (!(e->scratch = keep_block(e, size)))
            return NULL;
        e->scratch_used = 0;
    }
    void *address = (char *)e->scratch->address + e->scratch_used;
    e->scratch_used += bytes;
    return address;
}

static struct emitter *emitter_of(struct context *context)
{
    return (struct emitter *)context;
}

/* ---- the context ---- */
static aclTensor *emit_view(struct context *context, const struct tensor *tensor, int32_t rank, const int64_t *dim,
                            const int64_t *stride, int64_t offset)
{
    struct emitter *m = emitter_of(context);
    int64_t dense[TYPE_RANK_MAX], size = 1;
    for (int32_t i = rank - 1; i >= 0; size *= dim[i--])
        dense[i] = size;
    if (m->emitted_count == m->emitted_room) {
        size_t room = m->emitted_room ? 2 * m->emitted_room : 32;
        struct emitted *more = realloc(m->emitted, room * sizeof *more);
        if (!more)
            return NULL;
        m->emitted = more;
        m->emitted_room = room;
    }
    aclTensor *made = aclCreateTensor(dim, (uint64_t)rank, tensor->type.dtype, stride ? stride : dense, offset,
                                      ACL_FORMAT_ND, tensor->type.dim, (uint64_t)tensor->type.rank, tensor->device);
    if (made)
        m->emitted[m->emitted_count++].tensor = made;
    return made;
}

static int emit_launch(struct context *context, const struct launch *launch)
{
    struct emitter *m = emitter_of(context);
    if (launch->status)
        return told_by_acl(launch->name);
    void *workspace = launch->workspace ? take_scratch(m, launch->workspace) : NULL;
    if (launch->workspace && !workspace)
        return GRAPH_NO_MEMORY;
    return launch->run(workspace, launch->workspace, launch->executor, m->stream) ? told_by_acl(launch->name)
                                                                                  : GRAPH_OK;
}

static int emit_scratch(struct context *context, struct tensor *tensor)
{
    int64_t bytes = type_bytes(&tensor->type);
    if (bytes < 0)
        return graph_fail(GRAPH_UNSUPPORTED, "a tensor of unknown size");
    tensor->device = take_scratch(emitter_of(context), (size_t)bytes);
    return tensor->device ? GRAPH_OK : GRAPH_NO_MEMORY;
}

static int emit_output(struct context *context, struct tensor *tensor)
{
    struct emitter *m = emitter_of(context);
    int64_t bytes = type_bytes(&tensor->type);
    if (m->recorded || bytes < 0)
        return graph_fail(GRAPH_UNSUPPORTED, "a tensor whose size depends on contents");
    tensor->device = pool_take(m->executable, (size_t)bytes);
    return tensor->device ? GRAPH_OK : GRAPH_NO_MEMORY;
}

/* ---- copies: a task of ours, since constants lie in the host's memory ---- */
struct copy {
    char *to;
    const char *from; /* NULL: what follows */
    size_t bytes;
    char inside[];
};

struct pieces {
    char *to;
    const char *from;
    size_t bytes;
};

static void copy_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct pieces *p = arg;
    size_t at = (size_t)begin * COPY_PIECE, stop = (size_t)end * COPY_PIECE;
    memcpy(p->to + at, p->from + at, (stop < p->bytes ? stop : p->bytes) - at);
}

static int run_copy(void *arg)
{
    const struct copy *c = arg;
    struct pieces p = {device_address(c->to), c->from ? device_address(c->from) : c->inside, c->bytes};
    parallel((int64_t)((c->bytes + COPY_PIECE - 1) / COPY_PIECE), 1, copy_pieces, &p);
    return 0;
}

static int enqueue_copy(aclrtStream stream, void *to, const void *from, const void *inside, size_t bytes)
{
    if (!bytes)
        return GRAPH_OK;
    struct copy *c = malloc(sizeof *c + (inside ? bytes : 0));
    if (!c)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    *c = (struct copy){to, from, bytes};
    if (inside)
        memcpy(c->inside, inside, bytes);
    struct task task = {
        .run = run_copy, .release = free, .arg = c, .work = 50 + bytes / 10, .note = {.name = "MemcpyDtoD"}};
    return stream_enqueue(stream, &task) ? told_by_acl("a copy") : GRAPH_OK;
}

int emit_copy(aclrtStream stream, void *to, const void *from, size_t bytes)
{
    return enqueue_copy(stream, to, from, NULL, bytes);
}

static int emit_write(struct context *context, const struct tensor *tensor, const void *bytes)
{
    return enqueue_copy(emitter_of(context)->stream, tensor->device, NULL, bytes, (size_t)type_bytes(&tensor->type));
}

static int emit_copy_part(struct context *context, const struct tensor *to, size_t to_offset, const struct tensor *from,
                          size_t from_offset, size_t bytes)
{
    return emit_copy(emitter_of(context)->stream, (char *)to->device + to_offset,
                     (const char *)from->device + from_offset, bytes);
}

static int emit_read(struct context *context, const struct tensor *tensor, void *bytes, size_t size)
{
    struct emitter *m = emitter_of(context);
    if (tensor->host) {
        memcpy(bytes, tensor->host, size);
        return GRAPH_OK;
    }
    if (m->recorded) { /* the program has to be run step by step */
        m->wants_contents = true;
        return graph_fail(GRAPH_UNSUPPORTED, "contents of a tensor are read while launches are recorded");
    }
    if (aclrtSynchronizeStream(m->stream))
        return told_by_acl("an operator before");
    memcpy(bytes, device_address(tensor->device), size);
    return GRAPH_OK;
}

static int emit_call(struct context *context, const char *name, int (*fn)(void *arg), const void *arg, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    memcpy(copy, arg, bytes);
    struct task task = {.run = fn, .release = free, .arg = copy, .work = 5000, .note = {.name = name}};
    return stream_enqueue(emitter_of(context)->stream, &task) ? told_by_acl(name) : GRAPH_OK;
}

void emitter_init(struct emitter *m, struct executable *e, aclrtStream stream, bool recorded)
{
    *m = (struct emitter){.context = {.view = emit_view,
                                      .launch = emit_launch,
                                      .scratch = emit_scratch,
                                      .output = emit_output,
                                      .write = emit_write,
                                      .copy = emit_copy_part,
                                      .read = emit_read,
                                      .call = emit_call},
                          .executable = e,
                          .stream = stream,
                          .recorded = recorded};
}

void emitter_settle(struct emitter *m)
{
    for (size_t i = 0; i < m->emitted_count; i++)
        aclDestroyTensor(m->emitted[i].tensor);
    m->emitted_count = 0;
    for (struct block *s = m->node_scratch, *next; s; s = next) {
        next = s->next;
        pool_give(m->executable, s->address);
        free(s);
    }
    m->node_scratch = NULL;
    m->executable->scratch_used = 0;
}

void emitter_end(struct emitter *m)
{
    emitter_settle(m);
    free(m->emitted);
}

/* ---- nodes ---- */
int emit_node(struct emitter *m, const struct node *node, struct tensor *table)
{
    enum { FEW = 64 };
    const struct tensor *few_in[FEW];
    struct tensor *few_out[FEW];
    const struct tensor **in = node->n_in <= FEW ? few_in : malloc((size_t)node->n_in * sizeof *in);
    struct tensor **out = node->n_out <= FEW ? few_out : malloc((size_t)node->n_out * sizeof *out);
    int status = in && out ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (int32_t i = 0; !status && i < node->n_in; i++)
        in[i] = node->in[i] == VALUE_NONE ? NULL : &table[node->in[i]];
    for (int32_t i = 0; !status && i < node->n_out; i++)
        out[i] = node->out[i] == VALUE_NONE ? NULL : &table[node->out[i]];
    if (!status && node->row->run)
        status = node->row->run(node, &m->context, in, out);
    if (status)
        status = graph_fail(status, "node [%s] (%s): %s", node->name, node->op, graph_reason());
    if (!status)
        status = emit_dump(m, node, table);
    if (in != few_in)
        free(in);
    if (out != few_out)
        free(out);
    emitter_settle(m);
    return status;
}

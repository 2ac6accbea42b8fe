/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collective does with memory on one computer. Every rank reads what it needs straight from the others' memory
 * (or, when small, from the board) and writes straight into theirs. Reductions are shared out: rank k of n computes the
 * k-th part of the result, over all ranks in order, and writes it to everybody who wants it; small ones are computed by
 * each for itself, in the same order. So results are the same on all ranks, and from run to run. */
#include <stdint.h>
#include <string.h>

#include "call.h"
#include "error.h"

enum { BLOCK = 32768, GRAIN = 1 << 18, LINE = 64 };

static bool is_root(const struct op *op)
{
    return op->comm->rank == op->call.root;
}

/* Copies the rank's data to the board when it is small, else says where it is. */
static int offer(struct op *op, struct ref *ref, const char *data, const void *handed, uint64_t bytes)
{
    struct comm *c = op->comm;
    if (bytes <= BOARD_SMALL) {
        if (bytes)
            memcpy(board_data(c->board, op->lane, op->sequence, c->me), data, bytes);
        ref->kind = REF_INLINE;
        return 0;
    }
    op->exposed = true;
    if (op->stage_send) {
        memcpy(op->stage_send, data, bytes);
        data = op->stage_send;
        handed = op->stage_send_handed;
    }
    if (call_share(op, handed, (char *)(uintptr_t)data, bytes, ref))
        return 0;
    return comm_fail(c, HCCL_E_MEMORY, ACL_ERROR_RT_IPC_ERROR, EI_RESOURCE "rank %u cannot share its device memory.",
                     c->rank);
}

static int offer_result(struct op *op, struct ref *ref)
{
    struct comm *c = op->comm;
    char *data = op->stage_recv ? op->stage_recv : op->recv;
    op->exposed = op->offered = true;
    if (call_share(op, op->stage_recv ? op->stage_recv_handed : op->recv_handed, data, op->recv_bytes, ref))
        return 0;
    return comm_fail(c, HCCL_E_MEMORY, ACL_ERROR_RT_IPC_ERROR, EI_RESOURCE "rank %u cannot share its device memory.",
                     c->rank);
}

bool work_rooted_here(const struct op *op)
{
    return op->comm->host_of[op->call.root] == op->comm->host;
}

int work_publish(struct op *op)
{
    struct comm *c = op->comm;
    struct entry *e = board_entry(c->board, op->lane, op->sequence, c->me);
    e->send.kind = e->recv.kind = REF_NONE;
    bool sends = true, receives = false, large = op->send_bytes > BOARD_SMALL;
    switch (op->call.op) {
    case OP_ALL_REDUCE:
        receives = large;
        break;
    case OP_REDUCE:
        receives = large && is_root(op);
        break;
    case OP_BROADCAST:
        sends = is_root(op);
        receives = c->net && op->recv_bytes > BOARD_SMALL && !work_rooted_here(op);
        break;
    case OP_SCATTER:
        sends = is_root(op);
        break;
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_V:
        receives = c->net && op->recv_bytes;
        break;
    case OP_ALL_TO_ALL:
    case OP_ALL_TO_ALL_V:
    case OP_ALL_TO_ALL_VC:
        for (uint32_t i = 0; i < c->local; i++)
            board_pieces(c->board, op->lane, op->sequence, c->me)[i] =
                (struct piece){op->send_at[c->local_rank[i]], op->send_counts[c->local_rank[i]]};
        break;
    case OP_BARRIER:
        sends = false;
        break;
    default:
        break;
    }
    int status = sends ? offer(op, &e->send, op->send, op->send_handed, op->send_bytes) : 0;
    return status || !receives ? status : offer_result(op, &e->recv);
}

/* Where rank i's data lies here. */
char *work_data(struct op *op, uint32_t i)
{
    const struct comm *c = op->comm;
    const struct ref *ref = &board_entry(c->board, op->lane, op->sequence, i)->send;
    if (i == c->me && ref->kind == REF_MEMORY)
        return ref->pointer;
    return call_reach(op, i, ref, board_data(c->board, op->lane, op->sequence, i));
}

char *work_result(struct op *op, uint32_t i)
{
    const struct comm *c = op->comm;
    const struct ref *ref = &board_entry(c->board, op->lane, op->sequence, i)->recv;
    return i == c->me ? ref->pointer : call_reach(op, i, ref, NULL);
}

/* A reduction of elements [0, n) of in[] to each of out[], a cache-sized block at a time. */
struct reduction {
    combine_fold fold;
    size_t element, out_element;
    int count, outs;
    const char **in;
    char **out;
};

static void reduce_piece(void *arg, int64_t begin, int64_t end)
{
    const struct reduction *r = arg;
    const void *in[LOCAL_MAX];
    int64_t step = (int64_t)(BLOCK / r->element);
    for (int64_t at = begin; at < end; at += step) {
        int64_t n = end - at < step ? end - at : step;
        size_t from = (size_t)at * r->element;
        for (int k = 0; k < r->count; k++)
            in[k] = r->in[k] + from;
        size_t to = (size_t)at * r->out_element;
        r->fold(n, r->out[0] + to, in, r->count);
        for (int k = 1; k < r->outs; k++)
            memcpy(r->out[k] + to, r->out[0] + to, (size_t)n * r->out_element);
    }
}

static combine_fold fold_of(const struct op *op)
{
    return ISA_PICK(combine_kernels)->fold[op->call.reduce][hccl_dtype(op->call.dtype)];
}

int work_reduce(struct op *op, uint64_t from, uint64_t n, combine_fold fold, size_t out_element, char **out, int outs)
{
    struct comm *c = op->comm;
    const char *in[LOCAL_MAX];
    for (uint32_t i = 0; i < c->local; i++) {
        in[i] = work_data(op, i);
        if (!in[i])
            return -1;
        in[i] += from * op->element;
    }
    struct reduction r = {fold, op->element, out_element, (int)c->local, outs, in, out};
    if (c->serial || n * op->element < 2 * GRAIN)
        reduce_piece(&r, 0, (int64_t)n);
    else
        parallel((int64_t)n, (int64_t)(GRAIN / op->element), reduce_piece, &r);
    return 0;
}

static void copy_piece(void *arg, int64_t begin, int64_t end)
{
    char *const *p = arg;
    memcpy(p[0] + begin, p[1] + begin, (size_t)(end - begin));
}

void work_copy(const struct op *op, char *to, const char *from, uint64_t bytes)
{
    if (bytes == 0 || to == from)
        return;
    char *both[] = {to, (char *)(uintptr_t)from};
    if (op->comm->serial || bytes < 2 * GRAIN)
        memcpy(to, from, bytes);
    else
        parallel((int64_t)bytes, GRAIN, copy_piece, both);
}

/* Elements [*begin, *end) of n that the i-th of `parts` ranks computes; borders on cache lines. */
void work_share_out(const struct op *op, uint64_t n, uint32_t parts, uint32_t i, uint64_t *begin, uint64_t *end)
{
    uint64_t line = LINE / op->element;
    uint64_t each = (n + parts - 1) / parts;
    each = (each + line - 1) / line * line;
    *begin = each * i < n ? each * i : n;
    *end = each * (i + 1) < n ? each * (i + 1) : n;
}

static int all_reduce(struct op *op)
{
    struct comm *c = op->comm;
    bool root_only = op->call.op == OP_REDUCE;
    if (op->send_bytes <= BOARD_SMALL)
        return root_only && !is_root(op) ? 0
                                         : work_reduce(op, 0, op->call.count, fold_of(op), op->element, &op->recv, 1);
    uint64_t begin, end;
    work_share_out(op, op->call.count, c->local, c->me, &begin, &end);
    char *out[LOCAL_MAX];
    int outs = 0;
    for (uint32_t k = 0; k < c->local; k++) {
        uint32_t i = (c->me + k) % c->local; /* the own one first */
        if (root_only && c->local_rank[i] != op->call.root)
            continue;
        out[outs] = work_result(op, i);
        if (!out[outs])
            return -1;
        out[outs++] += begin * op->element;
    }
    return work_reduce(op, begin, end - begin, fold_of(op), op->element, out, outs);
}

static int reduce_scatter(struct op *op)
{
    char *out = op->stage_recv ? op->stage_recv : op->recv;
    uint32_t r = op->comm->rank;
    uint64_t from = op->send_at ? op->send_at[r] : r * op->recv_bytes;
    return work_reduce(op, from / op->element, op->recv_bytes / op->element, fold_of(op), op->element, &out, 1);
}

static int all_gather(struct op *op)
{
    struct comm *c = op->comm;
    for (uint32_t k = 0; k < c->local; k++) {
        uint32_t i = (c->me + k) % c->local, r = c->local_rank[i]; /* not all from the same one at a time */
        const char *from = work_data(op, i);
        if (!from)
            return -1;
        work_copy(op, op->recv + (op->recv_at ? op->recv_at[r] : r * op->send_bytes), from,
                  op->recv_counts ? op->recv_counts[r] : op->send_bytes);
    }
    return 0;
}

static int from_root(struct op *op)
{
    struct comm *c = op->comm;
    const char *from = work_data(op, c->local_of[op->call.root]);
    if (!from)
        return -1;
    if (op->call.op == OP_SCATTER)
        from += c->rank * op->recv_bytes;
    if (op->call.op == OP_SCATTER || !is_root(op))
        work_copy(op, op->recv, from, op->recv_bytes);
    return 0;
}

static int all_to_all(struct op *op)
{
    struct comm *c = op->comm;
    for (uint32_t k = 0; k < c->local; k++) {
        uint32_t i = (c->me + k) % c->local, r = c->local_rank[i];
        struct piece piece = board_pieces(c->board, op->lane, op->sequence, i)[c->me];
        if (piece.bytes != op->recv_counts[r])
            return comm_fail(c, HCCL_E_PARA, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
                             EI_DIFFERENT "ccl_op %s, group %s, parameter counts, at sequence %llu rank %u sends %llu "
                                          "bytes to rank %u, which expects %llu.",
                             op_names[op->call.op], c->name, (unsigned long long)op->sequence, r,
                             (unsigned long long)piece.bytes, c->rank, (unsigned long long)op->recv_counts[r]);
        if (!piece.bytes)
            continue;
        const char *from = work_data(op, i);
        if (!from)
            return -1;
        work_copy(op, op->recv + op->recv_at[r], from + piece.offset, piece.bytes);
    }
    return 0;
}

int work_do(struct op *op)
{
    switch (op->call.op) {
    case OP_ALL_REDUCE:
    case OP_REDUCE:
        return all_reduce(op);
    case OP_REDUCE_SCATTER:
    case OP_REDUCE_SCATTER_V:
        return reduce_scatter(op);
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_V:
        return all_gather(op);
    case OP_BROADCAST:
    case OP_SCATTER:
        return from_root(op);
    case OP_BARRIER:
        return 0;
    default:
        return all_to_all(op);
    }
}

void work_end(struct op *op)
{
    if (op->stage_recv && op->offered)
        memcpy(op->recv, op->stage_recv, op->recv_bytes);
}

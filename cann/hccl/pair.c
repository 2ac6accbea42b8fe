/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks: channels of the board (board.h). A small message is copied to the channel and the send is
 * over; a large one is read from the sender's memory by the receiver, and the send ends then. Messages of a channel are
 * taken in the order of their numbers. All items of a batch are in flight together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "error.h"

bool pair_needs(const struct op *op, uint32_t rank)
{
    for (uint32_t i = 0; i < op->items; i++)
        if (op->item[i].rank == rank && !op->item[i].done)
            return true;
    return false;
}

static int differ(struct op *op, const struct item *m, const struct message *theirs)
{
    struct comm *c = op->comm;
    bool count = m->count != theirs->count;
    char a[32], b[32];
    snprintf(a, sizeof a, "%" PRIu64, m->count);
    snprintf(b, sizeof b, "%" PRIu64, theirs->count);
    comm_fail(c, HCCL_E_PARA, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
              EI_DIFFERENT "ccl_op %s, group %s, parameter %s, local end %s, remote end %s. Message %" PRIu64
                           " from rank %u to rank %u is sent as %" PRIu64 " x %s and received as %" PRIu64 " x %s.",
              op_names[op->call.op], c->name, count ? "count" : "dataType", count ? a : hccl_dtype_name(m->dtype),
              count ? b : hccl_dtype_name(theirs->dtype), m->number, m->rank, c->rank, theirs->count,
              hccl_dtype_name(theirs->dtype), m->count, hccl_dtype_name(m->dtype));
    return -1;
}

/* 1: something was done, 0: not yet, -1: failed. */
static int receive(struct op *op, struct item *m)
{
    struct comm *c = op->comm;
    uint32_t from = c->local_of[m->rank];
    struct channel *ch = board_channel(c->board, op->lane, from, c->me);
    struct message *msg = &ch->messages[m->number % PAIR_SLOTS];
    if (atomic_load_explicit(&ch->taken, memory_order_acquire) != m->number ||
        atomic_load_explicit(&msg->word, memory_order_acquire) != m->number + 1)
        return 0;
    if (msg->count != m->count || msg->dtype != m->dtype)
        return differ(op, m, msg);
    if (m->bytes) {
        const char *data =
            from == c->me && msg->ref.kind == REF_MEMORY
                ? msg->ref.pointer
                : call_reach(op, from, &msg->ref, board_message(c->board, op->lane, from, c->me, m->number));
        if (!data)
            return -1;
        memcpy(m->buffer, data, m->bytes);
    }
    atomic_store_explicit(&ch->taken, m->number + 1, memory_order_release);
    board_ring(c->board, from);
    m->done = true;
    return 1;
}

static int send(struct op *op, struct item *m)
{
    struct comm *c = op->comm;
    uint32_t to = c->local_of[m->rank];
    struct channel *ch = board_channel(c->board, op->lane, c->me, to);
    struct message *msg = &ch->messages[m->number % PAIR_SLOTS];
    uint64_t taken = atomic_load_explicit(&ch->taken, memory_order_acquire);
    if (m->published) {
        m->done = taken > m->number;
        return m->done;
    }
    if (m->number >= taken + PAIR_SLOTS)
        return 0;
    msg->count = m->count;
    msg->dtype = m->dtype;
    if (m->bytes <= PAIR_SMALL) {
        if (m->bytes)
            memcpy(board_message(c->board, op->lane, c->me, to, m->number), m->buffer, m->bytes);
        msg->ref.kind = REF_INLINE;
        m->done = true;
    } else {
        if (m->staged)
            memcpy(m->staged, m->buffer, m->bytes);
        if (!call_share(op, m->staged ? m->staged_handed : m->handed, m->staged ? m->staged : m->buffer, m->bytes,
                        &msg->ref)) {
            comm_fail(c, HCCL_E_MEMORY, ACL_ERROR_RT_IPC_ERROR, EI_RESOURCE "rank %u cannot share its device memory.",
                      c->rank);
            return -1;
        }
    }
    m->published = true;
    atomic_store_explicit(&msg->word, m->number + 1, memory_order_release);
    board_ring(c->board, to);
    return 1;
}

/* ---- to and from other computers: a head with count and type, then the data ---- */

static bool net_begin(struct op *op, struct item *m)
{
    if (m->net)
        return true;
    m->net = calloc(2, sizeof *m->net);
    if (!m->net)
        comm_fail(op->comm, HCCL_E_MEMORY, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, EI_RESOURCE "the host is out of memory");
    return m->net;
}

static int net_lost(struct op *op, const struct item *m, const char *why)
{
    struct comm *c = op->comm;
    comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
              EI_REMOTE "the connection of rank %u to rank %u (process %d on %s, %s) broke in %s, message %" PRIu64
                        ", group %s: %s.",
              c->rank, m->rank, c->ranks[m->rank].pid, c->ranks[m->rank].host_name, c->ranks[m->rank].ip,
              op_names[op->call.op], m->number, c->name, why);
    return -1;
}

static int send_away(struct op *op, struct item *m)
{
    struct comm *c = op->comm;
    if (!net_begin(op, m))
        return -1;
    if (!m->published) {
        m->published = true;
        m->head[0] = m->count;
        m->head[1] = m->dtype;
        net_send(c->net, m->rank, cross_tag(op, TAG_PAIR, m->number, 0, c->rank), m->head, sizeof m->head, &m->net[0]);
        net_send(c->net, m->rank, cross_tag(op, TAG_PAIR, m->number, 1, c->rank), m->buffer, m->bytes, &m->net[1]);
    }
    for (int i = 0; i < 2; i++) {
        int state = atomic_load(&m->net[i].state);
        if (state < 0)
            return net_lost(op, m, m->net[i].why);
        if (!state)
            return 0;
    }
    m->done = true;
    return 1;
}

static int receive_away(struct op *op, struct item *m)
{
    struct comm *c = op->comm;
    if (!net_begin(op, m))
        return -1;
    if (!m->published) {
        m->published = true;
        m->headed = false;
        net_receive(c->net, cross_tag(op, TAG_PAIR, m->number, 0, m->rank), m->head, sizeof m->head, &m->net[0]);
    }
    int state = atomic_load(&m->net[m->headed].state);
    if (state < 0)
        return net_lost(op, m, m->net[m->headed].why);
    if (!state)
        return 0;
    if (!m->headed) {
        struct message theirs = {.count = m->head[0], .dtype = (uint32_t)m->head[1]};
        if (theirs.count != m->count || theirs.dtype != m->dtype)
            return differ(op, m, &theirs);
        m->headed = true;
        net_receive(c->net, cross_tag(op, TAG_PAIR, m->number, 1, m->rank), m->buffer, m->bytes, &m->net[1]);
        return 1;
    }
    m->done = true;
    return 1;
}

void pair_end(struct op *op)
{
    for (uint32_t i = 0; i < op->items; i++)
        for (int k = 0; op->item[i].net && k < 2; k++)
            if (op->item[i].published && atomic_load(&op->item[i].net[k].state) == 0 && op->item[i].net[k].handle)
                net_cancel(op->comm->net, &op->item[i].net[k]);
}

int pair_progress(struct op *op)
{
    uint32_t open = 0;
    for (bool moved = true; moved;) {
        moved = false;
        open = 0;
        for (uint32_t i = 0; i < op->items; i++) {
            struct item *m = &op->item[i];
            if (m->done)
                continue;
            bool away = op->comm->host_of[m->rank] != op->comm->host;
            int got = m->receive ? (away ? receive_away : receive)(op, m) : (away ? send_away : send)(op, m);
            if (got < 0)
                return got;
            moved |= got > 0;
            open += !m->done;
        }
    }
    return open == 0;
}

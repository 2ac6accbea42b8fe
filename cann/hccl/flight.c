/* SPDX-License-Identifier: BSD-3-Clause */
/* See flight.h. */
#include "flight.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { SPIN_NS = 50000, LOOK_NS = 2000000, SLEEP_NS = 500000, GRACE_NS = 500000000 };

uint64_t cross_tag(const struct op *op, uint32_t kind, uint64_t number, uint32_t step, uint32_t from)
{
    return (uint64_t)kind << 60 | (uint64_t)op->lane << 59 | (number & 0x7fffff) << 36 |
           (uint64_t)(step & 0xffff) << 20 | from;
}

struct net_request *flight_next(struct op *op, uint32_t rank, size_t bytes)
{
    op->request_rank[op->request_count] = rank;
    op->request_bytes[op->request_count] = bytes;
    return &op->requests[op->request_count++];
}

void flight_send(struct op *op, uint32_t rank, uint32_t step, const void *data, size_t bytes)
{
    net_send(op->comm->net, rank, cross_tag(op, TAG_DATA, op->sequence, step, op->comm->rank), data, bytes,
             flight_next(op, rank, bytes));
}

void flight_receive(struct op *op, uint32_t rank, uint32_t step, void *data, size_t bytes)
{
    net_receive(op->comm->net, cross_tag(op, TAG_DATA, op->sequence, step, rank), data, bytes,
                flight_next(op, rank, bytes));
}

bool flight_begin(struct op *op)
{
    uint32_t room = 2 * op->comm->size + 4 * FLIGHT_SEGMENTS * op->comm->hosts + 8;
    char *p = op->requests
                  ? (char *)op->requests
                  : malloc(room * (sizeof *op->requests + sizeof *op->request_bytes + sizeof *op->request_rank));
    if (!p) {
        comm_fail(op->comm, HCCL_E_MEMORY, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, EI_RESOURCE "the host is out of memory");
        return false;
    }
    op->requests = (struct net_request *)p;
    op->request_bytes = (size_t *)(op->requests + room);
    op->request_rank = (uint32_t *)(op->request_bytes + room);
    op->request_count = op->request_base = 0;
    op->told = false;
    return true;
}

/* Ends what is still in flight; then the memory may go. */
int flight_give_up(struct op *op)
{
    for (uint32_t i = 0; i < op->request_count; i++)
        if (atomic_load(&op->requests[i].state) == 0)
            net_cancel(op->comm->net, &op->requests[i]);
    op->request_count = 0;
    return -1;
}

static bool needs_message(const struct op *op, uint32_t rank)
{
    for (uint32_t i = 0; i < op->request_count; i++)
        if (op->request_rank[i] == rank && atomic_load(&op->requests[i].state) == 0)
            return true;
    return false;
}

/* The call of the computer before ours, once it is there: 0, or -1 when it differs. */
int flight_compare(struct op *op)
{
    if (!op->told || atomic_load_explicit(&op->requests[0].state, memory_order_acquire) != 1)
        return 0;
    op->told = false;
    if (memcmp(&op->their_call, &op->call, sizeof op->call) == 0)
        return 0;
    call_differ(op, op->request_rank[0], &op->their_call);
    return flight_give_up(op);
}

/* A message failed, or has another length. The first ranks' comparison of calls says it better, if it comes. */
static int broke(struct op *op, uint32_t i)
{
    struct comm *c = op->comm;
    struct net_request *r = &op->requests[i];
    char call[128];
    for (int64_t until = clock_ns() + 200000000; clock_ns() < until && !comm_failure(c);) {
        if (flight_compare(op))
            return -1;
        if (!net_progress(c->net))
            net_sleep(c->net, 1000000);
    }
    call_text(&op->call, call, sizeof call);
    if (atomic_load(&r->state) == 1)
        comm_fail(c, HCCL_E_PARA, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
                  EI_DIFFERENT "ccl_op %s, group %s, parameter counts, at sequence %" PRIu64
                               " rank %u sends %zu bytes to rank "
                               "%u, which expects %zu.",
                  op_names[op->call.op], c->name, op->sequence, op->request_rank[i], r->length, c->rank,
                  op->request_bytes[i]);
    else
        comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
                  EI_REMOTE "the connection of rank %u to rank %u (process %d on %s, %s) broke in %s, sequence %" PRIu64
                            ", group %s: %s.",
                  c->rank, op->request_rank[i], c->ranks[op->request_rank[i]].pid,
                  c->ranks[op->request_rank[i]].host_name, c->ranks[op->request_rank[i]].ip, call, op->sequence,
                  c->name, r->why);
    return flight_give_up(op);
}

/* What else may have happened while messages are awaited. */
static int look(struct op *op, int64_t *lost_since)
{
    struct comm *c = op->comm;
    if (comm_failure(c))
        return flight_give_up(op);
    char call[128];
    call_text(&op->call, call, sizeof call);
    if (task_cancelled()) {
        comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_STREAM_ABORT,
                  EI_REMOTE "rank %u gave up %s, sequence %" PRIu64 ", group %s: its stream was aborted.", c->rank,
                  call, op->sequence, c->name);
        return flight_give_up(op);
    }
    for (uint32_t r = 0; r < c->size; r++) {
        const char *how = NULL;
        if (c->host_of[r] == c->host || !needs_message(op, r) || !comm_lost(c, r, &how))
            continue;
        if (!*lost_since)
            *lost_since = clock_ns();
        if (clock_ns() - *lost_since < GRACE_NS) /* its last messages may be under way */
            break;
        comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
                  EI_REMOTE "rank %u (process %d on %s, %s) %s, while rank %u waited for it in %s, sequence %" PRIu64
                            ", group %s.",
                  r, c->ranks[r].pid, c->ranks[r].host_name, c->ranks[r].ip, how, c->rank, call, op->sequence, c->name);
        return flight_give_up(op);
    }
    if (c->exec_ns && clock_ns() - op->begun > c->exec_ns) {
        call_timed_out(op, needs_message);
        return flight_give_up(op);
    }
    return 0;
}

/* Waits for messages [from, to) as they were posted. 0, or -1 after the communicator failed. */
int flight_await(struct op *op, uint32_t from, uint32_t to)
{
    struct comm *c = op->comm;
    int64_t begin = 0, looked = 0, lost_since = 0;
    for (uint32_t i = from; i < to;) {
        struct net_request *r = &op->requests[i];
        int state = atomic_load_explicit(&r->state, memory_order_acquire);
        if (flight_compare(op))
            return -1;
        if (state < 0 || (state > 0 && r->receive && r->length != op->request_bytes[i]))
            return broke(op, i);
        if (state > 0) {
            i++;
            continue;
        }
        if (net_progress(c->net))
            continue;
        int64_t now = clock_ns();
        begin = begin ? begin : now;
        looked = looked ? looked : now;
        if (now - begin > SPIN_NS)
            net_sleep(c->net, SLEEP_NS);
        else
            sched_yield();
        if (now - looked > LOOK_NS) {
            looked = now;
            int status = look(op, &lost_since);
            if (status)
                return status;
        }
    }
    return 0;
}

/* Waits for all messages but the calls'. */
int flight_land(struct op *op)
{
    int status = flight_await(op, op->request_base, op->request_count);
    if (!status)
        op->request_count = op->request_base;
    return status;
}

int cross_finish(struct op *op)
{
    if (!flight_begin(op))
        return call_failed(op);
    net_flush(op->comm->net, flight_next(op, op->comm->rank, 0));
    return flight_land(op) ? call_failed(op) : 0;
}

/* The first ranks compare what they were asked to do with the computer before theirs. */
void flight_tell(struct op *op)
{
    struct comm *c = op->comm;
    op->told = true;
    uint32_t next = first_on(op, (c->host + 1) % c->hosts), before = first_on(op, (c->host + c->hosts - 1) % c->hosts);
    net_receive(c->net, cross_tag(op, TAG_CALL, op->sequence, 0, before), &op->their_call, sizeof op->their_call,
                flight_next(op, before, sizeof op->their_call));
    net_send(c->net, next, cross_tag(op, TAG_CALL, op->sequence, 0, c->rank), &op->call, sizeof op->call,
             flight_next(op, next, sizeof op->call));
    op->request_base = op->request_count;
}

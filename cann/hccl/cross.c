/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives over several computers. Inside a computer ranks reach each other's memory (work.c); between computers the
 * first `rails` ranks of each share the work out, rail i of a computer talking to rail i of the others, so that every
 * byte crosses once and all ranks help. How the computers are gone through is the algorithm, a row of a table. Partial
 * results of 16-bit floats travel as float and are rounded once. The order of computers in a reduction depends on the
 * place in the data alone (algorithm.c).
 *
 * Small payloads go through the first rank of each computer, which puts the result on the board (BOARD_RESULT).
 * The first rank also tells the next computer's what it was asked to do. */
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "algorithm.h"
#include "error.h"
#include "flight.h"

/* Who of `host` deals with the affairs of rank r of another computer. */
static uint32_t partner_on(const struct op *op, uint32_t host, uint32_t r)
{
    const struct comm *c = op->comm;
    uint32_t place = c->local_of[r] % c->host_size[host];
    for (uint32_t q = 0; q < c->size; q++)
        if (c->host_of[q] == host && c->local_of[q] == place)
            return q;
    return r;
}

static char *out_of(const struct op *op)
{
    return op->stage_recv && op->offered ? op->stage_recv : op->recv;
}

/* Memory for partial results: the communicator's when nobody else has it, else new. */
static char *scratch_take(struct op *op, size_t bytes, int which)
{
    struct comm *c = op->comm;
    char *p = NULL;
    pthread_mutex_lock(&c->scratch_lock);
    if (c->scratch[which] && c->scratch_bytes[which] >= bytes) {
        p = c->scratch[which];
        c->scratch[which] = NULL;
    }
    pthread_mutex_unlock(&c->scratch_lock);
    if (!p && !(p = malloc(bytes ? bytes : 1)))
        comm_fail(c, HCCL_E_MEMORY, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, EI_RESOURCE "%zu bytes for partial results.",
                  bytes);
    return p;
}

static void scratch_give(struct op *op, char *p, size_t bytes, int which)
{
    struct comm *c = op->comm;
    pthread_mutex_lock(&c->scratch_lock);
    char *old = c->scratch[which];
    if (!old || c->scratch_bytes[which] < bytes) {
        c->scratch[which] = p;
        c->scratch_bytes[which] = old || bytes > c->scratch_bytes[which] ? bytes : c->scratch_bytes[which];
        p = old;
    }
    pthread_mutex_unlock(&c->scratch_lock);
    free(p);
}

/* The first rank has put `bytes` on its place of the board; everybody who wants takes them. */
static int take_result(struct op *op, bool first_has_it, bool wants, uint64_t bytes)
{
    struct comm *c = op->comm;
    if (c->me == 0)
        call_say(op, BOARD_RESULT);
    else if (first_has_it) {
        int status = call_wait_result(op);
        if (status)
            return status;
    }
    if (wants && bytes)
        memcpy(op->recv, board_data(c->board, op->lane, op->sequence, 0), bytes);
    return 0;
}

/* Reduces this rank's part [begin, begin + n) over all computers to `out` of the ranks that want it: all, or the root.
 */
static int reduce_part(struct op *op, uint64_t begin, uint64_t n, bool all, char *out)
{
    struct comm *c = op->comm;
    struct partial p = partial_of(op);
    const struct algorithm *a = algorithm_choose(c, op->call.count * op->element);
    size_t bytes = n * p.size, more = all && a->all ? bytes * c->hosts : bytes;
    char *mine = scratch_take(op, bytes, 0), *other = scratch_take(op, more, 1);
    int status = mine && other ? 0 : -1;
    p.begin = begin;
    if (!status)
        status = all ? a->run(op, &p, mine, other, n, out)
                     : algorithm_up(op, &p, mine, other, n, c->host_of[op->call.root], out);
    if (mine)
        scratch_give(op, mine, bytes, 0);
    if (other)
        scratch_give(op, other, more, 1);
    return status;
}

static int all_reduce(struct op *op)
{
    struct comm *c = op->comm;
    bool all = op->call.op == OP_ALL_REDUCE, here = all || work_rooted_here(op),
         wants = all || c->rank == op->call.root;
    if (op->send_bytes <= BOARD_SMALL) {
        if (c->me == 0 && reduce_part(op, 0, op->call.count, all, board_data(c->board, op->lane, op->sequence, 0)))
            return -1;
        return take_result(op, here, wants, op->send_bytes);
    }
    if (c->me >= c->rails)
        return 0;
    uint64_t begin, end;
    work_share_out(op, op->call.count, c->rails, c->me, &begin, &end);
    uint64_t from = begin * op->element, bytes = (end - begin) * op->element;
    char *out = all ? work_result(op, c->me) : here ? work_result(op, c->local_of[op->call.root]) : NULL;
    if (here && !out)
        return -1;
    if (reduce_part(op, begin, end - begin, all, out ? out + from : NULL))
        return -1;
    for (uint32_t k = 1; all && k < c->local; k++) {
        char *to = work_result(op, (c->me + k) % c->local);
        if (!to)
            return -1;
        work_copy(op, to + from, out + from, bytes);
    }
    return 0;
}

static int broadcast(struct op *op)
{
    struct comm *c = op->comm;
    uint32_t root_host = c->host_of[op->call.root];
    bool here = root_host == c->host, is_root = c->rank == op->call.root;
    uint64_t bytes = op->call.count * op->element;
    if (bytes <= BOARD_SMALL) {
        if (here) {
            char *data = work_data(op, c->local_of[op->call.root]);
            if (!data || (c->me == 0 && algorithm_down(op, data, bytes, root_host)))
                return -1;
            if (!is_root && bytes)
                memcpy(op->recv, data, bytes);
            return 0;
        }
        if (c->me == 0 && algorithm_down(op, board_data(c->board, op->lane, op->sequence, 0), bytes, root_host))
            return -1;
        return take_result(op, true, true, bytes);
    }
    uint64_t begin = 0, end = 0;
    if (c->me < c->rails)
        work_share_out(op, op->call.count, c->rails, c->me, &begin, &end);
    uint64_t from = begin * op->element, part = (end - begin) * op->element;
    char *data = here ? work_data(op, c->local_of[op->call.root]) : work_result(op, c->me);
    if (!data || (c->me < c->rails && algorithm_down(op, data + from, part, root_host)))
        return -1;
    if (here && !is_root)
        work_copy(op, op->recv, data, bytes);
    for (uint32_t k = 1; !here && part && k < c->local; k++) {
        char *to = work_result(op, (c->me + k) % c->local);
        if (!to)
            return -1;
        work_copy(op, to + from, data + from, part);
    }
    return 0;
}

static int all_gather(struct op *op)
{
    struct comm *c = op->comm;
    char *out = out_of(op);
    const char *mine = work_data(op, c->me);
    if (!mine)
        return -1;
    for (uint32_t h = 0; h < c->hosts; h++)
        if (h != c->host && op->send_bytes)
            flight_send(op, partner_on(op, h, c->rank), 1, mine, op->send_bytes);
    for (uint32_t r = 0; r < c->size; r++) {
        uint64_t at = op->recv_at ? op->recv_at[r] : r * op->send_bytes,
                 bytes = op->recv_counts ? op->recv_counts[r] : op->send_bytes;
        if (c->host_of[r] == c->host) {
            const char *from = work_data(op, c->local_of[r]);
            if (!from)
                return flight_give_up(op);
            work_copy(op, out + at, from, bytes);
        } else if (bytes && partner_on(op, c->host, r) == c->rank) {
            flight_receive(op, r, 1, out + at, bytes);
        }
    }
    if (flight_land(op))
        return -1;
    for (uint32_t r = 0; r < c->size; r++) {
        uint64_t at = op->recv_at ? op->recv_at[r] : r * op->send_bytes,
                 bytes = op->recv_counts ? op->recv_counts[r] : op->send_bytes;
        if (!bytes || c->host_of[r] == c->host || partner_on(op, c->host, r) != c->rank)
            continue;
        for (uint32_t k = 1; k < c->local; k++) {
            char *to = work_result(op, (c->me + k) % c->local);
            if (!to)
                return -1;
            work_copy(op, to + at, out + at, bytes);
        }
    }
    return 0;
}

/* Every computer's partial of a rank's part goes straight to that rank. */
static int reduce_scatter(struct op *op)
{
    struct comm *c = op->comm;
    struct partial p = partial_of(op);
    uint64_t each = op->recv_bytes / op->element, away = 0;
    for (uint32_t r = 0; r < c->size; r++)
        if (c->host_of[r] != c->host && partner_on(op, c->host, r) == c->rank)
            away += op->send_counts ? op->send_counts[r] / op->element : each;
    size_t bytes = away * p.size, own = each * p.size * c->hosts;
    char *sent = scratch_take(op, bytes, 0), *got = scratch_take(op, own, 1);
    int status = sent && got ? 0 : -1;
    for (uint32_t h = 0; h < c->hosts && !status && each; h++)
        if (h != c->host)
            flight_receive(op, partner_on(op, h, c->rank), 1, got + h * each * p.size, each * p.size);
    char *at = sent;
    for (uint32_t r = 0; r < c->size && !status; r++) {
        if (c->host_of[r] == c->host || partner_on(op, c->host, r) != c->rank)
            continue;
        uint64_t n = op->send_counts ? op->send_counts[r] / op->element : each,
                 from = op->send_at ? op->send_at[r] / op->element : r * each;
        const char *theirs = partial_here(op, &p, from, n, at);
        status = theirs ? 0 : -1;
        if (!status && n)
            flight_send(op, r, 1, theirs, n * p.size);
        at += n * p.size;
    }
    char *room = got ? got + c->host * each * p.size : NULL, *sum = p.narrow ? room : out_of(op);
    const char *mine = NULL;
    if (!status)
        mine = partial_here(op, &p, op->send_at ? op->send_at[c->rank] / op->element : c->rank * each, each, room);
    status = mine ? flight_land(op) : flight_give_up(op);
    if (!status && each) {
        const void *in[HOSTS_MAX];
        for (uint32_t h = 0; h < c->hosts; h++)
            in[h] = h == c->host ? mine : got + h * each * p.size;
        p.between((int64_t)each, sum, in, (int)c->hosts);
        partial_round(op, &p, out_of(op), sum, each);
    }
    if (sent)
        scratch_give(op, sent, bytes, 0);
    if (got)
        scratch_give(op, got, own, 1);
    return status;
}

static int scatter(struct op *op)
{
    struct comm *c = op->comm;
    if (!op->recv_bytes)
        return 0;
    if (!work_rooted_here(op)) {
        flight_receive(op, op->call.root, 1, op->recv, op->recv_bytes);
        return flight_land(op);
    }
    const char *data = work_data(op, c->local_of[op->call.root]);
    if (!data)
        return -1;
    if (c->rank == op->call.root)
        for (uint32_t r = 0; r < c->size; r++)
            if (c->host_of[r] != c->host)
                flight_send(op, r, 1, data + r * op->recv_bytes, op->recv_bytes);
    work_copy(op, op->recv, data + c->rank * op->recv_bytes, op->recv_bytes);
    return flight_land(op);
}

static int all_to_all(struct op *op)
{
    struct comm *c = op->comm;
    const char *mine = work_data(op, c->me);
    if (!mine)
        return -1;
    for (uint32_t r = 0; r < c->size; r++)
        if (c->host_of[r] != c->host)
            flight_receive(op, r, 1, op->recv + op->recv_at[r], op->recv_counts[r]);
    for (uint32_t r = 0; r < c->size; r++)
        if (c->host_of[r] != c->host)
            flight_send(op, r, 1, mine + op->send_at[r], op->send_counts[r]);
    if (work_do(op)) /* inside the computer */
        return flight_give_up(op);
    return flight_land(op);
}

static int barrier(struct op *op)
{
    struct comm *c = op->comm;
    char mine = 1, theirs;
    for (uint32_t step = 1; c->me == 0 && step < c->hosts; step *= 2) {
        flight_receive(op, first_on(op, (c->host + c->hosts - step) % c->hosts), step, &theirs, 1);
        flight_send(op, first_on(op, (c->host + step) % c->hosts), step, &mine, 1);
        if (flight_land(op))
            return -1;
    }
    return take_result(op, true, false, 0);
}

int cross_do(struct op *op)
{
    struct comm *c = op->comm;
    if (!flight_begin(op))
        return -1;
    if (c->me == 0)
        flight_tell(op);
    int status;
    switch (op->call.op) {
    case OP_ALL_REDUCE:
    case OP_REDUCE:
        status = all_reduce(op);
        break;
    case OP_BROADCAST:
        status = broadcast(op);
        break;
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_V:
        status = all_gather(op);
        break;
    case OP_REDUCE_SCATTER:
    case OP_REDUCE_SCATTER_V:
        status = reduce_scatter(op);
        break;
    case OP_SCATTER:
        status = scatter(op);
        break;
    case OP_BARRIER:
        status = barrier(op);
        break;
    default:
        status = all_to_all(op);
    }
    if (status)
        return status;
    net_flush(c->net, flight_next(op, c->rank, 0));
    return flight_await(op, 0, op->request_count) || flight_compare(op) ? -1 : 0;
}

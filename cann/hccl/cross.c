/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives over several computers. Inside a computer ranks reach each other's memory (work.c); between computers the
 * first `rails` ranks of each share the work out, rail i of a computer talking to rail i of the others, so that every
 * byte crosses once and all ranks help. How the computers are gone through is the algorithm, a row of a table. Partial
 * results of 16-bit floats travel as float and are rounded once. The order of computers in a reduction depends on the
 * place in the data alone, and each element is finished on one computer: all ranks get the same bits.
 *
 * Small payloads go through the first rank of each computer, which puts the result on the board (BOARD_RESULT).
 * The first rank also tells the next computer's what it was asked to do. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "call.h"
#include "error.h"

enum {
    SPIN_NS = 50000,
    LOOK_NS = 2000000,
    SLEEP_NS = 500000,
    GRACE_NS = 500000000,
    SEGMENTS = 8,
    SEGMENT_BYTES = 1 << 26
};

uint64_t cross_tag(const struct op *op, uint32_t kind, uint64_t number, uint32_t step, uint32_t from)
{
    return (uint64_t)kind << 60 | (uint64_t)op->lane << 59 | (number & 0x7fffff) << 36 |
           (uint64_t)(step & 0xffff) << 20 | from;
}

/* ---- messages in flight ---- */

static struct net_request *next_request(struct op *op, uint32_t rank, size_t bytes)
{
    op->request_rank[op->request_count] = rank;
    op->request_bytes[op->request_count] = bytes;
    return &op->requests[op->request_count++];
}

static void post_send(struct op *op, uint32_t rank, uint32_t step, const void *data, size_t bytes)
{
    net_send(op->comm->net, rank, cross_tag(op, TAG_DATA, op->sequence, step, op->comm->rank), data, bytes,
             next_request(op, rank, bytes));
}

static void post_receive(struct op *op, uint32_t rank, uint32_t step, void *data, size_t bytes)
{
    net_receive(op->comm->net, cross_tag(op, TAG_DATA, op->sequence, step, rank), data, bytes,
                next_request(op, rank, bytes));
}

static bool prepare_requests(struct op *op)
{
    uint32_t room = 2 * op->comm->size + 4 * SEGMENTS * op->comm->hosts + 8;
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
static int give_up(struct op *op)
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
static int compare_calls(struct op *op)
{
    if (!op->told || atomic_load_explicit(&op->requests[0].state, memory_order_acquire) != 1)
        return 0;
    op->told = false;
    if (memcmp(&op->their_call, &op->call, sizeof op->call) == 0)
        return 0;
    call_differ(op, op->request_rank[0], &op->their_call);
    return give_up(op);
}

/* A message failed, or has another length. The first ranks' comparison of calls says it better, if it comes. */
static int broke(struct op *op, uint32_t i)
{
    struct comm *c = op->comm;
    struct net_request *r = &op->requests[i];
    char call[128];
    for (int64_t until = clock_ns() + 200000000; clock_ns() < until && !comm_failure(c);) {
        if (compare_calls(op))
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
    return give_up(op);
}

/* What else may have happened while messages are awaited. */
static int look(struct op *op, int64_t *lost_since)
{
    struct comm *c = op->comm;
    if (comm_failure(c))
        return give_up(op);
    char call[128];
    call_text(&op->call, call, sizeof call);
    if (task_cancelled()) {
        comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_STREAM_ABORT,
                  EI_REMOTE "rank %u gave up %s, sequence %" PRIu64 ", group %s: its stream was aborted.", c->rank,
                  call, op->sequence, c->name);
        return give_up(op);
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
        return give_up(op);
    }
    if (c->exec_ns && clock_ns() - op->begun > c->exec_ns) {
        call_timed_out(op, needs_message);
        return give_up(op);
    }
    return 0;
}

/* Waits for messages [from, to) as they were posted. 0, or -1 after the communicator failed. */
static int await(struct op *op, uint32_t from, uint32_t to)
{
    struct comm *c = op->comm;
    int64_t begin = 0, looked = 0, lost_since = 0;
    for (uint32_t i = from; i < to;) {
        struct net_request *r = &op->requests[i];
        int state = atomic_load_explicit(&r->state, memory_order_acquire);
        if (compare_calls(op))
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
static int land(struct op *op)
{
    int status = await(op, op->request_base, op->request_count);
    if (!status)
        op->request_count = op->request_base;
    return status;
}

int cross_finish(struct op *op)
{
    if (!prepare_requests(op))
        return call_failed(op);
    net_flush(op->comm->net, next_request(op, op->comm->rank, 0));
    return land(op) ? call_failed(op) : 0;
}

/* ---- places ---- */

static uint32_t rail_on(const struct op *op, uint32_t host)
{
    return op->comm->rank_at[host * op->comm->rails + op->comm->me];
}

static uint32_t first_on(const struct op *op, uint32_t host)
{
    return op->comm->rank_at[host * op->comm->rails];
}

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

/* ---- partial results ---- */

/* How partial results are kept: 16-bit floats as float. */
struct partial {
    combine_fold local, between; /* elements → partial, partials → partial */
    void (*narrow)(int64_t n, void *out, const float *in);
    size_t size;
    uint64_t begin; /* of this rail's part of the data */
};

static struct partial partial_of(const struct op *op)
{
    const struct combine_table *k = ISA_PICK(combine_kernels);
    aclDataType t = hccl_dtype(op->call.dtype);
    int r = op->call.reduce;
    if (k->narrow[t])
        return (struct partial){k->wide[r][t], k->fold[r][ACL_FLOAT], k->narrow[t], sizeof(float)};
    return (struct partial){k->fold[r][t], k->fold[r][t], NULL, op->element};
}

/* This computer's partial of elements [from, from + n) of the part. */
static int local_partial(struct op *op, const struct partial *p, char *mine, uint64_t from, uint64_t n)
{
    char *out = mine + from * p->size;
    return work_reduce(op, p->begin + from, n, p->local, p->size, &out, 1);
}

static void fold_two(const struct partial *p, char *mine, const char *theirs, uint64_t n, bool theirs_first)
{
    const void *in[2] = {theirs_first ? theirs : mine, theirs_first ? mine : theirs};
    p->between((int64_t)n, mine, in, 2);
}

static void round_to(const struct op *op, const struct partial *p, char *out, const char *in, uint64_t n)
{
    if (p->narrow)
        p->narrow((int64_t)n, out, (const float *)(const void *)in);
    else if (out != in)
        memcpy(out, in, n * op->element);
}

/* ---- algorithms: among rail `me` of all computers ---- */

/* All send their partial to all: one step. For few computers and little data. */
static int exchange(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    struct comm *c = op->comm;
    size_t bytes = n * p->size;
    if (local_partial(op, p, mine, 0, n))
        return -1;
    const void *in[HOSTS_MAX];
    for (uint32_t h = 0; h < c->hosts; h++) {
        in[h] = h == c->host ? mine : other + h * bytes;
        if (h != c->host) {
            post_receive(op, rail_on(op, h), 1, other + h * bytes, bytes);
            post_send(op, rail_on(op, h), 1, mine, bytes);
        }
    }
    if (land(op))
        return -1;
    p->between((int64_t)n, other + c->host * bytes, in, (int)c->hosts);
    round_to(op, p, out, other + c->host * bytes, n);
    return 0;
}

/* Partials go up a binomial tree to the computer `root`; there `out` (may be NULL elsewhere) gets the result. */
static int tree_up(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, uint32_t root,
                   char *out)
{
    struct comm *c = op->comm;
    uint32_t place = (c->host + c->hosts - root) % c->hosts;
    if (local_partial(op, p, mine, 0, n))
        return -1;
    for (uint32_t step = 1; step < c->hosts; step *= 2) {
        if (place & step) {
            post_send(op, rail_on(op, (place - step + root) % c->hosts), step, mine, n * p->size);
            return land(op);
        }
        if (place + step >= c->hosts)
            continue;
        post_receive(op, rail_on(op, (place + step + root) % c->hosts), step, other, n * p->size);
        if (land(op))
            return -1;
        fold_two(p, mine, other, n, false);
    }
    round_to(op, p, out, mine, n);
    return 0;
}

/* Data goes down a binomial tree from the computer `root`. */
static int tree_down(struct op *op, char *data, size_t bytes, uint32_t root)
{
    struct comm *c = op->comm;
    uint32_t place = (c->host + c->hosts - root) % c->hosts, step = 1;
    for (; step < c->hosts; step *= 2)
        if (place & step) {
            post_receive(op, rail_on(op, (place - step + root) % c->hosts), 0x8000, data, bytes);
            if (land(op))
                return -1;
            break;
        }
    for (step /= 2; step > 0; step /= 2)
        if (place + step < c->hosts)
            post_send(op, rail_on(op, (place + step + root) % c->hosts), 0x8000, data, bytes);
    return land(op);
}

static int tree(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    return tree_up(op, p, mine, other, n, 0, out) || tree_down(op, out, n * op->element, 0) ? -1 : 0;
}

/* Parts of the data travel around all computers and are added to, then the finished parts travel around. */
static int ring(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    struct comm *c = op->comm;
    if (local_partial(op, p, mine, 0, n))
        return -1;
    uint32_t H = c->hosts, h = c->host, to = rail_on(op, (h + 1) % H), from = rail_on(op, (h + H - 1) % H);
    for (uint32_t s = 0; s + 1 < H; s++) {
        uint64_t b, e, rb, re;
        work_share_out(op, n, H, (h + H - s) % H, &b, &e);
        work_share_out(op, n, H, (h + 2 * H - s - 1) % H, &rb, &re);
        post_receive(op, from, 1 + s, other, (re - rb) * p->size);
        post_send(op, to, 1 + s, mine + b * p->size, (e - b) * p->size);
        if (land(op))
            return -1;
        fold_two(p, mine + rb * p->size, other, re - rb, true);
    }
    uint64_t b, e;
    work_share_out(op, n, H, (h + 1) % H, &b, &e);
    round_to(op, p, out + b * op->element, mine + b * p->size, e - b);
    for (uint32_t s = 0; s + 1 < H; s++) {
        uint64_t rb, re;
        work_share_out(op, n, H, (h + 1 + H - s) % H, &b, &e);
        work_share_out(op, n, H, (h + H - s) % H, &rb, &re);
        post_receive(op, from, 0x4000 + s, out + rb * op->element, (re - rb) * op->element);
        post_send(op, to, 0x4000 + s, out + b * op->element, (e - b) * op->element);
        if (land(op))
            return -1;
    }
    return 0;
}

static uint32_t segments_of(const struct op *op)
{
    uint64_t n = op->call.count * op->element / op->comm->hosts / SEGMENT_BYTES;
    return n < 1 ? 1 : n > SEGMENTS ? SEGMENTS : (uint32_t)n;
}

/* Each computer finishes one part of the data: it gets everybody's partial of that part, straight, and sends the result
 * to all. In segments, so that memory, network and arithmetic work at the same time. */
static int direct(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    struct comm *c = op->comm;
    uint32_t H = c->hosts, h = c->host, partials[SEGMENTS], results, segments = segments_of(op);
    uint64_t b, e, part, sb, se;
    work_share_out(op, n, H, h, &b, &e);
    part = e - b;
    for (uint32_t s = 0; s < segments; s++) { /* expect partials of our part: other[computer] */
        work_share_out(op, part, segments, s, &sb, &se);
        partials[s] = op->request_count;
        for (uint32_t k = 0; k < H; k++)
            if (k != h)
                post_receive(op, rail_on(op, k), s, other + (k * part + sb) * p->size, (se - sb) * p->size);
    }
    results = op->request_count;
    for (uint32_t s = 0; s < segments; s++)
        for (uint32_t k = 0; k < H; k++)
            if (k != h) {
                uint64_t kb, ke;
                work_share_out(op, n, H, k, &kb, &ke);
                work_share_out(op, ke - kb, segments, s, &sb, &se);
                post_receive(op, rail_on(op, k), 0x4000 + s, out + (kb + sb) * op->element, (se - sb) * op->element);
            }
    for (uint32_t s = 0; s < segments; s++)
        for (uint32_t d = 1; d < H; d++) { /* not all to the same one at a time */
            uint32_t k = (h + d) % H;
            uint64_t kb, ke;
            work_share_out(op, n, H, k, &kb, &ke);
            work_share_out(op, ke - kb, segments, s, &sb, &se);
            if (local_partial(op, p, mine, kb + sb, se - sb))
                return give_up(op);
            post_send(op, rail_on(op, k), s, mine + (kb + sb) * p->size, (se - sb) * p->size);
            net_progress(c->net);
        }
    for (uint32_t s = 0; s < segments; s++) {
        work_share_out(op, part, segments, s, &sb, &se);
        if (local_partial(op, p, mine, b + sb, se - sb))
            return give_up(op);
        if (await(op, partials[s], s + 1 < segments ? partials[s + 1] : results))
            return -1;
        const void *in[HOSTS_MAX];
        char *sum = mine + (b + sb) * p->size, *to = out + (b + sb) * op->element;
        for (uint32_t k = 0; k < H; k++)
            in[k] = k == h ? sum : other + (k * part + sb) * p->size;
        p->between((int64_t)(se - sb), sum, in, (int)H);
        round_to(op, p, to, sum, se - sb);
        for (uint32_t d = 1; d < H; d++)
            post_send(op, rail_on(op, (h + d) % H), 0x4000 + s, to, (se - sb) * op->element);
        net_progress(c->net);
    }
    return land(op);
}

/* For all-reduce, the last row that fits is taken. */
static const struct algorithm {
    const char *name;
    uint32_t hosts; /* at least */
    uint64_t bytes; /* at least */
    bool all;       /* `other` holds everybody's partial, else one */
    int (*run)(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out);
    const char *what;
} algorithms[] = {
    {"exchange", 2, 0, true, exchange, "everybody's partial to everybody: one step"},
    {"tree", 5, 0, false, tree, "up and down a binomial tree: 2 log2(n) steps"},
    {"direct", 2, BOARD_SMALL + 1, true, direct, "a part each: every byte crosses each link twice, two steps"},
    {"ring", 9, BOARD_SMALL + 1, false, ring, "parts around a ring: every byte crosses each link twice"},
};

static const struct algorithm *choose(const struct comm *c, uint64_t bytes)
{
    const struct algorithm *best = algorithms;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (c->hosts >= algorithms[i].hosts && bytes >= algorithms[i].bytes)
            best = &algorithms[i];
    return best;
}

/* ---- collectives ---- */

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
    const struct algorithm *a = choose(c, op->call.count * op->element);
    size_t bytes = n * p.size, more = all && a->all ? bytes * c->hosts : bytes;
    char *mine = scratch_take(op, bytes, 0), *other = scratch_take(op, more, 1);
    int status = mine && other ? 0 : -1;
    p.begin = begin;
    if (!status)
        status =
            all ? a->run(op, &p, mine, other, n, out) : tree_up(op, &p, mine, other, n, c->host_of[op->call.root], out);
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
            if (!data || (c->me == 0 && tree_down(op, data, bytes, root_host)))
                return -1;
            if (!is_root && bytes)
                memcpy(op->recv, data, bytes);
            return 0;
        }
        if (c->me == 0 && tree_down(op, board_data(c->board, op->lane, op->sequence, 0), bytes, root_host))
            return -1;
        return take_result(op, true, true, bytes);
    }
    uint64_t begin = 0, end = 0;
    if (c->me < c->rails)
        work_share_out(op, op->call.count, c->rails, c->me, &begin, &end);
    uint64_t from = begin * op->element, part = (end - begin) * op->element;
    char *data = here ? work_data(op, c->local_of[op->call.root]) : work_result(op, c->me);
    if (!data || (c->me < c->rails && tree_down(op, data + from, part, root_host)))
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
            post_send(op, partner_on(op, h, c->rank), 1, mine, op->send_bytes);
    for (uint32_t r = 0; r < c->size; r++) {
        uint64_t at = op->recv_at ? op->recv_at[r] : r * op->send_bytes,
                 bytes = op->recv_counts ? op->recv_counts[r] : op->send_bytes;
        if (c->host_of[r] == c->host) {
            const char *from = work_data(op, c->local_of[r]);
            if (!from)
                return give_up(op);
            work_copy(op, out + at, from, bytes);
        } else if (bytes && partner_on(op, c->host, r) == c->rank) {
            post_receive(op, r, 1, out + at, bytes);
        }
    }
    if (land(op))
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
            post_receive(op, partner_on(op, h, c->rank), 1, got + h * each * p.size, each * p.size);
    char *at = sent;
    for (uint32_t r = 0; r < c->size && !status; r++) {
        if (c->host_of[r] == c->host || partner_on(op, c->host, r) != c->rank)
            continue;
        uint64_t n = op->send_counts ? op->send_counts[r] / op->element : each,
                 from = op->send_at ? op->send_at[r] / op->element : r * each;
        status = work_reduce(op, from, n, p.local, p.size, &at, 1);
        if (!status && n)
            post_send(op, r, 1, at, n * p.size);
        at += n * p.size;
    }
    char *mine = got ? got + c->host * each * p.size : NULL;
    if (!status)
        status = work_reduce(op, op->send_at ? op->send_at[c->rank] / op->element : c->rank * each, each, p.local,
                             p.size, &mine, 1);
    if (status)
        give_up(op);
    else
        status = land(op);
    if (!status && each) {
        const void *in[HOSTS_MAX];
        for (uint32_t h = 0; h < c->hosts; h++)
            in[h] = got + h * each * p.size;
        p.between((int64_t)each, mine, in, (int)c->hosts);
        round_to(op, &p, out_of(op), mine, each);
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
        post_receive(op, op->call.root, 1, op->recv, op->recv_bytes);
        return land(op);
    }
    const char *data = work_data(op, c->local_of[op->call.root]);
    if (!data)
        return -1;
    if (c->rank == op->call.root)
        for (uint32_t r = 0; r < c->size; r++)
            if (c->host_of[r] != c->host)
                post_send(op, r, 1, data + r * op->recv_bytes, op->recv_bytes);
    work_copy(op, op->recv, data + c->rank * op->recv_bytes, op->recv_bytes);
    return land(op);
}

static int all_to_all(struct op *op)
{
    struct comm *c = op->comm;
    const char *mine = work_data(op, c->me);
    if (!mine)
        return -1;
    for (uint32_t r = 0; r < c->size; r++)
        if (c->host_of[r] != c->host)
            post_receive(op, r, 1, op->recv + op->recv_at[r], op->recv_counts[r]);
    for (uint32_t r = 0; r < c->size; r++)
        if (c->host_of[r] != c->host)
            post_send(op, r, 1, mine + op->send_at[r], op->send_counts[r]);
    if (work_do(op)) /* inside the computer */
        return give_up(op);
    return land(op);
}

static int barrier(struct op *op)
{
    struct comm *c = op->comm;
    char mine = 1, theirs;
    for (uint32_t step = 1; c->me == 0 && step < c->hosts; step *= 2) {
        post_receive(op, first_on(op, (c->host + c->hosts - step) % c->hosts), step, &theirs, 1);
        post_send(op, first_on(op, (c->host + step) % c->hosts), step, &mine, 1);
        if (land(op))
            return -1;
    }
    return take_result(op, true, false, 0);
}

/* The first ranks compare what they were asked to do with the computer before theirs. */
static void tell_call(struct op *op)
{
    struct comm *c = op->comm;
    op->told = true;
    uint32_t next = first_on(op, (c->host + 1) % c->hosts), before = first_on(op, (c->host + c->hosts - 1) % c->hosts);
    net_receive(c->net, cross_tag(op, TAG_CALL, op->sequence, 0, before), &op->their_call, sizeof op->their_call,
                next_request(op, before, sizeof op->their_call));
    net_send(c->net, next, cross_tag(op, TAG_CALL, op->sequence, 0, c->rank), &op->call, sizeof op->call,
             next_request(op, next, sizeof op->call));
    op->request_base = op->request_count;
}

int cross_do(struct op *op)
{
    struct comm *c = op->comm;
    if (!prepare_requests(op))
        return -1;
    if (c->me == 0)
        tell_call(op);
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
    net_flush(c->net, next_request(op, c->rank, 0));
    return await(op, 0, op->request_count) || compare_calls(op) ? -1 : 0;
}

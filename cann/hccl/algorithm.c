/* SPDX-License-Identifier: BSD-3-Clause */
/* See algorithm.h. The order of computers in a reduction depends on the place in the data alone, and each element is
 * finished on one computer, or by all in the same order: all ranks get the same bits. */
#include "algorithm.h"

#include <string.h>

#include "flight.h"

enum { SEGMENT_BYTES = 1 << 26 };

struct partial partial_of(const struct op *op)
{
    const struct combine_table *k = ISA_PICK(combine_kernels);
    aclDataType t = hccl_dtype(op->call.dtype);
    int r = op->call.reduce;
    if (k->narrow[t])
        return (struct partial){k->wide[r][t], k->fold[r][ACL_FLOAT], k->narrow[t], sizeof(float)};
    return (struct partial){k->fold[r][t], k->fold[r][t], NULL, op->element};
}

char *partial_here(struct op *op, const struct partial *p, uint64_t from, uint64_t n, char *room)
{
    if (op->comm->local == 1 && !p->narrow) {
        char *data = work_data(op, 0);
        return data ? data + from * p->size : NULL;
    }
    return work_reduce(op, from, n, p->local, p->size, &room, 1) ? NULL : room;
}

/* The same in memory that may be added to: of elements [0, n) of the part, at `mine`. */
static int local_partial(struct op *op, const struct partial *p, char *mine, uint64_t n)
{
    return work_reduce(op, p->begin, n, p->local, p->size, &mine, 1);
}

static void fold_two(const struct partial *p, char *mine, const char *theirs, uint64_t n, bool theirs_first)
{
    const void *in[2] = {theirs_first ? theirs : mine, theirs_first ? mine : theirs};
    p->between((int64_t)n, mine, in, 2);
}

void partial_round(const struct op *op, const struct partial *p, char *out, const char *in, uint64_t n)
{
    if (p->narrow)
        p->narrow((int64_t)n, out, (const float *)(const void *)in);
    else if (out != in)
        memcpy(out, in, n * op->element);
}

/* All send their partial to all: one step. For few computers and little data. */
static int exchange(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    struct comm *c = op->comm;
    size_t bytes = n * p->size;
    mine = partial_here(op, p, p->begin, n, mine);
    if (!mine)
        return -1;
    const void *in[HOSTS_MAX];
    for (uint32_t h = 0; h < c->hosts; h++) {
        in[h] = h == c->host ? mine : other + h * bytes;
        if (h != c->host) {
            flight_receive(op, rail_on(op, h), 1, other + h * bytes, bytes);
            flight_send(op, rail_on(op, h), 1, mine, bytes);
        }
    }
    if (flight_land(op))
        return -1;
    p->between((int64_t)n, other + c->host * bytes, in, (int)c->hosts);
    partial_round(op, p, out, other + c->host * bytes, n);
    return 0;
}

int algorithm_up(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, uint32_t root, char *out)
{
    struct comm *c = op->comm;
    uint32_t place = (c->host + c->hosts - root) % c->hosts;
    if (local_partial(op, p, mine, n))
        return -1;
    for (uint32_t step = 1; step < c->hosts; step *= 2) {
        if (place & step) {
            flight_send(op, rail_on(op, (place - step + root) % c->hosts), step, mine, n * p->size);
            return flight_land(op);
        }
        if (place + step >= c->hosts)
            continue;
        flight_receive(op, rail_on(op, (place + step + root) % c->hosts), step, other, n * p->size);
        if (flight_land(op))
            return -1;
        fold_two(p, mine, other, n, false);
    }
    partial_round(op, p, out, mine, n);
    return 0;
}

int algorithm_down(struct op *op, char *data, size_t bytes, uint32_t root)
{
    struct comm *c = op->comm;
    uint32_t place = (c->host + c->hosts - root) % c->hosts, step = 1;
    for (; step < c->hosts; step *= 2)
        if (place & step) {
            flight_receive(op, rail_on(op, (place - step + root) % c->hosts), 0x8000, data, bytes);
            if (flight_land(op))
                return -1;
            break;
        }
    for (step /= 2; step > 0; step /= 2)
        if (place + step < c->hosts)
            flight_send(op, rail_on(op, (place + step + root) % c->hosts), 0x8000, data, bytes);
    return flight_land(op);
}

static int tree(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    return algorithm_up(op, p, mine, other, n, 0, out) || algorithm_down(op, out, n * op->element, 0) ? -1 : 0;
}

/* Parts of the data travel around all computers and are added to, then the finished parts travel around. */
static int ring(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    struct comm *c = op->comm;
    if (local_partial(op, p, mine, n))
        return -1;
    uint32_t H = c->hosts, h = c->host, to = rail_on(op, (h + 1) % H), from = rail_on(op, (h + H - 1) % H);
    for (uint32_t s = 0; s + 1 < H; s++) {
        uint64_t b, e, rb, re;
        work_share_out(op, n, H, (h + H - s) % H, &b, &e);
        work_share_out(op, n, H, (h + 2 * H - s - 1) % H, &rb, &re);
        flight_receive(op, from, 1 + s, other, (re - rb) * p->size);
        flight_send(op, to, 1 + s, mine + b * p->size, (e - b) * p->size);
        if (flight_land(op))
            return -1;
        fold_two(p, mine + rb * p->size, other, re - rb, true);
    }
    uint64_t b, e;
    work_share_out(op, n, H, (h + 1) % H, &b, &e);
    partial_round(op, p, out + b * op->element, mine + b * p->size, e - b);
    for (uint32_t s = 0; s + 1 < H; s++) {
        uint64_t rb, re;
        work_share_out(op, n, H, (h + 1 + H - s) % H, &b, &e);
        work_share_out(op, n, H, (h + H - s) % H, &rb, &re);
        flight_receive(op, from, 0x4000 + s, out + rb * op->element, (re - rb) * op->element);
        flight_send(op, to, 0x4000 + s, out + b * op->element, (e - b) * op->element);
        if (flight_land(op))
            return -1;
    }
    return 0;
}

static uint32_t segments_of(const struct op *op)
{
    uint64_t n = op->call.count * op->element / op->comm->hosts / SEGMENT_BYTES;
    return n < 1 ? 1 : n > FLIGHT_SEGMENTS ? FLIGHT_SEGMENTS : (uint32_t)n;
}

/* Each computer finishes one part of the data: it gets everybody's partial of that part, straight, and sends the result
 * to all. In segments, so that memory, network and arithmetic work at the same time. */
static int direct(struct op *op, const struct partial *p, char *mine, char *other, uint64_t n, char *out)
{
    struct comm *c = op->comm;
    uint32_t H = c->hosts, h = c->host, partials[FLIGHT_SEGMENTS], results, segments = segments_of(op);
    uint64_t b, e, part, sb, se;
    work_share_out(op, n, H, h, &b, &e);
    part = e - b;
    for (uint32_t s = 0; s < segments; s++) { /* expect partials of our part: other[computer] */
        work_share_out(op, part, segments, s, &sb, &se);
        partials[s] = op->request_count;
        for (uint32_t k = 0; k < H; k++)
            if (k != h)
                flight_receive(op, rail_on(op, k), s, other + (k * part + sb) * p->size, (se - sb) * p->size);
    }
    results = op->request_count;
    for (uint32_t s = 0; s < segments; s++)
        for (uint32_t k = 0; k < H; k++)
            if (k != h) {
                uint64_t kb, ke;
                work_share_out(op, n, H, k, &kb, &ke);
                work_share_out(op, ke - kb, segments, s, &sb, &se);
                flight_receive(op, rail_on(op, k), 0x4000 + s, out + (kb + sb) * op->element, (se - sb) * op->element);
            }
    for (uint32_t s = 0; s < segments; s++)
        for (uint32_t d = 1; d < H; d++) { /* not all to the same one at a time */
            uint32_t k = (h + d) % H;
            uint64_t kb, ke;
            work_share_out(op, n, H, k, &kb, &ke);
            work_share_out(op, ke - kb, segments, s, &sb, &se);
            char *theirs = partial_here(op, p, p->begin + kb + sb, se - sb, mine + (kb + sb) * p->size);
            if (!theirs)
                return flight_give_up(op);
            flight_send(op, rail_on(op, k), s, theirs, (se - sb) * p->size);
            net_progress(c->net);
        }
    for (uint32_t s = 0; s < segments; s++) {
        work_share_out(op, part, segments, s, &sb, &se);
        char *room = mine + (b + sb) * p->size, *to = out + (b + sb) * op->element, *sum = p->narrow ? room : to;
        const char *ours = partial_here(op, p, p->begin + b + sb, se - sb, room);
        if (!ours)
            return flight_give_up(op);
        if (flight_await(op, partials[s], s + 1 < segments ? partials[s + 1] : results))
            return -1;
        const void *in[HOSTS_MAX];
        for (uint32_t k = 0; k < H; k++)
            in[k] = k == h ? ours : other + (k * part + sb) * p->size;
        p->between((int64_t)(se - sb), sum, in, (int)H);
        partial_round(op, p, to, sum, se - sb);
        for (uint32_t d = 1; d < H; d++)
            flight_send(op, rail_on(op, (h + d) % H), 0x4000 + s, to, (se - sb) * op->element);
        net_progress(c->net);
    }
    return flight_land(op);
}

/* For all-reduce, the last row that fits is taken. */
static const struct algorithm algorithms[] = {
    {"exchange", 2, 0, true, exchange, "everybody's partial to everybody: one step"},
    {"tree", 5, 0, false, tree, "up and down a binomial tree: 2 log2(n) steps"},
    {"direct", 2, BOARD_SMALL + 1, true, direct, "a part each: every byte crosses each link twice, two steps"},
    {"ring", 5, BOARD_SMALL + 1, false, ring, "parts around a ring: every byte crosses each link twice"},
};

const struct algorithm *algorithm_choose(const struct comm *c, uint64_t bytes)
{
    const struct algorithm *best = algorithms;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (c->hosts >= algorithms[i].hosts && bytes >= algorithms[i].bytes)
            best = &algorithms[i];
    return best;
}

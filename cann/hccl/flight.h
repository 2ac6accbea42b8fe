/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of one collective to and from other computers: posted, then awaited together. Whatever goes wrong while
 * they are awaited (a lost rank, a broken connection, a message of another length, a call that differs, time-out,
 * abort) makes the communicator fail; nothing is in flight any more when -1 is returned. Called by the thread that runs
 * the op. */
#ifndef ANYNPU_HCCL_FLIGHT_H
#define ANYNPU_HCCL_FLIGHT_H

#include "call.h"

enum { FLIGHT_SEGMENTS = 8 }; /* messages that one may post to a rank for each of four purposes */

/* Room for messages; at the beginning of the collective. False after the communicator failed. */
bool flight_begin(struct op *op);

/* Tells the next computer's first rank what this one was asked to do; every wait looks at what the one before says. */
void flight_tell(struct op *op);
int flight_compare(struct op *op); /* 0, or -1 when the calls differ */

void flight_send(struct op *op, uint32_t rank, uint32_t step, const void *data, size_t bytes);
void flight_receive(struct op *op, uint32_t rank, uint32_t step, void *data, size_t bytes);
struct net_request *flight_next(struct op *op, uint32_t rank, size_t bytes); /* for messages posted elsewhere */

/* Waits for messages [from, to) in the order of posting; for all (but the calls), which are then forgotten. 0 or -1. */
int flight_await(struct op *op, uint32_t from, uint32_t to);
int flight_land(struct op *op);

/* Ends what is still in flight; returns -1. */
int flight_give_up(struct op *op);

/* Rail `me` of a computer; its first rank. */
static inline uint32_t rail_on(const struct op *op, uint32_t host)
{
    return op->comm->rank_at[host * op->comm->rails + op->comm->me];
}

static inline uint32_t first_on(const struct op *op, uint32_t host)
{
    return op->comm->rank_at[host * op->comm->rails];
}

#endif

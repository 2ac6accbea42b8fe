/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between computers, by UCX (libucp, opened when the first communicator spans computers). One endpoint of it a
 * communicator and rank; messages carry a tag, and a receive takes the message with exactly its tag. Any thread;
 * nothing moves but in net_progress(). Requests and their memory must stay until they are not pending any more. Built
 * without UCX's headers, net_new() fails and says so. */
#ifndef ANYNPU_HCCL_NET_H
#define ANYNPU_HCCL_NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"

enum { NET_ADDRESS = 2048 };

struct net;

struct net_request {
    _Atomic int state; /* 0 pending, 1 done, -1 failed */
    bool receive;
    size_t length; /* received */
    void *handle;
    char why[96];
};

/* interface: the network interface to use when nothing better (InfiniBand) is there and UCX_NET_DEVICES is not set; ""
 * for UCX's choice. NULL with text. */
struct net *net_new(const char *interface);
void net_free(struct net *net);

/* This rank's address for the others (at most NET_ADDRESS bytes, the rest zero). */
bool net_address(const struct net *net, char *out);

/* All ranks' addresses, in order; kept by reference to a copy. */
bool net_connect(struct net *net, uint32_t ranks, const char *addresses);

void net_send(struct net *net, uint32_t rank, uint64_t tag, const void *data, size_t bytes,
              struct net_request *request);
void net_receive(struct net *net, uint64_t tag, void *data, size_t bytes, struct net_request *request);

/* Everything that was sent is on its way when it is done. */
void net_flush(struct net *net, struct net_request *request);

/* Moves messages; true when something moved. */
bool net_progress(struct net *net);

/* Sleeps until something may move, at most that long. */
void net_sleep(struct net *net, int64_t ns);

/* Gives up a pending request; false when it could not be (its memory must not be freed). */
bool net_cancel(struct net *net, struct net_request *request);

/* The connection to the rank has failed. */
bool net_broken(const struct net *net, uint32_t rank);

#endif

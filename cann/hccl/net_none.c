/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h where the build found no UCX: communicators stay on one computer, and say why. */
#ifndef ANYNPU_UCX
#include "net.h"

#include "error.h"

struct net *net_new(const char *interface)
{
    (void)interface;
    hccl_fail(HCCL_E_NOT_SUPPORT,
              EI_LINK "the ranks are on several computers, and this build of libhccl.so has no UCX to "
                      "join them: install UCX's headers (Debian: libucx-dev) and build again.");
    return NULL;
}

void net_free(struct net *net)
{
    (void)net;
}

bool net_address(const struct net *net, char *out)
{
    (void)net, (void)out;
    return false;
}

bool net_connect(struct net *net, uint32_t ranks, const char *addresses)
{
    (void)net, (void)ranks, (void)addresses;
    return false;
}

void net_send(struct net *net, uint32_t rank, uint64_t tag, const void *data, size_t bytes, struct net_request *request)
{
    (void)net, (void)rank, (void)tag, (void)data, (void)bytes;
    atomic_store(&request->state, -1);
}

void net_receive(struct net *net, uint64_t tag, void *data, size_t bytes, struct net_request *request)
{
    (void)net, (void)tag, (void)data, (void)bytes;
    atomic_store(&request->state, -1);
}

void net_flush(struct net *net, struct net_request *request)
{
    (void)net;
    atomic_store(&request->state, 1);
}

bool net_progress(struct net *net)
{
    (void)net;
    return false;
}

void net_sleep(struct net *net, int64_t ns)
{
    (void)net, (void)ns;
}

bool net_cancel(struct net *net, struct net_request *request)
{
    (void)net, (void)request;
    return true;
}

bool net_broken(const struct net *net, uint32_t rank)
{
    (void)net, (void)rank;
    return true;
}
#endif

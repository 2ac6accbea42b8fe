/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP for meeting points: framed messages with deadlines. */
#ifndef ANYNPU_HCCL_WIRE_H
#define ANYNPU_HCCL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type {
    WIRE_GATHER = 1, /* rank → root: index gives a piece for `key`, of n */
    WIRE_RESULT,     /* root → rank: all pieces of `key` */
    WIRE_REFUSED,    /* root → rank: why `key` cannot be gathered */
    WIRE_BROKEN,     /* both: communicator `key` has failed, with result `index` and a text */
    WIRE_LOST,       /* root → rank: rank `index` of the meeting point has gone without a word */
    WIRE_LEFT,       /* both: rank `index` of communicator `key` has destroyed it */
    WIRE_LEAVE,      /* rank → root: it will close the connection */
};

struct wire_head {
    uint64_t secret[2];
    uint64_t key;
    uint32_t type, n, index, bytes;
};

enum { WIRE_MOST = 64 << 20 };

/* Listens at ip:*port (0: any, which is returned); -1 and errno. */
int wire_listen(const char *ip, uint16_t *port);

/* Connects, trying again until the deadline (nanoseconds of clock_ns()) while nobody listens; -1 and errno. */
int wire_connect(const char *ip, uint16_t port, int64_t deadline);

/* All of it, or false and errno (ETIMEDOUT; 0: the other end has closed). */
bool wire_send(int fd, const struct wire_head *head, const void *bytes, int64_t deadline);
bool wire_read(int fd, void *out, size_t bytes, int64_t deadline);

#endif

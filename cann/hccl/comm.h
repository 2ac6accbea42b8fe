/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators. A communicator is one rank's view: who the ranks are, which of them are on this computer, and what
 * joins it to them: the board (shared memory) here, the net elsewhere, the meeting point for rare matters.
 *
 * A client's handle counts as one reference, each queued collective as another; the last one frees. A communicator that
 * failed stays failed: its first failure is kept, told to all ranks, and returned by everything later; other
 * communicators are not touched. Fields but the atomics are constant after comm_new(). */
#ifndef ANYNPU_HCCL_COMM_H
#define ANYNPU_HCCL_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/futex.h"
#include "hccl/hccl.h"
#include "runtime/door.h"

enum { COMM_TEXT = 1024, COMM_MAPS = 512, LOCAL_MAX = 256, HOSTS_MAX = 64, HOST_NAME = 64, HOST_IP = 48 };

struct board;
struct meet;
struct net;

/* What a rank tells the others when it joins. */
struct rank_info {
    uint64_t host[2]; /* equal: they can share memory */
    int32_t pid;
    int32_t device; /* as the machine counts */
    uint32_t version;
    uint32_t place; /* its index at the meeting point */
    char host_name[HOST_NAME], ip[HOST_IP];
    char name[COMM_NAME_MAX_LENGTH]; /* of the communicator, as configured; "" */
};

/* Another rank's memory, mapped here. */
struct map {
    struct share share;
    char *base; /* where the file's offset 0 would be */
};

struct comm {
    struct comm *next;
    _Atomic uint32_t refs;
    _Atomic bool destroyed; /* by the client */
    char name[COMM_NAME_MAX_LENGTH];
    uint32_t size, rank;
    int32_t device; /* of this process, where the rank is */
    struct rank_info *ranks;
    int64_t exec_ns; /* HCCL_EXEC_TIMEOUT; 0: none */
    uint64_t salt;   /* tells communicators of one meeting point apart */

    uint32_t hosts, host;         /* computers, and which is ours */
    uint32_t local, me;           /* ranks on ours, and which we are */
    uint32_t *local_rank;         /* local → rank */
    uint32_t *host_of, *local_of; /* rank → host, → its place there */
    bool one_process;             /* all local ranks are threads of this process */
    bool crowded;                 /* more local ranks than CPUs: do not spin */
    bool serial;                  /* fewer than two CPUs for each: one thread a rank, a second would disturb a peer */

    struct board *board;
    int *pidfds; /* one a local rank in another process, else -1 */
    struct meet *meet;
    struct net *net;     /* NULL: one computer */
    uint32_t rails;      /* ranks of each computer that share the work between computers: the fewest on any */
    uint32_t *host_size; /* ranks on each computer */
    uint32_t *rank_at;   /* [host * rails + rail] → rank */
    pthread_mutex_t scratch_lock;
    char *scratch[2]; /* memory for partial results, kept for the next collective */
    size_t scratch_bytes[2];

    pthread_mutex_t map_lock;
    _Atomic uint32_t map_count;
    struct map maps[COMM_MAPS];

    _Alignas(64) _Atomic uint64_t sequence[2]; /* of the next collective, by lane (board.h) */
    _Atomic uint64_t *sent, *received;         /* messages between two ranks, by lane and the other rank */

    _Atomic int64_t patience; /* see try_limit() in call.c */
    _Atomic uint32_t tries;

    pthread_mutex_t fail_lock;
    _Atomic int failed; /* aclError; text and result are set */
    bool own;           /* found out here */
    HcclResult result;
    char text[COMM_TEXT];
};

struct comm_options {
    uint32_t size, rank;
    char name[COMM_NAME_MAX_LENGTH]; /* "" : the meeting point's */
    int32_t exec_seconds;            /* -1: by HCCL_EXEC_TIMEOUT */
    uint64_t salt;
};

/* What this rank (the thread's current device) tells the others. */
HcclResult comm_describe(const struct comm_options *options, struct rank_info *info, int32_t *device);

/* Ties the ranks together through a meeting point, which it takes over (shared, maybe, with other communicators);
 * infos: of all its ranks, in order. Returns when all ranks are well. A result with text. */
HcclResult comm_new(struct meet *meet, const struct comm_options *options, const struct rank_info *infos,
                    int32_t device, struct comm **comm);

/* The communicator behind a handle, with a reference, or NULL with text. */
struct comm *comm_get(HcclComm handle, const char *function);
void comm_put(struct comm *comm);

/* The client gives its handle up. */
HcclResult comm_destroy(HcclComm handle);

/* Makes the communicator fail on this rank and tells the others; the first failure stays. Returns its aclError. */
int comm_fail(struct comm *comm, HcclResult result, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The failure that another rank told us (board, meeting point), taken over; 0 when there is none. */
int comm_failure(struct comm *comm);

/* The rank has ended without destroying its communicator, or has destroyed it. */
bool comm_lost(struct comm *comm, uint32_t rank, const char **how);

/* The address here of [offset, …) in a local rank's memory; NULL after the communicator failed. */
char *comm_map(struct comm *comm, uint32_t local, const struct share *share);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The meeting point of a communicator: a thread of the process that called HcclGetRootInfo (or of rank 0 by a rank
 * table) listens on TCP; every rank connects once and stays connected. Over it ranks gather small pieces of
 * information (who is who, shared memory, network addresses, parts of communicators), and learn of each other's end.
 * It carries no data of collectives.
 *
 * Gatherings are told apart by a key; each member gives its index and as many bytes as all others. One thread at a time
 * talks (lock); meet_poll() reads what comes unasked. */
#ifndef ANYNPU_HCCL_MEET_H
#define ANYNPU_HCCL_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"

struct meet;

/* What an HcclRootInfo holds. */
struct meet_address {
    uint32_t magic, version;
    uint64_t secret[2];
    char ip[48];
    uint32_t port;
    char name[128]; /* of the communicator */
};

/* What meet_open() with these arguments makes, for those who cannot ask. */
void meet_describe(const char *ip, uint16_t port, const uint64_t *secret, struct meet_address *address);

/* Opens a meeting point in this process. port 0: by the settings. secret: NULL for a random one. */
HcclResult meet_open(const char *ip, uint16_t port, const uint64_t *secret, struct meet_address *address);

/* Connects rank `index` of n and gathers its first piece; all[n * bytes]. */
HcclResult meet_join(const struct meet_address *address, uint32_t n, uint32_t index, const void *piece, size_t bytes,
                     void *all, struct meet **meet);

HcclResult meet_gather(struct meet *meet, uint64_t key, uint32_t n, uint32_t index, const void *piece, size_t bytes,
                       void *all);

/* Several communicators may share one. The last one leaves properly. */
void meet_keep(struct meet *meet);
void meet_leave(struct meet *meet);

/* What others have told unasked, without waiting: true with a result and a text when the communicator `salt` has
 * failed.
 */
bool meet_poll(struct meet *meet, uint64_t salt, int *result, char *text, size_t size);

/* The rank that joined with this index has ended without leaving (as of the last meet_poll). */
bool meet_lost(struct meet *meet, uint32_t index);

/* Rank `index` of the communicator `salt` has destroyed it; and says so. */
bool meet_left(struct meet *meet, uint64_t salt, uint32_t index);
void meet_tell_left(struct meet *meet, uint64_t salt, uint32_t index);

/* Tells all ranks of the communicator that it has failed. */
void meet_tell(struct meet *meet, uint64_t salt, int result, const char *text);

const char *meet_name(const struct meet *meet);

#endif

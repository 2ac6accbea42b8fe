/* SPDX-License-Identifier: BSD-3-Clause */
/* Things that other processes may use. The exporter keeps a record: one page in a memfd of its own, with what is shared
 * and who may use it. A key names the exporter's process and the record's descriptor; who imports opens both through
 * /proc/<pid>/fd, which the kernel allows to processes of the same user in the same pid namespace. The record's page
 * also holds what both sides change (state of events and notifies). Everything ends with the exporter's close or exit.
 */
#ifndef ANYNPU_RUNTIME_SHARE_H
#define ANYNPU_RUNTIME_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum share_kind { SHARE_MEMORY = 0x4e505501, SHARE_PHYSICAL, SHARE_EVENT, SHARE_NOTIFY };
enum { SHARE_KEY = 65, SHARE_PIDS = 256 };

/* One page. */
struct record {
    uint32_t kind;
    _Atomic uint32_t open;   /* 0 once the exporter has closed it */
    _Atomic uint32_t anyone; /* no list of processes */
    int32_t pid, fd, device; /* exporter; memory: descriptor of the memfd, physical device */
    uint64_t offset, size, capacity;
    _Atomic uint32_t pids;
    int32_t pid_list[SHARE_PIDS];
    _Alignas(64) _Atomic uint32_t words[8]; /* events, notifies */
    _Atomic int64_t time;
};

/* A new record of this process and its descriptor; NULL after fail(). */
struct record *record_new(enum share_kind kind, int *fd);

/* Maps another process's record; NULL after fail(): no such process, closed, not allowed to this process. */
struct record *record_open(enum share_kind kind, int32_t pid, int32_t fd);

void record_free(struct record *record, int fd); /* fd < 0: another process's */

/* Adds to the processes that may import. */
int record_allow(struct record *record, const int32_t *pids, size_t n);

/* "anynpu-<kind>-<pid>-<fd>" and back; key has SHARE_KEY bytes. */
void record_key(char *key, enum share_kind kind, int32_t pid, int32_t fd);
bool record_parse(const char *key, enum share_kind kind, int32_t *pid, int32_t *fd);

/* The other process's descriptor, opened here; -1 after fail(). */
int open_peer(int32_t pid, int32_t fd, int flags);

#endif

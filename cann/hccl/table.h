/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank tables: JSON files that name all ranks of a job, where they are, and on which device.
 *
 *   {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [
 *     {"server_id": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "…", "rank_id": "0"}, …]}, …]}
 *
 * Numbers may be written as strings. "host_ip" of a server, when given, is where its processes are reached; else the
 * server_id when that is an address; with one server the computer itself. */
#ifndef ANYNPU_HCCL_TABLE_H
#define ANYNPU_HCCL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"

struct table {
    uint32_t ranks;
    int32_t device;     /* of the rank asked for, as the machine counts */
    char root_ip[48];   /* of rank 0's computer */
    uint64_t secret[2]; /* made from the text: the same for all who read the same table */
};

/* text: the table; path: how errors call it. */
HcclResult table_parse(const char *text, const char *path, uint32_t rank, struct table *table);
HcclResult table_read(const char *path, uint32_t rank, struct table *table);

#endif

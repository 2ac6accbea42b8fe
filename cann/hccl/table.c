/* SPDX-License-Identifier: BSD-3-Clause */
/* See table.h. */
#define _GNU_SOURCE
#include "table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "error.h"

enum { TABLE_MOST = 64 << 20, RANKS_MOST = 1 << 20 };

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0, room = 0;
    while (f && !feof(f) && !ferror(f) && n < TABLE_MOST) {
        if (room - n < 4096) {
            char *more = realloc(text, room = 2 * room + 8192);
            if (!more)
                break;
            text = more;
        }
        n += fread(text + n, 1, room - n - 1, f);
    }
    if (!f || ferror(f) || !text) {
        hccl_fail(HCCL_E_PARA, EI_RANK_TABLE "path %s is not a valid real path: %s.", path, strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[n] = 0;
    }
    if (f)
        fclose(f);
    return text;
}

static bool is_address(const char *text)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static HcclResult wrong(const char *path, const char *what, const char *which)
{
    return hccl_fail(HCCL_E_PARA, EI_RANK_TABLE "The ranktable or rank is invalid. Reason: %s %s in %s.", which, what,
                     path);
}

/* Where the server's processes are reached; false: it does not say. */
static bool server_ip(const char *server, bool only_one, char *ip, size_t size)
{
    char text[128];
    const char *const names[] = {"host_ip", "server_id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_string(json_member(server, names[i]), text, sizeof text) && is_address(text)) {
            snprintf(ip, size, "%.47s", text);
            if (!only_one)
                return true;
        }
    if (only_one)
        snprintf(ip, size, "127.0.0.1");
    return only_one;
}

static HcclResult parse(const char *text, const char *path, uint32_t rank, struct table *t, uint8_t **seen)
{
    char status[32];
    const char *servers = json_member(text, "server_list"), *server;
    if (json_string(json_member(text, "status"), status, sizeof status) && strcmp(status, "completed") != 0)
        return wrong(path, "is not \"completed\"", "status");
    if (!json_element(servers, 0))
        return wrong(path, "is missing or empty", "server_list");
    int64_t count;
    size_t have = 0;
    while (json_element(servers, have))
        have++;
    if (json_number(json_member(text, "server_count"), &count) && (size_t)count != have)
        return wrong(path, "is not the length of server_list", "server_count");
    bool found = false;
    uint32_t most = 0;
    *seen = calloc(RANKS_MOST, 1);
    if (!*seen)
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    for (size_t i = 0; (server = json_element(servers, i)); i++) {
        const char *devices = json_member(server, "device"), *device;
        if (!json_element(devices, 0))
            return wrong(path, "is missing or empty", "device of a server");
        for (size_t k = 0; (device = json_element(devices, k)); k++) {
            int64_t id, number;
            if (!json_number(json_member(device, "rank_id"), &id) || id < 0 || id >= RANKS_MOST)
                return wrong(path, "is missing or no rank", "rank_id of a device");
            if (!json_number(json_member(device, "device_id"), &number) || number < 0)
                return wrong(path, "is missing or no device", "device_id of a device");
            if ((*seen)[id]++)
                return wrong(path, "stands there twice", "a rank_id");
            most = (uint32_t)id > most ? (uint32_t)id : most;
            t->ranks++;
            if (id == 0 && !server_ip(server, have == 1, t->root_ip, sizeof t->root_ip))
                return wrong(path, "of rank 0's server is no IP address (nor is there a host_ip)", "server_id");
            if (id == rank) {
                found = true;
                t->device = (int32_t)number;
            }
        }
    }
    if (t->ranks != most + 1)
        return wrong(path, "are not 0, 1, 2, … without gaps", "rank ids");
    return found ? HCCL_SUCCESS : wrong(path, "is not in the table", "this rank");
}

HcclResult table_parse(const char *text, const char *path, uint32_t rank, struct table *t)
{
    *t = (struct table){0};
    size_t at = 0;
    uint8_t *seen = NULL;
    HcclResult result;
    if (json_valid(text, &at))
        result = parse(text, path, rank, t, &seen);
    else
        result = hccl_fail(HCCL_E_PARA, EI_RANK_TABLE "%s is not JSON at character %zu.", path, at);
    t->secret[0] = UINT64_C(0xcbf29ce484222325);
    for (const char *c = text; *c; c++)
        t->secret[0] = (t->secret[0] ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    t->secret[1] = ~t->secret[0] * UINT64_C(0x9e3779b97f4a7c15);
    free(seen);
    return result;
}

HcclResult table_read(const char *path, uint32_t rank, struct table *t)
{
    char *text = read_file(path);
    HcclResult result = text ? table_parse(text, path, rank, t) : HCCL_E_PARA;
    free(text);
    return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See settings.h; the values come from the table of options. */
#define _GNU_SOURCE
#include "settings.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "error.h"

enum { BASE_PORTS = 32, TABLE_PORT = 60000 };

HcclResult settings_check(void)
{
    static const enum option mine[] = {
        OPTION_HCCL_CONNECT_TIMEOUT, OPTION_HCCL_EXEC_TIMEOUT, OPTION_HCCL_IF_IP,      OPTION_HCCL_SOCKET_IFNAME,
        OPTION_HCCL_SOCKET_FAMILY,   OPTION_HCCL_IF_BASE_PORT, OPTION_HCCL_PORT_RANGE,
    };
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) {
        const struct option_row *row = option_row(mine[i]);
        const char *value = getenv(row->name);
        if (!value || !*value || option_is_set(mine[i]))
            continue;
        char form[128];
        if (row->type == OPTION_NUMBER)
            snprintf(form, sizeof form, "range[%lld, %lld]", (long long)row->min, (long long)row->max);
        else
            snprintf(form, sizeof form, "%s", row->words);
        return hccl_fail(HCCL_E_PARA,
                         EI_ENVIRONMENT "Value %s for environment variable %s is invalid. Expected value : %s.", value,
                         row->name, form);
    }
    return HCCL_SUCCESS;
}

int64_t settings_connect_ns(void)
{
    return option_number(OPTION_HCCL_CONNECT_TIMEOUT) * 1000000000;
}

int64_t settings_exec_ns(void)
{
    return option_number(OPTION_HCCL_EXEC_TIMEOUT) * 1000000000;
}

/* Does the interface fit "eth,=ib0" or "^lo,docker"? */
static bool fits(const char *name, const char *wish)
{
    bool all_but = *wish == '^';
    wish += all_but;
    bool whole = *wish == '=';
    wish += whole;
    bool found = false;
    while (*wish && !found) {
        size_t n = strcspn(wish, ",");
        found = n && strncmp(name, wish, n) == 0 && (!whole || !name[n]);
        wish += n + (wish[n] == ',');
    }
    return found != all_but;
}

static bool address_text(const struct sockaddr *a, char *text, socklen_t size)
{
    const void *bytes = a->sa_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)(const void *)a)->sin_addr
                            : (const void *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return (a->sa_family == AF_INET || a->sa_family == AF_INET6) && inet_ntop(a->sa_family, bytes, text, size);
}

const char *settings_interface(const char *ip, char *name, uint32_t size)
{
    struct ifaddrs *all = NULL;
    char text[INET6_ADDRSTRLEN];
    *name = 0;
    if (getifaddrs(&all))
        return name;
    for (struct ifaddrs *a = all; a && !*name; a = a->ifa_next)
        if (a->ifa_addr && address_text(a->ifa_addr, text, sizeof text) && strcmp(text, ip) == 0)
            snprintf(name, size, "%s", a->ifa_name);
    freeifaddrs(all);
    return name;
}

HcclResult settings_ip(char *ip, uint32_t size)
{
    if (option_is_set(OPTION_HCCL_IF_IP)) {
        snprintf(ip, size, "%s", option_text(OPTION_HCCL_IF_IP));
        return HCCL_SUCCESS;
    }
    const char *wish = option_text(OPTION_HCCL_SOCKET_IFNAME);
    int family = option_number(OPTION_HCCL_SOCKET_FAMILY) == 1 ? AF_INET6 : AF_INET;
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all))
        all = NULL;
    char seen[256] = "";
    int best = 0; /* 1 loopback, 2 docker's, 3 any other */
    for (struct ifaddrs *a = all; a; a = a->ifa_next) {
        if (!a->ifa_addr || a->ifa_addr->sa_family != family || !(a->ifa_flags & IFF_UP))
            continue;
        char text[INET6_ADDRSTRLEN];
        if (!address_text(a->ifa_addr, text, sizeof text) || strncmp(text, "fe80", 4) == 0)
            continue;
        size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, " %s[%s]", a->ifa_name, text);
        int rank = *wish                                                                ? 3 * fits(a->ifa_name, wish)
                   : a->ifa_flags & IFF_LOOPBACK                                        ? 1
                   : strncmp(a->ifa_name, "docker", 6) == 0 || a->ifa_flags & IFF_NOARP ? 2
                                                                                        : 3;
        if (rank > best) {
            best = rank;
            snprintf(ip, size, "%s", text);
        }
    }
    freeifaddrs(all);
    if (best)
        return HCCL_SUCCESS;
    if (*wish)
        return hccl_fail(HCCL_E_PARA,
                         EI_ENVIRONMENT
                         "Value %s for environment variable HCCL_SOCKET_IFNAME is invalid. Expected value "
                         ": one of the interfaces that are up,%s.",
                         wish, seen);
    snprintf(ip, size, "%s", family == AF_INET ? "127.0.0.1" : "::1");
    return HCCL_SUCCESS;
}

bool settings_port(uint32_t i, uint16_t *port)
{
    const char *range = option_text(OPTION_HCCL_PORT_RANGE);
    int64_t base = option_number(OPTION_HCCL_IF_BASE_PORT);
    *port = 0;
    if (strcmp(range, "auto") == 0 || (!*range && base < 0))
        return i == 0;
    if (!*range) {
        *port = (uint16_t)(base + i);
        return i < BASE_PORTS && base + i <= 65535;
    }
    while (*range) {
        char *end;
        long low = strtol(range, &end, 10), high = *end == '-' ? strtol(end + 1, &end, 10) : low;
        if (i <= (uint32_t)(high - low)) {
            *port = (uint16_t)(low + i);
            return true;
        }
        i -= (uint32_t)(high - low) + 1;
        range = end + (*end == ',');
    }
    return false;
}

uint16_t settings_table_port(void)
{
    int64_t base = option_number(OPTION_HCCL_IF_BASE_PORT);
    return (uint16_t)(base < 0 ? TABLE_PORT : base);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading /proc/meminfo and the cgroup files; see host.h. A cgroup's limit holds for all its descendants, so every
 * folder from ours up to the root of the mount is asked; files that do not exist set no limit. */
#define _GNU_SOURCE
#include "host.h"

#include <fcntl.h>
#include <stdbool.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = 0;
    return n > 0;
}

/* Number after "name" at the beginning of a line; -1 when absent. */
static int64_t field(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, n) == 0)
            return strtoll(line + n, NULL, 10);
    return -1;
}

/* Folder of this process in the hierarchy that has the controller ("" : v2), as /proc/self/cgroup tells. */
static bool own_folder(const char *controller, char *folder, size_t size)
{
    char text[8192];
    if (!read_file("/proc/self/cgroup", text, sizeof text))
        return false;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        names++;
        bool found = !*controller && !*names;
        char *more = NULL;
        for (char *name = strtok_r(names, ",", &more); *controller && name; name = strtok_r(NULL, ",", &more))
            found |= strcmp(name, controller) == 0;
        if (found) {
            snprintf(folder, size, "%s", path);
            return true;
        }
    }
    return false;
}

static int64_t number_in(const char *mount, const char *folder, const char *file)
{
    char path[PATH_MAX], text[128];
    snprintf(path, sizeof path, "%s%s/%s", mount, folder, file);
    if (!read_file(path, text, sizeof text))
        return -1;
    char *end;
    int64_t v = strtoll(text, &end, 10);
    return end == text ? -1 : v;
}

static int64_t room_v2(const char *folder)
{
    static const char mount[] = "/sys/fs/cgroup";
    int64_t max = number_in(mount, folder, "memory.max"), now = number_in(mount, folder, "memory.current");
    if (max < 0 || now < 0)
        return INT64_MAX;
    char path[PATH_MAX], text[8192];
    snprintf(path, sizeof path, "%s%s/memory.stat", mount, folder);
    if (read_file(path, text, sizeof text)) {
        int64_t inactive = field(text, "inactive_file "), active = field(text, "active_file ");
        now -= (inactive > 0 ? inactive : 0) + (active > 0 ? active : 0);
    }
    return max > now ? max - now : 0;
}

static int64_t room_v1(const char *folder)
{
    static const char mount[] = "/sys/fs/cgroup/memory";
    int64_t max = number_in(mount, folder, "memory.limit_in_bytes"),
            now = number_in(mount, folder, "memory.usage_in_bytes");
    if (max < 0 || now < 0)
        return INT64_MAX;
    char path[PATH_MAX], text[8192];
    snprintf(path, sizeof path, "%s%s/memory.stat", mount, folder);
    if (read_file(path, text, sizeof text)) {
        int64_t cache = field(text, "total_inactive_file ");
        now -= cache > 0 ? cache : 0;
    }
    return max > now ? max - now : 0;
}

static int64_t quota_v2(const char *folder)
{
    char path[PATH_MAX], text[128];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", folder);
    long limit = 0, period = 0;
    if (!read_file(path, text, sizeof text) || sscanf(text, "%ld %ld", &limit, &period) != 2 || limit <= 0 ||
        period <= 0)
        return INT64_MAX;
    return (limit + period - 1) / period;
}

static int64_t quota_v1(const char *folder)
{
    static const char mount[] = "/sys/fs/cgroup/cpu";
    int64_t limit = number_in(mount, folder, "cpu.cfs_quota_us"),
            period = number_in(mount, folder, "cpu.cfs_period_us");
    return limit <= 0 || period <= 0 ? INT64_MAX : (limit + period - 1) / period;
}

/* Smallest answer from the folder up to the root. */
static int64_t smallest(const char *controller, int64_t (*ask)(const char *folder))
{
    char folder[PATH_MAX - 256];
    if (!own_folder(controller, folder, sizeof folder))
        return INT64_MAX;
    int64_t least = INT64_MAX;
    for (;;) {
        int64_t v = ask(strcmp(folder, "/") == 0 ? "" : folder);
        if (v < least)
            least = v;
        char *slash = strrchr(folder, '/');
        if (!slash || strcmp(folder, "/") == 0)
            return least;
        slash[slash == folder] = 0;
    }
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t host_available(void)
{
    char text[8192];
    int64_t kib = read_file("/proc/meminfo", text, sizeof text) ? field(text, "MemAvailable:") : -1;
    int64_t machine = kib >= 0 ? kib * 1024 : (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return min(machine, min(smallest("", room_v2), smallest("memory", room_v1)));
}

int host_cpu_quota(void)
{
    int64_t n = min(smallest("", quota_v2), smallest("cpu", quota_v1));
    return n > 0 && n < INT_MAX ? (int)n : 0;
}

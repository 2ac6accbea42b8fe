/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared statistics; see stats.h. Opening files takes a lock of this process; nothing else does. */
#define _GNU_SOURCE
#include "stats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

enum { DEVICES = 64, SLOT = sizeof(struct stats_slot), FILE_BYTES = (STATS_SLOTS + 1) * SLOT, SEEN_MAX = 1024 };
_Static_assert(SLOT == 128, "the layout is shared between processes");

static const char magic[16] = "anynpu-stats-1";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int own_fds[DEVICES]; /* descriptor + 1 */
static struct stats_slot *own_maps[DEVICES];
static struct stats_slot alone[DEVICES]; /* slots that nobody else sees */
static pid_t own_pid;
static struct seen { /* files that this process has open for reading */
    dev_t dev;
    ino_t ino;
    int fd;
} seen[SEEN_MAX];
static size_t seen_count;

static bool switched_off(void)
{
    return strcmp(option_text(OPTION_STATS), "off") == 0;
}

uint64_t stats_slice(int64_t ns)
{
    return (uint64_t)ns / (STATS_SLICE_MS * UINT64_C(1000000));
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Field 22 of /proc/self/stat: tells a process from an earlier one of the same id. */
static uint64_t own_start(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p, NULL, 10) : 0;
}

/* The folder of this user, made if need be; a folder that another user made is refused. */
static int own_folder(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/anynpu-%u", option_text(OPTION_STATS), (unsigned)geteuid());
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid())) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Under lock. */
static struct stats_slot *open_own(int device)
{
    if (own_pid != getpid()) { /* first, or a child: the parent's descriptors are its own affair */
        memset(own_fds, 0, sizeof own_fds);
        memset(own_maps, 0, sizeof own_maps);
        own_pid = getpid();
    }
    if (own_maps[device])
        return own_maps[device];
    int folder = own_folder();
    if (folder < 0)
        return NULL;
    char name[32];
    snprintf(name, sizeof name, "device-%d", device);
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    close(folder);
    if (fd < 0)
        return NULL;
    own_fds[device] = fd + 1;
    struct stat st;
    void *p = MAP_FAILED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_size >= FILE_BYTES || ftruncate(fd, FILE_BYTES) == 0))
        p = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, FILE_BYTES, MADV_DONTFORK);
    memcpy(p, magic, sizeof magic);
    return own_maps[device] = p;
}

static struct flock range_of(int first, int slots, short type)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)first * SLOT, .l_len = (off_t)(slots - 1) * SLOT + 1};
}

struct stats_slot *stats_join(int device, uint64_t capacity)
{
    struct stats_slot *slot = NULL;
    pthread_mutex_lock(&lock);
    struct stats_slot *map = device < 0 || device >= DEVICES || switched_off() ? NULL : open_own(device);
    for (int i = 1; map && !slot && i <= STATS_SLOTS; i++) {
        struct flock l = range_of(i, 1, F_WRLCK);
        if (atomic_load(&map[i].pid) == (uint32_t)getpid() && atomic_load(&map[i].start) == own_start())
            continue; /* ours already: a lock would be granted again */
        if (fcntl(own_fds[device] - 1, F_SETLK, &l) == 0)
            slot = &map[i];
    }
    pthread_mutex_unlock(&lock);
    if (!slot)
        slot = &alone[device < 0 || device >= DEVICES ? 0 : device];
    memset((void *)slot, 0, sizeof *slot);
    snprintf(slot->name, sizeof slot->name, "%s", program_invocation_short_name);
    atomic_store(&slot->start, own_start());
    atomic_store(&slot->capacity, capacity);
    atomic_store(&slot->pid, (uint32_t)getpid());
    return slot;
}

void stats_leave(int device, struct stats_slot *slot)
{
    pthread_mutex_lock(&lock);
    struct stats_slot *map = device >= 0 && device < DEVICES && own_pid == getpid() ? own_maps[device] : NULL;
    bool shared = map && slot > map && slot <= map + STATS_SLOTS;
    if (shared) {
        atomic_store(&slot->pid, 0);
        struct flock l = range_of((int)(slot - map), 1, F_UNLCK);
        fcntl(own_fds[device] - 1, F_SETLK, &l);
    }
    pthread_mutex_unlock(&lock);
}

void stats_busy(struct stats_slot *slot, uint64_t first, uint64_t last, uint32_t share)
{
    if (last - first >= STATS_SLICES)
        first = last - STATS_SLICES + 1;
    for (uint64_t s = first; s <= last; s++)
        atomic_store_explicit(&slot->busy[s % STATS_SLICES], s << 16 | share, memory_order_relaxed);
}

/* Mean share of the last second: whole slices, and of the oldest and the running one the part that counts. */
static uint32_t last_second(const struct stats_slot *slot, int64_t ns)
{
    enum { WHOLE = 1000 / STATS_SLICE_MS };
    uint64_t now = stats_slice(ns), sum = 0;
    uint64_t in = (uint64_t)ns / 1000000 % STATS_SLICE_MS; /* ms of the running slice */
    for (uint64_t age = 0; age <= WHOLE && age <= now; age++) {
        uint64_t word = atomic_load_explicit(&slot->busy[(now - age) % STATS_SLICES], memory_order_relaxed);
        if (word >> 16 == now - age)
            sum += (word & 0xffff) * (age == 0 ? in : age == WHOLE ? STATS_SLICE_MS - in : STATS_SLICE_MS);
    }
    uint32_t share = (uint32_t)(sum / 1000);
    return share < STATS_FULL ? share : STATS_FULL;
}

/* The file, open for reading; -1: none, or not one of ours. Under lock. */
static int open_seen(int folder, const char *name, uid_t owner)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) || st.st_uid != owner ||
        st.st_size < FILE_BYTES)
        return -1;
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i].dev == st.st_dev && seen[i].ino == st.st_ino)
            return seen[i].fd;
    if (seen_count == SEEN_MAX)
        return -1;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -1;
    }
    seen[seen_count++] = (struct seen){st.st_dev, st.st_ino, fd};
    return fd;
}

static void add(struct stats_process *out, size_t room, size_t *count, const struct stats_slot *slot, pid_t pid,
                int64_t ns)
{
    if (*count == room)
        return;
    struct stats_process p = {.pid = pid > 0 ? (int32_t)pid : (int32_t)atomic_load(&slot->pid),
                              .memory = atomic_load(&slot->memory),
                              .peak = atomic_load(&slot->peak),
                              .capacity = atomic_load(&slot->capacity),
                              .busy = last_second(slot, ns)};
    for (size_t i = 0; i < sizeof p.name - 1 && slot->name[i]; i++) /* another user's: no control characters */
        p.name[i] = slot->name[i] < 32 || slot->name[i] == 127 ? '?' : slot->name[i];
    size_t at = *count;
    for (; at > 0 && out[at - 1].pid > p.pid; at--)
        out[at] = out[at - 1];
    out[at] = p;
    (*count)++;
}

static void read_file(int fd, struct stats_process *out, size_t room, size_t *count)
{
    _Alignas(64) static char copy[FILE_BYTES]; /* under lock */
    if (pread(fd, copy, sizeof copy, 0) != (ssize_t)sizeof copy || memcmp(copy, magic, sizeof magic) != 0)
        return;
    const struct stats_slot *slots = (const struct stats_slot *)copy;
    int64_t ns = now_ns();
    for (int i = 1; i <= STATS_SLOTS;) {
        struct flock l = range_of(i, STATS_SLOTS - i + 1, F_WRLCK);
        if (fcntl(fd, F_GETLK, &l) != 0 || l.l_type == F_UNLCK)
            break;
        int held = (int)(l.l_start / SLOT);
        if (held < i)
            break;
        if (atomic_load(&slots[held].pid))
            add(out, room, count, &slots[held], l.l_pid, ns);
        i = held + 1;
    }
    for (int i = 1; i <= STATS_SLOTS; i++) /* F_GETLK is silent about this process's own locks */
        if (atomic_load(&slots[i].pid) == (uint32_t)getpid() && atomic_load(&slots[i].start) == own_start()) {
            bool known = false;
            for (size_t k = 0; k < *count; k++)
                known |= out[k].pid == (int32_t)getpid();
            if (!known)
                add(out, room, count, &slots[i], getpid(), ns);
        }
}

/* Calls read_file for that device of every user, or (device < 0) looks which devices have a user. */
static int each_user(int device, struct stats_process *out, size_t room, size_t *count)
{
    int highest = 0;
    DIR *users = switched_off() ? NULL : opendir(option_text(OPTION_STATS));
    for (struct dirent *e; users && (e = readdir(users));) {
        unsigned uid;
        int used = 0;
        struct stat st;
        if (sscanf(e->d_name, "anynpu-%u%n", &uid, &used) != 1 || e->d_name[used])
            continue;
        int folder = openat(dirfd(users), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0)
            continue;
        bool good = fstat(folder, &st) == 0 && st.st_uid == uid;
        int first = device < 0 ? 0 : device, last = device < 0 ? DEVICES - 1 : device;
        for (int d = first; good && d <= last; d++) {
            char name[32];
            snprintf(name, sizeof name, "device-%d", d);
            int fd = open_seen(folder, name, uid);
            size_t before = *count;
            if (fd >= 0)
                read_file(fd, out, room, count);
            if (*count > before && d >= highest)
                highest = d + 1;
            if (device < 0)
                *count = 0;
        }
        close(folder);
    }
    if (users)
        closedir(users);
    return highest;
}

size_t stats_read(int device, struct stats_process *out, size_t room)
{
    size_t count = 0;
    if (device < 0 || device >= DEVICES)
        return 0;
    pthread_mutex_lock(&lock);
    each_user(device, out, room, &count);
    pthread_mutex_unlock(&lock);
    return count;
}

int stats_devices(void)
{
    struct stats_process one;
    size_t count = 0;
    pthread_mutex_lock(&lock);
    int n = each_user(-1, &one, 1, &count);
    pthread_mutex_unlock(&lock);
    return n;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory for other processes: keys of blocks (aclrtIpcMem*), and the door's share_* for collectives.
 *
 * A device of another process is mapped whole, once, at its first import, and counted: addresses of one block imported
 * twice are equal, neighbouring blocks lie as they do there. The mapping costs addresses, not memory; it ends with the
 * last release, because pages live as long as somebody maps them. One lock (ipc), before the memory lock. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acl/acl_rt.h"
#include "door.h"
#include "error.h"
#include "memory.h"
#include "share.h"

/* Another process's device, mapped here. */
struct peer {
    struct peer *next;
    int32_t pid, fd;
    dev_t dev;
    ino_t ino;
    char *base;
    ptrdiff_t usable;
    uint64_t capacity;
    uint32_t users;
};

/* What this process has exported (address, fd) or imported (peer). */
struct key {
    struct key *next;
    char text[SHARE_KEY];
    struct record *record;
    int fd; /* -1: imported */
    uint32_t users;
    struct share share;
    void *address;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct peer *peers;
static struct key *keys;

int share_export(const void *address, size_t bytes, struct share *share)
{
    TRY(entry_check());
    if (!memory_is_device(address, bytes))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p are not device memory", bytes, address);
    struct range r = memory_find(address);
    struct device *d = device_get(r.device);
    *share = (struct share){.pid = (int32_t)getpid(), .bytes = bytes, .device = d ? d->physical : 0};
    if (!memory_file(address, &share->fd, &share->offset, &share->capacity))
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "memory at %p is mapped or imported, only allocated memory can be exported", address);
    return ACL_SUCCESS;
}

bool share_possible(const void *address)
{
    int fd;
    uint64_t offset, capacity;
    return memory_file(address, &fd, &offset, &capacity);
}

/* The local number of a device of the machine, or 0 when it is not visible here. */
static int32_t local_device(int32_t physical)
{
    int n = device_count();
    for (int i = 0; i < n; i++)
        if (device_get(i)->physical == physical)
            return i;
    return 0;
}

static struct peer *map_peer(const struct share *share)
{
    struct peer *p = calloc(1, sizeof *p);
    int fd = p ? open_peer(share->pid, share->fd, O_RDWR) : -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || (uint64_t)st.st_size < share->capacity) {
        if (fd >= 0) {
            fail(ACL_ERROR_RT_IPC_ERROR, "descriptor %d of process %d is not its device memory", share->fd, share->pid);
            close(fd);
        }
        free(p);
        return NULL;
    }
    *p = (struct peer){peers, share->pid, share->fd, st.st_dev, st.st_ino, NULL, 0, share->capacity, 0};
    p->base = memory_map(fd, 0, share->capacity, &p->usable);
    close(fd);
    if (!p->base || range_add(RANGE_DEVICE, local_device(share->device), p->base, p->capacity, p->usable)) {
        fail(ACL_ERROR_RT_IPC_ERROR, "cannot map %llu bytes of process %d", (unsigned long long)share->capacity,
             share->pid);
        if (p->base)
            memory_unmap(p->base, p->capacity, p->usable);
        free(p);
        return NULL;
    }
    peers = p;
    return p;
}

int share_import(const struct share *share, void **address)
{
    TRY(device_use());
    if (share->offset > share->capacity || share->bytes > share->capacity - share->offset)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes at offset %llu exceed the %llu bytes of the device",
                    (unsigned long long)share->bytes, (unsigned long long)share->offset,
                    (unsigned long long)share->capacity);
    pthread_mutex_lock(&lock);
    struct peer *p = peers;
    while (p && (p->pid != share->pid || p->fd != share->fd))
        p = p->next;
    if (!p)
        p = map_peer(share);
    if (p) {
        p->users++;
        *address = p->base + share->offset;
    }
    pthread_mutex_unlock(&lock);
    return p ? ACL_SUCCESS : fail_code();
}

void share_release(const struct share *share)
{
    pthread_mutex_lock(&lock);
    struct peer **p = &peers;
    while (*p && ((*p)->pid != share->pid || (*p)->fd != share->fd))
        p = &(*p)->next;
    struct peer *gone = *p && --(*p)->users == 0 ? *p : NULL;
    if (gone) {
        *p = gone->next;
        range_remove(gone->base, RANGE_DEVICE);
        memory_unmap(gone->base, gone->capacity, gone->usable);
    }
    pthread_mutex_unlock(&lock);
    free(gone);
}

static struct key **find_key(const char *text)
{
    struct key **k = &keys;
    while (*k && strncmp((*k)->text, text, SHARE_KEY) != 0)
        k = &(*k)->next;
    return k;
}

aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key, size_t len, uint64_t flags)
{
    CHECK_ARG(devPtr);
    CHECK_ARG(key);
    if (len < SHARE_KEY)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "a key needs %d bytes, len is %zu", SHARE_KEY, len);
    if (flags & ~(uint64_t)ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "export flags 0x%llx are unknown", (unsigned long long)flags);
    struct share share;
    TRY(share_export(devPtr, size, &share));
    struct key *k = calloc(1, sizeof *k);
    if (!k)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    k->record = record_new(SHARE_MEMORY, &k->fd);
    if (!k->record) {
        free(k);
        return fail_code();
    }
    k->record->fd = share.fd;
    k->record->device = share.device;
    k->record->offset = share.offset;
    k->record->size = share.bytes;
    k->record->capacity = share.capacity;
    atomic_store(&k->record->anyone, (uint32_t)(flags & ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    record_key(k->text, SHARE_MEMORY, share.pid, k->fd);
    memcpy(key, k->text, SHARE_KEY);
    pthread_mutex_lock(&lock);
    k->next = keys;
    keys = k;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num)
{
    CHECK_ARG(key);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    struct key *k = *find_key(key);
    int status = k && k->fd >= 0 ? record_allow(k->record, pid, num) : -1;
    pthread_mutex_unlock(&lock);
    return status < 0 ? fail(ACL_ERROR_RT_PARAM_INVALID, "this process has not exported key '%.64s'", key) : status;
}

static int import_new(const char *text, int32_t pid, int32_t fd, void **devPtr)
{
    struct key *k = calloc(1, sizeof *k);
    struct record *r = k ? record_open(SHARE_MEMORY, pid, fd) : NULL;
    if (!r) {
        free(k);
        return fail_code();
    }
    k->share = (struct share){pid, r->fd, r->device, r->offset, r->size, r->capacity};
    record_free(r, -1);
    k->fd = -1;
    k->users = 1;
    int status = share_import(&k->share, &k->address);
    if (status) {
        free(k);
        return status;
    }
    memcpy(k->text, text, strnlen(text, SHARE_KEY));
    pthread_mutex_lock(&lock);
    k->next = keys;
    keys = k;
    pthread_mutex_unlock(&lock);
    *devPtr = k->address;
    return ACL_SUCCESS;
}

aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags)
{
    CHECK_ARG(devPtr);
    CHECK_ARG(key);
    TRY(device_use());
    if (flags & ~(uint64_t)ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "import flags 0x%llx are unknown", (unsigned long long)flags);
    int32_t pid = 0, fd = 0;
    if (!record_parse(key, SHARE_MEMORY, &pid, &fd))
        return ACL_ERROR_RT_PARAM_INVALID;
    if (pid == (int32_t)getpid())
        return fail(ACL_ERROR_RT_PARAM_INVALID, "key '%.64s' was exported by this process itself", key);
    pthread_mutex_lock(&lock);
    struct key *k = *find_key(key);
    if (k) {
        k->users++;
        *devPtr = k->address;
    }
    pthread_mutex_unlock(&lock);
    return k ? ACL_SUCCESS : import_new(key, pid, fd, devPtr);
}

aclError aclrtIpcMemClose(const char *key)
{
    CHECK_ARG(key);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    struct key **p = find_key(key), *k = *p, *gone = NULL;
    if (k && (k->fd >= 0 || --k->users == 0)) {
        *p = k->next;
        gone = k;
    }
    pthread_mutex_unlock(&lock);
    if (!k)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "key '%.64s' was neither exported nor imported here, or is closed",
                    key);
    if (gone && gone->fd >= 0)
        record_free(gone->record, gone->fd);
    else if (gone)
        share_release(&gone->share);
    free(gone);
    return ACL_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that processes share; see share.h. No lock: a record is changed through atomics. */
#define _GNU_SOURCE
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "acl/acl_rt.h"
#include "error.h"

enum { PAGE = 4096 };
_Static_assert(sizeof(struct record) <= PAGE, "a record fills one page");

struct record *record_new(enum share_kind kind, int *out)
{
    int fd = memfd_create("anynpu-record", MFD_CLOEXEC);
    void *p =
        fd >= 0 && ftruncate(fd, PAGE) == 0 ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        fail(ACL_ERROR_RT_IPC_ERROR, "cannot share with other processes: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    madvise(p, PAGE, MADV_DONTFORK);
    struct record *r = p;
    r->kind = kind;
    r->pid = (int32_t)getpid();
    r->fd = -1;
    atomic_store(&r->open, 1);
    *out = fd;
    return r;
}

int open_peer(int32_t pid, int32_t fd, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int got = open(path, flags | O_CLOEXEC);
    if (got < 0)
        fail(ACL_ERROR_RT_IPC_ERROR, "cannot open descriptor %d of process %d: %s", fd, pid, strerror(errno));
    return got;
}

static bool allowed(struct record *r)
{
    if (atomic_load(&r->anyone) || r->pid == (int32_t)getpid())
        return true;
    uint32_t n = atomic_load(&r->pids);
    for (uint32_t i = 0; i < n && i < SHARE_PIDS; i++)
        if (r->pid_list[i] == (int32_t)getpid())
            return true;
    return false;
}

struct record *record_open(enum share_kind kind, int32_t pid, int32_t fd)
{
    int got = open_peer(pid, fd, O_RDWR);
    if (got < 0)
        return NULL;
    off_t size = lseek(got, 0, SEEK_END);
    void *p = size == PAGE ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, got, 0) : MAP_FAILED;
    close(got);
    struct record *r = p == MAP_FAILED ? NULL : p;
    if (!r || r->kind != (uint32_t)kind || r->pid != pid || !atomic_load(&r->open))
        fail(ACL_ERROR_RT_PARAM_INVALID, "process %d does not share that (closed, or never exported)", pid);
    else if (!allowed(r))
        fail(ACL_ERROR_RT_NO_PERMISSION, "process %d has not allowed process %d to import", pid, (int)getpid());
    else
        return r;
    if (r)
        munmap(r, PAGE);
    return NULL;
}

void record_free(struct record *r, int fd)
{
    if (fd >= 0)
        atomic_store(&r->open, 0);
    munmap(r, PAGE);
    if (fd >= 0)
        close(fd);
}

int record_allow(struct record *r, const int32_t *pids, size_t n)
{
    if (!pids || n == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "the list of processes must not be empty");
    uint32_t have = atomic_load(&r->pids);
    if (n > SHARE_PIDS - have)
        return fail(ACL_ERROR_RT_OVER_LIMIT, "no more than %d processes may import", SHARE_PIDS);
    memcpy(&r->pid_list[have], pids, n * sizeof *pids);
    atomic_store(&r->pids, have + (uint32_t)n);
    return ACL_SUCCESS;
}

void record_key(char *key, enum share_kind kind, int32_t pid, int32_t fd)
{
    memset(key, 0, SHARE_KEY);
    snprintf(key, SHARE_KEY, "anynpu-%x-%d-%d", (unsigned)kind, pid, fd);
}

bool record_parse(const char *key, enum share_kind kind, int32_t *pid, int32_t *fd)
{
    char text[SHARE_KEY + 1];
    memcpy(text, key, strnlen(key, SHARE_KEY));
    text[strnlen(key, SHARE_KEY)] = 0;
    unsigned got = 0;
    int used = 0;
    if (sscanf(text, "anynpu-%x-%d-%d%n", &got, pid, fd, &used) == 3 && got == (unsigned)kind && !text[used] &&
        *pid > 0 && *fd >= 0)
        return true;
    fail(ACL_ERROR_RT_PARAM_INVALID, "'%s' is not a key of that kind", text);
    return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and mapping boards, and their bells; see board.h. */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

#define MAGIC UINT64_C(0x64616f62756e7961)

/* Lays the parts out one behind the other. */
static void lay_out(struct board *b, uint32_t n, uintptr_t base)
{
    size_t at = 0;
#define PART(field, count)                                                                                             \
    b->field = (void *)(base + at);                                                                                    \
    at += ((size_t)(count) * sizeof *b->field + 4095) / 4096 * 4096
    b->n = n;
    PART(head, 1);
    PART(ranks, n);
    PART(entries, (size_t)BOARD_LANES * BOARD_SLOTS * n);
    PART(pieces, (size_t)BOARD_LANES * BOARD_SLOTS * n * n);
    PART(channels, (size_t)BOARD_LANES * n * n);
    PART(data, (size_t)BOARD_LANES * BOARD_SLOTS * n * BOARD_SMALL);
    PART(messages, (size_t)BOARD_LANES * n * n * PAIR_SLOTS * PAIR_SMALL);
#undef PART
    b->bytes = at;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct board *boards;

static struct board *keep(struct board *b, int fd)
{
    pthread_mutex_lock(&lock);
    b->fd = fd;
    b->users = 1;
    b->next = boards;
    boards = b;
    pthread_mutex_unlock(&lock);
    return b;
}

static struct board *map_board(uint32_t n, int fd, bool fresh)
{
    struct board *b = calloc(1, sizeof *b), sizes;
    lay_out(&sizes, n, 0);
    struct stat st;
    bool fits =
        fresh ? ftruncate(fd, (off_t)sizes.bytes) == 0 : fstat(fd, &st) == 0 && (size_t)st.st_size == sizes.bytes;
    void *p = b && fits ? mmap(NULL, sizes.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        free(b);
        return NULL;
    }
    madvise(p, sizes.bytes, MADV_DONTFORK);
    lay_out(b, n, (uintptr_t)p);
    return b;
}

struct board *board_new(uint32_t n)
{
    int fd = memfd_create("anynpu-board", MFD_CLOEXEC);
    struct board *b = fd >= 0 ? map_board(n, fd, true) : NULL;
    if (!b) {
        hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "cannot share memory between the ranks of this computer: %s",
                  strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    b->head->n = n;
    b->head->magic = MAGIC;
    return keep(b, fd);
}

/* The board of this process with that descriptor, one more user of it. */
static struct board *own(int32_t fd)
{
    pthread_mutex_lock(&lock);
    struct board *b = boards;
    while (b && b->fd != fd)
        b = b->next;
    if (b)
        b->users++;
    pthread_mutex_unlock(&lock);
    return b;
}

struct board *board_open(uint32_t n, int32_t pid, int32_t fd)
{
    struct board *mine = pid == (int32_t)getpid() ? own(fd) : NULL;
    if (mine)
        return mine;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
    int got = open(path, O_RDWR | O_CLOEXEC);
    struct board *b = got >= 0 ? map_board(n, got, false) : NULL;
    bool good = b && b->head->magic == MAGIC && b->head->n == n;
    if (!good)
        hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "cannot map the memory that process %d shares: %s", (int)pid,
                  b ? "it is another kind" : strerror(errno));
    if (b && !good) {
        munmap(b->head, b->bytes);
        free(b);
    }
    if (got >= 0)
        close(got);
    return good ? keep(b, -1) : NULL;
}

void board_seal(struct board *b)
{
    pthread_mutex_lock(&lock);
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
    pthread_mutex_unlock(&lock);
}

void board_free(struct board *b)
{
    pthread_mutex_lock(&lock);
    bool last = --b->users == 0;
    struct board **p = &boards;
    while (last && *p != b)
        p = &(*p)->next;
    if (last)
        *p = b->next;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    if (b->fd >= 0)
        close(b->fd);
    munmap(b->head, b->bytes);
    free(b);
}

void board_ring(const struct board *b, uint32_t rank)
{
    struct board_rank *r = &b->ranks[rank];
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&r->sleepers, memory_order_relaxed)) {
        atomic_fetch_add(&r->bell, 1);
        futex_wake(&r->bell, INT_MAX, true);
    }
}

void board_ring_all(const struct board *b, uint32_t me)
{
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < b->n; i++)
        if (i != me && atomic_load_explicit(&b->ranks[i].sleepers, memory_order_relaxed)) {
            atomic_fetch_add(&b->ranks[i].bell, 1);
            futex_wake(&b->ranks[i].bell, INT_MAX, true);
        }
}

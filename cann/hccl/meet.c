/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks' side of a meeting point; see meet.h. */
#define _GNU_SOURCE
#include "meet.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/futex.h"
#include "error.h"
#include "root.h"
#include "settings.h"
#include "wire.h"

enum { MAGIC = 0x6e707572, VERSION = 1, NEWS = 8 };

/* A communicator's failure that came unasked: kept for whoever shares the line. */
struct news {
    uint64_t salt;
    int result;
    char text[1024];
};

struct left {
    uint64_t salt;
    uint32_t index;
};

struct meet {
    pthread_mutex_t lock, send_lock; /* one reader, one sender at a time */
    _Atomic uint32_t users;
    int fd;
    uint64_t secret[2];
    char name[128];
    _Atomic uint32_t news_count;
    struct news news[NEWS];
    uint32_t n;
    _Atomic uint8_t *lost; /* by index */
    struct left *left;     /* under the lock */
    size_t left_count, left_room;
};

void meet_describe(const char *ip, uint16_t port, const uint64_t *secret, struct meet_address *address)
{
    *address = (struct meet_address){.magic = MAGIC, .version = VERSION, .port = port};
    memcpy(address->secret, secret, sizeof address->secret);
    snprintf(address->ip, sizeof address->ip, "%s", ip);
    snprintf(address->name, sizeof address->name, "%s%%%u_%016llx", ip, port, (unsigned long long)secret[0]);
}

HcclResult meet_open(const char *ip, uint16_t port, const uint64_t *secret, struct meet_address *address)
{
    *address = (struct meet_address){.magic = MAGIC, .version = VERSION};
    if (secret)
        memcpy(address->secret, secret, sizeof address->secret);
    else if (getrandom(address->secret, sizeof address->secret, 0) != sizeof address->secret)
        return hccl_fail(HCCL_E_SYSCALL, EI_MEETING "no random numbers: %s", strerror(errno));
    snprintf(address->ip, sizeof address->ip, "%s", ip);
    int fd = -1;
    uint16_t tried = port;
    if (port) {
        fd = wire_listen(ip, &tried);
    } else {
        for (uint32_t i = 0; fd < 0 && settings_port(i, &tried); i++)
            fd = wire_listen(ip, &tried);
    }
    if (fd < 0 && errno == EADDRINUSE)
        return hccl_fail(HCCL_E_NETWORK, EI_BIND "The IP address %s and port %u have already been bound.", ip, tried);
    if (fd < 0)
        return hccl_fail(HCCL_E_NETWORK, EI_BIND "IP address %s, port %u: %s.", ip, tried, strerror(errno));
    address->port = tried;
    if (secret)
        meet_describe(ip, tried, secret, address);
    else
        snprintf(address->name, sizeof address->name, "%s%%%u_%d_%lld", ip, tried, (int)getpid(),
                 (long long)clock_ns() / 1000);
    HcclResult result = root_start(fd, address->secret);
    if (result)
        close(fd);
    return result;
}

/* Under the lock. Files an unasked message. */
static void take_news(struct meet *m, const struct wire_head *h, const char *text)
{
    if (h->type == WIRE_LOST) {
        if (h->index < m->n)
            atomic_store(&m->lost[h->index], 1);
        return;
    }
    if (h->type == WIRE_LEFT) {
        if (m->left_count == m->left_room) {
            size_t room = 2 * m->left_room + 16;
            struct left *more = realloc(m->left, room * sizeof *more);
            if (!more)
                return;
            m->left = more;
            m->left_room = room;
        }
        m->left[m->left_count++] = (struct left){h->key, h->index};
        return;
    }
    uint32_t k = atomic_load(&m->news_count);
    if (k == NEWS)
        return;
    m->news[k].salt = h->key;
    m->news[k].result = (int)h->index;
    snprintf(m->news[k].text, sizeof m->news[k].text, "%s", text);
    atomic_store(&m->news_count, k + 1);
}

/* Under the lock. Reads one message; *bytes is the caller's to free. */
static bool read_message(struct meet *m, struct wire_head *h, char **bytes, int64_t deadline)
{
    *bytes = NULL;
    if (!wire_read(m->fd, h, sizeof *h, deadline))
        return false;
    if (h->bytes > WIRE_MOST || !(*bytes = malloc(h->bytes + 1))) {
        errno = EPROTO;
        return false;
    }
    (*bytes)[h->bytes] = 0;
    if (wire_read(m->fd, *bytes, h->bytes, deadline))
        return true;
    free(*bytes);
    *bytes = NULL;
    return false;
}

static bool send_message(struct meet *m, const struct wire_head *h, const void *bytes, int64_t deadline)
{
    pthread_mutex_lock(&m->send_lock);
    bool ok = wire_send(m->fd, h, bytes, deadline);
    pthread_mutex_unlock(&m->send_lock);
    return ok;
}

HcclResult meet_gather(struct meet *m, uint64_t key, uint32_t n, uint32_t index, const void *piece, size_t bytes,
                       void *all)
{
    int64_t wait = settings_connect_ns(), deadline = clock_ns() + wait + 5000000000;
    struct wire_head h = {{m->secret[0], m->secret[1]}, key, WIRE_GATHER, n, index, (uint32_t)bytes};
    char *got = NULL;
    HcclResult result = HCCL_SUCCESS;
    pthread_mutex_lock(&m->lock);
    bool ok = send_message(m, &h, piece, deadline);
    for (;;) {
        free(got);
        got = NULL;
        if (!ok || !read_message(m, &h, &got, deadline)) {
            result = hccl_fail(errno == ETIMEDOUT ? HCCL_E_TIMEOUT : HCCL_E_TCP_TRANSFER,
                               EI_MEETING "rank %u has lost the root node while %u ranks met: %s.", index, n,
                               errno ? strerror(errno) : "the root's process has ended");
            break;
        }
        if (h.type == WIRE_BROKEN || h.type == WIRE_LOST || h.type == WIRE_LEFT) {
            take_news(m, &h, got);
            continue;
        }
        if (h.key != key)
            continue;
        if (h.type == WIRE_REFUSED)
            result = hccl_fail(HCCL_E_PARA, EI_MEETING "%s", got);
        else if (h.type != WIRE_RESULT || h.bytes != n * bytes)
            result =
                hccl_fail(HCCL_E_INTERNAL, EI_MEETING "the root's answer has %u bytes, not %zu", h.bytes, n * bytes);
        else
            memcpy(all, got, h.bytes);
        break;
    }
    pthread_mutex_unlock(&m->lock);
    free(got);
    return result;
}

HcclResult meet_join(const struct meet_address *address, uint32_t n, uint32_t index, const void *piece, size_t bytes,
                     void *all, struct meet **out)
{
    if (address->magic != MAGIC || address->version != VERSION)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "value rootInfo of HcclCommInitRootInfo was not made by "
                                                   "HcclGetRootInfo of this library");
    struct meet *m = calloc(1, sizeof *m);
    if (!m || !(m->lost = calloc(n, sizeof *m->lost))) {
        free(m);
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    }
    m->n = n;
    m->fd = wire_connect(address->ip, (uint16_t)address->port, clock_ns() + settings_connect_ns());
    if (m->fd < 0) {
        HcclResult result =
            hccl_fail(errno == ETIMEDOUT ? HCCL_E_TIMEOUT : HCCL_E_TCP_CONNECT,
                      EI_MEETING "rank %u cannot connect to the root node %s:%u within %lld s: %s.", index, address->ip,
                      address->port, (long long)(settings_connect_ns() / 1000000000), strerror(errno));
        free((void *)m->lost);
        free(m);
        return result;
    }
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->send_lock, NULL);
    atomic_store(&m->users, 1);
    memcpy(m->secret, address->secret, sizeof m->secret);
    memcpy(m->name, address->name, sizeof m->name);
    HcclResult result = meet_gather(m, 0, n, index, piece, bytes, all);
    if (result)
        meet_leave(m);
    else
        *out = m;
    return result;
}

void meet_keep(struct meet *m)
{
    atomic_fetch_add(&m->users, 1);
}

void meet_leave(struct meet *m)
{
    if (atomic_fetch_sub(&m->users, 1) > 1)
        return;
    struct wire_head h = {.secret = {m->secret[0], m->secret[1]}, .type = WIRE_LEAVE};
    wire_send(m->fd, &h, NULL, clock_ns() + 1000000000);
    close(m->fd);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->send_lock);
    free((void *)m->lost);
    free(m->left);
    free(m);
}

/* Under the lock: reads whatever waits in the socket. */
static void listen_news(struct meet *m)
{
    struct pollfd p = {.fd = m->fd, .events = POLLIN};
    while (poll(&p, 1, 0) > 0) {
        struct wire_head h;
        char *text = NULL, peek;
        ssize_t got = recv(m->fd, &peek, 1, MSG_PEEK | MSG_DONTWAIT);
        if (got <= 0 || !read_message(m, &h, &text, clock_ns() + 1000000000))
            return; /* the root has gone: its process is seen in other ways */
        if (h.type == WIRE_BROKEN || h.type == WIRE_LOST || h.type == WIRE_LEFT)
            take_news(m, &h, text);
        free(text);
    }
}

bool meet_poll(struct meet *m, uint64_t salt, int *result, char *text, size_t size)
{
    if (pthread_mutex_trylock(&m->lock) == 0) {
        listen_news(m);
        pthread_mutex_unlock(&m->lock);
    }
    uint32_t n = atomic_load(&m->news_count);
    for (uint32_t i = 0; i < n; i++)
        if (m->news[i].salt == salt) {
            *result = m->news[i].result;
            snprintf(text, size, "%s", m->news[i].text);
            return true;
        }
    return false;
}

void meet_tell(struct meet *m, uint64_t salt, int result, const char *text)
{
    struct wire_head h = {{m->secret[0], m->secret[1]}, salt, WIRE_BROKEN, 0, (uint32_t)result,
                          (uint32_t)strlen(text) + 1};
    send_message(m, &h, text, clock_ns() + 1000000000);
}

bool meet_lost(struct meet *m, uint32_t index)
{
    return index < m->n && atomic_load(&m->lost[index]);
}

bool meet_left(struct meet *m, uint64_t salt, uint32_t index)
{
    bool found = false;
    if (pthread_mutex_trylock(&m->lock))
        return false;
    for (size_t i = 0; i < m->left_count && !found; i++)
        found = m->left[i].salt == salt && m->left[i].index == index;
    pthread_mutex_unlock(&m->lock);
    return found;
}

void meet_tell_left(struct meet *m, uint64_t salt, uint32_t index)
{
    struct wire_head h = {{m->secret[0], m->secret[1]}, salt, WIRE_LEFT, 0, index, 1};
    send_message(m, &h, "", clock_ns() + 1000000000);
}

const char *meet_name(const struct meet *m)
{
    return m->name;
}

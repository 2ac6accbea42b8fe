/* SPDX-License-Identifier: BSD-3-Clause */
/* The root's side of a meeting point: one thread that accepts ranks, gathers their pieces, and tells them of failures.
 *
 * The first gathering (key 0) is everybody's; a connection's index in it is its rank. It must complete within
 * HCCL_CONNECT_TIMEOUT of the opening; later ones within that time of their first piece. The thread ends when the last
 * rank has gone. It never trusts lengths, and a connection that does not know the secret is closed. */
#define _GNU_SOURCE
#include "root.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/futex.h"
#include "error.h"
#include "settings.h"
#include "wire.h"

struct line {
    int fd;
    int64_t rank; /* -1: not joined */
    struct wire_head head;
    size_t got; /* of head and bytes */
    char *bytes;
};

struct gathering {
    struct gathering *next;
    uint64_t key;
    uint32_t n, bytes, have;
    int64_t deadline;
    char *all;
    int *fds; /* whose piece it is; -1: missing */
};

struct root {
    int fd;
    uint64_t secret[2];
    int64_t deadline;
    bool complete; /* the first gathering is */
    struct line *lines;
    size_t count, room;
    struct gathering *gatherings;
};

static int64_t soon(void)
{
    return clock_ns() + 10000000000;
}

static void say(struct root *r, int fd, enum wire_type type, uint64_t key, uint32_t index, const void *bytes,
                size_t size)
{
    struct wire_head head = {{r->secret[0], r->secret[1]}, key, type, 0, index, (uint32_t)size};
    wire_send(fd, &head, bytes, soon()); /* who does not read is found out by poll */
}

static void say_all(struct root *r, int but, enum wire_type type, uint64_t key, uint32_t index, const char *text)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->lines[i].fd != but && r->lines[i].rank >= 0)
            say(r, r->lines[i].fd, type, key, index, text, strlen(text) + 1);
}

static void forget(struct root *r, struct gathering *g)
{
    struct gathering **p = &r->gatherings;
    while (*p != g)
        p = &(*p)->next;
    *p = g->next;
    free(g->all);
    free(g->fds);
    free(g);
}

static void refuse(struct root *r, struct gathering *g, const char *why)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->fds[i] >= 0)
            say(r, g->fds[i], WIRE_REFUSED, g->key, 0, why, strlen(why) + 1);
    forget(r, g);
}

/* "[1,7,]", as the official text has it. */
static void refuse_late(struct root *r, struct gathering *g)
{
    char text[512];
    int at = snprintf(text, sizeof text,
                      "No rank in the communicator can connect to the root node within the timeout period. List of "
                      "unconnected ranks: \"[");
    for (uint32_t i = 0; i < g->n && at < (int)sizeof text - 40; i++)
        if (g->fds[i] < 0)
            at += snprintf(text + at, sizeof text - (size_t)at, "%u,", i);
    snprintf(text + at, sizeof text - (size_t)at, "]\".");
    refuse(r, g, text);
}

static struct gathering *gathering_of(struct root *r, const struct wire_head *h)
{
    struct gathering *g = r->gatherings;
    while (g && g->key != h->key)
        g = g->next;
    if (g || h->n == 0 || h->n > 1 << 20 || (uint64_t)h->n * h->bytes > WIRE_MOST)
        return g;
    g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    *g = (struct gathering){r->gatherings,
                            h->key,
                            h->n,
                            h->bytes,
                            0,
                            h->key == 0 ? r->deadline : clock_ns() + settings_connect_ns(),
                            calloc(h->n, h->bytes ? h->bytes : 1),
                            malloc(h->n * sizeof *g->fds)};
    r->gatherings = g;
    if (!g->all || !g->fds) {
        g->n = 0;
        forget(r, g);
        return NULL;
    }
    for (uint32_t i = 0; i < h->n; i++)
        g->fds[i] = -1;
    return g;
}

static void take_piece(struct root *r, struct line *line)
{
    const struct wire_head *h = &line->head;
    struct gathering *g = h->key == 0 && r->complete ? NULL : gathering_of(r, h);
    char why[256];
    if (!g) {
        snprintf(why, sizeof why, "rank %u of %u comes to a communicator that is complete", h->index, h->n);
        say(r, line->fd, WIRE_REFUSED, h->key, 0, why, strlen(why) + 1);
        return;
    }
    const char *fault = NULL;
    if (g->n != h->n || g->bytes != h->bytes)
        snprintf(why, sizeof why, "rank num[%u] of rank %u is different with rank num[%u] of the others", h->n,
                 h->index, g->n),
            fault = why;
    else if (h->index >= g->n)
        snprintf(why, sizeof why, "rank %u is not in [0, %u)", h->index, g->n), fault = why;
    else if (g->fds[h->index] >= 0)
        snprintf(why, sizeof why, "rank %u was given twice", h->index), fault = why;
    if (fault) {
        say(r, line->fd, WIRE_REFUSED, h->key, 0, why, strlen(why) + 1);
        refuse(r, g, why);
        return;
    }
    if (h->key == 0)
        line->rank = h->index;
    memcpy(g->all + (size_t)h->index * g->bytes, line->bytes, g->bytes);
    g->fds[h->index] = line->fd;
    if (++g->have < g->n)
        return;
    if (h->key == 0) {
        r->complete = true;
        close(r->fd);
        r->fd = -1;
    }
    for (uint32_t i = 0; i < g->n; i++)
        say(r, g->fds[i], WIRE_RESULT, g->key, 0, g->all, (size_t)g->n * g->bytes);
    forget(r, g);
}

/* The line has closed; without a word: whoever waits with it hears of it. */
static void drop(struct root *r, size_t i, bool proper)
{
    struct line gone = r->lines[i];
    r->lines[i] = r->lines[--r->count];
    free(gone.bytes);
    char text[128];
    snprintf(text, sizeof text, "rank %lld has ended without leaving the communicator", (long long)gone.rank);
    for (struct gathering *g = r->gatherings, *next; g; g = next) {
        next = g->next;
        for (uint32_t k = 0; k < g->n; k++)
            if (g->fds[k] == gone.fd) {
                g->fds[k] = -1;
                g->have--;
                refuse(r, g, text);
                break;
            }
    }
    close(gone.fd);
    if (!proper && gone.rank >= 0 && r->complete)
        say_all(r, -1, WIRE_LOST, 0, (uint32_t)gone.rank, text);
}

/* One whole message. False: close the line. */
static bool take(struct root *r, struct line *line)
{
    switch (line->head.type) {
    case WIRE_GATHER:
        take_piece(r, line);
        return true;
    case WIRE_BROKEN:
    case WIRE_LEFT:
        line->bytes[line->head.bytes - 1] = 0;
        say_all(r, line->fd, line->head.type, line->head.key, line->head.index, line->bytes);
        return true;
    default:
        return false;
    }
}

/* Reads what is there; false: close the line. */
static bool read_line(struct root *r, size_t i, bool *proper)
{
    struct line *line = &r->lines[i];
    for (;;) {
        bool in_head = line->got < sizeof line->head;
        size_t end = sizeof line->head + (in_head ? 0 : line->head.bytes);
        char *at = in_head ? (char *)&line->head + line->got : line->bytes + (line->got - sizeof line->head);
        ssize_t got = end > line->got ? recv(line->fd, at, end - line->got, MSG_DONTWAIT) : 0;
        if (end > line->got && got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        line->got += (size_t)got;
        if (line->got < end)
            continue;
        if (in_head) {
            struct wire_head *h = &line->head;
            if (h->secret[0] != r->secret[0] || h->secret[1] != r->secret[1] || h->bytes > WIRE_MOST ||
                ((h->type == WIRE_BROKEN || h->type == WIRE_LEFT) && h->bytes == 0) ||
                !(line->bytes = malloc(h->bytes + 1)))
                return false;
            if (h->bytes)
                continue;
        }
        *proper = line->head.type == WIRE_LEAVE;
        bool keep = take(r, line);
        free(line->bytes);
        line->bytes = NULL;
        line->got = 0;
        if (!keep)
            return false;
    }
}

static void accept_line(struct root *r)
{
    int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        struct line *lines = realloc(r->lines, room * sizeof *lines);
        if (!lines) {
            close(fd);
            return;
        }
        r->lines = lines;
        r->room = room;
    }
    r->lines[r->count++] = (struct line){.fd = fd, .rank = -1};
}

static void *serve(void *arg)
{
    struct root *r = arg;
    struct pollfd *polls = NULL;
    while (r->count || (!r->complete && clock_ns() < r->deadline)) {
        struct pollfd *more = realloc(polls, (r->count + 1) * sizeof *polls);
        if (!more)
            break;
        polls = more;
        size_t n = r->count;
        for (size_t i = 0; i < n; i++)
            polls[i] = (struct pollfd){.fd = r->lines[i].fd, .events = POLLIN};
        polls[n] = (struct pollfd){.fd = r->fd, .events = POLLIN};
        poll(polls, n + 1, r->complete && !r->gatherings ? -1 : 200);
        for (size_t i = n; i-- > 0;) {
            bool proper = false;
            if (polls[i].revents && !read_line(r, i, &proper))
                drop(r, i, proper);
        }
        if (r->fd >= 0 && polls[n].revents)
            accept_line(r);
        int64_t now = clock_ns();
        for (struct gathering *g = r->gatherings, *next; g; g = next) {
            next = g->next;
            if (now > g->deadline)
                refuse_late(r, g);
        }
    }
    while (r->gatherings)
        forget(r, r->gatherings);
    for (size_t i = 0; i < r->count; i++) {
        close(r->lines[i].fd);
        free(r->lines[i].bytes);
    }
    if (r->fd >= 0)
        close(r->fd);
    free(polls);
    free(r->lines);
    free(r);
    return NULL;
}

HcclResult root_start(int fd, const uint64_t secret[2])
{
    struct root *r = calloc(1, sizeof *r);
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t thread;
    if (!r)
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "no memory for the meeting point");
    *r = (struct root){.fd = fd, .secret = {secret[0], secret[1]}, .deadline = clock_ns() + settings_connect_ns()};
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int status = pthread_create(&thread, &attr, serve, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (status) {
        free(r);
        return hccl_fail(HCCL_E_SYSCALL, EI_RESOURCE "cannot start the meeting point's thread: %s", strerror(status));
    }
    pthread_setname_np(thread, "hccl-root");
    return HCCL_SUCCESS;
}

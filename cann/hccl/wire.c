/* SPDX-License-Identifier: BSD-3-Clause */
/* See wire.h. Sockets are non-blocking; waiting is poll() with what is left until the deadline. */
#define _GNU_SOURCE
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/futex.h"

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t parse(const char *ip, uint16_t port, union any_address *a)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, ip, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(port);
        return sizeof a->v4;
    }
    if (inet_pton(AF_INET6, ip, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons(port);
        return sizeof a->v6;
    }
    errno = EINVAL;
    return 0;
}

int wire_listen(const char *ip, uint16_t *port)
{
    union any_address a;
    socklen_t size = parse(ip, *port, &a);
    int fd = size ? socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd < 0)
        return -1;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &a.any, size) || listen(fd, 4096) || getsockname(fd, &a.any, &size)) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    *port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return fd;
}

/* Waits for events; false and errno at the deadline. */
static bool wait_for(int fd, short events, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - clock_ns();
        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        struct pollfd p = {.fd = fd, .events = events};
        int got = poll(&p, 1, (int)(left / 1000000 + 1 > 1000 ? 1000 : left / 1000000 + 1));
        if (got > 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
    }
}

static int connect_once(const char *ip, uint16_t port, int64_t deadline)
{
    union any_address a;
    socklen_t size = parse(ip, port, &a);
    int fd = size ? socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd < 0)
        return -1;
    int why = connect(fd, &a.any, size) ? errno : 0;
    if (why == EINPROGRESS) {
        socklen_t length = sizeof why;
        if (!wait_for(fd, POLLOUT, deadline) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &length))
            why = errno;
    }
    if (!why) {
        int on = 1, idle = 10, every = 5, times = 6;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
        return fd;
    }
    close(fd);
    errno = why;
    return -1;
}

int wire_connect(const char *ip, uint16_t port, int64_t deadline)
{
    for (int64_t pause = 1000000;; pause = pause < 100000000 ? 2 * pause : pause) {
        int fd = connect_once(ip, port, deadline);
        if (fd >= 0 || clock_ns() + pause >= deadline || errno == EINVAL)
            return fd;
        nanosleep(&(struct timespec){0, pause}, NULL);
    }
}

bool wire_send(int fd, const struct wire_head *head, const void *bytes, int64_t deadline)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)head, sizeof *head}, {(void *)(uintptr_t)bytes, head->bytes}};
    while (parts[0].iov_len || parts[1].iov_len) {
        struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t sent = sendmsg(fd, &m, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (sent < 0 && !wait_for(fd, POLLOUT, deadline))
            return false;
        for (int i = 0; i < 2 && sent > 0; i++) {
            size_t n = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + n;
            parts[i].iov_len -= n;
            sent -= (ssize_t)n;
        }
    }
    return true;
}

bool wire_read(int fd, void *out, size_t bytes, int64_t deadline)
{
    while (bytes) {
        ssize_t got = recv(fd, out, bytes, 0);
        if (got == 0) {
            errno = 0;
            return false;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (got < 0 && !wait_for(fd, POLLIN, deadline))
            return false;
        if (got > 0) {
            out = (char *)out + got;
            bytes -= (size_t)got;
        }
    }
    return true;
}

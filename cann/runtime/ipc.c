/* SPDX-License-Identifier: BSD-3-Clause */
/* What other processes may use: events in shared memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "event.h"

int event_share(struct event *e)
{
    int fd = memfd_create("anynpu-event", MFD_CLOEXEC);
    void *p =
        fd >= 0 && ftruncate(fd, 4096) == 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return fail(ACL_ERROR_RT_IPC_ERROR, "an event cannot be shared: %s", strerror(errno));
    }
    e->fd = fd;
    e->state = p;
    return ACL_SUCCESS;
}

void event_unshare(struct event *e)
{
    if (e->fd < 0)
        return;
    munmap(e->state, 4096);
    close(e->fd);
    e->fd = -1;
}

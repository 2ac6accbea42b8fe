/* SPDX-License-Identifier: BSD-3-Clause */
/* HcclGroupStart and HcclGroupEnd: sends and receives called between them in one thread are one batch a communicator
 * and stream, submitted at the end in the order of their first call. Collectives need no such help: they never wait in
 * the call. The list is the thread's own. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hccl/hccl.h"

enum { DEEPEST = 64 };

struct batch {
    struct batch *next;
    HcclComm comm;
    aclrtStream stream;
    uint32_t count, room;
    HcclSendRecvItem *items;
};

static _Thread_local uint32_t depth;
static _Thread_local struct batch *batches;

bool group_open(void)
{
    return depth > 0;
}

HcclResult group_add(const HcclSendRecvItem *items, uint32_t n, HcclComm comm, aclrtStream stream)
{
    struct batch **p = &batches;
    while (*p && ((*p)->comm != comm || (*p)->stream != stream))
        p = &(*p)->next;
    struct batch *b = *p;
    if (!b && (b = calloc(1, sizeof *b))) {
        b->comm = comm;
        b->stream = stream;
        *p = b;
    }
    if (b && b->count + n > b->room) {
        uint32_t room = 2 * (b->count + n);
        HcclSendRecvItem *more = realloc(b->items, room * sizeof *more);
        if (more) {
            b->items = more;
            b->room = room;
        }
    }
    if (!b || b->count + n > b->room)
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    memcpy(b->items + b->count, items, n * sizeof *items);
    b->count += n;
    return HCCL_SUCCESS;
}

HcclResult HcclGroupStart(void)
{
    if (depth == DEEPEST)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "HcclGroupStart was called %d times without HcclGroupEnd.", DEEPEST);
    depth++;
    return HCCL_SUCCESS;
}

HcclResult HcclGroupEnd(void)
{
    if (depth == 0)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "HcclGroupEnd was called without HcclGroupStart.");
    if (--depth > 0)
        return HCCL_SUCCESS;
    HcclResult result = HCCL_SUCCESS;
    while (batches) {
        struct batch *b = batches;
        batches = b->next;
        HcclResult got = HcclBatchSendRecv(b->items, b->count, b->comm, b->stream);
        result = result ? result : got;
        free(b->items);
        free(b);
    }
    return result;
}

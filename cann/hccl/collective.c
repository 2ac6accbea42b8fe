/* SPDX-License-Identifier: BSD-3-Clause */
/* The public entries of collectives: each checks its arguments, describes the collective and submits it. Estimates of
 * work are nanoseconds: a few for the meeting, and memory at some GB/s. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "call.h"
#include "error.h"
#include "group.h"
#include "window.h"

enum { MEETING_NS = 3000, BYTES_PER_NS = 4 };

/* One collective being described. */
struct draft {
    struct op *op;
    aclrtStream stream;
    HcclResult result;
};

static struct draft begin(enum op_kind kind, uint32_t lists, HcclComm comm, aclrtStream stream)
{
    struct draft d = {.stream = stream};
    struct comm *c = comm ? comm_get(comm, op_names[kind]) : NULL;
    if (!comm)
        d.result = hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter comm of %s is invalid.", op_names[kind]);
    else if (!c)
        d.result = HCCL_E_PARA;
    else if (!(d.op = op_new(c, kind, lists, 0)))
        d.result = HCCL_E_MEMORY;
    if (c)
        comm_put(c);
    return d;
}

static void check_type(struct draft *d, HcclDataType type, bool reduces, HcclReduceOp op)
{
    if (d->result)
        return;
    const char *name = op_names[d->op->call.op];
    d->op->element = hccl_size((uint32_t)type);
    d->op->call.dtype = (uint8_t)type;
    if (!d->op->element)
        d->result =
            hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %d of parameter dataType of %s is unknown.", (int)type, name);
    else if (reduces && (unsigned)op > HCCL_REDUCE_MIN)
        d->result = hccl_fail(
            HCCL_E_PARA, EI_PARAMETER "value %d of parameter op of %s is invalid. Expected value: sum, prod, max, min.",
            (int)op, name);
    else if (reduces && hccl_dtype((uint32_t)type) == ACL_DT_UNDEFINED)
        d->result =
            hccl_fail(HCCL_E_NOT_SUPPORT, EI_PARAMETER "%s cannot reduce %s.", name, hccl_dtype_name((uint32_t)type));
    else if (reduces)
        d->op->call.reduce = (uint8_t)op;
}

static void check_root(struct draft *d, uint32_t root)
{
    if (!d->result && root >= d->op->comm->size)
        d->result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %u of parameter root of %s is not in [0, %u).", root,
                              op_names[d->op->call.op], d->op->comm->size);
    if (!d->result)
        d->op->call.root = root;
}

/* Bytes of count elements; too many is an error of the draft. */
static uint64_t bytes_of(struct draft *d, uint64_t count, uint64_t times)
{
    uint64_t bytes = 0;
    if (!d->result && (__builtin_mul_overflow(count, d->op->element, &bytes) ||
                       __builtin_mul_overflow(bytes, times, &bytes) || bytes > UINT64_C(1) << 48))
        d->result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %llu of parameter count of %s is too large.",
                              (unsigned long long)count, op_names[d->op->call.op]);
    return bytes;
}

static bool check_buffer(struct draft *d, const char *what, const void *p, uint64_t bytes)
{
    if (d->result || bytes == 0)
        return false;
    if (!p)
        d->result = hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter %s of %s is invalid.", what,
                              op_names[d->op->call.op]);
    else if (!device_holds(p, bytes))
        d->result = hccl_fail(HCCL_E_PARA,
                              EI_PARAMETER "value %p of parameter %s of %s: %llu bytes there are not device memory.", p,
                              what, op_names[d->op->call.op], (unsigned long long)bytes);
    return !d->result;
}

static void set_send(struct draft *d, const char *name, const void *p, uint64_t bytes)
{
    if (check_buffer(d, name, p, bytes)) {
        d->op->send_handed = p;
        d->op->send = device_address(p);
    }
    if (!d->result)
        d->op->send_bytes = bytes;
}

static void set_recv(struct draft *d, const char *name, const void *p, uint64_t bytes)
{
    if (check_buffer(d, name, p, bytes)) {
        d->op->recv_handed = (void *)(uintptr_t)p;
        d->op->recv = device_address(p);
    }
    if (!d->result)
        d->op->recv_bytes = bytes;
}

static void *stand_in(struct draft *d, uint64_t bytes, char **usable)
{
    void *p = NULL;
    int status = aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (status)
        d->result = hccl_from(status);
    *usable = p ? device_address(p) : NULL;
    return p;
}

/* Can ranks in other processes use the memory where it lies? */
static bool reachable(const void *handed, uint64_t bytes)
{
    return share_possible(handed) || window_share(handed, bytes, NULL);
}

/* Gives the buffers stand-ins where others could not reach them, or where they overlap but at `allowed` (where the
 * receive buffer may begin inside the send buffer or the other way round; SIZE_MAX: nowhere). */
static void stand_ins(struct draft *d, bool sends, bool receives, int64_t allowed)
{
    struct op *op = d->op;
    if (d->result || (op->send_bytes <= BOARD_SMALL && op->recv_bytes <= BOARD_SMALL && !op->comm->net))
        return;
    bool shared = !op->comm->one_process && op->comm->size > 1;
    bool overlap = op->send && op->recv && op->send < op->recv + op->recv_bytes &&
                   op->recv < op->send + op->send_bytes && op->recv - op->send != allowed;
    if (sends && op->send_bytes > BOARD_SMALL && (overlap || (shared && !reachable(op->send_handed, op->send_bytes))))
        op->stage_send_handed = stand_in(d, op->send_bytes, &op->stage_send);
    if (!d->result && receives && op->recv_bytes && shared && !reachable(op->recv_handed, op->recv_bytes))
        op->stage_recv_handed = stand_in(d, op->recv_bytes, &op->stage_recv);
}

static HcclResult submit(struct draft *d, uint64_t bytes)
{
    if (d->result) {
        if (d->op)
            op_free(d->op);
        return d->result;
    }
    return call_submit(d->op, d->stream, MEETING_NS + bytes / BYTES_PER_NS);
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_ALL_REDUCE, 0, comm, stream);
    check_type(&d, dataType, true, op);
    uint64_t bytes = bytes_of(&d, count, 1);
    set_send(&d, "sendBuf", sendBuf, bytes);
    set_recv(&d, "recvBuf", recvBuf, bytes);
    if (!d.result)
        d.op->call.count = count;
    stand_ins(&d, true, true, 0);
    return submit(&d, 4 * bytes);
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_REDUCE, 0, comm, stream);
    check_type(&d, dataType, true, op);
    check_root(&d, root);
    uint64_t bytes = bytes_of(&d, count, 1);
    set_send(&d, "sendBuf", sendBuf, bytes);
    if (!d.result && d.op->comm->rank == root)
        set_recv(&d, "recvBuf", recvBuf, bytes);
    if (!d.result)
        d.op->call.count = count;
    stand_ins(&d, true, true, 0);
    return submit(&d, 3 * bytes);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream)
{
    struct draft d = begin(OP_BROADCAST, 0, comm, stream);
    check_type(&d, dataType, false, HCCL_REDUCE_SUM);
    check_root(&d, root);
    uint64_t bytes = bytes_of(&d, count, 1);
    if (!d.result && d.op->comm->rank == root)
        set_send(&d, "buf", buf, bytes);
    else
        set_recv(&d, "buf", buf, bytes);
    if (!d.result)
        d.op->call.count = count;
    stand_ins(&d, true, d.op && d.op->comm->net, 0);
    return submit(&d, bytes);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_REDUCE_SCATTER, 0, comm, stream);
    check_type(&d, dataType, true, op);
    uint64_t bytes = bytes_of(&d, recvCount, 1), all = bytes_of(&d, recvCount, d.op ? d.op->comm->size : 1);
    set_send(&d, "sendBuf", sendBuf, all);
    set_recv(&d, "recvBuf", recvBuf, bytes);
    if (!d.result)
        d.op->call.count = recvCount;
    stand_ins(&d, true, false, d.op ? (int64_t)(d.op->comm->rank * bytes) : 0);
    return submit(&d, 2 * all);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream)
{
    struct draft d = begin(OP_ALL_GATHER, 0, comm, stream);
    check_type(&d, dataType, false, HCCL_REDUCE_SUM);
    uint64_t bytes = bytes_of(&d, sendCount, 1), all = bytes_of(&d, sendCount, d.op ? d.op->comm->size : 1);
    set_send(&d, "sendBuf", sendBuf, bytes);
    set_recv(&d, "recvBuf", recvBuf, all);
    if (!d.result)
        d.op->call.count = sendCount;
    stand_ins(&d, true, d.op && d.op->comm->net, d.op ? -(int64_t)(d.op->comm->rank * bytes) : 0);
    return submit(&d, 2 * all);
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_SCATTER, 0, comm, stream);
    check_type(&d, dataType, false, HCCL_REDUCE_SUM);
    check_root(&d, root);
    uint64_t bytes = bytes_of(&d, recvCount, 1), all = bytes_of(&d, recvCount, d.op ? d.op->comm->size : 1);
    if (!d.result && d.op->comm->rank == root)
        set_send(&d, "sendBuf", sendBuf, all);
    set_recv(&d, "recvBuf", recvBuf, bytes);
    if (!d.result)
        d.op->call.count = recvCount;
    stand_ins(&d, true, false, d.op ? (int64_t)(d.op->comm->rank * bytes) : 0);
    return submit(&d, 2 * bytes);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_BARRIER, 0, comm, stream);
    return submit(&d, 0);
}

/* Turns counts and displacements (elements) into bytes; returns the end of the furthest piece. */
static uint64_t take_lists(struct draft *d, const char *name, const void *counts, const void *displs,
                           uint64_t *to_counts, uint64_t *to_at, bool agreed)
{
    if (d->result)
        return 0;
    if (!counts || !displs) {
        d->result = hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter %s of %s is invalid.", name,
                              op_names[d->op->call.op]);
        return 0;
    }
    uint64_t end = 0, hash = d->op->call.counts;
    for (uint32_t r = 0; r < d->op->comm->size && !d->result; r++) {
        uint64_t n, at;
        memcpy(&n, (const char *)counts + r * sizeof n, sizeof n);
        memcpy(&at, (const char *)displs + r * sizeof at, sizeof at);
        to_counts[r] = bytes_of(d, n, 1);
        to_at[r] = bytes_of(d, at, 1);
        if (n && to_counts[r] + to_at[r] > end)
            end = to_counts[r] + to_at[r];
        hash = (hash ^ n) * UINT64_C(0x9e3779b97f4a7c15) + r;
    }
    if (agreed)
        d->op->call.counts = hash;
    return end;
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream)
{
    struct draft d = begin(OP_REDUCE_SCATTER_V, 2, comm, stream);
    check_type(&d, dataType, true, op);
    uint64_t all = take_lists(&d, "sendCounts", sendCounts, sendDispls, d.op ? d.op->send_counts : NULL,
                              d.op ? d.op->send_at : NULL, true);
    uint64_t bytes = bytes_of(&d, recvCount, 1);
    if (!d.result && d.op->send_counts[d.op->comm->rank] != bytes)
        d.result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %llu of parameter recvCount of %s is not sendCounts[%u].",
                             (unsigned long long)recvCount, __func__, d.op->comm->rank);
    set_send(&d, "sendBuf", sendBuf, all);
    set_recv(&d, "recvBuf", recvBuf, bytes);
    stand_ins(&d, true, false, d.op && !d.result ? (int64_t)d.op->send_at[d.op->comm->rank] : 0);
    return submit(&d, 2 * all);
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_ALL_GATHER_V, 4, comm, stream);
    check_type(&d, dataType, false, HCCL_REDUCE_SUM);
    uint64_t all = take_lists(&d, "recvCounts", recvCounts, recvDispls, d.op ? d.op->recv_counts : NULL,
                              d.op ? d.op->recv_at : NULL, true);
    uint64_t bytes = bytes_of(&d, sendCount, 1);
    if (!d.result && d.op->recv_counts[d.op->comm->rank] != bytes)
        d.result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %llu of parameter sendCount of %s is not recvCounts[%u].",
                             (unsigned long long)sendCount, __func__, d.op->comm->rank);
    set_send(&d, "sendBuf", sendBuf, bytes);
    set_recv(&d, "recvBuf", recvBuf, all);
    stand_ins(&d, true, d.op && d.op->comm->net, d.op && !d.result ? -(int64_t)d.op->recv_at[d.op->comm->rank] : 0);
    return submit(&d, 2 * all);
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_ALL_TO_ALL_V, 4, comm, stream);
    check_type(&d, recvType, false, HCCL_REDUCE_SUM);
    uint64_t received = take_lists(&d, "recvCounts", recvCounts, rdispls, d.op ? d.op->recv_counts : NULL,
                                   d.op ? d.op->recv_at : NULL, false);
    check_type(&d, sendType, false, HCCL_REDUCE_SUM);
    uint64_t sent = take_lists(&d, "sendCounts", sendCounts, sdispls, d.op ? d.op->send_counts : NULL,
                               d.op ? d.op->send_at : NULL, false);
    set_send(&d, "sendBuf", sendBuf, sent);
    set_recv(&d, "recvBuf", recvBuf, received);
    stand_ins(&d, true, false, INT64_MAX);
    return submit(&d, 2 * received);
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_ALL_TO_ALL, 4, comm, stream);
    uint32_t n = d.op ? d.op->comm->size : 1;
    check_type(&d, recvType, false, HCCL_REDUCE_SUM);
    uint64_t piece = bytes_of(&d, recvCount, 1), all = bytes_of(&d, recvCount, n);
    check_type(&d, sendType, false, HCCL_REDUCE_SUM);
    uint64_t other = bytes_of(&d, sendCount, 1);
    if (!d.result && piece != other)
        d.result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "%s sends %llu bytes to each rank and receives %llu from each.",
                             __func__, (unsigned long long)other, (unsigned long long)piece);
    for (uint32_t r = 0; !d.result && r < n; r++) {
        d.op->send_counts[r] = d.op->recv_counts[r] = piece;
        d.op->send_at[r] = d.op->recv_at[r] = r * piece;
    }
    set_send(&d, "sendBuf", sendBuf, all);
    set_recv(&d, "recvBuf", recvBuf, all);
    if (!d.result)
        d.op->call.count = sendCount;
    stand_ins(&d, true, false, INT64_MAX);
    return submit(&d, 2 * all);
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream)
{
    struct draft d = begin(OP_ALL_TO_ALL_VC, 4, comm, stream);
    uint32_t n = d.op ? d.op->comm->size : 1, me = d.op ? d.op->comm->rank : 0;
    check_type(&d, recvType, false, HCCL_REDUCE_SUM);
    check_type(&d, sendType, false, HCCL_REDUCE_SUM);
    if (!d.result && !sendCountMatrix)
        d.result =
            hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter sendCountMatrix of %s is invalid.", __func__);
    if (!d.result && hccl_size((uint32_t)recvType) != d.op->element)
        d.result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "sendType and recvType of %s differ in size.", __func__);
    uint64_t sent = 0, received = 0, hash = 0;
    const uint64_t *counts = sendCountMatrix;
    for (uint32_t i = 0; !d.result && i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            hash = (hash ^ counts[(size_t)i * n + k]) * UINT64_C(0x9e3779b97f4a7c15) + k;
    for (uint32_t r = 0; !d.result && r < n; r++) {
        d.op->send_counts[r] = bytes_of(&d, counts[(size_t)me * n + r], 1);
        d.op->recv_counts[r] = bytes_of(&d, counts[(size_t)r * n + me], 1);
        d.op->send_at[r] = sent;
        d.op->recv_at[r] = received;
        sent += d.op->send_counts[r];
        received += d.op->recv_counts[r];
    }
    set_send(&d, "sendBuf", sendBuf, sent);
    set_recv(&d, "recvBuf", recvBuf, received);
    if (!d.result)
        d.op->call.counts = hash;
    stand_ins(&d, true, false, INT64_MAX);
    return submit(&d, 2 * received);
}

/* ---- between two ranks ---- */

static HcclResult send_receive(enum op_kind kind, const HcclSendRecvItem *list, uint32_t n, HcclComm comm,
                               aclrtStream stream)
{
    if (group_open())
        return group_add(list, n, comm, stream);
    struct draft d = {.stream = stream};
    struct comm *c = comm ? comm_get(comm, op_names[kind]) : NULL;
    if (!c)
        return comm ? HCCL_E_PARA
                    : hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter comm of %s is invalid.",
                                op_names[kind]);
    d.op = op_new(c, kind, 0, n);
    comm_put(c);
    if (!d.op)
        return HCCL_E_MEMORY;
    uint64_t total = 0;
    for (uint32_t i = 0; i < n && !d.result; i++) {
        struct item *m = &d.op->item[i];
        if (list[i].sendRecvType != HCCL_SEND && list[i].sendRecvType != HCCL_RECV)
            d.result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %d of parameter sendRecvType of %s is unknown.",
                                 (int)list[i].sendRecvType, op_names[kind]);
        else if (list[i].remoteRank >= c->size)
            d.result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "rank %u of %s is not in [0, %u).", list[i].remoteRank,
                                 op_names[kind], c->size);
        check_type(&d, list[i].dataType, false, HCCL_REDUCE_SUM);
        *m = (struct item){.receive = list[i].sendRecvType == HCCL_RECV,
                           .rank = list[i].remoteRank,
                           .count = list[i].count,
                           .dtype = (uint32_t)list[i].dataType,
                           .handed = list[i].buf};
        m->bytes = bytes_of(&d, m->count, 1);
        total += m->bytes;
        if (check_buffer(&d, m->receive ? "recvBuf" : "sendBuf", m->handed, m->bytes))
            m->buffer = device_address(m->handed);
        if (!d.result && !m->receive && m->bytes > PAIR_SMALL && !c->one_process && !reachable(m->handed, m->bytes))
            m->staged_handed = stand_in(&d, m->bytes, &m->staged);
    }
    if (!d.result) {
        d.op->call.count = kind == OP_BATCH ? n : list[0].count;
        d.op->call.root = list[0].remoteRank;
    }
    return submit(&d, total);
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream)
{
    if (!sendRecvInfo)
        return hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter sendRecvInfo of %s is invalid.", __func__);
    if (itemNum == 0)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "value 0 of parameter itemNum of %s is invalid.", __func__);
    return send_receive(OP_BATCH, sendRecvInfo, itemNum, comm, stream);
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream)
{
    HcclSendRecvItem item = {HCCL_SEND, sendBuf, count, dataType, destRank};
    return send_receive(OP_SEND, &item, 1, comm, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream)
{
    HcclSendRecvItem item = {HCCL_RECV, recvBuf, count, dataType, srcRank};
    return send_receive(OP_RECEIVE, &item, 1, comm, stream);
}

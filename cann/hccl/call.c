/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a collective; see call.h. */
#define _GNU_SOURCE
#include "call.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "base/dtype.h"
#include "error.h"
#include "window.h"

enum { START, SLOT, HERE, DONE };
enum {
    TRY_LONG_NS = 200000,
    TRY_SHORT_NS = 20000,
    TRY_AGAIN_AFTER = 16,
    ALONE_NS = 1500,
    SPIN_NS = 20000,
    CROWD_NS = 100000,
    SLICE_NS = 20000000,
    NET_SLICE_NS = 200000,
    GRACE_NS = 500000000
};

const char *const op_names[OP_KINDS] = {
    [OP_ALL_REDUCE] = "HcclAllReduce",
    [OP_BROADCAST] = "HcclBroadcast",
    [OP_REDUCE] = "HcclReduce",
    [OP_REDUCE_SCATTER] = "HcclReduceScatter",
    [OP_REDUCE_SCATTER_V] = "HcclReduceScatterV",
    [OP_ALL_GATHER] = "HcclAllGather",
    [OP_ALL_GATHER_V] = "HcclAllGatherV",
    [OP_SCATTER] = "HcclScatter",
    [OP_ALL_TO_ALL] = "HcclAlltoAll",
    [OP_ALL_TO_ALL_V] = "HcclAlltoAllV",
    [OP_ALL_TO_ALL_VC] = "HcclAlltoAllVC",
    [OP_BARRIER] = "HcclBarrier",
    [OP_SEND] = "HcclSend",
    [OP_RECEIVE] = "HcclRecv",
    [OP_BATCH] = "HcclBatchSendRecv",
};

static const struct {
    const char *name;
    uint8_t size;
    int16_t dtype; /* aclDataType, -1: copied only */
} dtypes[] = {
    [HCCL_DATA_TYPE_INT8] = {"int8", 1, ACL_INT8},       [HCCL_DATA_TYPE_INT16] = {"int16", 2, ACL_INT16},
    [HCCL_DATA_TYPE_INT32] = {"int32", 4, ACL_INT32},    [HCCL_DATA_TYPE_FP16] = {"float16", 2, ACL_FLOAT16},
    [HCCL_DATA_TYPE_FP32] = {"float32", 4, ACL_FLOAT},   [HCCL_DATA_TYPE_INT64] = {"int64", 8, ACL_INT64},
    [HCCL_DATA_TYPE_UINT64] = {"uint64", 8, ACL_UINT64}, [HCCL_DATA_TYPE_UINT8] = {"uint8", 1, ACL_UINT8},
    [HCCL_DATA_TYPE_UINT16] = {"uint16", 2, ACL_UINT16}, [HCCL_DATA_TYPE_UINT32] = {"uint32", 4, ACL_UINT32},
    [HCCL_DATA_TYPE_FP64] = {"float64", 8, ACL_DOUBLE},  [HCCL_DATA_TYPE_BFP16] = {"bfloat16", 2, ACL_BF16},
    [HCCL_DATA_TYPE_INT128] = {"int128", 16, -1},        [HCCL_DATA_TYPE_HIF8] = {"hif8", 1, -1},
    [HCCL_DATA_TYPE_FP8E4M3] = {"fp8e4m3", 1, -1},       [HCCL_DATA_TYPE_FP8E5M2] = {"fp8e5m2", 1, -1},
    [HCCL_DATA_TYPE_FP8E8M0] = {"fp8e8m0", 1, -1},
};

size_t hccl_size(uint32_t dtype)
{
    return dtype < sizeof dtypes / sizeof *dtypes ? dtypes[dtype].size : 0;
}

const char *hccl_dtype_name(uint32_t dtype)
{
    return hccl_size(dtype) ? dtypes[dtype].name : "an unknown type";
}

aclDataType hccl_dtype(uint32_t dtype)
{
    return hccl_size(dtype) && dtypes[dtype].dtype >= 0 ? (aclDataType)dtypes[dtype].dtype : ACL_DT_UNDEFINED;
}

static const char *reduce_name(uint32_t op)
{
    static const char *const names[] = {"sum", "prod", "max", "min"};
    return op < 4 ? names[op] : "?";
}

void call_text(const struct call *c, char *out, size_t size)
{
    bool reduces =
        c->op == OP_ALL_REDUCE || c->op == OP_REDUCE || c->op == OP_REDUCE_SCATTER || c->op == OP_REDUCE_SCATTER_V;
    bool rooted = c->op == OP_BROADCAST || c->op == OP_REDUCE || c->op == OP_SCATTER;
    int n = snprintf(out, size, "%s(", c->op < OP_KINDS ? op_names[c->op] : "?");
    if (reduces)
        n += snprintf(out + n, size - (size_t)n, "%s, ", reduce_name(c->reduce));
    if (c->op == OP_BARRIER)
        n += snprintf(out + n, size - (size_t)n, ")");
    else if (c->op == OP_BATCH)
        n += snprintf(out + n, size - (size_t)n, "%" PRIu64 " messages)", c->count);
    else if (c->op == OP_SEND || c->op == OP_RECEIVE)
        n += snprintf(out + n, size - (size_t)n, "%" PRIu64 " x %s, rank %u)", c->count, hccl_dtype_name(c->dtype),
                      c->root);
    else if (rooted)
        n += snprintf(out + n, size - (size_t)n, "%" PRIu64 " x %s, root %u)", c->count, hccl_dtype_name(c->dtype),
                      c->root);
    else
        n += snprintf(out + n, size - (size_t)n, "%" PRIu64 " x %s)", c->count, hccl_dtype_name(c->dtype));
}

struct op *op_new(struct comm *comm, enum op_kind kind, uint32_t lists, uint32_t items)
{
    size_t list = (size_t)comm->size * sizeof(uint64_t);
    struct op *op = calloc(1, sizeof *op + lists * list + items * sizeof(struct item));
    if (!op) {
        hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
        return NULL;
    }
    uint64_t *numbers = (uint64_t *)(op + 1);
    uint64_t **fields[] = {&op->send_counts, &op->send_at, &op->recv_counts, &op->recv_at};
    for (uint32_t i = 0; i < lists; i++)
        *fields[i] = numbers + i * (size_t)comm->size;
    op->items = items;
    op->item = (struct item *)(numbers + lists * (size_t)comm->size);
    op->comm = comm;
    op->call.op = (uint8_t)kind;
    atomic_fetch_add(&comm->refs, 1);
    return op;
}

void op_free(struct op *op)
{
    if (op->stage_send_handed)
        aclrtFree(op->stage_send_handed);
    if (op->stage_recv_handed)
        aclrtFree(op->stage_recv_handed);
    for (uint32_t i = 0; i < op->items; i++)
        if (op->item[i].staged_handed)
            aclrtFree(op->item[i].staged_handed);
    for (uint32_t i = 0; i < op->items; i++)
        free(op->item[i].net);
    free(op->requests);
    comm_put(op->comm);
    free(op);
}

bool call_share(const struct op *op, const void *handed, char *usable, uint64_t bytes, struct ref *ref)
{
    struct share share = {.fd = -1};
    *ref = (struct ref){.kind = REF_MEMORY, .pointer = usable};
    if (op->comm->one_process)
        return true;
    if (!window_share(handed, bytes, &share) && share_export(handed, bytes, &share))
        return false;
    ref->fd = share.fd;
    ref->device = share.device;
    ref->offset = share.offset;
    ref->capacity = share.capacity;
    return true;
}

char *call_reach(struct op *op, uint32_t local, const struct ref *ref, char *inlined)
{
    struct comm *c = op->comm;
    if (ref->kind == REF_INLINE)
        return inlined;
    if (ref->kind == REF_NONE)
        return NULL;
    if (c->one_process || c->pidfds[local] < 0)
        return ref->pointer;
    struct share share = {.fd = ref->fd, .device = ref->device, .offset = ref->offset, .capacity = ref->capacity};
    char *p = comm_map(c, local, &share);
    if (!p)
        comm_fail(c, HCCL_E_MEMORY, ACL_ERROR_RT_IPC_ERROR,
                  EI_RESOURCE "rank %u cannot map the device memory of rank %u (process %d).", c->rank,
                  c->local_rank[local], c->ranks[c->local_rank[local]].pid);
    return p;
}

/* The communicator's failure as this op's. */
int call_failed(const struct op *op)
{
    struct comm *c = op->comm;
    char call[128];
    if (c->own)
        return fail(atomic_load(&c->failed), "%s", c->text);
    call_text(&op->call, call, sizeof call);
    return fail(atomic_load(&c->failed), "%s (rank %u of group %s was in %s, sequence %" PRIu64 ")", c->text, c->rank,
                c->name, call, op->sequence);
}

static int lost(const struct op *op, uint32_t rank, const char *how)
{
    struct comm *c = op->comm;
    char call[128];
    call_text(&op->call, call, sizeof call);
    comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
              EI_REMOTE "rank %u (process %d on %s) %s, while rank %u waited for it in %s, sequence %" PRIu64
                        ", group %s.",
              rank, c->ranks[rank].pid, c->ranks[rank].host_name, how, c->rank, call, op->sequence, c->name);
    return call_failed(op);
}

/* Who is missing, and what they do instead. */
int call_timed_out(const struct op *op, bool (*needs)(const struct op *op, uint32_t rank))
{
    struct comm *c = op->comm;
    char call[128], other[128], who[512] = "";
    call_text(&op->call, call, sizeof call);
    uint32_t first = UINT32_MAX;
    for (uint32_t r = 0; r < c->size; r++) {
        if (r == c->rank || !needs(op, r))
            continue;
        size_t n = strlen(who);
        if (first == UINT32_MAX)
            first = r;
        if (c->host_of[r] == c->host) {
            const struct board_rank *b = &c->board->ranks[c->local_of[r]];
            struct call theirs = board_noted(b);
            uint64_t at = atomic_load(&b->sequence);
            call_text(&theirs, other, sizeof other);
            if (atomic_load(&b->busy))
                snprintf(who + n, sizeof who - n, " rank %u is in %s, sequence %" PRIu64 ";", r, other, at);
            else if (at == 0 && theirs.count == 0)
                snprintf(who + n, sizeof who - n, " rank %u has called nothing yet;", r);
            else
                snprintf(who + n, sizeof who - n,
                         " rank %u has finished %s, sequence %" PRIu64 ", and called nothing since;", r, other, at);
        } else {
            snprintf(who + n, sizeof who - n, " rank %u (%s);", r, c->ranks[r].host_name);
        }
    }
    comm_fail(c, HCCL_E_TIMEOUT, ACL_ERROR_RT_FFTS_PLUS_TIMEOUT,
              EI_TIMEOUT "The wait execution of the Notify register times out. Reason: The Notify register has not "
                         "received the Notify record from remote rank [%u] within %" PRId64
                         " s (HCCL_EXEC_TIMEOUT). base information: [rank %u, %s, sequence %" PRIu64
                         ", group %s]. task information: [%s]",
              first, c->exec_ns / 1000000000, c->rank, call, op->sequence, c->name, who);
    return call_failed(op);
}

static int look_around(struct op *op, int (*ready)(struct op *op), bool (*needs)(const struct op *op, uint32_t rank),
                       int *got)
{
    struct comm *c = op->comm;
    if (comm_failure(c))
        return call_failed(op);
    for (uint32_t r = 0; r < c->size; r++) {
        const char *how = NULL;
        if (r == c->rank || !needs(op, r) || !comm_lost(c, r, &how))
            continue;
        if ((*got = ready(op)) != 0) /* it has done its part before */
            return 0;
        if (c->host_of[r] != c->host) { /* its last messages may be under way */
            op->lost_since = op->lost_since ? op->lost_since : clock_ns();
            if (clock_ns() - op->lost_since < GRACE_NS)
                return 0;
        }
        if (needs(op, r))
            return lost(op, r, how);
    }
    return 0;
}

/* How long the caller's thread looks out for peers. Handing over to the stream's thread and being woken again costs
 * some 60 µs, in which the peers give up in their turn: once out of step, ranks stay so. So: long, after a look that
 * was in vain half as long each time, but now and then long again, which gets ranks that have nothing else to do into
 * step. */
static int64_t try_limit(struct comm *c)
{
    int64_t ns = atomic_load_explicit(&c->patience, memory_order_relaxed);
    if (ns == 0 || atomic_fetch_add_explicit(&c->tries, 1, memory_order_relaxed) % TRY_AGAIN_AFTER == 0)
        return TRY_LONG_NS;
    return ns;
}

static void try_adapt(struct comm *c, bool found)
{
    int64_t ns = atomic_load_explicit(&c->patience, memory_order_relaxed);
    ns = found ? 0 : ns == 0 ? TRY_LONG_NS / 2 : ns / 2 > TRY_SHORT_NS ? ns / 2 : TRY_SHORT_NS;
    atomic_store_explicit(&c->patience, ns, memory_order_relaxed);
}

int call_wait(struct op *op, int (*ready)(struct op *op), bool (*needs)(const struct op *op, uint32_t rank),
              bool patient)
{
    struct comm *c = op->comm;
    int got = ready(op);
    if (__builtin_expect(got > 0, 1))
        return 0;
    int64_t begin = clock_ns(), spin = begin + (patient ? (c->crowded ? CROWD_NS : SPIN_NS) : try_limit(c));
    for (int64_t now; !got && (now = clock_ns()) < spin;) {
        if (c->crowded || now - begin > ALONE_NS) /* a peer may have been woken on this very CPU */
            sched_yield();
        else
            for (int i = 0; i < 16; i++)
                cpu_relax();
        if (atomic_load_explicit(&c->board->head->broken, memory_order_relaxed) == 2)
            break;
        if (c->net)
            net_progress(c->net);
        got = ready(op);
    }
    if (!patient && got >= 0)
        try_adapt(c, got > 0);
    if (got > 0)
        return 0;
    if (got == 0 && !patient)
        return TASK_AGAIN;
    struct board_rank *mine = &c->board->ranks[c->me];
    while (!got) {
        uint32_t seen = atomic_load(&mine->bell);
        atomic_fetch_add(&mine->sleepers, 1);
        atomic_thread_fence(memory_order_seq_cst);
        got = ready(op);
        if (!got && !comm_failure(c))
            futex_wait(&mine->bell, seen, c->net ? NET_SLICE_NS : SLICE_NS, true);
        atomic_fetch_sub(&mine->sleepers, 1);
        if (c->net)
            net_progress(c->net);
        if (!got)
            got = ready(op);
        if (got)
            break;
        int status = look_around(op, ready, needs, &got);
        if (status)
            return status;
        if (!got && task_cancelled()) {
            char call[128];
            call_text(&op->call, call, sizeof call);
            comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_STREAM_ABORT,
                      EI_REMOTE "rank %u gave up %s, sequence %" PRIu64 ", group %s: its stream was aborted.", c->rank,
                      call, op->sequence, c->name);
            return call_failed(op);
        }
        if (!got && c->exec_ns && clock_ns() - op->begun > c->exec_ns)
            return call_timed_out(op, needs);
    }
    return got > 0 ? 0 : call_failed(op);
}

/* ---- collectives: the rows of the board ---- */

static int row_free(struct op *op)
{
    const struct board *b = op->comm->board;
    if (op->sequence < BOARD_SLOTS)
        return 1;
    uint64_t goal = 4 * (op->sequence - BOARD_SLOTS) + BOARD_DONE;
    for (uint32_t i = 0; i < b->n; i++)
        if (atomic_load_explicit(&board_entry(b, op->lane, op->sequence, i)->word, memory_order_acquire) < goal)
            return 0;
    return 1;
}

static bool needs_word(const struct op *op, uint32_t rank, uint64_t goal)
{
    struct comm *c = op->comm;
    return c->host_of[rank] == c->host &&
           atomic_load_explicit(&board_entry(c->board, op->lane, op->sequence, c->local_of[rank])->word,
                                memory_order_acquire) < goal;
}

static bool needs_free(const struct op *op, uint32_t rank)
{
    return op->sequence >= BOARD_SLOTS && needs_word(op, rank, 4 * (op->sequence - BOARD_SLOTS) + BOARD_DONE);
}

static bool needs_here(const struct op *op, uint32_t rank)
{
    return needs_word(op, rank, 4 * op->sequence + BOARD_HERE);
}

static bool needs_done(const struct op *op, uint32_t rank)
{
    return needs_word(op, rank, 4 * op->sequence + BOARD_DONE);
}

int call_differ(struct op *op, uint32_t rank, const struct call *theirs)
{
    struct comm *c = op->comm;
    const struct call *mine = &op->call;
    const char *what = "counts";
    char own[160], other[160], a[32] = "", b[32] = "";
    if (mine->op != theirs->op) {
        what = "op";
        snprintf(a, sizeof a, "%s", op_names[mine->op]);
        snprintf(b, sizeof b, "%s", theirs->op < OP_KINDS ? op_names[theirs->op] : "?");
    } else if (mine->count != theirs->count) {
        what = "count";
        snprintf(a, sizeof a, "%" PRIu64, mine->count);
        snprintf(b, sizeof b, "%" PRIu64, theirs->count);
    } else if (mine->dtype != theirs->dtype) {
        what = "dataType";
        snprintf(a, sizeof a, "%s", hccl_dtype_name(mine->dtype));
        snprintf(b, sizeof b, "%s", hccl_dtype_name(theirs->dtype));
    } else if (mine->reduce != theirs->reduce) {
        what = "reduceOp";
        snprintf(a, sizeof a, "%s", reduce_name(mine->reduce));
        snprintf(b, sizeof b, "%s", reduce_name(theirs->reduce));
    } else if (mine->root != theirs->root) {
        what = "root";
        snprintf(a, sizeof a, "%u", mine->root);
        snprintf(b, sizeof b, "%u", theirs->root);
    } else {
        snprintf(a, sizeof a, "%016" PRIx64, mine->counts);
        snprintf(b, sizeof b, "%016" PRIx64, theirs->counts);
    }
    call_text(mine, own, sizeof own);
    call_text(theirs, other, sizeof other);
    comm_fail(c, HCCL_E_PARA, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
              EI_DIFFERENT "ccl_op %s, group %s, parameter %s, local end %s, remote end %s. At sequence %" PRIu64
                           " rank %u called %s and rank %u called %s.",
              op_names[mine->op], c->name, what, a, b, op->sequence, c->rank, own, rank, other);
    return -1;
}

static int all_here(struct op *op)
{
    struct comm *c = op->comm;
    const struct board *b = c->board;
    uint64_t goal = 4 * op->sequence + BOARD_HERE;
    int ready = 1;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct entry *e = board_entry(b, op->lane, op->sequence, i);
        if (atomic_load_explicit(&e->word, memory_order_acquire) < goal)
            ready = 0;
        else if (i != c->me && memcmp(&e->call, &op->call, sizeof op->call) != 0)
            return call_differ(op, c->local_rank[i], &e->call);
    }
    return ready;
}

static int all_done(struct op *op)
{
    const struct board *b = op->comm->board;
    uint64_t goal = 4 * op->sequence + BOARD_DONE;
    for (uint32_t i = 0; i < b->n; i++)
        if (atomic_load_explicit(&board_entry(b, op->lane, op->sequence, i)->word, memory_order_acquire) < goal)
            return 0;
    return 1;
}

void call_say(struct op *op, int phase)
{
    struct comm *c = op->comm;
    atomic_store_explicit(&board_entry(c->board, op->lane, op->sequence, c->me)->word,
                          4 * op->sequence + (uint64_t)phase, memory_order_release);
    if (c->local > 1)
        board_ring_all(c->board, c->me);
}

static void number(struct op *op)
{
    struct comm *c = op->comm;
    for (uint32_t i = 0; i < op->items; i++) {
        struct item *m = &op->item[i];
        size_t at = (size_t)op->lane * c->size + m->rank;
        m->number = atomic_fetch_add(m->receive ? &c->received[at] : &c->sent[at], 1);
        m->published = m->done = false;
    }
    op->sequence = op->items ? op->item[0].number : atomic_fetch_add(&c->sequence[op->lane], 1);
    op->exposed = op->offered = false;
    op->lost_since = 0;
    op->stage = START;
}

static int result_here(struct op *op)
{
    return atomic_load_explicit(&board_entry(op->comm->board, op->lane, op->sequence, 0)->word, memory_order_acquire) >=
           4 * op->sequence + BOARD_RESULT;
}

static bool needs_result(const struct op *op, uint32_t rank)
{
    return op->comm->local_of[rank] == 0 && needs_word(op, rank, 4 * op->sequence + BOARD_RESULT);
}

int call_wait_result(struct op *op)
{
    return call_wait(op, result_here, needs_result, true);
}

static int advance(struct op *op, bool patient)
{
    struct comm *c = op->comm;
    int status;
    if (op->stage == START) {
        op->started = true;
        op->begun = clock_ns();
        if (comm_failure(c))
            return call_failed(op);
        struct board_rank *mine = &c->board->ranks[c->me];
        board_note(mine, &op->call, op->sequence);
        atomic_store_explicit(&mine->busy, 1, memory_order_relaxed);
        op->stage = SLOT;
    }
    if (op->items) {
        if ((status = call_wait(op, pair_progress, pair_needs, patient)) || (c->net && (status = cross_finish(op)))) {
            if (c->net)
                pair_end(op);
            return status;
        }
        op->stage = DONE;
    }
    if (op->stage == SLOT) {
        if ((status = call_wait(op, row_free, needs_free, patient)))
            return status;
        board_entry(c->board, op->lane, op->sequence, c->me)->call = op->call;
        if ((status = work_publish(op)))
            return status;
        call_say(op, BOARD_HERE);
        op->stage = HERE;
    }
    if (op->stage == HERE) {
        if ((status = call_wait(op, all_here, needs_here, patient)))
            return status;
        status = c->net ? cross_do(op) : work_do(op);
        if (status)
            return status > 0 && !atomic_load(&c->failed) ? status : call_failed(op);
        call_say(op, BOARD_DONE);
        op->stage = DONE;
    }
    if (!op->items && op->exposed && (status = call_wait(op, all_done, needs_done, patient)))
        return status;
    work_end(op);
    atomic_store_explicit(&c->board->ranks[c->me].busy, 0, memory_order_relaxed);
    return 0;
}

static int run(void *arg)
{
    struct op *op = arg;
    if (op->lane == BOARD_GRAPH)
        number(op);
    return advance(op, true);
}

static int attempt(void *arg)
{
    struct op *op = arg;
    return op->comm->net ? TASK_AGAIN : advance(op, false);
}

static void release(void *arg)
{
    struct op *op = arg;
    if (op->queued && !op->started) { /* dropped: the others must not wait for it */
        struct comm *c = op->comm;
        char call[128];
        call_text(&op->call, call, sizeof call);
        comm_fail(c, HCCL_E_REMOTE, ACL_ERROR_RT_STREAM_ABORT,
                  EI_REMOTE "rank %u dropped %s, sequence %" PRIu64 ", group %s: its stream was aborted.", c->rank,
                  call, op->sequence, c->name);
    }
    op_free(op);
}

HcclResult call_submit(struct op *op, aclrtStream stream, uint64_t work)
{
    struct comm *c = op->comm;
    if (comm_failure(c)) {
        HcclResult result = c->result;
        call_failed(op);
        op_free(op);
        return result;
    }
    int32_t device = -1;
    bool captures = false;
    int status = stream_inspect(stream, &captures); /* so that a wrong stream does not take a number */
    if (!status)
        status = aclrtGetDevice(&device);
    if (!status && device != c->device)
        status = fail(ACL_ERROR_RT_PARAM_INVALID,
                      EI_PARAMETER "%s: the current device is %d, rank %u of group %s is on device %d.",
                      op_names[op->call.op], device, c->rank, c->name, c->device);
    if (status) {
        op_free(op);
        return status == ACL_ERROR_RT_PARAM_INVALID ? HCCL_E_PARA : hccl_from(status);
    }
    op->lane = captures ? BOARD_GRAPH : BOARD_CALLED;
    op->queued = !captures;
    if (!captures)
        number(op);
    op->detail = (struct task_detail){.task_class = ANYNPU_TASK_COLLECTIVE,
                                      .bytes = op->send_bytes ? op->send_bytes : op->recv_bytes};
    return hccl_from(stream_enqueue(stream, &(struct task){.run = run,
                                                           .release = release,
                                                           .arg = op,
                                                           .work = work,
                                                           .note = {op_names[op->call.op], NULL, &op->detail},
                                                           .attempt = attempt}));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* One collective of one rank, as a task of a stream: what was asked, and how far it is. call_submit() checks nothing
 * any more; it numbers the collective, and the task goes through these stages, also in several goes (a first try on the
 * caller's thread, the rest on the stream's):
 *
 *   START → SLOT   the row of the board is free: the entry is written, peers see it
 *   SLOT → HERE    all peers' entries are there and ask for the same; the work is done
 *   HERE → DONE    nobody reads or writes this rank's memory any more
 */
#ifndef ANYNPU_HCCL_CALL_H
#define ANYNPU_HCCL_CALL_H

#include "board.h"
#include "comm.h"
#include "kernels/combine.h"
#include "net.h"

enum op_kind {
    OP_ALL_REDUCE,
    OP_BROADCAST,
    OP_REDUCE,
    OP_REDUCE_SCATTER,
    OP_REDUCE_SCATTER_V,
    OP_ALL_GATHER,
    OP_ALL_GATHER_V,
    OP_SCATTER,
    OP_ALL_TO_ALL,
    OP_ALL_TO_ALL_V,
    OP_ALL_TO_ALL_VC,
    OP_BARRIER,
    OP_SEND,
    OP_RECEIVE,
    OP_BATCH,
    OP_KINDS,
};

extern const char *const op_names[OP_KINDS];

/* A message to or from one rank. */
struct item {
    struct net_request *net; /* several computers: of its head and its data */
    uint64_t head[2];        /* count, dtype */
    bool receive, published, headed, done;
    uint32_t rank;
    uint64_t number, count, bytes;
    uint32_t dtype;
    char *buffer;       /* where tasks reach it */
    const void *handed; /* as the client named it */
    char *staged;       /* device memory that stands in for what cannot be shared */
    void *staged_handed;
};

struct op {
    struct comm *comm;
    struct call call;
    uint64_t sequence;
    uint32_t lane; /* BOARD_GRAPH: run once for each execution, from the beginning */
    int stage;
    bool queued, started; /* the stream has it; its number is in use */
    bool offered;         /* peers write into its result or the stand-in */
    bool exposed;         /* peers reach into this rank's memory */
    int64_t begun, lost_since;
    size_t element;
    const char *send; /* where tasks reach them; NULL: none */
    char *recv;
    const void *send_handed;
    void *recv_handed;
    uint64_t send_bytes, recv_bytes;
    char *stage_send, *stage_recv; /* device memory that stands in for what cannot be shared or overlaps */
    void *stage_send_handed, *stage_recv_handed;
    /* bytes, one a rank: what goes to and comes from it, and where it begins; NULL when it follows from the count */
    uint64_t *send_counts, *send_at, *recv_counts, *recv_at;
    uint32_t items;
    struct item *item;
    struct net_request *requests; /* several computers */
    uint32_t *request_rank;
    size_t *request_bytes;
    uint32_t request_count, request_base;
    bool told;                 /* the call of the computer before ours is awaited: requests[0] */
    struct call their_call;    /* of the first rank of the computer before ours */
    struct task_detail detail; /* for the profiler */
};

/* A new collective with room for `lists` lists of one uint64_t a rank and for items; takes a reference. NULL with text.
 */
struct op *op_new(struct comm *comm, enum op_kind kind, uint32_t lists, uint32_t items);
void op_free(struct op *op);

/* Numbers it and gives it to the stream. Takes the op over. */
HcclResult call_submit(struct op *op, aclrtStream stream, uint64_t work);

/* What ranks must agree on, in words: "HcclAllReduce(sum, 100 x float32)". */
void call_text(const struct call *call, char *out, size_t size);
size_t hccl_size(uint32_t dtype); /* 0: unknown */
const char *hccl_dtype_name(uint32_t dtype);
aclDataType hccl_dtype(uint32_t dtype);

/* Waits until ready(op) says 1; 0: not yet; negative: it has failed. needs(op, rank): is the op still waiting for it?
 * Without patience it looks for a few microseconds and returns TASK_AGAIN. 0 or an aclError with text. */
int call_wait(struct op *op, int (*ready)(struct op *op), bool (*needs)(const struct op *op, uint32_t rank),
              bool patient);

/* Describes device memory of this rank for others. False: it cannot be shared. */
bool call_share(const struct op *op, const void *handed, char *usable, uint64_t bytes, struct ref *ref);

/* Where a local rank's buffer lies here. NULL after the communicator failed. */
char *call_reach(struct op *op, uint32_t local, const struct ref *ref, char *inlined);

/* Tells the local ranks how far this one is: a BOARD_* of the collective. */
void call_say(struct op *op, int phase);

/* needs() of a collective that waits for the others' BOARD_DONE, and of one that waits for the first rank's result. */
int call_wait_result(struct op *op);

/* The communicator's failure as this op's: its code, with the text. */
int call_failed(const struct op *op);
int call_timed_out(const struct op *op, bool (*needs)(const struct op *op, uint32_t rank));
int call_differ(struct op *op, uint32_t rank, const struct call *theirs);

/* work.c: what happens between HERE and DONE on one computer. 0 or an aclError with text. */
int work_publish(struct op *op);
int work_do(struct op *op);
void work_end(struct op *op); /* copies out of stand-ins */

/* Parts of it that cross.c uses too. Local rank i's data and result, as they lie here (NULL: failed). */
char *work_data(struct op *op, uint32_t i);
char *work_result(struct op *op, uint32_t i);
void work_copy(const struct op *op, char *to, const char *from, uint64_t bytes);
void work_share_out(const struct op *op, uint64_t n, uint32_t parts, uint32_t i, uint64_t *begin, uint64_t *end);

/* Reduces all local ranks' elements [from, from + n) into out[] with a fold for the elements' type. out_element: bytes
 * of what the fold writes. */
int work_reduce(struct op *op, uint64_t from, uint64_t n, combine_fold fold, size_t out_element, char **out, int outs);
bool work_rooted_here(const struct op *op); /* the root is on this computer */

/* cross.c: the same with several computers. Posts and waits for messages. */
int cross_do(struct op *op);
int cross_finish(struct op *op); /* what was sent is on its way */
uint64_t cross_tag(const struct op *op, uint32_t kind, uint64_t number, uint32_t step, uint32_t from);
enum { TAG_CALL, TAG_DATA, TAG_PAIR };

/* pair.c */
int pair_progress(struct op *op);
void pair_end(struct op *op); /* after a failure: nothing is in flight any more */
bool pair_needs(const struct op *op, uint32_t rank);

#endif

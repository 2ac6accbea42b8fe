/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of an operator: what a row of operators/<family>.c has to give, and what it may ask of whoever runs it.
 *
 * A row is looked up by domain, name and version (operator_find). infer() tells the types of a node's outputs from
 * those of its inputs, with sizes known or not; run() emits what computes the node: calls of aclnn operators on tensors
 * at fixed addresses, through struct context. Two implement that: folding (fold.c; every launch runs at once, the
 * results come back to the host) and the executor, which records the launches of a plan once for every declared size
 * and replays them. So run() must not look at tensors' contents (but for `host`), and may not keep anything of its own.
 *
 * Before run(), every input's type is known and, when OPERATOR_SIZES is not set, every output's too, as infer() said.
 * Rows are constant; all functions may be called from any thread. */
#ifndef ANYNPU_GRAPH_OPERATOR_H
#define ANYNPU_GRAPH_OPERATOR_H

#include "aclnn/acl_meta.h"
#include "graph/graph.h"

struct context;
struct op; /* operators/op.h */

enum operator_flags {
    OPERATOR_VIEW = 1,     /* output 0 has the bytes of input 0, in the same order (Reshape, Identity): run is NULL; the
                              executor shares or copies the memory */
    OPERATOR_SHAPE = 2,    /* asks for inputs' types only (Shape, Size): known as soon as they are */
    OPERATOR_RANDOM = 4,   /* differs from run to run: never folded */
    OPERATOR_SIZES = 8,    /* the outputs' sizes depend on contents (NonZero, NonMaxSuppression): infer() leaves them
                              unknown, run() reads what it needs (context read), sets the dims and asks for the memory */
    OPERATOR_CONTROL = 16, /* If, Loop, Scan: run is NULL, the executor and folding do it themselves */
    OPERATOR_NARROW = 32   /* takes elements of less than a byte; only such rows do, and views */
};

struct operator_row {
    const char *domain, *name; /* "" is ONNX's own domain; "com.microsoft"; "anynpu": what passes make */
    int32_t since, until; /* versions of the domain that the row holds for, both included; until 0: to the newest */
    uint32_t flags;
    int32_t in_min, in_max; /* how many inputs may be given (in_max -1: any); checked before infer() */
    int32_t out_min, out_max;

    /* in[node->n_in]: NULL where left out; in[i]->host is set when the contents are known (the target shape of
     * Reshape). out[node->n_out]: of unknown type at the call, to be filled in as far as it is known; must not guess.
     * With in[i] of unknown rank or dims it leaves the result unknown. table: all values of the model, for subgraphs
     * (If, Loop, Scan call graph_infer on theirs with it). Contradictions: return graph_fail(GRAPH_INVALID, …); what
     * the kernels lack: graph_fail(GRAPH_UNSUPPORTED, …). */
    int (*infer)(const struct node *node, const struct tensor *const *in, struct type *out, struct tensor *table);

    /* Emits the node. out[i] is NULL where left out; its device memory is there but for OPERATOR_SIZES. */
    int (*run)(const struct node *node, struct context *context, const struct tensor *const *in,
               struct tensor *const *out);

    /* Where infer and run are op_infer and op_run (operators/op.h): the one function behind both, and what it is told.
     */
    void (*define)(struct op *op);
    const void *detail;
    int code;
};

/* A call of an aclnn operator between its two phases. */
struct launch {
    const char *name;   /* "aclnnAdd" */
    aclnnStatus status; /* what aclnnXxxGetWorkspaceSize returned */
    uint64_t workspace;
    aclOpExecutor *executor;
    aclnnStatus (*run)(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);
};

/* Who runs nodes. All return a graph_status (having called graph_fail). Used by one thread at a time. */
struct context {
    /* Describes a tensor, or a strided view of it (strides in elements, offset too), to aclnn. The context owns what is
     * returned; NULL: no memory. */
    aclTensor *(*view)(struct context *context, const struct tensor *tensor, int32_t rank, const int64_t *dim,
                       const int64_t *stride, int64_t offset);
    /* A list of n tensors that view() made; the context owns it, and the tensors as parts of it. NULL: no memory. */
    aclTensorList *(*list)(struct context *context, const aclTensor *const *tensors, size_t n);
    /* Takes over the launch (also one with a bad status: tells it with aclnn's own text). */
    int (*launch)(struct context *context, const struct launch *launch);
    /* Memory for a tensor whose type is filled in: until the node has run (scratch); an output's (output, for
     * OPERATOR_SIZES). */
    int (*scratch)(struct context *context, struct tensor *tensor);
    int (*output)(struct context *context, struct tensor *tensor);
    /* The tensor gets these bytes (copied at the call), in the stream's order. */
    int (*write)(struct context *context, const struct tensor *tensor, const void *bytes);
    /* bytes of `from`, at an offset in bytes each, to `to`, in the stream's order. */
    int (*copy)(struct context *context, const struct tensor *to, size_t to_offset, const struct tensor *from,
                size_t from_offset, size_t bytes);
    /* Waits for all that was emitted and brings the contents to the host; refused by contexts that record. */
    int (*read)(struct context *context, const struct tensor *tensor, void *bytes, size_t size);
    /* A function of ours in the stream's order, for what no aclnn operator does: fn(copy of arg) on a device thread,
     * with addresses as device_address() (runtime/door.h) gives them. fn has called fail() when it returns other than
     * 0. */
    int (*call)(struct context *context, const char *name, int (*fn)(void *arg), const void *arg, size_t bytes);
};

/* The whole tensor, contiguous. */
static inline aclTensor *context_tensor(struct context *context, const struct tensor *tensor)
{
    return context->view(context, tensor, tensor->type.rank, tensor->type.dim, NULL, 0);
}

/* The row for domain, name, version; NULL: none. *nearest (may be NULL): a row of that name for other versions. */
const struct operator_row *operator_find(const char *domain, const char *name, int32_t version,
                                         const struct operator_row **nearest);

/* Every family's table ends with a row whose name is NULL; operators.c lists the tables. */
extern const struct operator_row *const operator_families[];

/* ---- a graph's types for given inputs ---- */
/* A table for the model: constants with their bytes, everything else as the model says. Freed with free(). */
struct tensor *table_new(const struct model *model);

/* The same with symbol k replaced by sizes[k] in the inputs' types. */
struct tensor *table_sized(const struct model *model, const int64_t *sizes);

/* Infers the types of the graph's values, in the table. With a fold context, nodes whose inputs are known are computed
 * and their results stand in the table with `host` set (until fold_free). Texts begin with the node. */
struct fold;
int graph_infer(const struct graph *graph, struct tensor *table, struct fold *fold);

/* infer() of one node, checked: number of inputs and outputs, agreement with what the table said before. */
int node_infer(const struct node *node, struct tensor *table);

/* Computes nodes on the current device as they come, for folding. limit: bytes of a result that is kept, at most. */
struct fold *fold_new(aclrtStream stream, size_t limit);
void fold_free(struct fold *fold); /* and with it the results */

#endif

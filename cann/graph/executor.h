/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor: a model that is loaded, and what it takes to run it.
 *
 * For each set of sizes of its inputs an executable has a *program*: the types of all values, what is known of them
 * before anything runs (constants, shape arithmetic), and where the others lie in the working memory, whose places are
 * used again when a value is no longer needed. A program is run in one of two ways: recorded  the operators' launches
 * are captured once for each set of addresses of inputs and outputs, and replayed as one task of the stream
 * (aclmdlRI…): no cost for each operator on the host; stepwise  where sizes or branches depend on contents (NonZero,
 * If, Loop …): node after node, types inferred as they become known, memory from a pool. One lock an executable:
 * executions are queued one after the other, and those of different streams wait for each other on the device, since
 * they share the working memory. */
#ifndef ANYNPU_GRAPH_EXECUTOR_H
#define ANYNPU_GRAPH_EXECUTOR_H

#include <pthread.h>

#include "acl/acl.h"
#include "graph/aipp_run.h"
#include "graph/fold.h"
#include "graph/graph.h"
#include "graph/operator.h"
#include "runtime/model.h"

enum { RECORDINGS_MAX = 8, PROGRAMS_MAX = 32, PLACE_ALIGN = 64 };

/* Launches captured for certain addresses. */
struct recording {
    aclmdlRI replay;
    void **address; /* inputs (the caller's), then outputs */
    uint64_t used;  /* when, for giving way to another */
};

/* Memory that recordings refer to, freed with its owner. */
struct block {
    struct block *next;
    void *address;
    size_t bytes;
};

struct program {
    struct program *next;
    int64_t *dims; /* of all own inputs, one after another: the key */
    struct fold *fold;
    struct tensor *table; /* [values]: types, host, and places */
    int32_t *root;        /* [values]: whose memory the value has: itself, or what it is a view of */
    size_t *offset;       /* [values]: of roots in the working memory; SIZE_MAX: none */
    bool stepwise;
    size_t bytes; /* of working memory */
    char *work;
    struct recording recording[RECORDINGS_MAX];
    uint64_t used;
};

/* Device memory in pieces that are used again in the order of the stream. */
struct pool {
    struct block *free, *taken;
};

struct executable {
    struct model *model;
    struct model_info *info;
    const char **weight; /* [values]: constants in the caller's memory; NULL: where they were read */
    void *copy;          /* of a model that came from memory */
    aclrtContext context;
    int32_t device;
    pthread_mutex_t lock;
    struct program *programs;
    char *given_work; /* the caller's, or NULL */
    size_t given_bytes;
    struct block *blocks;  /* working memory, AIPP's results, scratch */
    struct block *scratch; /* the present one, of `blocks` */
    size_t scratch_used;
    struct pool pool;
    aclrtStream recorder; /* where launches are captured */
    aclrtEvent last;      /* recorded after each execution */
    aclrtStream last_stream;
    bool executed;
    struct dump_model *dump; /* NULL: its layers are not dumped */
    void **aipp;             /* [own inputs]: where the network's input is made from pictures, or NULL */
    uint64_t clock;
};

/* Returns from a function of the executor that gives official codes. */
#define TRY_STATUS(call)                                                                                               \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (status_)                                                                                                   \
            return status_;                                                                                            \
    } while (0)

/* A graph's status as the code that programs see; text: `what`, then the reason. */
int executor_fail(int status, const char *what);

/* ---- executor_info.c ---- */
/* What programs see of the model; *info has one reference. A graph_status. */
int info_make(const struct model *model, struct model_info **info);
void info_free(struct model_info *info);
/* Sizes of all symbols for one choice, or the largest (gear -1); false: there is no upper end. */
bool info_sizes(const struct model *model, int32_t gear, int64_t *sizes);
const struct aipp *info_aipp(const struct model *model, size_t input);

/* ---- executor_program.c ---- */
/* The program for these sizes of all own inputs; NULL after graph_fail(). Under the lock, or before the executable is
 * shared. weight may be NULL. */
struct program *program_new(const struct model *model, const char *const *weight, const int64_t *dims, size_t count);
void program_free(struct program *program);

/* ---- executor_emit.c ---- */
/* A context that emits to a stream. In a recording, `read` is refused. */
struct emitter {
    struct context context; /* first */
    struct executable *executable;
    aclrtStream stream;
    bool recorded, wants_contents; /* `read` was asked for in a recording */
    struct emitted *emitted;       /* descriptors of the node under way */
    size_t emitted_count, emitted_room;
    struct block *node_scratch; /* stepwise: given back after the node */
    uint32_t layers;            /* dumped so far */
};
void emitter_init(struct emitter *emitter, struct executable *executable, aclrtStream stream, bool recorded);
/* After a node: descriptors and scratch. */
void emitter_settle(struct emitter *emitter);
void emitter_end(struct emitter *emitter);
int emit_node(struct emitter *emitter, const struct node *node, struct tensor *table);
/* For models whose layers are dumped, else nothing: at the beginning of an execution. (executor_dump.c) */
int emit_turn(struct emitter *emitter);
int emit_dump(struct emitter *emitter, const struct node *node, const struct tensor *table); /* after the node */
int emit_copy(aclrtStream stream, void *to, const void *from, size_t bytes);

/* Device memory of an executable that lives as long as it; NULL after graph_fail(). */
void *executable_memory(struct executable *executable, size_t bytes);

/* Memory from the pool; it may be used by what is queued after the call. */
void *pool_take(struct executable *executable, size_t bytes);
void pool_give(struct executable *executable, void *address);

/* ---- executor_steps.c ---- */
/* Runs the program node after node; outputs' types and addresses are in the table afterwards. Under the lock. */
int steps_run(struct executable *executable, const struct program *program, struct tensor *table, aclrtStream stream);

/* ---- executor_execute.c ---- */
int executable_execute(struct executable *executable, const struct model_buffer *input,
                       const struct model_buffer *output, size_t gear, bool allocate, struct model_result *result,
                       aclrtStream stream);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs (aclmdlRI): tasks that a stream would have run, kept to be run again and again.
 *
 * A graph has a lane for each stream that took part in its capture; a lane is a row of nodes. Lane 0 is the stream the
 * capture began on. A node that waits for another lane names the lane and how many of its nodes must be done. The order
 * in which nodes were captured obeys all of that, so a replay runs them one after the other in that order, in one task
 * of the executing stream. Only a graph of several lanes in which a task waits for something outside (a notify, a value
 * in memory, an external event, a host function) runs its lanes side by side, each on a stream of its own: in one row
 * such a wait could hold up what it waits for.
 *
 * Capturing: everything here that a capture builds is under the capture lock, which is taken before a stream's. A
 * stream that captures, or whose tasks replace those of a task group, is *diverted*: its state keeps callers off the
 * way that runs tasks at once, so a stream that is not diverted pays nothing.
 *
 * Replaying: a graph is executed by one task at a time (`busy`). What a node runs may be replaced at any moment by an
 * update; what was replaced is freed when no replay is under way. */
#ifndef ANYNPU_RUNTIME_GRAPH_H
#define ANYNPU_RUNTIME_GRAPH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "handle.h"
#include "stream.h"

struct event;
struct graph;
struct node;

/* What a node runs. Owned by the node, by an update under way, or by the graph's list of replaced ones. */
struct graph_task {
    struct task task;
    char *note; /* "name\0where" or NULL */
    struct graph_task *next;
};

enum node_kind {
    NODE_TASK,
    NODE_JOIN,            /* waits for nodes of another lane */
    NODE_RECORD,          /* the place of an event recorded in the capture */
    NODE_RECORD_EXTERNAL, /* records an event for everybody */
    NODE_WAIT_EXTERNAL,   /* waits for the event's newest record at the time of execution */
};

/* Tasks that are replaced together. */
struct group {
    struct handle handle;
    struct graph *graph;
    struct group *next; /* in the graph */
    struct node **node;
    uint32_t count, room;
    bool updating;
};

struct lane {
    struct graph *graph;
    uint32_t index;
    struct stream *origin; /* that captures; NULL after the end */
    struct stream *stream; /* the lane's own: executes it when lanes run side by side, and names it for clients */
    struct node **node;
    uint32_t count, room;
    uint32_t worked;     /* nodes up to the last one that is not an event record */
    struct group *group; /* open task group */
};

struct node {
    struct handle handle; /* aclmdlRITask */
    enum node_kind kind;
    bool waits; /* the task may wait for something outside */
    struct graph *graph;
    uint32_t lane, index, sequence;
    uint32_t other, goal; /* NODE_JOIN: that lane must have done so many nodes */
    struct event *event;  /* external kinds */
    struct group *group;
    _Atomic bool disabled, disabled_next; /* aclmdlRITaskDisable takes effect with aclmdlRIUpdate */
    _Atomic(struct graph_task *) what;    /* NODE_TASK */
};

enum graph_state { GRAPH_CAPTURING, GRAPH_INVALID, GRAPH_READY };

enum { GRAPH_NAME = 512 };

struct graph_callback {
    struct graph_callback *next;
    aclrtCallback fn;
    void *data;
};

struct graph {
    struct handle handle;
    struct context *context; /* NULL when it was destroyed */
    enum graph_state state;
    int broken; /* GRAPH_INVALID: the status that made it so */
    aclmdlRICaptureMode mode;
    int64_t thread; /* that began the capture */
    uint64_t capture;
    struct graph *next; /* among the captures under way */
    struct lane **lane;
    uint32_t lanes, lane_room;
    struct node **node; /* in the order of capture */
    uint32_t nodes, node_room, externals;
    struct group *groups;
    uint64_t work;
    bool waits; /* a node waits for something outside */
    char name[GRAPH_NAME];
    struct graph_callback *callbacks; /* before it is destroyed */

    _Atomic uint32_t in_flight; /* executions and updates queued or running */
    _Atomic uint32_t busy;      /* 0, 1: an execution runs, 2: and others wait */
    _Atomic uint32_t aborts;    /* aclmdlRIAbort */
    pthread_mutex_t retired_lock;
    struct graph_task *retired;
};

extern struct handle_table graph_table, node_table, group_table;

/* The graph behind a handle; NULL after fail(). */
struct graph *graph_get(aclmdlRI handle);

/* A capture was ended: frees the graph and all it holds. No execution is under way. */
void graph_free(struct graph *graph);
void graph_task_free(struct graph_task *what);

/* Replaces what a node runs; the old one is freed when no execution is under way. */
void graph_replace(struct node *node, struct graph_task *what);

/* The context is destroyed: its graphs can no longer be executed. */
void graph_forget_context(struct context *context);

#endif

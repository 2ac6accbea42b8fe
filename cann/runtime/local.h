/* SPDX-License-Identifier: BSD-3-Clause */
/* What each thread keeps: its current context, its last error and the error's text, the note for its next task. One
 * struct, so that an entry pays for one thread-local look-up. Touched by its own thread only. */
#ifndef ANYNPU_RUNTIME_LOCAL_H
#define ANYNPU_RUNTIME_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

enum { REASON_MAX = 2048, BLOCK_MAX = 2560, NOTE_MAX = 160 };

struct context;
struct stream;

struct local {
    struct context *context; /* may be stale: ask context_current() */
    struct stream *limits;   /* aclrtUseStreamResInCurrentThread */
    int error;               /* aclrtGetLastError */
    uint32_t task;           /* aclrtGetThreadLastTaskId */
    struct stream *running;  /* whose task this thread runs, NULL: none */
    uint64_t work;           /* that task's estimate, ns */
    int capture_mode;        /* aclmdlRICaptureThreadExchangeMode */
    uint32_t blocks;         /* pieces of the running task's largest loop */
    bool in_pool;            /* running a piece of a parallel() */
    bool deferred;           /* in a task: failures are logged when it ends, by its name */
    bool noted;              /* note_name and note_where are for the next task */
    char note_name[NOTE_MAX], note_where[NOTE_MAX];
    char reason[REASON_MAX]; /* the last failure's reason, without prefix */
    char block[BLOCK_MAX];   /* the block that aclGetRecentErrMsg serves next; "" when read */
    char served[BLOCK_MAX];
};

struct local *local(void);

#endif

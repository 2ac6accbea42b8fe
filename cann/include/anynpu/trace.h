/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of a trace file (PROF_…/host/data/anynpu.trace), and the records that libraries above CANN may add.
 *
 * A file is a header and then chunks; a chunk belongs to one thread and holds records one after another, each a
 * multiple of eight bytes, ended by a zero word or the chunk's end. Threads write into the mapped file, so that what
 * was recorded before a crash is in the file after it; the last record of a thread may then be missing, never half
 * there (its first word is written last). All numbers are little-endian; times are nanoseconds of CLOCK_MONOTONIC;
 * `real_ns - mono_ns` of the header leads to the time of day. A string is written once in a session and named by its
 * id, which is the same for the same text in every file (MsprofGetHashId); id 0 is no string. Text of strings is UTF-8
 * as given.
 */
#ifndef ANYNPU_TRACE_H
#define ANYNPU_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANYNPU_TRACE_MAGIC       "ANYTRACE"
#define ANYNPU_TRACE_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

enum { ANYNPU_TRACE_VERSION = 1, ANYNPU_TRACE_UNIT = 65536 /* chunks begin and end at multiples of it */ };

struct anynpu_trace_file {
    char magic[8];
    uint32_t version, bytes;          /* bytes of this header: the first chunk begins at ANYNPU_TRACE_UNIT */
    uint32_t pid, kinds;              /* what was recorded: 1 << enum anynpu_trace_kind */
    int64_t mono_ns, real_ns;         /* the same moment at the begin … */
    int64_t end_mono_ns, end_real_ns; /* … and at the end; 0 when the process died before */
    uint64_t lost;                    /* records dropped because the disk was full */
    uint64_t rank;                    /* of the process, UINT64_MAX: unknown */
    char soc[32];
};

struct anynpu_trace_chunk {
    uint32_t magic, bytes;  /* with this header */
    uint32_t thread, order; /* system id of the thread; n-th chunk of the file */
    char name[16];          /* of the thread */
};

enum anynpu_trace_kind {
    ANYNPU_TRACE_END = 0,
    ANYNPU_TRACE_STRING,
    ANYNPU_TRACE_TASK,
    ANYNPU_TRACE_API,
    ANYNPU_TRACE_HOST,
    ANYNPU_TRACE_MEMORY,
    ANYNPU_TRACE_MARK,
    ANYNPU_TRACE_REPORT,
};

/* The first word of every record. */
struct anynpu_trace_head {
    uint16_t kind, words; /* words: bytes of the record / 8 */
    uint32_t thread;      /* of the event; 0: the chunk's */
};

struct anynpu_trace_string {
    struct anynpu_trace_head head;
    uint64_t id;
    uint32_t bytes, unused; /* the text follows, with no zero at its end */
};

enum anynpu_trace_class {
    ANYNPU_TASK_KERNEL,
    ANYNPU_TASK_COPY,
    ANYNPU_TASK_FILL,
    ANYNPU_TASK_COLLECTIVE,
    ANYNPU_TASK_EVENT, /* records and waits */
    ANYNPU_TASK_CALLBACK,
};

enum anynpu_trace_flags { ANYNPU_TENSOR_OUTPUT = 1 };

/* A tensor of a task; `rank` sizes of 32 bits follow (UINT32_MAX: that or more). */
struct anynpu_trace_tensor {
    uint8_t dtype, format, rank, flags;
};

/* One task of a stream. */
struct anynpu_trace_task {
    struct anynpu_trace_head head; /* thread: of whoever launched it */
    uint32_t stream, task;         /* UINT32_MAX: a copy outside streams */
    uint16_t device, task_class;
    uint32_t blocks; /* pieces that the largest of its loops was cut into */
    uint64_t name, correlation;
    int64_t launch, begin, end;
    uint64_t bytes; /* copies, fills, collectives */
    int32_t status;
    uint16_t tensors, tensor_bytes; /* how many it has, and bytes of those that follow */
};

/* A call of an interface, on the host. */
struct anynpu_trace_api {
    struct anynpu_trace_head head;
    uint64_t name;
    int64_t begin, end;
    uint32_t level, type; /* level: of MsprofApi */
    uint64_t item;
};

enum anynpu_host_scope {
    ANYNPU_HOST_OPERATOR,
    ANYNPU_HOST_BACKWARD,
    ANYNPU_HOST_USER, /* record_function */
    ANYNPU_HOST_STEP, /* begin and end of a step */
    ANYNPU_HOST_FALLBACK,
    ANYNPU_HOST_PYTHON,
    ANYNPU_HOST_COLLECT, /* Python's garbage collector */
};

/* An operator of the framework, on the host. */
struct anynpu_trace_host {
    struct anynpu_trace_head head;
    uint64_t name;
    int64_t begin, end;
    uint64_t correlation, forward_thread;   /* that: as framework_thread counts; 0: not of a backward pass */
    int64_t sequence;                       /* that autograd gave it; -1: none */
    uint64_t shapes, dtypes, stack, detail; /* strings */
    uint64_t flops;
    uint32_t scope, framework_thread; /* the framework's own number of the thread */
};

enum anynpu_memory_kind { ANYNPU_MEMORY_FRAMEWORK, ANYNPU_MEMORY_RUNTIME };

struct anynpu_trace_memory {
    struct anynpu_trace_head head;
    int64_t time;
    uint64_t address;
    int64_t change; /* bytes; negative: given back */
    uint64_t allocated, reserved, active;
    uint64_t stream; /* the framework's name of it */
    uint16_t device, memory_kind;
    uint32_t unused;
};

/* A user's mark (begin == end) or range. */
struct anynpu_trace_mark {
    struct anynpu_trace_head head;
    uint64_t text, domain;
    int64_t begin, end;
    uint32_t stream, task; /* mark on a stream: its task; UINT32_MAX: none */
};

/* What Msprof… was given, as it was. */
struct anynpu_trace_report {
    struct anynpu_trace_head head;
    uint32_t report, bytes; /* 1 compact, 2 additional; the data follows */
};

/* For libraries above CANN, part of the extension table. */
struct anynpu_trace_api_table {
    /* What is being recorded: 1 << enum anynpu_trace_kind; 0: nothing. Read it relaxed before building a record. */
    const volatile uint32_t *kinds;
    int64_t (*now)(void);
    /* The string's id; written when this session hasn't seen it. bytes ≤ 65,000 are kept. */
    uint64_t (*string)(const char *text, size_t bytes);
    /* Appends a record (head filled in), when something is being recorded. */
    void (*write)(const void *record);
    /* The id that the next tasks of this thread carry, until it is changed; 0: none. */
    void (*correlate)(uint64_t id);
    uint64_t (*correlation)(void); /* that id */
    /* Recording into a file of one's own, beside aclprof…: for a client that wants records, not a folder. 0 or an error
     * of the runtime (recording already; the file cannot be made). */
    int (*start)(const char *file, uint32_t kinds);
    int (*stop)(void);
};

#ifdef __cplusplus
}
#endif
#endif

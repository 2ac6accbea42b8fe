/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime's one internal door: what libnnopbase, libopapi and libhccl may ask of libascendcl.
 * C names are short; link names begin with anynpu_ and stand in the version node ANYNPU_PRIVATE, so that nothing but
 * CANN's own names is public. */
#ifndef ANYNPU_RUNTIME_DOOR_H
#define ANYNPU_RUNTIME_DOOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "anynpu/trace.h"

#define DOOR(name) __asm__("anynpu_" #name) __attribute__((visibility("default")))

/* Records the text that aclGetRecentErrMsg serves for this thread, logs it, and returns code.
 *   return fail(ACL_ERROR_INVALID_PARAM, "count %zu > buffer %zu", count, size);
 * The text is the reason alone; the official prefix (EE1001: …, EZ1001: …) is added by code family. */
int fail(int code, const char *fmt, ...) DOOR(fail) __attribute__((format(printf, 2, 3)));

/* The lowest level that any module wants; -1 until log_lowest_read() has looked. */
extern _Atomic int log_lowest DOOR(log_lowest);
int log_lowest_read(void) DOOR(log_lowest_read);

/* Is a line of this level (ACL_DEBUG … ACL_ERROR) wanted? One load; ask before building a costly line. */
static inline bool log_wanted(int level)
{
    int low = atomic_load_explicit(&log_lowest, memory_order_relaxed);
    return level >= (low < 0 ? log_lowest_read() : low);
}
void log_line(int level, const char *module, const char *fmt, ...) DOOR(log_line) __attribute__((format(printf, 3, 4)));

/* More about a task, for the profiler: lives as long as the task. */
struct task_detail {
    uint16_t task_class;   /* enum anynpu_trace_class */
    uint16_t tensors;      /* how many it has */
    uint16_t tensor_bytes; /* of the descriptions in `tensor` (those that fit) */
    uint64_t bytes;        /* moved */
    const void *tensor;    /* struct anynpu_trace_tensor, one after another; NULL: none */
    const char *name;      /* in traces, when not the note's; NULL: the note's */
};

/* What one task is, for logs, profiler and error texts. Strings must outlive the task (static or in its arg). */
struct task_note {
    const char *name;                 /* "aclnnAdd" */
    const char *where;                /* Python line or NULL */
    const struct task_detail *detail; /* or NULL: a kernel, nothing more known */
};

/* A unit of work in a stream. run() is called on a device thread, or on the caller's when the stream is idle and the
 * task is small; a status other than 0 (it has called fail()) becomes the stream's pending error. On a stream that
 * captures a graph it is not called now, but once for each execution of the graph, one after the other: run() must
 * leave its arg as it found it. release() is called exactly once afterwards, also when the task was never run (stream
 * aborted); it may be NULL. */
struct task {
    int (*run)(void *arg);
    void (*release)(void *arg);
    void *arg;
    uint64_t work; /* estimate: nanoseconds on one core; decides whether to run at once */
    struct task_note note;
    /* For tasks that wait for others (collectives), else NULL: called instead of run() on the caller's thread when the
     * stream is idle and the task is small. It may not wait for long: TASK_AGAIN leaves the rest to run(), on the
     * device thread and before whatever is queued later. */
    int (*attempt)(void *arg);
};
enum { TASK_AGAIN = -1 };

/* Appends to the stream (NULL: the default stream of the current context). Takes over the arg in every case. Returns
 * run()'s status when the task was run at once. */
int stream_enqueue(aclrtStream stream, const struct task *task) DOOR(stream_enqueue);

/* The stream is usable by this thread (else a status with text); *captures: its tasks go to a graph. */
int stream_inspect(aclrtStream stream, bool *captures) DOOR(stream_inspect);

/* For a task that waits, in run(): its stream was aborted or the process ends, it must give up. */
bool task_cancelled(void) DOOR(task_cancelled);

/* Splits [0, count) into pieces of at least grain and runs body on the process's one compute pool, the caller taking
 * part; returns when all are done. Piece borders depend on count and grain alone, never on the number of threads.
 * Nested calls, and calls while the pool is busy with another's work, run in the caller alone. body must not fail. */
void parallel(int64_t count, int64_t grain, void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
    DOOR(parallel);

/* Threads of the compute pool, the caller included (OMP_NUM_THREADS, affinity, cgroup quota). */
int parallel_threads(void) DOOR(parallel_threads);

/* Devices in saturation mode (aclrtSetDeviceSatMode); is there one? One load. And: does the current one saturate? */
extern _Atomic int saturating DOOR(saturating);
static inline bool saturation_wanted(void)
{
    return atomic_load_explicit(&saturating, memory_order_relaxed) != 0;
}
bool device_saturates(void) DOOR(device_saturates);

/* From a task: a number overflowed or has no value. aclrtGetOverflowStatus tells it where the stream's switch is on. */
void overflow_found(void) DOOR(overflow_found);
/* From a task that checks results: has any task overflowed since it was last asked (or reset)? */
bool overflow_take(void) DOOR(overflow_take);

/* The address at which tasks reach device memory that a client named by `address`. The same address but in guard mode
 * (ANYNPU_GUARD), where what clients hold faults on the host: whoever reads or writes tensor data asks first, once a
 * task and pointer. Cheap; any thread; host addresses come back unchanged. */
void *device_address(const void *address) DOOR(device_address);

/* [address, address + bytes), as clients name it, lies inside one piece of device memory. Any thread. */
bool device_holds(const void *address, size_t bytes) DOOR(device_holds);

/* Device memory of another process, for collectives: the exporter describes a piece of its memory, sends the
 * description by any way, and the importer gets an address that its tasks may use. A peer's device is mapped once and
 * counted; importing more of it costs next to nothing. Both processes run as the same user in the same pid namespace.
 */
struct share {
    int32_t pid, fd, device; /* device: as the machine counts */
    uint64_t offset, bytes, capacity;
};
int share_export(const void *address, size_t bytes, struct share *share) DOOR(share_export);
bool share_possible(const void *address) DOOR(share_possible); /* false: mapped or imported memory */
int share_import(const struct share *share, void **address) DOOR(share_import);
void share_release(const struct share *share) DOOR(share_release);
/* Like share_export, for memory inside one mapping (aclrtMapMem): the physical memory lives until share_drop(). */
int share_hold(const void *address, size_t bytes, struct share *share, void **hold) DOOR(share_hold);
void share_drop(void *hold) DOOR(share_drop);
bool addresses_reserved(const void *base, size_t bytes) DOOR(addresses_reserved); /* lie in one reserved range */

/* ---- tracing (trace.h; the records: anynpu/trace.h) ---- */
/* What is being recorded, a set of 1 << enum anynpu_trace_kind; 0: nothing. */
extern _Atomic uint32_t trace_kinds DOOR(trace_kinds);

/* Is this kind being recorded? One relaxed load; ask before building a record. */
static inline bool trace_wanted(int kind)
{
    return __builtin_expect(atomic_load_explicit(&trace_kinds, memory_order_relaxed) >> kind & 1, 0);
}
/* Id of the text, written into the session's file when it hasn't seen it. */
uint64_t trace_string(const char *text, size_t bytes) DOOR(trace_string);
/* Appends a record whose head is filled in. Any thread; no lock but when a thread's chunk is full. */
void trace_write(const void *record) DOOR(trace_write);
/* Told when aclprofStart and aclprofStop have worked, and at once while profiling runs. Outside locks. */
typedef void (*trace_listener)(bool on, uint64_t types, uint32_t count, const uint32_t *devices);
int trace_listen(trace_listener listener) DOOR(trace_listen);
/* A call of the interface that began at `begin` and ends now; level as MsprofApi has it. */
void trace_api(const char *name, int64_t begin, uint32_t level) DOOR(trace_api);
enum { TRACE_LEVEL_ACL = 20000, TRACE_LEVEL_NODE = 10000, TRACE_LEVEL_HCCL = 5500, TRACE_LEVEL_RUNTIME = 5000 };

/* ---- dumps (dump.c) ---- */
enum { DUMP_IN = 1, DUMP_OUT = 2 };
struct dump_tensor {
    aclDataType dtype;
    aclFormat format;
    int32_t rank;
    const int64_t *dim;
    const void *data; /* contiguous, readable by this thread */
    size_t bytes;
};
struct dump_op {
    const char *type, *name;
    uint32_t in, out;
    const struct dump_tensor *tensor; /* inputs, then outputs */
};
/* What is wanted of operators that run by themselves: a set of DUMP_IN, DUMP_OUT. One relaxed load. */
extern _Atomic uint32_t dump_operators DOOR(dump_operators);
/* From a task; nothing is written when dumping has ended. */
int dump_operator(const struct dump_op *op) DOOR(dump_operator);

/* A model that the configuration chooses, by its file's name or its own; NULL: it is not dumped. */
struct dump_model;
struct dump_model *dump_model_choose(const char *path, const char *name, uint32_t id) DOOR(dump_model_choose);
void dump_model_free(struct dump_model *model) DOOR(dump_model_free); /* none of its tasks is queued any more */
bool dump_model_wants(const struct dump_model *model, const char *layer) DOOR(dump_model_wants); /* NULL: no */
/* From tasks: an execution begins; a layer has run. */
void dump_model_turn(struct dump_model *model) DOOR(dump_model_turn);
int dump_model_layer(struct dump_model *model, const struct dump_op *op, uint32_t task) DOOR(dump_model_layer);

/* Makes the library report a bad state of the process (forked child of a used device…); 0 when all is well.
 * Every public entry that touches the device asks. */
int entry_check(void) DOOR(entry_check);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder. Each thread appends to a chunk of the session's file that it has mapped for itself: no lock, no thread
 * of ours, no buffer to flush. What is written stays when the process dies, and memory is bounded by one chunk a thread
 * however long the session is. A new chunk is taken under `lock`; a session ends by `trace_kinds` becoming 0 and its
 * number changing, so that threads drop their chunk at their next record. A full disk loses records, which are counted.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl_rt.h"
#include "base/futex.h"
#include "base/hash.h"
#include "error.h"
#include "memory.h"

enum { UNIT = ANYNPU_TRACE_UNIT, CHUNK_MAX = 1 << 20, SEEN = 1 << 16, TEXT_MAX = 65000, PROBES = 64 };

_Atomic uint32_t trace_kinds;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static size_t file_bytes, file_limit = SIZE_MAX;
static _Atomic uint64_t devices;
static uint32_t chunks;
static struct anynpu_trace_file *header;
static _Atomic uint32_t session; /* odd while one runs */
static _Atomic uint64_t *seen;   /* string ids of this session, mixed with its number */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static _Thread_local struct {
    char *at, *end, *map;
    size_t bytes;
    uint32_t session, thread;
    uint64_t correlation;
} mine;

static int64_t real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint32_t trace_thread(void)
{
    if (!mine.thread)
        mine.thread = (uint32_t)syscall(SYS_gettid);
    return mine.thread;
}

static void drop_chunk(void)
{
    if (mine.map)
        munmap(mine.map, mine.bytes);
    mine.map = mine.at = mine.end = NULL;
}

static void thread_ends(void *unused)
{
    (void)unused;
    drop_chunk();
}

static void make_key(void)
{
    pthread_key_create(&at_exit, thread_ends);
}

/* Extends the file by a chunk and maps it; false when there is no session or no room. Under lock. */
static bool add_chunk(void)
{
    if (file < 0)
        return false;
    size_t want = mine.session == atomic_load(&session) && mine.bytes ? mine.bytes * 4 : UNIT;
    want = want > CHUNK_MAX ? CHUNK_MAX : want;
    if (file_bytes + want > file_limit)
        return false;
    if (posix_fallocate(file, (off_t)file_bytes, (off_t)want))
        return false; /* written to without room, the mapping would kill the process */
    char *map = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)file_bytes);
    if (map == MAP_FAILED)
        return false;
    file_bytes += want;
    struct anynpu_trace_chunk *c = (struct anynpu_trace_chunk *)map;
    c->bytes = (uint32_t)want;
    c->thread = trace_thread();
    c->order = chunks++;
    prctl(PR_GET_NAME, c->name, 0, 0, 0);
    __atomic_store_n(&c->magic, ANYNPU_TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
    mine.map = map;
    mine.bytes = want;
    mine.at = map + sizeof *c;
    mine.end = map + want;
    mine.session = atomic_load(&session);
    return true;
}

static void *new_chunk(size_t bytes)
{
    int saved = errno;
    bool ours = mine.session == atomic_load(&session);
    drop_chunk();
    if (!ours)
        mine.bytes = 0;
    pthread_once(&once, make_key);
    pthread_setspecific(at_exit, &mine);
    pthread_mutex_lock(&lock);
    bool made = add_chunk();
    if (made && (size_t)(mine.end - mine.at) < bytes) { /* a long text at the begin of a small chunk */
        drop_chunk();
        made = add_chunk();
    }
    if (!made && header)
        __atomic_fetch_add(&header->lost, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    errno = saved;
    if (!made)
        return NULL;
    char *p = mine.at;
    mine.at += bytes;
    return p;
}

/* Room for a record in this thread's chunk, zeroed; NULL: lost. */
static inline void *take(size_t bytes)
{
    char *p = mine.at;
    if (__builtin_expect(
            mine.session != atomic_load_explicit(&session, memory_order_relaxed) || (size_t)(mine.end - p) < bytes, 0))
        return new_chunk(bytes);
    mine.at = p + bytes;
    return p;
}

/* The record becomes readable with its first word. */
static inline void publish(void *record, uint16_t kind, size_t bytes, uint32_t thread)
{
    struct anynpu_trace_head head = {kind, (uint16_t)(bytes / 8), thread};
    uint64_t word;
    memcpy(&word, &head, 8);
    __atomic_store_n((uint64_t *)record, word, __ATOMIC_RELEASE);
}

void trace_write(const void *record)
{
    struct anynpu_trace_head head;
    memcpy(&head, record, sizeof head);
    size_t bytes = head.words * (size_t)8;
    if (bytes <= sizeof head || !trace_wanted(head.kind))
        return;
    char *p = take(bytes);
    if (!p)
        return;
    memcpy(p + 8, (const char *)record + 8, bytes - 8);
    publish(p, head.kind, bytes, head.thread);
}

/* Has this session seen the id? Says yes once only to nobody: two threads may both write the string. */
static bool known(uint64_t id)
{
    uint64_t key = id ^ (uint64_t)atomic_load_explicit(&session, memory_order_relaxed) * 0x9e3779b97f4a7c15u;
    if (!seen || !key)
        return false;
    for (uint32_t i = 0, at = (uint32_t)key; i < PROBES; i++, at++) {
        uint64_t there = atomic_load_explicit(&seen[at % SEEN], memory_order_relaxed);
        if (there == key)
            return true;
        if (there == 0)
            return !atomic_compare_exchange_strong(&seen[at % SEEN], &there, key) && there == key;
    }
    return false; /* full: written again */
}

uint64_t trace_string(const char *text, size_t bytes)
{
    if (!text)
        return 0;
    uint64_t id = text_hash(text, bytes);
    if (known(id) || !atomic_load_explicit(&trace_kinds, memory_order_relaxed))
        return id;
    size_t kept = bytes > TEXT_MAX ? TEXT_MAX : bytes,
           room = (sizeof(struct anynpu_trace_string) + kept + 7) & ~(size_t)7;
    struct anynpu_trace_string *s = take(room);
    if (s) {
        s->id = id;
        s->bytes = (uint32_t)kept;
        memcpy(s + 1, text, kept);
        publish(s, ANYNPU_TRACE_STRING, room, 0);
    }
    return id;
}

struct launched trace_launch(void)
{
    return (struct launched){clock_ns(), mine.correlation, trace_thread()};
}

void trace_task(const struct trace_done *d)
{
    const struct task_detail *detail = d->note->detail;
    const char *name = detail && detail->name ? detail->name : d->note->name;
    if (!name || !(atomic_load_explicit(&devices, memory_order_relaxed) >> (d->device & 63) & 1))
        return;
    uint64_t id = trace_string(name, strlen(name));
    size_t tensors = detail ? (detail->tensor_bytes + 7u) & ~7u : 0, bytes = sizeof(struct anynpu_trace_task) + tensors;
    struct anynpu_trace_task *t = take(bytes);
    if (!t)
        return;
    t->stream = d->stream;
    t->task = d->task;
    t->device = (uint16_t)d->device;
    t->task_class = detail ? detail->task_class : ANYNPU_TASK_KERNEL;
    t->blocks = d->blocks;
    t->name = id;
    t->correlation = d->launch.correlation;
    t->launch = d->launch.when;
    t->begin = d->begin;
    t->end = d->end;
    t->bytes = detail ? detail->bytes : 0;
    t->status = d->status;
    t->tensors = detail ? detail->tensors : 0;
    t->tensor_bytes = detail ? detail->tensor_bytes : 0;
    if (tensors)
        memcpy(t + 1, detail->tensor, detail->tensor_bytes);
    publish(t, ANYNPU_TRACE_TASK, bytes, d->launch.thread);
}

void trace_api(const char *name, int64_t begin, uint32_t level)
{
    uint64_t id = trace_string(name, strlen(name));
    struct anynpu_trace_api *a = take(sizeof *a);
    if (!a)
        return;
    a->name = id;
    a->begin = begin;
    a->end = clock_ns();
    a->level = level;
    publish(a, ANYNPU_TRACE_API, sizeof *a, trace_thread());
}

void trace_memory(int device, const void *address, int64_t change)
{
    struct anynpu_trace_memory m = {.head = {ANYNPU_TRACE_MEMORY, sizeof m / 8, trace_thread()},
                                    .time = clock_ns(),
                                    .address = (uint64_t)(uintptr_t)address,
                                    .change = change,
                                    .device = (uint16_t)device,
                                    .memory_kind = ANYNPU_MEMORY_RUNTIME};
    struct device *d = device_get(device);
    size_t free = 0, total = 0, peak = 0;
    if (d)
        memory_info(d, &free, &total, &peak);
    m.reserved = total - free;
    trace_write(&m);
}

/* ---- sessions ---- */
static int open_file(const char *path, uint32_t kinds)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0)
        return fail(ACL_ERROR_INVALID_FILE, "cannot write the trace %s: %s", path, strerror(errno));
    int status = posix_fallocate(fd, 0, UNIT);
    void *map = status ? MAP_FAILED : mmap(NULL, UNIT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        close(fd);
        return fail(ACL_ERROR_INVALID_FILE, "no room for the trace %s: %s", path, strerror(status ? status : errno));
    }
    if (!seen) {
        void *p = mmap(NULL, SEEN * sizeof *seen, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        seen = p == MAP_FAILED ? NULL : p;
    } else {
        madvise((void *)seen, SEEN * sizeof *seen, MADV_DONTNEED);
    }
    header = map;
    file = fd;
    file_bytes = UNIT;
    chunks = 0;
    const char *rank = getenv("RANK"), *soc = aclrtGetSocName();
    *header = (struct anynpu_trace_file){
        .magic = ANYNPU_TRACE_MAGIC,
        .version = ANYNPU_TRACE_VERSION,
        .bytes = sizeof *header,
        .pid = (uint32_t)getpid(),
        .kinds = kinds,
        .mono_ns = clock_ns(),
        .real_ns = real_ns(),
        .rank = rank && *rank ? strtoull(rank, NULL, 10) : UINT64_MAX,
    };
    strncpy(header->soc, soc ? soc : "", sizeof header->soc - 1);
    return ACL_SUCCESS;
}

void trace_limit(size_t bytes)
{
    pthread_mutex_lock(&lock);
    file_limit = bytes;
    pthread_mutex_unlock(&lock);
}

int trace_start(const char *path, uint32_t kinds)
{
    return trace_start_devices(path, kinds, UINT64_MAX);
}

int trace_start_devices(const char *path, uint32_t kinds, uint64_t which)
{
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    int status = file >= 0 ? fail(ACL_ERROR_PROF_ALREADY_RUN, "a profiling session is running already")
                           : open_file(path, kinds | 1u << ANYNPU_TRACE_STRING);
    if (!status) {
        atomic_store(&devices, which);
        atomic_fetch_add(&session, 1);
        atomic_store(&trace_kinds, kinds | 1u << ANYNPU_TRACE_STRING);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int trace_stop(void)
{
    pthread_mutex_lock(&lock);
    if (file < 0) {
        pthread_mutex_unlock(&lock);
        return fail(ACL_ERROR_PROF_NOT_RUN, "no profiling session is running");
    }
    atomic_store(&trace_kinds, 0);
    atomic_fetch_add(&session, 1);
    header->end_mono_ns = clock_ns();
    header->end_real_ns = real_ns();
    munmap(header, UNIT);
    close(file);
    header = NULL;
    file = -1;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

/* The child's chunk is the parent's: it records nothing. */
void trace_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    atomic_store(&trace_kinds, 0);
    atomic_fetch_add(&session, 1);
    mine.thread = 0;
    drop_chunk();
    if (file >= 0)
        close(file);
    file = -1;
    header = NULL;
}

/* ---- for clients, by the extension table ---- */
static void correlate(uint64_t id)
{
    mine.correlation = id;
}

static uint64_t correlation(void)
{
    return mine.correlation;
}

const struct anynpu_trace_api_table trace_table = {
    .kinds = (const volatile uint32_t *)&trace_kinds,
    .now = clock_ns,
    .string = trace_string,
    .write = trace_write,
    .correlate = correlate,
    .correlation = correlation,
    .start = trace_start,
    .stop = trace_stop,
};

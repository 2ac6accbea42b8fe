/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' marks and ranges. A stamp is a text; recording one costs what a record costs, and one load when nothing is
 * recorded. Nested ranges are a stack of the thread; ranges that cross threads are in one table under `lock`. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_prof.h"
#include "base/futex.h"
#include "base/hash.h"
#include "runtime/door.h"

enum { TEXT_MAX = 512, DEPTH = 256, RANGES = 1024 };

struct stamp {
    uint32_t magic, bytes;
    char text[TEXT_MAX];
};
enum { STAMP = 0x53544d50 };

static _Thread_local struct {
    uint64_t text[DEPTH];
    int64_t begin[DEPTH];
    int depth;
} stack;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range {
    uint64_t text;
    int64_t begin;
    uint32_t id; /* 0: free */
} ranges[RANGES];
static uint32_t next_id;

static void record(uint64_t text, int64_t begin, int64_t end)
{
    struct anynpu_trace_mark m = {
        .head = {ANYNPU_TRACE_MARK, sizeof m / 8, 0}, .text = text, .begin = begin, .end = end, .task = UINT32_MAX};
    trace_write(&m);
}

static struct stamp *get(void *stamp)
{
    struct stamp *s = stamp;
    if (s && s->magic == STAMP)
        return s;
    fail(ACL_ERROR_INVALID_PARAM, s ? "the stamp was destroyed" : "the stamp must not be NULL");
    return NULL;
}

static uint64_t text_of(const struct stamp *s)
{
    return trace_string(s->text, s->bytes);
}

void *aclprofCreateStamp(void)
{
    struct stamp *s = calloc(1, sizeof *s);
    if (s)
        s->magic = STAMP;
    else
        fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
    return s;
}

void aclprofDestroyStamp(void *stamp)
{
    struct stamp *s = stamp ? get(stamp) : NULL;
    if (s) {
        s->magic = 0;
        free(s);
    }
}

aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen)
{
    struct stamp *s = get(stamp);
    if (!s)
        return ACL_ERROR_INVALID_PARAM;
    if (!msg || msgLen == 0 || msgLen >= TEXT_MAX)
        return fail(ACL_ERROR_INVALID_PARAM, "a message has 1 to %d bytes, not %u", TEXT_MAX - 1, msgLen);
    memcpy(s->text, msg, msgLen);
    s->bytes = (uint32_t)strnlen(msg, msgLen);
    return ACL_SUCCESS;
}

aclError aclprofMark(void *stamp)
{
    struct stamp *s = get(stamp);
    if (!s)
        return ACL_ERROR_INVALID_PARAM;
    if (trace_wanted(ANYNPU_TRACE_MARK)) {
        int64_t now = clock_ns();
        record(text_of(s), now, now);
    }
    return ACL_SUCCESS;
}

aclError aclprofPush(void *stamp)
{
    struct stamp *s = get(stamp);
    if (!s)
        return ACL_ERROR_INVALID_PARAM;
    if (stack.depth >= DEPTH)
        return fail(ACL_ERROR_STORAGE_OVER_LIMIT, "more than %d ranges are nested", DEPTH);
    stack.text[stack.depth] = text_of(s);
    stack.begin[stack.depth++] = clock_ns();
    return ACL_SUCCESS;
}

aclError aclprofPop(void)
{
    if (stack.depth == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "aclprofPop without aclprofPush in this thread");
    stack.depth--;
    if (trace_wanted(ANYNPU_TRACE_MARK))
        record(stack.text[stack.depth], stack.begin[stack.depth], clock_ns());
    return ACL_SUCCESS;
}

aclError aclprofRangeStart(void *stamp, uint32_t *rangeId)
{
    struct stamp *s = get(stamp);
    if (!s || !rangeId)
        return s ? fail(ACL_ERROR_INVALID_PARAM, "rangeId must not be NULL") : ACL_ERROR_INVALID_PARAM;
    uint64_t text = text_of(s);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < RANGES && ranges[i].id)
        i++;
    if (i < RANGES) {
        next_id = next_id == UINT32_MAX ? 1 : next_id + 1;
        ranges[i] = (struct range){text, clock_ns(), next_id};
        *rangeId = next_id;
    }
    pthread_mutex_unlock(&lock);
    return i < RANGES ? ACL_SUCCESS : fail(ACL_ERROR_STORAGE_OVER_LIMIT, "%d ranges are open already", RANGES);
}

aclError aclprofRangeStop(uint32_t rangeId)
{
    struct range found = {0};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < RANGES && rangeId && !found.id; i++)
        if (ranges[i].id == rangeId) {
            found = ranges[i];
            ranges[i].id = 0;
        }
    pthread_mutex_unlock(&lock);
    if (!found.id)
        return fail(ACL_ERROR_INVALID_PARAM, "range %u is not open", rangeId);
    if (trace_wanted(ANYNPU_TRACE_MARK))
        record(found.text, found.begin, clock_ns());
    return ACL_SUCCESS;
}

static int reached(void *arg)
{
    struct anynpu_trace_mark *m = arg;
    m->begin = m->end = clock_ns();
    trace_write(m);
    return ACL_SUCCESS;
}

aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream)
{
    if (!msg || msgLen == 0 || msgLen >= TEXT_MAX)
        return fail(ACL_ERROR_INVALID_PARAM, "a message has 1 to %d bytes, not %zu", TEXT_MAX - 1, msgLen);
    if (!trace_wanted(ANYNPU_TRACE_MARK))
        return ACL_SUCCESS;
    int64_t now = clock_ns();
    uint64_t text = trace_string(msg, strnlen(msg, msgLen));
    record(text, now, now);
    struct anynpu_trace_mark *m = malloc(sizeof *m);
    if (!m)
        return fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
    *m = (struct anynpu_trace_mark){.head = {ANYNPU_TRACE_MARK, sizeof *m / 8, 0},
                                    .text = text,
                                    .domain = trace_string("device", 6),
                                    .task = UINT32_MAX};
    return stream_enqueue(stream, &(struct task){reached, free, m, 0, {NULL, NULL, NULL}});
}

uint64_t aclprofStr2Id(const char *message)
{
    if (!message) {
        fail(ACL_ERROR_INVALID_PARAM, "message must not be NULL");
        return 0;
    }
    return trace_string(message, strlen(message));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills. Everything is checked on the caller's thread: sizes against destMax, device addresses against their
 * blocks. Large ones are spread over the compute pool. An asynchronous copy from or to host memory that is not pinned
 * is finished (or, when small, its source is copied) before the call returns, because the client may reuse that memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "capture.h"
#include "error.h"
#include "memory.h"
#include "stream.h"

enum { GRAIN = 256 << 10, STAGED = 64 << 10 };

struct copy {
    char *dst;
    const char *src;
    size_t dst_pitch, src_pitch, width, height; /* height 1: plain */
    uint32_t value;                             /* fills: four bytes */
    bool fill;
    struct task_detail detail;
};

static void copy_piece(void *arg, int64_t begin, int64_t end)
{
    const struct copy *c = arg;
    memmove(c->dst + begin, c->src + begin, (size_t)(end - begin));
}

static void fill_piece(void *arg, int64_t begin, int64_t end)
{
    const struct copy *c = arg;
    uint32_t v = c->value;
    if (v == (v & 0xff) * 0x01010101u) {
        memset(c->dst + begin, (int)(v & 0xff), (size_t)(end - begin));
        return;
    }
    for (int64_t i = begin; i < end; i++) /* compilers make vectors of it */
        c->dst[i] = (char)(v >> 8 * (i & 3));
}

static bool overlap(const struct copy *c)
{
    return (uintptr_t)c->dst - (uintptr_t)c->src < c->width || (uintptr_t)c->src - (uintptr_t)c->dst < c->width;
}

static void run_copy(const struct copy *c)
{
    struct copy row = *c;
    for (size_t y = 0; y < c->height; y++) {
        row.dst = c->dst + y * c->dst_pitch;
        if (c->fill) {
            parallel((int64_t)c->width, GRAIN, fill_piece, &row);
        } else {
            row.src = c->src + y * c->src_pitch;
            if (c->width <= GRAIN || overlap(&row))
                memmove(row.dst, row.src, c->width);
            else
                parallel((int64_t)c->width, GRAIN, copy_piece, &row);
        }
    }
}

static int run_task(void *arg)
{
    run_copy(arg);
    return ACL_SUCCESS;
}

/* Span of a side with rows `pitch` apart; false when it overflows. */
static bool span(size_t width, size_t pitch, size_t height, size_t *bytes)
{
    return !__builtin_mul_overflow(pitch, height - 1, bytes) && !__builtin_add_overflow(*bytes, width, bytes);
}

static int check_side(const char *side, const void *p, size_t bytes, bool device)
{
    if (device && !memory_is_device(p, bytes)) {
        struct range r = memory_find(p);
        if (r.kind == RANGE_NONE || r.kind == RANGE_HOST)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "%s %p is not device memory", side, p);
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes at %p exceed its block of %zu bytes by %zu", side, bytes,
                    p, r.size, (size_t)((const char *)p - r.base) + bytes - r.size);
    }
    if (!device && memory_guarded() && memory_find(p).kind == RANGE_DEVICE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s %p is device memory, but the copy's kind says host", side, p);
    return ACL_SUCCESS;
}

/* Which sides are device memory, by kind; DEFAULT looks the addresses up. */
static int sides(aclrtMemcpyKind kind, const void *dst, const void *src, bool *to, bool *from)
{
    *to = *from = false;
    switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
        *to = *from = false;
        return ACL_SUCCESS;
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
        *to = true, *from = false;
        return ACL_SUCCESS;
    case ACL_MEMCPY_DEVICE_TO_HOST:
        *to = false, *from = true;
        return ACL_SUCCESS;
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
        *to = *from = true;
        return ACL_SUCCESS;
    case ACL_MEMCPY_DEFAULT:
        *to = memory_find(dst).kind == RANGE_DEVICE;
        *from = memory_find(src).kind == RANGE_DEVICE;
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "copy kind %d is unknown", (int)kind);
}

static int check_copy(struct copy *c, aclrtMemcpyKind kind, bool *to, bool *from)
{
    size_t dst_bytes, src_bytes;
    if (!c->dst || !c->src)
        return fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL", c->dst ? "src" : "dst");
    if (!span(c->width, c->dst_pitch, c->height, &dst_bytes) || !span(c->width, c->src_pitch, c->height, &src_bytes))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu rows of %zu bytes are too many", c->height, c->width);
    TRY(sides(kind, c->dst, c->src, to, from));
    TRY(check_side("dst", c->dst, dst_bytes, *to));
    TRY(check_side("src", c->src, src_bytes, *from));
    c->dst = memory_usable(c->dst);
    c->src = memory_usable(c->src);
    return ACL_SUCCESS;
}

/* Rough time on one core: 10 GB/s and a little. */
static uint64_t work_of(const struct copy *c)
{
    return 50 + (uint64_t)c->width * c->height / 10;
}

/* Pinned host memory stays as it is until the client synchronises. */
static bool pinned(const void *p)
{
    return memory_find(p).kind != RANGE_NONE;
}

static int check_pageable(aclrtStream stream)
{
    struct stream *s;
    TRY(stream_get(stream, &s));
    if (capture_has(s))
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "Asynchronous copy task failed. Reason: The pageable memory copy task does not support graph capture: "
            "host memory must come from aclrtMallocHost or be registered");
    return capture_check_unsafe("Asynchronous memory copy");
}

/* What the profiler calls it. */
static struct task_detail detail_of(const struct copy *c, bool to, bool from)
{
    static const char *const name[2][2] = {{"MemcpyHtoH", "MemcpyDtoH"}, {"MemcpyHtoD", "MemcpyDtoD"}};
    return (struct task_detail){.task_class = c->fill ? ANYNPU_TASK_FILL : ANYNPU_TASK_COPY,
                                .bytes = (uint64_t)c->width * c->height,
                                .name = c->fill ? "Memset" : name[to][from]};
}

/* On the caller's thread: done when the call returns. */
static int run_now(const struct copy *c, bool to, bool from)
{
    if (!trace_wanted(ANYNPU_TRACE_TASK)) {
        run_copy(c);
        return ACL_SUCCESS;
    }
    struct task_detail detail = detail_of(c, to, from);
    struct task_note note = {.detail = &detail};
    struct launched launch = trace_launch();
    run_copy(c);
    struct device *device = device_current();
    trace_task(&(struct trace_done){&note, launch, UINT32_MAX, UINT32_MAX, 1, device ? device->id : 0, 0, launch.when,
                                    clock_ns()});
    return ACL_SUCCESS;
}

static int enqueue(struct copy *c, bool to, bool from, aclrtStream stream)
{
    bool wait = !to && !pinned(c->dst), stage = !from && !c->fill && !pinned(c->src);
    if ((wait || stage) && __builtin_expect(capture_any(), 0))
        TRY(check_pageable(stream));
    size_t bytes = stage && c->height == 1 && c->width <= STAGED ? c->width : 0;
    struct copy *task = malloc(sizeof *task + bytes);
    if (!task)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    *task = *c;
    if (bytes) {
        memcpy(task + 1, c->src, bytes);
        task->src = (const char *)(task + 1);
    }
    const char *name = c->fill ? "MemsetAsync" : "MemcpyAsync";
    task->detail = detail_of(c, to, from);
    TRY(stream_enqueue(stream, &(struct task){run_task, free, task, work_of(c), {name, NULL, &task->detail}}));
    if (!wait && (!stage || bytes))
        return ACL_SUCCESS;
    struct stream *s;
    TRY(stream_get(stream, &s));
    return stream_wait(s, -1);
}

static int copy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, bool async,
                aclrtStream stream)
{
    if (!context_current())
        return fail_code();
    if (count > destMax)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "count %zu is greater than destMax %zu", count, destMax);
    if (count == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "count must not be 0");
    struct copy c = {.dst = dst, .src = src, .width = count, .height = 1};
    bool to = false, from = false;
    TRY(check_copy(&c, kind, &to, &from));
    if (async)
        return enqueue(&c, to, from, stream);
    TRY(capture_check_unsafe("MemCopySync"));
    return run_now(&c, to, from);
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    TRACE_CALL();
    return copy(dst, destMax, src, count, kind, false, NULL);
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream)
{
    TRACE_CALL();
    return copy(dst, destMax, src, count, kind, true, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream)
{
    return copy(dst, destMax, src, count, kind, true, stream);
}

static int copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                   aclrtMemcpyKind kind, bool async, aclrtStream stream)
{
    if (!context_current())
        return fail_code();
    if (width == 0 || height == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "width %zu and height %zu must not be 0", width, height);
    if (width > dpitch || width > spitch)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "width %zu is greater than a pitch (dst %zu, src %zu)", width, dpitch,
                    spitch);
    struct copy c = {dst, src, dpitch, spitch, width, height, 0, false, {0}};
    bool to = false, from = false;
    TRY(check_copy(&c, kind, &to, &from));
    if (async)
        return enqueue(&c, to, from, stream);
    TRY(capture_check_unsafe("MemCopy2DSync"));
    return run_now(&c, to, from);
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, false, NULL);
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, true, stream);
}

static int fill(void *p, size_t max, uint32_t value, size_t bytes, bool async, aclrtStream stream)
{
    if (!context_current())
        return fail_code();
    CHECK_ARG(p);
    if (bytes > max)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes are more than the %zu that the memory holds", bytes, max);
    if (bytes == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the number of bytes must not be 0");
    struct range r = memory_find(p);
    bool device = r.kind != RANGE_NONE && r.kind != RANGE_HOST;
    TRY(check_side("devPtr", p, bytes, device));
    struct copy c = {.dst = memory_usable(p), .width = bytes, .height = 1, .value = value, .fill = true};
    if (async)
        return enqueue(&c, device, false, stream);
    TRY(capture_check_unsafe("MemSetSync"));
    return run_now(&c, device, false);
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    return fill(devPtr, maxCount, (uint32_t)(value & 0xff) * 0x01010101u, count, false, NULL);
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream)
{
    TRACE_CALL();
    return fill(devPtr, maxCount, (uint32_t)(value & 0xff) * 0x01010101u, count, true, stream);
}

static int fill_words(void *ptr, size_t memSize, uint32_t value, size_t n, bool async, aclrtStream stream)
{
    if ((uintptr_t)ptr % 4)
        return fail(ACL_ERROR_RT_ADDR_UNALIGNED, "address %p is not a multiple of 4", ptr);
    if (n > SIZE_MAX / 4)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu words are too many", n);
    return fill(ptr, memSize, value, n * 4, async, stream);
}

aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N)
{
    return fill_words(ptr, memSize, value, N, false, NULL);
}

aclError aclrtMemsetD32Async(void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream)
{
    return fill_words(ptr, memSize, value, N, true, stream);
}

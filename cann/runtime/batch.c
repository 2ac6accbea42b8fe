/* SPDX-License-Identifier: BSD-3-Clause */
/* Many copies by one call, reductions of memory, cache hints. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "error.h"
#include "memory.h"
#include "stream.h"

static int check_batch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t n, aclrtMemcpyBatchAttr *attrs,
                       size_t *indexes, size_t attr_count, size_t *bad)
{
    *bad = SIZE_MAX;
    if (!dsts || !destMaxs || !srcs || !sizes || !attrs || !indexes)
        return fail(ACL_ERROR_INVALID_PARAM, "an array of the batch is NULL");
    if (n == 0 || attr_count == 0 || attr_count > n || indexes[0] != 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%zu copies with %zu attributes: the first attribute must hold from copy 0 on", n, attr_count);
    for (size_t a = 1; a < attr_count; a++)
        if (indexes[a] <= indexes[a - 1] || indexes[a] >= n)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute %zu begins at copy %zu, which is out of order", a,
                        indexes[a]);
    for (size_t i = 0, a = 0; i < n; i++) {
        if (a + 1 < attr_count && indexes[a + 1] == i)
            a++;
        bool to = attrs[a].dstLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE,
             from = attrs[a].srcLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
        *bad = i;
        if (to == from)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "copy %zu is neither host to device nor device to host", i);
        if (sizes[i] == 0 || sizes[i] > destMaxs[i])
            return fail(ACL_ERROR_RT_PARAM_INVALID, "copy %zu: %zu bytes into %zu", i, sizes[i], destMaxs[i]);
        if (!dsts[i] || !srcs[i] || !memory_is_device(to ? dsts[i] : srcs[i], sizes[i]))
            return fail(ACL_ERROR_RT_PARAM_INVALID, "copy %zu: %zu bytes at %p are not device memory", i, sizes[i],
                        to ? dsts[i] : srcs[i]);
    }
    *bad = SIZE_MAX;
    return ACL_SUCCESS;
}

static int batch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t n, aclrtMemcpyBatchAttr *attrs,
                 size_t *indexes, size_t attr_count, size_t *failIndex, bool async, aclrtStream stream)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    size_t bad = SIZE_MAX;
    int status = check_batch(dsts, destMaxs, srcs, sizes, n, attrs, indexes, attr_count, &bad);
    for (size_t i = 0; i < n && !status; i++)
        status = async ? aclrtMemcpyAsync(dsts[i], destMaxs[i], srcs[i], sizes[i], ACL_MEMCPY_DEFAULT, stream)
                       : aclrtMemcpy(dsts[i], destMaxs[i], srcs[i], sizes[i], ACL_MEMCPY_DEFAULT);
    if (failIndex)
        *failIndex = bad;
    return status;
}

aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex)
{
    CHECK_ARG(failIndex);
    return batch(dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex, false, NULL);
}

aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                            aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs)
{
    return batch(dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, NULL, false, NULL);
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
                               aclrtStream stream)
{
    CHECK_ARG(failIndex);
    return batch(dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex, true, stream);
}

aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                                 aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, aclrtStream stream)
{
    return batch(dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, NULL, true, stream);
}

struct reduce {
    char *dst;
    const char *src;
    size_t count; /* elements */
    aclrtReduceKind kind;
    aclDataType type;
};

static double combine(aclrtReduceKind kind, double a, double b)
{
    switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM:
        return a + b;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX:
        return a > b ? a : b;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN:
        return a < b ? a : b;
    default:
        return a == b;
    }
}

static double load(const char *p, aclDataType type)
{
    switch (type) {
    case ACL_FLOAT16:
        return f16_to_float(*(const uint16_t *)(const void *)p);
    case ACL_BF16:
        return bf16_to_float(*(const uint16_t *)(const void *)p);
    case ACL_FLOAT:
        return *(const float *)(const void *)p;
    case ACL_INT8:
        return *(const int8_t *)p;
    case ACL_INT16:
        return *(const int16_t *)(const void *)p;
    case ACL_UINT32:
        return *(const uint32_t *)(const void *)p;
    default:
        return *(const int32_t *)(const void *)p;
    }
}

/* Integers wrap, as a device's adders do. */
static void store(char *p, aclDataType type, double v)
{
    switch (type) {
    case ACL_FLOAT16:
        *(uint16_t *)(void *)p = f16_from_float((float)v);
        break;
    case ACL_BF16:
        *(uint16_t *)(void *)p = bf16_from_float((float)v);
        break;
    case ACL_FLOAT:
        *(float *)(void *)p = (float)v;
        break;
    case ACL_INT8:
        *(int8_t *)p = (int8_t)(int64_t)v;
        break;
    case ACL_INT16:
        *(int16_t *)(void *)p = (int16_t)(int64_t)v;
        break;
    default:
        *(uint32_t *)(void *)p = (uint32_t)(int64_t)v;
    }
}

static int run_reduce(void *arg)
{
    const struct reduce *r = arg;
    char *dst = memory_usable(r->dst);
    const char *src = memory_usable(r->src);
    size_t size = dtype_size(r->type);
    for (size_t i = 0; i < r->count; i++)
        store(dst + i * size, r->type, combine(r->kind, load(dst + i * size, r->type), load(src + i * size, r->type)));
    return ACL_SUCCESS;
}

aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                          aclrtStream stream, void *reserve)
{
    CHECK_ARG(dst);
    CHECK_ARG(src);
    if (reserve)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "reserve must be NULL");
    bool known = type == ACL_INT8 || type == ACL_INT16 || type == ACL_INT32 || type == ACL_UINT32 ||
                 type == ACL_FLOAT16 || type == ACL_FLOAT || type == ACL_BF16;
    if (!known)
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "The current system or device does not support reducing %s",
                    dtype_name(type));
    if (kind < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || kind > ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "reduce kind %d is unknown", (int)kind);
    if (count == 0 || count % dtype_size(type) || !memory_is_device(dst, count) || !memory_is_device(src, count))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes of %s at %p and %p are not device memory of whole elements",
                    (unsigned long long)count, dtype_name(type), dst, src);
    struct reduce *r = malloc(sizeof *r);
    if (!r)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    *r = (struct reduce){dst, src, count / dtype_size(type), kind, type};
    return stream_enqueue(stream, &(struct task){run_reduce, free, r, r->count * 4, {"ReduceAsync", NULL}});
}

struct hint {
    const char *src;
    size_t size;
    aclrtCmoType type;
};

/* Host caches are coherent: writing back and dropping need nothing; fetching ahead does what it says. */
static int run_hint(void *arg)
{
    const struct hint *h = arg;
    const char *p = memory_usable(h->src);
    for (size_t i = 0; h->type == ACL_RT_CMO_TYPE_PREFETCH && i < h->size; i += 64)
        __builtin_prefetch(p + i);
    return ACL_SUCCESS;
}

aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream)
{
    CHECK_ARG(src);
    if ((int)cmoType < 0 || cmoType > ACL_RT_CMO_TYPE_FLUSH)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "cache operation %d is unknown", (int)cmoType);
    if (size == 0 || !memory_is_device(src, size))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p are not device memory", size, src);
    struct hint *h = malloc(sizeof *h);
    if (!h)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    *h = (struct hint){src, size, cmoType};
    return stream_enqueue(stream, &(struct task){run_hint, free, h, size / 64, {"CmoAsync", NULL}});
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The public entries for memory: device memory, pinned host memory, registered host memory, what an address is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "anynpu/extension.h"
#include "context.h"
#include "error.h"
#include "fault.h"
#include "memory.h"
#include "stream.h"

static int check_policy(aclrtMemMallocPolicy policy)
{
    uint32_t kinds = ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;
    if (((uint32_t)policy & ~kinds) > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "memory policy %d is unknown", (int)policy);
    return ACL_SUCCESS;
}

static int alloc(void **out, size_t size, aclrtMemMallocPolicy policy, const char *name)
{
    if (!out)
        return fail(ACL_ERROR_INVALID_PARAM, "devPtr must not be NULL in %s", name);
    *out = NULL;
    if (size == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "size must not be 0 in %s", name);
    TRY(check_policy(policy));
    struct device *d = device_current();
    if (!d)
        return fail_code();
    TRY(memory_alloc(d, size, 0, out));
    if (trace_wanted(ANYNPU_TRACE_MEMORY))
        trace_memory(d->id, *out, (int64_t)memory_find(*out).size);
    return ACL_SUCCESS;
}

static int give_back(void *memory)
{
    if (!trace_wanted(ANYNPU_TRACE_MEMORY))
        return memory_free(memory);
    struct range r = memory_find(memory);
    int status = memory_free(memory);
    if (!status)
        trace_memory(r.device, memory, -(int64_t)r.size);
    return status;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    TRACE_CALL();
    return alloc(devPtr, size, policy, __func__);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    TRACE_CALL();
    return alloc(devPtr, size, policy, __func__);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    return alloc(devPtr, size, policy, __func__);
}

static int check_config(const aclrtMallocConfig *cfg, const char *name)
{
    if (!cfg)
        return ACL_SUCCESS;
    if (cfg->numAttrs && !cfg->attrs)
        return fail(ACL_ERROR_INVALID_PARAM, "attrs must not be NULL in %s", name);
    for (size_t i = 0; i < cfg->numAttrs; i++) {
        const aclrtMallocAttribute *a = &cfg->attrs[i];
        if (a->attr > ACL_RT_MEM_ATTR_VA_FLAG)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute %d is unknown in %s", (int)a->attr, name);
        struct device *d = a->attr == ACL_RT_MEM_ATTR_DEVICE_ID ? device_current() : NULL;
        if (d && (uint32_t)d->id != a->value.deviceId)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute device %u is not the current device %d in %s",
                        a->value.deviceId, d->id, name);
    }
    return ACL_SUCCESS;
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg)
{
    TRY(check_config(cfg, __func__));
    return alloc(devPtr, size, policy, __func__);
}

aclError aclrtFree(void *devPtr)
{
    CHECK_ARG(devPtr);
    TRACE_CALL();
    TRY(entry_check());
    return give_back(devPtr);
}

aclError aclrtFreeWithDevSync(void *devPtr)
{
    CHECK_ARG(devPtr);
    TRY(entry_check());
    int status = aclrtSynchronizeDevice();
    int freed = give_back(devPtr);
    return status ? status : freed;
}

/* Host memory: whole pages, so that it can be registered and shared; known by its range. */
static int alloc_host(void **out, size_t size, const char *name)
{
    if (!out)
        return fail(ACL_ERROR_INVALID_PARAM, "hostPtr must not be NULL in %s", name);
    *out = NULL;
    if (size == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "size must not be 0 in %s", name);
    if (!context_current())
        return fail_code();
    size_t bytes = (size + 4095) / 4096 * 4096;
    void *p = size > SIZE_MAX / 2 || fault_malloc(0)
                  ? MAP_FAILED
                  : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || range_add(RANGE_HOST, -1, p, bytes, 0)) {
        if (p != MAP_FAILED)
            munmap(p, bytes);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot allocate %zu bytes", size);
    }
    *out = p;
    return ACL_SUCCESS;
}

aclError aclrtMallocHost(void **hostPtr, size_t size)
{
    TRACE_CALL();
    return alloc_host(hostPtr, size, __func__);
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg)
{
    TRY(check_config(cfg, __func__));
    return alloc_host(ptr, size, __func__);
}

aclError aclrtFreeHost(void *hostPtr)
{
    CHECK_ARG(hostPtr);
    TRY(entry_check());
    struct range r = memory_find(hostPtr);
    if (r.kind != RANGE_HOST || r.base != hostPtr || !range_remove(hostPtr, RANGE_HOST))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the beginning of memory from aclrtMallocHost (freed twice?)",
                    hostPtr);
    munmap(hostPtr, r.size);
    return ACL_SUCCESS;
}

aclError aclrtFreeHostWithDevSync(void *hostPtr)
{
    CHECK_ARG(hostPtr);
    TRY(entry_check());
    int status = aclrtSynchronizeDevice();
    int freed = aclrtFreeHost(hostPtr);
    return status ? status : freed;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total)
{
    CHECK_ARG(free);
    CHECK_ARG(total);
    if (attr > ACL_MEM_P2P_HUGE1G)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "memory attribute %d is unknown", (int)attr);
    struct device *d = device_current();
    if (!d)
        return fail_code();
    size_t peak;
    memory_info(d, free, total, &peak);
    return ACL_SUCCESS;
}

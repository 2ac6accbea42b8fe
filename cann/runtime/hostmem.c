/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory that the device may use, and what an address is. The device computes in this process, so registered host
 * memory has one address for both sides. */
#include <string.h>

#include "context.h"
#include "error.h"
#include "memory.h"

enum { PAGE = 4096 };

static int add(void *ptr, uint64_t size)
{
    if (!context_current())
        return fail_code();
    if (size == 0 || size > SIZE_MAX / 2)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes cannot be registered", (unsigned long long)size);
    struct range r = memory_find(ptr);
    if (r.kind == RANGE_HOST) /* pinned already; it keeps its owner */
        return r.size - (size_t)((char *)ptr - r.base) >= size
                   ? ACL_SUCCESS
                   : fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes at %p exceed pinned memory of %zu bytes",
                          (unsigned long long)size, ptr, r.size);
    int status = range_add(RANGE_REGISTERED, local()->context->device->id, ptr, size, 0);
    if (status == ACL_ERROR_RT_PARAM_INVALID)
        return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "some of the %llu bytes at %p are registered already",
                    (unsigned long long)size, ptr);
    return status ? fail(status, "the host is out of memory") : ACL_SUCCESS;
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr)
{
    CHECK_ARG(ptr);
    CHECK_ARG(devPtr);
    if ((int)type != ACL_HOST_REGISTER_MAPPED)
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "The current system or device does not support host register type %d", (int)type);
    TRY(add(ptr, size));
    *devPtr = ptr;
    return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag)
{
    CHECK_ARG(ptr);
    if (flag & ~(uint32_t)(ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED) || !flag)
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "flag 0x%x is not a combination of ACL_HOST_REG_MAPPED and ACL_HOST_REG_PINNED", flag);
    return add(ptr, size);
}

aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag)
{
    CHECK_ARG(pHost);
    CHECK_ARG(pDevice);
    if (flag)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag must be 0, not %u", flag);
    TRY(entry_check());
    struct range r = memory_find(pHost);
    if (r.kind != RANGE_REGISTERED && r.kind != RANGE_HOST)
        return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not registered host memory", pHost);
    *pDevice = pHost;
    return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void *ptr)
{
    CHECK_ARG(ptr);
    TRY(entry_check());
    if (range_remove(ptr, RANGE_REGISTERED) || memory_find(ptr).kind == RANGE_HOST)
        return ACL_SUCCESS;
    return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p does not begin registered host memory", ptr);
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes)
{
    CHECK_ARG(ptr);
    CHECK_ARG(attributes);
    TRY(entry_check());
    struct range r = memory_find(ptr);
    memset(attributes, 0, sizeof *attributes);
    attributes->pageSize = PAGE;
    attributes->location.type = r.kind == RANGE_DEVICE ? ACL_MEM_LOCATION_TYPE_DEVICE
                                : r.kind == RANGE_NONE ? ACL_MEM_LOCATION_TYPE_UNREGISTERED
                                                       : ACL_MEM_LOCATION_TYPE_HOST;
    attributes->location.id = r.kind == RANGE_DEVICE ? (uint32_t)r.device : 0;
    return ACL_SUCCESS;
}

aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize)
{
    CHECK_ARG(ptr);
    TRY(entry_check());
    struct range r = memory_find(ptr);
    if (r.kind != RANGE_DEVICE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not device memory", ptr);
    if (pbase)
        *pbase = r.base;
    if (psize)
        *psize = r.size;
    return ACL_SUCCESS;
}

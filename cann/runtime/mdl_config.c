/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations: how a model is loaded, how it is executed. Each attribute is a row {size of its value, what becomes
 * of it}; what a software device has no use for is refused by name. Plain data of the client. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "model.h"

struct aclmdlConfigHandle {
    uint64_t set; /* 1 << attribute */
    size_t load_type, bytes, work_bytes, weight_bytes;
    int32_t priority;
    char *path;
    void *data, *work, *weight;
    size_t ignored; /* values that change nothing here: where memory comes from, which inputs share it */
};

struct aclmdlExecConfigHandle {
    int32_t stream_timeout, event_timeout, priority;
};

enum kind { REFUSED, INT32, SIZE, POINTER, PATH };

#define AT(field) offsetof(struct aclmdlConfigHandle, field)

static const struct attribute {
    enum kind kind;
    size_t at;
} attributes[] = {
    [ACL_MDL_PRIORITY_INT32] = {INT32, AT(priority)},
    [ACL_MDL_LOAD_TYPE_SIZET] = {SIZE, AT(load_type)},
    [ACL_MDL_PATH_PTR] = {PATH, AT(path)},
    [ACL_MDL_MEM_ADDR_PTR] = {POINTER, AT(data)},
    [ACL_MDL_MEM_SIZET] = {SIZE, AT(bytes)},
    [ACL_MDL_WEIGHT_ADDR_PTR] = {POINTER, AT(weight)},
    [ACL_MDL_WEIGHT_SIZET] = {SIZE, AT(weight_bytes)},
    [ACL_MDL_WORKSPACE_ADDR_PTR] = {POINTER, AT(work)},
    [ACL_MDL_WORKSPACE_SIZET] = {SIZE, AT(work_bytes)},
    [ACL_MDL_WORKSPACE_MEM_OPTIMIZE] = {SIZE, AT(ignored)},
    [ACL_MDL_MEM_MALLOC_POLICY_SIZET] = {SIZE, AT(ignored)},
};

static const size_t kind_bytes[] = {
    [INT32] = sizeof(int32_t), [SIZE] = sizeof(size_t), [POINTER] = sizeof(void *), [PATH] = sizeof(char *)};

aclmdlConfigHandle *aclmdlCreateConfigHandle(void)
{
    struct aclmdlConfigHandle *h = calloc(1, sizeof *h);
    if (!h)
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for a model's configuration");
    return h;
}

aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle *handle)
{
    CHECK_ARG(handle);
    free(handle->path);
    free(handle);
    return ACL_SUCCESS;
}

aclError aclmdlSetConfigOpt(aclmdlConfigHandle *handle, aclmdlConfigAttr attr, const void *attrValue, size_t valueSize)
{
    CHECK_ARG(handle);
    CHECK_ARG(attrValue);
    if ((size_t)attr >= sizeof attributes / sizeof *attributes || attributes[attr].kind == REFUSED)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetConfigOpt: attribute %d means nothing for this device's models",
                    (int)attr);
    const struct attribute *a = &attributes[attr];
    if (valueSize != kind_bytes[a->kind])
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetConfigOpt: the value of attribute %d has %zu bytes, not %zu",
                    (int)attr, kind_bytes[a->kind], valueSize);
    if (a->kind == PATH) {
        const char *path;
        memcpy(&path, attrValue, sizeof path);
        CHECK_ARG(path);
        char *copy = strdup(path);
        if (!copy)
            return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a path");
        free(handle->path);
        handle->path = copy;
    } else {
        memcpy((char *)handle + a->at, attrValue, valueSize);
    }
    handle->set |= 1ull << attr;
    return ACL_SUCCESS;
}

static int need(const struct aclmdlConfigHandle *handle, aclmdlConfigAttr attr, const char *name)
{
    return handle->set >> attr & 1
               ? 0
               : fail(ACL_ERROR_INVALID_PARAM, "aclmdlLoadWithConfig: the configuration lacks %s", name);
}

aclError aclmdlLoadWithConfig(const aclmdlConfigHandle *handle, uint32_t *modelId)
{
    CHECK_ARG(handle);
    CHECK_ARG(modelId);
    const struct aclmdlConfigHandle *h = handle;
    TRY(need(h, ACL_MDL_LOAD_TYPE_SIZET, "ACL_MDL_LOAD_TYPE_SIZET"));
    bool own = h->load_type == ACL_MDL_LOAD_FROM_FILE || h->load_type == ACL_MDL_LOAD_FROM_MEM;
    void *work = own ? NULL : h->work, *weight = own ? NULL : h->weight;
    switch (h->load_type) {
    case ACL_MDL_LOAD_FROM_FILE:
    case ACL_MDL_LOAD_FROM_FILE_WITH_MEM:
        TRY(need(h, ACL_MDL_PATH_PTR, "ACL_MDL_PATH_PTR"));
        return aclmdlLoadFromFileWithMem(h->path, modelId, work, h->work_bytes, weight, h->weight_bytes);
    case ACL_MDL_LOAD_FROM_MEM:
    case ACL_MDL_LOAD_FROM_MEM_WITH_MEM:
        TRY(need(h, ACL_MDL_MEM_ADDR_PTR, "ACL_MDL_MEM_ADDR_PTR"));
        TRY(need(h, ACL_MDL_MEM_SIZET, "ACL_MDL_MEM_SIZET"));
        return aclmdlLoadFromMemWithMem(h->data, h->bytes, modelId, work, h->work_bytes, weight, h->weight_bytes);
    default:
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aclmdlLoadWithConfig: load type %zu; this device loads from files (%d, %d) and "
                    "from memory (%d, %d), not with queues",
                    h->load_type, ACL_MDL_LOAD_FROM_FILE, ACL_MDL_LOAD_FROM_FILE_WITH_MEM, ACL_MDL_LOAD_FROM_MEM,
                    ACL_MDL_LOAD_FROM_MEM_WITH_MEM);
    }
}

/* ---- execution ---- */
aclmdlExecConfigHandle *aclmdlCreateExecConfigHandle(void)
{
    struct aclmdlExecConfigHandle *h = malloc(sizeof *h);
    if (h)
        *h = (struct aclmdlExecConfigHandle){.stream_timeout = -1, .event_timeout = -1};
    else
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for an execution's configuration");
    return h;
}

aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle *handle)
{
    CHECK_ARG(handle);
    free((void *)(uintptr_t)handle);
    return ACL_SUCCESS;
}

aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle *handle, aclmdlExecConfigAttr attr, const void *attrValue,
                                size_t valueSize)
{
    CHECK_ARG(handle);
    CHECK_ARG(attrValue);
    int32_t *to = attr == ACL_MDL_STREAM_SYNC_TIMEOUT   ? &handle->stream_timeout
                  : attr == ACL_MDL_EVENT_SYNC_TIMEOUT  ? &handle->event_timeout
                  : attr == ACL_MDL_EXEC_PRIORITY_INT32 ? &handle->priority
                                                        : NULL;
    if (!to)
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aclmdlSetExecConfigOpt: attribute %d means nothing for this device's models", (int)attr);
    int32_t value;
    if (valueSize != sizeof value)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetExecConfigOpt: the value of attribute %d has %zu bytes, not %zu",
                    (int)attr, sizeof value, valueSize);
    memcpy(&value, attrValue, sizeof value);
    if (to != &handle->priority && value < -1)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetExecConfigOpt: a limit is -1 or more milliseconds, but got %d",
                    value);
    *to = value;
    return ACL_SUCCESS;
}

int32_t model_config_timeout(const aclmdlExecConfigHandle *handle)
{
    return handle->stream_timeout;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts; see context.h. */
#include "context.h"

#include "base/options.h"
#include "capture.h"
#include "door.h"
#include "error.h"
#include "stream.h"

struct handle_table context_table = HANDLE_TABLE(struct context, "context", 16384);

static _Atomic int32_t default_device = -1;

void context_set_default(int32_t device)
{
    atomic_store(&default_device, device);
}

struct context *context_current(void)
{
    struct context *c = local()->context;
    if (c && handle_valid(&context_table, c))
        return c;
    int32_t device = atomic_load(&default_device);
    if (!c && device >= 0)
        return aclrtSetDevice(device) ? NULL : local()->context;
    if (entry_check())
        return NULL;
    fail(ACL_ERROR_RT_CONTEXT_NULL,
         "the calling thread has no current context: call aclrtSetDevice or "
         "aclrtSetCurrentContext first%s",
         c ? " (its context was destroyed)" : "");
    return NULL;
}

struct context *context_get(aclrtContext handle)
{
    if (handle_valid(&context_table, handle))
        return handle;
    fail(ACL_ERROR_RT_INVALID_HANDLE, "context %p does not exist (destroyed, or never created)", handle);
    return NULL;
}

struct context *context_new(struct device *device, bool primary)
{
    struct context *c = handle_new(&context_table);
    if (!c)
        return NULL;
    c->device = device;
    c->primary = primary;
    return c;
}

struct stream *context_default_stream(struct context *c)
{
    struct stream *s = atomic_load_explicit(&c->stream, memory_order_acquire), *other = NULL;
    if (s || !(s = stream_new(c, 0, 0)))
        return s;
    if (atomic_compare_exchange_strong(&c->stream, &other, s))
        return s;
    stream_free(s, true);
    return other;
}

static int free_stream_of(void *object, void *context)
{
    struct stream *s = object;
    if (s->context == context)
        stream_free(s, false);
    return 0;
}

static int force_stream_of(void *object, void *context)
{
    struct stream *s = object;
    if (s->context == context)
        stream_free(s, true);
    return 0;
}

void context_free(struct context *c, bool force)
{
    if (!handle_retire(c))
        return;
    graph_forget_context(c);
    handle_each(&stream_table, force ? force_stream_of : free_stream_of, c);
    handle_free(&context_table, c);
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
    CHECK_ARG(context);
    TRY(device_use());
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    struct context *c = context_new(d, false);
    if (!c)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many contexts");
    local()->context = c;
    *context = c;
    return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context)
{
    CHECK_ARG(context);
    TRY(entry_check());
    struct context *c = context_get(context);
    if (!c)
        return ACL_ERROR_RT_INVALID_HANDLE;
    if (c->primary)
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "the default context of device %d is destroyed by aclrtResetDevice only", c->device->id);
    context_free(c, false);
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    CHECK_ARG(context);
    TRY(entry_check());
    struct context *c = context_get(context);
    if (!c)
        return ACL_ERROR_RT_INVALID_HANDLE;
    local()->context = c;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    CHECK_ARG(context);
    struct context *c = context_current();
    if (!c)
        return fail_code();
    *context = c;
    return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream)
{
    CHECK_ARG(stream);
    struct stream *s;
    TRY(stream_get(NULL, &s));
    *stream = s;
    return ACL_SUCCESS;
}

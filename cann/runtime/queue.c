/* SPDX-License-Identifier: BSD-3-Clause */
/* The public entries for streams: creating, destroying, waiting, attributes, aborting. */
#include <stdlib.h>

#include "callback.h"
#include "capture.h"
#include "door.h"
#include "error.h"
#include "stream.h"

enum { PRIORITY_LEAST = 7 };

static int create(aclrtStream *out, uint32_t priority, uint32_t flags)
{
    uint32_t known = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT | ACL_STREAM_HUGE |
                     ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
    if (priority > PRIORITY_LEAST)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "priority %u is not in [0, %d]", priority, PRIORITY_LEAST);
    if (flags & ~known)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream flag 0x%x is not a combination of ACL_STREAM_*", flags);
    struct context *c = context_current();
    if (!c)
        return fail_code();
    struct stream *s = stream_new(c, priority, flags);
    if (!s)
        return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no stream left");
    callback_stream(s, ACL_RT_STREAM_STATE_CREATE_POST);
    *out = s;
    return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    CHECK_ARG(stream);
    return create(stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    CHECK_ARG(stream);
    return create(stream, priority, flag);
}

aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void)
{
    aclrtStreamConfigHandle *h = calloc(1, sizeof *h);
    if (!h)
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    return h;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle)
{
    CHECK_ARG(handle);
    free(handle);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attrValue,
                                 size_t valueSize)
{
    CHECK_ARG(handle);
    CHECK_ARG(attrValue);
    bool short_flag = attr == ACL_RT_STREAM_FLAG && valueSize == sizeof(uint32_t); /* clients write both */
    size_t size = attr == ACL_RT_STREAM_PRIORITY || short_flag ? sizeof(uint32_t) : sizeof(size_t);
    if (attr > ACL_RT_STREAM_PRIORITY || valueSize != size)
        return fail(ACL_ERROR_INVALID_PARAM, "stream attribute %d with a value of %zu bytes is unknown", (int)attr,
                    valueSize);
    switch (attr) {
    case ACL_RT_STREAM_WORK_ADDR_PTR:
        handle->workptr = *(void *const *)attrValue;
        break;
    case ACL_RT_STREAM_WORK_SIZE:
        handle->workSize = *(const size_t *)attrValue;
        break;
    case ACL_RT_STREAM_FLAG:
        handle->flag = short_flag ? *(const uint32_t *)attrValue : *(const size_t *)attrValue;
        break;
    case ACL_RT_STREAM_PRIORITY:
        handle->priority = *(const uint32_t *)attrValue;
        break;
    }
    return ACL_SUCCESS;
}

aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle)
{
    CHECK_ARG(stream);
    CHECK_ARG(handle);
    return create(stream, handle->priority, (uint32_t)handle->flag);
}

static int destroy(aclrtStream stream, bool force)
{
    CHECK_ARG(stream);
    TRY(entry_check());
    if (!handle_valid(&stream_table, stream))
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %p does not exist (destroyed, or never created)", stream);
    struct stream *s = stream;
    if (atomic_load(&s->context->stream) == s)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the default stream of a context cannot be destroyed");
    if (stream_running() == s)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "a stream cannot be destroyed by its own callback");
    TRY(capture_check_stream(s, "Stream destruction"));
    callback_stream(s, ACL_RT_STREAM_STATE_DESTROY_PRE);
    stream_free(s, force);
    return ACL_SUCCESS;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    return destroy(stream, false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    return destroy(stream, true);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)
{
    TRACE_CALL();
    if (timeout < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is less than -1", timeout);
    struct stream *s;
    TRY(stream_get(stream, &s));
    if (stream_running() == s)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "a stream cannot be synchronized by its own callback");
    TRY(capture_check_stream(s, "Synchronizing a stream"));
    if (stream_wait(s, timeout))
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u has not finished within %d ms", s->handle.id, timeout);
    return stream_take_error(s);
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    return aclrtSynchronizeStreamWithTimeout(stream, -1);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status)
{
    CHECK_ARG(status);
    struct stream *s;
    TRY(stream_get(stream, &s));
    TRY(capture_check_stream(s, "Querying a stream"));
    *status = stream_is_idle(s) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority)
{
    CHECK_ARG(priority);
    struct stream *s;
    TRY(stream_get(stream, &s));
    *priority = s->priority;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags)
{
    CHECK_ARG(flags);
    struct stream *s;
    TRY(stream_get(stream, &s));
    *flags = s->flags;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId)
{
    CHECK_ARG(streamId);
    struct stream *s;
    TRY(stream_get(stream, &s));
    *streamId = (int32_t)s->handle.id;
    return ACL_SUCCESS;
}

aclError aclrtStreamAbort(aclrtStream stream)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    if (stream_running() == s)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "a stream cannot be aborted by its own callback");
    stream_abort(s, ACL_ERROR_RT_STREAM_ABORT);
    stream_wait(s, -1); /* a running operator is let finish */
    return ACL_SUCCESS;
}

aclError aclrtGetStreamAvailableNum(uint32_t *streamCount)
{
    CHECK_ARG(streamCount);
    *streamCount = stream_table.capacity - stream_table.live_count;
    return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "failure mode %llu is unknown", (unsigned long long)mode);
    if (atomic_load(&s->failure_mode) && mode == ACL_CONTINUE_ON_FAILURE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u stops on failure, which cannot be taken back", s->handle.id);
    atomic_store(&s->failure_mode, (uint32_t)mode);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    if (flag > 1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "overflow switch %u is neither 0 nor 1", flag);
    atomic_store(&s->overflow, flag);
    return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag)
{
    CHECK_ARG(flag);
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    *flag = atomic_load(&s->overflow);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value)
{
    CHECK_ARG(value);
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        return aclrtSetStreamFailureMode(stream, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        return aclrtSetStreamOverflowSwitch(stream, value->overflowSwitch);
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        s->tag = value->userCustomTag;
        return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        s->cache_info = value->cacheOpInfoSwitch;
        return ACL_SUCCESS;
    default:
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream attribute %d is unknown or cannot be set", (int)stmAttrType);
    }
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value)
{
    CHECK_ARG(value);
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        value->failureMode = atomic_load(&s->failure_mode);
        return ACL_SUCCESS;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        value->overflowSwitch = atomic_load(&s->overflow);
        return ACL_SUCCESS;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        value->userCustomTag = s->tag;
        return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        value->cacheOpInfoSwitch = s->cache_info;
        return ACL_SUCCESS;
    case ACL_STREAM_ATTR_PRIORITY:
        value->priority = s->priority;
        return ACL_SUCCESS;
    default:
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream attribute %d is unknown", (int)stmAttrType);
    }
}

aclError aclrtGetThreadLastTaskId(uint32_t *taskId)
{
    CHECK_ARG(taskId);
    *taskId = local()->task;
    return ACL_SUCCESS;
}

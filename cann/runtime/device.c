/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices: the list of visible ones, setting and resetting, and what one can ask of them. Queries of count and names do
 * not count as use of a device. */
#include "device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "base/options.h"
#include "callback.h"
#include "capture.h"
#include "context.h"
#include "door.h"
#include "error.h"
#include "local.h"
#include "memory.h"
#include "process.h"
#include "settings.h"
#include "stream.h"
#include "usage.h"

static struct device devices[DEVICES_MAX];
static int count; /* or -1: the list is wrong, wrong[] says why */
static char wrong[256];
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool settled; /* a device has been handed out: the list stays */

static void add_device(int32_t physical)
{
    struct device *d = &devices[count];
    d->id = count++;
    d->physical = physical;
    d->saturate = ACL_RT_OVERFLOW_MODE_INFNAN;
    pthread_mutex_init(&d->lock, NULL);
}

/* ASCEND_RT_VISIBLE_DEVICES: "1,0" in any order; each id once and existing; "" leaves none. Asked anew (not through
 * option_text, which remembers) until a device is used, so that a program may still set it after counting. */
static void list_devices(void)
{
    int total = settings_devices();
    const char *text = getenv(option_row(OPTION_VISIBLE_DEVICES)->name);
    count = 0;
    *wrong = 0;
    if (!text)
        for (int i = 0; i < total; i++)
            add_device(i);
    uint64_t seen = 0;
    for (const char *p = text ? text : ""; *p;) {
        char *end;
        long id = strtol(p, &end, 10);
        const char *rest = end + strspn(end, " ");
        int length = (int)strcspn(p, ",");
        if (end == p || (*rest && *rest != ','))
            snprintf(wrong, sizeof wrong, "ASCEND_RT_VISIBLE_DEVICES=%s: '%.*s' is not a device id", text, length, p);
        else if (id < 0 || id >= total)
            snprintf(wrong, sizeof wrong,
                     "ASCEND_RT_VISIBLE_DEVICES=%s: device %ld does not exist, valid device range is [0, %d)", text, id,
                     total);
        else if (seen >> id & 1)
            snprintf(wrong, sizeof wrong, "ASCEND_RT_VISIBLE_DEVICES=%s: device %ld is named twice", text, id);
        if (*wrong) {
            count = -1;
            return;
        }
        seen |= (uint64_t)1 << id;
        add_device((int32_t)id);
        p = *rest ? rest + 1 : rest;
    }
}

int device_count(void)
{
    if (atomic_load(&settled))
        return count;
    pthread_mutex_lock(&list_lock);
    if (!atomic_load(&settled))
        list_devices();
    int n = count;
    if (n < 0)
        fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s", wrong);
    pthread_mutex_unlock(&list_lock);
    return n;
}

struct device *device_get(int64_t id)
{
    int n = device_count();
    if (n < 0)
        return NULL;
    if (id < 0 || id >= n) {
        fail(ACL_ERROR_RT_INVALID_DEVICEID, "invalid device, device=%lld, valid device range is [0, %d)", (long long)id,
             n);
        return NULL;
    }
    if (!atomic_load(&settled)) {
        pthread_mutex_lock(&list_lock);
        atomic_store(&settled, true);
        pthread_mutex_unlock(&list_lock);
    }
    return &devices[id];
}

struct device *device_current(void)
{
    struct context *c = context_current();
    return c ? c->device : NULL;
}

aclError aclrtSetDevice(int32_t deviceId)
{
    struct context *c = local()->context;
    if (c && c->primary && handle_valid(&context_table, c) && c->device->id == deviceId) {
        atomic_fetch_add_explicit(&c->device->set_count, 1, memory_order_relaxed);
        return ACL_SUCCESS;
    }
    TRY(device_use());
    int n = device_count();
    if (n < 0)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    struct device *d = device_get(deviceId);
    if (!d)
        return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                    "Set device failed, invalid device, set drv device=%d, valid device range is [0, %d)", deviceId, n);
    callback_device(deviceId, ACL_RT_DEVICE_STATE_SET_PRE);
    pthread_mutex_lock(&d->lock);
    if (!d->primary)
        d->primary = context_new(d, true);
    c = d->primary;
    if (c)
        d->set_count++;
    pthread_mutex_unlock(&d->lock);
    if (!c)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many contexts");
    local()->context = c;
    callback_device(deviceId, ACL_RT_DEVICE_STATE_SET_POST);
    return ACL_SUCCESS;
}

static int free_context_of(void *object, void *device)
{
    struct context *c = object;
    if (c->device == device)
        context_free(c, false);
    return 0;
}

static int reset(int32_t deviceId, bool force)
{
    TRY(entry_check());
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    pthread_mutex_lock(&d->lock);
    bool last = d->primary && (force || atomic_load(&d->set_count) <= 1);
    struct context *primary = d->primary;
    if (last) {
        d->primary = NULL;
        atomic_store(&d->set_count, 0);
    } else if (primary) {
        atomic_fetch_sub(&d->set_count, 1);
    }
    pthread_mutex_unlock(&d->lock);
    if (!primary)
        return ACL_SUCCESS;
    if (last) {
        callback_device(d->id, ACL_RT_DEVICE_STATE_RESET_PRE);
        handle_each(&context_table, free_context_of, d);
        if (!physical_in_use(d->id))
            memory_reset(d);
        usage_leave(d);
        callback_device(d->id, ACL_RT_DEVICE_STATE_RESET_POST);
    }
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId)
{
    return reset(deviceId, false);
}

aclError aclrtResetDeviceForce(int32_t deviceId)
{
    return reset(deviceId, true);
}

aclError aclrtGetDevice(int32_t *deviceId)
{
    CHECK_ARG(deviceId);
    struct device *d = device_current();
    if (!d)
        return fail_code();
    *deviceId = d->id;
    return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode *runMode)
{
    CHECK_ARG(runMode);
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *n)
{
    CHECK_ARG(n);
    int found = device_count();
    *n = found < 0 ? 0 : (uint32_t)found;
    return found < 0 ? ACL_ERROR_RT_INVALID_DEVICEID : ACL_SUCCESS;
}

struct sync {
    struct device *device;
    int64_t end;
    int status;
};

static int sync_one(void *object, void *arg)
{
    struct stream *s = object;
    struct sync *sync = arg;
    if (s->device != sync->device)
        return 0;
    int64_t left = sync->end == INT64_MAX ? -1 : (sync->end - clock_ns()) / 1000000;
    if (stream_wait(s, left < 0 && sync->end != INT64_MAX ? 0 : left))
        return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
    int status = stream_take_error(s);
    if (status && !sync->status)
        sync->status = status;
    return 0;
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout)
{
    TRACE_CALL();
    if (timeout < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is less than -1", timeout);
    struct device *d = device_current();
    if (!d)
        return fail_code();
    TRY(capture_check_device(d, "Synchronizing a device"));
    struct sync sync = {d, timeout < 0 ? INT64_MAX : clock_ns() + (int64_t)timeout * 1000000, 0};
    int status = handle_each(&stream_table, sync_one, &sync);
    if (status)
        return fail(status, "device %d has not finished within %d ms", d->id, timeout);
    return sync.status;
}

aclError aclrtSynchronizeDevice(void)
{
    return aclrtSynchronizeDeviceWithTimeout(-1);
}

struct abort {
    struct device *device;
    int64_t end;
    bool late;
};

static int abort_one(void *object, void *arg)
{
    struct stream *s = object;
    struct abort *a = arg;
    if (s->device == a->device)
        stream_abort(s, ACL_ERROR_RT_DEVICE_TASK_ABORT);
    return 0;
}

static int await_one(void *object, void *arg)
{
    struct stream *s = object;
    struct abort *a = arg;
    int64_t left = (a->end - clock_ns()) / 1000000;
    if (s->device == a->device && stream_wait(s, a->end == INT64_MAX ? -1 : left < 0 ? 0 : left))
        a->late = true;
    return 0;
}

/* Tasks that wait give up, queued ones are dropped; a running operator is let finish. */
aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout)
{
    enum { LONGEST_MS = 36 * 60 * 1000 };
    TRY(entry_check());
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (timeout > LONGEST_MS)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %u ms is longer than %d ms", timeout, LONGEST_MS);
    int status = callback_abort(deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout);
    if (status)
        return fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "a callback refused to abort the tasks of device %d: %d", deviceId,
                    status);
    struct abort a = {d, timeout ? clock_ns() + (int64_t)timeout * 1000000 : INT64_MAX, false};
    handle_each(&stream_table, abort_one, &a);
    handle_each(&stream_table, await_one, &a);
    status = callback_abort(deviceId, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
    if (a.late)
        return fail(ACL_ERROR_RT_TIMEOUT, "a task of device %d still runs after %u ms", deviceId, timeout);
    return status ? fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "a callback failed after the abort of device %d: %d", deviceId,
                         status)
                  : ACL_SUCCESS;
}

static int failed_one(void *object, void *device)
{
    struct stream *s = object;
    return s->device == device && stream_has_error(s);
}

/* A failed operator is an error of software; memory and links of a software device do not fail. */
aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo)
{
    CHECK_ARG(errorInfo);
    TRY(entry_check());
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    memset(errorInfo, 0, sizeof *errorInfo);
    errorInfo->errorType = ACL_RT_NO_ERROR;
    if (handle_each(&stream_table, failed_one, d)) {
        errorInfo->errorType = ACL_RT_ERROR_AICORE;
        errorInfo->hasDetail = 1;
        errorInfo->detail.aicoreErrType = ACL_RT_AICORE_ERROR_SW;
    }
    return ACL_SUCCESS;
}

aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo)
{
    CHECK_ARG(errorInfo);
    TRY(entry_check());
    if (!device_get(deviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (errorInfo->errorType == ACL_RT_NO_ERROR)
        return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "The current system or device does not support repairing errors of type %d: a software device has none "
                "to repair",
                (int)errorInfo->errorType);
}

aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize, size_t *retSize)
{
    CHECK_ARG(memUceInfoArray);
    CHECK_ARG(retSize);
    TRY(entry_check());
    if (!device_get(deviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (arraySize == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "arraySize must not be 0");
    *retSize = 0;
    return ACL_SUCCESS;
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize)
{
    CHECK_ARG(memUceInfoArray);
    TRY(entry_check());
    if (!device_get(deviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "none of the %zu memory ranges has an uncorrectable error", arraySize);
}

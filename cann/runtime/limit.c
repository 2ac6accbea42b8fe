/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits and modes of devices and streams: how many cores tasks use, saturation of floats.
 *
 * A limit of cores is a share of the device: a task gets that share of the compute pool's threads, at least one.
 * Results don't change with it. In saturation mode operators write the
 * largest number for infinity and 0 for NaN (ops/engine/saturate.c), and an overflow sets the device's flag. */
#include <stdlib.h>
#include <string.h>

#include "base/soc.h"
#include "context.h"
#include "error.h"
#include "log.h"
#include "memory.h"
#include "stream.h"

static uint32_t cores_of(aclrtDevResLimitType type)
{
    const struct soc *s = soc_find(aclrtGetSocName());
    return (uint32_t)(type == ACL_RT_DEV_RES_CUBE_CORE ? s->cube : s->vector);
}

static int check_type(aclrtDevResLimitType type)
{
    if (type != ACL_RT_DEV_RES_CUBE_CORE && type != ACL_RT_DEV_RES_VECTOR_CORE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "resource type %d is unknown", (int)type);
    return ACL_SUCCESS;
}

static int check_limit(aclrtDevResLimitType type, uint32_t value)
{
    TRY(check_type(type));
    if (value == 0 || value > cores_of(type))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%u cores are not in [1, %u]", value, cores_of(type));
    return ACL_SUCCESS;
}

static uint32_t device_limit(struct device *d, aclrtDevResLimitType type)
{
    uint32_t v = atomic_load(&d->cores[type]);
    return v ? v : cores_of(type);
}

static uint32_t stream_limit(struct stream *s, aclrtDevResLimitType type)
{
    uint32_t v = atomic_load(&s->cores[type]);
    return v ? v : device_limit(s->device, type);
}

int stream_threads(const struct stream *s, int threads)
{
    int least = threads;
    for (int type = 0; type < 2; type++) {
        uint32_t v = atomic_load_explicit(&s->cores[type], memory_order_relaxed);
        v = v ? v : atomic_load_explicit(&s->device->cores[type], memory_order_relaxed);
        if (!v)
            continue;
        uint32_t all = cores_of((aclrtDevResLimitType)type);
        int share = (int)(((uint64_t)v * (uint32_t)threads + all - 1) / all);
        least = share < least ? share : least;
    }
    return least;
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value)
{
    CHECK_ARG(value);
    TRY(check_type(type));
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    *value = device_limit(d, type);
    return ACL_SUCCESS;
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value)
{
    TRY(check_limit(type, value));
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    atomic_store(&d->cores[type], value);
    return ACL_SUCCESS;
}

aclError aclrtResetDeviceResLimit(int32_t deviceId)
{
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    atomic_store(&d->cores[0], 0);
    atomic_store(&d->cores[1], 0);
    return ACL_SUCCESS;
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value)
{
    CHECK_ARG(value);
    TRY(check_type(type));
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    *value = stream_limit(s, type);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value)
{
    TRY(check_limit(type, value));
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    atomic_store(&s->cores[type], value);
    return ACL_SUCCESS;
}

aclError aclrtResetStreamResLimit(aclrtStream stream)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    atomic_store(&s->cores[0], 0);
    atomic_store(&s->cores[1], 0);
    return ACL_SUCCESS;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    local()->limits = s;
    return ACL_SUCCESS;
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    local()->limits = NULL;
    return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value)
{
    CHECK_ARG(value);
    TRY(check_type(type));
    struct device *d = device_current();
    if (!d)
        return fail_code();
    struct stream *s = local()->limits;
    *value = s && handle_valid(&stream_table, s) ? stream_limit(s, type) : device_limit(d, type);
    return ACL_SUCCESS;
}

/* ---- saturation ---- */

_Atomic int saturating;

bool device_saturates(void)
{
    struct context *c = context_current();
    return c && atomic_load(&c->device->saturate) == ACL_RT_OVERFLOW_MODE_SATURATION;
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode)
{
    struct device *d = device_current();
    if (!d)
        return fail_code();
    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "overflow mode %d is unknown", (int)mode);
    if (atomic_exchange(&d->saturate, (int)mode) != (int)mode)
        atomic_fetch_add(&saturating, mode == ACL_RT_OVERFLOW_MODE_SATURATION ? 1 : -1);
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode)
{
    CHECK_ARG(mode);
    struct device *d = device_current();
    if (!d)
        return fail_code();
    *mode = (aclrtFloatOverflowMode)atomic_load(&d->saturate);
    return ACL_SUCCESS;
}

void overflow_found(void)
{
    struct stream *s = stream_running();
    if (s && atomic_load(&s->overflow))
        atomic_store(&s->device->overflows, 1);
}

bool overflow_take(void)
{
    struct stream *s = stream_running();
    return s && atomic_exchange(&s->device->overflows, 0);
}

struct overflow_status {
    struct device *device;
    char *to; /* NULL: clear the flag */
    size_t bytes;
};

static int run_overflow_status(void *arg)
{
    struct overflow_status *o = arg;
    if (!o->to) {
        atomic_store(&o->device->overflows, 0);
        return ACL_SUCCESS;
    }
    uint64_t found = atomic_load(&o->device->overflows);
    memset(o->to, 0, o->bytes);
    memcpy(o->to, &found, sizeof found);
    return ACL_SUCCESS;
}

static int push_overflow_status(aclrtStream stream, void *to, size_t bytes, const char *name)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    struct overflow_status *o = malloc(sizeof *o);
    if (!o)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    *o = (struct overflow_status){s->device, to, bytes};
    return stream_enqueue(stream, &(struct task){run_overflow_status, free, o, 0, {name, NULL}});
}

aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize, aclrtStream stream)
{
    CHECK_ARG(outputAddr);
    if (outputSize < sizeof(uint64_t))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the status needs %zu bytes, outputSize is %zu", sizeof(uint64_t),
                    outputSize);
    if (!memory_is_device(outputAddr, outputSize))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p are not device memory", outputSize, outputAddr);
    return push_overflow_status(stream, memory_usable(outputAddr), outputSize, "GetOverflowStatus");
}

aclError aclrtResetOverflowStatus(aclrtStream stream)
{
    return push_overflow_status(stream, NULL, 0, "ResetOverflowStatus");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The entrance for reports of libraries above CANN. Nothing records yet what they report; callbacks are kept for the
 * moment when something does. One lock, a leaf. */
#include <pthread.h>
#include <time.h>

#include "runtime/door.h"
#include "toolchain/prof_api.h"

enum { MODULES_MAX = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint32_t module;
    ProfCommandHandle handle;
} callbacks[MODULES_MAX];
static int callback_count;

static int refuse(const char *call)
{
    fail(ACL_ERROR_INVALID_PARAM, "%s was given no data", call);
    return -1;
}

int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle)
{
    if (!handle)
        return refuse("MsprofRegisterCallback");
    pthread_mutex_lock(&lock);
    bool room = callback_count < MODULES_MAX;
    if (room) {
        callbacks[callback_count].module = moduleId;
        callbacks[callback_count++].handle = handle;
    }
    pthread_mutex_unlock(&lock);
    if (!room)
        fail(ACL_ERROR_STORAGE_OVER_LIMIT, "more than %d profiling callbacks", MODULES_MAX);
    return room ? 0 : -1;
}

int32_t MsprofReportApi(uint32_t nonPersistentFlag, const struct MsprofApi *api)
{
    (void)nonPersistentFlag;
    return api ? 0 : refuse("MsprofReportApi");
}

int32_t MsprofReportCompactInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length)
{
    (void)nonPersistentFlag;
    return data && length ? 0 : refuse("MsprofReportCompactInfo");
}

int32_t MsprofReportAdditionalInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length)
{
    (void)nonPersistentFlag;
    return data && length ? 0 : refuse("MsprofReportAdditionalInfo");
}

uint64_t MsprofGetHashId(const char *hashInfo, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; hashInfo && i < length; i++)
        hash = (hash ^ (uint8_t)hashInfo[i]) * 0x100000001b3u;
    return hash;
}

uint64_t MsprofSysCycleTime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

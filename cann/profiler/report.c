/* SPDX-License-Identifier: BSD-3-Clause */
/* The entrance for reports of libraries above CANN: calls become records of their own, other reports are kept as they
 * came; both go into the running trace and are forgotten when nothing is recorded. Callbacks are told when profiling
 * starts and ends, in the published form. One lock, a leaf; callbacks run outside it. */
#include <pthread.h>
#include <string.h>

#include "base/futex.h"
#include "base/hash.h"
#include "runtime/door.h"
#include "toolchain/prof_api.h"

enum { MODULES_MAX = 256, REPORT_MAX = 4096 };

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

static void send(ProfCommandHandle handle, bool on, uint64_t types, uint32_t count, const uint32_t *devices)
{
    struct MsprofCommandHandle c = {.profSwitch = types,
                                    .type = on ? PROF_COMMANDHANDLE_TYPE_START : PROF_COMMANDHANDLE_TYPE_STOP};
    c.devNums = count < MSPROF_MAX_DEV_NUM ? count : MSPROF_MAX_DEV_NUM;
    for (uint32_t i = 0; i < c.devNums; i++)
        c.devIdList[i] = devices[i];
    handle(PROF_CTRL_SWITCH, &c, sizeof c);
}

static void tell(bool on, uint64_t types, uint32_t count, const uint32_t *devices)
{
    ProfCommandHandle each[MODULES_MAX];
    pthread_mutex_lock(&lock);
    int n = callback_count;
    for (int i = 0; i < n; i++)
        each[i] = callbacks[i].handle;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        send(each[i], on, types, count, devices);
}

/* A callback that comes while profiling runs is told at once: its thread only. */
static _Thread_local ProfCommandHandle newcomer;

static void greet(bool on, uint64_t types, uint32_t count, const uint32_t *devices)
{
    if (newcomer)
        send(newcomer, on, types, count, devices);
    else
        tell(on, types, count, devices);
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
    if (!room) {
        fail(ACL_ERROR_STORAGE_OVER_LIMIT, "more than %d profiling callbacks", MODULES_MAX);
        return -1;
    }
    newcomer = handle;
    int status = trace_listen(greet);
    newcomer = NULL;
    return status ? -1 : 0;
}

int32_t MsprofReportApi(uint32_t nonPersistentFlag, const struct MsprofApi *api)
{
    (void)nonPersistentFlag;
    if (!api)
        return refuse("MsprofReportApi");
    if (!trace_wanted(ANYNPU_TRACE_API))
        return 0;
    struct anynpu_trace_api a = {.head = {ANYNPU_TRACE_API, sizeof a / 8, api->threadId},
                                 .name = api->itemId,
                                 .begin = (int64_t)api->beginTime,
                                 .end = (int64_t)api->endTime,
                                 .level = api->level,
                                 .type = api->type,
                                 .item = api->itemId};
    trace_write(&a);
    return 0;
}

/* The report as it came, after its own head. */
static int32_t keep(uint32_t kind, const void *data, uint32_t length, const char *call)
{
    if (!data || !length || length > REPORT_MAX)
        return refuse(call);
    if (!trace_wanted(ANYNPU_TRACE_REPORT))
        return 0;
    char room[sizeof(struct anynpu_trace_report) + REPORT_MAX + 8] __attribute__((aligned(8))) = {0};
    size_t bytes = (sizeof(struct anynpu_trace_report) + length + 7) & ~(size_t)7;
    struct anynpu_trace_report *r = (struct anynpu_trace_report *)room;
    r->head = (struct anynpu_trace_head){ANYNPU_TRACE_REPORT, (uint16_t)(bytes / 8), 0};
    r->report = kind;
    r->bytes = length;
    memcpy(r + 1, data, length);
    trace_write(r);
    return 0;
}

int32_t MsprofReportCompactInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length)
{
    (void)nonPersistentFlag;
    return keep(1, data, length, "MsprofReportCompactInfo");
}

int32_t MsprofReportAdditionalInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length)
{
    (void)nonPersistentFlag;
    return keep(2, data, length, "MsprofReportAdditionalInfo");
}

uint64_t MsprofGetHashId(const char *hashInfo, size_t length)
{
    if (!hashInfo || !length)
        return 0;
    return trace_string(hashInfo, length);
}

uint64_t MsprofSysCycleTime(void)
{
    return (uint64_t)clock_ns();
}

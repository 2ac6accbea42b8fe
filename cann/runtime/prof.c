/* SPDX-License-Identifier: BSD-3-Clause */
/* aclprof…: where a trace goes and what is in it. The state is: a place (aclprofInit), a folder PROF_…, made by the
 * first warm-up or start after the last stop, and whether it is being recorded. One lock (prof), held around the
 * recorder's. A folder holds host/data/anynpu.trace, host/start_info (the clocks at the begin) and an empty device_N
 * for each device, which is how tools see what was asked for. */
#include "acl/acl_prof.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/futex.h"
#include "device.h"
#include "error.h"
#include "trace.h"

struct aclprofConfig {
    uint32_t count, device[DEVICES_MAX];
    uint64_t types;
};

struct aclprofStepInfo {
    uint32_t number;
};

enum { FOLDER_MAX = 3000, LISTENERS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char place[FOLDER_MAX], folder[FOLDER_MAX + 128];
static bool initialised, running;
static unsigned folders;
static struct aclprofConfig current;
static trace_listener listeners[LISTENERS];

static uint32_t kinds_of(uint64_t types)
{
    const uint64_t tasks = ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME_L2 | ACL_PROF_TASK_TIME_L3 |
                           ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU | ACL_PROF_L2CACHE | ACL_PROF_HCCL_TRACE |
                           ACL_PROF_TRAINING_TRACE | ACL_PROF_OP_ATTR | ACL_PROF_AICORE_SHAPE,
                   calls = ACL_PROF_ACL_API | ACL_PROF_RUNTIME_API | ACL_PROF_GE_API_L0 | ACL_PROF_GE_API_L1 |
                           ACL_PROF_API_STATS;
    uint32_t kinds = 1u << ANYNPU_TRACE_HOST | 1u << ANYNPU_TRACE_REPORT | 1u << ANYNPU_TRACE_MEMORY;
    if (types & tasks)
        kinds |= 1u << ANYNPU_TRACE_TASK;
    if (types & calls)
        kinds |= 1u << ANYNPU_TRACE_API;
    if (types & ACL_PROF_MSPROFTX)
        kinds |= 1u << ANYNPU_TRACE_MARK;
    return kinds;
}

aclError aclprofInit(const char *profilerResultPath, size_t length)
{
    CHECK_ARG(profilerResultPath);
    TRY(entry_check());
    if (length == 0 || length >= FOLDER_MAX || strnlen(profilerResultPath, length) != length)
        return fail(ACL_ERROR_INVALID_PARAM, "the length %zu is not that of a path of at most %d bytes", length,
                    FOLDER_MAX - 1);
    char path[FOLDER_MAX];
    snprintf(path, sizeof path, "%.*s", (int)length, profilerResultPath);
    if (mkdir(path, 0750) && errno != EEXIST)
        return fail(ACL_ERROR_INVALID_FILE, "cannot make the folder %s: %s", path, strerror(errno));
    if (access(path, W_OK | X_OK))
        return fail(ACL_ERROR_INVALID_FILE, "cannot write into the folder %s: %s", path, strerror(errno));
    pthread_mutex_lock(&lock);
    bool again = initialised;
    if (!again) {
        memcpy(place, path, sizeof place);
        initialised = true;
        *folder = 0;
        folders = 0;
    }
    pthread_mutex_unlock(&lock);
    return again ? fail(ACL_ERROR_PROF_ALREADY_RUN, "aclprofInit was called before") : ACL_SUCCESS;
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig)
{
    int count = device_count();
    if (count < 0)
        return NULL;
    if ((deviceNums && !deviceIdList) || (!deviceNums && !(dataTypeConfig & ACL_PROF_MSPROFTX)) ||
        deviceNums > (uint32_t)count) {
        fail(ACL_ERROR_INVALID_PARAM, "%u devices in the list, this process sees %d", deviceNums, count);
        return NULL;
    }
    if (aicoreEvents || aicoreMetrics < 0 ||
        (aicoreMetrics > ACL_AICORE_MEMORY_ACCESS && aicoreMetrics != ACL_AICORE_NONE)) {
        fail(ACL_ERROR_INVALID_PARAM, aicoreEvents ? "aicoreEvents must be NULL" : "aicoreMetrics is unknown");
        return NULL;
    }
    struct aclprofConfig *c = calloc(1, sizeof *c);
    if (!c) {
        fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
        return NULL;
    }
    uint64_t seen = 0;
    for (uint32_t i = 0; i < deviceNums; i++) {
        uint32_t id = deviceIdList[i];
        if (id >= (uint32_t)count || seen >> id & 1) {
            fail(ACL_ERROR_INVALID_PARAM, "device id %u %s", id,
                 id < (uint32_t)count ? "comes twice" : "does not exist");
            free(c);
            return NULL;
        }
        seen |= UINT64_C(1) << id;
        c->device[c->count++] = id;
    }
    c->types = dataTypeConfig;
    return c;
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig)
{
    CHECK_ARG(profilerConfig);
    free((void *)(uintptr_t)profilerConfig);
    return ACL_SUCCESS;
}

/* ---- the folder ---- */
static int sub_folder(const char *name)
{
    char path[FOLDER_MAX + 256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0750) && errno != EEXIST)
        return fail(ACL_ERROR_INVALID_FILE, "cannot make the folder %s: %s", path, strerror(errno));
    return ACL_SUCCESS;
}

static int write_start_info(void)
{
    char path[FOLDER_MAX + 256];
    struct timespec real, raw; /* tools lead the clock of hosts' libraries (RAW) to the time of day by these */
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
    snprintf(path, sizeof path, "%s/host/start_info", folder);
    FILE *f = fopen(path, "we");
    if (!f)
        return fail(ACL_ERROR_INVALID_FILE, "cannot write %s: %s", path, strerror(errno));
    fprintf(f, "{\"collectionTimeBegin\": \"%lld\", \"collectionTimeEnd\": \"\", \"clockMonotonicRaw\": \"%lld\"}\n",
            (long long)real.tv_sec * 1000000 + real.tv_nsec / 1000, (long long)raw.tv_sec * 1000000000 + raw.tv_nsec);
    fclose(f);
    return ACL_SUCCESS;
}

/* PROF_000001_20260102030405678_<16 letters>, as tools look for it. Under lock. */
static int make_folder(const struct aclprofConfig *c)
{
    if (*folder)
        return ACL_SUCCESS;
    struct timespec now;
    struct tm tm;
    char stamp[32], letters[17];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &tm);
    uint64_t mix = ((uint64_t)now.tv_nsec << 32 | (uint32_t)getpid()) * 0x9e3779b97f4a7c15u + folders;
    for (int i = 0; i < 16; i++, mix = (mix ^ mix >> 27) * 0x94d049bb133111ebu)
        letters[i] = (char)('A' + mix % 26);
    letters[16] = 0;
    snprintf(folder, sizeof folder, "%s/PROF_%06u_%s%03ld_%s", place, ++folders, stamp, now.tv_nsec / 1000000, letters);
    int status = mkdir(folder, 0750) ? fail(ACL_ERROR_INVALID_FILE, "cannot make %s: %s", folder, strerror(errno)) : 0;
    if (!status)
        status = sub_folder("host");
    if (!status)
        status = sub_folder("host/data");
    for (uint32_t i = 0; i < c->count && !status; i++) {
        char name[24];
        snprintf(name, sizeof name, "device_%u", c->device[i]);
        status = sub_folder(name);
    }
    if (status)
        *folder = 0;
    return status;
}

/* ---- start and stop ---- */
static void tell(bool on)
{
    for (int i = 0; i < LISTENERS; i++)
        if (listeners[i])
            listeners[i](on, current.types, current.count, current.device);
}

static int start(const aclprofConfig *c, bool warm_up)
{
    if (!initialised)
        return fail(ACL_ERROR_PROF_NOT_RUN, "aclprofInit was not called");
    if (running)
        return fail(ACL_ERROR_PROF_ALREADY_RUN, "profiling is running already");
    TRY(make_folder(c));
    if (warm_up)
        return ACL_SUCCESS;
    char path[FOLDER_MAX + 256];
    TRY(write_start_info());
    snprintf(path, sizeof path, "%s/host/data/anynpu.trace", folder);
    uint64_t devices = 0;
    for (uint32_t i = 0; i < c->count; i++)
        devices |= UINT64_C(1) << c->device[i];
    TRY(trace_start_devices(path, kinds_of(c->types), devices));
    current = *c;
    running = true;
    return ACL_SUCCESS;
}

aclError aclprofWarmup(const aclprofConfig *profilerConfig)
{
    CHECK_ARG(profilerConfig);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    int status = start(profilerConfig, true);
    pthread_mutex_unlock(&lock);
    return status;
}

aclError aclprofStart(const aclprofConfig *profilerConfig)
{
    CHECK_ARG(profilerConfig);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    int status = start(profilerConfig, false);
    pthread_mutex_unlock(&lock);
    if (!status)
        tell(true);
    return status;
}

static int stop(void)
{
    pthread_mutex_lock(&lock);
    bool was = running;
    running = false;
    int status = was ? trace_stop() : fail(ACL_ERROR_PROF_NOT_RUN, "profiling is not running");
    *folder = 0;
    pthread_mutex_unlock(&lock);
    if (was)
        tell(false);
    return status;
}

aclError aclprofStop(const aclprofConfig *profilerConfig)
{
    CHECK_ARG(profilerConfig);
    return stop();
}

aclError aclprofFinalize(void)
{
    pthread_mutex_lock(&lock);
    bool was = initialised, active = running;
    pthread_mutex_unlock(&lock);
    if (!was)
        return fail(ACL_ERROR_PROF_NOT_RUN, "aclprofInit was not called");
    int status = active ? stop() : ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    initialised = false;
    *folder = 0;
    pthread_mutex_unlock(&lock);
    return status;
}

aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength)
{
    CHECK_ARG(config);
    if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX)
        return fail(ACL_ERROR_INVALID_PARAM, "configuration type %d is unknown", (int)configType);
    if (configType != ACL_PROF_STORAGE_LIMIT)
        return fail(ACL_ERROR_PROF_MODULES_UNSUPPORTED,
                    "configuration type %d samples hardware that a software device does not have", (int)configType);
    char text[32], *end = text;
    snprintf(text, sizeof text, "%.*s", (int)(configLength < 31 ? configLength : 31), config);
    unsigned long long megabytes = strtoull(text, &end, 10);
    if (end == text || (*end && strcmp(end, "MB")) || megabytes < 200 || megabytes > UINT32_MAX)
        return fail(ACL_ERROR_INVALID_PARAM, "the storage limit %s is not a number of at least 200 and \"MB\"", text);
    trace_limit((size_t)megabytes << 20);
    return ACL_SUCCESS;
}

int trace_listen(trace_listener listener)
{
    pthread_mutex_lock(&lock);
    bool on = running;
    int i = 0;
    while (i < LISTENERS && listeners[i] && listeners[i] != listener)
        i++;
    if (i < LISTENERS)
        listeners[i] = listener;
    pthread_mutex_unlock(&lock);
    if (i == LISTENERS)
        return fail(ACL_ERROR_STORAGE_OVER_LIMIT, "%d listeners are registered already", LISTENERS);
    if (on)
        listener(true, current.types, current.count, current.device);
    return ACL_SUCCESS;
}

/* ---- steps ---- */
struct step_task {
    struct aclprofStepInfo step;
    bool end;
};

static int run_step(void *arg)
{
    struct step_task *t = arg;
    char text[64];
    int n = snprintf(text, sizeof text, "Step %u %s", t->step.number, t->end ? "end" : "begin");
    struct anynpu_trace_mark m = {.head = {ANYNPU_TRACE_MARK, sizeof m / 8, 0},
                                  .text = trace_string(text, (size_t)n),
                                  .domain = trace_string("step", 4),
                                  .begin = clock_ns(),
                                  .task = UINT32_MAX};
    m.end = m.begin;
    trace_write(&m);
    return ACL_SUCCESS;
}

aclprofStepInfo *aclprofCreateStepInfo(void)
{
    struct aclprofStepInfo *s = calloc(1, sizeof *s);
    if (!s)
        fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
    return s;
}

void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo)
{
    free(stepinfo);
}

aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream)
{
    CHECK_ARG(stepInfo);
    if (tag != ACL_STEP_START && tag != ACL_STEP_END)
        return fail(ACL_ERROR_INVALID_PARAM, "step tag %d is unknown", (int)tag);
    struct step_task *t = malloc(sizeof *t);
    if (!t)
        return fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
    stepInfo->number += tag == ACL_STEP_START;
    *t = (struct step_task){*stepInfo, tag == ACL_STEP_END};
    return stream_enqueue(stream, &(struct task){run_step, free, t, 0, {NULL, NULL, NULL}});
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* How libraries above CANN report what they do to the profiler. */
#ifndef TOOLCHAIN_PROF_API_H
#define TOOLCHAIN_PROF_API_H

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call of an interface function. Times are those of MsprofSysCycleTime. */
struct MsprofApi {
    uint16_t magicNumber;
    uint16_t level;
    uint32_t type;
    uint32_t threadId;
    uint32_t reserve;
    uint64_t beginTime;
    uint64_t endTime;
    uint64_t itemId;
};

#define PATH_LEN_MAX       1023
#define PARAM_LEN_MAX      4095
#define MSPROF_MAX_DEV_NUM 64

/* What a callback is told: type PROF_CTRL_SWITCH and this. */
enum { PROF_CTRL_INVALID = 0, PROF_CTRL_SWITCH = 1 };
enum {
    PROF_COMMANDHANDLE_TYPE_INIT = 0,
    PROF_COMMANDHANDLE_TYPE_START = 1,
    PROF_COMMANDHANDLE_TYPE_STOP = 2,
    PROF_COMMANDHANDLE_TYPE_FINALIZE = 3,
};
struct MsprofCommandHandleParams {
    uint32_t pathLen;
    uint32_t storageLimit;
    uint32_t profDataLen;
    char path[PATH_LEN_MAX + 1];
    char profData[PARAM_LEN_MAX + 1];
};
struct MsprofCommandHandle {
    uint64_t profSwitch;
    uint64_t profSwitchHi;
    uint32_t devNums;
    uint32_t devIdList[MSPROF_MAX_DEV_NUM];
    uint32_t modelId;
    uint32_t type;
    uint32_t cacheFlag;
    struct MsprofCommandHandleParams params;
};

typedef int32_t (*ProfCommandHandle)(uint32_t type, void *data, uint32_t length);

/* Called back when profiling starts and ends. */
ACL_FUNC_VISIBILITY int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);
/* 0: accepted. What is reported while nothing is recorded is forgotten. */
ACL_FUNC_VISIBILITY int32_t MsprofReportApi(uint32_t nonPersistentFlag, const struct MsprofApi *api);
ACL_FUNC_VISIBILITY int32_t MsprofReportCompactInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length);
ACL_FUNC_VISIBILITY int32_t MsprofReportAdditionalInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length);
/* A number that stands for a string in reports: the same string, the same number. */
ACL_FUNC_VISIBILITY uint64_t MsprofGetHashId(const char *hashInfo, size_t length);
/* The clock of reports, in nanoseconds. */
ACL_FUNC_VISIBILITY uint64_t MsprofSysCycleTime(void);

#ifdef __cplusplus
}
#endif
#endif

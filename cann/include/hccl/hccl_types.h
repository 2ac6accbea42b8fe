/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL basics: results, data types, reductions, root information, configuration of a communicator. Layouts are those of
 * CANN 9 (configuration version 10); the assertions at the end pin them. */
#ifndef HCCL_HCCL_TYPES_H
#define HCCL_HCCL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HCCL_SUCCESS = 0,
    HCCL_E_PARA = 1,
    HCCL_E_PTR = 2,
    HCCL_E_MEMORY = 3,
    HCCL_E_INTERNAL = 4,
    HCCL_E_NOT_SUPPORT = 5,
    HCCL_E_NOT_FOUND = 6,
    HCCL_E_UNAVAIL = 7,
    HCCL_E_SYSCALL = 8,
    HCCL_E_TIMEOUT = 9,
    HCCL_E_OPEN_FILE_FAILURE = 10,
    HCCL_E_TCP_CONNECT = 11,
    HCCL_E_ROCE_CONNECT = 12,
    HCCL_E_TCP_TRANSFER = 13,
    HCCL_E_ROCE_TRANSFER = 14,
    HCCL_E_RUNTIME = 15,
    HCCL_E_DRV = 16,
    HCCL_E_PROFILING = 17,
    HCCL_E_CCE = 18,
    HCCL_E_NETWORK = 19,
    HCCL_E_AGAIN = 20,
    HCCL_E_REMOTE = 21,
    HCCL_E_SUSPENDING = 22,
    HCCL_E_OPRETRY_FAIL = 23,
    HCCL_E_OOM = 24,
    HCCL_E_RESERVED = 25,
} HcclResult;

/* A rank's handle of a communicator. */
typedef void *HcclComm;

/* A rank's handle of symmetric memory. */
typedef void *CommSymWindow;
typedef CommSymWindow HcclCommSymWindow;
typedef enum {
    HCCL_WIN_DEFAULT = 0, /* not offered */
    HCCL_WIN_COLL_SYMMETRIC = 1,
} symmetricMemoryFlag;

typedef enum {
    HCCL_REDUCE_SUM = 0,
    HCCL_REDUCE_PROD = 1,
    HCCL_REDUCE_MAX = 2,
    HCCL_REDUCE_MIN = 3,
    HCCL_REDUCE_RESERVED = 255,
} HcclReduceOp;

typedef enum {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11,
    HCCL_DATA_TYPE_INT128 = 12,
    HCCL_DATA_TYPE_HIF8 = 14,
    HCCL_DATA_TYPE_FP8E4M3 = 15,
    HCCL_DATA_TYPE_FP8E5M2 = 16,
    HCCL_DATA_TYPE_FP8E8M0 = 17,
    HCCL_DATA_TYPE_RESERVED = 255,
} HcclDataType;

/* What HcclSetConfig sets for the process. */
typedef enum {
    HCCL_DETERMINISTIC = 0, /* 0 or 1; results are always deterministic here */
    HCCL_CONFIG_RESERVED = 1,
} HcclConfig;

typedef union HcclConfigValue {
    int32_t value;
} HcclConfigValue;

#define HCCL_ROOT_INFO_BYTES              4108
#define BUFFER_NAME_MAX_LENGTH            128
#define COMM_NAME_MAX_LENGTH              128
#define UDI_MAX_LENGTH                    128
#define HCCL_COMM_ALGO_MAX_LENGTH         1600
#define HCCL_COMM_RETRY_ENABLE_MAX_LENGTH 50
#define HCCL_COMM_RETRY_PARAMS_MAX_LENGTH 128

/* Where and who the root of a communicator is; made by HcclGetRootInfo in one process and handed to the others. */
typedef struct HcclRootInfoDef {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

#define HCCL_COMM_CONFIG_INFO_BYTES            24
#define HCCL_COMM_CONFIG_MAGIC_WORD            0xf0f0f0f0u
#define HCCL_COMM_CONFIG_VERSION               10u
#define HCCL_COMM_DEFAULT_BUFFSIZE             200u
#define HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET      0xffffffffu
#define HCCL_COMM_DEFAULT_DETERMINISTIC        0u
#define HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_DEFAULT_OP_EXPANSION_MODE    0u
#define HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET   (-1)
#define HCCL_COMM_QOS_CONFIG_NOT_SET           0xffffffffu
#define HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE   16ull

/* Begin with HcclCommConfigInit(). Older clients pass a shorter one, which its header says. */
typedef struct HcclCommConfigDef {
    char reserved[HCCL_COMM_CONFIG_INFO_BYTES]; /* size_t size; uint32_t magic, version; uint64_t reserved */
    uint32_t hcclBufferSize;                    /* MB */
    uint32_t hcclDeterministic;
    char hcclCommName[COMM_NAME_MAX_LENGTH];
    char hcclUdi[UDI_MAX_LENGTH];
    uint32_t hcclOpExpansionMode;
    uint32_t hcclRdmaTrafficClass;
    uint32_t hcclRdmaServiceLevel;
    uint32_t hcclWorldRankID;
    uint64_t hcclJobID;
    uint8_t aclGraphZeroCopyEnable;
    int32_t hcclExecTimeOut; /* seconds */
    char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];
    char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH];
    char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH];
    char hcclBufferName[BUFFER_NAME_MAX_LENGTH];
    uint32_t hcclQos;
    uint64_t hcclSymWinMaxMemSizePerRank; /* GB of addresses */
} HcclCommConfig;

/* Bits of HcclGetCommConfigCapability(). */
typedef enum {
    HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
    HCCL_COMM_CONFIG_DETERMINISTIC = 1,
    HCCL_COMM_CONFIG_COMM_NAME = 2,
    HCCL_COMM_CONFIG_OP_EXPANSION_MODE = 3,
    HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
    HCCL_COMM_CONFIG_WORLD_RANKID = 5,
    HCCL_COMM_CONFIG_JOBID = 6,
    HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
    HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
    HCCL_COMM_CONFIG_ALGO = 9,
    HCCL_COMM_CONFIG_RETRY = 10,
    HCCL_COMM_CONFIG_BUFFER_NAME = 11,
    HCCL_COMM_CONFIG_RESERVED = 12,
} HcclCommConfigCapability;

typedef enum {
    HCCL_SEND = 0,
    HCCL_RECV = 1,
    HCCL_SEND_RECV_RESERVED = 2,
} HcclSendRecvType;

typedef struct HcclSendRecvItemDef {
    HcclSendRecvType sendRecvType;
    void *buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
} HcclSendRecvItem;

#ifdef __cplusplus
#define HCCL_STATIC_ASSERT static_assert
#else
#define HCCL_STATIC_ASSERT _Static_assert
#endif
HCCL_STATIC_ASSERT(sizeof(HcclRootInfo) == 4108, "HcclRootInfo");
HCCL_STATIC_ASSERT(sizeof(HcclSendRecvItem) == 32, "HcclSendRecvItem");
HCCL_STATIC_ASSERT(offsetof(HcclCommConfig, hcclCommName) == 32, "HcclCommConfig");
HCCL_STATIC_ASSERT(offsetof(HcclCommConfig, hcclOpExpansionMode) == 288, "HcclCommConfig");
HCCL_STATIC_ASSERT(offsetof(HcclCommConfig, hcclJobID) == 304, "HcclCommConfig");
HCCL_STATIC_ASSERT(offsetof(HcclCommConfig, hcclExecTimeOut) == 316, "HcclCommConfig");
HCCL_STATIC_ASSERT(offsetof(HcclCommConfig, hcclQos) == 2228, "HcclCommConfig");
HCCL_STATIC_ASSERT(sizeof(HcclCommConfig) == 2240, "HcclCommConfig");
#undef HCCL_STATIC_ASSERT

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL: collectives between devices.
 *
 * A communicator joins ranks; each rank, a device of some process on some computer, holds a handle of its own. All
 * ranks call the same collectives in the same order. Calls return at once: the work is a task of the stream. Buffers
 * are device memory; in place is allowed where sendBuf is recvBuf, or the rank's own part of it. Counts are elements.
 * What goes wrong later is the stream's error at its next synchronise, and HcclGetCommAsyncError()'s. */
#ifndef HCCL_HCCL_H
#define HCCL_HCCL_H

#include <stdbool.h>

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- communicators ---- */

/* Opens a meeting point in this process; every rank then passes its description to HcclCommInitRootInfo. Good for one
 * communicator. */
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

/* Joins; returns when all nRanks ranks have (HCCL_CONNECT_TIMEOUT). The rank's device is the thread's current one. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                                    HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                                          const HcclCommConfig *config, HcclComm *comm);

/* Joins by a rank table, a JSON file that names all ranks and where they are. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank,
                                                             HcclCommConfig *config, HcclComm *comm);
/* The same with the table itself instead of its path. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoMemConfig(const char *rankTableString, uint32_t rank,
                                                                HcclCommConfig *config, HcclComm *comm);

/* All ranks in this process: rank i on device devices[i]. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/* A communicator of some ranks of another one, called by those ranks alone: rankIds lists them, subCommId tells
 * communicators of the same ranks apart, subCommRankId is the caller's place in rankIds. Callers outside pass rankIds
 * NULL and get no communicator. */
ACL_FUNC_VISIBILITY HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
                                                       uint64_t subCommId, uint32_t subCommRankId,
                                                       HcclCommConfig *config, HcclComm *subComm);

/* Queued collectives of this rank still run. */
ACL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);

ACL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

/* commName has COMM_NAME_MAX_LENGTH bytes. */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char *commName);

/* The first failure of a collective of this communicator on any rank, or HCCL_SUCCESS; it does not recover. */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

/* What a result means, in words; static. */
ACL_FUNC_VISIBILITY const char *HcclGetErrorString(HcclResult code);

ACL_FUNC_VISIBILITY HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
ACL_FUNC_VISIBILITY HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

/* Bits HcclCommConfigCapability: which fields of HcclCommConfig this library reads. */
ACL_FUNC_VISIBILITY uint32_t HcclGetCommConfigCapability(void);

static inline void HcclCommConfigInit(HcclCommConfig *config)
{
    struct {
        size_t size;
        uint32_t magic, version;
        uint64_t reserved;
    } head = {sizeof(HcclCommConfig), HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_COMM_CONFIG_VERSION, 0};
    if (!config)
        return;
    for (size_t i = 0; i < sizeof head; i++)
        config->reserved[i] = ((const char *)&head)[i];
    config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
    config->hcclCommName[0] = 0;
    config->hcclUdi[0] = 0;
    config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
    config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
    config->hcclWorldRankID = 0;
    config->hcclJobID = 0;
    config->aclGraphZeroCopyEnable = 0;
    config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
    config->hcclAlgo[0] = 0;
    config->hcclRetryEnable[0] = 0;
    config->hcclRetryParams[0] = 0;
    config->hcclBufferName[0] = 0;
    config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
    config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
}

/* ---- collectives ---- */

ACL_FUNC_VISIBILITY HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                                             HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                                          HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                                 HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                                 aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                                           uint32_t root, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/* Counts and displacements: arrays of uint64_t, one a rank, in host memory, read before the call returns. All ranks
 * pass the same ones. */
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls,
                                                  void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                                                  HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                                              const void *recvDispls, HcclDataType dataType, HcclComm comm,
                                              aclrtStream stream);

ACL_FUNC_VISIBILITY HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                                            const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                                            HcclComm comm, aclrtStream stream);
/* What rank i sends to j must be what j receives from i. */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
                                             HcclDataType sendType, const void *recvBuf, const void *recvCounts,
                                             const void *rdispls, HcclDataType recvType, HcclComm comm,
                                             aclrtStream stream);
/* sendCountMatrix[i * ranks + j]: what rank i sends to j; pieces lie one behind the other in order of ranks. */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
                                              const void *recvBuf, HcclDataType recvType, HcclComm comm,
                                              aclrtStream stream);

/* ---- mapped memory ---- */

/* Memory of aclrtMalloc is always used in place. Memory that was mapped (aclrtMapMem) goes through a copy, unless it
 * lies in one activated piece or symmetric window: then it is used in place too, by every communicator of the process.
 *
 * A range is reserved addresses (aclrtReserveMemAddress) that pieces may be activated in; alignment, offset and flags
 * must be 0, and handle what is mapped at virPtr. A piece is deactivated as a whole, when no collective uses it any
 * more; then it may be unmapped. */
ACL_FUNC_VISIBILITY HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment,
                                                      uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);
ACL_FUNC_VISIBILITY HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset,
                                                          aclrtDrvMemHandle handle, uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);

/* A window onto device memory, mapped or allocated; flag: HCCL_WIN_COLL_SYMMETRIC. SymWinGet: the window that holds
 * [ptr, ptr + size), and where in it that begins. */
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                                      HcclCommSymWindow *winHandle, uint32_t flag);
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *winHandle,
                                                 size_t *offset);

/* ---- between two ranks ---- */

/* Sends from one rank to another are received in their order. A large send ends when it is received. */
ACL_FUNC_VISIBILITY HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                                        HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                                        HcclComm comm, aclrtStream stream);

/* All at once, in whatever order they become possible. */
ACL_FUNC_VISIBILITY HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                                 aclrtStream stream);

/* HcclSend, HcclRecv and HcclBatchSendRecv called in between are one batch a communicator and stream. */
ACL_FUNC_VISIBILITY HcclResult HcclGroupStart(void);
ACL_FUNC_VISIBILITY HcclResult HcclGroupEnd(void);

#ifdef __cplusplus
}
#endif
#endif

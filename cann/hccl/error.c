/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's results in words. */
#include "hccl/hccl.h"

static const char *const texts[] = {
    [HCCL_SUCCESS] = "no error",
    [HCCL_E_PARA] = "parameter error",
    [HCCL_E_PTR] = "empty pointer",
    [HCCL_E_MEMORY] = "memory error",
    [HCCL_E_INTERNAL] = "internal error",
    [HCCL_E_NOT_SUPPORT] = "not supported feature",
    [HCCL_E_NOT_FOUND] = "resource not found",
    [HCCL_E_UNAVAIL] = "resource unavailable",
    [HCCL_E_SYSCALL] = "system call error",
    [HCCL_E_TIMEOUT] = "timeout",
    [HCCL_E_OPEN_FILE_FAILURE] = "open file failed",
    [HCCL_E_TCP_CONNECT] = "tcp connection failed",
    [HCCL_E_ROCE_CONNECT] = "roce connection failed",
    [HCCL_E_TCP_TRANSFER] = "tcp transfer failed",
    [HCCL_E_ROCE_TRANSFER] = "roce transfer failed",
    [HCCL_E_RUNTIME] = "runtime call failed",
    [HCCL_E_DRV] = "driver call failed",
    [HCCL_E_PROFILING] = "profiling call failed",
    [HCCL_E_CCE] = "cce call failed",
    [HCCL_E_NETWORK] = "network call failed",
    [HCCL_E_AGAIN] = "operation has to be tried again",
    [HCCL_E_REMOTE] = "error at the remote end",
    [HCCL_E_SUSPENDING] = "communicator is suspending",
};

const char *HcclGetErrorString(HcclResult code)
{
    return (unsigned)code < sizeof texts / sizeof texts[0] ? texts[code] : "unknown error";
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's results in words, and failures; see error.h. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

#include "acl/acl_rt.h"
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
    [HCCL_E_OPRETRY_FAIL] = "operation cannot be tried again",
    [HCCL_E_OOM] = "out of memory",
};

const char *HcclGetErrorString(HcclResult code)
{
    return (unsigned)code < sizeof texts / sizeof texts[0] ? texts[code] : "unknown error";
}

int hccl_code(HcclResult result)
{
    switch (result) {
    case HCCL_SUCCESS:
        return ACL_SUCCESS;
    case HCCL_E_PARA:
    case HCCL_E_PTR:
        return ACL_ERROR_RT_PARAM_INVALID;
    case HCCL_E_TIMEOUT:
        return ACL_ERROR_RT_FFTS_PLUS_TIMEOUT;
    case HCCL_E_OOM:
    case HCCL_E_MEMORY:
        return ACL_ERROR_RT_MEMORY_ALLOCATION;
    case HCCL_E_NOT_SUPPORT:
        return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    default:
        return ACL_ERROR_RT_FFTS_PLUS_EXCEPTION;
    }
}

HcclResult hccl_from(int acl_error)
{
    switch (acl_error) {
    case ACL_SUCCESS:
        return HCCL_SUCCESS;
    case ACL_ERROR_RT_MEMORY_ALLOCATION:
    case ACL_ERROR_RT_DEVICE_OOM:
        return HCCL_E_OOM;
    default:
        return HCCL_E_RUNTIME;
    }
}

HcclResult hccl_fail(HcclResult result, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fail(hccl_code(result), "%s", text);
    return result;
}

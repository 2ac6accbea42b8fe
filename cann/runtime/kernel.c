/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels compiled for a chip: this device computes on the CPU and cannot load them. */
#include "acl/acl_rt.h"
#include "error.h"
#include "runtime/rt.h"

static int refuse(const char *name)
{
    return fail(
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
        "The current system or device does not support %s: a software NPU cannot run kernels compiled for a chip",
        name);
}

aclError aclrtBinaryLoadFromData(const void *data, size_t length, const aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *binHandle)
{
    CHECK_ARG(data);
    CHECK_ARG(binHandle);
    (void)length, (void)options;
    return refuse(__func__);
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle)
{
    CHECK_ARG(kernelName);
    CHECK_ARG(funcHandle);
    (void)binHandle;
    return refuse(__func__);
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr)
{
    (void)funcHandle, (void)aicAddr, (void)aivAddr;
    return refuse(__func__);
}

rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **handle)
{
    (void)bin, (void)handle;
    return refuse(__func__);
}

rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char *stubName, const void *devFunc,
                             uint32_t funcMode)
{
    (void)binHandle, (void)stubFunc, (void)stubName, (void)devFunc, (void)funcMode;
    return refuse(__func__);
}

rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len)
{
    (void)addr, (void)len;
    return refuse(__func__);
}

rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize, void *smDesc,
                         void *stream)
{
    (void)stubFunc, (void)numBlocks, (void)args, (void)argsSize, (void)smDesc, (void)stream;
    return refuse(__func__);
}

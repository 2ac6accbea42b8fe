/* SPDX-License-Identifier: BSD-3-Clause */
/* Launching a chip's own machine code (libruntime.so). Programs are linked with these names; a device that computes on
 * the CPU cannot load such a binary and says so. */
#include "acl/acl_base.h"
#include "acl/error_codes/rt_error_codes.h"
#include "runtime/door.h"

typedef int32_t rtError_t;
typedef struct rtDevBinary rtDevBinary_t;

ACL_FUNC_VISIBILITY rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **handle);
ACL_FUNC_VISIBILITY rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char *stubName,
                                                 const void *devFunc, uint32_t funcMode);
ACL_FUNC_VISIBILITY rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize,
                                             void *smDesc, void *stream);
ACL_FUNC_VISIBILITY rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len);

static rtError_t unsupported(const char *call)
{
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a software device cannot run kernels compiled for a chip", call);
}

rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **handle)
{
    (void)bin, (void)handle;
    return unsupported("rtDevBinaryRegister");
}

rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char *stubName, const void *devFunc,
                             uint32_t funcMode)
{
    (void)binHandle, (void)stubFunc, (void)stubName, (void)devFunc, (void)funcMode;
    return unsupported("rtFunctionRegister");
}

rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize, void *smDesc,
                         void *stream)
{
    (void)stubFunc, (void)numBlocks, (void)args, (void)argsSize, (void)smDesc, (void)stream;
    return unsupported("rtKernelLaunch");
}

rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len)
{
    (void)addr, (void)len;
    return unsupported("rtGetC2cCtrlAddr");
}

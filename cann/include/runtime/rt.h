/* SPDX-License-Identifier: BSD-3-Clause */
/* The four functions of the layer below AscendCL that clients link: loading kernels compiled for a chip. A software
 * device answers "feature not supported". */
#ifndef RUNTIME_RT_H
#define RUNTIME_RT_H

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t rtError_t;

typedef struct tagRtDevBinary {
    uint32_t magic;
    uint32_t version;
    const void *data;
    uint64_t length;
} rtDevBinary_t;

ACL_FUNC_VISIBILITY rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **handle);
ACL_FUNC_VISIBILITY rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char *stubName,
                                                 const void *devFunc, uint32_t funcMode);
ACL_FUNC_VISIBILITY rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len);
ACL_FUNC_VISIBILITY rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize,
                                             void *smDesc, void *stream);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's failures: a result for the caller, and a text in the official form "Title(EIdddd): what" for
 * aclGetRecentErrMsg(). The place that detects a failure says so once. */
#ifndef ANYNPU_HCCL_ERROR_H
#define ANYNPU_HCCL_ERROR_H

#include "hccl/hccl_types.h"
#include "runtime/door.h"

/* Beginnings of texts by what went wrong. */
#define EI_ENVIRONMENT "Config_Error_Invalid_Environment_Variable(EI0001): "
#define EI_TIMEOUT     "Execution_Error_Timeout(EI0002): "
#define EI_PARAMETER   "Invalid_Argument(EI0003): "
#define EI_RANK_TABLE  "Config_Error_Ranktable_Configuration(EI0004): "
#define EI_DIFFERENT                                                                                                   \
    "Invalid_Argument(EI0005): The arguments for collective communication are inconsistent between ranks, "
#define EI_LINK     "Communication_Error_Get_Socket(EI0006): "
#define EI_RESOURCE "Resource_Error_Insufficient_Memory(EI0007): "
#define EI_VERSION  "Environment_Error_CANN_Version(EI0008): "
#define EI_REMOTE   "Execution_Error_Remote_Rank(EI0013): "
#define EI_CLUSTER  "Config_Error_Ranktable_Check(EI0014): "
#define EI_MEETING                                                                                                     \
    "Communication_Error_Ranktable_Detect(EI0015): Failed to collect cluster information of the communicator based "   \
    "on rootInfo detection. Reason: "
#define EI_BIND                                                                                                        \
    "Communication_Error_Bind_IP_Port(EI0019): Failed to enable listening for the host network adapter socket."        \
    "Reason: "

/* Records the text and returns result. */
HcclResult hccl_fail(HcclResult result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What the runtime returns, as a result. */
HcclResult hccl_from(int acl_error);

/* A result, as the runtime's. */
int hccl_code(HcclResult result);

#define HCCL_TRY(call)                                                                                                 \
    do {                                                                                                               \
        HcclResult result_ = (call);                                                                                   \
        if (result_)                                                                                                   \
            return result_;                                                                                            \
    } while (0)

#endif

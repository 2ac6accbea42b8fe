/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL: collectives between devices. */
#ifndef HCCL_HCCL_H
#define HCCL_HCCL_H

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a result means, in words; static. */
ACL_FUNC_VISIBILITY const char *HcclGetErrorString(HcclResult code);

#ifdef __cplusplus
}
#endif
#endif

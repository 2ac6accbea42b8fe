/* SPDX-License-Identifier: BSD-3-Clause */
/* Between launch.c and the callers that tools/callers.py generates: one C function for each signature of op.h's
 * letters, which casts the address of aclnnXGetWorkspaceSize to its type and calls it. */
#ifndef TORCH_NPU_OPS_LAUNCH_H
#define TORCH_NPU_OPS_LAUNCH_H

#include "op.h"

/* One argument as the C function takes it. */
union aclnn_native {
    void *p;
    int64_t i;
    double d;
};

typedef aclnnStatus (*aclnn_caller)(void *first, const union aclnn_native *a, uint64_t *workspace,
                                    aclOpExecutor **executor);

/* NULL for a signature no family file has. Generated. */
aclnn_caller aclnn_caller_find(const char *signature);

/* ASCEND_LAUNCH_BLOCKING=1 */
extern bool call_blocking;

#endif

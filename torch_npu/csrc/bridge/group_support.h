/* SPDX-License-Identifier: BSD-3-Clause */
/* What process groups (c10d/) need of the rest of the bridge. */
#ifndef TORCH_NPU_BRIDGE_GROUP_SUPPORT_H
#define TORCH_NPU_BRIDGE_GROUP_SUPPORT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens another library of the CANN that was found (libhccl.so) for good; NULL with the loader's own words. */
void *cann_library(const char *name, char *message, size_t size);

#ifdef __cplusplus
}

namespace npu
{
// Set by process groups: called after a wait for a stream or the device, with whether it failed; throws what went wrong
// on streams that nobody waits for.
extern void (*after_wait)(int device, bool failed);
} // namespace npu
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The CANN that was found: its functions, looked up once at load (struct cann) or at first use (operators).
 *
 * cann_open() runs once, at import, before anything else of the bridge; afterwards `cann` is constant. Functions marked
 * optional in cann.def may be NULL. Nothing here touches a device. */
#ifndef TORCH_NPU_BRIDGE_CANN_H
#define TORCH_NPU_BRIDGE_CANN_H

#include "aclnn/acl_meta.h"
#include "acl/acl_prof.h"
#include "anynpu/extension.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default) /* torch_npu._C uses them too */

typedef void *aclmdlRI; /* a captured graph; acl_rt.h has it too */

struct cann_version {
    char text[128], part[4][64], reserved[128];
};

struct cann {
#define X(library, optional, type, name, parameters) type(*name) parameters;
#include "cann.def"
#undef X
    const struct anynpu_extension *extension; /* NULL on a CANN of another maker */
    char *path;                               /* of libascendcl.so, as found */
};

extern struct cann cann;

/* Opens libascendcl.so and libnnopbase.so in the folder lib64 ("": the loader's path) and fills `cann`. 0, or -1 with
 * the loader's own words. A second call is a no-op. */
int cann_open(const char *lib64, char *message, size_t size);
bool cann_loaded(void);

/* Address of an aclnn function: custom operator libraries first, then libopapi_*.so, libopapi.so, libaclnn_*.so; NULL
 * when no library has it. Any thread. */
void *cann_symbol(const char *name);

/* aclrtMemcpy kinds, stream flags and event flags of the published interface. */
enum { MEMCPY_H2H, MEMCPY_H2D, MEMCPY_D2H, MEMCPY_D2D };
enum { MALLOC_HUGE_FIRST = 0, HBM_MEM = 1 };
enum { STREAM_FAST_LAUNCH = 1, STREAM_FAST_SYNC = 2 };
enum { EVENT_SYNC = 1, EVENT_CAPTURE = 2, EVENT_TIME_LINE = 8, EVENT_EXTERNAL = 0x20 };

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

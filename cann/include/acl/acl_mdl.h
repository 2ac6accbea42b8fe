/* SPDX-License-Identifier: BSD-3-Clause */
/* AscendCL models. So far: the switch for dumping operators' tensors. */
#ifndef ACL_ACL_MDL_H
#define ACL_ACL_MDL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Dumping the tensors of operators to files, as the configuration file says. This device cannot: all three answer
 * ACL_ERROR_FEATURE_UNSUPPORTED. */
ACL_FUNC_VISIBILITY aclError aclmdlInitDump(void);
ACL_FUNC_VISIBILITY aclError aclmdlSetDump(const char *dumpCfgPath);
ACL_FUNC_VISIBILITY aclError aclmdlFinalizeDump(void);

#ifdef __cplusplus
}
#endif
#endif

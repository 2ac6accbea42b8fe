/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumping operators' tensors: refused; programs are linked with the names. */
#include "acl/acl_mdl.h"
#include "runtime/error.h"

static aclError unsupported(const char *call)
{
    return fail(ACL_ERROR_FEATURE_UNSUPPORTED, "%s: this device does not dump the tensors of operators", call);
}

aclError aclmdlInitDump(void)
{
    return unsupported("aclmdlInitDump");
}

aclError aclmdlSetDump(const char *dumpCfgPath)
{
    CHECK_ARG(dumpCfgPath);
    return unsupported("aclmdlSetDump");
}

aclError aclmdlFinalizeDump(void)
{
    return unsupported("aclmdlFinalizeDump");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Versions and names: of this interface, of CANN's packages (option ANYNPU_VERSION), of the SoC (option ANYNPU_SOC). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "base/options.h"
#include "error.h"

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    CHECK_ARG(majorVersion);
    CHECK_ARG(minorVersion);
    CHECK_ARG(patchVersion);
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void)
{
    return option_text(OPTION_SOC);
}

/* Copies part `index` of "9.1.0"; "0" when there are fewer. */
static void part(char *out, size_t size, const char *version, int index)
{
    for (; index > 0 && *version; index--) {
        version += strcspn(version, ".");
        version += *version == '.';
    }
    int length = (int)strcspn(version, ".");
    snprintf(out, size, "%.*s", length ? length : 1, length ? version : "0");
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version)
{
    CHECK_ARG(version);
    if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER)
        return fail(ACL_ERROR_INVALID_PARAM, "package %d is unknown", (int)name);
    const char *text = option_text(OPTION_VERSION);
    memset(version, 0, sizeof *version);
    snprintf(version->version, sizeof version->version, "%s", text);
    part(version->majorVersion, sizeof version->majorVersion, text, 0);
    part(version->minorVersion, sizeof version->minorVersion, text, 1);
    part(version->releaseVersion, sizeof version->releaseVersion, text, 2);
    part(version->patchVersion, sizeof version->patchVersion, text, 3);
    return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr)
{
    CHECK_ARG(pkgName);
    CHECK_ARG(versionStr);
    snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%s", option_text(OPTION_VERSION));
    return ACL_SUCCESS;
}

/* 9.1.0 is 90100000: two digits a part below the major one, then the weight of a release. */
aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum)
{
    CHECK_ARG(pkgName);
    CHECK_ARG(versionNum);
    int major = 0, minor = 0, release = 0;
    sscanf(option_text(OPTION_VERSION), "%d.%d.%d", &major, &minor, &release);
    *versionNum = major * 10000000 + minor * 100000 + release * 1000;
    return ACL_SUCCESS;
}

aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num)
{
    static const aclCannAttr list[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};
    CHECK_ARG(cannAttrList);
    CHECK_ARG(num);
    *cannAttrList = list;
    *num = sizeof list / sizeof *list;
    return ACL_SUCCESS;
}

/* 1: there is such a thing. Operators are never compiled at run time here. */
aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value)
{
    CHECK_ARG(value);
    if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE)
        return fail(ACL_ERROR_INVALID_PARAM, "attribute %d is unknown", (int)cannAttr);
    *value = cannAttr != ACL_CANN_ATTR_JIT_COMPILE;
    return ACL_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* libascend_hal.so: the two questions that profilers put to the driver. Core counts are the chip's whose name this CANN
 * bears; clocks and counters that only hardware has are "not supported" (0xfffe), after which callers use the host's
 * clock. */
#include <stddef.h>

#include "acl/acl_rt.h"

enum { MODULE_AICORE = 4, MODULE_VECTOR_CORE = 7 };
enum { INFO_CORE_NUM = 3 };
enum { NONE = 0, INVALID_DEVICE = 2, INVALID_VALUE = 3, NOT_SUPPORT = 0xfffe };
enum { API_VERSION = 7 << 16 | 0x19 << 8 }; /* from 7.25.5 on a system counter is expected */

ACL_FUNC_VISIBILITY int halGetAPIVersion(int *halAPIVersion);
ACL_FUNC_VISIBILITY int halGetDeviceInfo(uint32_t devId, int32_t moduleType, int32_t infoType, int64_t *value);

int halGetAPIVersion(int *halAPIVersion)
{
    if (!halAPIVersion)
        return INVALID_VALUE;
    *halAPIVersion = API_VERSION;
    return NONE;
}

int halGetDeviceInfo(uint32_t devId, int32_t moduleType, int32_t infoType, int64_t *value)
{
    uint32_t count = 0;
    if (!value)
        return INVALID_VALUE;
    if (aclrtGetDeviceCount(&count) || devId >= count)
        return INVALID_DEVICE;
    if (infoType == INFO_CORE_NUM && (moduleType == MODULE_AICORE || moduleType == MODULE_VECTOR_CORE)) {
        aclrtDevAttr attr = moduleType == MODULE_AICORE ? ACL_DEV_ATTR_AICORE_CORE_NUM : ACL_DEV_ATTR_VECTOR_CORE_NUM;
        return aclrtGetDeviceInfo(devId, attr, value) ? INVALID_VALUE : NONE;
    }
    return NOT_SUPPORT;
}

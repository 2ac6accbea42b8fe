/* SPDX-License-Identifier: BSD-3-Clause */
/* What one can ask of a device: attributes of its SoC (base/soc.c), identity, neighbours, use, limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/soc.h"
#include "context.h"
#include "error.h"
#include "memory.h"
#include "settings.h"
#include "usage.h"

enum { LEAST_PRIORITY = 7, GREATEST_PRIORITY = 0, PCI_FIRST_BUS = 0xc1 };

static const struct soc *soc(void)
{
    return soc_find(aclrtGetSocName());
}

static int64_t total_memory(struct device *d)
{
    size_t left, total, peak;
    memory_info(d, &left, &total, &peak);
    return (int64_t)total;
}

static int unsupported(const char *what)
{
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "The current system or device (%s) does not support %s",
                aclrtGetSocName(), what);
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value)
{
    CHECK_ARG(value);
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    const struct soc *s = soc();
    if (attr >= ACL_DEV_ATTR_WARP_SIZE && attr <= ACL_DEV_ATTR_MAX_BLOCK_DIM_Z &&
        attr != ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE && !s->simt)
        return unsupported("SIMT attributes");
    switch ((int)attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
        *value = s->aicpu;
        break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
        *value = s->cube;
        break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
        *value = s->vector;
        break;
    case ACL_DEV_ATTR_WARP_SIZE:
        *value = 32;
        break;
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_X:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Y:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Z:
        *value = 2048;
        break;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
        *value = s->ubuf;
        break;
    case ACL_DEV_ATTR_MAX_GRID_DIM_X:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Y:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Z:
    case ACL_DEV_ATTR_MAX_BLOCK_PER_GRID:
        *value = 65535;
        break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
        *value = total_memory(d);
        break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
        *value = s->l2;
        break;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
        *value = d->physical;
        break;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_MAINBOARD_ID:
    case ACL_DEV_ATTR_HD_CONNECT_TYPE: /* PCIe */
    case ACL_DEV_ATTR_IS_VIRTUAL:      /* a part of a chip */
        *value = 0;
        break;
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
        *value = 3; /* a PCIe card */
        break;
    case ACL_DEV_ATTR_NPU_ARCH:
        *value = s->arch;
        break;
    default:
        return fail(ACL_ERROR_RT_PARAM_INVALID, "device attribute %d is unknown", (int)attr);
    }
    return ACL_SUCCESS;
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value)
{
    CHECK_ARG(value);
    if (!device_get(deviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = soc()->cube;
        return ACL_SUCCESS;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = soc()->vector;
        return ACL_SUCCESS;
    case ACL_DEVICE_INFO_L2_SIZE:
        *value = soc()->l2;
        return ACL_SUCCESS;
    default:
        return fail(ACL_ERROR_INVALID_PARAM, "device information %d is unknown", (int)deviceInfo);
    }
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value)
{
    CHECK_ARG(value);
    if (!device_get(deviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "device feature %d is unknown", (int)devFeatureType);
    *value = ACL_DEV_FEATURE_NOT_SUPPORT;
    return ACL_SUCCESS;
}

/* Kernels of one architecture run on chips of the same. */
aclError aclrtCheckArchCompatibility(const char *socVersion, int32_t *canCompatible)
{
    CHECK_ARG(socVersion);
    CHECK_ARG(canCompatible);
    const struct soc *other = soc_find(socVersion);
    *canCompatible = other && other->arch == soc()->arch;
    return ACL_SUCCESS;
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus)
{
    CHECK_ARG(deviceStatus);
    if (!device_get(deviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority)
{
    if (leastPriority)
        *leastPriority = LEAST_PRIORITY;
    if (greatestPriority)
        *greatestPriority = GREATEST_PRIORITY;
    return ACL_SUCCESS;
}

/* The same for a device in every process of this boot: made of the machine's boot id. */
aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid)
{
    CHECK_ARG(uuid);
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    char text[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f) {
        if (!fgets(text, sizeof text, f))
            *text = 0;
        fclose(f);
    }
    size_t n = 0;
    memset(uuid, 0, sizeof *uuid);
    for (const char *p = text; *p && n < sizeof uuid->bytes - 1; p++)
        if (*p != '-') {
            unsigned int byte = 0;
            if (sscanf(p, "%2x", &byte) != 1)
                break;
            uuid->bytes[n++] = (char)byte;
            p++;
        }
    uuid->bytes[sizeof uuid->bytes - 1] = (char)d->physical;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char *pciBusId, int32_t len)
{
    CHECK_ARG(pciBusId);
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (len < 13)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "a PCI bus id needs 13 bytes, len is %d", len);
    snprintf(pciBusId, (size_t)len, "%04x:%02x:00.0", (unsigned)d->physical / 32,
             (unsigned)(PCI_FIRST_BUS + d->physical % 32));
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetByPCIBusId(const char *pciBusId, int32_t *deviceId)
{
    CHECK_ARG(pciBusId);
    CHECK_ARG(deviceId);
    int n = device_count();
    for (int i = 0; i < n; i++) {
        char id[16];
        if (aclrtDeviceGetPCIBusId(i, id, sizeof id) == ACL_SUCCESS && strcmp(id, pciBusId) == 0) {
            *deviceId = i;
            return ACL_SUCCESS;
        }
    }
    return n < 0 ? ACL_ERROR_RT_INVALID_DEVICEID
                 : fail(ACL_ERROR_RT_PARAM_INVALID, "no device has the PCI bus id '%.32s'", pciBusId);
}

aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t *value)
{
    CHECK_ARG(value);
    if (!device_get(deviceId) || !device_get(otherDeviceId))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    *value = ACL_RT_DEVS_TOPOLOGY_HCCS;
    return ACL_SUCCESS;
}

/* Both ids checked; the same device may not be its own peer. */
static int two_devices(int32_t a, int32_t b, struct device **first, struct device **second)
{
    *first = device_get(a);
    *second = *first ? device_get(b) : NULL;
    return *second ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_DEVICEID;
}

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId)
{
    CHECK_ARG(canAccessPeer);
    struct device *a, *b;
    TRY(two_devices(deviceId, peerDeviceId, &a, &b));
    if (a == b)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "device %d is no peer of itself", deviceId);
    *canAccessPeer = 1;
    return ACL_SUCCESS;
}

static int change_peer(int32_t peerDeviceId, bool enable)
{
    struct device *d = device_current(), *peer = d ? device_get(peerDeviceId) : NULL;
    if (!d)
        return fail_code();
    if (!peer)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (d == peer)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "device %d is no peer of itself", peerDeviceId);
    uint64_t bit = (uint64_t)1 << peer->id;
    if (enable)
        atomic_fetch_or(&d->peers, bit);
    else
        atomic_fetch_and(&d->peers, ~bit);
    return ACL_SUCCESS;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags)
{
    if (flags)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flags must be 0, not %u", flags);
    return change_peer(peerDeviceId, true);
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId)
{
    return change_peer(peerDeviceId, false);
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t *status)
{
    CHECK_ARG(status);
    struct device *a, *b;
    TRY(two_devices(deviceId, peerDeviceId, &a, &b));
    *status = atomic_load(&a->peers) >> b->id & 1;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t *pid)
{
    CHECK_ARG(pid);
    *pid = (int32_t)getpid();
    return ACL_SUCCESS;
}

/* The cores' use is that of the process's CPUs since the last call; memory's is what is allocated. */
aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo)
{
    CHECK_ARG(utilizationInfo);
    if (utilizationInfo->utilizationExtend)
        return fail(ACL_ERROR_INVALID_PARAM, "utilizationExtend is reserved and must be NULL");
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    size_t left, total, peak;
    memory_info(d, &left, &total, &peak);
    utilizationInfo->cubeUtilization = utilizationInfo->vectorUtilization = usage_percent(d);
    utilizationInfo->aicpuUtilization = 0;
    utilizationInfo->memoryUtilization = (int32_t)((double)(total - left) / (double)total * 100);
    return ACL_SUCCESS;
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum)
{
    CHECK_ARG(memUsageInfo);
    CHECK_ARG(outputNum);
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    if (inputNum == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "inputNum must not be 0");
    size_t left, total, peak;
    memory_info(d, &left, &total, &peak);
    memset(memUsageInfo, 0, sizeof *memUsageInfo);
    strcpy(memUsageInfo->name, "APP");
    memUsageInfo->curMemSize = total - left;
    memUsageInfo->memPeakSize = peak;
    *outputNum = 1;
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active)
{
    CHECK_ARG(active);
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    TRY(entry_check());
    if (flags)
        *flags = 0;
    pthread_mutex_lock(&d->lock);
    *active = d->primary != NULL;
    pthread_mutex_unlock(&d->lock);
    return ACL_SUCCESS;
}

/* Ids: "user" counts the visible devices, "logic" and "physical" the machine's. */
static int to_physical(int32_t user, int32_t *out)
{
    CHECK_ARG(out);
    struct device *d = device_get(user);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    *out = d->physical;
    return ACL_SUCCESS;
}

static int to_user(int32_t physical, int32_t *out)
{
    CHECK_ARG(out);
    int n = device_count();
    for (int i = 0; i < n; i++)
        if (device_get(i)->physical == physical) {
            *out = i;
            return ACL_SUCCESS;
        }
    return n < 0 ? ACL_ERROR_RT_INVALID_DEVICEID
                 : fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %d is not visible to this process", physical);
}

static int same(int32_t id, int32_t *out)
{
    CHECK_ARG(out);
    int total = settings_devices();
    if (id < 0 || id >= total)
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "invalid device, device=%d, valid device range is [0, %d)", id,
                    total);
    *out = id;
    return ACL_SUCCESS;
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId)
{
    return to_physical(userDevid, logicDevId);
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t *const phyDevId)
{
    return to_physical(userDevId, phyDevId);
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevid)
{
    return to_user(logicDevId, userDevid);
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t *const userDevId)
{
    return to_user(phyDevId, userDevId);
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t *const logicDevId)
{
    return same(phyDevId, logicDevId);
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t *const phyDevId)
{
    return same(logicDevId, phyDevId);
}

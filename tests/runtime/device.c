/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices and contexts: counting, visibility, setting and resetting, attributes, settings, and every handle that is not
 * one. */
#include "child.h"

#include <pthread.h>

#include "runtime/rt.h"
#include "task.h"

static void attributes(void)
{
    int64_t value = 0;
    uint32_t count = 0;
    int32_t id = -1, can = -1;
    char bus[16];
    aclrtUuid uuid, other;
    aclrtUtilizationInfo use = {0};
    aclrtMemUsageInfo usage;
    size_t n = 0;
    uint64_t topology = 0;
    aclrtRunMode mode;
    const aclCannAttr *list = NULL;
    CHECK_EQ(aclrtGetDeviceCount(&count), 0);
    CHECK_EQ(count, 2);
    CHECK_EQ(aclrtGetRunMode(&mode), 0);
    CHECK_EQ(mode, ACL_HOST);
    CHECK_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUBE_CORE_NUM, &value), 0);
    CHECK_EQ(value, 20);
    CHECK_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value), 0);
    CHECK_EQ(value, INT64_C(64) << 30);
    CHECK_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(aclrtGetDeviceInfo(0, (aclrtDevAttr)9999, &value), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtGetDeviceInfo(7, ACL_DEV_ATTR_CUBE_CORE_NUM, &value), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(aclGetDeviceCapability(1, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value), 0);
    CHECK_EQ(value, 40);
    CHECK_EQ(aclGetDeviceCapability(1, ACL_DEVICE_INFO_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtCheckArchCompatibility("Ascend910B1", &can), 0);
    CHECK_EQ(can, 1);
    CHECK_EQ(aclrtCheckArchCompatibility("Ascend310P3", &can), 0);
    CHECK_EQ(can, 0);
    CHECK_EQ(aclrtDeviceGetPCIBusId(1, bus, 12), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtDeviceGetPCIBusId(1, bus, sizeof bus), 0);
    CHECK_EQ(strlen(bus), 12);
    CHECK_EQ(aclrtDeviceGetByPCIBusId(bus, &id), 0);
    CHECK_EQ(id, 1);
    CHECK_EQ(aclrtDeviceGetByPCIBusId("0000:00:00.0", &id), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtDeviceGetUuid(0, &uuid), 0);
    CHECK_EQ(aclrtDeviceGetUuid(1, &other), 0);
    CHECK(memcmp(&uuid, &other, sizeof uuid) != 0);
    CHECK_EQ(aclrtGetDevicesTopo(0, 1, &topology), 0);
    CHECK_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), 0);
    CHECK_EQ(can, 1);
    CHECK_EQ(aclrtDeviceCanAccessPeer(&can, 0, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtDeviceEnablePeerAccess(1, 0), 0);
    CHECK_EQ(aclrtDevicePeerAccessStatus(0, 1, &can), 0);
    CHECK_EQ(can, 1);
    CHECK_EQ(aclrtDeviceDisablePeerAccess(1), 0);
    CHECK_EQ(aclrtDevicePeerAccessStatus(0, 1, &can), 0);
    CHECK_EQ(can, 0);
    CHECK_EQ(aclrtDeviceGetBareTgid(&id), 0);
    CHECK_EQ(id, getpid());
    CHECK_EQ(aclrtGetDeviceUtilizationRate(0, &use), 0);
    CHECK(use.cubeUtilization >= 0 && use.cubeUtilization <= 100);
    CHECK_EQ(aclrtGetMemUsageInfo(0, &usage, 1, &n), 0);
    CHECK_EQ(n, 1);
    CHECK_EQ(aclGetCannAttributeList(&list, &n), 0);
    int32_t bf16 = 0;
    CHECK_EQ(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &bf16), 0);
    CHECK_EQ(bf16, 1);
    CHECK_EQ(aclGetCannAttribute((aclCannAttr)50, &bf16), ACL_ERROR_INVALID_PARAM);
}

static void settings(void)
{
    int64_t value = 9;
    uint64_t actual = 0;
    aclrtFloatOverflowMode mode;
    CHECK_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), 0);
    CHECK_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 5), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
    CHECK_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0), 0);
    CHECK_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(aclrtSetSysParamOpt((aclSysParamOpt)-1, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtSetOpExecuteTimeOutV2(1000000, &actual), 0);
    CHECK_EQ(actual, 1000000);
    CHECK_EQ(aclrtSetOpExecuteTimeOutV2(0, &actual), 0);
    CHECK_EQ(actual, UINT64_MAX);
    CHECK_EQ(aclrtGetDeviceSatMode(&mode), 0);
    CHECK_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
    CHECK_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), 0);
    CHECK_EQ(aclrtGetDeviceSatMode(&mode), 0);
    CHECK_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
    void *status = NULL;
    uint64_t found = 7;
    CHECK_EQ(aclrtMalloc(&status, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtResetOverflowStatus(NULL), 0);
    CHECK_EQ(aclrtGetOverflowStatus(status, 64, NULL), 0);
    CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
    CHECK_EQ(aclrtMemcpy(&found, sizeof found, status, sizeof found, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(found, 0);
    CHECK_EQ(aclrtGetOverflowStatus(NULL, 64, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtGetOverflowStatus(status, 4, NULL), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtGetOverflowStatus(&found, 8, NULL), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(status), 0);
    CHECK_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), 0);
    CHECK_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_RT_PARAM_INVALID);
}

static void *other_thread(void *context)
{
    aclrtContext c = NULL;
    CHECK_EQ(aclrtGetCurrentContext(&c), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtSetCurrentContext(context), 0);
    CHECK_EQ(aclrtGetCurrentContext(&c), 0);
    CHECK(c == context);
    return NULL;
}

static void contexts(void)
{
    aclrtContext first = NULL, second = NULL, got = NULL;
    aclrtStream s, def;
    pthread_t thread;
    int32_t device = -1, active = -1;
    CHECK_EQ(aclrtGetCurrentContext(&first), 0);
    CHECK_EQ(aclrtCreateContext(&second, 1), 0);
    CHECK_EQ(aclrtGetCurrentContext(&got), 0);
    CHECK(got == second);
    CHECK_EQ(aclrtGetDevice(&device), 0);
    CHECK_EQ(device, 1);
    CHECK_EQ(aclrtGetPrimaryCtxState(1, NULL, &active), 0);
    CHECK_EQ(active, 0);
    CHECK_EQ(aclrtGetPrimaryCtxState(0, NULL, &active), 0);
    CHECK_EQ(active, 1);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtCtxGetCurrentDefaultStream(&def), 0);
    CHECK_EQ(aclrtDestroyStream(def), ACL_ERROR_RT_PARAM_INVALID);
    pthread_create(&thread, NULL, other_thread, second);
    pthread_join(thread, NULL);
    CHECK_EQ(aclrtSetCurrentContext(first), 0);
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_STREAM_CONTEXT);
    CHECK_TEXT(aclGetRecentErrMsg(), "belongs to another context");
    CHECK_EQ(push(s, task_sleep, 0, SMALL), ACL_ERROR_RT_STREAM_CONTEXT);
    CHECK_EQ(aclrtDestroyContext(first), ACL_ERROR_RT_PARAM_INVALID); /* the default one */
    CHECK_EQ(aclrtDestroyContext(second), 0);
    CHECK_EQ(aclrtDestroyContext(second), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtSetCurrentContext(second), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtSynchronizeStream(s), ACL_ERROR_RT_INVALID_HANDLE); /* went with its context */
    CHECK_EQ(aclrtSetDevice(1), 0);
    CHECK_EQ(aclrtSetDevice(1), 0);
    CHECK_EQ(aclrtResetDevice(1), 0); /* set twice: still there */
    CHECK_EQ(aclrtGetDevice(&device), 0);
    void *p = NULL;
    CHECK_EQ(aclrtMalloc(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtResetDevice(1), 0);
    CHECK_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_TEXT(aclGetRecentErrMsg(), "its context was destroyed");
    CHECK_EQ(aclrtFree(p), ACL_ERROR_RT_PARAM_INVALID); /* memory goes with the device */
    CHECK_EQ(aclrtResetDevice(1), 0);
    CHECK_EQ(aclrtSetDevice(1), 0);
    CHECK_EQ(aclrtSetDevice(1), 0);
    CHECK_EQ(aclrtResetDeviceForce(1), 0);
    CHECK_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_TEXT(aclGetRecentErrMsg(), "valid device range is [0, 2)");
    CHECK_EQ(aclrtResetDevice(9), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(aclrtSetDevice(0), 0);
}

/* Whatever is not a handle is recognised without being read. */
static void handles(void)
{
    char here[256] = {0};
    void *const wrong[] = {(void *)8, (void *)0x123456789, here, (void *)(uintptr_t)-64, (void *)INT64_MIN};
    aclrtStream s;
    aclrtEvent e;
    aclrtEventStatus status;
    uint32_t id;
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtCreateEvent(&e), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(aclrtSynchronizeStream(wrong[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtDestroyStream(wrong[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtRecordEvent(wrong[i], s), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtRecordEvent(e, wrong[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtDestroyEvent(wrong[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtSetCurrentContext(wrong[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtGetNotifyId(wrong[i], &id), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtFreePhysical(wrong[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtUnmapMem(wrong[i]), ACL_ERROR_RT_PARAM_INVALID);
        CHECK_EQ(aclrtFree(wrong[i]), ACL_ERROR_RT_PARAM_INVALID);
        CHECK_EQ(aclrtFreeHost(wrong[i]), ACL_ERROR_RT_PARAM_INVALID);
        CHECK_EQ(aclrtMemset(wrong[i], 1, 0, 2), ACL_ERROR_RT_PARAM_INVALID);
    }
    CHECK_EQ(aclrtSynchronizeStream(e), ACL_ERROR_RT_INVALID_HANDLE); /* another kind of handle */
    CHECK_EQ(aclrtSynchronizeStream((char *)s + 64), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtQueryEvent(s, &status), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtCreateStream(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtCreateEvent(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtDestroyStream(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtQueryEvent(e, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
    CHECK_EQ(aclrtDestroyEvent(e), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtDestroyStream(s), 0);
}

static void kernels(void)
{
    void *h = NULL;
    char binary[16] = "ELF";
    CHECK_EQ(aclrtBinaryLoadFromData(binary, 16, NULL, &h), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_TEXT(aclGetRecentErrMsg(), "a software NPU cannot run kernels compiled for a chip");
    CHECK_EQ(aclrtBinaryGetFunction(NULL, "f", &h), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(aclrtGetFunctionAddr(NULL, &h, &h), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(rtKernelLaunch(NULL, 1, NULL, 0, NULL, NULL), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQ(rtDevBinaryRegister(NULL, NULL), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_TEXT(aclGetRecentErrMsg(), "EE1005");
}

static void buffers(void)
{
    char memory[100];
    aclDataBuffer *b = aclCreateDataBuffer(memory, 100);
    CHECK(aclGetDataBufferAddr(b) == memory);
    CHECK_EQ(aclGetDataBufferSizeV2(b), 100);
    CHECK_EQ(aclUpdateDataBuffer(b, memory + 1, 99), 0);
    CHECK_EQ(aclGetDataBufferSize(b), 99);
    CHECK_EQ(aclDestroyDataBuffer(b), 0);
    CHECK_EQ(aclDestroyDataBuffer(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK(aclGetDataBufferAddr(NULL) == NULL);
    CHECK_EQ(aclDataTypeSize(ACL_BF16), 2);
    CHECK_EQ(aclDataTypeSize(ACL_COMPLEX128), 16);
    CHECK_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0);
    CHECK(aclFloat16ToFloat(aclFloatToFloat16(1.5f)) == 1.5f);
}

/* ASCEND_RT_VISIBLE_DEVICES=3,1 of 8 */
static void visible(void)
{
    uint32_t count = 0;
    int32_t id = -1;
    int64_t chip = -1;
    CHECK_EQ(aclrtGetDeviceCount(&count), 0);
    CHECK_EQ(count, 2);
    CHECK_EQ(aclrtGetPhyDevIdByUserDevId(0, &id), 0);
    CHECK_EQ(id, 3);
    CHECK_EQ(aclrtGetLogicDevIdByUserDevId(1, &id), 0);
    CHECK_EQ(id, 1);
    CHECK_EQ(aclrtGetUserDevIdByPhyDevId(1, &id), 0);
    CHECK_EQ(id, 1);
    CHECK_EQ(aclrtGetUserDevIdByLogicDevId(5, &id), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(aclrtGetPhyDevIdByLogicDevId(7, &id), 0);
    CHECK_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_PHY_CHIP_ID, &chip), 0);
    CHECK_EQ(chip, 3);
    CHECK_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(aclrtSetDevice(1), 0);
}

static void invisible(void)
{
    uint32_t count = 9;
    CHECK_EQ(aclrtGetDeviceCount(&count), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(count, 0);
    puts(aclGetRecentErrMsg());
    CHECK_EQ(aclrtSetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID);
}

static void other_soc(void)
{
    int64_t value = 0;
    CHECK_TEXT(aclrtGetSocName(), "Ascend950PR_9599");
    CHECK_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value), 0);
    CHECK_EQ(value, 32);
}

static void malformed(void)
{
    uint32_t count = 0;
    CHECK_EQ(aclrtGetDeviceCount(&count), 0);
    CHECK_EQ(count, 2);
    CHECK_TEXT(aclrtGetSocName(), "Ascend910B3");
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"visible", visible},
                                        {"invisible", invisible},
                                        {"other_soc", other_soc},
                                        {"malformed", malformed},
                                        {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_EQ(aclrtSetDevice(0), 0);
    attributes();
    settings();
    contexts();
    handles();
    kernels();
    buffers();
    CHECK_CHILD("visible", "ANYNPU_DEVICES=8\nASCEND_RT_VISIBLE_DEVICES=3,1");
    CHECK_CHILD("visible", "LOCAL_WORLD_SIZE=8\nASCEND_RT_VISIBLE_DEVICES=3,1");
    CHECK_CHILD("invisible", "ASCEND_RT_VISIBLE_DEVICES=0,5");
    CHECK_TEXT(child_output, "device 5 does not exist, valid device range is [0, 2)");
    CHECK_CHILD("invisible", "ASCEND_RT_VISIBLE_DEVICES=1,1");
    CHECK_TEXT(child_output, "device 1 is named twice");
    CHECK_CHILD("invisible", "ASCEND_RT_VISIBLE_DEVICES=0,x");
    CHECK_TEXT(child_output, "'x' is not a device id");
    CHECK_CHILD("other_soc", "ANYNPU_SOC=Ascend950PR_9599");
    CHECK_CHILD("malformed", "ANYNPU_DEVICES=many\nANYNPU_SOC=Pentium");
    CHECK_TEXT(child_output, "ANYNPU_DEVICES=many is not valid: expected a number from 0 to 64. Using the default, 2.");
    CHECK_TEXT(child_output, "ANYNPU_SOC=Pentium is not valid");
    return check_done();
}

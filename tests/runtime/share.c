/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes: memory, physical memory, events and notifies made in one and used in the other. The child is told what
 * to import by its environment. */
#include "child.h"

#include "task.h"

enum { MB = 1 << 20 };

static pid_t start(const char *part, const char *fmt, const char *key, int *out)
{
    char env[256];
    snprintf(env, sizeof env, fmt, key);
    return child_start(part, env, out);
}

/* Child: reads "parent", answers "child". */
static void use_memory(void)
{
    const char *key = getenv("TEST_KEY");
    void *p = NULL, *q = NULL;
    char text[16] = "";
    aclrtSetDevice(0);
    CHECK_EQ(aclrtIpcMemImportByKey(&p, key, 0), 0);
    CHECK_EQ(aclrtIpcMemImportByKey(&q, key, 0), 0);
    CHECK(p == q);
    CHECK_EQ(aclrtMemcpy(text, 16, p, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(text, "parent");
    CHECK_EQ(aclrtMemcpy(p, 16, "child", 6, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtIpcMemClose(key), 0);
    CHECK_EQ(aclrtIpcMemClose(key), 0);
    CHECK_EQ(aclrtIpcMemClose(key), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy(text, 16, p, 16, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
}

static void refuse_memory(void)
{
    void *p;
    aclrtSetDevice(0);
    CHECK_EQ(aclrtIpcMemImportByKey(&p, getenv("TEST_KEY"), 0), ACL_ERROR_RT_NO_PERMISSION);
    CHECK_TEXT(aclGetRecentErrMsg(), "has not allowed process");
}

static void memory(void)
{
    char key[65], other[65], text[16] = "";
    char *a = NULL;
    int out = -1;
    CHECK_EQ(aclrtMalloc((void **)&a, 3 * MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy(a + MB + 512, 16, "parent", 7, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtIpcMemGetExportKey(a + MB + 512, 4096, key, 10, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtIpcMemGetExportKey(a + MB + 512, 4 * MB, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtIpcMemGetExportKey(key, 10, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtIpcMemGetExportKey(a + MB + 512, 4096, key, 65, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION),
             0);
    CHECK_EQ(aclrtIpcMemGetExportKey(a, 4096, other, 65, 0), 0);
    pid_t pid = start("use_memory", "TEST_KEY=%s", key, &out);
    CHECK_EQ(child_end(pid, out), 0);
    fputs(child_output, stderr);
    CHECK_EQ(aclrtMemcpy(text, 16, a + MB + 512, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(text, "child");
    pid = start("refuse_memory", "TEST_KEY=%s", other, &out);
    CHECK_EQ(child_end(pid, out), 0);
    int32_t someone = 1;
    CHECK_EQ(aclrtIpcMemSetImportPid(other, &someone, 1), 0);
    CHECK_EQ(aclrtIpcMemSetImportPid("nonsense", &someone, 1), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtIpcMemImportByKey((void **)&a, key, 0), ACL_ERROR_RT_PARAM_INVALID); /* its own */
    CHECK_EQ(aclrtIpcMemImportByKey((void **)&a, "anynpu-rubbish", 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtIpcMemImportByKey((void **)&a, "anynpu-4e505501-999999999-3", 0), ACL_ERROR_RT_IPC_ERROR);
    CHECK_EQ(aclrtIpcMemClose(key), 0);
    pid = start("use_memory", "TEST_KEY=%s", key, &out);
    CHECK_EQ(child_end(pid, out), 1); /* closed */
    CHECK_EQ(aclrtIpcMemClose(other), 0);
    CHECK_EQ(aclrtFree(a), 0);
}

static const aclrtPhysicalMemProp prop = {
    ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_HBM_MEM_HUGE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, 0};

static void use_physical(void)
{
    uint64_t shared = strtoull(getenv("TEST_KEY"), NULL, 16);
    aclrtDrvMemHandle h = NULL;
    void *p = NULL;
    char text[16] = "";
    aclrtSetDevice(1);
    CHECK_EQ(aclrtMemImportFromShareableHandle(shared, 1, &h), 0);
    CHECK_EQ(aclrtReserveMemAddress(&p, 2 * MB, 0, NULL, 0), 0);
    CHECK_EQ(aclrtMapMem(p, 2 * MB, 0, h, 0), 0);
    CHECK_EQ(aclrtMemcpy(text, 16, p, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(text, "physical");
    CHECK_EQ(aclrtMemset(p, 2 * MB, 'x', 10), 0);
    CHECK_EQ(aclrtUnmapMem(p), 0);
    CHECK_EQ(aclrtFreePhysical(h), 0);
    CHECK_EQ(aclrtReleaseMemAddress(p), 0);
}

static void physical(void)
{
    aclrtDrvMemHandle h = NULL;
    void *p = NULL;
    uint64_t shared = 0;
    aclrtMemFabricHandle fabric;
    char text[16] = "", number[32];
    int out = -1;
    CHECK_EQ(aclrtMallocPhysical(&h, 2 * MB, &prop, 0), 0);
    CHECK_EQ(aclrtReserveMemAddress(&p, 2 * MB, 0, NULL, 0), 0);
    CHECK_EQ(aclrtMapMem(p, 2 * MB, 0, h, 0), 0);
    CHECK_EQ(aclrtMemcpy(p, 2 * MB, "physical", 9, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemExportToShareableHandle(h, ACL_MEM_HANDLE_TYPE_NONE, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                             &shared),
             0);
    snprintf(number, sizeof number, "%llx", (unsigned long long)shared);
    pid_t pid = start("use_physical", "TEST_KEY=%s", number, &out);
    CHECK_EQ(child_end(pid, out), 0);
    fputs(child_output, stderr);
    CHECK_EQ(aclrtMemcpy(text, 16, p, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(text[9], 'x');
    int32_t me = (int32_t)getpid();
    CHECK_EQ(aclrtMemSetPidToShareableHandle(shared, &me, 1), 0);
    CHECK_EQ(aclrtMemSetPidToShareableHandle(12345, &me, 1), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemExportToShareableHandleV2(h, 0, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric), 0);
    CHECK_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &me, 1), 0);
    aclrtDrvMemHandle again = NULL;
    CHECK_EQ(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &again), 0);
    CHECK_EQ(aclrtFreePhysical(again), 0);
    CHECK_EQ(aclrtUnmapMem(p), 0);
    CHECK_EQ(aclrtFreePhysical(h), 0);
    CHECK_EQ(aclrtReleaseMemAddress(p), 0);
}

/* Child: waits for the parent's event, then records its own notify. */
static void use_signals(void)
{
    aclrtIpcEventHandle handle = {{0}};
    aclrtEvent e = NULL;
    aclrtNotify n = NULL;
    memcpy(handle.reserved, getenv("TEST_EVENT"), strlen(getenv("TEST_EVENT")));
    aclrtSetDevice(0);
    CHECK_EQ(aclrtIpcOpenEventHandle(handle, &e), 0);
    CHECK_EQ(aclrtNotifyImportByKey(&n, getenv("TEST_KEY"), 0), 0);
    CHECK_EQ(aclrtStreamWaitEvent(NULL, e), 0);
    CHECK_EQ(aclrtRecordNotify(n, NULL), 0);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(NULL, 20000), 0);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
    CHECK_EQ(aclrtDestroyNotify(n), 0);
}

static void signals(void)
{
    aclrtStream s;
    aclrtEvent e = NULL, plain = NULL;
    aclrtNotify n = NULL;
    aclrtIpcEventHandle handle;
    char key[65], env[256];
    int out = -1;
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtCreateEventExWithFlag(&e, ACL_EVENT_IPC), 0);
    CHECK_EQ(aclrtCreateEvent(&plain), 0);
    CHECK_EQ(aclrtIpcGetEventHandle(plain, &handle), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtIpcGetEventHandle(e, &handle), 0);
    CHECK_EQ(aclrtCreateNotify(&n, 0), 0);
    CHECK_EQ(aclrtNotifyGetExportKey(n, key, 65, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION), 0);
    push(s, task_sleep, 200000, LARGE);
    CHECK_EQ(aclrtRecordEvent(e, s), 0);
    CHECK_EQ(aclrtWaitAndResetNotify(n, s, 20), 0);
    snprintf(env, sizeof env, "TEST_KEY=%s\nTEST_EVENT=%.64s", key, handle.reserved);
    pid_t pid = child_start("use_signals", env, &out);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(s, 20000), 0);
    CHECK_EQ(child_end(pid, out), 0);
    fputs(child_output, stderr);
    CHECK_EQ(aclrtDestroyEvent(e), 0);
    CHECK_EQ(aclrtDestroyEvent(plain), 0);
    CHECK_EQ(aclrtDestroyNotify(n), 0);
    CHECK_EQ(aclrtDestroyStream(s), 0);
    memset(&handle, 'z', sizeof handle);
    CHECK_EQ(aclrtIpcOpenEventHandle(handle, &e), ACL_ERROR_RT_PARAM_INVALID);
}

/* The door's sharing, for collectives. */
static void use_door(void)
{
    struct share share = {0};
    void *p = NULL, *q = NULL;
    char text[16] = "";
    sscanf(getenv("TEST_KEY"), "%d,%d,%d,%lu,%lu,%lu", &share.pid, &share.fd, &share.device, &share.offset,
           &share.bytes, &share.capacity);
    aclrtSetDevice(0);
    CHECK_EQ(share_import(&share, &p), 0);
    CHECK_EQ(share_import(&share, &q), 0);
    CHECK(p == q);
    CHECK_EQ(aclrtMemcpy(text, 16, p, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(text, "door");
    share_release(&share);
    share_release(&share);
    share.offset = share.capacity;
    CHECK_EQ(share_import(&share, &p), ACL_ERROR_RT_PARAM_INVALID);
}

static void door(void)
{
    struct share share;
    char *a = NULL, key[200];
    int out = -1;
    CHECK_EQ(aclrtMalloc((void **)&a, MB, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpy(a + 1024, 16, "door", 5, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(share_export(a + 1024, 100, &share), 0);
    snprintf(key, sizeof key, "%d,%d,%d,%lu,%lu,%lu", share.pid, share.fd, share.device, share.offset, share.bytes,
             share.capacity);
    pid_t pid = start("use_door", "TEST_KEY=%s", key, &out);
    CHECK_EQ(child_end(pid, out), 0);
    fputs(child_output, stderr);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(share_export(a, 100, &share), ACL_ERROR_RT_PARAM_INVALID);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"use_memory", use_memory},     {"refuse_memory", refuse_memory},
                                        {"use_physical", use_physical}, {"use_signals", use_signals},
                                        {"use_door", use_door},         {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_EQ(aclrtSetDevice(0), 0);
    memory();
    physical();
    signals();
    door();
    return check_done();
}

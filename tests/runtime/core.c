/* SPDX-License-Identifier: BSD-3-Clause */
/* The way through the runtime that every client takes, and who gets which code for the start and the end. */
#include "child.h"

#include "task.h"

static void walk_through(void)
{
    aclrtStream stream;
    aclrtEvent event;
    void *a = NULL, *b = NULL;
    int32_t device = -1;
    char text[1000] = "hello", back[1000] = "";
    CHECK_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_TEXT(aclGetRecentErrMsg(), "EE1001");
    CHECK_EQ(aclrtSetDevice(1), 0);
    CHECK_EQ(aclrtGetDevice(&device), 0);
    CHECK_EQ(device, 1);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    CHECK_EQ(aclrtCreateEvent(&event), 0);
    CHECK_EQ(aclrtMalloc(&a, 1000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc(&b, 1000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemcpyAsync(a, 1000, text, 1000, ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
    CHECK_EQ(aclrtMemcpyAsync(b, 1000, a, 1000, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 0);
    CHECK_EQ(aclrtRecordEvent(event, stream), 0);
    CHECK_EQ(aclrtSynchronizeEvent(event), 0);
    CHECK_EQ(aclrtMemcpy(back, 1000, b, 1000, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(back, "hello");
    CHECK_EQ(aclrtSynchronizeDevice(), 0);
    CHECK_EQ(aclrtFree(a), 0);
    CHECK_EQ(aclrtFree(b), 0);
    CHECK_EQ(aclrtDestroyEvent(event), 0);
    CHECK_EQ(aclrtDestroyStream(stream), 0);
    CHECK_EQ(aclrtResetDevice(1), 0);
    CHECK_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
}

static int init_calls, end_calls;

static aclError on_init(const char *text, size_t length, void *data)
{
    CHECK_EQ(strlen(text), length);
    CHECK(data == &init_calls);
    init_calls++;
    return 0;
}

static aclError on_end(void *data)
{
    (void)data;
    end_calls++;
    return 0;
}

static void start_and_end(void)
{
    uint64_t users = 9;
    CHECK_EQ(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, &init_calls), 0);
    CHECK_EQ(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, on_end, NULL), 0);
    CHECK_EQ(init_calls, 0);
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(init_calls, 1);
    CHECK_EQ(aclInit(NULL), ACL_ERROR_REPEAT_INITIALIZE);
    CHECK_EQ(aclInit(""), ACL_ERROR_REPEAT_INITIALIZE);
    CHECK_EQ(aclFinalizeReference(&users), 0);
    CHECK_EQ(users, 2);
    CHECK_EQ(end_calls, 0);
    CHECK_EQ(aclFinalizeReference(&users), 0);
    CHECK_EQ(aclFinalizeReference(NULL), 0);
    CHECK_EQ(end_calls, 1);
    CHECK_EQ(aclFinalizeReference(&users), ACL_ERROR_REPEAT_FINALIZE);
    CHECK_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclInit(NULL), ACL_ERROR_REPEAT_INITIALIZE);
    CHECK_EQ(aclFinalize(), 0);
    CHECK_EQ(end_calls, 2);
    CHECK_EQ(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init), 0);
    CHECK_EQ(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, on_end), 0);
}

static int init_with(const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/anynpu-test-init-%d.json", (int)getpid());
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    int status = aclInit(path);
    unlink(path);
    return status;
}

static void configuration(void)
{
    int32_t device = -1;
    CHECK_EQ(aclInit("/nonexistent/acl.json"), ACL_ERROR_INVALID_FILE);
    CHECK_TEXT(aclGetRecentErrMsg(), "/nonexistent/acl.json");
    CHECK_EQ(init_with("{\"a\": }"), ACL_ERROR_PARSE_FILE);
    CHECK_TEXT(aclGetRecentErrMsg(), "byte 6");
    CHECK_EQ(init_with(""), ACL_ERROR_PARSE_FILE);
    CHECK_EQ(init_with("{\"defaultDevice\": {\"default_device\": \"7\"}}"), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(init_with("{\"defaultDevice\": {\"default_device\": \"x\"}}"), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(init_with("{\"dump\": {\"dump_path\": \"/nonexistent\"}}"), ACL_ERROR_INVALID_DUMP_CONFIG);
    CHECK_TEXT(aclGetRecentErrMsg(), "dump_path /nonexistent is not a folder");
    CHECK_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(init_with("{\"dump\": {}, \"more\": [1, 2.5e3, {}], \"defaultDevice\": {\"default_device\": \"1\"}}"), 0);
    CHECK_EQ(aclrtGetDevice(&device), 0);
    CHECK_EQ(device, 1);
    CHECK_EQ(aclFinalize(), 0);
}

static void versions(void)
{
    int32_t major, minor, patch, number;
    char text[ACL_PKG_VERSION_MAX_SIZE];
    aclCANNPackageVersion version;
    CHECK_EQ(aclrtGetVersion(&major, &minor, &patch), 0);
    CHECK_EQ(major, ACL_MAJOR_VERSION);
    CHECK_EQ(aclsysGetVersionStr("ops_math", text), 0);
    CHECK_TEXT(text, "9.1.0");
    CHECK_EQ(aclsysGetVersionNum("runtime", &number), 0);
    CHECK(number > 90000000);
    CHECK_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version), 0);
    CHECK_TEXT(version.version, "9.1.0");
    CHECK_TEXT(version.majorVersion, "9");
    CHECK_TEXT(version.minorVersion, "1");
    CHECK_TEXT(version.releaseVersion, "0");
    CHECK_EQ(aclsysGetCANNVersion((aclCANNPackageName)99, &version), ACL_ERROR_INVALID_PARAM);
    CHECK_TEXT(aclrtGetSocName(), "Ascend910B3");
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"configuration", configuration}, {NULL, NULL}};
    child_main(argc, argv, parts);
    versions();
    start_and_end();
    walk_through();
    CHECK_CHILD("configuration", "");
    return check_done();
}

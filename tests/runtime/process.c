/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of the process: fork before and after a device was used, Ctrl-C during a wait, logs, notes. */
#include "child.h"

#include <glob.h>
#include <sys/stat.h>

#include "anynpu/extension.h"
#include "task.h"

const struct anynpu_extension *anynpu_extension(void);

static const char sentence[] =
    "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must "
    "use the 'spawn' start method";

static int wait_for(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Not used yet: the child may, and so may the parent afterwards. Queries do not count as use. */
static void fork_before(void)
{
    uint32_t count = 0;
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtGetDeviceCount(&count), 0);
    CHECK_TEXT(aclrtGetSocName(), "Ascend");
    fflush(NULL);
    pid_t pid = fork();
    CHECK_EQ(aclrtSetDevice(0), 0);
    void *p = NULL;
    CHECK_EQ(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMemset(p, 1 << 20, 1, 1 << 20), 0);
    CHECK_EQ(push(NULL, task_sleep, 1000, LARGE), 0);
    CHECK_EQ(aclrtSynchronizeStream(NULL), 0);
    if (pid == 0)
        exit(check_failures != 0);
    CHECK_EQ(wait_for(pid), 0);
}

static void fork_after(void)
{
    aclrtStream s;
    aclrtEvent e;
    void *p = NULL;
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    CHECK_EQ(aclrtCreateEvent(&e), 0);
    push(s, task_gate, 1, LARGE); /* the device thread runs, with its locks, while we fork */
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        uint32_t count = 0;
        char c = 0;
        float ms;
        void *q = NULL;
        CHECK_EQ(aclrtGetDeviceCount(&count), 0); /* a query */
        CHECK(aclrtSetDevice(1) != 0);
        CHECK_TEXT(aclGetRecentErrMsg(), sentence);
        CHECK(aclrtMemcpy(&c, 1, p, 1, ACL_MEMCPY_DEVICE_TO_HOST) != 0);
        CHECK_TEXT(aclGetRecentErrMsg(), sentence);
        CHECK(aclrtMalloc(&q, 10, ACL_MEM_MALLOC_HUGE_FIRST) != 0);
        CHECK(aclrtFree(p) != 0);
        CHECK(aclrtSynchronizeStream(s) != 0);
        CHECK(aclrtSynchronizeDevice() != 0);
        CHECK(aclrtCreateStream(&s) != 0);
        CHECK(aclrtDestroyStream(s) != 0);
        CHECK(aclrtRecordEvent(e, s) != 0);
        CHECK(aclrtSynchronizeEvent(e) != 0);
        CHECK(aclrtEventElapsedTime(&ms, e, e) != 0);
        CHECK(aclrtDestroyEvent(e) != 0);
        CHECK(aclrtResetDevice(0) != 0);
        CHECK(push(s, task_sleep, 0, SMALL) != 0);
        CHECK_EQ(task_releases, 1); /* the task was released */
        CHECK(anynpu_extension()->host_view(p, 1) == NULL);
        CHECK(entry_check() != 0);
        exit(check_failures != 0);
    }
    CHECK_EQ(wait_for(pid), 0);
    gate = 1;
    CHECK_EQ(aclrtSynchronizeStream(s), 0);
    CHECK_EQ(aclrtMemset(p, 10, 1, 10), 0);
}

static void nothing(int number)
{
    (void)number;
}

/* A signal's handler runs while the thread waits, and waiting in slices lets the client look at it; as Python does. */
static void interrupted(void)
{
    aclrtNotify never;
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGALRM, &action, NULL);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateNotify(&never, 0), 0);
    CHECK_EQ(aclrtWaitAndResetNotify(never, NULL, 0), 0);
    ualarm(50000, 0);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(NULL, 100), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_EQ(anynpu_extension()->stream_wait(NULL, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_EQ(aclrtStreamAbort(NULL), 0);
    CHECK_EQ(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_STREAM_ABORT);
}

static void wait_for_ever(void)
{
    aclrtNotify never;
    aclrtSetDevice(0);
    aclrtCreateNotify(&never, 0);
    aclrtWaitAndResetNotify(never, NULL, 0);
    puts("waiting");
    fflush(NULL);
    aclrtSynchronizeStream(NULL);
}

static void ctrl_c(void)
{
    int out = -1;
    char c;
    pid_t pid = child_start("wait_for_ever", "", &out);
    CHECK_EQ(read(out, &c, 1), 1);
    sleep_us(50000);
    kill(pid, SIGINT);
    CHECK_EQ(child_end(pid, out), -SIGINT);
}

static void logging(void)
{
    aclrtSetDevice(0);
    aclAppLog(ACL_ERROR, "fn", "/a/b/file.c", 42, "said %d", 7);
    aclAppLog(ACL_DEBUG, "fn", "file.c", 42, "not this");
    anynpu_extension()->note("aten::add", "train.py:12");
    push(NULL, task_sleep, 0, SMALL);
    push(NULL, task_fail, 0, LARGE);
    aclrtSynchronizeStream(NULL);
}

/* More than three files' worth. */
static void rotating(void)
{
    static char line[3000];
    memset(line, 'x', sizeof line - 1);
    for (int i = 0; i < 22000; i++)
        aclAppLog(ACL_ERROR, "fn", "file.c", 1, "%s", line);
}

static char *read_all(const char *path)
{
    static char text[65536];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static void logs(void)
{
    char folder[] = "/tmp/anynpu-log-XXXXXX", env[256], pattern[256];
    glob_t found;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(env, sizeof env, "ASCEND_PROCESS_LOG_PATH=%s/deep", folder);
    snprintf(pattern, sizeof pattern, "%s/deep/debug/plog/plog-*_*.log", folder);
    CHECK_CHILD("logging", env);
    CHECK_EQ(glob(pattern, 0, NULL, &found), 0);
    if (found.gl_pathc) {
        const char *text = read_all(found.gl_pathv[0]);
        CHECK_TEXT(text, "[ERROR] APP(");
        CHECK_TEXT(text, "[file.c:42 fn]");
        CHECK_TEXT(text, "said 7");
        CHECK_TEXT(text, "index 7 is out of range [0, 3)");
        CHECK(!strstr(text, "not this"));
        CHECK(!strstr(text, "aten::add")); /* a line for each task from level 1 on */
    }
    globfree(&found);
    snprintf(env, sizeof env, "ASCEND_PROCESS_LOG_PATH=%s/many\nASCEND_HOST_LOG_FILE_NUM=2", folder);
    snprintf(pattern, sizeof pattern, "%s/many/debug/plog/plog-*_*.log", folder);
    CHECK_CHILD("rotating", env);
    CHECK_EQ(glob(pattern, 0, NULL, &found), 0);
    CHECK_EQ(found.gl_pathc, 2);
    globfree(&found);
    snprintf(pattern, sizeof pattern, "rm -rf %s", folder);
    CHECK_EQ(system(pattern), 0);
    CHECK_CHILD("logging", "ASCEND_SLOG_PRINT_TO_STDOUT=1\nASCEND_GLOBAL_LOG_LEVEL=1");
    CHECK_TEXT(child_output, "[INFO] RUNTIME(");
    CHECK_TEXT(child_output, "aten::add native stream_id=");
    CHECK_TEXT(child_output, "us\n");
    CHECK_CHILD("logging", "ASCEND_SLOG_PRINT_TO_STDOUT=1\nASCEND_MODULE_LOG_LEVEL=APP=0:RUNTIME=4");
    CHECK_TEXT(child_output, "[DEBUG] APP(");
    CHECK(!strstr(child_output, "RUNTIME("));
}

/* The note's place stands in the text of the task's failure, now or later. */
static void notes(void)
{
    const struct anynpu_extension *extension = anynpu_extension();
    CHECK_EQ(aclrtSetDevice(0), 0);
    extension->note("aten::index", "train.py:3");
    CHECK_EQ(push(NULL, task_fail, 0, SMALL), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "Called at: train.py:3");
    extension->note("aten::index", "train.py:4");
    push(NULL, task_fail, 0, LARGE);
    WAIT_UNTIL(extension->stream_idle(NULL));
    CHECK_EQ(extension->stream_error(NULL), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_TEXT(aclGetRecentErrMsg(), "Called at: train.py:4");
    CHECK_EQ(extension->stream_error(NULL), 0);
    push(NULL, task_fail, 0, SMALL);
    CHECK(!strstr(aclGetRecentErrMsg(), "train.py")); /* for one task only */
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"fork_before", fork_before}, {"fork_after", fork_after},
                                        {"interrupted", interrupted}, {"wait_for_ever", wait_for_ever},
                                        {"logging", logging},         {"notes", notes},
                                        {"rotating", rotating},       {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_CHILD("fork_before", "");
    CHECK_CHILD("fork_after", "");
    CHECK_CHILD("interrupted", "");
    ctrl_c();
    logs();
    CHECK_CHILD("notes", "");
    return check_done();
}

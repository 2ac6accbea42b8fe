/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's allocator fails at the N-th call, for every N: each entry returns an error or goes on, nothing crashes or
 * hangs, and afterwards the same work succeeds. Sanitizers have allocators of their own; there only the work is done.
 */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "refuse.h"
#include "task.h"

static int failures; /* entries that failed in this turn */

static int note(int status)
{
    failures += status != 0;
    return status;
}

static const aclrtPhysicalMemProp prop = {
    ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_HBM_MEM_HUGE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, 0};

static void nothing(void *unused)
{
    (void)unused;
}

static void memory_and_copies(aclrtStream s)
{
    void *a = NULL, *b = NULL, *host = NULL;
    char text[64] = "x", key[65];
    if (note(aclrtMalloc(&a, 4096, ACL_MEM_MALLOC_HUGE_FIRST)))
        a = NULL;
    if (note(aclrtMalloc(&b, 100000, ACL_MEM_MALLOC_HUGE_FIRST)))
        b = NULL;
    if (note(aclrtMallocHost(&host, 4096)))
        host = NULL;
    if (a && b) {
        note(aclrtMemcpyAsync(a, 4096, text, 64, ACL_MEMCPY_HOST_TO_DEVICE, s));
        note(aclrtMemcpyAsync(b, 4096, a, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, s));
        note(aclrtMemsetAsync(b, 4096, 1, 64, s));
        if (!note(aclrtIpcMemGetExportKey(a, 4096, key, 65, 0)))
            note(aclrtIpcMemClose(key));
    }
    note(aclrtSynchronizeStream(s));
    if (host)
        note(aclrtFreeHost(host));
    if (b)
        note(aclrtFree(b));
    if (a)
        note(aclrtFree(a));
}

static void mappings(void)
{
    void *p = NULL;
    aclrtDrvMemHandle h = NULL;
    if (note(aclrtReserveMemAddress(&p, 4 << 20, 0, NULL, 0)))
        return;
    if (!note(aclrtMallocPhysical(&h, 2 << 20, &prop, 0))) {
        if (!note(aclrtMapMem(p, 2 << 20, 0, h, 0)))
            note(aclrtUnmapMem(p));
        note(aclrtFreePhysical(h));
    }
    note(aclrtReleaseMemAddress(p));
}

static void signals(aclrtStream s)
{
    aclrtEvent e = NULL;
    aclrtNotify n = NULL;
    push(s, task_sleep, 2000, LARGE);
    if (!note(aclrtCreateEvent(&e))) {
        note(aclrtRecordEvent(e, s));
        note(aclrtStreamWaitEvent(NULL, e));
        note(aclrtSynchronizeEvent(e));
        note(aclrtDestroyEvent(e));
    }
    if (!note(aclrtCreateNotify(&n, 0))) {
        if (!note(aclrtRecordNotify(n, s)))
            note(aclrtWaitAndResetNotify(n, NULL, 5));
        note(aclrtSynchronizeStream(NULL));
        note(aclrtDestroyNotify(n));
    }
    note(aclrtLaunchHostFunc(s, nothing, NULL));
    if (!note(aclrtSubscribeReport((uint64_t)pthread_self(), s))) {
        if (!note(aclrtLaunchCallback(nothing, NULL, ACL_CALLBACK_NO_BLOCK, s)))
            while (aclrtProcessReport(5000) == ACL_ERROR_RT_REPORT_TIMEOUT)
                ;
        note(aclrtUnSubscribeReport((uint64_t)pthread_self(), s));
    }
    push(s, task_fail, 0, LARGE);
    CHECK(aclrtSynchronizeStream(s) != 0);
}

static void work(void)
{
    aclrtStream s = NULL;
    aclDataBuffer *b = aclCreateDataBuffer(NULL, 0);
    note(b == NULL);
    if (b)
        note(aclDestroyDataBuffer(b));
    if (note(aclrtCreateStream(&s)))
        return;
    memory_and_copies(s);
    mappings();
    signals(s);
    note(aclrtDestroyStream(s));
}

/* The same from the first call of a process on: 0 survived, 3 nothing failed any more. */
static int cold(int turn)
{
    alarm(20);
    refuse_after(turn);
    if (aclrtSetDevice(0) == 0)
        work();
    refuse_no_more();
    failures = 0;
    CHECK_EQ(aclrtSetDevice(0), 0);
    work();
    CHECK_EQ(failures, 0);
    return check_failures ? 1 : fired ? 0 : 3;
}

static void all_cold(void)
{
    for (int turn = 0, status = 0; turn < 2000 && status == 0; turn++) {
        int raw = 0;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            exit(cold(turn));
        waitpid(pid, &raw, 0);
        status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -WTERMSIG(raw);
        CHECK(status == 0 || status == 3);
    }
}

int main(void)
{
    all_cold();
    alarm(100);
    CHECK_EQ(aclrtSetDevice(0), 0);
    work(); /* what is made once is made */
    CHECK_EQ(failures, 0);
    int turns = 0;
    do {
        failures = 0;
        refuse_after(turns);
        work();
        refuse_no_more();
        turns++;
    } while (fired && turns < 2000);
    CHECK(turns < 2000);
    failures = 0;
    work();
    CHECK_EQ(failures, 0);
    CHECK_EQ(aclrtResetDevice(0), 0);
    return check_done();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures: the thread's last status, and its text in the official block form. Codes fall into families, each with its
 * own heading (EE1001, EH0001, EL0004, EZ1001, EE9999). No lock: all state is the thread's own. */
#define _GNU_SOURCE
#include "error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "acl/acl_rt.h"
#include "language.h"
#include "local.h"
#include "log.h"

/* A pointer alone, so that the library's part of the threads' static storage stays small enough for dlopen. */
static _Thread_local struct local *state __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void leave(void *arg)
{
    state = NULL;
    munmap(arg, sizeof *state);
}

static void make_key(void)
{
    pthread_key_create(&leaving, leave);
}

static struct local *enter(void)
{
    static struct local spare; /* when memory is short: threads share it, and their texts may mix */
    pthread_once(&once, make_key);
    struct local *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l == MAP_FAILED)
        return &spare;
    pthread_setspecific(leaving, l);
    return state = l;
}

struct local *local(void)
{
    struct local *l = state;
    return __builtin_expect(l != NULL, 1) ? l : enter();
}

/* Ranges of codes, first match wins. %s: the reason. */
static const struct family {
    int first, last;
    const char *code, *title, *intro, *solution;
} families[] = {
    {161001, 161002, "EZ1001", "AclNN_Parameter_Error", "", NULL},
    {361001, 361001, "EZ9903", "AclNN_Runtime_Error", "", NULL},
    {561000, 561999, "EZ9999", "AclNN_Inner_Error", "", NULL},
    {ACL_ERROR_RT_FEATURE_NOT_SUPPORT, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1005", "Not_Supported", "", NULL},
    {ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004", "Memory_Allocation_Failed",
     "Failed to allocate memory.Reason: ", "Close applications not in use."},
    {ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_RT_DEVICE_OOM, "EL0004", "Memory_Allocation_Failed",
     "Failed to allocate memory.Reason: ", "Close applications not in use."},
    {ACL_ERROR_BAD_ALLOC, ACL_ERROR_BAD_ALLOC, "EH0010", "Insufficient_Host_Memory", "",
     "Ensure that there is sufficient memory available. You can stop unnecessary processes to free up memory."},
    {ACL_ERROR_INVALID_FILE, ACL_ERROR_PARSE_FILE, "EH0004", "File_Operation", "", NULL},
    {ACL_ERROR_RT_STREAM_CONTEXT, ACL_ERROR_RT_STREAM_CONTEXT, "EE1010", "Invalid_Context", "", NULL},
    {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "EE1002", "Stream_Synchronize_Timeout",
     "Stream synchronize timeout. ",
     "1. Check whether the timeout interval is properly set. 2. Check whether the network is normal."},
    {ACL_ERROR_RT_CAPTURE_DEPENDENCY, ACL_ERROR_STREAM_TASK_GROUP_INTR, "EE1016", "Not_Supported", "", NULL},
    {ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "EE1016", "Not_Supported", "",
     NULL},
    {ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "EE1016", "Not_Supported", "",
     NULL},
    {107000, 107999, "EE1001", "Invalid_Argument", "The argument is invalid.Reason: ",
     "1.Check the input parameter range of the function. 2.Check the function invocation relationship."},
    {100000, 199999, "EH0001", "Invalid_Argument", "The argument is invalid.Reason: ",
     "1.Check the input parameter range of the function. 2.Check the function invocation relationship."},
    {200000, 299999, "EE1023", "Resource_Error", "", NULL},
};

static const struct family *family_of(int code)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (code >= families[i].first && code <= families[i].last)
            return &families[i];
    return NULL;
}

/* "Invalid_Argument(EI0005): …": the reason brings its own title. */
static bool is_titled(const char *reason)
{
    size_t n = strspn(reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
    return n && strncmp(reason + n, "(E", 2) == 0 && strspn(reason + n + 3, "0123456789") == 4 &&
           strncmp(reason + n + 7, "): ", 3) == 0;
}

static void format_block(char *out, size_t size, int code, const char *reason)
{
    char now[LOG_TIME_MAX];
    log_time(now);
    int pid = (int)getpid();
    if (is_titled(reason)) {
        snprintf(out, size, "[PID: %d] %s %.*s", pid, now, REASON_MAX, reason);
        return;
    }
    const struct family *f = family_of(code);
    const char *solution = f && f->solution ? in_language(f->solution) : NULL;
    if (f && f->code[1] == 'Z') {
        snprintf(out, size, "[PID: %d] %s %s(%s): %.*s", pid, now, f->title, f->code, REASON_MAX, reason);
        return;
    }
    int n = f ? snprintf(out, size, "%s: [PID: %d] %s %s", f->code, pid, now, in_language(f->intro))
              : snprintf(out, size, "EE9999: Inner Error!\nEE9999: [PID: %d] %s ", pid, now);
    n += snprintf(out + n, size - (size_t)n, "%.*s%s%s%s\n        %s\n        ", REASON_MAX, reason,
                  solution ? "\n        " : "", solution ? in_language("Solution: ") : "", solution ? solution : "",
                  in_language("TraceBack (most recent call last):"));
    if ((size_t)n < size)
        snprintf(out + n, size - (size_t)n, in_language("error code is %d"), code);
}

int fail_again(int code, const char *reason)
{
    struct local *l = local();
    if (reason != l->reason)
        snprintf(l->reason, sizeof l->reason, "%s", reason);
    l->error = code;
    format_block(l->block, sizeof l->block, code, l->reason);
    return code;
}

int fail_text(int code, const char *reason)
{
    const struct local *l = local();
    fail_again(code, reason);
    if (l->deferred)
        return code;
    bool late = code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT || code == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT ||
                code == ACL_ERROR_RT_REPORT_TIMEOUT; /* clients wait in slices */
    log_line(late ? ACL_WARNING : ACL_ERROR, code >= 161000 && code < 162000 ? "OP" : "RUNTIME", "%s [error code %d]",
             l->reason, code);
    return code;
}

int fail(int code, const char *fmt, ...)
{
    struct local *l = local();
    char text[REASON_MAX]; /* the reason may be among the arguments */
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, in_language(fmt), args);
    va_end(args);
    memcpy(l->reason, text, strlen(text) + 1);
    return fail_text(code, l->reason);
}

const char *fail_reason(void)
{
    return local()->reason;
}

int fail_code(void)
{
    return local()->error;
}

const char *aclGetRecentErrMsg(void)
{
    struct local *l = local();
    if (!*l->block)
        return NULL;
    memcpy(l->served, l->block, strlen(l->block) + 1);
    *l->block = 0;
    return l->served;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level)
{
    if (level != ACL_RT_THREAD_LEVEL)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "level %d is not ACL_RT_THREAD_LEVEL", (int)level);
    return local()->error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level)
{
    if (level != ACL_RT_THREAD_LEVEL)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "level %d is not ACL_RT_THREAD_LEVEL", (int)level);
    int error = local()->error;
    local()->error = ACL_SUCCESS;
    return error;
}

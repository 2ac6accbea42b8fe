/* SPDX-License-Identifier: BSD-3-Clause */
/* The log writer; see log.h. The file is opened at the first line, a new one after each 20 MB; when that fails, lines
 * go to stderr. */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "door.h"

enum { LINE_MAX_BYTES = 4096, FILE_MAX_BYTES = 20 << 20, FILES_MAX = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic int log_lowest = -1;
static int file = -1;
static pid_t file_pid;
static size_t file_bytes;
static char *files[FILES_MAX]; /* this process's, a ring */
static unsigned file_count;

static const char *const names[] = {"DEBUG", "INFO", "WARNING", "ERROR", "EVENT"};

/* Level of "NAME=2:OTHER=0" for the module, or the global one. */
static int module_level(const char *module)
{
    size_t n = strlen(module);
    for (const char *p = option_text(OPTION_LOG_MODULES); *p;) {
        if (strncmp(p, module, n) == 0 && p[n] == '=' && p[n + 1] >= '0' && p[n + 1] <= '4')
            return p[n + 1] - '0';
        p += strcspn(p, ":");
        p += *p == ':';
    }
    return (int)option_number(OPTION_LOG_LEVEL);
}

int log_lowest_read(void)
{
    int level = (int)option_number(OPTION_LOG_LEVEL);
    for (const char *p = strchr(option_text(OPTION_LOG_MODULES), '='); p; p = strchr(p + 1, '='))
        if (p[1] >= '0' && p[1] <= '4' && p[1] - '0' < level)
            level = p[1] - '0';
    atomic_store_explicit(&log_lowest, level, memory_order_relaxed);
    return level;
}

void log_time(char out[LOG_TIME_MAX])
{
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    size_t n = strftime(out, LOG_TIME_MAX, "%Y-%m-%d-%H:%M:%S", &tm);
    snprintf(out + n, LOG_TIME_MAX - n, ".%03ld.%03ld", now.tv_nsec / 1000000, now.tv_nsec / 1000 % 1000);
}

static bool make_folders(char *path)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char was = *p;
        *p = 0;
        bool bad = mkdir(path, 0750) != 0 && errno != EEXIST;
        *p = was;
        if (bad)
            return false;
        if (!was)
            return true;
    }
}

/* A process keeps its newest ASCEND_HOST_LOG_FILE_NUM files. */
static void keep_file(const char *path)
{
    char **place = &files[file_count++ % (unsigned)option_number(OPTION_LOG_FILES)];
    if (*place)
        unlink(*place);
    free(*place);
    *place = strdup(path);
}

/* <root>/debug/plog/plog-<pid>_<time>.log, as CANN places its host logs. */
static int open_file(void)
{
    char path[PATH_MAX];
    const char *root = option_text(OPTION_LOG_PATH), *work = option_text(OPTION_WORK_PATH), *home = getenv("HOME");
    int n;
    if (*root)
        n = snprintf(path, sizeof path, "%s/debug/plog", root);
    else if (*work)
        n = snprintf(path, sizeof path, "%s/log/debug/plog", work);
    else if (home && *home)
        n = snprintf(path, sizeof path, "%s/ascend/log/debug/plog", home);
    else
        return -1;
    if (n < 0 || (size_t)n > sizeof path - 64 || !make_folders(path))
        return -1;
    struct timespec now;
    struct tm tm;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &tm);
    snprintf(path + n, sizeof path - (size_t)n, "/plog-%d_%s%03ld.log", (int)getpid(), stamp, now.tv_nsec / 1000000);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd >= 0)
        keep_file(path);
    return fd;
}

void log_write(int level, const char *module, const char *place, const char *fmt, va_list args)
{
    if (level < module_level(module))
        return;
    char line[LINE_MAX_BYTES], now[LOG_TIME_MAX];
    log_time(now);
    int n = snprintf(line, sizeof line, "[%s] %s(%d,%s):%s [%s]%ld ", names[level & 3], module, (int)getpid(),
                     program_invocation_short_name, now, place ? place : "anynpu", syscall(SYS_gettid));
    if (n < 0 || (size_t)n > sizeof line - 2)
        return;
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, args);
    if (m < 0)
        return;
    size_t length = (size_t)n + (size_t)m < sizeof line - 2 ? (size_t)n + (size_t)m : sizeof line - 2;
    line[length++] = '\n';
    bool screen = option_number(OPTION_LOG_STDOUT) == 1 || option_number(OPTION_LOG_STDOUT_NEW) == 1;
    int saved = errno;
    pthread_mutex_lock(&lock);
    if (!screen && (file_pid != getpid() || file_bytes >= FILE_MAX_BYTES)) {
        if (file_pid == getpid() && file >= 0)
            close(file);
        file = open_file();
        file_pid = getpid();
        file_bytes = 0;
    }
    file_bytes += length;
    int out = screen ? STDOUT_FILENO : file >= 0 ? file : STDERR_FILENO;
    ssize_t done = write(out, line, length);
    (void)done; /* nowhere to tell */
    pthread_mutex_unlock(&lock);
    errno = saved;
}

void log_line(int level, const char *module, const char *fmt, ...)
{
    if (!log_wanted(level))
        return;
    va_list args;
    va_start(args, fmt);
    log_write(level, module, NULL, fmt, args);
    va_end(args);
}

void aclAppLog(aclLogLevel logLevel, const char *func, const char *source, uint32_t line, const char *fmt, ...)
{
    if (!fmt || !log_wanted((int)logLevel) || logLevel < ACL_DEBUG || logLevel > ACL_ERROR)
        return;
    char place[256];
    const char *slash = source ? strrchr(source, '/') : NULL;
    snprintf(place, sizeof place, "%s:%u %s", slash ? slash + 1 : source ? source : "?", line, func ? func : "?");
    va_list args;
    va_start(args, fmt);
    log_write((int)logLevel, "APP", place, fmt, args);
    va_end(args);
}

void log_after_fork(void)
{
    memset(files, 0, sizeof files); /* the parent's */
    pthread_mutex_init(&lock, NULL);
}

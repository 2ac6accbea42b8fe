/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: lines "[ERROR] MODULE(pid,process):time [file:line]thread text" to the process's plog file, or to the
 * screen. Level 3 (error) unless ASCEND_GLOBAL_LOG_LEVEL says otherwise. One lock (log), innermost. */
#ifndef ANYNPU_RUNTIME_LOG_H
#define ANYNPU_RUNTIME_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* One line of that level and module; place ("file:line") may be NULL. */
void log_write(int level, const char *module, const char *place, const char *fmt, va_list args)
    __attribute__((format(printf, 4, 0)));

/* Local time as "2026-01-31-12:00:00.123.456". */
enum { LOG_TIME_MAX = 32 };
void log_time(char out[LOG_TIME_MAX]);

/* Child after fork: a lock held by a thread that no longer exists is made anew, the file belongs to the parent. */
void log_after_fork(void);

#endif

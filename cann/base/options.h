/* SPDX-License-Identifier: BSD-3-Clause */
/* The options: environment variables that this CANN reads, in one table that is parsed, checked and documented from.
 * A value is read at its first use and stays. A malformed value is reported once on stderr (option, value, accepted
 * form) and the default holds. Any thread. */
#ifndef ANYNPU_BASE_OPTIONS_H
#define ANYNPU_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum option {
    OPTION_DEVICES,
    OPTION_MEMORY,
    OPTION_SOC,
    OPTION_VERSION,
    OPTION_CPU,
    OPTION_INLINE_US,
    OPTION_SPIN_US,
    OPTION_KEEP,
    OPTION_BLOCKING,
    OPTION_JITTER,
    OPTION_GUARD,
    OPTION_FAULT,
    OPTION_EXTENSION,
    OPTION_LAUNCH_BLOCKING,
    OPTION_VISIBLE_DEVICES,
    OPTION_LOG_LEVEL,
    OPTION_LOG_MODULES,
    OPTION_LOG_STDOUT,
    OPTION_LOG_STDOUT_NEW,
    OPTION_LOG_PATH,
    OPTION_WORK_PATH,
    OPTION_LOG_FILES,
    OPTION_STATS,
    OPTION_LANGUAGE,
    OPTION_HCCL_CONNECT_TIMEOUT,
    OPTION_HCCL_EXEC_TIMEOUT,
    OPTION_HCCL_IF_IP,
    OPTION_HCCL_SOCKET_IFNAME,
    OPTION_HCCL_SOCKET_FAMILY,
    OPTION_HCCL_IF_BASE_PORT,
    OPTION_HCCL_PORT_RANGE,
    OPTION_HCCL_HOST,
    OPTION_COUNT,
};

enum option_type {
    OPTION_BOOL,   /* 0 or 1 */
    OPTION_NUMBER, /* min..max */
    OPTION_BYTES,  /* a number with k, m, g or t */
    OPTION_CHOICE, /* one of words, parted by | */
    OPTION_TEXT,
};

struct option_row {
    const char *name;
    enum option_type type;
    const char *value; /* the default as one would write it; "" means chosen by the program */
    int64_t min, max;
    const char *words;           /* OPTION_CHOICE; for OPTION_TEXT the accepted form */
    bool (*valid)(const char *); /* OPTION_TEXT: further check, or NULL */
    const char *help;
};

/* BOOL, NUMBER and BYTES: the value, or -1 when neither set nor defaulted. CHOICE: index of the word. */
int64_t option_number(enum option option);

/* The text as set, else the default; never NULL. */
const char *option_text(enum option option);

/* True when the environment has a valid value for it. */
bool option_is_set(enum option option);

const struct option_row *option_row(enum option option);

/* All options as a Markdown table. */
void option_print(FILE *out);

/* All options with the environment's values, one a line (cann/tools/options.c says how). */
void option_print_values(FILE *out);

/* Names each environment variable ANYNPU_* that nobody reads, with the nearest name that somebody does. The first call
 * alone does it. */
void option_check_names(FILE *out);

#endif

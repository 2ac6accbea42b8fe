/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of options and its parser; see options.h. Each value is parsed once; readers race harmlessly to the same
 * result, and the message about a malformed value is printed by whoever stores first. */
#define _GNU_SOURCE
#include "options.h"

#include "soc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* kind:number, parted by commas. */
static bool valid_fault(const char *text)
{
    static const char *const kinds[] = {"malloc:", "oom:", "task:"};
    for (;;) {
        size_t k = 0;
        while (k < sizeof kinds / sizeof *kinds && strncmp(text, kinds[k], strlen(kinds[k])) != 0)
            k++;
        if (k == sizeof kinds / sizeof *kinds)
            return false;
        text += strlen(kinds[k]);
        if (!isdigit((unsigned char)*text))
            return false;
        text += strspn(text, "0123456789kmgtKMGT");
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
}

static bool valid_soc(const char *text)
{
    return soc_find(text) != NULL;
}

static bool valid_version(const char *text)
{
    int parts = 1, digits = 0;
    for (; *text; text++) {
        if (*text == '.' && digits)
            parts++, digits = 0;
        else if (isalnum((unsigned char)*text))
            digits++;
        else
            return false;
    }
    return digits > 0 && parts >= 2;
}

static bool valid_folder(const char *text)
{
    return *text == '/' || strcmp(text, "off") == 0;
}

static bool valid_ip(const char *text)
{
    unsigned char address[16];
    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

static bool valid_ports(const char *text)
{
    if (strcmp(text, "auto") == 0)
        return true;
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        long low = strtol(text, &end, 10), high = low;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            high = strtol(end + 1, &end, 10);
        if (low < 1 || high > 65535 || low > high)
            return false;
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

static const struct option_row table[OPTION_COUNT] = {
    [OPTION_DEVICES] = {"ANYNPU_DEVICES", OPTION_NUMBER, "2", 0, 64,
                        .help = "Number of devices. Unless it is set, at least as many as torchrun starts processes on "
                                "this computer (LOCAL_WORLD_SIZE)."},
    [OPTION_MEMORY] = {"ANYNPU_MEMORY", OPTION_BYTES, "64g", 1 << 20, (int64_t)1 << 42,
                       .help = "Memory that each device reports; taken from the machine only as it is used."},
    [OPTION_SOC] = {"ANYNPU_SOC", OPTION_TEXT, "Ascend910B3",
                    .words = "a SoC name such as Ascend910B3 or Ascend950PR_9599", .valid = valid_soc,
                    .help = "Name that aclrtGetSocName returns; clients choose their operators by it."},
    [OPTION_VERSION] = {"ANYNPU_VERSION", OPTION_TEXT, "9.1.0", .words = "major.minor.release", .valid = valid_version,
                        .help = "CANN version that this toolkit reports."},
    [OPTION_CPU] = {"ANYNPU_CPU", OPTION_CHOICE, "", .words = "base|v3|v4",
                    .help =
                        "Highest CPU level that kernels use (x86-64-v3: AVX2, v4: AVX-512); the default is the CPU's."},
    [OPTION_INLINE_US] =
        {"ANYNPU_INLINE_US", OPTION_NUMBER, "", 0, 1000000000,
         .help = "A task estimated below this many microseconds runs at once on the caller's thread when its "
                 "stream is idle; 0: never. The default is 30, with one or two CPUs 300."},
    [OPTION_SPIN_US] = {"ANYNPU_SPIN_US", OPTION_NUMBER, "", 0, 1000000,
                        .help = "How long an idle thread spins before it sleeps; the default is 200, with one CPU 0."},
    [OPTION_KEEP] =
        {"ANYNPU_KEEP", OPTION_BYTES, "", 0, (int64_t)1 << 42,
         .help = "Freed device memory that stays with the process for reuse; the default is a quarter of what the "
                 "machine had available at start."},
    [OPTION_BLOCKING] = {"ANYNPU_BLOCKING", OPTION_BOOL, "0", 0, 1,
                         .help = "Every task is finished when its call returns."},
    [OPTION_JITTER] =
        {"ANYNPU_JITTER", OPTION_NUMBER, "0", 0, 10000000,
         .help = "Random delay of up to this many microseconds before each task: exposes missing synchronisation."},
    [OPTION_GUARD] = {"ANYNPU_GUARD", OPTION_BOOL, "0", 0, 1,
                      .help = "The host faults when it touches device memory directly, as with a real device."},
    [OPTION_FAULT] =
        {"ANYNPU_FAULT", OPTION_TEXT, "", .words = "malloc:N | oom:BYTES | task:K, several parted by commas",
         .valid = valid_fault,
         .help = "Faults for tests: the N-th device allocation fails; allocations beyond BYTES in all fail; the "
                 "K-th task fails."},
    [OPTION_EXTENSION] = {"ANYNPU_EXTENSION", OPTION_BOOL, "1", 0, 1,
                          .help = "0: offers only the published interface, like a CANN of another maker, so that "
                                  "torch_npu copies where it would look into device memory."},
    [OPTION_LAUNCH_BLOCKING] = {"ASCEND_LAUNCH_BLOCKING", OPTION_BOOL, "0", 0, 1, .help = "As ANYNPU_BLOCKING."},
    [OPTION_VISIBLE_DEVICES] = {"ASCEND_RT_VISIBLE_DEVICES", OPTION_TEXT, "", .words = "device ids parted by commas",
                                .help = "Devices that the process sees, renumbered from 0 in this order."},
    [OPTION_LOG_LEVEL] = {"ASCEND_GLOBAL_LOG_LEVEL", OPTION_NUMBER, "3", 0, 4,
                          .help = "Log level: 0 debug, 1 info (one line for each task), 2 warning, 3 error, 4 none."},
    [OPTION_LOG_MODULES] = {"ASCEND_MODULE_LOG_LEVEL", OPTION_TEXT, "", .words = "MODULE=level, parted by colons",
                            .help = "Log level of single modules."},
    [OPTION_LOG_STDOUT] = {"ASCEND_SLOG_PRINT_TO_STDOUT", OPTION_BOOL, "0", 0, 1,
                           .help = "Log to the screen and not to files."},
    [OPTION_LOG_STDOUT_NEW] = {"ASCEND_LOG_PRINT_TO_STDOUT", OPTION_BOOL, "0", 0, 1,
                               .help = "Newer name of ASCEND_SLOG_PRINT_TO_STDOUT."},
    [OPTION_LOG_PATH] = {"ASCEND_PROCESS_LOG_PATH", OPTION_TEXT, "", .words = "a folder",
                         .help = "Where logs go; the default is $ASCEND_WORK_PATH/log, else $HOME/ascend/log."},
    [OPTION_WORK_PATH] = {"ASCEND_WORK_PATH", OPTION_TEXT, "", .words = "a folder",
                          .help = "See ASCEND_PROCESS_LOG_PATH."},
    [OPTION_LANGUAGE] = {"ANYNPU_LANG", OPTION_CHOICE, "en", .words = "en|zh",
                         .help = "Language of the texts of errors."},
    [OPTION_STATS] = {"ANYNPU_STATS", OPTION_TEXT, "/dev/shm", .words = "an absolute path | off", .valid = valid_folder,
                      .help = "Folder of the statistics that npu-smi shows; processes (and containers) that share it "
                              "see each other."},
    [OPTION_LOG_FILES] = {"ASCEND_HOST_LOG_FILE_NUM", OPTION_NUMBER, "10", 1, 1000,
                          .help = "Log files of 20 MB that a process keeps; older ones are removed."},
    [OPTION_HCCL_CONNECT_TIMEOUT] = {"HCCL_CONNECT_TIMEOUT", OPTION_NUMBER, "120", 1, 7200,
                                     .help = "Seconds that ranks of a communicator wait for each other to join."},
    [OPTION_HCCL_EXEC_TIMEOUT] = {"HCCL_EXEC_TIMEOUT", OPTION_NUMBER, "1836", 0, INT32_MAX,
                                  .help = "Seconds that a collective waits for other ranks; 0: no limit."},
    [OPTION_HCCL_IF_IP] = {"HCCL_IF_IP", OPTION_TEXT, "", .words = "an IPv4 or IPv6 address of this computer",
                           .valid = valid_ip,
                           .help = "Where communicators of this process meet; before HCCL_SOCKET_IFNAME."},
    [OPTION_HCCL_SOCKET_IFNAME] =
        {"HCCL_SOCKET_IFNAME", OPTION_TEXT, "",
         .words = "beginnings of interface names parted by commas; =: whole names; ^: all but these",
         .help =
             "Network interface where communicators meet; the default is the first that is up, neither loopback nor "
             "docker's, else loopback."},
    [OPTION_HCCL_SOCKET_FAMILY] = {"HCCL_SOCKET_FAMILY", OPTION_CHOICE, "AF_INET", .words = "AF_INET|AF_INET6",
                                   .help = "Family of the address found by HCCL_SOCKET_IFNAME or by default."},
    [OPTION_HCCL_IF_BASE_PORT] = {"HCCL_IF_BASE_PORT", OPTION_NUMBER, "", 1024, 65520,
                                  .help = "Communicators meet at the first free one of 32 ports from this on; the "
                                          "default is any free port, for rank tables 60000."},
    [OPTION_HCCL_PORT_RANGE] = {"HCCL_HOST_SOCKET_PORT_RANGE", OPTION_TEXT, "",
                                .words = "auto, or ports and ranges such as 60000-60050,60100", .valid = valid_ports,
                                .help = "Ports at which communicators meet; before HCCL_IF_BASE_PORT."},
    [OPTION_HCCL_HOST] = {"ANYNPU_HCCL_HOST", OPTION_TEXT, "", .words = "any name",
                          .help = "Ranks with different names do not share memory: they talk over the network, as if "
                                  "on different computers."},
};

struct value {
    int64_t number;
    const char *text;
    bool set;
};

static _Atomic(struct value *) values[OPTION_COUNT];

static bool parse_number(const char *text, bool bytes, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || errno || isspace((unsigned char)*text))
        return false;
    int shift = 0;
    if (bytes && *end) {
        static const char units[] = "kmgt";
        const char *unit = strchr(units, tolower((unsigned char)*end));
        if (!unit || !*unit)
            return false;
        shift = 10 * (int)(unit - units + 1);
        end++;
        if (tolower((unsigned char)*end) == 'b')
            end++;
    }
    if (*end || v < 0 || v > (LLONG_MAX >> shift))
        return false;
    *out = v << shift;
    return true;
}

static int choose(const char *words, const char *text)
{
    size_t length = strlen(text);
    for (int i = 0;; i++) {
        size_t n = strcspn(words, "|");
        if (n == length && strncmp(words, text, n) == 0)
            return i;
        if (!words[n])
            return -1;
        words += n + 1;
    }
}

static bool parse(const struct option_row *row, const char *text, int64_t *number)
{
    *number = -1;
    switch (row->type) {
    case OPTION_TEXT:
        return !row->valid || !*text || row->valid(text);
    case OPTION_CHOICE:
        *number = choose(row->words, text);
        return *number >= 0;
    default:
        return parse_number(text, row->type == OPTION_BYTES, number) && *number >= row->min && *number <= row->max;
    }
}

static void complain(const struct option_row *row, const char *text)
{
    char form[128];
    switch (row->type) {
    case OPTION_BOOL:
        snprintf(form, sizeof form, "0 or 1");
        break;
    case OPTION_NUMBER:
        snprintf(form, sizeof form, "a number from %lld to %lld", (long long)row->min, (long long)row->max);
        break;
    case OPTION_BYTES:
        snprintf(form, sizeof form, "bytes from %lld to %lld, with k, m, g or t if you like (512m, 64g)",
                 (long long)row->min, (long long)row->max);
        break;
    default:
        snprintf(form, sizeof form, "%s", row->words);
    }
    fprintf(stderr, "[WARNING] %s=%s is not valid: expected %s. ", row->name, text, form);
    if (*row->value)
        fprintf(stderr, "Using the default, %s.\n", row->value);
    else
        fprintf(stderr, "Ignored.\n");
}

static const struct value *value_of(enum option option)
{
    struct value *v = atomic_load_explicit(&values[option], memory_order_acquire);
    if (v)
        return v;
    static struct value spare[OPTION_COUNT];
    const struct option_row *row = &table[option];
    const char *text = getenv(row->name);
    v = malloc(sizeof *v);
    if (!v)
        v = &spare[option];
    int64_t number = -1;
    bool set = text && *text, good = set && parse(row, text, &number);
    if (!good) {
        if (*row->value)
            parse(row, row->value, &number);
        else
            number = -1;
    }
    char *copy = good ? strdup(text) : NULL;
    *v = (struct value){.number = number, .text = copy ? copy : row->value, .set = good};
    struct value *other = NULL;
    if (!atomic_compare_exchange_strong(&values[option], &other, v)) {
        if (v != &spare[option])
            free(v);
        free(copy);
        return other;
    }
    if (set && !good)
        complain(row, text);
    return v;
}

int64_t option_number(enum option option)
{
    return value_of(option)->number;
}

const char *option_text(enum option option)
{
    return value_of(option)->text;
}

bool option_is_set(enum option option)
{
    return value_of(option)->set;
}

const struct option_row *option_row(enum option option)
{
    return &table[option];
}

static void print_form(FILE *out, const struct option_row *row)
{
    switch (row->type) {
    case OPTION_BOOL:
        fprintf(out, "0, 1");
        break;
    case OPTION_NUMBER:
        fprintf(out, "%lld…%lld", (long long)row->min, (long long)row->max);
        break;
    case OPTION_BYTES:
        fprintf(out, "bytes (512m, 64g)");
        break;
    case OPTION_CHOICE:
        for (const char *c = row->words; *c; c++)
            fputs(*c == '|' ? ", " : (char[]){*c, 0}, out);
        break;
    case OPTION_TEXT:
        for (const char *c = row->words; *c; c++)
            fputs(*c == '|' ? "or" : (char[]){*c, 0}, out);
        break;
    }
}

void option_print(FILE *out)
{
    fprintf(out, "| Option | Default | Accepts | Meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &table[i];
        fprintf(out, "| `%s` | %s | ", row->name, *row->value ? row->value : "–");
        print_form(out, row);
        fprintf(out, " | %s |\n", row->help);
    }
}

void option_print_values(FILE *out)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &table[i];
        const char *text = getenv(row->name);
        int64_t number;
        fprintf(out, "%s\t%s\t", row->name, row->value);
        print_form(out, row);
        fprintf(out, "\t%s\t%s\t%d\n", row->help, text ? text : "", !text || !*text || parse(row, text, &number));
    }
}

/* Read by the PyTorch backend and by our tests. */
static const char *const elsewhere[] = {"ANYNPU_FALLBACK_REPORT", "ANYNPU_CASES", "ANYNPU_SWAP_PYTHON"};
enum { OTHERS = sizeof elsewhere / sizeof *elsewhere };

static const char *known_name(int i)
{
    return i < OPTION_COUNT ? table[i].name : elsewhere[i - OPTION_COUNT];
}

/* Letters to insert, delete or replace between a, of n letters, and b; 1000 where either is too long to be alike. */
static int distance(const char *a, size_t n, const char *b)
{
    int row[64];
    size_t m = strlen(b);
    if (n > 63 || m > 63)
        return 1000;
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int above = row[j], best = corner + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = above;
        }
    }
    return row[m];
}

void option_check_names(FILE *out)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&done))
        return;
    for (char **at = environ; *at; at++) {
        size_t length = strcspn(*at, "=");
        int nearest = 0, least = 1000;
        if (strncmp(*at, "ANYNPU_", 7) != 0)
            continue;
        for (int i = 0; i < OPTION_COUNT + OTHERS; i++) {
            int d = distance(*at, length, known_name(i));
            if (d < least)
                least = d, nearest = i;
        }
        if (least)
            fprintf(out, "[WARNING] %.*s is not an option; did you mean %s?\n", (int)length, *at, known_name(nearest));
    }
}

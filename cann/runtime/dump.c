/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumping operators' tensors to files, as a configuration says (acl.json, {"dump": {…}}): of the layers of models that
 * are loaded while it holds, and of operators that run by themselves. Files lie in
 *   <dump_path>/<time>/<device>/<model>/<model id>/<execution>/<type>.<name>.<task>.<stream>.<microseconds>
 * for operators by themselves without the model's three. A configuration is shared by the models that it chose and
 * lives as long as they; only the current one writes. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl_mdl.h"
#include "base/json.h"
#include "dump.h"
#include "error.h"
#include "init.h"
#include "stream.h"

enum { NAME_SIZE = 256 };

struct settings {
    _Atomic uint32_t references;
    char *text;       /* the file's */
    const char *list; /* "dump_list" in it, or NULL */
    char path[PATH_MAX], time[16];
    uint32_t sides; /* DUMP_IN, DUMP_OUT */
    bool operators, statistics;
};

struct dump_model {
    struct settings *settings;
    const char *layers; /* names in the text; NULL: all */
    char name[NAME_SIZE];
    uint32_t id;
    _Atomic uint64_t turn; /* executions that began */
};

_Atomic uint32_t dump_operators;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool running;           /* between Init and Finalize */
static struct settings *now;   /* under the lock; NULL: none */
static _Atomic uint32_t tasks; /* operators dumped by themselves */

/* ---- configurations ---- */
static void release(struct settings *s)
{
    if (s && atomic_fetch_sub(&s->references, 1) == 1) {
        free(s->text);
        free(s);
    }
}

static struct settings *hold_current(void)
{
    pthread_mutex_lock(&lock);
    struct settings *s = now;
    if (s)
        atomic_fetch_add(&s->references, 1);
    pthread_mutex_unlock(&lock);
    return s;
}

static void set_current(struct settings *s)
{
    pthread_mutex_lock(&lock);
    struct settings *before = now;
    now = s;
    pthread_mutex_unlock(&lock);
    atomic_store(&dump_operators, s && s->operators ? s->sides : 0);
    release(before);
}

static int wrong(const char *path, const char *format, const char *what)
{
    char reason[PATH_MAX + 200];
    snprintf(reason, sizeof reason, format, what);
    return fail(ACL_ERROR_INVALID_DUMP_CONFIG, "File %s is invalid. Reason: %s", path, reason);
}

/* The index of the string among the choices; `otherwise` when the key is absent, -1 for another string. */
static int choice(const char *dump, const char *key, int otherwise, const char *const *choices)
{
    char text[32];
    const char *value = json_member(dump, key);
    if (!value)
        return otherwise;
    for (int i = 0; json_string(value, text, sizeof text) && choices[i]; i++)
        if (!strcmp(text, choices[i]))
            return i;
    return -1;
}

static int read_path(const char *file, const char *dump, char path[PATH_MAX])
{
    const char *value = json_member(dump, "dump_path");
    if (!value || !json_string(value, path, PATH_MAX) || !*path)
        return wrong(file, "%s is missing, or no text", "dump_path");
    struct stat about;
    if (stat(path, &about) || !S_ISDIR(about.st_mode) || access(path, W_OK | X_OK))
        return wrong(file, "dump_path %s is not a folder that can be written to", path);
    return 0;
}

static int parse(const char *file, const char *text, struct settings *s)
{
    static const char *const modes[] = {"input", "output", "all", NULL}, *const switches[] = {"off", "on", NULL},
                             *const data[] = {"tensor", "stats", NULL}, *const levels[] = {"op", "kernel", "all", NULL};
    static const char *const others[] = {"dump_step", "dump_scene", "dump_debug", "dump_kernel_data", NULL};
    const char *dump = json_member(text, "dump");
    for (int i = 0; others[i]; i++)
        if (json_member(dump, others[i]))
            return wrong(file, "%s is not supported: this device dumps layers of models and operators by themselves",
                         others[i]);
    TRY(read_path(file, dump, s->path));
    int mode = choice(dump, "dump_mode", 1, modes), by_themselves = choice(dump, "dump_op_switch", 0, switches),
        statistics = choice(dump, "dump_data", 0, data);
    if (mode < 0)
        return wrong(file, "%s is none of input, output, all", "dump_mode");
    if (by_themselves < 0)
        return wrong(file, "%s is neither on nor off", "dump_op_switch");
    if (statistics < 0)
        return wrong(file, "%s is neither tensor nor stats", "dump_data");
    if (choice(dump, "dump_level", 2, levels) < 0)
        return wrong(file, "%s is none of op, kernel, all", "dump_level");
    s->list = json_member(dump, "dump_list");
    if (s->list && *s->list != '[')
        return wrong(file, "%s is no list", "dump_list");
    if (!by_themselves && (!s->list || !json_element(s->list, 0)))
        return wrong(file, "%s names no model, and dump_op_switch is not on", "dump_list");
    s->sides = (uint32_t)mode + 1;
    s->operators = by_themselves;
    s->statistics = statistics;
    return 0;
}

/* Takes over the text. */
static int apply(const char *file, char *text)
{
    struct settings *s = calloc(1, sizeof *s);
    if (!s) {
        free(text);
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for the configuration of dumps");
    }
    atomic_store(&s->references, 1);
    s->text = text;
    int status = parse(file, text, s);
    if (status) {
        release(s);
        return status;
    }
    time_t seconds = time(NULL);
    struct tm parts;
    strftime(s->time, sizeof s->time, "%Y%m%d%H%M%S", localtime_r(&seconds, &parts));
    set_current(s);
    return 0;
}

int dump_start(const char *path, const char *text)
{
    const char *dump = json_member(text, "dump");
    if (!dump || dump[strspn(dump, "{ \t\r\n")] == '}') /* {} */
        return 0;
    char *copy = strdup(text);
    return copy ? apply(path, copy) : fail(ACL_ERROR_BAD_ALLOC, "no host memory for the configuration of dumps");
}

void dump_stop(void)
{
    pthread_mutex_lock(&lock);
    running = false;
    pthread_mutex_unlock(&lock);
    set_current(NULL);
}

aclError aclmdlInitDump(void)
{
    pthread_mutex_lock(&lock);
    bool again = running || now;
    running = true;
    pthread_mutex_unlock(&lock);
    return again ? fail(ACL_ERROR_DUMP_ALREADY_RUN,
                        "aclmdlInitDump: dumping was started before, by it or by aclInit's file")
                 : ACL_SUCCESS;
}

static bool is_running(void)
{
    pthread_mutex_lock(&lock);
    bool yes = running;
    pthread_mutex_unlock(&lock);
    return yes;
}

aclError aclmdlSetDump(const char *dumpCfgPath)
{
    CHECK_ARG(dumpCfgPath);
    char *text;
    if (!is_running())
        return fail(ACL_ERROR_DUMP_NOT_RUN, "aclmdlSetDump: call aclmdlInitDump first");
    TRY(config_read(dumpCfgPath, __func__, &text));
    return apply(dumpCfgPath, text);
}

aclError aclmdlFinalizeDump(void)
{
    if (!is_running())
        return fail(ACL_ERROR_DUMP_NOT_RUN, "aclmdlFinalizeDump: call aclmdlInitDump first");
    dump_stop();
    return ACL_SUCCESS;
}

/* ---- files ---- */
/* Names in paths: no separators, no dots. */
static void plain(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    for (char *p = to; *p; p++)
        if (strchr("./\\ ", *p))
            *p = '_';
}

static int make_folders(char *path, size_t from)
{
    for (char *p = path + from; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        if (mkdir(path, 0750) && errno != EEXIST)
            return fail(ACL_ERROR_INTERNAL_ERROR, "the folder %s can't be made: %s", path, strerror(errno));
    }
    return 0;
}

/* folder: below the time, ending with '/'. */
static int write_op(const struct settings *s, const char *folder, const struct dump_op *op, uint32_t task)
{
    char path[PATH_MAX + 1024], type[NAME_SIZE], name[NAME_SIZE];
    const struct stream *stream = stream_running();
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    plain(type, sizeof type, op->type);
    plain(name, sizeof name, op->name);
    int size = snprintf(path, sizeof path, "%s/%s/%d/%s%s.%s.%u.%d.%lld%s", s->path, s->time,
                        stream ? stream->device->id : 0, folder, type, name, task, stream ? (int)stream->handle.id : 0,
                        (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000, s->statistics ? ".csv" : "");
    if (size >= (int)sizeof path)
        return fail(ACL_ERROR_INTERNAL_ERROR, "the path of the dump of %s is too long", op->name);
    TRY(make_folders(path, strlen(s->path) + 1));
    return s->statistics ? dump_table_write(path, op) : dump_file_write(path, op);
}

/* The sides that are asked for. */
static struct dump_op narrowed(const struct dump_op *op, uint32_t sides)
{
    struct dump_op some = *op;
    if (!(sides & DUMP_IN)) {
        some.tensor += some.in;
        some.in = 0;
    }
    if (!(sides & DUMP_OUT))
        some.out = 0;
    return some;
}

int dump_operator(const struct dump_op *op)
{
    struct settings *s = hold_current();
    int status = 0;
    if (s && s->operators) {
        struct dump_op some = narrowed(op, s->sides);
        status = write_op(s, "", &some, atomic_fetch_add(&tasks, 1));
    }
    release(s);
    return status;
}

/* ---- models ---- */
/* "folder/net.om" → "net" */
static void file_name(char *to, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(to, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(to, '.');
    if (dot && !strcmp(dot, ".om"))
        *dot = 0;
}

static bool names_model(const char *entry, const char *name)
{
    char text[NAME_SIZE];
    const char *value = json_member(entry, "model_name");
    return !value || (json_string(value, text, sizeof text) && !strcmp(text, name));
}

struct dump_model *dump_model_choose(const char *path, const char *name, uint32_t id)
{
    struct settings *s = hold_current();
    char file[NAME_SIZE] = "";
    if (path)
        file_name(file, sizeof file, path);
    const char *entry = NULL, *used = path ? file : name;
    for (size_t i = 0; s && (entry = json_element(s->list, i)) && !names_model(entry, file); i++)
        ;
    for (size_t i = 0; s && !entry && (entry = json_element(s->list, i)) && !names_model(entry, name); i++)
        entry = NULL;
    struct dump_model *m = entry ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        release(s);
        return NULL;
    }
    m->settings = s;
    m->layers = json_member(entry, "layer");
    m->id = id;
    plain(m->name, sizeof m->name, used);
    return m;
}

void dump_model_free(struct dump_model *m)
{
    if (m)
        release(m->settings);
    free(m);
}

bool dump_model_wants(const struct dump_model *m, const char *layer)
{
    char text[NAME_SIZE];
    const char *name;
    if (!m || !m->layers)
        return m != NULL;
    for (size_t i = 0; (name = json_element(m->layers, i)); i++)
        if (json_string(name, text, sizeof text) && !strcmp(text, layer))
            return true;
    return false;
}

void dump_model_turn(struct dump_model *m)
{
    atomic_fetch_add(&m->turn, 1);
}

int dump_model_layer(struct dump_model *m, const struct dump_op *op, uint32_t task)
{
    struct settings *current = hold_current();
    int status = 0;
    if (current == m->settings) {
        char folder[NAME_SIZE + 64];
        struct dump_op some = narrowed(op, current->sides);
        snprintf(folder, sizeof folder, "%s/%u/%llu/", m->name, m->id, (unsigned long long)atomic_load(&m->turn) - 1);
        status = write_op(current, folder, &some, task);
    }
    release(current);
    return status;
}

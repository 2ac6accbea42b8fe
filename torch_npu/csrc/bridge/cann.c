/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the CANN (cann.h): dlopen of libascendcl.so, libnnopbase.so and the operator libraries, dlsym of their
 * functions. Locks: operators_once; symbols themselves are cached by the callers. */
#include "cann.h"
#include "variables.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group_support.h"

struct cann cann;

enum library { ASCENDCL, NNOPBASE, LIBRARIES };

static const char *const library_name[LIBRARIES] = {"libascendcl.so", "libnnopbase.so"};

static const struct {
    enum library library;
    bool optional;
    const char *name;
    size_t offset;
} function[] = {
#define X(library, optional, type, name, parameters) {library, optional, #name, offsetof(struct cann, name)},
#include "cann.def"
#undef X
};

static void *handle[LIBRARIES];
static char *folder; /* "…/lib64/" the libraries come from, "" for the loader path */
static bool loaded;

static pthread_once_t operators_once = PTHREAD_ONCE_INIT;
static void *operators[64];
static size_t operator_count;

static int open_library(enum library library, const char *lib64, char *message, size_t size)
{
    char file[4200];
    snprintf(file, sizeof file, "%s%s%s", lib64, *lib64 ? "/" : "", library_name[library]);
    handle[library] = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle[library])
        snprintf(message, size, "%s", dlerror());
    return handle[library] ? 0 : -1;
}

int cann_open(const char *lib64, char *message, size_t size)
{
    if (loaded)
        return 0;
    if (open_library(ASCENDCL, lib64, message, size) || open_library(NNOPBASE, lib64, message, size))
        return -1;
    for (size_t i = 0; i < sizeof function / sizeof function[0]; i++) {
        void *address = dlsym(handle[function[i].library], function[i].name);
        if (!address && !function[i].optional) {
            snprintf(message, size, "%s in '%s' has no function %s: this CANN does not fit torch_npu",
                     library_name[function[i].library], lib64, function[i].name);
            return -1;
        }
        memcpy((char *)&cann + function[i].offset, &address, sizeof address);
    }
    void *extension = dlsym(handle[ASCENDCL], "anynpu_extension");
    anynpu_extension_fn table;
    memcpy(&table, &extension, sizeof table);
    cann.extension = table ? table() : NULL;
    Dl_info info;
    void *address;
    memcpy(&address, &cann.aclInit, sizeof address);
    cann.path = dladdr(address, &info) ? strdup(info.dli_fname) : NULL;
    folder = malloc(strlen(lib64) + 2);
    if (!cann.path || !folder) {
        snprintf(message, size, "out of memory");
        return -1;
    }
    sprintf(folder, "%s%s", lib64, *lib64 ? "/" : "");
    loaded = true;
    return 0;
}

bool cann_loaded(void)
{
    return loaded;
}

void *cann_library(const char *name, char *message, size_t size)
{
    char file[4200];
    snprintf(file, sizeof file, "%s%s", loaded ? folder : "", name);
    void *library = loaded ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        snprintf(message, size, "%s", loaded ? dlerror() : "torch_npu has no CANN");
    return library;
}

static void add_operators(const char *file)
{
    if (operator_count == sizeof operators / sizeof operators[0])
        return;
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (library)
        operators[operator_count++] = library;
}

static void add_pattern(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_operators(found.gl_pathv[i]);
    globfree(&found);
}

/* Custom operators: ASCEND_CUSTOM_OPP_PATH (a list), then the vendors of ASCEND_OPP_PATH in config.ini's order. */
static void add_custom(void)
{
    char file[4200];
    const char *list = variable_raw(VARIABLE_ASCEND_CUSTOM_OPP_PATH);
    char *copy = list ? strdup(list) : NULL, *rest = copy, *part;
    while (rest && (part = strsep(&rest, ":")))
        if (*part) {
            snprintf(file, sizeof file, "%s/op_api/lib/libcust_opapi.so", part);
            add_operators(file);
        }
    free(copy);
    const char *opp = variable_raw(VARIABLE_ASCEND_OPP_PATH);
    if (!opp)
        return;
    snprintf(file, sizeof file, "%s/vendors/config.ini", opp);
    FILE *config = fopen(file, "r");
    char line[1024];
    while (config && fgets(line, sizeof line, config)) {
        if (strncmp(line, "load_priority=", 14))
            continue;
        rest = line + 14;
        while ((part = strsep(&rest, ",\r\n")))
            if (*part) {
                snprintf(file, sizeof file, "%s/vendors/%s/op_api/lib/libcust_opapi.so", opp, part);
                add_operators(file);
            }
    }
    if (config)
        fclose(config);
}

static void open_operators(void)
{
    static const char *const fixed[] = {"libopapi.so",      "libaclnn_ops_infer.so", "libaclnn_ops_train.so",
                                        "libaclnn_math.so", "libaclnn_sparse.so",    "libaclnn_fft.so",
                                        "libaclnn_rand.so"};
    char file[4200];
    add_custom();
    if (*folder) {
        snprintf(file, sizeof file, "%slibopapi_*.so", folder);
        add_pattern(file);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        snprintf(file, sizeof file, "%s%s", folder, fixed[i]);
        add_operators(file);
    }
}

void *cann_symbol(const char *name)
{
    if (!loaded || (!cann.extension && !strncmp(name, "anynpu_", 7)))
        return NULL;
    pthread_once(&operators_once, open_operators);
    for (size_t i = 0; i < operator_count; i++) {
        void *address = dlsym(operators[i], name);
        if (address)
            return address;
    }
    return NULL;
}

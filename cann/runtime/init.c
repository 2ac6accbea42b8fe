/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of the library: aclInit counts its calls, aclFinalize ends it at once, aclFinalizeReference with the
 * last user. Nothing else in the library needs aclInit; the counts and codes are what clients expect. The configuration
 * file is JSON; it may name a default device, which threads without a context then use, and is given to registered
 * callbacks. One lock (init), outermost; callbacks run outside it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "base/json.h"
#include "base/options.h"
#include "context.h"
#include "dump.h"
#include "error.h"
#include "init.h"

enum { HOOKS = 32, CONFIG_MAX = 1 << 20 };

struct hook {
    aclRegisterCallbackType type;
    void (*fn)(void);
    void *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t users;
static bool finalized;
static char *config; /* text of the file, "" without one */
static struct hook init_hooks[HOOKS], end_hooks[HOOKS];

int config_read(const char *path, const char *call, char **out)
{
    FILE *f = fopen(path, "re");
    char *text = f ? malloc(CONFIG_MAX + 1) : NULL;
    size_t n = text ? fread(text, 1, CONFIG_MAX + 1, f) : 0;
    bool bad = !text || ferror(f);
    if (f)
        fclose(f);
    if (bad) {
        free(text);
        return fail(ACL_ERROR_INVALID_FILE, "File %s is invalid. Reason: %s cannot read it", path, call);
    }
    size_t at = 0;
    if (n <= CONFIG_MAX)
        text[n] = 0;
    if (n > CONFIG_MAX || strlen(text) != n || !json_valid(text, &at)) {
        free(text);
        return fail(ACL_ERROR_PARSE_FILE, "File %s is invalid. Reason: it is not JSON, see byte %zu", path, at);
    }
    *out = text;
    return ACL_SUCCESS;
}

/* {"defaultDevice": {"default_device": "0"}} */
static int apply_config(const char *path, const char *text)
{
    const char *value = json_member(json_member(text, "defaultDevice"), "default_device");
    int64_t id = -1;
    if (!value)
        return ACL_SUCCESS;
    if (!json_number(value, &id) || id < 0)
        return fail(ACL_ERROR_INVALID_PARAM, "File %s is invalid. Reason: default_device is not a device id", path);
    if (!device_get(id))
        return ACL_ERROR_RT_INVALID_DEVICEID;
    context_set_default((int32_t)id);
    return ACL_SUCCESS;
}

static int call_hooks(const struct hook *hooks, const char *text)
{
    struct hook copy[HOOKS];
    pthread_mutex_lock(&lock);
    memcpy(copy, hooks, sizeof copy);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < HOOKS; i++) {
        if (!copy[i].fn)
            continue;
        int status = hooks == init_hooks ? ((aclInitCallbackFunc)copy[i].fn)(text, strlen(text), copy[i].data)
                                         : ((aclFinalizeCallbackFunc)copy[i].fn)(copy[i].data);
        if (status)
            return fail(status, "a registered %s callback failed", hooks == init_hooks ? "init" : "finalize");
    }
    return ACL_SUCCESS;
}

aclError aclInit(const char *configPath)
{
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    bool again = users > 0;
    users += again;
    pthread_mutex_unlock(&lock);
    if (again)
        return ACL_ERROR_REPEAT_INITIALIZE; /* harmless, so no text */
    option_check_names(stderr);
    char *text = NULL;
    if (configPath && *configPath) {
        TRY(config_read(configPath, __func__, &text));
        int status = apply_config(configPath, text);
        if (!status)
            status = dump_start(configPath, text);
        if (status) {
            free(text);
            return status;
        }
    }
    pthread_mutex_lock(&lock);
    users++;
    finalized = false;
    free(config);
    config = text;
    pthread_mutex_unlock(&lock);
    return call_hooks(init_hooks, text ? text : "");
}

static int finish(void)
{
    context_set_default(-1);
    dump_stop();
    return call_hooks(end_hooks, "");
}

aclError aclFinalize(void)
{
    pthread_mutex_lock(&lock);
    bool again = finalized;
    users = 0;
    finalized = true;
    pthread_mutex_unlock(&lock);
    return again ? fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before") : finish();
}

aclError aclFinalizeReference(uint64_t *refCount)
{
    pthread_mutex_lock(&lock);
    bool none = users == 0, last = users == 1;
    users -= !none;
    finalized |= last;
    if (refCount)
        *refCount = users;
    pthread_mutex_unlock(&lock);
    if (none)
        return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference was called more often than aclInit");
    return last ? finish() : ACL_SUCCESS;
}

static int add_hook(struct hook *hooks, aclRegisterCallbackType type, void (*fn)(void), void *data)
{
    CHECK_ARG(fn);
    bool room = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < HOOKS && !room; i++)
        if (!hooks[i].fn) {
            hooks[i] = (struct hook){type, fn, data};
            room = true;
        }
    pthread_mutex_unlock(&lock);
    return room ? ACL_SUCCESS : fail(ACL_ERROR_RT_OVER_LIMIT, "%d callbacks are registered already", HOOKS);
}

static int remove_hook(struct hook *hooks, aclRegisterCallbackType type, void (*fn)(void))
{
    CHECK_ARG(fn);
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < HOOKS && !found; i++)
        if (hooks[i].fn == fn && hooks[i].type == type) {
            hooks[i] = (struct hook){0};
            found = true;
        }
    pthread_mutex_unlock(&lock);
    return found ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_PARAM, "the callback is not registered");
}

/* After aclInit a new callback is called at once. */
aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData)
{
    TRY(add_hook(init_hooks, type, (void (*)(void))cbFunc, userData));
    pthread_mutex_lock(&lock);
    char *text = users ? strdup(config ? config : "") : NULL;
    pthread_mutex_unlock(&lock);
    int status = text ? cbFunc(text, strlen(text), userData) : ACL_SUCCESS;
    free(text);
    return status;
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc)
{
    return remove_hook(init_hooks, type, (void (*)(void))cbFunc);
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData)
{
    return add_hook(end_hooks, type, (void (*)(void))cbFunc, userData);
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc)
{
    return remove_hook(end_hooks, type, (void (*)(void))cbFunc);
}

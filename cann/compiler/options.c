/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of operator compilation: strings that clients set and read back. One lock, a leaf. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_op_compiler.h"
#include "runtime/door.h"

enum { OPTIONS = ACL_OP_DEBUG_OPTION + 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *set[OPTIONS]; /* what clients set, else */
static const char *const initial[OPTIONS] = {
    [ACL_PRECISION_MODE] = "must_keep_origin_dtype",
    [ACL_OP_SELECT_IMPL_MODE] = "high_precision",
    [ACL_OP_DEBUG_LEVEL] = "0",
    [ACL_OP_COMPILER_CACHE_MODE] = "disable",
    [ACL_OP_JIT_COMPILE] = "disable",
    [ACL_OP_DETERMINISTIC] = "1",
    [ACL_ALLOW_HF32] = "00",
};

static int unknown(aclCompileOpt opt)
{
    return fail(ACL_ERROR_INVALID_PARAM, "there is no compile option %d", (int)opt);
}

/* Under the lock. */
static const char *value_of(aclCompileOpt opt)
{
    return set[opt] ? set[opt] : initial[opt] ? initial[opt] : "";
}

aclError aclSetCompileopt(aclCompileOpt opt, const char *value)
{
    if ((unsigned)opt >= OPTIONS)
        return unknown(opt);
    if (!value)
        return fail(ACL_ERROR_INVALID_PARAM, "the value of compile option %d must not be NULL", (int)opt);
    char *copy = strdup(value);
    if (!copy)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for compile option %d", (int)opt);
    pthread_mutex_lock(&lock);
    free(set[opt]);
    set[opt] = copy;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(aclCompileOpt opt)
{
    if ((unsigned)opt >= OPTIONS) {
        unknown(opt);
        return 0;
    }
    pthread_mutex_lock(&lock);
    size_t bytes = strlen(value_of(opt)) + 1;
    pthread_mutex_unlock(&lock);
    return bytes;
}

aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length)
{
    if ((unsigned)opt >= OPTIONS)
        return unknown(opt);
    if (!value)
        return fail(ACL_ERROR_INVALID_PARAM, "no room (NULL) for the value of compile option %d", (int)opt);
    pthread_mutex_lock(&lock);
    const char *text = value_of(opt);
    size_t bytes = strlen(text) + 1;
    if (bytes <= length)
        memcpy(value, text, bytes);
    pthread_mutex_unlock(&lock);
    return bytes <= length
               ? ACL_SUCCESS
               : fail(ACL_ERROR_INVALID_PARAM, "compile option %d needs %zu bytes, but there is room for %zu", (int)opt,
                      bytes, length);
}

aclError aclopSetCompileFlag(aclOpCompileFlag flag)
{
    /* both ways are the same here: operators are compiled ahead for every shape */
    if (flag != ACL_OP_COMPILE_DEFAULT && flag != ACL_OP_COMPILE_FUZZ)
        return fail(ACL_ERROR_INVALID_PARAM, "there is no compile flag %d", (int)flag);
    return ACL_SUCCESS;
}

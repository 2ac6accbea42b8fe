/* SPDX-License-Identifier: BSD-3-Clause */
/* Status and text of failures. fail() (door.h) is the one place where they are made; here is what the runtime itself
 * needs besides: carrying a failure from the device thread to the thread that synchronises, and the checks of public
 * entries. */
#ifndef ANYNPU_RUNTIME_ERROR_H
#define ANYNPU_RUNTIME_ERROR_H

#include "runtime/door.h"

/* As fail() with a text made elsewhere. */
int fail_text(int code, const char *reason);

/* The same, not logged: it was when it happened (a task's failure, told to the thread that synchronises). */
int fail_again(int code, const char *reason);

/* The last failure's reason in this thread, "" when there was none. */
const char *fail_reason(void);

/* Its status. */
int fail_code(void);

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (status_)                                                                                                   \
            return status_;                                                                                            \
    } while (0)

/* An argument that must not be NULL. */
#define CHECK_ARG(p)                                                                                                   \
    do {                                                                                                               \
        if (!(p))                                                                                                      \
            return fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL in %s", #p, __func__);                           \
    } while (0)

#endif

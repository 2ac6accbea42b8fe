/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of the library: aclInit counts its calls, aclFinalize ends it at once, aclFinalizeReference with the
 * last user. Nothing else in the library needs aclInit; the counts and codes are what clients expect. One lock (init).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t users;
static bool finalized;

aclError aclInit(const char *configPath)
{
    TRY(entry_check());
    FILE *f = configPath && *configPath ? fopen(configPath, "re") : NULL;
    if (configPath && *configPath && !f)
        return fail(ACL_ERROR_INVALID_FILE, "aclInit cannot read its configuration file %s", configPath);
    if (f)
        fclose(f);
    pthread_mutex_lock(&lock);
    bool again = users++ > 0;
    finalized = false;
    pthread_mutex_unlock(&lock);
    return again ? ACL_ERROR_REPEAT_INITIALIZE : ACL_SUCCESS;
}

aclError aclFinalize(void)
{
    pthread_mutex_lock(&lock);
    bool again = finalized;
    users = 0;
    finalized = true;
    pthread_mutex_unlock(&lock);
    return again ? fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before") : ACL_SUCCESS;
}

aclError aclFinalizeReference(uint64_t *refCount)
{
    pthread_mutex_lock(&lock);
    bool none = users == 0;
    if (!none && --users == 0)
        finalized = true;
    if (refCount)
        *refCount = users;
    pthread_mutex_unlock(&lock);
    return none ? fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference was called more often than aclInit")
                : ACL_SUCCESS;
}

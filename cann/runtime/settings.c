/* SPDX-License-Identifier: BSD-3-Clause */
/* Process-wide settings; see settings.h. Plain atomics, no lock. */
#include "settings.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "acl/acl_rt.h"
#include "base/options.h"
#include "context.h"
#include "error.h"

static _Atomic int64_t wait_ns, execute_ns;
static _Atomic int64_t options[ACL_OPT_ENABLE_KERNEL_EARLY_START + 1]; /* value + 1; 0: not set */

int64_t settings_wait_ns(void)
{
    return atomic_load(&wait_ns);
}

int64_t settings_execute_ns(void)
{
    return atomic_load_explicit(&execute_ns, memory_order_relaxed);
}

int settings_devices(void)
{
    int devices = (int)option_number(OPTION_DEVICES);
    const char *processes = option_is_set(OPTION_DEVICES) ? NULL : getenv("LOCAL_WORLD_SIZE");
    int wanted = processes ? atoi(processes) : 0;
    return wanted > devices && wanted <= option_row(OPTION_DEVICES)->max ? wanted : devices;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout)
{
    TRY(entry_check());
    atomic_store(&wait_ns, (int64_t)timeout * 1000000000);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout)
{
    TRY(entry_check());
    atomic_store(&execute_ns, (int64_t)timeout * 1000000000);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout)
{
    TRY(entry_check());
    atomic_store(&execute_ns, (int64_t)timeout * 1000000);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout)
{
    CHECK_ARG(actualTimeout);
    TRY(entry_check());
    if (timeout > INT64_MAX / 1000)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %llu us is too long", (unsigned long long)timeout);
    atomic_store(&execute_ns, (int64_t)timeout * 1000);
    *actualTimeout = timeout ? timeout : UINT64_MAX; /* 0: never */
    return ACL_SUCCESS;
}

aclError aclrtGetOpTimeOutInterval(uint64_t *interval)
{
    CHECK_ARG(interval);
    *interval = 1;
    return ACL_SUCCESS;
}

aclError aclrtGetOpExecuteTimeout(uint32_t *const timeoutMs)
{
    CHECK_ARG(timeoutMs);
    *timeoutMs = (uint32_t)(atomic_load(&execute_ns) / 1000000);
    return ACL_SUCCESS;
}

static int check_option(aclSysParamOpt opt)
{
    if (opt < ACL_OPT_DETERMINISTIC || opt > ACL_OPT_ENABLE_KERNEL_EARLY_START)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "system parameter %d is unknown", (int)opt);
    return ACL_SUCCESS;
}

static int set_option(_Atomic int64_t *place, aclSysParamOpt opt, int64_t value)
{
    if (value != 0 && value != 1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "system parameter %d: value %lld is neither 0 nor 1", (int)opt,
                    (long long)value);
    atomic_store(place, value + 1);
    return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    TRY(check_option(opt));
    return set_option(&options[opt], opt, value);
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    CHECK_ARG(value);
    TRY(check_option(opt));
    int64_t v = atomic_load(&options[opt]);
    *value = v ? v - 1 : 0;
    return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    TRY(check_option(opt));
    struct context *c = context_current();
    return c ? set_option(&c->options[opt], opt, value) : fail_code();
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    CHECK_ARG(value);
    TRY(check_option(opt));
    struct context *c = context_current();
    if (!c)
        return fail_code();
    int64_t v = atomic_load(&c->options[opt]);
    if (!v)
        return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "system parameter %d was not set in this context", (int)opt);
    *value = v - 1;
    return ACL_SUCCESS;
}

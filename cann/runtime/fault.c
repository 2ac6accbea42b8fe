/* SPDX-License-Identifier: BSD-3-Clause */
/* ANYNPU_FAULT=malloc:N,oom:BYTES,task:K; see fault.h. The form was checked by the option table. */
#include "fault.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

/* Number after `kind` in the option, with k m g t; -1 when absent. */
static int64_t asked(const char *kind)
{
    const char *p = strstr(option_text(OPTION_FAULT), kind);
    if (!p)
        return -1;
    char *end;
    int64_t v = strtoll(p + strlen(kind), &end, 10);
    const char *units = "kmgt", *unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
    return unit ? v << 10 * (unit - units + 1) : v;
}

bool fault_malloc(uint64_t total)
{
    static _Atomic int64_t nth = -2, limit, count;
    int64_t n = atomic_load(&nth);
    if (n == -2) {
        atomic_store(&limit, asked("oom:"));
        atomic_store(&nth, n = asked("malloc:"));
    }
    int64_t bytes = atomic_load(&limit);
    return (n > 0 && atomic_fetch_add(&count, 1) + 1 == n) || (bytes >= 0 && total > (uint64_t)bytes);
}

bool fault_task(void)
{
    static _Atomic int64_t nth = -2, count;
    int64_t n = atomic_load_explicit(&nth, memory_order_relaxed);
    if (n == -2)
        atomic_store(&nth, n = asked("task:"));
    return n > 0 && atomic_fetch_add(&count, 1) + 1 == n;
}

bool shaking(void)
{
    return option_number(OPTION_JITTER) > 0 || option_number(OPTION_GUARD) == 1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine can still give this process. */
#ifndef ANYNPU_BASE_HOST_H
#define ANYNPU_BASE_HOST_H

#include <stdint.h>

/* Bytes that can be taken without being killed for it: MemAvailable, cut by the limits of the cgroups (v1 and v2) that
 * the process is in. Reads /proc and /sys: some ten microseconds. */
int64_t host_available(void);

/* CPUs' worth of time that the cgroups allow, rounded up; 0: no limit. */
int host_cpu_quota(void);

#endif

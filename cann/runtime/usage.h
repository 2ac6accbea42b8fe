/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process publishes about its use of the devices (base/stats.h): memory at each change, and the share of its
 * workers that compute, sampled a hundred times a second by a thread of its own. Tasks and kernels pay nothing. */
#ifndef ANYNPU_RUNTIME_USAGE_H
#define ANYNPU_RUNTIME_USAGE_H

#include <stdint.h>

#include "device.h"

/* The process uses the device from now on (it has memory there), or no longer (reset). Any thread; cheap when joined.
 */
void usage_join(struct device *device);
void usage_leave(struct device *device);

/* Bytes allocated on the device now. Any thread; one store. */
void usage_memory(int32_t device, uint64_t bytes);

/* Use of the device over the last second by all processes, in percent. */
int usage_percent(struct device *device);

/* In a forked child. */
void usage_after_fork(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices of this process: which are visible, their default contexts, what the process did to them.
 * Lock order (outermost first): init · device · memory · handle table · stream · event · log. */
#ifndef ANYNPU_RUNTIME_DEVICE_H
#define ANYNPU_RUNTIME_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_rt.h"

enum { DEVICES_MAX = 64 };

struct context;

struct device {
    int32_t id;       /* as the process counts */
    int32_t physical; /* as the machine counts */
    pthread_mutex_t lock;
    struct context *primary;    /* default context, made by the first aclrtSetDevice */
    _Atomic uint32_t set_count; /* aclrtSetDevice less aclrtResetDevice */
    _Atomic uint64_t peers;     /* bit of each device whose memory this one was given access to */
    _Atomic int saturate;       /* aclrtFloatOverflowMode */
    _Atomic uint32_t overflows; /* since aclrtResetOverflowStatus, as a flag */
    _Atomic uint32_t cores[2];  /* limits, 0: the SoC's */
};

/* Number of visible devices; negative after fail() when ASCEND_RT_VISIBLE_DEVICES names what does not exist. */
int device_count(void);

/* NULL after fail(107001) when there is no such device. */
struct device *device_get(int64_t id);

/* Device of the current context; NULL after fail(107002) when the thread has none. */
struct device *device_current(void);

/* Marks the process as one that used a device: its forked children may not. 0, or the status of entry_check(). */
int device_use(void);

/* Physical memory of the device is still held (vmm.c): its memory cannot be reset. */
bool physical_in_use(int32_t device);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Process-wide settings that clients make by functions: time limits, system parameters. */
#ifndef ANYNPU_RUNTIME_SETTINGS_H
#define ANYNPU_RUNTIME_SETTINGS_H

#include <stdint.h>

/* Longest wait of a task for an event, and longest run of an operator, in ns; 0: no limit. */
int64_t settings_wait_ns(void);
int64_t settings_execute_ns(void);

/* Devices that the machine has: ANYNPU_DEVICES, else 2, or as many as torchrun starts processes here. */
int settings_devices(void);

#endif

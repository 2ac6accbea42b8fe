/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that tests ask for by ANYNPU_FAULT. */
#ifndef ANYNPU_RUNTIME_FAULT_H
#define ANYNPU_RUNTIME_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Shall this device allocation fail, with which `total` bytes would be in use? */
bool fault_malloc(uint64_t total);

/* Shall this task fail? */
bool fault_task(void);

/* Any shake mode that forbids running tasks at once on the caller's thread. */
bool shaking(void);

#endif

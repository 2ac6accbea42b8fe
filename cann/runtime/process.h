/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of the process: forked children of a process that used a device, and the end of the process. */
#ifndef ANYNPU_RUNTIME_PROCESS_H
#define ANYNPU_RUNTIME_PROCESS_H

#include <stdbool.h>

/* A device was used in this process. */
bool process_used(void);

#endif

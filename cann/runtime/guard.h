/* SPDX-License-Identifier: BSD-3-Clause */
/* Guard mode (ANYNPU_GUARD=1): a host access to device memory faults, and says so. */
#ifndef ANYNPU_RUNTIME_GUARD_H
#define ANYNPU_RUNTIME_GUARD_H

/* Installs the handler that explains the fault; once, when the first device memory is mapped. */
void guard_watch(void);

#endif

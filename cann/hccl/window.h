/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: mapped device memory that clients told HCCL about, so that peers use it in place. The public entries are in
 * window.c. One lock, a leaf; where there are no windows a look costs one load. */
#ifndef ANYNPU_HCCL_WINDOW_H
#define ANYNPU_HCCL_WINDOW_H

#include "comm.h"

/* Lies [address, address + bytes) in one window? Then *share (or NULL) describes it for other processes. Any thread. */
bool window_share(const void *address, size_t bytes, struct share *share);

/* The communicator's handle has ended, and its windows with it. */
void window_forget(const struct comm *comm);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread behind a meeting point (meet.h). */
#ifndef ANYNPU_HCCL_ROOT_H
#define ANYNPU_HCCL_ROOT_H

#include <stdint.h>

#include "hccl/hccl_types.h"

/* Starts it on a listening socket, which it takes over when it succeeds. */
HcclResult root_start(int fd, const uint64_t secret[2]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives that wait for HcclGroupEnd (group.c). */
#ifndef ANYNPU_HCCL_GROUP_H
#define ANYNPU_HCCL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "hccl/hccl.h"

/* The thread is between HcclGroupStart and HcclGroupEnd. */
bool group_open(void);

HcclResult group_add(const HcclSendRecvItem *items, uint32_t n, HcclComm comm, aclrtStream stream);

#endif

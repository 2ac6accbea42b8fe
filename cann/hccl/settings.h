/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says about collectives, checked when a communicator is made. */
#ifndef ANYNPU_HCCL_SETTINGS_H
#define ANYNPU_HCCL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "hccl/hccl_types.h"

/* Every HCCL_* variable that is set has a form that is accepted; else EI0001. */
HcclResult settings_check(void);

int64_t settings_connect_ns(void);
int64_t settings_exec_ns(void); /* 0: no limit */

/* The address at which other computers reach this one: HCCL_IF_IP, HCCL_SOCKET_IFNAME, HCCL_SOCKET_FAMILY, else the
 * first interface that is up and is neither loopback nor docker's, else loopback. */
HcclResult settings_ip(char *ip, uint32_t size);

/* The name of the interface that has this address, "" when none has. Returns name. */
const char *settings_interface(const char *ip, char *name, uint32_t size);

/* Ports at which a meeting point may listen: the i-th to try (0: any), false when there are no more. */
bool settings_port(uint32_t i, uint16_t *port);

/* Where rank 0 of a rank table listens. */
uint16_t settings_table_port(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The SoC names that clients know, and the figures that a chip of that name reports. */
#ifndef ANYNPU_BASE_SOC_H
#define ANYNPU_BASE_SOC_H

#include <stdbool.h>
#include <stdint.h>

struct soc {
    const char *prefix;          /* of the name */
    int32_t cube, vector, aicpu; /* cores */
    int64_t l2;                  /* bytes */
    int32_t ubuf;                /* bytes of a vector core's buffer */
    int32_t arch;                /* ACL_DEV_ATTR_NPU_ARCH */
    bool simt;                   /* vector cores run threads */
};

/* The row whose prefix the name begins with; NULL when the name is unknown. */
const struct soc *soc_find(const char *name);

#endif

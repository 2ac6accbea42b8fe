/* SPDX-License-Identifier: BSD-3-Clause */
/* One row a family of chips, longest prefixes first. */
#include "soc.h"

#include <stddef.h>
#include <string.h>

enum { MB = 1 << 20, KB = 1 << 10 };

static const struct soc table[] = {
    {"Ascend910B1", 24, 48, 6, 192 * MB, 192 * KB, 2201, false},
    {"Ascend910B2", 24, 48, 6, 192 * MB, 192 * KB, 2201, false},
    {"Ascend910B", 20, 40, 6, 192 * MB, 192 * KB, 2201, false},
    {"Ascend910_936", 20, 40, 6, 192 * MB, 192 * KB, 2201, false},
    {"Ascend910_93", 24, 48, 6, 192 * MB, 192 * KB, 2201, false},
    {"Ascend910", 32, 32, 14, 32 * MB, 256 * KB, 1001, false},
    {"Ascend950PR", 32, 64, 6, 128 * MB, 248 * KB, 3510, true},
    {"Ascend950DT", 32, 64, 6, 128 * MB, 248 * KB, 3510, true},
    {"Ascend310P", 8, 7, 8, 16 * MB, 256 * KB, 2002, false},
    {"Ascend310B", 1, 1, 3, 4 * MB, 248 * KB, 3002, false},
    {"Ascend310", 2, 2, 4, 8 * MB, 248 * KB, 1911, false},
};

const struct soc *soc_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strncmp(name, table[i].prefix, strlen(table[i].prefix)) == 0)
            return &table[i];
    return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes docs/OPTIONS.md: the options of the software CANN, from the table that parses them. */
#include <stdio.h>

#include "base/options.h"

int main(void)
{
    printf("# Options\n\n"
           "Environment variables that the software CANN reads, each once, at its first use. A value that is not valid "
           "is\n"
           "named on stderr together with what is accepted, and the default holds. (This page is written by `cmake "
           "--build\n"
           "build/release --target docs`; the table is `cann/base/options.c`.)\n\n");
    option_print(stdout);
    printf("\nThe number of threads follows `OMP_NUM_THREADS`, the affinity mask and the cgroup's CPU quota.\n");
    return 0;
}

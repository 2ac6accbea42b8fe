/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the software CANN, from the table that parses them: as a part of docs/OPTIONS.md, or (--values) one a
 * line with the environment's value, parted by tabs: name, default, accepted form, meaning, value, 1 if that is valid,
 * else 0. The command `anynpu options` reads the latter. */
#include <stdio.h>
#include <string.h>

#include "base/options.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--values") == 0) {
        option_print_values(stdout);
        return 0;
    }
    printf(
        "## The software CANN\n\n"
        "Environment variables that it reads, each once, at its first use. A value that is not valid is named on "
        "stderr\n"
        "together with what is accepted, and the default holds; so is the name of an unknown `ANYNPU_` variable. (The\n"
        "table is `cann/base/options.c`.)\n\n");
    option_print(stdout);
    printf("\nThe number of threads follows `OMP_NUM_THREADS`, the affinity mask and the cgroup's CPU quota.\n");
    return 0;
}

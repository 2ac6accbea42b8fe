/* SPDX-License-Identifier: BSD-3-Clause */
/* The fusions, in the order in which they are tried. */
#include "graph/passes/passes.h"

const struct fusion pass_fusions[] = {
    {NULL, NULL, NULL},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The package's environment variables in C. The table is torch_npu/_variables.py, which is turned into variable_rows.h
 * when this is built; nothing else here calls getenv. Malformed values are named when the package is imported. Any
 * thread. */
#ifndef TORCH_NPU_VARIABLES_H
#define TORCH_NPU_VARIABLES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum variable {
#define VARIABLE(name, value) VARIABLE_##name,
#include "variable_rows.h"
#undef VARIABLE
};

const char *variable_name(enum variable variable);

/* As it is; NULL if it is not set. */
const char *variable_raw(enum variable variable);

/* Whether a switch is 1: as set, else by default. */
bool variable_on(enum variable variable);

#ifdef __cplusplus
}
#endif

#endif

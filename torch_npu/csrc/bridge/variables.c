/* SPDX-License-Identifier: BSD-3-Clause */
/* See variables.h. */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *value;
} table[] = {
#define VARIABLE(name, value) {#name, value},
#include "variable_rows.h"
#undef VARIABLE
};

const char *variable_name(enum variable variable)
{
    return table[variable].name;
}

const char *variable_raw(enum variable variable)
{
    return getenv(table[variable].name);
}

bool variable_on(enum variable variable)
{
    const char *value = variable_raw(variable);
    return strcmp(value && (!strcmp(value, "0") || !strcmp(value, "1")) ? value : table[variable].value, "1") == 0;
}

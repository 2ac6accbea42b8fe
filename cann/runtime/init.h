/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the configuration files that clients name (acl.json). */
#ifndef ANYNPU_RUNTIME_INIT_H
#define ANYNPU_RUNTIME_INIT_H

/* The file's text, which is JSON, to be freed; else a status with a text that names `call`. */
int config_read(const char *path, const char *call, char **text);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps inside the runtime; the side that the engine and the executor use is in door.h. */
#ifndef ANYNPU_RUNTIME_DUMP_H
#define ANYNPU_RUNTIME_DUMP_H

#include "runtime/door.h"

/* aclInit's file: starts dumping if it asks for dumps. `text` is the file's, `path` for error texts. */
int dump_start(const char *path, const char *text);
/* aclFinalize: no more dumps. */
void dump_stop(void);

/* ---- dump_file.c ---- */
/* Writes path (the folder exists): CANN's dump format, or a table of statistics. A status with text. */
int dump_file_write(const char *path, const struct dump_op *op);
int dump_table_write(const char *path, const struct dump_op *op);

#endif

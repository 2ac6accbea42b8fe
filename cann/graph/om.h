/* SPDX-License-Identifier: BSD-3-Clause */
/* The offline model file (.om): docs/OM_FORMAT.md has the layout. A header with sections, each with its checksum; the
 * graph serialised; constants' bytes aligned to 64 (those of a page or more: to pages), so that they are used where the
 * file is mapped: pages are shared by all processes that load it.
 *
 * Readers trust nothing: every offset, count and size is checked before it is used, also with right checksums. */
#ifndef ANYNPU_GRAPH_OM_H
#define ANYNPU_GRAPH_OM_H

#include "graph/graph.h"

enum { OM_VERSION = 1 };

/* GRAPH_OK, or a status with text (graph_fail). */
int om_write(const struct model *model, const char *path);

/* Maps the file; constants stay in the mapping, which the model owns. Rows are looked up (node->row). */
int om_open(const char *path, struct model **model);

/* The same from memory, which must stay until model_free and be aligned to 64 (else constants are copied). */
int om_open_memory(const void *bytes, size_t size, struct model **model);

/* Sets the checksums (and the size) of a whole file in memory to what its bytes ask for: when it is written, and for
 * tests that change one. */
void om_seal(void *bytes, size_t size);

#endif

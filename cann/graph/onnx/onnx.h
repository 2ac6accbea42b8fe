/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading ONNX files into a model (graph.h): opsets 9 to the newest, data in the file or beside it, subgraphs,
 * functions (inlined). Linked into atc alone. Files are hostile until checked: every size is bounded by the file's. */
#ifndef ANYNPU_GRAPH_ONNX_ONNX_H
#define ANYNPU_GRAPH_ONNX_ONNX_H

#include "graph/graph.h"

enum { ONNX_OPSET_MIN = 9, ONNX_OPSET_MAX = 28 };

/* Data beside the file is looked for in its folder. A graph_status, with text. */
int onnx_read(const char *path, struct model **model);

/* folder NULL: data in other files is refused. bytes need not stay. */
int onnx_parse(const void *bytes, size_t size, const char *folder, struct model **model);

#endif

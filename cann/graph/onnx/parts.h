/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ONNX reader share: the state of one reading, scopes of names, and the conversion of types and
 * tensors. onnx-ml.pb-c.h is made by protoc-c from the schema that the onnx package ships. */
#ifndef ANYNPU_GRAPH_ONNX_PARTS_H
#define ANYNPU_GRAPH_ONNX_PARTS_H

#include "graph/graph.h"
#include "graph/operators/onnx.h"
#include "onnx-ml.pb-c.h"

/* Names of one scope; what is not found is looked for in the outer one. */
struct scope {
    struct scope *outer;
    struct name {
        const char *text;
        int32_t value;
    } * names; /* open addressing, room is a power of two */
    size_t count, room;
};

struct reading {
    struct model *model;
    const Onnx__ModelProto *file;
    const char *folder; /* of external data; NULL: none is read */
    int32_t nodes;      /* made so far, inlined ones included */
    int depth;          /* of graphs and functions within each other */
};

/* A name of an element type (operators/onnx.h: onnx_dtype) for messages. */
const char *onnx_dtype_name(int32_t type);

/* Fills in type and bytes (in the arena or in a mapped file). */
int onnx_tensor(struct reading *r, const Onnx__TensorProto *tensor, struct tensor *out);

/* Nothing nested deeper than protobuf-c's recursion may go. */
int onnx_depth(const void *bytes, size_t size);

#endif

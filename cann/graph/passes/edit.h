/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes make new nodes with. All memory is the model's. */
#ifndef ANYNPU_GRAPH_PASSES_EDIT_H
#define ANYNPU_GRAPH_PASSES_EDIT_H

#include "graph/passes/passes.h"

/* A node of ONNX's own domain (or of another: set it afterwards) with one output; false: no memory. Inputs are copied.
 * The row is looked up for the model's opset, at least `version`. */
bool edit_node(struct model *model, struct node *node, const char *op, int32_t version, const char *name, int32_t n_in,
               const int32_t *in, int32_t out);
/* Adds an attribute to a node made by edit_node or takes the place of one of that name. */
bool edit_attribute(struct model *model, struct node *node, const struct attribute *attribute);
/* A Cast to dtype. */
bool edit_cast(struct model *model, struct node *node, const char *name, int32_t in, int32_t out, aclDataType dtype);
/* Puts the node before the main graph's node of that index (n_nodes: at the end). */
bool edit_insert(struct model *model, int32_t at, const struct node *node);
/* A new value; VALUE_NONE: no memory. */
int32_t edit_value(struct model *model, const char *name, const char *suffix, const struct type *type);
/* A constant of the model's arena, to be filled in. */
void *edit_constant(struct model *model, const char *name, const char *suffix, const struct type *type, int32_t *value);
/* The number that ONNX gives the type; 0: none. */
int64_t edit_onnx_type(aclDataType dtype);

/* Who makes and uses the values of the main graph. */
struct uses {
    int32_t *maker; /* [values]: node, or -1 */
    int32_t *count; /* [values]: by nodes, subgraphs and as outputs */
    int32_t *user;  /* [values]: the last node that uses it */
};
bool uses_find(const struct model *model, struct uses *uses);
void uses_free(struct uses *uses);

#endif

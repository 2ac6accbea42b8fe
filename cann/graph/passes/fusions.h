/* SPDX-License-Identifier: BSD-3-Clause */
/* One fusion: looks whether the group ends in this node; if so, the node becomes one that does all of it, and *made
 * counts. What the group was made of goes as dead code. */
#ifndef ANYNPU_GRAPH_PASSES_FUSIONS_H
#define ANYNPU_GRAPH_PASSES_FUSIONS_H

#include "graph/passes/match.h"

typedef int fuse_fn(struct match *m, struct node *node, int32_t *made);

fuse_fn fuse_conv_norm, fuse_gelu, fuse_layer_norm, fuse_attention, fuse_matmul_bias;

#endif

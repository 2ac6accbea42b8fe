/* SPDX-License-Identifier: BSD-3-Clause */
/* Folding: computing nodes whose inputs are known, on the current device. See operator.h for fold_new and fold_free. */
#ifndef ANYNPU_GRAPH_FOLD_H
#define ANYNPU_GRAPH_FOLD_H

#include "graph/operator.h"

/* Computes the node when all it needs is known and its results are small enough; they get `host` in the table. A node
 * that cannot be folded is left alone: GRAPH_OK. */
int fold_node(struct fold *fold, const struct node *node, struct tensor *table);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for groups of nodes: from a value back to what makes it. */
#ifndef ANYNPU_GRAPH_PASSES_MATCH_H
#define ANYNPU_GRAPH_PASSES_MATCH_H

#include "graph/passes/edit.h"

struct match {
    struct model *model;
    struct uses uses;
};

/* The node of ONNX's own domain that makes the value, when it is that operator; else NULL. */
struct node *match_maker(const struct match *m, int32_t value, const char *op);
/* Nothing else uses the value. */
bool match_single(const struct match *m, int32_t value);
/* A float constant of one element (any float type); false: no such thing. */
bool match_number(const struct match *m, int32_t value, double *number);
/* x and number of a node of two inputs, one of which is a constant of one element: op(x, number), either way round when
 * `swap`. */
bool match_with_number(const struct match *m, const struct node *node, bool swap, int32_t *x, double *number);
/* The value is a float32 constant of that rank. */
const float *match_constant(const struct match *m, int32_t value, int32_t rank);
const struct type *match_type(const struct match *m, int32_t value);
/* Puts a node of domain "anynpu" (or ONNX's own, where its row is) in the place of `node`: same outputs. */
bool match_replace(const struct match *m, struct node *node, const char *domain, const char *op, int32_t version,
                   int32_t n_in, const int32_t *in);

#endif

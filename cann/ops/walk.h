/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking tensors element by element: the shared outer loop of elementwise work. */
#ifndef ANYNPU_OPS_WALK_H
#define ANYNPU_OPS_WALK_H

#include "base/view.h"
#include "runtime/door.h"

enum { WALK_VIEWS_MAX = 8 };

/* An inner loop: n elements, operand k at data[k], step[k] bytes apart (0: the same element). data[0] is the output.
 * Kernels of this type have fast paths for dense steps and for a step of 0. */
typedef void (*walk_loop)(int64_t n, char *const *data, const int64_t *step, const void *param);

/* Calls loop over all elements of n views that share a shape (views[0]: the output), dimensions merged and ordered so that
 * rows are long, pieces spread over the compute pool. cost: nanoseconds an element, for the choice of piece size (memory-
 * bound: 1). Called from a plan's step. */
void walk(const struct view *const *views, int n, walk_loop loop, const void *param, int cost) DOOR(walk);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking tensors element by element: the shared outer loop of elementwise work. Called from a plan's step. */
#ifndef ANYNPU_OPS_WALK_H
#define ANYNPU_OPS_WALK_H

#include "base/view.h"
#include "kernels/loop.h"
#include "runtime/door.h"

enum { WALK_VIEWS_MAX = 8 };

/* Calls loop over all elements of n views that share a shape (views[0]: the output), dimensions merged and ordered so
 * that rows are long, pieces spread over the compute pool. cost: nanoseconds an element (memory-bound: 1), for the
 * choice of piece size. The order of elements is not defined; an output may be exactly one of the inputs. */
void walk(const struct view *const *views, int n, walk_loop loop, const void *param, int cost) DOOR(walk);

/* The same without spreading, for steps that are parallel already. */
void walk_here(const struct view *const *views, int n, walk_loop loop, const void *param) DOOR(walk_here);

/* What walk does first: dimensions of size 1 dropped, the others sorted by the first view's strides, largest first, and
 * merged where all n views allow. The views (a shared shape, non-empty) keep their memory; only the order of elements
 * changes. */
void walk_order(struct view **views, int n) DOOR(walk_order);

#endif

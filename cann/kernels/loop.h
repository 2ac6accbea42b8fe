/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loop that elementwise kernels implement and walk() (ops/walk.h) calls. */
#ifndef ANYNPU_KERNELS_LOOP_H
#define ANYNPU_KERNELS_LOOP_H

#include <stdint.h>

/* n elements, operand k at data[k], step[k] bytes apart (0: the same element). data[0] is the output; it may be exactly
 * one of the inputs. Kernels have fast paths for dense steps and, where it pays, for a step of 0. */
typedef void (*walk_loop)(int64_t n, char *const *data, const int64_t *step, const void *param);

#endif

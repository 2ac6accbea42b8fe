/* SPDX-License-Identifier: BSD-3-Clause */
/* Combining the same elements of several arrays, as collectives do: out[i] = in[0][i] ∘ in[1][i] ∘ …, in this order, so
 * that the result does not depend on who computes it. 16-bit floats are computed in float and rounded once; integers
 * wrap; NaN wins in maximum and minimum. out may be any of the inputs (the very same array), but not overlap otherwise.
 */
#ifndef ANYNPU_KERNELS_COMBINE_H
#define ANYNPU_KERNELS_COMBINE_H

#include <stdint.h>

#include "kernels/isa.h"

enum combine_op { COMBINE_SUM, COMBINE_PROD, COMBINE_MAX, COMBINE_MIN, COMBINE_OPS };
enum { COMBINE_DTYPES = 28 }; /* aclDataType below this */

typedef void (*combine_fold)(int64_t n, void *out, const void *const *in, int count);

struct combine_table {
    combine_fold fold[COMBINE_OPS][COMBINE_DTYPES]; /* NULL: no such type */
    combine_fold wide[COMBINE_OPS][COMBINE_DTYPES]; /* 16-bit floats: out is float, not rounded */
    void (*narrow[COMBINE_DTYPES])(int64_t n, void *out, const float *in); /* float to 16-bit float */
};

ISA_DECLARE(const struct combine_table, combine_kernels);

#endif

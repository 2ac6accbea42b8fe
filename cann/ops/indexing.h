/* SPDX-License-Identifier: BSD-3-Clause */
/* The two motions that all index operators are made of, as steps and as calls from steps.
 *
 * Both take views of one shape S: the output, the int64 index (broadcast by strides of 0) and the input or source. The
 * dimension that the index replaces has stride 0 in the indexed tensor's view; `dim_step` is its true stride. */
#ifndef ANYNPU_OPS_INDEXING_H
#define ANYNPU_OPS_INDEXING_H

#include "kernels/index.h"
#include "ops/plan.h"

enum index_text {
    INDEX_TEXT_BOUNDS,   /* index 5 is out of bounds for dimension 0 with size 3 */
    INDEX_TEXT_SELF,     /* index out of range in self */
    INDEX_TEXT_COPY,     /* index_copy_(): index 5 is out of bounds for dimension 0 with size 3 */
    INDEX_TEXT_ELEMENTS, /* out of range: tried to access index 5 on a tensor of 3 elements. */
};

struct index_site {
    enum index_text text;
    int dim;
    int64_t limit, dim_step; /* elements */
};

/* The status of an index outside its range, with PyTorch's text. */
int index_fail(const struct index_site *site, int64_t value);

/* out[i] = in[i + index[i] * dim_step] */
int gather_run(const struct view *out, const struct view *index, const struct view *in, const struct index_site *site);

/* out[i + index[i] * dim_step] op= src[i]. The views' last `ordered` dimensions are those in which indices may meet:
 * they run in order, so that the result does not depend on threads; out's strides are 0 there. scale, if given, has one
 * factor for each element of the ordered dimensions. */
int scatter_run(enum scatter_op op, const struct view *out, const struct view *index, const struct view *src,
                int ordered, const struct index_site *site, const struct scatter_param *alpha, const double *scale);

/* The tensor as an int64 view: itself or converted. Fails for types that cannot index. */
struct view *index_view(struct plan *plan, const struct op_row *row, const union op_value *arg, int p);

#endif

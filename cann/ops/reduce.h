/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions as plan steps: sums, products, extremes, positions, moments and norms over any set of dimensions of any
 * view. The rows are in reduce.rows; other families use reduce_step() for the last part of theirs (a mean loss, say).
 */
#ifndef ANYNPU_OPS_REDUCE_H
#define ANYNPU_OPS_REDUCE_H

#include "kernels/reduce.h"
#include "ops/plan.h"

enum { REDUCE_OUTS_MAX = 2 };

/* One result of a reduction: where, what of the accumulator, and the finish's argument (exponent, correction). */
struct reduce_out {
    struct view *view;
    enum reduce_finish finish;
    double argument;
};

/* The type to compute in so that elements of type `in` give results of type `out`. */
enum reduce_type reduce_type_of(aclDataType in, aclDataType out);

/* Adds a step that reduces `in` over the dimensions in mask (bit d: dimension d) into up to two results, each either
 * with `in`'s rank and 1 in place of the reduced dimensions, or without them. A reduction of nothing gives the
 * identity. */
void reduce_step(struct plan *plan, struct view *in, uint32_t mask, enum reduce_op op, double p, enum reduce_type type,
                 const struct reduce_out *out, int outs);

/* The dimensions of an int array (NULL or empty: all) as a mask; negative ones count from the end. Fails on a repeated
 * or absent one. */
int reduce_mask(struct plan *plan, int32_t rank, const int64_t *dim, uint64_t dims, uint32_t *mask);

/* Checks that parameter p's tensor has the shape of `in` reduced over mask. */
int reduce_check_out(struct plan *plan, int p, const struct view *in, uint32_t mask, bool keepdim);

/* What the rows' codes say: operator and finish. */
enum {
    ROW_SUM = REDUCE_SUM,
    ROW_MEAN = REDUCE_SUM | REDUCE_MEAN << 8,
    ROW_NANSUM = REDUCE_NANSUM,
    ROW_PROD = REDUCE_PROD,
    ROW_MAX = REDUCE_MAX,
    ROW_MIN = REDUCE_MIN,
    ROW_ANY = REDUCE_NONZERO | REDUCE_ANY << 8,
    ROW_ALL = REDUCE_NONZERO | REDUCE_ALL << 8,
    ROW_ARGMAX = REDUCE_ARGMAX | REDUCE_INDEX << 8,
    ROW_ARGMIN = REDUCE_ARGMIN | REDUCE_INDEX << 8,
    ROW_MAX_INDEX = REDUCE_ARGMAX,
    ROW_MIN_INDEX = REDUCE_ARGMIN,
    ROW_VAR = REDUCE_MOMENTS | REDUCE_VAR << 8,
    ROW_STD = REDUCE_MOMENTS | REDUCE_STD << 8,
};

/* Prepare functions of the rows; named after the parameters. */
int reduce_prepare_dims(struct plan *plan, const struct op_row *row,
                        const union op_value *arg); /* self dims keepdim … out */
int reduce_prepare_dim(struct plan *plan, const struct op_row *row,
                       const union op_value *arg); /* self dim keepdim … out */
int reduce_prepare_all(struct plan *plan, const struct op_row *row, const union op_value *arg); /* self … out */
int reduce_prepare_aminmax(struct plan *plan, const struct op_row *row, const union op_value *arg);
int reduce_prepare_moments(struct plan *plan, const struct op_row *row, const union op_value *arg);
int reduce_prepare_norm(struct plan *plan, const struct op_row *row, const union op_value *arg);
int reduce_prepare_equal(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

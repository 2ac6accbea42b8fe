/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation: batch norm (norm_batch.c), layer and RMS norm (norm.c), group norm
 * (norm_group.c), with gradients. Statistics are computed
 * and kept in float for f16, bf16 and f32, in double for f64, whatever type the caller stores them in. */
#ifndef ANYNPU_OPS_NORM_H
#define ANYNPU_OPS_NORM_H

#include "kernels/norm.h"
#include "ops/plan.h"

/* The type that statistics and parameters are computed in. */
static inline aclDataType norm_compute(aclDataType x)
{
    return x == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
}

/* An optional parameter as a dense array of the compute type; NULL if absent. */
struct view *norm_parameter(struct plan *plan, const aclTensor *tensor, aclDataType compute);

/* A written statistic or gradient: an array of the compute type, to be copied to its tensor by norm_finish() after the
 * steps that fill it. All NULL if the tensor is absent or empty. read: its values count too. */
struct norm_written {
    struct view *view, *temp;
};
struct norm_written norm_written(struct plan *plan, const aclTensor *tensor, aclDataType compute, bool read);
void norm_finish(struct plan *plan, struct norm_written w);

/* The k-th number of a dense array of the compute type; 0 or 1 of none. */
double norm_at(const struct view *array, int64_t k, double if_none);
void norm_put(const struct view *array, int64_t k, double value);

int norm_prepare_batch(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_batch_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_layer(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_layer_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_rms(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_rms_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_group(struct plan *plan, const struct op_row *row, const union op_value *arg);
int norm_prepare_group_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

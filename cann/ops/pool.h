/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling: the rows of pool.rows. The code is the number of pooled dimensions. Indices are positions in a channel,
 * int32 or int64. A mask (int8, some bytes for each channel, as op-plugin allots them) holds the same as int32, from
 * each channel's first byte on; of a kernel of one tap it holds nothing. */
#ifndef ANYNPU_OPS_POOL_H
#define ANYNPU_OPS_POOL_H

#include "ops/plan.h"

enum { POOL_MASK = 16 };

int prepare_max_pool(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_max_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_adaptive_max_pool(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_adaptive_max_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_avg_pool(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_avg_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_adaptive_avg_pool(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_adaptive_avg_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_max_unpool(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_max_unpool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

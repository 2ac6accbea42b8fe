/* SPDX-License-Identifier: BSD-3-Clause */
/* What operators with indices share. */
#ifndef TORCH_NPU_OPS_INDEX_H
#define TORCH_NPU_OPS_INDEX_H

#include <stdio.h>

#include "op.h"

#pragma GCC visibility push(hidden)

/* Launches, waits, and raises what the device found wrong with the indices as PyTorch's error of that kind. */
int index_launch(struct call *c, struct aclnn *op, const union aclnn_value *values, enum call_error_kind kind);

/* Do two tensors lie in one storage? t itself, or a copy of it when it lies in self's. */
bool shares_memory(const struct npu_tensor *a, const struct npu_tensor *b);
const struct npu_tensor *apart(struct call *c, const struct npu_tensor *t, const struct npu_tensor *self);

/* PyTorch's error when elements of the tensor to be written share memory. */
int check_no_overlap(struct call *c, const struct npu_tensor *self);

/* "[2, 3]", memory of the call. */
const char *sizes_text(struct call *c, const struct npu_tensor *t);

/* Types that can be added up at indices. */
bool indexes_with_sum(aclDataType t);

#pragma GCC visibility pop

#endif

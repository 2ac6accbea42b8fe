/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine's files know of each other's objects. Internal to libnnopbase. */
#ifndef ANYNPU_OPS_ENGINE_OBJECT_H
#define ANYNPU_OPS_ENGINE_OBJECT_H

#include "ops/plan.h"

/* ACLNN_SUCCESS, or null and dead handles named after the public call. */
int tensor_check(const aclTensor *tensor, const char *call);

/* A copy that outlives the tensor and remembers it; NULL when memory is short. */
aclTensor *tensor_copy(const aclTensor *tensor);

void tensor_set_address(aclTensor *tensor, void *address);

/* Copies for executors that are used again, deep (list elements too); NULL when memory is short. Freed by the public
 * aclDestroyX. */
aclScalar *scalar_copy(const aclScalar *scalar);
aclTensorList *tensor_list_copy(const aclTensorList *list);
aclScalarList *scalar_list_copy(const aclScalarList *list);

#endif

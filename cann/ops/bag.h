/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepare functions of embedding bag rows. */
#ifndef ANYNPU_OPS_BAG_H
#define ANYNPU_OPS_BAG_H

#include "ops/plan.h"

int prepare_embedding_bag(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products: the rows of matmul.rows. cubeMathType is accepted and changes nothing: float stays float. */
#ifndef ANYNPU_OPS_MATMUL_H
#define ANYNPU_OPS_MATMUL_H

#include "ops/plan.h"

/* self mat2 out: numpy's matmul (vectors, matrices, batches that broadcast), or with a code just one rank. */
enum { MATMUL_ANY = 0, MATMUL_MM = 2, MATMUL_BMM = 3 };
int prepare_matmul(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_mv(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_dot(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_ger(struct plan *plan, const struct op_row *row, const union op_value *arg);

/* self a b beta alpha out: out = beta self + alpha a b; the in-place forms lack out. */
enum { ADD_MM, ADD_BADDBMM, ADD_ADDBMM, ADD_IN_PLACE = 16 };
int prepare_add_product(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_addmv(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_addr(struct plan *plan, const struct op_row *row, const union op_value *arg);

/* A B C alpha beta transA transB out */
int prepare_gemm(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

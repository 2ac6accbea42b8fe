/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused attention and its gradient. */
#ifndef ANYNPU_OPS_ATTENTION_H
#define ANYNPU_OPS_ATTENTION_H

#include "ops/plan.h"

/* Where a version of the operator has its arguments; those it lacks are 0 (no version has them first). */
struct attention_args {
    int pse, drop, mask, prefix, seq_q, seq_kv, scale, keep_prob, pre_tokens, next_tokens, heads, layout, sparse,
        pse_type;
    int dy, max, sum, out;               /* of the gradient: inputs */
    int unsupported[10];                 /* tensors that must be absent or empty */
    int out_max, out_sum, out_attention; /* outputs */
    int dq, dk, dv, dpse;
};

extern const struct attention_args attention_v1, attention_v2, attention_v4, attention_grad_v1, attention_grad_v2,
    attention_grad_v4;

int prepare_attention(struct plan *plan, const struct op_row *row, const union op_value *arg);
int prepare_attention_grad(struct plan *plan, const struct op_row *row, const union op_value *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* scaled_dot_product_attention in one operator. PyTorch comes here when csrc/bridge/attention.cpp has chosen so: four
 * dimensions, one 16- or 32-bit float type, no dropout. What the backward pass needs of the softmax is the logarithm of
 * the sum of exponentials; the operators tell and take the maximum and the sum, eight copies each. */
#include "op.h"

#include <math.h>

static struct aclnn forward = ACLNN("aclnnFlashAttentionScoreV2", "TTTTTTTIIIddiiisiiiTTTT");
static struct aclnn backward = ACLNN("aclnnFlashAttentionScoreGradV2", "TTTTTTTTTTTTIIIddiiisiiiTTTT");
static struct aclnn log_of = ACLNN("aclnnLog", "TT");
static struct aclnn add = ACLNN("aclnnAdd", "TTST");
static struct aclnn one = ACLNN("aclnnInplaceOne", "T");
static struct aclnn triu = ACLNN("aclnnInplaceTriu", "Ti");

enum { COPIES = 8, MUL_THEN_ADD = 0, FAR = 2147483647 };
enum { DEFAULT_MASK = 0, LEFT_UP_CAUSAL = 2 };

struct sizes {
    int64_t batch, heads, kv_heads, rows, keys, columns, value_columns;
};

static struct sizes sizes_of(const struct npu_tensor *q, const struct npu_tensor *k, const struct npu_tensor *v)
{
    return (struct sizes){q->size[0], q->size[1], k->size[1], q->size[2], k->size[2], q->size[3], v->size[3]};
}

static double scale_of(struct call *c, int arg, const struct sizes *s)
{
    return arg_double(c, arg, 1 / sqrt((double)s->columns));
}

/* A new tensor laid out as PyTorch's models read it next, [batch][row][head][column], when the query came so. */
static struct npu_tensor *like_query(struct call *c, int k, const struct npu_tensor *q, int64_t heads, int64_t rows,
                                     int64_t columns)
{
    const int64_t size[] = {q->size[0], heads, rows, columns},
                  stride[] = {rows * heads * columns, columns, heads * columns, 1};
    return q->stride[1] < q->stride[2] ? result_strided(c, k, q->dtype, 4, size, stride)
                                       : result(c, k, q->dtype, 4, size);
}

/* bias expanded to all scores; NULL when there is none. */
static const struct npu_tensor *expanded(struct call *c, const struct npu_tensor *bias, const struct sizes *s)
{
    if (!bias || !bias->defined)
        return NULL;
    const int64_t size[] = {s->batch, s->heads, s->rows, s->keys};
    int64_t stride[4] = {0};
    for (int i = 4 - bias->rank; i < 4; i++)
        stride[i] = bias->size[i - (4 - bias->rank)] == 1 ? 0 : bias->stride[i - (4 - bias->rank)];
    return view_of(c, bias, 4, size, stride, bias->offset);
}

/* The causal mask: a mode of the operator, which on a chip also wants the mask itself. */
static const struct npu_tensor *causal_mask(struct call *c, const struct sizes *s)
{
    if (software_npu())
        return NULL;
    struct npu_tensor *mask = temp(c, ACL_BOOL, 2, (int64_t[]){s->rows, s->keys});
    if (launch(c, &one, (union aclnn_value[]){{.t = mask}}))
        return NULL;
    launch(c, &triu, (union aclnn_value[]){{.t = mask}, {.i = 1}});
    return mask;
}

static int mode_of(bool causal)
{
    return causal && software_npu() ? LEFT_UP_CAUSAL : DEFAULT_MASK;
}

/* query, key, value, attn_bias, dropout_p, is_causal, return_debug_mask, scale
 * → output, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset, debug_attn_mask */
static int run_forward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *q = arg_tensor(c, 0), *k = arg_tensor(c, 1), *v = arg_tensor(c, 2);
    struct sizes s = sizes_of(q, k, v);
    bool causal = arg_bool(c, 5, false);
    if (arg_double(c, 4, 0) != 0)
        return call_error(c, CALL_NOT_IMPLEMENTED, "fused attention with dropout");
    struct npu_tensor *out = like_query(c, 0, q, s.heads, s.rows, s.value_columns);
    struct npu_tensor *lse = result(c, 1, ACL_FLOAT, 3, (int64_t[]){s.batch, s.heads, s.rows});
    const int64_t copies[] = {s.batch, s.heads, s.rows, COPIES},
                  stride[] = {s.heads * s.rows * COPIES, s.rows * COPIES, COPIES};
    struct npu_tensor *max = temp(c, ACL_FLOAT, 4, copies), *sum = temp(c, ACL_FLOAT, 4, copies),
                      *none = temp(c, q->dtype, 1, (int64_t[]){0});
    const struct npu_tensor *mask = causal ? causal_mask(c, &s) : NULL;
    result_undefined(c, 2);
    result_undefined(c, 3);
    result_int(c, 4, s.rows);
    result_int(c, 5, s.keys);
    result(c, 6, ACL_INT64, 0, NULL);
    result(c, 7, ACL_INT64, 0, NULL);
    result_undefined(c, 8);
    if (call_failed(c))
        return CALL_ERROR;
    if (launch(c, row->aclnn,
               (union aclnn_value[]){{.t = q},
                                     {.t = k},
                                     {.t = v},
                                     {.t = expanded(c, arg_tensor(c, 3), &s)},
                                     {.t = NULL},
                                     {.t = NULL},
                                     {.t = mask},
                                     {.ints = {NULL, 0}},
                                     {.ints = {NULL, 0}},
                                     {.ints = {NULL, 0}},
                                     {.d = scale_of(c, 7, &s)},
                                     {.d = 1},
                                     {.i = FAR},
                                     {.i = causal ? 0 : FAR},
                                     {.i = s.heads},
                                     {.str = "BNSD"},
                                     {.i = 0},
                                     {.i = mode_of(causal)},
                                     {.i = MUL_THEN_ADD},
                                     {.t = max},
                                     {.t = sum},
                                     {.t = none},
                                     {.t = out}}))
        return CALL_ERROR;
    const struct npu_scalar by = {SCALAR_INT, 1, {1, 0}};
    const struct npu_tensor *first_max = view_of(c, max, 3, copies, stride, max->offset),
                            *first_sum = view_of(c, sum, 3, copies, stride, sum->offset);
    if (launch(c, &log_of, (union aclnn_value[]){{.t = first_sum}, {.t = lse}}))
        return CALL_ERROR;
    return launch(c, &add, (union aclnn_value[]){{.t = first_max}, {.t = lse}, {.s = &by}, {.t = lse}});
}

/* grad_out, query, key, value, attn_bias, grad_input_mask, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
 * dropout_p, is_causal, philox_seed, philox_offset, scale → grad_query, grad_key, grad_value, grad_attn_bias */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *dy = arg_tensor(c, 0), *q = arg_tensor(c, 1), *k = arg_tensor(c, 2), *v = arg_tensor(c, 3),
                            *lse = arg_tensor(c, 7);
    struct sizes s = sizes_of(q, k, v);
    bool causal = arg_bool(c, 13, false);
    const int64_t copies[] = {s.batch, s.heads, s.rows, COPIES}, repeat[] = {s.heads * s.rows, s.rows, 1, 0},
                  same[4] = {0};
    struct npu_tensor *dq = like_query(c, 0, q, s.heads, s.rows, s.columns),
                      *dk = like_query(c, 1, k, s.kv_heads, s.keys, s.columns);
    struct npu_tensor *dv = like_query(c, 2, v, s.kv_heads, s.keys, s.value_columns),
                      *ones = temp(c, ACL_FLOAT, 1, (int64_t[]){1});
    const struct npu_tensor *mask = causal ? causal_mask(c, &s) : NULL, *flat = contiguous(c, lse);
    result_undefined(c, 3);
    if (call_failed(c) || launch(c, &one, (union aclnn_value[]){{.t = ones}}))
        return CALL_ERROR;
    const struct npu_tensor *max = view_of(c, flat, 4, copies, repeat, flat->offset),
                            *sum = view_of(c, ones, 4, copies, same, ones->offset);
    if (!software_npu()) {
        max = contiguous(c, max);
        sum = contiguous(c, sum);
    }
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = q},
                                        {.t = k},
                                        {.t = v},
                                        {.t = dy},
                                        {.t = expanded(c, arg_tensor(c, 4), &s)},
                                        {.t = NULL},
                                        {.t = NULL},
                                        {.t = mask},
                                        {.t = max},
                                        {.t = sum},
                                        {.t = NULL},
                                        {.t = arg_tensor(c, 6)},
                                        {.ints = {NULL, 0}},
                                        {.ints = {NULL, 0}},
                                        {.ints = {NULL, 0}},
                                        {.d = scale_of(c, 16, &s)},
                                        {.d = 1},
                                        {.i = FAR},
                                        {.i = causal ? 0 : FAR},
                                        {.i = s.heads},
                                        {.str = "BNSD"},
                                        {.i = 0},
                                        {.i = mode_of(causal)},
                                        {.i = MUL_THEN_ADD},
                                        {.t = dq},
                                        {.t = dk},
                                        {.t = dv},
                                        {.t = NULL}});
}

static const struct aten_row rows[] = {
    {"_scaled_dot_product_fused_attention_overrideable", run_forward, &forward, 0, false},
    {"_scaled_dot_product_fused_attention_overrideable_backward", run_backward, &backward, 0, false},
};
ATEN_FAMILY(attention_family, rows);

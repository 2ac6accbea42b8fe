/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused attention with the arguments of CANN's operator, for torch_npu.npu_fusion_attention (ops/attention.py):
 * layouts, masks, sparse modes, packed sequences and dropout are the operator's own, and no matrix of scores is ever
 * stored. What dropout keeps is a bit for each score; the gradient takes the same bits. */
#include "op.h"

#include <string.h>

static struct aclnn forward = ACLNN("aclnnFlashAttentionScoreV4", "TTTTTTTTTTTTTIIIIIddiiisiiiisiiTTTT");
static struct aclnn backward = ACLNN("aclnnFlashAttentionScoreGradV4", "TTTTTTTTTTTTTTTTTTTTIIIIIddiiissiiiiiiTTTTTTT");
static struct aclnn gen_mask = ACLNN("aclnnDropoutGenMaskV2", "IdiiyT");
static struct aclnn gen_mask_tensor = ACLNN("aclnnDropoutGenMaskV2Tensor", "IdTTiyT");

enum { COPIES = 8, ADD_AFTER_SCALE = 0, BIT_BLOCK = 128 };

/* Positions in the layouts: of the sequence and, -1 where columns of all heads lie together, of the heads. */
static bool find_layout(const char *name, int *rank, int *batch, int *rows, int *heads)
{
    static const struct {
        const char name[8];
        int rank, batch, rows, heads;
    } known[] = {
        {"BSH", 3, 0, 1, -1}, {"SBH", 3, 1, 0, -1}, {"BSND", 4, 0, 1, 2}, {"BNSD", 4, 0, 2, 1}, {"TND", 3, -1, 0, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            *rank = known[i].rank;
            *batch = known[i].batch;
            *rows = known[i].rows;
            *heads = known[i].heads;
            return true;
        }
    return false;
}

/* Bits that say which scores are kept. */
static struct npu_tensor *drop_mask(struct call *c, int64_t scores, double keep)
{
    int64_t bytes = (scores + BIT_BLOCK - 1) / BIT_BLOCK * BIT_BLOCK / 8;
    struct npu_tensor *mask = result(c, 3, ACL_UINT8, 1, &bytes);
    struct philox_state random;
    if (philox(c, -1, (uint64_t)scores, &random))
        return NULL;
    int status;
    if (random.seeds)
        status = launch(c, &gen_mask_tensor,
                        (union aclnn_value[]){{.ints = {&scores, 1}},
                                              {.d = 1 - keep},
                                              {.t = random.seeds},
                                              {.t = random.offsets},
                                              {.i = (int64_t)random.offset},
                                              {.i = ACL_FLOAT},
                                              {.t = mask}});
    else
        status = launch(c, &gen_mask,
                        (union aclnn_value[]){{.ints = {&scores, 1}},
                                              {.d = 1 - keep},
                                              {.i = (int64_t)random.seed},
                                              {.i = (int64_t)random.offset},
                                              {.i = ACL_FLOAT},
                                              {.t = mask}});
    return status ? NULL : mask;
}

/* query, key, value, head_num, input_layout, pse, atten_mask, scale, keep_prob, pre_tockens, next_tockens,
 * actual_seq_qlen, actual_seq_kvlen, sparse_mode → attention, softmax_max, softmax_sum, drop_mask */
static int run_forward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *q = arg_tensor(c, 0), *k = arg_tensor(c, 1), *v = arg_tensor(c, 2);
    const char *layout = arg_string(c, 4);
    int64_t heads = arg_int(c, 3, 1), *ends[2], keys;
    int rank, batch, rows, middle;
    double keep = arg_double(c, 8, 1);
    if (!layout || !find_layout(layout, &rank, &batch, &rows, &middle) || q->rank != rank || k->rank != rank ||
        v->rank != rank || heads < 1)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "npu_fusion_attention: query, key and value must have the dimensions of the layout '%s'",
                          layout ? layout : "");
    size_t n_q = arg_ints(c, 11, (const int64_t **)&ends[0]), n_k = arg_ints(c, 12, (const int64_t **)&ends[1]);
    int64_t size[4], sums[4], none = 0;
    for (int i = 0; i < rank; i++)
        size[i] = q->size[i];
    if (middle < 0) { /* [.., heads of the query times columns of the value] */
        int64_t columns = q->size[2] / heads, kv = columns ? k->size[2] / columns : 0;
        size[2] = kv ? heads * (v->size[2] / kv) : 0;
    } else {
        size[rank - 1] = v->size[rank - 1];
    }
    int n = 0;
    if (batch >= 0)
        sums[n++] = q->size[batch];
    sums[n++] = batch < 0 ? q->size[0] : heads;
    sums[n++] = batch < 0 ? heads : q->size[rows];
    sums[n++] = COPIES;
    keys = k->size[rows];
    const struct npu_tensor *out = result(c, 0, q->dtype, rank, size), *max = result(c, 1, ACL_FLOAT, n, sums);
    const struct npu_tensor *sum = result(c, 2, ACL_FLOAT, n, sums), *drop = NULL;
    const struct npu_tensor *empty = temp(c, q->dtype, 1, &none);
    if (keep < 1) {
        if (batch < 0)
            return call_error(c, CALL_NOT_IMPLEMENTED, "npu_fusion_attention: dropout with the layout TND");
        drop = drop_mask(c, q->size[batch] * heads * q->size[rows] * keys, keep);
    } else {
        result(c, 3, ACL_UINT8, 1, &none);
    }
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = q},
                                        {.t = k},
                                        {.t = v},
                                        {.t = arg_tensor(c, 5)},
                                        {.t = drop},
                                        {.t = NULL},
                                        {.t = arg_tensor(c, 6)},
                                        {.t = NULL},
                                        {.t = NULL},
                                        {.t = NULL},
                                        {.t = NULL},
                                        {.t = NULL},
                                        {.t = NULL},
                                        {.ints = {NULL, 0}},
                                        {.ints = {ends[0], n_q}},
                                        {.ints = {ends[1], n_k}},
                                        {.ints = {NULL, 0}},
                                        {.ints = {NULL, 0}},
                                        {.d = arg_double(c, 7, 1)},
                                        {.d = keep},
                                        {.i = arg_int(c, 9, 0)},
                                        {.i = arg_int(c, 10, 0)},
                                        {.i = heads},
                                        {.str = layout},
                                        {.i = 0},
                                        {.i = arg_int(c, 13, 0)},
                                        {.i = 0},
                                        {.i = ADD_AFTER_SCALE},
                                        {.str = ""},
                                        {.i = 0},
                                        {.i = 0},
                                        {.t = max},
                                        {.t = sum},
                                        {.t = empty},
                                        {.t = out}});
}

/* The forward's arguments, then dy, attention, softmax_max, softmax_sum, drop_mask → gradients of query, key, value */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *q = arg_tensor(c, 0), *k = arg_tensor(c, 1), *v = arg_tensor(c, 2);
    const int64_t *ends_q, *ends_k;
    size_t n_q = arg_ints(c, 11, &ends_q), n_k = arg_ints(c, 12, &ends_k);
    double keep = arg_double(c, 8, 1);
    const struct npu_tensor *dq = result(c, 0, q->dtype, q->rank, q->size),
                            *dk = result(c, 1, q->dtype, k->rank, k->size);
    const struct npu_tensor *dv = result(c, 2, q->dtype, v->rank, v->size);
    if (call_failed(c))
        return CALL_ERROR;
    union aclnn_value value[45] = {{.t = q},
                                   {.t = k},
                                   {.t = v},
                                   {.t = arg_tensor(c, 14)},
                                   {.t = arg_tensor(c, 5)},
                                   {.t = keep < 1 ? arg_tensor(c, 18) : NULL},
                                   {.t = NULL},
                                   {.t = arg_tensor(c, 6)},
                                   {.t = arg_tensor(c, 16)},
                                   {.t = arg_tensor(c, 17)},
                                   {.t = NULL},
                                   {.t = arg_tensor(c, 15)}};
    enum { ENDS_Q = 21, ENDS_K, SCALE = 25, KEEP, PRE, NEXT, HEADS, LAYOUT, SUMS_LAYOUT, INNER, SPARSE, PSE, DQ = 38 };
    value[ENDS_Q].ints.list = ends_q;
    value[ENDS_Q].ints.n = n_q;
    value[ENDS_K].ints.list = ends_k;
    value[ENDS_K].ints.n = n_k;
    value[SCALE].d = arg_double(c, 7, 1);
    value[KEEP].d = keep;
    value[PRE].i = arg_int(c, 9, 0);
    value[NEXT].i = arg_int(c, 10, 0);
    value[HEADS].i = arg_int(c, 3, 1);
    value[LAYOUT].str = arg_string(c, 4);
    value[SUMS_LAYOUT].str = "";
    value[SPARSE].i = arg_int(c, 13, 0);
    value[PSE].i = ADD_AFTER_SCALE;
    value[DQ].t = dq;
    value[DQ + 1].t = dk;
    value[DQ + 2].t = dv;
    return launch(c, row->aclnn, value);
}

static const struct aten_row rows[] = {
    {"npu::_fusion_attention", run_forward, &forward},
    {"npu::_fusion_attention_backward", run_backward, &backward},
};
ATEN_FAMILY(fusion_attention_family, rows);

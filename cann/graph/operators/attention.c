/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention in its layouts, with caches, masks and windows; rotary embedding; linear attention; causal convolution with
 * a state. */
#include <math.h>
#include <string.h>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_divs.h"
#include "aclnnop/aclnn_inplace_masked_fill_scalar.h"
#include "aclnnop/aclnn_inplace_muls.h"
#include "aclnnop/aclnn_inplace_tanh.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_is_neg_inf.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_muls.h"
#include "aclnnop/aclnn_silu.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_sub.h"
#include "graph/operators/onnx.h"
#include "graph/operators/row.h"
#include "runtime/door.h"

/* [batch, length, heads * size] seen as [batch, heads, length, size]; four dimensions as they are. */
static struct operand *with_heads(struct op *op, struct operand *t, int64_t heads)
{
    if (t->rank == 4)
        return t;
    if (t->rank != 3 || heads < 1 || t->dim[2] % heads) {
        op_fail(op, GRAPH_INVALID, "%lld heads in a tensor of %d dimensions", (long long)heads, t->rank);
        return op_view(op, t, 4, (int64_t[]){0, 0, 0, 0}, NULL, 0);
    }
    int64_t size = t->dim[2] / heads, dim[] = {t->dim[0], heads, t->dim[1], size};
    int64_t stride[] = {t->stride[0], size * t->stride[2], t->stride[1], t->stride[2]};
    return op_view(op, t, 4, dim, stride, 0);
}

/* [batch, heads, …] seen as [batch, groups, heads / groups, …] */
static struct operand *in_groups(struct op *op, struct operand *t, int64_t groups, int64_t each)
{
    int64_t dim[] = {t->dim[0], groups, each, t->dim[2], t->dim[3]};
    int64_t stride[] = {t->stride[0], t->stride[1] * (t->dim[1] == groups ? 1 : each),
                        t->dim[1] == groups ? 0 : t->stride[1], t->stride[2], t->stride[3]};
    return op_view(op, t, 5, dim, stride, 0);
}

/* ---- what keeps queries from keys ---- */

struct bias {
    float *to; /* [batch, heads, queries, keys] */
    int64_t batch, heads, queries, keys;
    const float *mask; /* added; [batch, heads, queries, columns] with 1 where it broadcasts */
    const uint8_t *allowed;
    int64_t mask_dim[4];
    const int64_t *filled; /* keys that are valid, of each batch */
    int64_t past, left, right;
    bool causal;
};

static float bias_at(const struct bias *a, int64_t b, int64_t h, int64_t q, int64_t k, const int64_t *filled)
{
    float value = 0;
    if (a->mask || a->allowed) {
        const int64_t *d = a->mask_dim;
        int64_t at = ((b % d[0] * d[1] + h % d[1]) * d[2] + q % d[2]) * d[3] + (d[3] == 1 ? 0 : k);
        if (d[3] != 1 && k >= d[3])
            return -INFINITY; /* a mask that is too short */
        value = a->mask ? a->mask[at] : a->allowed[at] ? 0 : -INFINITY;
    }
    int64_t place = q + (filled ? filled[b] - a->queries : a->past);
    bool hidden = (a->causal && k > place) || (a->left >= 0 && k < place - a->left) ||
                  (a->right >= 0 && k > place + a->right) || (filled && k >= filled[b]);
    return hidden ? -INFINITY : value;
}

static int fill_bias(void *arg)
{
    struct bias a = *(const struct bias *)arg;
    float *to = device_address(a.to);
    const int64_t *filled = a.filled ? device_address(a.filled) : NULL;
    a.mask = a.mask ? device_address(a.mask) : NULL;
    a.allowed = a.allowed ? device_address(a.allowed) : NULL;
    for (int64_t b = 0; b < a.batch; b++)
        for (int64_t h = 0; h < a.heads; h++)
            for (int64_t q = 0; q < a.queries; q++)
                for (int64_t k = 0; k < a.keys; k++)
                    *to++ = bias_at(&a, b, h, q, k, filled);
    return 0;
}

/* NULL when nothing is hidden. */
static struct operand *make_bias(struct op *op, int64_t batch, int64_t heads, int64_t queries, int64_t keys,
                                 int64_t past)
{
    struct operand *mask = op_in(op, 3), *filled = op_in(op, 6);
    struct bias a = {.queries = queries,
                     .keys = keys,
                     .past = past,
                     .left = op_int(op, "left_window_size", -1),
                     .right = op_int(op, "right_window_size", -1),
                     .causal = op_int(op, "is_causal", 0),
                     .mask_dim = {1, 1, 1, 1}};
    if (!mask && !filled && !a.causal && a.left < 0 && a.right < 0)
        return NULL;
    if (mask && (mask->rank < 1 || mask->rank > 4)) {
        op_fail(op, GRAPH_INVALID, "a mask of %d dimensions", mask->rank);
        return NULL;
    }
    for (int32_t i = 0; mask && i < mask->rank; i++)
        a.mask_dim[4 - mask->rank + i] = mask->dim[i];
    const int64_t full[] = {batch, heads, queries};
    for (int i = 0; i < 3; i++)
        if (a.mask_dim[i] != 1 && a.mask_dim[i] != full[i])
            op_fail(op, GRAPH_INVALID, "dimension %d of the mask is %lld, not %lld", i, (long long)a.mask_dim[i],
                    (long long)full[i]);
    a.batch = a.mask_dim[0] > 1 || filled ? batch : 1;
    a.heads = a.mask_dim[1];
    int64_t dim[] = {a.batch, a.heads, queries, keys};
    struct operand *to = op_temp(op, ACL_FLOAT, 4, dim);
    a.to = op_data(op, to);
    a.filled = op_data(op, filled);
    if (mask && mask->dtype == ACL_BOOL)
        a.allowed = op_data(op, mask);
    else if (mask)
        a.mask = op_data(op, op_cast(op, mask, ACL_FLOAT));
    op_host(op, "Attention mask", fill_bias, &a, sizeof a);
    return to;
}

/* Past and new along the length; the result k if it is wanted. */
static struct operand *extended(struct op *op, int k, struct operand *past, struct operand *now)
{
    int64_t before = past ? past->dim[2] : 0, dim[] = {now->dim[0], now->dim[1], before + now->dim[2], now->dim[3]};
    if (!past && !op_wants(op, k))
        return now;
    if (past && (past->rank != 4 || past->dim[0] != dim[0] || past->dim[1] != dim[1] || past->dim[3] != dim[3])) {
        op_fail(op, GRAPH_INVALID, "the cache's shape does not fit");
        return now;
    }
    struct operand *all = op_result(op, k, now->dtype, 4, dim);
    if (past)
        op_copy(op, op_slice(op, all, 2, 0, before, 1), past);
    op_copy(op, op_slice(op, all, 2, before, now->dim[2], 1), now);
    return all;
}

static struct operand *scaled(struct op *op, struct operand *t, double factor)
{
    struct operand *to = op_temp(op, t->dtype, t->rank, t->dim);
    OP_CALL(op, aclnnMuls, op_acl(op, t), op_number(op, factor), op_out(op, to));
    return to;
}

enum shown { SHOW_PRODUCT, SHOW_CAPPED, SHOW_BIASED, SHOW_PROBABILITY };

/* Softmax of the scores; rows of which nothing may be seen become 0. */
static struct operand *probabilities(struct op *op, struct operand *scores, struct operand *bias)
{
    aclDataType type = onnx_attribute_dtype(op, "softmax_precision", scores->dtype);
    struct operand *p = op_temp(op, type, scores->rank, scores->dim), *from = op_cast(op, scores, type);
    OP_CALL(op, aclnnSoftmax, op_acl(op, from), 3, op_out(op, p));
    if (bias) {
        int64_t row[] = {bias->dim[0], bias->dim[1], bias->dim[2], 1},
                all[] = {p->dim[0], p->dim[1], p->dim[2], p->dim[3]};
        struct operand *most = op_temp(op, ACL_FLOAT, 4, row), *blind = op_temp(op, ACL_BOOL, 4, row);
        OP_CALL(op, aclnnAmax, op_acl(op, bias), op_array(op, 1, (int64_t[]){3}), true, op_out(op, most));
        OP_CALL(op, aclnnIsNegInf, op_acl(op, most), op_out(op, blind));
        OP_CALL(op, aclnnInplaceMaskedFillScalar, op_out(op, p), op_acl(op, op_expand(op, blind, 4, all)),
                op_integer(op, 0));
    }
    return op_cast(op, p, scores->dtype);
}

static void define_attention(struct op *op)
{
    struct operand *q = op_in(op, 0), *k = op_in(op, 1), *v = op_in(op, 2), *past = op_in(op, 4);
    bool flat = q->rank == 3;
    int shown = (int)op_int(op, "qk_matmul_output_mode", 0);
    q = with_heads(op, q, op_int(op, "q_num_heads", 0));
    k = with_heads(op, k, op_int(op, "kv_num_heads", 0));
    v = with_heads(op, v, op_int(op, "kv_num_heads", 0));
    if (!op_in(op, 5) != !past || k->dim[1] == 0 || q->dim[1] % k->dim[1] || k->dim[1] != v->dim[1] ||
        k->dim[2] != v->dim[2] || q->dim[3] != k->dim[3] || q->dim[0] != k->dim[0] || v->dim[0] != k->dim[0] ||
        (op_in(op, 6) && op_count(op_in(op, 6)) != q->dim[0])) {
        op_fail(op, GRAPH_INVALID, "query, key and value do not fit each other");
        return;
    }
    k = extended(op, 1, past, k);
    v = extended(op, 2, op_in(op, 5), v);
    int64_t batch = q->dim[0], heads = q->dim[1], queries = q->dim[2], keys = k->dim[2], groups = k->dim[1];
    int64_t each = heads / groups, score_dim[] = {batch, heads, queries, keys},
            out_dim[] = {batch, heads, queries, v->dim[3]};
    int64_t flat_dim[] = {batch, queries, heads * v->dim[3]};
    struct operand *y = flat ? op_result(op, 0, q->dtype, 3, flat_dim) : op_result(op, 0, q->dtype, 4, out_dim);
    struct operand *product = op_result(op, 3, q->dtype, 4, score_dim);
    double scale = sqrt(op_float(op, "scale", 1 / sqrt((double)(q->dim[3] ? q->dim[3] : 1)))),
           cap = op_float(op, "softcap", 0);
    if (op_count(y) == 0)
        return;
    struct operand *scores = op_temp(op, q->dtype, 4, score_dim);
    struct operand *left = in_groups(op, scaled(op, q, scale), groups, each);
    struct operand *right =
        op_transpose(op, in_groups(op, scaled(op, k, scale), groups, each), (int64_t[]){0, 1, 2, 4, 3});
    OP_CALL(op, aclnnMatmul, op_acl(op, left), op_acl(op, right), op_out(op, in_groups(op, scores, groups, each)), 0);
    if (op_wants(op, 3) && shown == SHOW_PRODUCT)
        op_copy(op, product, scores);
    if (cap != 0) {
        OP_CALL(op, aclnnInplaceDivs, op_out(op, scores), op_number(op, cap));
        OP_CALL(op, aclnnInplaceTanh, op_out(op, scores));
        OP_CALL(op, aclnnInplaceMuls, op_out(op, scores), op_number(op, cap));
    }
    if (op_wants(op, 3) && shown == SHOW_CAPPED)
        op_copy(op, product, scores);
    struct operand *bias = make_bias(op, batch, heads, queries, keys, past ? past->dim[2] : 0);
    if (bias)
        OP_CALL(op, aclnnInplaceAdd, op_out(op, scores), op_acl(op, op_cast(op, bias, q->dtype)), op_integer(op, 1));
    if (op_wants(op, 3) && shown == SHOW_BIASED)
        op_copy(op, product, scores);
    struct operand *p = probabilities(op, scores, bias);
    if (op_wants(op, 3) && shown == SHOW_PROBABILITY)
        op_copy(op, product, p);
    struct operand *to = with_heads(op, y, heads);
    OP_CALL(op, aclnnMatmul, op_acl(op, in_groups(op, p, groups, each)), op_acl(op, in_groups(op, v, groups, each)),
            op_out(op, in_groups(op, to, groups, each)), 0);
}

/* ---- rotary embedding ---- */

static void define_rotary(struct op *op)
{
    struct operand *given = op_in(op, 0), *cosine = op_in(op, 1), *sine = op_in(op, 2), *position = op_in(op, 3);
    struct operand *y = op_like(op, 0, given);
    struct operand *x = with_heads(op, given, op_int(op, "num_heads", 0)),
                   *to = with_heads(op, y, op_int(op, "num_heads", 0));
    int64_t size = x->dim[3], turned = op_int(op, "rotary_embedding_dim", 0), batch = x->dim[0], length = x->dim[2];
    turned = turned ? turned : size;
    int64_t half = turned / 2, n = batch * length, table[] = {batch, length, half};
    if (cosine->rank < 1 || sine->rank != cosine->rank || cosine->rank != (position ? 2 : 3)) {
        op_fail(op, GRAPH_INVALID, "angles of %d dimensions", cosine->rank);
        return;
    }
    if (turned < 0 || turned > size || turned % 2 || cosine->dim[cosine->rank - 1] != half) {
        op_fail(op, GRAPH_INVALID, "%lld of %lld elements, angles for %lld", (long long)turned, (long long)size,
                (long long)cosine->dim[cosine->rank - 1]);
        return;
    }
    if (op_count(y) == 0)
        return;
    if (position) {
        struct operand *part[2] = {cosine, sine}, *index = op_cast(op, op_reshape(op, position, 1, &n), ACL_INT64);
        for (int i = 0; i < 2; i++) {
            struct operand *rows = op_temp(op, x->dtype, 3, table);
            OP_CALL(op, aclnnIndexSelect, op_acl(op, part[i]), 0, op_acl(op, index),
                    op_out(op, op_reshape(op, rows, 2, (int64_t[]){n, half})));
            part[i] = rows;
        }
        cosine = part[0];
        sine = part[1];
    }
    cosine = op_unsqueeze(op, cosine, 1); /* the same for all heads */
    sine = op_unsqueeze(op, sine, 1);
    bool mixed = op_int(op, "interleaved", 0);
    struct operand *first = mixed ? op_slice(op, x, 3, 0, half, 2) : op_slice(op, x, 3, 0, half, 1);
    struct operand *second = mixed ? op_slice(op, x, 3, 1, half, 2) : op_slice(op, x, 3, half, half, 1);
    struct operand *real = mixed ? op_slice(op, to, 3, 0, half, 2) : op_slice(op, to, 3, 0, half, 1);
    struct operand *other = mixed ? op_slice(op, to, 3, 1, half, 2) : op_slice(op, to, 3, half, half, 1);
    struct operand *a = op_temp(op, x->dtype, 4, first->dim), *b = op_temp(op, x->dtype, 4, first->dim);
    OP_CALL(op, aclnnMul, op_acl(op, first), op_acl(op, cosine), op_out(op, a));
    OP_CALL(op, aclnnMul, op_acl(op, second), op_acl(op, sine), op_out(op, b));
    OP_CALL(op, aclnnSub, op_acl(op, a), op_acl(op, b), op_integer(op, 1), op_out(op, real));
    OP_CALL(op, aclnnMul, op_acl(op, first), op_acl(op, sine), op_out(op, a));
    OP_CALL(op, aclnnMul, op_acl(op, second), op_acl(op, cosine), op_out(op, b));
    OP_CALL(op, aclnnAdd, op_acl(op, a), op_acl(op, b), op_integer(op, 1), op_out(op, other));
    if (turned < size)
        op_copy(op, op_slice(op, to, 3, turned, size - turned, 1), op_slice(op, x, 3, turned, size - turned, 1));
}

/* ---- linear attention: a state that is read and written at each step, in float ---- */

struct recurrence {
    const float *q, *k, *v, *decay, *beta; /* [batch, steps, …] */
    float *state, *y;                      /* [batch, groups, d_k, d_v], [batch, steps, heads * d_v] */
    int64_t batch, steps, heads, groups, d_k, d_v, decays, betas;
    float scale;
    bool corrects;
};

static void recur_step(const struct recurrence *r, int64_t b, int64_t g, int64_t t, float *state, float *v)
{
    int64_t row = b * r->steps + t;
    const float *k = r->k + (row * r->groups + g) * r->d_k, *given = r->v + (row * r->groups + g) * r->d_v;
    for (int64_t i = 0; r->decay && i < r->d_k; i++) {
        float f = expf(r->decay[row * r->decays + (r->decays == r->groups ? g : g * r->d_k + i)]);
        for (int64_t j = 0; j < r->d_v; j++)
            state[i * r->d_v + j] *= f;
    }
    for (int64_t j = 0; j < r->d_v; j++) {
        v[j] = given[j];
        if (!r->corrects)
            continue;
        float known = 0;
        for (int64_t i = 0; i < r->d_k; i++)
            known += state[i * r->d_v + j] * k[i];
        v[j] = r->beta[row * r->betas + (r->betas == 1 ? 0 : g)] * (v[j] - known);
    }
    for (int64_t i = 0; i < r->d_k; i++)
        for (int64_t j = 0; j < r->d_v; j++)
            state[i * r->d_v + j] += k[i] * v[j];
    int64_t each = r->heads / r->groups;
    for (int64_t h = g * each; h < (g + 1) * each; h++) {
        const float *q = r->q + (row * r->heads + h) * r->d_k;
        float *y = r->y + (row * r->heads + h) * r->d_v;
        for (int64_t j = 0; j < r->d_v; j++)
            y[j] = 0;
        for (int64_t i = 0; i < r->d_k; i++)
            for (int64_t j = 0; j < r->d_v; j++)
                y[j] += r->scale * q[i] * state[i * r->d_v + j];
    }
}

enum { VALUE_MAX = 4096 };

static void recur_piece(void *arg, int64_t begin, int64_t end)
{
    const struct recurrence *r = arg;
    float v[VALUE_MAX];
    for (int64_t i = begin; i < end; i++)
        for (int64_t t = 0; t < r->steps; t++)
            recur_step(r, i / r->groups, i % r->groups, t, r->state + i * r->d_k * r->d_v, v);
}

static int run_recurrence(void *arg)
{
    struct recurrence r = *(const struct recurrence *)arg;
    r.q = device_address(r.q);
    r.k = device_address(r.k);
    r.v = device_address(r.v);
    r.decay = r.decay ? device_address(r.decay) : NULL;
    r.beta = r.beta ? device_address(r.beta) : NULL;
    r.state = device_address(r.state);
    r.y = device_address(r.y);
    parallel(r.batch * r.groups, 1, recur_piece, &r);
    return 0;
}

static void define_linear_attention(struct op *op)
{
    struct operand *q = op_in(op, 0), *k = op_in(op, 1), *v = op_in(op, 2), *past = op_in(op, 3), *decay = op_in(op, 4);
    struct operand *beta = op_in(op, 5);
    struct recurrence r = {.heads = op_int(op, "q_num_heads", 0), .groups = op_int(op, "kv_num_heads", 0)};
    const char *rule = op_string(op, "update_rule", "gated_delta");
    bool gated = strncmp(rule, "gated", 5) == 0;
    r.corrects = strstr(rule, "delta") != NULL;
    if (r.heads < 1 || r.groups < 1 || r.heads % r.groups || q->rank != 3 || k->rank != 3 || v->rank != 3 ||
        q->dim[2] % r.heads || v->dim[2] % r.groups || k->dim[2] / r.groups != q->dim[2] / r.heads ||
        gated != !!decay || r.corrects != !!beta || v->dim[2] / r.groups > VALUE_MAX) {
        op_fail(op, GRAPH_INVALID, "the inputs do not fit the heads or the rule \"%s\"", rule);
        return;
    }
    r.batch = q->dim[0];
    r.steps = q->dim[1];
    struct operand *side[] = {k, v, decay, beta};
    for (int i = 0; i < 4; i++)
        if (side[i] && (side[i]->rank != 3 || side[i]->dim[0] != r.batch || side[i]->dim[1] != r.steps)) {
            op_fail(op, GRAPH_INVALID, "query, key, value, decay and beta differ in batch or length");
            return;
        }
    r.d_k = q->dim[2] / r.heads;
    r.d_v = v->dim[2] / r.groups;
    r.decays = decay ? decay->dim[2] : 0;
    r.betas = beta ? beta->dim[2] : 0;
    bool odd_decay = decay && r.decays != r.groups && r.decays != r.groups * r.d_k;
    if (odd_decay || (beta && r.betas != 1 && r.betas != r.groups)) {
        op_fail(op, GRAPH_INVALID, "%lld decays and %lld betas for %lld heads", (long long)r.decays, (long long)r.betas,
                (long long)r.groups);
        return;
    }
    double scale = op_float(op, "scale", 0);
    r.scale = (float)(scale != 0 ? scale : 1 / sqrt((double)r.d_k));
    int64_t out[] = {r.batch, r.steps, r.heads * r.d_v}, kept[] = {r.batch, r.groups, r.d_k, r.d_v};
    struct operand *y = op_result(op, 0, q->dtype, 3, out);
    struct operand *present = op_result(op, 1, past ? past->dtype : q->dtype, 4, kept);
    struct operand *state = op_temp(op, ACL_FLOAT, 4, kept), *wide = op_temp(op, ACL_FLOAT, 3, out);
    if (past)
        op_copy(op, state, past);
    else
        OP_CALL(op, aclnnInplaceZero, op_out(op, state));
    r.q = op_data(op, op_cast(op, q, ACL_FLOAT));
    r.k = op_data(op, op_cast(op, k, ACL_FLOAT));
    r.v = op_data(op, op_cast(op, v, ACL_FLOAT));
    r.decay = op_data(op, decay ? op_cast(op, decay, ACL_FLOAT) : NULL);
    r.beta = op_data(op, beta ? op_cast(op, beta, ACL_FLOAT) : NULL);
    r.state = op_data(op, state);
    r.y = op_data(op, wide);
    op_host(op, "LinearAttention", run_recurrence, &r, sizeof r);
    op_copy(op, y, wide);
    op_copy(op, present, state);
}

static void define_causal_conv(struct op *op)
{
    struct operand *x = op_in(op, 0), *weight = op_in(op, 1), *bias = op_in(op, 2), *past = op_in(op, 3);
    if (x->rank != 3 || weight->rank != 3 || weight->dim[0] != x->dim[1] || weight->dim[1] != 1 || weight->dim[2] < 1) {
        op_fail(op, GRAPH_INVALID, "takes three dimensions and a weight for each channel");
        return;
    }
    int64_t before = weight->dim[2] - 1, whole[] = {x->dim[0], x->dim[1], before + x->dim[2]};
    int64_t kept[] = {x->dim[0], x->dim[1], before}, one[] = {1, 1}, none[] = {0, 0};
    struct operand *y = op_like(op, 0, x), *present = op_result(op, 1, x->dtype, 3, kept);
    struct operand *all = op_temp(op, x->dtype, 3, whole), *head = op_slice(op, all, 2, 0, before, 1);
    if (op_count(y) == 0)
        return;
    if (past)
        op_copy(op, head, past);
    else if (before)
        OP_CALL(op, aclnnInplaceZero, op_out(op, head));
    op_copy(op, op_slice(op, all, 2, before, x->dim[2], 1), x);
    OP_CALL(op, aclnnConvolution, op_acl(op, op_unsqueeze(op, all, 2)), op_acl(op, op_unsqueeze(op, weight, 2)),
            op_acl(op, bias), op_array(op, 2, one), op_array(op, 2, none), op_array(op, 2, one), false,
            op_array(op, 2, none), x->dim[1], op_out(op, op_unsqueeze(op, y, 2)), 0);
    if (!op_string_is(op, "activation", "none", "none")) {
        struct operand *linear = op_temp(op, x->dtype, 3, x->dim);
        op_copy(op, linear, y);
        OP_CALL(op, aclnnSilu, op_acl(op, linear), op_out(op, y));
    }
    op_copy(op, present, op_slice(op, all, 2, x->dim[2], before, 1));
}

const struct operator_row operators_attention[] = {
    ROW("Attention", 23, 0, 0, 3, 7, 1, 4, define_attention, NULL, 0),
    ROW("RotaryEmbedding", 23, 0, 0, 3, 4, 1, 1, define_rotary, NULL, 0),
    ROW("LinearAttention", 27, 0, 0, 3, 6, 1, 2, define_linear_attention, NULL, 0),
    ROW("CausalConvWithState", 27, 0, 0, 2, 4, 1, 2, define_causal_conv, NULL, 0),
    {0},
};

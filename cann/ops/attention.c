/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused attention: arguments of all versions, and the walk over blocks of BQ queries and BK keys. The softmax grows
 * from block to block (kernels/attention.h), products are gemm_part's; everything is computed in float. An item of work
 * is a block of queries of one head (forward) or a head of keys (gradient, where dk and dv of a head gather in order),
 * so results do not depend on the number of threads. */
#include "ops/attention.h"

#include <math.h>
#include <stdio.h>

#include "kernels/attention.h"
#include "ops/gemm.h"

enum { BQ = 64, BK = 256, COPIES = 8 /* of max and sum, side by side */ };
enum { MASK_GIVEN, MASK_ALL, LEFT_UP_CAUSAL, RIGHT_DOWN_CAUSAL, BAND, PREFIX, PREFIX_COMPRESSED, SPARSE_MODES };

const struct attention_args attention_v1 = {.pse = 3,
                                            .drop = 4,
                                            .mask = 6,
                                            .prefix = 7,
                                            .scale = 8,
                                            .keep_prob = 9,
                                            .pre_tokens = 10,
                                            .next_tokens = 11,
                                            .heads = 12,
                                            .layout = 13,
                                            .sparse = 15,
                                            .unsupported = {5},
                                            .out_max = 16,
                                            .out_sum = 17,
                                            .out_attention = 19};
const struct attention_args attention_v2 = {.pse = 3,
                                            .drop = 4,
                                            .mask = 6,
                                            .prefix = 7,
                                            .scale = 10,
                                            .keep_prob = 11,
                                            .pre_tokens = 12,
                                            .next_tokens = 13,
                                            .heads = 14,
                                            .layout = 15,
                                            .sparse = 17,
                                            .pse_type = 18,
                                            .unsupported = {5},
                                            .out_max = 19,
                                            .out_sum = 20,
                                            .out_attention = 22};
const struct attention_args attention_v4 = {.pse = 3,
                                            .drop = 4,
                                            .mask = 6,
                                            .prefix = 13,
                                            .seq_q = 14,
                                            .seq_kv = 15,
                                            .scale = 18,
                                            .keep_prob = 19,
                                            .pre_tokens = 20,
                                            .next_tokens = 21,
                                            .heads = 22,
                                            .layout = 23,
                                            .sparse = 25,
                                            .pse_type = 27,
                                            .unsupported = {5, 7, 8, 9, 10, 11, 12},
                                            .out_max = 31,
                                            .out_sum = 32,
                                            .out_attention = 34};
const struct attention_args attention_grad_v1 = {.dy = 3,
                                                 .pse = 4,
                                                 .drop = 5,
                                                 .mask = 7,
                                                 .max = 8,
                                                 .sum = 9,
                                                 .out = 11,
                                                 .prefix = 12,
                                                 .scale = 13,
                                                 .keep_prob = 14,
                                                 .pre_tokens = 15,
                                                 .next_tokens = 16,
                                                 .heads = 17,
                                                 .layout = 18,
                                                 .sparse = 20,
                                                 .unsupported = {6},
                                                 .dq = 21,
                                                 .dk = 22,
                                                 .dv = 23,
                                                 .dpse = 24};
const struct attention_args attention_grad_v2 = {.dy = 3,
                                                 .pse = 4,
                                                 .drop = 5,
                                                 .mask = 7,
                                                 .max = 8,
                                                 .sum = 9,
                                                 .out = 11,
                                                 .prefix = 12,
                                                 .scale = 15,
                                                 .keep_prob = 16,
                                                 .pre_tokens = 17,
                                                 .next_tokens = 18,
                                                 .heads = 19,
                                                 .layout = 20,
                                                 .sparse = 22,
                                                 .pse_type = 23,
                                                 .unsupported = {6},
                                                 .dq = 24,
                                                 .dk = 25,
                                                 .dv = 26,
                                                 .dpse = 27};
const struct attention_args attention_grad_v4 = {.dy = 3,
                                                 .pse = 4,
                                                 .drop = 5,
                                                 .mask = 7,
                                                 .max = 8,
                                                 .sum = 9,
                                                 .out = 11,
                                                 .prefix = 20,
                                                 .seq_q = 21,
                                                 .seq_kv = 22,
                                                 .scale = 25,
                                                 .keep_prob = 26,
                                                 .pre_tokens = 27,
                                                 .next_tokens = 28,
                                                 .heads = 29,
                                                 .layout = 30,
                                                 .sparse = 33,
                                                 .pse_type = 34,
                                                 .unsupported = {6, 12, 13, 14, 15, 16, 17, 18, 19},
                                                 .dq = 38,
                                                 .dk = 39,
                                                 .dv = 40,
                                                 .dpse = 43};

/* A tensor seen as [batch][head][row][column], strides in elements. With TND the batch stride is 0 and rows of all
 * sequences follow each other. */
struct heads {
    struct view *view;
    int64_t batch, heads, rows, columns;
    int64_t sb, sn, ss, sd;
};

struct sequence {
    int64_t q0, q, k0, k; /* first row and number of rows of queries, of keys */
    int64_t prefix;
    int64_t blocks; /* blocks of queries of the sequences before */
};

struct attention {
    struct heads q, k, v, out; /* out: of the forward, or an input of the gradient */
    struct heads dy, dq, dk, dv;
    struct heads bias, hidden, dpse; /* view NULL: none */
    struct view *max, *sum;          /* forward: dense outputs; gradient: through max_at */
    struct heads max_at, sum_at;
    struct view *keep;
    struct sequence *sequence;
    int64_t batch, group, pre, next;
    int mode;
    float scale, bias_scale, keep_scale;
};

/* ---- running ---- */

static float *at(const struct heads *t, int64_t b, int64_t n, int64_t row)
{
    return (float *)t->view->data + b * t->sb + n * t->sn + row * t->ss;
}

/* The keys that query i of a sequence may see: [*from, *to). */
static void seen(const struct attention *a, const struct sequence *s, int64_t i, int64_t *from, int64_t *to)
{
    int64_t shift = s->k - s->q, low = 0, high = s->k;
    switch (a->mode) {
    case MASK_GIVEN:
        if (a->hidden.view) {
            low = i - a->pre;
            high = i + a->next + 1;
        }
        break;
    case LEFT_UP_CAUSAL:
        high = i + 1;
        break;
    case RIGHT_DOWN_CAUSAL:
        high = i + shift + 1;
        break;
    case BAND:
        low = i + shift - a->pre;
        high = i + shift + a->next + 1;
        break;
    case PREFIX_COMPRESSED:
        high = i + shift + 1 > s->prefix ? i + shift + 1 : s->prefix;
        break;
    default:
        break;
    }
    *from = low > 0 ? low : 0;
    *to = high < s->k ? high : s->k;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct attention_row row_of(const struct attention *a, const struct sequence *s, int64_t b, int64_t h, int64_t i,
                                   int64_t j, int64_t n)
{
    struct attention_row row = {.n = n, .bias_scale = a->bias_scale, .keep_scale = a->keep_scale};
    int64_t from, to;
    seen(a, s, i, &from, &to);
    row.from = clamp(from - j, 0, n);
    row.to = clamp(to - j, row.from, n);
    if (a->bias.view) {
        row.bias = at(&a->bias, b, h, i) + j * a->bias.sd;
        row.bias_step = a->bias.sd;
    }
    if (a->hidden.view && (a->mode == MASK_GIVEN || a->mode == MASK_ALL || a->mode == PREFIX)) {
        const struct heads *m = &a->hidden;
        row.hidden = (const uint8_t *)m->view->data + b * m->sb + h * m->sn + i * m->ss + j * m->sd;
        row.hidden_step = m->sd;
    }
    if (a->keep) {
        row.keep = (const uint8_t *)a->keep->data;
        row.keep_bit = ((b * a->q.heads + h) * s->q + i) * s->k + j;
    }
    return row;
}

/* c (rows of `c_rs`) = alpha a b + beta c */
static void product(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_rs, int64_t a_cs, const float *b,
                    int64_t b_rs, int64_t b_cs, float *c, int64_t c_rs, float alpha, float beta)
{
    struct gemm g = {.kernels = &ISA_PICK(matmul_kernels)->f32,
                     .m = m,
                     .n = n,
                     .k = k,
                     .a = (const char *)a,
                     .b = (const char *)b,
                     .cin = (const char *)c,
                     .c = (char *)c,
                     .a_rs = a_rs,
                     .a_cs = a_cs,
                     .b_rs = b_rs,
                     .b_cs = b_cs,
                     .cin_rs = c_rs,
                     .cin_cs = 1,
                     .c_rs = c_rs,
                     .alpha = alpha,
                     .beta = beta};
    gemm_part(&g, 0, m, 0, n);
}

/* scale times queries [i, i + m) by keys [j, j + n) of a sequence. */
static void scores(const struct attention *a, const struct sequence *s, int64_t b, int64_t h, int64_t i, int64_t m,
                   int64_t j, int64_t n, float *score)
{
    product(m, n, a->q.columns, at(&a->q, b, h, s->q0 + i), a->q.ss, a->q.sd, at(&a->k, b, h / a->group, s->k0 + j),
            a->k.sd, a->k.ss, score, BK, a->scale, 0);
}

static void forward_block(const struct attention *a, const struct sequence *s, int64_t b, int64_t h, int64_t i,
                          int64_t m)
{
    const struct attention_kernels *rows = ISA_PICK(attention_kernels);
    _Alignas(64) float score[BQ * BK];
    float max[BQ], sum[BQ];
    int64_t from, to, last, dv = a->v.columns;
    float *out = at(&a->out, b, h, s->q0 + i);
    seen(a, s, i, &from, &last);
    seen(a, s, i + m - 1, &last, &to);
    for (int64_t r = 0; r < m; r++) {
        max[r] = -INFINITY;
        sum[r] = 0;
        memset(out + r * a->out.ss, 0, sizeof(float) * (size_t)dv);
    }
    for (int64_t j = from / BK * BK; j < to; j += BK) {
        int64_t n = to - j < BK ? to - j : BK;
        scores(a, s, b, h, i, m, j, n, score);
        for (int64_t r = 0; r < m; r++) {
            struct attention_row row = row_of(a, s, b, h, i + r, j, n);
            float factor = rows->softmax(&row, score + r * BK, &max[r], &sum[r]);
            if (factor != 1)
                rows->scale(dv, out + r * a->out.ss, factor);
        }
        product(m, dv, n, score, BK, 1, at(&a->v, b, h / a->group, s->k0 + j), a->v.ss, a->v.sd, out, a->out.ss, 1, 1);
    }
    for (int64_t r = 0; r < m; r++) {
        rows->scale(dv, out + r * a->out.ss, sum[r] > 0 ? 1 / sum[r] : sum[r] == 0 ? 0 : NAN);
        for (int c = 0; c < COPIES && a->max_at.view; c++) {
            at(&a->max_at, b, h, s->q0 + i + r)[c] = max[r];
            at(&a->sum_at, b, h, s->q0 + i + r)[c] = sum[r];
        }
    }
}

static int64_t blocks_of(const struct sequence *s)
{
    return (s->q + BQ - 1) / BQ;
}

static void forward_items(void *arg, int64_t begin, int64_t end)
{
    const struct attention *a = arg;
    int64_t b = 0, heads = a->q.heads;
    for (int64_t item = begin; item < end; item++) {
        while (item >= (a->sequence[b].blocks + blocks_of(&a->sequence[b])) * heads)
            b++;
        const struct sequence *s = &a->sequence[b];
        int64_t inside = item - s->blocks * heads, i = inside % blocks_of(s) * BQ;
        forward_block(a, s, b, inside / blocks_of(s), i, s->q - i < BQ ? s->q - i : BQ);
    }
}

static int run_forward(void *arg)
{
    struct attention *a = arg;
    const struct sequence *last = &a->sequence[a->batch - 1];
    int64_t cost = BQ * (a->k.rows + 1) * (a->q.columns + a->v.columns) / 16; /* nanoseconds, roughly */
    parallel((last->blocks + blocks_of(last)) * a->q.heads, 30000 / (cost + 1) + 1, forward_items, a);
    return 0;
}

/* Queries [i, i + m) of head h by the keys from j on: adds to dq, dk, dv. */
static void backward_tile(const struct attention *a, const struct sequence *s, int64_t b, int64_t h, int64_t i,
                          int64_t m, int64_t j, int64_t n, const float *dots)
{
    const struct attention_kernels *rows = ISA_PICK(attention_kernels);
    _Alignas(64) float weight[BQ * BK], grad[BQ * BK], dropped[BQ * BK], *kept = a->keep ? dropped : weight;
    int64_t kv = h / a->group, d = a->q.columns, dv = a->v.columns;
    const float *dy = at(&a->dy, b, h, s->q0 + i);
    scores(a, s, b, h, i, m, j, n, weight);
    product(m, n, dv, dy, a->dy.ss, a->dy.sd, at(&a->v, b, kv, s->k0 + j), a->v.sd, a->v.ss, grad, BK, 1, 0);
    for (int64_t r = 0; r < m; r++) {
        struct attention_row row = row_of(a, s, b, h, i + r, j, n);
        rows->weights(&row, weight + r * BK, kept + r * BK, *at(&a->max_at, b, h, s->q0 + i + r),
                      *at(&a->sum_at, b, h, s->q0 + i + r));
        rows->gradient(&row, grad + r * BK, weight + r * BK, dots[r]);
        for (int64_t c = 0; c < n && a->dpse.view; c++)
            at(&a->dpse, b, h, i + r)[(j + c) * a->dpse.sd] = a->bias_scale * grad[r * BK + c];
    }
    product(n, dv, m, kept, 1, BK, dy, a->dy.ss, a->dy.sd, at(&a->dv, b, kv, s->k0 + j), a->dv.ss, 1, 1);
    product(m, d, n, grad, BK, 1, at(&a->k, b, kv, s->k0 + j), a->k.ss, a->k.sd, at(&a->dq, b, h, s->q0 + i), a->dq.ss,
            a->scale, 1);
    product(n, d, m, grad, 1, BK, at(&a->q, b, h, s->q0 + i), a->q.ss, a->q.sd, at(&a->dk, b, kv, s->k0 + j), a->dk.ss,
            a->scale, 1);
}

static void backward_head(const struct attention *a, const struct sequence *s, int64_t b, int64_t h)
{
    const struct attention_kernels *rows = ISA_PICK(attention_kernels);
    for (int64_t i = 0; i < s->q; i += BQ) {
        int64_t m = s->q - i < BQ ? s->q - i : BQ, from, to, last;
        float dots[BQ];
        for (int64_t r = 0; r < m; r++)
            dots[r] = rows->dot(a->v.columns, at(&a->dy, b, h, s->q0 + i + r), a->dy.sd,
                                at(&a->out, b, h, s->q0 + i + r), a->out.sd);
        seen(a, s, i, &from, &last);
        seen(a, s, i + m - 1, &last, &to);
        for (int64_t j = from / BK * BK; j < to; j += BK)
            backward_tile(a, s, b, h, i, m, j, to - j < BK ? to - j : BK, dots);
    }
}

static void backward_items(void *arg, int64_t begin, int64_t end)
{
    const struct attention *a = arg;
    for (int64_t item = begin; item < end; item++) {
        int64_t b = item / a->k.heads, kv = item % a->k.heads;
        for (int64_t g = 0; g < a->group; g++)
            backward_head(a, &a->sequence[b], b, kv * a->group + g);
    }
}

static int run_backward(void *arg)
{
    struct attention *a = arg;
    parallel(a->batch * a->k.heads, 1, backward_items, a);
    return 0;
}

/* ---- arguments ---- */

static int bad(struct plan *plan, const char *what, const struct view *v, const char *why)
{
    char text[256];
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "The shape %s of %s %s.",
                     shape_text(text, sizeof text, v->rank, v->dim), what, why);
}

/* Positions of batch, sequence, head, and column in a layout; -1: there is none (heads then share
 * the dimension of the columns). */
static const struct layout {
    const char *name;
    int rank, b, s, n, d;
} layouts[] = {
    {"BSH", 3, 0, 1, -1, 2}, {"SBH", 3, 1, 0, -1, 2}, {"BSND", 4, 0, 1, 2, 3},
    {"BNSD", 4, 0, 2, 1, 3}, {"TND", 3, -1, 0, 1, 2},
};

static const struct layout *layout_of(const char *name)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    return NULL;
}

/* heads: how many when the layout does not tell. */
static int see_heads(struct plan *plan, struct heads *t, struct view *v, const char *what, const struct layout *l,
                     int64_t heads)
{
    if (v->rank != l->rank)
        return bad(plan, what, v, "does not fit the layout");
    t->view = v;
    t->batch = l->b < 0 ? 1 : v->dim[l->b];
    t->sb = l->b < 0 ? 0 : v->stride[l->b];
    t->rows = v->dim[l->s];
    t->ss = v->stride[l->s];
    t->sd = v->stride[l->d];
    t->heads = l->n < 0 ? heads : v->dim[l->n];
    if (t->heads < 1 || (l->n < 0 && v->dim[l->d] % t->heads))
        return bad(plan, what, v, "is not a whole number of heads");
    t->columns = l->n < 0 ? v->dim[l->d] / t->heads : v->dim[l->d];
    t->sn = l->n < 0 ? t->columns * t->sd : v->stride[l->n];
    return ACLNN_SUCCESS;
}

/* A mask or bias of two to four dimensions, aligned at the last and expanded to [batch][head][row][column]. */
static int see_mask(struct plan *plan, const struct attention *a, struct heads *t, struct view *v, const char *what)
{
    int64_t want[4] = {a->batch, a->q.heads, a->sequence[0].q, a->sequence[0].k}, stride[4] = {0};
    if (v->rank < 2 || v->rank > 4)
        return bad(plan, what, v, "has not two to four dimensions");
    for (int i = 4 - v->rank; i < 4; i++) {
        int64_t dim = v->dim[i - (4 - v->rank)];
        if (dim != 1 && dim < want[i])
            return bad(plan, what, v, "does not fit the scores");
        stride[i] = dim == 1 ? 0 : v->stride[i - (4 - v->rank)];
    }
    *t = (struct heads){.view = v, .sb = stride[0], .sn = stride[1], .ss = stride[2], .sd = stride[3]};
    return ACLNN_SUCCESS;
}

static const aclTensor *given(const union op_value *arg, int index)
{
    return index && arg[index].tensor && view_count(&arg[index].tensor->view) ? arg[index].tensor : NULL;
}

static int64_t limited(int64_t tokens)
{
    return clamp(tokens, -(INT64_C(1) << 40), INT64_C(1) << 40);
}

/* One sequence a batch, or for TND those that the lists of ends tell. */
static int make_sequences(struct plan *plan, struct attention *a, const struct attention_args *p,
                          const union op_value *arg, bool tnd)
{
    const aclIntArray *prefix = arg[p->prefix].ints, *ends_q = p->seq_q ? arg[p->seq_q].ints : NULL;
    const aclIntArray *ends_k = p->seq_kv ? arg[p->seq_kv].ints : NULL;
    if (tnd && (!ends_q || !ends_k || !ends_q->size || ends_q->size != ends_k->size))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "The layout TND needs the ends of the sequences, as many for keys as for queries.");
    a->batch = tnd ? (int64_t)ends_q->size : a->q.batch;
    if (a->batch == 0)
        return ACLNN_SUCCESS;
    a->sequence = plan_alloc(plan, sizeof *a->sequence * (size_t)a->batch);
    if (a->mode == PREFIX_COMPRESSED && (!prefix || (int64_t)prefix->size < a->batch))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "sparseMode 6 needs a prefix for each of %ld batches.",
                         (long)a->batch);
    int64_t blocks = 0;
    for (int64_t b = 0; b < a->batch; b++) {
        struct sequence *s = &a->sequence[b];
        s->q0 = tnd && b ? ends_q->value[b - 1] : 0;
        s->k0 = tnd && b ? ends_k->value[b - 1] : 0;
        s->q = tnd ? ends_q->value[b] - s->q0 : a->q.rows;
        s->k = tnd ? ends_k->value[b] - s->k0 : a->k.rows;
        if (s->q < 0 || s->k < 0 || s->q0 + s->q > a->q.rows || s->k0 + s->k > a->k.rows)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Sequence %ld ends at query %ld of %ld and key %ld of %ld.",
                             (long)b, (long)(s->q0 + s->q), (long)a->q.rows, (long)(s->k0 + s->k), (long)a->k.rows);
        s->prefix = a->mode == PREFIX_COMPRESSED ? prefix->value[b] : 0;
        s->blocks = blocks;
        blocks += blocks_of(s);
    }
    return ACLNN_SUCCESS;
}

static int refuse_unsupported(struct plan *plan, const struct op_row *row, const struct attention_args *p,
                              const union op_value *arg)
{
    for (int i = 0; i < 10 && p->unsupported[i]; i++)
        if (given(arg, p->unsupported[i]))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s does not support %s.", row->name,
                             row->param[p->unsupported[i]].name);
    return ACLNN_SUCCESS;
}

static int prepare_masks(struct plan *plan, struct attention *a, const struct attention_args *p,
                         const union op_value *arg)
{
    static const aclDataType masks[] = {ACL_BOOL, ACL_UINT8};
    double keep_prob = arg[p->keep_prob].d;
    const aclTensor *drop = given(arg, p->drop);
    if (given(arg, p->mask)) {
        TRY(plan_check_dtype(plan, p->mask, masks, 2));
        struct view *mask = plan_view(plan, arg[p->mask].tensor);
        bool read = a->mode == MASK_GIVEN || a->mode == MASK_ALL || a->mode == PREFIX;
        if (read)
            TRY(see_mask(plan, a, &a->hidden, mask, "attenMask"));
    } else if (a->mode == MASK_ALL || a->mode == PREFIX) {
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "sparseMode %d needs attenMask.", a->mode);
    }
    if (given(arg, p->pse))
        TRY(see_mask(plan, a, &a->bias, plan_dense(plan, plan_view(plan, arg[p->pse].tensor), ACL_FLOAT), "pse"));
    if (!(keep_prob > 0 && keep_prob <= 1))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "keepProb is %g, but must be above 0 and at most 1.",
                         keep_prob);
    if (keep_prob < 1 && !drop)
        return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "keepProb %g needs a dropMask.", keep_prob);
    if (keep_prob < 1 && strcmp(arg[p->layout].s, "TND") == 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "keepProb %g is not supported with the layout TND.", keep_prob);
    a->keep_scale = (float)(1 / keep_prob);
    if (keep_prob < 1) {
        int64_t bits = a->batch * a->q.heads * a->sequence[0].q * a->sequence[0].k;
        if (view_count(&drop->view) < (bits + 7) / 8 || !view_is_contiguous(&drop->view))
            return bad(plan, "dropMask", &drop->view, "has not a bit for each score");
        a->keep = plan_view(plan, drop);
    }
    return ACLNN_SUCCESS;
}

/* What both directions share. *done: nothing to compute. */
static int prepare(struct plan *plan, const struct op_row *row, const union op_value *arg, struct attention *a,
                   bool *done)
{
    static const aclDataType types[] = {ACL_FLOAT16, ACL_BF16, ACL_FLOAT};
    const struct attention_args *p = row->detail;
    const struct layout *l = layout_of(arg[p->layout].s);
    TRY(refuse_unsupported(plan, row, p, arg));
    TRY(plan_check_dtype(plan, 0, types, 3));
    TRY(plan_check_dtype(plan, 1, &arg[0].tensor->view.dtype, 1));
    TRY(plan_check_dtype(plan, 2, &arg[0].tensor->view.dtype, 1));
    if (!l)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "inputLayout %.20s is not one of BSH, SBH, BSND, BNSD, TND.",
                         arg[p->layout].s);
    if (arg[p->sparse].i < 0 || arg[p->sparse].i >= SPARSE_MODES)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "sparseMode is %ld, but only 0 to %d are supported.",
                         (long)arg[p->sparse].i, SPARSE_MODES - 1);
    a->mode = (int)arg[p->sparse].i;
    a->pre = limited(arg[p->pre_tokens].i);
    a->next = limited(arg[p->next_tokens].i);
    a->scale = (float)arg[p->scale].d;
    a->bias_scale = p->pse_type && arg[p->pse_type].i == 0 ? 1 : a->scale;
    if (p->pse_type && given(arg, p->pse) && (arg[p->pse_type].i < 0 || arg[p->pse_type].i > 1))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "pseType is %ld, but only 0 and 1 are supported.",
                         (long)arg[p->pse_type].i);
    TRY(see_heads(plan, &a->q, plan_dense(plan, plan_view(plan, arg[0].tensor), ACL_FLOAT), "query", l,
                  arg[p->heads].i));
    int64_t kv_heads =
        l->n < 0 && a->q.columns ? arg[1].tensor->view.rank == 3 ? arg[1].tensor->view.dim[2] / a->q.columns : 1 : 1;
    TRY(see_heads(plan, &a->k, plan_dense(plan, plan_view(plan, arg[1].tensor), ACL_FLOAT), "key", l, kv_heads));
    TRY(see_heads(plan, &a->v, plan_dense(plan, plan_view(plan, arg[2].tensor), ACL_FLOAT), "value", l, a->k.heads));
    if (a->q.heads != arg[p->heads].i)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "headNum is %ld, but query has %ld heads.",
                         (long)arg[p->heads].i, (long)a->q.heads);
    if (a->k.batch != a->q.batch || a->v.batch != a->q.batch || a->k.columns != a->q.columns || a->q.heads % a->k.heads)
        return bad(plan, "key", &arg[1].tensor->view, "does not fit that of query");
    if (a->v.heads != a->k.heads || a->v.rows != a->k.rows)
        return bad(plan, "value", &arg[2].tensor->view, "does not fit that of key");
    a->group = a->q.heads / a->k.heads;
    TRY(make_sequences(plan, a, p, arg, l->b < 0));
    *done = a->batch == 0 || a->q.rows == 0;
    return *done ? ACLNN_SUCCESS : prepare_masks(plan, a, p, arg);
}

/* max or sum: [batch][head][row][8], for TND [row][head][8]. */
static int see_sums(struct plan *plan, const struct attention *a, struct heads *t, struct view *v, const char *what,
                    bool tnd)
{
    static const struct layout usual = {"", 4, 0, 2, 1, 3}, rows_first = {"", 3, -1, 0, 1, 2};
    TRY(see_heads(plan, t, v, what, tnd ? &rows_first : &usual, 0));
    if (t->heads != a->q.heads || t->rows != a->q.rows || t->batch != a->q.batch || t->columns != COPIES ||
        v->dtype != ACL_FLOAT)
        return bad(plan, what, v, "(or its type, which is float) does not fit the rows of scores, with 8 copies");
    return ACLNN_SUCCESS;
}

static int check_like(struct plan *plan, const struct heads *t, const struct heads *like, const char *what)
{
    bool same =
        t->batch == like->batch && t->heads == like->heads && t->rows == like->rows && t->columns == like->columns;
    return same ? ACLNN_SUCCESS : bad(plan, what, t->view, "does not fit the other tensors");
}

/* Where to compute: out itself if its columns are floats side by side, else a temporary. */
static struct view *computed(struct plan *plan, struct view *out)
{
    bool direct = out->dtype == ACL_FLOAT && out->rank && out->stride[out->rank - 1] == 1;
    return direct ? out : plan_output(plan, out, ACL_FLOAT);
}

int prepare_attention(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct attention_args *p = row->detail;
    struct attention *a = plan_alloc(plan, sizeof *a);
    bool done;
    TRY(prepare(plan, row, arg, a, &done));
    if (done)
        return ACLNN_SUCCESS;
    const struct layout *l = layout_of(arg[p->layout].s);
    struct view *out = plan_view(plan, arg[p->out_attention].tensor), *to = computed(plan, out);
    struct heads want = a->q;
    want.columns = a->v.columns;
    TRY(see_heads(plan, &a->out, to, "attentionOut", l, a->q.heads));
    TRY(check_like(plan, &a->out, &want, "attentionOut"));
    if (given(arg, p->out_max) && given(arg, p->out_sum)) {
        TRY(see_sums(plan, a, &a->max_at, plan_view(plan, arg[p->out_max].tensor), "softmaxMaxOut", l->b < 0));
        TRY(see_sums(plan, a, &a->sum_at, plan_view(plan, arg[p->out_sum].tensor), "softmaxSumOut", l->b < 0));
        if (a->max_at.sd != 1 || a->sum_at.sd != 1)
            return bad(plan, "softmaxMaxOut", a->max_at.view, "must be contiguous");
    }
    plan_step(plan, run_forward, a,
              (uint64_t)(a->q.rows * a->k.rows * a->q.heads * a->q.batch / 16) *
                  (uint64_t)(a->q.columns + a->v.columns + 8));
    plan_finish(plan, to, out);
    return ACLNN_SUCCESS;
}

static int prepare_output(struct plan *plan, const aclTensor *tensor, const char *what, const struct layout *l,
                          const struct heads *like, struct heads *t, struct view **out)
{
    *out = plan_view(plan, tensor);
    struct view *to = computed(plan, *out);
    TRY(see_heads(plan, t, to, what, l, like->heads));
    TRY(check_like(plan, t, like, what));
    plan_fill(plan, to, &(float){0});
    return ACLNN_SUCCESS;
}

int prepare_attention_grad(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    const struct attention_args *p = row->detail;
    struct attention *a = plan_alloc(plan, sizeof *a);
    struct view *dq, *dk, *dv;
    bool done;
    TRY(prepare(plan, row, arg, a, &done));
    const struct layout *l = layout_of(arg[p->layout].s);
    TRY(prepare_output(plan, arg[p->dq].tensor, "dqOut", l, &a->q, &a->dq, &dq));
    TRY(prepare_output(plan, arg[p->dk].tensor, "dkOut", l, &a->k, &a->dk, &dk));
    TRY(prepare_output(plan, arg[p->dv].tensor, "dvOut", l, &a->v, &a->dv, &dv));
    if (!done) {
        struct heads want = a->q;
        want.columns = a->v.columns;
        TRY(see_heads(plan, &a->dy, plan_dense(plan, plan_view(plan, arg[p->dy].tensor), ACL_FLOAT), "dy", l,
                      a->q.heads));
        TRY(check_like(plan, &a->dy, &want, "dy"));
        TRY(see_heads(plan, &a->out, plan_dense(plan, plan_view(plan, arg[p->out].tensor), ACL_FLOAT), "attentionIn", l,
                      a->q.heads));
        TRY(check_like(plan, &a->out, &want, "attentionIn"));
        TRY(see_sums(plan, a, &a->max_at, plan_view(plan, arg[p->max].tensor), "softmaxMax", l->b < 0));
        TRY(see_sums(plan, a, &a->sum_at, plan_view(plan, arg[p->sum].tensor), "softmaxSum", l->b < 0));
        if (given(arg, p->dpse) && a->bias.view) {
            struct view *dpse = plan_view(plan, arg[p->dpse].tensor);
            const int64_t full[4] = {a->q.batch, a->q.heads, a->q.rows, a->k.rows};
            if (dpse->dtype != ACL_FLOAT || l->b < 0)
                return bad(plan, "dpseOut", dpse, "(or its type) is not supported: it must be float");
            TRY(plan_check_shape(plan, p->dpse, 4, full));
            plan_fill(plan, dpse, &(float){0});
            TRY(see_mask(plan, a, &a->dpse, dpse, "dpseOut"));
        }
        plan_step(plan, run_backward, a,
                  (uint64_t)(a->q.rows * a->k.rows * a->q.heads * a->q.batch / 16) *
                      (uint64_t)(3 * a->q.columns + 2 * a->v.columns + 8));
    }
    plan_finish(plan, a->dq.view, dq);
    plan_finish(plan, a->dk.view, dk);
    plan_finish(plan, a->dv.view, dv);
    return ACLNN_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products: with a bias added, and attention. */
#include <string.h>

#include "base/dtype.h"
#include "graph/passes/fusions.h"

/* MatMul(x, weights) + bias. */
int fuse_matmul_bias(struct match *m, struct node *node, int32_t *made)
{
    if (strcmp(node->op, "Add") != 0 || node->n_in != 2)
        return GRAPH_OK;
    for (int i = 0; i < 2; i++) {
        const struct node *mul = match_maker(m, node->in[i], "MatMul");
        if (!mul || !match_single(m, node->in[i]))
            continue;
        int32_t bias = node->in[1 - i], x = mul->in[0], weight = mul->in[1];
        const struct type *of_x = match_type(m, x), *of_weight = match_type(m, weight), *of_bias = match_type(m, bias);
        if (of_x->rank < 2 || of_weight->rank != 2 || !dtype_is_float(of_x->dtype) || of_bias->rank != 1 ||
            of_weight->dim[0] < 1 || of_bias->dim[0] != of_weight->dim[1] || of_bias->dim[0] < 0)
            continue;
        ++*made;
        return match_replace(m, node, "anynpu", "MatMulBias", 1, 3, (int32_t[]){x, weight, bias})
                   ? GRAPH_OK
                   : graph_fail(GRAPH_NO_MEMORY, "no memory");
    }
    return GRAPH_OK;
}

/* ---- attention: softmax(scale q k^T + mask) v ---- */
/* Through products with and quotients by numbers, which go into the scale. */
static int32_t unscale(const struct match *m, int32_t value, double *scale)
{
    for (;;) {
        const struct node *mul = match_maker(m, value, "Mul"), *div = match_maker(m, value, "Div");
        int32_t x;
        double number;
        if (mul && match_with_number(m, mul, true, &x, &number))
            *scale *= number;
        else if (div && match_with_number(m, div, false, &x, &number) && number != 0)
            *scale /= number;
        else
            return value;
        value = x;
    }
}

static bool is_4d(const struct match *m, int32_t value)
{
    return match_type(m, value)->rank == 4 && dtype_is_float(match_type(m, value)->dtype);
}

/* The scores before softmax: scale, q, k (transposed or not) and mask. */
struct scores {
    int32_t q, k, mask; /* mask VALUE_NONE: none */
    double scale;
};

static bool find_scores(const struct match *m, int32_t value, struct scores *s)
{
    const struct node *add = match_maker(m, value, "Add");
    s->mask = VALUE_NONE;
    s->scale = 1;
    for (int i = 0; add && add->n_in == 2 && i < 2; i++) {
        double scale = 1;
        int32_t product = unscale(m, add->in[i], &scale);
        int32_t mask = add->in[1 - i];
        if (match_maker(m, product, "MatMul") && match_type(m, mask)->rank >= 2 && match_type(m, mask)->rank <= 4) {
            s->mask = mask;
            value = add->in[i];
            break;
        }
    }
    value = unscale(m, value, &s->scale);
    const struct node *product = match_maker(m, value, "MatMul");
    if (!product || !is_4d(m, product->in[0]) || !is_4d(m, product->in[1]))
        return false;
    s->q = unscale(m, product->in[0], &s->scale);
    s->k = unscale(m, product->in[1], &s->scale);
    return true;
}

/* The sizes agree as attention wants them: no broadcasting between q, k and v. */
static bool sizes_agree(const struct match *m, const struct scores *s, int32_t v)
{
    const struct type *q = match_type(m, s->q), *k = match_type(m, s->k), *of_v = match_type(m, v);
    const struct type *mask = s->mask == VALUE_NONE ? NULL : match_type(m, s->mask);
    bool same = q->dtype == k->dtype && q->dtype == of_v->dtype;
    for (int i = 0; i < 2; i++)
        same &= q->dim[i] != DIM_UNKNOWN && q->dim[i] == k->dim[i] && q->dim[i] == of_v->dim[i];
    same &= q->dim[3] == k->dim[2] && q->dim[3] > 0 && of_v->dim[3] > 0 && k->dim[3] == of_v->dim[2] &&
            k->dim[3] != DIM_UNKNOWN;
    if (!mask)
        return same;
    const int64_t want[4] = {q->dim[0], q->dim[1], q->dim[2], k->dim[3]};
    for (int32_t i = 0; i < mask->rank; i++)
        same &= mask->dim[i] == 1 || mask->dim[i] == want[4 - mask->rank + i];
    return same && mask->dtype == q->dtype;
}

int fuse_attention(struct match *m, struct node *node, int32_t *made)
{
    struct scores s;
    if (strcmp(node->op, "MatMul") != 0 || node->n_in != 2)
        return GRAPH_OK;
    const struct node *softmax = match_maker(m, node->in[0], "Softmax");
    if (!softmax || !is_4d(m, node->in[0]) || !is_4d(m, node->in[1]) || !match_single(m, node->in[0]))
        return GRAPH_OK;
    int64_t axis = node_int(softmax, "axis", softmax->version >= 13 ? -1 : 1);
    if ((axis != -1 && axis != 3) || !find_scores(m, softmax->in[0], &s) || !sizes_agree(m, &s, node->in[1]))
        return GRAPH_OK;
    struct attribute scale = {"scale", ATTRIBUTE_FLOAT, 1, {.f = (float)s.scale}};
    int32_t n = s.mask == VALUE_NONE ? 3 : 4;
    ++*made;
    return match_replace(m, node, "anynpu", "Attention", 1, n, (int32_t[]){s.q, s.k, node->in[1], s.mask}) &&
                   edit_attribute(m->model, node, &scale)
               ? GRAPH_OK
               : graph_fail(GRAPH_NO_MEMORY, "no memory");
}

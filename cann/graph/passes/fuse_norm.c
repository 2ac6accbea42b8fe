/* SPDX-License-Identifier: BSD-3-Clause */
/* Layer normalisation and Gelu as older exports write them out, into the one operator each. */
#include <math.h>
#include <string.h>

#include "graph/passes/fusions.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b);
}

/* ---- Gelu: x 0.5 (1 + erf(x / sqrt 2)), in any order of the products ---- */
/* x of Erf(x / sqrt 2) + 1; VALUE_NONE. */
static int32_t erf_part(const struct match *m, int32_t value)
{
    int32_t erf, x;
    double one, root;
    const struct node *add = match_maker(m, value, "Add");
    if (!match_with_number(m, add, true, &erf, &one) || !near(one, 1))
        return VALUE_NONE;
    const struct node *node = match_maker(m, erf, "Erf"), *inner = node ? match_maker(m, node->in[0], "Div") : NULL;
    if (match_with_number(m, inner, false, &x, &root) && near(root, M_SQRT2))
        return x;
    inner = node ? match_maker(m, node->in[0], "Mul") : NULL;
    return match_with_number(m, inner, true, &x, &root) && near(root, M_SQRT1_2) ? x : VALUE_NONE;
}

/* The factors of a product of up to three: values, and the numbers as one. */
static int factors(const struct match *m, const struct node *mul, int32_t *values, double *number, int n)
{
    for (int i = 0; i < 2; i++) {
        double factor;
        const struct node *inner = match_maker(m, mul->in[i], "Mul");
        if (match_number(m, mul->in[i], &factor))
            *number *= factor;
        else if (inner && n < 3 && match_single(m, mul->in[i]) && inner->n_in == 2)
            n = factors(m, inner, values, number, n);
        else if (n < 3)
            values[n++] = mul->in[i];
        else
            return 4;
    }
    return n;
}

int fuse_gelu(struct match *m, struct node *node, int32_t *made)
{
    int32_t values[4];
    double number = 1;
    if (strcmp(node->op, "Mul") != 0 || node->n_in != 2 || !operator_find("", "Gelu", 20, NULL))
        return GRAPH_OK;
    if (factors(m, node, values, &number, 0) != 2 || !near(number, 0.5))
        return GRAPH_OK;
    for (int i = 0; i < 2; i++)
        if (erf_part(m, values[i]) == values[1 - i]) {
            ++*made;
            return match_replace(m, node, "", "Gelu", 20, 1, &values[1 - i]) ? GRAPH_OK
                                                                             : graph_fail(GRAPH_NO_MEMORY, "no memory");
        }
    return GRAPH_OK;
}

/* ---- layer normalisation: (x - mean) / sqrt(mean((x - mean)^2) + epsilon), then scale and shift ---- */
/* ReduceMean over the last axis alone, keeping it. */
static bool last_mean(const struct match *m, const struct node *node, int32_t *x)
{
    size_t n = 0;
    if (!node || !node_int(node, "keepdims", 1))
        return false;
    const int64_t *axes = node_ints(node, "axes", &n);
    const struct type *type = match_type(m, node->in[0]);
    if (!axes && node->n_in == 2 && node->in[1] != VALUE_NONE && m->model->values[node->in[1]].data &&
        match_type(m, node->in[1])->dtype == ACL_INT64) {
        axes = m->model->values[node->in[1]].data;
        n = (size_t)type_count(match_type(m, node->in[1]));
    }
    *x = node->in[0];
    return axes && n == 1 && type->rank > 0 && (axes[0] == -1 || axes[0] == type->rank - 1);
}

/* x of x - mean(x); VALUE_NONE. */
static int32_t centred(const struct match *m, int32_t value)
{
    const struct node *sub = match_maker(m, value, "Sub");
    int32_t x;
    return sub && sub->n_in == 2 && last_mean(m, match_maker(m, sub->in[1], "ReduceMean"), &x) && x == sub->in[0]
               ? x
               : VALUE_NONE;
}

/* The square root's argument is mean(d d) + epsilon, with d = x - mean(x). */
static bool deviation(const struct match *m, int32_t value, int32_t x, double *epsilon)
{
    const struct node *root = match_maker(m, value, "Sqrt"), *add = root ? match_maker(m, root->in[0], "Add") : NULL;
    int32_t mean, square, d;
    double two = 0;
    if (!match_with_number(m, add, true, &mean, epsilon) || !last_mean(m, match_maker(m, mean, "ReduceMean"), &square))
        return false;
    const struct node *power = match_maker(m, square, "Pow"), *mul = match_maker(m, square, "Mul");
    if (match_with_number(m, power, false, &d, &two) && near(two, 2))
        return centred(m, d) == x;
    return mul && mul->n_in == 2 && mul->in[0] == mul->in[1] && centred(m, mul->in[0]) == x;
}

int fuse_layer_norm(struct match *m, struct node *node, int32_t *made)
{
    double epsilon;
    if (strcmp(node->op, "Add") != 0 || node->n_in != 2 || !operator_find("", "LayerNormalization", 17, NULL))
        return GRAPH_OK;
    for (int i = 0; i < 2; i++) {
        const struct node *mul = match_maker(m, node->in[i], "Mul");
        int32_t shift = node->in[1 - i];
        for (int k = 0; mul && mul->n_in == 2 && k < 2; k++) {
            const struct node *div = match_maker(m, mul->in[k], "Div");
            int32_t x = div && div->n_in == 2 ? centred(m, div->in[0]) : VALUE_NONE, scale = mul->in[1 - k];
            if (x == VALUE_NONE || !deviation(m, div->in[1], x, &epsilon) || !match_constant(m, scale, 1) ||
                !match_constant(m, shift, 1))
                continue;
            struct attribute attribute = {"epsilon", ATTRIBUTE_FLOAT, 1, {.f = (float)epsilon}};
            ++*made;
            return match_replace(m, node, "", "LayerNormalization", 17, 3, (int32_t[]){x, scale, shift}) &&
                           edit_attribute(m->model, node, &attribute)
                       ? GRAPH_OK
                       : graph_fail(GRAPH_NO_MEMORY, "no memory");
        }
    }
    return GRAPH_OK;
}

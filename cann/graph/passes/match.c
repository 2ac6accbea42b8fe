/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for groups of nodes. */
#include "graph/passes/match.h"

#include <string.h>

#include "base/dtype.h"

struct node *match_maker(const struct match *m, int32_t value, const char *op)
{
    int32_t maker = value == VALUE_NONE ? -1 : m->uses.maker[value];
    struct node *node = maker < 0 ? NULL : &m->model->main.nodes[maker];
    return node && *node->domain == 0 && strcmp(node->op, op) == 0 ? node : NULL;
}

bool match_single(const struct match *m, int32_t value)
{
    return m->uses.count[value] == 1;
}

bool match_number(const struct match *m, int32_t value, double *number)
{
    const struct value *v = value == VALUE_NONE ? NULL : &m->model->values[value];
    if (!v || !v->data || type_count(&v->type) != 1)
        return false;
    switch (v->type.dtype) {
    case ACL_FLOAT:
        *number = *(const float *)v->data;
        return true;
    case ACL_DOUBLE:
        *number = *(const double *)v->data;
        return true;
    case ACL_FLOAT16:
        *number = f16_to_float(*(const uint16_t *)v->data);
        return true;
    case ACL_BF16:
        *number = bf16_to_float(*(const uint16_t *)v->data);
        return true;
    default:
        return false;
    }
}

bool match_with_number(const struct match *m, const struct node *node, bool swap, int32_t *x, double *number)
{
    if (!node || node->n_in != 2)
        return false;
    *x = node->in[0];
    if (match_number(m, node->in[1], number))
        return true;
    *x = node->in[1];
    return swap && match_number(m, node->in[0], number);
}

const float *match_constant(const struct match *m, int32_t value, int32_t rank)
{
    const struct value *v = value == VALUE_NONE ? NULL : &m->model->values[value];
    return v && v->data && v->type.dtype == ACL_FLOAT && v->type.rank == rank ? v->data : NULL;
}

const struct type *match_type(const struct match *m, int32_t value)
{
    return &m->model->values[value].type;
}

bool match_replace(const struct match *m, struct node *node, const char *domain, const char *op, int32_t version,
                   int32_t n_in, const int32_t *in)
{
    struct node made;
    if (!edit_node(m->model, &made, op, version, node->name, n_in, in, node->out[0]))
        return false;
    made.domain = domain;
    if (*domain)
        made.version = version;
    made.row = operator_find(domain, op, made.version, NULL);
    *node = made;
    return true;
}

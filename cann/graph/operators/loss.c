/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses of class scores against classes. */
#include <math.h>
#include <string.h>

#include "aclnnop/aclnn_log_softmax.h"
#include "graph/operators/row.h"
#include "runtime/door.h"

struct loss {
    const double *x, *weight; /* [n, c, d], [c] or NULL */
    const int64_t *target;    /* [n, d] */
    double *y;                /* [n, d] or one */
    int64_t n, c, d, ignored;
    bool ignores;
    char reduction; /* n, s, m */
};

static int run_loss(void *arg)
{
    const struct loss *l = arg;
    const double *x = device_address(l->x), *weight = l->weight ? device_address(l->weight) : NULL;
    const int64_t *target = device_address(l->target);
    double *y = device_address(l->y), sum = 0, weights = 0;
    for (int64_t i = 0; i < l->n * l->d; i++) {
        int64_t t = target[i], batch = i / l->d, at = i % l->d;
        bool skip = l->ignores && t == l->ignored;
        if (!skip && (t < 0 || t >= l->c))
            return fail(ACL_ERROR_INVALID_PARAM, "Class %ld is out of bounds of %ld classes.", (long)t, (long)l->c);
        double w = skip ? 0 : weight ? weight[t] : 1, loss = skip ? 0 : -x[(batch * l->c + t) * l->d + at] * w;
        sum += loss;
        weights += w;
        if (l->reduction == 'n')
            y[i] = loss;
    }
    if (l->reduction != 'n')
        y[0] = l->reduction == 'm' ? sum / weights : sum;
    return 0;
}

/* The loss of logarithms of probabilities. */
static void likelihood(struct op *op, struct operand *x)
{
    struct operand *target = op_in(op, 1), *weight = op_in(op, 2);
    char reduction = *op_string(op, "reduction", "mean");
    if (x->rank < 2 || target->rank != x->rank - 1 || target->dim[0] != x->dim[0] ||
        (weight && op_count(weight) != x->dim[1])) {
        op_fail(op, GRAPH_INVALID, "scores of %d dimensions, classes of %d", x->rank, target->rank);
        return;
    }
    for (int32_t i = 2; i < x->rank; i++)
        if (target->dim[i - 1] != x->dim[i]) {
            op_fail(op, GRAPH_INVALID, "dimension %d of scores and classes differs", i);
            return;
        }
    struct operand *y = op_result(op, 0, x->dtype, reduction == 'n' ? target->rank : 0, target->dim);
    struct operand *to = op_temp(op, ACL_DOUBLE, y->rank, y->dim);
    struct loss l = {.n = x->dim[0],
                     .c = x->dim[1],
                     .d = op_span(x, 2, x->rank),
                     .ignored = op_int(op, "ignore_index", 0),
                     .ignores = node_attribute(op_node(op), "ignore_index") != NULL,
                     .reduction = reduction};
    l.x = op_data(op, op_cast(op, x, ACL_DOUBLE));
    l.target = op_data(op, op_cast(op, target, ACL_INT64));
    l.weight = op_data(op, weight ? op_cast(op, weight, ACL_DOUBLE) : NULL);
    l.y = op_data(op, to);
    op_host(op, "loss", run_loss, &l, sizeof l);
    op_copy(op, y, to);
}

static void define_likelihood(struct op *op)
{
    likelihood(op, op_in(op, 0));
}

static void define_cross_entropy(struct op *op)
{
    struct operand *x = op_in(op, 0), *log = op_like(op, 1, x);
    if (op_count(x) && x->rank > 1)
        OP_CALL(op, aclnnLogSoftmax, op_acl(op, x), 1, op_out(op, log));
    likelihood(op, log);
}

const struct operator_row operators_loss[] = {
    ROW("NegativeLogLikelihoodLoss", 12, 0, 0, 2, 3, 1, 1, define_likelihood, NULL, 0),
    ROW("SoftmaxCrossEntropyLoss", 12, 0, 0, 2, 3, 1, 2, define_cross_entropy, NULL, 0),
    {0},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* CTC loss. Lengths given as tensors are read. What PyTorch refuses falls back, so that the text is PyTorch's own. */
#include "op.h"

struct sequences {
    const struct npu_tensor *probability, *target;
    const int64_t *times, *labels;
    size_t n;
    int64_t longest;
};

static size_t lengths(struct call *c, const struct aten_row *row, int i, const int64_t **list)
{
    if (!row->code)
        return arg_ints(c, i, list);
    const struct npu_tensor *t = arg_tensor(c, i);
    if (t->rank != 1 || (t->dtype != ACL_INT64 && t->dtype != ACL_INT32))
        return 0;
    int64_t *host = call_alloc(c, ((size_t)t->size[0] + 1) * sizeof *host);
    *list = host;
    if (t->size[0] && tensor_read(c, contiguous(c, cast(c, t, ACL_INT64)), host))
        return 0;
    return (size_t)t->size[0];
}

/* Probabilities at argument i, targets and lengths behind. */
static bool read_sequences(struct call *c, const struct aten_row *row, int i, struct sequences *s)
{
    s->probability = arg_tensor(c, i);
    s->target = arg_tensor(c, i + 1);
    if ((s->probability->dtype != ACL_FLOAT && s->probability->dtype != ACL_DOUBLE) || s->probability->rank != 3 ||
        (s->target->dtype != ACL_INT64 && s->target->dtype != ACL_INT32) || s->target->rank < 1 ||
        s->target->rank > 2 || s->target->device < 0)
        return false;
    s->n = lengths(c, row, i + 2, &s->times);
    if (s->n != (size_t)s->probability->size[1] || lengths(c, row, i + 3, &s->labels) != s->n || !s->n)
        return false;
    int64_t line = s->target->size[s->target->rank - 1], sum = 0;
    s->longest = s->target->rank == 2 ? line : 0;
    for (size_t b = 0; b < s->n; b++) {
        if (s->times[b] < 0 || s->times[b] > s->probability->size[0] || s->labels[b] < 0 || s->labels[b] > line)
            return false;
        s->longest = s->labels[b] > s->longest ? s->labels[b] : s->longest;
        sum += s->labels[b];
    }
    return s->target->rank == 2 ? s->target->size[0] == s->probability->size[1] : sum == line;
}

/* log_probs, targets, input_lengths, target_lengths, blank, zero_infinity */
static int run_ctc(struct call *c, const struct aten_row *row)
{
    struct sequences s;
    int64_t blank = arg_int(c, 4, 0);
    if (!read_sequences(c, row, 0, &s) || blank < 0 || blank >= s.probability->size[2])
        return call_failed(c) ? CALL_ERROR : CALL_FALLBACK;
    int64_t n = (int64_t)s.n, size[] = {n, s.probability->size[0], 2 * s.longest + 1};
    struct npu_tensor *nll = result(c, 0, s.probability->dtype, 1, &n),
                      *alpha = result(c, 1, s.probability->dtype, 3, size);
    int status = launch(c, row->aclnn,
                        (union aclnn_value[]){{.t = s.probability},
                                              {.t = s.target},
                                              {.ints = {s.times, s.n}},
                                              {.ints = {s.labels, s.n}},
                                              {.i = blank},
                                              {.i = arg_bool(c, 5, false)},
                                              {.t = nll},
                                              {.t = alpha}});
    return status ? status : call_sync(c);
}

/* grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity */
static int run_backward(struct call *c, const struct aten_row *row)
{
    struct sequences s;
    const struct npu_tensor *g = arg_tensor(c, 0), *nll = arg_tensor(c, 5), *alpha = arg_tensor(c, 6);
    if (!read_sequences(c, row, 1, &s) || g->dtype != s.probability->dtype || nll->dtype != g->dtype ||
        alpha->dtype != g->dtype || g->rank != 1 || nll->rank != 1 || alpha->rank != 3)
        return call_failed(c) ? CALL_ERROR : CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, g->dtype, 3, s.probability->size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = g},
                                        {.t = s.probability},
                                        {.t = s.target},
                                        {.ints = {s.times, s.n}},
                                        {.ints = {s.labels, s.n}},
                                        {.t = nll},
                                        {.t = alpha},
                                        {.i = arg_int(c, 7, 0)},
                                        {.i = arg_bool(c, 8, false)},
                                        {.t = out}});
}

static struct aclnn ctc = ACLNN("aclnnCtcLoss", "TTIIibTT"), backward = ACLNN("aclnnCtcLossBackward", "TTTIITTibT");

static const struct aten_row rows[] = {
    {"_ctc_loss", run_ctc, &ctc, 0},
    {"_ctc_loss.Tensor", run_ctc, &ctc, 1},
    {"_ctc_loss_backward", run_backward, &backward, 0},
    {"_ctc_loss_backward.Tensor", run_backward, &backward, 1},
};
ATEN_FAMILY(ctc_family, rows);

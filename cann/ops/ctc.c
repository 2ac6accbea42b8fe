/* SPDX-License-Identifier: BSD-3-Clause */
/* Connectionist temporal classification of a batch, a sequence a piece (kernels/ctc.h). logProbs [T, N, C]; targets
 * [N, S], or all in one line; logAlpha [N, T, 2 S + 1], S the longest target. Targets are looked at before they are
 * used. */
#include "ops/ctc.h"

#include <math.h>

#include "kernels/ctc.h"

struct ctc_job {
    const struct ctc_kernels *kernels;
    aclDataType type;
    int64_t times, batch, classes, states, blank;
    bool zero_infinity;
    int64_t *lengths, *first, *labels; /* of each sequence: times, place of its targets, their number */
    const struct view *probability, *target, *grad, *nll_in, *alpha_in;
    struct view *nll, *alpha, *out, *scratch;
};

static char *at(const struct ctc_job *job, const struct view *v, int64_t element)
{
    return v->data + element * (job->type == ACL_DOUBLE ? 8 : 4);
}

static double number(const struct ctc_job *job, const struct view *v, int64_t i)
{
    return job->type == ACL_DOUBLE ? ((const double *)v->data)[i] : (double)((const float *)v->data)[i];
}

static void ctc_piece(void *arg, int64_t begin, int64_t end)
{
    const struct ctc_job *job = arg;
    for (int64_t b = begin; b < end; b++) {
        struct ctc c = {.times = job->lengths[b],
                        .classes = job->classes,
                        .blank = job->blank,
                        .labels = job->labels[b],
                        .label = (const int64_t *)job->target->data + job->first[b],
                        .step = job->batch * job->classes,
                        .states = job->states,
                        .all = job->times};
        const void *p = at(job, job->probability, b * job->classes);
        if (!job->grad) {
            double nll = job->kernels->forward(&c, job->type, p, at(job, job->alpha, b * job->times * job->states));
            nll = job->zero_infinity && isinf(nll) ? 0 : nll;
            if (job->type == ACL_DOUBLE)
                ((double *)job->nll->data)[b] = nll;
            else
                ((float *)job->nll->data)[b] = (float)nll;
            continue;
        }
        double *scratch = (double *)job->scratch->data + b * (2 * job->states + job->classes);
        double nll = number(job, job->nll_in, b);
        /* with zero_infinity the likelihood may have been replaced: an impossible sequence has no end state */
        int64_t last = 2 * c.labels;
        const char *alpha = at(job, job->alpha_in, b * job->times * job->states);
        bool possible = !job->zero_infinity || !c.times;
        for (int64_t s = last; !possible && s >= 0 && s >= last - 1; s--)
            possible = number(job, job->alpha_in, (b * job->times + c.times - 1) * job->states + s) > -INFINITY;
        if (possible)
            job->kernels->gradient(&c, job->type, p, alpha, nll, number(job, job->grad, b), scratch,
                                   scratch + 2 * job->states, at(job, job->out, b * job->classes));
    }
}

static int run_ctc(void *arg)
{
    struct ctc_job *job = arg;
    const int64_t *target = (const int64_t *)job->target->data;
    for (int64_t b = 0; b < job->batch; b++)
        for (int64_t i = 0; i < job->labels[b]; i++)
            if (target[job->first[b] + i] < 0 || target[job->first[b] + i] >= job->classes)
                return fail(ACL_ERROR_INVALID_PARAM,
                            "ctc_loss: label %ld of sequence %ld is out of range for %ld classes",
                            (long)target[job->first[b] + i], (long)b, (long)job->classes);
    parallel(job->batch, 1, ctc_piece, job);
    return ACLNN_SUCCESS;
}

/* logProbs at parameter p, targets, lengths behind it; blank at `blank`. */
static int read_sequences(struct plan *plan, const union op_value *arg, int p, int blank, struct ctc_job *job)
{
    static const aclDataType floats[] = {ACL_FLOAT, ACL_DOUBLE}, whole[] = {ACL_INT64, ACL_INT32};
    struct view *x = plan_view(plan, arg[p].tensor), *target = plan_view(plan, arg[p + 1].tensor);
    const aclIntArray *times = arg[p + 2].ints, *labels = arg[p + 3].ints;
    TRY(plan_check_dtype(plan, p, floats, 2));
    TRY(plan_check_dtype(plan, p + 1, whole, 2));
    if (x->rank != 3 || target->rank < 1 || target->rank > 2 || times->size != (uint64_t)x->dim[1] ||
        labels->size != (uint64_t)x->dim[1] || (target->rank == 2 && target->dim[0] != x->dim[1]))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected logProbs [T, N, C], targets of 1 or 2 dimensions and N lengths of each kind; got %d "
                         "and %d dimensions, %d and %d lengths.",
                         x->rank, target->rank, (int)times->size, (int)labels->size);
    *job = (struct ctc_job){.kernels = ISA_PICK(ctc_kernels),
                            .type = x->dtype,
                            .times = x->dim[0],
                            .batch = x->dim[1],
                            .classes = x->dim[2],
                            .blank = arg[blank].i,
                            .zero_infinity = arg[blank + 1].i};
    if (job->blank < 0 || job->blank >= job->classes)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "blank must be in label range: %ld is not below %ld.",
                         (long)job->blank, (long)job->classes);
    size_t bytes = (size_t)(job->batch + 1) * sizeof(int64_t);
    job->lengths = plan_alloc(plan, bytes);
    job->first = plan_alloc(plan, bytes);
    job->labels = plan_alloc(plan, bytes);
    int64_t longest = 0, place = 0, line = target->rank == 2 ? target->dim[1] : target->dim[0];
    for (int64_t b = 0; b < job->batch; b++) {
        job->lengths[b] = times->value[b];
        job->labels[b] = labels->value[b];
        job->first[b] = target->rank == 2 ? b * line : place;
        if (times->value[b] < 0 || times->value[b] > job->times || labels->value[b] < 0 || labels->value[b] > line)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "Lengths %ld and %ld of sequence %ld do not fit %ld times and targets of %ld.",
                             (long)times->value[b], (long)labels->value[b], (long)b, (long)job->times, (long)line);
        place += labels->value[b];
        longest = longest > labels->value[b] ? longest : labels->value[b];
    }
    if (target->rank == 1 && place > line)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected at least %ld targets, but got %ld.", (long)place,
                         (long)line);
    longest = target->rank == 2 ? target->dim[1] : longest;
    job->states = 2 * longest + 1;
    job->probability = plan_contiguous(plan, x, x->dtype);
    job->target = plan_contiguous(plan, target, ACL_INT64);
    return ACLNN_SUCCESS;
}

static uint64_t work(const struct ctc_job *job)
{
    return (uint64_t)(job->batch * job->times * (job->states + job->classes)) * 40;
}

int prepare_ctc_loss(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct ctc_job *job = plan_alloc(plan, sizeof *job);
    (void)row;
    TRY(read_sequences(plan, arg, 0, 4, job));
    TRY(plan_check_shape(plan, 6, 1, &job->batch));
    struct view *nll = plan_view(plan, arg[6].tensor), *alpha = plan_view(plan, arg[7].tensor);
    for (int p = 6; p < 8; p++)
        TRY(plan_check_dtype(plan, p, &job->type, 1));
    bool fits =
        alpha->rank == 3 && alpha->dim[0] == job->batch && alpha->dim[1] == job->times && alpha->dim[2] >= job->states;
    if (!fits)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected logAlphaOut to have size [%ld,%ld,%ld].",
                         (long)job->batch, (long)job->times, (long)job->states);
    job->states = alpha->dim[2];
    if (!job->batch)
        return ACLNN_SUCCESS;
    job->nll = plan_output(plan, nll, job->type);
    job->alpha = plan_output(plan, alpha, job->type);
    plan_step(plan, run_ctc, job, work(job));
    plan_finish(plan, job->nll, nll);
    plan_finish(plan, job->alpha, alpha);
    return ACLNN_SUCCESS;
}

int prepare_ctc_loss_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const uint64_t zero[2] = {0};
    struct ctc_job *job = plan_alloc(plan, sizeof *job);
    (void)row;
    TRY(read_sequences(plan, arg, 1, 7, job));
    struct view *alpha = plan_view(plan, arg[6].tensor), *out = plan_view(plan, arg[9].tensor);
    static const int typed[] = {0, 5, 6, 9};
    for (int i = 0; i < 4; i++)
        TRY(plan_check_dtype(plan, typed[i], &job->type, 1));
    TRY(plan_check_shape(plan, 0, 1, &job->batch));
    TRY(plan_check_shape(plan, 5, 1, &job->batch));
    TRY(plan_check_shape(plan, 9, 3, arg[1].tensor->view.dim));
    if (alpha->rank != 3 || alpha->dim[0] != job->batch || alpha->dim[1] != job->times || alpha->dim[2] < job->states)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected logAlpha to have size [%ld,%ld,%ld].",
                         (long)job->batch, (long)job->times, (long)job->states);
    job->states = alpha->dim[2];
    if (!view_count(out))
        return ACLNN_SUCCESS;
    job->scratch = plan_temp(plan, ACL_DOUBLE, 2, (int64_t[]){job->batch, 2 * job->states + job->classes});
    job->grad = plan_contiguous(plan, plan_view(plan, arg[0].tensor), job->type);
    job->nll_in = plan_contiguous(plan, plan_view(plan, arg[5].tensor), job->type);
    job->alpha_in = plan_contiguous(plan, alpha, job->type);
    job->out = plan_output(plan, out, job->type);
    plan_fill(plan, job->out, zero);
    plan_step(plan, run_ctc, job, work(job) * 2);
    plan_finish(plan, job->out, out);
    return ACLNN_SUCCESS;
}

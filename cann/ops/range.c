/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences and unit matrices. Every element is computed from its index alone, in double (integers in int64), so that a
 * sequence does not depend on how it is cut. */
#include "ops/range.h"

#include <math.h>
#include <string.h>

#include "ops/remap.h"

enum sequence_kind { ARANGE, LINSPACE, LOGSPACE };

struct sequence {
    struct view *out; /* contiguous */
    enum sequence_kind kind;
    int64_t n;
    double start[2], end[2], step[2]; /* real and imaginary parts */
    int64_t start_i, step_i;
    double base;
};

static double element(const struct sequence *s, int64_t i, int part)
{
    if (s->kind == ARANGE)
        return s->start[part] + (double)i * s->step[part];
    /* from the nearer end, so that both are exact; fused, as PyTorch's build does it: integers show the last bit */
    double x = i < s->n / 2 ? fma(s->step[part], (double)i, s->start[part])
                            : fma(-s->step[part], (double)(s->n - i - 1), s->end[part]);
    return s->kind == LOGSPACE ? pow(s->base, x) : x;
}

static int64_t truncated(double x)
{
    return x >= 0x1p63 || x != x ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

static int64_t whole(const struct sequence *s, int64_t i)
{
    if (s->kind == ARANGE)
        return (int64_t)((uint64_t)s->start_i + (uint64_t)i * (uint64_t)s->step_i);
    return truncated(element(s, i, 0));
}

/* The commonest sequences in plain loops. */
static bool arange_piece(const struct sequence *s, int64_t begin, int64_t end)
{
    const double start = s->start[0], step = s->step[0];
    const uint64_t first = (uint64_t)s->start_i, by = (uint64_t)s->step_i;
    if (s->kind != ARANGE)
        return false;
    if (s->out->dtype == ACL_FLOAT) {
        float *restrict out = (float *)s->out->data;
        for (int64_t i = begin; i < end; i++)
            out[i] = (float)(start + (double)i * step);
        return true;
    }
    if (s->out->dtype == ACL_INT64) {
        int64_t *restrict out = (int64_t *)s->out->data;
        for (int64_t i = begin; i < end; i++)
            out[i] = (int64_t)(first + (uint64_t)i * by);
        return true;
    }
    return false;
}

static void sequence_piece(void *arg, int64_t begin, int64_t end)
{
    const struct sequence *s = arg;
    if (arange_piece(s, begin, end))
        return;
    char *out = s->out->data;
    switch ((int)s->out->dtype) {
    case ACL_FLOAT:
        for (int64_t i = begin; i < end; i++)
            ((float *)out)[i] = (float)element(s, i, 0);
        break;
    case ACL_DOUBLE:
        for (int64_t i = begin; i < end; i++)
            ((double *)out)[i] = element(s, i, 0);
        break;
    case ACL_FLOAT16:
        for (int64_t i = begin; i < end; i++)
            ((uint16_t *)out)[i] = f16_from_float((float)element(s, i, 0));
        break;
    case ACL_BF16:
        for (int64_t i = begin; i < end; i++)
            ((uint16_t *)out)[i] = bf16_from_float((float)element(s, i, 0));
        break;
    case ACL_COMPLEX64:
        for (int64_t i = 2 * begin; i < 2 * end; i++)
            ((float *)out)[i] = (float)element(s, i / 2, i & 1);
        break;
    case ACL_COMPLEX128:
        for (int64_t i = 2 * begin; i < 2 * end; i++)
            ((double *)out)[i] = element(s, i / 2, i & 1);
        break;
    case ACL_BOOL:
        for (int64_t i = begin; i < end; i++)
            out[i] = whole(s, i) != 0;
        break;
    default: { /* integers: the low bytes, little endian */
        size_t size = dtype_size(s->out->dtype);
        for (int64_t i = begin; i < end; i++) {
            int64_t value = whole(s, i);
            memcpy(out + (size_t)i * size, &value, size);
        }
    }
    }
}

static int run_sequence(void *arg)
{
    struct sequence *s = arg;
    parallel(s->n, s->kind == LOGSPACE ? 1024 : 16384, sequence_piece, s);
    return ACLNN_SUCCESS;
}

static int finish(struct plan *plan, struct sequence *s, struct view *out)
{
    s->out = plan_output(plan, out, out->dtype);
    s->n = view_count(out);
    if (s->n)
        plan_step(plan, run_sequence, s, (uint64_t)s->n * (s->kind == LOGSPACE ? 20 : 1));
    plan_finish(plan, s->out, out);
    return ACLNN_SUCCESS;
}

static double part(const aclScalar *s, int k)
{
    return k == 0 ? scalar_double(s) : dtype_is_complex(s->dtype) ? s->c[1] : 0;
}

int prepare_arange(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct sequence *s = plan_alloc(plan, sizeof *s);
    struct view *out = plan_view(plan, arg[3].tensor);
    s->kind = ARANGE;
    s->start[0] = scalar_double(arg[0].scalar);
    s->step[0] = scalar_double(arg[2].scalar);
    s->start_i = scalar_int(arg[0].scalar);
    s->step_i = scalar_int(arg[2].scalar);
    double end = scalar_double(arg[1].scalar), size = (end - s->start[0]) / s->step[0];
    if (s->step[0] == 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "step must be nonzero");
    if (!isfinite(s->start[0]) || !isfinite(end))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "unsupported range: %g -> %g", s->start[0], end);
    if (size < 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "upper bound and lower bound inconsistent with step sign");
    /* a length may be off by one where rounding decides; the caller's out counts */
    double expected = row->code ? floor(size) + 1 : ceil(size);
    if (out->rank != 1 || fabs((double)out->dim[0] - expected) > 1 + expected * 1e-6)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected out to have %.0f elements, but got %lld.", expected,
                         (long long)view_count(out));
    return finish(plan, s, out);
}

/* PyTorch's step has the type of the result. */
static double rounded(double x, aclDataType dtype)
{
    switch ((int)dtype) {
    case ACL_FLOAT16:
        return f16_to_float(f16_from_float((float)x));
    case ACL_BF16:
        return bf16_to_float(bf16_from_float((float)x));
    case ACL_FLOAT:
    case ACL_COMPLEX64:
        return (float)x;
    default:
        return x;
    }
}

int prepare_linspace(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int last = row->params - 1;
    struct sequence *s = plan_alloc(plan, sizeof *s);
    struct view *out = plan_view(plan, arg[last].tensor);
    int64_t steps = arg[2].i;
    s->kind = last == 4 ? LOGSPACE : LINSPACE;
    s->base = last == 4 ? arg[3].d : 0;
    if (steps < 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "number of steps must be non-negative");
    TRY(plan_check_shape(plan, last, 1, &steps));
    bool integer = dtype_is_int(out->dtype);
    for (int k = 0; k < 2; k++) {
        s->start[k] = part(arg[0].scalar, k);
        s->end[k] = part(arg[1].scalar, k);
        if (integer && s->kind == LINSPACE) {
            s->start[k] = trunc(s->start[k]);
            s->end[k] = trunc(s->end[k]);
        }
        s->step[k] = steps > 1 ? rounded((s->end[k] - s->start[k]) / (double)(steps - 1), out->dtype) : 0;
        if (steps == 1)
            s->end[k] = s->start[k];
    }
    return finish(plan, s, out);
}

int prepare_eye(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[2].tensor);
    int64_t shape[2] = {arg[0].i, arg[1].i}, n = shape[0] < shape[1] ? shape[0] : shape[1];
    TRY(plan_check_shape(plan, 2, 2, shape));
    plan_fill(plan, out, (const char[16]){0});
    int64_t *at = plan_alloc(plan, sizeof *at);
    *at = REMAP_FILL;
    struct remap_job *job = remap_new(plan, out, NULL);
    remap_fill(job, &(aclScalar){.dtype = ACL_INT64, .i = 1});
    remap_dim(job, 1, 0, 0)->in_at = at;
    remap_dim(job, n, out->stride[0] + out->stride[1], 0);
    remap_finish(plan, job, true);
    return ACLNN_SUCCESS;
}

/* ---- one_hot ---- */

struct one_hot {
    struct view *out, *index, *on, *off; /* out and index contiguous */
    int64_t outer, classes, inner;
};

static void one_hot_piece(void *arg, int64_t begin, int64_t end)
{
    const struct one_hot *t = arg;
    size_t size = dtype_size(t->out->dtype);
    for (int64_t i = begin; i < end; i++) {
        int64_t class = ((const int64_t *)t->index->data)[i];
        char *out = t->out->data + (size_t)(i / t->inner * t->classes * t->inner + i % t->inner) * size;
        for (int64_t k = 0; k < t->classes; k++)
            memcpy(out + (size_t)(k * t->inner) * size, k == class ? t->on->data : t->off->data, size);
    }
}

static int run_one_hot(void *arg)
{
    struct one_hot *t = arg;
    parallel(t->outer * t->inner, 8192 / (t->classes + 1) + 1, one_hot_piece, t);
    return ACLNN_SUCCESS;
}

int prepare_one_hot(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct view *out = plan_view(plan, arg[5].tensor), *index = plan_view(plan, arg[0].tensor);
    int32_t axis = (int32_t)(arg[4].i < 0 ? arg[4].i + out->rank : arg[4].i);
    int64_t shape[VIEW_RANK_MAX];
    if (out->rank != index->rank + 1 || axis < 0 || axis >= out->rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "axis %lld does not lie in out's dimensions.",
                         (long long)arg[4].i);
    for (int d = 0; d < out->rank; d++)
        shape[d] = d == axis ? arg[1].i : index->dim[d < axis ? d : d - 1];
    TRY(plan_check_shape(plan, 5, out->rank, shape));
    struct one_hot *t = plan_alloc(plan, sizeof *t);
    t->outer = t->inner = 1;
    for (int d = 0; d < index->rank; d++)
        *(d < axis ? &t->outer : &t->inner) *= index->dim[d];
    t->classes = arg[1].i;
    t->index = plan_contiguous(plan, index, ACL_INT64);
    t->on = plan_contiguous(plan, plan_view(plan, arg[2].tensor), out->dtype);
    t->off = plan_contiguous(plan, plan_view(plan, arg[3].tensor), out->dtype);
    if (view_count(t->on) != 1 || view_count(t->off) != 1)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "onValue and offValue must have 1 element.");
    t->out = plan_output(plan, out, out->dtype);
    if (view_count(out))
        plan_step(plan, run_one_hot, t, (uint64_t)view_count(out));
    plan_finish(plan, t->out, out);
    return ACLNN_SUCCESS;
}

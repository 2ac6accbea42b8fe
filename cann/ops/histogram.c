/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms: every piece of the elements counts for itself; the counts are added in order. */
#include "ops/histogram.h"

#include <math.h>

#include "kernels/histogram.h"

enum { PIECE = 65536, PIECES_MAX = 16 };

struct histogram {
    const struct histogram_kernels *kernel;
    const struct view *x, *weight, *counts; /* dense; counts: int64[pieces][bins] or double */
    struct view *sums;                      /* the counts of all, in counts' type */
    int64_t n, bins, pieces, piece;
    bool integers;    /* one bin a value */
    double low, high; /* equal: from the data */
    int64_t outside;  /* an integer that has no place, −1 */
};

static int64_t bytes(const struct view *v)
{
    return (int64_t)dtype_size(v->dtype);
}

static void count_pieces(void *arg, int64_t begin, int64_t end)
{
    struct histogram *h = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i * h->piece, m = h->n - from < h->piece ? h->n - from : h->piece, missed = -1;
        char *counts = h->counts->data + i * h->bins * 8;
        const char *x = h->x->data + from * bytes(h->x);
        memset(counts, 0, (size_t)h->bins * 8);
        if (h->integers) {
            if (h->weight)
                missed = h->kernel->weights(h->x->dtype, m, x, h->weight->dtype,
                                            h->weight->data + from * bytes(h->weight), h->bins, (double *)counts);
            else
                missed = h->kernel->values(h->x->dtype, m, x, h->bins, (int64_t *)counts);
        } else {
            h->kernel->bins(h->x->dtype, m, x, h->low, h->high, h->bins, (int64_t *)counts);
        }
        if (missed >= 0)
            __atomic_store_n(&h->outside, from + missed, __ATOMIC_RELAXED);
    }
}

static void add_counts(struct histogram *h)
{
    for (int64_t b = 0; b < h->bins; b++) {
        if (h->sums->dtype == ACL_DOUBLE) {
            double sum = 0;
            for (int64_t i = 0; i < h->pieces; i++)
                sum += ((const double *)h->counts->data)[i * h->bins + b];
            ((double *)h->sums->data)[b] = sum;
        } else {
            int64_t sum = 0;
            for (int64_t i = 0; i < h->pieces; i++)
                sum += ((const int64_t *)h->counts->data)[i * h->bins + b];
            ((int64_t *)h->sums->data)[b] = sum;
        }
    }
}

static int run_histogram(void *arg)
{
    struct histogram *h = arg;
    double low = h->low, high = h->high;
    if (low == high && h->n)
        h->kernel->range(h->x->dtype, h->n, h->x->data, &h->low, &h->high);
    if (!isfinite(h->low) || !isfinite(h->high))
        return fail(ACLNN_ERR_PARAM_INVALID, "range of [%g, %g] is not finite", h->low, h->high);
    if (h->low == h->high) {
        h->low--;
        h->high++;
    }
    parallel(h->pieces, 1, count_pieces, h);
    h->low = low;
    h->high = high;
    add_counts(h);
    return 0;
}

static int run_count(void *arg)
{
    struct histogram *h = arg;
    h->outside = -1;
    parallel(h->pieces, 1, count_pieces, h);
    if (h->outside >= 0)
        return fail(ACLNN_ERR_PARAM_INVALID,
                    "Bincount: element %ld of self is negative or has no place in out of size %ld.", (long)h->outside,
                    (long)h->bins);
    add_counts(h);
    return 0;
}

static struct histogram *new_histogram(struct plan *plan, const aclTensor *self, int64_t bins, aclDataType sums)
{
    struct histogram *h = plan_alloc(plan, sizeof *h);
    struct view *x = plan_view(plan, self);
    h->kernel = ISA_PICK(histogram_kernels);
    h->x = plan_contiguous(plan, x, x->dtype);
    h->n = view_count(x);
    h->bins = bins;
    h->pieces = h->n / PIECE < 1 ? 1 : h->n / PIECE < PIECES_MAX ? h->n / PIECE : PIECES_MAX;
    h->piece = (h->n + h->pieces - 1) / h->pieces;
    h->counts = plan_temp(plan, sums, 1, (int64_t[]){h->pieces * bins});
    h->sums = plan_temp(plan, sums, 1, &bins);
    return h;
}

static const aclDataType reals[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                                    ACL_UINT8, ACL_INT16,   ACL_INT32, ACL_INT64};

int histogram_prepare(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int64_t bins = arg[1].i;
    (void)row;
    TRY(plan_check_dtype(plan, 0, reals, 9));
    TRY(plan_check_dtype(plan, 4, reals, 9));
    double low = scalar_double(arg[2].scalar), high = scalar_double(arg[3].scalar);
    if (bins <= 0 || bins > INT32_MAX)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected bins to be positive, but got %ld.", (long)bins);
    if (!(low <= high))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected max to be no less than min, but got min %g and max %g.", low, high);
    TRY(plan_check_shape(plan, 4, 1, &bins));
    struct histogram *h = new_histogram(plan, arg[0].tensor, bins, ACL_INT64);
    h->low = low;
    h->high = high;
    plan_step(plan, run_histogram, h, (uint64_t)h->n * 2);
    plan_copy(plan, plan_view(plan, arg[4].tensor), h->sums);
    return ACLNN_SUCCESS;
}

int histogram_prepare_count(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType whole[] = {ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64};
    static const aclDataType weights[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                                          ACL_UINT8, ACL_INT16,   ACL_INT32, ACL_INT64,  ACL_BOOL};
    const struct view *self = &arg[0].tensor->view, *out = &arg[3].tensor->view;
    (void)row;
    TRY(plan_check_dtype(plan, 0, whole, 5));
    TRY(plan_check_dtype(plan, 1, weights, 10));
    if (self->rank != 1 || out->rank != 1 || arg[2].i < 0 || out->dim[0] < arg[2].i)
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "Expected self and out to have 1 dimension and out at least minlength %ld elements, but got %d and %d "
            "dimensions.",
            (long)arg[2].i, self->rank, out->rank);
    if (arg[1].tensor)
        TRY(plan_check_shape(plan, 1, 1, self->dim));
    struct histogram *h = new_histogram(plan, arg[0].tensor, out->dim[0], arg[1].tensor ? ACL_DOUBLE : ACL_INT64);
    h->integers = true;
    if (arg[1].tensor) {
        struct view *weight = plan_view(plan, arg[1].tensor);
        h->weight = plan_contiguous(plan, weight, weight->dtype);
    }
    plan_step(plan, run_count, h, (uint64_t)h->n * 2);
    plan_copy(plan, plan_view(plan, arg[3].tensor), h->sums);
    return ACLNN_SUCCESS;
}

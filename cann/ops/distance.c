/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances (kernels/distance.h): of all pairs of rows from two batches of matrices, or of the pairs i < j of one
 * matrix, whose results stand in the order (0,1) (0,2) … (1,2) …. Work is cut by the first row of a pair. */
#include "ops/distance.h"

#include <math.h>
#include <string.h>

#include "kernels/distance.h"

struct distance_job {
    const struct distance_kernels *kernels;
    aclDataType type;
    int64_t batch, n, m, d; /* n rows against m; of one matrix: n == m */
    double p;
    const struct view *x, *y, *g, *distance;
    struct view *out, *scratch; /* scratch: a row of gradients and of distances for each row, of one matrix */
};

static char *at(const struct distance_job *job, const struct view *v, int64_t element)
{
    return v->data + element * (job->type == ACL_DOUBLE ? 8 : 4);
}

static void cdist_piece(void *arg, int64_t begin, int64_t end)
{
    const struct distance_job *job = arg;
    for (; begin < end; begin++) {
        const void *x = at(job, job->x, begin * job->d), *y = at(job, job->y, begin / job->n * job->m * job->d);
        if (job->g)
            job->kernels->gradient(job->type, x, y, at(job, job->g, begin * job->m),
                                   at(job, job->distance, begin * job->m), job->m, job->d, job->p,
                                   at(job, job->out, begin * job->d));
        else
            job->kernels->row(job->type, x, y, job->m, job->d, job->p, at(job, job->out, begin * job->m));
    }
}

static int run_cdist(void *arg)
{
    struct distance_job *job = arg;
    parallel(job->batch * job->n, 4096 / (job->m * job->d + 1) + 1, cdist_piece, job);
    return ACLNN_SUCCESS;
}

/* Where the pairs of row i begin. */
static int64_t pairs_of(int64_t n, int64_t i)
{
    return i * (2 * n - i - 1) / 2;
}

static void pdist_piece(void *arg, int64_t begin, int64_t end)
{
    const struct distance_job *job = arg;
    size_t size = job->type == ACL_DOUBLE ? 8 : 4;
    int64_t n = job->n;
    for (int64_t i = begin; i < end; i++) {
        const void *x = at(job, job->x, i * job->d);
        if (!job->g) {
            job->kernels->row(job->type, x, at(job, job->x, (i + 1) * job->d), n - i - 1, job->d, job->p,
                              at(job, job->out, pairs_of(n, i)));
            continue;
        }
        for (int64_t j = 0; j < n; j++) { /* its row of the square */
            int64_t pair = i < j ? pairs_of(n, i) + j - i - 1 : pairs_of(n, j) + i - j - 1;
            const char zero[8] = {0};
            memcpy(at(job, job->scratch, (2 * i) * n + j), i == j ? zero : at(job, job->g, pair), size);
            memcpy(at(job, job->scratch, (2 * i + 1) * n + j), i == j ? zero : at(job, job->distance, pair), size);
        }
        job->kernels->gradient(job->type, x, job->x->data, at(job, job->scratch, 2 * i * n),
                               at(job, job->scratch, (2 * i + 1) * n), n, job->d, job->p,
                               at(job, job->out, i * job->d));
    }
}

static int run_pdist(void *arg)
{
    struct distance_job *job = arg;
    parallel(job->n, 4096 / (job->n * job->d + 1) + 1, pdist_piece, job);
    return ACLNN_SUCCESS;
}

static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
static const uint64_t zero[2] = {0};

static struct distance_job *job_new(struct plan *plan, aclDataType type, double p)
{
    struct distance_job *job = plan_alloc(plan, sizeof *job);
    job->kernels = ISA_PICK(distance_kernels);
    job->type = type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    job->p = p;
    job->batch = 1;
    return job;
}

static int check_norm(struct plan *plan, double p)
{
    return p >= 0 ? ACLNN_SUCCESS
                  : plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected p to be non-negative, but got %g.", p);
}

/* The shape of the distances, and x1 and x2 dense with the batch of both. at: x1's parameter. */
static int read_pair(struct plan *plan, const union op_value *arg, int first, struct distance_job *job, int64_t *dim,
                     int32_t *rank)
{
    struct view *x[2] = {plan_view(plan, arg[first].tensor), plan_view(plan, arg[first + 1].tensor)};
    TRY(plan_check_dtype(plan, first, types, 4));
    TRY(plan_check_dtype(plan, first + 1, &x[0]->dtype, 1));
    int32_t r = x[0]->rank > x[1]->rank ? x[0]->rank : x[1]->rank;
    bool fits = x[0]->rank >= 2 && x[1]->rank >= 2 && x[0]->dim[x[0]->rank - 1] == x[1]->dim[x[1]->rank - 1];
    for (int32_t i = 0; fits && i < r - 2; i++) {
        int64_t a = i < r - x[0]->rank ? 1 : x[0]->dim[i - r + x[0]->rank],
                b = i < r - x[1]->rank ? 1 : x[1]->dim[i - r + x[1]->rank];
        fits = a == b || a == 1 || b == 1;
        dim[i] = a == 1 ? b : a;
        job->batch *= dim[i];
    }
    if (!fits) {
        char left[256], right[256];
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Rows of sizes %s and %s have no distances.",
                         shape_text(left, sizeof left, x[0]->rank, x[0]->dim),
                         shape_text(right, sizeof right, x[1]->rank, x[1]->dim));
    }
    for (int k = 0; k < 2; k++) {
        int64_t whole[VIEW_RANK_MAX];
        memcpy(whole, dim, sizeof whole);
        whole[r - 2] = x[k]->dim[x[k]->rank - 2];
        whole[r - 1] = x[k]->dim[x[k]->rank - 1];
        struct view *wide = plan_alias(plan, x[k], 0);
        view_broadcast(wide, x[k], r, whole);
        *(k ? &job->y : &job->x) = plan_contiguous(plan, wide, job->type);
    }
    job->n = dim[r - 2] = x[0]->dim[x[0]->rank - 2];
    job->m = dim[r - 1] = x[1]->dim[x[1]->rank - 2];
    job->d = x[0]->dim[x[0]->rank - 1];
    *rank = r;
    return ACLNN_SUCCESS;
}

static void add_job(struct plan *plan, struct distance_job *job, struct view *out, int (*run)(void *), bool adds)
{
    if (!view_count(out))
        return;
    job->out = plan_output(plan, out, job->type);
    if (adds)
        plan_fill(plan, job->out, zero);
    plan_step(plan, run, job, (uint64_t)(job->batch * job->n * job->m * (job->d + 1)) * 2);
    plan_finish(plan, job->out, out);
}

int prepare_cdist(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct distance_job *job = job_new(plan, arg[0].tensor->view.dtype, arg[2].d);
    int64_t dim[VIEW_RANK_MAX] = {0};
    int32_t rank;
    TRY(check_norm(plan, arg[2].d));
    TRY(read_pair(plan, arg, 0, job, dim, &rank));
    TRY(plan_check_shape(plan, 4, rank, dim));
    TRY(plan_check_dtype(plan, 4, &arg[0].tensor->view.dtype, 1));
    add_job(plan, job, plan_view(plan, arg[4].tensor), run_cdist, false);
    return ACLNN_SUCCESS;
}

/* grad, x1, x2, cdist, p, out: the gradient of x1 */
int prepare_cdist_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct distance_job *job = job_new(plan, arg[1].tensor->view.dtype, arg[4].d);
    int64_t dim[VIEW_RANK_MAX] = {0};
    int32_t rank;
    TRY(check_norm(plan, arg[4].d));
    TRY(read_pair(plan, arg, 1, job, dim, &rank));
    for (int k = 0; k < 4; k += 3) {
        TRY(plan_check_shape(plan, k, rank, dim));
        TRY(plan_check_dtype(plan, k, &arg[1].tensor->view.dtype, 1));
    }
    dim[rank - 1] = job->d;
    TRY(plan_check_shape(plan, 5, rank, dim));
    TRY(plan_check_dtype(plan, 5, &arg[1].tensor->view.dtype, 1));
    job->g = plan_contiguous(plan, plan_view(plan, arg[0].tensor), job->type);
    job->distance = plan_contiguous(plan, plan_view(plan, arg[3].tensor), job->type);
    add_job(plan, job, plan_view(plan, arg[5].tensor), run_cdist, true);
    return ACLNN_SUCCESS;
}

static int read_matrix(struct plan *plan, const union op_value *arg, int p, struct distance_job *job, int64_t *pairs)
{
    struct view *x = plan_view(plan, arg[p].tensor);
    TRY(plan_check_dtype(plan, p, types, 4));
    if (x->rank != 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected self to have 2 dimensions, but got %d.", x->rank);
    job->n = job->m = x->dim[0];
    job->d = x->dim[1];
    job->x = plan_contiguous(plan, x, job->type);
    *pairs = job->n * (job->n - 1) / 2;
    return ACLNN_SUCCESS;
}

int prepare_pdist(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    double p = row->param[1].kind == 'S' ? scalar_double(arg[1].scalar) : arg[1].d;
    struct distance_job *job = job_new(plan, arg[0].tensor->view.dtype, p);
    int64_t pairs;
    TRY(check_norm(plan, p));
    TRY(read_matrix(plan, arg, 0, job, &pairs));
    TRY(plan_check_shape(plan, 2, 1, &pairs));
    TRY(plan_check_dtype(plan, 2, &arg[0].tensor->view.dtype, 1));
    add_job(plan, job, plan_view(plan, arg[2].tensor), run_pdist, false);
    return ACLNN_SUCCESS;
}

int prepare_pdist_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    (void)row;
    struct distance_job *job = job_new(plan, arg[1].tensor->view.dtype, arg[3].d);
    int64_t pairs;
    TRY(check_norm(plan, arg[3].d));
    TRY(read_matrix(plan, arg, 1, job, &pairs));
    for (int k = 0; k < 3; k += 2) {
        TRY(plan_check_shape(plan, k, 1, &pairs));
        TRY(plan_check_dtype(plan, k, &arg[1].tensor->view.dtype, 1));
    }
    TRY(plan_check_shape(plan, 4, 2, arg[1].tensor->view.dim));
    TRY(plan_check_dtype(plan, 4, &arg[1].tensor->view.dtype, 1));
    struct view *out = plan_view(plan, arg[4].tensor);
    if (!view_count(out))
        return ACLNN_SUCCESS;
    if (job->n > INT32_MAX)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%ld rows have too many pairs.", (long)job->n);
    job->scratch = plan_temp(plan, job->type, 2, (int64_t[]){2 * job->n, job->n});
    job->g = plan_contiguous(plan, plan_view(plan, arg[0].tensor), job->type);
    job->distance = plan_contiguous(plan, plan_view(plan, arg[2].tensor), job->type);
    add_job(plan, job, out, run_pdist, true);
    return ACLNN_SUCCESS;
}

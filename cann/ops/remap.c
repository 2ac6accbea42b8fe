/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/remap.h"

#include <string.h>

enum { GRAIN_BYTES = 65536, RUN_MIN = 4 };

/* ---- remap ---- */

struct remap_job *remap_new(struct plan *plan, struct view *out, struct view *in)
{
    struct remap_job *job = plan_alloc(plan, sizeof *job);
    job->kernels = ISA_PICK(remap_kernels);
    job->out = out;
    job->in = in;
    job->map.size = (int32_t)dtype_size(out->dtype);
    return job;
}

struct remap_dim *remap_dim(struct remap_job *job, int64_t count, int64_t out_step, int64_t in_step)
{
    struct remap_dim *d = &job->map.dim[job->map.rank++];
    *d = (struct remap_dim){.count = count, .out_step = out_step, .in_step = in_step};
    return d;
}

void remap_runs(struct remap_job *job, const struct remap_run *run, int64_t runs)
{
    job->map.run = run;
    job->map.runs = runs;
}

void remap_fill(struct remap_job *job, const aclScalar *value)
{
    scalar_store(value, job->out->dtype, job->map.fill);
}

static bool affine(const struct remap_dim *d)
{
    return !d->out_at && !d->in_at;
}

static void merge(struct remap *r)
{
    int n = 0;
    for (int k = 0; k < r->rank; k++) {
        struct remap_dim d = r->dim[k];
        bool plain = affine(&d) && !(r->run && k == r->rank - 1);
        if (plain && d.count == 1)
            continue;
        struct remap_dim *last = n ? &r->dim[n - 1] : NULL;
        if (last && plain && affine(last) && last->out_step == d.count * d.out_step &&
            last->in_step == d.count * d.in_step) {
            d.count *= last->count;
            *last = d;
        } else {
            r->dim[n++] = d;
        }
    }
    if (!n)
        r->dim[n++] = (struct remap_dim){.count = 1, .out_step = 1, .in_step = 1};
    r->rank = n;
}

static int64_t next_run(const struct remap_dim *d, int64_t i)
{
    int64_t from = d->in_at[i], n = 1;
    while (i + n < d->count && d->in_at[i + n] == (from == REMAP_FILL ? from : from + n))
        n++;
    return n;
}

static void find_runs(struct plan *plan, struct remap *r)
{
    const struct remap_dim *d = &r->dim[r->rank - 1];
    if (!d->in_at || d->out_at || d->out_step != 1)
        return;
    int64_t runs = 0;
    for (int64_t i = 0; i < d->count; i += next_run(d, i))
        runs++;
    if (d->count / RUN_MIN < runs)
        return;
    struct remap_run *run = plan_alloc(plan, (size_t)runs * sizeof *run);
    r->run = run;
    r->runs = runs;
    for (int64_t i = 0; i < d->count; i += run++->length)
        *run = (struct remap_run){i, next_run(d, i), d->in_at[i]};
}

static void remap_piece(void *arg, int64_t begin, int64_t end)
{
    struct remap_job *job = arg;
    job->kernels->remap(&job->map, begin, end);
}

static int run_remap(void *arg)
{
    struct remap_job *job = arg;
    job->map.out = job->out->data + job->out_base * job->map.size;
    job->map.in = job->in ? job->in->data + job->in_base * job->map.size : NULL;
    parallel(job->total, GRAIN_BYTES / job->map.size, remap_piece, job);
    return ACLNN_SUCCESS;
}

void remap_finish(struct plan *plan, struct remap_job *job, bool tables_later)
{
    job->total = 1;
    for (int k = 0; k < job->map.rank; k++)
        job->total *= job->map.dim[k].count;
    if (!job->total)
        return;
    merge(&job->map);
    if (!tables_later && !job->map.run)
        find_runs(plan, &job->map);
    plan_step(plan, run_remap, job, (uint64_t)(job->total * job->map.size) / 5 + 20);
}

/* ---- fold ---- */

struct fold_job *fold_new(struct plan *plan, struct view *out, struct view *in)
{
    struct fold_job *job = plan_alloc(plan, sizeof *job);
    job->kernels = ISA_PICK(remap_kernels);
    job->out = out;
    job->in = in;
    job->fold.dtype = out->dtype;
    return job;
}

struct fold_dim *fold_dim(struct fold_job *job, int64_t count, int64_t out_step, int64_t in_step)
{
    struct fold_dim *d = &job->fold.dim[job->fold.rank++];
    *d = (struct fold_dim){.count = count, .out_step = out_step, .in_step = in_step};
    return d;
}

static void fold_piece(void *arg, int64_t begin, int64_t end)
{
    struct fold_job *job = arg;
    job->kernels->fold(&job->fold, begin, end);
}

static int run_fold(void *arg)
{
    struct fold_job *job = arg;
    job->fold.out = job->out->data;
    job->fold.in = job->in->data;
    int64_t inner = job->fold.dim[job->fold.rank - 1].count;
    parallel(job->rows, 8192 / inner + 1, fold_piece, job);
    return ACLNN_SUCCESS;
}

void fold_finish(struct plan *plan, struct fold_job *job)
{
    struct fold *f = &job->fold;
    job->rows = 1;
    for (int k = 0; k < f->rank - 1; k++)
        job->rows *= f->dim[k].count;
    int64_t inner = f->dim[f->rank - 1].count;
    if (job->rows > 0 && inner > 0)
        plan_step(plan, run_fold, job, (uint64_t)(job->rows * inner) * 2);
}

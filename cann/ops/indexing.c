/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/indexing.h"

#include "ops/walk.h"

enum { SCATTER_GRAIN = 16384, FREE_BYTES = 1000, SHORT_RUN = 8, CACHED = 1 << 20, LINE = 64 };

int index_fail(const struct index_site *site, int64_t value)
{
    switch (site->text) {
    case INDEX_TEXT_SELF:
        return fail(ACLNN_ERR_PARAM_INVALID, "index out of range in self");
    case INDEX_TEXT_ELEMENTS:
        return fail(ACLNN_ERR_PARAM_INVALID, "out of range: tried to access index %lld on a tensor of %lld elements.",
                    (long long)value, (long long)site->limit);
    case INDEX_TEXT_COPY:
        return fail(ACLNN_ERR_PARAM_INVALID,
                    "index_copy_(): index %lld is out of bounds for dimension %d with size %lld", (long long)value,
                    site->dim, (long long)site->limit);
    case INDEX_TEXT_BOUNDS:
        break;
    }
    return fail(ACLNN_ERR_PARAM_INVALID, "index %lld is out of bounds for dimension %d with size %lld",
                (long long)value, site->dim, (long long)site->limit);
}

static int outcome(const struct index_error *error, const struct index_site *site)
{
    return error->found ? index_fail(site, error->value) : ACLNN_SUCCESS;
}

int gather_run(const struct view *out, const struct view *index, const struct view *in, const struct index_site *site)
{
    struct index_error error = {0};
    int64_t size = (int64_t)dtype_size(out->dtype);
    struct gather_param param = {site->dim_step * size, site->limit, &error};
    walk((const struct view *const[]){out, index, in}, 3, ISA_PICK(index_kernels)->gather((size_t)size), &param, 1);
    return outcome(&error, site);
}

/* ---- scatter ---- */

struct scatter {
    scatter_loop loop;
    struct scatter_param param;
    struct view out, index, src;    /* free dimensions, ordered for speed */
    struct view index_seq, src_seq; /* ordered dimensions */
    int64_t steps;                  /* elements of the ordered dimensions */
    bool far;                       /* out is larger than a cache */
    int64_t size;
    const double *scale;
};

/* Fetches what the next run reads and changes; their places follow no order that the CPU would see. */
static void fetch(const struct scatter *s, const struct scatter_run *r, int64_t index_step, int64_t src_step)
{
    int64_t place = r->index[index_step], bytes = r->n * s->size;
    if (r->out_step != 1 || r->src_step != 1 || r->index_step || (uint64_t)place >= (uint64_t)s->param.limit)
        return;
    const char *out = r->out + place * s->param.dim_step * s->size, *src = r->src + src_step * s->size;
    for (int64_t at = 0; at < bytes; at += LINE) {
        __builtin_prefetch(out + at, 1);
        __builtin_prefetch(src + at);
    }
}

/* One line of free elements [at, at + n) from the bases, for every ordered element. */
static void line(const struct scatter *s, struct scatter_run run)
{
    int32_t last = s->index_seq.rank - 1;
    const int64_t *dim = s->index_seq.dim;
    int64_t at[VIEW_RANK_MAX] = {0};
    struct scatter_param param = s->param;
    /* A short line runs along the last ordered dimension instead. */
    bool turn = !s->scale && last >= 0 && run.n < SHORT_RUN && run.n < dim[last];
    int64_t rounds = turn ? s->steps / dim[last] : s->steps;
    struct scatter_run r = run;
    for (int64_t k = 0; k < rounds; k++) {
        int64_t index = 0, src = 0;
        for (int32_t d = 0; d <= last; d++) {
            index += at[d] * s->index_seq.stride[d];
            src += at[d] * s->src_seq.stride[d];
        }
        if (s->scale) {
            param.alpha[0] = s->scale[k];
            param.alpha_int = (int64_t)s->scale[k];
        }
        r.index = run.index + index;
        r.src = run.src + src * s->size;
        if (turn) {
            r.n = dim[last];
            r.out_step = 0;
            r.src_step = s->src_seq.stride[last];
            r.index_step = s->index_seq.stride[last];
            for (int64_t i = 0; i < run.n; i++) {
                r.out = run.out + i * run.out_step * s->size;
                s->loop(&r, &param);
                r.src += run.src_step * s->size;
                r.index += run.index_step;
            }
        } else {
            if (s->far && last >= 0 && at[last] + 1 < dim[last])
                fetch(s, &r, s->index_seq.stride[last], s->src_seq.stride[last]);
            s->loop(&r, &param);
        }
        for (int32_t d = turn ? last - 1 : last; d >= 0 && ++at[d] == dim[d]; d--)
            at[d] = 0;
    }
}

static void scatter_piece(void *arg, int64_t begin, int64_t end)
{
    const struct scatter *s = arg;
    int32_t last = s->out.rank - 1;
    int64_t row = s->out.dim[last];
    while (begin < end) {
        int64_t at = begin % row, rest = begin / row, n = row - at < end - begin ? row - at : end - begin;
        int64_t out = at * s->out.stride[last], index = at * s->index.stride[last], src = at * s->src.stride[last];
        for (int32_t d = last - 1; d >= 0; d--) {
            int64_t i = rest % s->out.dim[d];
            rest /= s->out.dim[d];
            out += i * s->out.stride[d];
            index += i * s->index.stride[d];
            src += i * s->src.stride[d];
        }
        line(s, (struct scatter_run){n, s->out.data + out * s->size, s->src.data + src * s->size,
                                     (const int64_t *)s->index.data + index, s->out.stride[last], s->src.stride[last],
                                     s->index.stride[last]});
        begin += n;
    }
}

/* Dimensions [from, to) of v. */
static struct view part(const struct view *v, int32_t from, int32_t to)
{
    struct view p = {.data = v->data, .dtype = v->dtype, .rank = to - from};
    for (int32_t d = from; d < to; d++) {
        p.dim[d - from] = v->dim[d];
        p.stride[d - from] = v->stride[d];
    }
    return p;
}

int scatter_run(enum scatter_op op, const struct view *out, const struct view *index, const struct view *src,
                int ordered, const struct index_site *site, const struct scatter_param *alpha, const double *scale)
{
    struct index_error error = {0};
    int64_t count = view_count(index);
    if (!count)
        return ACLNN_SUCCESS;
    int32_t free = index->rank - ordered;
    struct scatter s = {.loop = ISA_PICK(index_kernels)->scatter(op, out->dtype),
                        .param = *alpha,
                        .out = part(out, 0, free),
                        .index = part(index, 0, free),
                        .src = part(src, 0, free),
                        .index_seq = part(index, free, index->rank),
                        .src_seq = part(src, free, index->rank),
                        .size = (int64_t)dtype_size(out->dtype),
                        .scale = scale};
    s.param.dim_step = site->dim_step;
    s.param.limit = site->limit;
    s.param.error = &error;
    s.steps = view_count(&s.index_seq);
    s.far = (double)site->limit * (double)site->dim_step * (double)s.size > CACHED; /* limits may be absurd */
    walk_order((struct view *[]){&s.out, &s.index, &s.src}, 3);
    if (s.index_seq.rank && !scale)
        view_coalesce((struct view *[]){&s.index_seq, &s.src_seq}, 2);
    /* A piece goes through all lines, each at another place, so a few long ones are best: a thread's share, where that
     * is long enough. What a piece holds changes no result. */
    int64_t each = count / s.steps, grain = SCATTER_GRAIN / s.steps, least = FREE_BYTES / s.size;
    int64_t share = s.far ? (each + parallel_threads() - 1) / parallel_threads() : 0;
    grain = grain < least ? least : grain;
    parallel(each, grain < share ? share : grain, scatter_piece, &s);
    return outcome(&error, site);
}

struct view *index_view(struct plan *plan, const struct op_row *row, const union op_value *arg, int p)
{
    const aclTensor *tensor = arg[p].tensor;
    aclDataType dtype = tensor->view.dtype;
    struct view *v = plan_view(plan, tensor);
    if (dtype == ACL_INT64)
        return v;
    if (!dtype_is_int(dtype))
        plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                  "Tensor %s not implemented for %s, should be in dtype support list [DT_INT32,DT_INT64].",
                  row->param[p].name, dtype_name(dtype));
    return plan_contiguous(plan, v, ACL_INT64);
}

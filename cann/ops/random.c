/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers and dropout. All work is cut at multiples of RANDOM_GROUP elements, each of which depends on its place
 * alone (kernels/random.h), so results do not depend on threads. Seeds are numbers or tensors; an offset tensor adds to
 * the offset. */
#include "ops/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_GRAIN = 128 };

struct source {
    struct random_param param;
    struct view *seed, *offset; /* NULL: the numbers in param */
};

/* Reads the parameters from p on: seed, offset; or seedTensor, offsetTensor, offset. */
static void read_source(struct plan *plan, const struct op_row *row, const union op_value *arg, int p, struct source *s)
{
    bool tensors = row->param[p].kind == 'T';
    s->param.seed = tensors ? 0 : (uint64_t)arg[p].i;
    s->param.offset = (uint64_t)arg[tensors ? p + 2 : p + 1].i;
    s->seed = tensors ? plan_view(plan, arg[p].tensor) : NULL;
    s->offset = tensors ? plan_view(plan, arg[p + 1].tensor) : NULL;
}

static int find_source(const struct op_row *row)
{
    for (int p = 0; p < row->params; p++)
        if (!strncmp(row->param[p].name, "seed", 4))
            return p;
    return 0;
}

static int check_source(struct plan *plan, const struct source *s)
{
    const struct view *v[] = {s->seed, s->offset};
    for (int k = 0; k < 2; k++)
        if (v[k] && (v[k]->dtype != ACL_INT64 || view_count(v[k]) != 1))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "seedTensor and offsetTensor must have 1 element of DT_INT64.");
    return ACLNN_SUCCESS;
}

static struct random_param param_now(const struct source *s)
{
    struct random_param p = s->param;
    if (s->seed) {
        p.seed = *(const uint64_t *)s->seed->data;
        p.offset += *(const uint64_t *)s->offset->data;
    }
    return p;
}

/* A view whose order of elements does not matter, as one dense line; a temporary when it has holes. *home: where it
 * goes. */
static struct view *line(struct plan *plan, struct view *v, struct view **home)
{
    int64_t count = view_count(v), expect = 1;
    bool used[VIEW_RANK_MAX] = {0}, dense = true;
    for (int32_t i = 0; i < v->rank && dense; i++) {
        int32_t next = -1;
        for (int32_t d = 0; d < v->rank && next < 0; d++)
            if (!used[d] && (v->dim[d] == 1 || v->stride[d] == expect))
                next = d;
        dense = next >= 0;
        if (dense) {
            used[next] = true;
            expect *= v->dim[next];
        }
    }
    *home = NULL;
    if (!dense && count) {
        *home = v;
        return plan_temp(plan, v->dtype, v->rank, v->dim);
    }
    struct view *l = plan_alias(plan, v, 0);
    l->rank = 1;
    l->dim[0] = count;
    l->stride[0] = 1;
    return l;
}

/* ---- filling ---- */

struct fill {
    const struct random_kernels *kernels;
    enum random_kind kind;
    struct source source;
    struct random_param now;
    struct view *out;
};

static int64_t groups(int64_t n)
{
    return n / RANDOM_GROUP + (n % RANDOM_GROUP != 0);
}

/* Elements of the groups [*begin, *end) among n. */
static void elements(int64_t n, int64_t *begin, int64_t *end)
{
    *begin *= RANDOM_GROUP;
    *end = *end * RANDOM_GROUP < n ? *end * RANDOM_GROUP : n;
}

static void fill_piece(void *arg, int64_t begin, int64_t end)
{
    const struct fill *f = arg;
    elements(view_count(f->out), &begin, &end);
    f->kernels->fill(f->kind, f->out->dtype, (uint64_t)begin, end - begin,
                     f->out->data + begin * (int64_t)dtype_size(f->out->dtype), &f->now);
}

static int run_fill(void *arg)
{
    struct fill *f = arg;
    f->now = param_now(&f->source);
    parallel(groups(view_count(f->out)), GROUPS_GRAIN, fill_piece, f);
    return ACLNN_SUCCESS;
}

static int add_fill(struct plan *plan, struct fill *f, struct view *out)
{
    TRY(check_source(plan, &f->source));
    struct view *home;
    f->kernels = ISA_PICK(random_kernels);
    f->out = line(plan, out, &home);
    if (view_count(out))
        plan_step(plan, run_fill, f, (uint64_t)view_count(out) * 2);
    if (home)
        plan_copy(plan, home, f->out);
    return ACLNN_SUCCESS;
}

static int check_float(struct plan *plan, const struct op_row *row, const struct view *out, int p)
{
    if (dtype_is_float(out->dtype))
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                     "Tensor %s not implemented for %s, should be in dtype support list "
                     "[DT_FLOAT,DT_FLOAT16,DT_BFLOAT16,DT_DOUBLE].",
                     row->param[p].name, dtype_name(out->dtype));
}

static int check_number(struct plan *plan, const struct op_row *row, const struct view *out, int p)
{
    if (dtype_is_float(out->dtype) || dtype_is_int(out->dtype) || out->dtype == ACL_BOOL)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %s not implemented for %s.", row->param[p].name,
                     dtype_name(out->dtype));
}

static uint16_t half_below(uint16_t h)
{
    return (h & 0x7fffu) == 0 ? 0x8001u : h & 0x8000u ? (uint16_t)(h + 1) : (uint16_t)(h - 1);
}

/* The largest number of the type below `to`, but not below `from`. */
static double number_below(aclDataType dtype, double from, double to)
{
    double below;
    uint16_t h;
    switch ((int)dtype) {
    case ACL_FLOAT:
        below = (float)to < to ? (float)to : nextafterf((float)to, -INFINITY);
        break;
    case ACL_FLOAT16:
        for (h = f16_from_float((float)to); f16_to_float(h) >= to;)
            h = half_below(h);
        below = f16_to_float(h);
        break;
    case ACL_BF16:
        for (h = bf16_from_float((float)to); bf16_to_float(h) >= to;)
            h = half_below(h);
        below = bf16_to_float(h);
        break;
    default:
        below = nextafter(to, -INFINITY);
    }
    return below > from ? below : from;
}

int prepare_random_fill(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct fill *f = plan_alloc(plan, sizeof *f);
    struct view *out = plan_view(plan, arg[0].tensor);
    struct random_param *p = &f->source.param;
    f->kind = (enum random_kind)row->code;
    read_source(plan, row, arg, find_source(row), &f->source);
    switch (f->kind) {
    case RANDOM_NORMAL:
        TRY(check_float(plan, row, out, 0));
        p->a = arg[1].d;
        p->b = arg[2].d;
        if (!(p->b >= 0))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "normal expects std >= 0.0, but found std %g", p->b);
        break;
    case RANDOM_UNIFORM:
        TRY(check_float(plan, row, out, 0));
        p->a = arg[1].d;
        p->b = arg[2].d;
        if (!(p->a <= p->b) || !isfinite(p->b - p->a))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "uniform expects to return a [from, to) range, but found from=%g > to=%g", p->a, p->b);
        p->top = number_below(out->dtype, p->a, p->b);
        break;
    case RANDOM_EXPONENTIAL:
        TRY(check_float(plan, row, out, 0));
        p->a = arg[2].d;
        if (!(p->a > 0))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "exponential expects lambda > 0.0, but found lambda=%g",
                             p->a);
        if (arg[1].i != view_count(out))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "count must be the number of elements, %lld, but got %lld.",
                             (long long)view_count(out), (long long)arg[1].i);
        break;
    default:
        TRY(check_number(plan, row, out, 0));
        if (arg[1].i >= arg[2].i)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                             "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                             (long long)arg[1].i, (long long)arg[2].i);
        p->from = arg[1].i;
        p->range = (uint64_t)arg[2].i - (uint64_t)arg[1].i;
    }
    return add_fill(plan, f, out);
}

int prepare_random_any(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct fill *f = plan_alloc(plan, sizeof *f);
    struct view *out = plan_view(plan, arg[0].tensor);
    TRY(check_number(plan, row, out, 0));
    f->kind = RANDOM_INTEGER;
    read_source(plan, row, arg, 1, &f->source);
    /* up to the type's largest integer, or as far as a floating type counts without gaps */
    int bits = 0;
    switch ((int)out->dtype) {
    case ACL_DOUBLE:
        f->source.param.range = (UINT64_C(1) << 53) + 1;
        break;
    case ACL_FLOAT:
        f->source.param.range = (1 << 24) + 1;
        break;
    case ACL_FLOAT16:
        f->source.param.range = (1 << 11) + 1;
        break;
    case ACL_BF16:
        f->source.param.range = (1 << 8) + 1;
        break;
    case ACL_BOOL:
        f->source.param.range = 2;
        break;
    default:
        bits = (int)dtype_size(out->dtype) * 8;
        if (out->dtype == ACL_INT8 || out->dtype == ACL_INT16 || out->dtype == ACL_INT32 || out->dtype == ACL_INT64)
            bits--;
        f->source.param.range = bits == 64 ? 0 : UINT64_C(1) << bits;
    }
    return add_fill(plan, f, out);
}

/* ---- parameters in tensors: one draw an element, compared or scaled ---- */

struct each {
    const struct random_kernels *kernels;
    struct source source;
    struct random_param now;
    struct view *out, *first, *second; /* out contiguous; the others contiguous double of its shape, or NULL */
    double a, b;                       /* in the place of absent tensors */
    bool bernoulli;
    int bad;
};

/* Stored as the output's type. */
static void put(const struct view *out, int64_t i, double x)
{
    switch ((int)out->dtype) {
    case ACL_FLOAT:
        ((float *)out->data)[i] = (float)x;
        return;
    case ACL_DOUBLE:
        ((double *)out->data)[i] = x;
        return;
    case ACL_FLOAT16:
        ((uint16_t *)out->data)[i] = f16_from_float((float)x);
        return;
    case ACL_BF16:
        ((uint16_t *)out->data)[i] = bf16_from_float((float)x);
        return;
    default: { /* integers and bool: the low bytes */
        int64_t whole = (int64_t)x;
        size_t size = dtype_size(out->dtype);
        memcpy(out->data + (size_t)i * size, &whole, size);
    }
    }
}

static void each_piece(void *arg, int64_t begin, int64_t end)
{
    struct each *e = arg;
    const double *first = e->first ? (const double *)e->first->data : NULL;
    const double *second = e->second ? (const double *)e->second->data : NULL;
    elements(view_count(e->out), &begin, &end);
    for (int64_t at = begin; at < end; at += RANDOM_GROUP) {
        int64_t n = end - at < RANDOM_GROUP ? end - at : RANDOM_GROUP;
        double x[RANDOM_GROUP];
        e->kernels->draw(e->bernoulli ? RANDOM_UNIFORM : RANDOM_NORMAL, (uint64_t)at, n, x, &e->now);
        for (int64_t i = 0; i < n; i++) {
            double a = first ? first[at + i] : e->a, b = second ? second[at + i] : e->b;
            bool good = e->bernoulli ? a >= 0 && a <= 1 : b >= 0;
            if (!good)
                __atomic_store_n(&e->bad, 1, __ATOMIC_RELAXED);
            put(e->out, at + i, e->bernoulli ? x[i] < a : a + b * x[i]);
        }
    }
}

static int run_each(void *arg)
{
    struct each *e = arg;
    e->now = param_now(&e->source);
    e->bad = 0;
    parallel(groups(view_count(e->out)), GROUPS_GRAIN / 2, each_piece, e);
    if (!e->bad)
        return ACLNN_SUCCESS;
    return e->bernoulli ? fail(ACLNN_ERR_PARAM_INVALID, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
                        : fail(ACLNN_ERR_PARAM_INVALID, "normal expects all elements of std >= 0.0");
}

/* The tensor as contiguous doubles of out's shape. */
static struct view *spread(struct plan *plan, const aclTensor *tensor, const struct view *out)
{
    struct view *v = plan_view(plan, tensor), *wide = plan_alias(plan, v, 0);
    if (!view_broadcast(wide, v, out->rank, out->dim)) {
        plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                  "A tensor of parameters does not broadcast to the shape of the output.");
        return v;
    }
    return plan_contiguous(plan, wide, ACL_DOUBLE);
}

static int add_each(struct plan *plan, struct each *e, struct view *out)
{
    e->kernels = ISA_PICK(random_kernels);
    e->out = plan_output(plan, out, out->dtype);
    if (view_count(out))
        plan_step(plan, run_each, e, (uint64_t)view_count(out) * 8);
    plan_finish(plan, e->out, out);
    return ACLNN_SUCCESS;
}

int prepare_bernoulli(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int last = row->params == 5 ? 4 : 0;
    struct view *out = plan_view(plan, arg[last].tensor);
    TRY(check_number(plan, row, out, last));
    if (last)
        TRY(plan_check_shape(plan, last, arg[0].tensor->view.rank, arg[0].tensor->view.dim));
    if (row->param[1].kind == 'T') {
        struct each *e = plan_alloc(plan, sizeof *e);
        read_source(plan, row, arg, 2, &e->source);
        e->bernoulli = true;
        e->first = spread(plan, arg[1].tensor, out);
        return add_each(plan, e, out);
    }
    struct fill *f = plan_alloc(plan, sizeof *f);
    f->kind = RANDOM_BERNOULLI;
    read_source(plan, row, arg, 2, &f->source);
    f->source.param.a = scalar_double(arg[1].scalar);
    if (!(f->source.param.a >= 0 && f->source.param.a <= 1))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "bernoulli_ expects p to be in [0, 1], but got p=%g",
                         f->source.param.a);
    return add_fill(plan, f, out);
}

int prepare_normal(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct view *out = plan_view(plan, arg[4].tensor);
    TRY(check_float(plan, row, out, 4));
    bool mean = row->param[0].kind == 'T', deviation = row->param[1].kind == 'T';
    if (!deviation && !(arg[1].d >= 0))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "normal expects std >= 0.0, but found std %g", arg[1].d);
    if (!mean && !deviation) {
        struct fill *f = plan_alloc(plan, sizeof *f);
        f->kind = RANDOM_NORMAL;
        read_source(plan, row, arg, 2, &f->source);
        f->source.param.a = arg[0].d;
        f->source.param.b = arg[1].d;
        return add_fill(plan, f, out);
    }
    struct each *e = plan_alloc(plan, sizeof *e);
    read_source(plan, row, arg, 2, &e->source);
    e->a = mean ? 0 : arg[0].d;
    e->b = deviation ? 0 : arg[1].d;
    e->first = mean ? spread(plan, arg[0].tensor, out) : NULL;
    e->second = deviation ? spread(plan, arg[1].tensor, out) : NULL;
    return add_each(plan, e, out);
}

/* ---- drawing from a distribution, permutations ---- */

struct multinomial {
    const struct random_kernels *kernels;
    struct source source;
    struct random_param now;
    struct view *weight, *out; /* weight: temporary doubles, overwritten; out: contiguous int64 */
    int64_t rows, n, samples;
    bool replacement;
    int status; /* index into texts, set by any row */
};

static const char *const multinomial_texts[] = {
    NULL, "probability tensor contains either `inf`, `nan` or element < 0",
    "invalid multinomial distribution (sum of probabilities <= 0)",
    "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)"};

/* Draws m times from the row's cumulative sums. */
static void draw_again(const struct multinomial *t, const double *sum, int64_t row, int64_t *out)
{
    for (int64_t k = 0; k < t->samples; k++) {
        uint64_t w = t->kernels->word(t->now.seed, t->now.offset, (uint64_t)(row * t->samples + k));
        double x = (double)(w >> 11) * 0x1p-53 * sum[t->n - 1];
        int64_t low = 0, high = t->n - 1; /* the first sum above x */
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (sum[middle] > x)
                high = middle;
            else
                low = middle + 1;
        }
        out[k] = low;
    }
}

/* Keeps the `have` smallest keys as a heap of their indices, the largest on top. */
static void sift(const double *key, int64_t *heap, int64_t have)
{
    for (int64_t i = 0;;) {
        int64_t big = i, left = 2 * i + 1, right = left + 1;
        if (left < have && key[heap[left]] > key[heap[big]])
            big = left;
        if (right < have && key[heap[right]] > key[heap[big]])
            big = right;
        if (big == i)
            return;
        int64_t swap = heap[i];
        heap[i] = heap[big];
        heap[big] = swap;
        i = big;
    }
}

/* Without replacement: exponential waiting times; whoever comes first is drawn first. */
static void draw_once(const struct multinomial *t, double *key, int64_t row, int64_t *out)
{
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t w = t->kernels->word(t->now.seed, t->now.offset, (uint64_t)(row * t->n + i));
        double u = ((double)(w >> 12) + 0.5) * 0x1p-52;
        key[i] = key[i] > 0 ? -log(u) / key[i] : (double)INFINITY;
    }
    int64_t have = t->samples;
    for (int64_t i = 0; i < have; i++)
        out[i] = i;
    for (int64_t i = have / 2 - 1; i >= 0; i--) { /* heap order from below */
        int64_t at = i;
        for (;;) {
            int64_t big = at, left = 2 * at + 1, right = left + 1;
            if (left < have && key[out[left]] > key[out[big]])
                big = left;
            if (right < have && key[out[right]] > key[out[big]])
                big = right;
            if (big == at)
                break;
            int64_t swap = out[at];
            out[at] = out[big];
            out[big] = swap;
            at = big;
        }
    }
    for (int64_t i = have; i < t->n; i++)
        if (key[i] < key[out[0]]) {
            out[0] = i;
            sift(key, out, have);
        }
    for (int64_t last = have - 1; last > 0; last--) { /* heap sort: the earliest first */
        int64_t swap = out[0];
        out[0] = out[last];
        out[last] = swap;
        sift(key, out, last);
    }
}

static void multinomial_rows(void *arg, int64_t begin, int64_t end)
{
    struct multinomial *t = arg;
    for (int64_t row = begin; row < end; row++) {
        double *w = (double *)t->weight->data + row * t->n, sum = 0;
        int64_t positive = 0, *out = (int64_t *)t->out->data + row * t->samples;
        int status = 0;
        for (int64_t i = 0; i < t->n; i++) {
            status = w[i] >= 0 && w[i] <= 0x1.fffffffffffffp1023 ? status : 1;
            positive += w[i] > 0;
            sum += w[i];
            if (t->replacement)
                w[i] = sum;
        }
        if (!status && !(sum > 0))
            status = 2;
        if (!status && !t->replacement && positive < t->samples)
            status = 3;
        if (status)
            __atomic_store_n(&t->status, status, __ATOMIC_RELAXED);
        else if (t->replacement)
            draw_again(t, w, row, out);
        else
            draw_once(t, w, row, out);
    }
}

static int run_multinomial(void *arg)
{
    struct multinomial *t = arg;
    t->now = param_now(&t->source);
    t->status = 0;
    parallel(t->rows, 4096 / (t->n + t->samples) + 1, multinomial_rows, t);
    return t->status ? fail(ACLNN_ERR_PARAM_INVALID, "%s", multinomial_texts[t->status]) : ACLNN_SUCCESS;
}

int prepare_multinomial(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int last = row->params - 1;
    struct view *self = plan_view(plan, arg[0].tensor), *out = plan_view(plan, arg[last].tensor);
    TRY(check_float(plan, row, self, 0));
    struct multinomial *t = plan_alloc(plan, sizeof *t);
    read_source(plan, row, arg, 3, &t->source);
    TRY(check_source(plan, &t->source));
    if (self->rank != 1 && self->rank != 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "prob_dist must be 1 or 2 dim");
    t->kernels = ISA_PICK(random_kernels);
    t->n = self->dim[self->rank - 1];
    t->rows = self->rank == 2 ? self->dim[0] : 1;
    t->samples = arg[1].i;
    t->replacement = arg[2].i != 0;
    if (t->samples <= 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "cannot sample n_sample <= 0 samples");
    if (!t->replacement && t->samples > t->n)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    int64_t shape[2] = {self->rank == 2 ? t->rows : t->samples, t->samples};
    TRY(plan_check_shape(plan, last, self->rank, shape));
    t->weight = plan_temp(plan, ACL_DOUBLE, self->rank, self->dim);
    plan_copy(plan, t->weight, self);
    t->out = plan_output(plan, out, ACL_INT64);
    if (t->rows && t->n)
        plan_step(plan, run_multinomial, t, (uint64_t)(t->rows * (t->n + t->samples)) * 30);
    plan_finish(plan, t->out, out);
    return ACLNN_SUCCESS;
}

struct randperm {
    const struct random_kernels *kernels;
    uint64_t seed, offset;
    struct view *out; /* contiguous int64 */
};

static int run_randperm(void *arg)
{
    struct randperm *t = arg;
    int64_t *out = (int64_t *)t->out->data, n = view_count(t->out);
    enum { BLOCK = 32 };
    struct random_param p = {.seed = t->seed, .offset = t->offset};
    int64_t word[BLOCK];
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = 0; i + 1 < n; i++) { /* Fisher and Yates */
        if (i % BLOCK == 0)
            t->kernels->fill(RANDOM_INTEGER, ACL_INT64, (uint64_t)i, BLOCK, word, &p);
        int64_t j = i + (int64_t)((unsigned __int128)(uint64_t)word[i % BLOCK] * (uint64_t)(n - i) >> 64);
        int64_t swap = out[i];
        out[i] = out[j];
        out[j] = swap;
    }
    return ACLNN_SUCCESS;
}

int prepare_randperm(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct randperm *t = plan_alloc(plan, sizeof *t);
    struct view *out = plan_view(plan, arg[3].tensor);
    int64_t n = arg[0].i;
    if (n < 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "n must be non-negative, got %lld", (long long)n);
    TRY(check_number(plan, row, out, 3));
    TRY(plan_check_shape(plan, 3, 1, &n));
    t->kernels = ISA_PICK(random_kernels);
    t->seed = (uint64_t)arg[1].i;
    t->offset = (uint64_t)arg[2].i;
    t->out = plan_output(plan, out, ACL_INT64);
    if (n)
        plan_step(plan, run_randperm, t, (uint64_t)n * 5);
    plan_finish(plan, t->out, out);
    return ACLNN_SUCCESS;
}

/* ---- dropout ---- */

struct dropout {
    const struct random_kernels *kernels;
    struct source source;
    struct random_param now;
    struct view *out, *in, *mask; /* contiguous; out and in NULL: the mask alone */
    int64_t n;
    double scale;
    bool draw;
};

static void dropout_piece(void *arg, int64_t begin, int64_t end)
{
    const struct dropout *t = arg;
    elements(t->n, &begin, &end);
    uint8_t *mask = (uint8_t *)t->mask->data + begin / 8;
    if (t->draw)
        t->kernels->bits((uint64_t)begin, end - begin, mask, &t->now);
    if (!t->out)
        return;
    int64_t at = begin * (int64_t)dtype_size(t->out->dtype);
    t->kernels->mask_bits(t->out->dtype, end - begin, t->out->data + at, t->in->data + at, mask, t->scale);
}

static int run_dropout(void *arg)
{
    struct dropout *t = arg;
    t->now = param_now(&t->source);
    parallel(groups(t->n), GROUPS_GRAIN, dropout_piece, t);
    return ACLNN_SUCCESS;
}

static int check_mask(struct plan *plan, const struct view *mask, int64_t n)
{
    if (mask->dtype != ACL_UINT8 || view_count(mask) < n / 8 + (n % 8 != 0) || !view_is_contiguous(mask))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "The mask must be a contiguous DT_UINT8 tensor of at least %lld bytes (128 elements a 16 "
                         "bytes), but has %lld.",
                         (long long)(n / 8 + (n % 8 != 0)), (long long)view_count(mask));
    return ACLNN_SUCCESS;
}

static int check_probability(struct plan *plan, double p)
{
    if (p >= 0 && p <= 1)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "dropout probability has to be between 0 and 1, but got %g", p);
}

static struct dropout *dropout_new(struct plan *plan)
{
    struct dropout *t = plan_alloc(plan, sizeof *t);
    t->kernels = ISA_PICK(random_kernels);
    return t;
}

static void add_dropout(struct plan *plan, struct dropout *t)
{
    if (t->n)
        plan_step(plan, run_dropout, t, (uint64_t)t->n * 2);
}

int prepare_dropout_mask(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct dropout *t = dropout_new(plan);
    read_source(plan, row, arg, 2, &t->source);
    TRY(check_source(plan, &t->source));
    TRY(check_probability(plan, arg[1].d));
    t->n = 1;
    for (uint64_t d = 0; d < arg[0].ints->size; d++)
        if (arg[0].ints->value[d] < 0 || __builtin_mul_overflow(t->n, arg[0].ints->value[d], &t->n))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "shape has a negative size or too many elements.");
    t->mask = plan_view(plan, arg[row->params - 1].tensor);
    TRY(check_mask(plan, t->mask, t->n));
    t->source.param.a = 1 - arg[1].d;
    t->draw = true;
    add_dropout(plan, t);
    return ACLNN_SUCCESS;
}

/* in and out of one shape and a floating type, made contiguous; *home: where out belongs. */
static int dropout_views(struct plan *plan, const struct op_row *row, const union op_value *arg, int in, int out,
                         struct dropout *t, struct view **home)
{
    struct view *x = plan_view(plan, arg[in].tensor), *y = plan_view(plan, arg[out].tensor);
    TRY(check_float(plan, row, y, out));
    TRY(plan_check_shape(plan, out, x->rank, x->dim));
    t->n = view_count(x);
    t->in = plan_contiguous(plan, x, y->dtype);
    t->out = plan_output(plan, y, y->dtype);
    *home = y;
    return ACLNN_SUCCESS;
}

int prepare_dropout_apply(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct dropout *t = dropout_new(plan);
    struct view *home;
    TRY(dropout_views(plan, row, arg, 0, 3, t, &home));
    t->mask = plan_view(plan, arg[1].tensor);
    TRY(check_mask(plan, t->mask, t->n));
    t->scale = arg[2].d;
    if (row->code == DROPOUT_BY_PROBABILITY) {
        TRY(check_probability(plan, arg[2].d));
        t->scale = arg[2].d < 1 ? 1 / (1 - arg[2].d) : 0;
    }
    add_dropout(plan, t);
    plan_finish(plan, t->out, home);
    return ACLNN_SUCCESS;
}

int prepare_dropout(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    bool v3 = row->param[1].kind == 'T';
    double p = arg[v3 ? 2 : 1].d;
    struct dropout *t = dropout_new(plan);
    struct view *home;
    TRY(check_probability(plan, p));
    TRY(dropout_views(plan, row, arg, 0, row->params - 2, t, &home));
    t->mask = plan_view(plan, arg[row->params - 1].tensor);
    TRY(check_mask(plan, t->mask, t->n));
    bool train = v3 || arg[2].i != 0;
    read_source(plan, row, arg, 3, &t->source);
    t->source.param.a = train ? 1 - p : 1;
    t->scale = !train ? 1 : p < 1 ? 1 / (1 - p) : 0;
    t->draw = true;
    add_dropout(plan, t);
    plan_finish(plan, t->out, home);
    return ACLNN_SUCCESS;
}

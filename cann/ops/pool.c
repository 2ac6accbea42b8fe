/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling: windows are worked out here, per dimension and output position; kernels/pool.h does a channel, the compute
 * pool many. 16-bit floats are computed in float. */
#include "ops/pool.h"

#include "kernels/pool.h"

static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
static const aclDataType numbers[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                                      ACL_UINT8, ACL_INT16,   ACL_INT32, ACL_INT64};
static const aclDataType positions[] = {ACL_INT64, ACL_INT32};
enum { FLOATS = sizeof floats / sizeof floats[0], NUMBERS = sizeof numbers / sizeof numbers[0], WORK = 16384 };

/* x and y: the large and the pooled side, dense; index: int32, beside y. */
struct job {
    struct pool p;
    aclDataType type;
    struct view *x, *y, *index;
    int64_t channels, large, small; /* elements of a channel on either side */
    bool masked;                    /* indices in a mask, */
    int64_t mask;                   /* so many bytes for a channel; 0: it says nothing */
};

static aclDataType compute_type(aclDataType t)
{
    return t == ACL_FLOAT16 || t == ACL_BF16 ? ACL_FLOAT : t;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- steps ---- */

static int32_t *index_of(const struct job *j, int64_t channel)
{
    int64_t bytes = j->mask ? j->mask : j->small * (int64_t)sizeof(int32_t);
    return j->index ? (int32_t *)(j->index->data + channel * bytes) : NULL;
}

static void run_rows(const struct job *j, int64_t begin, int64_t end, bool average)
{
    int64_t rows = j->p.out[0] * j->p.out[1], size = (int64_t)dtype_size(j->type);
    const struct pool_kernels *k = ISA_PICK(pool_kernels);
    for (int64_t r = begin; r < end;) {
        int64_t channel = r / rows, from = r % rows, to = min(rows, from + end - r);
        const char *x = j->x->data + channel * j->large * size;
        char *y = j->y->data + channel * j->small * size;
        if (average)
            k->average(&j->p, j->type, x, y, from, to);
        else
            k->max(&j->p, j->type, x, y, index_of(j, channel), from, to);
        r += to - from;
    }
}

static void max_rows(void *arg, int64_t begin, int64_t end)
{
    run_rows(arg, begin, end, false);
}

static void average_rows(void *arg, int64_t begin, int64_t end)
{
    run_rows(arg, begin, end, true);
}

/* Elements that an output row or a channel has to look at, roughly. */
static int64_t row_work(const struct job *j)
{
    const struct pool *p = &j->p;
    return p->out[2] * max(1, p->window[0]->count) * max(1, p->window[1]->count) * max(1, p->window[2]->count) + 16;
}

static int run_max(void *arg)
{
    struct job *j = arg;
    parallel(j->channels * j->p.out[0] * j->p.out[1], max(1, WORK / row_work(j)), max_rows, j);
    return 0;
}

static int run_average(void *arg)
{
    struct job *j = arg;
    parallel(j->channels * j->p.out[0] * j->p.out[1], max(1, WORK / row_work(j)), average_rows, j);
    return 0;
}

static void max_channels_back(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    int64_t size = (int64_t)dtype_size(j->type);
    memset(j->x->data + begin * j->large * size, 0, (size_t)((end - begin) * j->large * size));
    for (int64_t c = begin; c < end; c++)
        ISA_PICK(pool_kernels)
            ->max_backward(&j->p, j->type, j->y->data + c * j->small * size, index_of(j, c),
                           j->x->data + c * j->large * size);
}

static void average_channels_back(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    int64_t size = (int64_t)dtype_size(j->type);
    memset(j->x->data + begin * j->large * size, 0, (size_t)((end - begin) * j->large * size));
    for (int64_t c = begin; c < end; c++)
        ISA_PICK(pool_kernels)
            ->average_backward(&j->p, j->type, j->y->data + c * j->small * size, j->x->data + c * j->large * size);
}

static int run_max_back(void *arg)
{
    struct job *j = arg;
    parallel(j->channels, max(1, WORK / (j->small + j->large + 1)), max_channels_back, j);
    return 0;
}

static int run_average_back(void *arg)
{
    struct job *j = arg;
    parallel(j->channels, max(1, WORK / (j->p.out[0] * j->p.out[1] * row_work(j) + j->large)), average_channels_back,
             j);
    return 0;
}

/* A mask of a single tap says nothing: the position is the window's. */
static int run_single_tap(void *arg)
{
    struct job *j = arg;
    const struct pool *p = &j->p;
    int32_t *index = (int32_t *)j->index->data;
    for (int64_t i = 0; i < j->small; i++) {
        int64_t w = i % p->out[2], h = i / p->out[2] % p->out[1], d = i / p->out[2] / p->out[1];
        int64_t at = (p->window[0][d].from * p->in[1] + p->window[1][h].from) * p->in[2] + p->window[2][w].from;
        for (int64_t c = 0; c < j->channels; c++)
            index[c * j->small + i] = (int32_t)at;
    }
    return 0;
}

/* ---- windows ---- */

struct sliding {
    int64_t kernel[3], stride[3], before[3], dilation[3];
    bool ceil;
};

static struct pool_window *alloc_windows(struct plan *plan, int64_t n)
{
    return plan_alloc(plan, (size_t)max(1, n) * sizeof(struct pool_window));
}

static void max_windows(struct plan *plan, struct pool *p, const struct sliding *s)
{
    for (int d = 0; d < 3; d++) {
        struct pool_window *w = alloc_windows(plan, p->out[d]);
        for (int64_t o = 0; o < p->out[d]; o++) {
            int64_t start = o * s->stride[d] - s->before[d], step = s->dilation[d];
            int64_t first = start < 0 ? (-start + step - 1) / step : 0, from = start + first * step;
            int64_t inside = from < p->in[d] ? (p->in[d] - from + step - 1) / step : 0;
            w[o] = (struct pool_window){(int32_t)min(from, max(0, p->in[d] - 1)),
                                        (int32_t)max(0, min(inside, s->kernel[d] - first)), 1};
        }
        p->window[d] = w;
        p->dilation[d] = s->dilation[d];
    }
    p->even = 1;
    p->kernel = s->kernel[2];
    p->stride = s->stride[2];
    p->before = s->before[2];
}

static void avg_windows(struct plan *plan, struct pool *p, const struct sliding *s, bool include_padding)
{
    max_windows(plan, p, s);
    for (int d = 0; d < 3; d++)
        for (int64_t o = 0; o < p->out[d]; o++) {
            struct pool_window *w = (struct pool_window *)&p->window[d][o];
            int64_t start = o * s->stride[d] - s->before[d], end = min(start + s->kernel[d], p->in[d] + s->before[d]);
            w->size = (int32_t)max(1, include_padding ? end - start : (int64_t)w->count);
        }
}

static void adaptive_windows(struct plan *plan, struct pool *p)
{
    for (int d = 0; d < 3; d++) {
        struct pool_window *w = alloc_windows(plan, p->out[d]);
        for (int64_t o = 0; o < p->out[d]; o++) {
            int64_t from = o / p->out[d] * p->in[d] + o % p->out[d] * p->in[d] / p->out[d];
            int64_t end = ((o + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
            w[o] = (struct pool_window){(int32_t)from, (int32_t)(end - from), (int32_t)(end - from)};
        }
        p->window[d] = w;
        p->dilation[d] = 1;
    }
    p->even = p->out[2] > 0 && p->in[2] % p->out[2] == 0;
    if (p->even)
        p->kernel = p->stride = p->in[2] / p->out[2];
}

/* ---- arguments ---- */

static int spread(struct plan *plan, const char *name, const aclIntArray *list, int n, int64_t least, int64_t other,
                  int64_t *to)
{
    for (int d = 0; d < 3; d++)
        to[d] = other;
    if (list->size != 1 && list->size != (uint64_t)n)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to have 1 or %d elements, but got %lu.", name, n,
                         (unsigned long)list->size);
    for (int d = 0; d < n; d++) {
        int64_t value = list->value[list->size == 1 ? 0 : d];
        if (value < least || value > INT32_MAX)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected %s to be at least %ld, but got %ld.", name,
                             (long)least, (long)value);
        to[3 - n + d] = value;
    }
    return ACLNN_SUCCESS;
}

/* kernel, stride (empty: the kernel), padding, dilation (NULL: 1) */
static int sliding_args(struct plan *plan, int n, const aclIntArray *kernel, const aclIntArray *stride,
                        const aclIntArray *padding, const aclIntArray *dilation, bool ceil, struct sliding *s)
{
    TRY(spread(plan, "kernelSize", kernel, n, 1, 1, s->kernel));
    TRY(spread(plan, "stride", stride->size ? stride : kernel, n, 1, 1, s->stride));
    TRY(spread(plan, "padding", padding, n, 0, 0, s->before));
    for (int d = 0; d < 3; d++)
        s->dilation[d] = 1;
    if (dilation)
        TRY(spread(plan, "dilation", dilation, n, 1, 1, s->dilation));
    s->ceil = ceil;
    for (int d = 0; d < 3; d++)
        if (s->before[d] > ((s->kernel[d] - 1) * s->dilation[d] + 1) / 2)
            return plan_fail(
                plan, ACLNN_ERR_PARAM_INVALID,
                "pad should be at most half of effective kernel size, but got pad=%ld, kernel_size=%ld and "
                "dilation=%ld",
                (long)s->before[d], (long)s->kernel[d], (long)s->dilation[d]);
    return ACLNN_SUCCESS;
}

/* Sizes of the large side from a tensor of n or n + 1 dimensions behind the channels. */
static int large_side(struct plan *plan, const struct op_row *row, const union op_value *arg, int p, int n,
                      struct job *j)
{
    const struct view *v = &arg[p].tensor->view;
    if (v->rank != n + 1 && v->rank != n + 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have %d or %d dimensions, but got %d.",
                         row->param[p].name, n + 1, n + 2, v->rank);
    j->channels = 1;
    j->large = 1;
    for (int d = 0; d < 3; d++)
        j->p.in[d] = 1;
    for (int d = 0; d < v->rank; d++)
        if (d < v->rank - n)
            j->channels *= v->dim[d];
        else
            j->large *= j->p.in[3 - v->rank + d] = v->dim[d];
    if (j->large > INT32_MAX)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "A channel of tensor %s has more than 2^31 - 1 elements.",
                         row->param[p].name);
    return ACLNN_SUCCESS;
}

/* The small side's tensor must have the large one's channels and the sizes in j->p.out. */
static int small_side(struct plan *plan, const union op_value *arg, int large, int p, int n, struct job *j)
{
    struct view v = arg[large].tensor->view;
    j->small = 1;
    for (int d = 0; d < n; d++)
        j->small *= v.dim[v.rank - n + d] = j->p.out[3 - n + d];
    return plan_check_shape(plan, p, v.rank, v.dim);
}

static int sliding_sizes(struct plan *plan, struct job *j, const struct sliding *s)
{
    for (int d = 0; d < 3; d++) {
        int64_t room = j->p.in[d] + 2 * s->before[d] - s->dilation[d] * (s->kernel[d] - 1) - 1;
        int64_t out = room < 0 ? 0 : (room + (s->ceil ? s->stride[d] - 1 : 0)) / s->stride[d] + 1;
        if (room < 0 && s->ceil && room + s->stride[d] - 1 >= 0)
            out = 1;
        if (s->ceil && (out - 1) * s->stride[d] >= j->p.in[d] + s->before[d])
            out--;
        if (out < 1)
            return plan_fail(
                plan, ACLNN_ERR_PARAM_INVALID,
                "Given input size %ld, kernel %ld, stride %ld and padding %ld, the output size is too small.",
                (long)j->p.in[d], (long)s->kernel[d], (long)s->stride[d], (long)s->before[d]);
        j->p.out[d] = out;
    }
    return ACLNN_SUCCESS;
}

/* outputSize of n numbers, or the sizes that a tensor has */
static int adaptive_sizes(struct plan *plan, struct job *j, const int64_t *size, uint64_t count, int n)
{
    if (count != (uint64_t)n)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputSize to have %d elements, but got %lu.", n,
                         (unsigned long)count);
    for (int d = 0; d < 3; d++) {
        j->p.out[d] = d < 3 - n ? 1 : size[d - (3 - n)];
        if (j->p.out[d] < 0 || j->p.out[d] > INT32_MAX)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected outputSize to be non-negative, but got %ld.",
                             (long)j->p.out[d]);
    }
    return ACLNN_SUCCESS;
}

static int check_floats(struct plan *plan, const union op_value *arg, int a, int b)
{
    TRY(plan_check_dtype(plan, a, floats, FLOATS));
    TRY(plan_check_dtype(plan, b, floats, FLOATS));
    bool one = arg[a].tensor->view.dtype == ACL_DOUBLE, other = arg[b].tensor->view.dtype == ACL_DOUBLE;
    return one == other
               ? ACLNN_SUCCESS
               : plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensors of one data type, but got %s and %s.",
                           dtype_name(arg[a].tensor->view.dtype), dtype_name(arg[b].tensor->view.dtype));
}

/* ---- making plans ---- */

static int check_mask(struct plan *plan, const union op_value *arg, int p, struct job *j, int64_t taps)
{
    const struct view *v = &arg[p].tensor->view;
    int64_t bytes = j->channels ? view_count(v) / j->channels : 0;
    j->masked = true;
    if (taps == 1 || j->channels == 0)
        return ACLNN_SUCCESS;
    if ((v->dtype != ACL_INT8 && v->dtype != ACL_UINT8) || !view_is_contiguous(v) || bytes / 4 < j->small || bytes % 4)
        return plan_fail(
            plan, ACLNN_ERR_PARAM_INVALID,
            "Expected the mask to be contiguous bytes, at least %ld for each of %ld channels and a multiple of "
            "4, but got %ld of %s.",
            (long)(j->small * 4), (long)j->channels, (long)bytes, dtype_name(v->dtype));
    j->mask = bytes;
    return ACLNN_SUCCESS;
}

/* Forward: self → out, indices. */
static int plan_max(struct plan *plan, const union op_value *arg, struct job *j, int self, int out, int indices)
{
    struct view *target = plan_view(plan, arg[out].tensor), *index = plan_view(plan, arg[indices].tensor),
                *dense = index;
    j->type = compute_type(arg[self].tensor->view.dtype);
    if (j->channels == 0 || j->small == 0)
        return ACLNN_SUCCESS;
    j->x = plan_contiguous(plan, plan_view(plan, arg[self].tensor), j->type);
    j->y = plan_output(plan, target, j->type);
    if (!j->masked)
        dense = plan_output(plan, index, ACL_INT32);
    j->index = j->masked && !j->mask ? NULL : dense;
    plan_step(plan, run_max, j, (uint64_t)(j->channels * j->p.out[0] * j->p.out[1] * row_work(j) / 4));
    plan_finish(plan, j->y, target);
    plan_finish(plan, dense, index);
    return ACLNN_SUCCESS;
}

static int plan_max_backward(struct plan *plan, const union op_value *arg, struct job *j, int grad, int indices,
                             int out)
{
    struct view *target = plan_view(plan, arg[out].tensor);
    j->type = compute_type(target->dtype);
    if (view_count(target) == 0)
        return ACLNN_SUCCESS;
    j->y = plan_contiguous(plan, plan_view(plan, arg[grad].tensor), j->type);
    j->x = plan_output(plan, target, j->type);
    if (!j->index)
        j->index = plan_view(plan, arg[indices].tensor);
    if (!j->mask)
        j->index = plan_contiguous(plan, j->index, ACL_INT32);
    plan_step(plan, run_max_back, j, (uint64_t)(j->channels * (j->small + j->large) / 4));
    plan_finish(plan, j->x, target);
    return ACLNN_SUCCESS;
}

static int plan_average(struct plan *plan, const union op_value *arg, struct job *j, int from, int to, bool back)
{
    struct view *target = plan_view(plan, arg[to].tensor), *in, *out;
    j->type = compute_type(target->dtype);
    if (view_count(target) == 0)
        return ACLNN_SUCCESS;
    if (j->small == 0) {
        plan_fill(plan, target, &(double){0});
        return ACLNN_SUCCESS;
    }
    in = plan_contiguous(plan, plan_view(plan, arg[from].tensor), j->type);
    out = plan_output(plan, target, j->type);
    j->x = back ? out : in;
    j->y = back ? in : out;
    plan_step(plan, back ? run_average_back : run_average, j,
              (uint64_t)(j->channels * j->p.out[0] * j->p.out[1] * row_work(j) / 4));
    plan_finish(plan, out, target);
    return ACLNN_SUCCESS;
}

/* self kernelSize stride padding dilation ceilMode out indices */
int prepare_max_pool(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int n = row->code & ~POOL_MASK;
    struct sliding s;
    struct job *j = plan_alloc(plan, sizeof *j);
    TRY(plan_check_dtype(plan, 0, numbers, NUMBERS));
    TRY(plan_check_dtype(plan, 6, &arg[0].tensor->view.dtype, 1));
    TRY(large_side(plan, row, arg, 0, n, j));
    TRY(sliding_args(plan, n, arg[1].ints, arg[2].ints, arg[3].ints, arg[4].ints, arg[5].i, &s));
    TRY(sliding_sizes(plan, j, &s));
    TRY(small_side(plan, arg, 0, 6, n, j));
    if (row->code & POOL_MASK) {
        TRY(check_mask(plan, arg, 7, j, s.kernel[1] * s.kernel[2]));
    } else {
        TRY(plan_check_dtype(plan, 7, positions, 2));
        TRY(small_side(plan, arg, 0, 7, n, j));
    }
    max_windows(plan, &j->p, &s);
    return plan_max(plan, arg, j, 0, 6, 7);
}

/* gradOutput self indices kernelSize stride padding dilation ceilMode gradInput */
int prepare_max_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int n = row->code & ~POOL_MASK;
    struct sliding s;
    struct job *j = plan_alloc(plan, sizeof *j);
    TRY(check_floats(plan, arg, 0, 8));
    TRY(large_side(plan, row, arg, 1, n, j));
    TRY(sliding_args(plan, n, arg[3].ints, arg[4].ints, arg[5].ints, arg[6].ints, arg[7].i, &s));
    TRY(sliding_sizes(plan, j, &s));
    TRY(small_side(plan, arg, 1, 0, n, j));
    TRY(plan_check_shape(plan, 8, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    if (!(row->code & POOL_MASK)) {
        TRY(plan_check_dtype(plan, 2, positions, 2));
        TRY(small_side(plan, arg, 1, 2, n, j));
    } else {
        TRY(check_mask(plan, arg, 2, j, s.kernel[1] * s.kernel[2]));
    }
    max_windows(plan, &j->p, &s);
    if (j->masked && !j->mask) {
        j->index = plan_temp(plan, ACL_INT32, 1, (int64_t[]){j->channels * j->small});
        plan_step(plan, run_single_tap, j, (uint64_t)(j->channels * j->small));
    }
    return plan_max_backward(plan, arg, j, 0, 2, 8);
}

/* self outputSize outputOut indicesOut */
int prepare_adaptive_max_pool(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct job *j = plan_alloc(plan, sizeof *j);
    TRY(plan_check_dtype(plan, 0, numbers, NUMBERS));
    TRY(plan_check_dtype(plan, 2, &arg[0].tensor->view.dtype, 1));
    TRY(plan_check_dtype(plan, 3, positions, 2));
    TRY(large_side(plan, row, arg, 0, row->code, j));
    TRY(adaptive_sizes(plan, j, arg[1].ints->value, arg[1].ints->size, row->code));
    TRY(small_side(plan, arg, 0, 2, row->code, j));
    TRY(small_side(plan, arg, 0, 3, row->code, j));
    adaptive_windows(plan, &j->p);
    return plan_max(plan, arg, j, 0, 2, 3);
}

/* gradOutput self indices gradInput */
int prepare_adaptive_max_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct job *j = plan_alloc(plan, sizeof *j);
    const struct view *grad = &arg[0].tensor->view;
    TRY(check_floats(plan, arg, 0, 3));
    TRY(plan_check_dtype(plan, 2, positions, 2));
    TRY(large_side(plan, row, arg, 1, row->code, j));
    if (grad->rank != arg[1].tensor->view.rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected gradOutput and self to have as many dimensions, but got %d and %d.", grad->rank,
                         arg[1].tensor->view.rank);
    TRY(adaptive_sizes(plan, j, grad->dim + grad->rank - row->code, (uint64_t)row->code, row->code));
    TRY(small_side(plan, arg, 1, 0, row->code, j));
    TRY(small_side(plan, arg, 1, 2, row->code, j));
    TRY(plan_check_shape(plan, 3, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    return plan_max_backward(plan, arg, j, 0, 2, 3);
}

/* self kernelSize stride padding ceilMode countIncludePad divisorOverride [cubeMathType] out */
int prepare_avg_pool(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int n = row->code, out = row->params - 1;
    struct sliding s;
    struct job *j = plan_alloc(plan, sizeof *j);
    if (arg[0].tensor->view.dtype == ACL_INT64) /* quotients are cut */
        TRY(plan_check_dtype(plan, out, (const aclDataType[]){ACL_INT64}, 1));
    else
        TRY(check_floats(plan, arg, 0, out));
    TRY(large_side(plan, row, arg, 0, n, j));
    TRY(sliding_args(plan, n, arg[1].ints, arg[2].ints, arg[3].ints, NULL, arg[4].i, &s));
    TRY(sliding_sizes(plan, j, &s));
    TRY(small_side(plan, arg, 0, out, n, j));
    avg_windows(plan, &j->p, &s, arg[5].i);
    j->p.divisor = (double)arg[6].i;
    return plan_average(plan, arg, j, 0, out, false);
}

/* gradOutput self kernelSize stride padding ceilMode countIncludePad divisorOverride [cubeMathType] gradInput */
int prepare_avg_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int n = row->code, out = row->params - 1;
    struct sliding s;
    struct job *j = plan_alloc(plan, sizeof *j);
    TRY(check_floats(plan, arg, 0, out));
    TRY(large_side(plan, row, arg, 1, n, j));
    TRY(sliding_args(plan, n, arg[2].ints, arg[3].ints, arg[4].ints, NULL, arg[5].i, &s));
    TRY(sliding_sizes(plan, j, &s));
    TRY(small_side(plan, arg, 1, 0, n, j));
    TRY(plan_check_shape(plan, out, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    avg_windows(plan, &j->p, &s, arg[6].i);
    j->p.divisor = (double)arg[7].i;
    return plan_average(plan, arg, j, 0, out, true);
}

/* self outputSize out */
int prepare_adaptive_avg_pool(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct job *j = plan_alloc(plan, sizeof *j);
    TRY(check_floats(plan, arg, 0, 2));
    TRY(large_side(plan, row, arg, 0, row->code, j));
    TRY(adaptive_sizes(plan, j, arg[1].ints->value, arg[1].ints->size, row->code));
    TRY(small_side(plan, arg, 0, 2, row->code, j));
    adaptive_windows(plan, &j->p);
    return plan_average(plan, arg, j, 0, 2, false);
}

/* gradOutput self out */
int prepare_adaptive_avg_pool_backward(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct job *j = plan_alloc(plan, sizeof *j);
    const struct view *grad = &arg[0].tensor->view;
    TRY(check_floats(plan, arg, 0, 2));
    TRY(large_side(plan, row, arg, 1, row->code, j));
    if (grad->rank != arg[1].tensor->view.rank)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected gradOutput and self to have as many dimensions, but got %d and %d.", grad->rank,
                         arg[1].tensor->view.rank);
    TRY(adaptive_sizes(plan, j, grad->dim + grad->rank - row->code, (uint64_t)row->code, row->code));
    TRY(small_side(plan, arg, 1, 0, row->code, j));
    TRY(plan_check_shape(plan, 2, arg[1].tensor->view.rank, arg[1].tensor->view.dim));
    adaptive_windows(plan, &j->p);
    return plan_average(plan, arg, j, 0, 2, true);
}

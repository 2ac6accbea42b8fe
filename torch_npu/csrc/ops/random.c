/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers and dropout. Every operator takes its own offset of the generator's Philox stream.
 *
 * Inside a graph seed and offset are tensors, which CANN takes for normal, uniform and integer numbers, masks and
 * multinomial; the others are made of those. */
#include <math.h>
#include <string.h>

#include "index.h"

static struct aclnn normal = ACLNN("aclnnInplaceNormal", "Tffii"), uniform = ACLNN("aclnnInplaceUniform", "Tdduu");
static struct aclnn exponential = ACLNN("aclnnSimThreadExponential", "Tidii");
static struct aclnn integers = ACLNN("aclnnInplaceRandom", "Tiiii"),
                    any = ACLNN("aclnnInplaceRandomWithoutFromTo", "Tii");
/* the same with seed and offset in tensors */
static struct aclnn normal_seeded = ACLNN("aclnnInplaceNormalTensor", "TffTTi"),
                    uniform_seeded = ACLNN("aclnnInplaceUniformTensor", "TddTTu"),
                    integers_seeded = ACLNN("aclnnInplaceRandomTensor", "TiiTTi"),
                    any_seeded = ACLNN("aclnnInplaceRandomWithoutFromToTensor", "TTTi");
static struct aclnn muls = ACLNN("aclnnInplaceMuls", "TS"), adds = ACLNN("aclnnInplaceAdds", "TSS");

enum { DRAWS = 10 }; /* how far an operator moves the generator, as the official one does */

static bool takes_float(aclDataType t)
{
    return t == ACL_FLOAT || t == ACL_DOUBLE || t == ACL_FLOAT16 || t == ACL_BF16;
}

static int draw(struct call *c, int generator, struct philox_state *s)
{
    return philox(c, generator, DRAWS, s);
}

/* Launches the operator of the two that fits the state; before and after: its arguments around seed and offset (with
 * something after it is one that looks at its input's values). */
static int launch_seeded(struct call *c, struct aclnn *numbers, struct aclnn *tensors, const struct philox_state *s,
                         const union aclnn_value *before, int n_before, const union aclnn_value *after, int n_after)
{
    union aclnn_value v[12] = {{0}};
    int n = 0;
    for (int i = 0; i < n_before; i++)
        v[n++] = before[i];
    if (s->seeds) {
        v[n++].t = s->seeds;
        v[n++].t = s->offsets;
    } else {
        v[n++].i = (int64_t)s->seed;
    }
    v[n++].i = (int64_t)s->offset;
    for (int i = 0; i < n_after; i++)
        v[n++] = after[i];
    struct aclnn *op = s->seeds ? tensors : numbers;
    return n_after ? index_launch(c, op, v, CALL_RUNTIME_ERROR) : launch(c, op, v);
}
#define BEFORE(...)                                                                                                    \
    (const union aclnn_value[]){__VA_ARGS__}, sizeof((union aclnn_value[]){__VA_ARGS__}) / sizeof(union aclnn_value)

/* The in-place operators' result, or NULL when there is nothing (more) to do. */
static struct npu_tensor *filled(struct call *c)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    return call_failed(c) || !tensor_numel(out) ? NULL : out;
}

static int nothing(struct call *c)
{
    return call_failed(c) ? CALL_ERROR : CALL_OK;
}

static struct npu_scalar number(double x)
{
    return (struct npu_scalar){.kind = SCALAR_FLOAT, .d = {x}};
}

/* out = out * scale + shift */
static int scale_shift(struct call *c, const struct npu_tensor *out, double scale, double shift)
{
    struct npu_scalar a = number(scale), b = number(shift), one = number(1);
    if (scale != 1 && launch(c, &muls, (union aclnn_value[]){{.t = out}, {.s = &a}}))
        return CALL_ERROR;
    return shift != 0 ? launch(c, &adds, (union aclnn_value[]){{.t = out}, {.s = &b}, {.s = &one}}) : CALL_OK;
}

static int fill_normal(struct call *c, const struct npu_tensor *out, double mean, double deviation, int generator)
{
    struct philox_state s;
    if (draw(c, generator, &s))
        return CALL_ERROR;
    /* the operator's numbers are floats: what a double has beyond that is applied afterwards */
    bool exact = out->dtype != ACL_DOUBLE || ((double)(float)mean == mean && (double)(float)deviation == deviation);
    if (launch_seeded(c, &normal, &normal_seeded, &s,
                      BEFORE({.t = out}, {.d = exact ? mean : 0}, {.d = exact ? deviation : 1}), NULL, 0))
        return CALL_ERROR;
    return exact ? CALL_OK : scale_shift(c, out, deviation, mean);
}

/* Complex numbers as pairs of real ones. */
static const struct npu_tensor *pairs(struct call *c, const struct npu_tensor *t)
{
    int64_t size[64], stride[64];
    for (int32_t d = 0; d < t->rank; d++) {
        size[d] = t->size[d];
        stride[d] = 2 * t->stride[d];
    }
    size[t->rank] = 2;
    stride[t->rank] = 1;
    struct npu_tensor *real = view_of(c, t, t->rank + 1, size, stride, 2 * t->offset);
    real->dtype = t->dtype == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
    return real;
}

static bool takes_complex(aclDataType t)
{
    return t == ACL_COMPLEX64 || t == ACL_COMPLEX128;
}

static int run_normal(struct call *c, const struct aten_row *row)
{
    (void)row;
    double mean = arg_double(c, 1, 0), deviation = arg_double(c, 2, 1);
    if (!(deviation >= 0))
        return call_error(c, CALL_RUNTIME_ERROR, "normal expects std >= 0.0, but found std %g", deviation);
    bool complex = takes_complex(arg_tensor(c, 0)->dtype) && mean == 0 && arg_tensor(c, 0)->rank < 16;
    if (!takes_float(arg_tensor(c, 0)->dtype) && !complex)
        return CALL_FALLBACK;
    const struct npu_tensor *out = filled(c);
    if (out && complex) /* each part has half of the variance */
        return fill_normal(c, pairs(c, out), 0, deviation * 0x1.6a09e667f3bcdp-1, 3);
    return out ? fill_normal(c, out, mean, deviation, 3) : nothing(c);
}

static int run_log_normal(struct call *c, const struct aten_row *row)
{
    double mean = arg_double(c, 1, 1), deviation = arg_double(c, 2, 2);
    if (!(deviation > 0))
        return call_error(c, CALL_RUNTIME_ERROR, "log_normal_ expects std > 0.0, but found std=%g", deviation);
    if (!takes_float(arg_tensor(c, 0)->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *out = filled(c);
    if (!out || fill_normal(c, out, mean, deviation, 3))
        return nothing(c);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = out}});
}

static int fill_uniform(struct call *c, const struct npu_tensor *out, double from, double to, int generator)
{
    struct philox_state s;
    if (draw(c, generator, &s))
        return CALL_ERROR;
    return launch_seeded(c, &uniform, &uniform_seeded, &s, BEFORE({.t = out}, {.d = from}, {.d = to}), NULL, 0);
}

static int run_uniform(struct call *c, const struct aten_row *row)
{
    (void)row;
    aclDataType t = arg_tensor(c, 0)->dtype;
    double from = arg_double(c, 1, 0), to = arg_double(c, 2, 1);
    double most = t == ACL_FLOAT16 ? 65504
                  : t == ACL_BF16  ? 0x1.fep127
                  : t == ACL_FLOAT ? 0x1.fffffep127
                                   : 0x1.fffffffffffffp1023;
    if (!takes_float(t))
        return CALL_FALLBACK;
    if (!(from <= to))
        return call_error(c, CALL_RUNTIME_ERROR,
                          "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from, to);
    if (!(fabs(from) <= most && fabs(to) <= most && to - from <= most))
        return CALL_FALLBACK; /* for PyTorch's text */
    const struct npu_tensor *out = filled(c);
    return out ? fill_uniform(c, out, from, to, 3) : nothing(c);
}

static struct aclnn log_ = ACLNN("aclnnInplaceLog", "T"), clamp_ = ACLNN("aclnnClamp", "TSST");

static int fill_exponential(struct call *c, const struct npu_tensor *out, double rate, int generator)
{
    struct philox_state s;
    if (draw(c, generator, &s))
        return CALL_ERROR;
    if (s.seeds) { /* -log(1 - u) / rate */
        const double below_one = out->dtype == ACL_DOUBLE ? 1 - 0x1p-53 : 1 - 0x1p-24;
        struct npu_scalar minus = number(-1), one = number(1), scale = number(-1 / rate);
        struct npu_scalar low = number(0), high = number(below_one);
        const struct npu_tensor *u =
            out->dtype == ACL_FLOAT || out->dtype == ACL_DOUBLE ? out : temp(c, ACL_FLOAT, out->rank, out->size);
        if (launch_seeded(c, &uniform, &uniform_seeded, &s, BEFORE({.t = u}, {.d = 0}, {.d = 1}), NULL, 0) ||
            launch(c, &clamp_, (union aclnn_value[]){{.t = u}, {.s = &low}, {.s = &high}, {.t = u}}) ||
            launch(c, &muls, (union aclnn_value[]){{.t = u}, {.s = &minus}}) ||
            launch(c, &adds, (union aclnn_value[]){{.t = u}, {.s = &one}, {.s = &one}}) ||
            launch(c, &log_, (union aclnn_value[]){{.t = u}}) ||
            launch(c, &muls, (union aclnn_value[]){{.t = u}, {.s = &scale}}))
            return CALL_ERROR;
        return u == out ? CALL_OK : copy_tensor(c, out, u);
    }
    return launch(
        c, &exponential,
        (union aclnn_value[]){
            {.t = out}, {.i = tensor_numel(out)}, {.d = rate}, {.i = (int64_t)s.seed}, {.i = (int64_t)s.offset}});
}

static int run_exponential(struct call *c, const struct aten_row *row)
{
    (void)row;
    double rate = arg_double(c, 1, 1);
    if (!takes_float(arg_tensor(c, 0)->dtype))
        return CALL_FALLBACK;
    if (!(rate > 0))
        return call_error(c, CALL_RUNTIME_ERROR, "exponential_ expects lambda > 0.0, but found lambda=%g", rate);
    const struct npu_tensor *out = filled(c);
    return out ? fill_exponential(c, out, rate, 2) : nothing(c);
}

/* The number of the trial that succeeds first: an exponential waiting time, rounded up. */
static int run_geometric(struct call *c, const struct aten_row *row)
{
    double p = arg_double(c, 1, 0.5);
    aclDataType t = arg_tensor(c, 0)->dtype;
    if (!(p > 0 && p < 1))
        return call_error(c, CALL_RUNTIME_ERROR, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    if (!takes_float(t) && !is_integral(t, false))
        return CALL_FALLBACK;
    const struct npu_tensor *out = filled(c);
    if (!out)
        return nothing(c);
    aclDataType work = t == ACL_FLOAT || t == ACL_DOUBLE ? t : t == ACL_INT64 ? ACL_DOUBLE : ACL_FLOAT;
    const struct npu_tensor *wait = work == t ? out : temp(c, work, out->rank, out->size);
    if (fill_exponential(c, wait, -log1p(-p), 2) || launch(c, row->aclnn, (union aclnn_value[]){{.t = wait}}))
        return CALL_ERROR;
    return wait == out ? CALL_OK : copy_tensor(c, out, wait);
}

static int run_cauchy(struct call *c, const struct aten_row *row)
{
    double median = arg_double(c, 1, 0), sigma = arg_double(c, 2, 1);
    if (!takes_float(arg_tensor(c, 0)->dtype))
        return CALL_FALLBACK;
    if (!(sigma > 0))
        return call_error(c, CALL_RUNTIME_ERROR, "cauchy_ expects sigma > 0.0, but found sigma=%g", sigma);
    const struct npu_tensor *out = filled(c);
    if (!out)
        return nothing(c);
    const double quarter = 1.5707963;
    if (fill_uniform(c, out, -quarter, quarter, 3) || launch(c, row->aclnn, (union aclnn_value[]){{.t = out}}))
        return CALL_ERROR;
    return scale_shift(c, out, sigma, median);
}

/* ---- integers ---- */

/* The values that integers of the type may take; false for floating types. */
static bool limits(aclDataType t, int64_t *low, int64_t *high)
{
    switch (t) {
    case ACL_BOOL:
        *low = 0, *high = 1;
        return true;
    case ACL_UINT8:
        *low = 0, *high = 255;
        return true;
    case ACL_INT8:
        *low = -128, *high = 127;
        return true;
    case ACL_INT16:
        *low = INT16_MIN, *high = INT16_MAX;
        return true;
    case ACL_UINT16:
        *low = 0, *high = UINT16_MAX;
        return true;
    case ACL_INT32:
        *low = INT32_MIN, *high = INT32_MAX;
        return true;
    case ACL_UINT32:
        *low = 0, *high = UINT32_MAX;
        return true;
    case ACL_INT64:
    case ACL_UINT64:
        *low = t == ACL_INT64 ? INT64_MIN : 0, *high = INT64_MAX;
        return true;
    default:
        return false;
    }
}

enum { RANDOM_ANY, RANDOM_TO, RANDOM_FROM };

static int run_random(struct call *c, const struct aten_row *row)
{
    aclDataType t = arg_tensor(c, 0)->dtype;
    int64_t low, high;
    bool whole = limits(t, &low, &high);
    if (!whole && !takes_float(t))
        return CALL_FALLBACK;
    bool any_value = row->code == RANDOM_ANY;
    int64_t from = 0, to = 0;
    if (row->code == RANDOM_TO) {
        to = arg_int(c, 1, 0);
    } else if (row->code == RANDOM_FROM) {
        from = arg_int(c, 1, 0);
        if (arg_none(c, 2)) {
            to = !whole              ? t == ACL_DOUBLE    ? INT64_C(1) << 53
                                       : t == ACL_FLOAT   ? 1 << 24
                                       : t == ACL_FLOAT16 ? 1 << 11
                                                          : 1 << 8
                 : high == INT64_MAX ? high
                                     : high + 1;
        } else {
            to = arg_int(c, 2, 0);
        }
    }
    if (!any_value) {
        if (from >= to)
            return call_error(c, CALL_RUNTIME_ERROR,
                              "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                              (long long)from, (long long)to);
        if (whole && (from < low || from > high || to - 1 > high))
            return CALL_FALLBACK; /* for PyTorch's text */
    }
    const struct npu_tensor *out = filled(c);
    struct philox_state s;
    if (!out || draw(c, row->code + 1, &s))
        return nothing(c);
    if (any_value)
        return launch_seeded(c, &any, &any_seeded, &s, BEFORE({.t = out}), NULL, 0);
    return launch_seeded(c, &integers, &integers_seeded, &s, BEFORE({.t = out}, {.i = from}, {.i = to}), NULL, 0);
}

static struct aclnn sort = ACLNN("aclnnSort", "TbibTT");

static int run_randperm(struct call *c, const struct aten_row *row)
{
    int64_t n = arg_int(c, 0, 0), low, high = INT64_MAX;
    const struct npu_tensor *given = arg_tensor(c, 2);
    if (n < 0)
        return call_error(c, CALL_RUNTIME_ERROR, "n must be non-negative, got%lld", (long long)n);
    if (!limits(given->dtype, &low, &high))
        high = given->dtype == ACL_FLOAT16 ? 1 << 11
               : given->dtype == ACL_BF16  ? 1 << 8
               : given->dtype == ACL_FLOAT ? 1 << 24
                                           : INT64_C(1) << 53;
    if (n - 1 > high || (!takes_float(given->dtype) && !is_integral(given->dtype, false)))
        return CALL_FALLBACK;
    const struct npu_tensor *out = result(c, 0, given->dtype, 1, &n);
    struct philox_state s;
    if (call_failed(c) || !n || draw(c, 1, &s))
        return nothing(c);
    if (s.seeds) { /* the order of random keys */
        const struct npu_tensor *keys = temp(c, ACL_INT64, 1, &n), *sorted = temp(c, ACL_INT64, 1, &n),
                                *order = given->dtype == ACL_INT64 ? out : temp(c, ACL_INT64, 1, &n);
        if (launch_seeded(c, &any, &any_seeded, &s, BEFORE({.t = keys}), NULL, 0) ||
            launch(c, &sort,
                   (union aclnn_value[]){{.t = keys}, {.i = 1}, {.i = 0}, {.i = 0}, {.t = sorted}, {.t = order}}))
            return CALL_ERROR;
        return order == out ? CALL_OK : copy_tensor(c, out, order);
    }
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.i = n}, {.i = (int64_t)s.seed}, {.i = (int64_t)s.offset}, {.t = out}});
}

/* ---- bernoulli, normal with tensors, multinomial ---- */

static struct aclnn by_number = ACLNN("aclnnInplaceBernoulli", "TSii"),
                    by_tensor = ACLNN("aclnnInplaceBernoulliTensor", "TTii");

static struct aclnn less_number = ACLNN("aclnnLtScalar", "TST"), less_tensor = ACLNN("aclnnLtTensor", "TTT");

/* 1 where a uniform number is less than p, a number or a tensor. */
static int bernoulli_seeded(struct call *c, const struct npu_tensor *out, const struct npu_scalar *p,
                            const struct npu_tensor *each, const struct philox_state *s)
{
    const struct npu_tensor *u = temp(c, each && each->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT, out->rank,
                                      out->size),
                            *less = out->dtype == ACL_BOOL ? out : temp(c, ACL_BOOL, out->rank, out->size);
    if (launch_seeded(c, &uniform, &uniform_seeded, s, BEFORE({.t = u}, {.d = 0}, {.d = 1}), NULL, 0))
        return CALL_ERROR;
    int status = each ? launch(c, &less_tensor, (union aclnn_value[]){{.t = u}, {.t = each}, {.t = less}})
                      : launch(c, &less_number, (union aclnn_value[]){{.t = u}, {.s = p}, {.t = less}});
    return status || less == out ? status : copy_tensor(c, out, less);
}

static int bernoulli_number(struct call *c, const struct npu_tensor *out, const struct npu_scalar *p,
                            const struct philox_state *s)
{
    if (s->seeds)
        return bernoulli_seeded(c, out, p, NULL, s);
    return launch(c, &by_number,
                  (union aclnn_value[]){{.t = out}, {.s = p}, {.i = (int64_t)s->seed}, {.i = (int64_t)s->offset}});
}

static bool takes_number(aclDataType t)
{
    return takes_float(t) || is_integral(t, true);
}

static int run_bernoulli(struct call *c, const struct aten_row *row)
{
    (void)row;
    double p = arg_double(c, 1, 0.5);
    if (!(p >= 0 && p <= 1))
        return call_error(c, CALL_RUNTIME_ERROR, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    if (!takes_number(arg_tensor(c, 0)->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *out = filled(c);
    struct npu_scalar probability = number(p);
    struct philox_state s;
    if (!out || draw(c, 2, &s))
        return nothing(c);
    return bernoulli_number(c, out, &probability, &s);
}

/* bernoulli_.Tensor(self, p, generator) and bernoulli.out(self, generator, out): self gives the probabilities */
static int run_bernoulli_tensor(struct call *c, const struct aten_row *row)
{
    bool out_form = row->code;
    const struct npu_tensor *self = arg_tensor(c, 0), *p = out_form ? self : arg_tensor(c, 1),
                            *given = out_form ? arg_tensor(c, 2) : self;
    if (!takes_float(p->dtype) || !takes_number(given->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *both[2] = {self, p};
    int64_t size[64];
    int32_t rank = broadcast_shape(c, both, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    const struct npu_tensor *out = result(c, 0, given->dtype, rank, size);
    struct philox_state s;
    if (call_failed(c) || !tensor_numel(out) || draw(c, out_form ? 1 : 2, &s))
        return nothing(c);
    if (s.seeds)
        return bernoulli_seeded(c, out, NULL, p, &s);
    return index_launch(c, &by_tensor,
                        (union aclnn_value[]){{.t = out}, {.t = p}, {.i = (int64_t)s.seed}, {.i = (int64_t)s.offset}},
                        CALL_RUNTIME_ERROR);
}

static struct aclnn normal_ft = ACLNN("aclnnNormalFloatTensor", "fTiiT"),
                    normal_tf = ACLNN("aclnnNormalTensorFloat", "TfiiT");
static struct aclnn mul_ = ACLNN("aclnnInplaceMul", "TT"), add_ = ACLNN("aclnnInplaceAdd", "TTS");
static struct aclnn normal_tt = ACLNN("aclnnNormalTensorTensor", "TTiiT");

enum { MEAN_TENSOR = 1, STD_TENSOR = 2 };

static int run_normal_tensor(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *tensors[2];
    int n = 0;
    union aclnn_value v[5] = {{0}};
    for (int k = 0; k < 2; k++) {
        if (row->code & (k ? STD_TENSOR : MEAN_TENSOR))
            v[k].t = tensors[n++] = arg_tensor(c, k);
        else
            v[k].d = arg_double(c, k, k);
    }
    if (!(row->code & STD_TENSOR) && !(v[1].d >= 0))
        return call_error(c, CALL_RUNTIME_ERROR, "normal expects std >= 0.0, but found std %g", v[1].d);
    aclDataType dtype = n == 2 ? promote_types(tensors[0]->dtype, tensors[1]->dtype) : tensors[0]->dtype;
    if (!takes_float(dtype) || (n == 2 && (!takes_float(tensors[0]->dtype) || !takes_float(tensors[1]->dtype))))
        return CALL_FALLBACK;
    int64_t size[64];
    int32_t rank = broadcast_shape(c, tensors, n, size);
    if (rank < 0)
        return CALL_ERROR;
    const struct npu_tensor *out = result(c, 0, dtype, rank, size);
    struct philox_state s;
    if (call_failed(c) || !tensor_numel(out) || draw(c, 2, &s))
        return nothing(c);
    if (s.seeds) { /* standard normals, scaled and shifted */
        struct npu_scalar scale = number(v[1].d), shift = number(v[0].d), one = number(1);
        if (launch_seeded(c, &normal, &normal_seeded, &s, BEFORE({.t = out}, {.d = 0}, {.d = 1}), NULL, 0) ||
            (row->code & STD_TENSOR ? launch(c, &mul_, (union aclnn_value[]){{.t = out}, {.t = v[1].t}})
                                    : launch(c, &muls, (union aclnn_value[]){{.t = out}, {.s = &scale}})))
            return CALL_ERROR;
        return row->code & MEAN_TENSOR
                   ? launch(c, &add_, (union aclnn_value[]){{.t = out}, {.t = v[0].t}, {.s = &one}})
                   : launch(c, &adds, (union aclnn_value[]){{.t = out}, {.s = &shift}, {.s = &one}});
    }
    v[2].i = (int64_t)s.seed;
    v[3].i = (int64_t)s.offset;
    v[4].t = out;
    return index_launch(c, row->aclnn, v, CALL_RUNTIME_ERROR);
}

static struct aclnn multinomial_seeded = ACLNN("aclnnMultinomialTensor", "TibTTiT");

static int run_multinomial(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t samples = arg_int(c, 1, 1);
    bool replacement = arg_bool(c, 2, false);
    if (self->rank < 1 || self->rank > 2)
        return call_error(c, CALL_RUNTIME_ERROR, "prob_dist must be 1 or 2 dim");
    int64_t n = self->size[self->rank - 1], size[2] = {self->size[0], samples};
    if (!takes_float(self->dtype) || n > 1 << 24)
        return CALL_FALLBACK;
    if (samples <= 0)
        return call_error(c, CALL_RUNTIME_ERROR, "cannot sample n_sample <= 0 samples");
    if (!replacement && samples > n)
        return call_error(c, CALL_RUNTIME_ERROR,
                          "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    if (self->rank == 1)
        size[0] = samples;
    const struct npu_tensor *out = result(c, 0, ACL_INT64, self->rank, size);
    struct philox_state s;
    if (call_failed(c) || !tensor_numel(out) || draw(c, 3, &s))
        return nothing(c);
    return launch_seeded(c, row->aclnn, &multinomial_seeded, &s,
                         BEFORE({.t = self}, {.i = samples}, {.i = replacement}), &(union aclnn_value){.t = out}, 1);
}

/* ---- dropout: a mask of bool, as PyTorch's is ---- */

static struct aclnn masked_scale = ACLNN("aclnnMaskedScale", "TTfT"), ones = ACLNN("aclnnInplaceOne", "T");

static int run_dropout(struct call *c, const struct aten_row *row)
{
    (void)row;
    const struct npu_tensor *self = arg_tensor(c, 0);
    double p = arg_double(c, 1, 0.5);
    bool train = arg_none(c, 2) || arg_bool(c, 2, true);
    if (!(p >= 0 && p <= 1))
        return call_error(c, CALL_RUNTIME_ERROR, "dropout probability has to be between 0 and 1, but got %g", p);
    if (!takes_float(self->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *out = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    const struct npu_tensor *mask = result_pointwise(c, 1, ACL_BOOL, self->rank, self->size, &self, 1);
    if (call_failed(c) || !tensor_numel(self))
        return nothing(c);
    if (!train) {
        if (launch(c, &ones, (union aclnn_value[]){{.t = mask}}))
            return CALL_ERROR;
        return copy_tensor(c, out, self);
    }
    struct npu_scalar keep = number(1 - p);
    struct philox_state s;
    if (draw(c, -1, &s))
        return CALL_ERROR;
    if (bernoulli_number(c, mask, &keep, &s))
        return CALL_ERROR;
    return launch(c, &masked_scale,
                  (union aclnn_value[]){{.t = self}, {.t = mask}, {.d = p < 1 ? 1 / (1 - p) : 0}, {.t = out}});
}

static struct aclnn exp_ = ACLNN("aclnnInplaceExp", "T"), tan_ = ACLNN("aclnnInplaceTan", "T"),
                    ceil_ = ACLNN("aclnnInplaceCeil", "T");
static struct aclnn randperm = ACLNN("aclnnRandperm", "iiiT"), multinomial = ACLNN("aclnnMultinomial", "TibiiT");

static const struct aten_row rows[] = {
    {"normal_", run_normal, NULL, 0, false},
    {"log_normal_", run_log_normal, &exp_, 0, false},
    {"uniform_", run_uniform, NULL, 0, false},
    {"exponential_", run_exponential, NULL, 0, false},
    {"geometric_", run_geometric, &ceil_, 0, false},
    {"cauchy_", run_cauchy, &tan_, 0, false},
    {"random_", run_random, NULL, RANDOM_ANY, false},
    {"random_.to", run_random, NULL, RANDOM_TO, false},
    {"random_.from", run_random, NULL, RANDOM_FROM, false},
    {"randperm.generator_out", run_randperm, &randperm, 0, false},
    {"bernoulli_.float", run_bernoulli, NULL, 0, false},
    {"bernoulli_.Tensor", run_bernoulli_tensor, NULL, 0, true},
    {"bernoulli.out", run_bernoulli_tensor, NULL, 1, true},
    {"normal.Tensor_float", run_normal_tensor, &normal_tf, MEAN_TENSOR, false},
    {"normal.Tensor_float_out", run_normal_tensor, &normal_tf, MEAN_TENSOR, false},
    {"normal.float_Tensor", run_normal_tensor, &normal_ft, STD_TENSOR, false},
    {"normal.float_Tensor_out", run_normal_tensor, &normal_ft, STD_TENSOR, false},
    {"normal.Tensor_Tensor", run_normal_tensor, &normal_tt, MEAN_TENSOR | STD_TENSOR, false},
    {"normal.Tensor_Tensor_out", run_normal_tensor, &normal_tt, MEAN_TENSOR | STD_TENSOR, false},
    {"multinomial", run_multinomial, &multinomial, 0, false},
    {"multinomial.out", run_multinomial, &multinomial, 0, false},
    {"native_dropout", run_dropout, NULL, 0, false},
};
ATEN_FAMILY(random_family, rows);

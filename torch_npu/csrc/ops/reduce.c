/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions: sums, products, extremes with and without positions, any and all, moments, norms, equality. */
#include "reduce.h"

#include <math.h>

enum { RANK_MAX = 16 };

enum {
    WHOLE = ELEMENTWISE_FREE,            /* no dim, no keepdim: everything */
    ONE_DIM = ELEMENTWISE_FREE << 1,     /* dim is an int */
    OUT = ELEMENTWISE_FREE << 2,         /* an out= overload: the last argument's type counts */
    GIVES_LONG = ELEMENTWISE_FREE << 3,  /* integers and bool become int64 */
    GIVES_BYTE = ELEMENTWISE_FREE << 4,  /* uint8 for uint8, else bool */
    NO_IDENTITY = ELEMENTWISE_FREE << 5, /* nothing has no value */
    COMPLEX = ELEMENTWISE_FREE << 6,
    EMPTY_DIMS = ELEMENTWISE_FREE << 7, /* dim=[] reduces nothing */
    STD = ELEMENTWISE_FREE << 8,
    WITH_MEAN = ELEMENTWISE_FREE << 9,
};

/* Where numbers differ from 0: the truth of complex ones. */
static const struct npu_tensor *truth(struct call *c, const struct npu_tensor *t)
{
    static struct aclnn ne = ACLNN("aclnnNeScalar", "TST");
    const struct npu_scalar zero = {.kind = SCALAR_INT};
    struct npu_tensor *set = temp(c, ACL_BOOL, t->rank, t->size);
    launch(c, &ne, (union aclnn_value[]){{.t = t}, {.s = &zero}, {.t = set}});
    return set;
}

static bool takes(int code, aclDataType t)
{
    return takes_type(code, t) || (code & COMPLEX && (t == ACL_COMPLEX64 || t == ACL_COMPLEX128));
}

/* dim, or dims, at argument i */
static int reduce_args(struct call *c, int code, const struct npu_tensor *self, bool keepdim, struct reduced *r)
{
    const int64_t *dims = NULL;
    size_t n = code & WHOLE || arg_none(c, 1) ? 0 : arg_ints(c, 1, &dims);
    return reduce_over(c, self, dims, n, keepdim, r);
}

/* ---- sum, mean, prod ---- */

/* self, [dim, keepdim,] dtype */
static int run_sum(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int code = row->code, at = code & WHOLE ? 1 : 3;
    bool keepdim = !(code & WHOLE) && arg_bool(c, 2, false);
    aclDataType type = self->dtype;
    if (code & GIVES_LONG && is_integral(type, true))
        type = ACL_INT64;
    if (code & OUT && arg_none(c, at))
        type = arg_tensor(c, at + 1)->dtype;
    type = arg_dtype(c, at, type);
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(TAKES_ANY | COMPLEX, self->dtype) || !takes(code, type) ||
        (is_complex(self->dtype) && !is_complex(type)))
        return CALL_FALLBACK;
    if (reduce_args(c, code, self, keepdim, &r))
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, type, r.rank, r.size);
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = self}, {.ints = {r.dim, r.dims}}, {.i = keepdim}, {.i = type}, {.t = out}});
}

/* The product of complex numbers along dimension d: one half times the other until one is left. */
static int multiply_halves(struct call *c, const struct npu_tensor *x, int32_t d, const struct npu_tensor *out)
{
    static struct aclnn mul = ACLNN("aclnnMul", "TTT"), one = ACLNN("aclnnInplaceOne", "T");
    int64_t size[RANK_MAX], left = x->size[d];
    for (int32_t i = 0; i < x->rank; i++)
        size[i] = x->size[i];
    if (!left)
        return tensor_numel(out) ? launch(c, &one, (union aclnn_value[]){{.t = out}}) : CALL_OK;
    struct npu_tensor *now = temp(c, x->dtype, x->rank, size);
    if (copy_tensor(c, now, x))
        return CALL_ERROR;
    while (left > 1) {
        int64_t half = left / 2;
        size[d] = half;
        const struct npu_tensor *a = view_of(c, now, x->rank, size, now->stride, now->offset),
                                *b = view_of(c, now, x->rank, size, now->stride,
                                             now->offset + (left - half) * now->stride[d]);
        launch(c, &mul, (union aclnn_value[]){{.t = a}, {.t = b}, {.t = a}});
        left -= half;
    }
    size[d] = 1;
    int64_t flat[RANK_MAX];
    int32_t n = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (i != d || out->rank == x->rank)
            flat[n++] = now->stride[i];
    return copy_tensor(c, out, view_of(c, now, out->rank, out->size, flat, now->offset));
}

/* self, dtype; or self, dim, keepdim, dtype */
static int run_prod(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int code = row->code, at = code & WHOLE ? 1 : 3;
    bool keepdim = !(code & WHOLE) && arg_bool(c, 2, false);
    aclDataType type = is_integral(self->dtype, true) ? ACL_INT64 : self->dtype;
    if (code & OUT && arg_none(c, at))
        type = arg_tensor(c, at + 1)->dtype;
    type = arg_dtype(c, at, type);
    struct reduced r;
    bool parts = is_complex(type);
    if (self->rank > RANK_MAX || !(parts || takes(TAKES_ANY, self->dtype)) || !takes(code | COMPLEX, type))
        return CALL_FALLBACK;
    if (reduce_args(c, code, self, keepdim, &r))
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, type, r.rank, r.size);
    if (parts) {
        const struct npu_tensor *x = cast(c, self, type);
        int64_t count = tensor_numel(x), one = 1;
        if (!r.dims && !(code & WHOLE))
            return copy_tensor(c, out, x);
        if (code & WHOLE) {
            x = contiguous(c, x);
            return multiply_halves(c, view_of(c, x, 1, &count, &one, x->offset), 0, out);
        }
        return multiply_halves(c, x, (int32_t)r.dim[0], out);
    }
    if (code & WHOLE)
        return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = type}, {.t = out}});
    return launch(c, row->aclnn + 1,
                  (union aclnn_value[]){{.t = self}, {.i = arg_int(c, 1, 0)}, {.i = keepdim}, {.i = type}, {.t = out}});
}

static int run_count_nonzero(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *set = self;
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(row->code, self->dtype))
        return CALL_FALLBACK;
    if (reduce_args(c, row->code, self, false, &r))
        return CALL_ERROR;
    if (self->dtype != ACL_BOOL)
        set = truth(c, self);
    struct npu_tensor *out = result(c, 0, ACL_INT64, r.rank, r.size);
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = set}, {.ints = {r.dim, r.dims}}, {.i = false}, {.i = ACL_INT64}, {.t = out}});
}

static int run_trace(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->rank != 2 || !takes(row->code, self->dtype))
        return CALL_FALLBACK;
    int64_t n = self->size[0] < self->size[1] ? self->size[0] : self->size[1], step = self->stride[0] + self->stride[1];
    aclDataType type = is_integral(self->dtype, true) ? ACL_INT64 : self->dtype;
    const struct npu_tensor *diagonal = view_of(c, self, 1, &n, &step, self->offset);
    struct npu_tensor *out = result(c, 0, type, 0, NULL);
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = diagonal}, {.ints = {(int64_t[]){0}, 1}}, {.i = false}, {.i = type}, {.t = out}});
}

/* ---- extremes ---- */

/* amax, amin, any, all: self, dim, keepdim; or self */
static int run_extreme(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int code = row->code;
    bool keepdim = !(code & WHOLE) && arg_bool(c, 2, false);
    const int64_t *dims;
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(code, self->dtype) || (code & NO_IDENTITY && !tensor_numel(self)))
        return CALL_FALLBACK;
    if (code & EMPTY_DIMS && !arg_none(c, 1) && !arg_ints(c, 1, &dims))
        return CALL_FALLBACK;
    if (reduce_args(c, code, self, keepdim, &r))
        return CALL_ERROR;
    aclDataType type = code & GIVES_BYTE ? (self->dtype == ACL_UINT8 ? ACL_UINT8 : ACL_BOOL) : self->dtype;
    struct npu_tensor *out = result(c, 0, type, r.rank, r.size);
    if (is_complex(self->dtype))
        self = truth(c, self);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self}, {.ints = {r.dim, r.dims}}, {.i = keepdim}, {.t = out}});
}

/* max, min of everything */
static int run_whole_extreme(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->rank > RANK_MAX || !takes(row->code, self->dtype) || !tensor_numel(self))
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, self->dtype, 0, NULL);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = out}});
}

/* max.dim, min.dim: self, dim, keepdim → values, indices */
static int run_extreme_dim(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t dim = arg_int(c, 1, 0);
    bool keepdim = arg_bool(c, 2, false);
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(row->code, self->dtype) || !tensor_numel(self))
        return CALL_FALLBACK;
    if (reduce_over(c, self, &dim, 1, keepdim, &r))
        return CALL_ERROR;
    struct npu_tensor *values = result(c, 0, self->dtype, r.rank, r.size);
    struct npu_tensor *indices = result(c, 1, ACL_INT64, r.rank, r.size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self}, {.i = dim}, {.i = keepdim}, {.t = values}, {.t = indices}});
}

/* argmax, argmin: self, dim?, keepdim; without a dim the position in the flattened tensor */
static int run_position(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    bool flat = arg_none(c, 1), keepdim = arg_bool(c, 2, false);
    int64_t dim = arg_int(c, 1, 0), count = tensor_numel(self), one = 1;
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(row->code, self->dtype) || !count)
        return CALL_FALLBACK;
    if (reduce_over(c, self, &dim, flat ? 0 : 1, keepdim, &r))
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, ACL_INT64, r.rank, r.size), *to = out;
    if (flat) {
        const struct npu_tensor *dense = contiguous(c, self);
        self = view_of(c, dense, 1, &count, &one, dense->offset);
        to = view_of(c, out, 0, NULL, NULL, out->offset);
        keepdim = false;
    }
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.i = keepdim}, {.t = to}});
}

/* aminmax: self, dim?, keepdim → min, max */
static int run_aminmax(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    bool keepdim = arg_bool(c, 2, false);
    int64_t dim = arg_int(c, 1, 0);
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(row->code, self->dtype))
        return CALL_FALLBACK;
    if (reduce_over(c, self, &dim, arg_none(c, 1) ? 0 : 1, keepdim, &r))
        return CALL_ERROR;
    if (!tensor_numel(self) && (arg_none(c, 1) || !r.count))
        return CALL_FALLBACK; /* no elements to choose from: PyTorch says so */
    struct npu_tensor *low = result(c, 0, self->dtype, r.rank, r.size);
    struct npu_tensor *high = result(c, 1, self->dtype, r.rank, r.size);
    if (!tensor_numel(self))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = self}, {.ints = {r.dim, r.dims}}, {.i = keepdim}, {.t = low}, {.t = high}});
}

/* ---- moments ---- */

/* The operators take whole corrections: with another, the uncorrected variance is scaled by n / (n − correction). */
static int scale_variance(struct call *c, const struct aten_row *row, const struct npu_tensor *self,
                          const struct reduced *r, bool keepdim, double correction, struct npu_tensor *out,
                          struct npu_tensor *mean)
{
    static struct aclnn muls = ACLNN("aclnnMuls", "TST"), sqrt_ = ACLNN("aclnnSqrt", "TT");
    static struct aclnn var = ACLNN("aclnnVarCorrection", "TIibT"), var_mean = ACLNN("aclnnVarMean", "TIibTT");
    double left = (double)r->count - correction;
    struct npu_scalar factor = {.kind = SCALAR_FLOAT, .d = {(double)r->count / (left > 0 ? left : 0)}};
    aclDataType wide = out->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    struct npu_tensor *plain = temp(c, wide, r->rank, r->size), *scaled = temp(c, wide, r->rank, r->size);
    launch(c, mean ? &var_mean : &var,
           (union aclnn_value[]){
               {.t = self}, {.ints = {r->dim, r->dims}}, {.i = 0}, {.i = keepdim}, {.t = plain}, {.t = mean}});
    launch(c, &muls, (union aclnn_value[]){{.t = plain}, {.s = &factor}, {.t = scaled}});
    if (row->code & STD) {
        launch(c, &sqrt_, (union aclnn_value[]){{.t = scaled}, {.t = plain}});
        scaled = plain;
    }
    return copy_tensor(c, out, scaled);
}

/* Of complex numbers: the variances of the parts add up. */
static int complex_moments(struct call *c, const struct aten_row *row, const struct npu_tensor *self,
                           const struct reduced *r, bool keepdim, double correction)
{
    static struct aclnn add = ACLNN("aclnnAdd", "TTST"), sqrt_ = ACLNN("aclnnSqrt", "TT");
    static const struct aten_row plain = {"", NULL, NULL, WITH_MEAN};
    aclDataType real = self->dtype == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
    struct npu_tensor *out = result(c, 0, real, r->rank, r->size),
                      *mean = row->code & WITH_MEAN ? result(c, 1, self->dtype, r->rank, r->size) : NULL, *part[2];
    const struct npu_scalar one = {.kind = SCALAR_INT, .i = 1, .d = {1}};
    if (call_failed(c))
        return CALL_ERROR;
    for (int k = 0; k < 2; k++) {
        part[k] = temp(c, real, r->rank, r->size);
        struct npu_tensor *middle = mean ? part_of(c, mean, k) : temp(c, real, r->rank, r->size);
        if (scale_variance(c, &plain, part_of(c, self, k), r, keepdim, correction, part[k], middle))
            return CALL_ERROR;
    }
    launch(c, &add, (union aclnn_value[]){{.t = part[0]}, {.t = part[1]}, {.s = &one}, {.t = out}});
    return row->code & STD ? launch(c, &sqrt_, (union aclnn_value[]){{.t = out}, {.t = out}}) : CALL_OK;
}

/* self, dim?, correction?, keepdim → var or std[, mean] */
static int run_moments(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int code = row->code;
    bool keepdim = arg_bool(c, 3, false);
    double correction = 1;
    if (!arg_none(c, 2)) {
        struct npu_scalar s = arg_scalar(c, 2);
        correction = s.kind == SCALAR_FLOAT ? s.d[0] : (double)s.i;
    }
    struct reduced r;
    if (self->rank > RANK_MAX || !takes(code | COMPLEX, self->dtype))
        return CALL_FALLBACK;
    if (reduce_args(c, code, self, keepdim, &r))
        return CALL_ERROR;
    if (is_complex(self->dtype))
        return complex_moments(c, row, self, &r, keepdim, correction);
    struct npu_tensor *out = result(c, 0, self->dtype, r.rank, r.size), *mean = NULL;
    if (code & WITH_MEAN)
        mean = result(c, 1, self->dtype, r.rank, r.size);
    if (call_failed(c))
        return CALL_ERROR;
    if (correction != floor(correction) || fabs(correction) > 1e15)
        return scale_variance(c, row, self, &r, keepdim, correction, out, mean);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self},
                                        {.ints = {r.dim, r.dims}},
                                        {.i = (int64_t)correction},
                                        {.i = keepdim},
                                        {.t = out},
                                        {.t = mean}});
}

/* ---- norms ---- */

/* self, ord, dim?, keepdim, [dtype] */
static int run_norm(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    bool keepdim = arg_bool(c, 3, false);
    bool typed = row->code & GIVES_LONG; /* has a dtype argument */
    struct npu_scalar p = {.kind = SCALAR_FLOAT, .d = {2}};
    const int64_t *dims = NULL;
    size_t n = arg_none(c, 2) ? 0 : arg_ints(c, 2, &dims);
    struct reduced r;
    if (!arg_none(c, 1))
        p = arg_scalar(c, 1);
    double ord = p.kind == SCALAR_FLOAT ? p.d[0] : (double)p.i;
    aclDataType type = typed ? arg_dtype(c, 4, self->dtype) : self->dtype;
    if (self->rank > RANK_MAX || p.kind == SCALAR_COMPLEX || (!tensor_numel(self) && (isinf(ord) || ord < 0)))
        return CALL_FALLBACK;
    bool parts = type == self->dtype && (type == ACL_COMPLEX64 || type == ACL_COMPLEX128) && self->rank < RANK_MAX;
    if (parts)
        type = type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
    else if (!takes(TAKES_FLOAT, type) || !takes(TAKES_FLOAT, self->dtype))
        return CALL_FALLBACK;
    if (promote_types(self->dtype, type) != type && !is_complex(self->dtype))
        return CALL_FALLBACK;
    if (reduce_over(c, self, dims, n, keepdim, &r))
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, type, r.rank, r.size);
    if (parts && ord != 2) { /* of absolute values */
        static struct aclnn abs_ = ACLNN("aclnnAbs", "TT");
        struct npu_tensor *size = temp(c, type, self->rank, self->size);
        launch(c, &abs_, (union aclnn_value[]){{.t = self}, {.t = size}});
        self = size;
    }
    return launch(c, row->aclnn,
                  (union aclnn_value[]){
                      {.t = self}, {.s = &p}, {.ints = {r.dim, r.dims}}, {.i = keepdim}, {.i = type}, {.t = out}});
}

/* ---- equality ---- */

static int run_equal(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    if (a->dtype != b->dtype || a->device < 0 || b->device < 0)
        return CALL_FALLBACK;
    bool same = a->rank == b->rank;
    for (int32_t d = 0; same && d < a->rank; d++)
        same = a->size[d] == b->size[d];
    if (same && tensor_numel(a)) {
        struct npu_tensor *out = temp(c, ACL_BOOL, 0, NULL);
        if (launch(c, row->aclnn, (union aclnn_value[]){{.t = a}, {.t = b}, {.t = out}}) || tensor_read(c, out, &same))
            return CALL_ERROR;
    }
    result_bool(c, 0, same);
    return CALL_OK;
}

/* ---- rows ---- */

static struct aclnn reduce_sum = ACLNN("aclnnReduceSum", "TIbyT"), mean = ACLNN("aclnnMean", "TIbyT");
static struct aclnn nansum = ACLNN("aclnnReduceNansum", "TIbyT");
static struct aclnn prod[] = {ACLNN("aclnnProd", "TyT"), ACLNN("aclnnProdDim", "TibyT")};
static struct aclnn amax = ACLNN("aclnnAmax", "TIbT"), amin = ACLNN("aclnnAmin", "TIbT");
static struct aclnn aminmax = ACLNN("aclnnAminmax", "TIbTT");
static struct aclnn max = ACLNN("aclnnMax", "TT"), min = ACLNN("aclnnMin", "TT");
static struct aclnn max_dim = ACLNN("aclnnMaxDim", "TibTT"), min_dim = ACLNN("aclnnMinDim", "TibTT");
static struct aclnn argmax = ACLNN("aclnnArgMax", "TibT"), argmin = ACLNN("aclnnArgMin", "TibT");
static struct aclnn any = ACLNN("aclnnAny", "TIbT"), all = ACLNN("aclnnAll", "TIbT");
static struct aclnn var = ACLNN("aclnnVarCorrection", "TIibT"), std = ACLNN("aclnnStd", "TIibT");
static struct aclnn var_mean = ACLNN("aclnnVarMean", "TIibTT"), std_mean = ACLNN("aclnnStdMeanCorrection", "TIibTT");
static struct aclnn vector_norm = ACLNN("aclnnLinalgVectorNorm", "TSIbyT");
static struct aclnn equal = ACLNN("aclnnEqual", "TTT");

enum {
    SUM = TAKES_ANY | COMPLEX | GIVES_LONG,
    MEAN = TAKES_FLOAT | COMPLEX,
    EXTREME = TAKES_ANY | NO_IDENTITY,
    LOGIC = TAKES_ANY | COMPLEX | GIVES_BYTE,
    TYPED = GIVES_LONG,
};

static const struct aten_row rows[] = {
    {"sum", run_sum, &reduce_sum, SUM | WHOLE},
    {"sum.dim_IntList", run_sum, &reduce_sum, SUM},
    {"sum.IntList_out", run_sum, &reduce_sum, SUM | OUT},
    {"mean", run_sum, &mean, MEAN | WHOLE},
    {"mean.dim", run_sum, &mean, MEAN},
    {"mean.out", run_sum, &mean, MEAN | OUT},
    {"nansum", run_sum, &nansum, TAKES_ANY | GIVES_LONG},
    {"nansum.out", run_sum, &nansum, TAKES_ANY | GIVES_LONG | OUT},
    {"prod", run_prod, prod, TAKES_ANY | WHOLE},
    {"prod.dim_int", run_prod, prod, TAKES_ANY},
    {"prod.int_out", run_prod, prod, TAKES_ANY | OUT},
    {"count_nonzero.dim_IntList", run_count_nonzero, &reduce_sum, TAKES_ANY | COMPLEX},
    {"trace", run_trace, &reduce_sum, TAKES_ANY | COMPLEX},
    {"amax", run_extreme, &amax, EXTREME},
    {"amax.out", run_extreme, &amax, EXTREME},
    {"amin", run_extreme, &amin, EXTREME},
    {"amin.out", run_extreme, &amin, EXTREME},
    {"aminmax", run_aminmax, &aminmax, TAKES_ANY},
    {"aminmax.out", run_aminmax, &aminmax, TAKES_ANY},
    {"max", run_whole_extreme, &max, TAKES_ANY},
    {"max.unary_out", run_whole_extreme, &max, TAKES_ANY},
    {"min", run_whole_extreme, &min, TAKES_ANY},
    {"min.unary_out", run_whole_extreme, &min, TAKES_ANY},
    {"max.dim", run_extreme_dim, &max_dim, TAKES_ANY},
    {"max.dim_max", run_extreme_dim, &max_dim, TAKES_ANY},
    {"min.dim", run_extreme_dim, &min_dim, TAKES_ANY},
    {"min.dim_min", run_extreme_dim, &min_dim, TAKES_ANY},
    {"argmax", run_position, &argmax, TAKES_REAL},
    {"argmax.out", run_position, &argmax, TAKES_REAL},
    {"argmin", run_position, &argmin, TAKES_REAL},
    {"argmin.out", run_position, &argmin, TAKES_REAL},
    {"any", run_extreme, &any, LOGIC | WHOLE},
    {"any.all_out", run_extreme, &any, LOGIC | WHOLE},
    {"any.dim", run_extreme, &any, LOGIC},
    {"any.out", run_extreme, &any, LOGIC},
    {"any.dims", run_extreme, &any, LOGIC | EMPTY_DIMS},
    {"any.dims_out", run_extreme, &any, LOGIC | EMPTY_DIMS},
    {"all", run_extreme, &all, LOGIC | WHOLE},
    {"all.all_out", run_extreme, &all, LOGIC | WHOLE},
    {"all.dim", run_extreme, &all, LOGIC},
    {"all.out", run_extreme, &all, LOGIC},
    {"all.dims", run_extreme, &all, LOGIC | EMPTY_DIMS},
    {"all.dims_out", run_extreme, &all, LOGIC | EMPTY_DIMS},
    {"var.correction", run_moments, &var, TAKES_FLOAT},
    {"var.correction_out", run_moments, &var, TAKES_FLOAT},
    {"std.correction", run_moments, &std, TAKES_FLOAT | STD},
    {"std.correction_out", run_moments, &std, TAKES_FLOAT | STD},
    {"var_mean.correction", run_moments, &var_mean, TAKES_FLOAT | WITH_MEAN},
    {"std_mean.correction", run_moments, &std_mean, TAKES_FLOAT | WITH_MEAN | STD},
    {"norm.ScalarOpt_dim", run_norm, &vector_norm, 0},
    {"norm.ScalarOpt_dim_dtype", run_norm, &vector_norm, TYPED},
    {"norm.out", run_norm, &vector_norm, 0},
    {"norm.dtype_out", run_norm, &vector_norm, TYPED},
    {"linalg_vector_norm", run_norm, &vector_norm, TYPED},
    {"linalg_vector_norm.out", run_norm, &vector_norm, TYPED},
    {"equal", run_equal, &equal, 0},
};
ATEN_FAMILY(reduce_family, rows);

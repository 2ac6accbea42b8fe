/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms, counts of integers, and membership. */
#include "elementwise.h"

static int run_zeros(struct call *c, const struct npu_tensor *t)
{
    static struct aclnn zero = ACLNN("aclnnInplaceZero", "T");
    return tensor_numel(t) ? launch(c, &zero, (union aclnn_value[]){{.t = t}}) : CALL_OK;
}

static double scalar_value(struct npu_scalar s)
{
    return s.kind == SCALAR_FLOAT ? s.d[0] : (double)s.i;
}

/* self, bins, min, max; equal bounds: the data's own, which must be finite */
static int run_histc(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t bins = arg_int(c, 1, 100);
    struct npu_scalar low = arg_scalar(c, 2), high = arg_scalar(c, 3);
    if (self->device < 0 || !takes_type(TAKES_FLOAT, self->dtype) || bins <= 0 || self->rank > 16 ||
        !(scalar_value(low) <= scalar_value(high)) || scalar_value(low) < -1e300 || scalar_value(high) > 1e300)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, self->dtype, 1, &bins);
    int status =
        launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = bins}, {.s = &low}, {.s = &high}, {.t = out}});
    return status || scalar_value(low) < scalar_value(high) ? status : call_sync(c);
}

/* self, weights?, minlength */
static int run_bincount(struct call *c, const struct aten_row *row)
{
    static struct aclnn aminmax = ACLNN("aclnnAminmaxAll", "TTT");
    const struct npu_tensor *self = arg_tensor(c, 0), *weights = arg_tensor(c, 1);
    int64_t length = arg_int(c, 2, 0), bounds[2], two = 2, one = 1;
    if (self->device < 0 || self->rank != 1 || !takes_type(TAKES_INT, self->dtype) || length < 0)
        return CALL_FALLBACK;
    if (weights->defined && (weights->rank != 1 || weights->size[0] != self->size[0] || weights->device < 0 ||
                             !takes_type(TAKES_ANY, weights->dtype)))
        return CALL_FALLBACK;
    if (!self->size[0])
        return run_zeros(c, result(c, 0, ACL_INT64, 1, &length));
    struct npu_tensor *ends = temp(c, ACL_INT64, 1, &two);
    struct npu_tensor *least = view_of(c, ends, 0, NULL, NULL, 0), *most = view_of(c, ends, 0, NULL, NULL, one);
    if (launch(c, &aminmax, (union aclnn_value[]){{.t = cast(c, self, ACL_INT64)}, {.t = least}, {.t = most}}) ||
        tensor_read(c, ends, bounds))
        return CALL_ERROR;
    if (bounds[0] < 0)
        return call_error(c, CALL_RUNTIME_ERROR, "bincount only supports 1-d non-negative integral inputs.");
    length = bounds[1] >= length ? bounds[1] + 1 : length;
    aclDataType type = !weights->defined ? ACL_INT64 : weights->dtype == ACL_FLOAT ? ACL_FLOAT : ACL_DOUBLE;
    struct npu_tensor *out = result(c, 0, type, 1, &length);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = weights}, {.i = 0}, {.t = out}});
}

/* elements, test_elements, assume_unique, invert: is the test element that would stand before an element its equal? */
static int run_isin(struct call *c, const struct aten_row *row)
{
    static struct aclnn sort = ACLNN("aclnnSort", "TbibTT"), search = ACLNN("aclnnSearchSorted", "TTbbTT");
    static struct aclnn clamp_max = ACLNN("aclnnClampMax", "TST"), take = ACLNN("aclnnTake", "TTT");
    static struct aclnn equal = ACLNN("aclnnEqTensor", "TTT"), differ = ACLNN("aclnnNeTensor", "TTT");
    static struct aclnn fill = ACLNN("aclnnInplaceFillScalar", "TS");
    const struct npu_tensor *x = arg_tensor(c, 0), *tests = arg_tensor(c, 1);
    bool invert = arg_bool(c, 3, false);
    int64_t n = tensor_numel(tests), one = 1;
    bool half = x->dtype == ACL_FLOAT16 || x->dtype == ACL_BF16;
    if (x->device < 0 || tests->device < 0 || x->dtype != tests->dtype || x->rank > 16 ||
        !(half || x->dtype == ACL_FLOAT || x->dtype == ACL_DOUBLE || takes_type(TAKES_INT, x->dtype)))
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, ACL_BOOL, x->rank, x->size);
    if (half) {
        x = cast(c, x, ACL_FLOAT);
        tests = cast(c, tests, ACL_FLOAT);
    }
    struct npu_scalar last = {.kind = SCALAR_INT, .i = n - 1, .d = {(double)(n - 1)}},
                      value = {.kind = SCALAR_BOOL, .i = invert};
    if (!tensor_numel(x))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    if (!n)
        return launch(c, &fill, (union aclnn_value[]){{.t = out}, {.s = &value}});
    (void)row;
    const struct npu_tensor *dense = contiguous(c, tests), *flat = view_of(c, dense, 1, &n, &one, dense->offset);
    struct npu_tensor *sorted = temp(c, x->dtype, 1, &n), *order = temp(c, ACL_INT64, 1, &n);
    struct npu_tensor *place = temp(c, ACL_INT64, x->rank, x->size), *found = temp(c, x->dtype, x->rank, x->size);
    launch(c, &sort,
           (union aclnn_value[]){{.t = flat}, {.i = false}, {.i = 0}, {.i = false}, {.t = sorted}, {.t = order}});
    launch(c, &search,
           (union aclnn_value[]){{.t = sorted}, {.t = x}, {.i = false}, {.i = false}, {.t = NULL}, {.t = place}});
    launch(c, &clamp_max, (union aclnn_value[]){{.t = place}, {.s = &last}, {.t = place}});
    launch(c, &take, (union aclnn_value[]){{.t = sorted}, {.t = place}, {.t = found}});
    return launch(c, invert ? &differ : &equal, (union aclnn_value[]){{.t = found}, {.t = x}, {.t = out}});
}

/* self, p, dim, maxnorm: slices along dim shrink to the norm */
static int run_renorm(struct call *c, const struct aten_row *row)
{
    static struct aclnn norm = ACLNN("aclnnLinalgVectorNorm", "TSIbyT"), adds = ACLNN("aclnnAdds", "TSST");
    static struct aclnn reciprocal = ACLNN("aclnnReciprocal", "TT"), muls = ACLNN("aclnnMuls", "TST");
    static struct aclnn clamp_max = ACLNN("aclnnClampMax", "TST"), mul = ACLNN("aclnnMul", "TTT");
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct npu_scalar p = arg_scalar(c, 1), most = arg_scalar(c, 3);
    struct npu_scalar tiny = {.kind = SCALAR_FLOAT, .d = {1e-7}}, one = {.kind = SCALAR_FLOAT, .i = 1, .d = {1}};
    int64_t dims[16], size[16];
    size_t n = 0;
    (void)row;
    if (self->device < 0 || self->rank < 2 || self->rank > 16 || !takes_type(TAKES_FLOAT, self->dtype) ||
        p.kind == SCALAR_COMPLEX || scalar_value(p) <= 0 || !(scalar_value(most) >= 0) || !tensor_numel(self))
        return CALL_FALLBACK;
    int32_t dim = wrap_dim(c, arg_int(c, 2, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    for (int32_t d = 0; d < self->rank; d++) {
        size[d] = d == dim ? self->size[d] : 1;
        if (d != dim)
            dims[n++] = d;
    }
    aclDataType type = self->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    struct npu_tensor *factor = temp(c, type, self->rank, size);
    launch(c, &norm,
           (union aclnn_value[]){{.t = self}, {.s = &p}, {.ints = {dims, n}}, {.i = true}, {.i = type}, {.t = factor}});
    launch(c, &adds, (union aclnn_value[]){{.t = factor}, {.s = &tiny}, {.s = &one}, {.t = factor}});
    launch(c, &reciprocal, (union aclnn_value[]){{.t = factor}, {.t = factor}});
    launch(c, &muls, (union aclnn_value[]){{.t = factor}, {.s = &most}, {.t = factor}});
    launch(c, &clamp_max, (union aclnn_value[]){{.t = factor}, {.s = &one}, {.t = factor}});
    return launch(c, &mul, (union aclnn_value[]){{.t = self}, {.t = cast(c, factor, self->dtype)}, {.t = out}});
}

static struct aclnn histc = ACLNN("aclnnHistc", "TiSST"), bincount = ACLNN("aclnnBincount", "TTiT");

static const struct aten_row rows[] = {
    {"histc", run_histc, &histc},
    {"histc.out", run_histc, &histc},
    {"bincount", run_bincount, &bincount},
    {"isin.Tensor_Tensor", run_isin, NULL},
    {"isin.Tensor_Tensor_out", run_isin, NULL},
    {"renorm", run_renorm, NULL},
    {"renorm.out", run_renorm, NULL},
};
ATEN_FAMILY(histogram_family, rows);

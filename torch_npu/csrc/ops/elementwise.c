/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators of one tensor, and selection: clamp, where, lerp, addcmul, masked_fill. */
#include "elementwise.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- one adapter for every operator whose arguments are those of aclnn ---- */

/* The value of argument i for a letter of the signature; false when it is a tensor that is not there. */
static bool take_argument(struct call *c, int i, char letter, union aclnn_value *v)
{
    switch (letter) {
    case 'T':
        v->t = arg_tensor(c, i);
        return v->t->defined;
    case 'S': {
        struct npu_scalar *s = call_alloc(c, sizeof *s);
        *s = arg_scalar(c, i);
        v->s = s;
        return s->kind != SCALAR_COMPLEX;
    }
    case 'd':
    case 'f':
        v->d = arg_double(c, i, 0.0);
        return true;
    case 's':
        v->str = arg_string(c, i);
        return true;
    default:
        v->i = arg_int(c, i, 0);
        return true;
    }
}

static bool same_shape(const struct npu_tensor *a, const struct npu_tensor *b)
{
    return a->rank == b->rank && !memcmp(a->size, b->size, sizeof *a->size * (size_t)a->rank);
}

int run_pointwise(struct call *c, const struct aten_row *row)
{
    const char *letters = row->aclnn->signature;
    int last = (int)strlen(letters) - 1, n = (row->code >> OPERANDS_SHIFT & 3) + 1, seen = 0;
    const struct npu_tensor *in[4] = {NULL};
    union aclnn_value v[10];
    for (int i = 0; i < last; i++) {
        if (!take_argument(c, i, letters[i], &v[i]))
            return CALL_FALLBACK;
        if (letters[i] == 'T' && seen < n)
            in[seen++] = v[i].t;
    }
    aclDataType common = n == 1 ? in[0]->dtype : promote(in, n, NULL, 0);
    if (!takes_type(row->code, common))
        return CALL_FALLBACK;
    int64_t broadcast[16];
    const int64_t *size = in[0]->size;
    int32_t rank = in[0]->rank;
    for (int k = 1; k < n; k++)
        if (size != broadcast && !same_shape(in[0], in[k])) {
            rank = broadcast_shape(c, in, n, broadcast);
            size = broadcast;
        }
    v[last].t = rank < 0 ? NULL : result_pointwise(c, 0, result_type(row->code, common), rank, size, in, n);
    return call_failed(c) ? CALL_ERROR : launch(c, row->aclnn, v);
}

/* ---- one tensor and something of its own ---- */

static int run_isnan(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (!takes_type(row->code, self->dtype))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, ACL_BOOL, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = self}, {.t = out}});
}

static int run_logit(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (!takes_type(row->code, self->dtype))
        return CALL_FALLBACK;
    aclDataType type = result_type(row->code, self->dtype);
    struct npu_tensor *out = result_pointwise(c, 0, type, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.d = arg_double(c, 1, -1.0)}, {.t = out}});
}

static int run_logit_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *both[] = {arg_tensor(c, 0), arg_tensor(c, 1)};
    aclDataType type = promote(both, 2, NULL, 0);
    if (!takes_type(row->code, type) || !same_shape(both[0], both[1]))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, type, both[0]->rank, both[0]->size, both, 2);
    union aclnn_value v[] = {{.t = both[1]}, {.t = both[0]}, {.d = arg_double(c, 2, -1.0)}, {.t = out}};
    return launch(c, row->aclnn, v);
}

/* The operator takes floats; double needs more: each kind is masked and filled. */
static int fill_double(struct call *c, const struct npu_tensor *self, const struct npu_tensor *out)
{
    static struct aclnn ne = ACLNN("aclnnNeTensor", "TTT"), above = ACLNN("aclnnIsPosInf", "TT"),
                        below = ACLNN("aclnnIsNegInf", "TT"), fill = ACLNN("aclnnInplaceMaskedFillScalar", "TTS");
    const double otherwise[] = {0, DBL_MAX, -DBL_MAX};
    struct npu_tensor *mask[3];
    for (int k = 0; k < 3; k++)
        mask[k] = temp(c, ACL_BOOL, self->rank, self->size);
    launch(c, &ne, (union aclnn_value[]){{.t = self}, {.t = self}, {.t = mask[0]}});
    launch(c, &above, (union aclnn_value[]){{.t = self}, {.t = mask[1]}});
    launch(c, &below, (union aclnn_value[]){{.t = self}, {.t = mask[2]}});
    if (call_failed(c) || copy_tensor(c, out, self))
        return CALL_ERROR;
    for (int k = 0; k < 3; k++) {
        struct npu_scalar value = {.kind = SCALAR_FLOAT, .d = {arg_double(c, 1 + k, otherwise[k])}};
        launch(c, &fill, (union aclnn_value[]){{.t = out}, {.t = mask[k]}, {.s = &value}});
    }
    return call_failed(c) ? CALL_ERROR : CALL_OK;
}

static int run_nan_to_num(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    double most = self->dtype == ACL_FLOAT16 ? 65504.0 : self->dtype == ACL_BF16 ? 0x1.fep127 : 0x1.fffffep127;
    if (!takes_type(row->code, self->dtype))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    if (self->dtype == ACL_DOUBLE)
        return call_failed(c) || !tensor_numel(self) ? (call_failed(c) ? CALL_ERROR : CALL_OK)
                                                     : fill_double(c, self, out);
    union aclnn_value v[] = {{.t = self},
                             {.d = arg_double(c, 1, 0.0)},
                             {.d = arg_double(c, 2, most)},
                             {.d = arg_double(c, 3, -most)},
                             {.t = out}};
    return launch(c, row->aclnn, v);
}

/* ---- complex numbers and their parts ---- */

static aclDataType complex_with(aclDataType real)
{
    return real == ACL_DOUBLE ? ACL_COMPLEX128 : real == ACL_FLOAT16 ? ACL_COMPLEX32 : ACL_COMPLEX64;
}

/* complex(real, imag), polar(abs, angle) */
static int run_complex(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1)};
    int64_t size[16];
    if (!takes_type(row->code, in[0]->dtype) || in[0]->dtype == ACL_BF16 || in[1]->dtype != in[0]->dtype)
        return CALL_FALLBACK;
    if (arg_count(c) == 3 && arg_tensor(c, 2)->dtype != complex_with(in[0]->dtype))
        return CALL_FALLBACK; /* out= of another type is an error of its own */
    int32_t rank = broadcast_shape(c, in, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, complex_with(in[0]->dtype), rank, size, in, 2);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = in[0]}, {.t = in[1]}, {.t = out}});
}

struct npu_tensor *part_of(struct call *c, const struct npu_tensor *t, int which)
{
    int64_t stride[16];
    for (int32_t i = 0; i < t->rank; i++)
        stride[i] = 2 * t->stride[i];
    struct npu_tensor *part = view_of(c, t, t->rank, t->size, stride, 2 * t->offset + which);
    part->dtype = t->dtype == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
    return part;
}

/* The conjugate in memory: real parts copied, imaginary ones negated. */
static int run_conj(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->device < 0 || self->rank > 16 || (self->dtype != ACL_COMPLEX64 && self->dtype != ACL_COMPLEX128))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    if (call_failed(c) || copy_tensor(c, part_of(c, out, 0), part_of(c, self, 0)))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = part_of(c, self, 1)}, {.t = part_of(c, out, 1)}});
}

/* of a complex number, real */
static int run_abs(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->dtype != ACL_COMPLEX64 && self->dtype != ACL_COMPLEX128)
        return run_pointwise(c, row);
    aclDataType real = self->dtype == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
    struct npu_tensor *out = result_pointwise(c, 0, real, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = out}});
}

static int run_angle(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    aclDataType type = self->dtype == ACL_COMPLEX128  ? ACL_DOUBLE
                       : self->dtype == ACL_COMPLEX64 ? ACL_FLOAT
                                                      : result_type(row->code, self->dtype);
    if (self->dtype == ACL_COMPLEX32 || (!is_complex(self->dtype) && !takes_type(row->code, self->dtype)))
        return CALL_FALLBACK;
    struct npu_tensor *out = result_pointwise(c, 0, type, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = out}});
}

/* ---- clamp ---- */

/* code: which bounds the schema has */
enum { BOUND_LOW = ELEMENTWISE_FREE, BOUND_HIGH = ELEMENTWISE_FREE << 1 };

/* Argument index of a bound, or -1: clamp has both, clamp_min and clamp_max one. */
static int bound_at(struct call *c, const struct aten_row *row, int which)
{
    if (!(row->code & which))
        return -1;
    int i = which == BOUND_HIGH && row->code & BOUND_LOW ? 2 : 1;
    return arg_none(c, i) ? -1 : i;
}

static int run_clamp(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct npu_scalar bound[2];
    int at[2] = {bound_at(c, row, BOUND_LOW), bound_at(c, row, BOUND_HIGH)}, n = 0;
    union aclnn_value v[4] = {{.t = self}, {.s = NULL}, {.s = NULL}};
    for (int k = 0; k < 2; k++)
        if (at[k] >= 0) {
            bound[n] = arg_scalar(c, at[k]);
            v[k + 1].s = &bound[n++];
        }
    aclDataType type = promote(&self, 1, bound, n);
    if (!n || !takes_type(row->code, type))
        return CALL_FALLBACK;
    v[3].t = result_pointwise(c, 0, type, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn, v);
}

static int run_clamp_tensor(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[3] = {arg_tensor(c, 0)};
    int at[2] = {bound_at(c, row, BOUND_LOW), bound_at(c, row, BOUND_HIGH)}, n = 1;
    union aclnn_value v[4] = {{.t = in[0]}, {.t = NULL}, {.t = NULL}};
    for (int k = 0; k < 2; k++)
        if (at[k] >= 0)
            v[k + 1].t = in[n++] = arg_tensor(c, at[k]);
    aclDataType type = promote(in, n, NULL, 0);
    if (n == 1 || !takes_type(row->code, type))
        return CALL_FALLBACK;
    int64_t size[16];
    int32_t rank = broadcast_shape(c, in, n, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, n);
    if (row->aclnn->signature[3]) /* clamp */
        v[3].t = out;
    else /* clamp_min, clamp_max */
        v[1].t = in[1], v[2].t = out;
    return launch(c, row->aclnn, v);
}

/* ---- selection ---- */

static int run_where(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1), arg_tensor(c, 2)};
    aclDataType type = promote(in + 1, 2, NULL, 0);
    if (in[0]->dtype != ACL_BOOL || type == ACL_DT_UNDEFINED)
        return CALL_FALLBACK;
    int64_t size[16];
    int32_t rank = broadcast_shape(c, in, 3, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, 3);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = in[0]}, {.t = in[1]}, {.t = in[2]}, {.t = out}});
}

/* May the number stand for a value of the type, without any of PyTorch's complaints? */
static bool value_fits(const struct npu_scalar *s, aclDataType t)
{
    if (is_complex(t))
        return true;
    if (s->kind == SCALAR_COMPLEX)
        return false;
    if (is_floating(t))
        return s->kind != SCALAR_FLOAT || t == ACL_DOUBLE || !(fabs(s->d[0]) <= 0x1.fffffep127) ||
               fabs(s->d[0]) <= (t == ACL_FLOAT16 ? 65504.0
                                 : t == ACL_BF16  ? 0x1.fep127
                                                  : 0x1.fffffep127);
    if (t == ACL_BOOL)
        return true;
    if (s->kind == SCALAR_FLOAT)
        return false;
    return s->i >= (t == ACL_UINT8   ? 0
                    : t == ACL_INT8  ? -128
                    : t == ACL_INT16 ? -32768
                    : t == ACL_INT32 ? INT32_MIN
                                     : INT64_MIN) &&
           s->i <= (t == ACL_UINT8   ? 255
                    : t == ACL_INT8  ? 127
                    : t == ACL_INT16 ? 32767
                    : t == ACL_INT32 ? INT32_MAX
                                     : INT64_MAX);
}

/* aclnn: a scalar's form and a tensor's */
static int run_masked_fill(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *mask = arg_tensor(c, 1), *value = NULL;
    struct npu_scalar s;
    int64_t size[16];
    if (!takes_type(row->code, self->dtype) || mask->dtype != ACL_BOOL || mask->device < 0)
        return CALL_FALLBACK;
    if (row->aclnn[1].name) {
        value = arg_tensor(c, 2);
        if (value->rank || (is_complex(value->dtype) && !is_complex(self->dtype)))
            return CALL_FALLBACK;
        if (value->device < 0 && tensor_item(c, value, &s))
            return CALL_ERROR;
    } else {
        s = arg_scalar(c, 2);
    }
    bool scalar = !value || value->device < 0;
    if (scalar && !value_fits(&s, self->dtype))
        return CALL_FALLBACK;
    const struct npu_tensor *both[] = {self, mask};
    int32_t rank = broadcast_shape(c, both, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, self->dtype, rank, size);
    union aclnn_value v[] = {{.t = out}, {.t = mask}, {.t = value}};
    if (scalar)
        v[2].s = &s;
    return launch(c, scalar ? &row->aclnn[0] : &row->aclnn[1], v);
}

/* ---- three tensors ---- */

/* self + value * t1 * t2, or t1 / t2 */
static int run_addc(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1), arg_tensor(c, 2)};
    struct npu_scalar value = arg_scalar(c, 3);
    aclDataType type = promote(in, 3, NULL, 0);
    if (!takes_type(row->code, type) || value.kind == SCALAR_COMPLEX ||
        (is_integral(type, true) && value.kind == SCALAR_FLOAT))
        return CALL_FALLBACK;
    int64_t size[16];
    int32_t rank = broadcast_shape(c, in, 3, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, 3);
    union aclnn_value v[] = {{.t = in[0]}, {.t = in[1]}, {.t = in[2]}, {.s = &value}, {.t = out}};
    return launch(c, row->aclnn, v);
}

static int run_lerp(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1), NULL};
    struct npu_scalar weight;
    bool scalar = row->aclnn->signature[2] == 'S';
    int n = 2;
    if (scalar)
        weight = arg_scalar(c, 2);
    else
        in[n++] = arg_tensor(c, 2);
    for (int k = 1; k < n; k++)
        if (in[k]->dtype != in[0]->dtype)
            return CALL_FALLBACK;
    if (!takes_type(row->code, in[0]->dtype) || (scalar && weight.kind == SCALAR_COMPLEX && !is_complex(in[0]->dtype)))
        return CALL_FALLBACK;
    int64_t size[16];
    int32_t rank = broadcast_shape(c, in, n, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, in[0]->dtype, rank, size, in, n);
    union aclnn_value v[] = {{.t = in[0]}, {.t = in[1]}, {.t = in[2]}, {.t = out}};
    if (scalar)
        v[2].s = &weight;
    return launch(c, row->aclnn, v);
}

/* ---- rows ---- */

enum {
    TEST = TAKES_ANY | GIVES_BOOL,
    COMPLEX_TEST = TEST | TAKES_COMPLEX,
};

/* functional, in-place, out= of an adapter of its own */
#define THREE(name, inplace, out, run, op, code)                                                                       \
    {name, run, op, code, true}, {inplace, run, op, code, true},                                                       \
    {                                                                                                                  \
        out, run, op, code, true                                                                                       \
    }

static struct aclnn neg = ACLNN("aclnnNeg", "TT");
static struct aclnn abs_ = ACLNN("aclnnAbs", "TT");
static struct aclnn ne_tensor = ACLNN("aclnnNeTensor", "TTT");
static struct aclnn isinf_ = ACLNN("aclnnIsInf", "TT");
static struct aclnn ndtri = ACLNN("aclnnNdtri", "TT");
static struct aclnn isposinf_ = ACLNN("aclnnIsPosInf", "TT");
static struct aclnn isneginf_ = ACLNN("aclnnIsNegInf", "TT");
static struct aclnn isfinite_ = ACLNN("aclnnIsFinite", "TT");
static struct aclnn signbit_ = ACLNN("aclnnSignbit", "TT");
static struct aclnn round_decimals = ACLNN("aclnnRoundDecimals", "TiT");
static struct aclnn nan_to_num = ACLNN("aclnnNanToNum", "TfffT");
static struct aclnn logit = ACLNN("aclnnLogit", "TdT");
static struct aclnn logit_grad = ACLNN("aclnnLogitGrad", "TTdT");
static struct aclnn complex_ = ACLNN("aclnnComplex", "TTT");
static struct aclnn polar = ACLNN("aclnnPolar", "TTT");
static struct aclnn angle = ACLNN("aclnnAngleV2", "TT");
static struct aclnn clamp = ACLNN("aclnnClamp", "TSST");
static struct aclnn clamp_tensor = ACLNN("aclnnClampTensor", "TTTT");
static struct aclnn clamp_min_tensor = ACLNN("aclnnClampMinTensor", "TTT");
static struct aclnn clamp_max_tensor = ACLNN("aclnnClampMaxTensor", "TTT");
static struct aclnn where = ACLNN("aclnnSWhere", "TTTT");
static struct aclnn lerps = ACLNN("aclnnLerps", "TTST");
static struct aclnn lerp = ACLNN("aclnnLerp", "TTTT");
static struct aclnn addcmul = ACLNN("aclnnAddcmul", "TTTST");
static struct aclnn addcdiv = ACLNN("aclnnAddcdiv", "TTTST");
static struct aclnn masked_fill_scalar[] = {ACLNN("aclnnInplaceMaskedFillScalar", "TTS"), {NULL, NULL, NULL}};
static struct aclnn masked_fill_tensor[] = {ACLNN("aclnnInplaceMaskedFillScalar", "TTS"),
                                            ACLNN("aclnnInplaceMaskedFillTensor", "TTT")};

static const struct aten_row rows[] = {
    {"abs", run_abs, &abs_, TAKES_REAL, true},
    {"abs_", run_abs, &abs_, TAKES_REAL, true},
    {"abs.out", run_abs, &abs_, TAKES_REAL, true},
    UNARY("neg", ACLNN("aclnnNeg", "TT"), TAKES_REAL | TAKES_COMPLEX),
    UNARY("sign", ACLNN("aclnnSign", "TT"), TAKES_ANY),
    UNARY("sgn", ACLNN("aclnnSign", "TT"), TAKES_ANY | TAKES_COMPLEX),
    UNARY("ceil", ACLNN("aclnnCeil", "TT"), TAKES_REAL),
    UNARY("floor", ACLNN("aclnnFloor", "TT"), TAKES_REAL),
    UNARY("round", ACLNN("aclnnRound", "TT"), TAKES_REAL),
    UNARY("trunc", ACLNN("aclnnTrunc", "TT"), TAKES_REAL),
    UNARY("frac", ACLNN("aclnnFrac", "TT"), TAKES_FLOAT),
    UNARY("reciprocal", ACLNN("aclnnReciprocal", "TT"), COMPLEX_MATH),
    UNARY("sqrt", ACLNN("aclnnSqrt", "TT"), COMPLEX_MATH),
    UNARY("rsqrt", ACLNN("aclnnRsqrt", "TT"), COMPLEX_MATH),
    UNARY("exp", ACLNN("aclnnExp", "TT"), COMPLEX_MATH),
    UNARY("exp2", ACLNN("aclnnExp2", "TT"), COMPLEX_MATH),
    UNARY("expm1", ACLNN("aclnnExpm1", "TT"), COMPLEX_MATH),
    UNARY("log", ACLNN("aclnnLog", "TT"), COMPLEX_MATH),
    UNARY("log2", ACLNN("aclnnLog2", "TT"), COMPLEX_MATH),
    UNARY("log10", ACLNN("aclnnLog10", "TT"), COMPLEX_MATH),
    UNARY("log1p", ACLNN("aclnnLog1p", "TT"), COMPLEX_MATH),
    UNARY("sin", ACLNN("aclnnSin", "TT"), COMPLEX_MATH),
    UNARY("cos", ACLNN("aclnnCos", "TT"), COMPLEX_MATH),
    UNARY("tan", ACLNN("aclnnTan", "TT"), COMPLEX_MATH),
    UNARY("asin", ACLNN("aclnnAsin", "TT"), COMPLEX_MATH),
    UNARY("acos", ACLNN("aclnnAcos", "TT"), COMPLEX_MATH),
    UNARY("atan", ACLNN("aclnnAtan", "TT"), COMPLEX_MATH),
    UNARY("sinh", ACLNN("aclnnSinh", "TT"), COMPLEX_MATH),
    UNARY("cosh", ACLNN("aclnnCosh", "TT"), COMPLEX_MATH),
    UNARY("tanh", ACLNN("aclnnTanh", "TT"), COMPLEX_MATH),
    UNARY("asinh", ACLNN("aclnnAsinh", "TT"), COMPLEX_MATH),
    UNARY("acosh", ACLNN("aclnnAcosh", "TT"), COMPLEX_MATH),
    UNARY("atanh", ACLNN("aclnnAtanh", "TT"), COMPLEX_MATH),
    UNARY("erf", ACLNN("aclnnErf", "TT"), MATH),
    UNARY("erfc", ACLNN("aclnnErfc", "TT"), MATH),
    UNARY("erfinv", ACLNN("aclnnErfinv", "TT"), MATH),
    UNARY("lgamma", ACLNN("aclnnLgamma", "TT"), MATH),
    UNARY("digamma", ACLNN("aclnnDigamma", "TT"), MATH),
    UNARY("sinc", ACLNN("aclnnSinc", "TT"), COMPLEX_MATH),
    UNARY("bitwise_not", ACLNN("aclnnBitwiseNot", "TT"), TAKES_INT | TAKES_BOOL),
    UNARY("logical_not", ACLNN("aclnnLogicalNot", "TT"), COMPLEX_TEST),
    {"isnan", run_isnan, &ne_tensor, COMPLEX_TEST, true},
    {"isinf", run_pointwise, &isinf_, COMPLEX_TEST, true},
    {"isfinite", run_pointwise, &isfinite_, COMPLEX_TEST, true},
    PAIR("special_ndtri", "special_ndtri.out", run_pointwise, &ndtri, MATH),
    PAIR("isposinf", "isposinf.out", run_pointwise, &isposinf_, TEST),
    PAIR("isneginf", "isneginf.out", run_pointwise, &isneginf_, TEST),
    PAIR("signbit", "signbit.out", run_pointwise, &signbit_, TEST),
    THREE("round.decimals", "round_.decimals", "round.decimals_out", run_pointwise, &round_decimals, TAKES_FLOAT),
    THREE("nan_to_num", "nan_to_num_", "nan_to_num.out", run_nan_to_num, &nan_to_num, TAKES_ANY),
    THREE("logit", "logit_", "logit.out", run_logit, &logit, MATH),
    PAIR("logit_backward", "logit_backward.grad_input", run_logit_backward, &logit_grad, TAKES_FLOAT),
    THREE("_conj_physical", "conj_physical_", "conj_physical.out", run_conj, &neg, 0),
    PAIR("complex", "complex.out", run_complex, &complex_, TAKES_FLOAT),
    PAIR("polar", "polar.out", run_complex, &polar, TAKES_FLOAT),
    PAIR("angle", "angle.out", run_angle, &angle, TAKES_ANY | GIVES_FLOAT),
    THREE("clamp", "clamp_", "clamp.out", run_clamp, &clamp, TAKES_REAL | BOUND_LOW | BOUND_HIGH),
    THREE("clamp_min", "clamp_min_", "clamp_min.out", run_clamp, &clamp, TAKES_REAL | BOUND_LOW),
    THREE("clamp_max", "clamp_max_", "clamp_max.out", run_clamp, &clamp, TAKES_REAL | BOUND_HIGH),
    THREE("clamp.Tensor", "clamp_.Tensor", "clamp.Tensor_out", run_clamp_tensor, &clamp_tensor,
          TAKES_REAL | BOUND_LOW | BOUND_HIGH),
    THREE("clamp_min.Tensor", "clamp_min_.Tensor", "clamp_min.Tensor_out", run_clamp_tensor, &clamp_min_tensor,
          TAKES_ANY | BOUND_LOW),
    THREE("clamp_max.Tensor", "clamp_max_.Tensor", "clamp_max.Tensor_out", run_clamp_tensor, &clamp_max_tensor,
          TAKES_ANY | BOUND_HIGH),
    PAIR("where.self", "where.self_out", run_where, &where, 0),
    THREE("lerp.Scalar", "lerp_.Scalar", "lerp.Scalar_out", run_lerp, &lerps, TAKES_FLOAT | TAKES_COMPLEX),
    THREE("lerp.Tensor", "lerp_.Tensor", "lerp.Tensor_out", run_lerp, &lerp, TAKES_FLOAT | TAKES_COMPLEX),
    THREE("addcmul", "addcmul_", "addcmul.out", run_addc, &addcmul, TAKES_REAL | TAKES_COMPLEX),
    THREE("addcdiv", "addcdiv_", "addcdiv.out", run_addc, &addcdiv, TAKES_FLOAT | TAKES_COMPLEX),
    {"masked_fill_.Scalar", run_masked_fill, masked_fill_scalar, TAKES_ANY | TAKES_COMPLEX, true},
    {"masked_fill_.Tensor", run_masked_fill, masked_fill_tensor, TAKES_ANY | TAKES_COMPLEX, true},
};
ATEN_FAMILY(elementwise_family, rows);

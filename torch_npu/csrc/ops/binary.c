/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators of two operands, either of which may be a number: arithmetic, comparison, logic, bits.
 *
 * A row's aclnn points to three operators: tensor with tensor, tensor with scalar, scalar with tensor (names may be
 * NULL; then the number becomes a tensor). A 0-dimensional CPU tensor is taken as a number, as PyTorch's kernels take
 * it. */
#include "elementwise.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_SCALAR = ELEMENTWISE_FREE,       /* the schema's first argument is a Scalar */
    SECOND_SCALAR = ELEMENTWISE_FREE << 1, /* its second is */
    ALPHA = ELEMENTWISE_FREE << 2,         /* a factor of the second follows */
    SWAPPED = ELEMENTWISE_FREE << 3,       /* the scalar-with-tensor operator takes the tensor first */
    DIVIDES = ELEMENTWISE_FREE << 4,       /* integers by 0 are an error, seen when the device has run */
    MODE = ELEMENTWISE_FREE << 5,          /* argument 2 is a rounding mode */
    SAME_TYPE = ELEMENTWISE_FREE << 6,     /* the operands must not differ in type */
    NO_BOOL = ELEMENTWISE_FREE << 7,       /* neither operand may be bool */
    POWER = ELEMENTWISE_FREE << 8,         /* integers take no negative exponent */
    REVERSED = ELEMENTWISE_FREE << 9,      /* the schema's arguments are second, first (rsub) */
};

struct operand {
    const struct npu_tensor *t; /* NULL: a Scalar argument */
    struct npu_scalar s;        /* valid when scalar */
    bool scalar;                /* to be passed as a number */
};

static int take_operand(struct call *c, int i, bool schema_scalar, struct operand *o)
{
    o->t = NULL;
    o->scalar = true;
    if (schema_scalar) {
        o->s = arg_scalar(c, i);
        return CALL_OK;
    }
    o->t = arg_tensor(c, i);
    o->scalar = o->t->device < 0;
    return o->scalar ? tensor_item(c, o->t, &o->s) : CALL_OK;
}

/* The number as a tensor on the device, for operators without a scalar form. */
static const struct npu_tensor *tensor_of(struct call *c, const struct operand *o, aclDataType type)
{
    static struct aclnn fill = ACLNN("aclnnInplaceFillScalar", "TS");
    if (o->t)
        return o->t; /* launch() moves it */
    struct npu_tensor *t = temp(c, type, 0, NULL);
    launch(c, &fill, (union aclnn_value[]){{.t = t}, {.s = &o->s}});
    return t;
}

static aclDataType common_type(const struct operand *o)
{
    const struct npu_tensor *tensors[2];
    struct npu_scalar scalars[2];
    int n = 0, m = 0;
    for (int k = 0; k < 2; k++) {
        if (o[k].t)
            tensors[n++] = o[k].t;
        else
            scalars[m++] = o[k].s;
    }
    if (n == 2 && tensors[0]->dtype == tensors[1]->dtype && tensors[0]->rank && tensors[1]->rank)
        return tensors[0]->dtype;
    return promote(tensors, n, scalars, m);
}

static bool is_bool(const struct operand *o)
{
    return o->t ? o->t->dtype == ACL_BOOL : o->s.kind == SCALAR_BOOL;
}

/* What only PyTorch's own kernel can say, or do. */
static bool refuse(const struct aten_row *row, const struct operand *o, aclDataType common,
                   const struct npu_scalar *alpha)
{
    int code = row->code;
    bool whole = is_integral(common, true);
    if ((o[0].scalar && o[1].scalar) || !takes_type(code, common))
        return true;
    if (code & ALPHA && (alpha->kind == SCALAR_COMPLEX || (whole && alpha->kind == SCALAR_FLOAT) ||
                         (common != ACL_BOOL && alpha->kind == SCALAR_BOOL)))
        return true;
    if (code & NO_BOOL && (is_bool(&o[0]) || is_bool(&o[1])))
        return true;
    if (code & SAME_TYPE && o[0].t && o[1].t && o[0].t->dtype != o[1].t->dtype)
        return true;
    if (code & DIVIDES && whole && o[1].scalar && o[1].s.i == 0)
        return true;
    return code & POWER && whole && o[1].scalar && o[1].s.i < 0;
}

/* Three ways of calling; which one, and its operands in order. */
static struct aclnn *choose(struct call *c, const struct aten_row *row, const struct operand *o, aclDataType common,
                            union aclnn_value *v)
{
    int form = o[1].scalar ? 1 : o[0].scalar ? 2 : 0;
    if (form && !row->aclnn[form].name)
        form = 0;
    bool swap = form == 2 && row->code & SWAPPED;
    for (int k = 0; k < 2; k++) {
        const struct operand *from = &o[swap ? 1 - k : k];
        if (from->scalar && form)
            v[k].s = &from->s;
        else
            v[k].t = from->scalar ? tensor_of(c, from, common) : from->t;
    }
    return &row->aclnn[form];
}

/* 0 none, 1 trunc, 2 floor; -1: unknown */
static int rounding_mode(struct call *c, int i)
{
    const char *mode = arg_none(c, i) ? NULL : arg_string(c, i);
    return !mode ? 0 : !strcmp(mode, "trunc") ? 1 : !strcmp(mode, "floor") ? 2 : -1;
}

static int run_binary(struct call *c, const struct aten_row *row)
{
    struct operand o[2];
    struct npu_scalar alpha;
    int code = row->code, second = code & REVERSED ? 0 : 1, mode = code & MODE ? rounding_mode(c, 2) : 0;
    if (take_operand(c, 1 - second, code & FIRST_SCALAR, &o[0]) || take_operand(c, second, code & SECOND_SCALAR, &o[1]))
        return CALL_ERROR;
    if (code & ALPHA)
        alpha = arg_scalar(c, 2);
    aclDataType common = common_type(o), type;
    if (mode < 0 || refuse(row, o, common, &alpha) || (mode && !takes_type(TAKES_REAL, common)))
        return CALL_FALLBACK;
    if (mode && is_integral(common, false) && o[1].scalar && o[1].s.i == 0)
        return CALL_FALLBACK;
    type = mode ? common : result_type(code, common);
    const struct npu_tensor *in[2] = {o[0].t, o[1].t};
    const struct npu_tensor *const *inputs = o[0].t ? in : in + 1;
    int n = (o[0].t != NULL) + (o[1].t != NULL);
    int64_t broadcast[16];
    const int64_t *size = inputs[0]->size;
    int32_t rank = inputs[0]->rank;
    if (n == 2 && (rank != in[1]->rank || memcmp(size, in[1]->size, sizeof *size * (size_t)rank))) {
        rank = broadcast_shape(c, in, 2, broadcast);
        size = broadcast;
    }
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, inputs, n);
    union aclnn_value v[4];
    struct aclnn *op = choose(c, row, o, common, v);
    int at = 2;
    if (code & ALPHA)
        v[at++].s = &alpha;
    if (code & MODE)
        v[at++].i = mode;
    v[at].t = out;
    if (call_failed(c) || launch(c, op, v))
        return CALL_ERROR;
    return (code & DIVIDES || mode) && is_integral(common, false) && !o[1].scalar ? call_sync(c) : CALL_OK;
}

/* ---- operators made of others ---- */

static struct aclnn where = ACLNN("aclnnSWhere", "TTTT");
static struct aclnn ne_tensor = ACLNN("aclnnNeTensor", "TTT");
static struct aclnn abs_ = ACLNN("aclnnAbs", "TT");
static struct aclnn neg = ACLNN("aclnnNeg", "TT");
static struct aclnn signbit_ = ACLNN("aclnnSignbit", "TT");

/* t, with the other's value where t is NaN */
static const struct npu_tensor *without_nan(struct call *c, const struct npu_tensor *t, const struct npu_tensor *other,
                                            aclDataType type, int32_t rank, const int64_t *size)
{
    struct npu_tensor *nan = temp(c, ACL_BOOL, t->rank, t->size), *kept = temp(c, type, rank, size);
    launch(c, &ne_tensor, (union aclnn_value[]){{.t = t}, {.t = t}, {.t = nan}});
    launch(c, &where, (union aclnn_value[]){{.t = nan}, {.t = other}, {.t = t}, {.t = kept}});
    return kept;
}

/* fmax, fmin: maximum, minimum of what is no NaN */
static int run_extreme(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1)};
    aclDataType type = promote(in, 2, NULL, 0);
    int64_t size[16];
    if (!takes_type(row->code, type))
        return CALL_FALLBACK;
    int32_t rank = broadcast_shape(c, in, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, 2);
    union aclnn_value v[] = {{.t = in[0]}, {.t = in[1]}, {.t = out}};
    if (is_floating(type)) {
        v[0].t = without_nan(c, in[0], in[1], type, rank, size);
        v[1].t = without_nan(c, in[1], in[0], type, rank, size);
    }
    return call_failed(c) ? CALL_ERROR : launch(c, row->aclnn, v);
}

/* |a|, or -|a| where b's sign bit is set */
static int run_copysign(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1)};
    aclDataType type = promote(in, 2, NULL, 0);
    int64_t size[16];
    if (!takes_type(row->code, type))
        return CALL_FALLBACK;
    type = result_type(row->code, type);
    int32_t rank = broadcast_shape(c, in, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, 2);
    const struct npu_tensor *a = cast(c, in[0], type);
    struct npu_tensor *plus = temp(c, type, a->rank, a->size), *minus = temp(c, type, a->rank, a->size);
    struct npu_tensor *sign = temp(c, ACL_BOOL, in[1]->rank, in[1]->size);
    launch(c, &abs_, (union aclnn_value[]){{.t = a}, {.t = plus}});
    launch(c, &neg, (union aclnn_value[]){{.t = plus}, {.t = minus}});
    launch(c, &signbit_, (union aclnn_value[]){{.t = in[1]}, {.t = sign}});
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = sign}, {.t = minus}, {.t = plus}, {.t = out}});
}

static struct aclnn maximum_ = ACLNN("aclnnMaximum", "TTT");
static struct aclnn minimum_ = ACLNN("aclnnMinimum", "TTT");
static struct aclnn mul_ = ACLNN("aclnnMul", "TTT");
static struct aclnn divide = ACLNN("aclnnDiv", "TTT");
static struct aclnn adds = ACLNN("aclnnAdds", "TSST");
static struct aclnn nan_to_num = ACLNN("aclnnNanToNum", "TfffT");
static struct aclnn sqrt_ = ACLNN("aclnnSqrt", "TT");

static struct aclnn isinf_ = ACLNN("aclnnIsInf", "TT");
static struct aclnn logical_or_ = ACLNN("aclnnLogicalOr", "TTT");
static struct aclnn masked_fill = ACLNN("aclnnInplaceMaskedFillScalar", "TTS");

/* m sqrt(1 + (n/m)²) with m ≥ n the absolute values: n/m is NaN for two zeros, where 0 is right. An infinity wins over
 * NaN. */
static int run_hypot(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1)}, *side[2];
    aclDataType type = promote(in, 2, NULL, 0), exact = type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    const struct npu_scalar one = {.kind = SCALAR_INT, .i = 1, .d = {1.0}};
    int64_t size[16];
    if (!takes_type(row->code, type))
        return CALL_FALLBACK;
    int32_t rank = broadcast_shape(c, in, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, 2);
    for (int k = 0; k < 2; k++) {
        struct npu_tensor *t = temp(c, exact, in[k]->rank, in[k]->size);
        launch(c, &abs_, (union aclnn_value[]){{.t = cast(c, in[k], exact)}, {.t = t}});
        side[k] = t;
    }
    struct npu_tensor *m = temp(c, exact, rank, size), *r = temp(c, exact, rank, size);
    launch(c, &maximum_, (union aclnn_value[]){{.t = side[0]}, {.t = side[1]}, {.t = m}});
    launch(c, &minimum_, (union aclnn_value[]){{.t = side[0]}, {.t = side[1]}, {.t = r}});
    launch(c, &divide, (union aclnn_value[]){{.t = r}, {.t = m}, {.t = r}});
    launch(c, &nan_to_num, (union aclnn_value[]){{.t = r}, {.d = 0.0}, {.d = 1.0}, {.d = 0.0}, {.t = r}});
    launch(c, &mul_, (union aclnn_value[]){{.t = r}, {.t = r}, {.t = r}});
    launch(c, &adds, (union aclnn_value[]){{.t = r}, {.s = &one}, {.s = &one}, {.t = r}});
    launch(c, &sqrt_, (union aclnn_value[]){{.t = r}, {.t = r}});
    launch(c, row->aclnn, (union aclnn_value[]){{.t = m}, {.t = r}, {.t = m}});
    const struct npu_scalar infinity = {.kind = SCALAR_FLOAT, .d = {INFINITY}};
    struct npu_tensor *any = temp(c, ACL_BOOL, rank, size);
    for (int k = 0; k < 2; k++) {
        struct npu_tensor *t = temp(c, ACL_BOOL, in[k]->rank, in[k]->size);
        launch(c, &isinf_, (union aclnn_value[]){{.t = side[k]}, {.t = t}});
        side[k] = t;
    }
    launch(c, &logical_or_, (union aclnn_value[]){{.t = side[0]}, {.t = side[1]}, {.t = any}});
    launch(c, &masked_fill, (union aclnn_value[]){{.t = m}, {.t = any}, {.s = &infinity}});
    return copy_tensor(c, out, m);
}

static struct aclnn gcd_ = ACLNN("aclnnGcd", "TTT");
static struct aclnn clamp_min = ACLNN("aclnnClampMin", "TST");
static struct aclnn div_trunc = ACLNN("aclnnDivMod", "TTjT");

/* |a / gcd(a, b) b|, the divisor at least 1 */
static int run_lcm(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *in[] = {arg_tensor(c, 0), arg_tensor(c, 1)};
    aclDataType type = promote(in, 2, NULL, 0);
    const struct npu_scalar one = {.kind = SCALAR_INT, .i = 1, .d = {1.0}};
    int64_t size[16];
    if (!takes_type(row->code, type))
        return CALL_FALLBACK;
    int32_t rank = broadcast_shape(c, in, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result_pointwise(c, 0, type, rank, size, in, 2);
    struct npu_tensor *g = temp(c, type, rank, size);
    launch(c, &gcd_, (union aclnn_value[]){{.t = in[0]}, {.t = in[1]}, {.t = g}});
    launch(c, &clamp_min, (union aclnn_value[]){{.t = g}, {.s = &one}, {.t = g}});
    launch(c, &div_trunc, (union aclnn_value[]){{.t = in[0]}, {.t = g}, {.i = 1}, {.t = g}});
    launch(c, &mul_, (union aclnn_value[]){{.t = g}, {.t = in[1]}, {.t = g}});
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = g}, {.t = out}});
}

/* ---- rows ---- */

#define NO_ACLNN                                                                                                       \
    {                                                                                                                  \
        NULL, NULL, NULL                                                                                               \
    }

static struct aclnn add[] = {ACLNN("aclnnAdd", "TTST"), ACLNN("aclnnAdds", "TSST"), ACLNN("aclnnAddV3", "STST")};
static struct aclnn sub[] = {ACLNN("aclnnSub", "TTST"), ACLNN("aclnnSubs", "TSST"), ACLNN("aclnnRsubs", "TSST")};
static struct aclnn mul[] = {ACLNN("aclnnMul", "TTT"), ACLNN("aclnnMuls", "TST"), ACLNN("aclnnMuls", "TST")};
static struct aclnn div_[] = {ACLNN("aclnnDiv", "TTT"), ACLNN("aclnnDivs", "TST"), NO_ACLNN};
static struct aclnn div_mode[] = {ACLNN("aclnnDivMod", "TTjT"), ACLNN("aclnnDivMods", "TSjT"), NO_ACLNN};
static struct aclnn floor_divide[] = {ACLNN("aclnnFloorDivide", "TTT"), ACLNN("aclnnFloorDivides", "TST"), NO_ACLNN};
static struct aclnn remainder_[] = {ACLNN("aclnnRemainderTensorTensor", "TTT"),
                                    ACLNN("aclnnRemainderTensorScalar", "TST"),
                                    ACLNN("aclnnRemainderScalarTensor", "STT")};
static struct aclnn fmod_[] = {ACLNN("aclnnFmodTensor", "TTT"), ACLNN("aclnnFmodScalar", "TST"), NO_ACLNN};
static struct aclnn pow_[] = {ACLNN("aclnnPowTensorTensor", "TTT"), ACLNN("aclnnPowTensorScalar", "TST"),
                              ACLNN("aclnnPowScalarTensor", "STT")};
static struct aclnn maximum[] = {ACLNN("aclnnMaximum", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn minimum[] = {ACLNN("aclnnMinimum", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn atan2_[] = {ACLNN("aclnnAtan2", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn heaviside[] = {ACLNN("aclnnHeaviside", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn gcd[] = {ACLNN("aclnnGcd", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn logaddexp[] = {ACLNN("aclnnLogAddExp", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn logaddexp2[] = {ACLNN("aclnnLogAddExp2", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn xlogy[] = {ACLNN("aclnnXLogYTensor", "TTT"), ACLNN("aclnnXLogYScalarOther", "TST"),
                               ACLNN("aclnnXLogYScalarSelf", "STT")};
static struct aclnn xlog1py[] = {ACLNN("aclnnXlog1py", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn eq[] = {ACLNN("aclnnEqTensor", "TTT"), ACLNN("aclnnEqScalar", "TST"),
                            ACLNN("aclnnEqScalar", "TST")};
static struct aclnn ne[] = {ACLNN("aclnnNeTensor", "TTT"), ACLNN("aclnnNeScalar", "TST"),
                            ACLNN("aclnnNeScalar", "TST")};
static struct aclnn lt[] = {ACLNN("aclnnLtTensor", "TTT"), ACLNN("aclnnLtScalar", "TST"),
                            ACLNN("aclnnGtScalar", "TST")};
static struct aclnn le[] = {ACLNN("aclnnLeTensor", "TTT"), ACLNN("aclnnLeScalar", "TST"),
                            ACLNN("aclnnGeScalar", "TST")};
static struct aclnn gt[] = {ACLNN("aclnnGtTensor", "TTT"), ACLNN("aclnnGtScalar", "TST"),
                            ACLNN("aclnnLtScalar", "TST")};
static struct aclnn ge[] = {ACLNN("aclnnGeTensor", "TTT"), ACLNN("aclnnGeScalar", "TST"),
                            ACLNN("aclnnLeScalar", "TST")};
static struct aclnn logical_and[] = {ACLNN("aclnnLogicalAnd", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn logical_or[] = {ACLNN("aclnnLogicalOr", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn logical_xor[] = {ACLNN("aclnnLogicalXor", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn bitwise_and[] = {ACLNN("aclnnBitwiseAndTensor", "TTT"), ACLNN("aclnnBitwiseAndScalar", "TST"),
                                     ACLNN("aclnnBitwiseAndScalar", "TST")};
static struct aclnn bitwise_or[] = {ACLNN("aclnnBitwiseOrTensor", "TTT"), ACLNN("aclnnBitwiseOrScalar", "TST"),
                                    ACLNN("aclnnBitwiseOrScalar", "TST")};
static struct aclnn bitwise_xor[] = {ACLNN("aclnnBitwiseXorTensor", "TTT"), ACLNN("aclnnBitwiseXorScalar", "TST"),
                                     ACLNN("aclnnBitwiseXorScalar", "TST")};
static struct aclnn left_shift[] = {ACLNN("aclnnLeftShift", "TTT"), ACLNN("aclnnLeftShifts", "TST"), NO_ACLNN};
static struct aclnn right_shift[] = {ACLNN("aclnnRightShift", "TTT"), NO_ACLNN, NO_ACLNN};
static struct aclnn add_relu[] = {ACLNN("aclnnAddRelu", "TTST"), NO_ACLNN, NO_ACLNN};
static struct aclnn fmax_ = ACLNN("aclnnMaximum", "TTT");
static struct aclnn fmin_ = ACLNN("aclnnMinimum", "TTT");

#define ROW(name, op, code)                                                                                            \
    {                                                                                                                  \
        name, run_binary, op, code, true                                                                               \
    }
/* Tensor and Scalar overloads, each functional, in-place and out=. (An operator's Scalar_out is a composite.) */
#define ARITHMETIC(name, op, code)                                                                                     \
    ROW(name ".Tensor", op, code), ROW(name "_.Tensor", op, code), ROW(name ".Scalar", op, (code) | SECOND_SCALAR),    \
        ROW(name "_.Scalar", op, (code) | SECOND_SCALAR)
#define COMPARE(name, op, code)                                                                                        \
    ARITHMETIC(name, op, code), ROW(name ".Tensor_out", op, code), ROW(name ".Scalar_out", op, (code) | SECOND_SCALAR)
#define PLAIN(name, op, code)         ROW(name, op, code), ROW(name ".out", op, code)
#define PLAIN_INPLACE(name, op, code) PLAIN(name, op, code), ROW(name "_", op, code)

enum {
    EQUAL = TAKES_ALL | TAKES_COMPLEX | GIVES_BOOL | SWAPPED,
    ORDER = TAKES_ANY | GIVES_BOOL | SWAPPED,
    LOGIC = TAKES_ANY | TAKES_COMPLEX | GIVES_BOOL,
    BITS = TAKES_INT | TAKES_BOOL | TAKES_WIDE | SWAPPED,
    SHIFT = TAKES_INT,
};

static const struct aten_row rows[] = {
    ARITHMETIC("add", add, TAKES_ANY | TAKES_COMPLEX | ALPHA),
    ROW("add.out", add, TAKES_ANY | TAKES_COMPLEX | ALPHA),
    ROW("_add_relu.Tensor", add_relu, TAKES_REAL | ALPHA),
    ROW("_add_relu_.Tensor", add_relu, TAKES_REAL | ALPHA),
    ROW("_add_relu.out", add_relu, TAKES_REAL | ALPHA),
    ARITHMETIC("sub", sub, TAKES_REAL | TAKES_COMPLEX | ALPHA | NO_BOOL | SWAPPED),
    ROW("sub.out", sub, TAKES_REAL | TAKES_COMPLEX | ALPHA | NO_BOOL | SWAPPED),
    ROW("rsub.Tensor", sub, TAKES_REAL | TAKES_COMPLEX | ALPHA | NO_BOOL | SWAPPED | REVERSED),
    ROW("rsub.Scalar", sub, TAKES_REAL | TAKES_COMPLEX | ALPHA | NO_BOOL | SWAPPED | REVERSED | FIRST_SCALAR),
    ARITHMETIC("mul", mul, TAKES_ALL | TAKES_COMPLEX | SWAPPED),
    ROW("mul.out", mul, TAKES_ALL | TAKES_COMPLEX | SWAPPED),
    ARITHMETIC("div", div_, MATH | TAKES_COMPLEX),
    ROW("div.out", div_, MATH | TAKES_COMPLEX),
    ROW("div.Tensor_mode", div_mode, MATH | MODE),
    ROW("div_.Tensor_mode", div_mode, MATH | MODE),
    ROW("div.out_mode", div_mode, MATH | MODE),
    ROW("div.Scalar_mode", div_mode, MATH | MODE | SECOND_SCALAR),
    ROW("div_.Scalar_mode", div_mode, MATH | MODE | SECOND_SCALAR),
    ROW("floor_divide", floor_divide, TAKES_REAL | DIVIDES),
    ROW("floor_divide_.Tensor", floor_divide, TAKES_REAL | DIVIDES),
    ROW("floor_divide.out", floor_divide, TAKES_REAL | DIVIDES),
    ROW("floor_divide.Scalar", floor_divide, TAKES_REAL | DIVIDES | SECOND_SCALAR),
    ROW("floor_divide_.Scalar", floor_divide, TAKES_REAL | DIVIDES | SECOND_SCALAR),
    ARITHMETIC("remainder", remainder_, TAKES_REAL | DIVIDES),
    ROW("remainder.Tensor_out", remainder_, TAKES_REAL | DIVIDES),
    ROW("remainder.Scalar_Tensor", remainder_, TAKES_REAL | DIVIDES | FIRST_SCALAR),
    ARITHMETIC("fmod", fmod_, TAKES_REAL | DIVIDES),
    ROW("fmod.Tensor_out", fmod_, TAKES_REAL | DIVIDES),
    ROW("pow.Tensor_Tensor", pow_, TAKES_REAL | TAKES_COMPLEX | POWER),
    ROW("pow_.Tensor", pow_, TAKES_REAL | TAKES_COMPLEX | POWER),
    ROW("pow.Tensor_Tensor_out", pow_, TAKES_REAL | TAKES_COMPLEX | POWER),
    ROW("pow.Tensor_Scalar", pow_, TAKES_REAL | TAKES_COMPLEX | POWER | SECOND_SCALAR),
    ROW("pow_.Scalar", pow_, TAKES_REAL | TAKES_COMPLEX | POWER | SECOND_SCALAR),
    ROW("pow.Tensor_Scalar_out", pow_, TAKES_REAL | TAKES_COMPLEX | POWER | SECOND_SCALAR),
    ROW("pow.Scalar", pow_, TAKES_REAL | TAKES_COMPLEX | FIRST_SCALAR),
    ROW("pow.Scalar_out", pow_, TAKES_REAL | TAKES_COMPLEX | FIRST_SCALAR),
    PLAIN("maximum", maximum, TAKES_ANY),
    PLAIN("minimum", minimum, TAKES_ANY),
    {"fmax", run_extreme, &fmax_, TAKES_ANY, true},
    {"fmax.out", run_extreme, &fmax_, TAKES_ANY, true},
    {"fmin", run_extreme, &fmin_, TAKES_ANY, true},
    {"fmin.out", run_extreme, &fmin_, TAKES_ANY, true},
    {"copysign.Tensor", run_copysign, &where, TAKES_ANY | GIVES_FLOAT, true},
    {"copysign_.Tensor", run_copysign, &where, TAKES_ANY | GIVES_FLOAT, true},
    {"copysign.out", run_copysign, &where, TAKES_ANY | GIVES_FLOAT, true},
    {"hypot", run_hypot, &mul_, TAKES_FLOAT, true},
    {"hypot_", run_hypot, &mul_, TAKES_FLOAT, true},
    {"hypot.out", run_hypot, &mul_, TAKES_FLOAT, true},
    {"lcm", run_lcm, &abs_, TAKES_INT, true},
    {"lcm_", run_lcm, &abs_, TAKES_INT, true},
    {"lcm.out", run_lcm, &abs_, TAKES_INT, true},
    PLAIN_INPLACE("atan2", atan2_, MATH),
    PLAIN_INPLACE("heaviside", heaviside, TAKES_ANY | SAME_TYPE),
    PLAIN_INPLACE("gcd", gcd, TAKES_INT),
    PLAIN("logaddexp", logaddexp, TAKES_FLOAT | TAKES_COMPLEX),
    PLAIN("logaddexp2", logaddexp2, TAKES_FLOAT),
    ROW("xlogy.Tensor", xlogy, MATH),
    ROW("xlogy_.Tensor", xlogy, MATH),
    ROW("xlogy.OutTensor", xlogy, MATH),
    ROW("xlogy.Scalar_Other", xlogy, MATH | SECOND_SCALAR),
    ROW("xlogy_.Scalar_Other", xlogy, MATH | SECOND_SCALAR),
    ROW("xlogy.Scalar_Self", xlogy, MATH | FIRST_SCALAR),
    PLAIN("special_xlog1py", xlog1py, MATH),
    COMPARE("eq", eq, EQUAL),
    COMPARE("ne", ne, EQUAL),
    COMPARE("lt", lt, ORDER),
    COMPARE("le", le, ORDER),
    COMPARE("gt", gt, ORDER),
    COMPARE("ge", ge, ORDER),
    PLAIN_INPLACE("logical_and", logical_and, LOGIC),
    PLAIN_INPLACE("logical_or", logical_or, LOGIC),
    PLAIN_INPLACE("logical_xor", logical_xor, LOGIC),
    ARITHMETIC("bitwise_and", bitwise_and, BITS),
    ROW("bitwise_and.Tensor_out", bitwise_and, BITS),
    ROW("bitwise_and.Scalar_out", bitwise_and, BITS | SECOND_SCALAR),
    ARITHMETIC("bitwise_or", bitwise_or, BITS),
    ROW("bitwise_or.Tensor_out", bitwise_or, BITS),
    ROW("bitwise_or.Scalar_out", bitwise_or, BITS | SECOND_SCALAR),
    ARITHMETIC("bitwise_xor", bitwise_xor, BITS),
    ROW("bitwise_xor.Tensor_out", bitwise_xor, BITS),
    ROW("bitwise_xor.Scalar_out", bitwise_xor, BITS | SECOND_SCALAR),
    ROW("bitwise_left_shift.Tensor", left_shift, SHIFT),
    ROW("bitwise_left_shift_.Tensor", left_shift, SHIFT),
    ROW("bitwise_left_shift.Tensor_out", left_shift, SHIFT),
    ROW("bitwise_right_shift.Tensor", right_shift, SHIFT),
    ROW("bitwise_right_shift_.Tensor", right_shift, SHIFT),
    ROW("bitwise_right_shift.Tensor_out", right_shift, SHIFT),
    ROW("__lshift__.Tensor", left_shift, SHIFT),
    ROW("__lshift__.Scalar", left_shift, SHIFT | SECOND_SCALAR),
    ROW("__ilshift__.Tensor", left_shift, SHIFT),
    ROW("__ilshift__.Scalar", left_shift, SHIFT | SECOND_SCALAR),
    ROW("__rshift__.Tensor", right_shift, SHIFT),
    ROW("__rshift__.Scalar", right_shift, SHIFT | SECOND_SCALAR),
    ROW("__irshift__.Tensor", right_shift, SHIFT),
    ROW("__irshift__.Scalar", right_shift, SHIFT | SECOND_SCALAR),
};
ATEN_FAMILY(binary_family, rows);

/* SPDX-License-Identifier: BSD-3-Clause */
/* See elementwise.h. This file sorts arguments into operands and parameters and finds the type to compute in;
 * pointwise.c makes the step. */
#include "ops/elementwise.h"

#include <math.h>
#include <string.h>

/* What the arguments of a call turned out to be. */
struct call {
    int op, operands, params;
    int out;          /* argument index of the (first) result */
    int operand[3];   /* argument indices */
    bool scalar[3];   /* that argument is an aclScalar */
    int param[4];     /* argument indices of parameters */
    int64_t choice;   /* the last integer parameter */
    const char *text; /* the string parameter */
    struct elementwise_param values;
};

static int operands_of(int op)
{
    static const int count[ELEMENTWISE_TABLES] = {1, 2, 2, 1, 2, 3, 1, 2};
    return count[op >> 8];
}

/* ---- types ---- */

enum category { CATEGORY_NONE, CATEGORY_BOOL, CATEGORY_INT, CATEGORY_FLOAT, CATEGORY_COMPLEX };

static enum category category_of(aclDataType t)
{
    return t == ACL_BOOL         ? CATEGORY_BOOL
           : dtype_is_int(t)     ? CATEGORY_INT
           : dtype_is_float(t)   ? CATEGORY_FLOAT
           : dtype_is_complex(t) ? CATEGORY_COMPLEX
                                 : CATEGORY_NONE;
}

/* One of them is complex: its precision counts, and that of a float. */
static aclDataType promote_complex(aclDataType a, aclDataType b)
{
    if (a == ACL_COMPLEX128 || b == ACL_COMPLEX128 || a == ACL_DOUBLE || b == ACL_DOUBLE)
        return ACL_COMPLEX128;
    bool halves = (a == ACL_COMPLEX32 || b == ACL_COMPLEX32) && a != ACL_FLOAT && b != ACL_FLOAT && a != ACL_BF16 &&
                  b != ACL_BF16 && a != ACL_COMPLEX64 && b != ACL_COMPLEX64;
    return halves ? ACL_COMPLEX32 : ACL_COMPLEX64;
}

aclDataType dtype_promote(aclDataType a, aclDataType b)
{
    if (a == b || b == ACL_DT_UNDEFINED)
        return a;
    if (a == ACL_DT_UNDEFINED)
        return b;
    enum category ca = category_of(a), cb = category_of(b);
    if (ca == CATEGORY_NONE || cb == CATEGORY_NONE)
        return ACL_DT_UNDEFINED;
    if (ca == CATEGORY_COMPLEX || cb == CATEGORY_COMPLEX)
        return promote_complex(a, b);
    if (ca != cb)
        return ca > cb ? a : b;
    size_t size_a = dtype_size(a), size_b = dtype_size(b);
    if (ca == CATEGORY_FLOAT)
        return size_a == size_b ? ACL_FLOAT : size_a > size_b ? a : b; /* f16 with bf16 */
    bool unsigned_a = a == ACL_UINT8 || a == ACL_UINT16 || a == ACL_UINT32 || a == ACL_UINT64;
    bool unsigned_b = b == ACL_UINT8 || b == ACL_UINT16 || b == ACL_UINT32 || b == ACL_UINT64;
    if (unsigned_a == unsigned_b)
        return size_a > size_b ? a : b;
    aclDataType u = unsigned_a ? a : b, s = unsigned_a ? b : a;
    if (dtype_size(s) > dtype_size(u))
        return s;
    return u == ACL_UINT8 ? ACL_INT16 : ACL_DT_UNDEFINED; /* PyTorch has no meeting for the wider ones */
}

/* A type of a weaker rank of operand counts only by its category. */
static aclDataType outweigh(aclDataType strong, aclDataType weak)
{
    if (strong == ACL_DT_UNDEFINED)
        return weak;
    return category_of(weak) > category_of(strong) ? dtype_promote(strong, weak) : strong;
}

static aclDataType scalar_default(const aclScalar *s)
{
    switch (category_of(s->dtype)) {
    case CATEGORY_BOOL:
        return ACL_BOOL;
    case CATEGORY_INT:
        return ACL_INT64;
    case CATEGORY_FLOAT:
        return ACL_FLOAT;
    default:
        return ACL_COMPLEX64;
    }
}

/* torch.result_type: tensors with dimensions outweigh those without, and these outweigh scalars. `wide` is what an
 * integer becomes next to a floating scalar. */
static aclDataType common_type(const struct call *c, const union op_value *arg, aclDataType wide, int first)
{
    bool alike = !c->scalar[first];
    for (int k = first + 1; alike && k < c->operands; k++)
        alike = !c->scalar[k] && arg[c->operand[k]].tensor->view.dtype == arg[c->operand[first]].tensor->view.dtype;
    if (alike)
        return arg[c->operand[first]].tensor->view.dtype;
    aclDataType tensors = ACL_DT_UNDEFINED, zero = ACL_DT_UNDEFINED, scalars = ACL_DT_UNDEFINED;
    for (int k = first; k < c->operands; k++) {
        const union op_value *a = &arg[c->operand[k]];
        if (c->scalar[k]) {
            aclDataType t = scalar_default(a->scalar);
            scalars = dtype_promote(scalars, t == ACL_FLOAT ? wide : t);
        } else if (a->tensor->view.rank) {
            tensors = dtype_promote(tensors, a->tensor->view.dtype);
        } else {
            zero = dtype_promote(zero, a->tensor->view.dtype);
        }
    }
    return outweigh(outweigh(tensors, zero), scalars);
}

static int refuse_types(struct plan *plan, const struct call *c, aclDataType type)
{
    static const aclDataType all[] = {ACL_FLOAT,  ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE,    ACL_INT8,
                                      ACL_UINT8,  ACL_INT16,   ACL_INT32, ACL_INT64,     ACL_UINT16,
                                      ACL_UINT32, ACL_UINT64,  ACL_BOOL,  ACL_COMPLEX64, ACL_COMPLEX128};
    aclDataType list[sizeof all / sizeof *all];
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (elementwise_has(c->op, all[i]))
            list[n++] = all[i];
    for (int k = 0; k < c->operands; k++)
        if (!c->scalar[k])
            TRY(plan_check_dtype(plan, c->operand[k], list, n));
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: the inputs' types promote to %s, which it cannot compute.",
                     plan_row(plan)->name, dtype_name(type));
}

static int compute_type(struct plan *plan, const struct call *c, const union op_value *arg, aclDataType *type)
{
    aclDataType out = arg[c->out].tensor->view.dtype, wide = out == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    *type = common_type(c, arg, wide, 0);
    if (elementwise_has(c->op, *type))
        return ACLNN_SUCCESS;
    /* mathematical functions take integers as floats */
    bool whole = category_of(*type) == CATEGORY_INT || category_of(*type) == CATEGORY_BOOL;
    bool math = c->op < ACTIVATION_TABLE || c->op == ACTIVATION_SIGMOID || c->op >= SPECIAL_TABLE;
    if (whole && math && !elementwise_has(c->op, ACL_INT32) && elementwise_has(c->op, wide)) {
        *type = c->op == COMPARE_ISCLOSE ? ACL_DOUBLE : dtype_is_float(out) ? out : wide;
        return ACLNN_SUCCESS;
    }
    return refuse_types(plan, c, *type);
}

/* ---- arguments ---- */

static void number(struct call *c, double d, int64_t i)
{
    if (c->params == 3)
        return;
    c->values.d[c->params] = d;
    c->values.i[c->params++] = i;
}

static void sort_arguments(struct call *c, const struct op_row *row, const union op_value *arg)
{
    int seen = 0, operands = operands_of(c->op);
    bool in_place = row->output == 0 && row->outputs == 1;
    int spare = operands - row->tensors + (in_place ? 0 : row->outputs); /* operands that scalars have to be */
    c->out = row->output;
    for (int p = 0; p < row->params; p++) {
        char kind = row->param[p].kind;
        if (row->param[p].output && !in_place)
            continue;
        if ((kind == 'T' || (kind == 'S' && spare > 0)) && seen < operands) {
            spare -= kind == 'S';
            c->scalar[seen] = kind == 'S';
            c->operand[seen++] = p;
        } else if (kind == 'S' && arg[p].scalar) {
            number(c, scalar_double(arg[p].scalar), scalar_int(arg[p].scalar));
        } else if (kind == 'S') {
            number(c, 1.0, 1); /* swish's beta */
        } else if (kind == 'd') {
            number(c, arg[p].d, whole_number(arg[p].d));
        } else if (kind == 'i') {
            c->choice = arg[p].i;
        } else if (kind == 's') {
            c->text = arg[p].s;
        }
    }
    c->operands = seen;
}

static int choose(struct plan *plan, struct call *c, const struct op_row *row)
{
    if (row->code & ELEMENTWISE_SWAP) {
        int operand = c->operand[0];
        bool scalar = c->scalar[0];
        c->operand[0] = c->operand[1];
        c->scalar[0] = c->scalar[1];
        c->operand[1] = operand;
        c->scalar[1] = scalar;
    }
    if (row->code & ELEMENTWISE_MODE) {
        if (c->choice < 0 || c->choice > 2)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: mode should be 0, 1 or 2, but got %ld.", row->name,
                             (long)c->choice);
        c->op = c->choice == 0 ? BINARY_DIV : c->choice == 1 ? BINARY_DIV_TRUNC : BINARY_DIV_FLOOR;
    }
    if (row->code & ELEMENTWISE_TANH) {
        if (c->text && strcmp(c->text, "tanh") && strcmp(c->text, "none"))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: approximate should be none or tanh, but got %s.",
                             row->name, c->text);
        if (c->text ? c->text[0] == 't' : c->choice == 1)
            c->op++;
    }
    if (row->code & ELEMENTWISE_RESULT && c->choice)
        c->op++;
    if ((c->op == BINARY_ADD_SCALED || c->op == BINARY_SUB_SCALED) && c->values.d[0] == 1.0)
        c->op--;
    if (c->op == SPECIAL_POLYGAMMA) {
        if (c->choice < 0)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "polygamma(n, x) does not support negative n.");
        c->values.d[0] = (double)c->choice;
        c->op = c->choice ? SPECIAL_POLYGAMMA : UNARY_DIGAMMA;
    }
    if (c->op == COMPARE_ISCLOSE)
        c->values.d[2] = c->choice != 0;
    if (c->op == ACTIVATION_SILU || c->op == GRADIENT_SILU)
        c->values.d[0] = c->params ? c->values.d[0] : 1.0;
    return ACLNN_SUCCESS;
}

double alpha_rounded(aclDataType type, double alpha)
{
    return type == ACL_FLOAT16 ? f16_to_float(f16_from_float((float)alpha))
           : type == ACL_BF16  ? bf16_to_float(bf16_from_float((float)alpha))
                               : alpha;
}

static int add_step(struct plan *plan, const struct call *c, const union op_value *arg, aclDataType type)
{
    struct view *in[3], *out = plan_view(plan, arg[c->out].tensor);
    for (int k = 0; k < c->operands; k++) {
        const union op_value *a = &arg[c->operand[k]];
        bool exact =
            c->op >= BINARY_MUL && c->op <= BINARY_DIV_FLOOR; /* as PyTorch: others round a scalar to 16 bits */
        aclDataType loop = (type == ACL_FLOAT16 || type == ACL_BF16) && exact ? ACL_FLOAT : type;
        in[k] = c->scalar[k] ? plan_scalar(plan, a->scalar, loop) : plan_view(plan, a->tensor);
    }
    return plan_elementwise(plan, c->op, type, out, in, c->operands, &c->values);
}

int prepare_elementwise(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct call c = {.op = row->code & 0xffff};
    aclDataType type;
    sort_arguments(&c, row, arg);
    TRY(choose(plan, &c, row));
    TRY(compute_type(plan, &c, arg, &type));
    bool small = type == ACL_FLOAT16 || type == ACL_BF16;
    if (c.op == BINARY_ADD_SCALED || c.op == BINARY_SUB_SCALED)
        c.values.d[0] = alpha_rounded(type, c.values.d[0]);
    if (c.op == BINARY_DIV_TRUNC && small && !c.scalar[1]) { /* as PyTorch: the quotient is rounded first */
        struct view *out = plan_view(plan, arg[c.out].tensor), *quotient = out;
        struct view *in[] = {c.scalar[0] ? plan_scalar(plan, arg[c.operand[0]].scalar, ACL_FLOAT)
                                         : plan_view(plan, arg[c.operand[0]].tensor),
                             plan_view(plan, arg[c.operand[1]].tensor)};
        if (out->dtype != type)
            quotient = plan_temp(plan, type, out->rank, out->dim);
        TRY(plan_elementwise(plan, BINARY_DIV, type, quotient, in, 2, NULL));
        return plan_elementwise(plan, UNARY_TRUNC, type, out, &quotient, 1, NULL);
    }
    return add_step(plan, &c, arg, type);
}

/* x^2 and its like are cheaper and more exact than the general power. */
int prepare_pow_scalar(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct call c = {.op = BINARY_POW};
    aclDataType type;
    sort_arguments(&c, row, arg);
    TRY(compute_type(plan, &c, arg, &type));
    double e = scalar_double(arg[c.operand[1]].scalar);
    bool whole = !dtype_is_float(type) && !dtype_is_complex(type),
         plain = !dtype_is_complex(arg[c.operand[1]].scalar->dtype);
    int op = e == 2.0    ? UNARY_SQUARE
             : e == 3.0  ? UNARY_CUBE
             : whole     ? BINARY_POW
             : e == 0.5  ? UNARY_SQRT
             : e == -0.5 ? UNARY_RSQRT
             : e == -1.0 ? UNARY_RECIPROCAL
             : e == -2.0 ? UNARY_RECIPROCAL_SQUARE
                         : BINARY_POW;
    if (whole && e < 0.0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Integers to negative integer powers are not allowed.");
    if (op != BINARY_POW && plain && elementwise_has(op, type)) {
        c.op = op;
        c.operands = 1;
    }
    return add_step(plan, &c, arg, type);
}

/* min and max are scalars or tensors, either may be absent (not both). */
int prepare_clamp(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct call c = {.operands = 1};
    bool tensors = row->param[1].kind == 'T';
    const void *low = arg[1].tensor, *high = arg[2].tensor;
    c.out = row->params - 1;
    if (!low && !high)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: at least one of %s and %s must not be null.", row->name,
                         row->param[1].name, row->param[2].name);
    for (int p = 1; p <= 2; p++)
        if (arg[p].tensor) {
            c.scalar[c.operands] = !tensors;
            c.operand[c.operands++] = p;
        }
    aclDataType type, out = arg[c.out].tensor->view.dtype;
    if (tensors) {
        c.op = c.operands == 3 ? TERNARY_CLAMP : low ? BINARY_MAXIMUM : BINARY_MINIMUM;
    } else {
        c.op = !high ? ACTIVATION_CLAMP_MIN : low ? ACTIVATION_CLAMP : ACTIVATION_CLAMP_MAX;
        for (int p = 1, k = 0; p <= 2; p++)
            if (arg[p].scalar) {
                c.values.d[k] = scalar_double(arg[p].scalar);
                c.values.i[k++] = scalar_int(arg[p].scalar);
            }
    }
    type = common_type(&c, arg, out == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT, 0);
    if (!tensors)
        c.operands = 1;
    if (!elementwise_has(c.op, type))
        return refuse_types(plan, &c, type);
    return add_step(plan, &c, arg, type);
}

int prepare_round_decimals(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    struct call c = {.op = UNARY_ROUND_DECIMALS};
    aclDataType type;
    sort_arguments(&c, row, arg);
    TRY(compute_type(plan, &c, arg, &type));
    c.values.d[0] = pow(10.0, fabs((double)c.choice));
    c.values.d[1] = c.choice < 0;
    if (c.choice == 0)
        c.op = UNARY_ROUND;
    return add_step(plan, &c, arg, type);
}

int prepare_where(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType masks[] = {ACL_BOOL, ACL_UINT8};
    struct call c = {.op = TERNARY_WHERE};
    TRY(plan_check_dtype(plan, 0, masks, 2));
    sort_arguments(&c, row, arg);
    aclDataType type = common_type(&c, arg, ACL_FLOAT, 1);
    if (!elementwise_has(c.op, type))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: %s and %s have no common type.", row->name,
                         row->param[1].name, row->param[2].name);
    return add_step(plan, &c, arg, type);
}

/* self where the mask is false, the value (as self's type) where it is true */
int prepare_masked_fill(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType masks[] = {ACL_BOOL, ACL_UINT8, ACL_INT8};
    TRY(plan_check_dtype(plan, 1, masks, 3));
    struct view *self = plan_view(plan, arg[0].tensor), *mask = plan_view(plan, arg[1].tensor), *value;
    if (!elementwise_has(TERNARY_WHERE, self->dtype))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: no type %s.", row->name, dtype_name(self->dtype));
    if (row->param[2].kind == 'S') {
        value = plan_scalar(plan, arg[2].scalar, self->dtype);
    } else {
        value = plan_view(plan, arg[2].tensor);
        if (view_count(value) != 1)
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor value to have one element, but got %ld.",
                             (long)view_count(value));
        value->rank = 0;
    }
    return plan_elementwise(plan, TERNARY_WHERE, self->dtype, self, (struct view *[]){mask, value, self}, 3, NULL);
}

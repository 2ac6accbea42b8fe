/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels: inner loops by operation and element type.
 *
 * Operations of one table have the same operands: unary (o; a), binary and compare (o; a, b), activation (o; a, with
 * parameters), gradient (o; a, b, with parameters), ternary (o; a, b, c). A loop is dense: every step is the element's
 * size, save that operand b of a binary or compare loop may have a step of 0, or operand a may, not both. The block
 * loop (below) makes that true for any strides and types; the output may be exactly one of the inputs. The types of a,
 * b, c and o are the loop's own type but for: compare and is-loops write bool, masks are bool. f16 and bf16 are
 * computed as f32. */
#ifndef ANYNPU_KERNELS_ELEMENTWISE_H
#define ANYNPU_KERNELS_ELEMENTWISE_H

#include "acl/acl_base.h"
#include "kernels/copy.h"
#include "kernels/isa.h"
#include "kernels/loop.h"

/* An operation: its table in the high byte, its place there in the low one. */
enum elementwise_op {
    UNARY_TABLE = 0x000,
    UNARY_COPY = UNARY_TABLE,
    UNARY_ABS,
    UNARY_NEG,
    UNARY_SIGN,
    UNARY_SQUARE,
    UNARY_CUBE,
    UNARY_CEIL,
    UNARY_FLOOR,
    UNARY_ROUND,
    UNARY_ROUND_DECIMALS, /* d[0]: 10^|decimals|, i[0]: negative */
    UNARY_TRUNC,
    UNARY_FRAC,
    UNARY_RECIPROCAL,
    UNARY_RECIPROCAL_SQUARE,
    UNARY_SQRT,
    UNARY_RSQRT,
    UNARY_EXP,
    UNARY_EXP2,
    UNARY_EXPM1,
    UNARY_LOG,
    UNARY_LOG2,
    UNARY_LOG10,
    UNARY_LOG1P,
    UNARY_SIN,
    UNARY_COS,
    UNARY_TAN,
    UNARY_ASIN,
    UNARY_ACOS,
    UNARY_ATAN,
    UNARY_SINH,
    UNARY_COSH,
    UNARY_TANH,
    UNARY_ASINH,
    UNARY_ACOSH,
    UNARY_ATANH,
    UNARY_ERF,
    UNARY_ERFC,
    UNARY_ERFINV,
    UNARY_LGAMMA,
    UNARY_DIGAMMA,
    UNARY_SINC,
    UNARY_ANGLE, /* of a real number */
    UNARY_NDTRI,
    UNARY_LOGIT,      /* d[0]: eps or a negative number for none */
    UNARY_NAN_TO_NUM, /* d[0..2]: for NaN, +inf, -inf */
    UNARY_BITWISE_NOT,
    UNARY_LOGICAL_NOT, /* from here on the answer is a bool */
    UNARY_ISNAN,
    UNARY_ISINF,
    UNARY_ISPOSINF,
    UNARY_ISNEGINF,
    UNARY_ISFINITE,
    UNARY_SIGNBIT,
    UNARY_END,

    BINARY_TABLE = 0x100,
    BINARY_ADD = BINARY_TABLE, /* a + s b, s = d[0] or i[0] */
    BINARY_ADD_SCALED,
    BINARY_SUB,
    BINARY_SUB_SCALED,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_DIV_TRUNC,
    BINARY_DIV_FLOOR,
    BINARY_REMAINDER, /* the divisor's sign */
    BINARY_FMOD,      /* the dividend's sign */
    BINARY_POW,
    BINARY_MAXIMUM,
    BINARY_MINIMUM,
    BINARY_FMAX,
    BINARY_FMIN,
    BINARY_ATAN2,
    BINARY_HYPOT,
    BINARY_COPYSIGN,
    BINARY_NEXTAFTER,
    BINARY_LOGADDEXP,
    BINARY_LOGADDEXP2,
    BINARY_XLOGY,
    BINARY_XLOG1PY,
    BINARY_HEAVISIDE,
    BINARY_GCD,
    BINARY_LCM,
    BINARY_AND,
    BINARY_OR,
    BINARY_XOR,
    BINARY_SHIFT_LEFT,
    BINARY_SHIFT_RIGHT,
    BINARY_END,

    COMPARE_TABLE = 0x200,
    COMPARE_EQ = COMPARE_TABLE,
    COMPARE_NE,
    COMPARE_LT,
    COMPARE_LE,
    COMPARE_GT,
    COMPARE_GE,
    COMPARE_LOGICAL_AND,
    COMPARE_LOGICAL_OR,
    COMPARE_LOGICAL_XOR,
    COMPARE_ISCLOSE, /* d[0]: rtol, d[1]: atol, i[0]: NaN equals NaN */
    COMPARE_END,

    ACTIVATION_TABLE = 0x300,
    ACTIVATION_RELU = ACTIVATION_TABLE,
    ACTIVATION_CLAMP,      /* 0: min, 1: max */
    ACTIVATION_CLAMP_MIN,  /* 0: min */
    ACTIVATION_CLAMP_MAX,  /* 0: max */
    ACTIVATION_THRESHOLD,  /* 0: threshold, 1: value */
    ACTIVATION_LEAKY_RELU, /* 0: slope */
    ACTIVATION_ELU,        /* 0: alpha, 1: scale, 2: input scale */
    ACTIVATION_GELU,
    ACTIVATION_GELU_TANH,
    ACTIVATION_FAST_GELU,
    ACTIVATION_SIGMOID,
    ACTIVATION_SILU, /* 0: beta of swish */
    ACTIVATION_MISH,
    ACTIVATION_SOFTPLUS, /* 0: beta, 1: threshold */
    ACTIVATION_LOGSIGMOID,
    ACTIVATION_HARDSWISH,
    ACTIVATION_HARDSIGMOID,
    ACTIVATION_HARDSHRINK, /* 0: lambda */
    ACTIVATION_SOFTSHRINK, /* 0: lambda */
    ACTIVATION_SOFTSIGN,
    ACTIVATION_END,

    GRADIENT_TABLE = 0x400,              /* a: gradient of the result, b: the input, or the result where said */
    GRADIENT_THRESHOLD = GRADIENT_TABLE, /* 0: threshold */
    GRADIENT_HARDTANH,                   /* 0: min, 1: max */
    GRADIENT_LEAKY_RELU,                 /* 0: slope */
    GRADIENT_ELU,                        /* 0: alpha, 1: scale, 2: input scale */
    GRADIENT_ELU_RESULT,                 /* the same from the result */
    GRADIENT_GELU,
    GRADIENT_GELU_TANH,
    GRADIENT_FAST_GELU,
    GRADIENT_SIGMOID, /* from the result */
    GRADIENT_TANH,    /* from the result */
    GRADIENT_SILU,    /* 0: beta of swish */
    GRADIENT_MISH,
    GRADIENT_SOFTPLUS, /* 0: beta, 1: threshold */
    GRADIENT_LOGSIGMOID,
    GRADIENT_HARDSWISH,
    GRADIENT_HARDSIGMOID,
    GRADIENT_SHRINK,         /* 0: lambda */
    GRADIENT_LOGIT,          /* 0: eps or negative */
    GRADIENT_PRELU_WEIGHT,   /* the weight's gradient, elementwise */
    GRADIENT_PRELU_FORWARD,  /* a: input, b: weight */
    GRADIENT_GLU_FORWARD,    /* a sigmoid(b) */
    GRADIENT_SWIGLU_FORWARD, /* silu(a) b */
    GRADIENT_DROPOUT,        /* 0: scale; b: mask as a number */
    GRADIENT_END,

    TERNARY_TABLE = 0x500,
    TERNARY_ADDCMUL = TERNARY_TABLE, /* a + s b c, s = d[0] or i[0] */
    TERNARY_ADDCDIV,                 /* a + s b / c */
    TERNARY_LERP,                    /* c: weight */
    TERNARY_CLAMP,                   /* b: min, c: max */
    TERNARY_PRELU,                   /* input's gradient; a: gradient, b: input, c: weight */
    TERNARY_GLU_FIRST,               /* a: gradient, b: first half, c: second; gradient of the first */
    TERNARY_GLU_SECOND,
    TERNARY_SWIGLU_FIRST, /* the same of silu(b) c */
    TERNARY_SWIGLU_SECOND,
    TERNARY_WHERE, /* a: bool; copies b or c: one loop for each element size */
    TERNARY_END,

    SPECIAL_TABLE = 0x600, /* special functions of one operand */
    SPECIAL_I0 = SPECIAL_TABLE,
    SPECIAL_I0E,
    SPECIAL_I1,
    SPECIAL_I1E,
    SPECIAL_J0,
    SPECIAL_J1,
    SPECIAL_Y0,
    SPECIAL_Y1,
    SPECIAL_K0,
    SPECIAL_K0E,
    SPECIAL_K1,
    SPECIAL_K1E,
    SPECIAL_SPHERICAL_J0,
    SPECIAL_AIRY,
    SPECIAL_ERFCX,
    SPECIAL_LOG_NDTR,
    SPECIAL_ENTR,
    SPECIAL_POLYGAMMA, /* d[0]: which derivative of digamma, ≥ 1 */

    SPECIAL2_TABLE = 0x700, /* and of two */
    SPECIAL_ZETA = SPECIAL2_TABLE,
    SPECIAL_IGAMMA,
    SPECIAL_IGAMMAC,
    SPECIAL_CHEBYSHEV_T, /* polynomials: b is the degree */
    SPECIAL_CHEBYSHEV_U,
    SPECIAL_CHEBYSHEV_V,
    SPECIAL_CHEBYSHEV_W,
    SPECIAL_SHIFTED_T,
    SPECIAL_SHIFTED_U,
    SPECIAL_SHIFTED_V,
    SPECIAL_SHIFTED_W,
    SPECIAL_HERMITE_H,
    SPECIAL_HERMITE_HE,
    SPECIAL_LAGUERRE,
    SPECIAL_LEGENDRE,
    ELEMENTWISE_TABLES = 8,
};

/* Numbers that an operation takes beside its operands: floating types read d, integers i. */
struct elementwise_param {
    double d[3];
    int64_t i[3];
    int32_t *fault; /* set to 1 by an integer division by zero; may be NULL where none divides */
};

enum { ELEMENTWISE_DTYPES = ACL_BOOL + 1 };            /* the loops' types are indexed by aclDataType */
enum { WHERE_1, WHERE_2, WHERE_4, WHERE_8, WHERE_16 }; /* and those of TERNARY_WHERE by element size */

struct elementwise_table {
    const walk_loop (*loop)[ELEMENTWISE_DTYPES]; /* by operation - table, then type; NULL where there is none */
    int count;
    const walk_loop (*half)[2]; /* by operation: straight from and to f16, bf16; NULL where float loops serve */
    int halves;
};

ISA_DECLARE(const struct elementwise_table, unary_kernels);
ISA_DECLARE(const struct elementwise_table, binary_kernels);
ISA_DECLARE(const struct elementwise_table, compare_kernels);
ISA_DECLARE(const struct elementwise_table, activation_kernels);
ISA_DECLARE(const struct elementwise_table, gradient_kernels);
ISA_DECLARE(const struct elementwise_table, ternary_kernels);
ISA_DECLARE(const struct elementwise_table, special_kernels);
ISA_DECLARE(const struct elementwise_table, special2_kernels);

/* An operand's way between memory and the loop. */
struct elementwise_operand {
    int32_t memory;         /* bytes of an element in memory */
    int32_t size;           /* and in the loop */
    bool same;              /* memory has the loop's type: dense data goes to the loop as it is */
    bool twice;             /* by way of a third type, to be rounded to it */
    int32_t middle;         /* bytes of an element of that */
    aclDataType half;       /* ACL_FLOAT16 or ACL_BF16 in memory, float in the loop: the short way; else 0 */
    struct copy_cast first; /* inputs: memory → (middle →) loop; the output: loop → (middle →) memory */
    struct copy_cast second;
};

enum { ELEMENTWISE_OPERANDS = 4 };

/* The param of elementwise_kernels.block: how to run a loop over operands of any type and stride. */
struct elementwise_block {
    walk_loop loop;
    const struct elementwise_param *param;
    int operands;     /* the output included */
    unsigned repeat;  /* bit k: the loop takes a step of 0 for operand k (one operand at a time) */
    aclDataType half; /* the loop is one for 16-bit floats of this type, and what repeats a float; else 0 */
    struct elementwise_operand operand[ELEMENTWISE_OPERANDS];
};

struct elementwise_kernels {
    const struct elementwise_table *table[ELEMENTWISE_TABLES]; /* by an operation's high byte */
    walk_loop block;
};

ISA_DECLARE(const struct elementwise_kernels, elementwise_kernels);

#endif

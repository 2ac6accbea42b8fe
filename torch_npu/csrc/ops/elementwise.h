/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rows of elementwise operators say in their code, shared by elementwise.c, binary.c and activation.c. */
#ifndef TORCH_NPU_OPS_ELEMENTWISE_H
#define TORCH_NPU_OPS_ELEMENTWISE_H

#include "op.h"

enum {
    /* the types that the inputs may promote to; with others the CPU's kernel runs, or says what is wrong */
    TAKES_FLOAT = 1,
    TAKES_INT = 2, /* 8 to 64 bits, and uint8 */
    TAKES_BOOL = 4,
    TAKES_WIDE = 8, /* uint16, uint32, uint64 */
    TAKES_REAL = TAKES_FLOAT | TAKES_INT,
    TAKES_ANY = TAKES_REAL | TAKES_BOOL,
    TAKES_ALL = TAKES_ANY | TAKES_WIDE,
    TAKES_COMPLEX = 1 << 20, /* complex64 and complex128 */
    /* the result's type, if it is not what the inputs promote to */
    GIVES_FLOAT = 16, /* integers and bool become the default float */
    GIVES_BOOL = 32,
    /* the first of TAKES_… left free for a family's own flags */
    ELEMENTWISE_FREE = 64,
};

static inline bool takes_type(int code, aclDataType t)
{
    switch (t) {
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_DOUBLE:
        return code & TAKES_FLOAT;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_INT64:
        return code & TAKES_INT;
    case ACL_BOOL:
        return code & TAKES_BOOL;
    case ACL_UINT16:
    case ACL_UINT32:
    case ACL_UINT64:
        return code & TAKES_WIDE;
    case ACL_COMPLEX64:
    case ACL_COMPLEX128:
        return code & TAKES_COMPLEX;
    default:
        return false;
    }
}

static inline aclDataType result_type(int code, aclDataType common)
{
    if (code & GIVES_BOOL)
        return ACL_BOOL;
    return code & GIVES_FLOAT && is_integral(common, true) ? default_float() : common;
}

/* Runs an operator whose aclnn parameters are its ATen arguments one by one, then the result; the first n tensors
 * broadcast to its shape (pointwise.c). */
int run_pointwise(struct call *c, const struct aten_row *row);
enum { OPERANDS_SHIFT = 12 }; /* row code: n - 1 */
#define OPERANDS(n) (((n)-1) << OPERANDS_SHIFT)

enum {
    MATH = TAKES_ALL | GIVES_FLOAT,
    COMPLEX_MATH = MATH | TAKES_COMPLEX,
};

/* The real (0) or imaginary (1) parts of complex numbers, as a view of the same memory (elementwise.c). */
struct npu_tensor *part_of(struct call *c, const struct npu_tensor *t, int which);

/* Rows of an operator's functional and out= overloads, with an adapter. */
#define PAIR(name, out, run, op, code)                                                                                 \
    {name, run, op, code, true},                                                                                       \
    {                                                                                                                  \
        out, run, op, code, true                                                                                       \
    }
/* Rows of an operator's functional, in-place and out= overloads. */
#define UNARY(name, op, code)                                                                                          \
    {name, run_pointwise, &(struct aclnn)op, code, true}, {name "_", run_pointwise, &(struct aclnn)op, code, true},    \
    {                                                                                                                  \
        name ".out", run_pointwise, &(struct aclnn)op, code, true                                                      \
    }

#endif

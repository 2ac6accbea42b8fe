/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products. What PyTorch's CPU refuses for its types falls back, so that the text is PyTorch's own. */
#include "op.h"

enum { KEEP_DTYPE = 1 }; /* cubeMathType: compute in the tensors' own type */

/* Types with a product of their own: floats, complex numbers and the integers that PyTorch multiplies. */
static bool multiplies(aclDataType t)
{
    return is_floating(t) || is_integral(t, false) || t == ACL_COMPLEX64 || t == ACL_COMPLEX128;
}

static bool unusual(aclDataType t)
{
    return t == ACL_UINT16 || t == ACL_UINT32 || t == ACL_UINT64;
}

/* The operands' type, or undefined if the CPU shall say why not. `out` is an argument's position or -1. */
static aclDataType common_type(struct call *c, const struct npu_tensor *a, const struct npu_tensor *b, int out)
{
    if (a->dtype != b->dtype || !multiplies(a->dtype) || unusual(a->dtype) || a->device < 0 || b->device < 0)
        return ACL_DT_UNDEFINED;
    if (out >= 0 && out < arg_count(c) && arg_tensor(c, out)->dtype != a->dtype)
        return ACL_DT_UNDEFINED;
    return a->dtype;
}

/* ---- products of two ---- */

enum { MM, BMM };

static int check_mm(struct call *c, const struct npu_tensor *a, const struct npu_tensor *b, const char *left)
{
    if (a->rank != 2)
        return call_error(c, CALL_RUNTIME_ERROR, "%s must be a matrix", left);
    if (b->rank != 2)
        return call_error(c, CALL_RUNTIME_ERROR, "mat2 must be a matrix");
    if (a->size[1] != b->size[0])
        return call_error(c, CALL_RUNTIME_ERROR, "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)",
                          (long)a->size[0], (long)a->size[1], (long)b->size[0], (long)b->size[1]);
    return CALL_OK;
}

static int check_bmm(struct call *c, const struct npu_tensor *a, const struct npu_tensor *b)
{
    if (a->rank != 3)
        return call_error(c, CALL_RUNTIME_ERROR, "batch1 must be a 3D tensor");
    if (b->rank != 3)
        return call_error(c, CALL_RUNTIME_ERROR, "batch2 must be a 3D tensor");
    if (a->size[0] != b->size[0] || a->size[2] != b->size[1])
        return call_error(
            c, CALL_RUNTIME_ERROR,
            "Expected size for first two dimensions of batch2 tensor to be: [%ld, %ld] but got: [%ld, %ld].",
            (long)a->size[0], (long)a->size[2], (long)b->size[0], (long)b->size[1]);
    return CALL_OK;
}

/* self, mat2, [out_dtype,] [out] */
static int run_product(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    int bmm = row->code & BMM;
    if (bmm ? check_bmm(c, a, b) : check_mm(c, a, b, "self"))
        return CALL_ERROR;
    aclDataType type = common_type(c, a, b, 2);
    if (type == ACL_DT_UNDEFINED)
        return CALL_FALLBACK;
    int64_t size[] = {a->size[0], a->size[1], b->size[2 - !bmm]};
    if (!bmm)
        size[1] = b->size[1];
    struct npu_tensor *out = result(c, 0, type, bmm ? 3 : 2, size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = a}, {.t = b}, {.t = out}, {.i = KEEP_DTYPE}});
}

static int run_product_dtype(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    int bmm = row->code & BMM;
    aclDataType type = arg_dtype(c, 2, a->dtype);
    if (bmm ? check_bmm(c, a, b) : check_mm(c, a, b, "self"))
        return CALL_ERROR;
    if (a->dtype != b->dtype || !is_floating(a->dtype) || (type != a->dtype && type != ACL_FLOAT))
        return call_error(c, CALL_RUNTIME_ERROR,
                          "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
    int64_t size[] = {a->size[0], a->size[1], b->size[2 - !bmm]};
    if (!bmm)
        size[1] = b->size[1];
    struct npu_tensor *out = result(c, 0, type, bmm ? 3 : 2, size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = a}, {.t = b}, {.t = out}, {.i = KEEP_DTYPE}});
}

static int run_mv(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *a = arg_tensor(c, 0), *x = arg_tensor(c, 1);
    if (a->rank != 2 || x->rank != 1)
        return call_error(c, CALL_RUNTIME_ERROR, "vector + matrix @ vector expected, got 1, %d, %d", a->rank, x->rank);
    if (a->size[1] != x->size[0])
        return call_error(c, CALL_RUNTIME_ERROR, "size mismatch, got input (%ld), mat (%ldx%ld), vec (%ld)",
                          (long)a->size[0], (long)a->size[0], (long)a->size[1], (long)x->size[0]);
    aclDataType type = common_type(c, a, x, 2);
    if (type == ACL_DT_UNDEFINED)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, type, 1, a->size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = a}, {.t = x}, {.t = out}, {.i = KEEP_DTYPE}});
}

enum { CONJUGATE = 1 };

/* A contiguous copy with the imaginary parts negated. */
static const struct npu_tensor *conjugate(struct call *c, const struct npu_tensor *t)
{
    static struct aclnn neg = ACLNN("aclnnNeg", "TT");
    int64_t two = 2;
    struct npu_tensor *copy = temp(c, t->dtype, 1, t->size);
    if (copy_tensor(c, copy, t))
        return copy;
    struct npu_tensor *parts = view_of(c, copy, 1, t->size, &two, 2 * copy->offset + 1);
    parts->dtype = t->dtype == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
    launch(c, &neg, (union aclnn_value[]){{.t = parts}, {.t = parts}});
    return copy;
}

/* dot and vdot, whose first operand is conjugated */
static int run_dot(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    if (a->rank != 1 || b->rank != 1)
        return call_error(c, CALL_RUNTIME_ERROR, "1D tensors expected, but got %dD and %dD tensors", a->rank, b->rank);
    if (a->dtype == b->dtype && a->size[0] != b->size[0])
        return call_error(
            c, CALL_RUNTIME_ERROR,
            "inconsistent tensor size, expected tensor [%ld] and src [%ld] to have the same number of elements, "
            "but got %ld and %ld elements respectively",
            (long)a->size[0], (long)b->size[0], (long)a->size[0], (long)b->size[0]);
    aclDataType type = common_type(c, a, b, 2);
    if (type == ACL_DT_UNDEFINED)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, type, 0, NULL);
    if (row->code == CONJUGATE && is_complex(type))
        a = conjugate(c, a);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = a}, {.t = b}, {.t = out}});
}

/* ---- products added to something ---- */

enum { ADDMM, BADDBMM, ADDBMM };

/* PyTorch's expand, whose complaint it is when self does not fit. */
static int check_expand(struct call *c, const struct npu_tensor *self, int32_t rank, const int64_t *size)
{
    if (self->rank > rank)
        return CALL_FALLBACK;
    for (int32_t d = 0; d < self->rank; d++) {
        int32_t at = rank - self->rank + d;
        if (self->size[d] != 1 && self->size[d] != size[at])
            return CALL_FALLBACK;
    }
    return call_failed(c) ? CALL_ERROR : CALL_OK;
}

static bool numbers_fit(aclDataType type, const struct npu_scalar *beta, const struct npu_scalar *alpha)
{
    return is_complex(type) || (beta->kind != SCALAR_COMPLEX && alpha->kind != SCALAR_COMPLEX);
}

/* self, a, b, beta, alpha, [out] */
static int run_added(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2);
    struct npu_scalar beta = arg_scalar(c, 3), alpha = arg_scalar(c, 4);
    int kind = row->code;
    if (kind == ADDMM ? check_mm(c, a, b, "mat1") : check_bmm(c, a, b))
        return CALL_ERROR;
    aclDataType type = common_type(c, a, b, 5);
    if (type != self->dtype || !numbers_fit(type, &beta, &alpha))
        return CALL_FALLBACK;
    int64_t size[] = {a->size[0], a->size[a->rank - 2], b->size[b->rank - 1]},
            *shape = kind == BADDBMM ? size : size + 1;
    int32_t rank = kind == BADDBMM ? 3 : 2;
    int status = check_expand(c, self, rank, shape);
    if (status)
        return status;
    struct npu_tensor *out = result(c, 0, type, rank, shape);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){
                      {.t = self}, {.t = a}, {.t = b}, {.s = &beta}, {.s = &alpha}, {.t = out}, {.i = KEEP_DTYPE}});
}

static int run_addmv(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *x = arg_tensor(c, 2);
    struct npu_scalar beta = arg_scalar(c, 3), alpha = arg_scalar(c, 4);
    if (a->rank != 2 || x->rank != 1 || self->rank > 1)
        return call_error(c, CALL_RUNTIME_ERROR, "vector + matrix @ vector expected, got %d, %d, %d", self->rank,
                          a->rank, x->rank);
    bool fits = self->rank == 0 || self->size[0] == 1 || self->size[0] == a->size[0];
    if (a->size[1] != x->size[0] || !fits)
        return call_error(c, CALL_RUNTIME_ERROR, "size mismatch, got input (%ld), mat (%ldx%ld), vec (%ld)",
                          self->rank ? (long)self->size[0] : 1L, (long)a->size[0], (long)a->size[1], (long)x->size[0]);
    aclDataType type = common_type(c, a, x, 5);
    if (type != self->dtype || !numbers_fit(type, &beta, &alpha))
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, type, 1, a->size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){
                      {.t = self}, {.t = a}, {.t = x}, {.s = &alpha}, {.s = &beta}, {.t = out}, {.i = KEEP_DTYPE}});
}

static int run_addr(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2);
    struct npu_scalar beta = arg_scalar(c, 3), alpha = arg_scalar(c, 4);
    aclDataType type = common_type(c, a, b, 5);
    if (a->rank != 1 || b->rank != 1 || type != self->dtype || !numbers_fit(type, &beta, &alpha) ||
        (is_integral(type, false) && (beta.kind == SCALAR_FLOAT || alpha.kind == SCALAR_FLOAT)))
        return CALL_FALLBACK;
    int64_t size[] = {a->size[0], b->size[0]};
    int status = check_expand(c, self, 2, size);
    if (status)
        return status;
    struct npu_tensor *out = result(c, 0, type, 2, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self}, {.t = a}, {.t = b}, {.s = &beta}, {.s = &alpha}, {.t = out}});
}

static struct aclnn mm = ACLNN("aclnnMm", "TTTc");
static struct aclnn bmm = ACLNN("aclnnBatchMatMul", "TTTc");
static struct aclnn mv = ACLNN("aclnnMv", "TTTc");
static struct aclnn dot = ACLNN("aclnnDot", "TTT");
static struct aclnn addmm = ACLNN("aclnnAddmm", "TTTSSTc");
static struct aclnn baddbmm = ACLNN("aclnnBaddbmm", "TTTSSTc");
static struct aclnn addbmm = ACLNN("aclnnAddbmm", "TTTSSTc");
static struct aclnn addmv = ACLNN("aclnnAddmv", "TTTSSTc");
static struct aclnn addr = ACLNN("aclnnAddr", "TTTSST");

static const struct aten_row rows[] = {
    {"mm", run_product, &mm, MM},
    {"mm.out", run_product, &mm, MM},
    {"mm.dtype", run_product_dtype, &mm, MM},
    {"mm.dtype_out", run_product_dtype, &mm, MM},
    {"bmm", run_product, &bmm, BMM},
    {"bmm.out", run_product, &bmm, BMM},
    {"bmm.dtype", run_product_dtype, &bmm, BMM},
    {"bmm.dtype_out", run_product_dtype, &bmm, BMM},
    {"mv", run_mv, &mv},
    {"mv.out", run_mv, &mv},
    {"dot", run_dot, &dot},
    {"dot.out", run_dot, &dot},
    {"vdot", run_dot, &dot, CONJUGATE},
    {"vdot.out", run_dot, &dot, CONJUGATE},
    {"addmm", run_added, &addmm, ADDMM},
    {"addmm_", run_added, &addmm, ADDMM},
    {"addmm.out", run_added, &addmm, ADDMM},
    {"baddbmm", run_added, &baddbmm, BADDBMM},
    {"baddbmm_", run_added, &baddbmm, BADDBMM},
    {"baddbmm.out", run_added, &baddbmm, BADDBMM},
    {"addbmm", run_added, &addbmm, ADDBMM},
    {"addbmm_", run_added, &addbmm, ADDBMM},
    {"addbmm.out", run_added, &addbmm, ADDBMM},
    {"addmv", run_addmv, &addmv},
    {"addmv_", run_addmv, &addmv},
    {"addmv.out", run_addmv, &addmv},
    {"addr", run_addr, &addr},
    {"addr_", run_addr, &addr},
    {"addr.out", run_addr, &addr},
};
ATEN_FAMILY(matmul, rows);

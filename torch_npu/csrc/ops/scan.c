/* SPDX-License-Identifier: BSD-3-Clause */
/* Running sums, products, extremes. */
#include "elementwise.h"

enum {
    SCALAR_DIM = ELEMENTWISE_FREE, /* the operator takes the dimension as a scalar */
    OUT = ELEMENTWISE_FREE << 1,   /* an out= overload */
    INPLACE = ELEMENTWISE_FREE << 2,
};

/* Results of pairs, then of fours and so on, until every element has all before it: for operators and types without a
 * kernel of their own. */
static int scan_by_doubling(struct call *c, struct aclnn *op, const struct npu_tensor *x, int32_t dim,
                            const struct npu_tensor *out)
{
    struct npu_tensor *now = temp(c, x->dtype, x->rank, x->size), *next = temp(c, x->dtype, x->rank, x->size);
    int64_t n = x->rank ? x->size[dim] : 1;
    if (copy_tensor(c, now, x))
        return CALL_ERROR;
    for (int64_t reach = 1; reach < n; reach *= 2) {
        int64_t head[16], tail[16];
        for (int32_t d = 0; d < x->rank; d++) {
            head[d] = d == dim ? reach : x->size[d];
            tail[d] = d == dim ? n - reach : x->size[d];
        }
        int64_t shift = reach * now->stride[dim];
        copy_tensor(c, view_of(c, next, x->rank, head, next->stride, next->offset),
                    view_of(c, now, x->rank, head, now->stride, now->offset));
        if (launch(c, op,
                   (union aclnn_value[]){{.t = view_of(c, now, x->rank, tail, now->stride, now->offset)},
                                         {.t = view_of(c, now, x->rank, tail, now->stride, now->offset + shift)},
                                         {.t = view_of(c, next, x->rank, tail, next->stride, next->offset + shift)}}))
            return CALL_ERROR;
        struct npu_tensor *spare = now;
        now = next;
        next = spare;
    }
    return copy_tensor(c, out, now);
}

/* self, dim */
static int run_logcumsumexp(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->rank > 16 || !takes_type(TAKES_FLOAT | TAKES_COMPLEX, self->dtype))
        return CALL_FALLBACK;
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    bool half = self->dtype == ACL_FLOAT16 || self->dtype == ACL_BF16;
    struct npu_tensor *out = result(c, 0, self->dtype, self->rank, self->size);
    if (call_failed(c) || !tensor_numel(self))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    return scan_by_doubling(c, row->aclnn, half ? cast(c, self, ACL_FLOAT) : self, dim, out);
}

/* Running sums of complex numbers are those of their parts; products go by pairs. */
static int scan_complex(struct call *c, const struct aten_row *row, const struct npu_tensor *x, int32_t dim,
                        const struct npu_tensor *out)
{
    static struct aclnn mul = ACLNN("aclnnMul", "TTT");
    if (!tensor_numel(x))
        return CALL_OK;
    if (row->code & SCALAR_DIM)
        return scan_by_doubling(c, &mul, x, dim, out);
    aclDataType real = x->dtype == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
    for (int k = 0; k < 2; k++)
        if (launch(c, row->aclnn,
                   (union aclnn_value[]){{.t = part_of(c, x, k)}, {.i = dim}, {.i = real}, {.t = part_of(c, out, k)}}))
            return CALL_ERROR;
    return CALL_OK;
}

/* self, dim, dtype */
static int run_scan(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int code = row->code;
    int64_t dim = arg_int(c, 1, 0);
    aclDataType type = is_integral(self->dtype, true) ? ACL_INT64 : self->dtype;
    if (code & OUT && arg_none(c, 2))
        type = arg_tensor(c, 3)->dtype;
    if (code & INPLACE && arg_none(c, 2))
        type = self->dtype;
    type = arg_dtype(c, 2, type);
    if (self->rank > 16 || !takes_type(code, self->dtype) || !takes_type(code & ~TAKES_BOOL, type))
        return CALL_FALLBACK;
    int32_t wrapped = wrap_dim(c, dim, self->rank);
    if (wrapped < 0)
        return CALL_ERROR;
    if (is_complex(type)) {
        struct npu_tensor *sums = result(c, 0, type, self->rank, self->size);
        return call_failed(c) ? CALL_ERROR : scan_complex(c, row, cast(c, self, type), wrapped, sums);
    }
    struct npu_scalar at = {.kind = SCALAR_INT, .i = wrapped, .d = {wrapped}};
    struct npu_tensor *out = result(c, 0, type, self->rank, self->size);
    union aclnn_value v[] = {{.t = self}, {.i = wrapped}, {.i = type}, {.t = out}};
    if (code & SCALAR_DIM)
        v[1].s = &at;
    return launch(c, row->aclnn, v);
}

/* self, values, indices (both written), dim */
static int run_extreme(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->rank > 16 || !takes_type(row->code, self->dtype) || arg_tensor(c, 1)->dtype != self->dtype)
        return CALL_FALLBACK;
    int32_t dim = wrap_dim(c, arg_int(c, 3, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    struct npu_tensor *values = result(c, 0, self->dtype, self->rank, self->size);
    struct npu_tensor *indices = result(c, 1, ACL_INT64, self->rank, self->size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = values}, {.t = indices}});
}

static struct aclnn cumsum = ACLNN("aclnnCumsum", "TiyT"), cumprod = ACLNN("aclnnCumprod", "TSyT");
static struct aclnn logaddexp = ACLNN("aclnnLogAddExp", "TTT");
static struct aclnn cummax = ACLNN("aclnnCummax", "TiTT"), cummin = ACLNN("aclnnCummin", "TiTT");

static const struct aten_row rows[] = {
    {"cumsum", run_scan, &cumsum, TAKES_ANY | TAKES_COMPLEX},
    {"cumsum.out", run_scan, &cumsum, TAKES_ANY | TAKES_COMPLEX | OUT},
    {"cumsum_", run_scan, &cumsum, TAKES_ANY | TAKES_COMPLEX | INPLACE},
    {"cumprod", run_scan, &cumprod, TAKES_ANY | TAKES_COMPLEX | SCALAR_DIM},
    {"cumprod.out", run_scan, &cumprod, TAKES_ANY | TAKES_COMPLEX | SCALAR_DIM | OUT},
    {"cumprod_", run_scan, &cumprod, TAKES_ANY | TAKES_COMPLEX | SCALAR_DIM | INPLACE},
    {"_logcumsumexp", run_logcumsumexp, &logaddexp},
    {"_logcumsumexp.out", run_logcumsumexp, &logaddexp},
    {"_cummax_helper", run_extreme, &cummax, TAKES_ANY},
    {"_cummin_helper", run_extreme, &cummin, TAKES_ANY},
};
ATEN_FAMILY(scan_family, rows);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Running sums, products, extremes. */
#include "elementwise.h"

enum {
    SCALAR_DIM = ELEMENTWISE_FREE, /* the operator takes the dimension as a scalar */
    OUT = ELEMENTWISE_FREE << 1,   /* an out= overload */
    INPLACE = ELEMENTWISE_FREE << 2,
};

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
static struct aclnn cummax = ACLNN("aclnnCummax", "TiTT"), cummin = ACLNN("aclnnCummin", "TiTT");

static const struct aten_row rows[] = {
    {"cumsum", run_scan, &cumsum, TAKES_ANY},
    {"cumsum.out", run_scan, &cumsum, TAKES_ANY | OUT},
    {"cumsum_", run_scan, &cumsum, TAKES_ANY | INPLACE},
    {"cumprod", run_scan, &cumprod, TAKES_ANY | SCALAR_DIM},
    {"cumprod.out", run_scan, &cumprod, TAKES_ANY | SCALAR_DIM | OUT},
    {"cumprod_", run_scan, &cumprod, TAKES_ANY | SCALAR_DIM | INPLACE},
    {"_cummax_helper", run_extreme, &cummax, TAKES_ANY},
    {"_cummin_helper", run_extreme, &cummin, TAKES_ANY},
};
ATEN_FAMILY(scan_family, rows);

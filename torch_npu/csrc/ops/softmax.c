/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax, log-softmax, their gradients, log-sum-exp. */
#include "reduce.h"

#include <math.h>

/* self, dim, half_to_float */
static int run_softmax(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    bool widen = arg_bool(c, 2, false);
    if (self->rank > 16 || !takes_type(TAKES_FLOAT, self->dtype) ||
        (widen && self->dtype != ACL_FLOAT16 && self->dtype != ACL_BF16))
        return CALL_FALLBACK;
    int32_t dim = wrap_dim(c, arg_int(c, 1, 0), self->rank);
    if (dim < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, widen ? ACL_FLOAT : self->dtype, self->rank, self->size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.i = dim}, {.t = out}});
}

/* grad_output, output, dim, input_dtype */
static int run_backward(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *grad = arg_tensor(c, 0), *y = arg_tensor(c, 1);
    aclDataType type = arg_dtype(c, 3, y->dtype);
    if (y->rank > 16 || !takes_type(TAKES_FLOAT, y->dtype) || grad->dtype != y->dtype || !takes_type(TAKES_FLOAT, type))
        return CALL_FALLBACK;
    int32_t dim = wrap_dim(c, arg_int(c, 2, 0), y->rank);
    if (dim < 0)
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, type, y->rank, y->size);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = grad}, {.t = y}, {.i = dim}, {.t = out}});
}

/* Of complex numbers: log Σ e^(x - m) + m, m the largest real part, or 0 where that is infinite. */
static int complex_logsumexp(struct call *c, const struct npu_tensor *self, const struct reduced *r, bool keepdim,
                             const struct npu_tensor *out)
{
    static struct aclnn amax = ACLNN("aclnnAmax", "TIbT"), nan_to_num = ACLNN("aclnnNanToNum", "TfffT"),
                        sub = ACLNN("aclnnSub", "TTST"), exp_ = ACLNN("aclnnExp", "TT"),
                        sum = ACLNN("aclnnReduceSum", "TIbyT"), log_ = ACLNN("aclnnLog", "TT"),
                        add = ACLNN("aclnnAdd", "TTST");
    const struct npu_scalar one = {.kind = SCALAR_INT, .i = 1, .d = {1}};
    aclDataType real = self->dtype == ACL_COMPLEX128 ? ACL_DOUBLE : ACL_FLOAT;
    int64_t kept[16];
    for (int32_t d = 0; d < self->rank; d++)
        kept[d] = r->mask >> d & 1 ? 1 : self->size[d];
    struct npu_tensor *top = temp(c, real, self->rank, kept), *x = temp(c, self->dtype, self->rank, self->size);
    launch(c, &amax,
           (union aclnn_value[]){{.t = part_of(c, self, 0)}, {.ints = {r->dim, r->dims}}, {.i = true}, {.t = top}});
    launch(c, &nan_to_num, (union aclnn_value[]){{.t = top}, {.d = NAN}, {.d = 0}, {.d = 0}, {.t = top}});
    launch(c, &sub, (union aclnn_value[]){{.t = self}, {.t = top}, {.s = &one}, {.t = x}});
    launch(c, &exp_, (union aclnn_value[]){{.t = x}, {.t = x}});
    launch(
        c, &sum,
        (union aclnn_value[]){{.t = x}, {.ints = {r->dim, r->dims}}, {.i = keepdim}, {.i = self->dtype}, {.t = out}});
    launch(c, &log_, (union aclnn_value[]){{.t = out}, {.t = out}});
    return launch(
        c, &add,
        (union aclnn_value[]){{.t = out},
                              {.t = view_of(c, contiguous(c, top), r->rank, r->size, out->stride, top->offset)},
                              {.s = &one},
                              {.t = out}});
}

/* self, dim, keepdim */
static int run_logsumexp(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    const int64_t *dims;
    size_t n = arg_ints(c, 1, &dims);
    bool keepdim = arg_bool(c, 2, false);
    aclDataType type = is_integral(self->dtype, true) ? default_float() : self->dtype;
    struct reduced r;
    if (self->rank > 16 || !takes_type(TAKES_ANY | TAKES_COMPLEX, self->dtype) ||
        (is_complex(self->dtype) && !tensor_numel(self)))
        return CALL_FALLBACK;
    if (reduce_over(c, self, dims, n, keepdim, &r))
        return CALL_ERROR;
    struct npu_tensor *out = result(c, 0, type, r.rank, r.size);
    if (is_complex(type)) {
        struct npu_tensor *dense = temp(c, type, r.rank, r.size);
        return complex_logsumexp(c, self, &r, keepdim, dense) ? CALL_ERROR : copy_tensor(c, out, dense);
    }
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self}, {.ints = {r.dim, r.dims}}, {.i = keepdim}, {.t = out}});
}

static struct aclnn softmax = ACLNN("aclnnSoftmax", "TiT"), log_softmax = ACLNN("aclnnLogSoftmax", "TiT");
static struct aclnn softmax_backward = ACLNN("aclnnSoftmaxBackward", "TTiT");
static struct aclnn log_softmax_backward = ACLNN("aclnnLogSoftmaxBackward", "TTiT");
static struct aclnn logsumexp = ACLNN("aclnnLogSumExp", "TIbT");

static const struct aten_row rows[] = {
    {"_softmax", run_softmax, &softmax},
    {"_softmax.out", run_softmax, &softmax},
    {"_log_softmax", run_softmax, &log_softmax},
    {"_log_softmax.out", run_softmax, &log_softmax},
    {"_softmax_backward_data", run_backward, &softmax_backward},
    {"_softmax_backward_data.out", run_backward, &softmax_backward},
    {"_log_softmax_backward_data", run_backward, &log_softmax_backward},
    {"_log_softmax_backward_data.out", run_backward, &log_softmax_backward},
    {"logsumexp", run_logsumexp, &logsumexp},
    {"logsumexp.out", run_logsumexp, &logsumexp},
};
ATEN_FAMILY(softmax_family, rows);
